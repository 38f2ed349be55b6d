//! What neighbours in time have in common: how many independent values a row is worth, and when its warm-up was over.
//!
//! A second that follows a fast one is fast, too: whoever takes a thousand such for a thousand independent values finds
//! differences where there are none. Refuses rows so short that nothing can be told of them, by assuming the worst where
//! that is wide and independence where it is not known.

use iodyno_model::Series;
use iodyno_model::histogram::{COARSE, coarse_edges};

/// Rows below which correlation cannot be reported. Chosen: the least of which two pairs of neighbours are summed;
/// `correlated_values_are_worth_fewer` stands on both sides.
const LEAST_ROWS: usize = 8;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The autocorrelation of values at that distance; 0 where nothing varies.
pub fn autocorrelation(values: &[f64], distance: usize) -> f64 {
    let centre = mean(values);
    let all: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    if all <= 0.0 || distance >= values.len() {
        return 0.0;
    }
    let pairs = values.iter().zip(&values[distance..]);
    pairs.map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / all
}

/// How many independent values would tell as much about the mean: at least 2, at most as many as there are.
///
/// The sum of autocorrelations ends with the first pair of neighbours that is not positive together (Geyer 1992, initial
/// positive sequence), so that its noise is not added up.
pub fn effective_count(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < LEAST_ROWS {
        return count;
    }
    let mut sum = 0.0;
    for pair in 0..values.len() / 4 {
        let both = autocorrelation(values, 2 * pair + 1) + autocorrelation(values, 2 * pair + 2);
        if both <= 0.0 {
            break;
        }
        sum += both;
    }
    (count / (1.0 + 2.0 * sum)).clamp(2.0, count)
}

/// By how much the operations of a row of latencies have to be divided to be independent as to a percentile: how much
/// more the share beyond it varies from row to row than chance alone would let it. At least 1; 1 where the rows tell
/// nothing.
pub fn inflation(series: &Series, percent: f64) -> f64 {
    let rows: Vec<&Vec<(u16, u32)>> = series.latencies.iter().filter(|row| !row.is_empty()).collect();
    if rows.len() < LEAST_ROWS {
        return 1.0;
    }
    let Some(edge) = edge(&rows, percent) else { return 1.0 };
    let counts = rows.iter().map(|row| {
        let beyond: u64 = row.iter().filter(|(bucket, _)| *bucket > edge).map(|(_, n)| u64::from(*n)).sum();
        (beyond as f64, row.iter().map(|(_, n)| f64::from(*n)).sum::<f64>())
    });
    let counts: Vec<(f64, f64)> = counts.collect();
    let (beyond, all) = counts.iter().fold((0.0, 0.0), |(a, b), (beyond, all)| (a + beyond, b + all));
    let share = beyond / all;
    if share <= 0.0 || share >= 1.0 {
        return 1.0;
    }
    let rest: Vec<f64> = counts.iter().map(|(beyond, all)| beyond - share * all).collect();
    let together = rest.len() as f64 / effective_count(&rest);
    let found = rest.iter().map(|rest| rest * rest).sum::<f64>() * together;
    (found / (all * share * (1.0 - share))).max(1.0)
}

/// The coarse bucket above which the share of all operations is nearest to what lies beyond a percentile.
fn edge(rows: &[&Vec<(u16, u32)>], percent: f64) -> Option<u16> {
    let mut sums = vec![0u64; COARSE];
    for (bucket, count) in rows.iter().flat_map(|row| row.iter()) {
        if let Some(sum) = sums.get_mut(usize::from(*bucket)) {
            *sum += u64::from(*count);
        }
    }
    let all: u64 = sums.iter().sum();
    let (wanted, mut below, mut best) = (percent / 100.0 * all as f64, 0, None);
    for (bucket, count) in sums.iter().enumerate().filter(|(_, count)| **count > 0) {
        below += count;
        let off = (below as f64 - wanted).abs();
        if below < all && best.is_none_or(|(least, _)| off < least) {
            best = Some((off, bucket as u16));
        }
    }
    best.map(|(_, bucket)| bucket)
}

/// The middle of a coarse bucket of latencies, ns: where its operations are taken to lie.
pub fn coarse_middle(bucket: u16) -> f64 {
    let (low, high) = coarse_edges(usize::from(bucket).min(COARSE - 1));
    low as f64 + (high - low) as f64 / 2.0
}

/// Rows at the beginning that are not like the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    pub rows: usize,
    /// Their mean.
    pub before: f64,
    /// The mean of the others.
    pub after: f64,
}

