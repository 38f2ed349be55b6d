//! The history as its users meet it: what is kept and what is not, what a killed program leaves, a plan that runs again,
//! other tools' files, and comparisons that neither cry wolf nor sleep.
//!
//! Every case has a history of its own. Comparisons run on `sim`, whose noise is known and whose time is not the machine's.

// Signals, and what happens between fork and exec.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod before;
#[cfg(target_os = "linux")]
mod comparing;
#[cfg(target_os = "linux")]
mod keeping;
#[cfg(target_os = "linux")]
mod pipeline;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "shared with the door's tests, which use all of it")]
#[path = "../door/program.rs"]
mod program;
#[cfg(target_os = "linux")]
mod schema;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(
        [keeping::cases(), comparing::cases(), schema::cases(), before::cases(), pipeline::cases()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
