//! Lie 31: one shared file was the limit, not the storage.
//!
//! Proof: workers that write to one file and wait for its lock. Linux lets one of them write at a time where a write goes
//! through the page cache or extends the file; a file system of several hosts passes its locks around. Who spins for the
//! lock is not seen, so that the share is the least.

use iodyno_model::{
    Figure, FindingKind, Intent, Job, JobRecord, Remedy, Severity, Sighting, Target, TargetKind, Verb,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;

/// Share of the workers that waited at once, on the mean, from which the lock and not the storage set the pace. Chosen:
/// of two workers that only wait for each other it is half; four on ext4, xfs, btrfs and tmpfs were seen at 0.05 (xfs,
/// where the device was slower) to 0.7 (tmpfs). Its twins, a file each, stand at 0. `workers_that_wait_for_one_file`
/// stands on both sides.
const LEAST_WAITING: f64 = 0.2;
/// Fewer looks tell too little: a look each 0.1 s. Chosen: a second; `workers_that_wait_for_one_file` stands on both
/// sides.
const LEAST_LOOKS: u64 = 10;

/// The file that several workers wrote to and waited for.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    case.found.sightings.iter().find_map(|sighting| judged(case, sighting)).into_iter().collect()
}

fn judged(case: &PhaseEvidence<'_>, sighting: &Sighting) -> Option<Suspicion> {
    let Sighting::Locks { waiting, looks } = *sighting else { return None };
    let (target, workers) = shared(case)?;
    let share = waiting / f64::from(workers);
    if share < LEAST_WAITING || looks < LEAST_LOOKS {
        return None;
    }
    let sentence = format!(
        "{workers} workers wrote to one file, {}, and {waiting:.1} of them waited for its lock at any time",
        target.path().unwrap_or(&target.name)
    );
    let figures = vec![
        Figure::new("workers on the file", f64::from(workers), ""),
        Figure::new("waiting for its lock, mean", waiting, ""),
        Figure::new("share of them", share * 100.0, "%"),
        Figure::new("looks", looks as f64, ""),
    ];
    let found = Suspicion::new(FindingKind::SharedFile, Severity::Doubtful, case.label(), sentence, figures);
    Some(found.remedy(Remedy::SeparateFiles).weight(share).takes(share))
}

/// The file that most workers share of which some write, and how many work on it; none where each has its own.
fn shared<'a>(case: &PhaseEvidence<'a>) -> Option<(&'a Target, u32)> {
    let jobs: Vec<(&Job, &JobRecord)> = case.storage_jobs().collect();
    let writes = |record: &JobRecord| bytes(record, Verb::Write) > 0;
    let is_file = |target: &&Target| matches!(target.kind, TargetKind::File { .. });
    let mut all: Vec<(&Target, u32)> = Vec::new();
    for (job, record) in jobs.iter().filter(|(job, _)| !case.is_own(job)) {
        for target in case.targets(job).filter(is_file) {
            let on = |(other, _): &&(&Job, &JobRecord)| {
                case.targets(other).any(|file| file.path() == target.path())
            };
            let users: Vec<_> = jobs.iter().filter(on).collect();
            let workers = users.iter().map(|(_, record)| record.workers.len() as u32).sum();
            if workers > 1 && users.iter().any(|(_, record)| writes(record)) && writes(record) {
                all.push((target, workers));
            }
        }
    }
    all.into_iter().max_by_key(|(_, workers)| *workers)
}
