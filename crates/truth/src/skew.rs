//! Lie 14: an average that hides stalled workers: some are done early or do much, others hang behind.
//!
//! Proof: each worker's own rate and end. Workers of one job are to do the same; where they wait for different times, do
//! scripts with each other or are slowed down on purpose, nothing is said.

use iodyno_model::{Figure, FindingKind, Job, JobRecord, Remedy, Severity, WorkerRecord, Workload, units};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;
use crate::statistics::median;

/// A worker this much slower than the median one stalled. Chosen: twice as slow is no scatter; `workers_that_stall`
/// stands on both sides.
const LEAST_SHARE: f64 = 0.5;
/// Workers this close to each other, without what the machine made them wait, did not stall. Chosen: a steady rate may
/// range over 20 %; `workers_that_stall` stands on both sides.
const MOST_ALIKE: f64 = 0.8;
/// Deviations of counting noise that must lie between. Chosen: chance exceeds it twice in 10⁹; `workers_that_stall`
/// stands on both sides.
const LEAST_DEVIATIONS: f64 = 6.0;
/// Share of the workers' time without work at the end from which the mean is one of fewer workers, in percent. Chosen:
/// what a steady rate may range over (finding 7); `workers_that_stall` stands on both sides.
const MOST_IDLE_PERCENT: f64 = 20.0;
/// Shorter ends are start-up and stop (23), ns. Chosen: a worker starts and stops within milliseconds;
/// `an_end_of_workers_is_a_tail_from_a_tenth_of_a_second_on` stands on both sides.
const LEAST_TAIL_NS: u64 = 100_000_000;

/// Jobs of this phase with workers that hang behind.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (_, record) in case.jobs().filter(|(job, _)| are_alike(job)) {
        let workers: Vec<&WorkerRecord> = record
            .workers
            .iter()
            .filter(|worker| worker.failure.is_none() && worker.operations > 0)
            .collect();
        if workers.len() < 2 || !is_own_doing(&workers) {
            found.extend(worn(case, record));
            continue;
        }
        let skew = slowest(case, record, &workers).or_else(|| tail(case, record, &workers));
        found.extend(worn(case, record).or(skew));
    }
    found
}

/// Whether its workers all do the same in the same way.
fn are_alike(job: &Job) -> bool {
    let paced = job.pace.has_rate() || job.pace.think.is_some() || !job.pace.shared.is_empty();
    let scattered = job.start.spread_ns > 0 || job.pace.latency_target.is_some();
    !paced && !scattered && !matches!(job.workload, Workload::Trace(_))
}

/// Operations per second while it ran.
fn rate(worker: &WorkerRecord) -> f64 {
    worker.operations as f64 * 1e9 / ran_ns(worker).max(1) as f64
}

fn ran_ns(worker: &WorkerRecord) -> u64 {
    worker.ended_ns.saturating_sub(worker.began_ns)
}

/// How long it ran and did not wait for a processor: a machine that is too busy is another lie (11).
fn unhindered_ns(worker: &WorkerRecord) -> u64 {
    ran_ns(worker).saturating_sub(worker.waited_ns.unwrap_or(0)).max(1)
}

/// Whether the workers would have been as far apart with a processor for each: by the time or by the rate of the slowest
/// against the quickest.
fn is_own_doing(workers: &[&WorkerRecord]) -> bool {
    let pace = |worker: &&WorkerRecord| worker.operations as f64 / unhindered_ns(worker) as f64;
    let paces = || workers.iter().map(pace);
    let quickest = paces().fold(0.0, f64::max);
    let slowest = paces().fold(f64::INFINITY, f64::min);
    slowest <= MOST_ALIKE * quickest
}

