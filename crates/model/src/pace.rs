//! How fast, and until when. Times in nanoseconds, rates per second.

use crate::reflect::{Reflect, blank_by_default};

use crate::pattern::PerDirection;
use crate::workload::SharedUse;

/// How fast a worker goes.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Pace {
    /// The rate aimed at by all operations together, whatever they do: one schedule.
    #[reflect(default, key = "")]
    pub rate_all: Rate,
    /// The rate aimed at in each direction of data: a schedule each (fio `rate`).
    #[reflect(default, key = "")]
    pub rate: PerDirection<Rate>,
    /// In place of a rate: part of the rate that the job of the same name had in an earlier phase (vdbench curve).
    #[reflect(default)]
    pub share: Option<RateShare>,
    /// The slowest rate allowed; below it the job ends with an error.
    #[reflect(default)]
    pub rate_least: PerDirection<Rate>,
    /// The time over which the slowest rate is judged, ns; 0: a second.
    #[reflect(default)]
    pub rate_window_ns: u64,
    /// How intended starts are spread.
    #[reflect(default)]
    pub arrivals: Arrivals,
    /// Operations that are due together at each intended start, so that the rate holds on average; 0 or 1: one.
    #[reflect(default, positive)]
    pub burst: u32,
    /// Pauses between operations.
    #[reflect(default)]
    pub think: Option<Think>,
    /// Whether a pause moves the schedule of a rate on; otherwise what was missed is caught up after it.
    #[reflect(default, phrase = "pauses are not caught up")]
    pub think_shifts_rate: bool,
    /// Whether latency counts from the intended start (open loop) when there is a rate.
    #[reflect(default = true)]
    pub open_loop: bool,
    /// Shared objects that gate every operation (tokens, flow weights).
    #[reflect(default, form = "gates")]
    pub shared: Vec<SharedUse>,
    /// Depth that adapts until this share of operations is faster than this.
    #[reflect(default)]
    pub latency_target: Option<LatencyTarget>,
}

blank_by_default!(Pace);

impl Pace {
    /// Whether operations are due at times of their own.
    pub fn has_rate(&self) -> bool {
        let rate = &self.rate;
        self.share.is_some()
            || [self.rate_all, rate.read, rate.write, rate.trim].iter().any(|rate| *rate != Rate::Unlimited)
    }
}

/// A part of the operations per second that a worker of an earlier phase did on average.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct RateShare {
    /// The phase's name; the job has the name of the one that it is compared with.
    #[reflect(needed, phrase = "of phase \"{}\"")]
    pub phase: String,
    #[reflect(needed, phrase = "{} %")]
    pub percent: f64,
}

/// A rate per worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub enum Rate {
    /// As fast as it goes.
    #[default]
    Unlimited,
    /// Operations per second.
    Operations(f64),
    /// Bytes per second.
    Bytes(u64),
}

/// How intended starts are spread around the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub enum Arrivals {
    /// Equal distances.
    #[default]
    Even,
    /// Exponential distances: a Poisson process.
    #[reflect(phrase = "Poisson arrivals")]
    Poisson,
}

/// Pauses of a worker.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Think {
    /// Time asleep, ns.
    #[reflect(bare)]
    pub sleep_ns: u64,
    /// Time burning CPU before the sleep, ns.
    #[reflect(default)]
    pub spin_ns: u64,
    /// CPU loop turns burnt before the sleep: unlike time, they take longer on a slower processor.
    #[reflect(default, positive)]
    pub spin_cycles: u64,
    /// Memory that is written before the sleep, bytes: what the processor's caches held of the buffers is gone (iozone
    /// `-p`).
    #[reflect(default)]
    pub purge_bytes: u64,
    /// The pause is so many times as long as the operation before it took, besides (md-workbench `-t`); for jobs of depth 1.
    #[reflect(default)]
    pub times_latency: f64,
    /// Operations between two pauses, at least 1; none where a time decides.
    #[reflect(positive)]
    pub every: u64,
    /// Whether completed operations are counted rather than begun ones.
    #[reflect(default)]
    pub completed: bool,
    /// Whether what is in flight completes before the pause.
    #[reflect(default)]
    pub drain: bool,
    /// Pause after this much time with I/O, or after `every` operations, whichever comes first, ns; 0: off.
    #[reflect(default)]
    pub after_ns: u64,
}

