//! The series of a worker: what it counted in each interval, and how its latencies were distributed there.
//!
//! A row is the difference of the worker's own counters from one end of an interval to the next, so nothing is added for
//! an operation. The distributions lie behind each other in a store of their own, since most hold a few buckets only;
//! when rows or store are full, neighbours are joined.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iodyno_model::histogram::COARSE;
use iodyno_model::{Kind, SeriesRow};

use super::WorkerCounters;
use crate::clock::Tick;

/// Rows of the series there is room for: an hour of half seconds. Rows that are never reached take no memory.
pub const ROWS: usize = 7200;
/// When so many rows are full, neighbours are joined, unless the job asks for rows of its own length.
const ROWS_UNASKED: usize = 1024;
/// Length of a row at first, unless the job asks for another, ns.
const ROW_NS: u64 = 1_000_000_000;
/// Room for the distributions of a phase's workers, in cells: what they can take of memory when all is full.
const CELLS: usize = 32 << 20;
/// Room of one worker, at most and at least.
const CELLS_MOST: usize = 256 << 10;
const CELLS_LEAST: usize = 4 * COARSE;
/// Cells of a row: eight counters and the largest latency, then where its distribution ends.
const END: usize = 9;
/// There was no room for the distribution of this row, or of an earlier one.
const NO_ROOM: u64 = u64::MAX;

/// Room for the distributions of one of so many workers, in cells.
pub fn cells(workers: usize) -> usize {
    (CELLS / workers.max(1)).clamp(CELLS_LEAST, CELLS_MOST)
}

/// One row, and where its distribution ends in the store.
#[repr(C)]
pub struct SeriesCounters([AtomicU64; 10]);

impl SeriesCounters {
    /// The counters.
    pub fn read(&self) -> SeriesRow {
        let cell = |index: usize| self.0[index].load(Relaxed);
        SeriesRow {
            reads: cell(0),
            read_bytes: cell(1),
            writes: cell(2),
            write_bytes: cell(3),
            others: cell(4),
            latency_sum_ns: cell(5),
            latency_max_ns: cell(6),
            trims: cell(7),
            trim_bytes: cell(8),
        }
    }

    fn end(&self) -> u64 {
        self.0[END].load(Relaxed)
    }

    fn write(&self, row: &SeriesRow) {
        let values = [
            row.reads,
            row.read_bytes,
            row.writes,
            row.write_bytes,
            row.others,
            row.latency_sum_ns,
            row.latency_max_ns,
            row.trims,
            row.trim_bytes,
        ];
        self.0.iter().zip(values).for_each(|(cell, value)| cell.store(value, Relaxed));
    }
}

/// Writes the series of a worker: differences of its own counters from row to row.
pub struct SeriesWriter {
    /// When the present row ends.
    pub next: Tick,
    start: Tick,
    row_ns: u64,
    wanted_ns: u64,
    before: SeriesRow,
    latency_max_ns: u64,
    /// What the latencies were at the end of the last row, and are now, in coarse buckets.
    latencies: Box<[[u64; COARSE]; 2]>,
    /// Where the next distribution begins in the store.
    free: u64,
}

impl SeriesWriter {
    /// A series that begins now, in rows of that length; 0: one second.
    pub fn new(start: Tick, wanted_ns: u64) -> Self {
        let row_ns = if wanted_ns == 0 { ROW_NS } else { wanted_ns };
        let before = SeriesRow::default();
        let (next, latencies) = (start + row_ns, Box::new([[0; COARSE]; 2]));
        SeriesWriter { next, start, row_ns, wanted_ns, before, latency_max_ns: 0, latencies, free: 0 }
    }

    /// Rows before neighbours are joined.
    fn rows(&self) -> usize {
        if self.wanted_ns == 0 { ROWS_UNASKED } else { ROWS }
    }

    /// Remembers the largest latency of the present row.
    #[inline(always)]
    pub fn observe(&mut self, latency_ns: u64) {
        if latency_ns > self.latency_max_ns {
            self.latency_max_ns = latency_ns;
        }
    }

    /// Closes the rows that have ended by `now`.
    #[cold]
    pub fn turn(&mut self, counters: &WorkerCounters<'_>, kinds: &[Kind], now: Tick) {
        while self.next <= now {
            let index = ((self.next - self.start) / self.row_ns - 1) as usize;
            // Rows are joined in pairs; an odd one has room as long as the even one before it had it for two.
            let full =
                self.wanted_ns == 0 && index >= 2 && index.is_multiple_of(2) && self.is_full(counters, 2);
            if index >= self.rows() || full {
                self.coarsen(counters, index);
                continue;
            }
            let total = self.totals(counters, kinds);
            let mut row = difference(&total, &self.before);
            row.latency_max_ns = self.latency_max_ns;
            self.before = total;
            self.latency_max_ns = 0;
            counters.head.series[index].write(&row);
            self.distribute(counters, index);
            counters.head.row_ns.store(self.row_ns, Relaxed);
            counters.head.rows.store(index as u32 + 1, Relaxed);
            self.next += self.row_ns;
        }
    }

