//! The answer: what was done, how long it took, and what else was seen.

use crate::reflect::Reflect;

use crate::aging::AgingRecord;
use crate::case::{CaseRecord, ExerciseRecord};
use crate::demand::DemandRecord;
use crate::device::PartRecord;
use crate::engine_trait::EngineTrait;
use crate::finding::Finding;
use crate::histogram::Histogram;
use crate::origin::Diagnostic;
use crate::replay::ReplayRecord;
use crate::sighting::{Sample, Sighting};
use crate::sweep::Coordinate;
use crate::tally::Tally;
use crate::verb::Verb;
use crate::verify::Mismatch;
use crate::world::WorldFacts;

/// The answer to a plan.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Record {
    /// The plan's name.
    pub name: String,
    /// The plan's seed.
    pub seed: u64,
    /// File systems that were made old before.
    #[reflect(omit_empty)]
    pub aging: Vec<AgingRecord>,
    /// Each phase that began.
    pub phases: Vec<PhaseRecord>,
    /// What spoils a number.
    pub findings: Vec<Finding>,
    /// What went wrong.
    pub errors: Vec<Diagnostic>,
    /// The signal that ended the run early, if one did.
    pub stopped_by: Option<i32>,
    /// The machine; of several, the first rank's.
    pub machine: Machine,
    /// The ranks.
    #[reflect(default)]
    pub world: WorldFacts,
    /// What was demanded of it, and whether it was kept.
    #[reflect(omit_empty)]
    pub demands: Vec<DemandRecord>,
    /// How the repetition came to its end, where it was to go on until its figures were good enough.
    #[reflect(omit_empty)]
    pub rounds: Option<RoundsRecord>,
    /// How idle the processors were, where that was asked for.
    #[reflect(omit_empty)]
    pub idleness: Option<Idleness>,
}

/// How idle processors were, by the work of the lowest priority that got done (fio `--idle-prof`).
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Idleness {
    /// Of each processor that may be used, percent; empty where the work was only measured.
    pub cpus: Vec<f64>,
    /// Length of a unit of the work, the mean of all processors, µs of their time.
    pub unit_mean_us: f64,
    /// Its standard deviation among processors, µs.
    pub unit_deviation_us: f64,
}

impl Idleness {
    /// Of all processors, percent; none where the work was only measured.
    pub fn system_percent(&self) -> Option<f64> {
        (!self.cpus.is_empty()).then(|| self.cpus.iter().sum::<f64>() / self.cpus.len() as f64)
    }
}

/// How a repetition came to its end.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct RoundsRecord {
    /// Passes that were made.
    pub passes: u32,
    /// Whether what was waited for came, rather than the most passes.
    pub attained: bool,
    /// The widest interval of a rate at the end, in percent of its mean; none: too few passes for one.
    pub interval_percent: Option<f64>,
    /// Range and slope excursion over the last window, in percent of its mean; none: it was never full.
    pub steady: Option<(f64, f64)>,
    /// How many of the last passes are the result, the others being the price of steadiness; 0: all are.
    #[reflect(default)]
    pub window: u32,
    /// What held it up: the phase, job and quantity that was the last to be good enough.
    pub slowest: String,
}

/// The machine a run was on.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Processors that may be used.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// How time is read: `tsc`, `cntvct`, `monotonic`, and its cost in ns.
    pub clock: String,
    /// iodyno's version.
    pub version: String,
    /// Everything else that may make a difference and could be read, as name and value: `governor`, `mitigations`,
    /// `transparent hugepages`, `memory limit`, `virtualisation`, …; in a fixed order.
    #[reflect(omit_empty)]
    pub facts: Vec<(String, String)>,
}

