//! `iodyno trace import`: traces of other programs become traces of ours.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use iodyno_engine::{signal, trace_file};
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_trace::format::{CutBack, KeptTrace, Writer};
use iodyno_trace::import::{BlockPoint, ColumnMap, Format, ImportOptions, Importer, Input, formats, import};
use iodyno_trace::{Batch, RecordSource, TraceError, TraceThread};

use super::Answer;
use super::input;
use super::output::{Interruption, Output, OutputArgs};
use crate::loader::plain;
use crate::runs::print;
use crate::session::say;
use crate::terminal;

/// Batches between two lines of progress.
const PROGRESS: u64 = 32;
/// Inputs that are larger have such lines, bytes.
const LARGE: u64 = 32 << 20;

#[derive(Args)]
pub struct ImportArgs {
    /// The files of one trace, packed or not; -: standard input
    #[arg(value_name = "FILE", required_unless_present = "list")]
    files: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
    /// Say the format, where its content does not
    #[arg(long = "as", value_name = "NAME")]
    format: Option<String>,
    /// Read a table: which column holds what, in which unit
    #[arg(long, value_name = "MAP", value_parser = map, conflicts_with = "format")]
    csv: Option<ColumnMap>,
    /// The events of block traces that are records: Q, D or C
    #[arg(long, value_name = "LETTER", value_parser = point)]
    events: Option<BlockPoint>,
    /// Sizes of devices: a table of their names and bytes
    #[arg(long, value_name = "FILE")]
    device_sizes: Option<String>,
    /// Take `wait` of fio's version 2 as fio does: ms since the start
    #[arg(long)]
    fio_compat: bool,
    /// End at the first line that is wrong
    #[arg(long)]
    strict: bool,
    /// List the formats, with an example of each
    #[arg(long, exclusive = true)]
    list: bool,
}

fn map(text: &str) -> Result<ColumnMap, String> {
    ColumnMap::parse(text).map_err(|error| match error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    })
}

fn point(text: &str) -> Result<BlockPoint, String> {
    BlockPoint::lettered(text).ok_or_else(|| "Q: queued, D: issued to the driver, C: completed".into())
}

pub fn answer(words: &ImportArgs) -> Answer {
    if words.list {
        return Ok(print(&listed()));
    }
    let counter = Arc::new(AtomicU64::new(0));
    let mut total = Some(0);
    let mut inputs = Vec::new();
    for path in &words.files {
        let (input, bytes) = opener(path, &counter)?;
        total = total.zip(bytes).map(|(total, bytes)| total + bytes);
        inputs.push(input);
    }
    let options = ImportOptions {
        format: words.format.clone(),
        csv: words.csv.clone(),
        events: words.events,
        device_sizes: words.device_sizes.as_deref().map(device_sizes).transpose()?.unwrap_or_default(),
        strict: words.strict,
        fio_wait: words.fio_compat,
        scratch: Some(trace_file::SCRATCH),
    };
    signal::install();
    let mut importer = import(&inputs, &options).map_err(|error| wrong(&error))?;
    let mut output = Output::open_binary(&words.output, Interruption::Ends)?;
    let total = total.filter(|total| *total > LARGE && terminal::is_redrawn());
    let progress = ImportProgress { counter, total, is_shown: false };
    match write(&mut importer, &mut output, progress) {
        Ok((written, kept)) => {
            output.finish_kept(kept)?;
            told(&written, &importer, &words.output.output);
            if let Some(signal) = written.signal {
                // A shell's loop ends when its command is interrupted, because it dies of the signal.
                signal::die_of(signal);
            }
            Ok(0)
        }
        // What cannot be written is the output's; what cannot be read names its own place.
        Err(failure) if failure.is_output => output.finish(Err(failure.error), &words.output.output),
        Err(failure) => {
            drop(output);
            Err(wrong(&failure.error))
        }
    }
}

struct ImportFailure {
    error: TraceError,
    is_output: bool,
}

fn reading(error: TraceError) -> ImportFailure {
    ImportFailure { error, is_output: false }
}

fn writing(error: TraceError) -> ImportFailure {
    ImportFailure { error, is_output: true }
}

