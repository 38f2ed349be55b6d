//! Quantiles of the distributions that intervals rest on, from a library; and the ranks between which a percentile lies.
//!
//! Knows nothing of what is measured. Refuses shares outside 0 to 1 by answering `None`.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// The value below which that share of a standard normal distribution lies.
pub fn normal_quantile(share: f64) -> Option<f64> {
    (share > 0.0 && share < 1.0).then(|| Normal::standard().inverse_cdf(share))
}

/// The value below which that share of Student's distribution lies; the degrees of freedom may be broken.
pub fn t_quantile(share: f64, freedom: f64) -> Option<f64> {
    if !(share > 0.0 && share < 1.0 && freedom > 0.0) {
        return None;
    }
    // Beyond this the two differ by less than a thousandth.
    if freedom > 1000.0 {
        return normal_quantile(share);
    }
    StudentsT::new(0.0, 1.0, freedom).ok().map(|student| student.inverse_cdf(share))
}

/// How many deviations of a mean of so many values an interval reaches to each side.
pub fn reach(confidence_percent: f64, freedom: f64) -> Option<f64> {
    t_quantile(0.5 + confidence_percent / 200.0, freedom)
}

/// The confidence that each of so many intervals needs for all of them to hold together (Šidák), percent.
pub fn each_of(confidence_percent: f64, count: usize) -> f64 {
    (confidence_percent / 100.0).powf(1.0 / count.max(1) as f64) * 100.0
}

/// The chance of at most `most` successes in `count` trials.
fn at_most(most: i64, count: u64, share: f64) -> f64 {
    match most {
        ..0 => 0.0,
        most if most as u64 >= count => 1.0,
        most => beta_reg((count as i64 - most) as f64, most as f64 + 1.0, 1.0 - share),
    }
}

/// Between which ranks (from 1) of `count` independent values the true percentile lies, at least with that confidence;
/// 0: even the smallest value may be above it; `count` + 1: even the largest may be below it. Source: the binomial
/// distribution of how many values lie below a percentile.
pub fn ranks(count: u64, percent: f64, confidence_percent: f64) -> (u64, u64) {
    let (share, beyond) = (percent / 100.0, (1.0 - confidence_percent / 100.0) / 2.0);
    // The largest rank whose value is too large with at most that chance.
    let low = last(count + 1, |rank| at_most(rank as i64 - 1, count, share) <= beyond);
    let high = last(count + 1, |rank| at_most(rank as i64 - 1, count, share) < 1.0 - beyond) + 1;
    (low, high.min(count + 1))
}

/// The largest number below `end` with a property that all smaller ones have, too.
fn last(end: u64, has: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if has(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-6 * expected.abs().max(1e-9)
    }

    /// Constants of scipy 1.17 (`stats.t.ppf`, `stats.norm.ppf`), the whole degrees of freedom as in published tables.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (share, freedom, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 4.0, 2.7764451051977934),
            (0.975, 9.5, 2.2441374614922958),
            (0.995, 3.0, 5.840909309733355),
            (0.95, 30.0, 1.697260886593957),
            (0.975, 200.0, 1.9718962236339088),
            (0.9995, 7.0, 5.407882520861828),
        ] {
            let found = t_quantile(share, freedom).unwrap();
            assert!(near(found, expected), "{share} {freedom}: {found}");
        }
        for (share, expected) in [
            (0.9, 1.2815515655446004),
            (0.975, 1.959963984540054),
            (0.995, 2.5758293035489004),
            (0.9999, 3.719016485455709),
            (0.001, -3.090232306167813),
        ] {
            assert!(near(normal_quantile(share).unwrap(), expected), "{share}");
        }
        assert_eq!((normal_quantile(1.0), t_quantile(0.5, 0.0), t_quantile(0.0, 3.0)), (None, None, None));
    }

    /// Ranks calculated with scipy's `stats.binom.cdf`.
    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        for (count, percent, confidence, expected) in [
            (100, 50.0, 95.0, (40, 61)),
            (100, 90.0, 95.0, (84, 96)),
            (1000, 99.0, 95.0, (983, 997)),
            (10_000, 99.9, 95.0, (9983, 9997)),
            (1000, 99.9, 95.0, (997, 1001)),
            (50, 50.0, 99.0, (16, 35)),
            (1_000_000, 99.9, 95.0, (998_938, 999_062)),
            (10, 50.0, 95.0, (2, 9)),
            (5, 50.0, 95.0, (0, 6)),
        ] {
            assert_eq!(ranks(count, percent, confidence), expected, "{count} {percent}");
        }
    }

    #[test]
    fn several_intervals_hold_together() {
        assert_eq!(each_of(95.0, 1), 95.0);
        assert!((each_of(95.0, 5) / 100.0).powi(5) - 0.95 < 1e-12);
    }
}
