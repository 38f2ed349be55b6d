//! A small machine for iostat to look at: two disks, one with a partition, a mapper device with names of its own.

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::{Machine, TargetFacts};

/// The machine, and the environment in which iostat is called.
pub struct World {
    variables: Vec<(String, String)>,
    layout: Option<String>,
}

impl World {
    /// `POSIXLY_CORRECT=1 layout=10`: variables, and our own words.
    pub fn new(words: &str) -> Self {
        let mut world = World { variables: Vec::new(), layout: None };
        for (name, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
            match name {
                "layout" => world.layout = Some(value.into()),
                name => world.variables.push((name.into(), value.into())),
            }
        }
        world
    }
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "/proc/sys/kernel/arch" => Ok(b"x86_64\n".into()),
            "/sys/devices/system/cpu/online" => Ok(b"0-3,6\n".into()),
            "/sys/class/block/dm-0/dm/name" => Ok(b"vg-data\n".into()),
            _ => Err("no such file or directory".into()),
        }
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        let names: &[&str] = match path {
            "/sys/class/block" => &["dm-0", "sda", "sda1", "sdb"],
            "/sys/class/block/sda" => &["sda1", "size", "stat"],
            "/dev/disk/by-id" => &["ata-DISK_1", "ata-DISK_1-part1", "dm-name-vg-data"],
            _ => return Err("no such file or directory".into()),
        };
        Ok(names.iter().map(ToString::to_string).collect())
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn machine(&self) -> Machine {
        Machine::default()
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        let device = match path {
            "/dev/mapper/vg-data" | "/dev/disk/by-id/dm-name-vg-data" => "dm-0",
            "/dev/sda" | "/dev/disk/by-id/ata-DISK_1" => "sda",
            "/dev/disk/by-id/ata-DISK_1-part1" => "sda1",
            _ => return None,
        };
        let target = TargetFacts { device: Some(device.into()), ..TargetFacts::default() };
        Some(PathFacts { kind: PathKind::BlockDevice, target, ..PathFacts::default() })
    }

    fn now_unix_ns(&self) -> u64 {
        0
    }

    fn east_s(&self) -> i64 {
        if self.variables.iter().any(|(name, value)| name == "TZ" && value == "Asia/Tokyo") {
            9 * 3600
        } else {
            0
        }
    }

    fn also(&self, word: &str) -> Option<String> {
        self.layout.clone().filter(|_| word == "layout")
    }
}
