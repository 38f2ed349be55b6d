//! IOR's commands as users type them: threads alone, small sizes, real files; what is reported, checked, left behind.
//!
//! No speed is asserted. Each case has a directory of its own; every run is bounded in time.

// Signals.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod back_ends;
#[cfg(target_os = "linux")]
mod parallel;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod trouble;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(
        [runs::cases(), trouble::cases(), world::cases(), back_ends::cases(), parallel::cases()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
