//! The door: the executable's name or its first argument chooses a dialect; the dialect makes a plan; the engine room
//! runs it; reporters write down what happens.
//!
//! Nothing is measured, parsed or formatted here.

use std::process::ExitCode;

use iodyno_dialect::dashes;

mod abroad;
mod also;
mod archive;
mod calling;
mod command;
mod compare;
mod converse;
mod desk;
mod exposed;
mod hosts;
mod interleave;
mod lists;
mod loader;
mod luggage;
mod remade;
mod remains;
mod repeat;
mod report;
mod rerun;
mod runs;
mod serve;
mod session;
mod shelf;
mod siblings;
mod sink;
mod terminal;
mod watched;

fn main() -> ExitCode {
    iodyno_engine::cases::serve_when_asked();
    if let Some(status) = calling::by_name() {
        return ExitCode::from(status);
    }
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = words.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_string());
    let arguments = dashes(&words.split_off(1.min(words.len())));
    ExitCode::from(command::answer(&name.unwrap_or_default(), &arguments))
}
