//! Where on the machine a worker runs, as whom, and where the memory of its buffers comes from.
//!
//! Only wishes: the engine room grants them before the start line, or says why not.

use crate::reflect::Reflect;

/// Where on the machine a worker runs.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Placement {
    /// CPUs it may use; empty: any. Worker n takes the n-th alone when `spread`.
    #[reflect(default, form = "cpus")]
    pub cpus: Vec<u32>,
    /// One CPU of the list for each worker, in turn; of all CPUs where there is no list.
    #[reflect(default)]
    pub spread: bool,
    /// NUMA nodes on whose CPUs it may run; empty: any.
    #[reflect(default, key = "numa_cpus", form = "cpus", phrase = "on the CPUs of NUMA nodes {}")]
    pub numa_cpu_nodes: Vec<u32>,
    /// The NUMA policy of its memory; none: the system's default.
    #[reflect(default, key = "numa")]
    pub numa_memory: Option<NumaMemory>,
    /// Nice value, -20 to 19.
    #[reflect(default, form = "nice", phrase = "nice {}")]
    pub nice: Option<i32>,
    /// I/O priority class (1 real time, 2 best effort, 3 idle) and level (0 to 7).
    #[reflect(default, form = "io priority", phrase = "I/O priority class {} level {}")]
    pub io_priority: Option<(u8, u8)>,
    /// A hint that goes with the I/O priority (command duration limits), 0 to 1023; 0: none.
    #[reflect(default, key = "priority_hint", form = "hint", phrase = "I/O priority hint {}")]
    pub io_priority_hint: u16,
    /// User and group id of the worker, [`SAME_ID`]: as it is; needs processes.
    #[reflect(default, key = "")]
    pub identity: Option<(u32, u32)>,
    /// Control group the worker joins; needs processes.
    #[reflect(default, phrase = "in cgroup {}")]
    pub cgroup: Option<ControlGroup>,
    /// The I/O scheduler of the devices that hold its files, put back at the end of the run.
    #[reflect(default, phrase = "I/O scheduler {}")]
    pub io_scheduler: Option<String>,
    /// The name of its workers in process lists, at most 15 bytes (Linux).
    #[reflect(default, phrase = "called {}")]
    pub worker_name: Option<String>,
}

/// A user or group id that stays as it is.
pub const SAME_ID: u32 = u32::MAX;

/// Where memory comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct NumaMemory {
    /// How nodes are chosen.
    #[reflect(needed)]
    pub policy: NumaPolicy,
    /// Among which; empty where the policy names none (local), or means all.
    #[reflect(default, form = "cpus")]
    pub nodes: Vec<u32>,
}

/// How the NUMA node of a new page is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum NumaPolicy {
    /// The system's default policy, whatever was inherited.
    #[default]
    Standard,
    /// Only these nodes.
    Bind,
    /// This node while it has room, then others.
    Prefer,
    /// Page by page over these nodes.
    Interleave,
    /// The node of the CPU that touches it first.
    Local,
}

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct ControlGroup {
    /// A directory; relative: below the mounted hierarchy that controls I/O. Made where it is missing, and what was made
    /// is removed at the end.
    #[reflect(bare, needed, phrase = "{}")]
    pub path: String,
    /// Its share of the I/O, as the hierarchy counts it (v1: 10 to 1000, v2: 1 to 10000); none: as it is.
    #[reflect(default, positive, phrase = "weight {}")]
    pub weight: Option<u32>,
    /// It stays at the end.
    #[reflect(default, phrase = "kept")]
    pub keep: bool,
}

impl ControlGroup {
    /// A group as it is.
    pub fn new(path: &str) -> Self {
        ControlGroup { path: path.into(), weight: None, keep: false }
    }
}

/// Where the memory of a worker's buffers comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Buffers {
    /// How the memory is allocated.
    #[reflect(default, bare)]
    pub kind: BufferKind,
    /// Whether it consists of huge pages, which must be reserved.
    #[reflect(default, key = "huge")]
    pub huge_pages: bool,
    /// The size of a huge page, in bytes; 0: the system's default.
    #[reflect(default, phrase = "pages of {}")]
    pub huge_page_bytes: u64,
    /// The file that is mapped, for mappings; none: of no file.
    #[reflect(default)]
    pub file: Option<String>,
    /// Each buffer begins at a multiple of this, a power of two; 0: of a page.
    #[reflect(default, phrase = "buffers aligned to {}")]
    pub align_bytes: u64,
    /// Memory that each worker locks besides, to leave less for the page cache, in bytes.
    #[reflect(default, phrase = "{} of memory locked besides")]
    pub locked_bytes: u64,
    /// The same, touched before the start and not locked, which needs no privilege (IOR -M), in bytes.
    #[reflect(default, phrase = "{} of memory held besides")]
    pub held_bytes: u64,
    /// A script's operations use random places in so much memory, in bytes; 0: always the same place (filebench
    /// `memsize`).
    #[reflect(default, phrase = "data anywhere in {}")]
    pub arena_bytes: u64,
    /// Operations use so many buffers in turn; 0 or 1: each uses the one of its slot (iozone `-m`).
    #[reflect(default)]
    pub turns: u32,
}

/// How buffers are had from the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum BufferKind {
    /// A private mapping.
    #[default]
    Mapping,
    /// The heap.
    Heap,
    /// A shared mapping.
    SharedMapping,
    /// A System V shared memory segment.
    Segment,
}

/// Shell commands around a job. Their output goes to `JOB.prerun.txt` and `JOB.postrun.txt` in the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Hooks {
    /// Run by each worker before its start.
    #[reflect(default, phrase = "before it: {}")]
    pub before: Option<String>,
    /// Run by each worker after its end.
    #[reflect(default, phrase = "after it: {}")]
    pub after: Option<String>,
}
