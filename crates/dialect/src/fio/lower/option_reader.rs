//! What lowering asks of one job's settings: the last mention of an option, by any of its names, as the type that is
//! needed.
//!
//! It refuses to judge: what does not fit the type answers as if it had not been said, and the option table has
//! already refused what is no value of it.

use iodyno_model::{Diagnostic, Directed, Origin};

use super::super::settings::{Given, Settings};
use super::super::value::{Amount, Value};

/// One job's settings, with what has been found wrong with them so far.
pub struct OptionReader<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// What stops the run.
    pub wrong: Vec<Diagnostic>,
    /// What is worth saying.
    pub notes: Vec<Diagnostic>,
}

impl<'a> OptionReader<'a> {
    /// Nothing found yet.
    pub fn new(settings: &'a Settings) -> Self {
        OptionReader { settings, wrong: Vec::new(), notes: Vec::new() }
    }

    /// The job's name.
    pub fn job(&self) -> &'a str {
        &self.settings.name
    }

    /// The section's name, after which files are called that have no name of their own.
    pub fn section(&self) -> &'a str {
        &self.settings.section
    }

    /// The last mention of an option.
    pub fn given(&self, name: &str) -> Option<&'a Given> {
        self.settings.given.iter().rev().find(|given| given.entry.answers_to(name))
    }

    /// Where among the mentions the last one stands: of two options that overrule each other the later one counts.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.settings.given.iter().rposition(|given| given.entry.answers_to(name))
    }

    /// Whether an option was said at all.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Where an option was said, or the job.
    pub fn origin(&self, name: &str) -> &'a Origin {
        self.given(name).map_or(&self.settings.origin, |given| &given.origin)
    }

    /// A yes or no.
    pub fn flag(&self, name: &str, otherwise: bool) -> bool {
        let Some(given) = self.given(name) else { return otherwise };
        match &given.value {
            Value::Flag(flag) => *flag,
            Value::Whole(number) => *number != 0,
            _ => !matches!(given.text.trim(), "0" | "false" | "no"),
        }
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<i64> {
        let given = self.given(name)?;
        match &given.value {
            Value::Whole(number) => Some(*number),
            Value::Flag(flag) => Some(i64::from(*flag)),
            Value::Amount(Amount::Bytes(bytes)) => i64::try_from(*bytes).ok(),
            Value::Decimal(number) => Some(*number as i64),
            _ => given.text.trim().parse().ok(),
        }
    }

    /// A number that is not negative and fits.
    pub fn count(&self, name: &str) -> Option<u32> {
        self.whole(name).and_then(|number| u32::try_from(number).ok())
    }

    /// A number with a fraction.
    pub fn decimal(&self, name: &str) -> Option<f64> {
        let given = self.given(name)?;
        match &given.value {
            Value::Decimal(number) => Some(*number),
            Value::Whole(number) => Some(*number as f64),
            _ => given.text.trim().trim_end_matches('%').parse().ok(),
        }
    }

    /// Bytes, or a share.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match &self.given(name)?.value {
            Value::Amount(amount) => Some(*amount),
            Value::Whole(number) => u64::try_from(*number).ok().map(Amount::Bytes),
            Value::Triple(triple) => triple.read.map(Amount::Bytes),
            _ => None,
        }
    }

    /// Bytes, where a share makes no sense.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.amount(name)? {
            Amount::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A number for each direction.
    pub fn triple(&self, name: &str) -> Option<Directed<Option<u64>>> {
        match &self.given(name)?.value {
            Value::Triple(triple) => Some(triple.clone()),
            Value::Whole(number) => Some(Directed::same(u64::try_from(*number).ok())),
            Value::Amount(Amount::Bytes(bytes)) => Some(Directed::same(Some(*bytes))),
            _ => None,
        }
    }

    /// A time, ns.
    pub fn time_ns(&self, name: &str) -> Option<u64> {
        match &self.given(name)?.value {
            Value::Time(ns) => Some(*ns),
            _ => None,
        }
    }

    /// The text as it was written, without blanks around it; empty text answers as if it had not been said.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.given(name).map(|given| given.text.trim()).filter(|text| !text.is_empty())
    }

    /// One of the table's words, or the text where the table lists none.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        match &self.given(name)?.value {
            Value::Word(word) => Some(word),
            _ => self.text(name),
        }
    }

    /// An error at an option.
    pub fn refuse(&mut self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(self.origin(name), message).hint(hint));
    }

    /// A warning at an option, in fio's own words.
    pub fn warn(&mut self, name: &str, message: impl Into<String>) {
        self.notes.push(Diagnostic::warning(self.origin(name), message));
    }

    /// A note at an option, in fio's own words.
    pub fn note(&mut self, name: &str, message: impl Into<String>) {
        self.notes.push(Diagnostic::note(self.origin(name), message));
    }
}
