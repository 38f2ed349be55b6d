//! postmark's commands, line by line: what they set, and what they ask for.
//!
//! A line that cannot be is told by its place, and then nothing is run; the original goes on with what was set before.

use iodyno_model::{Diagnostic, Origin};

use super::options;
use super::settings::{Location, Settings};
use crate::option::Entry;

/// The largest number, as the original has 32 bits.
const MOST: i64 = i32::MAX as i64;
/// The longest file, so that twice its length is such a number, bytes.
const LENGTH_MOST: i64 = MOST / 2;
/// The most files at once, subdirectories and weights: what a run does is worked out before it begins, and kept.
const FILES_MOST: i64 = 2_000_000;
/// The most transactions, for the same reason.
const TRANSACTIONS_MOST: i64 = 10_000_000;

/// What a line asks for, besides what it set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRequest {
    Nothing,
    /// A line that the original does not understand and that does no harm: an empty one, a remark.
    Unknown,
    Run(Option<String>),
    Load(String),
    Show(Option<String>),
    Help(String),
    Quit,
}

/// Takes a line: sets what it sets, and tells what it asks for.
///
/// # Errors
/// No such command, or a value that cannot be.
pub fn take(line: &str, settings: &mut Settings, origin: &Origin) -> Result<LineRequest, Diagnostic> {
    let line = line.trim_end();
    if line.trim_start().is_empty() || line.starts_with('#') {
        return Ok(LineRequest::Unknown);
    }
    let (entry, value) = options::find(line, origin)?;
    let named = || Some(value.to_string()).filter(|value| !value.is_empty());
    let taker = ValueTaker { entry, value, origin };
    Ok(match entry.name {
        "run" => LineRequest::Run(named()),
        "show" => LineRequest::Show(named()),
        "help" => LineRequest::Help(value.to_string()),
        "quit" => LineRequest::Quit,
        "load" => {
            LineRequest::Load(named().ok_or_else(|| taker.wrong("expected a file of commands", "load FILE"))?)
        }
        _ => {
            taker.set(settings)?;
            LineRequest::Nothing
        }
    })
}

/// A command that sets something, with its value.
struct ValueTaker<'a> {
    entry: &'static Entry,
    value: &'a str,
    origin: &'a Origin,
}

