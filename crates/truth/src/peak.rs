//! Lie 24: not the peak: the device was idle part of the time, while the result is read as its limit.
//!
//! Proof: a rate that still grew nearly as fast as the depth at the deepest point of a sweep; or a device that had nothing
//! to do for part of the time although several operations were to be in flight. One operation at a time is a question of
//! its own (how long does one take?), and nobody reads it as a limit.

use iodyno_model::{
    Coordinate, Direct, Figure, FindingKind, Intent, JobRecord, Kind, Parameter, PhaseRecord, Plan, Record,
    Remedy, Severity, Value,
};

use crate::case::{Carrier, PhaseEvidence, label};
use crate::depth;
use crate::merge::Suspicion;
use crate::reads::loads;

/// Below it a device had time to spare, in percent. Chosen: a busy device idles between requests;
/// `a_device_that_had_time_to_spare` stands on both sides.
const BUSY_PERCENT: f64 = 95.0;
/// A rate that grows by this power of the depth is limited by the depth alone. Chosen: a rate that a device limits
/// grows by less than the root; `sweeps_that_end_before_the_peak` stands on both sides.
const STILL_RISING: f64 = 0.7;
/// A share of what the device moved that must be ours, both ways. Chosen: read-ahead and metadata add less;
/// `a_device_that_had_time_to_spare` stands on both sides.
const OURS: (f64, f64) = (0.9, 1.2);
/// The device's own clock ticks every few milliseconds: shorter phases are not judged, ns. Chosen: more than a hundred
/// ticks of 4 ms; `a_device_that_had_time_to_spare` stands on both sides.
const LEAST_NS: u64 = 500_000_000;

/// Phases and sweeps of the record that stopped short of the device's limit.
pub fn check(plan: &Plan, record: &Record) -> Vec<Suspicion> {
    let mut found = rising(plan, record);
    for phase in &record.phases {
        let Some(case) = PhaseEvidence::new(plan, record, phase) else { continue };
        if !is_other(&case) && !found.iter().any(|known| known.finding.phase == label(phase)) {
            found.extend(idle(&case));
        }
    }
    found
}

/// Whether no device's limit is the question.
fn is_other(case: &PhaseEvidence<'_>) -> bool {
    let paced = |job: &iodyno_model::Job| {
        job.pace.has_rate()
            || job.pace.think.is_some()
            || job.pace.latency_target.is_some()
            || !job.pace.shared.is_empty()
    };
    matches!(case.intent(), Intent::Cache | Intent::Network) || case.jobs().any(|(job, _)| paced(job))
}

