//! The command line: a configuration, where its results go, and where its targets are.
//!
//! IOMeter's own switches of Windows are taken, too (`/c FILE /r FILE`). It refuses what only a window could do.

use iodyno_model::{Diagnostic, Origin};

use crate::option::{Entry, Kind, Setter, Spelling, Table, entries, switch};

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, Diagnostic>] = &[
    Entry::new("c", Kind::Path, "FILE", "the configuration; it may stand alone, too")
        .also(&["config"])
        .parsed(Command::configuration),
    Entry::new("r", Kind::Path, "FILE", "results, comma-separated; without it they go to standard output")
        .also(&["results"])
        .text(|c, path| c.results = Some(path.into())),
    Entry::new("map", Kind::Text, "NAME=PATH", MAP)
        .also(&["m"])
        .parsed(|c, text| map(text).map(|map| c.maps.push(map))),
    Entry::new("t", Kind::Whole(0, 1 << 31), "SECONDS", "how long to wait for managers")
        .also(&["timeout"])
        .ignored("managers are this machine, or ranks that are there from the start")
        .inert(),
    switch("help", "print this and end").also(&["h"]).on(|c| c.help = true),
];

const MAP: &str = "a target of that name is this directory, file or device; again: one more";

pub const TABLE: Table =
    Table { tool: "iometer", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The configuration.
    pub file: String,
    /// Where results go; none: standard output.
    pub results: Option<String>,
    /// Targets by name, with their paths.
    pub maps: Vec<(String, String)>,
    help: bool,
}

impl Command {
    fn configuration(&mut self, path: &str) -> Result<(), Diagnostic> {
        if !self.file.is_empty() {
            let wrong = Diagnostic::error(&Origin::Default, "a second configuration");
            return Err(wrong.hint("one at a time"));
        }
        self.file = path.into();
        Ok(())
    }
}

/// Parses a command line; none: help is to be printed.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Option<Command>, Diagnostic> {
    let mut command = Command::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let origin = Origin::argument(argument);
        let placed = |wrong: Diagnostic| match wrong.origin {
            Origin::Default => Diagnostic { origin: origin.clone(), ..wrong },
            _ => wrong,
        };
        let Some((setter, value)) = option(argument)? else {
            command.configuration(argument).map_err(placed)?;
            continue;
        };
        let entry = setter.entry;
        let value = match entry.is_flag() {
            true => Some(String::new()),
            false => value.or_else(|| rest.next().cloned()).filter(|value| !value.is_empty()),
        };
        let missing = || Diagnostic::error(&origin, "a value is missing").hint(entry.help);
        let value = value.ok_or_else(missing)?;
        let out_of_bounds = |_| Diagnostic::error(&origin, "a value is missing");
        setter.apply(&mut command, &value, out_of_bounds).map_err(placed)?;
        if command.help {
            return Ok(None);
        }
    }
    match command.file.is_empty() {
        true => Err(Diagnostic::error(&Origin::argument("iometer"), "no configuration is named")
            .hint("iodyno iometer FILE.icf -r RESULTS.csv")),
        false => Ok(Some(command)),
    }
}

/// An option that was given, and its value where that is attached.
type Given = (&'static Setter<Command, Diagnostic>, Option<String>);

/// `-r`, `--results=FILE`, or `/r` as on Windows; a path that begins with a slash is none.
fn option(argument: &str) -> Result<Option<Given>, Diagnostic> {
    let windows =
        argument.strip_prefix('/').filter(|word| matches!(*word, "c" | "r" | "t" | "C" | "R" | "T"));
    let Some(word) = argument.strip_prefix("--").or(argument.strip_prefix('-')).or(windows) else {
        return Ok(None);
    };
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.into())));
    let find = |name: &str| SETTERS.iter().find(|setter| setter.entry.answers_to(name));
    let unknown =
        || Diagnostic::error(&Origin::argument(argument), "no such option").hint("iodyno iometer --help");
    let setter = find(name).or_else(|| find(&name.to_lowercase())).ok_or_else(unknown)?;
    Ok(Some((setter, value)))
}

fn map(text: &str) -> Result<(String, String), Diagnostic> {
    let parts = text.rsplit_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let wrong = |message: &str, hint: &str| Diagnostic::error(&Origin::argument(text), message).hint(hint);
    let (name, path) = parts.ok_or_else(|| wrong("no name and path", "--map 'C:=/mnt/disk'"))?;
    match path.contains(['{', '}']) {
        true => Err(wrong("braces have a meaning of their own", "rename it")),
        false => Ok((name.into(), path.into())),
    }
}

/// The text of `--help`.
pub fn help() -> String {
    format!("Usage: iodyno iometer FILE.icf [-r RESULTS.csv] [--map NAME=PATH]...\n{}", TABLE.help())
}

/// The page `docs/iometer.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}
