//! Opens traces.

use std::fs::File;
use std::io::{self, BufReader, Read};

use iodyno_model::{Diagnostic, Origin};
use iodyno_trace::format::{Reader, SIGNATURE};
use iodyno_trace::{RecordSource, TraceError};

use super::import;
use crate::loader::plain;

/// The records of a trace of ours.
///
/// # Errors
/// What cannot be read, or is none.
pub fn open(path: &str) -> Result<Box<dyn RecordSource + Send>, Diagnostic> {
    let read: Box<dyn Read + Send> = match path {
        "-" => Box::new(BufReader::with_capacity(1 << 18, io::stdin())),
        path => Box::new(BufReader::with_capacity(1 << 18, file(path)?)),
    };
    Ok(Box::new(Reader::new(read).map_err(|error| wrong(path, &error))?))
}

/// The records of a trace of ours, or of whatever `trace import` reads without being told its format.
///
/// # Errors
/// Those of [`open`].
pub fn open_any(path: &str) -> Result<Box<dyn RecordSource + Send>, Diagnostic> {
    // What is read from a pipe is read once.
    let is_file = path != "-" && file(path)?.metadata().is_ok_and(|facts| facts.is_file());
    if !is_file {
        return open(path);
    }
    let mut start = Vec::new();
    let is_ours =
        file(path)?.take(SIGNATURE.len() as u64).read_to_end(&mut start).is_ok() && start == SIGNATURE;
    if is_ours { open(path) } else { import::opened(path) }
}

/// A trace whose end is read first, so that its tables and totals are known; it must be a file.
///
/// # Errors
/// Those of [`open`].
pub fn open_seekable(path: &str) -> Result<Reader<BufReader<File>>, Diagnostic> {
    Reader::open(BufReader::with_capacity(1 << 18, file(path)?)).map_err(|error| wrong(path, &error))
}

/// # Errors
/// What cannot be opened, or is a directory.
pub fn file(path: &str) -> Result<File, Diagnostic> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    opened.map_err(|error| {
        Diagnostic::error(&Origin::argument(path), format!("cannot be read: {}", plain(&error)))
            .hint("name a trace; - is standard input")
    })
}

/// What is wrong with a trace.
pub fn wrong(path: &str, error: &TraceError) -> Diagnostic {
    let path = if path == "-" { "standard input" } else { path };
    Diagnostic { hint: error.hint.clone(), ..Diagnostic::error(&Origin::argument(path), error.to_string()) }
}
