//! How far two distributions are apart: the largest difference of their cumulative distributions (the statistic of
//! Kolmogorov and Smirnov), over buckets at most 0.4 % off.

use iodyno_model::histogram::{BUCKETS, bucket_of};

/// Two distributions of the same quantity, recorded and issued.
pub(super) struct Pair {
    recorded: Vec<u64>,
    issued: Vec<u64>,
    /// Those that are issued as they were recorded: nearly all, and counted once.
    both: Vec<u64>,
}

impl Default for Pair {
    fn default() -> Self {
        Pair { recorded: vec![0; BUCKETS], issued: vec![0; BUCKETS], both: vec![0; BUCKETS] }
    }
}

impl Pair {
    pub fn recorded(&mut self, value: u64) {
        self.recorded[bucket_of(value)] += 1;
    }

    pub fn issued(&mut self, value: u64) {
        self.issued[bucket_of(value)] += 1;
    }

    /// A value that was recorded and is what is issued.
    #[inline]
    pub fn both(&mut self, value: u64) {
        self.both[bucket_of(value)] += 1;
    }

    /// The same for so many of one value.
    pub fn all(&mut self, value: u64, count: u64) {
        self.both[bucket_of(value)] += count;
    }

    /// 0: alike, 1: apart; 0 where one of them is empty.
    pub fn distance(&self) -> f64 {
        let sum = |counts: &[u64]| counts.iter().chain(&self.both).sum::<u64>() as f64;
        let (all, issued) = (sum(&self.recorded), sum(&self.issued));
        if all == 0.0 || issued == 0.0 {
            return 0.0;
        }
        let (mut a, mut b, mut most) = (0, 0, 0.0f64);
        for ((recorded, issued_here), both) in self.recorded.iter().zip(&self.issued).zip(&self.both) {
            a += recorded + both;
            b += issued_here + both;
            most = most.max((a as f64 / all - b as f64 / issued).abs());
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::Pair;

    #[test]
    fn the_distance_is_that_of_the_cumulative_distributions() {
        let mut pair = Pair::default();
        assert_eq!(pair.distance(), 0.0);
        for (value, recorded, issued, both) in [(512, 2, 0, 1), (4096, 1, 1, 0), (65536, 0, 2, 0)] {
            (0..recorded).for_each(|_| pair.recorded(value));
            (0..issued).for_each(|_| pair.issued(value));
            (0..both).for_each(|_| pair.both(value));
        }
        // After 512: 0.75 against 0.25.
        assert_eq!(pair.distance(), 0.5);
    }
}
