//! A figure, and between which two the true one lies.
//!
//! Means of rows over time take their correlation into account, percentiles come from order statistics without any
//! assumption about the distribution. Refuses a figure where there are too few values to tell an interval.

use iodyno_model::Histogram;
use iodyno_model::histogram::{lower_edge, upper_edge};

use super::chance::{ranks, reach};
use super::correlation::effective_count;
use super::sorted;

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The true one is not below this.
    pub low: f64,
    /// The true one is not above this.
    pub high: f64,
    pub confidence_percent: f64,
    /// How many independent values it rests on.
    pub effective: f64,
}

impl Estimate {
    /// How wide the interval is, in percent of the figure; `None` around 0.
    pub fn width_percent(&self) -> Option<f64> {
        (self.value != 0.0).then(|| (self.high - self.low) / self.value.abs() * 100.0)
    }
}

/// The mean of values that do not depend on each other, as those of passes; `None` below 2.
pub fn mean(values: &[f64], confidence_percent: f64) -> Option<Estimate> {
    mean_of(values, values.len() as f64, confidence_percent)
}

/// The mean of a row over time, whose neighbours may depend on each other; `None` below 4 rows.
pub fn mean_over_time(rows: &[f64], confidence_percent: f64) -> Option<Estimate> {
    if rows.len() < 4 {
        return None;
    }
    mean_of(rows, effective_count(rows), confidence_percent)
}

fn mean_of(values: &[f64], effective: f64, confidence_percent: f64) -> Option<Estimate> {
    if values.len() < 2 || effective < 2.0 {
        return None;
    }
    let value = values.iter().sum::<f64>() / values.len() as f64;
    let error = (super::variance(values)? / effective).sqrt();
    let reach = reach(confidence_percent, effective - 1.0)? * error;
    Some(Estimate { value, low: value - reach, high: value + reach, confidence_percent, effective })
}

/// The median of values that do not depend on each other, whatever their distribution; `None` where there are too few for
/// that confidence (6 for 95 %).
pub fn median(values: &[f64], confidence_percent: f64) -> Option<Estimate> {
    let sorted = sorted(values);
    let count = sorted.len() as u64;
    let (low, high) = ranks(count, 50.0, confidence_percent);
    if low == 0 || high > count {
        return None;
    }
    let value = super::median(values)?;
    let (low, high) = (sorted[low as usize - 1], sorted[high as usize - 1]);
    Some(Estimate { value, low, high, confidence_percent, effective: count as f64 })
}

/// A percentile of counted values; they count as `inflation` times fewer (see [`super::inflation`]). `None` where so few
/// lie beyond it that it has no upper end.
pub fn percentile(
    histogram: &Histogram,
    percent: f64,
    inflation: f64,
    confidence_percent: f64,
) -> Option<Estimate> {
    let count = histogram.count();
    let effective = count as f64 / inflation.max(1.0);
    let whole = effective.floor() as u64;
    let (low, high) = ranks(whole, percent, confidence_percent);
    if whole == 0 || low == 0 || high > whole {
        return None;
    }
    // The ranks among independent values, as those among all of them.
    let rank = |rank: u64| ((rank as f64 / whole as f64 * count as f64).round() as u64).clamp(1, count);
    let (low, high) = (at(histogram, rank(low)).0, at(histogram, rank(high)).1);
    let value = histogram.percentile(percent) as f64;
    Some(Estimate { value, low: low.min(value), high: high.max(value), confidence_percent, effective })
}

/// Between which two values the one of a rank (from 1) lies.
fn at(histogram: &Histogram, rank: u64) -> (f64, f64) {
    let mut seen = 0;
    for (bucket, count) in histogram.buckets() {
        seen += count;
        if seen >= rank {
            let bucket = *bucket as usize;
            let (low, high) = (lower_edge(bucket).max(histogram.min), upper_edge(bucket).min(histogram.max));
            return (low as f64, high as f64);
        }
    }
    (histogram.max as f64, histogram.max as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    /// `scipy.stats.ttest_1samp(a, 0).confidence_interval(0.95)`.
    #[test]
    fn a_mean_is_scipys() {
        let found = mean(&[100.0, 104.0, 98.0, 101.0], 95.0).unwrap();
        assert_eq!(found.value, 100.75);
        assert!((found.low - 96.77194211839536).abs() < 1e-6, "{found:?}");
        assert!((found.high - 104.72805788160464).abs() < 1e-6, "{found:?}");
        assert!((found.width_percent().unwrap() - 7.896888).abs() < 1e-4);
        assert_eq!(mean(&[1.0], 95.0), None);
    }

    #[test]
    fn rows_over_time_hold_the_mean_as_often_as_they_say() {
        for (coefficient, least) in [(0.0, 930), (0.7, 870)] {
            let mut noise = Noise::new(7);
            let mut held = 0;
            for _ in 0..1000 {
                let mut last = 0.0;
                let rows: Vec<f64> = (0..60)
                    .map(|_| {
                        last = coefficient * last + noise.normal();
                        100.0 + last
                    })
                    .collect();
                let found = mean_over_time(&rows, 95.0).unwrap();
                held += u32::from(found.low <= 100.0 && 100.0 <= found.high);
            }
            assert!((least..=985).contains(&held), "{held} of 1000 at {coefficient}");
        }
    }

    #[test]
    fn percentiles_hold_the_true_one_as_often_as_they_say() {
        let mut noise = Noise::new(9);
        let (mut held, truth) = (0, -(0.01f64.ln()) * 100_000.0);
        for _ in 0..200 {
            let mut histogram = Histogram::default();
            (0..3000).for_each(|_| histogram.add((-noise.unit().ln() * 100_000.0) as u64));
            let found = percentile(&histogram, 99.0, 1.0, 95.0).unwrap();
            held += u32::from(found.low <= truth && truth <= found.high);
        }
        assert!((183..=200).contains(&held), "{held} of 200");
    }

    #[test]
    fn a_percentile_without_values_beyond_it_has_no_interval() {
        let mut few = Histogram::default();
        (0..1000).for_each(|value| few.add(value));
        assert_eq!(percentile(&few, 99.9, 1.0, 95.0), None);
        let (one, five) =
            (percentile(&few, 90.0, 1.0, 95.0).unwrap(), percentile(&few, 90.0, 5.0, 95.0).unwrap());
        assert!(five.high - five.low > 2.0 * (one.high - one.low), "{one:?} {five:?}");
        assert_eq!(percentile(&Histogram::default(), 50.0, 1.0, 95.0), None);
    }

    #[test]
    fn a_median_has_the_ranks_of_the_sign_test() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = median(&values, 95.0).unwrap();
        assert_eq!((found.low, found.value, found.high), (2.0, 5.5, 9.0));
        assert_eq!(median(&values[..5], 95.0), None);
    }
}
