//! The question: everything that is to be done, with its seed.
//!
//! A plan is complete: two runs of it differ only by the storage. It knows nothing of the tool it came from.

use crate::reflect::{Reflect, blank_by_default};

use crate::aging::Aging;
use crate::demand::Demand;
use crate::device::Device;
use crate::origin::Origin;
use crate::pace::{Limit, Pace};
use crate::payload::Payload;
use crate::placement::{Buffers, Hooks, Placement};
use crate::setting::Setting;
use crate::sweep::{Coordinate, Sweep};
use crate::target::Target;
use crate::verb::Verb;
use crate::workload::{SharedObject, Workload};

/// Everything to do.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Plan {
    /// What reports call it.
    pub name: String,
    /// Every offset, size and byte follows from it.
    pub seed: u64,
    /// What is meant to be measured.
    #[reflect(default)]
    pub intent: Intent,
    /// What jobs work on.
    #[reflect(key = "")]
    pub targets: Vec<Target>,
    /// File systems that are made old before the first phase.
    #[reflect(omit_empty, key = "")]
    pub aging: Vec<Aging>,
    /// What happens, in order.
    #[reflect(key = "")]
    pub phases: Vec<Phase>,
    /// How often all phases run.
    #[reflect(default)]
    pub repeat: Repeat,
    /// Parameters that are varied; the plan is expanded before it runs.
    #[reflect(default, key = "")]
    pub sweep: Vec<Sweep>,
    /// Devices whose content the user gave up, by the very name they typed (`--destroy`).
    #[reflect(default, key = "")]
    pub destroy: Vec<String>,
    /// Devices that may be written although they are in use, because an original's own option says so (fio
    /// `allow_mounted_write`); nothing else sets that aside.
    #[reflect(omit_empty, key = "")]
    pub mounted_allowed: Vec<String>,
    /// Whether a device that merely carries a signature may be written without `destroy` (drop-in dialects: as the
    /// original does; mounted and in-use devices are refused all the same).
    #[reflect(default, key = "")]
    pub signatures_allowed: bool,
    /// Conditions on which the run fails.
    #[reflect(omit_empty, key = "")]
    pub demands: Vec<Demand>,
    /// What the path to the storage carries at most in each direction, all hosts together, bit/s; a faster result is
    /// reported as untrue.
    #[reflect(omit_empty, key = "ceiling", form = "bits")]
    pub ceiling_bits: Option<u64>,
    /// The simulated device that jobs of the engine `sim` share, with one virtual clock; none: each worker has one of its own.
    #[reflect(omit_empty, key = "")]
    pub device: Option<Device>,
    /// Whether threads of the lowest priority measure how idle the processors are; they take what nobody else wants.
    #[reflect(default)]
    pub idleness: bool,
}

/// What a plan means to measure; a finding is a lie only against this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Intent {
    /// The storage itself: numbers of the page cache are lies.
    #[default]
    #[reflect(phrase = "the device")]
    Device,
    /// The whole device, end to end: a small span is a lie too.
    #[reflect(phrase = "the whole device")]
    WholeDevice,
    /// The page cache, on purpose.
    #[reflect(phrase = "the page cache")]
    Cache,
    /// The network.
    #[reflect(phrase = "the network")]
    Network,
    /// Whether it is right, not how fast.
    #[reflect(phrase = "whether it is right")]
    Correctness,
    /// Nothing: it is done for the sake of others, and how fast is no result (IOR removes its file).
    #[reflect(phrase = "nothing")]
    Nothing,
}

