//! When passes over a plan are enough: every rate is known narrowly, or every rate is steady over the last passes.
//!
//! Steady is what the SNIA SSS PTS says: range and slope excursion over a window of rounds. Known narrowly is Student's
//! interval of the mean over the passes; of those from the first steady window on, where both are asked. A job that is
//! paced is judged by its mean latency, as its rate is its own doing. Refuses to call two passes an interval.

use iodyno_model::{JobRecord, PhaseRecord, Plan, Record, Repeat, Rounds, RoundsRecord};

use crate::case::{self, PhaseEvidence};
use crate::quantity::{Measure, OperationSet, Quantity};
use crate::statistics::{interval, steadiness};

/// Passes that are made at most where nobody says: SNIA's 25 rounds. Source: SNIA SSS PTS.
const MOST: u32 = 25;
/// Passes of which an interval is told at least. Chosen: Student's quantile is 12.7 for two and 4.3 for three;
/// `narrow_is_when_the_widest_interval_is` stands on both sides.
const LEAST: usize = 3;
/// The confidence where nobody says, percent. Chosen: as is usual; `narrow_is_when_the_widest_interval_is` calculates
/// with it.
const CONFIDENCE_PERCENT: f64 = 95.0;

/// What is judged: a quantity of a job, pass by pass.
struct QuantityByPass {
    name: String,
    values: Vec<f64>,
}

/// Passes that are made at most.
pub fn most(repeat: &Repeat) -> u32 {
    let most = if repeat.most > 0 { repeat.most } else { MOST };
    if waits(repeat) { most.max(repeat.times) } else { repeat.times }
}

/// Whether the end is not known beforehand.
pub fn waits(repeat: &Repeat) -> bool {
    repeat.until_interval_percent > 0.0 || repeat.until_steady.is_some()
}

/// How far a repetition has come with the passes in this record.
pub fn judge(plan: &Plan, repeat: &Repeat, record: &Record) -> RoundsRecord {
    let rows = rows(plan, record);
    let passes = rows.iter().map(|row| row.values.len()).max().unwrap_or(0) as u32;
    let mut found = RoundsRecord { passes, attained: !rows.is_empty(), ..RoundsRecord::default() };
    let mut worst = 0.0;
    let mut slowest = |row: &QuantityByPass, excess: f64| {
        if excess > worst {
            worst = excess;
            found.slowest.clone_from(&row.name);
        }
        excess <= 1.0
    };
    if let Some(rounds) = &repeat.until_steady {
        let (mut range, mut slope, mut full) = (0.0f64, 0.0f64, !rows.is_empty());
        for row in &rows {
            let Some((of_range, of_slope)) = last(rounds, &row.values) else {
                full = false;
                continue;
            };
            (range, slope) =
                (range.max(of_range), if of_slope.abs() > slope.abs() { of_slope } else { slope });
            let excess = (of_range / rounds.range_percent).max(of_slope.abs() / rounds.slope_percent);
            found.attained &= slowest(row, excess);
        }
        found.steady = full.then_some((range, slope));
        found.attained &= full;
        found.window = if found.attained { rounds.window } else { 0 };
    }
    if repeat.until_interval_percent > 0.0 {
        let mut widest = Some(0.0f64);
        for row in &rows {
            let width = width_percent(repeat, &row.values);
            found.attained &= width.is_some_and(|width| slowest(row, width / repeat.until_interval_percent));
            widest = widest.zip(width).map(|(a, b)| a.max(b));
        }
        found.interval_percent = widest.filter(|_| !rows.is_empty());
    }
    found
}

/// Range and slope excursion over the last window, in percent of its mean; `None`: it is not full.
fn last(rounds: &Rounds, values: &[f64]) -> Option<(f64, f64)> {
    let window = (rounds.window as usize).max(LEAST);
    let found = steadiness(values.get(values.len().checked_sub(window)?..)?)?;
    Some((found.range_percent, found.slope_percent))
}

/// How wide the interval of the mean is, in percent of it; of the passes from the first steady window on.
fn width_percent(repeat: &Repeat, values: &[f64]) -> Option<f64> {
    let values = match &repeat.until_steady {
        Some(rounds) => &values[settled(rounds, values)?..],
        None => values,
    };
    let confidence = match repeat.confidence_percent {
        percent if percent > 0.0 => percent,
        _ => CONFIDENCE_PERCENT,
    };
    if values.len() < LEAST {
        return None;
    }
    interval::mean(values, confidence)?.width_percent()
}

/// The first pass of the first window that is steady.
fn settled(rounds: &Rounds, values: &[f64]) -> Option<usize> {
    let window = (rounds.window as usize).max(LEAST);
    (window..=values.len()).map(|end| end - window).find(|start| {
        last(rounds, &values[..start + window]).is_some_and(|(range, slope)| {
            range <= rounds.range_percent && slope.abs() <= rounds.slope_percent
        })
    })
}

