//! What drives say of their own health: asked before a phase and after it, where a job wants it.
//!
//! The questions are commands that change nothing. Only the kernel's own names are opened, for reading; what is no NVMe
//! or SATA drive (a disk of a virtual machine, an array's volume) has nothing to tell, and that is said.

use std::fs::File;
use std::os::fd::AsRawFd;

use iodyno_model::{DriveHealth, HealthActivity};

mod ata;
mod nvme;

/// The health of a drive, and where it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthReading {
    source: &'static str,
    health: DriveHealth,
}

/// Asks a whole disk by its kernel name.
///
/// # Errors
/// Why it cannot be told, as a clause.
pub fn read(disk: &str) -> Result<HealthReading, String> {
    let path = format!("/dev/{disk}");
    let device =
        File::open(&path).map_err(|error| format!("{path}: {}", iodyno_model::origin::plain(&error)))?;
    let fd = device.as_raw_fd();
    if let Some(page) = nvme::read(fd, nvme::HEALTH) {
        let media_written_bytes =
            nvme::read(fd, nvme::EXTENDED).and_then(|page| nvme::media_written_bytes(&page));
        let source = if media_written_bytes.is_some() { "NVMe logs 02h and C0h" } else { "NVMe log 02h" };
        let health = DriveHealth { media_written_bytes, ..nvme::health(&page) };
        return Ok(HealthReading { source, health });
    }
    let block = std::fs::read_to_string(format!("/sys/class/block/{disk}/queue/logical_block_size"));
    let block_bytes = block.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(512);
    match ata::read(fd, block_bytes) {
        Some(health) => Ok(HealthReading { source: "ATA device statistics", health }),
        None => Err(format!("{disk} answers as neither an NVMe nor a SATA drive")),
    }
}

/// What became of a drive since it was asked before.
pub fn since(disk: &str, before: HealthReading, after: HealthReading) -> HealthActivity {
    HealthActivity {
        device: disk.into(),
        source: before.source.into(),
        before: before.health,
        after: after.health,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_drive_says_so() {
        let why = read("iodyno-is-no-disk").unwrap_err();
        assert!(why.starts_with("/dev/iodyno-is-no-disk: "), "{why}");
        let why = read("null").unwrap_err();
        assert_eq!(why, "null answers as neither an NVMe nor a SATA drive");
    }
}
