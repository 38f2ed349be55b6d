//! Lie 1, the field's way around it, where it does not work: reading what a neighbour wrote escapes that neighbour's page
//! cache only on another machine.
//!
//! A note, said once: whether the cache answered is reported by what the devices did. It accuses nobody who goes past the
//! cache or has emptied it.

use iodyno_model::{Figure, FindingKind, Intent, Job, Place, Remedy, Severity, Target, TargetKind, Verb};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;

/// Reads of others' data that were written on the same machine.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let nodes = case.record.world.machines();
    if nodes > 1 || matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let ranks = case.record.world.ranks();
    let reads =
        case.storage_jobs().filter(|(job, found)| is_fooled(case, job) && bytes(found, Verb::Read) > 0);
    let workers = |job: &Job| f64::from(job.workers) * f64::from(ranks);
    reads
        .filter(|(job, _)| workers(job) > 1.0)
        .map(|(job, _)| {
            let sentence = "others' data is read to escape the page cache, but all workers are on one node: the \
                            same cache wrote it";
            let figures = vec![
                Figure::new("nodes", f64::from(nodes), ""),
                Figure::new("ranks", f64::from(ranks), ""),
                Figure::new("workers", workers(job), ""),
            ];
            Suspicion::new(FindingKind::CachedReads, Severity::Note, case.label(), sentence.into(), figures)
                .remedy(Remedy::ReadOnAnotherNode)
                .job(&job.name)
                .matter("neighbours")
        })
        .collect()
}

/// Whether a job reads another's data through the page cache as it was left.
fn is_fooled(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    // No page cache of ours lies before an object.
    let is_object = |target: &Target| matches!(target.kind, TargetKind::Bucket { .. });
    let through = |target: &Target| !case.is_direct(target) && !target.open.invalidate && !is_object(target);
    job.place != Place::Own && !case.asked.drop_caches && case.used(job, Verb::Read).any(through)
}
