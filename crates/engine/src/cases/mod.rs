//! Cases: each in a process of its own, with a time limit, its actors beside it, and nothing left behind.
//!
//! ```text
//!   drive (a worker's thread) ──► guardian   undoes what is left, after SIGKILL too
//!        ▲ verdicts (a pipe)  └─► keeper     private mounts, several cases at a time
//!        │                          └─► case ──► actor, actor …   one process each
//! ```
//!
//! Judges nothing beyond one expectation: what was to be expected on a file system is its dialect's business.

use crate::failure::Failure;
use crate::worker::Worker;

/// Runs a job's cases.
///
/// # Errors
/// What keeps all of them from running.
pub fn drive(_worker: &mut Worker<'_>) -> Result<(), Failure> {
    Err(Failure::new("cases cannot be run yet"))
}
