//! A device that is simulated: parts by name, each with its figures, one in front of another.
//!
//! It is data, as a plan is: a file says it, a plan carries it, the record shows it. What its figures mean is computed by the
//! crate `simulation`; here is only what can be wrong with them.

use crate::reflect::{Reflect, ReflectRef};

use crate::origin::{Diagnostic, Origin};

mod arrays;
mod flash;
mod page_cache;
mod record;
mod rotating;
mod shared;
mod volume;

pub use arrays::{Raid, RaidLevel};
pub use flash::{Nvme, Ssd, SsdState};
pub use page_cache::{CachePolicy, PageCache};
pub use record::{PartCount, PartRecord};
pub use rotating::{HardDisk, Rotation, SeekCurve};
pub use shared::{Cloud, Cluster, Network, Placing, Server, Station};
pub use volume::{Volume, VolumeLayout};

/// A simulated device.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Device {
    /// What reports call it.
    pub name: String,
    /// What it is, in one line.
    #[reflect(default)]
    pub about: String,
    /// Where its figures are published; empty: it is generic, its figures are those of no product.
    #[reflect(default)]
    pub source: String,
    /// The part that requests come to; none: the one that stands behind no other.
    #[reflect(omit_empty)]
    pub entry: Option<String>,
    /// What it is made of.
    #[reflect(key = "")]
    pub parts: Vec<DevicePart>,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

/// A part of a device.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct DevicePart {
    /// What other parts and the report call it.
    #[reflect(key = "")]
    pub name: String,
    /// What it does with a request.
    pub kind: PartKind,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

/// What a part is, with its figures.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum PartKind {
    /// A queue with servers.
    Station(Station),
    /// A rotating disk.
    Disk(HardDisk),
    /// A solid-state disk.
    Ssd(Ssd),
    /// An NVMe controller with its link.
    Nvme(Nvme),
    /// A RAID controller with its disks.
    Raid(Raid),
    /// A volume of a cloud.
    Cloud(Cloud),
    /// A network between the client and what lies behind.
    Network(Network),
    /// A storage server.
    Server(Server),
    /// Servers that share the data.
    Cluster(Cluster),
    /// Several different parts as one.
    Volume(Volume),
    /// The memory of a client.
    PageCache(PageCache),
}

impl Default for PartKind {
    fn default() -> Self {
        PartKind::Station(Station::blank())
    }
}

/// More instances of parts than this are a slip of the pen, and would fill the memory.
pub const MOST_INSTANCES: u64 = 100_000;

/// The longest time of a part, ns; its slowest rate, bytes per second; the smallest piece that it cuts requests into.
const LONGEST_NS: u64 = 3_600_000_000_000;
const SLOWEST_RATE: u64 = 1_000;
const SMALLEST_PIECE: u64 = 512;

impl PartKind {
    /// The words of all kinds.
    pub const WORDS: [&str; 11] = [
        "station",
        "disk",
        "ssd",
        "nvme",
        "raid",
        "cloud",
        "network",
        "server",
        "cluster",
        "volume",
        "page_cache",
    ];

