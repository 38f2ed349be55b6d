//! Reads `.iot`, from the start to the end, or from a time or record.

use std::io::{Read, Seek, SeekFrom};

use crate::columns::{ColumnSource, Fields, RecordColumns};
use crate::format::bytes::Cursor;
use crate::format::decoder::{BlockDecoder, BlockHead};
use crate::format::section::{SectionKind, SectionRead, SectionReader, TRAILER_BYTES, TRAILER_SIGNATURE};
use crate::format::tables::{self, NamedVerb};
use crate::format::totals::{self, BlockPlace, TraceTotals};
use crate::format::{SIGNATURE, VERSION};
use crate::{Batch, RecordSource, Tables, TraceError, TraceHeader};

/// Reads a trace. Memory: one block and the tables, and with [`open`](Reader::open) 32 bytes for each block.
///
/// A file that was cut off is read to its last whole block; a note of the header then says so.
pub struct Reader<R: Read> {
    sections: SectionReader<R>,
    header: TraceHeader,
    verbs: Vec<NamedVerb>,
    tables: Tables,
    decoder: BlockDecoder,
    columns: RecordColumns,
    body: Vec<u8>,
    place: Place,
    end: EndSections,
    is_at_end: bool,
    /// Records of the block that a seek leads to, which are not wanted.
    skip: Skip,
}

/// Where the reader is.
#[derive(Default)]
struct Place {
    /// The next block's number.
    block: u64,
    /// The next record's.
    record: u64,
}

/// What was read of the sections after the blocks.
#[derive(Default)]
struct EndSections {
    totals: Option<TraceTotals>,
    places: Vec<BlockPlace>,
    /// How far the records of each file reach.
    reaches: Vec<Option<u64>>,
    /// Threads that were told so far.
    threads: usize,
    is_known: bool,
}

enum Skip {
    None,
    Records(u64),
    Until(u64),
}

impl<R: Read> Reader<R> {
    /// # Errors
    /// What is no trace of a version that is known.
    pub fn new(read: R) -> Result<Reader<R>, TraceError> {
        let mut reader = Reader {
            sections: SectionReader::new(read),
            header: TraceHeader::default(),
            verbs: Vec::new(),
            tables: Tables::default(),
            decoder: BlockDecoder::default(),
            columns: RecordColumns::default(),
            body: Vec::new(),
            place: Place::default(),
            end: EndSections::default(),
            is_at_end: false,
            skip: Skip::None,
        };
        reader.begin()?;
        Ok(reader)
    }

    /// Counts over the whole trace; none: it was cut off, or its end was not read yet.
    pub fn totals(&self) -> Option<&TraceTotals> {
        self.end.totals.as_ref()
    }

    /// The end of the farthest range of each file; empty as long as [`totals`](Reader::totals) are not known.
    pub fn reaches(&self) -> &[Option<u64>] {
        &self.end.reaches
    }

    fn begin(&mut self) -> Result<(), TraceError> {
        let start = self.sections.raw(SIGNATURE.len() + 2)?;
        let Some(version) = start.strip_prefix(&SIGNATURE) else {
            return Err(match start {
                [] => TraceError::new("it is empty").hint(NO_TRACE),
                start if SIGNATURE.starts_with(start) => TraceError::new("it ends within its signature"),
                start if start.starts_with(b"\x89IOT") => {
                    TraceError::new("a transfer as text has changed its line ends").hint("copy it as binary")
                }
                _ => TraceError::new("it is no trace of ours (.iot)").hint(NO_TRACE),
            });
        };
        match *version {
            [low, high] if u16::from_le_bytes([low, high]) == VERSION => {}
            [low, high] => {
                let version = u16::from_le_bytes([low, high]);
                let message =
                    format!("it has version {version} of the format, and this program reads {VERSION}");
                return Err(TraceError::new(message).hint("a newer iodyno wrote it: read it with that one"));
            }
            _ => return Err(TraceError::new("it ends within its signature")),
        }
        match self.sections.section(&mut self.body).map_err(|error| error.at("the header"))? {
            SectionRead::Whole(SectionKind::Header) => {}
            SectionRead::Whole(_) => return Err(TraceError::new("it does not begin with a header")),
            SectionRead::CutOff => return Err(TraceError::new("it ends within its header")),
        }
        (self.header, self.verbs) =
            tables::header(&mut Cursor::new(&self.body)).map_err(|error| error.at("the header"))?;
        Ok(())
    }

