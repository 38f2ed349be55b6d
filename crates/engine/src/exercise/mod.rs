//! The exerciser: weighted random operations on one file through several engines, held against a model in memory.

use crate::failure::Failure;
use crate::worker::Worker;

/// Runs a job's exercise.
///
/// # Errors
/// What keeps it from running.
pub fn drive(_worker: &mut Worker<'_>) -> Result<(), Failure> {
    Err(Failure::new("an exercise cannot be run yet"))
}
