//! Shared reporters: events and record to bytes, for every dialect that has no handwriting of its own.
//!
//! A reporter is one function from event to bytes. It reads no clock, opens no file and knows no engine.
#![forbid(unsafe_code)]

pub mod csv;
pub mod curve;
pub mod json;
pub mod live;
pub mod native;
pub mod number;
pub mod paint;
pub mod plan;
pub mod shape;
pub mod sweep;
pub mod table;

use std::io::{self, Write};

use iodyno_model::Event;

/// Where a reporter writes: the report on `out`, talk on `err`.
pub struct Output<'a> {
    /// Results: standard output, or the file the user named.
    pub out: &'a mut dyn Write,
    /// Talk: standard error.
    pub err: &'a mut dyn Write,
}

/// Writes down what happens, in one handwriting.
pub trait Reporter {
    /// Writes what this event calls for.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()>;
}
