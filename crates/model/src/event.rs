//! What happens during a run, in order: what reporters read.
//!
//! A reporter is a function from these to bytes, so it is tested by replaying a stored list.

use crate::reflect::Reflect;

use crate::case::CaseRecord;
use crate::finding::Finding;
use crate::histogram::Histogram;
use crate::origin::Diagnostic;
use crate::pattern::PerDirection;
use crate::plan::Plan;
use crate::record::{Machine, PhaseRecord, Record};
use crate::sighting::Sample;
use crate::sweep::Coordinate;
use crate::target::TargetFacts;
use crate::verb::{Kind, Verb};
use crate::world::WorldFacts;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Event {
    /// The plan was checked and begins.
    Started(Box<RunStart>),
    /// A target is being made ready; done when `done_bytes == total_bytes`.
    Preparing {
        /// The target's name.
        target: String,
        /// Bytes laid out so far.
        done_bytes: u64,
        /// Bytes to lay out.
        total_bytes: u64,
    },
    /// Files of a job are about to be made or extended: of each of its workers, where they are its own.
    LayingOut {
        /// The job's name.
        job: String,
        /// How many files.
        files: u64,
        /// What they will hold in all.
        total_bytes: u64,
    },
    /// A phase passed its start line.
    PhaseStarted {
        /// Its index in the expanded plan.
        index: usize,
        /// How many phases there are.
        count: usize,
        /// Its name.
        name: String,
        /// Which repetition.
        repetition: u32,
        /// Its place in a sweep.
        coordinates: Vec<Coordinate>,
    },
    /// Time passed.
    Live(Box<Live>),
    /// What the witnesses saw in an interval of the running phase that has ended.
    Watched(Box<Sample>),
    /// The record of a running phase so far: every so often, and when the user asked (SIGUSR1).
    Interim(Box<PhaseRecord>),
    /// The same for whoever keeps runs, so that a killed program loses little: each second, and shown to nobody.
    Kept(Box<PhaseRecord>),
    /// What a worker wrote down, in the order of time; told before the phase's end, and while it runs where it is much.
    Journal(Box<JournalPart>),
    /// A step that only says something came by; of what comes by often it is told now and then.
    Said(Box<Said>),
    /// Cases have ended, of the running phase's job of that index.
    Cases(usize, Vec<CaseRecord>),
    /// A phase has ended.
    PhaseEnded(Box<PhaseRecord>),
    /// Something that spoils a number.
    Finding(Box<Finding>),
    /// Something to tell the user.
    Message(Diagnostic),
    /// The run is over, completed or not.
    Ended(Box<Record>),
}

/// The beginning of a run.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct RunStart {
    /// The plan as it runs, expanded.
    pub plan: Plan,
    /// What its targets are.
    pub targets: Vec<TargetFacts>,
    /// The machine.
    pub machine: Machine,
    /// Wall-clock time, ns since 1970.
    pub at_unix_ns: u64,
    /// The ranks.
    #[reflect(default)]
    pub world: WorldFacts,
}

/// What a step says.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Said {
    /// The phase's name.
    pub phase: String,
    /// The step's label.
    pub label: String,
    /// What it says.
    pub text: String,
    /// How often it came by since it was last told.
    pub times: u64,
    /// Whose worker it was.
    pub rank: u32,
    /// When the phase began, ns since 1970.
    pub began_unix_ns: u64,
    /// When this was noticed, ns since 1970.
    pub at_unix_ns: u64,
}

/// The state of a running phase.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Live {
    /// The phase's index in the expanded plan.
    pub phase: usize,
    /// Measured time so far, ns.
    pub elapsed_ns: u64,
    /// Time left in this phase if it can be reported, ns.
    pub left_ns: Option<u64>,
    /// Each job.
    pub jobs: Vec<LiveJob>,
    /// Whether the user asked for it (SIGUSR1), rather than time.
    pub asked: bool,
}

