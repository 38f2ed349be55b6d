//! Whether a row over time drifts by more than it scatters.
//!
//! Ranks instead of values, so that neither a bend nor a single outlier matters; the scatter is measured in the row, with
//! what neighbours in time have in common. Refuses to assume how large it is.

use super::chance::t_quantile;
use super::correlation::autocorrelation;
use super::steadiness;

/// The chance that a row which does not drift is said to. Chosen: a tenth of the false alarms that are borne (1 %), as
/// real rows are not quite what the test assumes; `what_only_scatters_is_not_doubted` and `what_falls_is_doubted` stand
/// on both sides.
const CHANCE: f64 = 0.001;
/// Figures that a line takes from a row. Source: its height and its slope.
const FITTED: f64 = 2.0;
/// The most that neighbours are taken to have in common. Chosen: what is left of a row must be worth something;
/// `what_neighbours_have_in_common_is_no_drift` stands on one side only.
const MOST_COMMON: f64 = 0.95;

/// Whether a line through the ranks of values rises or falls by more than their scatter about it explains. Neighbours have
/// in common what is left of the first autocorrelation (Santer et al. 2000, adjusted error and freedom), which a fit makes
/// too small by about (2 + 4r)/n (Marriott and Pope 1954).
pub fn drifts(values: &[f64]) -> bool {
    let ranks = ranks(values);
    let Some(found) = steadiness(&ranks) else { return false };
    let count = ranks.len() as f64;
    let slope = found.slope_percent / 100.0 * found.mean / (count - 1.0);
    let line = |index: usize| found.mean + slope * (index as f64 - (count - 1.0) / 2.0);
    let rest: Vec<f64> = ranks.iter().enumerate().map(|(index, rank)| rank - line(index)).collect();
    let common = (count * autocorrelation(&rest, 1) + FITTED) / (count - 2.0 * FITTED).max(1.0);
    let common = common.clamp(0.0, MOST_COMMON);
    let effective = count * (1.0 - common) / (1.0 + common);
    let squares: f64 = rest.iter().map(|rest| rest * rest).sum();
    // A row that never turns leaves nothing to have in common.
    if squares < count * f64::EPSILON {
        return slope != 0.0 && count >= LEAST_ROWS as f64;
    }
    let run = count * (count * count - 1.0) / 12.0;
    let error = (squares / (effective - FITTED) / run).sqrt();
    t_quantile(1.0 - CHANCE / 2.0, effective - FITTED).is_some_and(|most| slope.abs() > most * error)
}

/// Rows that never turn have a chance of [`CHANCE`] by themselves if they are this few: 2/7! is below it. Source: the
/// number of orders; `a_row_that_never_turns_drifts_if_it_is_long_enough`.
const LEAST_ROWS: usize = 7;

/// The rank of each value, equal ones the middle of theirs.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let sorted = super::sorted(values);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let equal = sorted.partition_point(|other| other <= value);
        (below + equal + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    #[test]
    fn ranks_of_equal_values_are_their_middle() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn a_row_that_never_turns_drifts_if_it_is_long_enough() {
        let falling: Vec<f64> = (0..8).map(|index| 100.0 / (1.0 + f64::from(index))).collect();
        assert!(drifts(&falling) && drifts(&falling[..7]) && !drifts(&falling[..6]));
        assert!(!drifts(&[5.0; 20]) && !drifts(&[]));
    }

    /// An autoregressive row drifts for a while, and comes back.
    #[test]
    fn what_neighbours_have_in_common_is_no_drift() {
        let mut noise = Noise::new(4);
        let mut found = |kept: f64, slope: f64| {
            let mut last = 0.0;
            let row: Vec<f64> = (0..60)
                .map(|index| {
                    last = kept * last + noise.normal();
                    100.0 + last + slope * f64::from(index)
                })
                .collect();
            drifts(&row)
        };
        let mut of_500 = |kept, slope| (0..500).filter(|_| found(kept, slope)).count();
        let found = [(0.0, 0.0), (0.6, 0.0), (0.0, 0.1), (0.6, 0.2)].map(|(kept, slope)| of_500(kept, slope));
        assert!(found[0] <= 3 && found[1] <= 10 && found[2] >= 490 && found[3] >= 400, "{found:?}");
    }
}
