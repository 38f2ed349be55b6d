//! The memory of a client in front of a device.

use super::when;
use crate::reflect::Reflect;

/// A page cache: what was read and written lately is answered from memory. Targets that are opened past it (`O_DIRECT`) go
/// past it, and so do writes that must be durable (`O_SYNC`, `O_DSYNC`), which leave their pages in it.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct PageCache {
    /// The part behind it.
    pub over: String,
    /// Memory for pages.
    #[reflect(default = 1_073_741_824, positive)]
    pub memory_bytes: u64,
    /// A page: what is kept or dropped together.
    #[reflect(default = 4_096, positive)]
    pub page_bytes: u64,
    /// Which page is dropped where there is no room.
    #[reflect(default)]
    pub policy: CachePolicy,
    /// A read or write of memory takes so long,
    #[reflect(default = 1_000)]
    pub operation_ns: u64,
    /// and moves so many bytes per second beside that; 0: no time.
    #[reflect(default = 8_000_000_000, form = "bytes per second")]
    pub rate: u64,
    /// How much is read ahead at most where reads follow each other; 0: nothing is.
    #[reflect(default = 131_072)]
    pub read_ahead_bytes: u64,
    /// Dirty pages beyond this share of the memory are written back (`dirty_background_ratio`).
    #[reflect(default = 10.0)]
    pub dirty_background_percent: f64,
    /// Beyond this share writers wait (`dirty_ratio`).
    #[reflect(default = 20.0)]
    pub dirty_percent: f64,
    /// Dirty pages are written back after this time in any case (`dirty_expire_centisecs`).
    #[reflect(default = 30_000_000_000, positive)]
    pub dirty_expire_ns: u64,
    /// The longest request that pages are written back with.
    #[reflect(default = 1_048_576, positive)]
    pub write_most_bytes: u64,
    /// Requests that are written back at once.
    #[reflect(default = 32, positive)]
    pub write_queue: u32,
}

/// Which page of a cache is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum CachePolicy {
    /// That which was used longest ago.
    #[default]
    Lru,
    /// The next that was not used since a hand came by: second chance.
    Clock,
}

impl PageCache {
    /// Pages whose places are simulated.
    const MOST_PAGES: u64 = 1 << 20;

    /// Pages that it has room for.
    pub fn pages(&self) -> u64 {
        self.memory_bytes / self.page_bytes.max(1)
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let (pages, most) = (self.pages(), self.dirty_percent);
        [
            when(
                pages > Self::MOST_PAGES,
                format!("a memory of {pages} pages"),
                "at most 1048576: say larger pages, e.g. page = \"64KiB\"",
            ),
            when(pages < 8, "a memory of fewer than 8 pages", "say more memory, or smaller pages"),
            when(
                !(0.0..=90.0).contains(&most),
                format!("a `dirty` of {most} %"),
                "from 0% (each writer waits) to 90%",
            ),
            when(
                !(0.0..=most).contains(&self.dirty_background_percent),
                "`dirty_background` is more than `dirty`",
                "it is usually half of it",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
