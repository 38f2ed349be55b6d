//! Lie 16: amplification: the device moved many times what was asked.
//!
//! Proof: bytes of the device against bytes asked, operation by operation: as many requests as operations, each larger
//! than asked, or a read before every write. More requests than operations can explain are somebody else's (12), and
//! fewer are read ahead (19).

use iodyno_model::{
    DeviceActivity, Figure, FindingKind, Intent, Kind, Remedy, Severity, Target, Verb, units,
};

use crate::case::{Carrier, PhaseEvidence, operations};
use crate::merge::Suspicion;
use crate::reads::{LEAST_BYTES, Load, loads};

/// So many times as much as was asked is reported, beyond the second it is doubted. Chosen: a piece that lies across two
/// blocks moves twice as much; `amplification` stands on both sides.
const RATIOS: (f64, f64) = (2.0, 4.0);
/// The same where each write is made durable: its data, its inode and a journal's commit are blocks of their own.
/// Chosen: above the five blocks that a sync of one costs; `amplification` stands at 5 and 20 times, and nothing
/// between the two limits.
const DURABLE_RATIOS: (f64, f64) = (8.0, 16.0);
/// Requests for each operation that an operation of its own explains: a block that lies across two. Chosen: a tenth
/// more than two; `amplification` stands on both sides.
const MOST_REQUESTS: f64 = 2.2;
/// The same for a write that is made durable: data, journal and its commit. Chosen: the journal has a head, an inode
/// and a map besides; `amplification` stands on one side only.
const MOST_DURABLE: f64 = 8.0;

/// Loads of this phase that cost the device far more than was asked.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let mut found = Vec::new();
    // Reads and writes of other jobs on the same device cannot be distinguished.
    let (reads, writes) = (loads(case, Verb::Read, |_, _| true), loads(case, Verb::Write, |_, _| true));
    let names = |case: &PhaseEvidence<'_>| {
        case.storage_jobs().any(|(_, job)| job.tally.operations(Kind::Metadata) > 0)
    };
    if names(case) {
        return found;
    }
    for load in &reads {
        let alone = !writes.iter().any(|other| is_same(load, other));
        found
            .extend(device(load).filter(|_| alone).and_then(|device| larger(case, load, device, Verb::Read)));
    }
    for load in &writes {
        let alone = !reads.iter().any(|other| is_same(load, other));
        found.extend(device(load).filter(|_| alone).and_then(|device| {
            read_first(case, load, device).or_else(|| larger(case, load, device, Verb::Write))
        }));
    }
    found
}

fn device<'a>(load: &'a Load<'_>) -> Option<&'a DeviceActivity> {
    match &load.carrier {
        Some(Carrier::Device(device)) => Some(device),
        _ => None,
    }
}

fn is_same(a: &Load<'_>, b: &Load<'_>) -> bool {
    a.shares(b)
}

/// Operations of a load by one verb, and whether they are made durable one by one.
fn work(case: &PhaseEvidence<'_>, load: &Load<'_>, verb: Verb) -> (u64, bool) {
    let is_its = |job: &iodyno_model::Job| load.jobs.iter().any(|its| std::ptr::eq(*its, job));
    let (mut count, mut syncs) = (0, 0);
    for (job, record) in case.storage_jobs().filter(|(job, _)| is_its(job)) {
        count += operations(record, &[verb]);
        syncs += record.tally.operations(Kind::Sync);
        if case.targets(job).any(|target| case.is_sync(target)) {
            syncs += operations(record, &[Verb::Write]);
        }
    }
    (count, syncs * 10 >= count)
}

