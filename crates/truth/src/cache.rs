//! How much of what a phase read came from the page cache, as one figure with its reason; and pages that were to leave the
//! cache and did not.
//!
//! The device, or the client of a network file system, says what it delivered: the rest came from memory. Where neither
//! counts, what lay in the cache before proves that something came from it, but never that nothing did: then the figure
//! is *cannot tell*, with the reason, and not zero.

use iodyno_model::{
    CacheShare, Figure, FindingKind, Intent, PhaseRecord, Plan, Record, Remedy, Severity, Sighting, Target,
    TargetKind, Verb,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;
use crate::reads::{DOUBTFUL_SHARE, LEAST_BYTES, Load, loads, resident};
use crate::target;

/// How much of what a phase read came from the page cache; none where it read no storage at all.
pub fn share(plan: &Plan, record: &Record, phase: &PhaseRecord) -> Option<CacheShare> {
    let case = PhaseEvidence::new(plan, record, phase)?;
    let is_storage = |target: &&Target| {
        matches!(
            target.kind,
            TargetKind::File { .. } | TargetKind::FileSet { .. } | TargetKind::Device { .. }
        )
    };
    let mut whole = CacheShare { cached_bytes: Some(0), ..CacheShare::default() };
    let mut in_memory = 0;
    for (job, found) in case.storage_jobs() {
        let asked = bytes(found, Verb::Read);
        let targets: Vec<&Target> = case.used(job, Verb::Read).filter(is_storage).collect();
        if asked == 0 || targets.is_empty() {
            continue;
        }
        whole.read_bytes += asked;
        let facts: Vec<_> = targets.iter().filter_map(|target| case.facts(&target.name)).collect();
        if facts.len() == targets.len() && facts.iter().all(|facts| target::is_memory(facts)) {
            in_memory += asked;
            note(&mut whole, Some(asked), format!("{} is memory", facts[0].path));
        }
    }
    let buffered = |job, _: &_| case.used(job, Verb::Read).any(|target| !case.is_direct(target));
    let loads = loads(&case, Verb::Read, buffered);
    let told: u64 = loads.iter().map(|load| load.asked).sum();
    for load in &loads {
        let (cached, because) = part(&case, load);
        note(&mut whole, cached, because);
    }
    if told + in_memory < whole.read_bytes {
        note(&mut whole, None, "files of one job lie partly where nothing is counted".into());
    }
    (whole.read_bytes > 0).then_some(whole)
}

/// Adds one part; what cannot be told of a part cannot be told of the whole.
fn note(whole: &mut CacheShare, cached: Option<u64>, because: String) {
    let (Some(sum), Some(more)) = (whole.cached_bytes, cached) else {
        if whole.cached_bytes.take().is_some() {
            whole.because = because;
        }
        return;
    };
    whole.cached_bytes = Some(sum + more);
    if !whole.because.contains(&because) {
        let before = std::mem::take(&mut whole.because);
        whole.because = if before.is_empty() { because } else { format!("{before}; {because}") };
    }
}

/// What came from the cache of one load, and how that is known.
fn part(case: &PhaseEvidence<'_>, load: &Load<'_>) -> (Option<u64>, String) {
    if let Some(carrier) = &load.carrier {
        let (delivered, all) = (case.read_for_us(carrier), carrier.read_bytes());
        let missing = load.asked.saturating_sub(delivered).min(load.buffered);
        let others = if delivered < all { format!(" of {all} to this run") } else { String::new() };
        return (Some(missing), format!("{} delivered {delivered} bytes{others}", carrier.name()));
    }
    if load.buffered == 0 {
        return (Some(0), "read past the page cache".into());
    }
    let proven = resident(case, load).filter(|resident| resident.share >= DOUBTFUL_SHARE);
    if let Some(resident) = proven {
        let cached = (resident.share * load.buffered as f64) as u64;
        let because = format!("at least: {} of {} bytes lay in it before", resident.before, resident.span);
        return (Some(cached), because);
    }
    (None, reason(case, load))
}

/// Why nothing can be told of a load.
fn reason(case: &PhaseEvidence<'_>, load: &Load<'_>) -> String {
    let facts = load.jobs.iter().flat_map(|job| case.used(job, Verb::Read));
    let path = facts.filter_map(|target| case.facts(&target.name)).map(|facts| facts.path.as_str()).next();
    let reasons = case.found.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::CannotTell { witness, reason } if witness == "device" => Some(reason),
        _ => None,
    });
    let its = |reason: &&String| path.is_some_and(|path| reason.starts_with(path));
    let told = reasons.clone().find(its).or_else(|| reasons.into_iter().next());
    told.cloned().unwrap_or_else(|| "no witness watched what lies beneath".into())
}

/// Pages of this phase that were to leave the cache and did not.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    case.found.sightings.iter().filter_map(|sighting| undropped(case, sighting)).collect()
}

fn undropped(case: &PhaseEvidence<'_>, sighting: &Sighting) -> Option<Suspicion> {
    let Sighting::Undropped { of, left_bytes, reason } = sighting else { return None };
    let is_machine = of.is_empty();
    if !is_machine && *left_bytes < LEAST_BYTES {
        return None;
    }
    let sentence = match is_machine {
        true => format!("the caches of the machine were not dropped before the phase: {reason}"),
        false => format!("{left_bytes} bytes were still in the page cache when the phase began: {reason}"),
    };
    let figures = vec![Figure::new("still in the page cache", *left_bytes as f64, "bytes")];
    let found = Suspicion::new(FindingKind::CachedReads, Severity::Note, case.label(), sentence, figures);
    let found = found.remedy(Remedy::FindCacheHolder).matter("undropped").weight(*left_bytes as f64);
    Some(if is_machine { found } else { found.job(of) })
}
