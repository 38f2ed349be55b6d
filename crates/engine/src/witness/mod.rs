//! Who watches: what the kernel says the devices, the page cache, the memory and the processors did while a phase ran.
//!
//! Witnesses read before the start line and after the end, from outside, and never judge; `truth` does. What cannot be
//! read is said as such.

use crate::open::{self, Asker};
use iodyno_model::{DeviceActivity, Machine, Plan, Sighting, TargetFacts};

pub mod cpu;
pub mod diskstats;
pub mod identity;
pub mod memory;
pub mod page_cache;
pub mod signature;

/// Every witness: its name, what it reads, and what that tells.
pub const WITNESSES: &[(&str, &str)] = &[
    ("device", "/sys/class/block/*/stat: what the kernel says the block device did"),
    ("residency", "mincore: how much of a file lies in the page cache, before and after"),
    ("memory", "/proc/meminfo: what is available, what is dirty or in write-back"),
    ("cpu", "/proc/stat and getrusage: the machine's time, and each worker's"),
    ("identity", "mountinfo, statvfs, /sys/class/block: file system, mount, device and queue"),
    ("signature", "superblocks, mounts, swaps and claims: reasons not to write to a device"),
];

/// Witnesses that look on while a phase runs.
pub struct Watch {
    devices: Vec<(String, diskstats::Counters)>,
    beneath: Vec<(String, Vec<(String, diskstats::Counters)>)>,
    residency: Vec<(Watched, u64)>,
    memory: Option<memory::Levels>,
    cpu: Option<cpu::Times>,
    since: u64,
    without_device: Vec<String>,
    facts: Vec<TargetFacts>,
}

/// Whether a path is, or would be, on storage: no character device, pipe or socket.
pub fn is_storage(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    !std::fs::metadata(path).is_ok_and(|facts| {
        let kind = facts.file_type();
        kind.is_char_device() || kind.is_fifo() || kind.is_socket()
    })
}

/// A target's name and its resolved path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The name in the plan.
    pub target: String,
    /// Where it lies.
    pub path: String,
}

impl Watch {
    /// Opens all witnesses of a phase that works on these.
    pub fn open(watched: &[Watched]) -> Watch {
        let mut devices: Vec<(String, diskstats::Counters)> = Vec::new();
        let mut without_device = Vec::new();
        for Watched { path, .. } in watched {
            let disk = identity::disk_of(path);
            match disk.and_then(|disk| diskstats::read(&disk).map(|counters| (disk, counters))) {
                Some((disk, _)) if devices.iter().any(|(name, _)| *name == disk) => {}
                Some(device) => devices.push(device),
                None => without_device.push(path.clone()),
            }
        }
        let facts = |Watched { target, path }: &Watched| TargetFacts {
            target: target.clone(),
            ..identity::facts(path)
        };
        let cached = |watched: &Watched| {
            page_cache::resident(&watched.path).map(|(_, cached)| (watched.clone(), cached))
        };
        let counted = |name: String| diskstats::read(&name).map(|counters| (name, counters));
        let beneath = |(disk, _): &(String, diskstats::Counters)| {
            (disk.clone(), diskstats::beneath(disk).into_iter().filter_map(counted).collect())
        };
        Watch {
            beneath: devices.iter().map(beneath).collect(),
            residency: watched.iter().filter_map(cached).collect(),
            devices,
            memory: memory::read(),
            cpu: cpu::read(),
            since: crate::clock::monotonic(),
            without_device,
            facts: watched.iter().map(facts).collect(),
        }
    }

    /// What the devices did so far.
    pub fn so_far(&self) -> Vec<Sighting> {
        let interval_ns = crate::clock::monotonic().saturating_sub(self.since);
        let mut sightings = Vec::new();
        for (disk, before) in &self.devices {
            if let Some(after) = diskstats::read(disk) {
                let activity = after.since(before, disk, interval_ns);
                let beneath = since(self.beneath.iter().filter(|(name, _)| name == disk), interval_ns);
                sightings.push(Sighting::Device(DeviceActivity { beneath, ..activity }));
            }
        }
        sightings
    }

    /// Closes them: what was seen.
    pub fn close(self) -> Vec<Sighting> {
        let mut sightings = self.so_far();
        for (Watched { target, path }, before_bytes) in self.residency {
            if let Some((span_bytes, after_bytes)) = page_cache::resident(&path) {
                sightings.push(Sighting::Residency { target, span_bytes, before_bytes, after_bytes });
            }
        }
        if let (Some(before), Some(after)) = (self.memory, memory::read()) {
            sightings.push(Sighting::Memory {
                total_bytes: before.total,
                available_bytes: before.available,
                dirty_before_bytes: before.dirty,
                dirty_after_bytes: after.dirty,
            });
        }
        if let (Some(before), Some(after)) = (self.cpu, cpu::read()) {
            sightings.push(after.since(&before));
        }
        sightings.extend(self.facts.into_iter().map(|facts| Sighting::Target(Box::new(facts))));
        for path in self.without_device {
            let reason = format!("{path}: no block device with counters lies beneath");
            sightings.push(Sighting::CannotTell { witness: "device".into(), reason });
        }
        sightings
    }
}

/// What the devices beneath some others did.
fn since<'a>(
    disks: impl Iterator<Item = &'a (String, Vec<(String, diskstats::Counters)>)>,
    interval_ns: u64,
) -> Vec<DeviceActivity> {
    let all = disks.flat_map(|(_, beneath)| beneath);
    all.filter_map(|(name, before)| Some(diskstats::read(name)?.since(before, name, interval_ns))).collect()
}

/// What the plan's targets are; of those with a file for each worker, the first worker's.
pub fn targets(plan: &Plan) -> Vec<TargetFacts> {
    let facts = |(index, target): (usize, &iodyno_model::Target)| {
        let mut jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        let job = jobs.find(|job| job.targets.contains(&index)).map_or("", |job| job.name.as_str());
        let path = open::resolve(target.path()?, Asker::first(job, 0));
        if !is_storage(&path) {
            return None;
        }
        let status = std::fs::metadata(&path);
        Some(TargetFacts {
            target: target.name.clone(),
            missing: status.is_err(),
            file_bytes: status.ok().filter(|status| status.is_file()).map(|status| status.len()),
            ..identity::facts(&path)
        })
    };
    plan.targets.iter().enumerate().filter_map(facts).collect()
}

/// The machine.
pub fn machine() -> Machine {
    identity::machine()
}

/// The size of a page of memory, bytes.
pub fn page_bytes() -> u64 {
    // SAFETY: the call only answers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// CPU time, switches and faults of this thread so far.
pub fn usage() -> [u64; 6] {
    cpu::usage()
}

/// Drops the machine's clean page cache, dentries and inodes, where allowed.
pub fn drop_caches() {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::sync() };
    // Not allowed without root: then the page-cache witness says what stayed.
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
}
