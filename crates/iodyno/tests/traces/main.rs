//! `iodyno trace` as its users type it: what other programs recorded becomes a trace, and is the same as they say.
//!
//! Every case starts the built binary and looks at its exit status, its text and the files that it left.

// Signals.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod block;
#[cfg(target_os = "linux")]
mod endings;
#[cfg(target_os = "linux")]
mod fio;
#[cfg(target_os = "linux")]
mod import;
#[cfg(target_os = "linux")]
#[path = "../door/program.rs"]
#[allow(dead_code, reason = "shared by several test programs, none of which uses all of it")]
mod program;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let cases = [import::cases(), block::cases(), endings::cases(), fio::cases()];
    testbed::run(cases.into_iter().flatten().collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
