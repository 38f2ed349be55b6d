//! Where a row over time changes its level, and whether it lived on credit.
//!
//! The row is cut so that its stretches are as flat as possible for their number (least squares, optimal partitioning:
//! Jackson 2005), after single outliers were taken out; then neighbours are joined that do not truly differ. Refuses to
//! call a spike, a slow drift's every step, or noise a change.

use std::ops::Range;

use super::{mad, median, superiority};

/// Rows that a level has at least. Chosen: single outliers are taken out by a median of three;
/// `noise_and_spikes_are_no_changes` and `changes_are_found_where_they_are` stand on both sides.
pub const LEAST_ROWS: usize = 3;
/// Rows that are cut at most; longer rows are joined in pairs before. Chosen: the work grows with the square;
/// `long_rows_are_cut_too` and `changes_are_found_where_they_are` stand on both sides.
const MOST_ROWS: usize = 1024;
/// How much two levels differ at least, percent of the larger one. Chosen: less is no news;
/// `levels_of_one_in_twenty_apart_are_news` stands on both sides.
const LEAST_PERCENT: f64 = 5.0;
/// How many errors of their means two levels are apart at least. Chosen: chance exceeds 4.5 seven times in 10⁶, and
/// cuts are the best of many; `noise_and_spikes_are_no_changes` and `changes_are_found_where_they_are` stand on both
/// sides.
const LEAST_ERRORS: f64 = 4.5;
/// How often a row of one level is larger than one of the other, at least. Chosen: of normal values, one and a half
/// deviations apart; `noise_and_spikes_are_no_changes` and `changes_are_found_where_they_are` stand on both sides.
const LEAST_SUPERIORITY: f64 = 0.85;

/// A stretch of a row over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub rows: Range<usize>,
    /// Their median.
    pub middle: f64,
    /// Their median absolute deviation.
    pub deviation: f64,
}

/// The levels of a row over time, in order; one where nothing changed, none of fewer than twice [`LEAST_ROWS`] rows.
pub fn levels(values: &[f64]) -> Vec<Level> {
    if values.len() < 2 * LEAST_ROWS {
        return Vec::new();
    }
    let joined = values.len().div_ceil(MOST_ROWS);
    let short: Vec<f64> =
        values.chunks(joined).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let price = noise(&short);
    let mut cuts: Vec<usize> = cuts(&smooth(&short), price).into_iter().map(|cut| cut * joined).collect();
    cuts.push(values.len());
    let noise = if joined == 1 { price } else { noise(values) };
    // The weakest step goes first, as those beside it may become one with it.
    while let Some(weakest) = weakest(values, &cuts, noise) {
        cuts.remove(weakest);
    }
    let mut start = 0;
    cuts.into_iter().map(|end| level(values, std::mem::replace(&mut start, end)..end)).collect()
}

fn level(values: &[f64], rows: Range<usize>) -> Level {
    let part = &values[rows.clone()];
    Level { rows, middle: median(part).unwrap_or(0.0), deviation: mad(part).unwrap_or(0.0) }
}

/// The cut whose two sides differ least, if they do not truly differ.
fn weakest(values: &[f64], cuts: &[usize], noise: f64) -> Option<usize> {
    let start = |index: usize| if index == 0 { 0 } else { cuts[index - 1] };
    let strength = |index: usize| {
        let (before, after) = (&values[start(index)..cuts[index]], &values[cuts[index]..cuts[index + 1]]);
        let larger = superiority(before, after).map_or(0.5, |share| share.max(1.0 - share));
        let (a, b) = (median(before).unwrap_or(0.0), median(after).unwrap_or(0.0));
        let percent = (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE) * 100.0;
        let error = noise * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
        (larger / LEAST_SUPERIORITY).min(percent / LEAST_PERCENT).min((a - b).abs() / error / LEAST_ERRORS)
    };
    let steps = (0..cuts.len().saturating_sub(1)).map(|index| (strength(index), index));
    let weakest = steps.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (weakest.0 < 1.0).then_some(weakest.1)
}

/// Each value as the median of itself and its neighbours.
fn smooth(values: &[f64]) -> Vec<f64> {
    let at = |index: usize| match index {
        0 => values[0],
        last if last + 1 == values.len() => values[last],
        index => median(&values[index - 1..=index + 1]).unwrap_or(values[index]),
    };
    (0..values.len()).map(at).collect()
}

/// Where to cut, so that the squares that are left, and a price for each cut, are least together.
fn cuts(values: &[f64], noise: f64) -> Vec<usize> {
    let count = values.len();
    let (mut sums, mut squares) = (vec![0.0; count + 1], vec![0.0; count + 1]);
    let centre = values.iter().sum::<f64>() / count as f64;
    for (index, value) in values.iter().enumerate() {
        let value = value - centre;
        sums[index + 1] = sums[index] + value;
        squares[index + 1] = squares[index] + value * value;
    }
    let left = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        squares[to] - squares[from] - sum * sum / (to - from) as f64
    };
    let price = 3.0 * noise.powi(2) * (count as f64).ln();
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-price, 0);
    for to in LEAST_ROWS..=count {
        for from in (0..=to - LEAST_ROWS).filter(|from| *from == 0 || *from >= LEAST_ROWS) {
            let cost = best[from].0 + left(from, to) + price;
            if cost < best[to].0 {
                best[to] = (cost, from);
            }
        }
    }
    let mut found = Vec::new();
    let mut at = best[count].1;
    while at > 0 {
        found.push(at);
        at = best[at].1;
    }
    found.reverse();
    found
}