/// Jobs that run together between two barriers.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Phase {
    /// What reports call it.
    pub name: String,
    /// The jobs; none: the phase only watches, for `watch_ns`.
    #[reflect(key = "")]
    pub jobs: Vec<Job>,
    /// What its jobs share.
    #[reflect(default, key = "")]
    pub shared: Vec<SharedObject>,
    /// When the phase ends.
    #[reflect(default)]
    pub stop: Stop,
    /// What this phase means to measure, where that is not what the plan means (hdparm -T beside -t).
    #[reflect(default, phrase = "measures {}")]
    pub intent: Option<Intent>,
    /// Which repetition it is, from 0; phases of one name are judged together.
    #[reflect(default, key = "", phrase = "repetition {}")]
    pub repetition: u32,
    /// Its place in a sweep.
    #[reflect(default, key = "")]
    pub coordinates: Vec<Coordinate>,
    /// Drop the machine's clean caches before it, where allowed.
    #[reflect(default, phrase = "after dropping caches")]
    pub drop_caches: bool,
    /// The mount point that is unmounted and mounted again before it, as it was mounted: nothing of it stays in memory.
    #[reflect(omit_empty, phrase = "after mounting {} anew")]
    pub remount: Option<String>,
    /// Pause before it, ns.
    #[reflect(default, phrase = "after a pause of {}")]
    pub pause_ns: u64,
    /// It is left out when the run is older than this, ns; 0: never (IOR -T).
    #[reflect(default, phrase = "unless the run is older than {}")]
    pub latest_ns: u64,
    /// It is left out when an operation of an earlier phase failed (IOR -K).
    #[reflect(default, phrase = "unless anything failed before")]
    pub unless_failed: bool,
    /// It is left out when an earlier phase ended because its time was up (elbencho --timelimit).
    #[reflect(default, phrase = "unless time ended an earlier phase")]
    pub unless_timed_out: bool,
    /// How long a phase without jobs watches, ns; 0: until stopped.
    #[reflect(default)]
    pub watch_ns: u64,
    /// It brings the storage into the state that is to be measured: once, before the first pass; its figures are no result.
    #[reflect(default, key = "", phrase = "before the first pass")]
    pub precondition: bool,
    /// How it watches, where that is what it is for.
    #[reflect(default, key = "")]
    pub watch: Option<Watching>,
    /// Shell commands around it, once on each machine, in their order (filebench `system`).
    #[reflect(default, key = "")]
    pub errands: Vec<Errand>,
}

/// A shell command around a phase. What it prints goes to standard error; that it fails is reported, and ends nothing.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Errand {
    /// When it is run.
    pub when: When,
    /// What the shell is handed.
    pub command: String,
    /// The one rank that runs it; none: the first of each machine.
    #[reflect(default)]
    pub rank: Option<u32>,
    /// Whether all ranks wait for each other before it.
    #[reflect(default)]
    pub meets: bool,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

/// When a command around a phase is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum When {
    /// Before anything of the phase is laid out.
    #[reflect(phrase = "before anything is laid out")]
    BeforeLayout,
    /// When all is laid out and no worker runs yet.
    #[reflect(phrase = "before it starts")]
    BeforeStart,
    /// Beside the phase: begun with it, and ended with it.
    #[reflect(phrase = "beside it")]
    Beside,
    /// When the phase is over and reported, and nothing is removed yet.
    #[reflect(phrase = "after its end")]
    AfterEnd,
}

/// How a phase watches, sample by sample, beyond what is seen of every phase.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Watching {
    /// Length of a sample, ns; 0: a second.
    pub every_ns: u64,
    /// How many samples; 0: until stopped.
    pub count: u64,
    /// The devices, by their kernel names; none: all of them.
    pub devices: Vec<String>,
    /// Whether partitions are watched beside their disks.
    pub partitions: bool,
    /// Whether a first sample covers the time since the machine was started.
    pub since_boot: bool,
}

impl Watching {
    /// Length of a sample, ns.
    pub fn length_ns(&self) -> u64 {
        if self.every_ns == 0 { 1_000_000_000 } else { self.every_ns }
    }

    /// From the start line to the end of the last sample, ns; none: until stopped. What was before the start line is a
    /// sample that takes no time.
    pub fn whole_ns(&self) -> Option<u64> {
        let taken = self.count.saturating_sub(u64::from(self.since_boot));
        (self.count > 0).then(|| self.length_ns().saturating_mul(taken))
    }
}

