//! Two sides of a comparison, record by record: which quantities differ, by how much, and how surely.
//!
//! Each side is one or several records of the same plan; passes of a phase are values of their own. Where both sides have
//! at least two passes, the interval is that of the passes; otherwise of what varied within each run, and says so.
//! Refuses to judge whether two runs may be compared at all: that is disclosure's business.

use iodyno_model::{JobRecord, PhaseRecord, Record};

use crate::case;
use crate::quantity::{KINDS, Measure, OperationSet, Quantity};
use crate::samples::LEAST_BEYOND;
use crate::statistics::difference::{of_means, of_percentiles, superiority_of};
use crate::statistics::{Basis, Difference, chance, welch};

/// Percentiles that are compared where enough lies beyond them. Chosen: the middle, and tails each ten times as rare;
/// `runs_of_the_same_are_the_same_and_five_percent_are_not` compares those that 3,000 samples allow.
const PERCENTS: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// A job that both sides have.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// The phase, with its place in a sweep.
    pub phase: String,
    pub job: String,
    /// Its passes on the first side.
    pub before: Vec<(&'a PhaseRecord, &'a JobRecord)>,
    /// Its passes on the other side.
    pub after: Vec<(&'a PhaseRecord, &'a JobRecord)>,
}

/// A quantity of a job on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantityPair {
    /// The phase, with its place in a sweep.
    pub phase: String,
    pub job: String,
    /// What is compared.
    pub quantity: Quantity,
    /// Its values: the medians of the passes.
    pub values: (f64, f64),
    /// How they differ; `None`: the runs are too short to tell.
    pub difference: Option<Difference>,
}

impl QuantityPair {
    /// What it comes to, where figures that differ by at most so many percent count as the same.
    pub fn verdict(&self, margin_percent: f64) -> DifferenceVerdict {
        let Some(found) = self.difference else { return DifferenceVerdict::Unknown };
        if found.is_real() && !self.is_of_one_run() {
            let better = (found.percent > 0.0) == self.quantity.measure.more_is_better();
            return if better { DifferenceVerdict::Better } else { DifferenceVerdict::Worse };
        }
        match found.at_most_percent() <= margin_percent {
            true => DifferenceVerdict::Same,
            false => DifferenceVerdict::Unknown,
        }
    }

    /// Whether it truly became better (`Some(true)`) or worse; `None`: no difference was found.
    pub fn is_better(&self) -> Option<bool> {
        match self.verdict(0.0) {
            DifferenceVerdict::Better => Some(true),
            DifferenceVerdict::Worse => Some(false),
            DifferenceVerdict::Same | DifferenceVerdict::Unknown => None,
        }
    }

    /// Whether it is a percentile of one run on either side: how much that differs from run to run is not in its interval,
    /// and is more than what varies within.
    pub fn is_of_one_run(&self) -> bool {
        let within = self.difference.is_some_and(|found| found.basis == Basis::Within);
        within && matches!(self.quantity.measure, Measure::Percentile(_))
    }
}

/// What a difference comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceVerdict {
    /// It truly became better.
    Better,
    /// It truly became worse.
    Worse,
    /// It differs by no more than what counts as the same.
    Same,
    /// It may be the same, or not.
    Unknown,
}

/// The jobs that both sides have, in the first one's order.
pub fn pairs<'a>(before: &[&'a Record], after: &[&'a Record]) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for (phase, job) in jobs(before) {
        let (phase_name, name) = (case::label(phase), job.name.clone());
        match pairs.iter_mut().find(|pair| pair.phase == phase_name && pair.job == name) {
            Some(pair) => pair.before.push((phase, job)),
            None => pairs.push(Pair {
                phase: phase_name,
                job: name,
                before: vec![(phase, job)],
                after: Vec::new(),
            }),
        }
    }
    for (phase, job) in jobs(after) {
        let label = case::label(phase);
        if let Some(pair) = pairs.iter_mut().find(|pair| pair.phase == label && pair.job == job.name) {
            pair.after.push((phase, job));
        }
    }
    pairs.retain(|pair| !pair.after.is_empty());
    pairs
}

/// Every job of every pass that is a result: where steadiness was waited for, those of the last passes.
fn jobs<'a>(records: &[&'a Record]) -> Vec<(&'a PhaseRecord, &'a JobRecord)> {
    let mut found = Vec::new();
    for record in records {
        let window = record.rounds.as_ref().map_or(0, |rounds| rounds.window as usize);
        for (index, phase) in record.phases.iter().enumerate() {
            let same =
                |other: &&PhaseRecord| other.name == phase.name && other.coordinates == phase.coordinates;
            let later = record.phases[index + 1..].iter().filter(same).count();
            if window == 0 || later < window {
                found.extend(phase.jobs.iter().map(|job| (phase, job)));
            }
        }
    }
    found
}

