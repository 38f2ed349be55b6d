//! Rates in equal intervals: smallest, largest, mean and deviation, as fio samples them twice a second.
//!
//! fio adds the samples of workers that are reported as one, mean to mean and smallest to smallest; so does this.

use iodyno_model::{Kind, Series, SeriesRow};

/// Samples of one rate of one worker, or the sums over several workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    pub mean: f64,
    /// How many, over all workers.
    pub count: u64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Samples {
    fn of(rates: &[u64]) -> Self {
        let (Some(min), Some(max)) = (rates.iter().min(), rates.iter().max()) else {
            return Samples::default();
        };
        let mean = rates.iter().sum::<u64>() as f64 / rates.len() as f64;
        let squares = rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum();
        Samples { min: *min, max: *max, mean, count: rates.len() as u64, squares }
    }

    /// Of a run that another machine tells of; `squares` is the sum of the squared distances from the mean.
    pub fn received((max, min, count): (u64, u64, u64), mean: f64, squares: f64) -> Self {
        Samples { min, max, mean, count, squares }
    }

    /// The sum of the squared distances from the mean.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// The standard deviation of a sample.
    pub fn deviation(&self) -> f64 {
        if self.count > 1 { (self.squares / (self.count - 1) as f64).sqrt() } else { 0.0 }
    }

    /// Adds another worker's rates to these.
    pub fn add(&mut self, other: &Samples) {
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.count += other.count;
        self.squares += other.squares;
    }
}

/// Operations and bytes of a direction in a row.
fn counted(row: &SeriesRow, kind: Kind) -> (u64, u64) {
    match kind {
        Kind::Read => (row.reads, row.read_bytes),
        Kind::Write => (row.writes, row.write_bytes),
        _ => (row.trims, row.trim_bytes),
    }
}

/// Bandwidth in KiB/s over every so many ms, and operations per second over every so many ms, of one direction; up to
/// `until_ns`: an interval that was cut short says nothing.
pub fn rates(series: &Series, kind: Kind, average_ms: (u64, u64), until_ns: u64) -> (Samples, Samples) {
    let sample = |average_ms: u64, rate: fn((u64, u64), u64) -> u64| {
        let rows = (average_ms * 1_000_000 / series.interval_ns.max(1)).max(1);
        let ms = rows * series.interval_ns / 1_000_000;
        let whole = (until_ns / series.interval_ns.max(1)).min(series.rows.len() as u64) as usize;
        let windows = series.rows[..whole].chunks_exact(rows as usize);
        let sums = windows.map(|window| {
            let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
            window.iter().map(|row| counted(row, kind)).fold((0, 0), sum)
        });
        // An interval in which nothing came is no sample.
        let rates: Vec<u64> = sums.filter(|sum| sum.0 > 0).map(|sum| rate(sum, ms.max(1))).collect();
        Samples::of(&rates)
    };
    let bandwidth = sample(average_ms.0, |(_, bytes), ms| bytes.saturating_mul(1000) / ms / 1024);
    (bandwidth, sample(average_ms.1, |(operations, _), ms| operations * 1000 / ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(reads: &[u64]) -> Series {
        let row = |reads: &u64| SeriesRow { reads: *reads, read_bytes: reads * 4096, ..SeriesRow::default() };
        Series { interval_ns: 500_000_000, rows: reads.iter().map(row).collect(), ..Series::default() }
    }

    #[test]
    fn whole_rows_with_something_in_them_are_sampled() {
        let (bandwidth, rate) = rates(&series(&[500, 0, 502, 498, 7]), Kind::Read, (500, 500), 2_100_000_000);
        assert_eq!((rate.min, rate.max, rate.mean, rate.count), (996, 1004, 1000.0, 3));
        assert_eq!((rate.deviation(), bandwidth.max), (4.0, 4016));
    }

    #[test]
    fn longer_intervals_join_rows() {
        let (bandwidth, rate) =
            rates(&series(&[500, 500, 250, 250, 9]), Kind::Read, (1000, 500), 2_600_000_000);
        assert_eq!((bandwidth.count, bandwidth.max, bandwidth.min), (2, 4000, 2000));
        assert_eq!((rate.count, rate.min), (5, 18));
    }

    #[test]
    fn workers_add_up() {
        let mut sum = Samples::default();
        let one = Samples::of(&[10, 20]);
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.min, sum.max, sum.mean, sum.count), (20, 40, 30.0, 4));
    }
}
