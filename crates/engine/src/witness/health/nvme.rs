//! The health of an NVMe drive: its log 02h, and the log C0h of those that follow OCP's specification.

use std::os::fd::RawFd;

use iodyno_model::DriveHealth;

use crate::nvme::{AdminCommand, perform};

pub use crate::nvme::LOG_BYTES;

/// The number of the log of health, and of OCP's extended one.
pub const HEALTH: u8 = 0x02;
pub const EXTENDED: u8 = 0xc0;

/// Data units are thousands of blocks of 512 bytes.
const DATA_UNIT_BYTES: u128 = 512_000;
const ZERO_CELSIUS_K: i64 = 273;
/// What identifies the log C0h, at its end; vendors have other logs of that number.
const EXTENDED_IDENTITY: [u8; 16] =
    [0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf];

/// Bits of the critical warning, from the least.
const WARNINGS: [&str; 6] = [
    "its spare blocks run out",
    "its temperature is beyond what it warns of",
    "its medium or inner errors make it unreliable",
    "its medium is read-only",
    "its volatile memory is not backed up",
    "its persistent memory is read-only",
];

/// Reads a log; none: the drive has none of that number, or it is no NVMe drive.
pub fn read(fd: RawFd, log: u8) -> Option<[u8; LOG_BYTES]> {
    let mut page = [0u8; LOG_BYTES];
    perform(fd, AdminCommand::log_page(log), &mut page).ok().map(|_| page)
}

/// What the log of health says.
pub fn health(page: &[u8; LOG_BYTES]) -> DriveHealth {
    let bytes =
        |at: usize| units(page, at).checked_mul(DATA_UNIT_BYTES).and_then(|bytes| u64::try_from(bytes).ok());
    let count = |at: usize| u64::try_from(units(page, at)).ok();
    let word =
        |at: usize| u64::from(u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]));
    let kelvin = i64::from(u16::from_le_bytes([page[1], page[2]]));
    let warnings = WARNINGS.iter().enumerate().filter(|(bit, _)| page[0] & (1 << bit) != 0);
    DriveHealth {
        used_percent: Some(u64::from(page[5])),
        spare_percent: Some(u64::from(page[3])),
        spare_least_percent: Some(u64::from(page[4])),
        host_read_bytes: bytes(32),
        host_written_bytes: bytes(48),
        temperature_c: (kelvin > 0).then_some(kelvin - ZERO_CELSIUS_K),
        // Two levels of slowness.
        throttled: Some(word(216) + word(220)),
        throttled_s: Some(word(224) + word(228)),
        hot_minutes: Some(word(192) + word(196)),
        power_on_hours: count(128),
        unsafe_shutdowns: count(144),
        media_errors: count(160),
        media_written_bytes: None,
        warnings: warnings.map(|(_, text)| (*text).to_string()).collect(),
    }
}

/// Bytes written to the medium by OCP's log; none: the log is another vendor's.
pub fn media_written_bytes(page: &[u8; LOG_BYTES]) -> Option<u64> {
    page.ends_with(&EXTENDED_IDENTITY).then(|| u64::try_from(units(page, 0)).ok()).flatten()
}

/// A count of 16 bytes.
fn units(page: &[u8; LOG_BYTES], at: usize) -> u128 {
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&page[at..at + 16]);
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page as a drive sends it: its own fields at the places of the specification, all else 0.
    fn page(fields: &[(usize, &[u8])]) -> [u8; LOG_BYTES] {
        let mut page = [0u8; LOG_BYTES];
        fields.iter().for_each(|(at, bytes)| page[*at..*at + bytes.len()].copy_from_slice(bytes));
        page
    }

    #[test]
    fn a_log_of_health_is_read() {
        let page = page(&[
            (0, &[0b0000_0010]),
            (1, &314u16.to_le_bytes()),
            (3, &[98, 10, 103]),
            (32, &2_000u128.to_le_bytes()),
            (48, &1_000_000u128.to_le_bytes()),
            (128, &8_760u128.to_le_bytes()),
            (144, &7u128.to_le_bytes()),
            (160, &1u128.to_le_bytes()),
            (192, &3u32.to_le_bytes()),
            (216, &4u32.to_le_bytes()),
            (220, &1u32.to_le_bytes()),
            (224, &60u32.to_le_bytes()),
            (228, &5u32.to_le_bytes()),
        ]);
        let health = health(&page);
        assert_eq!(health.warnings, [WARNINGS[1]]);
        assert_eq!((health.temperature_c, health.used_percent), (Some(41), Some(103)));
        assert_eq!((health.spare_percent, health.spare_least_percent), (Some(98), Some(10)));
        assert_eq!(health.host_read_bytes, Some(1_024_000_000));
        assert_eq!(health.host_written_bytes, Some(512_000_000_000));
        assert_eq!((health.power_on_hours, health.unsafe_shutdowns), (Some(8_760), Some(7)));
        assert_eq!((health.throttled, health.throttled_s, health.hot_minutes), (Some(5), Some(65), Some(3)));
        assert_eq!(health.media_errors, Some(1));
    }

    #[test]
    fn a_count_that_is_longer_than_a_number_is_left_out() {
        assert_eq!(health(&page(&[(48, &u128::MAX.to_le_bytes())])).host_written_bytes, None);
        assert_eq!(health(&page(&[])).temperature_c, None, "a drive that tells no temperature");
    }

    #[test]
    fn another_vendors_log_of_that_number_is_not_taken_for_ocps() {
        let written: (usize, &[u8]) = (0, &12_345u128.to_le_bytes());
        assert_eq!(media_written_bytes(&page(&[written, (496, &EXTENDED_IDENTITY)])), Some(12_345));
        assert_eq!(media_written_bytes(&page(&[written])), None);
    }

    #[test]
    fn the_command_is_the_kernels() {
        assert_eq!(size_of::<AdminCommand>(), 72);
    }
}
