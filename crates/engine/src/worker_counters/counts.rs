//! What an engine counts of its own while it runs: numbers at fixed places, so that they can be read at any time.
//!
//! Counters grow from the worker's first operation on, the ramp included; what they were when the ramp ended is kept
//! beside them. Only the worker writes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_model::Histogram;

use super::Latencies;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Bytes moved, of operations that were cut short too.
    Bytes,
    /// Calls that moved data; of exchanges, whole ones.
    Blocks,
    /// Datagrams sent or received.
    Datagrams,
    /// Numbers that were passed over and have not come since.
    Lost,
    /// Datagrams that came after one of a larger number.
    Late,
    /// Datagrams that had come before.
    Duplicates,
    /// The largest number seen or sent.
    Highest,
    /// Datagrams that found the receive buffer full, as the kernel says.
    Overflow,
    /// Variation of the transit time (RFC 1889), ns.
    JitterNs,
    /// TCP segments sent again; known at the end.
    Retransmits,
    /// Connections made or taken.
    Connects,
    /// Time that making them took, ns.
    ConnectNs,
    /// Zero-copy sends that the kernel copied after all.
    Copied,
    /// Datagrams whose header has the wall clock's time of sending.
    Transits,
    /// Their times from host to host, ns: the sum, the shortest and the longest.
    TransitNs,
    TransitLeastNs,
    TransitMostNs,
    /// The sum of the squares of their µs.
    TransitSquares,
    /// Bursts of which something came, and those of which nothing did.
    Bursts,
    BurstsLost,
    /// When the slowest of them was complete, µs since 1970.
    SlowestUnixUs,
    /// Lines of a load that were gone through.
    Lines,
}

/// Times that an engine counts by their length.
#[derive(Clone, Copy, Debug)]
pub enum TimeSpread {
    /// Of datagrams, from host to host.
    Transit,
    /// Of bursts, until their last byte has come.
    Burst,
    /// Of connections, until they stood.
    Connect,
    /// Of TLS sessions, from the connection on until they stood.
    Handshake,
    /// Of requests, from their last byte sent to the first of the answer.
    FirstByte,
    /// Of answers, from their first byte to the last.
    Body,
}

/// Their names, as the record has them.
const SPREADS: [&str; 6] = ["transit", "burst", "connect", "handshake", "first_byte", "body"];

/// The counters' names, as the record has them.
const NAMES: [&str; COUNTS + BINS] = [
    "bytes",
    "blocks",
    "datagrams",
    "lost",
    "late",
    "duplicates",
    "highest",
    "overflow",
    "jitter_ns",
    "retransmits",
    "connects",
    "connect_ns",
    "copied",
    "transits",
    "transit_ns",
    "transit_least_ns",
    "transit_most_ns",
    "transit_squares",
    "bursts",
    "bursts_lost",
    "slowest_unix_us",
    "lines",
    "reads_1",
    "reads_2",
    "reads_3",
    "reads_4",
    "reads_5",
    "reads_6",
    "reads_7",
    "reads_8",
];

/// Counters with a meaning of their own; behind them those of a stream's receives by their length. The first ones are always
/// told, the others where something was counted.
const COUNTS: usize = Count::Lines as usize + 1;
const TOLD: usize = Count::Copied as usize + 1;
const BINS: usize = 8;
/// What is told of a worker's counters: none, those that are always told, those alone that counted anything.
const ALL_TOLD: u32 = 1;
const FEW_TOLD: u32 = 2;

/// The first ones are also reported as they were when the ramp ended.
const RAMPED: usize = 8;

/// The counters of one worker.
#[repr(C)]
#[derive(Debug)]
pub struct Counts {
    used: AtomicU32,
    /// Whether any time was counted by its length: to look for them takes a page of each kind.
    has_spreads: AtomicU32,
    cells: [AtomicU64; NAMES.len()],
    ramp: [AtomicU64; RAMPED],
    spreads: [Latencies; SPREADS.len()],
}

