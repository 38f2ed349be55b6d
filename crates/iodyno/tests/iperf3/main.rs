//! iperf3 in both roles: against itself, and against the original where that is installed.
//!
//! The matrix runs over loopback, a part of it over two network namespaces with a cable between them. What cannot be
//! had is a counted skip. It asserts what was moved and what was said, never how fast.

#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod peers;
#[cfg(target_os = "linux")]
mod readers;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    // The longest first.
    testbed::run_waiting(readers::cases().into_iter().chain(matrix::cases()).collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
