//! Text of Darshan's `dxt-parser`: the reads and writes of each rank and file of an MPI program.
//!
//! It is ordered by file and rank, not by time, so all of it is sorted first, beyond some memory in a scratch file.
//! MPI-IO calls end in POSIX calls, which a log has too: where it has both, the POSIX ones are taken.

use iodyno_model::Verb;

use super::context::{ImportContext, LineFault};
use super::importer::ImportOptions;
use super::lines::Lines;
use super::number;
use super::order::{Decoder, OrderedRecords, Stamps, sortable};
use super::sorted_runs::SortedRuns;
use super::unpack::Stream;
use crate::{FileKind, TraceError, TraceLevel, TraceRecord};

/// Records that are given out at a time.
const STEP: usize = 8192;
const SECOND_NS: u64 = 1_000_000_000;

/// Whether an input is such text.
pub fn fits(head: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    has(b"# DXT,") || has(b"\n X_POSIX ") || has(b"\n X_MPIIO ")
}

/// Readers of such text.
///
/// # Errors
/// None.
pub fn open(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    context.header.source = "darshan dxt".into();
    context.header.level = TraceLevel::File;
    context.header.resolution_ns = 100_000;
    let scratch = options.scratch;
    let reader = |stream: Stream| {
        let decoder = DxtDecoder {
            lines: Lines::new(stream.name, stream.reader),
            file: Vec::new(),
            host: Vec::new(),
            posix: SortedRuns::new(scratch),
            mpi: SortedRuns::new(scratch),
            mpi_calls: 0,
            is_sorted: false,
        };
        OrderedRecords::new(Box::new(decoder), Stamps::Exact(100_000))
    };
    Ok(streams.into_iter().map(reader).collect())
}

struct DxtDecoder {
    lines: Lines,
    /// The names that the lines above told.
    file: Vec<u8>,
    host: Vec<u8>,
    posix: SortedRuns,
    /// Kept only as long as there is no POSIX call.
    mpi: SortedRuns,
    mpi_calls: u64,
    is_sorted: bool,
}

/// A record and whether MPI-IO made it.
type DxtRecord = (TraceRecord, bool);

impl DxtDecoder {
    fn read_all(&mut self, context: &mut ImportContext) -> Result<(), TraceError> {
        while let Some(line) = context.next_line(&mut self.lines)? {
            let line = line.trim_ascii();
            if let Some(comment) = line.strip_prefix(b"#") {
                told(comment, &mut self.file, &mut self.host, context);
                context.good_line();
                continue;
            }
            match record(line, &self.file, &self.host, context)? {
                Ok(record) => {
                    context.good_line();
                    if let Some((record, is_mpi)) = record {
                        self.keep(record, is_mpi)?;
                    }
                }
                Err(fault) => {
                    let place = self.lines.place();
                    context.wrong_line(&place, fault, self.lines.current())?;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, record: TraceRecord, is_mpi: bool) -> Result<(), TraceError> {
        self.mpi_calls += u64::from(is_mpi);
        let runs = match is_mpi {
            true if !self.posix.is_empty() => return Ok(()),
            true => &mut self.mpi,
            false => {
                if !self.mpi.is_empty() {
                    self.mpi = SortedRuns::new(None);
                }
                &mut self.posix
            }
        };
        runs.push(record).map_err(|error| match error.hint {
            Some(_) => error,
            None => error.at(self.lines.place()).hint("print a part of the log: dxt-parser has --file"),
        })
    }
}

/// What a comment tells: the file and the host of the lines that follow, and when the program began.
fn told(comment: &[u8], file: &mut Vec<u8>, host: &mut Vec<u8>, context: &mut ImportContext) {
    let after = |key: &[u8]| {
        let at = memchr::memmem::find(comment, key)?;
        Some(comment[at + key.len()..].trim_ascii())
    };
    if let Some(name) = after(b"file_name:") {
        *file = name.to_vec();
    }
    if let Some(name) = after(b"hostname:") {
        *host = name.to_vec();
    }
    if let Some(ns) = comment
        .trim_ascii()
        .strip_prefix(b"start_time:")
        .and_then(|text| number::time_ns(text.trim_ascii(), SECOND_NS))
    {
        context.unix_offset_ns = Some(ns);
    }
}

/// `X_POSIX 0 write 0 0 262144 0.0029 0.0032 [OST: 9]`; none: an empty line.
fn record(
    line: &[u8],
    file: &[u8],
    host: &[u8],
    context: &mut ImportContext,
) -> Result<Result<Option<DxtRecord>, LineFault>, TraceError> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut word = || words.next().unwrap_or_default();
    let is_mpi = match word() {
        b"X_POSIX" => false,
        b"X_MPIIO" => true,
        b"" => return Ok(Ok(None)),
        _ => return Ok(Err(LineFault::new("no segment of X_POSIX or X_MPIIO"))),
    };
    let rank = number::small(word());
    let verb = match word() {
        b"read" => Verb::Read,
        b"write" => Verb::Write,
        _ => return Ok(Err(LineFault::in_column("neither read nor write", 2))),
    };
    word();
    let (offset, bytes) = (number::whole(word()), number::whole(word()));
    let (start, end) = (number::time_ns(word(), SECOND_NS), number::time_ns(word(), SECOND_NS));
    let (Some(rank), Some(offset), Some(bytes), Some(start), Some(end)) = (rank, offset, bytes, start, end)
    else {
        return Ok(Err(LineFault::new("no rank, offset, length, start and end in numbers")));
    };
    if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
        return Ok(Err(LineFault::new("it reaches beyond 2^63 bytes")));
    }
    let Some(latency_ns) = end.checked_sub(start).and_then(|ns| u64::try_from(ns).ok()) else {
        return Ok(Err(LineFault::new("it ends before it starts")));
    };
    let file = context.file(file, FileKind::File)?;
    let thread = context.thread(rank, rank);
    context.name_thread(thread, host);
    let latency_ns = Some(latency_ns);
    let record =
        TraceRecord { latency_ns, thread, ..TraceRecord::new(sortable(start), verb, file, offset, bytes) };
    Ok(Ok(Some((record, is_mpi))))
}

impl Decoder for DxtDecoder {
    fn decode(
        &mut self,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<bool, TraceError> {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.read_all(context)?;
            if self.posix.is_empty() && !self.mpi.is_empty() {
                std::mem::swap(&mut self.posix, &mut self.mpi);
                context.note("the calls are those of MPI-IO, because the log has no POSIX calls".into());
            } else {
                context.count(
                    "MPI-IO calls, left out, because the POSIX calls they made are there",
                    self.mpi_calls,
                );
            }
            self.posix.sort()?;
        }
        for _ in 0..STEP {
            match self.posix.next()? {
                Some(record) => records.push(record),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
