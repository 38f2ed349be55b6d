//! Change points: where a row of values went over from one level to another, and stayed there.
//!
//! The split that leaves the least squares is the candidate; it is believed only when both sides hardly overlap and two
//! levels explain the row much better than one straight line does. Refuses to see a change in a drift or in noise.

use crate::statistics::median;

/// A lasting change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first value of the second level.
    pub at: usize,
    /// The first level: the median of its values.
    pub before: f64,
    /// The second one.
    pub after: f64,
    /// Share of the variance that the two levels explain, in percent.
    pub explained_percent: f64,
}

/// Variance that two levels must explain, in percent: noise alone gives them half, seldom two thirds.
const LEAST_EXPLAINED_PERCENT: f64 = 75.0;
/// What two levels may leave of what a straight line leaves.
const MOST_OF_LINE: f64 = 0.6;
/// Share of pairs, one value of each side, that must be in the order of the levels.
const LEAST_ORDERED: f64 = 0.95;

/// The one lasting change of a row, with at least so many values on its first and second side; `None` where there is
/// none.
pub fn change(values: &[f64], least: (usize, usize)) -> Option<Change> {
    let (first, second) = (least.0.max(1), least.1.max(1));
    let end = values.len().checked_sub(second).filter(|end| *end >= first)?;
    let whole = squares(values);
    let left = |at: usize| squares(&values[..at]) + squares(&values[at..]);
    let (at, rest) = (first..=end).map(|at| (at, left(at))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let explained_percent = (1.0 - rest / whole) * 100.0;
    let (before, after) = (&values[..at], &values[at..]);
    // A row without variance gives no number, and no change.
    let is_level = explained_percent >= LEAST_EXPLAINED_PERCENT && rest <= MOST_OF_LINE * line_squares(values);
    let (high, low) = (median(before)?, median(after)?);
    let change = Change { at, before: high, after: low, explained_percent };
    (is_level && ordered(before, after, high > low) >= LEAST_ORDERED).then_some(change)
}

/// Squares around the mean, summed.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Squares around the line of least squares, summed.
fn line_squares(values: &[f64]) -> f64 {
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mut rise, mut run) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - centre;
        rise += x * (value - mean);
        run += x * x;
    }
    squares(values) - if run > 0.0 { rise * rise / run } else { 0.0 }
}

/// Share of pairs in which the first side's value is above (or below) the second side's.
fn ordered(before: &[f64], after: &[f64], falls: bool) -> f64 {
    let is_ordered = |a: f64, b: f64| if falls { a > b } else { a < b };
    let pairs = before.iter().flat_map(|a| after.iter().map(move |b| (*a, *b)));
    pairs.filter(|(a, b)| is_ordered(*a, *b)).count() as f64 / (before.len() * after.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dice(u64);

    impl Dice {
        /// About normal, of mean 0 and deviation 1.
        fn normal(&mut self) -> f64 {
            let mut unit = || {
                self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (self.0 >> 11) as f64 / (1u64 << 53) as f64
            };
            (0..12).map(|_| unit()).sum::<f64>() - 6.0
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut dice = Dice(3);
        for at in 3..25 {
            let level = |index: usize| if index < at { 3000.0 } else { 1000.0 };
            let values: Vec<f64> = (0..30).map(|index| level(index) + 50.0 * dice.normal()).collect();
            let found = change(&values, (2, 3)).unwrap();
            assert_eq!(found.at, at);
            assert!((found.before - 3000.0).abs() < 100.0 && (found.after - 1000.0).abs() < 100.0);
        }
    }

    #[test]
    fn drift_noise_and_one_bad_second_are_no_step() {
        let drift: Vec<f64> = (0..20).map(|index| 3000.0 - 100.0 * f64::from(index)).collect();
        assert_eq!(change(&drift, (2, 3)), None);
        assert_eq!(change(&[5.0; 12], (2, 3)), None);
        let mut dip = [1000.0; 20];
        dip[9] = 100.0;
        assert_eq!(change(&dip, (2, 3)), None);
        assert_eq!(change(&[3.0, 1.0, 1.0], (2, 3)), None);
        let mut dice = Dice(1);
        let noisy = (0..500).filter(|_| {
            let values: Vec<f64> = (0..20).map(|_| 1000.0 + 200.0 * dice.normal()).collect();
            change(&values, (2, 3)).is_some()
        });
        assert!(noisy.count() <= 1, "noise is no change");
    }
}
