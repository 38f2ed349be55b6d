//! Lie 12: somebody else used the same device.
//!
//! Proof: the device moved more than this program made it move, by the kernel's own account of the program. A file
//! system's journal and metadata are written by the kernel for us, so that much is allowed for each operation that needs
//! it; what was still in memory before the phase began is reported as such. Where a server works for us (FUSE) nothing is said.

use iodyno_model::{
    DeviceActivity, EngineTrait, Figure, FindingKind, Intent, Kind, OpenSync, Remedy, Severity, Sighting,
    units,
};

use crate::case::{PhaseEvidence, as_one};
use crate::merge::Suspicion;

/// Less than this is a handful of requests, or a file system that settles in (ext4 writes its tables after it was
/// mounted). Chosen: beyond what settles in; `strangers_on_the_device` and `an_honest_run_is_not_accused` stand on both
/// sides.
const LEAST_BYTES: f64 = 32.0 * 1024.0 * 1024.0;
/// And less than this each second. Chosen: a hundredth of a slow disk; `strangers_on_the_device` and
/// `an_honest_run_is_not_accused` stand on both sides.
const LEAST_RATE: f64 = 1024.0 * 1024.0;
/// Share of all that the device moved from which the others matter, in percent. Chosen: a rate off by a tenth is
/// another; `strangers_on_the_device` stands on both sides.
const LEAST_PERCENT: f64 = 10.0;
/// Journal and metadata that an operation on names, or one that must be durable, may cost, bytes. Chosen: a few blocks
/// each of journal, inode and directory, and read-ahead; `strangers_on_the_device` stands on both sides.
const FOR_EACH: f64 = 128.0 * 1024.0;
/// File systems that write a block and the way to it anew each time: so many times as much. Chosen: the data, and the
/// way to it or its journal; no test writes to one of them, `strangers_on_the_device` stands at one copy.
const COPIES: [(&str, f64); 4] = [("btrfs", 3.0), ("zfs", 3.0), ("bcachefs", 3.0), ("f2fs", 2.0)];

/// Share of what others wrote that was in memory before, from which it was left over. Chosen: most of it;
/// `strangers_on_the_device` stands on one side only.
const LEFT_OVER: f64 = 0.8;

/// Devices of this phase that moved more than was asked of them.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if case.intent() == Intent::Network {
        return Vec::new();
    }
    let own = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Own { read_bytes, write_bytes } => Some((*read_bytes as f64, *write_bytes as f64)),
        _ => None,
    });
    let Some(own) = own.filter(|_| !is_served(case)) else { return Vec::new() };
    all(case).and_then(|device| judged(case, &device, own)).into_iter().collect()
}

/// All devices that were watched, as one: what the program moved is told of all of them together. `None` where one is made
/// of another, and the same bytes would count twice.
fn all(case: &PhaseEvidence<'_>) -> Option<DeviceActivity> {
    let devices: Vec<&DeviceActivity> = case.devices().collect();
    let beneath =
        |name: &str| devices.iter().any(|device| device.beneath.iter().any(|lower| lower.device == name));
    if devices.iter().any(|device| beneath(&device.device)) {
        return None;
    }
    devices.iter().copied().cloned().reduce(|sum, more| as_one(sum, &more))
}

/// Whether a process of somebody else's does our work on the device, or the device is not asked through the block layer.
fn is_served(case: &PhaseEvidence<'_>) -> bool {
    let fuse = |sighting: &Sighting| match sighting {
        Sighting::Target(facts) => facts.file_system.as_deref().is_some_and(|name| name.starts_with("fuse")),
        _ => false,
    };
    let past = case.jobs().any(|(_, record)| record.engine_is(EngineTrait::PassesBlockLayer));
    past || case.storage_jobs().next().is_none() || case.found.sightings.iter().any(fuse)
}

/// Bytes that the file system may have written for us besides the data.
fn upkeep(case: &PhaseEvidence<'_>, written: f64) -> f64 {
    let counts = |job: &iodyno_model::JobRecord, kinds: &[Kind]| {
        kinds.iter().map(|kind| job.tally.operations(*kind)).sum::<u64>() as f64
    };
    let mut needy = 0.0;
    for (job, record) in case.storage_jobs() {
        needy += counts(record, &[Kind::Sync, Kind::Metadata]);
        if case.targets(job).any(|target| target.open.sync != OpenSync::No) {
            needy += counts(record, &[Kind::Write]);
        }
    }
    let copies = |name: &str| COPIES.iter().find(|(known, _)| *known == name).map(|(_, times)| *times);
    let times = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Target(facts) => facts.file_system.as_deref().and_then(copies),
        _ => None,
    });
    FOR_EACH * needy + written * times.unwrap_or(0.3)
}

fn judged(case: &PhaseEvidence<'_>, device: &DeviceActivity, own: (f64, f64)) -> Option<Suspicion> {
    let seconds = device.interval_ns as f64 / 1e9;
    let read = (device.read_bytes as f64 - own.0 * 1.1).max(0.0);
    let write = (device.write_bytes as f64 - own.1 - upkeep(case, own.1)).max(0.0);
    let left = dirty_before(case).min(write);
    let strange = read + write;
    let moved = (device.read_bytes + device.write_bytes) as f64;
    let percent = strange / moved.max(1.0) * 100.0;
    if strange < LEAST_BYTES || strange / seconds.max(1e-9) < LEAST_RATE || percent < LEAST_PERCENT {
        return None;
    }
    let is_left = read < LEAST_BYTES && left >= LEFT_OVER * write;
    let sentence = match is_left {
        true => format!(
            "{} wrote {} that were in memory before the phase began",
            device.device,
            units::decimal(write)
        ),
        false => format!(
            "somebody else used {}: {percent:.0} % of what it moved was not for this run",
            device.device
        ),
    };
    let figures = vec![
        Figure::new(&format!("read by {}", device.device), device.read_bytes as f64, "bytes"),
        Figure::new("read by this run", own.0, "bytes"),
        Figure::new(&format!("written by {}", device.device), device.write_bytes as f64, "bytes"),
        Figure::new("written by this run", own.1, "bytes"),
        Figure::new("of others", percent, "%"),
    ];
    let (severity, remedy, matter) = match is_left {
        true => (Severity::Note, Remedy::FlushBefore, "left"),
        false => (Severity::Doubtful, Remedy::StopOtherIo, "others"),
    };
    let found = Suspicion::new(FindingKind::SharedDevice, severity, case.label(), sentence, figures);
    Some(found.remedy(remedy).matter(matter).weight(percent).takes(percent / 100.0))
}

/// Bytes that waited to be written when the phase began.
fn dirty_before(case: &PhaseEvidence<'_>) -> f64 {
    let seen = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Memory { dirty_before_bytes, .. } => Some(*dirty_before_bytes as f64),
        _ => None,
    });
    seen.unwrap_or(0.0)
}
