//! A log-linear histogram of nanoseconds: at most 0.4 % wrong, nothing capped, mergeable, bounded memory.
//!
//! Values below 256 have a bucket each; above, every power of two is divided into 128 equal buckets, so a bucket's
//! width is at most 1/128 of its lower edge and its middle at most 1/256 = 0.39 % away from any value in it. The last
//! bucket ends at 2^64 - 1. (The layout is the well-known one of HdrHistogram, Gil Tene, and of fio's `stat.h`.)

use crate::reflect::Reflect;

/// Buckets to a power of two, as a power of two.
const SUB_BITS: u32 = 7;
/// How many buckets cover all 64-bit values.
pub const BUCKETS: usize = ((64 - SUB_BITS as usize) << SUB_BITS) + (1 << SUB_BITS);

/// The bucket of a value.
#[inline(always)]
pub const fn bucket_of(value: u64) -> usize {
    let magnitude = 63 - (value | (1 << SUB_BITS)).leading_zeros();
    let shift = magnitude - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// The smallest value of a bucket.
pub const fn lower_edge(bucket: usize) -> u64 {
    if bucket < 2 << SUB_BITS {
        return bucket as u64;
    }
    let shift = (bucket >> SUB_BITS) as u32 - 1;
    ((bucket & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS)) << shift
}

/// The largest value of a bucket.
pub const fn upper_edge(bucket: usize) -> u64 {
    if bucket + 1 >= BUCKETS { u64::MAX } else { lower_edge(bucket + 1) - 1 }
}

/// Fine buckets that make one coarse bucket, as a power of two: four to a power of two of the value.
const COARSE_SHIFT: u32 = SUB_BITS - 2;
/// How many coarse buckets cover all 64-bit values.
pub const COARSE: usize = BUCKETS >> COARSE_SHIFT;

/// The coarse bucket of a bucket: what a row of a series keeps of its latencies.
pub const fn coarse_of(bucket: usize) -> usize {
    bucket >> COARSE_SHIFT
}

/// The smallest and the largest value of a coarse bucket: at most a quarter apart above 128.
pub const fn coarse_edges(coarse: usize) -> (u64, u64) {
    (lower_edge(coarse << COARSE_SHIFT), upper_edge(((coarse + 1) << COARSE_SHIFT) - 1))
}

/// The value that stands for a bucket: its middle.
pub const fn middle(bucket: usize) -> u64 {
    let (low, high) = (lower_edge(bucket), upper_edge(bucket));
    low + (high - low) / 2
}

/// Counted values. Buckets are kept sparse outside the hot path.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Histogram {
    /// Bucket and count, ascending, no zero counts.
    buckets: Vec<(u32, u64)>,
    /// Sum of all values.
    pub sum: u128,
    /// Smallest value; 0 when empty.
    pub min: u64,
    /// Largest value.
    pub max: u64,
}

impl Histogram {
    /// From a dense array of [`BUCKETS`] counts with exact sum and extremes.
    pub fn from_counts(counts: impl Iterator<Item = u64>, sum: u128, min: u64, max: u64) -> Self {
        let buckets = counts.enumerate().filter(|(_, count)| *count > 0);
        Histogram { buckets: buckets.map(|(bucket, count)| (bucket as u32, count)).collect(), sum, min, max }
    }

