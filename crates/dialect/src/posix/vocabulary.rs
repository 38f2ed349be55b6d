//! What the steps of a suite can say: its calls, and how what they end with is called.
//!
//! The language of rules is one; what it is about is a file system or an object store.

use std::sync::LazyLock;

use super::calls::{CALLS, CallTable};
use super::step;

/// The words of a kind of suite.
#[derive(Debug)]
pub struct Vocabulary {
    /// Read at the first use: some hundred thousand steps are looked up in it.
    pub calls: LazyLock<CallTable>,
    /// Whether a bare word after `->` is the name of an error.
    pub is_error: fn(&str) -> bool,
    /// What can be expected, for a hint.
    pub expected: &'static str,
    /// The page that lists the calls.
    pub page: &'static str,
}

/// Of rules about file systems.
pub static FILES: Vocabulary = Vocabulary {
    calls: LazyLock::new(|| CallTable::read(CALLS)),
    is_error: step::is_error,
    expected: "expected ok, an error like EACCES, an attribute like mode=0644, or \"text\" in quotes",
    page: "docs/rules.md",
};

impl Default for &'static Vocabulary {
    fn default() -> Self {
        &FILES
    }
}
