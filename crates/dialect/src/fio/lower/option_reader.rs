//! One job's settings, with what lowering finds wrong with them.

use std::fmt::Display;

use iodyno_model::Diagnostic;

use super::super::settings::Settings;

/// One job's settings, with what has been found wrong with them so far.
pub struct OptionReader<'a> {
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

    /// An error at an option.
    pub fn refuse(&mut self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(self.origin(name), message).hint(hint));
    }

    /// An error in an option's value.
    pub fn refuse_value(&mut self, name: &str, why: impl Display, hint: impl Into<String>) {
        let text = self.text(name).unwrap_or_default();
        self.refuse(name, format!("`{name}={text}`: {why}"), hint);
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

impl<'a> std::ops::Deref for OptionReader<'a> {
    type Target = &'a Settings;

    fn deref(&self) -> &&'a Settings {
        &self.settings
    }
}
