//! Lie 21: metadata answered from the caches of names and inodes.
//!
//! Proof: a phase that only looks at names, on a device that read next to nothing meanwhile: fewer bytes than the inodes
//! take that were looked at. Said of nobody who had the caches dropped before; names on a server cannot be reported.

use iodyno_model::{
    Figure, FindingKind, Intent, Job, JobRecord, Kind, Remedy, Severity, Sighting, Target, TargetKind, Verb,
};

use crate::case::{PhaseEvidence, operations};
use crate::merge::Suspicion;
use crate::target;

/// What looks at names and inodes, and changes none.
const LOOKS: [Verb; 9] = [
    Verb::Stat,
    Verb::Lstat,
    Verb::Fstat,
    Verb::Access,
    Verb::Open,
    Verb::Readdir,
    Verb::Readlink,
    Verb::Getxattr,
    Verb::Listxattr,
];
/// Fewer looks are answered by a handful of blocks. Chosen: a block of 64 KiB holds 512 inodes of 128 bytes;
/// `names_in_memory` stands on both sides.
const LEAST_LOOKS: u64 = 500;
/// An inode takes at least 128 bytes on any file system; half of that must have been read. Source: mke2fs(8), `-I`.
const LEAST_EACH: u64 = 64;

/// One change in so many looks makes a phase one of changes. Chosen: a hundredth of them warms no cache that matters;
/// `names_in_memory` stands on one side only.
const LOOKS_FOR_EACH: u64 = 100;

/// Jobs of this phase whose names lay in memory.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) || case.asked.drop_caches {
        return Vec::new();
    }
    let names = names(case);
    if names.is_some_and(|names| names.dropped) {
        return Vec::new();
    }
    // What other jobs read meanwhile would hide it.
    case.storage_jobs().filter_map(|(job, record)| judged(case, job, record)).collect()
}

fn names<'a>(case: &PhaseEvidence<'a>) -> Option<&'a iodyno_model::NameCache> {
    case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Names(names) => Some(names),
        _ => None,
    })
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let looks = operations(record, &LOOKS);
    let changes =
        record.tally.operations(Kind::Metadata).saturating_sub(looks + operations(record, &[Verb::Close]));
    let of_sets = |target: &&Target| matches!(target.kind, TargetKind::FileSet { .. });
    let target = case.targets(job).find(of_sets)?;
    let facts = case.facts(&target.name)?;
    if looks < LEAST_LOOKS
        || changes > looks / LOOKS_FOR_EACH
        || record.tally.all_bytes() > 0
        || target::is_memory(facts)
    {
        return None;
    }
    let device = case.device(&target.name)?;
    let distinct = looks.min(count(target, job));
    if device.read_bytes >= distinct * LEAST_EACH {
        return None;
    }
    let sentence = format!(
        "{looks} operations on names of {distinct} objects made {} read {} bytes: they were answered from memory",
        device.device, device.read_bytes
    );
    let mut figures = vec![
        Figure::new("operations on names", looks as f64, ""),
        Figure::new("objects", distinct as f64, ""),
        Figure::new(&format!("read by {}", device.device), device.read_bytes as f64, "bytes"),
    ];
    if let Some(names) = names(case) {
        figures.push(Figure::new("names in memory before", names.dentries.0 as f64, ""));
        figures.push(Figure::new("inodes in memory before", names.inodes.0 as f64, ""));
    }
    let found = Suspicion::new(FindingKind::CachedNames, Severity::Doubtful, case.label(), sentence, figures);
    Some(found.remedy(Remedy::DropCaches).job(&job.name).weight(looks as f64))
}

/// How many objects a set has, of all its workers; a set that does not say may have any number.
fn count(target: &Target, job: &Job) -> u64 {
    let TargetKind::FileSet { items, .. } = &target.kind else { return u64::MAX };
    let own = items.own || items.name.contains("{worker") || items.name.contains("{rank");
    match items.count {
        0 => u64::MAX,
        count => count * if own { u64::from(job.workers.max(1)) } else { 1 },
    }
}
