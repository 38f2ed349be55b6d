//! Memory of the machine: how much there is, and how much of it is dirty. Source: `/proc/meminfo`.

/// Levels in bytes.
pub struct Levels {
    /// All memory.
    pub total: u64,
    /// Available without swapping.
    pub available: u64,
    /// Dirty or in write-back.
    pub dirty: u64,
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
    let dirty = field("Dirty:")? + field("Writeback:")?;
    Some(Levels { total: field("MemTotal:")?, available: field("MemAvailable:")?, dirty })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_bytes() {
        let text = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 500 kB\nDirty: 8 kB\nWriteback: 4 kB\n";
        let levels = parse(text).unwrap();
        assert_eq!((levels.total, levels.available, levels.dirty), (1_024_000, 512_000, 12_288));
    }
}