/// A depth search (fio `latency_target`). It ends the worker when it has found the largest depth, unless it keeps on.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct LatencyTarget {
    /// The latency, ns.
    #[reflect(needed)]
    pub latency_ns: u64,
    /// The window it is judged in, ns.
    pub window_ns: u64,
    /// Share of operations that must be faster, percent.
    #[reflect(absent = 100.0)]
    pub percent: f64,
    /// Keep running at the depth that was found.
    pub keep: bool,
}

/// Until when a worker goes on. Whatever comes first; nothing set: until the pattern or script ends.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Limit {
    /// Measured time, ns.
    #[reflect(default, bare, positive, phrase = "{}")]
    pub time_ns: Option<u64>,
    /// Bytes moved by each worker.
    #[reflect(default, positive)]
    pub bytes: Option<u64>,
    /// Operations of each worker.
    #[reflect(default, positive, phrase = "each did {operation}")]
    pub operations: Option<u64>,
    /// Passes over the pattern or script; none with a time: as many as fit, without: one.
    #[reflect(default, positive)]
    pub passes: Option<u64>,
    /// When all is done it begins again from the start, until so much time has passed, ns; what has begun again is
    /// completed (IOR minTimeDuration).
    #[reflect(default, phrase = "then again from the start, until {} have passed")]
    pub least_ns: u64,
    /// As many operations as each worker did in the phase of that name: of another's data, as many as that one did.
    #[reflect(default, phrase = "each did as many as in phase \"{}\"")]
    pub as_phase: Option<String>,
    /// Time at the start that is run but not counted (ramp, omit), ns.
    #[reflect(default, phrase = "the first {} are not counted")]
    pub ramp_ns: u64,
    /// Bytes at the start that are moved but not counted, by each worker; 0: none.
    #[reflect(default, key = "ramp_bytes", phrase = "the first {} are not counted")]
    pub ramp_bytes: u64,
    /// An operation that takes longer than this ends the worker with `ETIMEDOUT`, ns; 0: none does.
    #[reflect(default)]
    pub latency_ns: PerDirection<u64>,
    /// No space left (`ENOSPC`, `EDQUOT`) ends the worker without an error.
    #[reflect(default, phrase = "no space is left")]
    pub until_full: bool,
    /// Until the rate is steady.
    #[reflect(default)]
    pub steady: Option<Steady>,
    /// When the time is up: whether slower workers still do what the fastest has done (IOR, mdtest). What counts are
    /// operations of a pattern and passes of a script.
    #[reflect(default, phrase = "then the slower ones go on until they did as much as the fastest")]
    pub wear_out: bool,
}

/// When a rate counts as steady: over a rolling window of equal intervals. Jobs of one [group](crate::plan::Job::group)
/// are judged together and end together; others each worker by itself.
#[derive(Clone, Copy, Debug, PartialEq, Reflect)]
pub struct Steady {
    /// Which rate is judged.
    #[reflect(key = "what")]
    pub criterion: Criterion,
    /// Whether the slope of the least squares line per interval is judged, rather than the largest deviation from the mean.
    #[reflect(default)]
    pub slope: bool,
    /// What it must stay below: operations per second, bytes per second, ns; or percent of the mean.
    #[reflect(needed, form = "limit")]
    pub limit: f64,
    /// Whether the limit is a percentage of the window's mean.
    #[reflect(default, key = "")]
    pub percent: bool,
    /// The window, ns.
    #[reflect(positive, needed)]
    pub window_ns: u64,
    /// Time at the start that is not judged, ns.
    #[reflect(default)]
    pub ramp_ns: u64,
    /// Length of an interval, ns.
    #[reflect(absent = 1_000_000_000, positive)]
    pub interval_ns: u64,
}

/// Which rate must be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Criterion {
    /// Operations per second.
    #[default]
    Operations,
    /// Bytes per second.
    Bytes,
    /// Mean latency.
    Latency,
}
