//! What would have had to carry a rate: links, drives and memory, with what they carry at most.

use iodyno_model::units;

use super::{Claim, MeasuredLoad, WorkKind};

/// The shortest time in which flash of today answers a read of a page, ns. Source: data sheets of low-latency flash (SLC with
/// few bits a cell) give 10 µs and more; usual flash needs 50 to 100 µs.
pub const FLASH_READ_NS: f64 = 10_000.0;
/// Random accesses per second of one disk of 7200 turns a minute with a queue. Source: half a turn is 4.2 ms, a seek 4 to 9 ms.
const DISK_ACCESSES: f64 = 200.0;

/// Something that carries data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carrier {
    /// What it is.
    pub name: &'static str,
    /// Bytes per second at most, after the coding of the line.
    pub bytes_per_second: f64,
    class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Drive,
    Network,
    Memory,
}

const fn carrier(class: Class, name: &'static str, bytes_per_second: f64) -> Carrier {
    Carrier { name, bytes_per_second, class }
}

/// Each class from the narrowest to the widest. Sources: line rates with their coding (SATA 8b/10b, PCIe 128b/130b), the rates
/// of IEEE 802.3, JEDEC's transfer rates times eight bytes; the disk's is that of the outer tracks in data sheets.
const CARRIERS: &[Carrier] = &[
    carrier(Class::Drive, "a hard disk, at its outer tracks", 0.28e9),
    carrier(Class::Drive, "SATA 6 Gbit/s", 0.6e9),
    carrier(Class::Drive, "SAS 12 Gbit/s", 1.2e9),
    carrier(Class::Drive, "PCIe 3.0 x4", 3.94e9),
    carrier(Class::Drive, "PCIe 4.0 x4", 7.88e9),
    carrier(Class::Drive, "PCIe 5.0 x4", 15.75e9),
    carrier(Class::Drive, "PCIe 5.0 x16", 63e9),
    carrier(Class::Network, "1 Gbit/s Ethernet", 0.125e9),
    carrier(Class::Network, "10 Gbit/s Ethernet", 1.25e9),
    carrier(Class::Network, "25 Gbit/s Ethernet", 3.125e9),
    carrier(Class::Network, "100 Gbit/s Ethernet", 12.5e9),
    carrier(Class::Network, "200 Gbit/s Ethernet", 25e9),
    carrier(Class::Network, "400 Gbit/s Ethernet", 50e9),
    carrier(Class::Memory, "one channel of DDR4-3200", 25.6e9),
    carrier(Class::Memory, "one channel of DDR5-4800", 38.4e9),
];

/// What a rate needs of each class: the widest that cannot carry it, and the narrowest that can.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededCarrier {
    pub rate: f64,
    pub too_narrow: Vec<Carrier>,
    pub wide_enough: Vec<Carrier>,
}

/// What would have had to carry so many bytes per second to each of so many hosts.
pub fn carried(rate: f64, hosts: u32, way: WorkKind) -> NeededCarrier {
    let each = rate / f64::from(hosts.max(1));
    let classes: &[Class] = match way {
        WorkKind::Network => &[Class::Network],
        _ => &[Class::Drive, Class::Network],
    };
    let (mut too_narrow, mut wide_enough) = (Vec::new(), Vec::new());
    for class in classes {
        let all = || CARRIERS.iter().filter(|carrier| carrier.class == *class);
        too_narrow.extend(all().rfind(|carrier| carrier.bytes_per_second < each).copied());
        wide_enough.extend(all().find(|carrier| carrier.bytes_per_second >= each).copied());
    }
    if wide_enough.is_empty() {
        wide_enough.extend(
            CARRIERS.iter().find(|one| one.class == Class::Memory && one.bytes_per_second >= each).copied(),
        );
    }
    NeededCarrier { rate: each, too_narrow, wide_enough }
}

impl NeededCarrier {
    /// As a sentence without a full stop: `2.9 GB/s need PCIe 3.0 x4 (74 % of it) …`.
    pub fn sentence(&self) -> String {
        let rate = units::decimal(self.rate);
        let share = |one: &Carrier| {
            format!("{} ({:.0} % of what it carries)", one.name, 100.0 * self.rate / one.bytes_per_second)
        };
        let names = |all: &[Carrier], of: &dyn Fn(&Carrier) -> String| {
            all.iter().map(of).collect::<Vec<_>>().join(" or ")
        };
        let narrow = names(&self.too_narrow, &|one| {
            format!("{} ({}/s)", one.name, units::decimal(one.bytes_per_second))
        });
        let need = match self.wide_enough.is_empty() {
            true => "are more than any one link or channel of memory carries".to_string(),
            false => format!("need {} at least", names(&self.wide_enough, &share)),
        };
        match narrow.is_empty() {
            true => format!("{rate}/s {need}"),
            false => format!("{rate}/s {need}; {narrow} cannot carry it"),
        }
    }
}

/// What the time of one operation, or its rate, says of the medium; nothing: it tells nothing.
pub fn pages(asked: &MeasuredLoad, claim: &Claim) -> Option<String> {
    if claim.way != WorkKind::Read || asked.random == Some(false) {
        return None;
    }
    let rate = claim.operations_per_second?;
    let each = claim.each_ns(asked.in_flight());
    let disks = (rate / DISK_ACCESSES).ceil();
    if asked.random != Some(true) || disks < 2.0 {
        return None;
    }
    let time = each.map_or(String::new(), |ns| format!(" of {} each", units::duration(ns)));
    Some(format!(
        "{} reads a second{time} are those of {} hard disks; flash answers in 50 to 100 µs",
        units::count(rate),
        units::count(disks)
    ))
}
