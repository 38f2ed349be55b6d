//! Cases on real file systems: what passes, what fails and how it is reported, what hangs, crashes and dies; and that nothing
//! is left behind, whatever happens.
//!
//! What this machine does not have is skipped, said so, and counted as ignored.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod grounds;
#[cfg(target_os = "linux")]
mod plain;
#[cfg(target_os = "linux")]
mod rules;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    iodyno_engine::register(iodyno_conformance::ENGINES);
    iodyno_conformance::cases::serve_when_asked();
    // The tests of violent ends start this program once more, to be killed.
    if let Some(directory) = std::env::var_os(ends::VICTIM) {
        ends::be_killed(std::path::Path::new(&directory));
        return ExitCode::SUCCESS;
    }
    let mut cases = plain::cases();
    cases.extend(grounds::cases());
    cases.extend(ends::cases());
    testbed::run(cases)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    testbed::run(Vec::new())
}
