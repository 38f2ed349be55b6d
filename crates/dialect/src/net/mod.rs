//! `iodyno net …`: what the network between the storage does, beyond what its originals measure.
//!
//! One word, and behind it commands of their own. Whatever talks to a peer talks a protocol that others speak, too.

pub mod advice;
pub mod mesh;
pub mod relay;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, Lower, Request};

/// The commands in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "net",
    about: "the network between hosts: every link of a mesh",
    drop_in: false,
    also: &[],
    lower,
};

/// Each command, in a line, and who reads its arguments.
const COMMANDS: &[(&str, &str, Lower)] = &[
    ("mesh", "every link between the hosts of a run, and which of them is slow", mesh::lower),
    ("relay", "a bad path between two hosts: delay, loss, a rate, by a seed", relay::lower),
];

fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, about, _)| format!("  {name:<10}{about}\n"));
    let commands: String = commands.collect();
    format!("Usage: iodyno net COMMAND …\n\n{commands}\niodyno net COMMAND --help tells what each takes.\n")
}

fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let Some((word, rest)) = arguments.split_first() else {
        return Ok(Request::Print { out: help(), status: 2 });
    };
    if matches!(word.as_str(), "--help" | "-h" | "help") {
        return Ok(Request::Print { out: help(), status: 0 });
    }
    let names: Vec<_> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    let wrong = || {
        Diagnostic::error(&Origin::argument(word), "no such command of net")
            .hint(format!("there is: {}", names.join(", ")))
    };
    let (_, _, lower) = COMMANDS.iter().find(|(name, ..)| name == word).ok_or_else(|| vec![wrong()])?;
    lower(rest, loader)
}
