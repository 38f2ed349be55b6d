//! What makes a trace unreadable.

use std::fmt;

use iodyno_model::origin::plain;

/// A message with its place and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// `line 12`, `byte 480`, `block 3`; empty: the whole input.
    pub place: String,
    pub message: String,
    pub hint: Option<String>,
}

impl TraceError {
    pub fn new(message: impl Into<String>) -> TraceError {
        TraceError { place: String::new(), message: message.into(), hint: None }
    }

    #[must_use]
    pub fn at(self, place: impl Into<String>) -> TraceError {
        TraceError { place: place.into(), ..self }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> TraceError {
        TraceError { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "{}: {}", self.place, self.message)
        }
    }
}

impl std::error::Error for TraceError {}

impl From<std::io::Error> for TraceError {
    fn from(error: std::io::Error) -> TraceError {
        TraceError::new(plain(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn an_error_of_the_system_is_told_in_its_words_alone() {
        let told = |error: Error| TraceError::from(error).at("t.iot").to_string();
        let missing = std::fs::File::open("/nowhere/at all/t.iot").unwrap_err();
        assert!(missing.to_string().ends_with("(os error 2)"), "what Rust appends: {missing}");
        assert_eq!(told(missing), "t.iot: No such file or directory");
        // What a library says in its own words stays whole.
        assert_eq!(
            told(Error::new(ErrorKind::InvalidData, "a frame (7) is torn")),
            "t.iot: a frame (7) is torn"
        );
    }
}