/// What a worker is doing, in the order in which it goes through them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Reflect)]
pub enum WorkerState {
    /// It makes itself ready, or waits at the start line.
    #[default]
    Starting,
    /// It waits for its own turn: a delay, or another job's end.
    Waiting,
    /// It runs, and nothing is counted yet.
    Ramping,
    /// It runs.
    Running,
    /// It reads back what it wrote.
    Verifying,
    /// It makes its files durable and closes them.
    Finishing,
    /// It has ended.
    Ended,
}

/// The state of a running job: counters since its start.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct LiveJob {
    /// Its name.
    pub name: String,
    /// Operations completed.
    pub operations: u64,
    /// Reads completed, and how many of them were short.
    pub reads: (u64, u64),
    /// Writes completed, and how many of them were short.
    pub writes: (u64, u64),
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Failed operations.
    pub errors: u64,
    /// Workers still running.
    pub running: u32,
    /// Trims completed, and how many of them were short.
    #[reflect(default)]
    pub trims: (u64, u64),
    /// Bytes trimmed.
    #[reflect(default)]
    pub trim_bytes: u64,
    /// Operations completed that make data durable.
    #[reflect(default)]
    pub syncs: u64,
    /// What the workers are doing, in their order; neighbours in one state are counted together.
    #[reflect(default)]
    pub states: Vec<(WorkerState, u32)>,
    /// The latencies so far of each direction, ns; empty unless they were asked for.
    #[reflect(default)]
    pub latency: PerDirection<Histogram>,
}

/// Part of what one worker wrote down.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct JournalPart {
    /// The phase's index in the expanded plan.
    pub phase: usize,
    /// The job's index in the phase.
    pub job: usize,
    /// The worker's number within the job.
    pub worker: u32,
    /// Its process.
    #[reflect(default)]
    pub pid: u32,
    /// The names of the files it works on; entries refer to them by index.
    #[reflect(default)]
    pub files: Vec<String>,
    /// When the worker began, ns after the phase's start line.
    #[reflect(default)]
    pub began_ns: u64,
    /// What the system's clocks showed at the start line: their number (0: wall-clock time) and ns.
    #[reflect(default)]
    pub clocks: Vec<(i32, u64)>,
    /// What was written down.
    pub entries: Vec<JournalEntry>,
}

/// One thing that a worker wrote down. Times in ns after the phase's start line.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum JournalEntry {
    /// An operation began, or a file was opened or closed.
    Began {
        /// When.
        at_ns: u64,
        /// What.
        verb: Verb,
        /// The file, by index.
        file: u32,
        /// Where, in bytes.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
    },
    /// An operation completed.
    Done {
        /// When.
        at_ns: u64,
        /// What.
        verb: Verb,
        /// The file, by index.
        #[reflect(default)]
        file: u32,
        /// Where, in bytes.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
        /// From its start until the kernel had it, ns.
        submission_ns: u64,
        /// From there to its completion, ns.
        completion_ns: u64,
        /// From its start (where the pace is open-loop: the intended one) to its completion, ns.
        latency_ns: u64,
        /// I/O priority class and level, as the kernel packs them; 0: none.
        priority: u16,
    },
    /// What completed in a window.
    Window {
        /// When it ended.
        at_ns: u64,
        /// The direction.
        kind: Kind,
        /// How long it was, ns.
        length_ns: u64,
        /// Operations completed.
        operations: u64,
        /// Bytes they moved.
        bytes: u64,
        /// Sum and largest of the submission latencies, ns.
        submission_ns: (u64, u64),
        /// Sum and largest of the completion latencies, ns.
        completion_ns: (u64, u64),
        /// Sum and largest of the latencies from the actual start, ns.
        latency_ns: (u64, u64),
    },
    /// The completion latencies in a window.
    Distribution {
        /// When it ended.
        at_ns: u64,
        /// The direction.
        kind: Kind,
        /// The latencies, ns.
        completion: Histogram,
    },
}