    /// Closes the last, unfinished row.
    pub fn finish(&mut self, counters: &WorkerCounters<'_>, kinds: &[Kind], now: Tick) {
        if now >= self.next {
            self.turn(counters, kinds, now);
        }
        // Where the end falls on the end of a row, nothing is unfinished.
        let next = self.next;
        if now > next - self.row_ns {
            self.turn(counters, kinds, next);
        }
    }

    /// Whether so many more distributions might not find room.
    fn is_full(&self, counters: &WorkerCounters<'_>, rows: usize) -> bool {
        self.free != NO_ROOM && self.free as usize + rows * COARSE > counters.cells.len()
    }

    /// Writes down how the latencies of the row that ends were distributed.
    fn distribute(&mut self, counters: &WorkerCounters<'_>, index: usize) {
        if self.is_full(counters, 1) {
            self.free = NO_ROOM;
        }
        if self.free != NO_ROOM {
            let [before, now] = &mut *self.latencies;
            *now = [0; COARSE];
            counters.lines.iter().for_each(|line| line.latency.add_to(now));
            for (bucket, (now, before)) in now.iter().zip(before.iter()).enumerate() {
                let count = now.saturating_sub(*before);
                if count > 0 {
                    counters.cells[self.free as usize].store(packed(bucket, count), Relaxed);
                    self.free += 1;
                }
            }
            *before = *now;
        }
        counters.head.series[index].0[END].store(self.free, Relaxed);
    }

    /// Joins neighbouring rows, of an even number: half the resolution, the same counts.
    fn coarsen(&mut self, counters: &WorkerCounters<'_>, rows: usize) {
        let (series, mut from, mut free) = (&counters.head.series, 0, 0);
        for to in 0..rows / 2 {
            let mut joined = series[2 * to].read();
            joined.merge(&series[2 * to + 1].read());
            let end = series[2 * to + 1].end();
            series[to].write(&joined);
            if self.free != NO_ROOM {
                free = self.compact(counters.cells, from..end as usize, free);
                from = end as usize;
            }
            series[to].0[END].store(if self.free == NO_ROOM { NO_ROOM } else { free as u64 }, Relaxed);
        }
        if self.free != NO_ROOM {
            self.free = free as u64;
        }
        self.row_ns *= 2;
        self.next = self.start + (rows as u64 / 2 + 1) * self.row_ns;
    }

    /// Makes one distribution of several, at a place before them; where it ends.
    fn compact(&mut self, cells: &[AtomicU64], from: Range<usize>, to: usize) -> usize {
        let sum = &mut self.latencies[1];
        *sum = [0; COARSE];
        for (bucket, count) in cells[from].iter().map(|cell| unpacked(cell.load(Relaxed))) {
            sum[usize::from(bucket) % COARSE] += u64::from(count);
        }
        let held = sum.iter().enumerate().filter(|(_, count)| **count > 0);
        held.fold(to, |at, (bucket, count)| {
            cells[at].store(packed(bucket, *count), Relaxed);
            at + 1
        })
    }

    fn totals(&self, counters: &WorkerCounters<'_>, kinds: &[Kind]) -> SeriesRow {
        let mut total = SeriesRow::default();
        for (line, kind) in counters.lines.iter().zip(kinds) {
            let (operations, bytes) = (line.operations.load(Relaxed), line.bytes.load(Relaxed));
            match kind {
                Kind::Read => {
                    (total.reads, total.read_bytes) = (total.reads + operations, total.read_bytes + bytes)
                }
                Kind::Write => {
                    (total.writes, total.write_bytes) =
                        (total.writes + operations, total.write_bytes + bytes);
                }
                Kind::Trim => {
                    (total.trims, total.trim_bytes) = (total.trims + operations, total.trim_bytes + bytes)
                }
                _ => total.others += operations,
            }
            total.latency_sum_ns = total.latency_sum_ns.wrapping_add(line.latency.sum.load(Relaxed));
        }
        total
    }

    /// Begins, or begins anew after the ramp.
    pub fn restart(&mut self, start: Tick) {
        self.row_ns = if self.wanted_ns == 0 { ROW_NS } else { self.wanted_ns };
        (self.start, self.next) = (start, start + self.row_ns);
        (self.before, self.latency_max_ns, self.free) = (SeriesRow::default(), 0, 0);
        self.latencies[0] = [0; COARSE];
    }
}

fn difference(total: &SeriesRow, before: &SeriesRow) -> SeriesRow {
    SeriesRow {
        reads: total.reads - before.reads,
        read_bytes: total.read_bytes - before.read_bytes,
        writes: total.writes - before.writes,
        write_bytes: total.write_bytes - before.write_bytes,
        trims: total.trims - before.trims,
        trim_bytes: total.trim_bytes - before.trim_bytes,
        others: total.others - before.others,
        latency_sum_ns: total.latency_sum_ns.wrapping_sub(before.latency_sum_ns),
        latency_max_ns: 0,
    }
}

