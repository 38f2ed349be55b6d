//! What was seen from outside, and what it means for the result.
//!
//! A [`Sighting`] is a fact without opinion; a [`Finding`] is the opinion, with the figures that prove it. The crate
//! `truth` turns one into the other. A finding that has no figure is not a finding.

use serde::{Deserialize, Serialize};

use crate::target::TargetFacts;

/// What a witness saw during a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sighting {
    /// What the kernel says a block device did between start line and stop.
    Device(DeviceActivity),
    /// How much of a target's span was in the page cache.
    Residency {
        /// The target's name.
        target: String,
        /// Bytes looked at.
        span_bytes: u64,
        /// Bytes in the cache before the phase.
        before_bytes: u64,
        /// Bytes in the cache after it.
        after_bytes: u64,
    },
    /// Memory of the machine, in bytes.
    Memory {
        /// All of it.
        total_bytes: u64,
        /// Available before the phase.
        available_bytes: u64,
        /// Dirty and in write-back before.
        dirty_before_bytes: u64,
        /// Dirty and in write-back after.
        dirty_after_bytes: u64,
    },
    /// CPU time of the machine during the phase, as shares of all CPUs in percent.
    Cpu {
        /// Busy in user space.
        user_percent: f64,
        /// Busy in the kernel.
        system_percent: f64,
        /// Waiting for I/O.
        iowait_percent: f64,
        /// Taken by the hypervisor.
        steal_percent: f64,
        /// CPUs.
        cpus: u32,
    },
    /// What the client of a network file system says that it moved.
    Mount(MountActivity),
    /// Pages that were to leave the cache before the phase began, and did not.
    Undropped {
        /// The job whose files they are of; empty: the whole machine's.
        of: String,
        /// Bytes that were still there.
        left_bytes: u64,
        /// Why.
        reason: String,
    },
    /// What a target is.
    Target(Box<TargetFacts>),
    /// A witness that had nothing to read, and why.
    CannotTell {
        /// Which witness.
        witness: String,
        /// Why.
        reason: String,
    },
}

/// A block device's counters over a phase. Source: `/proc/diskstats`, kernel documentation `iostats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceActivity {
    /// Kernel name.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time with at least one request in flight, ns.
    pub busy_ns: u64,
    /// Time in flight summed over requests, ns.
    pub weighted_ns: u64,
    /// The interval these counters cover, ns.
    pub interval_ns: u64,
    /// Time that reads took, summed over them, ns.
    #[serde(default)]
    pub read_ns: u64,
    /// Time that writes took, summed over them, ns.
    #[serde(default)]
    pub write_ns: u64,
    /// The devices it is made of (of a mapper's or an array's device).
    #[serde(default)]
    pub beneath: Vec<DeviceActivity>,
}

/// What the client of a network file system moved to and from its servers over a phase. Sources: NFS
/// `/proc/self/mountstats`, SMB `/proc/fs/cifs/Stats`, Lustre `osc.*.stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MountActivity {
    /// Where it is mounted.
    pub mount_point: String,
    /// `nfs4`, `cifs`, `lustre`, …
    pub file_system: String,
    /// Bytes read from the servers.
    pub read_bytes: u64,
    /// Bytes written to the servers.
    pub write_bytes: u64,
}

/// How much a finding spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; the figure stands.
    Note,
    /// The figure may not be what it seems.
    Doubtful,
    /// The figure is not what was asked for.
    Invalid,
}

/// What a sighting means for a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its number in the list of known lies, 1 to 26.
    pub code: u8,
    /// How much it spoils.
    pub severity: Severity,
    /// The phase it concerns.
    pub phase: String,
    /// The job it concerns, if one.
    #[serde(default)]
    pub job: Option<String>,
    /// What is the matter, one sentence.
    pub sentence: String,
    /// The figures that prove it, at least one.
    pub figures: Vec<Figure>,
    /// What to do, with the exact option.
    pub advice: String,
}

/// A number with its name and unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit: `%`, `bytes`, `ns`, `1/s`, or nothing.
    pub unit: String,
}

impl Figure {
    /// A figure.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Figure { name: name.into(), value, unit: unit.into() }
    }
}
