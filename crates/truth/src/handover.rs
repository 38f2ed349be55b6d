//! Lie 13, the quiet case: operations that were handed over at the depth that was asked, and done while they were.
//!
//! Such a call comes back when its operation is over, so the depth that was counted is full and the device has one request
//! at a time. Proof: the workers' time in submission against their time, and what the device had in flight against what
//! was to be. A device whose own queue is shorter than what was asked is told of too. A queue that completions drain
//! faster than one worker reaps them is none of this: there no time is spent in submission.

use iodyno_model::{
    DeviceActivity, EngineTrait, Figure, FindingKind, Intent, Job, JobRecord, Kind, Remedy, Severity, Target,
    TargetFacts, Verb,
};

use crate::case::{PhaseEvidence, bytes, operations};
use crate::depth::{self, LEAST_SHARE};
use crate::merge::Suspicion;
use crate::target;

/// Share of a worker's time in submission from which it had no time to wait for anything in flight; what is left is
/// drawing, reaping and the first fill of the queue. Chosen: a fifth is more than that takes;
/// `depth_that_was_handed_over_and_never_in_flight` and `depth_that_was_in_flight_is_not_accused` stand on both sides.
const MOST_SUBMITTING: f64 = 0.8;
/// Share of a worker's time in the processor, or waiting for one, from which submission is work, not waiting for I/O.
/// Chosen: whichever is more of it; `depth_that_was_handed_over_and_never_in_flight` and
/// `depth_that_was_in_flight_is_not_accused` stand on both sides.
const WORKING: f64 = 0.5;
/// A device that moved less of what was asked had less to do than was asked: memory answered (1), or there was nothing
/// (3). Chosen: whichever is more of it; `depth_that_was_handed_over_and_never_in_flight` and
/// `depth_that_was_in_flight_is_not_accused` stand on both sides.
const LEAST_MOVED: f64 = 0.5;

/// Jobs of this phase whose depth was full on paper, or larger than their device's queue.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let jobs =
        case.storage_jobs().filter(|(job, record)| depth::is_judged(job, record) && depth::is_full(record));
    jobs.filter_map(|(job, record)| {
        let judged = HandoverJob::new(case, job, record)?;
        match judged.is_buffered() {
            true => judged.synchronous().or_else(|| judged.beyond_queue()),
            false => judged.beyond_queue().or_else(|| judged.synchronous()),
        }
    })
    .collect()
}

/// A job whose depth was handed over, and what came of it.
struct HandoverJob<'a> {
    case: &'a PhaseEvidence<'a>,
    job: &'a Job,
    record: &'a JobRecord,
    /// What it does, for sentences: the verb that moved most.
    verb: Verb,
    targets: Vec<&'a Target>,
    /// Operations that were to be in flight on its devices, of all jobs on them.
    asked: f64,
    /// Operations in its devices on average, where they can be watched and moved what was asked.
    in_device: Option<f64>,
    /// What its bytes lie on.
    place: String,
}

impl<'a> HandoverJob<'a> {
    fn new(case: &'a PhaseEvidence<'a>, job: &'a Job, record: &'a JobRecord) -> Option<Self> {
        let verb = [Verb::Read, Verb::Write].into_iter().max_by_key(|verb| bytes(record, *verb))?;
        let targets: Vec<&Target> = case.used(job, verb).collect();
        let is_memory = |target: &&Target| case.facts(&target.name).is_some_and(target::is_memory);
        if bytes(record, verb) == 0 || targets.is_empty() || targets.iter().any(is_memory) {
            return None;
        }
        let devices = devices(case, &targets);
        let names: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
        let place = if names.is_empty() { "the storage".to_string() } else { names.join(" and ") };
        let sharing: Vec<_> =
            case.storage_jobs().filter(|(other, _)| shares(case, other, &devices)).collect();
        let sharing = if devices.is_empty() { vec![(job, record)] } else { sharing };
        let asked = sharing.iter().map(|(job, record)| asked(case, job, record)).sum();
        let whole = targets.iter().all(|target| case.device(&target.name).is_some());
        let in_device = if whole { in_device(case, &devices, &sharing) } else { None };
        Some(HandoverJob { case, job, record, verb, targets, asked, in_device, place })
    }

    fn is_buffered(&self) -> bool {
        !self.targets.iter().all(|target| self.case.is_direct(target))
    }