/// A coarse bucket and its count in one cell.
fn packed(bucket: usize, count: u64) -> u64 {
    (bucket as u64) << 32 | count.min(u64::from(u32::MAX))
}

fn unpacked(cell: u64) -> (u16, u32) {
    ((cell >> 32) as u16, cell as u32)
}

/// The distributions of rows; none where latencies were not measured, or there was no room for all of them.
pub fn latencies(rows: &[SeriesCounters], cells: &[AtomicU64]) -> Vec<Vec<(u16, u32)>> {
    let (mut from, mut all) = (0, Vec::with_capacity(rows.len()));
    for row in rows {
        let end = row.end();
        if end == NO_ROOM {
            return Vec::new();
        }
        // Who looks while neighbours are being joined may see both states.
        let end = (end as usize).min(cells.len()).max(from);
        all.push(cells[from..end].iter().map(|cell| unpacked(cell.load(Relaxed))).collect());
        from = end;
    }
    if from == 0 { Vec::new() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_counters::CounterMapping;
    use iodyno_model::histogram::{bucket_of, coarse_of};

    fn counts(latencies: &[Vec<(u16, u32)>]) -> u64 {
        latencies.iter().flatten().map(|(_, count)| u64::from(*count)).sum()
    }

    #[test]
    fn a_long_series_loses_resolution_not_counts() {
        let counters = CounterMapping::new(1, 1, false).unwrap();
        let counters = counters.of(0);
        let mut writer = SeriesWriter::new(0, 0);
        for second in 1..=3000u64 {
            counters.success(0, 1, 5 + second);
            counters.success(0, 1, 5_000_000);
            writer.turn(&counters, &[Kind::Read], second * ROW_NS);
        }
        let series = counters.series();
        assert_eq!(series.interval_ns, 4 * ROW_NS);
        assert_eq!(series.rows.iter().map(|row| row.reads).sum::<u64>(), 6000);
        assert_eq!((series.latencies.len(), counts(&series.latencies)), (series.rows.len(), 6000));
        let slow = coarse_of(bucket_of(5_000_000)) as u16;
        for (row, latencies) in series.rows.iter().zip(&series.latencies) {
            assert_eq!(latencies.iter().map(|(_, count)| u64::from(*count)).sum::<u64>(), row.reads);
            assert!(latencies.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert_eq!(latencies.last(), Some(&(slow, (row.reads / 2) as u32)));
        }
    }

    #[test]
    fn a_crowd_has_little_room_each_and_loses_no_count() {
        let counters = CounterMapping::new(100_000, 1, false).unwrap();
        let counters = counters.of(99_999);
        let mut writer = SeriesWriter::new(0, 0);
        for second in 1..=500u64 {
            (0..48).for_each(|magnitude| counters.success(0, 1, 1 << magnitude));
            writer.turn(&counters, &[Kind::Read], second * ROW_NS);
        }
        writer.finish(&counters, &[Kind::Read], 500 * ROW_NS + 1);
        let series = counters.series();
        assert!(series.interval_ns > ROW_NS && series.rows.len() < 500);
        assert_eq!((series.latencies.len(), counts(&series.latencies)), (series.rows.len(), 24_000));
    }

    #[test]
    fn after_a_ramp_it_begins_anew() {
        let counters = CounterMapping::new(1, 1, false).unwrap();
        let counters = counters.of(0);
        let mut writer = SeriesWriter::new(0, 0);
        counters.success(0, 1, 77);
        writer.turn(&counters, &[Kind::Read], ROW_NS);
        counters.reset();
        writer.restart(2 * ROW_NS);
        counters.success(0, 1, 300);
        writer.turn(&counters, &[Kind::Read], 3 * ROW_NS);
        let expected = vec![vec![(coarse_of(bucket_of(300)) as u16, 1)]];
        assert_eq!(counters.series().latencies, expected);
    }

    #[test]
    fn what_was_not_timed_has_no_distribution() {
        let counters = CounterMapping::new(1, 1, false).unwrap();
        let counters = counters.of(0);
        let mut writer = SeriesWriter::new(0, 0);
        counters.success_untimed(0, 1);
        writer.turn(&counters, &[Kind::Read], ROW_NS);
        assert_eq!((counters.series().rows.len(), counters.series().latencies.len()), (1, 0));
    }

    #[test]
    fn rows_of_a_length_that_was_asked_for_keep_it() {
        let counters = CounterMapping::new(100_000, 1, false).unwrap();
        let counters = counters.of(0);
        let mut writer = SeriesWriter::new(0, 1000);
        for row in 1..=100u64 {
            (0..48).for_each(|magnitude| counters.success(0, 1, 1 << magnitude));
            writer.turn(&counters, &[Kind::Read], row * 1000);
        }
        let series = counters.series();
        assert_eq!((series.interval_ns, series.rows.len(), series.latencies.len()), (1000, 100, 0));
    }
}
