//! The calls that steps may name, with their arguments, so that a slip is found where it was written.
//!
//! The engine room knows what they do; here are only their names and the shapes of their arguments, as docs/rules.md
//! has them. It refuses nothing that could run: a word that begins with `$` fits everywhere.

use std::collections::BTreeMap;

use super::near_or;
use super::step::{Problem, problem};
use super::vocabulary::Vocabulary;

/// Each call with its arguments.
pub const CALLS: &str = include_str!("calls.txt");

/// Whether a call changes what is mounted.
pub fn mounts(name: &str) -> bool {
    matches!(name, "mount_tmpfs" | "mount_bind" | "umount")
}

/// Words for descriptors that nothing opened.
const NOT_OPENED: &[&str] = &["AT_FDCWD", "BADFD"];

/// The calls of a vocabulary, by their names.
#[derive(Debug)]
pub struct CallTable(BTreeMap<&'static str, ArgumentShape>);

impl CallTable {
    /// Reads a line for each call, its name and its arguments: `FD` is something opened, brackets may be left out, `…` is any
    /// number of the last.
    pub fn read(lines: &'static str) -> CallTable {
        let calls = lines.lines().map(|call| call.split_once(' ').unwrap_or((call, "")));
        CallTable(calls.map(|(name, arguments)| (name, shape(arguments))).collect())
    }

    /// Names and arguments, in order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().map(|(name, shape)| (*name, shape.written))
    }
}

/// What a call takes, word by word.
#[derive(Debug)]
struct ArgumentShape {
    written: &'static str,
    kinds: Vec<&'static str>,
    least: usize,
    most: usize,
}

fn shape(arguments: &'static str) -> ArgumentShape {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let least = words.iter().filter(|word| !word.starts_with('[')).count();
    let most = if arguments.contains('…') { usize::MAX } else { words.len() };
    ArgumentShape { written: arguments, kinds: words, least, most }
}

/// Looks whether a call can be made as it is written; `opened` are the labels of earlier steps.
///
/// # Errors
/// There is no such call, it takes other arguments, or it works on something that nothing opened.
pub fn check(
    vocabulary: &Vocabulary,
    name: &str,
    arguments: &[String],
    opened: &[String],
) -> Result<(), Problem> {
    let Some(shape) = vocabulary.calls.0.get(name) else {
        let names: Vec<&str> = vocabulary.calls.entries().map(|(name, _)| name).collect();
        let hint = near_or(name, &names, &format!("{} lists all calls", vocabulary.page));
        return problem(format!("`{name}`: there is no such call"), hint);
    };
    if arguments.len() < shape.least || arguments.len() > shape.most {
        let message = format!("`{name}` takes other arguments than these {}", arguments.len());
        return problem(message, format!("{name} {}", shape.written).trim_end());
    }
    match (name, arguments) {
        ("try", [call, rest @ ..]) | ("signed", [_, call, rest @ ..]) => {
            return check(vocabulary, call, rest, opened);
        }
        ("loop", [times, call, rest @ ..]) if times.starts_with('$') || times.parse::<u64>().is_ok() => {
            return check(vocabulary, call, rest, opened);
        }
        ("loop", [times, ..]) => {
            return problem(format!("`{times}`: no number of times"), "loop N CALL ARGUMENT…");
        }
        _ => {}
    }
    for (argument, kind) in arguments.iter().zip(&shape.kinds) {
        descriptor(argument, kind, opened)?;
    }
    Ok(())
}

fn descriptor(argument: &str, kind: &str, opened: &[String]) -> Result<(), Problem> {
    let known = || {
        NOT_OPENED.contains(&argument)
            || argument.starts_with('$')
            || argument.parse::<i64>().is_ok()
            || opened.iter().any(|label| label == argument)
    };
    if !matches!(kind, "FD" | "DIR" | "MAP") || known() {
        return Ok(());
    }
    let labels: Vec<&str> = opened.iter().map(String::as_str).chain(NOT_OPENED.iter().copied()).collect();
    let hint = near_or(argument, &labels, &format!("{argument} = open PATH FLAGS, in a step before"));
    Err((format!("`{argument}`: no step before it opened something under that name"), hint))
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::FILES;
    use super::*;

    #[test]
    fn the_page_names_every_call() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md"));
        for (name, _) in FILES.calls.entries() {
            let named = page.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            assert!(named.clone().any(|word| word == name), "{name}");
        }
    }

    #[test]
    fn slips_are_found() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let opened = vec!["h".to_string()];
        assert!(check(&FILES, "pwrite", &words("h x 0"), &opened).is_ok());
        assert!(check(&FILES, "try", &words("close h"), &opened).is_ok());
        assert!(check(&FILES, "pwrite", &words("g x 0"), &opened).unwrap_err().0.contains("`g`"));
        assert!(check(&FILES, "chmdo", &words("f 0644"), &opened).unwrap_err().1.contains("chmod"));
        assert_eq!(check(&FILES, "chmod", &words("f"), &opened).unwrap_err().1, "chmod PATH MODE");
        assert!(check(&FILES, "loop", &words("many close h"), &opened).is_err());
    }
}