    /// More was to be in flight than the device's own queue takes.
    fn beyond_queue(&self) -> Option<Suspicion> {
        let mut disks: Vec<&TargetFacts> = Vec::new();
        for target in &self.targets {
            let facts = self.case.facts(&target.name)?;
            if !disks.iter().any(|known| known.disk == facts.disk) {
                disks.push(facts);
            }
        }
        let workers = u64::from(self.job.workers.max(1));
        let all: Option<u64> = disks.into_iter().map(|facts| takes(facts, workers)).sum();
        let takes = all.filter(|takes| (*takes as f64) < self.asked)?;
        let short = self.in_device.is_some_and(|found| found < LEAST_SHARE * self.asked);
        let sentence = format!(
            "{:.0} operations were to be in flight, but the queue of {} takes {takes}: the rest waits in the host",
            self.asked, self.place
        );
        let severity = if short { Severity::Doubtful } else { Severity::Note };
        let mut figures = vec![
            Figure::new("to be in flight", self.asked, ""),
            Figure::new("queue of the device", takes as f64, ""),
        ];
        figures.extend(self.in_device.map(|found| Figure::new("in the device, mean", found, "")));
        Some(self.suspicion(
            severity,
            sentence,
            figures,
            Remedy::FitDeviceQueue,
            self.asked / takes.max(1) as f64,
        ))
    }

    /// Each operation was over when the call that handed it over came back.
    fn synchronous(&self) -> Option<Suspicion> {
        let (submitting, buffered) = (submitting(self.record), self.is_buffered());
        let is_short = |found: f64| found < LEAST_SHARE * self.asked;
        let proven = match (buffered, self.in_device, submitting) {
            // What writing through the page cache leaves to the device is the kernel's doing, at another time.
            (true, _, Some(share)) if self.verb == Verb::Write => share >= MOST_SUBMITTING,
            (true, Some(found), Some(share)) => is_short(found) && share >= MOST_SUBMITTING,
            (true, Some(found), None) => {
                let inline = self.record.engine_is(EngineTrait::SubmitsBufferedInline);
                is_short(found) && inline && self.verb == Verb::Read
            }
            (false, Some(found), Some(share)) => {
                is_short(found) && share >= MOST_SUBMITTING && working(self.record) <= WORKING
            }
            _ => false,
        };
        if !proven {
            return None;
        }
        let verb = self.verb;
        let writes_back = buffered && self.verb == Verb::Write;
        let sentence = match self.in_device.filter(|found| is_short(*found) && !writes_back) {
            Some(found) => format!(
                "of {:.0} operations asked to be in flight, {} had {found:.1}: each {verb} was done while it was handed over",
                self.asked, self.place
            ),
            None => format!(
                "of {:.0} operations asked to be in flight, none was: each {verb} was done while it was handed over",
                self.asked
            ),
        };
        let mut figures = vec![Figure::new("to be in flight", self.asked, "")];
        figures.extend(depth::mean(self.record).map(|mean| Figure::new("handed over, mean", mean, "")));
        let in_device = self.in_device.filter(|_| !writes_back);
        figures.extend(in_device.map(|found| Figure::new("in the device, mean", found, "")));
        figures
            .extend(submitting.map(|share| Figure::new("time in submission", share.min(1.0) * 100.0, "%")));
        figures.extend(parts(self.record));
        let remedy = if buffered { Remedy::SubmitDirect } else { Remedy::LayOutFirst };
        let weight = self.asked / self.in_device.unwrap_or(1.0).max(0.01);
        Some(self.suspicion(Severity::Doubtful, sentence, figures, remedy, weight))
    }

    fn suspicion(
        &self,
        severity: Severity,
        sentence: String,
        figures: Vec<Figure>,
        remedy: Remedy,
        weight: f64,
    ) -> Suspicion {
        let found =
            Suspicion::new(FindingKind::DepthNotReached, severity, self.case.label(), sentence, figures);
        found
            .job(&self.job.name)
            .remedy(remedy)
            .matter(remedy.words())
            .weight(weight)
            .takes(1.0 - 1.0 / weight.max(1.0))
    }
}

/// The devices that targets lie on, each once.
fn devices<'a>(case: &PhaseEvidence<'a>, targets: &[&Target]) -> Vec<&'a DeviceActivity> {
    let mut found: Vec<&DeviceActivity> = Vec::new();
    for device in targets.iter().filter_map(|target| case.device(&target.name)) {
        if !found.iter().any(|known| known.device == device.device) {
            found.push(device);
        }
    }
    found
}

