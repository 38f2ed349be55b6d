//! The whole program as mdtest: what it makes is mdtest's, what it counts was done, what fails shows.
//!
//! Every case runs the built binary in a directory of its own, bounded in time; no speed is asserted.

// Signals, and what happens between fork and exec.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod elbencho;
#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "../door/program.rs"]
mod program;
#[cfg(target_os = "linux")]
mod smallfile;
#[cfg(target_os = "linux")]
mod trees;
#[cfg(target_os = "linux")]
mod troubles;
#[cfg(target_os = "linux")]
mod workbench;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(
        [trees::cases(), troubles::cases(), workbench::cases(), elbencho::cases(), smallfile::cases()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
