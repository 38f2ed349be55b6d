//! Several binary blktraces as one, as fio's `merge_blktrace_file` describes it: what was queued, in the order of time, each
//! trace faster or slower and repeated as asked for.
//!
//! fio's formula is `(time + iteration × length) × percent / 100`, with times since the trace began. Times of traces that
//! were recorded together keep their distance: they all count from the earliest of them.

use std::io::Write;

use super::blktrace::{BlktraceReader, BlktraceRecord, checked_kind};
use super::block_events::{BlockStep, BlockTraits};
use super::context::ImportContext;
use super::unpack::{Input, unpack};
use crate::TraceError;

/// One of the traces.
pub struct BlktracePart {
    pub input: Input,
    /// Its times are multiplied by this: 50 is twice as fast.
    pub percent: f64,
    /// How often it is run, at least once.
    pub iterations: u32,
}

/// Writes records of version 7 without data; how many.
///
/// # Errors
/// An input that is no blktrace, or cannot be read; those of the output; a speed that is no number.
pub fn merge_blktraces(parts: &[BlktracePart], output: &mut dyn Write) -> Result<u64, TraceError> {
    let mut context = ImportContext::new(false);
    let mut cursors = Vec::new();
    for part in parts {
        if !(part.percent.is_finite() && part.percent >= 0.0) {
            return Err(TraceError::new(format!("{} % is no speed", part.percent)).at(&part.input.name));
        }
        cursors.push(MergeCursor::new(part, &mut context)?);
    }
    let origin_ns = cursors.iter().filter_map(|cursor| cursor.first_ns).min().unwrap_or(0);
    for cursor in &mut cursors {
        cursor.advance(origin_ns, &mut context)?;
    }
    let mut records = 0;
    loop {
        // The first of those with the same time, as fio does.
        let next = cursors.iter_mut().filter(|cursor| cursor.next.is_some());
        let next = next.min_by_key(|cursor| cursor.next.map_or(u64::MAX, |record| record.time_ns));
        let Some((cursor, record)) = next.and_then(|cursor| cursor.next.map(|record| (cursor, record)))
        else {
            return Ok(records);
        };
        output.write_all(&record.bytes_of_version_7())?;
        records += 1;
        cursor.advance(origin_ns, &mut context)?;
    }
}

struct MergeCursor<'a> {
    part: &'a BlktracePart,
    reader: BlktraceReader,
    /// The first record's time.
    first_ns: Option<u64>,
    last_ns: u64,
    /// What was read to learn when the trace begins.
    ahead: Option<BlktraceRecord>,
    iteration: u32,
    /// From the origin to the end of the first iteration.
    length_ns: Option<u64>,
    next: Option<BlktraceRecord>,
}

fn reader(input: &Input) -> Result<BlktraceReader, TraceError> {
    let mut streams = unpack(input)?;
    let (Some(stream), true) = (streams.pop(), streams.is_empty()) else {
        return Err(TraceError::new("an archive of several files").at(&input.name).hint("unpack it first"));
    };
    let (order, _) = checked_kind(&stream)?;
    Ok(BlktraceReader::new(stream, order))
}

impl<'a> MergeCursor<'a> {
    fn new(part: &'a BlktracePart, context: &mut ImportContext) -> Result<MergeCursor<'a>, TraceError> {
        let mut reader = reader(&part.input)?;
        let ahead = reader.next_record(context)?;
        Ok(MergeCursor {
            part,
            reader,
            first_ns: ahead.map(|record| record.time_ns),
            last_ns: 0,
            ahead,
            iteration: 0,
            length_ns: None,
            next: None,
        })
    }

    /// Goes to the next request that was queued.
    fn advance(&mut self, origin_ns: u64, context: &mut ImportContext) -> Result<(), TraceError> {
        loop {
            let read = match self.ahead.take() {
                Some(record) => Some(record),
                None => self.reader.next_record(context)?,
            };
            let Some(mut record) = read else {
                let length_ns = self.last_ns.saturating_sub(origin_ns);
                self.length_ns.get_or_insert(length_ns);
                self.iteration += 1;
                if self.iteration >= self.part.iterations.max(1) {
                    self.next = None;
                    return Ok(());
                }
                self.reader = reader(&self.part.input)?;
                continue;
            };
            self.last_ns = self.last_ns.max(record.time_ns);
            if !is_merged(&record) {
                continue;
            }
            let passed_ns = u128::from(record.time_ns.saturating_sub(origin_ns))
                + u128::from(self.iteration) * u128::from(self.length_ns.unwrap_or(0));
            let scaled_ns = match self.part.percent {
                // Exact, however long it is.
                100.0 => passed_ns,
                percent => (passed_ns as f64 * percent / 100.0) as u128,
            };
            let time_ns = scaled_ns.saturating_add(origin_ns.into());
            record.time_ns = u64::try_from(time_ns).unwrap_or(u64::MAX);
            self.next = Some(record);
            return Ok(());
        }
    }
}

/// What fio plays back: requests that were queued, with a direction.
fn is_merged(record: &BlktraceRecord) -> bool {
    let traits = BlockTraits(record.traits);
    record.step() == BlockStep::Queue
        && !traits.has(BlockTraits::NOTIFY)
        && traits.has(BlockTraits::READ | BlockTraits::WRITE | BlockTraits::DISCARD)
}