/// Every operation was a request, and each was larger than the operation.
fn larger(
    case: &PhaseEvidence<'_>,
    load: &Load<'_>,
    device: &DeviceActivity,
    verb: Verb,
) -> Option<Suspicion> {
    let (count, durable) = work(case, load, verb);
    let durable = durable && verb == Verb::Write;
    let (moved, requests) = match verb {
        Verb::Read => (device.read_bytes, device.reads),
        _ => (device.write_bytes, device.writes),
    };
    // Neither what others moved is ours, nor what waited to be written before; a journal's writer is the kernel.
    let moved = match (case.own(), verb) {
        (Some((read, _)), Verb::Read) => moved.min(read),
        (Some((_, written)), _) if !durable => moved.min(written),
        _ => moved.saturating_sub(if durable { case.dirty_before() } else { 0 }),
    };
    let ratio = moved as f64 / load.asked.max(1) as f64;
    let each = requests as f64 / count.max(1) as f64;
    let most = if durable { MOST_DURABLE } else { MOST_REQUESTS };
    let limits = if durable { DURABLE_RATIOS } else { RATIOS };
    if ratio < limits.0 || moved < load.asked + LEAST_BYTES || count == 0 || !(0.2..=most).contains(&each) {
        return None;
    }
    let size = load.asked / count;
    let sentence = format!(
        "{} {:.1} times what was asked: {} for each {verb} of {}",
        if verb == Verb::Read { "the device read" } else { "the device wrote" },
        ratio,
        units::binary(moved / count),
        units::binary(size)
    );
    let remedy = if durable { Remedy::SyncLess } else { Remedy::AlignBlocks };
    let figures = figures(case, load, device, moved, ratio, verb);
    let severity = if ratio >= limits.1 { Severity::Doubtful } else { Severity::Note };
    Some(suspicion(case, load, (severity, ratio), sentence, figures, remedy))
}

/// What was only to be written had to be read first: less than a block was written.
fn read_first(case: &PhaseEvidence<'_>, load: &Load<'_>, device: &DeviceActivity) -> Option<Suspicion> {
    let (count, _) = work(case, load, Verb::Write);
    let each = device.reads as f64 / count.max(1) as f64;
    let own = case.own().map_or(device.read_bytes, |(read, _)| device.read_bytes.min(read));
    let moved = own + device.write_bytes.saturating_sub(case.dirty_before());
    let ratio = moved as f64 / load.asked.max(1) as f64;
    let needless = own >= LEAST_BYTES && (0.2..=MOST_REQUESTS).contains(&each);
    if count == 0 || !needless || ratio < RATIOS.0 {
        return None;
    }
    let sentence = format!(
        "writes of {} are less than a block, which had to be read first: the device moved {ratio:.1} times what was asked",
        units::binary(load.asked / count)
    );
    let figures = figures(case, load, device, moved, ratio, Verb::Write);
    let severity = if ratio >= RATIOS.1 { Severity::Doubtful } else { Severity::Note };
    Some(suspicion(case, load, (severity, ratio), sentence, figures, Remedy::AlignBlocks))
}

fn figures(
    case: &PhaseEvidence<'_>,
    load: &Load<'_>,
    device: &DeviceActivity,
    moved: u64,
    ratio: f64,
    verb: Verb,
) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new(&format!("{verb} asked"), load.asked as f64, "bytes"),
        Figure::new(&format!("moved by {}", device.device), moved as f64, "bytes"),
        Figure::new("times as much", ratio, ""),
        Figure::new("its reads", device.reads as f64, ""),
        Figure::new("its writes", device.writes as f64, ""),
    ];
    let targets: Vec<&Target> = load.jobs.iter().flat_map(|job| case.used(job, verb)).collect();
    let block = targets.first().and_then(|target| case.facts(&target.name)?.physical_block_bytes);
    figures.extend(block.map(|bytes| Figure::new("physical block", bytes as f64, "bytes")));
    figures
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    load: &Load<'_>,
    (severity, ratio): (Severity, f64),
    sentence: String,
    figures: Vec<Figure>,
    remedy: Remedy,
) -> Suspicion {
    let found = Suspicion::new(FindingKind::WriteAmplification, severity, case.label(), sentence, figures)
        .remedy(remedy)
        .weight(ratio);
    let found = found.needs(1.0 - 1.0 / ratio);
    if load.jobs.len() == 1 { found.job(&load.jobs[0].name) } else { found }
}