    /// The word of its kind.
    pub fn word(&self) -> &'static str {
        let place = match self {
            PartKind::Station(_) => 0,
            PartKind::Disk(_) => 1,
            PartKind::Ssd(_) => 2,
            PartKind::Nvme(_) => 3,
            PartKind::Raid(_) => 4,
            PartKind::Cloud(_) => 5,
            PartKind::Network(_) => 6,
            PartKind::Server(_) => 7,
            PartKind::Cluster(_) => 8,
            PartKind::Volume(_) => 9,
            PartKind::PageCache(_) => 10,
        };
        Self::WORDS[place]
    }

    /// The parts behind it, and how many it has of each.
    pub fn behind(&self) -> Vec<(&str, u32)> {
        match self {
            PartKind::Nvme(nvme) => vec![(&nvme.over, 1)],
            PartKind::Raid(raid) => vec![(&raid.over, raid.disks)],
            PartKind::Network(network) => vec![(&network.over, 1)],
            PartKind::Server(server) => vec![(&server.over, 1)],
            PartKind::Cluster(cluster) => vec![(&cluster.over, cluster.servers)],
            PartKind::Volume(volume) => volume.over.iter().map(|over| (over.as_str(), 1)).collect(),
            PartKind::PageCache(cache) => vec![(&cache.over, 1)],
            PartKind::Station(station) => station.over.iter().map(|over| (over.as_str(), 1)).collect(),
            PartKind::Disk(_) | PartKind::Ssd(_) | PartKind::Cloud(_) => Vec::new(),
        }
    }

    /// Figures that no device has, and that would make times overflow or a request fall into millions of pieces.
    fn unreasonable(&self) -> Vec<(String, &'static str)> {
        let ReflectRef::Composite(kind) = self.view() else { return Vec::new() };
        let ReflectRef::Composite(figures) = kind.field(0).view() else { return Vec::new() };
        let members = figures.table().variants[0].members.iter().enumerate();
        let problem = |(index, member): (usize, &'static crate::reflect::Member)| {
            let ReflectRef::Unsigned(value) = figures.field(index).view() else { return None };
            let is_rate = member.form == "bytes per second";
            let is_piece = [
                "chunk_bytes",
                "piece_bytes",
                "line_bytes",
                "split_bytes",
                "accounted_bytes",
                "page_bytes",
                "write_most_bytes",
                "cold_block_bytes",
            ];
            if member.name.ends_with("_ns") && value > LONGEST_NS {
                Some((format!("`{}` is longer than an hour", member.key), "times are e.g. 100us, 8ms, 2s"))
            } else if is_rate && value > 0 && value < SLOWEST_RATE {
                Some((format!("`{}` is less than 1 kB/s", member.key), "rates are e.g. 180MB/s; 0: no time"))
            } else if is_piece.contains(&member.name) && value > 0 && value < SMALLEST_PIECE {
                Some((format!("`{}` is less than 512 bytes", member.key), "sizes are e.g. 64KiB"))
            } else {
                None
            }
        };
        members.filter_map(problem).collect()
    }

    /// What is wrong with its figures, each with a hint.
    fn problems(&self) -> Vec<(String, &'static str)> {
        match self {
            PartKind::Station(station) => station.problems(),
            PartKind::Disk(disk) => disk.problems(),
            PartKind::Ssd(ssd) => ssd.problems(),
            PartKind::Nvme(nvme) => nvme.problems(),
            PartKind::Raid(raid) => raid.problems(),
            PartKind::Cloud(cloud) => cloud.problems(),
            PartKind::Network(network) => network.problems(),
            PartKind::Server(server) => server.problems(),
            PartKind::Cluster(cluster) => cluster.problems(),
            PartKind::Volume(volume) => volume.problems(),
            PartKind::PageCache(cache) => cache.problems(),
        }
    }
}

impl Device {
    /// A part by its name.
    pub fn part(&self, name: &str) -> Option<&DevicePart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The part that requests come to.
    pub fn entry(&self) -> Option<&DevicePart> {
        match &self.entry {
            Some(name) => self.part(name),
            None => self.parts.iter().find(|part| !self.is_behind(&part.name)),
        }
    }

    /// Whether its figures are those of no published device.
    pub fn is_generic(&self) -> bool {
        self.source.is_empty()
    }