/// The answer to a phase.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct PhaseRecord {
    /// Its name.
    pub name: String,
    /// Its index in the expanded plan.
    pub index: usize,
    /// Which repetition.
    pub repetition: u32,
    /// Its place in a sweep.
    pub coordinates: Vec<Coordinate>,
    /// From the start line to the last worker's end, ns.
    pub elapsed_ns: u64,
    /// Each job.
    pub jobs: Vec<JobRecord>,
    /// What the witnesses saw.
    pub sightings: Vec<Sighting>,
    /// The same over time; of a long phase neighbours are joined.
    #[reflect(omit_empty)]
    pub samples: Vec<Sample>,
    /// How much of what it read came from the page cache; none: it read nothing.
    #[reflect(omit_empty)]
    pub cache: Option<CacheShare>,
    /// The parts of the simulated device that its jobs shared.
    #[reflect(omit_empty)]
    pub parts: Vec<PartRecord>,
}

/// How much of what a phase read came from the page cache of the machines that read, as far as it can be reported.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct CacheShare {
    /// Bytes that the workload read.
    pub read_bytes: u64,
    /// Of these, bytes that no storage delivered; none: it is unknown.
    #[reflect(default)]
    pub cached_bytes: Option<u64>,
    /// What proves it, or why it is unknown.
    pub because: String,
}

impl CacheShare {
    /// The share that came from the cache, 0 to 100; none: it is unknown.
    pub fn percent(&self) -> Option<f64> {
        let cached = self.cached_bytes.filter(|_| self.read_bytes > 0)?;
        Some(cached.min(self.read_bytes) as f64 / self.read_bytes as f64 * 100.0)
    }
}

/// The answer to a job.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct JobRecord {
    /// Its name.
    pub name: String,
    /// The engine that ran it.
    pub engine: String,
    /// What of that engine matters to who judges; none: the record does not say.
    #[reflect(omit_empty)]
    pub engine_traits: Option<Vec<EngineTrait>>,
    /// The depth it asked for.
    pub depth: u32,
    /// All workers merged.
    pub tally: Tally,
    /// Each worker.
    pub workers: Vec<WorkerRecord>,
    /// Wall-clock time of the start line, ns since 1970.
    #[reflect(default)]
    pub began_unix_ns: u64,
    /// What the workers had done when the time was up, where the slower ones then caught up with the fastest.
    #[reflect(default)]
    pub worn: Option<WearOut>,
    /// Engine facts: `sqpoll`, `fixed buffers`, … name and value.
    #[reflect(default)]
    pub engine_facts: Vec<(String, String)>,
    /// What the other end of it counted, by name, where a conversation was told (`received_bytes`).
    #[reflect(omit_empty)]
    pub peer: Vec<(String, u64)>,
    /// What became of its cases, in the order in which they ended.
    #[reflect(omit_empty)]
    pub cases: Vec<CaseRecord>,
    /// What became of its exercise.
    #[reflect(omit_empty)]
    pub exercise: Option<ExerciseRecord>,
    /// How faithful its replay was.
    #[reflect(omit_empty)]
    pub replay: Option<Box<ReplayRecord>>,
    /// What there was of the features that its cases need: the name, and why it is missing.
    #[reflect(omit_empty)]
    pub features: Vec<(String, Option<String>)>,
}

/// What workers had done when the time was up, before the slower ones [wore out](crate::pace::Limit::wear_out). Of a
/// script, a pass is an operation here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct WearOut {
    /// When the last worker had noticed that the time was up, ns after the start line.
    pub at_ns: u64,
    /// The fewest operations that a worker had done.
    pub operations_least: u64,
    /// Operations that all workers together had done.
    #[reflect(default)]
    pub operations: u64,
    /// The most operations that a worker had done, which all of them then did.
    pub operations_most: u64,
    /// The fewest bytes that a worker had moved.
    pub bytes_least: u64,
    /// Bytes that all workers together had moved.
    pub bytes: u64,
}

