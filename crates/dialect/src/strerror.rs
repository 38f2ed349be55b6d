//! Error numbers in words, as the tools tell them.

use std::io;

use iodyno_model::origin::plain;
use iodyno_model::tally;

/// What an operation failed with: the system's reason, or what was wrong with the data.
pub fn of(errno: i32) -> String {
    tally::corruption(errno).map_or_else(|| of_system(errno), str::to_string)
}

/// The C library's words for an error number.
pub fn of_system(errno: i32) -> String {
    plain(&io::Error::from_raw_os_error(errno))
}

/// The C library's words for an error number; 0: what failed, in words of the engine.
pub fn reason(errno: i32, what: &str) -> String {
    if errno == 0 { what.to_string() } else { of_system(errno) }
}

/// A message without the number that Rust appends to the system's words.
pub fn without_number(text: &str) -> &str {
    text.find(" (os error ").map_or(text, |end| &text[..end])
}