fn slowest(case: &PhaseEvidence<'_>, record: &JobRecord, workers: &[&WorkerRecord]) -> Option<Suspicion> {
    let rates: Vec<f64> = workers.iter().map(|worker| rate(worker)).collect();
    let usual = if rates.len() == 2 { rates[0].max(rates[1]) } else { median(&rates)? };
    let slow = workers.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let seconds = slow.ended_ns.saturating_sub(slow.began_ns) as f64 / 1e9;
    // What the usual worker does in that time, against what this one did.
    let (expected, did) = (usual * seconds, rate(slow) * seconds);
    if rate(slow) > LEAST_SHARE * usual || expected - did < LEAST_DEVIATIONS * expected.sqrt() {
        return None;
    }
    let stalled = rates.iter().filter(|rate| **rate <= LEAST_SHARE * usual).count();
    let sentence = format!(
        "{stalled} of {} workers stalled: worker {} did {}/s where others did {}/s; their mean hides it",
        workers.len(),
        slow.index,
        units::count(rate(slow)),
        units::count(usual)
    );
    let figures = vec![
        Figure::new("workers", workers.len() as f64, ""),
        Figure::new("stalled", stalled as f64, ""),
        Figure::new("slowest worker", rate(slow), "1/s"),
        Figure::new("usual worker", usual, "1/s"),
    ];
    let found = suspicion(case, record, sentence, figures, Remedy::CompareWorkers);
    Some(found.weight(usual / rate(slow).max(1e-9)).takes(1.0 - rate(slow) / usual))
}

fn tail(case: &PhaseEvidence<'_>, record: &JobRecord, workers: &[&WorkerRecord]) -> Option<Suspicion> {
    let began = workers.iter().map(|worker| worker.began_ns).min()?;
    let first = workers.iter().map(|worker| worker.ended_ns).min()?;
    let last = workers.iter().map(|worker| worker.ended_ns).max()?;
    let whole = last.saturating_sub(began) as f64;
    let idle: f64 = workers.iter().map(|worker| (last - worker.ended_ns) as f64).sum();
    let percent = idle / (whole * workers.len() as f64).max(1.0) * 100.0;
    if percent < MOST_IDLE_PERCENT || last - first < LEAST_TAIL_NS {
        return None;
    }
    let sentence = format!(
        "the first of {} workers was done after {}, the last after {}: for {percent:.0} % of the workers' time there was \
         no work left",
        workers.len(),
        units::duration(first.saturating_sub(began) as f64),
        units::duration(whole)
    );
    let figures = vec![
        Figure::new("first done", first as f64, "ns"),
        Figure::new("last done", last as f64, "ns"),
        Figure::new("without work", percent, "%"),
    ];
    let share = percent / 100.0;
    Some(suspicion(case, record, sentence, figures, Remedy::EndTogether).weight(share).takes(share))
}

/// Where slower workers caught up with the fastest: how far apart they were when the time was up.
fn worn(case: &PhaseEvidence<'_>, record: &JobRecord) -> Option<Suspicion> {
    let worn = record.worn.filter(|worn| worn.operations_most > 0)?;
    let (least, most) = (worn.operations_least as f64, worn.operations_most as f64);
    if least > LEAST_SHARE * most || most - least < LEAST_DEVIATIONS * most.sqrt() {
        return None;
    }
    let sentence = format!(
        "when the time was up, the fastest worker had done {most} operations and the slowest {least}: the rest of the \
         phase waited for few"
    );
    let figures = vec![
        Figure::new("fastest worker", most, ""),
        Figure::new("slowest worker", least, ""),
        Figure::new("time was up", worn.at_ns as f64, "ns"),
    ];
    let found = suspicion(case, record, sentence, figures, Remedy::CompareWorkers);
    Some(found.weight(most / least.max(1.0)).takes(1.0 - least / most))
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    record: &JobRecord,
    sentence: String,
    figures: Vec<Figure>,
    remedy: Remedy,
) -> Suspicion {
    let found =
        Suspicion::new(FindingKind::UnevenWorkers, Severity::Doubtful, case.label(), sentence, figures);
    found.job(&record.name).remedy(remedy)
}
