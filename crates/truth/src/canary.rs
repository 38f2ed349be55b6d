//! What the points of a canary (`iodyno watch`) say: whether a figure has become slower than it was, since when and by how much.
//!
//! Points are gathered into blocks: one for each hour, compared with the same hour of other days, so that the rhythm of a day
//! is no change; or each point for itself. A change is told once the stream's monitor is sure
//! ([`conformal`](crate::statistics::conformal)), it has lasted for some blocks and is as large as asked for. What was known
//! before it then counts at the new level, so that a return is seen as soon as the change was.

use crate::statistics::conformal::{ChangeDirection, ChangeMonitor, onset};
use crate::statistics::median;

/// Blocks that a change has lasted for before it is told. Chosen: one backup of an hour is no change of the storage;
/// `a_burst_is_no_change` stands on one side.
const LEAST_BLOCKS: usize = 6;
/// Blocks that are looked through for the beginning of a change. Chosen: a month of hours; a change is found much sooner, and
/// `a_slowdown_is_told_with_its_day_and_size_and_so_is_its_end` needs the days before it.
const LOOKED_AT: usize = 720;
/// An hour, ns.
pub const HOUR_NS: u64 = 3_600_000_000_000;
/// Strata of a day.
const HOURS: usize = 24;

/// What points are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Any earlier point.
    None,
    /// The same hour of earlier days, an hour's points as one.
    Day,
}

/// What makes a change worth telling.
#[derive(Clone, Copy, Debug)]
pub struct CanaryRules {
    pub rhythm: Rhythm,
    /// How much slower or faster it is at least, percent.
    pub least_percent: f64,
    /// Blocks of one figure between two false alarms of it, on average.
    pub blocks_between_false_alarms: f64,
}

/// A change of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CanaryChange {
    /// The first block of the new level, and the one that left no doubt: ns since 1970.
    pub since_unix_ns: u64,
    pub told_unix_ns: u64,
    /// The new level in parts of the one before it.
    pub ratio: f64,
}

/// One figure over time.
#[derive(Clone, Debug)]
pub struct CanarySeries {
    rules: CanaryRules,
    monitor: ChangeMonitor,
    /// Closed blocks since the last change: when, and the logarithm of the value, earlier ones at the present level.
    blocks: Vec<(u64, f64)>,
    /// Blocks in front, which are of before the last change.
    carried: usize,
    /// The hour under way, and its points.
    open: Option<(u64, Vec<f64>)>,
    /// The present level in parts of the one that was learned first.
    factor: f64,
    pub changes: Vec<CanaryChange>,
}

impl CanarySeries {
    pub fn new(rules: CanaryRules) -> Self {
        CanarySeries {
            rules,
            monitor: Self::monitor(rules),
            blocks: Vec::new(),
            carried: 0,
            open: None,
            factor: 1.0,
            changes: Vec::new(),
        }
    }

    fn monitor(rules: CanaryRules) -> ChangeMonitor {
        ChangeMonitor::new(HOURS, rules.blocks_between_false_alarms)
    }

    /// The next point; the change that it leaves no doubt of. Values that are not positive say nothing.
    pub fn push(&mut self, at_unix_ns: u64, value: f64) -> Option<CanaryChange> {
        if value <= 0.0 || !value.is_finite() {
            return None;
        }
        if self.rules.rhythm == Rhythm::None {
            return self.close(at_unix_ns, value.ln());
        }
        let hour = at_unix_ns / HOUR_NS;
        match &mut self.open {
            Some((open, values)) if *open == hour => {
                values.push(value);
                None
            }
            open => {
                let closed = open.replace((hour, vec![value]));
                let (hour, values) = closed?;
                self.close(hour * HOUR_NS, median(&values)?.ln())
            }
        }
    }

    /// The present level in parts of the one that was learned.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Whether it is slower than it was by as much as is worth telling.
    pub fn is_slower(&self) -> bool {
        self.factor >= 1.0 + self.rules.least_percent / 100.0
    }