/// Sweeps over depth or workers whose deepest point is the steepest.
fn rising(plan: &Plan, record: &Record) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (index, last) in record.phases.iter().enumerate() {
        let Some(case) = PhaseEvidence::new(plan, record, last).filter(|case| !is_other(case)) else {
            continue;
        };
        let Some((parameter, depth)) = depth_of(last) else { continue };
        let alike = |other: &&PhaseRecord| {
            other.name == last.name && without(other, parameter) == without(last, parameter)
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for other in record.phases.iter().filter(alike).filter(|other| other.repetition == last.repetition) {
            points.extend(depth_of(other).map(|(_, depth)| (depth, rate(other))));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [.., before, deepest] = points[..] else { continue };
        let is_last = depth == deepest.0
            && !record.phases[index + 1..]
                .iter()
                .any(|other| alike(&other) && depth_of(other) == Some((parameter, depth)));
        if !is_last || case.storage_jobs().next().is_none() || before.0 >= deepest.0 || before.1 <= 0.0 {
            continue;
        }
        let power = (deepest.1 / before.1).log2() / (deepest.0 / before.0).log2();
        if power < STILL_RISING {
            continue;
        }
        let word = parameter.name();
        let sentence = format!(
            "the rate still rose at the end of the sweep: {:.2} times from {word} {} to {}; the device's limit was not reached",
            deepest.1 / before.1,
            before.0,
            deepest.0
        );
        let figures = vec![
            Figure::new(&format!("rate at {word} {}", before.0), before.1, "1/s"),
            Figure::new(&format!("rate at {word} {}", deepest.0), deepest.1, "1/s"),
            Figure::new("grew with the depth to the power of", power, ""),
        ];
        let suspicion =
            Suspicion::new(FindingKind::BelowPeak, Severity::Note, label(last), sentence, figures);
        found.push(suspicion.remedy(Remedy::SweepFurther).matter("sweep").weight(power));
    }
    found
}

/// A phase's place on the axis of what is in flight.
fn depth_of(phase: &PhaseRecord) -> Option<(Parameter, f64)> {
    phase.coordinates.iter().find_map(|coordinate| match (coordinate.parameter, &coordinate.value) {
        (parameter @ (Parameter::Depth | Parameter::Workers), Value::Number(number)) => {
            Some((parameter, *number as f64))
        }
        _ => None,
    })
}

fn without(phase: &PhaseRecord, parameter: Parameter) -> Vec<&Coordinate> {
    phase.coordinates.iter().filter(|coordinate| coordinate.parameter != parameter).collect()
}

/// Operations per second of all jobs.
fn rate(phase: &PhaseRecord) -> f64 {
    let of = |job: &JobRecord| {
        let ns = job.tally.last_done_ns.saturating_sub(job.tally.began_ns).max(1);
        job.tally.all_operations() as f64 * 1e9 / ns as f64
    };
    phase.jobs.iter().map(of).sum()
}

/// A device that had nothing to do for part of the time, with depth to spare.
fn idle(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    // Depths of a sweep are judged by the sweep.
    if depth_of(case.found).is_some() || case.found.elapsed_ns < LEAST_NS || case.is_machine_busy() {
        return found;
    }
    let verbs = [iodyno_model::Verb::Read, iodyno_model::Verb::Write];
    for load in verbs.into_iter().flat_map(|verb| loads(case, verb, |_, _| true)) {
        let Some(Carrier::Device(device)) = &load.carrier else { continue };
        let is_its = |job: &iodyno_model::Job| load.jobs.iter().any(|its| std::ptr::eq(*its, job));
        let jobs: Vec<_> = case.storage_jobs().collect();
        let asked: u64 =
            jobs.iter().map(|(job, found)| u64::from(found.depth) * u64::from(job.workers)).sum();
        let direct = load
            .jobs
            .iter()
            .flat_map(|job| case.targets(job))
            .all(|target| target.open.direct == Direct::Yes);
        // Others keep it busy as well: what is idle beside them is idle.
        let all = device.read_bytes + device.write_bytes;
        let moved = case.own().map_or(all, |(read, written)| all.min(read + written)) as f64;
        let done: u64 = jobs.iter().map(|(_, found)| found.tally.all_bytes()).sum();
        let ours = moved / done.max(1) as f64;
        let busy = (device.busy_ns as f64 / case.found.elapsed_ns as f64 * 100.0).min(100.0);
        let whole = jobs.iter().all(|(job, _)| is_its(job)) && (OURS.0..=OURS.1).contains(&ours);
        // Flushes are not counted as busy.
        let synced = jobs.iter().any(|(job, found)| {
            found.tally.operations(Kind::Sync) > 0 || case.targets(job).any(|target| case.is_sync(target))
        });
        let deep = jobs.iter().any(|(job, found)| found.depth > 1 && !depth::is_room(job));
        if !deep || synced || !direct || !whole || device.busy_ns == 0 || busy >= BUSY_PERCENT {
            continue;
        }
        let sentence = format!(
            "{} had nothing to do for {:.0} % of the time, though {asked} operations were to be in flight: this is not its limit",
            device.device,
            100.0 - busy
        );
        let figures = vec![
            Figure::new("busy", busy, "%"),
            Figure::new("depth asked, all workers", asked as f64, ""),
            Figure::new("in the device, mean", device.weighted_ns as f64 / case.found.elapsed_ns as f64, ""),
        ];
        let suspicion =
            Suspicion::new(FindingKind::BelowPeak, Severity::Note, case.label(), sentence, figures);
        // Whatever held the program up left the device idle.
        found.push(suspicion.remedy(Remedy::RaiseDepth).matter("idle").weight(100.0 - busy).needs(0.0));
    }
    found
}
