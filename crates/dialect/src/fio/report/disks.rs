//! What the block devices did, summed over the phases, in fio's units.

use iodyno_model::{DeviceActivity, PhaseRecord, Sighting};

/// One device over the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Kernel name.
    pub name: String,
    /// Requests completed, reads and writes.
    pub requests: (u64, u64),
    /// Requests merged.
    pub merges: (u64, u64),
    /// Sectors of 512 bytes.
    pub sectors: (u64, u64),
    /// Time that requests took, ms.
    pub ticks: (u64, u64),
    /// Time in flight summed over requests, ms.
    pub in_queue: u64,
    /// Share of the time with something in flight, percent.
    pub util: f64,
    /// How many devices it is made of; the following are means over them (the share: the largest).
    pub beneath: u64,
    /// Means over the devices beneath.
    pub mean: Option<Box<Disk>>,
}

/// All devices in the order they were seen, each followed by those it is made of.
pub fn disks<'a>(phases: impl Iterator<Item = &'a PhaseRecord>) -> Vec<Disk> {
    let mut all: Vec<DeviceActivity> = Vec::new();
    for activity in phases.flat_map(|phase| &phase.sightings).filter_map(device) {
        add(&mut all, activity);
    }
    let mut disks = Vec::new();
    for activity in &all {
        let beneath: Vec<Disk> = activity.beneath.iter().map(disk).collect();
        let mean = mean(&beneath).map(Box::new);
        disks.push(Disk { beneath: beneath.len() as u64, mean, ..disk(activity) });
        for below in beneath {
            if !disks.iter().any(|known| known.name == below.name) {
                disks.push(below);
            }
        }
    }
    disks
}

fn device(sighting: &Sighting) -> Option<&DeviceActivity> {
    match sighting {
        Sighting::Device(activity) => Some(activity),
        _ => None,
    }
}

fn add(all: &mut Vec<DeviceActivity>, activity: &DeviceActivity) {
    let Some(known) = all.iter_mut().find(|known| known.device == activity.device) else {
        all.push(activity.clone());
        return;
    };
    known.reads += activity.reads;
    known.reads_merged += activity.reads_merged;
    known.read_bytes += activity.read_bytes;
    known.writes += activity.writes;
    known.writes_merged += activity.writes_merged;
    known.write_bytes += activity.write_bytes;
    known.busy_ns += activity.busy_ns;
    known.weighted_ns += activity.weighted_ns;
    known.interval_ns += activity.interval_ns;
    known.read_ns += activity.read_ns;
    known.write_ns += activity.write_ns;
    activity.beneath.iter().for_each(|below| add(&mut known.beneath, below));
}

fn disk(activity: &DeviceActivity) -> Disk {
    let ms = |ns: u64| ns / 1_000_000;
    let util = activity.busy_ns as f64 * 100.0 / activity.interval_ns.max(1) as f64;
    Disk {
        name: activity.device.clone(),
        requests: (activity.reads, activity.writes),
        merges: (activity.reads_merged, activity.writes_merged),
        sectors: (activity.read_bytes / 512, activity.write_bytes / 512),
        ticks: (ms(activity.read_ns), ms(activity.write_ns)),
        in_queue: ms(activity.weighted_ns),
        util: util.min(100.0),
        beneath: 0,
        mean: None,
    }
}

fn mean(disks: &[Disk]) -> Option<Disk> {
    let count = disks.len() as u64;
    let average = |field: fn(&Disk) -> u64| disks.iter().map(field).sum::<u64>().checked_div(count);
    let pair = |field: fn(&Disk) -> (u64, u64)| {
        let sum = disks.iter().map(field).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some((sum.0.checked_div(count)?, sum.1.checked_div(count)?))
    };
    Some(Disk {
        requests: pair(|disk| disk.requests)?,
        merges: pair(|disk| disk.merges)?,
        sectors: pair(|disk| disk.sectors)?,
        ticks: pair(|disk| disk.ticks)?,
        in_queue: average(|disk| disk.in_queue)?,
        util: disks.iter().map(|disk| disk.util).fold(0.0, f64::max),
        ..Disk::default()
    })
}
