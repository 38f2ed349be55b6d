//! The records of a block as columns.

use crate::format::BLOCK_LIMIT;
use crate::format::bytes::{Cursor, put_varint};
use crate::format::column::{ColumnEncoder, StoredColumn};
use crate::format::tables::{self, NamedVerb};
use crate::format::totals::verb_of;
use crate::{
    Dependency, RecordFlags, RecordedContent, Tables, TraceError, TraceFile, TraceRecord, TraceThread,
};

/// The columns by number. Those whose values are all zero are left out.
mod column {
    pub const AT: u8 = 1;
    pub const VERB: u8 = 2;
    pub const FLAGS: u8 = 3;
    pub const FILE: u8 = 4;
    pub const THREAD: u8 = 5;
    pub const BYTES: u8 = 6;
    pub const OFFSET: u8 = 7;
    pub const HAS_LATENCY: u8 = 8;
    pub const LATENCY: u8 = 9;
    pub const HAS_OTHER: u8 = 10;
    pub const OTHER: u8 = 11;
    pub const RESULT_KIND: u8 = 12;
    pub const RESULT: u8 = 13;
    pub const CONTENT_KIND: u8 = 14;
    pub const COMPRESSIBLE: u8 = 15;
    pub const DIGEST: u8 = 16;
    pub const HAS_DEPENDENCY: u8 = 17;
    pub const BACK: u8 = 18;
    pub const THINK: u8 = 19;
    pub const COUNT: usize = 20;
}

/// What a result is, where it is told.
mod result {
    pub const UNKNOWN: u64 = 0;
    /// The bytes asked for.
    pub const ALL: u64 = 1;
    pub const ZERO: u64 = 2;
    pub const VALUE: u64 = 3;
}

mod content {
    pub const DIGEST: u64 = 1;
    pub const COMPRESSIBLE: u64 = 2;
}

/// Where the last range of each file in this block ended: what the next one's offset is told against.
#[derive(Default)]
struct Ends {
    block: u32,
    ends: Vec<(u32, u64)>,
}

impl Ends {
    fn begin(&mut self, files: usize) {
        if self.ends.len() < files {
            self.ends.resize(files, (0, 0));
        }
        self.block = self.block.wrapping_add(1);
        if self.block == 0 {
            self.ends.fill((0, 0));
            self.block = 1;
        }
    }

    /// The expected offset of the record; then its end is the next one's.
    fn replace(&mut self, file: u32, end_of: impl FnOnce(u64) -> u64) {
        let entry = &mut self.ends[file as usize];
        let expected = if entry.0 == self.block { entry.1 } else { 0 };
        *entry = (self.block, end_of(expected));
    }
}

/// Definitions that a block begins with.
#[derive(Default)]
pub struct Definitions {
    pub first_file: usize,
    pub files: Vec<u8>,
    pub file_count: usize,
    pub first_thread: usize,
    pub threads: Vec<u8>,
    pub thread_count: usize,
}

impl Definitions {
    pub fn file(&mut self, file: &TraceFile) {
        tables::put_file(&mut self.files, file);
        self.file_count += 1;
    }

    pub fn thread(&mut self, thread: &TraceThread) {
        tables::put_thread(&mut self.threads, thread);
        self.thread_count += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.file_count + self.thread_count == 0
    }

    pub fn bytes(&self) -> usize {
        self.files.len() + self.threads.len()
    }

    fn put(&mut self, out: &mut Vec<u8>) {
        put_varint(out, self.first_file as u64);
        put_varint(out, self.file_count as u64);
        out.append(&mut self.files);
        put_varint(out, self.first_thread as u64);
        put_varint(out, self.thread_count as u64);
        out.append(&mut self.threads);
        self.first_file += std::mem::take(&mut self.file_count);
        self.first_thread += std::mem::take(&mut self.thread_count);
    }
}

/// Which fields are anywhere in a block. One pass over the records tells it, so that columns that would be left out
/// cost none of their own: a block is larger than the processor's cache.
#[derive(Default)]
struct Occurring {
    flags: bool,
    files: bool,
    threads: bool,
    latencies: bool,
    others: bool,
    results: bool,
    contents: bool,
    dependencies: bool,
}

impl Occurring {
    fn of(records: &[TraceRecord]) -> Occurring {
        let mut all = Occurring::default();
        for record in records {
            all.flags |= record.flags.0 != 0;
            all.files |= record.file != 0;
            all.threads |= record.thread != 0;
            all.latencies |= record.latency_ns.is_some();
            all.others |= record.other.is_some();
            all.results |= record.result.is_some();
            all.contents |= record.content.is_some();
            all.dependencies |= record.after.is_some();
        }
        all
    }
}

