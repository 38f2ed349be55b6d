//! The whole program under a real launcher: one plan, one record, however many ranks; and an end, whatever happens to
//! one of them.
//!
//! Few ranks and short runs, since launchers of oversubscribed machines are slow. Without a launcher all is skipped.
#![allow(unsafe_code)]

mod batch;
mod clients;
mod ends;
mod experiments;
mod k8s;
mod launch;
mod mesh;
#[allow(dead_code)]
#[path = "../door/program.rs"]
mod program;
mod replays;
mod runs;
mod slurm;
mod together;

fn main() -> std::process::ExitCode {
    testbed::run(
        [
            runs::cases(),
            together::cases(),
            replays::cases(),
            ends::cases(),
            experiments::cases(),
            mesh::cases(),
            clients::cases(),
            batch::cases(),
            slurm::cases(),
            k8s::cases(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
}
