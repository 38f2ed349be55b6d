//! FIU's traces of system calls (NBW): `seq ts op inode inode_size [offset size [HIT|MISS|APPEND]]`, times in ns.

use iodyno_model::Verb;

use super::context::{ImportContext, LineFailure, LineFault};
use super::formats::first_lines;
use super::importer::ImportOptions;
use super::line_decoder::{LineDecoder, RecordParser};
use super::number;
use super::order::{OrderedRecords, Stamps, sortable};
use super::unpack::Stream;
use crate::{FileKind, RecordFlags, TraceError, TraceLevel, TraceRecord};

/// Whether an input is such a trace.
pub fn fits(head: &[u8]) -> bool {
    let lines = first_lines(head);
    let mut context = ImportContext::new(true);
    !lines.is_empty() && lines.iter().all(|line| NbwParser.line(line, &mut context).is_ok())
}

/// Readers of such traces.
///
/// # Errors
/// None.
pub fn open(
    streams: Vec<Stream>,
    _: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    context.header.source = "fiu nbw".into();
    context.header.level = TraceLevel::File;
    context.header.resolution_ns = 1;
    context.thread(0, 0);
    let reader =
        |stream| OrderedRecords::new(Box::new(LineDecoder::new(stream, NbwParser)), Stamps::Exact(1));
    Ok(streams.into_iter().map(reader).collect())
}

struct NbwParser;

impl RecordParser for NbwParser {
    fn line(&mut self, line: &[u8], context: &mut ImportContext) -> Result<Option<TraceRecord>, LineFailure> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut word = || words.next().unwrap_or_default();
        let wrong = |why, column| LineFailure::Line(LineFault::in_column(why, column));
        number::whole(word()).ok_or(wrong("no sequence number", 0))?;
        let at_ns = number::time_ns(word(), 1).ok_or(wrong("no time in ns", 1))?;
        let verb = verb(word()).ok_or(wrong("no system call that is known", 2))?;
        let inode = word();
        number::whole(inode).ok_or(wrong("no inode", 3))?;
        let size = number::whole(word());
        let (offset, bytes) = if verb.moves_data() {
            let offset = number::whole(word()).ok_or(wrong("no offset", 5))?;
            (offset, number::whole(word()).ok_or(wrong("no size", 6))?)
        } else {
            (0, 0)
        };
        if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
            return Err(LineFault::new("it reaches beyond 2^63 bytes").into());
        }
        let is_append = word() == b"APPEND";
        let file = context.file(inode, FileKind::File)?;
        let known = &mut context.tables.files[file as usize].bytes;
        *known = known.or(size);
        let mut record = TraceRecord::new(sortable(at_ns), verb, file, offset, bytes);
        if is_append {
            record.flags = record.flags.with(RecordFlags::APPEND);
        }
        Ok(Some(record))
    }
}

fn verb(word: &[u8]) -> Option<Verb> {
    let word = std::str::from_utf8(word).ok()?.to_ascii_lowercase();
    match word.as_str() {
        "creat" => Some(Verb::Create),
        "pread" => Some(Verb::Read),
        "pwrite" => Some(Verb::Write),
        "sync" => Some(Verb::Syncfs),
        word => Verb::named(word).filter(|verb| {
            matches!(
                verb,
                Verb::Read | Verb::Write | Verb::Open | Verb::Close | Verb::Fsync | Verb::Fdatasync
            )
        }),
    }
}
