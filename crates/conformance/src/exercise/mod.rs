//! The exerciser: weighted random operations on a file system, held against a model in memory, in the manner of fsx.
//!
//! ```text
//! draw ──► operation ──► harness ──┬─► files_under_test: the real files, through several engines (calls, ways)
//!                          │     └─► image: what they must hold
//!                          ▼
//!                       divergence ──► minimise: the shortest list that shows it again
//! ```
//!
//! Names are exercised otherwise (`names`): there processes race, and a model is asked whether any order explains it.
//! It works in a directory of its own and touches nothing else. It measures no speed: what it answers is whether what
//! was written is what is read.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_engine::Failure;
use iodyno_engine::clock::{self, Tick};
use iodyno_engine::worker::Worker;
use iodyno_model::{ExerciseKind, WorkerState, Workload};

mod calls;
mod content;
mod divergence;
mod draw;
mod files_under_test;
mod harness;
mod image;
mod minimise;
mod names;
mod operation;
mod probe;
mod sandbox;
mod tallies;
mod ways;

/// The stream of a plan's seed that exercises draw from.
const DEFAULT_SEED_STREAM: u64 = 0x6578_6572;

/// Runs a job's exercise.
///
/// # Errors
/// What keeps it from running.
pub fn drive(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let Workload::Exercise(exercise) = &worker.job.workload else {
        return Err(Failure::new("this is no exercise"));
    };
    let targets = worker.job.targets.iter().filter_map(|target| worker.plan.targets.get(*target));
    let directory = targets.filter_map(|target| target.path()).next();
    let directory = directory.ok_or_else(|| Failure::new("an exercise needs a directory to work in"))?;
    let ready = match exercise.kind {
        ExerciseKind::Content => {
            Ready::Content(Box::new(content::ContentExercise::new(worker, exercise, directory)?))
        }
        ExerciseKind::Names => Ready::Names(Box::new(names::NameExercise::new(exercise, directory)?)),
    };
    let begin = worker.barrier.wait_for_start(worker.number, worker.after);
    worker.counters.head.began.store(begin, Relaxed);
    worker.counters.enter(WorkerState::Running);
    let stop = worker.barrier.flag(worker.number);
    let until =
        Until { stop, deadline: worker.job.limit.time_ns.map(|time_ns| begin.saturating_add(time_ns)) };
    let record = match ready {
        Ready::Content(content) => content.run(worker.seed, &until)?,
        Ready::Names(names) => names.run(worker.seed, &until)?,
    };
    worker.counters.head.ended.store(clock::now(), Relaxed);
    worker.findings.write(worker.index, |entries| entries.exercise = Some(record));
    Ok(())
}

/// An exercise that waits for its turn.
enum Ready {
    Content(Box<content::ContentExercise>),
    Names(Box<names::NameExercise>),
}

/// When it is over.
struct Until<'a> {
    stop: &'a AtomicU32,
    deadline: Option<Tick>,
}

impl Until<'_> {
    /// Whether it was asked to stop, or the time is up.
    fn is_over(&self) -> bool {
        self.is_stopped() || self.deadline.is_some_and(|deadline| clock::now() >= deadline)
    }

    /// Whether it was asked to stop.
    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }
}
