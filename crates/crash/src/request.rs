//! What a crash test is asked, and what it answers: plain values, on every system.

use std::path::PathBuf;

use crate::promise::{Authority, Damage};

/// A crash test.
#[derive(Debug, Clone)]
pub struct CrashRequest {
    /// `ext4`; of scripts a name for the report.
    pub file_system: String,
    /// mount(8)'s, comma-separated.
    pub mount_options: String,
    /// What makes and mounts the file system instead of the known programs.
    pub scripts: Option<MountScripts>,
    /// Size of the disk; none: what the file system needs at least.
    pub disk_bytes: Option<u64>,
    /// What the disk writes as a whole: 512 or 4096.
    pub sector_bytes: u32,
    pub workloads: WorkloadChoice,
    /// States to judge, over all workloads.
    pub states: usize,
    /// Time for all of it, ns.
    pub limit_ns: Option<u64>,
    pub seed: u64,
    /// A name of [`DEVICE_NAMES`].
    pub device: String,
    /// One state, by its name, instead of many.
    pub state: Option<String>,
    /// Where its image goes, which must not exist.
    pub image: Option<PathBuf>,
    /// States judged at once.
    pub workers: usize,
    /// An existing empty directory for mounts; nobody else sees them.
    pub home: PathBuf,
}

/// Scripts for a shell, which get `{device}` and `{dir}`.
#[derive(Debug, Clone)]
pub struct MountScripts {
    pub mkfs: String,
    pub mount: String,
}

/// What is done to the file system.
#[derive(Debug, Clone)]
pub enum WorkloadChoice {
    /// By name; none: all that keep what they promise. Files of the user's own: name and text.
    Named { names: Vec<String>, suites: Vec<(String, String)> },
    /// A program of the user's, and what checks a state.
    Command { command: Vec<String>, check: Option<String> },
}

/// The devices that can be asked for, with what they do.
pub const DEVICE_NAMES: &[(&str, &str)] = &[
    ("honest", "keeps what a flush covers, and writes a sector as a whole"),
    ("lying-flush", "answers flushes and does nothing"),
    ("flush-window", "flushes the last write only"),
    ("lost-write", "loses one write in 8 for good"),
    ("misdirected-write", "puts one write in 8 where an earlier one went"),
    ("bit-flip", "inverts a bit of one write in 8"),
    ("torn-sector", "tears 4096 bytes between any two of 512, though it promises not to"),
];

/// How far a crash test is.
#[derive(Debug, Clone, Copy)]
pub struct CrashProgress<'a> {
    pub workload: &'a str,
    /// States judged and to judge, over all workloads.
    pub judged: usize,
    pub all: usize,
    pub findings: usize,
}

/// What a crash test needs of whoever runs it.
pub struct CrashHooks<'a> {
    /// Monotonic, ns.
    pub clock: fn() -> u64,
    /// Whether the user wants an end.
    pub is_stopped: fn() -> bool,
    pub progress: &'a mut (dyn FnMut(CrashProgress<'_>) + Send),
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct CrashReport {
    pub file_system: String,
    pub mount_options: String,
    /// Name, and what it does.
    pub device: (String, String),
    pub sector_bytes: u32,
    pub disk_bytes: u64,
    /// The program that checked each state; none: there is none for this file system.
    pub checker: Option<String>,
    pub seed: u64,
    pub workloads: Vec<WorkloadReport>,
    pub elapsed_ns: u64,
    /// The image of the state that was asked for.
    pub image: Option<PathBuf>,
}

/// What was found in the states that one workload can leave.
#[derive(Debug, Clone, Default)]
pub struct WorkloadReport {
    pub name: String,
    /// Why it was not done: the file system lacks something.
    pub skipped: Option<String>,
    pub writes: usize,
    pub flushes: usize,
    /// States with different contents.
    pub possible: usize,
    pub judged: usize,
    pub elapsed_ns: u64,
    pub findings: Vec<CrashFinding>,
    pub picture: Vec<PictureEntry>,
}

/// A promise that states do not keep, with the plainest of them.
#[derive(Debug, Clone)]
pub struct CrashFinding {
    pub authority: Authority,
    pub promise: String,
    pub source: String,
    pub path: String,
    pub damage: Damage,
    pub found: String,
    /// States in which it was found.
    pub states: usize,
    /// The name of the one that misses the fewest writes.
    pub state: String,
    /// How far the workload had come, in words.
    pub reached: String,
    /// Writes that are missing or torn there, in words.
    pub missing: Vec<String>,
}

impl CrashFinding {
    /// Whether the mount options take the promise back.
    pub fn is_allowed(&self) -> bool {
        self.authority == Authority::MountOption
    }
}

/// A request to the disk, for a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureEntry {
    pub kind: PictureKind,
    /// Its place in the log.
    pub place: usize,
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    Write,
    /// Missing in the state of the first finding.
    MissingWrite,
    /// Later than the crash of the first finding.
    LaterWrite,
    Discard,
    Flush,
    /// A step ended.
    StepEnd,
}