    /// Counts one value; for tests and control paths.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket_of(value) as u32;
        self.min = if self.is_empty() { value } else { self.min.min(value) };
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(index) => self.buckets[index].1 += 1,
            Err(index) => self.buckets.insert(index, (bucket, 1)),
        }
        self.max = self.max.max(value);
        self.sum += u128::from(value);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The buckets that hold something: index (see [`lower_edge`]) and count.
    pub fn buckets(&self) -> &[(u32, u64)] {
        &self.buckets
    }

    /// Arithmetic mean, exact; 0 when empty.
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }

    /// Standard deviation (population), from the buckets' middles.
    pub fn deviation(&self) -> f64 {
        let (mean, count) = (self.mean(), self.count());
        if count < 2 {
            return 0.0;
        }
        let square =
            |(bucket, count): &(u32, u64)| (middle(*bucket as usize) as f64 - mean).powi(2) * *count as f64;
        (self.buckets.iter().map(square).sum::<f64>() / count as f64).sqrt()
    }

    /// The value at or below which `percent` of all values lie (nearest rank), 0 to 100; at most 0.4 % off, and
    /// never outside the exact extremes. 0 when empty.
    pub fn percentile(&self, percent: f64) -> u64 {
        let count = self.count();
        if count == 0 {
            return 0;
        }
        let rank = rank(percent, count).clamp(1, count);
        if rank == count {
            return self.max;
        }
        let mut seen = 0;
        for (bucket, in_bucket) in &self.buckets {
            seen += in_bucket;
            if seen >= rank {
                return middle(*bucket as usize).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// How many values lie above the percentile: what its precision rests on.
    pub fn beyond(&self, percent: f64) -> u64 {
        let count = self.count();
        count - rank(percent, count).min(count)
    }

    /// Adds another histogram's values.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        self.min = if self.is_empty() { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut mine, mut theirs) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        while let (Some(a), Some(b)) = (mine.peek().copied(), theirs.peek().copied()) {
            let count = if a.0 <= b.0 { mine.next().map_or(0, |a| a.1) } else { 0 }
                + if b.0 <= a.0 { theirs.next().map_or(0, |b| b.1) } else { 0 };
            merged.push((a.0.min(b.0), count));
        }
        merged.extend(mine);
        merged.extend(theirs);
        self.buckets = merged;
    }
}

/// The nearest rank of a percentile. 99.9 % of 10,000 is 9,990 although 99.9 is a little more than that in binary.
fn rank(percent: f64, count: u64) -> u64 {
    (percent / 100.0 * count as f64 * (1.0 - 1e-12)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_all_values() {
        assert_eq!(lower_edge(0), 0);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        for bucket in 0..BUCKETS - 1 {
            assert_eq!(bucket_of(lower_edge(bucket)), bucket);
            assert_eq!(bucket_of(upper_edge(bucket)), bucket);
            assert_eq!(upper_edge(bucket) + 1, lower_edge(bucket + 1));
        }
    }

    #[test]
    fn no_value_is_further_than_four_per_mille_from_its_bucket() {
        let mut value = 1u64;
        while value < u64::MAX / 3 {
            let error = middle(bucket_of(value)).abs_diff(value) as f64 / value as f64;
            assert!(error <= 0.004, "{value}: {error}");
            value += value / 97 + 1;
        }
    }

    #[test]
    fn percentiles_agree_with_hdrhistogram() {
        let mut ours = Histogram::default();
        let mut theirs = hdrhistogram::Histogram::<u64>::new(4).unwrap();
        let mut value = 12345u64;
        for _ in 0..20_000 {
            value = value.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let sample = (value >> 40) % 5_000_000 + 100;
            ours.add(sample);
            theirs.record(sample).unwrap();
        }
        for percent in [0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            let (a, b) = (ours.percentile(percent) as f64, theirs.value_at_percentile(percent) as f64);
            assert!((a - b).abs() / b <= 0.0045, "p{percent}: {a} against {b}");
        }
        assert!((ours.deviation() - theirs.stdev()).abs() / theirs.stdev() < 0.004);
    }

    #[test]
    fn ranks_are_those_of_decimal_percentages() {
        let mut histogram = Histogram::default();
        (0..10_000).for_each(|value| histogram.add(value));
        let beyond = [50.0, 99.0, 99.9, 99.99, 100.0].map(|percent| histogram.beyond(percent));
        assert_eq!(beyond, [5000, 100, 10, 1, 0]);
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..3000u64 {
            let value = value * value;
            if value % 3 == 0 {
                a.add(value)
            } else {
                b.add(value)
            };
            both.add(value);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }
}
