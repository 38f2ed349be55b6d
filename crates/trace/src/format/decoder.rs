//! The columns of a block, as they are read.

use crate::columns::{ColumnValues, FieldColumn, Fields, RecordColumns};
use crate::format::BLOCK_LIMIT;
use crate::format::block::{Ends, check_dependency, column, content, result};
use crate::format::bytes::Cursor;
use crate::format::column::StoredColumn;
use crate::format::tables::{self, NamedVerb};
use crate::format::totals::verb_of;
use crate::{Dependency, RecordFlags, RecordedContent, Tables, TraceError};

/// The start of a block's body.
pub struct BlockHead {
    pub first_record: u64,
    pub records: usize,
    first_ns: u64,
}

/// Reads the bodies of blocks.
#[derive(Default)]
pub struct BlockDecoder {
    values: Vec<u64>,
    kinds: Vec<u64>,
    ends: Ends,
}

impl BlockDecoder {
    /// The start, with the definitions put into the tables.
    pub fn head(body: &mut Cursor<'_>, known: &mut Tables) -> Result<BlockHead, TraceError> {
        let first_record = body.varint()?;
        let records = body.varint()?;
        if records > BLOCK_LIMIT as u64 {
            return Err(TraceError::new(format!(
                "a block of {records} records, where {BLOCK_LIMIT} are the most"
            )));
        }
        let first_ns = body.varint()?;
        define(body, &mut known.files, "files", tables::file)?;
        define(body, &mut known.threads, "threads", tables::thread)?;
        Ok(BlockHead { first_record, records: records as usize, first_ns })
    }

    /// The records. What is not wanted is not looked at. After an error there are none.
    pub fn columns(
        &mut self,
        body: Cursor<'_>,
        head: &BlockHead,
        tables: &Tables,
        verbs: &[NamedVerb],
        wanted: Fields,
        columns: &mut RecordColumns,
    ) -> Result<(), TraceError> {
        columns.records = 0;
        let mut stored = StoredBlock::of(body)?;
        (stored.values, stored.kinds) = (std::mem::take(&mut self.values), std::mem::take(&mut self.kinds));
        let filled = stored.fill(head, tables, verbs, wanted, &mut self.ends, columns);
        (self.values, self.kinds) = (stored.values, stored.kinds);
        filled?;
        columns.records = head.records;
        Ok(())
    }
}

