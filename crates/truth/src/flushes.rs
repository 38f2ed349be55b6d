//! Lie 17: flushes that cost nothing, because they never reached the device.
//!
//! Proof: syncs that were answered against flushes that the device completed, on a device that says it has a volatile
//! cache; or syncs that took less time than any storage needs, where nothing counts. Several syncs may share a flush, so
//! only a device that saw nearly none is accused; a device that says it writes through needs none.

use iodyno_model::{
    DeviceActivity, Figure, FindingKind, Histogram, Intent, JobRecord, Remedy, Severity, TargetFacts, Verb,
    units,
};

use crate::case::{PhaseEvidence, operations};
use crate::merge::Suspicion;
use crate::target;

/// Fewer syncs than this prove nothing. Chosen: a few may be of what is clean; `nine_syncs_prove_nothing` stands on
/// both sides.
const LEAST_SYNCS: u64 = 10;
/// So many syncs for each flush and worker are more than sharing explains. Chosen: workers share a journal's commit,
/// but seldom ten times each; `flushes_that_never_came` stands on both sides.
const MOST_SHARED: u64 = 10;
/// No storage that keeps what it was given answers sooner, ns; a system call that does nothing takes a few hundred.
/// Chosen: ten times such a call; `syncs_sooner_than_any_storage` stands on both sides.
const FLOOR_NS: f64 = 5_000.0;
/// The kernel that first counted flushes. Source: Linux, Documentation/ABI/testing/procfs-diskstats.
const COUNTS_SINCE: (u32, u32) = (5, 5);

/// Jobs of this phase whose syncs made nothing durable.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let mut found: Vec<Suspicion> = Vec::new();
    for (_, record) in case.storage_jobs() {
        let count = operations(record, &[Verb::Fsync, Verb::Fdatasync]);
        // A sync of what is clean needs no flush.
        if count < LEAST_SYNCS || operations(record, &[Verb::Write]) < count / 2 {
            continue;
        }
        let facts =
            case.storage_jobs().find(|(_, other)| std::ptr::eq(*other, record)).and_then(|(job, _)| {
                let target = case.used(job, Verb::Write).next()?;
                Some((case.facts(&target.name)?, case.device(&target.name)))
            });
        let Some((facts, device)) = facts else { continue };
        found.extend(match device {
            Some(device) => by_device(case, record, facts, device),
            None => by_time(case, record, facts),
        });
    }
    found
}

fn by_device(
    case: &PhaseEvidence<'_>,
    record: &JobRecord,
    facts: &TargetFacts,
    device: &DeviceActivity,
) -> Option<Suspicion> {
    // A stacked device passes flushes on without counting them.
    let flushes = device.flushes.max(device.beneath.iter().map(|below| below.flushes).max().unwrap_or(0));
    let all: u64 = case.storage_jobs().map(|(_, job)| operations(job, &[Verb::Fsync, Verb::Fdatasync])).sum();
    let workers: u64 =
        case.storage_jobs().map(|(_, job)| job.workers.len().max(1) as u64 * u64::from(job.depth)).sum();
    let volatile = facts.write_cache.as_deref() == Some("write back");
    let counted = counts_flushes(&case.record.machine.kernel) && (device.beneath.is_empty() || flushes > 0);
    if !volatile || !counted || flushes * MOST_SHARED * workers >= all {
        return None;
    }
    let off = facts
        .mount_options
        .as_deref()
        .is_some_and(|options| options.split(',').any(|option| matches!(option, "nobarrier" | "barrier=0")));
    let sentence = format!(
        "{all} syncs were answered, and {} saw {flushes} flushes{}: what it holds in its cache is lost with the power",
        device.device,
        if off { " (barriers are off)" } else { "" }
    );
    let mut figures = vec![
        Figure::new("syncs", all as f64, ""),
        Figure::new(&format!("flushes of {}", device.device), flushes as f64, ""),
    ];
    figures.extend(median_ns(record).map(|ns| Figure::new("sync latency, median", ns, "ns")));
    Some(suspicion(case, record, Severity::Invalid, sentence, figures))
}

/// Where no device can be watched, only time tells.
fn by_time(case: &PhaseEvidence<'_>, record: &JobRecord, facts: &TargetFacts) -> Option<Suspicion> {
    let ns = median_ns(record).filter(|ns| *ns < FLOOR_NS && !target::is_memory(facts))?;
    let count = operations(record, &[Verb::Fsync, Verb::Fdatasync]);
    let sentence = format!(
        "half of {count} syncs took less than {}: no storage makes anything durable in that time",
        units::duration(ns)
    );
    let figures = vec![
        Figure::new("syncs", count as f64, ""),
        Figure::new("sync latency, median", ns, "ns"),
        Figure::new("least that storage needs", FLOOR_NS, "ns"),
    ];
    Some(suspicion(case, record, Severity::Doubtful, sentence, figures))
}

fn median_ns(record: &JobRecord) -> Option<f64> {
    let mut all = Histogram::default();
    let syncs = record.tally.lines.iter().filter(|line| matches!(line.verb, Verb::Fsync | Verb::Fdatasync));
    syncs.for_each(|line| all.merge(&line.latency));
    (!all.is_empty()).then(|| all.percentile(50.0) as f64)
}

/// Whether a kernel counts flushes: of `Linux 6.1.0-13-amd64`, whether that is 5.5 or later.
fn counts_flushes(kernel: &str) -> bool {
    let release = kernel.split_whitespace().last().unwrap_or_default();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= COUNTS_SINCE,
        _ => false,
    }
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    record: &JobRecord,
    severity: Severity,
    sentence: String,
    figures: Vec<Figure>,
) -> Suspicion {
    let found = Suspicion::new(FindingKind::IneffectiveFlushes, severity, case.label(), sentence, figures);
    found.remedy(Remedy::EnableBarriers).job(&record.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_count() {
        assert!(
            counts_flushes("Linux 6.1.0-13-amd64")
                && counts_flushes("Linux 5.5")
                && counts_flushes("6.18.44-fc")
        );
        assert!(!counts_flushes("Linux 5.4.0") && !counts_flushes("FreeBSD") && !counts_flushes(""));
    }
}
