//! What happens during a run, in order: what reporters read.
//!
//! A reporter is a function from these to bytes, so it is tested by replaying a stored list.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::origin::Diagnostic;
use crate::plan::Plan;
use crate::record::{Machine, PhaseRecord, Record};
use crate::sweep::Coordinate;
use crate::target::TargetFacts;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The plan was checked and begins.
    Started(Box<Started>),
    /// A target is being made ready; done when `done_bytes == total_bytes`.
    Preparing {
        /// The target's name.
        target: String,
        /// Bytes laid out so far.
        done_bytes: u64,
        /// Bytes to lay out.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The plan as it runs, expanded.
    pub plan: Plan,
    /// What its targets are.
    pub targets: Vec<TargetFacts>,
    /// The machine.
    pub machine: Machine,
    /// Wall-clock time, ns since 1970.
    pub at_unix_ns: u64,
}

/// The state of a running phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// The phase's index in the expanded plan.
    pub phase: usize,
    /// Measured time so far, ns.
    pub elapsed_ns: u64,
    /// Time left in this phase if it can be told, ns.
    pub left_ns: Option<u64>,
    /// Each job.
    pub jobs: Vec<LiveJob>,
    /// Whether the user asked for it (SIGUSR1), rather than time.
    pub asked: bool,
}

/// The state of a running job: counters since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}