    /// Whether a part stands behind another one.
    fn is_behind(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.kind.behind().iter().any(|(over, _)| *over == name))
    }

    /// What it holds for its users, bytes; 0: no part says it.
    pub fn capacity_bytes(&self) -> u64 {
        self.entry().map_or(0, |part| self.capacity_of(part, self.parts.len()))
    }

    /// What one of its parts holds, bytes; 0: it does not say.
    pub fn part_bytes(&self, name: &str) -> u64 {
        self.part(name).map_or(0, |part| self.capacity_of(part, self.parts.len()))
    }

    /// The same of a part; `depth`: how many parts may stand behind each other.
    fn capacity_of(&self, part: &DevicePart, depth: usize) -> u64 {
        let each = part.kind.behind().into_iter().map(|(over, _)| {
            let over = self.part(over).filter(|_| depth > 0);
            over.map_or(0, |over| self.capacity_of(over, depth - 1))
        });
        let all: Vec<u64> = each.collect();
        let behind = all.first().copied();
        match &part.kind {
            PartKind::Station(station) => behind.unwrap_or(station.capacity_bytes),
            PartKind::Disk(disk) => disk.capacity_bytes,
            PartKind::Ssd(ssd) => ssd.capacity_bytes,
            PartKind::Cloud(cloud) => cloud.capacity_bytes,
            PartKind::Raid(raid) => behind.unwrap_or(0).saturating_mul(u64::from(raid.data_disks())),
            PartKind::Cluster(cluster) => {
                let all = u128::from(behind.unwrap_or(0)) * u128::from(cluster.servers);
                let (data, stored) = cluster.shares();
                u64::try_from(all * u128::from(data) / u128::from(stored.max(1))).unwrap_or(u64::MAX)
            }
            PartKind::Volume(volume) => volume.capacity_bytes(&all),
            PartKind::Nvme(_) | PartKind::Network(_) | PartKind::Server(_) | PartKind::PageCache(_) => {
                behind.unwrap_or(0)
            }
        }
    }

    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        if self.parts.is_empty() {
            let message = format!("device {}: it has no part", self.name);
            let hint = "write [part.NAME.disk], [part.NAME.ssd] or another kind of part";
            return vec![Diagnostic::error(&self.origin, message).hint(hint)];
        }
        for (index, part) in self.parts.iter().enumerate() {
            let mut refuse = |message: String, hint: String| {
                let message = format!("part {}: {message}", part.name);
                wrong.push(Diagnostic::error(&part.origin, message).hint(hint));
            };
            if self.parts[..index].iter().any(|earlier| earlier.name == part.name) {
                refuse("another part has the same name".into(), "give each part a name of its own".into());
            }
            part.kind.unreasonable().into_iter().for_each(|(message, hint)| refuse(message, hint.into()));
            part.kind.problems().into_iter().for_each(|(message, hint)| refuse(message, hint.into()));
            for (over, _) in part.kind.behind().into_iter().filter(|(over, _)| self.part(over).is_none()) {
                let names: Vec<_> = self.parts.iter().map(|part| part.name.as_str()).collect();
                let message = match over.is_empty() {
                    true => "it stands in front of nothing".to_string(),
                    false => format!("there is no part `{over}`"),
                };
                refuse(message, format!("say over = \"NAME\" of a part: {}", names.join(", ")));
            }
        }
        if wrong.is_empty() {
            wrong.extend(self.graph_problem());
        }
        wrong
    }

    /// What is wrong with how its parts stand behind each other.
    fn graph_problem(&self) -> Option<Diagnostic> {
        let refuse = |origin: &Origin, message: String, hint: &str| {
            Some(Diagnostic::error(origin, format!("device {}: {message}", self.name)).hint(hint))
        };
        let Some(entry) = self.entry() else {
            return match &self.entry {
                Some(name) => refuse(
                    &self.origin,
                    format!("there is no part `{name}` for requests to come to"),
                    "say entry = \"NAME\" of a part",
                ),
                None => refuse(
                    &self.origin,
                    "each part stands behind another one".into(),
                    "one part must be first: let no other part stand in front of it",
                ),
            };
        };
        let (mut reached, mut all, mut left) = (vec![], 0_u64, vec![(entry, 1_u64)]);
        while let Some((part, instances)) = left.pop() {
            reached.push(part.name.as_str());
            all = all.saturating_add(instances);
            for (over, count) in part.kind.behind() {
                let mut known =
                    reached.iter().copied().chain(left.iter().map(|(part, _)| part.name.as_str()));
                if known.any(|name| name == over) {
                    let message = format!("part {over} stands behind itself, or behind two parts");
                    let hint =
                        "let each part stand behind one other: write a second one with the same figures";
                    return refuse(&part.origin, message, hint);
                }
                left.push((self.part(over)?, instances.saturating_mul(u64::from(count))));
            }
        }
        if all > MOST_INSTANCES {
            let message = format!("it is made of {all} parts, more than {MOST_INSTANCES}");
            return refuse(&self.origin, message, "fewer servers or disks");
        }
        let unsaid = self.parts.iter().find_map(|part| match &part.kind {
            PartKind::Volume(volume) if volume.layout == VolumeLayout::Linear => {
                let ends = &volume.over[..volume.over.len().saturating_sub(1)];
                ends.iter().find(|over| self.part_bytes(over) == 0).map(|over| (part, over))
            }
            _ => None,
        });
        if let Some((part, over)) = unsaid {
            let message = format!("part {}: part {over} does not say what it holds", part.name);
            return refuse(
                &part.origin,
                message,
                "say its capacity, so that it is known where the next begins",
            );
        }
        let unused = self.parts.iter().find(|part| !reached.contains(&part.name.as_str()))?;
        let message = format!("no request comes to part {}", unused.name);
        refuse(
            &unused.origin,
            message,
            "let another part stand in front of it (over = \"NAME\"), or leave it out",
        )
    }
}

/// A problem where a figure that must be there is 0.
fn positive(name: &'static str, value: u64, hint: &'static str) -> Option<(String, &'static str)> {
    (value == 0).then(|| (format!("`{name}` is 0"), hint))
}

