//! Shared reporters: events and record to bytes, for every dialect that has no output format of its own.
//!
//! A reporter is one function from event to bytes. It reads no clock, opens no file and knows no engine.
#![forbid(unsafe_code)]

pub mod aging;
pub mod anatomy;
pub mod cache;
pub mod cfb;
pub mod checks;
pub mod comparison;
pub mod csv;
pub mod curve;
pub mod device;
pub mod experiment_report;
pub mod findings;
pub mod grid;
pub mod hdr;
pub mod health;
pub mod history;
pub mod html;
pub mod influx;
pub mod issued_trace;
pub mod json;
pub mod live;
pub mod markdown;
pub mod median_pass;
pub mod metrics;
pub mod native;
pub mod number;
pub mod paint;
pub mod plan;
pub mod plan_diff;
pub mod promises;
pub mod ranks;
pub mod replay;
mod requests;
mod schema;
mod schema_check;
pub mod screen;
pub mod shape;
pub mod stability;
pub mod sweep;
pub mod table;
pub mod tables;
pub mod trace_fit;
pub mod trace_statistics;
mod training;
pub mod tui;
pub mod tuning;
pub mod xls;
#[cfg(feature = "xlsx")]
pub mod xlsx;

/// What a pasted result may hide, for the dialects that read it.
pub use iodyno_truth::audit;
use std::io::{self, Write};

use iodyno_model::Event;

/// Where a reporter writes: the report on `out`, talk on `err`.
pub struct Output<'a> {
    /// Results: standard output, or the file the user named.
    pub out: &'a mut dyn Write,
    /// Talk: standard error.
    pub err: &'a mut dyn Write,
    /// Files beside the report, by the names the user chose.
    pub files: &'a mut dyn Files,
}

/// Files that a reporter writes beside its report (logs).
pub trait Files {
    /// The file of that name: made, or emptied, when it is first asked for in a run, and kept open.
    ///
    /// # Errors
    /// When it cannot be made.
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write>;

    /// The same, but what the file holds stays, and what is written follows it.
    ///
    /// # Errors
    /// When it cannot be made.
    fn append(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.file(path)
    }

    /// Makes a directory for such files, and those above it; one that is there stays as it is.
    ///
    /// # Errors
    /// When it cannot be made.
    fn folder(&mut self, path: &str) -> io::Result<()> {
        Err(io::Error::other(format!("{path}: no directories are made here")))
    }

    /// No more is written to the file of that name.
    ///
    /// # Errors
    /// When what is left cannot be written.
    fn close(&mut self, path: &str) -> io::Result<()>;
}

/// Where no files can be written.
pub struct NoFiles;

impl Files for NoFiles {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        Err(io::Error::other(format!("{path}: no files are written here")))
    }

    fn close(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Files in memory, for tests and for whoever wants the bytes.
#[derive(Clone, Debug, Default)]
pub struct FilesInMemory(pub std::collections::BTreeMap<String, Vec<u8>>);

impl Files for FilesInMemory {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        Ok(self.0.entry(path.to_string()).or_default())
    }

    fn folder(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Writes down what happens, in one output format.
pub trait Reporter {
    /// Writes what this event calls for.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()>;
}
