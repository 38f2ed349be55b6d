//! Every known lie, told for real to the real program, and the honest run that differs in nothing but the lie.
//!
//! A lie is two trials: `lie_NN_caught` stages it and wants a finding of its number, `lie_NN_twin` runs the honest twin
//! and wants silence. `cargo xtask lies` runs them and prints a table. Refuses to call a lie caught that could not be
//! staged here: that is a counted skip, with its reason.

#![allow(unsafe_code)]

#[path = "../door/program.rs"]
#[allow(dead_code)]
mod program;

mod cache;
mod flows;
mod ground;
mod hidden;
mod honest;
mod machines;
mod stage;
mod storage;
mod stores;
mod times;

use stage::Lie;

fn main() -> std::process::ExitCode {
    let of =
        [cache::lies, storage::lies, times::lies, machines::lies, flows::lies, hidden::lies, stores::lies];
    let lies: Vec<Lie> = of.into_iter().flat_map(|lies| lies()).collect();
    let honest = stage::is_asked(0).then(honest::cases).unwrap_or_default();
    testbed::run(lies.into_iter().flat_map(Lie::cases).chain(honest).collect())
}
