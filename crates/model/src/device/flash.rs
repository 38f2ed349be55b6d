//! Solid-state disks, and the controller in front of them.

use super::{positive, when};
use crate::reflect::Reflect;

/// A solid-state disk: pages of flash on dies behind channels, with a flash translation layer.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Ssd {
    /// What it holds for its user.
    #[reflect(default = 1_000_000_000_000)]
    pub capacity_bytes: u64,
    /// Channels that carry data at once.
    #[reflect(default = 8, positive)]
    pub channels: u32,
    /// Dies behind each channel, each of which works on one page at a time.
    #[reflect(default = 4, positive)]
    pub dies: u32,
    /// What is read or programmed together.
    #[reflect(default = 16_384, positive)]
    pub page_bytes: u64,
    /// Pages that are erased together.
    #[reflect(default = 256, positive)]
    pub block_pages: u32,
    /// From the flash into the page register.
    #[reflect(default = 60_000)]
    pub read_ns: u64,
    /// From the page register into the flash.
    #[reflect(default = 600_000)]
    pub program_ns: u64,
    /// Of a block.
    #[reflect(default = 3_000_000)]
    pub erase_ns: u64,
    /// Bytes per second of each channel; 0: no time.
    #[reflect(default = 800_000_000, form = "bytes per second")]
    pub channel_rate: u64,
    /// What the controller takes for each request.
    #[reflect(default = 10_000)]
    pub command_ns: u64,
    /// Its spare capacity as a part of what it holds for its user.
    #[reflect(default = 7.0)]
    pub over_provisioning_percent: f64,
    /// Memory in which writes are answered before they are programmed; 0: they are answered afterwards.
    #[reflect(default = 16_777_216)]
    pub buffer_bytes: u64,
    /// Whether that memory survives a loss of power, so that a flush has nothing to wait for.
    #[reflect(default)]
    pub protected: bool,
    /// Capacity that is programmed as single-level cells first and folded when idle; 0: none.
    #[reflect(default)]
    pub slc_bytes: u64,
    /// Programming such a page.
    #[reflect(default = 200_000)]
    pub slc_program_ns: u64,
    /// What it holds at the start.
    #[reflect(default)]
    pub state: SsdState,
    /// A pause after which garbage is collected and the SLC cache is folded although nobody writes.
    #[reflect(default = 10_000_000)]
    pub idle_ns: u64,
}

/// What an SSD holds at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum SsdState {
    /// Nothing: every block is erased.
    #[default]
    Erased,
    /// It was written once from the first byte to the last.
    Filled,
    /// It was overwritten at random until its write amplification no longer changed.
    Worn,
}

impl Ssd {
    /// Dies of all channels.
    pub fn all_dies(&self) -> u32 {
        self.channels.saturating_mul(self.dies)
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let over = self.over_provisioning_percent;
        [
            positive("capacity", self.capacity_bytes, "e.g. capacity = \"1TB\""),
            when(
                self.all_dies() > 4096,
                format!("it has {} dies", self.all_dies()),
                "at most 4096: channels times dies",
            ),
            when(
                !(1.0..=100.0).contains(&over),
                format!("an over-provisioning of {over} %"),
                "from 1% to 100%; 7% is usual for clients, 28% for servers",
            ),
            when(
                self.page_bytes < 512 || self.page_bytes > 1 << 20 || self.block_pages > 1 << 16,
                "pages have 512 bytes to 1 MiB, blocks at most 65536 pages",
                "page = \"16KiB\" and block_pages = 256 are usual",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// An NVMe controller: a link, processors for commands, and a queue.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Nvme {
    /// The part behind it.
    pub over: String,
    /// Bytes per second of the link in each direction; 0: no time.
    #[reflect(default = 3_500_000_000, form = "bytes per second")]
    pub link_rate: u64,
    /// What a processor takes for a read.
    #[reflect(default = 2_000)]
    pub read_ns: u64,
    /// What a processor takes for a write.
    #[reflect(default = 2_000)]
    pub write_ns: u64,
    /// What it takes besides where a command does not go on where the one before ended: its map entry is not at hand.
    #[reflect(default)]
    pub random_ns: u64,
    /// Commands that are worked on at once.
    #[reflect(default = 4, positive)]
    pub processors: u32,
    /// Commands that it takes; more wait in the host.
    #[reflect(default = 1024, positive)]
    pub queue: u32,
}

impl Nvme {
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        Vec::new()
    }
}
