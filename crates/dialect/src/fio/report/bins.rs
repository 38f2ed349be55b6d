//! fio's own bins: 64 to a power of two, each represented by its middle; percentiles and `bins` are printed in them.
//!
//! Our histogram has 128 buckets to a power of two, so each of ours lies in exactly one of fio's and the conversion
//! loses nothing that fio would have kept. fio's bins end at 17 s; ours do not, so percentiles beyond stay true.

use iodyno_model::Histogram;
use iodyno_model::histogram::{BUCKETS, bucket_of, lower_edge};

/// Bins to a power of two, as a power of two.
const SUB_BITS: u32 = 6;
/// How many bins fio has: those below 2^34 ns.
pub const FIO_BINS: u32 = 29 << SUB_BITS;

/// Counts by bin, ascending, no empty ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    counts: Vec<(u32, u64)>,
    total: u64,
}

/// The bin of a value.
fn index(value: u64) -> u32 {
    if value < 2 << SUB_BITS {
        return value as u32;
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    ((shift + 1) << SUB_BITS) + ((value >> shift) & ((1 << SUB_BITS) - 1)) as u32
}

/// The value that stands for a bin.
fn value(index: u32) -> u64 {
    if index < 2 << SUB_BITS {
        return u64::from(index);
    }
    let shift = (index >> SUB_BITS) - 1;
    let place = u64::from(index & ((1 << SUB_BITS) - 1));
    (1u64 << (shift + SUB_BITS)) + (place << shift) + (1u64 << shift) / 2
}

impl From<&Histogram> for Bins {
    fn from(histogram: &Histogram) -> Self {
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for (bucket, count) in histogram.buckets() {
            let bin = index(lower_edge(*bucket as usize));
            match counts.last_mut() {
                Some((last, sum)) if *last == bin => *sum += count,
                _ => counts.push((bin, *count)),
            }
        }
        let total = counts.iter().map(|(_, count)| count).sum();
        Bins { counts, total }
    }
}

impl Bins {
    /// Value and count of each bin; what lies above fio's last bin is counted in it, as fio does.
    pub fn capped(&self) -> Vec<(u64, u64)> {
        let mut capped: Vec<(u64, u64)> = Vec::new();
        for (bin, count) in &self.counts {
            let value = value((*bin).min(FIO_BINS - 1));
            match capped.last_mut() {
                Some((last, sum)) if *last == value => *sum += count,
                _ => capped.push((value, *count)),
            }
        }
        capped
    }

    /// The bin of a value, by index; the last for what lies above it.
    pub fn index_of(value: u64) -> usize {
        index(value).min(FIO_BINS - 1) as usize
    }

    /// A histogram of a run that another machine tells of, from the count of each of fio's bins.
    pub fn histogram(counts: &[u64], sum: u128, (min, max): (u64, u64)) -> Histogram {
        let mut buckets = vec![0; BUCKETS];
        for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            buckets[bucket_of(value(bin as u32))] += count;
        }
        Histogram::from_counts(buckets.into_iter(), sum, min, max)
    }

    /// The count of each of fio's bins, by index; what lies above the last is counted in it.
    pub fn dense(&self) -> Vec<u64> {
        let mut dense = vec![0; FIO_BINS as usize];
        for (bin, count) in &self.counts {
            dense[(*bin).min(FIO_BINS - 1) as usize] += count;
        }
        dense
    }

    /// Value and count of each bin.
    pub fn all(&self) -> Vec<(u64, u64)> {
        self.counts.iter().map(|(bin, count)| (value(*bin), *count)).collect()
    }

    /// Whether something lies above fio's last bin.
    pub fn beyond_fio(&self) -> bool {
        self.counts.last().is_some_and(|(bin, _)| *bin >= FIO_BINS)
    }

    /// The value of the first bin at which each percentage (ascending) of all is reached; none when empty.
    pub fn percentiles(&self, percents: &[f64]) -> Vec<u64> {
        let mut wanted = percents.iter().peekable();
        let (mut found, mut seen) = (Vec::with_capacity(percents.len()), 0);
        for (bin, count) in &self.counts {
            seen += count;
            while wanted.next_if(|percent| reaches(seen, **percent, self.total)).is_some() {
                found.push(value(*bin));
            }
        }
        found
    }
}

/// Whether `seen` is `percent` of `total` or more, in exact arithmetic: 99.9 is a little more than that in binary, so
/// 999 of 1000 do not reach it, in fio neither.
fn reaches(seen: u64, percent: f64, total: u64) -> bool {
    if seen >= total || percent <= 0.0 {
        return true;
    }
    let bits = percent.to_bits();
    let power = (bits >> 52) as i32 - 1075;
    let mantissa = u128::from((bits & ((1 << 52) - 1)) | 1 << 52);
    let (seen, wanted) = (u128::from(seen) * 100, mantissa * u128::from(total));
    match u32::try_from(-power) {
        // So small a percentage is reached at once.
        Ok(shift) if shift >= seen.leading_zeros() => seen > 0,
        Ok(shift) => seen << shift >= wanted,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::histogram::upper_edge;

    #[test]
    fn each_bucket_of_ours_lies_in_one_bin_of_fios() {
        for bucket in 0..BUCKETS {
            assert_eq!(index(lower_edge(bucket)), index(upper_edge(bucket)), "{bucket}");
        }
    }

    // Bins of a json+ report by fio 3.33.
    #[test]
    fn bins_are_known_by_the_values_that_fio_prints() {
        for printed in [28, 127, 129, 131, 255, 258, 612, 24192, 32640, 33024, 63744, 140_288, 26_083_328] {
            assert_eq!(value(index(printed)), printed);
        }
        assert_eq!(value(FIO_BINS - 1), 17_112_760_320);
    }

    #[test]
    fn percentiles_are_the_first_bins_that_reach_them() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.add(value));
        let bins = Bins::from(&histogram);
        assert_eq!(bins.percentiles(&[1.0, 50.0, 99.0, 99.5, 100.0]), [1, 50, 99, 100, 100]);
        assert!(Bins::default().percentiles(&[50.0]).is_empty());
    }

    #[test]
    fn shares_are_exact() {
        assert!(!reaches(999, 99.9, 1000));
        assert!(reaches(1000, 99.9, 1000));
        assert!(reaches(1, 50.0, 2) && !reaches(0, 50.0, 2));
        assert!(reaches(9900, 99.0, 10_000) && !reaches(9899, 99.0, 10_000));
        assert!(reaches(30, 30.0, 100) && reaches(27, 54.0, 50) && !reaches(1999, 99.95, 2000));
        assert!(reaches(1, 1e-300, u64::MAX) && !reaches(u64::MAX - 1, 100.0, u64::MAX));
    }

    #[test]
    fn nothing_is_capped_but_what_fio_caps() {
        let mut histogram = Histogram::default();
        histogram.add(30_000_000_000);
        histogram.add(40_000_000_000);
        let bins = Bins::from(&histogram);
        assert!(bins.beyond_fio());
        assert_eq!(bins.capped(), [(17_112_760_320, 2)]);
        assert_eq!(bins.all().len(), 2);
        assert!(bins.percentiles(&[100.0])[0] > 39_000_000_000);
    }
}
