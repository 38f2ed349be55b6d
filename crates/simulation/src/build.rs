//! From the description of a device to its parts: each instance with its figures, those behind it by their numbers.

use iodyno_model::reflect::{Reflect, ReflectMut, ReflectRef};
use iodyno_model::{Device, DevicePart, PartKind};

use crate::kernel::PartGroup;
use crate::parts::cloud::CloudVolume;
use crate::parts::cluster::ServerCluster;
use crate::parts::disk::RotatingDisk;
use crate::parts::network::NetworkPath;
use crate::parts::nvme::NvmeController;
use crate::parts::page_cache::ClientMemory;
use crate::parts::raid::RaidController;
use crate::parts::server::StorageServer;
use crate::parts::ssd::SolidStateDisk;
use crate::parts::station::QueueStation;
use crate::parts::volume::UnlikeVolume;
use crate::parts::{Part, PartPlace, PartsBehind};
use crate::random::Random;

/// Parts of all instances, the entry first.
type Parts = Vec<Box<dyn Part + Send>>;

/// A simulated map of flash has so many entries at most, all SSDs of a device together.
const MOST_UNITS: u64 = 1 << 20;

/// The parts of a device, and which instances are of one part.
pub(crate) fn parts(device: &Device, random: &mut Random) -> Result<(Parts, Vec<PartGroup>), String> {
    let line = levels(device);
    // A map of flash for each SSD, whichever part it stands for.
    let ssds: u64 = line
        .iter()
        .filter(|level| matches!(level.part.kind, PartKind::Ssd(_)))
        .map(|level| level.count)
        .sum();
    let units = MOST_UNITS / ssds.max(1);
    let (mut parts, mut groups) = (Parts::new(), Vec::new());
    // By level, what each instance takes longer, where its server is slow.
    let mut factors: Vec<Vec<f64>> = line.iter().map(|_| Vec::new()).collect();
    factors[..1].fill(vec![1.0]);
    for (index, level) in line.iter().enumerate() {
        let TreeLevel { part, count, first, .. } = level;
        let own = std::mem::take(&mut factors[index]);
        for instance in 0..*count {
            let behind = |&(place, each): &(usize, u64)| PartsBehind {
                first: (line[place].first + instance * each) as u32,
                bytes: device.part_bytes(&line[place].part.name),
            };
            let place = PartPlace {
                number: (first + instance) as u32,
                behind: level.behind.first().map_or(0, |level| behind(level).first),
                behind_bytes: level.behind.first().map_or(0, |level| behind(level).bytes),
            };
            let all: Vec<PartsBehind> = level.behind.iter().map(behind).collect();
            let factor = own[instance as usize];
            let slow = |server: u64| match &part.kind {
                PartKind::Cluster(cluster) if server < u64::from(cluster.slow) => cluster.slow_factor,
                _ => 1.0,
            };
            for (place, each) in &level.behind {
                factors[*place].extend((0..*each).map(|server| factor * slow(server)));
            }
            parts.push(instance_of(&scaled(&part.kind, factor), (place, &all), units, random));
        }
        let members = (*first..first + count).map(|number| number as u32).collect();
        groups.push(PartGroup { name: part.name.clone(), kind: part.kind.word(), members });
    }
    Ok((parts, groups))
}

/// All instances of a part.
struct TreeLevel<'a> {
    part: &'a DevicePart,
    count: u64,
    /// The number of the first; the others follow it.
    first: u64,
    /// The parts behind, by their places among the levels, and how many each instance has of them.
    behind: Vec<(usize, u64)>,
}

/// The parts from the front to the back, each before those behind it.
fn levels(device: &Device) -> Vec<TreeLevel<'_>> {
    let (mut levels, mut at, mut first) = (Vec::<TreeLevel<'_>>::new(), 0, 0);
    levels.extend(device.entry().map(|part| TreeLevel { part, count: 1, first: 0, behind: Vec::new() }));
    while at < levels.len() {
        let TreeLevel { part, count, .. } = levels[at];
        levels[at].first = first;
        first += count;
        for (over, each) in part.kind.behind() {
            let Some(part) = device.part(over) else { continue };
            let place = levels.len();
            levels[at].behind.push((place, u64::from(each)));
            levels.push(TreeLevel { part, count: count * u64::from(each), first: 0, behind: Vec::new() });
        }
        at += 1;
    }
    levels
}

fn instance_of(
    kind: &PartKind,
    (place, behind): (PartPlace, &[PartsBehind]),
    units: u64,
    random: &mut Random,
) -> Box<dyn Part + Send> {
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
        PartKind::Volume(volume) => Box::new(UnlikeVolume::new(volume, place, behind)),
        PartKind::PageCache(cache) => Box::new(ClientMemory::new(cache, place)),
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
                ReflectMut::List(list) if member.name.ends_with("_ns") => {
                    let value = |index| match list.item(index).view() {
                        ReflectRef::Unsigned(value) => times(value, factor),
                        _ => 0,
                    };
                    let scaled: Vec<u64> = (0..list.len()).map(value).collect();
                    list.clear();
                    for value in scaled {
                        if let ReflectMut::U64(slot) = list.push().slot() {
                            *slot = value;
                        }
                    }
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
