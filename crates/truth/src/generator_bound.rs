//! Lie 10: the load generator was the bottleneck: its processors were full while the storage had time to spare.
//!
//! Proof: the workers' own processor time against the time they ran, and what of it went by outside of any operation. An
//! engine that only pretends is all generator, and a job that pauses or keeps a rate waits on purpose. A processor that is
//! full while the device is full too accuses nobody.

use iodyno_model::{
    EngineTrait, Figure, FindingKind, Intent, Job, JobRecord, Kind, Remedy, Severity, Sighting, Submit,
};

use crate::case::{COUNTED_NS, PhaseEvidence};
use crate::machine::capacity_ns;
use crate::merge::Suspicion;
use crate::{stores, target};

/// Share of the workers' time outside of operations from which the rate is the generator's. Chosen: more than reaping
/// and drawing take; `a_generator_that_is_the_bottleneck` stands on both sides.
const MOST_OUTSIDE: f64 = 0.4;
/// Share of it that must have been work of the processor in user space. Chosen: as much as is missed;
/// `a_generator_that_is_the_bottleneck` stands on both sides.
const LEAST_USER: f64 = 0.4;
/// A worker is full from this share on. Chosen: start, end and interrupts take the rest;
/// `a_generator_that_is_the_bottleneck` stands on both sides.
const FULL: f64 = 0.95;
/// A device is idle enough below this share. Chosen: a busy device idles between requests;
/// `a_generator_that_is_the_bottleneck` stands on both sides.
const DEVICE_FULL: f64 = 0.9;
/// Share of the time that workers waited for each other's processor. Chosen: two workers on one processor wait for
/// half; `more_workers_than_processors` and `an_honest_run_is_not_accused` stand on both sides.
const MOST_WAITED: f64 = 0.3;
/// Share of all processors that our own work took. Chosen: the kernel's own work takes the rest;
/// `more_workers_than_processors` stands on both sides.
const ALL_OURS: f64 = 0.8;
/// Settings by which an engine asks again and again instead of waiting.
const POLLING: [&str; 5] = ["hipri", "sqpoll", "iopoll", "userspace_reap", "busy_poll"];

/// Jobs of this phase that were limited by themselves.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let jobs = case.storage_jobs().filter(|(job, record)| waits_for_storage(case, job, record));
    jobs.filter_map(|(job, record)| judged(case, job, record)).collect()
}

