//! Writes `.iot`.

use std::io::Write;

use crate::format::block::{BlockEncoder, Definitions, check_dependency};
use crate::format::bytes::{put_option, put_varint};
use crate::format::section::{SectionKind, SectionWriter, TRAILER_SIGNATURE};
use crate::format::tables;
use crate::format::totals::{self, BlockPlace, Counting, TraceTotals};
use crate::format::{BLOCK_LIMIT, SIGNATURE, VERSION};
use crate::{
    Batch, RecordSource, RecordedContent, TraceError, TraceFile, TraceHeader, TraceRecord, TraceThread,
};

/// Records of a block, and how many later ones are held so that those out of order find their place.
const BLOCK: usize = BLOCK_LIMIT / 2;

/// A block is written early where its definitions take more.
const DEFINITION_BYTES: usize = 1 << 20;

/// The longest name of a file or thread, and the longest note.
const TEXT_LIMIT: usize = 65_536;

/// Bytes of a section after the blocks, about.
const SECTION_BYTES: usize = 1 << 20;

/// An output that can go back to what it held when so many bytes were written.
pub trait CutBack: Write {
    /// What was written after these bytes is gone, also what is buffered.
    ///
    /// # Errors
    /// It is no file.
    fn cut_back(&mut self, bytes: u64) -> std::io::Result<()>;
}

/// What became of a trace that was to be kept in any case.
#[derive(Debug)]
pub enum KeptTrace {
    Whole(TraceTotals),
    /// It could not be written to its end, for this reason. So many records are there; whether its end is there too:
    /// else a reader says that it was not finished.
    Short {
        reason: TraceError,
        records: u64,
        is_finished: bool,
    },
}

/// Writes a trace. Memory: two blocks, the tables' sizes, and 32 bytes for each block that was written.
///
/// Records may come out of order by up to 32,768 records; then none may have a dependency. After an error the writer is
/// of no more use. Dropped without [`finish`](Writer::finish), it leaves a file that is readable to its last record.
pub struct Writer<W: Write> {
    sections: SectionWriter<W>,
    header: TraceHeader,
    files: Vec<TraceFile>,
    threads: Vec<TraceThread>,
    definitions: Definitions,
    held: Vec<TraceRecord>,
    order: Order,
    encoder: BlockEncoder,
    body: Vec<u8>,
    counting: Counting,
    places: Vec<BlockPlace>,
    /// Bytes to the end of the last block.
    whole_bytes: u64,
    ended: bool,
}

/// How the held records came.
#[derive(Default)]
struct Order {
    /// Records that were written, and when the last of them was issued.
    written: u64,
    written_ns: u64,
    last_ns: u64,
    /// Some held ones are out of order.
    is_broken: bool,
    /// Some ever were.
    was_broken: bool,
    has_dependencies: bool,
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// Those of `write`; a header whose text is too long.
    pub fn new(write: W, header: TraceHeader) -> Result<Writer<W>, TraceError> {
        let mut writer = Writer {
            sections: SectionWriter::new(write),
            header,
            files: Vec::new(),
            threads: Vec::new(),
            definitions: Definitions::default(),
            held: Vec::new(),
            order: Order::default(),
            encoder: BlockEncoder::default(),
            body: Vec::new(),
            counting: Counting::default(),
            places: Vec::new(),
            whole_bytes: 0,
            ended: true,
        };
        writer.sections.raw(&SIGNATURE)?;
        writer.sections.raw(&VERSION.to_le_bytes())?;
        writer.put_header()?;
        writer.whole_bytes = writer.sections.bytes;
        writer.ended = false;
        Ok(writer)
    }

    /// Adds a sentence to what a reader should know.
    pub fn note(&mut self, note: impl Into<String>) {
        self.header.notes.push(note.into());
    }

    /// The header as it will be at the end of the file.
    pub fn header_mut(&mut self) -> &mut TraceHeader {
        &mut self.header
    }

    /// The index of a new file.
    ///
    /// # Errors
    /// A name longer than 64 KiB; those of the output.
    pub fn define_file(&mut self, file: TraceFile) -> Result<u32, TraceError> {
        check_text(&file.name, "a file's name")?;
        self.definitions.file(&file);
        self.files.push(file);
        self.limit_definitions()?;
        Ok(self.files.len() as u32 - 1)
    }

    /// The index of a new thread.
    ///
    /// # Errors
    /// As of [`define_file`](Writer::define_file).
    pub fn define_thread(&mut self, thread: TraceThread) -> Result<u32, TraceError> {
        check_text(&thread.name, "a thread's name")?;
        self.definitions.thread(&thread);
        self.threads.push(thread);
        self.limit_definitions()?;
        Ok(self.threads.len() as u32 - 1)
    }

