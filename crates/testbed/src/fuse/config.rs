//! What a staged device is told to do: how long each request takes, and where it lies.
//!
//! Plain data that travels as JSON to the process that serves the device. Nothing here depends on chance: a
//! bimodal device draws from its own seed and the request's number, so the same requests meet the same fate.

use super::log::FAULTS_MAX;
use serde::{Deserialize, Serialize};

/// A whole device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of the file, fixed like a block device's: truncation is accepted and changes nothing.
    pub bytes: u64,
    /// What the media holds at first.
    pub content: Content,
    /// How many requests are served at once; further ones wait in arrival order.
    pub parallelism: usize,
    /// How many requests the device takes in at once, served or waiting; those beyond wait inside the kernel,
    /// where the log cannot see them. At least `parallelism`.
    pub queue_depth: usize,
    /// Service time of a read.
    pub read: Service,
    /// Service time of a write.
    pub write: Service,
    /// Service time of a sync, in ns; syncs occupy none of the `parallelism`.
    pub sync_ns: u64,
    /// Adds the transfer's time at this rate to every service time.
    pub bytes_per_s: Option<u64>,
    /// Writes succeed until this many bytes were written in all, then fail with `ENOSPC`.
    pub space_bytes: Option<u64>,
    /// Every open bypasses the page cache. When `false`, only `O_DIRECT` opens do.
    pub direct: bool,
    /// Mode bits of the file.
    pub mode: u16,
    /// How the device misbehaves; all that apply to a request apply together.
    pub faults: Vec<Fault>,
    /// How many requests the log holds; later ones are counted as dropped.
    pub log_capacity: usize,
    /// How long before a deadline the server stops sleeping and spins, in ns.
    pub spin_ns: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            bytes: 64 << 20,
            content: Content::Zeros,
            parallelism: 8,
            queue_depth: 32,
            read: Service::Constant(0),
            write: Service::Constant(0),
            sync_ns: 0,
            bytes_per_s: None,
            space_bytes: None,
            direct: true,
            mode: 0o666,
            faults: Vec::new(),
            log_capacity: 1 << 18,
            spin_ns: 100_000,
        }
    }
}

impl Config {
    /// A device whose reads and writes all take `service_ns`.
    pub fn constant(service_ns: u64) -> Config {
        Config {
            read: Service::Constant(service_ns),
            write: Service::Constant(service_ns),
            ..Config::default()
        }
    }

    /// A device with no service time that commits these faults.
    pub fn faulty(faults: Vec<Fault>) -> Config {
        Config { faults, ..Config::default() }
    }

    /// Finds what cannot be meant: too many faults, or swapped blocks that overlap or lie outside the device.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.faults.len() > FAULTS_MAX {
            return Err(format!("{} faults: at most {FAULTS_MAX} can be counted", self.faults.len()));
        }
        for fault in &self.faults {
            if let Fault::Swapped { a, b, bytes } = fault
                && (a.abs_diff(*b) < *bytes || a.max(b) + bytes > self.bytes)
            {
                return Err(format!("{fault:?}: the blocks overlap or lie outside the device"));
            }
        }
        Ok(())
    }
}

/// What the media holds before anyone writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zeros, taking no memory until written.
    Zeros,
    /// Incompressible bytes drawn from this seed.
    Random(u64),
}

/// How long a request takes, from the moment the device begins on it to its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Always the same, in ns.
    Constant(u64),
    /// `b_ns` for about `b_percent` of the requests, `a_ns` for the others.
    Bimodal {
        /// The usual service time.
        a_ns: u64,
        /// The other service time.
        b_ns: u64,
        /// Share of requests that take `b_ns`, 0 to 100.
        b_percent: u8,
        /// Which requests these are.
        seed: u64,
    },
    /// These times in turn, in ns, by the request's number; empty means 0.
    Cycle(Vec<u64>),
}

impl Service {
    /// Service time in ns of the request with this number (from 1, counted per direction).
    pub fn ns(&self, number: u64) -> u64 {
        match self {
            Service::Constant(ns) => *ns,
            Service::Bimodal { a_ns, b_ns, b_percent, seed } => {
                if mix(seed ^ mix(number)) % 100 < u64::from(*b_percent) { *b_ns } else { *a_ns }
            }
            Service::Cycle(times) if times.is_empty() => 0,
            Service::Cycle(times) => times[((number - 1) % times.len() as u64) as usize],
        }
    }
}

/// The finaliser of SplitMix64: a bijection that leaves no visible pattern.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// `fsync` or `fdatasync`.
    Sync,
}

/// Which requests of a kind a fault meets. Numbers count from 1, per kind, since the mount or the last reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Every one.
    All,
    /// The n-th that arrives.
    Nth(u64),
    /// Every n-th that arrives.
    EveryNth(u64),
    /// Every one that covers the byte at this offset.
    At(u64),
    /// The n-th of those that cover the byte at `offset`.
    NthAt {
        /// Byte that the request must cover.
        offset: u64,
        /// Which of them, from 1.
        n: u64,
    },
}

/// One way in which a device misbehaves. A request that is not read or written in full is still acknowledged as
/// if it were, except for [`Fault::Error`] and [`Fault::Short`], which say so honestly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The request fails with this errno and touches nothing.
    Error {
        /// Kind of request.
        on: RequestKind,
        pick: Pick,
        /// Positive error number.
        errno: i32,
    },
    /// Only the first `bytes` are transferred, and the reply says so.
    Short {
        /// Kind of request.
        on: RequestKind,
        pick: Pick,
        /// Bytes transferred.
        bytes: u64,
    },
    /// The request takes this much longer; others go on where `parallelism` lets them.
    Stall {
        /// Kind of request.
        on: RequestKind,
        pick: Pick,
        /// Added to the service time.
        ns: u64,
    },
    /// The request takes this much longer, and the whole device stands still until it is done.
    Freeze {
        /// Kind of request.
        on: RequestKind,
        pick: Pick,
        /// Added to the service time.
        ns: u64,
    },
    /// One bit of the byte at `offset` is inverted on its way.
    FlipBit {
        /// Reads (the media stays good) or writes (the media goes bad).
        on: RequestKind,
        /// Byte on the device.
        offset: u64,
        /// Bit of that byte, 0 to 7.
        bit: u8,
    },
    /// The write is acknowledged and dropped.
    Lost {
        /// Which writes.
        pick: Pick,
    },
    /// The second write that covers this byte is acknowledged and dropped, so the first one's data stays.
    Stale {
        /// Byte on the device.
        offset: u64,
    },
    /// Only the first sectors of the write reach the media.
    Torn {
        /// Which writes.
        pick: Pick,
        /// Sectors of 512 bytes that are written.
        sectors: u64,
    },
    /// A write that covers byte `from` lands as if it had been sent to `to`; what was at `from` stays.
    Misdirected {
        /// Byte that the write meant.
        from: u64,
        /// Byte that it hits instead.
        to: u64,
    },
    /// Reads find two blocks exchanged.
    Swapped {
        /// Offset of one block.
        a: u64,
        /// Offset of the other; the two must not overlap.
        b: u64,
        /// Size of both.
        bytes: u64,
    },
}
