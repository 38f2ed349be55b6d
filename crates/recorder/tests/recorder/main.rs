//! Real programs are recorded: what they wrote lies in their files, and strace tells the same of them.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod covered;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod programs;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if let Some(out) = std::env::var_os(child::OUT) {
        return child::record(&out);
    }
    let mut cases = programs::cases();
    cases.extend(covered::cases());
    cases.extend(devices::cases());
    testbed::run(cases)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    testbed::run(Vec::new())
}