/// Whether all that a worker does in the end is wait for the storage.
fn waits_for_storage(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> bool {
    let pauses = job.pace.has_rate() || job.pace.think.is_some() || !job.pace.shared.is_empty();
    let polls = job.settings.iter().any(|setting| {
        POLLING.contains(&setting.name.as_str()) && !matches!(setting.value.as_str(), "0" | "false" | "no")
    });
    let moved: u64 = [Kind::Read, Kind::Write].iter().map(|kind| record.tally.operations(*kind)).sum();
    let in_memory = |name: &str| case.facts(name).is_some_and(target::is_memory);
    let memory = case.targets(job).any(|target| in_memory(&target.name));
    let mostly_data = moved * 2 > record.tally.all_operations();
    !pauses
        && !polls
        && !memory
        && mostly_data
        && record.tally.waits == 0
        && !record.engine_is(EngineTrait::KeepsProcessorBusy)
}

/// Where the workers' time went, ns, summed over them.
struct Spent {
    all: f64,
    user: f64,
    system: f64,
    inside: f64,
    waited: Option<f64>,
}

fn spent(record: &JobRecord) -> Option<Spent> {
    let ran = |worker: &iodyno_model::WorkerRecord| worker.ended_ns.saturating_sub(worker.began_ns);
    let all: u64 = record.workers.iter().map(ran).sum();
    if record.workers.iter().map(ran).max()? < COUNTED_NS {
        return None;
    }
    let sum = |of: fn(&iodyno_model::WorkerRecord) -> u64| record.workers.iter().map(of).sum::<u64>() as f64;
    let lines = record.tally.lines.iter().filter(|line| line.verb.kind() != Kind::Control);
    let inside = lines.map(|line| line.service.as_ref().unwrap_or(&line.latency).sum as f64).sum();
    let told = record.workers.iter().map(|worker| worker.waited_ns).collect::<Option<Vec<u64>>>();
    let waited = told.map(|each| each.iter().sum::<u64>() as f64);
    Some(Spent {
        all: all as f64,
        user: sum(|worker| worker.user_ns),
        system: sum(|worker| worker.system_ns),
        inside,
        waited,
    })
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let spent = spent(record).filter(|spent| spent.all > 0.0)?;
    let share = |ns: f64| (ns / spent.all).min(1.0);
    let outside = 1.0 - share(spent.inside);
    let one_by_one = job.depth.most <= 1 && job.depth.submit == Submit::Inline && job.measure.latency;
    let (user, full) = (share(spent.user), share(spent.user + spent.system));
    // Of the time in which it had a processor or needed none: a busy machine stretches everything else.
    let unhindered = (spent.all - spent.waited.unwrap_or(0.0)).max(1.0);
    let own_user = (spent.user / unhindered).min(1.0);
    let found = if one_by_one && outside >= MOST_OUTSIDE && own_user >= LEAST_USER {
        let what = format!(
            "{:.0} % of the workers' time went by outside of any operation, into making or checking data",
            outside * 100.0
        );
        Some((what, Remedy::CheapenData, outside))
    } else if full >= FULL
        && (user >= LEAST_USER || has_idle_device(case, job) || stores::sends_requests(record))
    {
        let what = format!(
            "the workers' processors were {:.0} % busy: they were the limit, not the storage",
            full * 100.0
        );
        Some((what, Remedy::AddWorkers, full))
    } else {
        crowded(case, &spent)
    };
    let (sentence, remedy, weight) = found?;
    let mut figures = vec![
        Figure::new("workers' processor time", full * 100.0, "%"),
        Figure::new("of it in user space", user * 100.0, "%"),
    ];
    if one_by_one {
        figures.push(Figure::new("outside of operations", outside * 100.0, "%"));
    }
    figures.extend(utilisation(case, job).map(|share| Figure::new("device busy", share * 100.0, "%")));
    figures.extend(spent.waited.map(|ns| Figure::new("waited for a processor", share(ns) * 100.0, "%")));
    let found =
        Suspicion::new(FindingKind::GeneratorBound, Severity::Doubtful, case.label(), sentence, figures);
    let found = found.job(&record.name).matter(remedy.words()).remedy(remedy).weight(weight).takes(weight);
    // Processors that are full of operations which memory answers are no limit of the program's own.
    let needs = (remedy == Remedy::AddWorkers).then_some(full);
    Some(Suspicion { needs, ..found })
}

/// More busy workers than processors.
fn crowded(case: &PhaseEvidence<'_>, spent: &Spent) -> Option<(String, Remedy, f64)> {
    let waited = spent.waited? / spent.all;
    let ours = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Processors(seen) if seen.busy_ns > 0 => Some(seen.own_ns as f64 / capacity_ns(seen) as f64),
        _ => None,
    })?;
    let what = || {
        format!(
            "the workers waited {:.0} % of their time for a processor, and took {:.0} % of all of them: there are more \
             of them than processors",
            waited * 100.0,
            ours * 100.0
        )
    };
    (waited >= MOST_WAITED && ours >= ALL_OURS).then(|| (what(), Remedy::MatchProcessors, waited))
}

fn utilisation(case: &PhaseEvidence<'_>, job: &Job) -> Option<f64> {
    let devices = case.targets(job).filter_map(|target| case.device(&target.name));
    let busy = devices.filter(|device| device.interval_ns > 0);
    busy.map(|device| (device.busy_ns as f64 / device.interval_ns as f64).min(1.0)).reduce(f64::max)
}

fn has_idle_device(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    let direct = case.targets(job).all(|target| case.is_direct(target));
    direct && utilisation(case, job).is_some_and(|share| share < DEVICE_FULL)
}
