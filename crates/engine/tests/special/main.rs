//! The engines that do something else than read and write files, each on the real thing: names and space on a file
//! system, sockets on the loopback interface, programs, processors. Where fio is installed, it is the other side.
//!
//! What this machine does not have is skipped, said so, and counted as ignored.

#![allow(unsafe_code)]

use libtest_mimic::{Arguments, Failed, Trial};

mod files;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod placed;
mod plans;
mod programs;

type Outcome = Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(files::trials());
    trials.extend(programs::trials());
    #[cfg(target_os = "linux")]
    {
        trials.extend(network::trials());
        trials.extend(placed::trials());
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A check that says what it saw.
fn holds(condition: bool, what: impl std::fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(what.to_string().into()) }
}