    /// # Errors
    /// A record that names what is not defined, or that is out of order by more than is held; those of the output.
    pub fn push(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        self.check(record)?;
        if record.at_ns < self.order.last_ns {
            (self.order.is_broken, self.order.was_broken) = (true, true);
        } else {
            self.order.last_ns = record.at_ns;
        }
        if self.order.was_broken && self.order.has_dependencies {
            return Err(TraceError::new(format!("record {} is out of order", self.next_record()))
                .hint("records with dependencies must be written in the order of their times"));
        }
        self.held.push(*record);
        if self.held.len() == 2 * BLOCK {
            self.write_block(BLOCK)?;
        }
        Ok(())
    }

    /// # Errors
    /// Those of [`push`](Writer::push).
    pub fn push_all(&mut self, records: &[TraceRecord]) -> Result<(), TraceError> {
        records.iter().try_for_each(|record| self.push(record))
    }

    /// All that a source has, into an empty trace: tables and indices stay as they are.
    ///
    /// # Errors
    /// Those of the source and of the writer.
    pub fn write_source(&mut self, source: &mut dyn RecordSource) -> Result<(), TraceError> {
        let mut batch = Batch::new();
        loop {
            source.next_batch(&mut batch)?;
            let tables = source.tables();
            for file in tables.files.get(self.files.len()..).unwrap_or_default() {
                self.define_file(file.clone())?;
            }
            for thread in tables.threads.get(self.threads.len()..).unwrap_or_default() {
                self.define_thread(thread.clone())?;
            }
            if batch.is_empty() {
                // Sizes that the source has learned since.
                for (file, known) in self.files.iter_mut().zip(&tables.files) {
                    file.bytes = known.bytes;
                }
                self.header = source.header().clone();
                return Ok(());
            }
            self.push_all(&batch)?;
        }
    }

    /// Writes what is held, in blocks of their own: what comes later must not be earlier.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        while !self.held.is_empty() || !self.definitions.is_empty() {
            self.write_block(self.held.len().min(BLOCK))?;
        }
        Ok(self.sections.write.flush()?)
    }

    /// Writes the rest, the totals and the index; the output and the totals.
    ///
    /// # Errors
    /// Those of the output; notes that are too long.
    pub fn finish(mut self) -> Result<TraceTotals, TraceError> {
        self.end()
    }

    fn end(&mut self) -> Result<TraceTotals, TraceError> {
        self.flush()?;
        self.ended = true;
        let place = self.put_header()?;
        let totals = self.counting.totals();
        self.body.clear();
        totals::put_totals(&mut self.body, &totals);
        self.sections.section(SectionKind::Totals, &self.body)?;
        for places in self.places.chunks(SECTION_BYTES / 32) {
            self.body.clear();
            totals::put_places(&mut self.body, places);
            self.sections.section(SectionKind::Index, &self.body)?;
        }
        let (sections, counting) = (&mut self.sections, &self.counting);
        put_list(sections, SectionKind::Files, &self.files, |out, index, file| {
            tables::put_file(out, file);
            put_option(out, counting.reach(index));
        })?;
        put_list(sections, SectionKind::Threads, &self.threads, |out, _, thread| {
            tables::put_thread(out, thread)
        })?;
        sections.section(SectionKind::End, &[])?;
        let place = place.to_le_bytes();
        sections.raw(&place)?;
        sections.raw(&crc32c::crc32c(&place).to_le_bytes())?;
        sections.raw(&TRAILER_SIGNATURE)?;
        sections.write.flush()?;
        Ok(totals)
    }

    fn next_record(&self) -> u64 {
        self.order.written + self.held.len() as u64
    }

    fn check(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let index = self.next_record();
        let files = self.files.len();
        for file in std::iter::once(record.file).chain(record.other) {
            if file as usize >= files {
                return Err(TraceError::new(format!(
                    "record {index} names file {file}, and {files} are defined"
                )));
            }
        }
        // Sources that tell no threads define none.
        if record.thread as usize >= self.threads.len().max(1) {
            let (thread, threads) = (record.thread, self.threads.len());
            return Err(TraceError::new(format!(
                "record {index} names thread {thread}, and {threads} are defined"
            )));
        }
        if record.at_ns < self.order.written_ns {
            let late = self.order.written_ns - record.at_ns;
            return Err(TraceError::new(format!(
                "record {index} is {late} ns earlier than those written before it"
            ))
            .hint(format!(
                "records may be out of order by up to {BLOCK} records: sort the trace by time first"
            )));
        }
        if matches!(record.content, Some(RecordedContent::Compressible(percent)) if percent > 100) {
            return Err(TraceError::new(format!("record {index} is more than 100 % compressible")));
        }
        self.order.has_dependencies |= record.after.is_some();
        check_dependency(index, record.after)
    }

    fn limit_definitions(&mut self) -> Result<(), TraceError> {
        match self.definitions.bytes() > DEFINITION_BYTES {
            true => self.write_block(0),
            false => Ok(()),
        }
    }

    /// Writes the first of the held records, as many as told.
    fn write_block(&mut self, records: usize) -> Result<(), TraceError> {
        if std::mem::take(&mut self.order.is_broken) {
            self.held.sort_by_key(|record| record.at_ns);
        }
        let block = &self.held[..records];
        self.body.clear();
        self.encoder.put(&mut self.body, self.order.written, block, &mut self.definitions);
        let place = self.sections.section(SectionKind::Block, &self.body)?;
        let first_ns = block.first().map_or(self.order.written_ns, |record| record.at_ns);
        // What is left in a buffer could still fail, and would not be whole.
        self.sections.write.flush()?;
        self.whole_bytes = self.sections.bytes;
        self.places.push(BlockPlace {
            place,
            first_record: self.order.written,
            records: records as u64,
            first_ns,
        });
        block.iter().for_each(|record| self.counting.add(record));
        if let Some(last) = block.last() {
            self.order.written_ns = last.at_ns;
        }
        self.order.written += records as u64;
        self.held.drain(..records);
        Ok(())
    }

    fn put_header(&mut self) -> Result<u64, TraceError> {
        check_text(&self.header.source, "the source's name")?;
        self.header.notes.iter().try_for_each(|note| check_text(note, "a note"))?;
        self.body.clear();
        tables::put_header(&mut self.body, &self.header);
        Ok(self.sections.section(SectionKind::Header, &self.body)?)
    }
}