/// What was written.
#[derive(Default)]
struct ImportSummary {
    records: u64,
    span_ns: u64,
    bytes: u64,
    signal: Option<i32>,
}

/// Counts what goes through.
struct CountingWriter<'a> {
    to: &'a mut Output,
    bytes: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.to.write(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl CutBack for CountingWriter<'_> {
    fn cut_back(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes = bytes;
        self.to.cut_back(bytes)
    }
}

fn write(
    importer: &mut Importer,
    output: &mut Output,
    mut progress: ImportProgress,
) -> Result<(ImportSummary, KeptTrace), ImportFailure> {
    let mut counted = CountingWriter { to: output, bytes: 0 };
    let mut batch = Batch::new();
    // What the header tells is known once the first records are.
    importer.next_batch(&mut batch).map_err(reading)?;
    let mut writer = Writer::new(&mut counted, importer.header().clone()).map_err(writing)?;
    let mut summary = ImportSummary::default();
    let written = match records(importer, batch, &mut writer, &mut summary, &mut progress) {
        Err(failure) if !failure.is_output => return Err(failure),
        written => written.map_err(|failure| failure.error),
    };
    progress.clear();
    // What was read is the end of an input that was interrupted, too.
    summary.signal = Some(signal::interruptions()).filter(|(count, _)| *count > 0).map(|(_, signal)| signal);
    if summary.records == 0 {
        let error = TraceError::new("there is no record in it")
            .hint("`iodyno trace import --list` shows what is read");
        return Err(reading(error));
    }
    *writer.header_mut() = importer.header().clone();
    if summary.signal.is_some() {
        writer.note("the import was interrupted: the trace ends early");
    }
    let kept = writer.finish_kept(written).map_err(writing)?;
    summary.bytes = counted.bytes;
    Ok((summary, kept))
}

/// Writes all records, of which `batch` are the first.
fn records(
    importer: &mut Importer,
    mut batch: Batch,
    writer: &mut Writer<&mut CountingWriter<'_>>,
    summary: &mut ImportSummary,
    progress: &mut ImportProgress,
) -> Result<(), ImportFailure> {
    let (mut files, mut threads, mut batches) = (0, 0, 0);
    loop {
        for message in importer.take_messages() {
            progress.clear();
            say(format_args!("warning: {message}"));
        }
        let tables = importer.tables();
        for file in &tables.files[files..] {
            writer.define_file(file.clone()).map_err(writing)?;
        }
        for thread in &tables.threads[threads..] {
            writer.define_thread(thread.clone()).map_err(writing)?;
        }
        (files, threads) = (tables.files.len(), tables.threads.len());
        if batch.is_empty() {
            return Ok(());
        }
        summary.records += batch.len() as u64;
        writer.push_all(&batch).map_err(writing)?;
        summary.span_ns = batch.last().map_or(0, |record| record.at_ns);
        if signal::interruptions().0 > 0 {
            return Ok(());
        }
        batches += 1;
        if batches % PROGRESS == 0 {
            progress.show(summary.records);
        }
        importer.next_batch(&mut batch).map_err(reading)?;
    }
}

/// How much was read, on a terminal.
struct ImportProgress {
    counter: Arc<AtomicU64>,
    /// The bytes of all inputs; none: there are no such lines.
    total: Option<u64>,
    is_shown: bool,
}

impl ImportProgress {
    fn show(&mut self, records: u64) {
        if let Some(total) = self.total {
            let percent = self.counter.load(Relaxed).min(total) * 100 / total.max(1);
            let text = format!("\r\x1b[K{percent} % read, {} records", units::count(records as f64));
            // A line that is not seen changes nothing.
            let _ = terminal::err().write_all(text.as_bytes());
            self.is_shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = terminal::err().write_all(b"\r\x1b[K");
        }
    }
}

