//! The commands of `iodyno net` as programs, over loopback: latency idle and under load, the card of a link with its
//! history, a mesh whose hosts are started by a pretended ssh, and sockets that are none of the network's.
//!
//! No speed is asked of anybody: only that what must be told is told, that it adds up, and that nothing is left behind.

// Sockets of virtual machines, which the library has no words for.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run_waiting(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
