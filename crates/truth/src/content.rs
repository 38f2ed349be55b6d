//! Lie 4: data that compresses or repeats, on storage that compresses or stores the same thing once.
//!
//! Proof: what the payload was, or what the file system says it keeps encoded, together with storage that is known to
//! compress (its mount options, its extents). That a disk may compress inside, nobody can see, and nothing is said of it.

use iodyno_model::{
    Content, Figure, FindingKind, Intent, Job, JobRecord, Marks, Payload, Pick, Refresh, Remedy, Severity,
    TargetFacts, TargetKind, Verb, Workload,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;
use crate::reads::{DOUBTFUL_SHARE, INVALID_SHARE, LEAST_BYTES};

/// A part of the data that may go without anybody's being fooled, in percent. Chosen: what a steady rate may range over
/// (finding 7); `data_that_compresses_where_it_is_compressed` stands on both sides.
const LEAST_PERCENT: f64 = 20.0;
/// File systems that compress by default or by a property that no mount option shows.
const COMPRESSORS: [&str; 3] = ["zfs", "fuse.s3backer", "squashfs"];
/// Mount options that ask for it.
const OPTIONS: [&str; 3] = ["compress", "compression", "compress-force"];

/// Jobs of this phase whose data the storage could make smaller.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    case.storage_jobs().filter_map(|(job, record)| judged(case, job, record)).collect()
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let (read, written) = (bytes(record, Verb::Read), bytes(record, Verb::Write));
    if read + written < LEAST_BYTES {
        return None;
    }
    let encoded = encoded_percent(case, job);
    let plain = if written >= LEAST_BYTES { redundant_percent(case, job) } else { 0.0 };
    let squeezes = job_facts(case, job).any(compresses);
    // What is known of the files once they were written outweighs what might have become of them.
    let is_known = !squeezes || is_settled(case, job, written) || is_moved_whole(case, job, written);
    let percent = if is_known { encoded.unwrap_or(0.0) } else { plain.max(encoded.unwrap_or(0.0)) };
    if percent < LEAST_PERCENT {
        return None;
    }
    let mut figures = vec![
        Figure::new("compresses or repeats", plain, "%"),
        Figure::new("written by the workload", written as f64, "bytes"),
        Figure::new("read by the workload", read as f64, "bytes"),
    ];
    figures.extend(encoded.map(|percent| Figure::new("kept encoded", percent, "%")));
    let target = case.targets(job).next()?;
    if let Some(carrier) = case.carrier(&target.name) {
        let name = carrier.name();
        figures.push(Figure::new(&format!("written by {name}"), carrier.write_bytes() as f64, "bytes"));
        figures.push(Figure::new(&format!("read by {name}"), carrier.read_bytes() as f64, "bytes"));
    }
    let file_system = case.facts(&target.name).and_then(|facts| facts.file_system.as_deref());
    let sentence = format!(
        "{percent:.0} % of the data compresses or repeats, and {} compresses what it stores: less was moved than it seems",
        file_system.unwrap_or("the storage")
    );
    let severity = if percent >= INVALID_SHARE * 100.0 { Severity::Invalid } else { Severity::Doubtful };
    let found = Suspicion::new(FindingKind::ReducibleData, severity, case.label(), sentence, figures);
    Some(found.remedy(Remedy::WriteRandomData).job(&job.name).weight(percent))
}

/// Whether the files were looked at when they were written and on the storage: then nothing more becomes of them. Where
/// the phase reads, they were looked at before.
fn is_settled(case: &PhaseEvidence<'_>, job: &Job, written: u64) -> bool {
    let reads = case.storage_jobs().any(|(_, record)| bytes(record, Verb::Read) > 0);
    let seen = case.targets(job).all(|target| case.layout(&target.name).is_some());
    let waiting: u64 = case.targets(job).filter_map(|target| case.dirty_after(&target.name)).sum();
    written > 0 && !reads && seen && (waiting as f64) < DOUBTFUL_SHARE * written as f64
}

