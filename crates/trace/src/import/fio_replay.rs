//! fio's iologs and blktraces as `read_iolog=` of fio 3.33 takes them: what it passes over is passed over with its words,
//! and what would crash it ends the import.
//!
//! Found by comparing with fio 3.33: numbers end where their digits end; `wait` of version 2 waits until so many ms after the
//! start; a blktrace is replayed as it was queued, request by request. On purpose otherwise: trims are replayed, a write that
//! carries a flush keeps its data, and `replay_skip` holds for iologs too.

use iodyno_model::Verb;

use super::context::{ImportContext, LineFailure};
use super::importer::ImportOptions;
use super::line_decoder::{LineDecoder, RecordParser};
use super::order::{OrderedRecords, Stamps, sortable};
use super::unpack::Stream;
use super::{BlockPoint, blktrace};
use crate::export::fio;
use crate::{FileKind, TraceError, TraceLevel, TraceRecord};

/// The longest operation that is replayed, bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Different messages that are kept.
const MOST_NOTES: u32 = 20;

/// Readers of what fio replays.
///
/// # Errors
/// Neither an iolog nor a blktrace, or a version that fio does not replay.
pub fn open(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    if streams.iter().all(|stream| blktrace::fits(&stream.head)) {
        let options = ImportOptions { events: Some(BlockPoint::EachQueue), ..options.clone() };
        return blktrace::open(streams, &options, context);
    }
    let mut readers = Vec::new();
    for stream in streams {
        let is_timed = match () {
            () if stream.head.starts_with(b"fio version 2 iolog") => false,
            () if stream.head.starts_with(b"fio version 3 iolog") => true,
            () if stream.head.starts_with(b"fio version") => {
                return Err(TraceError::new("only versions 2 and 3 are played back"));
            }
            () => return Err(TraceError::new("it is neither an iolog of fio nor a blktrace")),
        };
        context.header.source = format!("fio iolog {}", if is_timed { 3 } else { 2 });
        context.header.level = TraceLevel::File;
        context.header.resolution_ns = 1000;
        let thread = context.thread(0, context.tables.threads.len() as u32);
        context.name_thread(thread, stream.name.as_bytes());
        let parser =
            ReplayedLines { is_timed, thread, now_ns: 0, is_first: true, open: Vec::new(), notes: 0 };
        readers.push(OrderedRecords::new(Box::new(LineDecoder::new(stream, parser)), Stamps::Exact(1000)));
    }
    Ok(readers)
}

struct ReplayedLines {
    /// Version 3: each line begins with its time.
    is_timed: bool,
    thread: u32,
    /// Version 2: what the `wait`s so far wait for. Version 3: the last line's time.
    now_ns: i64,
    is_first: bool,
    /// By file, whether it is open.
    open: Vec<bool>,
    notes: u32,
}

type ParsedLine = Result<Option<TraceRecord>, LineFailure>;

impl RecordParser for ReplayedLines {
    fn line(&mut self, line: &[u8], context: &mut ImportContext) -> ParsedLine {
        if std::mem::take(&mut self.is_first) || line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if self.is_timed {
            let Some(at_us) = words.next().and_then(leading_number) else { return self.bad(line, context) };
            // Times that go backwards are none.
            let at_ns = i64::try_from(at_us.saturating_mul(1000)).unwrap_or(i64::MAX);
            self.now_ns = self.now_ns.max(at_ns);
        }
        let (Some(file), Some(word)) = (words.next(), words.next()) else { return self.bad(line, context) };
        match (words.next().and_then(leading_number), words.next().and_then(leading_number)) {
            (Some(offset), Some(bytes)) => self.operation((file, word), offset, bytes, context),
            (None, _) => self.event(file, word, context),
            _ => self.bad(line, context),
        }
    }
}

impl ReplayedLines {
    fn note(&mut self, text: String, context: &mut ImportContext) -> ParsedLine {
        if self.notes < MOST_NOTES {
            self.notes += 1;
            context.note(text);
        }
        Ok(None)
    }

    fn bad(&mut self, line: &[u8], context: &mut ImportContext) -> ParsedLine {
        let version = if self.is_timed { 3 } else { 2 };
        self.note(format!("bad iolog{version}: {}", shown(line)), context)
    }

    fn bad_action(&mut self, word: &[u8], context: &mut ImportContext) -> ParsedLine {
        self.note(format!("fio: bad iolog file action: {}", shown(word)), context)
    }

    /// The index of a file that was added.
    fn known(&self, file: &[u8], context: &mut ImportContext) -> Result<u32, TraceError> {
        let index = context.file(file, FileKind::File)?;
        match self.open.get(index as usize) {
            Some(_) => Ok(index),
            None => Err(TraceError::new(format!("{}: no line adds this file", shown(file)))),
        }
    }

    /// A line without a place.
    fn event(&mut self, file: &[u8], word: &[u8], context: &mut ImportContext) -> ParsedLine {
        match word {
            b"add" => {
                let index = context.file(file, FileKind::File)? as usize;
                self.open.resize(self.open.len().max(index + 1), false);
                Ok(None)
            }
            b"open" | b"close" => {
                let index = self.known(file, context)?;
                let opens = word == b"open";
                let changes = std::mem::replace(&mut self.open[index as usize], opens) != opens;
                let verb = if opens { Verb::Open } else { Verb::Close };
                Ok(changes.then(|| self.record(verb, index, 0, 0)))
            }
            word => self.bad_action(word, context),
        }
    }

    fn operation(
        &mut self,
        (file, word): (&[u8], &[u8]),
        offset: u64,
        bytes: u64,
        context: &mut ImportContext,
    ) -> ParsedLine {
        let verb = match word {
            b"wait" if self.is_timed => {
                let name = shown(file);
                return self
                    .note(format!("iolog: ignoring wait command with version 3 for file {name}"), context);
            }
            b"wait" => {
                let until_ns = i64::try_from(offset.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
                self.now_ns = self.now_ns.max(until_ns);
                return Ok(None);
            }
            word => match fio::verb(word) {
                Some(verb) => verb,
                None => return self.bad_action(word, context),
            },
        };
        let index = self.known(file, context)?;
        if !self.open[index as usize] {
            let name = shown(file);
            return Err(TraceError::new(format!("{name}: no line opens this file before it is used")).into());
        }
        if matches!(verb, Verb::Fsync | Verb::Fdatasync) {
            return Ok(Some(self.record(verb, index, 0, 0)));
        }
        let reaches = offset.checked_add(bytes).is_some_and(|end| end <= i64::MAX as u64);
        if bytes == 0 || bytes > MOST_BYTES || !reaches {
            return self.note(format!("left out: {verb} {offset} {bytes}"), context);
        }
        Ok(Some(self.record(verb, index, offset, bytes)))
    }

    fn record(&self, verb: Verb, file: u32, offset: u64, bytes: u64) -> TraceRecord {
        TraceRecord {
            thread: self.thread,
            ..TraceRecord::new(sortable(self.now_ns), verb, file, offset, bytes)
        }
    }
}

/// The number that a word begins with.
fn leading_number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&word[..digits]).ok()?.parse().ok()
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned()
}