    /// Reads the next section: the head and the body of a block, or none at the end.
    fn next_block(&mut self) -> Result<Option<(BlockHead, usize)>, TraceError> {
        while !self.is_at_end {
            let (place, block, records) = (self.sections.bytes, self.place.block, self.place.record);
            let at = |error: TraceError| {
                let column =
                    if error.place.is_empty() { String::new() } else { format!(", {}", error.place) };
                damaged(error, records).at(format!("block {block} (byte {place}){column}"))
            };
            match self.sections.section(&mut self.body).map_err(at)? {
                SectionRead::CutOff => {
                    self.is_at_end = true;
                    self.note_cut(place);
                }
                SectionRead::Whole(SectionKind::Block) => {
                    let mut body = Cursor::new(&self.body);
                    let head = BlockDecoder::head(&mut body, &mut self.tables).map_err(at)?;
                    if head.first_record != self.place.record {
                        let message =
                            format!("it begins with record {}, not {}", head.first_record, self.place.record);
                        return Err(at(TraceError::new(message)));
                    }
                    self.place.block += 1;
                    self.place.record += head.records as u64;
                    let rest = self.body.len() - body.left();
                    return Ok(Some((head, rest)));
                }
                SectionRead::Whole(SectionKind::End) => (self.is_at_end, self.end.is_known) = (true, true),
                SectionRead::Whole(_) if self.end.is_known => self.is_at_end = true,
                SectionRead::Whole(kind) => self
                    .end
                    .read(kind, &self.body, &self.verbs, &mut self.header, &mut self.tables)
                    .map_err(|error| error.at(format!("byte {place}")))?,
            }
        }
        Ok(None)
    }

    /// The columns of the next block, and its first record's number; none at the end.
    fn block_columns(
        &mut self,
        wanted: Fields,
        columns: &mut RecordColumns,
    ) -> Result<Option<u64>, TraceError> {
        let Some((head, rest)) = self.next_block()? else { return Ok(None) };
        let (block, body) = (self.place.block - 1, Cursor::new(&self.body[rest..]));
        let read = self.decoder.columns(body, &head, &self.tables, &self.verbs, wanted, columns);
        read.map_err(|error| {
            let column = if error.place.is_empty() { String::new() } else { format!(", {}", error.place) };
            error.at(format!("block {block}{column}"))
        })?;
        Ok(Some(head.first_record))
    }

    fn note_cut(&mut self, place: u64) {
        let records = self.place.record;
        let note = format!(
            "The trace was not finished or is cut off, at byte {place}: its first {records} records are here."
        );
        if self.header.notes.last() != Some(&note) {
            self.header.notes.push(note);
        }
    }

    fn skip(&mut self, first: u64, batch: &mut Batch) {
        match self.skip {
            Skip::None => {}
            Skip::Records(record) => {
                let before = usize::try_from(record.saturating_sub(first)).unwrap_or(usize::MAX);
                batch.drain(..before.min(batch.len()));
            }
            Skip::Until(ns) => {
                batch.drain(..batch.partition_point(|record| record.at_ns < ns));
            }
        }
        if !batch.is_empty() {
            self.skip = Skip::None;
        }
    }
}

impl EndSections {
    fn read(
        &mut self,
        kind: SectionKind,
        body: &[u8],
        verbs: &[NamedVerb],
        header: &mut TraceHeader,
        tables: &mut Tables,
    ) -> Result<(), TraceError> {
        let body = &mut Cursor::new(body);
        match kind {
            SectionKind::Header => *header = tables::header(body)?.0,
            SectionKind::Totals => self.totals = Some(totals::totals(body, verbs)?),
            SectionKind::Index => {
                let before = self.places.last().map_or(0, |block| block.first_record + block.records);
                self.places.extend(totals::places(body, before)?);
            }
            SectionKind::Files => {
                for _ in 0..body.definitions()? {
                    put(&mut tables.files, self.reaches.len(), tables::file(body)?);
                    self.reaches.push(body.option()?);
                }
            }
            SectionKind::Threads => {
                for _ in 0..body.definitions()? {
                    put(&mut tables.threads, self.threads, tables::thread(body)?);
                    self.threads += 1;
                }
            }
            SectionKind::Block | SectionKind::End => {}
        }
        Ok(())
    }
}

/// An error with the advice to take what is before it.
fn damaged(error: TraceError, records: u64) -> TraceError {
    match records {
        _ if error.hint.is_some() => error,
        0 => error.hint("the file is damaged"),
        _ => error.hint(format!(
            "the {records} records before it are whole: iodyno trace cut --records 0..{records}"
        )),
    }
}

