//! Opens traces.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use iodyno_engine::signal;
use iodyno_engine::trace_file;
use iodyno_model::{Diagnostic, Origin};
use iodyno_trace::format::Reader;
use iodyno_trace::{Batch, RecordSource, Tables, TraceError, TraceHeader};

use crate::loader::plain;

/// The records of a trace of ours.
///
/// # Errors
/// What cannot be read, or is none.
pub fn open(path: &str) -> Result<Box<dyn RecordSource + Send>, Diagnostic> {
    let read: Box<dyn Read + Send> = match path {
        "-" => Box::new(BufReader::with_capacity(1 << 18, Interruptible(io::stdin()))),
        path => Box::new(BufReader::with_capacity(1 << 18, Interruptible(file(path)?))),
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
    let source = trace_file::open(path, "").map_err(|error| wrong(path, &error))?;
    Ok(Box::new(InterruptibleSource(source)))
}

/// Records of which there are no more once the program was interrupted.
struct InterruptibleSource(Box<dyn RecordSource + Send>);

impl RecordSource for InterruptibleSource {
    fn header(&self) -> &TraceHeader {
        self.0.header()
    }

    fn tables(&self) -> &Tables {
        self.0.tables()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        match signal::interruptions() {
            (0, _) => self.0.next_batch(batch),
            _ => Err(interrupted().into()),
        }
    }
}

/// A trace whose end is read first, so that its tables and totals are known; it must be a file.
///
/// # Errors
/// Those of [`open`].
pub fn open_seekable(path: &str) -> Result<Reader<BufReader<Interruptible<File>>>, Diagnostic> {
    let read = BufReader::with_capacity(1 << 18, Interruptible(file(path)?));
    Reader::open(read).map_err(|error| wrong(path, &error))
}

/// An input that cannot be read any more once the program was interrupted: what is made of a part of it would be wrong.
pub struct Interruptible<R>(pub R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match signal::interruptions() {
            (0, _) => self.0.read(buffer),
            _ => return Err(interrupted()),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && signal::interruptions().0 > 0 => {
                Err(interrupted())
            }
            read => read,
        }
    }
}

impl<R: Seek> Seek for Interruptible<R> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.0.seek(place)
    }
}

/// Not of the kind that readers try again after.
fn interrupted() -> io::Error {
    io::Error::other("interrupted")
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
