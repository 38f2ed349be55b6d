//! postmark's commands, each exactly once, with what is done about it.
//!
//! The same table makes `docs/postmark.md` and the text of `help`.

use iodyno_model::{Diagnostic, Origin};

use crate::option::{Entry, Kind, Spelling, Status, Table, Word, switch};

pub const TABLE: Table = Table { tool: "postmark", spelling: Spelling::Spoken, entries: ENTRIES };

const SHELL: &str = "what stands in a file of settings must not run programs";
const SHELL_HINT: &str = "leave the line out, and run the program yourself before or after";
/// The command that hands a line to a shell.
pub const ESCAPE: &str = "!";
/// The category of what the shell's command line takes.
const ARGUMENTS: &str = "Command line";

const BUFFERING: &[Word] = &[
    Word::new("true", "blocks are gathered in the buffer of a stream, 4096 bytes"),
    Word::new("false", "each block is a call"),
];
const REPORTS: &[Word] =
    &[Word::new("verbose", "in sentences"), Word::new("terse", "thirteen numbers on a line")];

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

/// In the original's order, which decides what `help` prints.
#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    text("set size", "LOW [HIGH]", "Sets low and high bounds of files").or("500 10000"),
    text("set number", "N", "Sets number of simultaneous files").or("500"),
    text("set seed", "N", "Sets seed for random number generator").or("42"),
    text("set transactions", "N", "Sets number of transactions").or("500"),
    text("set location", "[+|-]DIRECTORY [WEIGHT]", "Sets location of working files").or("the working directory"),
    text("set subdirectories", "N", "Sets number of subdirectories").or("0"),
    text("set read", "BYTES", "Sets read block size").or("512"),
    text("set write", "BYTES", "Sets write block size").or("512"),
    Entry::new("set buffering", Kind::Word(BUFFERING), "true|false", "Sets usage of buffered I/O").or("true"),
    text("set bias read", "-1..10", "Sets the chance of choosing read over append").or("5"),
    text("set bias create", "-1..10", "Sets the chance of choosing create over delete").or("5"),
    Entry::new("set report", Kind::Word(REPORTS), "verbose|terse", "Choose verbose or terse report format").or("verbose"),
    text("run", "[FILE]", "Runs one iteration of benchmark"),
    text("load", "FILE", "Read configuration file"),
    text("show", "[FILE]", "Displays current configuration"),
    text("help", "[BEGINNING]", "Prints out available commands").also(&["?"]),
    Entry::new("quit", Kind::Switch, "", "Exit program").also(&["exit"]),
    text(ESCAPE, "COMMAND", "run a command in a shell").refused(SHELL, SHELL_HINT),
    Entry::new("FILE", Kind::Path, "", "a file of commands, before those of standard input").or(".pmrc, if there is one").under(ARGUMENTS),
    switch("--help", "print this and end").also(&["-h"]).under(ARGUMENTS),
    switch("--version", "print the version and end").under(ARGUMENTS),
];

/// The commands that may be given, in the original's order.
pub fn commands() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(|entry| entry.category.is_empty() && entry.status == Status::Done)
}

/// The command that a line begins with, and what follows it.
///
/// # Errors
/// There is none, or it is refused.
pub fn find<'a>(line: &'a str, origin: &Origin) -> Result<(&'static Entry, &'a str), Diagnostic> {
    let rest = |name: &str| {
        let rest = line.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(' ') || name == ESCAPE).then_some(rest.trim())
    };
    let commands = ENTRIES.iter().filter(|entry| entry.category.is_empty());
    let found = commands.flat_map(|entry| entry.names().map(move |name| (entry, name)));
    let longest = found
        .filter_map(|(entry, name)| Some((name, entry, rest(name)?)))
        .max_by_key(|(name, ..)| name.len());
    match longest {
        Some((_, entry, rest)) => TABLE.check(entry.name, origin).map(|entry| (entry, rest)),
        None => {
            let words: Vec<&str> = line.split(' ').take(2).collect();
            let near = TABLE.suggest(&words.join(" ")).or_else(|| TABLE.suggest(words[0]));
            let hint = near.map_or_else(
                || "`help` lists the commands".to_string(),
                |near| format!("did you mean `{near}`?"),
            );
            Err(Diagnostic::error(origin, format!("postmark has no command `{line}`")).hint(hint))
        }
    }
}

/// The text of `help`, of the commands that begin so; of all where none does.
pub fn listed(beginning: &str) -> String {
    let line = |entry: &Entry| format!("{} - {}\n", entry.name, entry.help);
    let some: String = commands()
        .filter(|entry| !beginning.is_empty() && entry.name.starts_with(beginning))
        .map(line)
        .collect();
    if some.is_empty() { commands().map(line).collect() } else { some }
}

/// The page about postmark, with a table of its commands.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// The text of `--help`.
pub fn help() -> String {
    format!(
        "usage: postmark [FILE]\n\nCommands, one a line, of FILE and then of standard input:\n{}",
        TABLE.help()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert_eq!(commands().count(), 17);
    }

    #[test]
    fn help_lists_what_begins_so_or_all() {
        assert_eq!(listed("set b").lines().count(), 3);
        assert_eq!(listed("nothing"), listed(""));
        assert!(listed("").starts_with("set size - Sets low"));
    }

    #[test]
    fn a_line_is_a_command_and_its_value() {
        let found = |line: &'static str| find(line, &Origin::Default).map(|(entry, rest)| (entry.name, rest));
        assert_eq!(found("set bias read  7"), Ok(("set bias read", "7")));
        assert_eq!(found("?"), Ok(("help", "")));
        assert_eq!(found("exit"), Ok(("quit", "")));
        for (line, words) in [
            ("set sizes 4", "`set size`"),
            ("!ls", "must not run programs"),
            ("runs", "`run`"),
            ("a", "lists the commands"),
        ] {
            let wrong = found(line).unwrap_err().to_string();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
    }
}
