//! Records as columns: for those that need few fields of many records, and of most fields one value.

use iodyno_model::Verb;

use crate::{Dependency, RecordFlags, RecordedContent, TraceError, TraceRecord};

/// One field of the records of a block.
#[derive(Clone, Debug)]
pub struct FieldColumn<T> {
    /// The value of all, where there is none for each.
    one: T,
    each: Vec<T>,
}

/// What a column holds of a range of records.
#[derive(Clone, Copy, Debug)]
pub enum ColumnValues<'a, T> {
    /// All have this one.
    One(T),
    Each(&'a [T]),
}

impl<T: Copy> FieldColumn<T> {
    pub fn of(one: T) -> FieldColumn<T> {
        FieldColumn { one, each: Vec::new() }
    }

    /// All records have the same value.
    pub fn set_one(&mut self, one: T) {
        self.one = one;
        self.each.clear();
    }

    /// A place for a value for each of so many records, with an old value or this one in it.
    pub fn places(&mut self, records: usize, value: T) -> &mut [T] {
        self.each.resize(records, value);
        &mut self.each
    }

    /// A list to be filled with a value for each record.
    pub fn list(&mut self) -> &mut Vec<T> {
        self.each.clear();
        &mut self.each
    }

    #[inline]
    pub fn get(&self, record: usize) -> T {
        if self.each.is_empty() { self.one } else { self.each[record] }
    }

    /// The values of the records from one to before another.
    pub fn part(&self, from: usize, to: usize) -> ColumnValues<'_, T> {
        if self.each.is_empty() {
            ColumnValues::One(self.one)
        } else {
            ColumnValues::Each(&self.each[from..to])
        }
    }

    /// The values of all records.
    pub fn all(&self) -> ColumnValues<'_, T> {
        self.part(0, self.each.len())
    }
}

impl<T: Copy> ColumnValues<'_, T> {
    /// How many of the records, from the first on, have a value that is `wanted`; there are `records` of them.
    #[inline(always)]
    pub fn count_first(&self, records: usize, wanted: impl Fn(T) -> bool) -> usize {
        match self {
            ColumnValues::One(value) => records * usize::from(wanted(*value)),
            ColumnValues::Each(values) => {
                values.iter().position(|value| !wanted(*value)).unwrap_or(values.len())
            }
        }
    }
}

/// The fields that a reader is asked for beside verb, flags, file, bytes and offset, a bit each. Others have no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u8);

impl Fields {
    pub const NONE: Fields = Fields(0);
    pub const TIMES: Fields = Fields(1);
    pub const THREADS: Fields = Fields(1 << 1);
    pub const LATENCIES: Fields = Fields(1 << 2);
    pub const RESULTS: Fields = Fields(1 << 3);
    /// Second files, contents and dependencies.
    pub const REST: Fields = Fields(1 << 4);
    pub const ALL: Fields = Fields(0x1f);

    pub const fn has(self, field: Fields) -> bool {
        self.0 & field.0 != 0
    }

    #[must_use]
    pub const fn with(self, field: Fields) -> Fields {
        Fields(self.0 | field.0)
    }
}

/// The records of a block, a column for each field. See [`TraceRecord`].
#[derive(Clone, Debug)]
pub struct RecordColumns {
    pub records: usize,
    pub at_ns: FieldColumn<u64>,
    pub latency_ns: FieldColumn<Option<u64>>,
    pub verb: FieldColumn<Verb>,
    pub flags: FieldColumn<RecordFlags>,
    pub file: FieldColumn<u32>,
    pub other: FieldColumn<Option<u32>>,
    pub thread: FieldColumn<u32>,
    pub offset: FieldColumn<u64>,
    pub bytes: FieldColumn<u64>,
    pub result: FieldColumn<Option<i64>>,
    pub content: FieldColumn<Option<RecordedContent>>,
    pub after: FieldColumn<Option<Dependency>>,
}

impl Default for RecordColumns {
    fn default() -> Self {
        RecordColumns {
            records: 0,
            at_ns: FieldColumn::of(0),
            latency_ns: FieldColumn::of(None),
            verb: FieldColumn::of(Verb::Read),
            flags: FieldColumn::of(RecordFlags(0)),
            file: FieldColumn::of(0),
            other: FieldColumn::of(None),
            thread: FieldColumn::of(0),
            offset: FieldColumn::of(0),
            bytes: FieldColumn::of(0),
            result: FieldColumn::of(None),
            content: FieldColumn::of(None),
            after: FieldColumn::of(None),
        }
    }
}

impl RecordColumns {
    /// One record, with what was asked for.
    #[inline]
    pub fn record(&self, index: usize) -> TraceRecord {
        TraceRecord {
            at_ns: self.at_ns.get(index),
            latency_ns: self.latency_ns.get(index),
            verb: self.verb.get(index),
            flags: self.flags.get(index),
            file: self.file.get(index),
            other: self.other.get(index),
            thread: self.thread.get(index),
            offset: self.offset.get(index),
            bytes: self.bytes.get(index),
            result: self.result.get(index),
            content: self.content.get(index),
            after: self.after.get(index),
        }
    }
}

/// A source that can tell its records as columns, of which a block's worth comes at a time.
pub trait ColumnSource {
    /// Puts the next records into `columns`, and of the fields that it may leave out those that are wanted; no records: the
    /// end.
    ///
    /// # Errors
    /// What makes the rest unreadable.
    fn next_columns(&mut self, wanted: Fields, columns: &mut RecordColumns) -> Result<(), TraceError>;
}