impl Counts {
    /// All 0, and used by nobody.
    pub const fn new() -> Self {
        Counts {
            used: AtomicU32::new(0),
            has_spreads: AtomicU32::new(0),
            cells: [const { AtomicU64::new(0) }; NAMES.len()],
            ramp: [const { AtomicU64::new(0) }; RAMPED],
            spreads: [const { Latencies::new() }; SPREADS.len()],
        }
    }

    /// Counts a time by its length.
    #[inline(always)]
    pub fn spread(&self, of: TimeSpread, ns: u64) {
        self.has_spreads.store(1, Relaxed);
        self.spreads[of as usize].record(ns);
    }

    /// The times that were counted by their length.
    pub fn spreads(&self) -> Vec<(String, Histogram)> {
        if self.has_spreads.load(Relaxed) == 0 {
            return Vec::new();
        }
        let all =
            SPREADS.iter().zip(&self.spreads).map(|(name, times)| (name.to_string(), times.histogram()));
        all.filter(|(_, histogram)| !histogram.is_empty()).collect()
    }

    /// They are to be reported.
    pub fn begin(&self) {
        self.used.store(ALL_TOLD, Relaxed);
    }

    /// Those of them are to be reported that counted anything.
    pub fn begin_few(&self) {
        self.used.store(FEW_TOLD, Relaxed);
    }

    #[inline(always)]
    pub fn add(&self, count: Count, amount: u64) {
        let cell = &self.cells[count as usize];
        cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Counts a receive in the bin of its length, or in the last one.
    pub fn add_to_bin(&self, bin: u64) {
        let cell = &self.cells[COUNTS + (bin as usize).min(BINS - 1)];
        cell.store(cell.load(Relaxed).wrapping_add(1), Relaxed);
    }

    #[inline(always)]
    pub fn set(&self, count: Count, value: u64) {
        self.cells[count as usize].store(value, Relaxed);
    }

    /// What one is by now.
    pub fn get(&self, count: Count) -> u64 {
        self.cells[count as usize].load(Relaxed)
    }

    /// The ramp is over: keeps what they are.
    pub fn end_ramp(&self) {
        self.ramp.iter().zip(&self.cells).for_each(|(kept, cell)| kept.store(cell.load(Relaxed), Relaxed));
    }

    /// All of them by name, where they are used.
    pub fn by_name(&self) -> Vec<(String, u64)> {
        let told = match self.used.load(Relaxed) {
            0 => return Vec::new(),
            FEW_TOLD => 0,
            _ => TOLD,
        };
        let all = NAMES.iter().zip(&self.cells);
        let counted =
            |(index, (_, cell)): &(usize, (&&str, &AtomicU64))| *index < told || cell.load(Relaxed) > 0;
        let all = all
            .enumerate()
            .filter(counted)
            .map(|(_, known)| known)
            .map(|(name, cell)| (name.to_string(), cell.load(Relaxed)));
        let ramp = NAMES.iter().zip(&self.ramp).take(told);
        all.chain(ramp.map(|(name, cell)| (format!("ramp_{name}"), cell.load(Relaxed)))).collect()
    }
}

impl Default for Counts {
    fn default() -> Self {
        Counts::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_told_by_name_and_kept_when_the_ramp_ends() {
        let counts = Counts::new();
        assert!(counts.by_name().is_empty());
        counts.begin();
        counts.add(Count::Bytes, 5);
        counts.end_ramp();
        counts.add(Count::Bytes, 7);
        counts.set(Count::Copied, 9);
        let named = counts.by_name();
        let of = |name: &str| named.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!((of("bytes"), of("ramp_bytes"), of("copied")), (Some(12), Some(5), Some(9)));
        assert_eq!((of("ramp_copied"), of("ramp_overflow")), (None, Some(0)));
        assert_eq!(counts.spreads(), []);
        counts.spread(TimeSpread::Burst, 2000);
        let spreads = counts.spreads();
        assert_eq!((spreads[0].0.as_str(), spreads[0].1.max), ("burst", 2000));
        // Bins of receives are there once something is in them.
        assert_eq!(of("reads_8"), None);
        counts.add_to_bin(0);
        counts.add_to_bin(70);
        let told = counts.by_name();
        let of = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!((of("reads_1"), of("reads_2"), of("reads_8")), (Some(1), None, Some(1)));
    }
}
