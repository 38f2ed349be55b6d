//! The records of a block as columns.

use crate::format::bytes::put_varint;
use crate::format::column::ColumnEncoder;
use crate::format::tables;
use crate::{Dependency, RecordedContent, TraceError, TraceFile, TraceRecord, TraceThread};

/// The columns by number. Those whose values are all zero are left out.
pub(super) mod column {
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
pub(super) mod result {
    pub const UNKNOWN: u64 = 0;
    /// The bytes asked for.
    pub const ALL: u64 = 1;
    pub const ZERO: u64 = 2;
    pub const VALUE: u64 = 3;
}

pub(super) mod content {
    pub const DIGEST: u64 = 1;
    pub const COMPRESSIBLE: u64 = 2;
}

/// Where the last range of each file in this block ended: what the next one's offset is told against.
#[derive(Default)]
pub(super) struct Ends {
    block: u32,
    ends: Vec<(u32, u64)>,
}

impl Ends {
    pub fn begin(&mut self, files: usize) {
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
    #[inline(always)]
    pub fn replace(&mut self, file: u32, end_of: impl FnOnce(u64) -> u64) {
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

/// That a dependency names a record before this one, which is record `index`.
pub fn check_dependency(index: u64, after: Option<Dependency>) -> Result<(), TraceError> {
    match after {
        Some(after) if after.back == 0 || after.back > index => Err(TraceError::new(format!(
            "record {index} depends on the one {} before it, which does not exist",
            after.back
        ))),
        _ => Ok(()),
    }
}
