//! Lie 23: a phase too short for its own start-up and stop to vanish.
//!
//! Proof: the time that its edges take, against its length: until the last worker had begun, the first filling and the
//! last draining of the queue, and a turn of the scheduler at each end.

use iodyno_model::{Figure, FindingKind, JobRecord, Kind, Remedy, Severity, units};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// A wake-up may come a turn of the scheduler late, ns, at either end. Source: Linux, kernel/Kconfig.hz, 250 ticks a
/// second by default.
const TURN_NS: f64 = 4_000_000.0;
/// Share of the phase that its edges may take, in percent: beyond the first it is reported, beyond the second it is
/// doubted. Chosen: a rate off by a tenth is another, by a third a wrong one; `a_phase_of_edges` stands on both sides.
const MOST_PERCENT: (f64, f64) = (10.0, 30.0);

/// Whether this phase was too short.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    judged(case).into_iter().collect()
}

fn judged(case: &PhaseEvidence<'_>) -> Option<Suspicion> {
    let elapsed = case.found.elapsed_ns as f64;
    let jobs: Vec<&JobRecord> = case.storage_jobs().map(|(_, record)| record).collect();
    let operations: u64 = jobs.iter().map(|job| job.tally.all_operations()).sum();
    let delayed = case.jobs().any(|(job, _)| {
        job.start.after_ns > 0
            || job.start.spread_ns > 0
            || job.start.after_job.is_some()
            || job.limit.ramp_ns > 0
    });
    if jobs.is_empty() || operations == 0 || elapsed == 0.0 {
        return None;
    }
    let started = jobs.iter().flat_map(|job| &job.workers).map(|worker| worker.began_ns).max().unwrap_or(0);
    let starting = if delayed { 0.0 } else { started as f64 };
    let filling = jobs.iter().map(|job| filling(job)).fold(0.0, f64::max);
    let edges = 2.0 * TURN_NS + starting + filling;
    let percent = (edges / elapsed * 100.0).min(100.0);
    if percent < MOST_PERCENT.0 {
        return None;
    }
    let sentence = format!(
        "the phase lasted {}, of which start-up and stop may have taken {percent:.0} %",
        units::duration(elapsed)
    );
    let figures = vec![
        Figure::new("length", elapsed, "ns"),
        Figure::new("start-up and stop", edges, "ns"),
        Figure::new("until the last worker began", starting, "ns"),
        Figure::new("operations", operations as f64, ""),
    ];
    let severity = if percent >= MOST_PERCENT.1 { Severity::Doubtful } else { Severity::Note };
    Some(
        Suspicion::new(FindingKind::ShortPhase, severity, case.label(), sentence, figures)
            .remedy(Remedy::RunLonger)
            .weight(percent),
    )
}

/// How long it takes to fill a queue and to drain it, ns; with one in flight there is none.
fn filling(job: &JobRecord) -> f64 {
    if job.depth < 2 {
        return 0.0;
    }
    let lines = job
        .tally
        .lines
        .iter()
        .filter(|line| matches!(line.verb.kind(), Kind::Read | Kind::Write | Kind::Trim));
    2.0 * lines.map(|line| line.latency.mean()).fold(0.0, f64::max)
}
