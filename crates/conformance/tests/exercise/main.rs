//! The exerciser against file systems that keep their promises, and against some that do not.
//!
//! A sound file system must come out clean; a planted fault must be found, explained, and reduced to a few lines that
//! show it again. What this machine does not have is skipped, said so, and counted as ignored.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod broken;
mod manners;
mod plans;
mod sound;

fn main() -> std::process::ExitCode {
    iodyno_engine::register(iodyno_conformance::ENGINES);
    testbed::run([sound::cases(), manners::cases(), broken::cases()].into_iter().flatten().collect())
}