fn told(summary: &ImportSummary, importer: &Importer, to: &str) {
    let tables = importer.tables();
    let plural = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let threads = tables.threads.iter().filter(|thread| **thread != TraceThread::default()).count();
    let by = if threads == 0 { String::new() } else { format!(" by {}", plural(threads, "thread")) };
    let to = if to == "-" { "standard output" } else { to };
    let each = summary.bytes as f64 / summary.records as f64;
    let source = &importer.header().source;
    let from = if source.is_empty() { String::new() } else { format!(", from {source}") };
    say(format_args!(
        "{to}: {} of {}{by} over {}, {} ({each:.1} bytes each){from}",
        plural(summary.records as usize, "record"),
        plural(tables.files.len(), "file"),
        units::duration(summary.span_ns as f64),
        units::binary(summary.bytes),
    ));
    for note in &importer.header().notes {
        say(format_args!("note: {note}"));
    }
    if summary.signal.is_some() {
        say("note: the import was interrupted: the trace ends early");
    }
}

/// Opens a file as often as it is asked to; and its length, if it has one.
fn opener(path: &str, counter: &Arc<AtomicU64>) -> Result<(Input, Option<u64>), Diagnostic> {
    let counter = counter.clone();
    if path == "-" {
        let open = move || -> io::Result<Box<dyn Read + Send>> {
            Ok(Box::new(CountedReader { from: io::stdin(), counter: counter.clone() }))
        };
        return Ok((Input { name: "standard input".into(), open: Box::new(open), is_seekable: false }, None));
    }
    let facts = input::file(path)?.metadata().map_err(|error| {
        Diagnostic::error(&Origin::argument(path), format!("cannot be read: {}", plain(&error)))
    })?;
    let name = path.to_string();
    let open = move || -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(CountedReader { from: File::open(&name)?, counter: counter.clone() }))
    };
    let is_seekable = facts.is_file();
    let input = Input { name: path.into(), open: Box::new(open), is_seekable };
    Ok((input, is_seekable.then_some(facts.len())))
}

/// Counts what is read; an interruption is the end.
struct CountedReader<R> {
    from: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from.read(buffer) {
            Ok(count) => {
                self.counter.fetch_add(count as u64, Relaxed);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted && signal::interruptions().0 > 0 => {
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

/// `device_id,capacity` in bytes, with a header line or without.
fn device_sizes(path: &str) -> Result<Vec<(String, u64)>, Diagnostic> {
    let place = |line: usize| Origin::argument(&format!("{path}:{line}"));
    let mut sizes = Vec::new();
    for (index, line) in BufReader::new(input::file(path)?).lines().enumerate() {
        let line = line.map_err(|error| Diagnostic::error(&place(index + 1), plain(&error)))?;
        if line.trim().is_empty() {
            continue;
        }
        let fields = line.split_once([',', ' ', '\t', ';']);
        let size =
            fields.and_then(|(name, bytes)| Some((name.trim().to_string(), bytes.trim().parse().ok()?)));
        match size {
            Some(size) => sizes.push(size),
            None if index == 0 => {}
            None => {
                let wrong = Diagnostic::error(&place(index + 1), "no device and its size in bytes");
                return Err(wrong.hint("a line is NAME,BYTES"));
            }
        }
        if sizes.len() > 1 << 20 {
            return Err(Diagnostic::error(&Origin::argument(path), "more than 1,048,576 devices"));
        }
    }
    Ok(sizes)
}

/// An error with its place in the input.
fn wrong(error: &TraceError) -> Diagnostic {
    let place = if error.place.is_empty() { "trace import" } else { &error.place };
    Diagnostic {
        hint: error.hint.clone(),
        ..Diagnostic::error(&Origin::argument(place), error.message.clone())
    }
}

/// The table of formats.
fn listed() -> String {
    let mut text = String::new();
    for format in formats() {
        text.push_str(&entry(&format));
    }
    text.push_str("any table: --csv 'ts=0:filetime,op=3,off=4:bytes,len=5:bytes,dev=2'; docs/trace.md explains the keys\n");
    text
}

fn entry(format: &Format) -> String {
    let mut text = format!("{:<9} {}\n", format.name, format.about);
    for line in format.example.lines() {
        text.push_str(&format!("          {line}\n"));
    }
    if let Some(map) = format.map() {
        text.push_str(&format!("          --csv '{map}'\n"));
    }
    text
}
