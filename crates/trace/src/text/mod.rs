//! A trace as text, a line each record: docs/trace.md describes it.
//!
//! What the header and the tables hold stands in lines with `#`, before the first record that needs it.

mod write;

pub use write::TextWriter;

/// The first line.
pub const FIRST_LINE: &str = "# iodyno trace 1";

/// The flags by name, in the order of their bits.
pub const FLAGS: [&str; 11] = [
    "preflush",
    "fua",
    "sync",
    "meta",
    "readahead",
    "direct",
    "append",
    "mapped",
    "created",
    "truncated",
    "spread",
];
