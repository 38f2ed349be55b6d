//! A trace as text, a line each record: docs/trace.md describes it.
//!
//! What the header and the tables hold stands in lines with `#`, before the first record that needs it.

mod read;
mod words;
mod write;

#[cfg(test)]
mod tests;

pub use read::TextSource;
pub use words::{FLAGS, flag_words};
pub use write::TextWriter;

/// The first line.
pub const FIRST_LINE: &str = "# iodyno trace 1";