/// Whether the device wrote all that the workload did: the file system made nothing smaller. What lies beneath may.
fn is_moved_whole(case: &PhaseEvidence<'_>, job: &Job, written: u64) -> bool {
    if job_facts(case, job).any(|facts| facts.layers.iter().any(|layer| layer.contains("vdo"))) {
        return false;
    }
    let carriers: Vec<_> = case.targets(job).filter_map(|target| case.carrier(&target.name)).collect();
    let moved = carriers.iter().map(|carrier| case.written_for_us(carrier)).max();
    moved.is_some_and(|moved| written > 0 && moved as f64 >= (1.0 - DOUBTFUL_SHARE) * written as f64)
}

/// Whether what a job's files hold lies there encoded, as far as their file system tells.
pub fn is_encoded(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    encoded_percent(case, job).is_some_and(|percent| percent >= DOUBTFUL_SHARE * 100.0)
}

/// Whether what a job writes may take less room on its storage than it is long.
pub fn shrinks(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    is_encoded(case, job) || job_facts(case, job).any(compresses)
}

/// How much of what a job's targets hold lies there encoded, in percent; none where nobody looked.
fn encoded_percent(case: &PhaseEvidence<'_>, job: &Job) -> Option<f64> {
    let seen = case.targets(job).filter_map(|target| case.layout(&target.name));
    let sum = seen.fold((0, 0), |sum, layout| (sum.0 + layout.encoded_bytes, sum.1 + layout.file_bytes));
    (sum.1 > 0).then(|| (sum.0 as f64 / sum.1 as f64 * 100.0).min(100.0))
}

fn job_facts<'a>(case: &PhaseEvidence<'a>, job: &'a Job) -> impl Iterator<Item = &'a TargetFacts> {
    case.targets(job).filter_map(|target| case.facts(&target.name))
}

/// Whether storage is known to compress.
fn compresses(facts: &TargetFacts) -> bool {
    let options = facts.mount_options.as_deref().unwrap_or_default();
    let asked = options.split(',').any(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        OPTIONS.contains(&name) && !matches!(value, "no" | "none" | "off")
    });
    let file_system = facts.file_system.as_deref().unwrap_or_default();
    asked || COMPRESSORS.contains(&file_system) || facts.layers.iter().any(|layer| layer.contains("vdo"))
}

/// Part of what a job writes that compresses away or repeats, in percent.
fn redundant_percent(case: &PhaseEvidence<'_>, job: &Job) -> f64 {
    if copies_zeros(case, job) {
        return 100.0;
    }
    let Payload { content, compress_percent, dedupe_percent, refresh, .. } = &job.payload;
    let kept = (100.0 - f64::from(*compress_percent)) * (100.0 - f64::from(*dedupe_percent)) / 100.0;
    match content {
        Content::Zero | Content::Pattern(_) => 100.0,
        Content::Repeated(_) if *compress_percent == 0 => 100.0,
        Content::Marked(marked) if marked.marks != Marks::Drawn => 100.0,
        Content::Carried => 0.0,
        Content::Scrambled if is_small(job) => 100.0,
        _ if *refresh == Refresh::Once && is_small(job) => 100.0,
        _ => 100.0 - kept,
    }
}

/// Whether blocks that resemble each other lie together within what a compressor looks at, 128 KiB.
fn is_small(job: &Job) -> bool {
    let Workload::Pattern(pattern) = &job.workload else { return false };
    let small = pattern.size.write.most_bytes().is_some_and(|bytes| bytes <= 64 << 10);
    small && pattern.pick.write == Pick::Sequential
}

/// Whether a job copies zeros.
fn copies_zeros(case: &PhaseEvidence<'_>, job: &Job) -> bool {
    let is_zero = |kind: &TargetKind| matches!(kind, TargetKind::File { path, .. } if path == "/dev/zero");
    job.payload.content == Content::Carried && case.targets(job).any(|target| is_zero(&target.kind))
}
