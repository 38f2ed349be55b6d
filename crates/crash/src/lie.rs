//! Devices that lie: what becomes of a log on a disk that does not do what it answers.

use std::fmt;
use std::str::FromStr;

use iodyno_simulation::random::{Random, mix};

use crate::log::{LogEntry, WriteLog};
use crate::request::DEVICE_NAMES;

/// A device, honest or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// What a flush covers is durable; a sector is written as a whole.
    Honest,
    /// Flushes are answered and not done.
    LyingFlush,
    /// A flush covers only the last writes.
    FlushWindow,
    /// Now and then a write is answered and not done.
    LostWrite,
    /// Now and then a write lands elsewhere.
    MisdirectedWrite,
    /// Now and then a bit of a write is inverted.
    BitFlip,
    /// A sector of 4096 bytes is torn between two of 512.
    TornSector,
}

/// Kinds in the order of [`DEVICE_NAMES`].
const KINDS: [DeviceKind; DEVICE_NAMES.len()] = [
    DeviceKind::Honest,
    DeviceKind::LyingFlush,
    DeviceKind::FlushWindow,
    DeviceKind::LostWrite,
    DeviceKind::MisdirectedWrite,
    DeviceKind::BitFlip,
    DeviceKind::TornSector,
];

/// Writes that a flush covers, where it covers few.
const WINDOW: usize = 1;
/// One write in so many goes wrong.
const ONE_IN: u64 = 8;
/// What a torn sector is torn into.
const SMALL_SECTOR: u64 = 512;

impl DeviceKind {
    /// What the device makes of a log. Places in it stay the same.
    pub fn distort(self, log: &WriteLog, seed: u64) -> WriteLog {
        let mut log = log.clone();
        let mut random = Random::from_seed(mix(seed), 3);
        let mut earlier: Vec<(u64, u64)> = Vec::new();
        for entry in &mut log.entries {
            if let LogEntry::Flush { most } = entry {
                *most = match self {
                    DeviceKind::LyingFlush => Some(0),
                    DeviceKind::FlushWindow => Some(WINDOW),
                    _ => *most,
                };
            }
            let is_chosen = entry.range().is_some() && random.below(ONE_IN) == 0;
            if let LogEntry::Write { offset, data } = entry {
                let range = (*offset, data.len() as u64);
                if is_chosen {
                    self.damage(offset, data, &earlier, &mut random);
                }
                earlier.push(range);
            }
        }
        log
    }

    fn damage(self, offset: &mut u64, data: &mut Vec<u8>, earlier: &[(u64, u64)], random: &mut Random) {
        match self {
            DeviceKind::LostWrite => data.clear(),
            DeviceKind::MisdirectedWrite => {
                let own = (*offset, data.len() as u64);
                let others: Vec<u64> = earlier
                    .iter()
                    .filter(|range| range.1 >= own.1 && range.0 != own.0)
                    .map(|range| range.0)
                    .collect();
                if !others.is_empty() {
                    *offset = others[random.below(others.len() as u64) as usize];
                }
            }
            DeviceKind::BitFlip => {
                // Where something stands: the bits of empty room say nothing.
                let full: Vec<usize> = (0..data.len()).filter(|at| data[*at] != 0).collect();
                if !full.is_empty() {
                    data[full[random.below(full.len() as u64) as usize]] ^= 1 << random.below(8);
                }
            }
            _ => {}
        }
    }

    /// What it really writes as a whole.
    pub fn sector_bytes(self, promised: u64) -> u64 {
        if self == DeviceKind::TornSector { SMALL_SECTOR.min(promised) } else { promised }
    }

    /// What it does, in words.
    pub fn about(self) -> &'static str {
        self.name_and_about().1
    }

    fn name_and_about(self) -> (&'static str, &'static str) {
        KINDS.iter().zip(DEVICE_NAMES).find(|(kind, _)| **kind == self).map_or(("", ""), |(_, known)| *known)
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name_and_about().0)
    }
}

impl FromStr for DeviceKind {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceKind, String> {
        let found = DEVICE_NAMES.iter().zip(KINDS).find(|((name, _), _)| *name == text);
        let names: Vec<&str> = DEVICE_NAMES.iter().map(|(name, _)| *name).collect();
        found.map(|(_, kind)| kind).ok_or_else(|| format!("no device {text}; there are {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::DiskContent;
    use crate::state::{StateChoice, states};

    fn log() -> WriteLog {
        let write = |at: u64| LogEntry::Write { offset: at * 4096, data: vec![at as u8 + 1; 4096] };
        WriteLog { entries: (0..64).flat_map(|at| [write(at), LogEntry::Flush { most: None }]).collect() }
    }

    fn possible(device: DeviceKind) -> usize {
        let sector_bytes = device.sector_bytes(4096);
        let choice = StateChoice { most: usize::MAX, seed: 1, sector_bytes };
        let log = WriteLog { entries: device.distort(&log(), 1).entries[..12].to_vec() };
        states(&log, &DiskContent::empty(1 << 20), choice).1
    }

    #[test]
    fn a_flush_that_is_not_done_lets_everything_go_missing() {
        // Six writes, each flushed: one state for each, and the first; or any subset.
        assert_eq!(possible(DeviceKind::Honest), 7);
        assert_eq!(possible(DeviceKind::LyingFlush), 64);
        // Each of 512 bytes of the last write, from both ends.
        assert_eq!(possible(DeviceKind::TornSector), 7 + 6 * 2 * 7);
    }

    #[test]
    fn a_window_keeps_the_last_writes() {
        let log = DeviceKind::FlushWindow.distort(&log(), 1);
        assert!(
            log.entries.iter().skip(1).step_by(2).all(|entry| *entry == LogEntry::Flush { most: Some(1) })
        );
    }

    #[test]
    fn one_write_in_eight_goes_wrong_and_the_same_ones_for_the_same_seed() {
        for device in [DeviceKind::LostWrite, DeviceKind::MisdirectedWrite, DeviceKind::BitFlip] {
            let changed = |seed| {
                let distorted = device.distort(&log(), seed).entries;
                assert_eq!(distorted.len(), 128);
                let pairs = distorted.into_iter().zip(log().entries).enumerate();
                pairs.filter(|(_, (new, old))| new != old).map(|(at, _)| at).collect::<Vec<_>>()
            };
            let count = changed(1).len();
            assert!((2..=20).contains(&count), "{device}: {count} of 64");
            assert_eq!(changed(1), changed(1));
            assert_ne!(changed(1), changed(2));
        }
    }

    #[test]
    fn names_read_back() {
        for (name, _) in DEVICE_NAMES {
            assert_eq!(name.parse::<DeviceKind>().map(|kind| kind.to_string()).as_deref(), Ok(*name));
        }
        assert!("liar".parse::<DeviceKind>().unwrap_err().contains("lying-flush"));
    }
}
