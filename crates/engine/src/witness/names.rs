//! Names and inodes that the kernel keeps in memory. Sources: `/proc/sys/fs/dentry-state`, `inode-nr`, and the count of
//! times that somebody had them dropped (`drop_slab` in `/proc/vmstat`).
//!
//! Whether they were emptied since the objects were made is told of objects that this run made; a file system that was
//! mounted again has lost its names too, which no counter tells.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iodyno_model::NameCache;

/// How often names had been dropped when objects were made last, plus one; 0: not looked at yet.
static DROPS_BEFORE: AtomicU64 = AtomicU64::new(0);

/// What was read at one moment: names, inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels(u64, u64);

/// Reads how many there are; `None` where the kernel does not tell.
pub fn read() -> Option<Levels> {
    let first = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Levels(first("/proc/sys/fs/dentry-state")?, first("/proc/sys/fs/inode-nr")?))
}

impl Levels {
    /// Before and after a phase; whether names were dropped between the making of objects and its beginning is known then.
    pub fn until(&self, after: Levels, dropped: bool) -> NameCache {
        NameCache { dentries: (self.0, after.0), inodes: (self.1, after.1), dropped }
    }
}

/// How often the names of the machine were dropped since boot.
fn drops() -> Option<u64> {
    parse(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn parse(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("drop_slab "))?.trim().parse().ok()
}

/// Notes that objects are there now: at the beginning of a run, and after a phase that made some.
pub fn made() {
    DROPS_BEFORE.store(drops().map_or(0, |drops| drops + 1), Relaxed);
}

/// Whether names were dropped since objects were made last.
pub fn dropped_since() -> bool {
    let before = DROPS_BEFORE.load(Relaxed);
    before > 0 && drops().is_some_and(|drops| drops + 1 > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_by_the_kernel() {
        assert_eq!(parse("nr_free_pages 5\ndrop_pagecache 9\ndrop_slab 7\noom_kill 0\n"), Some(7));
        assert_eq!(parse("nr_free_pages 5\n"), None);
        let cache = Levels(5, 6).until(Levels(7, 8), true);
        assert_eq!((cache.dentries, cache.inodes, cache.dropped), ((5, 7), (6, 8), true));
    }
}
