//! The command line: a configuration, where its results go, and where its targets are.
//!
//! IOMeter's own switches of Windows are taken, too (`/c FILE /r FILE`). It refuses what only a window could do.

use iodyno_model::{Diagnostic, Origin};

use crate::option::{Entry, Kind, Spelling, Table};

/// The table.
pub const TABLE: Table = Table {
    tool: "iometer",
    spelling: Spelling::Dashed,
    entries: &[
        Entry::new("c", Kind::Path, "FILE", "the configuration; it may stand alone, too").also(&["config"]),
        Entry::new(
            "r",
            Kind::Path,
            "FILE",
            "results, comma-separated; without it they go to standard output",
        )
        .also(&["results"]),
        Entry::new(
            "map",
            Kind::Text,
            "NAME=PATH",
            "a target of that name is this directory, file or device; again: one more",
        )
        .also(&["m"]),
        Entry::new("t", Kind::Whole(0, 1 << 31), "SECONDS", "how long to wait for managers")
            .also(&["timeout"])
            .ignored("managers are this machine, or ranks that are there from the start"),
        Entry::new("help", Kind::Switch, "", "print this and end").also(&["h"]),
    ],
};

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The configuration.
    pub file: String,
    /// Where results go; none: standard output.
    pub results: Option<String>,
    /// Targets by name, with their paths.
    pub maps: Vec<(String, String)>,
}

/// What a command line wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Only a text.
    Print(String),
    /// A run.
    Run(Command),
}

/// Reads a command line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn wanted(arguments: &[String]) -> Result<Wanted, Diagnostic> {
    let mut command = Command::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some((entry, value)) = option(argument)? else {
            file(&mut command, argument, argument)?;
            continue;
        };
        if entry.name == "help" {
            return Ok(Wanted::Print(help()));
        }
        let missing =
            || Diagnostic::error(&Origin::argument(argument), "a value is missing").hint(entry.help);
        let value =
            value.or_else(|| rest.next().cloned()).filter(|value| !value.is_empty()).ok_or_else(missing)?;
        match entry.name {
            "c" => file(&mut command, &value, argument)?,
            "r" => command.results = Some(value),
            "map" => command.maps.push(map(&value)?),
            // Nobody is waited for.
            _ => {}
        }
    }
    match command.file.is_empty() {
        true => Err(Diagnostic::error(&Origin::argument("iometer"), "no configuration is named")
            .hint("iodyno iometer FILE.icf -r RESULTS.csv")),
        false => Ok(Wanted::Run(command)),
    }
}

/// `-r`, `--results=FILE`, or `/r` as on Windows; a path that begins with a slash is none.
fn option(argument: &str) -> Result<Option<(&'static Entry, Option<String>)>, Diagnostic> {
    let windows =
        argument.strip_prefix('/').filter(|word| matches!(*word, "c" | "r" | "t" | "C" | "R" | "T"));
    let Some(word) = argument.strip_prefix("--").or(argument.strip_prefix('-')).or(windows) else {
        return Ok(None);
    };
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.into())));
    let known = TABLE.find(name).or_else(|| TABLE.find(&name.to_lowercase()));
    let unknown =
        || Diagnostic::error(&Origin::argument(argument), "no such option").hint("iodyno iometer --help");
    known.map(|entry| Some((entry, value))).ok_or_else(unknown)
}

fn file(command: &mut Command, path: &str, argument: &str) -> Result<(), Diagnostic> {
    if !command.file.is_empty() {
        let wrong = Diagnostic::error(&Origin::argument(argument), "a second configuration");
        return Err(wrong.hint("one at a time"));
    }
    command.file = path.into();
    Ok(())
}

fn map(text: &str) -> Result<(String, String), Diagnostic> {
    let parts = text.rsplit_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let wrong =
        || Diagnostic::error(&Origin::argument(text), "no name and path").hint("--map 'C:=/mnt/disk'");
    let (name, path) = parts.ok_or_else(wrong)?;
    if path.contains(['{', '}']) {
        return Err(Diagnostic::error(&Origin::argument(text), "braces have a meaning of their own")
            .hint("rename it"));
    }
    Ok((name.into(), path.into()))
}

/// The text of `--help`.
pub fn help() -> String {
    format!("Usage: iodyno iometer FILE.icf [-r RESULTS.csv] [--map NAME=PATH]...\n{}", TABLE.help())
}

/// The page `docs/iometer.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}
