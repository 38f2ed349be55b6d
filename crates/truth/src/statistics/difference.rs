//! Two sides of a comparison: how much more, between which two, and how often one beats the other.
//!
//! Differences are relative and symmetric: of logarithms, so that twice as fast and half as fast are equally far from the
//! same. An interval that holds 0 is no difference. Refuses p-values: they say how surprising, not how much.

use iodyno_model::Histogram;

use super::chance::{normal_quantile, reach};
use super::interval::Estimate;
use super::{sorted, variance};

/// What an interval of a difference rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Passes or runs on either side.
    Passes(usize, usize),
    /// Pairs that were run in turns.
    Pairs(usize),
    /// One run on either side: what varied within each; what varies from run to run is not in it.
    Within,
    /// One run on either side, and how so many earlier runs of the same differed.
    Earlier(usize),
}

/// A difference, in percent of the first side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The first side.
    pub before: f64,
    /// The other one.
    pub after: f64,
    /// How much more the other one is.
    pub percent: f64,
    /// It is truly not less than this.
    pub low_percent: f64,
    /// It is truly not more than this.
    pub high_percent: f64,
    pub confidence_percent: f64,
    /// How often a value of the other side is the larger one, 0 to 1; 0.5: as often as not; none: there were no values to
    /// compare. (Vargha and Delaney's A, the common-language effect size.)
    pub superiority: Option<f64>,
    /// The difference in standard deviations (Hedges' g), where both sides have several values.
    pub deviations: Option<f64>,
    /// What it rests on.
    pub basis: Basis,
}

impl Difference {
    /// Whether there is one: the interval does not hold 0.
    pub fn is_real(&self) -> bool {
        self.low_percent > 0.0 || self.high_percent < 0.0
    }

    /// The largest difference, in percent, that the interval leaves possible.
    pub fn at_most_percent(&self) -> f64 {
        self.low_percent.abs().max(self.high_percent.abs())
    }
}

/// One side as the logarithm of its figure, and how well that is known.
#[derive(Clone, Copy, Debug)]
struct LogEstimate {
    log: f64,
    /// Variance of the logarithm.
    variance: f64,
    freedom: f64,
}

/// The difference of two sides of several values that do not depend on each other (Welch). `None` where a side has fewer
/// than 2, or one that is not positive.
pub fn welch(before: &[f64], after: &[f64], confidence_percent: f64) -> Option<Difference> {
    let side = |values: &[f64]| {
        let logs = logs(values)?;
        let count = logs.len() as f64;
        let variance = variance(&logs)? / count;
        Some(LogEstimate { log: logs.iter().sum::<f64>() / count, variance, freedom: count - 1.0 })
    };
    let mut found = between(side(before)?, side(after)?, confidence_percent)?;
    found.superiority = superiority(before, after);
    found.deviations = hedges(before, after);
    found.basis = Basis::Passes(before.len(), after.len());
    Some(found)
}

/// The difference of pairs that were run in turns, which cancels what changed meanwhile. `None` below 2 pairs.
pub fn paired(before: &[f64], after: &[f64], confidence_percent: f64) -> Option<Difference> {
    let (first, other) = (logs(before)?, logs(after)?);
    if first.len() != other.len() {
        return None;
    }
    let steps: Vec<f64> = first.iter().zip(&other).map(|(a, b)| b - a).collect();
    let count = steps.len() as f64;
    let middle = steps.iter().sum::<f64>() / count;
    let reach = reach(confidence_percent, count - 1.0)? * (variance(&steps)? / count).sqrt();
    let mean = |logs: &[f64]| (logs.iter().sum::<f64>() / count).exp();
    let mut found = difference(
        (mean(&first), mean(&other)),
        middle,
        (middle - reach, middle + reach),
        confidence_percent,
    );
    found.superiority = superiority(before, after);
    found.deviations = hedges(before, after);
    found.basis = Basis::Pairs(steps.len());
    Some(found)
}

/// The difference of two means over time, each with its own error.
pub fn of_means(before: &Estimate, after: &Estimate, confidence_percent: f64) -> Option<Difference> {
    let side = |estimate: &Estimate| {
        let reach = reach(estimate.confidence_percent, estimate.effective - 1.0)?;
        let error = (estimate.high - estimate.low) / 2.0 / reach / estimate.value;
        (estimate.value > 0.0).then(|| LogEstimate {
            log: estimate.value.ln(),
            variance: error * error,
            freedom: estimate.effective - 1.0,
        })
    };
    between(side(before)?, side(after)?, confidence_percent)
}

