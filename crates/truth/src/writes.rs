//! Lie 2: writes that memory took and that never came to the storage inside the measured time: nobody flushed them, or the
//! next write to the same place took them away before somebody did.
//!
//! Proof: the device wrote fewer bytes than were asked of it, or the files' own pages still waited to be written, whatever
//! others and earlier phases made the device write; where nothing can be watched, the growth of dirty memory. A sync makes
//! the last write to each place durable and none before it.

use iodyno_model::{Figure, FindingKind, Intent, Job, JobRecord, Kind, Remedy, Sighting, Verb};

use crate::case::{Carrier, PhaseEvidence, bytes, operations};
use crate::content;
use crate::merge::Suspicion;
use crate::reads::{LEAST_BYTES, Load, loads, severity};

/// A sync after at most so many writes leaves little behind it. Chosen: a thousandth moves no figure;
/// `writes_absorbed_by_memory` stands on one side only.
const WRITES_PER_SYNC: u64 = 1000;

/// Writes of this phase that stayed in memory, or were overwritten there.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let mut found = unflushed(case);
    let synced = loads(case, Verb::Write, |job, record| is_through(case, job) && is_synced(job, record));
    let whole = synced.iter().filter(|load| load.buffered >= LEAST_BYTES && load.buffered == load.asked);
    found.extend(whole.filter_map(|load| overwritten(case, load, load.carrier.as_ref()?)));
    found
}

fn unflushed(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    loads(case, Verb::Write, |job, record| is_through(case, job) && !is_synced(job, record))
        .iter()
        .filter(|load| load.buffered >= LEAST_BYTES)
        .filter_map(|load| match &load.carrier {
            Some(carrier) => by_carrier(case, load, carrier),
            None => by_memory(case, load),
        })
        .collect()
}

/// Whether a job writes through the page cache.
fn is_through(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    case.used(job, Verb::Write).any(|target| !case.is_direct(target) && !case.is_sync(target))
}

/// Whether a job makes what it wrote durable, inside its time.
fn is_synced(job: &Job, record: &JobRecord) -> bool {
    let syncs = record.tally.operations(Kind::Sync);
    job.finish.sync.is_some() || syncs * WRITES_PER_SYNC >= operations(record, &[Verb::Write])
}

fn by_carrier(case: &PhaseEvidence<'_>, load: &Load<'_>, carrier: &Carrier<'_>) -> Option<Suspicion> {
    let names = load.jobs.iter().flat_map(|job| case.used(job, Verb::Write)).map(|target| &target.name);
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup();
    let dirty: Vec<u64> = names.into_iter().filter_map(|name| case.dirty_after(name)).collect();
    let waiting: u64 = dirty.iter().sum();
    let missing = load.asked.saturating_sub(carrier.write_bytes()).max(waiting.min(load.buffered));
    let share = (missing as f64 / load.buffered as f64).min(1.0);
    let mut figures = vec![
        Figure::new("written by the workload", load.asked as f64, "bytes"),
        Figure::new(&format!("written by {}", carrier.name()), carrier.write_bytes() as f64, "bytes"),
        Figure::new("left in memory", share * 100.0, "%"),
    ];
    if !dirty.is_empty() {
        figures.insert(2, Figure::new("of the files, still to be written", waiting as f64, "bytes"));
    }
    suspicion(case, load, share, figures)
}

/// What was synced and came to the device once although it was written many times.
fn overwritten(case: &PhaseEvidence<'_>, load: &Load<'_>, carrier: &Carrier<'_>) -> Option<Suspicion> {
    // What compresses is less on the device than it was.
    if load.jobs.iter().any(|job| content::shrinks(case, job)) {
        return None;
    }
    let written = case.written_for_us(carrier);
    let share = (load.asked.saturating_sub(written) as f64 / load.asked as f64).min(1.0);
    let severity = severity(share)?;
    let mut figures = vec![
        Figure::new("written by the workload", load.asked as f64, "bytes"),
        Figure::new(&format!("written by {}", carrier.name()), carrier.write_bytes() as f64, "bytes"),
        Figure::new("overwritten in memory", share * 100.0, "%"),
    ];
    if written < carrier.write_bytes() {
        figures.insert(2, Figure::new("of it for this run", written as f64, "bytes"));
    }
    let sentence = format!(
        "{:.0} % of the bytes written were overwritten in memory before they were flushed: the storage got the rest",
        share * 100.0
    );
    let found = Suspicion::new(FindingKind::UnflushedWrites, severity, case.label(), sentence, figures);
    let found = found.remedy(Remedy::WriteOnce).matter("overwritten").weight(share).takes(share);
    Some(if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found })
}

/// Dirty memory is the whole machine's, so only one load of a phase can be judged by it.
fn by_memory(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<Suspicion> {
    let writers = case.storage_jobs().filter(|(_, record)| bytes(record, Verb::Write) > 0).count();
    let growth = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Memory { dirty_before_bytes, dirty_after_bytes, .. } => {
            Some(dirty_after_bytes.saturating_sub(*dirty_before_bytes))
        }
        _ => None,
    })?;
    if writers != 1 || growth < LEAST_BYTES {
        return None;
    }
    let share = (growth as f64 / load.buffered as f64).min(1.0);
    let figures = vec![
        Figure::new("written by the workload", load.asked as f64, "bytes"),
        Figure::new("growth of dirty memory", growth as f64, "bytes"),
        Figure::new("left in memory", share * 100.0, "%"),
    ];
    suspicion(case, load, share, figures)
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    load: &Load<'_>,
    share: f64,
    figures: Vec<Figure>,
) -> Option<Suspicion> {
    let sentence =
        format!("{:.0} % of the bytes written were still in memory when the time stopped", share * 100.0);
    let found =
        Suspicion::new(FindingKind::UnflushedWrites, severity(share)?, case.label(), sentence, figures)
            .remedy(Remedy::IncludeFlush)
            .weight(share);
    let found = found.takes(share);
    Some(if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found })
}
