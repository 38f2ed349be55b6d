//! Lie 1: reads that the page cache answered while the storage was meant.
//!
//! Proof: the device, or the client of a network file system, moved fewer bytes for this program than were asked of it
//! (what it moved for others is no proof of anything); where neither can be watched, what was resident before the phase.
//! A job past the page cache is never accused: what is missing there has other reasons (holes, lie 3).

use iodyno_model::{Figure, FindingKind, Intent, Job, JobRecord, Remedy, Severity, Target, TargetKind, Verb};

use crate::case::{Carrier, PhaseEvidence, bytes};
use crate::merge::Suspicion;
use crate::{content, holes, target};

/// Less than this is a handful of requests, of which read-ahead and neighbours explain any share. Chosen: eight windows
/// of read-ahead of 128 KiB; `reads_from_the_page_cache` stands on both sides.
pub const LEAST_BYTES: u64 = 1 << 20;
/// A share of bytes that the device did not move which counters and neighbours do not explain. Chosen: a rate off by a
/// tenth is another; `reads_from_the_page_cache` stands on both sides.
pub const DOUBTFUL_SHARE: f64 = 0.1;
/// The figure speaks mostly of memory. Chosen: whichever is more of it; `reads_from_the_page_cache` stands on both
/// sides.
pub const INVALID_SHARE: f64 = 0.5;
/// A span that is resident to this share after the phase was not evicted while it ran. Chosen: pages at the edges may
/// be missing; `reads_from_the_page_cache_where_no_device_can_be_watched` stands on both sides.
const WHOLE_SHARE: f64 = 0.99;

/// How much a share of bytes spoils that memory took instead of the storage.
pub fn severity(share: f64) -> Option<Severity> {
    match share {
        share if share >= INVALID_SHARE => Some(Severity::Invalid),
        share if share >= DOUBTFUL_SHARE => Some(Severity::Doubtful),
        _ => None,
    }
}

/// Bytes of one verb on the devices or network mounts that some jobs have in common, in one phase.
pub struct Load<'a> {
    /// What moved them, several as one; `None` where nothing could be watched.
    pub carrier: Option<Carrier<'a>>,
    /// Bytes asked by all jobs on it.
    pub asked: u64,
    /// Bytes asked by jobs that memory may have answered.
    pub buffered: u64,
    /// Those jobs.
    pub jobs: Vec<&'a Job>,
    /// Each of what moved them, by name.
    parts: Vec<(String, Carrier<'a>)>,
}

impl<'a> Load<'a> {
    /// Whether both have a carrier in common.
    pub fn shares(&self, other: &Load<'_>) -> bool {
        self.parts.iter().any(|(name, _)| other.parts.iter().any(|(known, _)| known == name))
    }

    /// Takes in another load that has a carrier in common.
    fn join(&mut self, other: Load<'a>) {
        for part in other.parts {
            if !self.parts.iter().any(|(known, _)| *known == part.0) {
                self.parts.push(part);
            }
        }
        self.asked += other.asked;
        self.buffered += other.buffered;
        self.jobs.extend(other.jobs);
    }
}

/// The loads of a phase: one for jobs that have a device or mount in common, and one for each job without.
pub fn loads<'a>(
    case: &PhaseEvidence<'a>,
    verb: Verb,
    is_buffered: impl Fn(&'a Job, &'a JobRecord) -> bool,
) -> Vec<Load<'a>> {
    let mut loads: Vec<Load<'a>> = Vec::new();
    for (job, record) in case.storage_jobs() {
        let asked = bytes(record, verb);
        let is_storage = |target: &&Target| {
            let kind = &target.kind;
            matches!(kind, TargetKind::File { .. } | TargetKind::FileSet { .. } | TargetKind::Device { .. })
                && !case.facts(&target.name).is_some_and(target::is_memory)
        };
        let targets: Vec<_> = case.used(job, verb).filter(is_storage).collect();
        if asked == 0 || targets.is_empty() {
            continue;
        }
        let carriers: Vec<_> = targets.iter().filter_map(|target| case.carrier(&target.name)).collect();
        // What lies partly where nobody counts cannot be distinguished.
        if !carriers.is_empty() && carriers.len() < targets.len() {
            continue;
        }
        let (buffered, jobs) = if is_buffered(job, record) { (asked, vec![job]) } else { (0, Vec::new()) };
        let mut load = Load { carrier: None, asked, buffered, jobs, parts: Vec::new() };
        for carrier in carriers {
            let name = carrier.name();
            if !load.parts.iter().any(|(known, _)| *known == name) {
                load.parts.push((name, carrier));
            }
        }
        // Jobs share what any of them works on: their bytes cannot be distinguished there.
        let (same, others): (Vec<_>, Vec<_>) = loads.into_iter().partition(|other| other.shares(&load));
        loads = others;
        loads.push(match same.into_iter().reduce(|mut sum, more| (sum.join(more), sum).1) {
            Some(mut known) => (known.join(load), known).1,
            None => load,
        });
    }
    loads.retain_mut(|load| {
        let parts: Vec<_> = load.parts.iter().map(|(_, carrier)| carrier.clone()).collect();
        load.carrier = Carrier::together(&parts);
        // A device's counts and a network client's are no one sum.
        load.carrier.is_some() || parts.is_empty()
    });
    loads
}