/// The difference of two percentiles, from their intervals: each end by how far the near ends of both reach (the method of
/// variance estimates recovery, Zou and Donner 2008, on logarithms). Both must be of that confidence.
pub fn of_percentiles(before: &Estimate, after: &Estimate) -> Option<Difference> {
    let log = |estimate: &Estimate| {
        (estimate.low > 0.0).then(|| (estimate.low.ln(), estimate.value.ln(), estimate.high.ln()))
    };
    let ((low_a, a, high_a), (low_b, b, high_b)) = (log(before)?, log(after)?);
    let down = (b - low_b).hypot(high_a - a);
    let up = (high_b - b).hypot(a - low_a);
    let interval = (b - a - down, b - a + up);
    Some(difference((before.value, after.value), b - a, interval, before.confidence_percent))
}

/// Makes a difference less sure by what runs of the same thing are known to differ, as a standard deviation in percent.
pub fn widened(found: Difference, between_runs_percent: f64) -> Difference {
    let Some(reach) = normal_quantile(0.5 + found.confidence_percent / 200.0) else { return found };
    let more = reach * (between_runs_percent / 100.0).ln_1p() * std::f64::consts::SQRT_2;
    let log = |percent: f64| (percent / 100.0).ln_1p();
    let (low, middle, high) = (log(found.low_percent), log(found.percent), log(found.high_percent));
    let (low, high) = (middle - (middle - low).hypot(more), middle + (high - middle).hypot(more));
    Difference { low_percent: percent(low), high_percent: percent(high), ..found }
}

fn between(before: LogEstimate, after: LogEstimate, confidence_percent: f64) -> Option<Difference> {
    let both = before.variance + after.variance;
    // Welch and Satterthwaite; where nothing varies, everything is known.
    let part = |side: LogEstimate| side.variance * side.variance / side.freedom.max(1.0);
    let freedom = if both > 0.0 { both * both / (part(before) + part(after)) } else { 1.0 };
    let (middle, reach) = (after.log - before.log, reach(confidence_percent, freedom)? * both.sqrt());
    let sides = (before.log.exp(), after.log.exp());
    Some(difference(sides, middle, (middle - reach, middle + reach), confidence_percent))
}

fn difference(sides: (f64, f64), middle: f64, interval: (f64, f64), confidence_percent: f64) -> Difference {
    Difference {
        before: sides.0,
        after: sides.1,
        percent: percent(middle),
        low_percent: percent(interval.0),
        high_percent: percent(interval.1),
        confidence_percent,
        superiority: None,
        deviations: None,
        basis: Basis::Within,
    }
}

fn percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
}

/// How often a value of the second list is the larger one, ties counted half; `None` if one is empty.
pub fn superiority(before: &[f64], after: &[f64]) -> Option<f64> {
    let (before, pairs) = (sorted(before), before.len() as f64 * after.len() as f64);
    let below = |value: &f64| {
        let less = before.partition_point(|other| other < value);
        let at_most = before.partition_point(|other| other <= value);
        (less + at_most) as f64 / 2.0
    };
    (pairs > 0.0).then(|| after.iter().map(below).sum::<f64>() / pairs)
}

/// The same of counted values: how often an operation of the second side took longer than one of the first.
pub fn superiority_of(before: &Histogram, after: &Histogram) -> Option<f64> {
    let pairs = before.count() as f64 * after.count() as f64;
    let (mut below, mut sum, mut first) = (0u64, 0.0, before.buckets().iter().peekable());
    for (bucket, count) in after.buckets() {
        while let Some((_, count)) = first.next_if(|(other, _)| other < bucket) {
            below += count;
        }
        let same = first.peek().filter(|(other, _)| other == bucket).map_or(0, |(_, count)| *count);
        sum += (below as f64 + same as f64 / 2.0) * *count as f64;
    }
    (pairs > 0.0).then(|| sum / pairs)
}

