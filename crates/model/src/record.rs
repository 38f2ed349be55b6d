//! The answer: what was done, how long it took, and what else was seen.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Sighting};
use crate::origin::Diagnostic;
use crate::sweep::Coordinate;
use crate::tally::Tally;
use crate::verify::Mismatch;

/// The answer to a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The plan's name.
    pub name: String,
    /// The plan's seed.
    pub seed: u64,
    /// Each phase that began.
    pub phases: Vec<PhaseRecord>,
    /// What spoils a number.
    pub findings: Vec<Finding>,
    /// What went wrong.
    pub errors: Vec<Diagnostic>,
    /// The signal that ended the run early, if one did.
    pub stopped_by: Option<i32>,
    /// The machine.
    pub machine: Machine,
}

/// The machine a run was on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// The answer to a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// The answer to a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its name.
    pub name: String,
    /// The engine that ran it.
    pub engine: String,
    /// The depth it asked for.
    pub depth: u32,
    /// All workers merged.
    pub tally: Tally,
    /// Each worker.
    pub workers: Vec<WorkerRecord>,
    /// Wall-clock time of the start line, ns since 1970.
    #[serde(default)]
    pub began_unix_ns: u64,
    /// Engine facts: `sqpoll`, `fixed buffers`, … name and value.
    #[serde(default)]
    pub engine_facts: Vec<(String, String)>,
}

/// The answer of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Its number within the job.
    pub index: u32,
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Failed operations.
    pub errors: u64,
    /// When it began, ns after the start line.
    pub began_ns: u64,
    /// When its last operation was done, ns after the start line.
    pub ended_ns: u64,
    /// CPU time in user space, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Context switches, voluntary and involuntary.
    pub switches: (u64, u64),
    /// Page faults, major and minor.
    pub faults: (u64, u64),
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// What it found wrong with what it read: the first few, a sentence each.
    #[serde(default)]
    pub complaints: Vec<String>,
    /// The same as facts: the first few.
    #[serde(default)]
    pub mismatches: Vec<Mismatch>,
    /// The number the kernel knows it by: of its process, or of its thread.
    #[serde(default)]
    pub pid: u32,
    /// All it counted, where the job asked for each worker's tally.
    #[serde(default)]
    pub tally: Option<Box<Tally>>,
}
