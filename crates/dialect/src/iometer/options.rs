//! The options: a configuration, where its results go, and where its targets are.

use iodyno_model::{Diagnostic, Origin};

use super::command::Command;
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
    switch("help", "print this and end").also(&["h"]).on(|c| c.text = Some(help())),
    switch("version", "print the version and end").on(|c| c.text = Some(version())),
];

const MAP: &str = "a target of that name is this directory, file or device; again: one more";

pub const TABLE: Table =
    Table { tool: "iometer", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

fn map(text: &str) -> Result<(String, String), Diagnostic> {
    let parts = text.rsplit_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let wrong = |message: &str, hint: &str| Diagnostic::error(&Origin::argument(text), message).hint(hint);
    let (name, path) = parts.ok_or_else(|| wrong("no name and path", "--map 'C:=/mnt/disk'"))?;
    match path.contains(['{', '}']) {
        true => Err(wrong("braces have a meaning of their own", "rename it")),
        false => Ok((name.into(), path.into())),
    }
}

fn version() -> String {
    format!("iometer (iodyno) {}\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`.
pub fn help() -> String {
    format!("Usage: iodyno iometer FILE.icf [-r RESULTS.csv] [--map NAME=PATH]...\n{}", TABLE.help())
}

/// The page `docs/iometer.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}
