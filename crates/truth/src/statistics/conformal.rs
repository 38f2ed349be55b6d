//! Whether a stream of values has changed its level, asked anew at each value for months, with a bound on false alarms.
//!
//! Each value gets a p-value by its rank among the earlier ones of its stratum (a conformal p-value, within strata a Mondrian
//! one). As long as the values of a stratum are exchangeable, p-values are uniform and independent whatever the distribution
//! of the values is (Vovk, Nouretdinov and Gammerman 2003). Bets against that are multiplied; their Shiryaev-Roberts sum
//! rises by 1 a value on average as long as nothing changes, so the mean number of values between two false alarms is at
//! least the sum's threshold (Vovk 2021, conformal Shiryaev-Roberts procedure). Where a change lies is told by the ranks
//! of both sides.
//!
//! It refuses to bet before a stratum has [`LEAST_KNOWN`] values. Values that depend on their neighbours raise more false
//! alarms than the bound says.

/// Values of a stratum before there is a bet on the next one. Chosen: among three, a rank says next to nothing, so earlier
/// bets only add noise; `a_step_is_found_soon_and_its_place_is_told` stands on one side.
pub const LEAST_KNOWN: usize = 3;
/// Exponents of the bets, all of them at once: e·p^(e-1) wins where p-values are small. Source: the power martingale of Vovk,
/// Nouretdinov and Gammerman 2003, mixed over its parameter.
const BETS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Which way a level went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDirection {
    Up,
    Down,
}

/// Watches one stream of values.
#[derive(Clone, Debug)]
pub struct ChangeMonitor {
    /// What is known of each stratum, sorted.
    strata: Vec<Vec<f64>>,
    threshold: f64,
    up: [f64; BETS.len()],
    down: [f64; BETS.len()],
    count: u64,
}

impl ChangeMonitor {
    /// A monitor for values of so many strata, that raises at most one false alarm in so many values on average.
    pub fn new(strata: usize, values_between_false_alarms: f64) -> Self {
        ChangeMonitor {
            strata: vec![Vec::new(); strata.max(1)],
            // Either direction may raise one.
            threshold: values_between_false_alarms.max(1.0) * 2.0,
            up: [0.0; BETS.len()],
            down: [0.0; BETS.len()],
            count: 0,
        }
    }

    /// Takes in a value that is no news.
    pub fn learn(&mut self, stratum: usize, value: f64) {
        let known = self.stratum(stratum);
        known.insert(known.partition_point(|other| *other < value), value);
    }

    /// The next value; which way the level went, once that is beyond doubt. Bets begin anew then.
    pub fn push(&mut self, stratum: usize, value: f64) -> Option<ChangeDirection> {
        self.count += 1;
        let (chance, known) = (even(self.count), self.stratum(stratum));
        let below = known.partition_point(|other| *other < value);
        let equal = known[below..].partition_point(|other| *other <= value);
        let (count, above) = (known.len(), known.len() - below - equal);
        known.insert(below, value);
        if count < LEAST_KNOWN {
            return None;
        }
        let p = (above as f64 + chance * (equal as f64 + 1.0)) / (count as f64 + 1.0);
        let found = [(ChangeDirection::Up, p), (ChangeDirection::Down, 1.0 - p)]
            .into_iter()
            .find(|(direction, p)| self.bet(*direction, *p) >= self.threshold);
        found.map(|(direction, _)| {
            (self.up, self.down) = Default::default();
            direction
        })
    }

    /// The sum of one direction after a bet.
    fn bet(&mut self, direction: ChangeDirection, p: f64) -> f64 {
        let sums = match direction {
            ChangeDirection::Up => &mut self.up,
            ChangeDirection::Down => &mut self.down,
        };
        for (sum, exponent) in sums.iter_mut().zip(BETS) {
            *sum = (1.0 + *sum) * exponent * p.max(f64::MIN_POSITIVE).powf(exponent - 1.0);
        }
        sums.iter().sum::<f64>() / BETS.len() as f64
    }

