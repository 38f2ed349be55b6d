//! The system-call helper that pjdfstest's suites call (`pjdfstest`, and `fstest` of old): words in, words out.
//!
//! ```text
//! pjdfstest [-U umask] [-u uid] [-g gid[,gid…]] [--] call argument… [: call argument…]…
//! ```
//! Each call says one line: `0`, an error's name, or what it was asked for. It refuses what this system does not have
//! (file flags of BSD, NFSv4 lists) on standard error, as it refuses what it does not understand; the calls before that
//! are made, as the original makes them.

use iodyno_model::Diagnostic;

use crate::option::{
    Arguments, Entry, Kind, Misfit, Setter, Spelling, Syntax, Table, Token, entries, setter, switch,
};
use crate::{Dialect, Loader, Request};

/// The names it answers to.
pub const NAMES: [&str; 2] = ["pjdfstest", "fstest"];

/// The helper in the list of dialects.
pub const PJDFSTEST: Dialect = Dialect {
    name: NAMES[0],
    about: "make system calls and print their results (the helper of pjdfstest)",
    drop_in: true,
    also: &[],
    lower: |arguments, _: &mut dyn Loader| request(arguments),
};

/// The same by its old name.
pub const FSTEST: Dialect =
    Dialect { name: NAMES[1], about: "pjdfstest under the name of its predecessor", ..PJDFSTEST };

/// What a command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelperCalls {
    /// The user to become, as it was typed.
    pub user: Option<String>,
    /// The groups, as they were typed.
    pub groups: Option<String>,
    /// The file mode creation mask, as it was typed.
    pub umask: Option<String>,
    /// The calls in order: each is made if the one before succeeded.
    pub calls: Vec<HelperCall>,
    /// What is wrong with the call after them, which ends the chain.
    pub wrong: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperCall {
    pub name: String,
    pub arguments: Vec<String>,
    /// What it says when it succeeds.
    pub says: Says,
}

/// What a call says when it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// `0`.
    Zero,
    /// What came back, so many characters of it at most.
    Text(usize),
    /// These attributes, with commas between.
    Fields(Vec<String>),
}

/// The longest text of a read, characters.
const READ: usize = 1024;

