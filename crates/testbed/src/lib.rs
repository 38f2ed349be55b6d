//! Staged devices and sandboxes: the known world that iodyno's tests run against.
//!
//! A dynamometer can only be tested against something whose answer is known beforehand. This crate stages such
//! things and takes them away again: a FUSE file whose every request takes a programmed time and is logged
//! ([`fuse`]), devices that corrupt, stall, tear and fill up on command, and loop devices, mounts, full disks,
//! unprivileged users and a kernel without io_uring ([`sandbox`]). Everything is undone when its value is dropped.
//!
//! Services of other projects that tests need are [`daemons`], of which [`ceph`], [`hadoop`] and [`gateway`] are three.
//! A test waits with [`wait`], starts programs with [`program`] and takes a port from [`free_port`]: there is one way
//! of each, none of which looks at a clock.
//!
//! It is only ever a dev-dependency; nothing that ships links it. It never touches a block device that it did not
//! make itself, and it never lets a test pass because the machine lacked something: that is a [`Skip`], printed
//! with its reason and counted as ignored.
//!
//! # A test binary
//!
//! In the crate's `Cargo.toml`, `testbed` and `libtest-mimic` as dev-dependencies and
//!
//! ```toml
//! [[test]]
//! name = "known_answers"
//! harness = false
//! ```
//!
//! and in `tests/known_answers.rs`:
//!
//! ```no_run
//! use testbed::{Case, Need, Outcome};
//!
//! fn a_constant_device_reads_constant() -> Outcome {
//!     let device = testbed::fuse::Device::mount(testbed::fuse::Config::constant(2_000_000))?;
//!     // … run against device.path(), then compare with device.log() …
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     testbed::run(vec![
//!         Case::new("a_constant_device_reads_constant", &[Need::Fuse], a_constant_device_reads_constant).alone(),
//!     ])
//! }
//! ```
//!
//! [`run`] is [`trials`] handed to libtest-mimic; call `trials` yourself to add trials of your own. Either must be
//! the first thing that `main` does: [`fuse::Device`] starts its server by executing the test binary once more,
//! and `trials` is where that second process turns into the server.

#![allow(unsafe_code)]

mod case;
pub mod ceph;
pub mod daemons;
#[cfg(target_os = "linux")]
pub mod fuse;
pub mod gateway;
pub mod hadoop;
pub mod metadata;
mod port;
pub mod pretended;
pub mod program;
pub mod python;
#[cfg(target_os = "linux")]
pub mod rogue;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod store;
#[cfg(target_os = "linux")]
pub mod terminal;
pub mod wait;

pub use case::{Case, Need, Outcome, run, run_waiting, trial, trials};
pub use port::free_port;

/// Why something could not be staged on this machine: a privilege, a file system or a tool that is missing.
///
/// It is an error, so `?` carries it out of a case; [`trials`] recognises it there and counts the case as ignored
/// instead of failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// What is missing, as a lower-case fragment: `mkfs.xfs is not installed`.
    pub reason: String,
}

impl Skip {
    pub fn new(reason: impl Into<String>) -> Skip {
        Skip { reason: reason.into() }
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Skip {}
