//! The table as IOR's help, and as the page of documentation.

use std::fmt::Write as _;

use super::{ARGUMENTS, DIRECTIVES, FLAGS, OLDER, TABLE};
use crate::option::Entry;

/// The text of `ior -h`: the shape of IOR's, our words.
pub fn help() -> String {
    let mut text = String::from("Synopsis ior\n");
    section(&mut text, "\nFlags\n", FLAGS, Entry::is_flag);
    section(&mut text, "\nOptional arguments\n", ARGUMENTS, |entry| !entry.is_flag());
    section(&mut text, "\nDirectives: -O KEY=VALUE, or a line of a script\n", DIRECTIVES, |_| true);
    section(&mut text, "\nOlder keys and letters\n", OLDER, |_| true);
    for module in modules() {
        let _ = write!(text, "\n\n{module}\n");
        section(&mut text, "\nFlags\n", module, Entry::is_flag);
        section(&mut text, "\nOptional arguments\n", module, |entry| !entry.is_flag());
    }
    text
}

fn modules() -> Vec<&'static str> {
    let mut names: Vec<&str> = TABLE.entries.iter().map(|entry| entry.category).collect();
    names.retain(|name| name.starts_with("Module "));
    names.dedup();
    names
}

fn section(text: &mut String, title: &str, category: &str, wanted: fn(&Entry) -> bool) {
    let entries: Vec<_> =
        TABLE.entries.iter().filter(|entry| entry.category == category && wanted(entry)).collect();
    if entries.is_empty() {
        return;
    }
    text.push_str(title);
    for entry in entries {
        let note = entry.status.remark();
        let name = if entry.name.contains('.') || ["help", "version"].contains(&entry.name) {
            ""
        } else {
            entry.name
        };
        let name = if name.is_empty() { String::new() } else { format!("{name} -- ") };
        let _ = writeln!(text, "  {:<29} {name}{}{note}", written(entry), entry.help);
    }
}

/// How it is written on the command line: `-c, --collective`, `-b=1048576`, `-O summaryFile=FILE`.
fn written(entry: &Entry) -> String {
    let dashed: Vec<&str> = entry.aliases.iter().copied().filter(|alias| alias.starts_with('-')).collect();
    let value = if entry.default.is_empty() { entry.value } else { entry.default };
    match (dashed.is_empty(), entry.is_flag()) {
        (true, true) => format!("-O {}=1", entry.name),
        (true, false) => format!("-O {}={value}", entry.name),
        (false, true) => dashed.join(", "),
        (false, false) => format!("{}={value}", dashed.join(", ")),
    }
}

/// The page `docs/ior.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_the_shape_of_the_originals() {
        let help = help();
        for line in [
            "Synopsis ior\n\nFlags\n  -c, --collective              collective -- ",
            "\n\nOptional arguments\n  -a=POSIX                      api -- ",
            "\n  -b=1048576                    blockSize -- ",
            "\n  -l, --dataPacketType=timestamp dataPacketType -- ",
            "\n\n\nModule POSIX\n\nFlags\n  --posix.odirect, -B           ",
            "\n\n\nModule AIO\n\nOptional arguments\n  --aio.max-pending=128         ",
        ] {
            assert!(help.contains(line), "{line:?} in\n{help}");
        }
    }

    #[test]
    fn the_document_says_what_is_not_done() {
        assert!(document().starts_with("# ior\n") && document().contains("**no**"));
    }
}
