//! A series over time of bounded length: where a trace outlasts it, rows become twice as long.

use crate::statistics::distinct::DistinctBlocks;
use crate::statistics::tables::OperationCounts;

/// Rows of a series, at most.
pub const ROWS_MOST: usize = 1000;
/// The length of a row to begin with, ns.
const FIRST_WIDTH_NS: u64 = 1000;

/// What happened during one row.
#[derive(Clone, Debug, Default)]
pub struct TimeRow {
    /// Of the operations that were issued in it.
    pub counts: OperationCounts,
    /// Operations in flight, summed over each ns of it.
    pub depth_ns: u128,
    /// Which blocks were read or written.
    pub blocks: DistinctBlocks,
}

impl TimeRow {
    pub fn merge(&mut self, other: &TimeRow) {
        self.counts.merge(&other.counts);
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
            rows.at(at * 977).counts.reads += 1;
        }
        assert!(rows.rows.len() <= ROWS_MOST && rows.rows.len() >= ROWS_MOST / 2 - 1, "{}", rows.rows.len());
        assert_eq!(rows.rows.iter().map(|row| row.counts.reads).sum::<u64>(), 100_000);
        rows.at(u64::MAX).counts.writes += 1;
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
