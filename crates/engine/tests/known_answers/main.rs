//! Known answers: plans run against a device, or a store, that takes programmed times and keeps a log of its own.
//!
//! What the record says must be what the device logged for the very same requests, plus the floor: what a plain loop
//! sees beyond the device's own latency, at the same depth and on the same device. Client and device run in the
//! real-time class where that is permitted, so that other programs count for neither. The figures are said; where
//! the plain loop's own figures prove that the machine was disturbed, the case is skipped with them.

#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod plain;
#[cfg(target_os = "linux")]
mod store;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut cases = device::services();
    cases.extend(device::stalls());
    cases.push(device::open_loop());
    cases.push(store::case());
    testbed::run_waiting(cases)
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    let case = testbed::Case::new("known_answers", &[], || {
        Err(testbed::Skip::new("a FUSE device with programmed service times is Linux's").into())
    });
    testbed::run(vec![case])
}