/// Reads of this phase that memory answered.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let buffered = |job, _| case.used(job, Verb::Read).any(|target| !case.is_direct(target));
    loads(case, Verb::Read, buffered)
        .iter()
        .filter(|load| load.buffered >= LEAST_BYTES)
        .filter_map(|load| match &load.carrier {
            Some(carrier) => by_carrier(case, load, carrier),
            None => by_residency(case, load),
        })
        .collect()
}

fn by_carrier(case: &PhaseEvidence<'_>, load: &Load<'_>, carrier: &Carrier<'_>) -> Option<Suspicion> {
    // What lies there compressed is less than it is read as: only what was in the cache before tells.
    if load.jobs.iter().any(|job| content::is_encoded(case, job)) {
        return by_residency(case, load);
    }
    // Nobody delivers holes (lie 3).
    let holes = holes::empty_share(case, load).unwrap_or(0.0) * load.asked as f64;
    let delivered = case.read_for_us(carrier);
    let missing = load.asked.saturating_sub(delivered + holes as u64);
    let share = (missing as f64 / load.buffered as f64).min(1.0);
    let mut figures = vec![
        Figure::new("read by the workload", load.asked as f64, "bytes"),
        Figure::new(&format!("read by {}", carrier.name()), carrier.read_bytes() as f64, "bytes"),
        Figure::new("answered by memory", share * 100.0, "%"),
    ];
    if delivered < carrier.read_bytes() {
        figures.insert(2, Figure::new("of it for this run", delivered as f64, "bytes"));
    }
    suspicion(case, load, share, figures)
}

/// How much of a load the page cache must have answered, by what lay in it before and after.
pub struct Resident {
    /// Bytes of the span.
    pub span: u64,
    /// Bytes of it in the cache before.
    pub before: u64,
    /// The least share of what was read that came from it, 0 to 1.
    pub share: f64,
}

/// By what was in the page cache; none where it was not looked at.
pub fn resident(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<Resident> {
    let names =
        load.jobs.iter().flat_map(|job| case.used(job, Verb::Read)).filter(|target| !case.is_direct(target));
    let seen = names.filter_map(|target| case.residency(&target.name));
    let (span, before, after) =
        seen.reduce(|a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2)).filter(|(span, ..)| *span > 0)?;
    let resident = before as f64 / span as f64;
    // Nothing was evicted, so each byte of the span came from the storage once at most.
    let repeated = if after as f64 >= WHOLE_SHARE * span as f64 {
        1.0 - span.saturating_sub(before) as f64 / load.buffered as f64
    } else {
        0.0
    };
    Some(Resident { span, before, share: resident.max(repeated).min(1.0) })
}

fn by_residency(case: &PhaseEvidence<'_>, load: &Load<'_>) -> Option<Suspicion> {
    let Resident { span, before, share } = resident(case, load)?;
    let figures = vec![
        Figure::new("read by the workload", load.asked as f64, "bytes"),
        Figure::new("span", span as f64, "bytes"),
        Figure::new("in the page cache before", before as f64, "bytes"),
        Figure::new("answered by memory", share * 100.0, "%"),
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
        format!("{:.0} % of the bytes read came from the page cache, not from the storage", share * 100.0);
    let found = Suspicion::new(FindingKind::CachedReads, severity(share)?, case.label(), sentence, figures)
        .remedy(Remedy::BypassPageCache)
        .weight(share);
    let found = found.takes(share);
    Some(if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found })
}
