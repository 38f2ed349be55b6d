//! Earlier runs of the same thing: how much it differs from run to run, which two single runs cannot tell.
//!
//! The same is what has no contrast: the plan, but for its seed, and what it ran on. It refuses to learn from fewer than
//! six, and from the runs that are compared.

use iodyno_history::{Filter, History, State, StoredRun};
use iodyno_model::{Record, RunStart};
use iodyno_report::plan_diff::{Weight, contrasts};
use iodyno_truth::compare::{QuantityPair, pairs};
use iodyno_truth::statistics::difference::widened;
use iodyno_truth::statistics::{Basis, Difference, chance, median};

/// Runs that are looked at, the newest first, and runs that are learned from.
const LOOKED_AT: u32 = 200;
const MOST: usize = 30;
/// Fewer say nothing.
const LEAST: usize = 6;
/// A normal deviate is larger than this in half of all cases.
const QUARTILE: f64 = 0.674_489_750_196_081_7;

/// Earlier runs of the same as one of these, which are left out.
pub fn of(history: &History, compared: &[(i64, RunStart, Record)]) -> Vec<Record> {
    let Some((_, started, record)) = compared.first() else { return Vec::new() };
    let filter = Filter {
        most: LOOKED_AT,
        host: Some(started.machine.host.clone()),
        state: Some(State::Complete),
        ..Filter::default()
    };
    // What cannot be read says nothing.
    let entries = history.list(&filter).unwrap_or_default();
    let others = entries
        .iter()
        .rev()
        .filter(|entry| entry.name == record.name && compared.iter().all(|(id, ..)| *id != entry.id));
    let kept = others.filter_map(|entry| history.load(&entry.id.to_string()).ok());
    let same = |kept: &StoredRun| {
        let found = contrasts((started, record), (&kept.started, &kept.record));
        found.iter().all(|contrast| contrast.weight == Weight::Passing)
    };
    kept.filter(same).take(MOST).map(|kept| kept.record).collect()
}

/// A figure's difference, made less sure by what runs of the same differ beyond what is in its interval.
pub fn settled(mut figure: QuantityPair, siblings: &[&Record]) -> QuantityPair {
    let Some(found) = figure.difference.filter(|found| found.basis == Basis::Within) else { return figure };
    let pairs = pairs(siblings, siblings);
    let pair = pairs.iter().find(|pair| pair.phase == figure.phase && pair.job == figure.job);
    let values = pair.into_iter().flat_map(|pair| &pair.before);
    let values: Vec<f64> = values.filter_map(|(phase, job)| figure.quantity.of(phase, job)).collect();
    if let Some(deviation) = deviation(&values) {
        figure.difference =
            Some(Difference { basis: Basis::Earlier(values.len()), ..beyond(found, deviation) });
    }
    figure
}

/// The standard deviation of the logarithms, from steps between neighbours: one change of level is one step of many.
fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < LEAST || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let steps: Vec<f64> = values.windows(2).map(|two| (two[1].ln() - two[0].ln()).abs()).collect();
    Some(median(&steps)? / QUARTILE / std::f64::consts::SQRT_2)
}

/// The interval already has in it what varies within a run.
fn beyond(found: Difference, deviation: f64) -> Difference {
    let Some(reach) = chance::normal_quantile(0.5 + found.confidence_percent / 200.0) else { return found };
    let log = |percent: f64| (percent / 100.0).ln_1p();
    let within = (log(found.high_percent) - log(found.low_percent)) / 2.0 / reach / std::f64::consts::SQRT_2;
    let more = deviation * deviation - within * within;
    if more > 0.0 { widened(found, more.sqrt().exp_m1() * 100.0) } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Difference {
        Difference {
            before: 100.0,
            after: 103.0,
            percent: 3.0,
            low_percent: 2.0,
            high_percent: 4.0,
            confidence_percent: 95.0,
            superiority: None,
            deviations: None,
            basis: Basis::Within,
        }
    }

    #[test]
    fn what_runs_differ_widens_an_interval_once() {
        assert_eq!(beyond(found(), 0.001), found(), "that much is in it");
        let wide = beyond(found(), 0.03);
        assert!(!wide.is_real() && wide.percent == 3.0, "{wide:?}");
        let reach = (wide.high_percent - wide.low_percent) / 2.0;
        assert!((reach - 1.96 * 3.0 * std::f64::consts::SQRT_2).abs() < 0.4, "{wide:?}");
    }

    #[test]
    fn a_change_of_level_is_no_noise() {
        let levels = [100.0, 101.0, 100.0, 102.0, 101.0, 150.0, 151.0, 150.0, 152.0, 151.0];
        assert!(deviation(&levels).unwrap() < 0.02, "{:?}", deviation(&levels));
        assert_eq!(deviation(&levels[..5]), None);
    }
}