/// N identical workers.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Job {
    /// What reports call it.
    pub name: String,
    /// How many workers, at least 1.
    #[reflect(positive)]
    pub workers: u32,
    /// Whether workers are processes rather than threads.
    #[reflect(default, key = "processes", form = "flag")]
    pub kind: WorkerKind,
    /// Its own seed, where another job or run must draw the same; none: from the plan's seed and its place in the plan.
    #[reflect(default)]
    pub seed: Option<u64>,
    /// Indices into `Plan::targets`.
    #[reflect(key = "")]
    pub targets: Vec<usize>,
    /// What each worker does.
    #[reflect(key = "")]
    pub workload: Workload,
    /// The engine's name.
    pub engine: String,
    /// The engine's own options.
    #[reflect(default, key = "")]
    pub settings: Vec<Setting>,
    /// How many operations are in flight.
    #[reflect(default)]
    pub depth: Depth,
    /// How fast.
    #[reflect(default, flat)]
    pub pace: Pace,
    /// Until when it goes on; the first limit that is reached ends it.
    #[reflect(default, key = "until")]
    pub limit: Limit,
    /// When its workers start.
    #[reflect(default)]
    pub start: Start,
    /// What is in the buffers.
    #[reflect(default, key = "")]
    pub payload: Payload,
    /// Processors, NUMA nodes, priorities, user and control group of its workers.
    #[reflect(default)]
    pub placement: Placement,
    /// Where the memory of its buffers comes from.
    #[reflect(default)]
    pub buffers: Buffers,
    /// Shell commands before and after it.
    #[reflect(default)]
    pub hooks: Hooks,
    /// On which ranks.
    #[reflect(default)]
    pub ranks: Ranks,
    /// Whose data: its own, or another rank's.
    #[reflect(default)]
    pub place: Place,
    /// What a worker does after an error.
    #[reflect(default)]
    pub errors: ErrorPolicy,
    /// What is done with each file after the last operation, inside the measured time.
    #[reflect(default)]
    pub finish: Finish,
    /// Jobs of one group name are reported as one, and judged steady as one.
    #[reflect(default, phrase = "reported in group \"{}\"")]
    pub group: Option<String>,
    /// The number of its set of jobs, counted over the run: what `exit` ends.
    #[reflect(default, phrase = "of set {}")]
    pub set: u32,
    /// What ends with its workers.
    #[reflect(default)]
    pub exit: Option<Exit>,
    /// What is recorded of it while it runs.
    #[reflect(default)]
    pub measure: Measure,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

impl Job {
    /// One worker of an engine on targets; everything else at its default.
    pub fn new(name: &str, engine: &str, targets: Vec<usize>, workload: Workload) -> Self {
        let (name, engine) = (name.into(), engine.into());
        Job { name, workers: 1, targets, workload, engine, ..Job::blank() }
    }

    /// The value of a setting of its engine: the last of that name.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().rev().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }
}

/// Threads or processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum WorkerKind {
    /// Threads of one process.
    #[default]
    Threads,
    /// Forked processes: an address space, an identity, a cgroup of their own.
    Processes,
}

/// How many operations are in flight, and how they are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub struct Depth {
    /// Operations in flight at most, at least 1.
    #[reflect(bare, positive, needed, absent = 1)]
    pub most: u32,
    /// Submitted together at most; 0: as many as are free.
    #[reflect(default, key = "submit", phrase = "submitted {} at once")]
    pub submit_batch: u32,
    /// Reaped together at least. 0: one, and what is done already is reaped between two batches; otherwise nothing is
    /// reaped before `most` are in flight.
    #[reflect(default, key = "reap")]
    pub reap_least: u32,
    /// Reaped together at most; 0: as many as are done. For libaio, io_uring and posixaio.
    #[reflect(default, phrase = "reaped {} at most")]
    pub reap_most: u32,
    /// Refill only when this few are in flight; 0: always.
    #[reflect(default, phrase = "refilled at {}")]
    pub low: u32,
    /// Whether helper threads submit operations, one for each operation in flight: a call that blocks holds up no schedule.
    #[reflect(default, key = "offload", form = "flag")]
    pub submit: Submit,
}

/// Who hands operations over to the kernel or service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Submit {
    /// The worker itself.
    #[default]
    Inline,
    /// Helper threads, one for each operation in flight: a call that blocks does not hold up the schedule.
    #[reflect(phrase = "handed over by helpers")]
    Offload,
}

