//! The whole program as iozone, bonnie++, dbench and postmark: its columns, blocks and files are iozone's, and what it counts
//! was done.
//!
//! Every case runs the built binary in a directory of its own; no speed is asserted.

// Signals, and what happens between fork and exec.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod beside;
#[cfg(target_os = "linux")]
mod bonnie;
#[cfg(target_os = "linux")]
mod books;
#[cfg(target_os = "linux")]
mod dbench;
#[cfg(target_os = "linux")]
mod iometer;
#[cfg(target_os = "linux")]
mod lists;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod postmark;
#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "../door/program.rs"]
mod program;
#[cfg(target_os = "linux")]
mod readers;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod troubles;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let cases = [
        runs::cases(),
        lists::cases(),
        readers::cases(),
        troubles::cases(),
        beside::cases(),
        books::cases(),
        iometer::cases(),
        network::cases(),
        bonnie::cases(),
        postmark::cases(),
        dbench::cases(),
    ];
    testbed::run(cases.into_iter().flatten().collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
