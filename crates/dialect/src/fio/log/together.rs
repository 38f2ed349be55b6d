//! `--bandwidth-log`: what all jobs move together, a line for each direction whenever the run is looked at.
//!
//! It refuses to count again: the counters are those of the live line.

use std::io;

use iodyno_model::Live;
use iodyno_report::Files;

/// The files, in the order in which directions are numbered.
const NAMES: [&str; 3] = ["agg-read_bw.log", "agg-write_bw.log", "agg-trim_bw.log"];

/// The counters that the last line ended with.
#[derive(Clone, Debug, Default)]
pub struct Together {
    phase: usize,
    /// Measured time of the phases before, and of this one so far, ns.
    before_ns: u64,
    elapsed_ns: u64,
    bytes: [u64; 3],
}

impl Together {
    /// Makes the files, which are there even where nothing is moved.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn begin(files: &mut dyn Files) -> io::Result<()> {
        NAMES.iter().try_for_each(|name| files.file(name).map(drop))
    }

    /// Writes how fast it went since the last time.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn live(&mut self, live: &Live, files: &mut dyn Files) -> io::Result<()> {
        if live.phase != self.phase {
            let before_ns = self.before_ns + self.elapsed_ns;
            *self = Together { phase: live.phase, before_ns, ..Together::default() };
        }
        let sum = |of: fn(&iodyno_model::LiveJob) -> u64| live.jobs.iter().map(of).sum::<u64>();
        let bytes = [sum(|job| job.read_bytes), sum(|job| job.write_bytes), sum(|job| job.trim_bytes)];
        let length_ns = live.elapsed_ns.saturating_sub(self.elapsed_ns);
        if length_ns == 0 {
            return Ok(());
        }
        let at_ms = (self.before_ns + live.elapsed_ns) / 1_000_000;
        for (direction, name) in NAMES.iter().enumerate() {
            // A ramp that ends takes its bytes back.
            let moved = bytes[direction].saturating_sub(self.bytes[direction]);
            let kib_per_second = u128::from(moved) * 1_000_000_000 / u128::from(length_ns) / 1024;
            let line = format!("{at_ms}, {kib_per_second}, {direction}, 0, 0\n");
            files.file(name)?.write_all(line.as_bytes())?;
        }
        (self.elapsed_ns, self.bytes) = (live.elapsed_ns, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::LiveJob;
    use iodyno_report::FilesInMemory;

    #[test]
    fn all_jobs_are_added_up() {
        let (mut files, mut together) = (FilesInMemory::default(), Together::default());
        Together::begin(&mut files).unwrap();
        let job = |read_bytes| LiveJob { read_bytes, ..LiveJob::default() };
        let live = |phase, ms: u64, read| Live {
            phase,
            elapsed_ns: ms * 1_000_000,
            jobs: vec![job(read), job(read)],
            ..Live::default()
        };
        for one in [live(0, 500, 1024 * 100), live(0, 1000, 1024 * 300), live(0, 1000, 0), live(1, 500, 1024)]
        {
            together.live(&one, &mut files).unwrap();
        }
        let text = |name: &str| String::from_utf8(files.0[name].clone()).unwrap();
        assert_eq!(text("agg-read_bw.log"), "500, 400, 0, 0, 0\n1000, 800, 0, 0, 0\n1500, 4, 0, 0, 0\n");
        assert_eq!(text("agg-trim_bw.log"), "500, 0, 2, 0, 0\n1000, 0, 2, 0, 0\n1500, 0, 2, 0, 0\n");
    }
}
