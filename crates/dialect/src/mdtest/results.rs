//! What each phase came to: items, seconds, rates; of the whole, of each task, and over the iterations.
//!
//! A rate is what was done, divided by the time of the slowest task; what failed was not done.

use iodyno_model::{Histogram, JobRecord, PhaseRecord, Verb, WearOut};

use super::test::MdtestTest;
use super::view::{PhaseRole, ResultRow, TestPhase};

/// What one phase came to.
#[derive(Clone, Debug, Default)]
pub struct PhaseResult {
    /// Items done by all tasks.
    pub items: u64,
    /// Seconds, of the slowest task.
    pub seconds: f64,
    /// Of each task: items, and seconds until it was done.
    pub tasks: Vec<(u64, f64)>,
    /// Operations that failed.
    pub failed: u64,
    /// Latencies of the operations.
    pub latency: Histogram,
    /// What tasks had done when a stonewall was hit.
    pub worn: Option<WearOut>,
}

impl PhaseResult {
    /// Items per second.
    pub fn rate(&self) -> f64 {
        per_second(self.items, self.seconds)
    }

    /// Milliseconds per item of a task.
    pub fn ms_per_item(&self) -> f64 {
        match self.items {
            0 => 0.0,
            items => self.seconds * 1e3 * self.tasks.len().max(1) as f64 / items as f64,
        }
    }
}

/// A rate; 0 where nothing was done.
pub fn per_second(items: u64, seconds: f64) -> f64 {
    if items == 0 || seconds <= 0.0 { 0.0 } else { items as f64 / seconds }
}

/// Everything that was measured, by number of tasks, iteration and row.
#[derive(Clone, Debug, Default)]
pub struct PhaseResults {
    cells: Vec<(TestPhase, PhaseResult)>,
}

impl PhaseResults {
    /// Takes note of a phase that has ended.
    pub fn add(&mut self, part: TestPhase, phase: &PhaseRecord, test: &MdtestTest) {
        let Some(job) = phase.jobs.first() else { return };
        match part.role {
            PhaseRole::Hidden => {}
            PhaseRole::Measured(row) => self.cells.push((part, cell(row, job, test))),
            PhaseRole::After(row) => {
                let same = |known: &TestPhase| {
                    (known.set, known.iteration, known.role)
                        == (part.set, part.iteration, PhaseRole::Measured(row))
                };
                let seconds = slowest(job);
                let known = self.cells.iter_mut().rev().find(|(known, _)| same(known));
                known.into_iter().for_each(|(_, cell)| cell.seconds += seconds);
            }
        }
    }

    pub fn cell(&self, set: usize, iteration: usize, row: ResultRow) -> Option<&PhaseResult> {
        let is = |part: &TestPhase| {
            (part.set, part.iteration, part.role) == (set, iteration, PhaseRole::Measured(row))
        };
        self.cells.iter().find(|(part, _)| is(part)).map(|(_, cell)| cell)
    }

    /// All iterations of a row.
    pub fn row(&self, set: usize, row: ResultRow) -> Vec<&PhaseResult> {
        let is = |part: &TestPhase| part.set == set && part.role == PhaseRole::Measured(row);
        self.cells.iter().filter(|(part, _)| is(part)).map(|(_, cell)| cell).collect()
    }

    /// Whether a row was measured at all.
    pub fn has(&self, row: ResultRow) -> bool {
        self.cells.iter().any(|(part, _)| part.role == PhaseRole::Measured(row))
    }
}

fn cell(row: ResultRow, job: &JobRecord, test: &MdtestTest) -> PhaseResult {
    let line = job.tally.lines.iter().find(|line| line.verb != Verb::Syncfs);
    let loops = test.loops.max(1);
    let items = |done: u64, failed: u64| match row {
        // The chain takes one rename more than there are items in each tree.
        ResultRow::DirectoryRename if failed == 0 => done.saturating_sub(loops.min(done / 2)),
        _ => done,
    };
    let tasks: Vec<(u64, f64)> = job
        .workers
        .iter()
        .map(|worker| {
            let done = items(worker.operations, worker.errors);
            (done, worker.ended_ns.saturating_sub(worker.began_ns) as f64 / 1e9)
        })
        .collect();
    PhaseResult {
        items: tasks.iter().map(|(items, _)| items).sum(),
        seconds: slowest(job),
        tasks,
        failed: job.tally.failed(),
        latency: line.map(|line| line.latency.clone()).unwrap_or_default(),
        worn: job.worn,
    }
}

fn slowest(job: &JobRecord) -> f64 {
    job.workers.iter().map(|worker| worker.ended_ns).max().unwrap_or(0) as f64 / 1e9
}
