//! The anatomy of a dialect's folder: `command`, `options`, `settings`, `lower` and `report`, each a file or a folder.
//!
//! Whoever knows one dialect then finds his way in all of them. A part that a dialect does not have is an exception with its
//! reason; an exception that nothing needs any more is a violation too.

use super::{Tree, Violation};

/// The parsed command line, the option table, the options resolved, the way to the plan, the way from events to text.
const PARTS: [&str; 5] = ["command", "options", "settings", "lower", "report"];

/// A dialect, the parts that it does not have, and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    ("dd", &["settings"], "an operand is resolved as soon as it is parsed"),
    (
        "age",
        &["command", "settings"],
        "clap's option table is what it parses into, and each option is resolved then",
    ),
    (
        "filebench",
        &["settings"],
        "a value is resolved where it is used: a script may set a variable after that",
    ),
    ("hdparm", &["settings"], "an option is resolved as soon as it is parsed"),
    (
        "iperf",
        &["settings"],
        "an option is resolved as it is parsed; what a server sends comes from its client's header",
    ),
    (
        "net",
        &["command", "options", "settings", "lower", "report"],
        "a list of commands; each has arguments, stages and a report of its own",
    ),
    ("posix", &["command"], "clap parses the command line straight into the options"),
    (
        "s3check",
        &["command", "settings", "report"],
        "clap parses the command line straight into the options, which are the engine's settings; posix reports",
    ),
];

const FOLDER: &str = "crates/dialect/src/";
const HINT: &str = "give it a file or a folder of that name, or an exception with its reason in \
                    crates/xtask/src/tidy/anatomy.rs";
const STALE_HINT: &str = "remove it from EXCEPTIONS: an exception is for what is missing";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let folder = |path: &str| path.strip_prefix(FOLDER)?.strip_suffix("/mod.rs").map(String::from);
    let named = |(path, text): &(String, String)| {
        folder(path).filter(|name| !name.contains('/') && text.contains("const DIALECT: Dialect"))
    };
    tree.files.iter().filter_map(named).flat_map(|dialect| judge(tree, &dialect)).collect()
}

fn judge(tree: &Tree, dialect: &str) -> Vec<Violation> {
    let path = format!("{FOLDER}{dialect}/mod.rs");
    let exception = EXCEPTIONS.iter().find(|(name, ..)| *name == dialect);
    let excepted = |part: &&str| exception.is_some_and(|(_, parts, _)| parts.contains(part));
    let is_there = |part: &&str| {
        let [file, folder] = [".rs", "/mod.rs"].map(|ending| format!("{FOLDER}{dialect}/{part}{ending}"));
        tree.files.iter().any(|(path, _)| *path == file || *path == folder)
    };
    let mut violations = Vec::new();
    for part in PARTS.iter().filter(|part| is_there(part) == excepted(part)) {
        let (message, hint) = match excepted(part) {
            true => (format!("`{dialect}` has the part `{part}` that it is excepted from"), STALE_HINT),
            false => (format!("`{dialect}` has no part `{part}`"), HINT),
        };
        violations.push(Violation::new(&path, 1, message, hint));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::planted;

    const DIALECT: &str = "pub const DIALECT: Dialect = Dialect {};";

    fn messages(files: &[&str]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|file| format!("{FOLDER}{file}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), DIALECT)).collect();
        check(&planted(&files)).into_iter().map(|violation| violation.message).collect()
    }

    #[test]
    fn a_missing_part_and_an_outlived_exception_are_found() {
        let whole =
            ["x/mod.rs", "x/command.rs", "x/options/mod.rs", "x/settings.rs", "x/lower.rs", "x/report.rs"];
        assert_eq!(messages(&whole), Vec::<String>::new());
        assert_eq!(messages(&whole[..5]), ["`x` has no part `report`"]);
        let dd = ["dd/mod.rs", "dd/command.rs", "dd/options.rs", "dd/lower.rs", "dd/report.rs"];
        assert_eq!(messages(&dd), Vec::<String>::new());
        let outlived = [&dd[..], &["dd/settings.rs"]].concat();
        assert_eq!(messages(&outlived), ["`dd` has the part `settings` that it is excepted from"]);
        assert_eq!(messages(&["helpers.rs"]), Vec::<String>::new(), "no dialect");
    }
}
