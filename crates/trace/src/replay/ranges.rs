//! Reads and writes that go where they were recorded, by the batch: nearly all of most traces.
//!
//! As fast as possible nothing is due and nothing waits, so that verb, file, offset and bytes say all of such a record.
//! They are taken from the columns of a block; what does not vary in it is looked at once.

use iodyno_model::{Timing, Trace, Verb};

use super::{Feed, Share, is_plain, position};
use crate::columns::{ColumnValues, Fields, RecordColumns};
use crate::{FileKind, RecordFlags, TraceError};

/// Fewer in a row are not worth a batch of their own.
const FEWEST: usize = 64;

/// A read or write of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeOperation {
    pub offset: u64,
    pub bytes: u32,
    /// The position of its target in the job's list, twice, and 1 for a write.
    target: u32,
}

impl RangeOperation {
    /// Positions of targets that it can name.
    const POSITIONS: usize = 1 << 31;

    /// Twice the position of its target, and one more for a write.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.target as usize
    }

    pub fn position(self) -> u32 {
        self.target >> 1
    }

    pub fn is_write(self) -> bool {
        self.target & 1 == 1
    }
}

/// Where the ranges of a file stay what they are.
#[derive(Clone, Copy, Debug, Default)]
struct RangeLimit {
    /// Its position, twice.
    target: u32,
    /// Ranges that end beyond it are looked at one by one; 0: all.
    end: u64,
}

/// What is known of the records of a block.
pub(super) struct RangeReader {
    columns: RecordColumns,
    /// [`FEWEST`].
    pub fewest: usize,
    /// By file.
    limits: Vec<RangeLimit>,
    /// Records before this one are ranges, from the next one on.
    until: usize,
}

impl RangeReader {
    /// For a trace whose records become operations that need no times and wait for nothing.
    pub fn of(trace: &Trace, share: Share) -> Option<Box<RangeReader>> {
        let fits = is_plain(trace, share)
            && trace.timing == Timing::AsFast
            && trace.replay.idle_most_ns == 0
            && !trace.replay.opens
            && !Feed::waits(trace, false);
        let columns = RecordColumns::default();
        fits.then(|| Box::new(RangeReader { columns, fewest: FEWEST, limits: Vec::new(), until: 0 }))
    }
}

impl Feed {
    /// The fields that are needed: times and latencies are only told of.
    fn fields(&self) -> Fields {
        match self.trace.replay.certified {
            true => Fields::RESULTS.with(Fields::TIMES).with(Fields::LATENCIES),
            false => Fields::RESULTS,
        }
    }

    /// Reads the next block. Whether there is one.
    fn next_columns(&mut self, reader: &mut RangeReader) -> Result<bool, TraceError> {
        let fields = self.fields();
        (self.at, reader.until) = (0, 0);
        loop {
            match self.source.columns() {
                Some(source) => source.next_columns(fields, &mut reader.columns)?,
                None => reader.columns.records = 0,
            }
            if reader.columns.records > 0 {
                break;
            }
            if !self.begin_pass()? {
                return Ok(false);
            }
        }
        let files = self.source.tables().files.len();
        for file in reader.limits.len()..files {
            let limit = self.limit(file);
            reader.limits.push(limit);
        }
        Ok(true)
    }

    fn limit(&self, file: usize) -> RangeLimit {
        let position = position(&self.trace, self.own_positions, file, 0);
        let place = position.filter(|position| *position < RangeOperation::POSITIONS);
        let place = place.and_then(|position| self.places.get(position));
        let kind = self.source.tables().files[file].kind;
        match (place, position) {
            (Some(place), Some(position)) if kind != FileKind::Other => {
                RangeLimit { target: (position as u32) << 1, end: place.unchanged() }
            }
            _ => RangeLimit::default(),
        }
    }

    /// Appends the next operations, as ranges or in full.
    pub(super) fn fill_ranges(
        &mut self,
        reader: &mut RangeReader,
        most: usize,
        ranges: &mut Vec<RangeOperation>,
    ) -> Result<(), TraceError> {
        while self.ready.len() < most {
            if self.at == reader.columns.records && !self.next_columns(reader)? {
                self.is_over = true;
                return Ok(());
            }
            if reader.until <= self.at {
                reader.until = self.at + reader.count_ranges(self.at);
            }
            let count = reader.until - self.at;
            if count >= reader.fewest {
                // What is before them goes first.
                if self.ready.is_empty() {
                    let to = self.at + count.min(most);
                    self.take_ranges(reader, to, ranges);
                }
                return Ok(());
            }
            let record = reader.columns.record(self.at);
            self.at += 1;
            if !self.plain(&record) {
                self.record(&record)?;
            }
        }
        Ok(())
    }

