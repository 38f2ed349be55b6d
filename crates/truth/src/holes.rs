//! Lie 3: reads of places where nothing was ever written.
//!
//! Proof: what the file system says of the target's extents (holes, and blocks that were reserved and never written); or
//! a device that moved less than was read past the page cache. Nothing is said of a device's own holes: trimmed blocks of
//! a disk are counted like any others.

use iodyno_model::{
    Direct, EngineTrait, Figure, FindingKind, Intent, Layout, Remedy, Severity, Target, TargetKind, Verb,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;
use crate::reads::{DOUBTFUL_SHARE, LEAST_BYTES, Load, loads, severity};

/// File systems that one device carries whole, and that keep data as it is.
const PLAIN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "jfs"];

/// Reads of this phase that had nothing to read.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let all = loads(case, Verb::Read, |_, _| true);
    all.iter()
        .filter(|load| load.asked >= LEAST_BYTES)
        .filter_map(|load| by_layout(case, load).or_else(|| by_device(case, load)))
        .collect()
}

/// Share of the bytes of a load's targets that hold nothing, 0 to 1; none where nobody looked.
pub fn empty_share(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<f64> {
    let (empty, all) = empty(case, load)?;
    Some(empty as f64 / all as f64)
}

fn empty(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<(u64, u64)> {
    // What the phase itself wrote before it read was not there when it was looked at.
    let is_read = |name: &str| targets(case, load).any(|target| target.name == name);
    let writes = case.storage_jobs().any(|(job, found)| {
        bytes(found, Verb::Write) > 0 && case.used(job, Verb::Write).any(|target| is_read(&target.name))
    });
    let seen = targets(case, load).filter_map(|target| case.layout(&target.name));
    let gaps = |layout: &Layout| layout.hole_bytes + layout.unwritten_bytes;
    let (empty, all) = seen.fold((0, 0), |sum, layout| (sum.0 + gaps(layout), sum.1 + layout.file_bytes));
    (all > 0 && !writes).then_some((empty, all))
}

fn targets<'a>(case: &PhaseEvidence<'a>, load: &Load<'a>) -> impl Iterator<Item = &'a Target> {
    load.jobs.iter().flat_map(|job| case.used(job, Verb::Read))
}

fn by_layout(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<Suspicion> {
    let (empty, all) = empty(case, load)?;
    let share = empty as f64 / all as f64;
    // The part that was read may be the part that holds data.
    let delivered = load.carrier.as_ref().map(|carrier| case.read_for_us(carrier));
    let whole = delivered.is_some_and(|bytes| bytes as f64 >= (1.0 - DOUBTFUL_SHARE) * load.asked as f64);
    if whole && share < 1.0 {
        return None;
    }
    let mut figures = vec![
        Figure::new("looked at", all as f64, "bytes"),
        Figure::new("never written", empty as f64, "bytes"),
        Figure::new("read by the workload", load.asked as f64, "bytes"),
        Figure::new("never written, share", share * 100.0, "%"),
    ];
    figures.extend(load.carrier.as_ref().map(|carrier| {
        Figure::new(&format!("read by {}", carrier.name()), carrier.read_bytes() as f64, "bytes")
    }));
    let sentence = format!(
        "{:.0} % of what was read was never written: holes are answered with zeros, not by the storage",
        share * 100.0
    );
    suspicion(case, load, share, sentence, figures)
}

/// Past the cache a device must move what was read, unless there was nothing to move.
fn by_device(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<Suspicion> {
    let carrier = load.carrier.as_ref()?;
    let looked_at = targets(case, load).any(|target| case.layout(&target.name).is_some());
    if looked_at || !targets(case, load).all(|target| is_past(case, target)) || !is_counted(case, load) {
        return None;
    }
    let missing = load.asked.saturating_sub(case.read_for_us(carrier));
    let share = missing as f64 / load.asked as f64;
    let figures = vec![
        Figure::new("read by the workload past the cache", load.asked as f64, "bytes"),
        Figure::new(&format!("read by {}", carrier.name()), carrier.read_bytes() as f64, "bytes"),
        Figure::new("never moved", share * 100.0, "%"),
    ];
    let sentence = format!(
        "{:.0} % of what was read past the page cache never moved on {}: it read holes or blocks never written",
        share * 100.0,
        carrier.name()
    );
    suspicion(case, load, share, sentence, figures)
}

/// Whether operations on it certainly go past the page cache of a file system that hides nothing.
fn is_past(case: &PhaseEvidence<'_>, target: &Target) -> bool {
    let facts = case.facts(&target.name);
    let told = facts.is_some_and(|facts| facts.direct == Some(true));
    let file_system = facts.and_then(|facts| facts.file_system.as_deref());
    let direct = target.open.direct == Direct::Yes || target.open.direct == Direct::IfPossible && told;
    let plain = file_system.is_some_and(|name| PLAIN.contains(&name));
    direct && plain && matches!(target.kind, TargetKind::File { .. })
}

fn is_counted(case: &PhaseEvidence<'_>, load: &Load<'_>) -> bool {
    let mut jobs =
        case.storage_jobs().filter(|(job, _)| load.jobs.iter().any(|its| std::ptr::eq(*its, *job)));
    jobs.all(|(_, record)| record.engine_is(EngineTrait::CountedByBlockLayer))
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    load: &Load<'_>,
    share: f64,
    sentence: String,
    figures: Vec<Figure>,
) -> Option<Suspicion> {
    let severity: Severity = severity(share)?;
    let found = Suspicion::new(FindingKind::UnwrittenReads, severity, case.label(), sentence, figures)
        .remedy(Remedy::FillBeforeReading)
        .weight(share);
    let found = found.takes(share);
    Some(if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found })
}
