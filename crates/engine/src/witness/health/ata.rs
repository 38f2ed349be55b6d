//! The health of a SATA drive: its log of device statistics, by an ATA command within a SCSI one.

use std::os::fd::RawFd;

use iodyno_model::DriveHealth;

use crate::scsi::{FROM_DEVICE, perform};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 512;
/// Pages that are read: general, errors, temperature, solid state.
const GENERAL: u8 = 1;
const ERRORS: u8 = 4;
const TEMPERATURE: u8 = 5;
const SOLID_STATE: u8 = 7;

/// SAT-3, 12.2.2: ATA PASS-THROUGH (16).
const PASS_THROUGH: u8 = 0x85;
/// PIO data-in, with 48-bit fields; the count of blocks is in the sector count, from the device.
const PROTOCOL: u8 = 4 << 1 | 1;
const TRANSFER: u8 = 0b1110;
/// ACS-4, 7.24 and 9.5.
const READ_LOG_EXT: u8 = 0x2f;
const DEVICE_STATISTICS: u8 = 0x04;

/// A statistic's highest byte: it is there, and its value is valid.
const PRESENT: u8 = 0b1100_0000;

/// Reads the pages; none: it is no ATA drive, or has no such log.
pub fn read(fd: RawFd, block_bytes: u64) -> Option<DriveHealth> {
    let general = page(fd, GENERAL)?;
    let others = [ERRORS, TEMPERATURE, SOLID_STATE].map(|number| page(fd, number));
    Some(health(&general, &others, block_bytes))
}

fn page(fd: RawFd, number: u8) -> Option<[u8; PAGE_BYTES]> {
    let mut page = [0u8; PAGE_BYTES];
    let command = command(number);
    let done = perform(fd, &command, FROM_DEVICE, page.as_mut_ptr().cast(), PAGE_BYTES as u32);
    // Each page begins with its own number.
    (done == 0 && page[2] == number).then_some(page)
}

fn command(page: u8) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    (bytes[0], bytes[1], bytes[2]) = (PASS_THROUGH, PROTOCOL, TRANSFER);
    (bytes[6], bytes[8], bytes[10]) = (1, DEVICE_STATISTICS, page);
    bytes[14] = READ_LOG_EXT;
    bytes
}

/// What the pages say; `others`: errors, temperature, solid state.
fn health(
    general: &[u8; PAGE_BYTES],
    others: &[Option<[u8; PAGE_BYTES]>; 3],
    block_bytes: u64,
) -> DriveHealth {
    let other = |which: usize, at: usize, bytes: usize| statistic(others[which].as_ref()?, at, bytes);
    let sectors = |at: usize| statistic(general, at, 6).and_then(|sectors| sectors.checked_mul(block_bytes));
    DriveHealth {
        used_percent: other(2, 8, 1),
        host_written_bytes: sectors(24),
        host_read_bytes: sectors(40),
        power_on_hours: statistic(general, 16, 4),
        media_errors: other(0, 8, 4),
        temperature_c: other(1, 8, 1).map(|byte| i64::from(byte as u8 as i8)),
        hot_minutes: other(1, 80, 4),
        ..DriveHealth::default()
    }
}

/// A statistic of so many bytes; none: the drive does not have it, or its value is not valid.
fn statistic(page: &[u8; PAGE_BYTES], at: usize, bytes: usize) -> Option<u64> {
    let value = &page[at..at + 8];
    let number = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    (value[7] & PRESENT == PRESENT).then(|| value[..bytes].iter().rev().fold(0, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(number: u8, statistics: &[(usize, u64)]) -> [u8; PAGE_BYTES] {
        let mut page = [0u8; PAGE_BYTES];
        page[2] = number;
        for (at, value) in statistics {
            page[*at..*at + 8].copy_from_slice(&value.to_le_bytes());
            page[*at + 7] |= PRESENT;
        }
        page
    }

    #[test]
    fn pages_are_read() {
        let general = page_of(GENERAL, &[(16, 5_000), (24, 1 << 40), (40, 10)]);
        let temperature = page_of(TEMPERATURE, &[(8, 0xfb), (80, 12)]);
        let others =
            [Some(page_of(ERRORS, &[(8, 2)])), Some(temperature), Some(page_of(SOLID_STATE, &[(8, 7)]))];
        let found = health(&general, &others, 512);
        assert_eq!((found.host_written_bytes, found.host_read_bytes), (Some(512 << 40), Some(5_120)));
        assert_eq!((found.power_on_hours, found.media_errors), (Some(5_000), Some(2)));
        assert_eq!((found.temperature_c, found.hot_minutes), (Some(-5), Some(12)));
        assert_eq!(found.used_percent, Some(7));
    }

    #[test]
    fn a_statistic_that_is_not_valid_is_left_out() {
        let mut general = page_of(GENERAL, &[(24, 9)]);
        general[31] = 0b1000_0000;
        let found = health(&general, &[None; 3], 512);
        assert_eq!((found.host_written_bytes, found.power_on_hours, found.used_percent), (None, None, None));
    }

    #[test]
    fn the_command_asks_for_one_page_of_the_log() {
        assert_eq!(command(5), [0x85, 0x09, 0x0e, 0, 0, 0, 1, 0, 4, 0, 5, 0, 0, 0, 0x2f, 0]);
    }
}
