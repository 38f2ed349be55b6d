//! Cases: each in a process of its own, with a time limit, its actors beside it, and nothing left behind.
//!
//! ```text
//!   drive (a worker's thread) ──► guardian   ends what is left and removes what was made, after SIGKILL too
//!        ▲ records (a pipe)        └─► keeper     private mounts, several cases at a time
//!        │                               └─► case ──► actor, actor …   one process each
//!        └────────────────────────────────┘
//! ```
//!
//! Judges nothing beyond one expectation: what was to be expected on a file system is its dialect's business.

#[cfg(target_os = "linux")]
mod actor;
#[cfg(target_os = "linux")]
mod case;
#[cfg(target_os = "linux")]
mod case_pool;
#[cfg(target_os = "linux")]
mod cleanup;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod features;
#[cfg(target_os = "linux")]
mod fixtures;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod pid_table;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod round;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod tick;
#[cfg(target_os = "linux")]
mod watchdog;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod words;

#[cfg(target_os = "linux")]
pub use drive::drive;
#[cfg(target_os = "linux")]
pub use order::serve_when_asked;

#[cfg(not(target_os = "linux"))]
use iodyno_engine::Failure;

/// Runs a job's cases.
///
/// # Errors
/// Always: they are not run on this system.
#[cfg(not(target_os = "linux"))]
pub fn drive(_worker: &mut iodyno_engine::worker::Worker<'_>) -> Result<(), Failure> {
    (crate::facts::CASES.available)()
}

/// Nothing is ever asked of a program on this system.
#[cfg(not(target_os = "linux"))]
pub fn serve_when_asked() {}
