//! The record as it is published: `iodyno.record/1`, with rates and percentiles worked out.
//!
//! Types of its own, so that a change of the record is no accidental change of the format. This is its only definition:
//! the JSON report fills it in, the import reads it, the schema is made from its tables. Fields are only ever added, with a
//! default for documents that lack them; a change of meaning is a new version. What cannot be told is none.

use crate::reflect::Reflect;
use crate::{
    AgingRecord, CacheShare, Coordinate, DemandRecord, Diagnostic, EngineTrait, ErrorCount, Finding,
    Idleness, Machine, PartRecord, Plan, ReplayRecord, RoundsRecord, Sample, Series, Sighting, TargetFacts,
    WearOut, WorkerRecord,
};

/// The format's name and version.
pub const SCHEMA: &str = "iodyno.record/1";

/// One run: what was asked, by which machine, and what was found.
#[derive(Clone, Debug, Reflect)]
pub struct RecordDocument {
    /// `iodyno.record/1`.
    pub schema: String,
    /// The plan's name.
    pub name: String,
    /// The plan's seed.
    pub seed: u64,
    /// Whether no signal ended the run early.
    #[reflect(default)]
    pub completed: bool,
    /// The signal that did.
    pub stopped_by: Option<i32>,
    /// Wall-clock time of the start, ns since 1970.
    pub started_at_unix_ns: Option<u64>,
    /// The machine it ran on.
    pub machine: Machine,
    /// The ranks that ran it.
    pub world: WorldDocument,
    /// What each target is.
    #[reflect(default)]
    pub targets: Vec<TargetFacts>,
    /// The plan as it ran, sweeps written out: it can be run again.
    pub plan: Option<Plan>,
    /// The answers.
    pub phases: Vec<PhaseDocument>,
    /// What may be wrong with the figures.
    #[reflect(default)]
    pub findings: Vec<Finding>,
    /// File systems that were made old before.
    #[reflect(omit_empty)]
    pub aging: Vec<AgingRecord>,
    /// Conditions on which the run fails.
    #[reflect(default)]
    pub demands: Vec<DemandRecord>,
    /// How passes came to their end, where that was open.
    pub rounds: Option<RoundsRecord>,
    /// How idle the processors were, where that was asked for.
    #[reflect(omit_empty)]
    pub idleness: Option<Idleness>,
    /// What the passes of each job came to together, where there were several.
    #[reflect(omit_empty)]
    pub medians: Vec<MedianDocument>,
    /// Messages.
    #[reflect(default)]
    pub errors: Vec<Diagnostic>,
}

/// The ranks that ran a plan.
#[derive(Clone, Debug, Default, Reflect)]
pub struct WorldDocument {
    /// How many.
    #[reflect(default)]
    pub ranks: u32,
    /// The host of each node.
    #[reflect(default)]
    pub hosts: Vec<String>,
    /// The node of each rank, an index in `hosts`.
    #[reflect(default)]
    pub nodes: Vec<u32>,
    /// The MPI library; none: one rank.
    pub library: Option<String>,
    /// Between two ranks' clocks, at most.
    #[reflect(default)]
    pub clock_error_ns: u64,
    /// Ranks whose last figures are missing.
    #[reflect(default)]
    pub lost: Vec<u32>,
}

/// The answer to a phase.
#[derive(Clone, Debug, Reflect)]
pub struct PhaseDocument {
    /// The phase's name.
    pub name: String,
    /// Its index in the plan.
    pub index: usize,
    /// Which repetition it is, from 0.
    pub repetition: u32,
    /// Its place in a sweep.
    #[reflect(default)]
    pub coordinates: Vec<Coordinate>,
    /// From the start line to the last worker's end.
    pub elapsed_ns: u64,
    /// The answers of its jobs.
    pub jobs: Vec<JobDocument>,
    /// What was seen from outside.
    #[reflect(default)]
    pub sightings: Vec<Sighting>,
    /// The same over time.
    #[reflect(omit_empty)]
    pub samples: Vec<Sample>,
    /// How much of what was read came from the page cache.
    #[reflect(omit_empty)]
    pub cache: Option<CacheShare>,
    /// The parts of the simulated device that its jobs shared.
    #[reflect(omit_empty)]
    pub parts: Vec<PartRecord>,
}

/// The answer to a job.
#[derive(Clone, Debug, Reflect)]
pub struct JobDocument {
    /// The job's name.
    pub name: String,
    /// The engine that ran it.
    pub engine: String,
    /// What the engine tells of itself: name and value.
    #[reflect(default)]
    pub engine_facts: Vec<(String, String)>,
    /// What of the engine matters to who judges the figures; none: it is known by its name only.
    #[reflect(omit_empty)]
    pub engine_traits: Option<Vec<EngineTrait>>,
    /// What the workers had done when the time was up, where the slower ones then caught up with the fastest.
    #[reflect(omit_empty)]
    pub worn: Option<WearOut>,
    /// What the other end of it counted: name and value.
    #[reflect(omit_empty)]
    pub peer: Vec<(String, u64)>,
    /// How faithful its replay was, of a job that replays a trace.
    #[reflect(omit_empty)]
    pub replay: Option<Box<ReplayRecord>>,
    /// The verdict: `faithful`, `late` or `not comparable`.
    #[reflect(omit_empty)]
    pub replay_verdict: Option<String>,
    /// What makes its rates comparable.
    pub comparable: ComparableDocument,
    /// The time that rates are per.
    #[reflect(default)]
    pub measured_ns: u64,
    /// The counts of each label.
    pub lines: Vec<LineDocument>,
    /// Failures by verb and error number.
    #[reflect(default)]
    pub errors: Vec<ErrorCount>,
    /// Index: operations in flight; value: how often when another was handed over.
    #[reflect(default)]
    pub depths: Vec<u64>,
    /// The mean of `depths`.
    pub depth_mean: Option<f64>,
    /// First operation's start, ns after the start line.
    pub began_ns: u64,
    /// First worker that was done, ns after the start line.
    pub first_done_ns: u64,
    /// Last worker that was done, ns after the start line.
    pub last_done_ns: u64,
    /// Waits on an empty pool or shared object.
    pub waits: u64,
    /// The counts over time.
    pub series: Series,
    /// How stable it was, of a job of at least thirty rows.
    pub stability: Option<StabilityDocument>,
    /// Each worker.
    pub workers: Vec<WorkerRecord>,
}