/// Makes the bodies of blocks.
#[derive(Default)]
pub struct BlockEncoder {
    encoder: ColumnEncoder,
    values: Vec<u64>,
    signed: Vec<i64>,
    digests: Vec<[u8; 16]>,
    columns: Vec<u8>,
    ends: Ends,
}

impl BlockEncoder {
    /// `records` are in order; all files that they name are defined.
    pub fn put(
        &mut self,
        out: &mut Vec<u8>,
        first_record: u64,
        records: &[TraceRecord],
        definitions: &mut Definitions,
    ) {
        put_varint(out, first_record);
        put_varint(out, records.len() as u64);
        let first_ns = records.first().map_or(0, |record| record.at_ns);
        put_varint(out, first_ns);
        definitions.put(out);
        self.columns.clear();
        let occurring = Occurring::of(records);
        let mut before = first_ns;
        self.each(column::AT, records, |record| {
            let step = record.at_ns - before;
            before = record.at_ns;
            step
        });
        self.each(column::VERB, records, |record| record.verb.index() as u64);
        if occurring.flags {
            self.each(column::FLAGS, records, |record| u64::from(record.flags.0));
        }
        if occurring.files {
            self.each(column::FILE, records, |record| u64::from(record.file));
        }
        if occurring.threads {
            self.each(column::THREAD, records, |record| u64::from(record.thread));
        }
        self.each(column::BYTES, records, |record| record.bytes);
        self.offsets(records, definitions.first_file);
        if occurring.latencies {
            self.some([column::HAS_LATENCY, column::LATENCY], records, |record| record.latency_ns);
        }
        if occurring.others {
            self.some([column::HAS_OTHER, column::OTHER], records, |record| record.other.map(u64::from));
        }
        if occurring.results {
            self.results(records);
        }
        if occurring.contents {
            self.contents(records);
        }
        if occurring.dependencies {
            self.each(column::HAS_DEPENDENCY, records, |record| u64::from(record.after.is_some()));
            self.filtered(column::BACK, records, |record| record.after.map(|after| after.back));
            self.filtered(column::THINK, records, |record| record.after.map(|after| after.think_ns));
        }
        out.extend_from_slice(&self.columns);
    }

    fn each(&mut self, id: u8, records: &[TraceRecord], value: impl FnMut(&TraceRecord) -> u64) {
        self.values.clear();
        self.values.extend(records.iter().map(value));
        self.encoder.unsigned(&mut self.columns, id, &self.values);
    }

    fn filtered(&mut self, id: u8, records: &[TraceRecord], value: impl FnMut(&TraceRecord) -> Option<u64>) {
        self.values.clear();
        self.values.extend(records.iter().filter_map(value));
        self.encoder.unsigned(&mut self.columns, id, &self.values);
    }

    /// Which records have a value; then the values of those.
    fn some(
        &mut self,
        [has, id]: [u8; 2],
        records: &[TraceRecord],
        value: impl Fn(&TraceRecord) -> Option<u64>,
    ) {
        self.each(has, records, |record| u64::from(value(record).is_some()));
        self.filtered(id, records, value);
    }

    fn offsets(&mut self, records: &[TraceRecord], files: usize) {
        self.ends.begin(files);
        self.signed.clear();
        for record in records {
            self.ends.replace(record.file, |expected| {
                self.signed.push(record.offset.wrapping_sub(expected) as i64);
                record.offset.wrapping_add(record.bytes)
            });
        }
        self.encoder.signed(&mut self.columns, column::OFFSET, &self.signed);
    }

    fn results(&mut self, records: &[TraceRecord]) {
        self.each(column::RESULT_KIND, records, |record| match record.result {
            None => result::UNKNOWN,
            Some(value) if u64::try_from(value) == Ok(record.bytes) => result::ALL,
            Some(0) => result::ZERO,
            Some(_) => result::VALUE,
        });
        self.signed.clear();
        let others = self.values.iter().zip(records).filter(|(kind, _)| **kind == result::VALUE);
        self.signed.extend(others.map(|(_, record)| record.result.unwrap_or_default()));
        self.encoder.signed(&mut self.columns, column::RESULT, &self.signed);
    }