/// The difference of means in standard deviations of both sides together, corrected for few values (Hedges' g).
fn hedges(before: &[f64], after: &[f64]) -> Option<f64> {
    let (a, b) = (before.len() as f64, after.len() as f64);
    let pooled = ((a - 1.0) * variance(before)? + (b - 1.0) * variance(after)?) / (a + b - 2.0);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let correction = 1.0 - 3.0 / (4.0 * (a + b) - 9.0);
    (pooled > 0.0).then(|| (mean(after) - mean(before)) / pooled.sqrt() * correction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::interval;
    use crate::statistics::testing::Noise;

    const BEFORE: [f64; 5] = [100.0, 104.0, 98.0, 101.0, 103.0];
    const AFTER: [f64; 4] = [106.0, 109.0, 104.0, 110.0];

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} is not {expected}");
    }

    /// scipy 1.17: `ttest_ind(log b, log a, equal_var=False)`, `ttest_rel`, `mannwhitneyu`, and Hedges' own formula.
    #[test]
    fn differences_and_effect_sizes_are_scipys() {
        let found = welch(&BEFORE, &AFTER, 95.0).unwrap();
        near(found.percent, 5.975626875130846);
        near(found.low_percent, 1.7875412632395227);
        near(found.high_percent, 10.336032801226125);
        near(found.superiority.unwrap(), 0.975);
        near(found.deviations.unwrap(), 2.1081799642306125);
        assert!(found.is_real() && found.basis == Basis::Passes(5, 4));
        let found = paired(&[100.0, 104.0, 98.0, 101.0], &[103.0, 109.0, 101.0, 106.0], 95.0).unwrap();
        near(found.percent, 3.9507299266531515);
        near(found.low_percent, 2.2634658906282246);
        near(found.high_percent, 5.665832447345798);
    }

    #[test]
    fn counted_values_beat_each_other_as_single_ones_do() {
        let mut noise = Noise::new(2);
        let mut draw = |scale: f64| (0..200).map(|_| (noise.unit() * scale) as u64).collect::<Vec<u64>>();
        let (a, b) = (draw(200.0), draw(250.0));
        let histogram = |values: &[u64]| {
            let mut counted = Histogram::default();
            values.iter().for_each(|value| counted.add(*value));
            counted
        };
        let float = |values: &[u64]| values.iter().map(|value| *value as f64).collect::<Vec<_>>();
        near(
            superiority_of(&histogram(&a), &histogram(&b)).unwrap(),
            superiority(&float(&a), &float(&b)).unwrap(),
        );
        assert_eq!(superiority(&[], &[1.0]), None);
    }

    #[test]
    fn the_same_is_no_difference_as_often_as_it_says_and_five_percent_are_found() {
        let mut noise = Noise::new(21);
        let (mut same, mut found) = (0, 0);
        for _ in 0..1000 {
            let mut rows = |mean: f64| (0..30).map(|_| mean + 3.0 * noise.normal()).collect::<Vec<f64>>();
            let mut side = |mean| interval::mean_over_time(&rows(mean), 95.0).unwrap();
            let (a, b, c) = (side(100.0), side(100.0), side(105.0));
            same += u32::from(!of_means(&a, &b, 95.0).unwrap().is_real());
            found += u32::from(of_means(&a, &c, 95.0).unwrap().is_real());
        }
        assert!((925..=985).contains(&same), "{same} of 1000");
        assert!(found > 990, "{found} of 1000");
    }

    #[test]
    fn percentiles_differ_by_their_intervals() {
        let mut noise = Noise::new(31);
        let mut counted = |scale: f64| {
            let mut histogram = Histogram::default();
            (0..2000).for_each(|_| histogram.add((scale * (1.0 - noise.unit().ln())) as u64));
            interval::percentile(&histogram, 99.0, 1.0, 95.0).unwrap()
        };
        let same = (0..300).filter(|_| !of_percentiles(&counted(1e5), &counted(1e5)).unwrap().is_real());
        let same = same.count();
        assert!((275..=299).contains(&same), "{same} of 300");
        assert!(of_percentiles(&counted(1e5), &counted(1.5e5)).unwrap().is_real());
    }

    #[test]
    fn what_runs_differ_by_makes_a_difference_less_sure() {
        let found = welch(&BEFORE, &AFTER, 95.0).unwrap();
        let wider = widened(found, 3.0);
        assert!(wider.low_percent < 0.0 && wider.high_percent > found.high_percent, "{wider:?}");
        let same = widened(found, 0.0);
        near(same.low_percent, found.low_percent);
        assert_eq!(welch(&[0.0, 1.0], &AFTER, 95.0), None);
    }
}
