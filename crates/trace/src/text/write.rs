//! Writes the text.

use std::io::{self, Write};

use crate::text::{FIRST_LINE, FLAGS};
use crate::{
    Batch, FileKind, RecordSource, RecordedContent, Tables, TraceClock, TraceError, TraceFile, TraceHeader,
    TraceLevel, TraceRecord, TraceThread,
};

/// Writes a source as text.
pub struct TextWriter<W: Write> {
    write: W,
    /// What the text has told so far.
    header: Option<TraceHeader>,
    tables: Tables,
}

impl<W: Write> TextWriter<W> {
    pub fn new(write: W) -> TextWriter<W> {
        TextWriter { write, header: None, tables: Tables::default() }
    }

    /// # Errors
    /// Those of the source and of the output.
    pub fn write_source(&mut self, source: &mut dyn RecordSource) -> Result<(), TraceError> {
        self.header(source.header())?;
        let mut batch = Batch::new();
        loop {
            source.next_batch(&mut batch)?;
            self.tables(source.tables())?;
            if batch.is_empty() {
                // Notes and sizes that became known on the way.
                self.header(source.header())?;
                return Ok(self.write.flush()?);
            }
            for record in &batch {
                put_record(&mut self.write, record)?;
            }
        }
    }

    fn header(&mut self, header: &TraceHeader) -> io::Result<()> {
        let write = &mut self.write;
        let before = self.header.replace(header.clone());
        if before.is_none() {
            writeln!(write, "{FIRST_LINE}")?;
        }
        let told = before.unwrap_or_default();
        if header.source != told.source {
            writeln!(write, "# source: {}", escaped(&header.source))?;
        }
        if header.level != told.level {
            writeln!(write, "# level: {}", level(header.level))?;
        }
        if header.clock != told.clock {
            writeln!(write, "# clock: {}", clock(header.clock))?;
        }
        match header.began_unix_ns {
            Some(ns) if told.began_unix_ns != Some(ns) => writeln!(write, "# began: {ns}")?,
            _ => {}
        }
        if header.resolution_ns != told.resolution_ns {
            writeln!(write, "# resolution: {}", header.resolution_ns)?;
        }
        for note in header.notes.iter().filter(|note| !told.notes.contains(note)) {
            writeln!(write, "# note: {}", escaped(note))?;
        }
        Ok(())
    }

    /// Files and threads that are new, or of which more is known.
    fn tables(&mut self, tables: &Tables) -> io::Result<()> {
        for (index, file) in tables.files.iter().enumerate() {
            if self.tables.files.get(index) != Some(file) {
                put_file(&mut self.write, index, file)?;
            }
        }
        for (index, thread) in tables.threads.iter().enumerate() {
            if self.tables.threads.get(index) != Some(thread) {
                put_thread(&mut self.write, index, thread)?;
            }
        }
        self.tables.clone_from(tables);
        Ok(())
    }
}

fn level(level: TraceLevel) -> &'static str {
    match level {
        TraceLevel::Block => "block",
        TraceLevel::File => "file",
    }
}

fn clock(clock: TraceClock) -> &'static str {
    match clock {
        TraceClock::Relative => "relative",
        TraceClock::Realtime => "realtime",
        TraceClock::Monotonic => "monotonic",
    }
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Device => "device",
        FileKind::Directory => "directory",
        FileKind::Link => "link",
        FileKind::Other => "other",
    }
}

fn put_file(write: &mut impl Write, index: usize, file: &TraceFile) -> io::Result<()> {
    write!(write, "# file {index} {}", kind(file.kind))?;
    if let Some(bytes) = file.bytes {
        write!(write, " bytes={bytes}")?;
    }
    if let Some((major, minor)) = file.device {
        write!(write, " device={major}:{minor}")?;
    }
    writeln!(write, " name={}", escaped(&file.name))
}

fn put_thread(write: &mut impl Write, index: usize, thread: &TraceThread) -> io::Result<()> {
    let TraceThread { process, thread, name } = thread;
    writeln!(write, "# thread {index} {process} {thread} name={}", escaped(name))
}

fn put_record(write: &mut impl Write, record: &TraceRecord) -> io::Result<()> {
    let TraceRecord { at_ns, verb, file, thread, offset, bytes, .. } = *record;
    write!(write, "{at_ns} {verb} {file} {offset} {bytes}")?;
    if thread > 0 {
        write!(write, " thread={thread}")?;
    }
    if let Some(latency) = record.latency_ns {
        write!(write, " latency={latency}")?;
    }
    if let Some(result) = record.result {
        write!(write, " result={result}")?;
    }
    if let Some(other) = record.other {
        write!(write, " other={other}")?;
    }
    put_flags(write, record.flags.0)?;
    match record.content {
        None => {}
        Some(RecordedContent::Compressible(percent)) => write!(write, " compressible={percent}")?,
        Some(RecordedContent::Digest(digest)) => {
            write!(write, " digest=")?;
            digest.iter().try_for_each(|byte| write!(write, "{byte:02x}"))?;
        }
    }
    if let Some(after) = record.after {
        write!(write, " after={}+{}", after.back, after.think_ns)?;
    }
    writeln!(write)
}

/// Names with commas; bits without a name as one number.
fn put_flags(write: &mut impl Write, bits: u32) -> io::Result<()> {
    let named = FLAGS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    let mut before = " flags=";
    for (_, name) in named {
        write!(write, "{before}{name}")?;
        before = ",";
    }
    match bits >> FLAGS.len() << FLAGS.len() {
        0 => Ok(()),
        rest => write!(write, "{before}{rest}"),
    }
}

/// Text within a line.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}
