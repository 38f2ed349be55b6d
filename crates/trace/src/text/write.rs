//! Writes the text.

use std::io::{self, Write};

use crate::text::FIRST_LINE;
use crate::text::words::{CLOCKS, KINDS, LEVELS, escaped, flag_words, word};
use crate::{
    Batch, RecordFlags, RecordSource, RecordedContent, Tables, TraceError, TraceFile, TraceHeader,
    TraceRecord, TraceThread,
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
            self.new_entries(source.tables())?;
            if batch.is_empty() {
                self.header(source.header())?;
                self.changed_entries(source.tables())?;
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
            writeln!(write, "# level: {}", word(&LEVELS, &header.level))?;
        }
        if header.clock != told.clock {
            writeln!(write, "# clock: {}", word(&CLOCKS, &header.clock))?;
        }
        match header.began_unix_ns {
            Some(ns) if told.began_unix_ns != Some(ns) => writeln!(write, "# began: {ns}")?,
            _ => {}
        }
        if header.resolution_ns != told.resolution_ns {
            writeln!(write, "# resolution: {}", header.resolution_ns)?;
        }
        for note in header.notes.iter().skip(told.notes.len()) {
            writeln!(write, "# note: {}", escaped(note))?;
        }
        Ok(())
    }

    /// Files and threads that are new.
    fn new_entries(&mut self, tables: &Tables) -> io::Result<()> {
        for (index, file) in tables.files.iter().enumerate().skip(self.tables.files.len()) {
            put_file(&mut self.write, index, file)?;
            self.tables.files.push(file.clone());
        }
        for (index, thread) in tables.threads.iter().enumerate().skip(self.tables.threads.len()) {
            put_thread(&mut self.write, index, thread)?;
            self.tables.threads.push(thread.clone());
        }
        Ok(())
    }

    /// Those of which more is known now.
    fn changed_entries(&mut self, tables: &Tables) -> io::Result<()> {
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
        Ok(())
    }
}

fn put_file(write: &mut impl Write, index: usize, file: &TraceFile) -> io::Result<()> {
    write!(write, "# file {index} {}", word(&KINDS, &file.kind))?;
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
    if record.flags != RecordFlags::default() {
        write!(write, " flags={}", flag_words(record.flags))?;
    }
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