fn define<T>(
    body: &mut Cursor<'_>,
    known: &mut Vec<T>,
    what: &str,
    read: fn(&mut Cursor<'_>) -> Result<T, TraceError>,
) -> Result<(), TraceError> {
    let first = body.varint()?;
    let count = body.definitions()?;
    if first > known.len() as u64 || first + count as u64 > 1 << 32 {
        return Err(TraceError::new(format!("{what} from {first}, where {} are known", known.len())));
    }
    for index in first as usize..first as usize + count {
        let entry = read(body)?;
        // After a seek the tables are known already, from the end of the file.
        if index == known.len() {
            known.push(entry);
        }
    }
    Ok(())
}

/// The columns as they lie in a block.
struct StoredBlock<'a> {
    columns: [Option<StoredColumn<'a>>; column::COUNT],
    values: Vec<u64>,
    kinds: Vec<u64>,
}

impl<'a> StoredBlock<'a> {
    fn of(mut body: Cursor<'a>) -> Result<StoredBlock<'a>, TraceError> {
        let mut columns = [None; column::COUNT];
        while !body.is_empty() {
            let (id, column) = StoredColumn::next(&mut body)?;
            match columns.get_mut(id as usize) {
                Some(place) if id > 0 && place.is_none() => *place = Some(column),
                Some(_) => return Err(TraceError::new(format!("column {id} is there twice"))),
                None => {
                    return Err(
                        TraceError::new(format!("column {id} is unknown")).hint("a newer version wrote it")
                    );
                }
            }
        }
        Ok(StoredBlock { columns, values: Vec::new(), kinds: Vec::new() })
    }

    fn fill(
        &mut self,
        &BlockHead { first_record, records, first_ns }: &BlockHead,
        tables: &Tables,
        verbs: &[NamedVerb],
        wanted: Fields,
        ends: &mut Ends,
        columns: &mut RecordColumns,
    ) -> Result<(), TraceError> {
        let (files, threads) = (tables.files.len(), tables.threads.len().max(1));
        match wanted.has(Fields::TIMES) {
            true => self.times(first_ns, records, &mut columns.at_ns)?,
            false => columns.at_ns.set_one(first_ns),
        }
        let known = |number: u64| verbs.get(number as usize).and_then(|verb| verb.as_ref().ok()).copied();
        self.each(column::VERB, records, &mut columns.verb, known, |number| {
            verb_of(verbs, number).err().unwrap_or_else(|| narrow_error(number))
        })?;
        let flags = |bits| u32::try_from(bits).ok().map(RecordFlags);
        self.each(column::FLAGS, records, &mut columns.flags, flags, narrow_error)?;
        let file = |file: u64| (file < files as u64).then_some(file as u32);
        let undefined = |file| undefined(file, files, "file");
        self.each(column::FILE, records, &mut columns.file, file, undefined)?;
        columns.thread.set_one(0);
        if wanted.has(Fields::THREADS) {
            let thread = |thread: u64| (thread < threads as u64).then_some(thread as u32);
            self.each(column::THREAD, records, &mut columns.thread, thread, |thread| {
                self::undefined(thread, threads, "thread")
            })?;
        }
        self.numbers(column::BYTES, records, &mut columns.bytes)?;
        self.offsets(records, files, ends, columns)?;
        columns.latency_ns.set_one(None);
        if wanted.has(Fields::LATENCIES) {
            let has = [column::HAS_LATENCY, column::LATENCY];
            self.some(has, records, &mut columns.latency_ns, Some, narrow_error)?;
        }
        columns.result.set_one(None);
        if wanted.has(Fields::RESULTS) {
            self.results(records, columns)?;
        }
        columns.other.set_one(None);
        columns.content.set_one(None);
        columns.after.set_one(None);
        if wanted.has(Fields::REST) {
            self.some([column::HAS_OTHER, column::OTHER], records, &mut columns.other, file, undefined)?;
            self.contents(records, columns)?;
            self.dependencies(records, first_record, columns)?;
        }
        Ok(())
    }

    /// Whether none of these columns is there.
    fn has_none(&self, ids: &[u8]) -> bool {
        ids.iter().all(|id| self.columns[*id as usize].is_none())
    }

    /// Puts so many values into `values`; no: there is no such column, and all are 0.
    fn load(&mut self, id: u8, count: usize) -> Result<bool, TraceError> {
        let Some(stored) = self.columns[id as usize] else { return Ok(false) };
        stored.unsigned(count, &mut self.values).map_err(|error| error.at(format!("column {id}")))?;
        Ok(true)
    }

    /// The same with zeros where there is no column.
    fn load_or_zeros(&mut self, id: u8, count: usize) -> Result<(), TraceError> {
        if !self.load(id, count)? {
            self.values.clear();
            self.values.resize(count, 0);
        }
        Ok(())
    }

    /// The value that all records have, where there is one.
    fn constant(&self, id: u8) -> Result<Option<u64>, TraceError> {
        match self.columns[id as usize] {
            None => Ok(Some(0)),
            Some(stored) => stored.constant().map_err(|error| error.at(format!("column {id}"))),
        }
    }

    fn numbers(&mut self, id: u8, records: usize, to: &mut FieldColumn<u64>) -> Result<(), TraceError> {
        match (self.constant(id)?, self.columns[id as usize]) {
            (Some(one), _) => to.set_one(one),
            (None, Some(stored)) => {
                stored.unsigned(records, to.list()).map_err(|error| error.at(format!("column {id}")))?;
            }
            (None, None) => to.set_one(0),
        }
        Ok(())
    }

    /// A column of something else than numbers.
    fn each<T: Copy>(
        &mut self,
        id: u8,
        records: usize,
        to: &mut FieldColumn<T>,
        known: impl Fn(u64) -> Option<T>,
        error: impl Fn(u64) -> TraceError,
    ) -> Result<(), TraceError> {
        if records == 0 {
            return Ok(());
        }
        if let Some(one) = self.constant(id)? {
            to.set_one(known(one).ok_or_else(|| error(one))?);
            return Ok(());
        }
        self.load(id, records)?;
        let first = known(self.values[0]).ok_or_else(|| error(self.values[0]))?;
        for (place, value) in to.places(records, first).iter_mut().zip(&self.values) {
            match known(*value) {
                Some(known) => *place = known,
                None => return Err(error(*value)),
            }
        }
        Ok(())
    }

    fn times(&mut self, first_ns: u64, records: usize, to: &mut FieldColumn<u64>) -> Result<(), TraceError> {
        if self.constant(column::AT)? == Some(0) {
            to.set_one(first_ns);
            return Ok(());
        }
        self.numbers(column::AT, records, to)?;
        if let ColumnValues::One(step) = to.all() {
            to.places(records, step);
        }
        let (mut at, mut excess) = (first_ns, false);
        for place in to.places(records, 0) {
            let (sum, exceeds) = at.overflowing_add(*place);
            (at, *place, excess) = (sum, sum, excess | exceeds);
        }
        if excess {
            return Err(TraceError::new("a time beyond 64 bits"));
        }
        Ok(())
    }

    fn offsets(
        &mut self,
        records: usize,
        files: usize,
        ends: &mut Ends,
        columns: &mut RecordColumns,
    ) -> Result<(), TraceError> {
        let list = columns.offset.list();
        match self.columns[column::OFFSET as usize] {
            Some(column) => column.signed(records, list)?,
            None => list.resize(records, 0),
        }
        // Of one file the end of the record before is what the next one's offset is told against.
        let mut end = 0u64;
        match (columns.file.all(), columns.bytes.all()) {
            (ColumnValues::One(_), ColumnValues::One(bytes)) => {
                for step in list {
                    *step = step.wrapping_add(end);
                    end = step.wrapping_add(bytes);
                }
            }
            (ColumnValues::One(_), ColumnValues::Each(bytes)) => {
                for (step, bytes) in list.iter_mut().zip(bytes) {
                    *step = step.wrapping_add(end);
                    end = step.wrapping_add(*bytes);
                }
            }
            (ColumnValues::Each(of), bytes) => {
                ends.begin(files);
                for (index, (step, file)) in list.iter_mut().zip(of).enumerate() {
                    let bytes = match bytes {
                        ColumnValues::One(bytes) => bytes,
                        ColumnValues::Each(bytes) => bytes[index],
                    };
                    ends.replace(*file, |expected| {
                        *step = step.wrapping_add(expected);
                        step.wrapping_add(bytes)
                    });
                }
            }
        }
        Ok(())
    }

    /// A column that only some records have a value in.
    fn some<T: Copy>(
        &mut self,
        [has, id]: [u8; 2],
        records: usize,
        to: &mut FieldColumn<Option<T>>,
        known: impl Fn(u64) -> Option<T>,
        error: impl Fn(u64) -> TraceError,
    ) -> Result<(), TraceError> {
        let value = |value: u64| known(value).map(Some);
        match self.constant(has)? {
            // Sources tell most fields of all records or of none.
            Some(1) => return self.each(id, records, to, value, error),
            Some(_) => {
                self.load_or_zeros(id, 0)?;
                to.set_one(None);
                return Ok(());
            }
            None => {}
        }
        self.load(has, records)?;
        std::mem::swap(&mut self.kinds, &mut self.values);
        self.load_or_zeros(id, self.kinds.iter().filter(|kind| **kind == 1).count())?;
        let mut values = self.values.iter();
        let list = to.list();
        for kind in &self.kinds {
            list.push(match kind {
                1 => {
                    let number = values.next().copied().unwrap_or(0);
                    value(number).ok_or_else(|| error(number))?
                }
                _ => None,
            });
        }
        Ok(())
    }

    fn results(&mut self, records: usize, columns: &mut RecordColumns) -> Result<(), TraceError> {
        if self.has_none(&[column::RESULT_KIND, column::RESULT]) {
            return Ok(());
        }
        let excess = |_| TraceError::new("a result beyond 63 bits");
        let (kind, bytes) = (self.constant(column::RESULT_KIND)?, columns.bytes.all());
        self.load_or_zeros(column::RESULT_KIND, records)?;
        std::mem::swap(&mut self.kinds, &mut self.values);
        let others = self.kinds.iter().filter(|kind| **kind == result::VALUE).count();
        match self.columns[column::RESULT as usize] {
            Some(column) => column.signed(others, &mut self.values)?,
            None => {
                self.values.clear();
                self.values.resize(others, 0);
            }
        }
        match (kind, bytes) {
            (Some(result::UNKNOWN), _) => columns.result.set_one(None),
            (Some(result::ZERO), _) => columns.result.set_one(Some(0)),
            (Some(result::ALL), ColumnValues::One(bytes)) if records > 0 => {
                columns.result.set_one(Some(i64::try_from(bytes).map_err(excess)?));
            }
            _ => {
                let mut values = self.values.iter();
                let list = columns.result.list();
                for (index, kind) in self.kinds.iter().enumerate() {
                    list.push(match *kind {
                        result::UNKNOWN => None,
                        result::ALL => Some(i64::try_from(columns.bytes.get(index)).map_err(excess)?),
                        result::ZERO => Some(0),
                        result::VALUE => Some(values.next().copied().unwrap_or(0) as i64),
                        other => return Err(TraceError::new(format!("result of the unknown kind {other}"))),
                    });
                }
            }
        }
        Ok(())
    }

    fn contents(&mut self, records: usize, columns: &mut RecordColumns) -> Result<(), TraceError> {
        if self.has_none(&[column::CONTENT_KIND, column::COMPRESSIBLE, column::DIGEST]) {
            return Ok(());
        }
        self.load_or_zeros(column::CONTENT_KIND, records)?;
        std::mem::swap(&mut self.kinds, &mut self.values);
        let count = |wanted| self.kinds.iter().filter(|kind| **kind == wanted).count();
        let (compressible, digests) = (count(content::COMPRESSIBLE), count(content::DIGEST));
        self.load_or_zeros(column::COMPRESSIBLE, compressible)?;
        let mut told = match self.columns[column::DIGEST as usize] {
            Some(column) => Some(column.digests(digests)?),
            None if digests > 0 => return Err(TraceError::new("digests are missing")),
            None => None,
        };
        if compressible + digests == 0 {
            return Ok(());
        }
        let mut percents = self.values.iter();
        let list = columns.content.list();
        for kind in &self.kinds {
            list.push(match *kind {
                content::COMPRESSIBLE => {
                    let percent = percents.next().and_then(|percent| u8::try_from(*percent).ok());
                    let percent = percent.filter(|percent| *percent <= 100);
                    let percent = percent.ok_or_else(|| TraceError::new("more than 100 % compressible"))?;
                    Some(RecordedContent::Compressible(percent))
                }
                content::DIGEST => {
                    told.as_mut().and_then(|digests| digests.next()).map(RecordedContent::Digest)
                }
                _ => None,
            });
        }
        Ok(())
    }

    fn dependencies(
        &mut self,
        records: usize,
        first_record: u64,
        columns: &mut RecordColumns,
    ) -> Result<(), TraceError> {
        if self.has_none(&[column::HAS_DEPENDENCY, column::BACK, column::THINK]) {
            return Ok(());
        }
        self.load_or_zeros(column::HAS_DEPENDENCY, records)?;
        std::mem::swap(&mut self.kinds, &mut self.values);
        let count = self.kinds.iter().filter(|kind| **kind == 1).count();
        self.load_or_zeros(column::BACK, count)?;
        let backs = self.values.clone();
        // Values without records that have one are longer than they should be.
        self.load_or_zeros(column::THINK, count)?;
        if count == 0 {
            return Ok(());
        }
        let mut told = backs.into_iter().zip(&self.values);
        let list = columns.after.list();
        for (index, kind) in (first_record..).zip(&self.kinds) {
            let after = match kind {
                1 => told.next().map(|(back, think_ns)| Dependency { back, think_ns: *think_ns }),
                _ => None,
            };
            check_dependency(index, after)?;
            list.push(after);
        }
        Ok(())
    }
}

fn narrow_error(value: u64) -> TraceError {
    TraceError::new(format!("{value} where 32 bits are expected"))
}

fn undefined(index: u64, known: usize, what: &str) -> TraceError {
    TraceError::new(format!("a record names {what} {index}, and {known} are defined"))
}
