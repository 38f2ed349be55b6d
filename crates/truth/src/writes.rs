//! Lie 2: writes that memory took and nobody flushed inside the measured time.
//!
//! Proof: the device wrote fewer bytes than were asked of it; where none can be watched, the growth of dirty memory. A
//! job that syncs is not accused: what it overwrote before the sync was absorbed by rule.

use iodyno_model::{Figure, Intent, Job, JobRecord, Kind, Sighting, Verb};

use crate::case::{Carrier, Case, bytes, operations};
use crate::merge::Suspicion;
use crate::reads::{LEAST_BYTES, Load, loads, severity};

/// A sync after at most so many writes leaves little behind it.
const WRITES_PER_SYNC: u64 = 1000;

const ADVICE: &str = "end the job with `finish = { sync = \"fsync\" }`, so that the flush is part of the time, or set \
                      `direct = true` for the target; if the cache is what you measure, say `intent = \"cache\"`";

/// Writes of this phase that stayed in memory.
pub fn check(case: &Case<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    loads(case, Verb::Write, |job, record| is_buffered(case, job, record))
        .iter()
        .filter(|load| load.buffered >= LEAST_BYTES)
        .filter_map(|load| match &load.carrier {
            Some(carrier) => by_carrier(case, load, carrier),
            None => by_memory(case, load),
        })
        .collect()
}

fn is_buffered<'a>(case: &Case<'a>, job: &'a Job, record: &'a JobRecord) -> bool {
    let syncs: u64 = record
        .tally
        .lines
        .iter()
        .filter(|line| line.verb.kind() == Kind::Sync)
        .map(|line| line.operations)
        .sum();
    let synced = job.finish.sync.is_some() || syncs * WRITES_PER_SYNC >= operations(record, &[Verb::Write]);
    !synced && case.used(job, Verb::Write).any(|target| !case.is_direct(target) && !case.is_sync(target))
}

fn by_carrier(case: &Case<'_>, load: &Load<'_>, carrier: &Carrier<'_>) -> Option<Suspicion> {
    let missing = load.asked.saturating_sub(carrier.write_bytes());
    let share = (missing as f64 / load.buffered as f64).min(1.0);
    let figures = vec![
        Figure::new("written by the workload", load.asked as f64, "bytes"),
        Figure::new(&format!("written by {}", carrier.name()), carrier.write_bytes() as f64, "bytes"),
        Figure::new("left in memory", share * 100.0, "%"),
    ];
    suspicion(case, load, share, figures)
}

/// Dirty memory is the whole machine's, so only one load of a phase can be judged by it.
fn by_memory(case: &Case<'_>, load: &Load<'_>) -> Option<Suspicion> {
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

fn suspicion(case: &Case<'_>, load: &Load<'_>, share: f64, figures: Vec<Figure>) -> Option<Suspicion> {
    let sentence =
        format!("{:.0} % of the bytes written were still in memory when the time stopped", share * 100.0);
    let found =
        Suspicion::new(2, severity(share)?, case.label(), sentence, figures).advice(ADVICE).weight(share);
    Some(if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found })
}