/// A problem where something is the case that must not be.
fn when(is_wrong: bool, message: impl Into<String>, hint: &'static str) -> Option<(String, &'static str)> {
    is_wrong.then(|| (message.into(), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(kind: PartKind) -> Vec<String> {
        let part = DevicePart { name: "a".into(), kind, ..DevicePart::default() };
        let device = Device { name: "d".into(), parts: vec![part], ..Device::default() };
        device.problems().into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn figures_that_no_device_has_are_refused() {
        let disk = HardDisk { seek_ns: u64::MAX, outer_rate: 10, ..HardDisk::blank() };
        let expected = ["part a: `seek` is longer than an hour", "part a: `outer_rate` is less than 1 kB/s"];
        assert_eq!(problems(PartKind::Disk(disk)), expected);
        let cloud = Cloud { split_bytes: 1, accounted_bytes: 511, ..Cloud::blank() };
        let expected =
            ["part a: `accounted` is less than 512 bytes", "part a: `split` is less than 512 bytes"];
        assert_eq!(problems(PartKind::Cloud(cloud)), expected);
        let ssd = Ssd { over_provisioning_percent: 0.0, ..Ssd::blank() };
        assert_eq!(problems(PartKind::Ssd(ssd)), ["part a: an over-provisioning of 0 %"]);
        assert_eq!(problems(PartKind::Cloud(Cloud::blank())), Vec::<String>::new());
    }

    #[test]
    fn parts_stand_behind_each_other_in_a_tree() {
        let part = |name: &str, kind| DevicePart { name: name.into(), kind, ..DevicePart::default() };
        let over = |parts: &[&str]| {
            let over = parts.iter().map(ToString::to_string).collect();
            PartKind::Volume(Volume { over, ..Volume::blank() })
        };
        let wrong = |parts: Vec<DevicePart>| {
            let device = Device { name: "d".into(), parts, ..Device::default() };
            device.problems().into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        let disk = |name| part(name, PartKind::Disk(HardDisk::blank()));
        assert_eq!(wrong(vec![part("v", over(&["a", "b"])), disk("a"), disk("b")]), Vec::<String>::new());
        assert_eq!(
            wrong(vec![part("v", over(&["a", "a"])), disk("a")]),
            ["device d: part a stands behind itself, or behind two parts"]
        );
        assert_eq!(
            wrong(vec![part("v", over(&["w", "a"])), part("w", over(&["a"])), disk("a")]),
            ["device d: part a stands behind itself, or behind two parts"]
        );
        assert_eq!(wrong(vec![part("v", over(&["a", "c"])), disk("a")]), ["part v: there is no part `c`"]);
        assert_eq!(wrong(vec![part("v", over(&[])), disk("a")])[0], "part v: it stands in front of nothing");
        let station = part("s", PartKind::Station(Station::blank()));
        assert_eq!(
            wrong(vec![part("v", over(&["s", "a"])), station, disk("a")]),
            ["device d: part v: part s does not say what it holds"]
        );
    }

    #[test]
    fn the_capacity_is_what_its_user_has() {
        let part = |name: &str, kind| DevicePart { name: name.into(), kind, ..DevicePart::default() };
        let disk = HardDisk { capacity_bytes: 100, ..HardDisk::blank() };
        let capacity = |kind: PartKind| {
            let parts = vec![part("a", kind), part("disk", PartKind::Disk(disk.clone()))];
            Device { parts, ..Device::default() }.capacity_bytes()
        };
        let raid = |level, disks| PartKind::Raid(Raid { over: "disk".into(), level, disks, ..Raid::blank() });
        assert_eq!(capacity(raid(RaidLevel::Stripe, 4)), 400);
        assert_eq!(capacity(raid(RaidLevel::Mirror, 4)), 100);
        assert_eq!(capacity(raid(RaidLevel::StripedMirror, 4)), 200);
        assert_eq!(capacity(raid(RaidLevel::Parity, 4)), 300);
        assert_eq!(capacity(raid(RaidLevel::DoubleParity, 4)), 200);
        let volume = |layout, shares: &[f64]| {
            let over = ["disk", "big"].map(String::from).to_vec();
            let volume = Volume { over, layout, piece_bytes: 1, shares: shares.to_vec(), ..Volume::blank() };
            let big = HardDisk { capacity_bytes: 900, ..HardDisk::blank() };
            let parts = vec![
                part("a", PartKind::Volume(volume)),
                part("disk", PartKind::Disk(disk.clone())),
                part("big", PartKind::Disk(big)),
            ];
            Device { parts, ..Device::default() }.capacity_bytes()
        };
        assert_eq!(volume(VolumeLayout::Linear, &[]), 1000);
        assert_eq!(volume(VolumeLayout::Striped, &[]), 200);
        assert_eq!(volume(VolumeLayout::Mirrored, &[]), 100);
        // A quarter on the small one, which is then full.
        assert_eq!(volume(VolumeLayout::Share, &[1.0, 3.0]), 400);
        let cluster = Cluster { over: "disk".into(), servers: 6, ..Cluster::blank() };
        assert_eq!(capacity(PartKind::Cluster(cluster.clone())), 200);
        assert_eq!(capacity(PartKind::Cluster(Cluster { data: 4, parity: 2, ..cluster })), 400);
    }
}
