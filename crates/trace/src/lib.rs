//! Recorded I/O as plain values: records with the files and threads they name, streamed in batches.
//!
//! All sources (importers, recorders, files of our own format) are a [`RecordSource`]; all that work on traces (the
//! writer of the format, statistics, replay) take one. Nothing here opens a file or reads a clock: bytes come from
//! `std::io::Read` and go to `std::io::Write`. Memory is bounded by one batch and the tables of files and threads.

// An example knows the crate by its name, and its requests are those of a test.
#[cfg(test)]
extern crate self as iodyno_trace;

pub mod anatomy;
pub mod calls;
pub mod columns;
pub mod descriptors;
mod error;
pub mod export;
pub mod fit;
pub mod format;
pub mod import;
mod record;
pub mod replay;
pub mod requests;
mod source;
pub mod statistics;
mod table;
#[cfg(test)]
mod testing;
pub mod text;
pub mod transform;

pub use error::TraceError;
pub use record::{Dependency, Owners, RecordFlags, RecordedContent, TraceRecord};
pub use source::{Batch, MemorySource, RecordSource};
pub use table::{FileKind, Tables, TraceClock, TraceFile, TraceHeader, TraceLevel, TraceThread};
