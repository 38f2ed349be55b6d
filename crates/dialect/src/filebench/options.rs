//! filebench's options, each exactly once, and the pages that come from them.

use iodyno_model::{Diagnostic, Origin};

use super::command::Command;
use super::flowops::FLOWOPS;
use super::library::LIBRARY;
use crate::option::{Entry, Kind, Setter, Spelling, Table, entries, switch};

const WORKERS: &str = "the original starts its own worker processes by it";
const WORKERS_HINT: &str = "leave it out: ours need no option";

const fn of_workers(
    name: &'static str,
    value: &'static str,
    help: &'static str,
) -> Setter<Command, Diagnostic> {
    Entry::new(name, Kind::Text, value, help).refused(WORKERS, WORKERS_HINT).inert()
}

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, Diagnostic>] = &[
    Entry::new("f", Kind::Path, "FILE", "the script; a personality where there is no such file")
        .text(|c, path| c.file = Some(path.into())),
    Entry::new("D", Kind::Text, "NAME=VALUE", "sets $NAME, whatever the script says; again: one more")
        .text(|c, given| c.variables.push(given.into())),
    Entry::new("seed", Kind::Whole(0, i64::MAX), "N", "seed of every name, size and place")
        .or("1")
        .parsed(|c, text| seed(text).map(|seed| c.seed = seed)),
    Entry::new("c", Kind::Text, "[TYPE]", "print the types of random variables, and end")
        .text(|c, _| c.distributions = true),
    switch("h", "print this and end; with -f the script's own usage and variables")
        .also(&["help"])
        .on(|c| c.help = true),
    switch("version", "print the version and end").on(|c| c.version = true),
    of_workers("a", "PROCESS", "the name of a worker process"),
    of_workers("s", "ADDRESS", "where a worker process maps the shared memory"),
    of_workers("m", "PATH", "the shared memory of a worker process"),
    of_workers("i", "N", "the number of a worker process"),
];

pub const TABLE: Table = Table {
    tool: "filebench",
    spelling: Spelling::Dashed,
    entries: &entries::<_, { SETTERS.len() }>(SETTERS),
};

fn seed(text: &str) -> Result<u64, Diagnostic> {
    let wrong = |_| Diagnostic::error(&Origin::argument(text), "no whole number").hint("--seed 42");
    text.parse().map_err(wrong)
}

/// The text of `-h`.
pub fn help() -> String {
    let personality = |(name, text): &(&str, &str)| {
        let about = text.lines().next().unwrap_or("").trim_start_matches(['#', ' ']);
        format!("  {name:<18} {about}\n")
    };
    format!(
        "Usage: filebench -f FILE.f [-D NAME=VALUE]... [--seed N]\n\n{}\nPersonalities:\n{}",
        TABLE.help(),
        LIBRARY.iter().map(personality).collect::<String>()
    )
}

/// The page `docs/filebench.md`, generated.
pub fn document() -> String {
    let flowop = |entry: &super::flowops::FlowopEntry| format!("| `{}` | {} |\n", entry.name, entry.about);
    format!(
        "{}\n{}\n## Flowops\n\n| flowop | what it does |\n|---|---|\n{}",
        include_str!("introduction.md"),
        TABLE.markdown(),
        FLOWOPS.iter().map(flowop).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("-D NAME=VALUE") && help().contains("varmail"));
        assert!(document().contains("**no**") && document().contains("| `appendfile` |"));
    }
}