fn put<T>(list: &mut Vec<T>, index: usize, entry: T) {
    match list.get_mut(index) {
        Some(known) => *known = entry,
        None => list.push(entry),
    }
}

impl<R: Read> RecordSource for Reader<R> {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        let mut columns = std::mem::take(&mut self.columns);
        let read = loop {
            match self.block_columns(Fields::ALL, &mut columns) {
                Ok(Some(first)) => {
                    batch.extend((0..columns.records).map(|index| columns.record(index)));
                    self.skip(first, batch);
                    if !batch.is_empty() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.columns = columns;
        read
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        // What a seek leads to begins within a block.
        matches!(self.skip, Skip::None).then_some(self as &mut dyn ColumnSource)
    }
}

impl<R: Read> ColumnSource for Reader<R> {
    fn next_columns(&mut self, wanted: Fields, columns: &mut RecordColumns) -> Result<(), TraceError> {
        columns.records = 0;
        while columns.records == 0 && self.block_columns(wanted, columns)?.is_some() {}
        Ok(())
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the sections after the blocks first: totals and tables are then complete. A file without them is read from
    /// its start all the same.
    ///
    /// # Errors
    /// Those of [`new`](Reader::new); sections that are damaged.
    pub fn open(mut read: R) -> Result<Reader<R>, TraceError> {
        let length = read.seek(SeekFrom::End(0))?;
        read.rewind()?;
        let mut reader = Reader::new(read)?;
        let blocks = reader.sections.bytes;
        if let Some(place) = reader.trailer(length)? {
            reader.go(place)?;
            let error = |error: TraceError| error.at("the index");
            while !reader.is_at_end {
                match reader.sections.section(&mut reader.body).map_err(error)? {
                    SectionRead::CutOff => return Err(error(TraceError::new("it ends too early"))),
                    SectionRead::Whole(SectionKind::End) => reader.is_at_end = true,
                    SectionRead::Whole(kind) => reader
                        .end
                        .read(kind, &reader.body, &reader.verbs, &mut reader.header, &mut reader.tables)
                        .map_err(error)?,
                }
            }
            (reader.is_at_end, reader.end.is_known) = (false, true);
        }
        reader.go(blocks)?;
        Ok(reader)
    }

    /// The next record is the first that was issued at this time or later.
    ///
    /// # Errors
    /// Those of the input.
    pub fn seek_to_time(&mut self, at_ns: u64) -> Result<(), TraceError> {
        // Several blocks may begin at one time: the one before the first of them may hold records of that time too.
        let block = self.end.places.partition_point(|block| block.first_ns < at_ns);
        self.begin_at(block.saturating_sub(1))?;
        self.skip = Skip::Until(at_ns);
        Ok(())
    }

    /// The next record is the one with this number, from 0.
    ///
    /// # Errors
    /// Those of the input.
    pub fn seek_to_record(&mut self, record: u64) -> Result<(), TraceError> {
        let block = self.end.places.partition_point(|block| block.first_record <= record);
        self.begin_at(block.saturating_sub(1))?;
        self.skip = Skip::Records(record);
        Ok(())
    }

    /// The places of all blocks; none: the trace was cut off.
    pub fn blocks(&self) -> &[BlockPlace] {
        &self.end.places
    }

    fn begin_at(&mut self, block: usize) -> Result<(), TraceError> {
        self.is_at_end = false;
        match self.end.places.get(block) {
            Some(found) => {
                (self.place.block, self.place.record) = (block as u64, found.first_record);
                self.go(found.place)
            }
            // Without an index all blocks are read.
            None => {
                self.place = Place::default();
                self.go((SIGNATURE.len() + 2) as u64)?;
                self.sections.section(&mut self.body)?;
                Ok(())
            }
        }
    }

    fn go(&mut self, place: u64) -> Result<(), TraceError> {
        self.sections.bytes = place;
        self.sections.read.seek(SeekFrom::Start(place))?;
        Ok(())
    }

    /// The place of the sections after the blocks, if the file is whole.
    fn trailer(&mut self, length: u64) -> Result<Option<u64>, TraceError> {
        let Some(place) = length.checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
        self.go(place)?;
        let trailer = self.sections.raw(TRAILER_BYTES)?;
        let Some((place, rest)) = trailer.split_first_chunk::<8>() else { return Ok(None) };
        let expected = [&crc32c::crc32c(place).to_le_bytes()[..], &TRAILER_SIGNATURE].concat();
        Ok(Some(u64::from_le_bytes(*place)).filter(|place| rest == expected && *place < length))
    }
}

const NO_TRACE: &str = "iodyno trace import reads the formats of others";
