//! iperf 2 in both roles, against itself and against the original where that is installed; and the relay between them.
//!
//! What cannot be had is a counted skip. It asserts what was moved and what was said, never how fast or how soon.

#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod peers;
#[cfg(target_os = "linux")]
mod relay;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run_waiting(matrix::cases().into_iter().chain(relay::cases()).collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
