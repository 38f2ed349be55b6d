//! What may be wrong with a figure that somebody else measured: from what was claimed and how it was asked for, without any
//! witness.
//!
//! The checks of a run of ours prove a lie by what the kernel and the device counted. Of a pasted result nobody counted
//! anything. So a lie is here *proven* by the figures themselves, *expected* from the command, or *open*: nothing shown
//! excludes it. Refuses to call a figure right.

mod asked;
mod carriers;
mod figures;

use iodyno_model::{FindingKind, Remedy};

pub use carriers::{Carrier, NeededCarrier, carried, pages};

/// Which way data went, or that names were worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkKind {
    #[default]
    Read,
    Write,
    /// Files made, looked at, removed.
    Names,
    /// Over a network.
    Network,
}

/// One figure that was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// What the tool called it.
    pub name: String,
    /// Which way.
    pub way: WorkKind,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Operations per second.
    pub operations_per_second: Option<f64>,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Operations done.
    pub operations: Option<f64>,
    /// Operations that failed, packets that were lost.
    pub failed: Option<f64>,
    /// Over so long, s.
    pub seconds: Option<f64>,
    /// Mean latency, ns.
    pub mean_ns: Option<f64>,
    /// Longest latency, ns.
    pub longest_ns: Option<f64>,
    /// The highest percentile that was told, percent.
    pub percentile: Option<f64>,
    /// The least and the most of several repetitions or seconds, in any unit.
    pub range: Option<(f64, f64)>,
    /// How many of them there were.
    pub repeated: u32,
    /// Segments that TCP sent again.
    pub retransmits: Option<f64>,
    /// Shares of time that the tool's own processes kept a processor busy, percent.
    pub processor_percent: Option<f64>,
    /// Share of time with fewer operations in flight than asked for, percent.
    pub shallow_percent: Option<f64>,
    /// The tool itself says that this figure is the cache's.
    pub is_of_cache: bool,
}

impl Claim {
    /// A figure of that name.
    pub fn new(name: &str, way: WorkKind) -> Self {
        Claim { name: name.into(), way, ..Claim::default() }
    }

    /// Seconds that one operation took at so many in flight, by Little's law; else the latency that was told.
    pub fn each_ns(&self, in_flight: Option<f64>) -> Option<f64> {
        let by_rate = || Some(in_flight? / self.operations_per_second.filter(|rate| *rate > 0.0)? * 1e9);
        self.mean_ns.or_else(by_rate)
    }
}

/// What is written, as far as storage may tell it from other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Nothing but zeros.
    Zeros,
    /// The same block again and again, or nearly.
    Repeating,
    /// Not to be reduced.
    Random,
}

/// How the figures were asked for; `None` everywhere: nothing shown tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredLoad {
    /// It reads; it writes; it works on names; it measures a network.
    pub reads: bool,
    pub writes: bool,
    pub names: bool,
    pub network: bool,
    /// Past the page cache.
    pub direct: Option<bool>,
    /// The flush lies in the measured time, or each write is durable when it returns.
    pub synced: Option<bool>,
    /// The cache is emptied of the file before it is read.
    pub invalidated: Option<bool>,
    /// Different bytes that are touched.
    pub span_bytes: Option<u64>,
    /// What is read was written by the same run on the same host just before.
    pub reads_own: Option<bool>,
    /// What is read may be holes.
    pub holes: Option<bool>,
    /// Bytes of one operation.
    pub block_bytes: Option<u64>,
    /// Places are picked by chance.
    pub random: Option<bool>,
    /// Threads or processes.
    pub workers: Option<u32>,
    /// Operations that each keeps in flight.
    pub depth: Option<u32>,
    /// The engine does one at a time, whatever the depth.
    pub one_at_a_time: Option<bool>,
    /// The engine hands buffered operations over one by one.
    pub buffered_inline: Option<bool>,
    /// Hosts.
    pub hosts: Option<u32>,
    /// The measured time that was asked for, s.
    pub seconds: Option<f64>,
    /// What is left out at the start, s.
    pub ramp_seconds: Option<f64>,
    /// What is written.
    pub data: Option<Data>,
    /// Its data come from a generator that is slower than storage.
    pub slow_generator: bool,
    /// Several workers share one file.
    pub shared_file: Option<bool>,
    /// The target's name, where it is memory or nothing at all.
    pub pretended: Option<String>,
    /// A part of a device, not all of it.
    pub part_of_device: bool,
    /// A rate was set; its latencies count from when an operation was due.
    pub paced: Option<bool>,
    pub open_loop: Option<bool>,
    /// One host looks at the names that it made itself.
    pub own_names: Option<bool>,
    /// How often it was repeated.
    pub repeated: Option<u32>,
    /// Memory of a host, bytes.
    pub memory_bytes: Option<u64>,
    /// What the way to the storage carries, bit/s, where the reader knows.
    pub ceiling_bits: Option<u64>,
}

impl MeasuredLoad {
    /// Operations in flight at most, where it is told.
    pub fn in_flight(&self) -> Option<f64> {
        let depth = if self.one_at_a_time == Some(true) { Some(1) } else { self.depth };
        Some(f64::from(self.workers.unwrap_or(1)) * f64::from(depth?))
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// By the figures themselves.
    Proven,
    /// By what the command asks for.
    Expected,
    /// Nothing shown excludes it.
    Open,
}

impl Certainty {
    /// As the text says it.
    pub fn word(self) -> &'static str {
        match self {
            Certainty::Proven => "proven",
            Certainty::Expected => "expected",
            Certainty::Open => "open",
        }
    }
}

/// A lie that these figures may hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Possible {
    pub kind: FindingKind,
    pub certainty: Certainty,
    /// Why, one sentence without a full stop.
    pub sentence: String,
    /// What to do.
    pub remedy: Remedy,
}

impl Possible {
    pub(crate) fn new(certainty: Certainty, remedy: Remedy, sentence: impl Into<String>) -> Self {
        Possible { kind: remedy.kind(), certainty, sentence: sentence.into(), remedy }
    }
}

/// Every lie that may be in it, the surest first, each once.
pub fn possible(asked: &MeasuredLoad, claims: &[Claim]) -> Vec<Possible> {
    let mut all = figures::check(asked, claims);
    all.extend(asked::check(asked, claims));
    all.sort_by_key(|one| (one.certainty, one.kind.number()));
    let mut seen = Vec::new();
    all.retain(|one| {
        let is_new = !seen.contains(&one.kind);
        seen.push(one.kind);
        is_new
    });
    all
}

/// What nothing that can be pasted shows: other load on the machine and the device, what the device itself moved, clocks, and
/// whether a flush did anything.
pub const UNSEEN: &[FindingKind] = &[
    FindingKind::SharedMachine,
    FindingKind::SharedDevice,
    FindingKind::UnreliableClock,
    FindingKind::WriteAmplification,
    FindingKind::IneffectiveFlushes,
    FindingKind::ReshapedRequests,
];

#[cfg(test)]
mod tests;