    fn stratum(&mut self, number: usize) -> &mut Vec<f64> {
        let at = number % self.strata.len();
        &mut self.strata[at]
    }
}

/// A number above 0 and below 1 that follows from the place of a value alone: equal values are told apart by it.
fn even(count: u64) -> f64 {
    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    let mut mixed = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Values that either side of an onset has at least. Chosen: ranks of two say nothing;
/// `a_step_is_found_soon_and_its_place_is_told` stands beyond it.
const LEAST_SIDE: usize = 3;

/// The first value of the later level, where a row has two: where the ranks of both sides differ most, in deviations of what
/// chance makes of sides so long (Mann and Whitney 1947; Pettitt 1979 does without, and misses short sides).
pub fn onset(values: &[f64]) -> Option<usize> {
    let count = values.len() as f64;
    let ranks = super::drift::ranks(values);
    let mut sum = 0.0;
    let apart = ranks.iter().enumerate().map(|(at, rank)| {
        sum += rank;
        let before = (at + 1) as f64;
        let variance = before * (count - before) * (count + 1.0) / 12.0;
        (at + 1, (sum - before * (count + 1.0) / 2.0).abs() / variance.max(1.0).sqrt())
    });
    let inner = apart.filter(|(at, _)| *at >= LEAST_SIDE && at + LEAST_SIDE <= values.len());
    inner.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    /// Values until the first alarm of a stream in which nothing changes, at most so many.
    fn quiet(seed: u64, between: f64, most: u64) -> Option<u64> {
        let (mut noise, mut monitor) = (Noise::new(seed), ChangeMonitor::new(1, between));
        // Heavy tails, as latencies have: the rank does not mind.
        (1..=most).find(|_| monitor.push(0, (2.0 * noise.normal()).exp()).is_some())
    }

    #[test]
    fn false_alarms_are_as_rare_as_promised() {
        // The mean of 40 streams, cut at three times the bound, is below the true mean.
        let waits = (0..40).map(|seed| quiet(seed, 500.0, 1_500).unwrap_or(1_500));
        let mean = waits.sum::<u64>() / 40;
        assert!(mean > 500, "an alarm in {mean} values");
        let alarms = (100..110).filter(|seed| quiet(*seed, 1e6, 2_000).is_some()).count();
        assert_eq!(alarms, 0);
    }

    #[test]
    fn a_step_is_found_soon_and_its_place_is_told() {
        for (seed, factor, direction) in [(1, 1.5, ChangeDirection::Up), (2, 0.7, ChangeDirection::Down)] {
            let (mut noise, mut monitor) = (Noise::new(seed), ChangeMonitor::new(1, 1e6));
            let mut values = Vec::new();
            let found = (0..400).find_map(|at| {
                let level = if at < 300 { 1.0 } else { factor };
                values.push(level * (0.1 * noise.normal()).exp());
                Some((at, monitor.push(0, values[at])?))
            });
            let (at, way) = found.expect("it is three deviations");
            assert!(way == direction && (300..315).contains(&at), "{way:?} at {at}");
            let onset = onset(&values).unwrap();
            assert!((298..=302).contains(&onset), "{onset}");
        }
    }

    #[test]
    fn a_rhythm_within_strata_is_no_change() {
        let run = |changed: f64| {
            let (mut noise, mut monitor) = (Noise::new(5), ChangeMonitor::new(24, 1e5));
            let hours = 0..24 * 60;
            let told = hours.filter(|hour| {
                let busy = if (9..17).contains(&(hour % 24)) { 3.0 } else { 1.0 };
                let level = if *hour < 24 * 40 { busy } else { busy * changed };
                monitor.push(hour % 24, level * (0.1 * noise.normal()).exp()).is_some()
            });
            told.count()
        };
        assert_eq!(run(1.0), 0);
        assert!(run(1.3) > 0, "a third more is less than the rhythm, and still a change");
    }

    #[test]
    fn equal_values_are_no_change() {
        let mut monitor = ChangeMonitor::new(1, 1e4);
        assert!((0..3_000).all(|_| monitor.push(0, 7.0).is_none()));
    }
}