/// How many arguments a call has, and what it says.
enum CallShape {
    /// So many to so many, and `0`.
    Zero(usize, usize),
    /// So many, and what came back.
    Text(usize),
    /// So many, and behind them the attributes that are wanted.
    Fields(usize),
    /// Not on this system.
    Elsewhere(&'static str),
}
use CallShape::{Elsewhere, Fields, Text, Zero};

const FLAGS: CallShape = Elsewhere("file flags are BSD's; Linux has those of chattr");
/// NFSv4's lists.
const LISTS: CallShape = Elsewhere("access control lists of NFSv4 are not on this system");

/// Every call of the helper, by what it takes.
const SHAPES: &[(CallShape, &str)] = &[
    (Zero(1, 1), "unlink rmdir bind connect"),
    (
        Zero(2, 2),
        "create mkdir link symlink rename mkfifo bindat connectat chmod fchmod lchmod truncate ftruncate write",
    ),
    (Zero(2, 3), "open"),
    (Zero(3, 3), "unlinkat mkdirat symlinkat mkfifoat chown fchown lchown posix_fallocate pwrite"),
    (Zero(3, 4), "openat"),
    (Zero(4, 4), "renameat fchmodat"),
    (Zero(5, 5), "linkat mknod fchownat"),
    (Zero(6, 6), "mknodat"),
    (Zero(7, 7), "utimensat"),
    (Text(3), "pread"),
    (Text(2), "pathconf fpathconf"),
    (Fields(1), "stat lstat fstat"),
    (Fields(3), "fstatat"),
    (Elsewhere("limits of a link itself are BSD's"), "lpathconf"),
    (FLAGS, "chflags lchflags fchflags chflagsat"),
    (LISTS, "prependacl readacl"),
];

/// Attributes by the names of the helper.
const FIELDS: &str =
    "type mode inode nlink uid gid size blocks major minor atime mtime ctime atime_ns mtime_ns ctime_ns";

const fn value(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

/// The options before the calls.
const SETTERS: &[Setter<HelperCalls, String>] = &[
    value("U", "UMASK", "the file mode creation mask")
        .or("0")
        .text(|calls, mask| calls.umask = Some(mask.into())),
    value("u", "UID", "the user to become").text(|calls, user| calls.user = Some(user.into())),
    value("g", "GID[,GID…]", "the groups; the first is the effective one")
        .text(|calls, groups| calls.groups = Some(groups.into())),
    switch("help", "print this and end").parsed(|_, _| Err(String::new())),
    switch("version", "print the version and end").parsed(|_, _| Err(String::new())),
];

const TABLE: Table =
    Table { tool: NAMES[0], spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

const SYNTAX: Syntax = Syntax {
    stops_at_operand: true,
    long: Some(|table, name| table.find(name).filter(|entry| entry.name.len() > 1)),
    ..Syntax::GETOPT
};

/// How it is written.
const USAGE: &str = "usage: [-U umask] [-u uid] [-g gid[,gid…]] [--] call argument… [: call argument…]…";

/// Why no call is made.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EarlyExit {
    /// `--help`, `--version`: the text.
    Print(String),
    /// The options are wrong, and what about them.
    Wrong(String),
}

/// What a command line asks for; what is wrong with its options is refused before anything is done.
///
/// # Errors
/// Never: a refusal is a request of its own.
pub fn request(arguments: &[String]) -> Result<Request, Vec<Diagnostic>> {
    Ok(match parse(arguments) {
        Ok(calls) => Request::Calls(Box::new(calls)),
        Err(EarlyExit::Print(out)) => Request::Print { out, status: 0 },
        Err(EarlyExit::Wrong(wrong)) => {
            Request::Refuse { err: format!("{}: {wrong}\n", NAMES[0]), status: 1 }
        }
    })
}

/// Reads a command line.
fn parse(arguments: &[String]) -> Result<HelperCalls, EarlyExit> {
    let mut calls = HelperCalls::default();
    let wrong = |what: String| EarlyExit::Wrong(format!("{what}\n{USAGE}"));
    let mut options = Arguments::new(&TABLE, SYNTAX, arguments);
    // Some callers put it behind the options, some before a call's own negative numbers.
    let mut is_separated = false;
    for token in options.by_ref() {
        match token {
            Ok(Token::Option(given)) if given.entry.name == "help" => return Err(EarlyExit::Print(help())),
            Ok(Token::Option(given)) if given.entry.name == "version" => {
                return Err(EarlyExit::Print(version()));
            }
            Ok(Token::Option(given)) => {
                let value = given.value.unwrap_or_default();
                let rule = setter(SETTERS, given.entry)
                    .map(|setter| setter.apply(&mut calls, value, |_| String::new()));
                rule.transpose().map_err(wrong)?;
            }
            // An operand is left in the rest: the options end at it.
            Ok(Token::Separator | Token::Operand(_)) => {
                is_separated = true;
                break;
            }
            Err(Misfit::Unfinished { name, .. }) => {
                return Err(wrong(format!("`-{name}`: a number is missing")));
            }
            Err(misfit) => return Err(wrong(format!("`-{}`: is no option", misfit.name()))),
        }
    }
    let words: Vec<String> = options
        .rest()
        .iter()
        .filter(|word| *word != "--" || std::mem::replace(&mut is_separated, true))
        .cloned()
        .collect();
    for words in words.split(|word| word == ":") {
        match spoken(words) {
            Ok(call) => calls.calls.push(call),
            Err(wrong) => {
                calls.wrong = Some(wrong);
                break;
            }
        }
    }
    Ok(calls)
}

/// The text of `--help`.
fn help() -> String {
    let mut text =
        format!("{USAGE}\n\nOptions:\n{}\nCalls, with the number of their arguments:\n", TABLE.help());
    for (shape, names) in SHAPES {
        let says = match shape {
            Zero(least, most) => range(*least, *most),
            Text(count) => format!("{count}, prints what came back"),
            Fields(count) => format!("{}, the last names attributes", count + 1),
            Elsewhere(why) => format!("refused: {why}"),
        };
        text.push_str(&format!("  {names}\n      {says}\n"));
    }
    text + &format!("Attributes: {FIELDS}\n")
}

/// The text of `--version`.
fn version() -> String {
    format!("{} (iodyno) {}\n", NAMES[0], env!("CARGO_PKG_VERSION"))
}

fn spoken(words: &[String]) -> Result<HelperCall, String> {
    let (name, arguments) = words.split_first().ok_or_else(|| format!("a call is missing\n{USAGE}"))?;
    let shape = SHAPES.iter().find(|(_, names)| names.split(' ').any(|known| known == name));
    let shape = shape.map(|(shape, _)| shape);
    let shape = shape.ok_or_else(|| format!("`{name}`: there is no such call here"))?;
    let counted = |least, most| match arguments.len() {
        count if (least..=most).contains(&count) => Ok(()),
        count => Err(format!("`{name}`: {count} arguments, expected {}", range(least, most))),
    };
    let mut arguments = arguments.to_vec();
    let says = match shape {
        Zero(least, most) => counted(*least, *most).map(|()| Says::Zero)?,
        Text(count) => counted(*count, *count).map(|()| Says::Text(READ))?,
        Fields(count) => {
            counted(count + 1, count + 1)?;
            let fields = arguments.pop().unwrap_or_default();
            let fields = fields.split(',').filter(|field| !field.is_empty());
            Says::Fields(fields.map(String::from).collect())
        }
        Elsewhere(why) => return Err(format!("`{name}`: {why}")),
    };
    Ok(HelperCall { name: name.clone(), arguments, says })
}

fn range(least: usize, most: usize) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

impl Says {
    /// The line of a call that succeeded, by what came back: its text, and its attributes.
    pub fn line(&self, text: &str, field: impl Fn(&str) -> Option<String>) -> String {
        match self {
            Says::Zero => "0".into(),
            Says::Text(most) => text.chars().take(*most).collect(),
            Says::Fields(fields) => {
                fields.iter().map(|name| attribute(name, &field)).collect::<Vec<_>>().join(",")
            }
        }
    }
}

/// An attribute in the helper's words: times cut in two, directories by their short name, and `unknown` for a name that
/// the helper does not know, as the original answers to it.
fn attribute(name: &str, field: &impl Fn(&str) -> Option<String>) -> String {
    if !FIELDS.split(' ').any(|known| known == name) {
        return "unknown".into();
    }
    let ours = if name == "inode" { "ino" } else { name.trim_end_matches("_ns") };
    let value = field(ours).unwrap_or_default();
    match (name, value.split_once('.')) {
        (name, Some((_, nanoseconds))) if name.ends_with("_ns") => {
            match nanoseconds.trim_start_matches('0') {
                "" => "0".into(),
                digits => digits.into(),
            }
        }
        (_, Some((seconds, _))) => seconds.into(),
        ("type", None) if value == "directory" => "dir".into(),
        (_, None) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<HelperCalls, String> {
        let calls = parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>());
        calls.map_err(|(EarlyExit::Print(text) | EarlyExit::Wrong(text))| text)
    }

    #[test]
    fn options_come_before_the_calls() {
        let calls = parsed("-U 022 -u65534 -g 1,2 -- chown f -1 -1").unwrap();
        assert_eq!(calls.umask.as_deref(), Some("022"));
        assert_eq!(calls.user.as_deref(), Some("65534"));
        assert_eq!(calls.groups.as_deref(), Some("1,2"));
        assert_eq!(calls.calls[0].arguments, ["f", "-1", "-1"]);
        assert_eq!(parsed("chown f -1 -1").unwrap().calls[0].arguments, ["f", "-1", "-1"]);
        assert_eq!(parsed("chown -- f -1 -1").unwrap().calls[0].arguments, ["f", "-1", "-1"]);
        assert_eq!(parsed("-- unlink --").unwrap().calls[0].arguments, ["--"]);
    }

    #[test]
    fn calls_are_chained_by_colons() {
        let calls = parsed("open f O_RDWR : fstat 0 mode,mtime_ns : write 0 x").unwrap().calls;
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["open", "fstat", "write"]);
        assert_eq!(calls[1].says, Says::Fields(vec!["mode".into(), "mtime_ns".into()]));
        assert_eq!(calls[1].arguments, ["0"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, hint) in [
            ("", "a call is missing"),
            ("unlink f :", "a call is missing"),
            ("unlnk f", "no such call"),
            ("unlink", "0 arguments, expected 1"),
            ("open f", "expected 2 to 3"),
            ("stat f", "expected 2"),
            ("-", "no such call"),
            ("chflags f none", "file flags are BSD's"),
            ("readacl f", "NFSv4"),
        ] {
            let wrong = parsed(line).unwrap().wrong.unwrap();
            assert!(wrong.contains(hint), "{line}: {wrong}");
        }
        for (line, hint) in [
            ("-x unlink f", "`-x`: is no option\nusage"),
            ("--u unlink f", "is no option"),
            ("-u", "`-u`: a number is missing"),
            ("-\u{e9} unlink f", "is no option"),
        ] {
            let wrong = parsed(line).unwrap_err();
            assert!(wrong.contains(hint), "{line}: {wrong}");
        }
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }

    #[test]
    fn calls_before_a_malformed_one_are_made() {
        let calls = parsed("mkdir d 0755 : unlnk f : rmdir d").unwrap();
        assert_eq!(calls.calls.len(), 1);
        assert!(calls.wrong.unwrap().contains("`unlnk`"));
    }

    #[test]
    fn help_names_options_calls_and_attributes() {
        let help = parsed("--help").unwrap_err();
        for words in ["-u UID", "unlinkat mkdirat", "ctime_ns", "BSD"] {
            assert!(help.contains(words), "{words}: {help}");
        }
        assert!(parsed("--version").unwrap_err().starts_with("pjdfstest (iodyno) "));
    }

    #[test]
    fn attributes_are_said_in_the_suites_words() {
        let field = |name: &str| {
            let value = match name {
                "type" => "directory",
                "ino" => "7",
                _ => "-3.000000120",
            };
            Some(value.to_string())
        };
        let says = Says::Fields(["type", "inode", "atime", "atime_ns", "colour"].map(String::from).to_vec());
        assert_eq!(says.line("", field), "dir,7,-3,120,unknown");
        assert_eq!(Says::Text(3).line("abcdef", field), "abc");
        assert_eq!(Says::Zero.line("abcdef", field), "0");
    }
}