    /// Blocks that are closed.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    fn stratum(&self, at_unix_ns: u64) -> usize {
        match self.rules.rhythm {
            Rhythm::None => 0,
            Rhythm::Day => (at_unix_ns / HOUR_NS) as usize % HOURS,
        }
    }

    fn close(&mut self, at_unix_ns: u64, value: f64) -> Option<CanaryChange> {
        self.blocks.push((at_unix_ns, value));
        let direction = self.monitor.push(self.stratum(at_unix_ns), value)?;
        let (first, shift) = self.step()?;
        let is_long = self.blocks.len() - first >= LEAST_BLOCKS;
        let is_so = (shift > 0.0) == (direction == ChangeDirection::Up);
        let percent = (shift.abs().exp() - 1.0) * 100.0;
        if !is_so || !is_long || percent < self.rules.least_percent {
            return None;
        }
        let change = CanaryChange {
            since_unix_ns: self.blocks[first].0,
            told_unix_ns: at_unix_ns,
            ratio: shift.exp(),
        };
        self.changes.push(change);
        self.factor *= change.ratio;
        self.settle(first, shift);
        Some(change)
    }

    /// The first block of the new level, and how much higher it is: blocks are compared with those of their stratum before.
    fn step(&self) -> Option<(usize, f64)> {
        let from = self.blocks.len().saturating_sub(LOOKED_AT);
        let all = &self.blocks[from..];
        let levels: Vec<Option<f64>> = (0..HOURS).map(|hour| self.level(all, hour)).collect();
        let aside = |(at, value): &(u64, f64), levels: &[Option<f64>]| {
            levels[self.stratum(*at)].map(|level| value - level)
        };
        let values: Vec<f64> = all.iter().filter_map(|block| aside(block, &levels)).collect();
        // A change lies behind what was carried over from the level before.
        let first = onset(&values)?.max(self.carried.saturating_sub(from));
        let (before, after) = all.split_at(first.min(all.len()));
        let levels: Vec<Option<f64>> = (0..HOURS).map(|hour| self.level(before, hour)).collect();
        let differences: Vec<f64> = after.iter().filter_map(|block| aside(block, &levels)).collect();
        Some((from + first, median(&differences)?))
    }

    /// The median of a stratum's blocks.
    fn level(&self, blocks: &[(u64, f64)], stratum: usize) -> Option<f64> {
        let of = blocks.iter().filter(|(at, _)| self.stratum(*at) == stratum);
        median(&of.map(|(_, value)| *value).collect::<Vec<_>>())
    }

    /// The new level is what is known from now on.
    fn settle(&mut self, first: usize, shift: f64) {
        self.blocks[..first].iter_mut().for_each(|(_, value)| *value += shift);
        self.carried = first;
        let mut monitor = Self::monitor(self.rules);
        self.blocks.iter().for_each(|(at, value)| monitor.learn(self.stratum(*at), *value));
        self.monitor = monitor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;

    const RULES: CanaryRules =
        CanaryRules { rhythm: Rhythm::Day, least_percent: 10.0, blocks_between_false_alarms: 1e6 };

    /// Hours with a busy part of the day, at a level that is told for each of them.
    fn hours(seed: u64, count: u64, level: impl Fn(u64) -> f64) -> CanarySeries {
        let (mut noise, mut series) = (Noise::new(seed), CanarySeries::new(RULES));
        for hour in 0..count {
            let busy = if (9..17).contains(&(hour % 24)) { 2.0 } else { 1.0 };
            for part in 0..2 {
                let value = 1e5 * level(hour) * busy * (0.1 * noise.normal()).exp();
                series.push(hour * HOUR_NS + part * HOUR_NS / 2, value);
            }
        }
        series
    }

    #[test]
    fn weeks_in_which_nothing_changes_are_quiet() {
        for seed in 0..5 {
            assert_eq!(hours(seed, 24 * 60, |_| 1.0).changes, []);
        }
    }

    #[test]
    fn a_slowdown_is_told_with_its_day_and_size_and_so_is_its_end() {
        let (begin, end) = (24 * 21, 24 * 28);
        let series = hours(3, 24 * 35, |hour| if (begin..end).contains(&hour) { 1.3 } else { 1.0 });
        let [slower, faster] = series.changes[..] else { panic!("{:?}", series.changes) };
        assert!(slower.since_unix_ns.abs_diff(begin * HOUR_NS) <= 2 * HOUR_NS, "{slower:?}");
        assert!(slower.told_unix_ns < (begin + 30) * HOUR_NS, "{slower:?}");
        assert!((slower.ratio - 1.3).abs() < 0.05, "{slower:?}");
        assert!(faster.since_unix_ns.abs_diff(end * HOUR_NS) <= 2 * HOUR_NS, "{faster:?}");
        assert!(!series.is_slower() && (series.factor() - 1.0).abs() < 0.05, "{}", series.factor());
    }

    #[test]
    fn what_is_small_is_not_told() {
        assert_eq!(hours(4, 24 * 40, |hour| if hour > 500 { 1.04 } else { 1.0 }).changes, []);
    }

    #[test]
    fn a_burst_is_no_change() {
        assert_eq!(hours(5, 24 * 40, |hour| if (600..603).contains(&hour) { 5.0 } else { 1.0 }).changes, []);
    }

    #[test]
    fn points_for_themselves_are_found_sooner() {
        let rules = CanaryRules { rhythm: Rhythm::None, ..RULES };
        let (mut noise, mut series) = (Noise::new(1), CanarySeries::new(rules));
        let told = (0..400u64).find_map(|at| {
            let level = if at < 300 { 1e5 } else { 1.5e5 };
            series.push(at * 1_000, level * (0.1 * noise.normal()).exp())
        });
        let change = told.expect("it is half as much again");
        assert!((298_000..=302_000).contains(&change.since_unix_ns), "{change:?}");
        assert!(series.is_slower());
    }
}
