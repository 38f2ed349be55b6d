//! What class of device the figures look like: a judgement from numbers, said as one ("looks like"), with its reasons.
//!
//! Names and flags of the kernel come second, because a virtual disk says what its hypervisor wants. Where the figures
//! fit nothing that we know, that is the answer.

use iodyno_model::shared_storage::{self, Way};
use iodyno_report::number::{self, RateUnit};

/// What a device can look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceClass {
    /// Memory: a file system in RAM, or the page cache.
    Memory,
    /// Flash behind PCI Express.
    Nvme,
    /// Flash behind SATA or SAS.
    SataSsd,
    /// A rotating disk.
    Disk,
    /// A volume behind a network.
    Network,
    /// A card or stick with a simple controller.
    SlowFlash,
}

impl DeviceClass {
    /// With its article.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceClass::Memory => "memory (RAM or the page cache), not a device",
            DeviceClass::Nvme => "an NVMe SSD",
            DeviceClass::SataSsd => "a SATA or SAS SSD",
            DeviceClass::Disk => "a rotating disk",
            DeviceClass::Network => "a network or cloud volume",
            DeviceClass::SlowFlash => "simple flash (SD card, eMMC or USB stick)",
        }
    }
}

/// The figures it is judged by; rates per second, times in ns, `None`: not measured.
#[derive(Clone, Debug, Default)]
pub struct DeviceFigures {
    /// The file system's name.
    pub file_system: Option<String>,
    /// The disk's kernel name: `nvme0n1`, `mmcblk0`, `sda`, `vda`.
    pub disk: Option<String>,
    /// Sequential 1 MiB reads, the better of both depths, bytes per second.
    pub sequential: Option<f64>,
    /// Mean latency of random 4 KiB reads at depth 1.
    pub single_ns: Option<f64>,
    /// Random 4 KiB reads at depth 32.
    pub deep_iops: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceJudgement {
    /// The class; `None`: the figures fit nothing we know.
    pub class: Option<DeviceClass>,
    /// The figures it rests on, in words.
    pub reasons: Vec<String>,
}

/// File systems that live in memory.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "devtmpfs"];

/// Whether a file system of this name lives in memory.
pub fn is_memory(file_system: &str) -> bool {
    IN_MEMORY.contains(&file_system)
}
/// Faster than this for a random 4 KiB read is no device: the fastest answer after about 8 µs. ns.
const MEMORY_NS: f64 = 7_000.0;
/// More than a 6 Gb/s link carries, bytes per second.
const SATA_LINK: f64 = 620e6;
/// The mean seek and half a turn of the fastest rotating disks take longer. ns.
const POSITIONING_NS: f64 = 2_500_000.0;
/// More random reads than one actuator makes with any queue.
const ACTUATOR_IOPS: f64 = 800.0;

/// What the figures look like; `None` where too little was measured.
pub fn look(looks: &DeviceFigures, rates: RateUnit) -> Option<DeviceJudgement> {
    let of = |class: DeviceClass, reasons: Vec<String>| Some(DeviceJudgement { class: Some(class), reasons });
    if let Some(name) = looks.file_system.as_deref() {
        if IN_MEMORY.contains(&name) {
            return of(DeviceClass::Memory, vec![format!("{name} keeps its files in memory")]);
        }
        let whence = shared_storage::way(name).map(|way| match way {
            Way::Network => "is served over a network",
            Way::Elsewhere => "is served from outside of this machine",
        });
        if let Some(whence) = whence {
            return of(DeviceClass::Network, vec![format!("{name} {whence}")]);
        }
    }
    let (sequential, single_ns, deep) = (looks.sequential?, looks.single_ns?, looks.deep_iops?);
    let single = format!("a random 4 KiB read takes {} at depth 1", number::latency(single_ns));
    let stream = format!("1 MiB reads stream at {}", rates.text(sequential));
    let gain = deep * single_ns / 1e9;
    let deeper = format!("depth 32 brings {} times the IOPS of depth 1", number::significant(gain));
    if single_ns < MEMORY_NS {
        return of(DeviceClass::Memory, vec![format!("{single}, faster than any device answers")]);
    }
    if deep < ACTUATOR_IOPS && single_ns > POSITIONING_NS {
        let few =
            format!("{} random reads per second at depth 32, as one actuator makes", number::iops(deep));
        return of(DeviceClass::Disk, vec![single, few, stream]);
    }
    if single_ns > 250_000.0 {
        // A capped cloud volume and a simple card have the same figures; only the driver's name tells them apart.
        let disk = looks.disk.as_deref().unwrap_or_default();
        let flash =
            gain < 3.0 && sequential < 420e6 && (disk.starts_with("mmcblk") || disk.starts_with("sd"));
        let class = if flash { DeviceClass::SlowFlash } else { DeviceClass::Network };
        return of(class, vec![single, deeper, stream]);
    }
    if sequential > SATA_LINK && deep > 100_000.0 {
        return of(
            DeviceClass::Nvme,
            vec![format!("{stream}, more than a SATA link carries"), single, deeper],
        );
    }
    if (150e6..=SATA_LINK).contains(&sequential) && (8_000.0..=110_000.0).contains(&deep) {
        return of(DeviceClass::SataSsd, vec![format!("{stream}, within a SATA link"), single, deeper]);
    }
    if sequential > SATA_LINK && gain > 3.0 {
        return of(
            DeviceClass::Nvme,
            vec![format!("{stream}, more than a SATA link carries"), single, deeper],
        );
    }
    Some(DeviceJudgement { class: None, reasons: vec![single, deeper, stream] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(megabytes: f64, single_us: f64, deep_iops: f64) -> DeviceFigures {
        DeviceFigures {
            disk: None,
            file_system: Some("ext4".into()),
            sequential: Some(megabytes * 1e6),
            single_ns: Some(single_us * 1e3),
            deep_iops: Some(deep_iops),
        }
    }

    fn on(disk: &str, looks: DeviceFigures) -> DeviceFigures {
        DeviceFigures { disk: Some(disk.into()), ..looks }
    }

    #[test]
    fn archetypes_are_told_apart() {
        let archetypes = [
            ("consumer NVMe", looks(3_400.0, 62.0, 380_000.0), DeviceClass::Nvme),
            ("enterprise NVMe", looks(6_900.0, 78.0, 390_000.0), DeviceClass::Nvme),
            ("Optane", looks(2_500.0, 10.0, 550_000.0), DeviceClass::Nvme),
            ("NVMe of a virtual machine", looks(1_900.0, 120.0, 90_000.0), DeviceClass::Nvme),
            ("SATA SSD", looks(555.0, 95.0, 91_000.0), DeviceClass::SataSsd),
            ("old SATA SSD at 3 Gb/s", looks(270.0, 140.0, 35_000.0), DeviceClass::SataSsd),
            ("7,200 rpm disk", looks(190.0, 13_100.0, 160.0), DeviceClass::Disk),
            ("15,000 rpm disk with a queue", looks(150.0, 6_000.0, 420.0), DeviceClass::Disk),
            ("laptop disk", looks(90.0, 18_000.0, 90.0), DeviceClass::Disk),
            ("USB stick", on("sdb", looks(140.0, 900.0, 1_800.0)), DeviceClass::SlowFlash),
            ("cloud volume of 3,000 IOPS", on("vda", looks(128.0, 620.0, 3_000.0)), DeviceClass::Network),
            ("cloud volume of 16,000 IOPS", looks(1_000.0, 480.0, 16_000.0), DeviceClass::Network),
            ("SD card", on("mmcblk0", looks(88.0, 510.0, 2_600.0)), DeviceClass::SlowFlash),
            ("eMMC", on("mmcblk1", looks(270.0, 300.0, 7_000.0)), DeviceClass::SlowFlash),
            ("page cache", looks(9_000.0, 1.1, 800_000.0), DeviceClass::Memory),
        ];
        for (name, looks, class) in archetypes {
            let look = look(&looks, RateUnit::default()).unwrap();
            assert_eq!(look.class, Some(class), "{name}: {:?}", look.reasons);
            assert!(!look.reasons.is_empty());
        }
    }

    #[test]
    fn names_of_file_systems_decide_where_they_can() {
        let memory = DeviceFigures { file_system: Some("tmpfs".into()), ..DeviceFigures::default() };
        assert_eq!(look(&memory, RateUnit::default()).unwrap().class, Some(DeviceClass::Memory));
        let remote = DeviceFigures { file_system: Some("nfs4".into()), ..looks(110.0, 900.0, 9_000.0) };
        assert_eq!(look(&remote, RateUnit::default()).unwrap().class, Some(DeviceClass::Network));
    }

    #[test]
    fn what_fits_nothing_is_called_nothing() {
        assert_eq!(look(&looks(100.0, 50.0, 900.0), RateUnit::default()).unwrap().class, None);
        assert_eq!(look(&DeviceFigures::default(), RateUnit::default()), None);
    }
}
