//! fio's log files: bandwidth, latency and rate over time, distributions over time, and what was done (iolog).
//!
//! ```text
//!   Event::Journal ─► which job, which clone ─► sample: lines or packed chunks ─► PREFIX_lat.1.log, …
//!                                            ├─► distribution: rows of bins    ─► PREFIX_clat_hist.1.log
//!                                            └─► trace: what began             ─► the file of write_iolog
//! ```
//! It computes nothing that the engine did not record: each entry of the journal becomes a line.

pub mod distribution;
mod line;
mod sample;
mod together;
mod trace;

use std::collections::BTreeSet;
use std::io;

use iodyno_model::{Event, JournalPart};
use iodyno_report::Files;
use iodyno_trace::export::fio::STAMPED_HEADER;

use super::view::{Epoch, JobView, Logs, ReportContext};
use sample::LoggedQuantity;
pub use sample::{inflated, packed, printed, samples_in, unpacked};
use together::Together;

/// Clones beyond this number have their files closed between parts, so that a run needs few descriptors.
const KEPT_OPEN: u32 = 64;

/// Writes the log files of a run.
#[derive(Clone, Debug, Default)]
pub struct LogFiles {
    jobs: Vec<JobView>,
    /// Files that were written to.
    begun: BTreeSet<String>,
    /// `--bandwidth-log`.
    together: Option<Together>,
}

/// When a worker's log times count from.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// When the worker began, ns after the start line.
    began_ns: u64,
    /// What is added to each time, ms.
    epoch_ms: u64,
}

impl Times {
    fn of(part: &JournalPart, epoch: Epoch) -> Self {
        let clock = match epoch {
            Epoch::Start => None,
            Epoch::Unix => Some(0),
            Epoch::Clock(id) => Some(id),
        };
        let shown = |id| part.clocks.iter().find(|(clock, _)| *clock == id).map_or(0, |(_, ns)| *ns);
        let epoch_ms = clock.map_or(0, |id| (shown(id) + part.began_ns) / 1_000_000);
        Times { began_ns: part.began_ns, epoch_ms }
    }

    /// ns after the start line, as a log shows it.
    fn ms(self, at_ns: u64) -> u64 {
        self.epoch_ms + at_ns.saturating_sub(self.began_ns) / 1_000_000
    }
}

impl LogFiles {
    /// For the jobs of a run.
    pub fn new(view: &ReportContext) -> Self {
        LogFiles {
            jobs: view.jobs.clone(),
            begun: BTreeSet::new(),
            together: view.style.bandwidth_log.then(Together::default),
        }
    }

    /// Writes what this event calls for.
    ///
    /// # Errors
    /// When a file cannot be made or written.
    pub fn event(&mut self, event: &Event, files: &mut dyn Files) -> io::Result<()> {
        match event {
            Event::Journal(part) => self.part(part, files),
            Event::Started(_) if self.together.is_some() => Together::begin(files),
            Event::Live(live) => self.together.as_mut().map_or(Ok(()), |together| together.live(live, files)),
            Event::PhaseEnded(phase) => self.finish(phase.index, files),
            _ => Ok(()),
        }
    }

    fn part(&mut self, part: &JournalPart, files: &mut dyn Files) -> io::Result<()> {
        let mine = |job: &&JobView| job.phase == part.phase && job.job == part.job;
        let Some(job) = self.jobs.iter().find(mine).cloned() else { return Ok(()) };
        let times = Times::of(part, job.logs.epoch);
        for (measured, path) in samples(&job, part.worker) {
            let bytes = sample::written(measured, part, &job.logs, times);
            self.write(&path, &bytes, &job, files)?;
        }
        if let Some(prefix) = &job.logs.histogram {
            let path = name(prefix, "clat_hist", &job.logs, part.worker);
            let bytes = distribution::written(part, &job, times);
            self.write(&path, &bytes, &job, files)?;
        }
        if let Some(path) = &job.logs.iolog {
            let first = self.begun.insert(format!("{path}\n{}.{}.{}", part.phase, part.job, part.worker));
            let bytes = trace::written(part, first);
            self.write(path, &bytes, &job, files)?;
        }
        Ok(())
    }

    fn write(&mut self, path: &str, bytes: &[u8], job: &JobView, files: &mut dyn Files) -> io::Result<()> {
        self.begun.insert(path.to_string());
        files.file(path)?.write_all(bytes)?;
        if job.clones > KEPT_OPEN { files.close(path) } else { Ok(()) }
    }

    /// The phase is over: every file that was asked for is there, if only empty, and closed.
    fn finish(&mut self, phase: usize, files: &mut dyn Files) -> io::Result<()> {
        let mut paths = BTreeSet::new();
        for job in self.jobs.iter().filter(|job| job.phase == phase) {
            for worker in 0..job.clones {
                paths.extend(samples(job, worker).into_iter().map(|(_, path)| path));
                let histogram = job.logs.histogram.as_ref();
                paths.extend(histogram.map(|prefix| name(prefix, "clat_hist", &job.logs, worker)));
            }
            if let Some(path) = job.logs.iolog.as_ref().filter(|path| !self.begun.contains(*path)) {
                files.file(path)?.write_all(STAMPED_HEADER)?;
            }
            paths.extend(job.logs.iolog.clone());
        }
        for path in paths {
            if self.begun.insert(path.clone()) {
                files.file(&path)?;
            }
            files.close(&path)?;
        }
        Ok(())
    }
}

/// The logs of samples that a clone writes, and where.
fn samples(job: &JobView, worker: u32) -> Vec<(LoggedQuantity, String)> {
    let (logs, (submission, completion, whole)) = (&job.logs, job.figures.shown);
    let of = |prefix: &Option<String>, wanted: bool, measured: LoggedQuantity, word: &str| {
        let prefix = prefix.as_ref().filter(|_| wanted)?;
        let packed = if logs.compressed { ".fz" } else { "" };
        Some((measured, name(prefix, word, logs, worker) + packed))
    };
    [
        of(&logs.bandwidth, true, LoggedQuantity::Bandwidth, "bw"),
        of(&logs.latency, whole, LoggedQuantity::Latency, "lat"),
        of(&logs.latency, submission, LoggedQuantity::Submission(job.asynchronous), "slat"),
        of(&logs.latency, completion, LoggedQuantity::Completion, "clat"),
        of(&logs.iops, true, LoggedQuantity::Operations, "iops"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `PREFIX_lat.3.log`; without the clone's number where all clones share a file.
fn name(prefix: &str, word: &str, logs: &Logs, worker: u32) -> String {
    match logs.per_job {
        true => format!("{prefix}_{word}.{}.log", logs.first_number + worker),
        false => format!("{prefix}_{word}.log"),
    }
}

#[cfg(test)]
mod tests;