/// Values that MSER takes together. Source: White 1997, MSER-5.
const BATCH: usize = 5;

/// How much warm-up and rest differ at least, percent of the rest. Chosen: less is no news;
/// `a_warm_up_is_found_and_none_is_made_up`.
const WARM_UP_PERCENT: f64 = 5.0;

/// The warm-up of a row of values, if it has one: the beginning without which the mean is known best (White 1997, MSER-5),
/// where that is at most half of it, differs by at least 5 % and by more than chance.
pub fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let batch = if values.len() >= 10 * BATCH { BATCH } else { 1 };
    let means: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
    if means.len() < LEAST_ROWS {
        return None;
    }
    let score = |cut: usize| {
        let (rest, centre) = (&means[cut..], mean(&means[cut..]));
        rest.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let cut = (0..=means.len() / 2).min_by(|a, b| score(*a).total_cmp(&score(*b)))?;
    let rows = cut * batch;
    if rows == 0 {
        return None;
    }
    let (first, rest) = values.split_at(rows);
    let (before, after) = (mean(first), mean(rest));
    let variance = rest.iter().map(|value| (value - after).powi(2)).sum::<f64>() / rest.len() as f64;
    let chance = 4.0 * (variance / (rows as f64).min(effective_count(rest))).sqrt();
    let gap = (before - after).abs();
    (gap > chance && gap > after.abs() * WARM_UP_PERCENT / 100.0).then_some(WarmUp { rows, before, after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    /// `numpy`: sums of products of neighbours over the sum of squares.
    #[test]
    fn autocorrelation_is_numpys() {
        let values = [1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 2.0];
        for (distance, expected) in
            [(1, 0.3591954022988505), (2, -0.3850574712643678), (3, -0.47413793103448265)]
        {
            assert!((autocorrelation(&values, distance) - expected).abs() < 1e-12);
        }
        assert_eq!(autocorrelation(&[5.0; 20], 1), 0.0);
    }

    /// An autoregressive row with coefficient a is worth (1 - a)/(1 + a) of its values.
    #[test]
    fn correlated_values_are_worth_fewer() {
        let mut noise = Noise::new(3);
        let independent: Vec<f64> = (0..2000).map(|_| noise.normal()).collect();
        assert!(effective_count(&independent) > 1500.0);
        let mut last = 0.0;
        let row: Vec<f64> = (0..2000)
            .map(|_| {
                last = 0.8 * last + noise.normal();
                last
            })
            .collect();
        let found = effective_count(&row);
        assert!((2000.0 / 9.0 * 0.6..2000.0 / 9.0 * 1.6).contains(&found), "{found}");
        assert_eq!(effective_count(&[1.0, 2.0, 3.0]), 3.0);
        // Of a slope each row is like the one before: of eight that can be reported, of seven it cannot.
        let slope: Vec<f64> = (1..=8).map(f64::from).collect();
        assert!(effective_count(&slope) < 7.0 && effective_count(&slope[..7]) == 7.0);
    }

    #[test]
    fn latencies_that_come_in_waves_are_worth_fewer() {
        let row = |slow: u32| vec![(100u16, 1000 - slow), (200u16, slow)];
        let mut noise = Noise::new(5);
        let even = Series {
            latencies: (0..60).map(|_| row((10.0 + 3.16 * noise.normal()).max(0.0) as u32)).collect(),
            ..Series::default()
        };
        let found = inflation(&even, 99.0);
        assert!((1.0..2.0).contains(&found), "{found}");
        let waves = |index: usize| if index % 20 < 10 { 1 } else { 19 };
        let waves =
            Series { latencies: (0..60).map(|index| row(waves(index))).collect(), ..Series::default() };
        assert!(inflation(&waves, 99.0) > 20.0, "{}", inflation(&waves, 99.0));
        assert_eq!(inflation(&Series::default(), 99.0), 1.0);
    }

    #[test]
    fn a_warm_up_is_found_and_none_is_made_up() {
        let mut noise = Noise::new(11);
        let mut steady = || (0..60).map(|_| 100.0 + 2.0 * noise.normal()).collect::<Vec<f64>>();
        let made_up = (0..200).filter(|_| warm_up(&steady()).is_some()).count();
        assert!(made_up <= 2, "{made_up} of 200");
        let mut cold = steady();
        (0..10).for_each(|index| cold[index] = 40.0 + 5.0 * index as f64);
        let found = warm_up(&cold).unwrap();
        assert!((5..=15).contains(&found.rows) && (found.after - 100.0).abs() < 3.0, "{found:?}");
    }
}
