//! Counts by verb, size, thread, file and error.

use std::collections::BTreeMap;

use iodyno_model::{Histogram, Kind, Verb};

use crate::TraceRecord;

/// Different sizes that are told apart exactly; later ones are rounded down to an eighth of a power of two.
const EXACT_SIZES: usize = 1024;

/// How often each size was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeCounts {
    /// By size in bytes.
    pub counts: BTreeMap<u64, u64>,
    /// Operations whose size was rounded, because there were too many different ones.
    pub rounded: u64,
}

impl SizeCounts {
    pub fn add(&mut self, bytes: u64) {
        if let Some(count) = self.counts.get_mut(&bytes) {
            *count += 1;
            return;
        }
        if self.counts.len() < EXACT_SIZES {
            self.counts.insert(bytes, 1);
            return;
        }
        self.rounded += 1;
        let shift = bytes.checked_ilog2().unwrap_or(0).saturating_sub(3);
        *self.counts.entry(bytes >> shift << shift).or_default() += 1;
    }

    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub fn mean(&self) -> f64 {
        let sum: u128 =
            self.counts.iter().map(|(bytes, count)| u128::from(*bytes) * u128::from(*count)).sum();
        sum as f64 / self.total().max(1) as f64
    }

    /// The size up to which so many percent of all operations are.
    pub fn percentile(&self, percent: f64) -> u64 {
        let (total, mut sum) = (self.total() as f64, 0.0);
        for (bytes, count) in &self.counts {
            sum += *count as f64;
            if sum >= total * percent / 100.0 {
                return *bytes;
            }
        }
        0
    }

    /// Counts by power of two: each size up to and including the power, above half of it; 0 by itself.
    pub fn by_power(&self) -> BTreeMap<u64, u64> {
        let mut powers = BTreeMap::new();
        for (bytes, count) in &self.counts {
            let power = bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
            *powers.entry(if *bytes == 0 { 0 } else { power }).or_default() += count;
        }
        powers
    }
}

/// What operations of one verb came to.
#[derive(Clone, Debug, Default)]
pub struct VerbCounts {
    pub operations: u64,
    /// Bytes asked for, of verbs on ranges.
    pub bytes: u64,
    pub errors: u64,
    /// Sizes of reads, writes and trims.
    pub sizes: SizeCounts,
    /// As recorded, ns.
    pub latency_ns: Histogram,
    /// As recorded, by the size's power of two, of reads and writes.
    pub latency_by_power: BTreeMap<u64, Histogram>,
}

/// What a thread, a file or a stretch of time came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationCounts {
    pub reads: u64,
    pub writes: u64,
    /// Operations that are neither.
    pub others: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub errors: u64,
    /// Sum and number of the recorded latencies, ns.
    pub latency_ns: u128,
    pub timed: u64,
}

impl OperationCounts {
    pub fn operations(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub(super) fn add(&mut self, record: &TraceRecord, kind: Kind, failed: bool) {
        match kind {
            Kind::Read => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(record.bytes);
            }
            Kind::Write => {
                self.writes += 1;
                self.written_bytes = self.written_bytes.saturating_add(record.bytes);
            }
            _ => self.others += 1,
        }
        self.errors += u64::from(failed);
        if let Some(latency) = record.latency_ns {
            self.latency_ns += u128::from(latency);
            self.timed += 1;
        }
    }

    pub fn merge(&mut self, other: &OperationCounts) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.errors += other.errors;
        self.latency_ns += other.latency_ns;
        self.timed += other.timed;
    }

    /// The mean of the recorded latencies, ns.
    pub fn mean_latency(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.latency_ns as f64 / self.timed as f64)
    }
}

/// Failed operations by verb and errno (Linux numbers, positive).
pub type ErrorCounts = BTreeMap<(Verb, i64), u64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_until_there_are_too_many() {
        let mut sizes = SizeCounts::default();
        (0..1024).for_each(|step| sizes.add(step * 512));
        assert_eq!((sizes.rounded, sizes.total()), (0, 1024));
        sizes.add(1_000_001);
        sizes.add(1 << 20);
        assert_eq!(
            (sizes.rounded, sizes.counts.get(&983_040), sizes.counts.get(&(1 << 20))),
            (2, Some(&1), Some(&1))
        );
    }

    #[test]
    fn powers_hold_what_is_up_to_them() {
        let mut sizes = SizeCounts::default();
        [0, 1, 4096, 4097, 8192].into_iter().for_each(|bytes| sizes.add(bytes));
        assert_eq!(sizes.by_power().into_iter().collect::<Vec<_>>(), [(0, 1), (1, 1), (4096, 1), (8192, 2)]);
        assert_eq!((sizes.percentile(50.0), sizes.percentile(100.0)), (4096, 8192));
    }
}
