//! Disks behind one controller.

use super::when;
use crate::reflect::Reflect;

/// A RAID controller with its disks.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Raid {
    /// The part that each of its disks is.
    pub over: String,
    /// How data and redundancy lie on them.
    #[reflect(default)]
    pub level: RaidLevel,
    /// How many.
    #[reflect(default = 2, positive)]
    pub disks: u32,
    /// What lies on a disk before the next one follows.
    #[reflect(default = 65_536, positive)]
    pub chunk_bytes: u64,
    /// The controller's memory for written data; 0: writes are answered when the disks have them.
    #[reflect(default)]
    pub cache_bytes: u64,
    /// Whether that memory survives a loss of power. Without it the controller does not answer from its memory.
    #[reflect(default = true)]
    pub battery: bool,
    /// Writes that each disk gets from the memory at once.
    #[reflect(default = 32, positive)]
    pub destage: u32,
    /// What the controller takes for each request, one after the other.
    #[reflect(default = 20_000)]
    pub command_ns: u64,
    /// The way of an answer, which keeps nobody else waiting.
    #[reflect(default = 30_000)]
    pub answer_ns: u64,
    /// Answers that are collected for one interrupt; 1: each has its own.
    #[reflect(default = 1, positive)]
    pub coalesced: u32,
    /// How long they are collected at most.
    #[reflect(default)]
    pub coalesced_for_ns: u64,
    /// Disks that have failed.
    #[reflect(default)]
    pub failed: u32,
    /// Bytes per second of a failed disk that are rebuilt beside the requests; 0: nothing is.
    #[reflect(default, form = "bytes per second")]
    pub rebuild_rate: u64,
}

/// How data and redundancy lie on the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum RaidLevel {
    /// Stripes without redundancy.
    #[default]
    #[reflect(name = "0", key = "0")]
    Stripe,
    /// All disks hold the same.
    #[reflect(name = "1", key = "1")]
    Mirror,
    /// Stripes over pairs that hold the same.
    #[reflect(name = "10", key = "10")]
    StripedMirror,
    /// Stripes with one parity chunk, which wanders.
    #[reflect(name = "5", key = "5")]
    Parity,
    /// Stripes with two parity chunks, which wander.
    #[reflect(name = "6", key = "6")]
    DoubleParity,
}

impl Raid {
    /// Disks whose capacity its user has.
    pub fn data_disks(&self) -> u32 {
        match self.level {
            RaidLevel::Stripe => self.disks,
            RaidLevel::Mirror => 1,
            RaidLevel::StripedMirror => self.disks / 2,
            RaidLevel::Parity => self.disks.saturating_sub(1),
            RaidLevel::DoubleParity => self.disks.saturating_sub(2),
        }
    }

    /// Disks that may fail without loss of data.
    pub fn spare_disks(&self) -> u32 {
        match self.level {
            RaidLevel::Stripe => 0,
            RaidLevel::Mirror => self.disks.saturating_sub(1),
            RaidLevel::StripedMirror | RaidLevel::Parity => 1,
            RaidLevel::DoubleParity => 2,
        }
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let least = match self.level {
            RaidLevel::Stripe => 1,
            RaidLevel::Mirror | RaidLevel::StripedMirror => 2,
            RaidLevel::Parity => 3,
            RaidLevel::DoubleParity => 4,
        };
        [
            when(
                self.disks < least,
                format!("{} disks are too few for its level", self.disks),
                "RAID 1 and 10 need 2, RAID 5 needs 3, RAID 6 needs 4",
            ),
            when(
                self.level == RaidLevel::StripedMirror && self.disks % 2 == 1,
                format!("{} disks make no pairs", self.disks),
                "RAID 10 needs an even number",
            ),
            when(
                self.failed > self.spare_disks(),
                format!("{} failed disks are more than its level survives", self.failed),
                "RAID 0 survives none, RAID 5 and 10 one, RAID 6 two, RAID 1 all but one",
            ),
            when(
                self.rebuild_rate > 0 && self.failed == 0,
                "there is nothing to rebuild",
                "say failed = 1 too, or leave rebuild_rate out",
            ),
            when(
                self.coalesced > 1 && self.coalesced_for_ns == 0,
                "`coalesced` answers without a longest time would wait for ever",
                "e.g. coalesced_for = \"50us\"",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
