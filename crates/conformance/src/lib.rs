//! Conformance: what a file system answers to system calls, and whether it keeps what was written. Nothing here is timed.
//!
//! `cases` runs scripts of `syscall`s in processes of their own, `requests` scripts of requests to an object store, `exercise`
//! random operations against a model. All are engines for the control plane ([`ENGINES`]), and none has a stream of
//! operations: the hot loop is not involved.
#![allow(unsafe_code)]

use iodyno_engine::EngineEntry;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{cases, exercise};

pub mod calls;
#[cfg(target_os = "linux")]
pub mod cases;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
pub mod exercise;
mod facts;
mod judge;
pub mod requests;
mod script;
mod start;
pub mod syscall;
mod words;

/// What runs cases and exercises; the door registers it with the engine.
pub const ENGINES: &[EngineEntry] = &[
    EngineEntry { facts: &facts::CASES, drive: cases::drive, drive_in_turns: None, carry_out: None },
    EngineEntry { facts: &facts::REQUESTS, drive: requests::drive, drive_in_turns: None, carry_out: None },
    EngineEntry {
        facts: &facts::PLAIN_REQUESTS,
        drive: requests::drive,
        drive_in_turns: None,
        carry_out: None,
    },
    EngineEntry { facts: &facts::EXERCISE, drive: exercise::drive, drive_in_turns: None, carry_out: None },
];
