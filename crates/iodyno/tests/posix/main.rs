//! `iodyno posix` proved from outside: it finds what is planted, accuses no file system of what it does not do, leaves
//! nothing behind however it ends, and speaks the languages of those who run such suites.
//!
//! Nothing here looks into the program; every case starts the built binary. No speed is asserted, and no clock is looked at.

// Signals, and other users.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod prove;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod traces;
#[cfg(target_os = "linux")]
mod words;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let cases = [faults::cases(), mounts::cases(), killed::cases(), words::cases(), prove::cases()];
    testbed::run(cases.into_iter().flatten().collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
