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

mod actor;
mod case;
mod case_pool;
mod cleanup;
mod drive;
mod features;
mod fixtures;
mod keeper;
mod mounts;
mod order;
mod pid_table;
mod process;
mod round;
mod sandbox;
mod set_up;
mod tick;
mod watchdog;
mod wire;

pub use drive::drive;
pub use order::serve_when_asked;
