//! The engines that do something else than read and write files, each on the real thing: names and space on a file
//! system, sockets on the loopback interface, programs, processors. Where fio is installed, it is the other side.
//!
//! What this machine does not have is skipped, said so, and counted as ignored.

#![allow(unsafe_code)]

mod files;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod placed;
mod plans;
mod programs;

type Failed = Box<dyn std::error::Error>;
type Outcome = testbed::Outcome;

fn main() -> std::process::ExitCode {
    let mut cases = files::cases();
    cases.extend(programs::cases());
    #[cfg(target_os = "linux")]
    {
        cases.extend(network::cases());
        cases.extend(placed::cases());
    }
    testbed::run_waiting(cases)
}

/// A check that says what it saw.
fn holds(condition: bool, what: impl std::fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(what.to_string().into()) }
}
