//! From the description of a device to its parts: each instance with its figures, those behind it by their numbers.

use iodyno_model::reflect::{Reflect, ReflectMut};
use iodyno_model::{Device, PartKind};

use crate::kernel::PartGroup;
use crate::parts::cloud::CloudVolume;
use crate::parts::cluster::ServerCluster;
use crate::parts::disk::RotatingDisk;
use crate::parts::network::NetworkPath;
use crate::parts::nvme::NvmeController;
use crate::parts::raid::RaidController;
use crate::parts::server::StorageServer;
use crate::parts::ssd::SolidStateDisk;
use crate::parts::station::QueueStation;
use crate::parts::{Part, PartPlace};
use crate::random::Random;

/// Parts of all instances, the entry first.
type Parts = Vec<Box<dyn Part + Send>>;

/// A simulated map of flash has so many entries at most, all SSDs of a device together.
const MOST_UNITS: u64 = 1 << 20;

/// The parts of a device, and which instances are of one part.
pub(crate) fn parts(device: &Device, random: &mut Random) -> Result<(Parts, Vec<PartGroup>), String> {
    let mut line = Vec::new();
    let mut at = device.entry();
    while let Some(part) = at {
        line.push(part);
        at = part.kind.over().and_then(|(over, _)| device.part(over));
    }
    // Instances are numbered along the line of parts: those of one part lie side by side.
    let mut counts = vec![1_u64];
    for part in &line {
        let behind = part.kind.over().map_or(0, |(_, count)| u64::from(count));
        counts.push(counts[counts.len() - 1] * behind);
    }
    let ssds = line.iter().zip(&counts).find(|(part, _)| matches!(part.kind, PartKind::Ssd(_)));
    let units = MOST_UNITS / ssds.map_or(1, |(_, count)| *count).max(1);
    let (mut parts, mut groups, mut first) = (Parts::new(), Vec::new(), 0_u64);
    // What all of an instance's parts take longer, where its server is slow.
    let mut factors = vec![1.0_f64];
    for (part, count) in line.iter().zip(&counts) {
        let each = part.kind.over().map_or(0, |(_, behind)| u64::from(behind));
        let mut behind_factors = Vec::new();
        for instance in 0..*count {
            let place = PartPlace {
                number: (first + instance) as u32,
                behind: (first + count + instance * each) as u32,
                behind_bytes: part.kind.over().and_then(|(over, _)| capacity(device, over)).unwrap_or(0),
            };
            let factor = factors[instance as usize];
            let kind = scaled(&part.kind, factor);
            let slow = |server: u64| match &part.kind {
                PartKind::Cluster(cluster) if server < u64::from(cluster.slow) => cluster.slow_factor,
                _ => 1.0,
            };
            behind_factors.extend((0..each).map(|server| factor * slow(server)));
            parts.push(instance_of(&kind, place, units, random));
        }
        let members = (first..first + count).map(|number| number as u32).collect();
        groups.push(PartGroup { name: part.name.clone(), kind: part.kind.word(), members });
        (first, factors) = (first + count, behind_factors);
    }
    Ok((parts, groups))
}

fn capacity(device: &Device, part: &str) -> Option<u64> {
    let entry = Some(part.to_string());
    Some(Device { entry, ..device.clone() }.capacity_bytes()).filter(|bytes| *bytes > 0)
}

fn instance_of(kind: &PartKind, place: PartPlace, units: u64, random: &mut Random) -> Box<dyn Part + Send> {
    match kind {
        PartKind::Station(station) => Box::new(QueueStation::new(station, place)),
        PartKind::Disk(disk) => Box::new(RotatingDisk::new(disk, place, random)),
        PartKind::Ssd(ssd) => Box::new(SolidStateDisk::new(ssd, place, units, random)),
        PartKind::Nvme(nvme) => Box::new(NvmeController::new(nvme, place)),
        PartKind::Raid(raid) => Box::new(RaidController::new(raid, place)),
        PartKind::Cloud(cloud) => Box::new(CloudVolume::new(cloud, place)),
        PartKind::Network(network) => Box::new(NetworkPath::new(network, place)),
        PartKind::Server(server) => Box::new(StorageServer::new(server, place)),
        PartKind::Cluster(cluster) => Box::new(ServerCluster::new(cluster, place)),
    }
}

/// The same part when everything takes so many times as long: times are longer, rates lower.
pub fn scaled(kind: &PartKind, factor: f64) -> PartKind {
    let mut kind = kind.clone();
    if factor == 1.0 {
        return kind;
    }
    if let ReflectMut::Composite(slot) = kind.slot()
        && let ReflectMut::Composite(slot) = slot.field_mut(0).slot()
    {
        for (index, member) in slot.table().variants[0].members.iter().enumerate() {
            let is_rate = member.form == "bytes per second" || member.name.ends_with("iops");
            match slot.field_mut(index).slot() {
                ReflectMut::U64(value) if member.name.ends_with("_ns") => *value = times(*value, factor),
                ReflectMut::U64(value) if is_rate && *value > 0 => {
                    *value = times(*value, 1.0 / factor).max(1)
                }
                ReflectMut::U32(value) if member.name == "rpm" => {
                    *value = times((*value).into(), 1.0 / factor).max(1) as u32;
                }
                _ => {}
            }
        }
    }
    kind
}

fn times(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}
