//! When cases begin: at the start line of all workers, and as much later as their job says.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_engine::worker::Worker;
use iodyno_engine::{Failure, clock};
use iodyno_model::WorkerState;

/// How often a worker that waits for its job's start looks whether it is to stop, ns.
const SLICE_NS: u64 = 20_000_000;

/// Runs a worker's cases from its start on, and notes when they began and ended.
///
/// # Errors
/// Those of `run`.
pub fn run_from_start(
    worker: &Worker<'_>,
    run: impl FnOnce(&Worker<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let line = worker.barrier.wait_for_start(worker.number, worker.after);
    let begin = line + worker.job.start.after_ns;
    while clock::now() < begin && !worker.barrier.is_stopped(worker.number) {
        clock::sleep_until(begin, SLICE_NS);
    }
    worker.counters.head.began.store(begin, Relaxed);
    worker.counters.enter(WorkerState::Running);
    let outcome = run(worker);
    worker.counters.head.ended.store(clock::now(), Relaxed);
    outcome
}
