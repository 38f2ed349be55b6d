//! Sequential runs: reads and writes that begin where an earlier one ended.

use std::collections::HashMap;

use iodyno_model::Histogram;

/// Runs of one file that may be interleaved.
pub const STREAMS: usize = 16;
/// Files, and pairs of thread and file, that are watched at the same time, at most.
const WATCHED_MOST: usize = 1 << 14;

/// Sequential runs of reads and writes, trims left out.
#[derive(Clone, Debug, Default)]
pub struct SequentialRuns {
    files: HashMap<u32, FileStreams>,
    threads: HashMap<(u32, u32), u64>,
    clock: u64,
    /// Reads and writes.
    pub accesses: u64,
    /// Those that began where the one before on the same file ended.
    pub strict: u64,
    /// Those that began where the one before of the same thread on the same file ended.
    pub by_thread: u64,
    /// Those that began where one of the last [`STREAMS`] runs on the file ended.
    pub interleaved: u64,
    /// Lengths of runs, interleaving allowed; an access that nothing continues is a run of one.
    pub run_operations: Histogram,
    pub run_bytes: Histogram,
}

#[derive(Clone, Debug, Default)]
struct FileStreams {
    last_end: Option<u64>,
    streams: Vec<SequentialStream>,
}

#[derive(Clone, Copy, Debug)]
struct SequentialStream {
    end: u64,
    operations: u64,
    bytes: u64,
    used: u64,
}

impl SequentialRuns {
    pub fn add(&mut self, thread: u32, file: u32, start: u64, end: u64) {
        self.accesses += 1;
        self.clock += 1;
        if self.files.len() >= WATCHED_MOST && !self.files.contains_key(&file) {
            self.end_all();
        }
        if self.threads.len() >= WATCHED_MOST && !self.threads.contains_key(&(thread, file)) {
            self.threads.clear();
        }
        if self.threads.insert((thread, file), end) == Some(start) {
            self.by_thread += 1;
        }
        let here = self.files.entry(file).or_default();
        if here.last_end.replace(end) == Some(start) {
            self.strict += 1;
        }
        let bytes = end - start;
        if let Some(stream) = here.streams.iter_mut().find(|stream| stream.end == start) {
            self.interleaved += 1;
            stream.end = end;
            stream.operations += 1;
            stream.bytes = stream.bytes.saturating_add(bytes);
            stream.used = self.clock;
            return;
        }
        let stream = SequentialStream { end, operations: 1, bytes, used: self.clock };
        if here.streams.len() < STREAMS {
            here.streams.push(stream);
        } else if let Some(oldest) = here.streams.iter_mut().min_by_key(|stream| stream.used) {
            let ended = std::mem::replace(oldest, stream);
            self.run_operations.add(ended.operations);
            self.run_bytes.add(ended.bytes);
        }
    }

    /// Ends the runs that go on.
    pub fn end_all(&mut self) {
        for file in std::mem::take(&mut self.files).into_values() {
            for stream in file.streams {
                self.run_operations.add(stream.operations);
                self.run_bytes.add(stream.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_runs_are_told_apart_from_random_places() {
        let mut runs = SequentialRuns::default();
        for step in 0..100u64 {
            // Two threads read a file each half by half; a third one jumps.
            runs.add(0, 0, step * 4096, (step + 1) * 4096);
            runs.add(1, 0, (1000 + step) * 4096, (1001 + step) * 4096);
            runs.add(2, 0, 10_000_000 + step * 1_000_000, 10_000_000 + step * 1_000_000 + 512);
        }
        runs.end_all();
        assert_eq!((runs.accesses, runs.strict, runs.by_thread, runs.interleaved), (300, 0, 198, 198));
        assert_eq!((runs.run_operations.count(), runs.run_operations.max), (102, 100));
        assert_eq!(runs.run_bytes.max, 409_600);
    }

    #[test]
    fn many_files_are_forgotten_rather_than_kept() {
        let mut runs = SequentialRuns::default();
        (0..40_000).for_each(|file| runs.add(0, file, 0, 10));
        assert!(runs.files.len() <= WATCHED_MOST && runs.threads.len() <= WATCHED_MOST);
        runs.end_all();
        assert_eq!(runs.run_operations.count(), 40_000);
    }
}
