//! Lie 19: the kernel changed the I/O: it split it, merged it, or read ahead.
//!
//! Proof: the mean size of the device's requests against that of the operations, with what others moved by the kernel's
//! account of the program taken at its most harmless. Said where the size is the question: small operations that arrived as
//! large requests, and direct ones that arrived in pieces. What the page cache makes of large operations is its business.

use iodyno_model::{DeviceActivity, Direct, Figure, FindingKind, Intent, Remedy, Severity, Verb, units};

use crate::case::{Carrier, PhaseEvidence, operations};
use crate::merge::Suspicion;
use crate::reads::{Load, loads};

/// So many times as large, or as small: queues' own limits (an odd MiB) explain less. Chosen: twice that of a request
/// cut in two; `another_shape_at_the_device` stands on both sides.
const LEAST_TIMES: f64 = 4.0;
/// Operations up to this size are made for their number, not for their bytes. Chosen: half of the usual read-ahead, 128
/// KiB; `the_edges_of_another_shape` stands on both sides.
const MOST_SMALL: u64 = 64 << 10;
/// Fewer operations or requests prove nothing. Chosen: their mean is known to a tenth; `the_edges_of_another_shape`
/// stands on both sides.
const LEAST_COUNT: u64 = 100;
/// What the device moved for this program of what was asked, at least and at most. Chosen: what compresses or is
/// amplified is reported by others; `the_edges_of_another_shape` stands on both sides.
const OURS: (f64, f64) = (0.8, 1.3);
/// The least request of somebody else, bytes, where the device does not tell its block. Source: Linux,
/// Documentation/ABI/stable/sysfs-block, `logical_block_size`.
const LEAST_REQUEST: u64 = 512;

/// Loads of this phase that reached the device in another shape.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    let verbs = [Verb::Read, Verb::Write].into_iter();
    verbs
        .flat_map(|verb| {
            let all = loads(case, verb, |_, _| true);
            all.iter().filter_map(|load| judged(case, load, verb)).collect::<Vec<_>>()
        })
        .collect()
}

fn judged(case: &PhaseEvidence<'_>, load: &Load<'_>, verb: Verb) -> Option<Suspicion> {
    let Some(Carrier::Device(device)) = &load.carrier else { return None };
    let is_its = |job: &iodyno_model::Job| load.jobs.iter().any(|its| std::ptr::eq(*its, job));
    let jobs = case.storage_jobs().filter(|(job, _)| is_its(job));
    let count: u64 = jobs.map(|(_, record)| operations(record, &[verb])).sum();
    let (all, requests) = side(device, verb);
    let own = case.own().map(|(read, written)| if verb == Verb::Read { read } else { written });
    // A file system writes later, and for others: only of reads the account tells what was moved.
    let moved = own.filter(|_| verb == Verb::Read).map_or(all, |own| all.min(own));
    let share = moved as f64 / load.asked.max(1) as f64;
    if count < LEAST_COUNT || requests < LEAST_COUNT / 10 || !(OURS.0..=OURS.1).contains(&share) {
        return None;
    }
    let targets: Vec<_> = load.jobs.iter().flat_map(|job| case.used(job, verb)).collect();
    let facts = targets.first().and_then(|target| case.facts(&target.name));
    let (asked, found) = (load.asked / count, moved / requests);
    // As many of the requests as others' bytes allow are theirs.
    let block = facts.and_then(|facts| facts.logical_block_bytes).unwrap_or(LEAST_REQUEST).max(1);
    let others = all.saturating_sub(moved.min(load.asked));
    let ours = requests.saturating_sub(others / block);
    let direct = targets.iter().all(|target| target.open.direct == Direct::Yes);
    // What the page cache gathers before it writes is what writing through it means.
    let gathered = verb == Verb::Write && !direct;
    let merged = found as f64 >= LEAST_TIMES * asked as f64 && asked <= MOST_SMALL && !gathered;
    let split = direct && ours >= LEAST_COUNT && asked as f64 >= LEAST_TIMES * (moved / ours.max(1)) as f64;
    if !merged && !split {
        return None;
    }
    let ahead = facts.and_then(|facts| facts.read_ahead_bytes).filter(|_| verb == Verb::Read && !direct);
    let what = match (split, direct) {
        (true, _) => "in pieces",
        (_, true) => "merged",
        _ => "read ahead",
    };
    let sentence = format!(
        "{verb} operations of {} reached {} as requests of {} on average: {what}",
        units::binary(asked),
        device.device,
        units::binary(found)
    );
    let mut figures = vec![
        Figure::new("operation", asked as f64, "bytes"),
        Figure::new(&format!("request of {}", device.device), found as f64, "bytes"),
        Figure::new("operations", count as f64, ""),
        Figure::new("requests", requests as f64, ""),
        Figure::new("merged on the way", merges(device, verb) as f64, ""),
    ];
    figures.extend(ahead.map(|bytes| Figure::new("read-ahead", bytes as f64, "bytes")));
    let remedy = match (split, direct) {
        (true, _) => Remedy::ShrinkBlocks,
        (_, true) => Remedy::AvoidMerges,
        _ => Remedy::AvoidReadAhead,
    };
    let times = found as f64 / asked.max(1) as f64;
    let suspicion =
        Suspicion::new(FindingKind::ReshapedRequests, Severity::Note, case.label(), sentence, figures);
    let suspicion = suspicion.remedy(remedy).matter(verb.name()).weight(times.max(1.0 / times.max(1e-9)));
    Some(if load.jobs.len() == 1 { suspicion.job(&load.jobs[0].name) } else { suspicion })
}

fn side(device: &DeviceActivity, verb: Verb) -> (u64, u64) {
    match verb {
        Verb::Read => (device.read_bytes, device.reads),
        _ => (device.write_bytes, device.writes),
    }
}

fn merges(device: &DeviceActivity, verb: Verb) -> u64 {
    if verb == Verb::Read { device.reads_merged } else { device.writes_merged }
}