    fn contents(&mut self, records: &[TraceRecord]) {
        self.each(column::CONTENT_KIND, records, |record| match record.content {
            None => 0,
            Some(RecordedContent::Digest(_)) => content::DIGEST,
            Some(RecordedContent::Compressible(_)) => content::COMPRESSIBLE,
        });
        self.filtered(column::COMPRESSIBLE, records, |record| match record.content {
            Some(RecordedContent::Compressible(percent)) => Some(u64::from(percent)),
            _ => None,
        });
        self.digests.clear();
        self.digests.extend(records.iter().filter_map(|record| match record.content {
            Some(RecordedContent::Digest(digest)) => Some(digest),
            _ => None,
        }));
        self.encoder.digests(&mut self.columns, column::DIGEST, &self.digests);
    }
}

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

    /// The records, appended.
    pub fn records(
        &mut self,
        mut body: Cursor<'_>,
        head: &BlockHead,
        tables: &Tables,
        verbs: &[NamedVerb],
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), TraceError> {
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
        let first = records.len();
        let zero = TraceRecord::new(head.first_ns, iodyno_model::Verb::Read, 0, 0, 0);
        records.resize(first + head.records, zero);
        let decoded = BlockColumns { columns, values: &mut self.values }.fill(
            &mut records[first..],
            head,
            tables,
            verbs,
            &mut self.ends,
        );
        if decoded.is_err() {
            records.truncate(first);
        }
        decoded
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

struct BlockColumns<'a, 'v> {
    columns: [Option<StoredColumn<'a>>; column::COUNT],
    values: &'v mut Vec<u64>,
}

impl BlockColumns<'_, '_> {
    fn fill(
        mut self,
        records: &mut [TraceRecord],
        &BlockHead { first_record, first_ns, .. }: &BlockHead,
        tables: &Tables,
        verbs: &[NamedVerb],
        ends: &mut Ends,
    ) -> Result<(), TraceError> {
        let excess = || TraceError::new("a time beyond 64 bits");
        let mut at = first_ns;
        self.each(column::AT, records, |record, step| {
            at = at.checked_add(step).ok_or_else(excess)?;
            record.at_ns = at;
            Ok(())
        })?;
        self.each(column::VERB, records, |record, number| {
            record.verb = verb_of(verbs, number)?;
            Ok(())
        })?;
        // The verb of number 0 is not always the one that records begin as.
        if self.columns[column::VERB as usize].is_none() && !records.is_empty() {
            let verb = verb_of(verbs, 0)?;
            records.iter_mut().for_each(|record| record.verb = verb);
        }
        self.each(column::FLAGS, records, |record, bits| {
            record.flags = RecordFlags(narrow(bits)?);
            Ok(())
        })?;
        let files = tables.files.len();
        self.each(column::FILE, records, |record, file| {
            record.file = defined(file, files, "file")?;
            Ok(())
        })?;
        if !records.is_empty() {
            defined(0, files, "file")?;
        }
        let threads = tables.threads.len().max(1);
        self.each(column::THREAD, records, |record, thread| {
            record.thread = defined(thread, threads, "thread")?;
            Ok(())
        })?;
        self.each(column::BYTES, records, |record, bytes| {
            record.bytes = bytes;
            Ok(())
        })?;
        self.offsets(records, files, ends)?;
        self.some([column::HAS_LATENCY, column::LATENCY], records, |record, latency| {
            record.latency_ns = Some(latency);
            Ok(())
        })?;
        self.some([column::HAS_OTHER, column::OTHER], records, |record, other| {
            record.other = Some(defined(other, files, "file")?);
            Ok(())
        })?;
        self.results(records)?;
        self.contents(records)?;
        self.dependencies(records, first_record)
    }

    /// Whether there are values; else all are 0.
    fn load(&mut self, id: u8, count: usize) -> Result<bool, TraceError> {
        let Some(column) = self.columns[id as usize] else { return Ok(false) };
        column.unsigned(count, self.values).map_err(|error| error.at(format!("column {id}")))?;
        Ok(true)
    }

    fn each(
        &mut self,
        id: u8,
        records: &mut [TraceRecord],
        mut set: impl FnMut(&mut TraceRecord, u64) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if !self.load(id, records.len())? {
            return Ok(());
        }
        records.iter_mut().zip(&*self.values).try_for_each(|(record, value)| set(record, *value))
    }

    /// The records that have a kind, in order.
    fn of_kind<'r>(
        &mut self,
        id: u8,
        records: &'r mut [TraceRecord],
        kind: u64,
    ) -> Result<Vec<&'r mut TraceRecord>, TraceError> {
        if !self.load(id, records.len())? {
            return Ok(Vec::new());
        }
        let chosen = records.iter_mut().zip(&*self.values).filter(|(_, found)| **found == kind);
        Ok(chosen.map(|(record, _)| record).collect())
    }

    /// Values, or zeros, for those that were chosen.
    fn set(
        &mut self,
        id: u8,
        chosen: Vec<&mut TraceRecord>,
        mut set: impl FnMut(&mut TraceRecord, u64) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if !self.load(id, chosen.len())? {
            self.values.clear();
            self.values.resize(chosen.len(), 0);
        }
        chosen.into_iter().zip(&*self.values).try_for_each(|(record, value)| set(record, *value))
    }

    fn some(
        &mut self,
        [has, id]: [u8; 2],
        records: &mut [TraceRecord],
        mut set: impl FnMut(&mut TraceRecord, u64) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if self.columns[has as usize].is_some_and(|column| column.is_all_ones())
            && self.columns[id as usize].is_some()
        {
            // Sources tell most fields of all records or of none.
            self.load(id, records.len())?;
            return records.iter_mut().zip(&*self.values).try_for_each(|(record, value)| set(record, *value));
        }
        let chosen = self.of_kind(has, records, 1)?;
        self.set(id, chosen, set)
    }

    fn offsets(
        &mut self,
        records: &mut [TraceRecord],
        files: usize,
        ends: &mut Ends,
    ) -> Result<(), TraceError> {
        match self.columns[column::OFFSET as usize] {
            Some(column) => column.signed(records.len(), self.values)?,
            None => {
                self.values.clear();
                self.values.resize(records.len(), 0);
            }
        }
        ends.begin(files);
        for (record, step) in records.iter_mut().zip(&*self.values) {
            ends.replace(record.file, |expected| {
                record.offset = expected.wrapping_add(*step);
                record.offset.wrapping_add(record.bytes)
            });
        }
        Ok(())
    }

    fn results(&mut self, records: &mut [TraceRecord]) -> Result<(), TraceError> {
        self.each(column::RESULT_KIND, records, |record, kind| {
            record.result = match kind {
                result::UNKNOWN => None,
                result::ALL => Some(
                    i64::try_from(record.bytes).map_err(|_| TraceError::new("a result beyond 63 bits"))?,
                ),
                result::ZERO | result::VALUE => Some(0),
                other => return Err(TraceError::new(format!("result of the unknown kind {other}"))),
            };
            Ok(())
        })?;
        let chosen = self.of_kind(column::RESULT_KIND, records, result::VALUE)?;
        match self.columns[column::RESULT as usize] {
            Some(column) => column.signed(chosen.len(), self.values)?,
            None => return Ok(()),
        }
        chosen.into_iter().zip(&*self.values).for_each(|(record, value)| record.result = Some(*value as i64));
        Ok(())
    }

    fn contents(&mut self, records: &mut [TraceRecord]) -> Result<(), TraceError> {
        let chosen = self.of_kind(column::CONTENT_KIND, records, content::COMPRESSIBLE)?;
        self.set(column::COMPRESSIBLE, chosen, |record, percent| {
            let percent = u8::try_from(percent).ok().filter(|percent| *percent <= 100);
            let percent = percent.ok_or_else(|| TraceError::new("more than 100 % compressible"))?;
            record.content = Some(RecordedContent::Compressible(percent));
            Ok(())
        })?;
        let chosen = self.of_kind(column::CONTENT_KIND, records, content::DIGEST)?;
        let Some(column) = self.columns[column::DIGEST as usize] else {
            return match chosen.is_empty() {
                true => Ok(()),
                false => Err(TraceError::new("digests are missing")),
            };
        };
        let digests = column.digests(chosen.len())?;
        for (record, digest) in chosen.into_iter().zip(digests) {
            record.content = Some(RecordedContent::Digest(digest));
        }
        Ok(())
    }

    fn dependencies(&mut self, records: &mut [TraceRecord], first_record: u64) -> Result<(), TraceError> {
        if self.columns[column::HAS_DEPENDENCY as usize].is_none() {
            // Values without records that have one are longer than they should be.
            self.set(column::BACK, Vec::new(), |_, _| Ok(()))?;
            return self.set(column::THINK, Vec::new(), |_, _| Ok(()));
        }
        let chosen = self.of_kind(column::HAS_DEPENDENCY, records, 1)?;
        self.set(column::BACK, chosen, |record, back| {
            record.after = Some(Dependency { back, think_ns: 0 });
            Ok(())
        })?;
        let chosen = self.of_kind(column::HAS_DEPENDENCY, records, 1)?;
        self.set(column::THINK, chosen, |record, think_ns| {
            record.after = record.after.map(|after| Dependency { think_ns, ..after });
            Ok(())
        })?;
        (first_record..).zip(records).try_for_each(|(index, record)| check_dependency(index, record))
    }
}

/// That a dependency names a record before this one, which is record `index`.
pub fn check_dependency(index: u64, record: &TraceRecord) -> Result<(), TraceError> {
    match record.after {
        Some(after) if after.back == 0 || after.back > index => Err(TraceError::new(format!(
            "record {index} depends on the one {} before it, which does not exist",
            after.back
        ))),
        _ => Ok(()),
    }
}

fn narrow(value: u64) -> Result<u32, TraceError> {
    u32::try_from(value).map_err(|_| TraceError::new(format!("{value} where 32 bits are expected")))
}

fn defined(index: u64, known: usize, what: &str) -> Result<u32, TraceError> {
    match index < known as u64 {
        true => Ok(index as u32),
        false => Err(TraceError::new(format!("a record names {what} {index}, and {known} are defined"))),
    }
}
