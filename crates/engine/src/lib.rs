//! The engine: runs a plan, returns a record.
//!
//! ```text
//!   conductor ──► worker (`drive`, the hot loop) ──► source (what next)
//!   (phases, start line, gather)      └────────────► engines (how it reaches the kernel) ──► call
//!      ├──► world    (who runs: threads, processes)
//!      └──► witness  (who watches)
//! ```
//!
//! Knows no tool and no output format. Only this crate and `conformance` have `unsafe` and system calls; every block says why it is sound.
#![allow(unsafe_code)]

pub mod aging;
pub mod cache;
pub mod call;
pub mod check;
pub mod clock;
pub mod conductor;
pub mod connections;
mod coroutine;
pub mod distribution;
pub mod drive_purge;
pub mod engines;
pub mod facts;
pub mod failure;
pub mod file_system_client;
pub mod futex;
pub mod hooks;
pub mod idleness;
pub mod io;
pub mod journal;
pub mod memory;
mod mismatch;
pub mod names;
#[cfg(target_os = "linux")]
mod nvme;
pub mod objects;
pub mod open;
pub mod payload;
pub mod peer;
pub mod permutation;
pub mod placement;
pub mod prepare;
pub mod preread;
pub mod priorities;
pub mod random;
pub mod registry;
pub mod request_file;
#[cfg(target_os = "linux")]
mod scsi;
pub mod secrets;
pub mod shared_device;
mod shared_library;
pub mod signal;
pub mod source;
pub mod start_barrier;
pub mod store_client;
pub mod trace_file;
pub mod witness;
pub mod worker;
pub mod worker_counters;
pub mod worker_findings;
pub mod world;

pub use check::{CheckedPlan, check, given_up};
pub use conductor::{Halt, LastingDevice, Options, follow, lead, part, run, run_in};
pub use facts::EngineFacts;
pub use failure::Failure;
pub use registry::{EngineEntry, PlanEngines, engine, register};
