//! The page cache as plans and single files meet it: emptied before, emptied behind, held on to, and what is said of it;
//! and huge pages, as they are asked for.
//!
//! What is in the cache at a moment is for the kernel to decide. So what must stay is locked, and what was not touched is
//! held against a file that nobody touched: where that one lost pages as well, the case is skipped with its figures.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod dropping;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod plans;
#[cfg(target_os = "linux")]
mod wide;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    let cases = [plans::cases(), dropping::cases(), wide::cases()].into_iter().flatten().collect();
    #[cfg(not(target_os = "linux"))]
    let cases = Vec::new();
    testbed::run_waiting(cases)
}