impl Pair<'_> {
    /// What there is to compare: of each kind that both sides have, rates, means and the percentiles that rest on enough.
    pub fn quantities(&self) -> Vec<Quantity> {
        let mut found = Vec::new();
        for (_, kind) in KINDS {
            let what = OperationSet::Kind(kind);
            let has = |side: &[(&PhaseRecord, &JobRecord)]| {
                side.iter().any(|(_, job)| job.tally.operations(kind) > 0)
            };
            if !has(&self.before) || !has(&self.after) {
                continue;
            }
            let moves = self.before.iter().any(|(_, job)| job.tally.bytes(kind) > 0);
            found.push(Quantity::new(what.clone(), Measure::Rate));
            found.extend(moves.then(|| Quantity::new(what.clone(), Measure::Bandwidth)));
            let mean = Quantity::new(what.clone(), Measure::Mean);
            let beyond = |side: &[(&PhaseRecord, &JobRecord)], percent| {
                side.iter().map(|(_, job)| mean.latency(job).beyond(percent)).sum::<u64>()
            };
            let enough = |percent: &f64| {
                beyond(&self.before, *percent).min(beyond(&self.after, *percent)) >= LEAST_BEYOND
            };
            let percents = PERCENTS.into_iter().filter(|percent| enough(percent));
            found.extend(percents.map(|percent| Quantity::new(what.clone(), Measure::Percentile(percent))));
        }
        found
    }

    /// How a quantity differs; `None`: one side has none of it, or is too short to tell.
    pub fn difference(&self, quantity: &Quantity, confidence_percent: f64) -> Option<Difference> {
        let values = |side: &[(&PhaseRecord, &JobRecord)]| {
            side.iter().filter_map(|(phase, job)| quantity.of(phase, job)).collect::<Vec<f64>>()
        };
        let (before, after) = (values(&self.before), values(&self.after));
        let mut found = if before.len() >= 2 && after.len() >= 2 {
            welch(&before, &after, confidence_percent)?
        } else {
            self.within(quantity, confidence_percent)?
        };
        if matches!(quantity.measure, Measure::Percentile(50.0) | Measure::Mean) {
            let all = |side: &[(&PhaseRecord, &JobRecord)]| {
                let mut all = iodyno_model::Histogram::default();
                side.iter().for_each(|(_, job)| all.merge(&quantity.latency(job)));
                all
            };
            // Of latencies, what one operation has to expect says more than passes do; of a tail it says nothing.
            found.superiority = superiority_of(&all(&self.before), &all(&self.after));
        }
        Some(found)
    }

    fn within(&self, quantity: &Quantity, confidence_percent: f64) -> Option<Difference> {
        let before = quantity.estimate(&self.before, confidence_percent)?;
        let after = quantity.estimate(&self.after, confidence_percent)?;
        let mut found = match quantity.measure {
            Measure::Percentile(_) => of_percentiles(&before, &after)?,
            _ => of_means(&before, &after, confidence_percent)?,
        };
        let rows = |side: &[(&PhaseRecord, &JobRecord)]| {
            side.iter().filter_map(|(_, job)| quantity.rows(job)).collect::<Vec<_>>().concat()
        };
        found.superiority = crate::statistics::superiority(&rows(&self.before), &rows(&self.after));
        found.basis = Basis::Within;
        Some(found)
    }

    /// All there is to compare, each interval so wide that all of this job hold together with that confidence.
    pub fn compare(&self, confidence_percent: f64) -> Vec<QuantityPair> {
        let quantities = self.quantities();
        let each = chance::each_of(confidence_percent, quantities.len());
        let median = |side: &[(&PhaseRecord, &JobRecord)], quantity: &Quantity| {
            let values: Vec<f64> = side.iter().filter_map(|(phase, job)| quantity.of(phase, job)).collect();
            crate::statistics::median(&values)
        };
        let compared = quantities.into_iter().filter_map(|quantity| {
            Some(QuantityPair {
                phase: self.phase.clone(),
                job: self.job.clone(),
                values: (median(&self.before, &quantity)?, median(&self.after, &quantity)?),
                difference: self.difference(&quantity, each),
                quantity,
            })
        });
        compared.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::testing::Noise;
    use iodyno_model::{Line, Series, SeriesRow, Verb};

    /// Thirty seconds of a device with noise, as fast as that.
    fn record(noise: &mut Noise, speed: f64, passes: u32) -> Record {
        let mut record = Record::default();
        for repetition in 0..passes {
            let mut line = Line::empty("read", Verb::Read);
            (0..3000).for_each(|_| line.latency.add((1e5 / speed * (1.0 - noise.unit().ln())) as u64));
            let mut row = || SeriesRow {
                reads: (10_000.0 * speed + 200.0 * noise.normal()) as u64,
                ..SeriesRow::default()
            };
            let rows: Vec<SeriesRow> = (0..30).map(|_| row()).collect();
            line.operations = rows.iter().map(|row| row.reads).sum();
            let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
            job.tally.lines.push(line);
            (job.tally.first_done_ns, job.tally.last_done_ns) = (30_000_000_000, 30_000_000_000);
            job.tally.series = Series { interval_ns: 1_000_000_000, rows, ..Series::default() };
            let phase =
                PhaseRecord { name: "p".into(), repetition, jobs: vec![job], ..PhaseRecord::default() };
            record.phases.push(phase);
        }
        record
    }

    fn differs(before: &Record, after: &Record) -> Vec<QuantityPair> {
        let pairs = pairs(&[before], &[after]);
        assert_eq!(pairs.len(), 1);
        pairs[0].compare(95.0)
    }

    #[test]
    fn runs_of_the_same_are_the_same_and_five_percent_are_not() {
        let mut noise = Noise::new(77);
        for (passes, basis) in [(1, Basis::Within), (5, Basis::Passes(5, 5))] {
            let (mut silent, runs) = (0, 40);
            for _ in 0..runs {
                let (a, b) = (record(&mut noise, 1.0, passes), record(&mut noise, 1.0, passes));
                silent += u32::from(differs(&a, &b).iter().all(|one| one.is_better().is_none()));
            }
            assert!(silent >= 34, "{silent} of {runs} with {passes} passes");
            let (a, b) = (record(&mut noise, 1.0, passes), record(&mut noise, 0.95, passes));
            let found = differs(&a, &b);
            let names: Vec<String> = found.iter().map(|one| one.quantity.to_string()).collect();
            assert_eq!(names[..3], ["read.iops", "read.p50", "read.p99"], "{names:?}");
            assert_eq!(found[0].is_better(), Some(false), "{found:?}");
            assert_eq!(found[0].difference.unwrap().basis, basis);
            assert!((found[0].difference.unwrap().percent + 5.0).abs() < 1.5);
        }
    }

    #[test]
    fn a_verdict_needs_a_margin_and_more_than_one_run_for_a_tail() {
        let figure = |measure, low_percent, percent, high_percent, basis| QuantityPair {
            phase: "p".into(),
            job: "j".into(),
            quantity: Quantity::new(OperationSet::Kind(iodyno_model::Kind::Read), measure),
            values: (100.0, 100.0 + percent),
            difference: Some(Difference {
                before: 100.0,
                after: 100.0 + percent,
                percent,
                low_percent,
                high_percent,
                confidence_percent: 95.0,
                superiority: None,
                deviations: None,
                basis,
            }),
        };
        let passes = Basis::Passes(5, 5);
        let rate = |low, percent, high| figure(Measure::Rate, low, percent, high, passes).verdict(10.0);
        assert_eq!(rate(-42.0, 20.0, 773.0), DifferenceVerdict::Unknown);
        assert_eq!(rate(-4.0, 1.0, 6.0), DifferenceVerdict::Same);
        assert_eq!(rate(2.0, 3.0, 4.0), DifferenceVerdict::Better);
        assert_eq!(rate(-30.0, -20.0, -10.0), DifferenceVerdict::Worse);
        let tail = |basis| figure(Measure::Percentile(99.0), 40.0, 129.0, 200.0, basis);
        assert_eq!(tail(Basis::Within).verdict(10.0), DifferenceVerdict::Unknown, "one run on either side");
        assert_eq!((tail(Basis::Within).is_better(), tail(passes).is_better()), (None, Some(false)));
        assert_eq!(tail(Basis::Earlier(8)).verdict(10.0), DifferenceVerdict::Worse);
    }

    #[test]
    fn passes_before_it_was_steady_are_not_compared() {
        let mut noise = Noise::new(8);
        let mut record = record(&mut noise, 1.0, 6);
        record.rounds = Some(iodyno_model::RoundsRecord { window: 5, ..Default::default() });
        assert_eq!(pairs(&[&record], &[&record])[0].before.len(), 5);
    }

    #[test]
    fn what_only_one_side_has_is_not_compared() {
        let mut noise = Noise::new(5);
        let (a, mut b) = (record(&mut noise, 1.0, 1), record(&mut noise, 1.0, 1));
        b.phases[0].name = "other".into();
        assert!(pairs(&[&a], &[&b]).is_empty());
    }
}
