//! Where a value came from, and what is wrong with it: every message can name its place.
//!
//! Refuses to print: a [`Diagnostic`] is data, the door renders it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::reflect::Reflect;

/// The place where the user (or nobody) said something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Origin {
    /// Nobody said it: a default.
    #[default]
    Default,
    /// A command-line argument, as typed.
    Argument(Arc<str>),
    /// A line of a file; lines count from 1.
    File {
        /// The file's path as the user gave it.
        path: Arc<str>,
        /// Line number, from 1.
        line: u32,
    },
    /// An environment variable, by name.
    Environment(Arc<str>),
}

impl Origin {
    /// A place in a file.
    pub fn file(path: &str, line: u32) -> Self {
        Origin::File { path: path.into(), line }
    }

    /// A command-line argument.
    pub fn argument(text: &str) -> Self {
        Origin::Argument(text.into())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Argument(text) => write!(f, "{text}"),
            Origin::File { path, line } => write!(f, "{path}:{line}"),
            Origin::Environment(name) => write!(f, "${name}"),
        }
    }
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Reflect)]
pub enum Level {
    /// Worth knowing; nothing stops.
    Note,
    /// Probably not what was meant; the run goes on.
    Warning,
    /// The run does not start, or has failed.
    Error,
}

/// One message to the user: a lower-case fragment, its place, and a hint that resolves it.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// Where the offending words stand.
    pub origin: Origin,
    /// What is wrong, as a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it, where something can be said.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(origin: &Origin, message: impl Into<String>) -> Self {
        Diagnostic { level: Level::Error, origin: origin.clone(), message: message.into(), hint: None }
    }

    /// A warning at a place.
    pub fn warning(origin: &Origin, message: impl Into<String>) -> Self {
        Diagnostic { level: Level::Warning, ..Diagnostic::error(origin, message) }
    }

    /// A note at a place.
    pub fn note(origin: &Origin, message: impl Into<String>) -> Self {
        Diagnostic { level: Level::Note, ..Diagnostic::error(origin, message) }
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Text with its control characters made visible, but for line ends and tabs: what stands in a file or in a name must
/// not give orders to a terminal.
fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match hidden(letter) {
            true => shown.push_str(&format!("\\x{:02x}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Control characters are shown, not obeyed.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, "{level}: ")?;
        if self.origin != Origin::Default {
            write!(f, "{}: ", visible(&self.origin.to_string()))?;
        }
        f.write_str(&visible(&self.message))?;
        if let Some(hint) = &self.hint {
            write!(f, "\n hint: {}", visible(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The system's words for an error, without the number that Rust appends.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        let origin = Origin::file("a\u{1b}]0;x\u{7}.fio", 3);
        let wrong = Diagnostic::error(&origin, "`\u{1b}[2J\u{9b}`: no\tword\nsecond\rline").hint("\u{7f}ä");
        let text = "error: a\\x1b]0;x\\x07.fio:3: `\\x1b[2J\\x9b`: no\tword\nsecond\\x0dline\n hint: \\x7fä";
        assert_eq!(wrong.to_string(), text);
    }
}
