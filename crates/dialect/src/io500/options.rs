//! The options of io500's command line, each exactly once; those of the configuration file are in [`keys`](super::keys).

use iodyno_model::{Diagnostic, Origin};

use super::command::Command;
use crate::ReportFile;
use crate::option::{Entry, Kind, Setter, Spelling, Table, Word, entries, nearest, switch};

const fn value(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const fn file(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Path, "FILE", help)
}

const MODES: &[Word] = &[
    Word::new("standard", "the thirteen phases that are scored"),
    Word::new("extended", "more phases")
        .refused("the extended mode is not served", "leave it out: mode standard"),
];

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, String>] = &[
    switch("list", "print every key of the configuration with its value").on(|c| c.list = true),
    switch("dry-run", "print the command lines of the phases, run nothing").on(|c| c.dry_run = true),
    Entry::new(
        "mini",
        Kind::Path,
        "DIR",
        "small sizes and a stonewall of 1 s, in DIR/io500-mini (never valid)",
    )
    .text(|c, folder| c.mini = Some(folder.into())),
    Entry::new("mode", Kind::Word(MODES), "MODE", "the phases").or("standard").inert(),
    switch("cleanup", "remove what earlier runs left")
        .refused("nothing is left to clean up by phases", "remove the directory of the data")
        .inert(),
    value("v", "N", "how much is printed").ignored("the messages do not depend on it").inert(),
    value("tag", "NAME", "the name by which the history finds the run; repeatable").text(|c, name| {
        c.keep.wanted = Some(true);
        c.keep.tags.push(name.into());
    }),
    switch("no-save", "keep the run out of the history").on(|c| c.keep.wanted = Some(false)),
    value("fail-if", "CONDITION", "fail if it holds, e.g. 'ior-easy-write.bandwidth < 2GiB/s'; repeatable")
        .parsed(|c, condition| c.run_options.word("fail-if", Some(condition)).map(drop)),
    value("repeat", "N", "number of passes over everything; the report is that of the median pass")
        .parsed(|c, times| c.run_options.word("repeat", Some(times)).map(drop)),
    file("json", "write all results as JSON").text(|c, path| add(c, path, "json")),
    file("csv", "write all results as CSV").text(|c, path| add(c, path, "csv")),
    file("html", "write all results as a page").text(|c, path| add(c, path, "html")),
    switch("details", "print findings that another finding explains in full").on(|c| c.details = true),
    switch("help", "print this and end").also(&["h"]).on(|c| c.help = true),
    switch("version", "print the version and end").also(&["V"]).on(|c| c.version = true),
];

pub const TABLE: Table =
    Table { tool: "io500", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

fn add(command: &mut Command, path: &str, format: &str) {
    command.files.push(ReportFile { path: path.into(), format: format.into() });
}

/// That there is no such option, with what may have been meant.
pub fn unknown(name: &str, origin: &Origin) -> Diagnostic {
    let wrong = Diagnostic::error(origin, format!("io500 has no option `{name}`"));
    match nearest(name.trim_start_matches('-'), TABLE.entries.iter().map(|entry| entry.name)) {
        Some(near) => wrong.hint(format!("did you mean `--{near}`?")),
        None => wrong.hint("iodyno io500 --help lists them"),
    }
}

/// The text of `--help`.
pub fn help() -> String {
    format!(
        "Usage: iodyno io500 [OPTIONS] CONFIG.ini\n       iodyno io500 --list > config.ini\n       \
         iodyno io500 --mini DIR\n\nOptions:\n{}\n{}",
        TABLE.help(),
        include_str!("help.txt")
    )
}

/// The text of `--version`, as of every command that is no drop-in.
pub fn version() -> String {
    format!("iodyno {}\n", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("--mini=DIR") && help().contains("not for submission"), "{}", help());
    }
}
