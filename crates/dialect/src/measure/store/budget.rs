//! How much time and how many objects the parts of a run get, and the cells of the card: the plan is made from these
//! tables and the card is read by them.

use iodyno_model::Verb;

const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct StoreBudget {
    /// Passes over all cells.
    pub passes: u32,
    /// Time of a cell in a pass, ns.
    pub cell_ns: u64,
    /// Time of each concurrency of the sweep, ns.
    pub depth_ns: u64,
    pub depths: &'static [u64],
    /// Objects of each [`ObjectSize`].
    pub objects: [u64; 3],
    /// Objects that are made for the requests without data, at most, and for how long, ns.
    pub made: u64,
    pub made_ns: u64,
    /// How often each promise of consistency is tried.
    pub tries: usize,
}

impl StoreBudget {
    /// About a minute.
    pub const DEFAULT: StoreBudget = StoreBudget {
        passes: 3,
        cell_ns: SECOND,
        depth_ns: SECOND,
        depths: &[1, 2, 4, 8, 16, 32, 64, 128],
        objects: [1000, 64, 4],
        made: 4000,
        made_ns: SECOND,
        tries: 25,
    };
    /// About 15 s.
    pub const QUICK: StoreBudget = StoreBudget {
        passes: 2,
        cell_ns: SECOND * 2 / 5,
        depth_ns: SECOND * 2 / 5,
        depths: &[1, 4, 16, 64],
        objects: [256, 16, 2],
        made: 1000,
        made_ns: SECOND / 2,
        tries: 10,
    };
    /// About six minutes.
    pub const FULL: StoreBudget = StoreBudget {
        passes: 5,
        cell_ns: 5 * SECOND,
        depth_ns: 5 * SECOND,
        depths: &[1, 2, 4, 8, 16, 32, 64, 128, 256],
        objects: [10_000, 256, 8],
        made: 20_000,
        made_ns: 5 * SECOND,
        tries: 100,
    };
}

/// The lengths of objects that are laid out; a target for each, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectSize {
    Small,
    Medium,
    Large,
}

impl ObjectSize {
    pub const ALL: [ObjectSize; 3] = [ObjectSize::Small, ObjectSize::Medium, ObjectSize::Large];

    pub fn bytes(self) -> u64 {
        match self {
            ObjectSize::Small => 4096,
            ObjectSize::Medium => MIB,
            ObjectSize::Large => 64 * MIB,
        }
    }

    /// What cells and targets call it.
    pub fn title(self) -> &'static str {
        match self {
            ObjectSize::Small => "4K",
            ObjectSize::Medium => "1M",
            ObjectSize::Large => "64M",
        }
    }
}

/// The length of a part of an upload, and of the parts of one object in flight: large objects go in parts where the store
/// has parts.
pub const PART_BYTES: u64 = 16 * MIB;
pub const PARTS_AT_ONCE: u32 = 4;

/// One line of the card.
pub struct StoreCell {
    /// What the card calls it, before its depth and workers.
    pub title: &'static str,
    pub verb: Verb,
    pub size: ObjectSize,
    /// Bytes of one request's object, or of the range of it.
    pub block_bytes: u64,
    /// Requests in flight.
    pub depth: u32,
}

const fn cell(title: &'static str, verb: Verb, size: ObjectSize, block_bytes: u64, depth: u32) -> StoreCell {
    StoreCell { title, verb, size, block_bytes, depth }
}

/// The lines, in order; in a pass what reads comes before what writes.
pub const CELLS: &[StoreCell] = &[
    cell("GET 4K", Verb::Read, ObjectSize::Small, 4096, 1),
    cell("GET 4K", Verb::Read, ObjectSize::Small, 4096, 16),
    cell("GET 1M", Verb::Read, ObjectSize::Medium, MIB, 8),
    cell("GET 64M", Verb::Read, ObjectSize::Large, 64 * MIB, 4),
    cell("RANGE 1M", Verb::Read, ObjectSize::Large, MIB, 8),
    cell("PUT 4K", Verb::Write, ObjectSize::Small, 4096, 1),
    cell("PUT 4K", Verb::Write, ObjectSize::Small, 4096, 16),
    cell("PUT 1M", Verb::Write, ObjectSize::Medium, MIB, 8),
    cell("PUT 64M", Verb::Write, ObjectSize::Large, 64 * MIB, 1),
];

/// The mix, as a cell that both verbs share.
pub const MIX: StoreCell = cell("MIX 4K", Verb::Read, ObjectSize::Small, 4096, 16);

impl StoreCell {
    /// The name of a cell and of its phases: `GET 4K Q16T1`. An engine that keeps one request in flight gets its depth from
    /// as many workers.
    pub fn name(&self, keeps_depth: bool) -> String {
        let (depth, workers) = if keeps_depth { (self.depth, 1) } else { (1, self.depth) };
        format!("{} Q{depth}T{workers}", self.title)
    }
}

/// Requests on objects of 4 KiB that are made for them: the phases' names and verbs, in order.
pub const REQUESTS: &[(&str, Verb)] =
    &[("PUT NEW", Verb::Create), ("HEAD", Verb::Stat), ("LIST", Verb::Readdir), ("DELETE", Verb::Unlink)];
/// How many of them are in flight; a list goes page by page, one at a time.
pub const REQUESTS_DEPTH: u32 = 16;

/// The phase in which promises of consistency are tried.
pub const CONSISTENCY: &str = "read-after-write";