impl ValueTaker<'_> {
    fn wrong(&self, what: &str, hint: &str) -> Diagnostic {
        let said = if self.value.is_empty() {
            self.entry.name.to_string()
        } else {
            format!("{} {}", self.entry.name, self.value)
        };
        Diagnostic::error(self.origin, format!("`{said}`: {what}")).hint(hint)
    }

    fn set(&self, settings: &mut Settings) -> Result<(), Diagnostic> {
        match self.entry.name {
            "set size" => {
                let mut words = self.value.split_whitespace();
                let low = self.whole(words.next().unwrap_or_default(), 1, LENGTH_MOST)?;
                let high = words.next().map_or(Ok(low), |high| self.whole(high, 1, LENGTH_MOST))?;
                if high < low || words.next().is_some() {
                    return Err(
                        self.wrong("expected the shortest length and the longest", "set size 500 10000")
                    );
                }
                (settings.size_low, settings.size_high) = (low, high);
            }
            "set number" => settings.number = self.whole(self.value, 1, FILES_MOST)?,
            "set seed" => settings.seed = self.whole(self.value, 1, MOST)?,
            "set transactions" => settings.transactions = self.whole(self.value, 1, TRANSACTIONS_MOST)?,
            "set location" => self.location(&mut settings.locations)?,
            "set subdirectories" => settings.subdirectories = self.whole(self.value, 1, FILES_MOST)?,
            "set read" => settings.read_block = self.whole(self.value, 1, MOST)?,
            "set write" => settings.write_block = self.whole(self.value, 1, MOST)?,
            "set bias read" => settings.bias_read = self.whole(self.value, -1, 10)?,
            "set bias create" => settings.bias_create = self.whole(self.value, -1, 10)?,
            _ => {
                let word = options::TABLE.check_word(self.entry, self.value, self.origin)?;
                match self.entry.name {
                    "set buffering" => settings.buffered = word.name == "true",
                    _ => settings.terse = word.name == "terse",
                }
            }
        }
        Ok(())
    }

    fn whole(&self, text: &str, least: i64, most: i64) -> Result<i64, Diagnostic> {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        let hint = format!("{} {}", self.entry.name, self.entry.default);
        number.ok_or_else(|| self.wrong(&format!("expected a whole number from {least} to {most}"), &hint))
    }

    /// A directory with its weight, in place of all others, beside them (`+`) or taken out of them (`-`).
    fn location(&self, locations: &mut Vec<Location>) -> Result<(), Diagnostic> {
        const HINT: &str = "set location /mnt, set location +/mnt2 3, set location -/mnt2";
        let (sign, named) = match self.value.split_at_checked(1) {
            Some((sign @ ("+" | "-"), named)) => (sign, named),
            _ => ("", self.value),
        };
        if named.is_empty() {
            return Err(self.wrong("expected a directory", HINT));
        }
        if sign == "-" {
            let known = locations.iter().position(|location| location.path == named);
            let at = known.ok_or_else(|| self.wrong("there is no such location", HINT))?;
            locations.remove(at);
            return Ok(());
        }
        let (path, weight) = match named.rsplit_once(' ') {
            Some((path, weight)) => (path.trim_end(), self.whole(weight, 1, FILES_MOST)?),
            None => (named, 1),
        };
        if sign.is_empty() {
            locations.clear();
        }
        if locations.iter().any(|location| location.path == path) {
            return Err(self.wrong("this location is there already", "say its weight: set location /mnt 3"));
        }
        locations.push(Location { path: path.into(), weight });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_set_what_they_name() {
        let mut settings = Settings::default();
        for line in [
            "set size 5 70",
            "set number 9",
            "set seed 3",
            "set transactions 11",
            "set location /a",
            "set location +/b 4",
            "set location +/c",
            "set location -/a",
            "set subdirectories 2",
            "set read 1",
            "set write 4096",
            "set buffering false",
            "set bias read -1",
            "set bias create 10",
            "set report terse",
        ] {
            assert_eq!(take(line, &mut settings, &Origin::Default), Ok(LineRequest::Nothing), "{line}");
        }
        let location = |path: &str, weight| Location { path: path.into(), weight };
        let wanted = Settings {
            size_low: 5,
            size_high: 70,
            number: 9,
            seed: 3,
            transactions: 11,
            locations: vec![location("/b", 4), location("/c", 1)],
            subdirectories: 2,
            read_block: 1,
            write_block: 4096,
            buffered: false,
            bias_read: -1,
            bias_create: 10,
            terse: true,
        };
        assert_eq!(settings, wanted);
        assert_eq!(take("set size 8", &mut settings, &Origin::Default), Ok(LineRequest::Nothing));
        assert_eq!((settings.size_low, settings.size_high), (8, 8));
    }

    #[test]
    fn what_cannot_be_sets_nothing_and_is_one_message() {
        for (line, words) in [
            ("set size", "expected a whole number from 1"),
            ("set size 9 8", "the shortest length"),
            ("set size 1 2 3", "the longest"),
            ("set number 5x", "expected a whole number"),
            ("set seed 0", "from 1 to"),
            ("set bias read 11", "from -1 to 10"),
            ("set buffering maybe", "knows no `maybe`"),
            ("set report loud", "knows no"),
            ("set location", "expected a directory"),
            ("set location -/x", "no such location"),
            ("set location /x 0", "from 1"),
            ("load", "expected a file"),
            ("set size 2000000000", "1073741823"),
            ("!rm x", "must not run programs"),
            ("go", "no command"),
        ] {
            let mut settings = Settings::default();
            let wrong = take(line, &mut settings, &Origin::file("f", 7)).unwrap_err();
            let text = wrong.to_string();
            assert!(text.contains(words) && text.starts_with("error: f:7: "), "{line}: {text}");
            assert!(wrong.hint.is_some(), "{line}");
            assert_eq!(settings, Settings::default(), "{line}");
        }
    }
}