/// What makes a job's rates comparable with another's.
#[derive(Clone, Debug, Reflect)]
pub struct ComparableDocument {
    /// The size of an operation; none: it varies.
    pub io_bytes: Option<u64>,
    /// The size of an operation, in words.
    #[reflect(default)]
    pub io: String,
    /// The part of the targets that is touched.
    pub span_bytes: Option<u64>,
    /// The verbs and their shares, in words.
    #[reflect(default)]
    pub mix: String,
    /// How places are picked, in words.
    #[reflect(default)]
    pub pattern: String,
    /// Operations in flight of a worker.
    pub depth: u32,
    /// Workers.
    #[reflect(default)]
    pub workers: u32,
    /// Whether the page cache is bypassed; none: it has no file.
    pub direct: Option<bool>,
}

/// The counts of one label.
#[derive(Clone, Debug, Reflect)]
pub struct LineDocument {
    /// A verb's name, or a script step's.
    pub label: String,
    /// The verb's name.
    pub verb: String,
    /// Operations that succeeded.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that moved less than asked.
    pub short: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that were not timed: in `latency` they count as the timed one before them.
    #[reflect(omit_empty)]
    pub untimed: u64,
    /// Operations per second of `measured_ns`.
    #[reflect(default)]
    pub operations_per_second: f64,
    /// Bytes per second of `measured_ns`.
    #[reflect(default)]
    pub bytes_per_second: f64,
    /// From the intended start where the pace is open-loop, else from the actual one.
    pub latency: Option<LatencyDocument>,
    /// From the actual start, where it differs from `latency`.
    pub service: Option<LatencyDocument>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, Reflect)]
pub struct LatencyDocument {
    /// How many.
    #[reflect(default)]
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their standard deviation.
    #[reflect(default)]
    pub deviation_ns: f64,
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// Percentiles.
    #[reflect(default)]
    pub percentiles: Vec<PercentileDocument>,
    /// Smallest value, largest value and count of each bucket that is not empty.
    pub buckets: Vec<[u64; 3]>,
}

/// A percentile of latencies.
#[derive(Clone, Debug, Reflect)]
pub struct PercentileDocument {
    /// Which one, 0 to 100.
    pub percent: f64,
    /// Its value; none: too few samples lie beyond it.
    pub ns: Option<u64>,
    /// Samples beyond it.
    pub samples_beyond: u64,
}

/// How stable a job was over a long time.
#[derive(Clone, Debug, Reflect)]
pub struct StabilityDocument {
    /// Length of a row, ns.
    pub row_ns: u64,
    /// The median of all rows.
    pub median_operations_per_second: f64,
    /// The slowest row.
    pub least_operations_per_second: f64,
    /// When it was.
    pub least_at_ns: u64,
    /// The longest latency.
    pub longest_ns: u64,
    /// When it was.
    pub longest_at_ns: u64,
    /// p99.9 over time.
    pub tail: Option<TailDocument>,
    /// Rows with a latency far beyond the others'.
    pub spikes: usize,
    /// From which latency on.
    pub spikes_from_ns: u64,
    /// The period in which they come; none: there is none.
    pub spikes_apart_ns: Option<u64>,
    /// How long it took to become steady.
    pub warm_up_ns: u64,
}

/// p99.9 over time.
#[derive(Clone, Debug, Reflect)]
pub struct TailDocument {
    /// Length of a window.
    pub window_ns: u64,
    /// Each window's.
    pub p999_ns: Vec<u64>,
    /// Their median.
    pub median_ns: u64,
    /// The largest.
    pub most_ns: u64,
    /// When it was.
    pub most_at_ns: u64,
}

/// What the passes of a job came to together, of one label.
#[derive(Clone, Debug, Reflect)]
pub struct MedianDocument {
    /// The phase's name.
    pub phase: String,
    /// Its place in a sweep.
    pub coordinates: Vec<Coordinate>,
    /// The job's name.
    pub job: String,
    /// The label.
    pub label: String,
    /// The verb's name.
    pub verb: String,
    /// Passes that are the result.
    pub passes: usize,
    /// Passes that were made.
    pub made: usize,
    /// Operations of all.
    pub operations: u64,
    /// Failed operations of all.
    pub failed: u64,
    /// Rate of operations.
    pub operations_per_second: SpreadDocument,
    /// Rate of bytes.
    pub bytes_per_second: Option<SpreadDocument>,
    /// Mean latency.
    pub latency_ns_mean: Option<SpreadDocument>,
    /// Latencies of all.
    pub latency: Option<LatencyDocument>,
}

/// A figure of several passes.
#[derive(Clone, Debug, Reflect)]
pub struct SpreadDocument {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Largest minus smallest, in percent of the median; none where that is 0.
    pub range_percent: Option<f64>,
}
