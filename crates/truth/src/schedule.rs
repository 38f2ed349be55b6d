//! Lie 9: coordinated omission. A rate was asked for, the storage stalled, and the operations that were due meanwhile are
//! counted from when they at last began.
//!
//! Proof: how late the schedule was. Where the intended starts were kept, both distributions lie side by side; where
//! they were not (`open_loop = false`), each operation that took longer than its slot held up the ones behind it, as many
//! as were due in that time. Refuses to call queueing a lie where the latency from the intended start is the one told.

use iodyno_model::{
    Figure, FindingKind, Histogram, Job, JobRecord, Kind, Line, Rate, Remedy, Severity, Verb, histogram,
    units,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// The percentile that is compared. Chosen: a stall of a hundredth of the time moves it; `latency_without_the_waiting`
/// calculates it.
const PERCENT: f64 = 99.0;
/// Shorter lateness is that of timers and wake-ups, ns. Chosen: several turns of the scheduler;
/// `latency_without_the_waiting` stands on both sides.
const LEAST_LATE_NS: f64 = 10_000_000.0;
/// The percentile from the intended start is so many times that from the actual one. Chosen: less may be the
/// histogram's and the reckoning's own; `lateness_of_three_times_is_no_coincidence` stands on both sides.
const LEAST_TIMES: f64 = 3.0;
/// Operations that were held up by one, at most: beyond that the answer is the same. Chosen: bounds the work;
/// `latency_without_the_waiting` stands on one side only.
const MOST_HELD: u64 = 1_000_000;

/// Jobs of this phase whose latency leaves out the time they were late.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let paced = case.jobs().filter(|(job, _)| job.pace.has_rate() && job.pace.think.is_none());
    paced.filter_map(|(job, record)| judged(case, job, record)).collect()
}

/// The latencies of a job from the actual and from the intended start.
struct Both {
    actual: Histogram,
    intended: Histogram,
    kept: bool,
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let both = kept(record).or_else(|| reckoned(job, record))?;
    let [actual, intended] = [&both.actual, &both.intended].map(|all| all.percentile(PERCENT) as f64);
    if intended - actual < LEAST_LATE_NS || intended < LEAST_TIMES * actual {
        return None;
    }
    let sentence = format!(
        "the schedule was late: p{PERCENT} is {} from the actual start and {} from when the operations were due",
        units::duration(actual),
        units::duration(intended)
    );
    let mut figures = vec![
        Figure::new("p99 from the actual start", actual, "ns"),
        Figure::new("p99 from the intended start", intended, "ns"),
        Figure::new("mean from the actual start", both.actual.mean(), "ns"),
        Figure::new("mean from the intended start", both.intended.mean(), "ns"),
        Figure::new("longest from the actual start", both.actual.max as f64, "ns"),
    ];
    figures.extend(asked(job).map(|rate| Figure::new("rate asked of each worker", rate, "1/s")));
    // Who shows the honest one drops the finding by its remedy; for everybody else it is the figure that is shown.
    let remedy = if both.kept { Remedy::ReadIntendedLatency } else { Remedy::SetOpenLoop };
    let found =
        Suspicion::new(FindingKind::CoordinatedOmission, Severity::Doubtful, case.label(), sentence, figures);
    // So many of them must have been held up.
    let needs = 1.0 - PERCENT / 100.0;
    Some(found.job(&record.name).remedy(remedy).weight(intended / actual.max(1.0)).needs(needs))
}

fn is_paced(line: &&Line) -> bool {
    matches!(line.verb.kind(), Kind::Read | Kind::Write | Kind::Trim | Kind::Network | Kind::Metadata)
}

/// Both distributions as they were counted.
fn kept(record: &JobRecord) -> Option<Both> {
    let mut both = Both { actual: Histogram::default(), intended: Histogram::default(), kept: true };
    for line in record.tally.lines.iter().filter(is_paced) {
        if let Some(service) = &line.service {
            both.actual.merge(service);
            both.intended.merge(&line.latency);
        }
    }
    (!both.intended.is_empty()).then_some(both)
}

/// The second calculated from the first: behind each operation that outlasted its slot, those that were due meanwhile.
fn reckoned(job: &Job, record: &JobRecord) -> Option<Both> {
    let depth = f64::from(job.depth.most.max(1));
    let gap_ns = (depth * 1e9 / asked(job)?) as u64;
    let mut both = Both { actual: Histogram::default(), intended: Histogram::default(), kept: false };
    record.tally.lines.iter().filter(is_paced).for_each(|line| both.actual.merge(&line.latency));
    if gap_ns == 0 || both.actual.is_empty() {
        return None;
    }
    both.intended.merge(&both.actual);
    let late =
        both.actual.buckets().iter().filter(|(bucket, _)| histogram::lower_edge(*bucket as usize) > gap_ns);
    for (bucket, count) in late {
        let took = histogram::middle(*bucket as usize).min(both.actual.max);
        // A few representatives of those held up, each standing for as many as the others.
        let held = (took / gap_ns).min(MOST_HELD);
        let shown = held.min(64);
        for step in 0..shown {
            let waited = took - gap_ns * (1 + step * held / shown.max(1)).min(held);
            let stands_for = held * (step + 1) / shown - held * step / shown;
            add(&mut both.intended, waited, count * stands_for);
        }
    }
    Some(both)
}

fn add(all: &mut Histogram, value: u64, count: u64) {
    let bucket = histogram::bucket_of(value) as u32;
    let counts = (0..=bucket).map(|index| if index == bucket { count } else { 0 });
    all.merge(&Histogram::from_counts(counts, u128::from(value) * u128::from(count), value, value));
}

/// Operations per second that each worker was to begin; `None` for a rate in bytes of mixed sizes or several rates.
fn asked(job: &Job) -> Option<f64> {
    let rate = &job.pace.rate;
    let mut asked = [
        (job.pace.rate_all, None),
        (rate.read, Some(Verb::Read)),
        (rate.write, Some(Verb::Write)),
        (rate.trim, Some(Verb::Trim)),
    ]
    .into_iter()
    .filter(|(rate, _)| *rate != Rate::Unlimited);
    match (asked.next()?.0, asked.next()) {
        (Rate::Operations(rate), None) if rate > 0.0 => Some(rate),
        _ => None,
    }
}