/// The deviation of the noise: by steps from row to row, which a change of level hardly moves.
fn noise(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = median(values).unwrap_or(0.0).abs();
    // Of normal values, the median step is 0.6745 × √2 deviations; less than a thousandth is no noise to live with.
    let found = median(&steps.iter().map(|step| step.abs()).collect::<Vec<_>>()).unwrap_or(0.0) / 0.954;
    found.max(middle / 1000.0).max(f64::MIN_POSITIVE)
}

/// A row that was fast, and then no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credit {
    /// How many rows were fast.
    pub rows: usize,
    /// How fast: the median of those rows.
    pub fast: f64,
    /// How fast it was from then on.
    pub slow: f64,
    /// The median absolute deviation of the slow rows, in percent of their median: a throttle is flat.
    pub flat_percent: f64,
    /// What was moved beyond the slow rate until then, in rows' worth of it.
    pub credit: f64,
}

/// How much slower a row has become at least that lived on credit, percent. Chosen: three times what makes a level;
/// `credit_is_fast_and_then_no_more` stands on both sides.
const FALL_PERCENT: f64 = 15.0;

/// Credit that was used up: every level until a change is at least 15 % above every level after it, at which it then
/// stays. `None`: it never fell so, or rose again.
pub fn credit(values: &[f64]) -> Option<Credit> {
    let levels = levels(values);
    let lowest = |part: &[Level]| part.iter().map(|level| level.middle).fold(f64::INFINITY, f64::min);
    let highest = |part: &[Level]| part.iter().map(|level| level.middle).fold(0.0, f64::max);
    let fall = |cut: usize| highest(&levels[cut..]) / lowest(&levels[..cut]);
    let cut = (1..levels.len()).min_by(|a, b| fall(*a).total_cmp(&fall(*b)))?;
    if fall(cut) > 1.0 - FALL_PERCENT / 100.0 {
        return None;
    }
    let rows = levels[cut].rows.start;
    let (before, after) = values.split_at(rows);
    let (fast, slow) = (median(before)?, median(after)?);
    let flat_percent = mad(after)? / slow.max(f64::MIN_POSITIVE) * 100.0;
    let credit = (before.iter().sum::<f64>() - slow * rows as f64) / slow.max(f64::MIN_POSITIVE);
    Some(Credit { rows, fast, slow, flat_percent, credit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    fn row(noise: &mut Noise, parts: &[(usize, f64)], deviation: f64) -> Vec<f64> {
        let each = parts.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        each.map(|level| level + deviation * noise.normal()).collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut noise = Noise::new(1);
        for _ in 0..50 {
            let values = row(&mut noise, &[(20, 1000.0), (30, 400.0), (15, 700.0)], 40.0);
            let found = levels(&values);
            let ends: Vec<usize> = found.iter().map(|level| level.rows.end).collect();
            assert_eq!(ends.len(), 3, "{found:?}");
            assert!(ends[0].abs_diff(20) <= 1 && ends[1].abs_diff(50) <= 1, "{ends:?}");
            assert!((found[1].middle - 400.0).abs() < 40.0);
        }
    }

    #[test]
    fn levels_of_one_in_twenty_apart_are_news() {
        let found = |percent: f64| levels(&[[1000.0; 20], [1000.0 - 10.0 * percent; 20]].concat()).len();
        assert_eq!([4.9, 5.1].map(found), [1, 2]);
    }

    #[test]
    fn noise_and_spikes_are_no_changes() {
        let mut noise = Noise::new(4);
        let mut changed = 0;
        for index in 0..300 {
            let mut values = row(&mut noise, &[(60, 1000.0)], if index % 2 == 0 { 30.0 } else { 200.0 });
            values[17] = 100.0;
            values[41] = 3000.0;
            changed += usize::from(levels(&values).len() > 1);
        }
        assert!(changed <= 6, "{changed} of 300");
        assert_eq!(levels(&[5.0; 40]).len(), 1);
        assert_eq!(levels(&[1.0; 5]), []);
    }

    #[test]
    fn long_rows_are_cut_too() {
        let mut noise = Noise::new(6);
        let found = levels(&row(&mut noise, &[(3000, 50.0), (4200, 80.0)], 4.0));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].rows.end.abs_diff(3000) <= 16);
    }

    #[test]
    fn credit_is_fast_and_then_no_more() {
        let mut noise = Noise::new(8);
        let found = credit(&row(&mut noise, &[(10, 3000.0), (30, 600.0)], 20.0)).unwrap();
        assert!((9..=11).contains(&found.rows), "{found:?}");
        assert!((found.fast / found.slow - 5.0).abs() < 0.3 && found.flat_percent < 5.0, "{found:?}");
        assert!((found.credit - 40.0).abs() < 3.0, "{found:?}");
        let silent = [
            vec![(40, 1000.0)],
            vec![(10, 400.0), (30, 1000.0)],
            vec![(10, 1000.0), (10, 500.0), (20, 1000.0)],
            vec![(20, 1000.0), (20, 930.0)],
        ];
        for parts in silent {
            assert_eq!(credit(&row(&mut noise, &parts, 20.0)), None, "{parts:?}");
        }
    }
}
