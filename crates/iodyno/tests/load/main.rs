//! What is understood of recorded I/O: statistics, the load that is fitted to a trace, and the anatomy of latency.

#[path = "../door/program.rs"]
mod program;

mod fit;
mod stat;
mod trace;

fn main() -> std::process::ExitCode {
    testbed::run([stat::cases(), fit::cases()].concat())
}