impl<W: CutBack> Writer<W> {
    /// Ends a trace that is kept in any case. `written`: whether all could be written so far. Where the output fails,
    /// because a disk is full for example, it ends with the last whole block.
    ///
    /// # Errors
    /// The reason, where the output cannot be cut.
    pub fn finish_kept(mut self, written: Result<(), TraceError>) -> Result<KeptTrace, TraceError> {
        let reason = match written.and_then(|()| self.end()) {
            Ok(totals) => return Ok(KeptTrace::Whole(totals)),
            Err(reason) => reason,
        };
        self.ended = true;
        self.held.clear();
        self.definitions = Definitions::default();
        let (bytes, records) = (self.whole_bytes, self.order.written);
        if self.cut_back(bytes).is_err() {
            return Err(reason);
        }
        self.note(format!("The trace ends early: {}.", reason.message));
        let is_finished = self.end().is_ok();
        if !is_finished {
            self.cut_back(bytes)?;
        }
        Ok(KeptTrace::Short { reason, records, is_finished })
    }

    fn cut_back(&mut self, bytes: u64) -> Result<(), TraceError> {
        self.sections.write.cut_back(bytes)?;
        self.sections.bytes = bytes;
        Ok(())
    }
}

impl<W: CutBack + ?Sized> CutBack for &mut W {
    fn cut_back(&mut self, bytes: u64) -> std::io::Result<()> {
        (**self).cut_back(bytes)
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody is left to tell.
            let _ = self.flush();
        }
    }
}

fn put_list<W: Write, T>(
    sections: &mut SectionWriter<W>,
    kind: SectionKind,
    list: &[T],
    mut put: impl FnMut(&mut Vec<u8>, usize, &T),
) -> Result<(), TraceError> {
    let (mut entries, mut count, mut body) = (Vec::new(), 0, Vec::new());
    for (index, entry) in list.iter().enumerate() {
        put(&mut entries, index, entry);
        count += 1;
        if entries.len() > SECTION_BYTES || index + 1 == list.len() {
            body.clear();
            put_varint(&mut body, count);
            body.append(&mut entries);
            sections.section(kind, &body)?;
            count = 0;
        }
    }
    Ok(())
}

fn check_text(text: &str, what: &str) -> Result<(), TraceError> {
    match text.len() > TEXT_LIMIT {
        true => {
            Err(TraceError::new(format!("{what} has {} bytes, where {TEXT_LIMIT} are the most", text.len())))
        }
        false => Ok(()),
    }
}
