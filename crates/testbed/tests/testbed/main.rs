//! The testbed tested: what it stages is what it says, and it is gone afterwards.
//!
//! Times are only ever compared with what the device's own log says about the same requests, never with a constant
//! that a busy machine would break.

#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod daemons;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod rogue;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod unhooked;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    sandbox::probe_io_uring();
    #[cfg(target_os = "linux")]
    daemons::start_when_asked();
    #[cfg(target_os = "linux")]
    let cases = [
        daemons::cases(),
        device::cases(),
        faults::cases(),
        rogue::cases(),
        sandbox::cases(),
        unhooked::cases(),
    ]
    .into_iter()
    .flatten()
    .collect();
    #[cfg(not(target_os = "linux"))]
    let cases = Vec::new();
    testbed::run_waiting(cases)
}
