//! What a phase came to, by IOR's definitions: each span of time is from the first task's begin to the last one's end.
//!
//! The spans of open, transfer and close overlap and do not add up to the total. Nothing is printed here.

use iodyno_model::{CacheShare, Kind, PhaseRecord, WearOut, WorkerRecord, tally};

use super::number::rate;
use crate::ior::test::IorTest;
use crate::ior::view::{Access, TestPhase};

/// A phase's figures, times in seconds.
#[derive(Clone, Debug, Default)]
pub struct PhaseOutcome {
    pub repetition: u32,
    /// What it did; none: nothing yet.
    pub access: Option<Access>,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Transfers that were made.
    pub transfers: u64,
    /// The first open's begin to the last open's end.
    pub open: f64,
    /// The first transfer's begin to the last one's end, with what was synced after it.
    pub transfer: f64,
    /// The first close's begin to the last one's end.
    pub close: f64,
    /// The first open's begin to the last close's end.
    pub total: f64,
    /// Mean of all transfers.
    pub latency: f64,
    /// When a deadline was worn out: what had been done by then.
    pub worn: Option<Worn>,
    /// Transfers whose bytes were not those that were written.
    pub corrupt: u64,
    /// Transfers that failed.
    pub failed: u64,
    /// How much of what it read came from the page cache.
    pub cache: Option<CacheShare>,
    /// Each task's times.
    pub tasks: Vec<Task>,
}

/// What had been done when the time was up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worn {
    /// Seconds since the transfers began.
    pub at: f64,
    /// The fewest and the most transfers of a task.
    pub transfers: (u64, u64),
    /// The fewest bytes of a task.
    pub least_bytes: u64,
    /// The mean bytes of a task.
    pub mean_bytes: f64,
}

/// One task's times in seconds after the start line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub number: u32,
    pub rank: u32,
    /// Bytes it moved.
    pub bytes: u64,
    /// Opening: begin and end.
    pub open: (f64, f64),
    /// Transfers: begin and end.
    pub transfer: (f64, f64),
    /// Closing: begin and end.
    pub close: (f64, f64),
}

impl Task {
    fn of(worker: &WorkerRecord) -> Task {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let pair = |(begin, end): (u64, u64)| (seconds(begin), seconds(end));
        let (began, ended) = (worker.began_ns, worker.ended_ns.max(worker.began_ns));
        let close = worker.closing.unwrap_or((ended, ended));
        Task {
            number: worker.index,
            rank: worker.rank,
            bytes: worker.bytes,
            open: pair(worker.opening.unwrap_or((began, began))),
            transfer: pair((began, ended.min(close.0.max(began)))),
            close: pair((close.0, close.1.max(close.0))),
        }
    }
}

impl PhaseOutcome {
    /// The figures of a phase.
    pub fn of(phase: &PhaseRecord, part: TestPhase, test: &IorTest) -> PhaseOutcome {
        let Some(job) = phase.jobs.first() else { return PhaseOutcome::default() };
        let tasks: Vec<Task> = job
            .workers
            .iter()
            .filter(|worker| worker.failure.is_none() || worker.operations > 0)
            .map(Task::of)
            .collect();
        let span = |of: fn(&Task) -> (f64, f64)| {
            let begin = tasks.iter().map(|task| of(task).0).fold(f64::MAX, f64::min);
            let end = tasks.iter().map(|task| of(task).1).fold(0.0, f64::max);
            (end - begin).max(0.0)
        };
        let data = |kind: Kind| matches!(kind, Kind::Read | Kind::Write);
        let lines = || job.tally.lines.iter().filter(|line| data(line.verb.kind()));
        let transfers: u64 = lines().map(|line| line.operations).sum();
        let waited: f64 = lines().map(|line| line.latency.mean() * line.operations as f64).sum();
        let corrupt = job.tally.errors.iter().filter(|error| tally::corruption(error.errno).is_some());
        let corrupt: u64 = corrupt.map(|error| error.count).sum();
        PhaseOutcome {
            repetition: part.repetition,
            access: Some(part.access),
            // What is wrong was moved all the same.
            bytes: lines().map(|line| line.bytes).sum::<u64>() + corrupt * test.transfer,
            transfers: transfers + corrupt,
            open: span(|task| task.open),
            transfer: span(|task| task.transfer),
            close: span(|task| task.close),
            total: match part.access {
                Access::Remove => phase.elapsed_ns as f64 / 1e9,
                _ => span(|task| (task.open.0, task.close.1)),
            },
            latency: rate(waited / 1e9, transfers as f64),
            worn: job.worn.map(|worn| self::worn(&worn, &tasks)),
            corrupt,
            failed: job.tally.failed().saturating_sub(corrupt),
            cache: phase.cache.clone(),
            tasks,
        }
    }

    /// Bytes per second over the whole of it.
    pub fn bandwidth(&self) -> f64 {
        rate(self.bytes as f64, self.total)
    }

    /// Transfers per second while there were transfers.
    pub fn operations(&self) -> f64 {
        rate(self.transfers as f64, self.transfer)
    }
}

fn worn(worn: &WearOut, tasks: &[Task]) -> Worn {
    let began = tasks.iter().map(|task| task.transfer.0).fold(f64::MAX, f64::min);
    Worn {
        at: (worn.at_ns as f64 / 1e9 - began).max(0.0),
        transfers: (worn.operations_least, worn.operations_most),
        least_bytes: worn.bytes_least,
        mean_bytes: worn.bytes as f64 / tasks.len().max(1) as f64,
    }
}
