//! fio's iolog, versions 1, 2 and 3.
//!
//! Version 3 begins each line with the µs since the start; version 2 has `wait`; version 1 is `rw, offset, length`. fio
//! writes a line when an I/O is queued, so there are no latencies. Several files are the logs of several jobs.

use iodyno_model::Verb;

use super::context::{ImportContext, LineFailure, LineFault};
use super::importer::ImportOptions;
use super::line_decoder::{LineDecoder, RecordParser};
use super::number;
use super::order::{OrderedRecords, Stamps, sortable};
use super::unpack::Stream;
use crate::export::fio;
use crate::{FileKind, TraceError, TraceLevel, TraceRecord};

/// Whether an input is a log with a version.
pub fn fits(head: &[u8]) -> bool {
    head.starts_with(b"fio version ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
    Third,
}

/// Readers of logs of versions 2 and 3.
///
/// # Errors
/// Another version.
pub fn open(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    let mut readers = Vec::new();
    for stream in streams {
        let version = match () {
            () if stream.head.starts_with(b"fio version 2 iolog") => Version::Second,
            () if stream.head.starts_with(b"fio version 3 iolog") => Version::Third,
            () => {
                return Err(TraceError::new("no iolog of version 2 or 3")
                    .at(format!("{}:1", stream.name))
                    .hint("a log without a version is read with --as fio1"));
            }
        };
        readers.push(reader(stream, version, options, context));
    }
    Ok(readers)
}

/// Readers of logs of version 1.
///
/// # Errors
/// None.
pub fn open_first(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    context.note("version 1 of fio's iolog has no times: all records are at 0".into());
    Ok(streams.into_iter().map(|stream| reader(stream, Version::First, options, context)).collect())
}

fn reader(
    stream: Stream,
    version: Version,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> OrderedRecords {
    context.header.source = format!("fio iolog {}", version as u8 + 1);
    context.header.level = TraceLevel::File;
    context.header.resolution_ns = 1000;
    let job = context.tables.threads.len() as u32;
    let thread = context.thread(0, job);
    context.name_thread(thread, stream.name.as_bytes());
    let parser = IologParser { version, fio_wait: options.fio_wait, thread, now_ns: 0, is_first: true };
    OrderedRecords::new(Box::new(LineDecoder::new(stream, parser)), Stamps::Exact(1000))
}

struct IologParser {
    version: Version,
    fio_wait: bool,
    thread: u32,
    /// Version 2: what the `wait`s so far have waited for.
    now_ns: i64,
    is_first: bool,
}

/// The words of a line, at most six.
struct Words<'a> {
    words: [&'a [u8]; 6],
    count: usize,
}

impl<'a> Words<'a> {
    fn of(line: &'a [u8]) -> Words<'a> {
        let mut words = Words { words: [b""; 6], count: 0 };
        for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            if let Some(place) = words.words.get_mut(words.count) {
                *place = word;
            }
            words.count += 1;
        }
        words
    }

    fn all(&self) -> &[&'a [u8]] {
        &self.words[..self.count.min(6)]
    }
}

const BLANKS: LineFault =
    LineFault::new("more words than a line has: names with blanks cannot be told from what follows them");
const TORN: LineFault = LineFault::new("no line of an iolog; two jobs that write one log tear lines");
const FAR: LineFault = LineFault::new("it reaches beyond 2^63 bytes");

impl RecordParser for IologParser {
    fn line(&mut self, line: &[u8], context: &mut ImportContext) -> Result<Option<TraceRecord>, LineFailure> {
        if self.version == Version::First {
            return self.first_version(line, context);
        }
        if std::mem::take(&mut self.is_first) {
            // The line with the version.
            return Ok(None);
        }
        let words = Words::of(line);
        let (at_ns, words) = match (self.version, words.all()) {
            (_, []) => return Ok(None),
            (Version::Third, [stamp, rest @ ..]) => {
                let ns = number::whole(stamp).and_then(|us| i64::try_from(us.checked_mul(1000)?).ok());
                (ns.ok_or(LineFault::in_column("no time in µs", 0))?, rest)
            }
            (_, words) => (self.now_ns, words),
        };
        let (name, verb, offset, bytes) = match words {
            [name, b"add"] => return Ok(context.file(name, FileKind::File).map(|_| None)?),
            [name, b"open"] => (name, Verb::Open, 0, 0),
            [name, b"close"] => (name, Verb::Close, 0, 0),
            [name, word, offset, bytes] => {
                let offset = number::whole(offset).ok_or(TORN)?;
                let bytes = number::whole(bytes).ok_or(TORN)?;
                match (*word, fio::verb(word)) {
                    (b"wait", _) => return Ok(self.wait(offset).map(|()| None)?),
                    (_, Some(verb)) if verb.moves_data() || verb == Verb::Trim => (name, verb, offset, bytes),
                    (_, Some(sync)) => (name, sync, 0, 0),
                    _ => return Err(TORN.into()),
                }
            }
            words if words.len() > 4 => return Err(BLANKS.into()),
            _ => return Err(TORN.into()),
        };
        if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
            return Err(FAR.into());
        }
        let file = context.file(name, FileKind::File)?;
        Ok(Some(self.record(at_ns, verb, file, offset, bytes)))
    }
}

impl IologParser {
    fn record(&self, at_ns: i64, verb: Verb, file: u32, offset: u64, bytes: u64) -> TraceRecord {
        TraceRecord { thread: self.thread, ..TraceRecord::new(sortable(at_ns), verb, file, offset, bytes) }
    }

    fn first_version(
        &mut self,
        line: &[u8],
        context: &mut ImportContext,
    ) -> Result<Option<TraceRecord>, LineFailure> {
        let mut fields = line.split(|byte| *byte == b',').map(|field| field.trim_ascii());
        let verb = match fields.next() {
            Some(b"") if line.trim_ascii().is_empty() => return Ok(None),
            Some(b"0") => Verb::Read,
            Some(b"1") => Verb::Write,
            Some(b"2") => Verb::Trim,
            _ => return Err(TORN.into()),
        };
        let numbers =
            (fields.next().and_then(number::whole), fields.next().and_then(number::whole), fields.next());
        let (Some(offset), Some(bytes), None) = numbers else { return Err(TORN.into()) };
        if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
            return Err(FAR.into());
        }
        let file = context.file(b"file", FileKind::File)?;
        Ok(Some(self.record(0, verb, file, offset, bytes)))
    }

    /// The manual: µs since the `wait` before. fio: ms since the start.
    fn wait(&mut self, number: u64) -> Result<(), LineFault> {
        const WRONG: LineFault = LineFault::new("`wait` in a log of version 3, which has times");
        const LONG: LineFault = LineFault::new("a wait of more than 292 years");
        if self.version == Version::Third {
            return Err(WRONG);
        }
        let until = if self.fio_wait {
            number.checked_mul(1_000_000).map(|ns| ns.max(self.now_ns as u64))
        } else {
            number.checked_mul(1000).and_then(|ns| ns.checked_add(self.now_ns as u64))
        };
        self.now_ns = until.and_then(|ns| i64::try_from(ns).ok()).ok_or(LONG)?;
        Ok(())
    }
}