/// Whether a job works on one of these devices.
fn shares(case: &PhaseEvidence<'_>, job: &Job, devices: &[&DeviceActivity]) -> bool {
    let on = |target: &Target| {
        let device = case.device(&target.name);
        device.is_some_and(|device| devices.iter().any(|known| known.device == device.device))
    };
    case.targets(job).any(on)
}

/// Operations that a job was to keep in flight, the mean over the phase.
fn asked(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> f64 {
    let active = active_ns(record) / (case.found.elapsed_ns as f64).max(1.0);
    let active = if case.found.elapsed_ns == 0 { 1.0 } else { active.min(1.0) };
    f64::from(record.depth.max(1)) * f64::from(job.workers.max(1)) * active
}

fn active_ns(record: &JobRecord) -> f64 {
    record.tally.last_done_ns.saturating_sub(record.tally.began_ns) as f64
}

/// Operations in these devices, the mean over the phase; a request that several were merged into holds them all. None
/// where the devices did not move what was asked of them.
fn in_device(
    case: &PhaseEvidence<'_>,
    devices: &[&DeviceActivity],
    jobs: &[(&Job, &JobRecord)],
) -> Option<f64> {
    let asked: u64 = jobs.iter().map(|(_, record)| record.tally.all_bytes()).sum();
    let count: u64 = jobs.iter().map(|(_, record)| operations(record, &[Verb::Read, Verb::Write])).sum();
    let sum = |of: fn(&DeviceActivity) -> u64| devices.iter().map(|device| of(device)).sum::<u64>() as f64;
    let (moved, requests) = (sum(|d| d.read_bytes + d.write_bytes), sum(|d| d.reads + d.writes));
    let weighted = sum(|device| device.weighted_ns);
    if moved < LEAST_MOVED * asked as f64 || requests == 0.0 || weighted == 0.0 || case.found.elapsed_ns == 0
    {
        return None;
    }
    Some(weighted / case.found.elapsed_ns as f64 * (count as f64 / requests).max(1.0))
}

/// Requests that a device takes at once from so many workers: each feeds the queue of the processor that it is on.
fn takes(facts: &TargetFacts, workers: u64) -> Option<u64> {
    let tags = facts.queue_tags?.min(facts.queue_requests.unwrap_or(u64::MAX));
    let queues = facts.hardware_queues?.min(workers).max(1);
    let takes = tags.saturating_mul(queues).min(facts.device_requests.unwrap_or(u64::MAX));
    (takes > 0).then_some(takes)
}

/// The share of the workers' time in which they handed operations over, 0 to 1; none where it was not measured. Of
/// operations that are handed over together each counts the whole call.
fn submitting(record: &JobRecord) -> Option<f64> {
    let tally = &record.tally;
    let lines = tally.lines.iter().filter_map(|line| line.submission.as_ref());
    let sum = lines.map(|submission| submission.sum).sum::<u128>() as f64;
    let calls = tally.submits.iter().enumerate().map(|(size, times)| (size as f64, *times as f64));
    let (weighted, handed) =
        calls.fold((0.0, 0.0), |(a, b), (size, times)| (a + size * size * times, b + size * times));
    let batch = if handed > 0.0 { weighted / handed } else { f64::from(record.depth.max(1)) };
    let syncs = tally.lines.iter().filter(|line| line.verb.kind() == Kind::Sync);
    let syncing = syncs.map(|line| line.service.as_ref().unwrap_or(&line.latency).sum).sum::<u128>() as f64;
    let workers = record.workers.len().max(1) as f64;
    let time = active_ns(record) * workers - syncing;
    (sum > 0.0 && time > 0.0).then(|| sum / batch / time)
}

/// The share of the workers' time in the processor, or waiting for one.
fn working(record: &JobRecord) -> f64 {
    let each = record.workers.iter();
    let cpu: u64 = each.map(|one| one.user_ns + one.system_ns + one.waited_ns.unwrap_or(0)).sum();
    cpu as f64 / (active_ns(record) * record.workers.len().max(1) as f64).max(1.0)
}

/// The mean of both parts of a latency, where they were measured.
fn parts(record: &JobRecord) -> Vec<Figure> {
    let lines = record.tally.lines.iter();
    let part = |name: &str, of: Option<&iodyno_model::Histogram>| {
        of.filter(|part| !part.is_empty()).map(|part| Figure::new(name, part.mean(), "ns"))
    };
    let of = lines.max_by_key(|line| line.bytes);
    let Some(line) = of else { return Vec::new() };
    let both = [
        part("submission, mean", line.submission.as_ref()),
        part("completion, mean", line.completion.as_ref()),
    ];
    both.into_iter().flatten().collect()
}
