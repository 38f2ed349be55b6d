//! Memory of the machine: how much there is, and how much of it is dirty. Source: `/proc/meminfo`.

use iodyno_model::MemoryLevels;

/// Levels in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    /// All memory.
    pub total: u64,
    /// Available without swapping.
    pub available: u64,
    /// Dirty or in write-back.
    pub dirty: u64,
    /// In write-back.
    pub writeback: u64,
    /// The page cache.
    pub cached: u64,
    /// Swap space in use.
    pub swapped: u64,
}

impl Levels {
    /// As a sample keeps them.
    pub fn sampled(&self) -> MemoryLevels {
        MemoryLevels {
            available_bytes: self.available,
            cached_bytes: self.cached,
            dirty_bytes: self.dirty.saturating_sub(self.writeback),
            writeback_bytes: self.writeback,
        }
    }
}

/// Reads the levels; `None` where there is no such file.
pub fn read() -> Option<Levels> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(text: &str) -> Option<Levels> {
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    let writeback = field("Writeback:")?;
    Some(Levels {
        total: field("MemTotal:")?,
        available: field("MemAvailable:")?,
        dirty: field("Dirty:")? + writeback,
        writeback,
        cached: field("Cached:").unwrap_or(0),
        swapped: field("SwapTotal:").unwrap_or(0).saturating_sub(field("SwapFree:").unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_bytes() {
        let text = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 500 kB\nCached: 9 kB\nDirty: 8 kB\nWriteback: 4 kB\n\
                    SwapTotal: 7 kB\nSwapFree: 2 kB\n";
        let levels = parse(text).unwrap();
        assert_eq!((levels.total, levels.available, levels.dirty), (1_024_000, 512_000, 12_288));
        let sample = levels.sampled();
        assert_eq!((sample.dirty_bytes, sample.writeback_bytes, sample.cached_bytes), (8192, 4096, 9216));
        assert_eq!(levels.swapped, 5 * 1024);
    }
}