/// The answer of one worker.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct WorkerRecord {
    /// Its number within the job, counted over all ranks.
    pub index: u32,
    /// The rank it belongs to.
    #[reflect(default)]
    pub rank: u32,
    /// Operations completed; syncs beside other work are not counted.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Failed operations.
    pub errors: u64,
    /// When it began, ns after the start line.
    pub began_ns: u64,
    /// When its last operation was done, ns after the start line.
    pub ended_ns: u64,
    /// When it began to open its files and when it had opened them, ns after the start line; where opening counts.
    #[reflect(default)]
    pub opening: Option<(u64, u64)>,
    /// When it began to close its files and when it had closed them, ns after the start line; where closing counts.
    #[reflect(default)]
    pub closing: Option<(u64, u64)>,
    /// CPU time in user space, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Time it could have run and had no processor, ns; none: the kernel does not tell. Source: `schedstat`.
    #[reflect(default)]
    pub waited_ns: Option<u64>,
    /// Context switches, voluntary and involuntary.
    pub switches: (u64, u64),
    /// Page faults, major and minor.
    pub faults: (u64, u64),
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The error that ended it, if one did.
    #[reflect(default)]
    pub fatal: Option<Fatal>,
    /// When it began by the clock that its job named, ns.
    #[reflect(default)]
    pub began_clock_ns: u64,
    /// How steady it became, where that was asked. Of jobs judged together, with each job's first worker.
    #[reflect(default)]
    pub steady: Option<SteadyRecord>,
    /// The depth that a latency target allowed.
    #[reflect(default)]
    pub found_depth: Option<FoundDepth>,
    /// What its engine counted of its own, by name (`matches`).
    #[reflect(default)]
    pub facts: Vec<(String, u64)>,
    /// Times that its engine counted by their length, by name (`transit`, `burst`), ns.
    #[reflect(omit_empty)]
    pub spreads: Vec<(String, Histogram)>,
    /// What it found wrong with what it read: the first few, a sentence each.
    #[reflect(default)]
    pub complaints: Vec<String>,
    /// The same as facts: the first few.
    #[reflect(default)]
    pub mismatches: Vec<Mismatch>,
    /// Ranges of what it read that were not what was written, all of them.
    #[reflect(omit_empty)]
    pub corrupt_ranges: u64,
    /// Bytes of them.
    #[reflect(omit_empty)]
    pub corrupt_bytes: u64,
    /// The number the kernel knows it by: of its process, or of its thread.
    #[reflect(default)]
    pub pid: u32,
    /// All it counted, where the job asked for each worker's tally.
    #[reflect(default)]
    pub tally: Option<Box<Tally>>,
}

/// The error that ended a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Fatal {
    /// The error number; 0 where the system gave none, negative for a kind of corruption.
    pub errno: i32,
    /// Where it happened.
    pub stage: Stage,
    /// The verb that failed, in the loop.
    #[reflect(default)]
    pub verb: Option<Verb>,
    /// Its target, by index in the plan.
    #[reflect(default)]
    pub target: Option<u32>,
    /// Its offset, bytes.
    #[reflect(default)]
    pub offset: u64,
    /// Its length, bytes.
    #[reflect(default)]
    pub bytes: u64,
}

/// How far a worker had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Stage {
    /// Its targets were made ready.
    #[default]
    Prepare,
    /// It opened them, got its place and memory, and started its engine.
    Start,
    /// It was at work.
    Run,
}

/// How steady a rate became. See [`Steady`](crate::pace::Steady).
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct SteadyRecord {
    /// Whether it ended for being steady.
    pub attained: bool,
    /// The last window's slope or largest deviation, in the limit's unit; none: the window was never full.
    pub found: Option<f64>,
    /// The slope per interval, where that is the criterion, in the unit of what is looked at.
    pub slope: f64,
    /// The largest deviation from the mean, where that is the criterion.
    pub deviation: f64,
    /// Operations per second in each interval of the last window, oldest first.
    pub operations: Vec<f64>,
    /// Bytes per second.
    pub bytes: Vec<f64>,
    /// Mean latency, ns; where that is looked at.
    pub latency_ns: Vec<f64>,
}

/// What a [`LatencyTarget`](crate::pace::LatencyTarget) found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct FoundDepth {
    /// The largest depth that met it; 0: none did.
    pub depth: u32,
    /// Operations per second at that depth.
    pub per_second: f64,
}