/// When a job's workers start.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Start {
    /// After the start line, ns.
    #[reflect(default, bare, phrase = "after {}")]
    pub after_ns: u64,
    /// Each worker waits a random part of this besides, ns.
    #[reflect(default, phrase = "plus up to {}")]
    pub spread_ns: u64,
    /// Only after the job of that name has ended.
    #[reflect(default, phrase = "after job \"{}\" has ended")]
    pub after_job: Option<String>,
    /// Opening counts as part of the measured time.
    #[reflect(default, phrase = "opening is measured")]
    pub open: bool,
    /// All workers of the phase, on all ranks, wait for each other after opening (IOR -g).
    #[reflect(default, phrase = "all wait for each other after opening")]
    pub barrier: bool,
    /// The system clock (`CLOCK_REALTIME` is 0) by which the record says when a worker began; none: the wall clock.
    #[reflect(default, key = "", phrase = "its beginning is told by clock {}")]
    pub clock_id: Option<i32>,
}

/// When a phase ends.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Stop {
    /// Each worker ends by its own limit; one that breaks off ends the run.
    #[default]
    Each,
    /// Each worker for itself: one that cannot begin or breaks off ends alone, and later phases run all the same. The
    /// record carries its error.
    #[reflect(phrase = "each worker for itself")]
    Alone,
    /// The first worker that ends, ends all.
    #[reflect(phrase = "ends with the first worker that is done")]
    FirstDone,
    /// The first job whose workers have all ended, ends all.
    #[reflect(phrase = "ends with the first job that is done")]
    FirstJobDone,
    /// The first worker that fails, ends all.
    #[reflect(phrase = "ends with the first worker that fails")]
    FirstError,
}

/// Whom a worker that ends takes along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Exit {
    /// After which end of a worker: any, or one with an error.
    #[reflect(default)]
    pub on: ExitOn,
    /// What it ends: jobs of the same set, the phase, or the run.
    #[reflect(default, bare)]
    pub what: ExitWhat,
}

/// Which end of a worker takes others along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum ExitOn {
    /// Any.
    #[default]
    #[reflect(phrase = "a worker that ends")]
    End,
    /// Only with an error.
    #[reflect(phrase = "a worker that fails")]
    Error,
}

/// Who is taken along by a worker that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum ExitWhat {
    /// Jobs of the same [`Job::set`], in this phase.
    #[default]
    #[reflect(phrase = "its set")]
    Set,
    /// Everybody in this phase; the next phase runs.
    #[reflect(phrase = "the phase")]
    Phase,
    /// Everybody, and there is no next phase.
    #[reflect(phrase = "the run")]
    Run,
}

/// How often.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Repeat {
    /// Times, at least 1; all phases in order, then again: passes are interleaved. Where something is waited for: at least.
    #[reflect(bare, positive, absent = 1)]
    pub times: u32,
    /// Go on until the interval of the mean of every rate is narrower than this percentage of it; 0: off.
    #[reflect(default)]
    pub until_interval_percent: f64,
    /// At most so many times; 0: 25. Only where something is waited for.
    #[reflect(default, positive)]
    pub most: u32,
    /// The confidence of that interval, percent; 0: 95.
    #[reflect(default)]
    pub confidence_percent: f64,
    /// Go on until the last passes are steady.
    #[reflect(default, key = "")]
    pub until_steady: Option<Rounds>,
}

/// Passes that are steady together. Source of the defaults: SNIA SSS PTS 2.0.2, steady state.
#[derive(Clone, Copy, Debug, PartialEq, Reflect)]
pub struct Rounds {
    /// How many of the last passes are judged.
    #[reflect(absent = 5, positive)]
    pub window: u32,
    /// Largest minus smallest, at most so many percent of their mean.
    #[reflect(absent = 20.0)]
    pub range_percent: f64,
    /// Rise or fall of the line through them over the window, at most so many percent of their mean.
    #[reflect(absent = 10.0)]
    pub slope_percent: f64,
}

blank_by_default!(Depth, Repeat, Rounds, Measure);

