//! The few statistics that honest figures need: medians, their intervals without any assumption about the distribution,
//! and the steady-state test of the SNIA Solid State Storage Performance Test Specification.
//!
//! ```text
//!   chance        quantiles of the normal, Student's and the binomial distribution
//!   correlation   how many independent values a row over time is worth; its warm-up
//!   interval      a figure and between which two the true one lies: means, medians, percentiles of a histogram
//!   difference    two sides: how much more, between which two, and how often one beats the other
//!   change        where a row over time changes its level; credit that was used up
//!   conformal     whether a stream of values has changed, asked at each value for months
//!   drift         whether a row over time drifts by more than it scatters
//! ```
//!
//! Refuses means and deviations of single seconds as a figure to show: one bad second moves them more than ten good ones.

pub mod chance;
pub mod change;
pub mod conformal;
pub mod correlation;
pub mod difference;
pub mod drift;
pub mod interval;

pub use change::{Credit, Level, credit, levels};
pub use correlation::{WarmUp, effective_count, inflation, warm_up};
pub use difference::{Basis, Difference, paired, superiority, superiority_of, welch};
pub use drift::drifts;
pub use interval::Estimate;

/// The median; the mean of both middles of an even count. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The median absolute deviation from the median, unscaled. `None` of nothing.
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// Largest minus smallest, in percent of the median. `None` of nothing or around 0.
pub fn spread_percent(values: &[f64]) -> Option<f64> {
    let (sorted, centre) = (sorted(values), median(values)?);
    (centre != 0.0).then(|| (sorted[sorted.len() - 1] - sorted[0]) / centre.abs() * 100.0)
}

/// The interval that holds the true median with at least 95 % confidence, whatever the distribution: the k-th smallest
/// and the k-th largest value, k as large as the binomial distribution allows. `None` below 6 values, where even the
/// extremes do not reach 95 %.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let k = interval_rank(sorted.len())?;
    Some((sorted[k - 1], sorted[sorted.len() - k]))
}

/// The largest k with P(fewer than k of n values below the median) ≤ 2.5 %.
fn interval_rank(n: usize) -> Option<usize> {
    /// Logarithms would need the platform's mathematics; beyond this count the normal approximation is exact enough.
    /// Source: IEEE 754, whose doubles hold 0.5ⁿ in full up to n = 1022.
    const EXACT: usize = 1000;
    if n > EXACT {
        return Some((n as f64 / 2.0 - 0.98 * (n as f64).sqrt()).floor() as usize);
    }
    let (mut chance, mut below, mut k) = (0.5f64.powi(n as i32), 0.0, 0);
    while k < n {
        below += chance;
        if below > 0.025 {
            break;
        }
        chance *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    (k > 0).then_some(k)
}

/// How steady a row of values is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    pub mean: f64,
    /// Largest minus smallest, in percent of the mean.
    pub range_percent: f64,
    /// How far the best-fitting straight line goes up or down from the first to the last, in percent of the mean.
    pub slope_percent: f64,
}

/// Largest range that is steady, in percent of the mean. Source: SNIA SSS PTS, steady state.
pub const STEADY_RANGE_PERCENT: f64 = 20.0;
/// Largest excursion of the fitted line that is steady, in percent of the mean. Source: the same.
pub const STEADY_SLOPE_PERCENT: f64 = 10.0;

impl Steadiness {
    /// Whether it meets both limits of the specification.
    pub fn is_steady(&self) -> bool {
        self.range_percent <= STEADY_RANGE_PERCENT && self.slope_percent.abs() <= STEADY_SLOPE_PERCENT
    }
}

/// The steadiness of values at equal distances; `None` below 3 values or around 0.
pub fn steadiness(values: &[f64]) -> Option<Steadiness> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 3 || mean <= 0.0 {
        return None;
    }
    let sorted = sorted(values);
    let centre = (count - 1.0) / 2.0;
    let (mut rise, mut run) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - centre;
        rise += x * (value - mean);
        run += x * x;
    }
    Some(Steadiness {
        mean,
        range_percent: (sorted[sorted.len() - 1] - sorted[0]) / mean * 100.0,
        slope_percent: rise / run * (count - 1.0) / mean * 100.0,
    })
}

/// Means of so many stretches of (nearly) equal length; `None` if there are fewer values.
pub fn rounds(values: &[f64], count: usize) -> Option<Vec<f64>> {
    if values.len() < count || count == 0 {
        return None;
    }
    let edge = |round: usize| round * values.len() / count;
    let mean = |round: usize| {
        let part = &values[edge(round)..edge(round + 1)];
        part.iter().sum::<f64>() / part.len() as f64
    };
    Some((0..count).map(mean).collect())
}

/// The variance that values let expect of others like them (n - 1); `None` below 2.
pub fn variance(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.len() >= 2)
        .then(|| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Seeded noise for tests.
#[cfg(test)]
pub(crate) mod testing {
    /// A stream of random numbers.
    pub struct Noise(u64);

    impl Noise {
        /// The stream of a seed.
        pub fn new(seed: u64) -> Self {
            Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
        }

        /// Above 0, below 1.
        pub fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        /// Normal, mean 0, deviation 1 (Box and Muller).
        pub fn normal(&mut self) -> f64 {
            (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_and_deviations() {
        assert_eq!(
            (median(&[]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])),
            (None, Some(2.0), Some(2.5))
        );
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(spread_percent(&[90.0, 100.0, 120.0]), Some(30.0));
        assert_eq!(spread_percent(&[0.0]), None);
    }

    /// Ranks from published tables of the sign test: n, k.
    #[test]
    fn intervals_take_the_ranks_of_the_tables() {
        for (n, k) in
            [(6, 1), (8, 1), (9, 2), (10, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18)]
        {
            assert_eq!(interval_rank(n), Some(k), "n = {n}");
        }
        assert_eq!(interval_rank(5), None);
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median_interval(&values), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values[..5]), None);
        // The approximation goes on where the exact ranks end.
        assert!(interval_rank(1000).unwrap().abs_diff(interval_rank(1001).unwrap()) <= 1);
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut state = 7u64;
        let mut unit = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut held = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..12).map(|_| unit().powi(3)).collect();
            let (low, high) = median_interval(&values).unwrap();
            held += usize::from(low <= 0.125 && 0.125 <= high);
        }
        assert!((1900..1990).contains(&held), "{held} of 2000");
    }

    #[test]
    fn steady_is_what_the_specification_says() {
        assert!(steadiness(&[100.0, 101.0, 99.0, 100.0, 100.0]).unwrap().is_steady());
        let ramp = steadiness(&[95.0, 97.5, 100.0, 102.5, 105.0]).unwrap();
        assert!((ramp.slope_percent - 10.0).abs() < 1e-9 && (ramp.range_percent - 10.0).abs() < 1e-9);
        assert!(ramp.is_steady());
        assert!(!steadiness(&[94.0, 97.0, 100.0, 103.0, 106.0]).unwrap().is_steady());
        assert!(!steadiness(&[100.0, 100.0, 79.0, 100.0, 100.0]).unwrap().is_steady());
        assert_eq!(steadiness(&[0.0; 5]), None);
        assert_eq!(steadiness(&[1.0; 2]), None);
    }

    #[test]
    fn rounds_use_every_value() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(rounds(&values, 5).unwrap(), [0.5, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(rounds(&values[..4], 5), None);
    }
}