    /// The records up to one are all ranges.
    fn take_ranges(&mut self, reader: &RangeReader, to: usize, ranges: &mut Vec<RangeOperation>) {
        let (from, columns) = (self.at, &reader.columns);
        let count = to - from;
        self.at = to;
        self.numbers.met += count as u64;
        self.report.recorded += count as u64;
        self.sequence += count as u64;
        let (offset, bytes) = (columns.offset.part(from, to), columns.bytes.part(from, to));
        if self.trace.replay.certified {
            self.due_in_rows(columns, from, to);
            match bytes {
                ColumnValues::One(bytes) => self.sizes.all(bytes, count as u64),
                ColumnValues::Each(bytes) => bytes.iter().for_each(|bytes| self.sizes.both(*bytes)),
            }
            match offset {
                ColumnValues::One(offset) => self.offsets.all(offset, count as u64),
                ColumnValues::Each(offsets) => offsets.iter().for_each(|offset| self.offsets.both(*offset)),
            }
        }
        let first = RangeOperation {
            offset: columns.offset.get(from),
            bytes: columns.bytes.get(from) as u32,
            target: reader.limits[columns.file.get(from) as usize].target
                | u32::from(columns.verb.get(from) == Verb::Write),
        };
        ranges.resize(count, first);
        if let ColumnValues::Each(offsets) = offset {
            ranges.iter_mut().zip(offsets).for_each(|(range, offset)| range.offset = *offset);
        }
        if let ColumnValues::Each(bytes) = bytes {
            ranges.iter_mut().zip(bytes).for_each(|(range, bytes)| range.bytes = *bytes as u32);
        }
        if let ColumnValues::Each(verbs) = columns.verb.part(from, to) {
            let write = |verb: &Verb| u32::from(*verb == Verb::Write);
            ranges
                .iter_mut()
                .zip(verbs)
                .for_each(|(range, verb)| range.target = first.target & !1 | write(verb));
        }
        if let ColumnValues::Each(files) = columns.file.part(from, to) {
            let target = |file: u32| reader.limits[file as usize].target;
            ranges
                .iter_mut()
                .zip(files)
                .for_each(|(range, file)| range.target = target(*file) | range.target & 1);
        }
    }

    /// Counts the records from one to another in the rows that they are due in.
    fn due_in_rows(&mut self, columns: &RecordColumns, from: usize, to: usize) {
        let mut from = from;
        while from < to {
            // This begins the row.
            let due_ns = self.clock.to(columns.at_ns.get(from));
            self.due(due_ns, 0, 0);
            let (end, base_ns) = (self.row.1, self.clock.base_ns);
            let count = match columns.at_ns.part(from, to) {
                ColumnValues::One(_) => to - from,
                ColumnValues::Each(times) => times.partition_point(|at| base_ns.saturating_add(*at) < end),
            };
            // What was due before its pass is due as it begins.
            let count = count.max(1);
            let last_ns = self.clock.to(columns.at_ns.get(from + count - 1));
            self.report.length_ns = last_ns;
            let depth = self.depths(columns, from, from + count);
            let row = &mut self.report.rows[self.row.0];
            row.due += count as u64;
            row.depth_recorded += depth;
            from += count;
        }
    }

    /// The sum of how many were in flight in the trace at each record.
    fn depths(&mut self, columns: &RecordColumns, from: usize, to: usize) -> u64 {
        if let ColumnValues::One(None) = columns.latency_ns.part(from, to) {
            return 0;
        }
        let ended = |index| columns.latency_ns.get(index);
        let mut sum = 0;
        for index in from..to {
            let at_ns = columns.at_ns.get(index);
            sum += self.depth_at(at_ns, ended(index).map(|latency| at_ns.saturating_add(latency)));
        }
        sum
    }
}

impl RangeReader {
    /// How many records in a row, from one on, are reads and writes that go where they were recorded, carry no flush, and
    /// whose results are known of all or of none.
    fn count_ranges(&self, from: usize) -> usize {
        let columns = &self.columns;
        let to = columns.records;
        let moves = |verb| matches!(verb, Verb::Read | Verb::Write);
        let to = from + columns.verb.part(from, to).count_first(to - from, moves);
        let fits = |bytes: u64| bytes > 0 && bytes <= u64::from(u32::MAX);
        let to = from + columns.bytes.part(from, to).count_first(to - from, fits);
        // A read that says so is rare enough to be looked at alone.
        let flushes = |flags: RecordFlags| flags.has(RecordFlags::PREFLUSH) || flags.has(RecordFlags::FUA);
        let to = from + columns.flags.part(from, to).count_first(to - from, |flags| !flushes(flags));
        let is_known = columns.result.get(from).is_some();
        let alike = |result: Option<i64>| match result {
            None => !is_known,
            Some(result) => is_known && result >= 0,
        };
        let to = from + columns.result.part(from, to).count_first(to - from, alike);
        self.count_staying(from, to)
    }

    /// How many of these records end before the limit of their file.
    fn count_staying(&self, from: usize, to: usize) -> usize {
        let columns = &self.columns;
        let (offset, bytes) = (columns.offset.part(from, to), columns.bytes.part(from, to));
        match (columns.file.part(from, to), offset, bytes) {
            (ColumnValues::One(file), ..) if self.limits[file as usize].end == u64::MAX => to - from,
            (ColumnValues::One(file), offset, ColumnValues::One(bytes)) => {
                let end = self.limits[file as usize].end;
                offset.count_first(to - from, |offset| offset.saturating_add(bytes) <= end)
            }
            _ => {
                let stays = |index: &usize| {
                    let end = columns.offset.get(*index).saturating_add(columns.bytes.get(*index));
                    end <= self.limits[columns.file.get(*index) as usize].end
                };
                (from..to).position(|index| !stays(&index)).unwrap_or(to - from)
            }
        }
    }

    /// Whether the results of the ranges before the next record are known.
    pub fn knows_results(&self, next: usize) -> bool {
        next > 0 && self.columns.result.get(next - 1).is_some()
    }
}