/// The quantity of each job that is judged, pass by pass.
fn rows(plan: &Plan, record: &Record) -> Vec<QuantityByPass> {
    let mut rows: Vec<QuantityByPass> = Vec::new();
    for phase in &record.phases {
        let case = PhaseEvidence::new(plan, record, phase);
        if case.as_ref().is_some_and(|case| case.asked.precondition) {
            continue;
        }
        for job in &phase.jobs {
            let measure = if is_paced(case.as_ref(), job) { Measure::Mean } else { Measure::Rate };
            let quantity = Quantity::new(OperationSet::All, measure);
            let Some(value) = quantity.of(phase, job).filter(|value| *value > 0.0) else { continue };
            let name = name(phase, job, &quantity);
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.values.push(value),
                None => rows.push(QuantityByPass { name, values: vec![value] }),
            }
        }
    }
    rows
}

fn name(phase: &PhaseRecord, job: &JobRecord, quantity: &Quantity) -> String {
    let label = case::label(phase);
    match job.name == phase.name {
        true => format!("{label}: {quantity}"),
        false => format!("{label}, {}: {quantity}", job.name),
    }
}

/// Whether a job's rate is its own doing.
pub fn is_paced(case: Option<&PhaseEvidence<'_>>, record: &JobRecord) -> bool {
    let asked = case.and_then(|case| case.jobs().find(|(_, found)| found.name == record.name));
    asked.is_some_and(|(job, _)| job.pace.has_rate() || job.pace.think.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Line, Verb};

    fn record(rates: &[(u64, u64)]) -> Record {
        let mut record = Record::default();
        for (repetition, (a, b)) in rates.iter().enumerate() {
            let job = |name: &str, operations: u64| {
                let mut line = Line::empty("read", Verb::Read);
                line.operations = operations;
                let mut job = JobRecord { name: name.into(), ..JobRecord::default() };
                job.tally.lines.push(line);
                job.tally.last_done_ns = 1_000_000_000;
                job
            };
            let jobs = vec![job("a", *a), job("b", *b)];
            let repetition = repetition as u32;
            record.phases.push(PhaseRecord { name: "p".into(), repetition, jobs, ..PhaseRecord::default() });
        }
        record
    }

    fn judged(repeat: &Repeat, rates: &[(u64, u64)]) -> RoundsRecord {
        judge(&Plan::default(), repeat, &record(rates))
    }

    #[test]
    fn steady_is_when_every_job_is_over_the_last_window() {
        let repeat = Repeat { until_steady: Some(Rounds::default()), ..Repeat::default() };
        let mut rates = vec![(300, 100), (200, 100), (150, 100), (108, 101), (105, 99)];
        let found = judged(&repeat, &rates);
        assert!(!found.attained && found.passes == 5 && found.slowest == "p, a: iops", "{found:?}");
        rates.extend([(100, 100), (101, 100), (99, 100)]);
        let found = judged(&repeat, &rates);
        let (range, slope) = found.steady.unwrap();
        assert_eq!(found.window, 5);
        assert!(found.attained && (range - 9.0 / 102.6 * 100.0).abs() < 0.1 && slope < 0.0, "{found:?}");
        assert_eq!(judged(&repeat, &rates[..4]).steady, None);
        assert_eq!((most(&repeat), waits(&repeat), most(&Repeat::default())), (25, true, 1));
    }

    /// Three values 98, 100, 102: deviation 2, so the interval is 2 × 4.302653 × 2/√3 = 9.94 wide.
    #[test]
    fn narrow_is_when_the_widest_interval_is() {
        let repeat = Repeat { until_interval_percent: 10.0, ..Repeat::default() };
        let rates = [(98, 1000), (100, 1000), (102, 1000)];
        let found = judged(&repeat, &rates);
        assert!(found.attained && (found.interval_percent.unwrap() - 9.9367).abs() < 1e-3, "{found:?}");
        let strict = Repeat { until_interval_percent: 9.9, ..repeat.clone() };
        assert!(!judged(&strict, &rates).attained);
        let surer = Repeat { confidence_percent: 99.0, ..repeat.clone() };
        assert!(judged(&surer, &rates).interval_percent.unwrap() > 20.0);
        assert_eq!((judged(&repeat, &rates[..2]).attained, judged(&repeat, &[]).attained), (false, false));
    }

    #[test]
    fn the_interval_begins_where_it_became_steady() {
        let mut repeat = Repeat { until_interval_percent: 5.0, ..Repeat::default() };
        let mut rates = vec![(1000, 1000), (500, 500)];
        rates.extend([(100, 100); 5]);
        assert!(!judged(&repeat, &rates).attained);
        repeat.until_steady = Some(Rounds::default());
        assert!(judged(&repeat, &rates).attained);
    }
}
