//! What to do next: a pattern that is drawn, a script, a trace, each slowed down by a pace.
//!
//! A source decides; it never performs. Everything that would otherwise clutter the loop (rates, think time, verify
//! backlogs, closed-loop traces) lives here. On the data plane nothing here allocates, locks or formats.

use iodyno_model::{Job, Plan, Target, Workload};

use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::{Files, Io, Slot};
use crate::memory::Memory;

pub mod distribution;
mod labels;
pub mod pattern;
pub mod permutation;
pub mod walk;

pub use crate::random;
pub use labels::{VERIFY_LABEL, label_of, labels};

/// What a source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An operation was written into the `Io`.
    Io,
    /// Nothing before that time.
    Later(Tick),
    /// Nothing until a completion is heard.
    Wait,
    /// Nothing more.
    Done,
}

/// All that a source may know of its worker when it is made.
pub struct Brief<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The job.
    pub job: &'a Job,
    /// The worker's number within its job.
    pub worker: u32,
    /// What it has open; one handle for each file, in the order of the job's targets.
    pub files: &'a Files,
    /// Its buffers.
    pub memory: &'a Memory,
    /// The depth that will be kept.
    pub depth: u32,
    /// When the phase starts.
    pub start: Tick,
    /// The operations to do, where the limit is "as many as another phase did".
    pub goal: Option<u64>,
}

impl Brief<'_> {
    /// The job's n-th target.
    pub fn target(&self, index: usize) -> &Target {
        &self.plan.targets[self.job.targets[index]]
    }
}

/// Whether a job's workload can be run.
///
/// # Errors
/// What it asks for and cannot have.
pub fn check(job: &Job) -> Result<(), Failure> {
    match &job.workload {
        Workload::Pattern(_) => Ok(()),
        _ => Err(Failure::new("scripts and traces are not run yet")),
    }
}

/// The largest buffer a job's operations need, in bytes.
pub fn buffer_bytes(job: &Job) -> usize {
    match &job.workload {
        Workload::Pattern(pattern) => [&pattern.size.read, &pattern.size.write, &pattern.size.trim]
            .iter()
            .filter_map(|size| size.most_bytes())
            .max()
            .unwrap_or(4096) as usize,
        _ => 4096,
    }
}

/// What a worker does next.
pub struct Source {
    work: Work,
    /// Whether completions must be told to [`Source::done`].
    pub listens: bool,
}

enum Work {
    Steady(pattern::Steady),
    Pattern(Box<pattern::PatternSource>),
}

impl Source {
    /// A source for a worker.
    ///
    /// # Errors
    /// What the workload asks for and cannot have.
    pub fn new(brief: &Brief<'_>) -> Result<Self, Failure> {
        let work = match &brief.job.workload {
            Workload::Pattern(pattern) => {
                let source = pattern::PatternSource::new(brief, pattern)?;
                match pattern::Steady::of(&source) {
                    Some(steady) => Work::Steady(steady),
                    None => Work::Pattern(Box::new(source)),
                }
            }
            _ => return Err(Failure::new("scripts and traces are not run yet")),
        };
        Ok(Source { work, listens: false })
    }

    /// Writes the next operation into `io`, whose buffer is the slot's.
    #[inline(always)]
    pub fn next(&mut self, _now: Tick, _slot: Slot, io: &mut Io) -> Next {
        match &mut self.work {
            Work::Steady(steady) => steady.next(io),
            Work::Pattern(pattern) => pattern.next(io),
        }
    }

    /// Hears of a completion; the answer is the result that is tallied (verification may turn it into an error).
    pub fn done(&mut self, _slot: Slot, _io: &Io, result: i64, _now: Tick) -> i64 {
        result
    }
}