/// Which ranks run a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Ranks {
    /// Every one.
    #[default]
    All,
    /// The first n.
    #[reflect(phrase = "on the first {rank}")]
    First(#[reflect(positive)] u32),
    /// The first n workers, counted over the ranks in their order.
    #[reflect(phrase = "the first {worker} of all ranks")]
    Workers(#[reflect(positive)] u32),
    /// Only that one.
    #[reflect(phrase = "on rank {} only")]
    Only(u32),
}

/// Whose data a worker works on. The owner's number is what `{worker}` means in names of targets, where spans, segments
/// and increments begin, and what content is marked with; workers are counted over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Place {
    /// Its own.
    #[default]
    Own,
    /// That of the worker so many further.
    #[reflect(phrase = "works on the data of the worker {} further")]
    ShiftRanks(u32),
    /// That of the worker at the same place so many nodes further (IOR -C with -Q, mdtest -N).
    #[reflect(phrase = "works on the data of the worker at the same place {node} further")]
    ShiftNodes(u32),
    /// A random worker's, at least so many nodes away where there are as many (IOR -Z with -Q); several may meet.
    #[reflect(phrase = "works on the data of a random worker at least {node} away")]
    RandomAway(u32),
    /// A seeded permutation of all workers (IOR -Z -Z).
    #[reflect(phrase = "works on the data of another worker each, permuted")]
    Permuted,
}

/// What a worker does after an error.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum ErrorPolicy {
    /// It ends; the exit status tells.
    #[default]
    Stop,
    /// It goes on and counts.
    #[reflect(phrase = "errors are counted, it goes on")]
    Continue,
    /// It goes on and counts, at most so many.
    #[reflect(phrase = "goes on over at most {error}")]
    AtMost(u64),
    /// It goes on after those listed and counts them; any other ends it.
    #[reflect(phrase = "goes on over error numbers: {}")]
    Tolerate(Box<Tolerance>),
}

/// Error numbers that a worker survives, by what failed. What is wrong with content counts as `EILSEQ` of `verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Tolerance {
    /// Of reads.
    #[reflect(default, phrase = "reads { }")]
    pub read: Vec<i32>,
    /// Of writes and syncs.
    #[reflect(default, phrase = "writes { }")]
    pub write: Vec<i32>,
    /// Of trims.
    #[reflect(default, phrase = "trims { }")]
    pub trim: Vec<i32>,
    /// Of checking content.
    #[reflect(default, phrase = "verify { }")]
    pub verify: Vec<i32>,
}

/// What is done with each file after the last operation, inside the measured time.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Finish {
    /// How it is made durable.
    #[reflect(default, bare, form = "sync verb", phrase = "{}")]
    pub sync: Option<Verb>,
    /// Closing counts as part of the measured time.
    #[reflect(default, phrase = "close")]
    pub close: bool,
    /// All workers of the phase, on all ranks, wait for each other before closing (IOR -g).
    #[reflect(default, phrase = "all wait for each other")]
    pub barrier: bool,
}

/// What is written down of a job while it runs, beyond counts.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Measure {
    /// Latencies; without them the clock is read less often.
    #[reflect(default = true)]
    pub latency: bool,
    /// The two parts of a latency apart, where the engine hands operations over without waiting for them: until the
    /// hand-over, and from there to the completion.
    #[reflect(default, phrase = "submission and completion apart")]
    pub submission: bool,
    /// How many operations are handed over, and how many completions come, together.
    #[reflect(default, phrase = "batch sizes")]
    pub batches: bool,
    /// Each worker's tally is kept beside the job's.
    #[reflect(default, phrase = "each worker")]
    pub each: bool,
    /// Where operations are so short that reading the clock for each would distort them, about one in this time is timed
    /// and counts for those that follow it, ns; 0: every one is timed.
    #[reflect(default, phrase = "about one latency in {}")]
    pub sample_ns: u64,
    /// Length of a row of the series, ns; 0: one second.
    #[reflect(default, phrase = "rows of {}")]
    pub row_ns: u64,
    /// The health of the drives beneath it is read before and after.
    #[reflect(default, phrase = "health of the drives")]
    pub health: bool,
    /// Single operations, or windows of them, are recorded.
    #[reflect(default, phrase = "an empty journal")]
    pub journal: Option<Journal>,
}

/// What a journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Journal {
    /// One entry for each operation that completed.
    #[reflect(default, phrase = "every completion")]
    pub completions: bool,
    /// One entry for each operation that began, in that order, and for each file that was opened or closed.
    #[reflect(default, phrase = "every start")]
    pub starts: bool,
    /// One row for each direction and window of this length, ns; 0: none.
    #[reflect(default, phrase = "windows of {}")]
    pub window_ns: u64,
    /// The distribution of completion latencies of each direction in each window of this length, ns; 0: none.
    #[reflect(default, phrase = "distributions of {}")]
    pub histogram_ns: u64,
}
