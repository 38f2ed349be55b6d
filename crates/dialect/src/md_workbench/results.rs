//! What a phase came to: successes and failures by kind of operation, times of the tasks, latencies.

use iodyno_model::{Histogram, JobRecord, Line, Verb};

/// Operations of one kind.
#[derive(Clone, Debug, Default)]
pub struct OperationCount {
    pub done: u64,
    pub failed: u64,
    /// In ns.
    pub latency: Histogram,
}

/// What one phase came to: of all tasks, or of one.
#[derive(Clone, Debug, Default)]
pub struct PhaseTotals {
    /// Seconds that each task took.
    pub times: Vec<f64>,
    pub sets_made: OperationCount,
    pub sets_removed: OperationCount,
    pub created: OperationCount,
    pub read: OperationCount,
    pub looked_at: OperationCount,
    pub deleted: OperationCount,
}

impl PhaseTotals {
    /// Of all tasks.
    pub fn of(job: &JobRecord) -> Self {
        let seconds = job.workers.iter().map(|worker| worker.ended_ns as f64 / 1e9);
        let mut totals = PhaseTotals { times: seconds.collect(), ..PhaseTotals::default() };
        totals.count(&job.tally.lines);
        totals
    }

    /// Of the task with that place in the record.
    pub fn of_task(job: &JobRecord, place: usize) -> Self {
        let Some(worker) = job.workers.get(place) else { return PhaseTotals::default() };
        let mut totals = PhaseTotals { times: vec![worker.ended_ns as f64 / 1e9], ..PhaseTotals::default() };
        worker.tally.iter().for_each(|tally| totals.count(&tally.lines));
        totals
    }

    fn count(&mut self, lines: &[Line]) {
        for line in lines {
            let count = match line.verb {
                Verb::Mkdir => &mut self.sets_made,
                Verb::Rmdir => &mut self.sets_removed,
                Verb::Create => &mut self.created,
                Verb::Open => &mut self.read,
                Verb::Stat => &mut self.looked_at,
                Verb::Unlink => &mut self.deleted,
                _ => continue,
            };
            count.done += line.operations;
            count.failed += line.failed;
            count.latency.merge(&line.latency);
        }
    }

    /// What was done before belongs to it: the data sets, which the same tasks made.
    pub fn with(mut self, sets: &PhaseTotals) -> Self {
        self.sets_made = sets.sets_made.clone();
        self.times.iter_mut().zip(&sets.times).for_each(|(time, before)| *time += before);
        self
    }

    /// Seconds of the slowest task.
    pub fn seconds(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }

    pub fn failed(&self) -> u64 {
        [&self.sets_made, &self.sets_removed, &self.created, &self.read, &self.looked_at, &self.deleted]
            .iter()
            .map(|count| count.failed)
            .sum()
    }

    /// Seconds of the longest operation on an object.
    pub fn longest(&self) -> f64 {
        let kinds = [&self.created, &self.read, &self.looked_at, &self.deleted];
        kinds.iter().map(|count| count.latency.max).max().unwrap_or(0) as f64 / 1e9
    }
}
