//! A series over time of bounded length: where a trace outlasts it, rows become twice as long.

use crate::statistics::distinct::DistinctBlocks;

/// Rows of a series, at most.
pub const ROWS_MOST: usize = 1000;
/// The length of a row to begin with, ns.
const FIRST_WIDTH_NS: u64 = 1000;

/// What happened during one row.
#[derive(Clone, Debug, Default)]
pub struct TimeRow {
    pub reads: u64,
    pub writes: u64,
    /// Operations that are neither.
    pub others: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub errors: u64,
    /// Sum and number of the latencies of the operations issued in it, ns.
    pub latency_ns: u128,
    pub timed: u64,
    /// Operations in flight, summed over each ns of it.
    pub depth_ns: u128,
    /// Which blocks were read or written.
    pub blocks: DistinctBlocks,
}

impl TimeRow {
    pub fn operations(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub fn merge(&mut self, other: &TimeRow) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.errors += other.errors;
        self.latency_ns += other.latency_ns;
        self.timed += other.timed;
        self.depth_ns += other.depth_ns;
        self.blocks.merge(&other.blocks);
    }
}

/// Rows of equal length, from the trace's first record on.
#[derive(Clone, Debug)]
pub struct TimeRows {
    /// The length of each row, ns.
    pub width_ns: u64,
    pub rows: Vec<TimeRow>,
}

impl Default for TimeRows {
    fn default() -> TimeRows {
        TimeRows { width_ns: FIRST_WIDTH_NS, rows: Vec::new() }
    }
}

impl TimeRows {
    /// The row of a moment.
    pub fn at(&mut self, ns: u64) -> &mut TimeRow {
        while ns / self.width_ns >= ROWS_MOST as u64 {
            self.double();
        }
        let index = (ns / self.width_ns) as usize;
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, TimeRow::default);
        }
        &mut self.rows[index]
    }

    fn double(&mut self) {
        let halves = std::mem::take(&mut self.rows);
        let mut halves = halves.into_iter();
        while let Some(mut row) = halves.next() {
            if let Some(second) = halves.next() {
                row.merge(&second);
            }
            self.rows.push(row);
        }
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    /// Adds to the rows of a stretch of time what was in flight during it.
    pub fn in_flight(&mut self, from_ns: u64, to_ns: u64, depth: u64) {
        if depth == 0 || to_ns <= from_ns {
            return;
        }
        // The last moment decides how long a row is.
        self.at(to_ns - 1);
        let width = self.width_ns;
        let mut from = from_ns;
        while from < to_ns {
            let end = (from / width + 1).saturating_mul(width).min(to_ns);
            self.at(from).depth_ns += u128::from(end - from) * u128::from(depth);
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_at_most_a_thousand_rows_and_loses_nothing() {
        let mut rows = TimeRows::default();
        for at in 0..100_000 {
            rows.at(at * 977).reads += 1;
        }
        assert!(rows.rows.len() <= ROWS_MOST && rows.rows.len() >= ROWS_MOST / 2 - 1, "{}", rows.rows.len());
        assert_eq!(rows.rows.iter().map(|row| row.reads).sum::<u64>(), 100_000);
        rows.at(u64::MAX).writes += 1;
        assert!(rows.rows.len() <= ROWS_MOST);
    }

    #[test]
    fn what_is_in_flight_is_spread_over_its_rows() {
        let mut rows = TimeRows::default();
        rows.in_flight(500, 2500, 3);
        let depth: Vec<u128> = rows.rows.iter().map(|row| row.depth_ns).collect();
        assert_eq!(depth, [1500, 3000, 1500]);
    }
}
