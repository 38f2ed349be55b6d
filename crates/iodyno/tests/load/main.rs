//! What is understood of recorded I/O: statistics, the load that is fitted to a trace, and the anatomy of latency.

#[allow(dead_code, reason = "shared by several test programs, none of which uses all of it")]
#[path = "../door/program.rs"]
mod program;

mod fit;
mod stat;
mod trace;
#[cfg(target_os = "linux")]
mod why;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    let why = why::cases();
    #[cfg(not(target_os = "linux"))]
    let why = Vec::new();
    testbed::run([stat::cases(), fit::cases(), why].into_iter().flatten().collect())
}
