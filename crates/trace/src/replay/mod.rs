//! From records to operations that an engine issues: what a trace holds, which of its records become operations of a worker,
//! where and when, and what each of them has to wait for.
//!
//! All of it happens ahead of the loop that issues them, in a thread of its own or on the command line; nothing here
//! knows a clock.

mod dependency;
mod distance;
mod feed;
mod place;
mod ranges;
mod survey;

pub use feed::{Feed, FeedReport, Opener, Share};
use feed::{is_plain, position};
pub use place::{BLOCK_BYTES, Placement};
pub use ranges::RangeOperation;
use survey::MadeNodes;
pub use survey::{KnownSurvey, Need, Survey, path_below, replayed, tree};

/// Operations that may wait for each other: what lies further back has ended before an operation is looked at.
pub const WINDOW: u32 = 1 << 13;

/// Others that an operation itself says it waits for; what it waits for besides stands in entries of their own before it,
/// [`OperationFlags::MORE`].
pub const EDGES_MOST: usize = 4;

/// The recorded result is not known.
pub const UNKNOWN: i32 = i32::MIN;

/// One operation as it is to be issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOperation {
    /// Not before this time, ns from the start of the replay, or from the start of the operation before where gaps are kept.
    pub due_ns: u64,
    pub offset: u64,
    pub bytes: u64,
    /// After the completion of the first of `edges`, ns.
    pub think_ns: u64,
    /// The position of its target in the job's list, or in a tree the item.
    pub file: u32,
    /// The second name, an item; `u32::MAX`: none. Of fallocate its mode.
    pub other: u32,
    /// The recorded thread.
    pub stream: u32,
    /// How many of its stream may be in flight, with it; 0: any number.
    pub depth: u32,
    /// The error number that was recorded; 0: success; [`UNKNOWN`].
    pub expected: i32,
    /// How many operations before it those are that must have ended; 0: no more of them.
    pub edges: [u32; EDGES_MOST],
    pub verb: iodyno_model::Verb,
    pub flags: OperationFlags,
}

impl ReplayOperation {
    /// A place for one.
    pub const NOTHING: ReplayOperation = ReplayOperation {
        due_ns: 0,
        offset: 0,
        bytes: 0,
        think_ns: 0,
        file: 0,
        other: u32::MAX,
        stream: 0,
        depth: 0,
        expected: UNKNOWN,
        edges: [0; EDGES_MOST],
        verb: iodyno_model::Verb::Read,
        flags: OperationFlags(0),
    };
}

/// Operations that follow each other: all of one kind.
#[derive(Clone, Debug, Default)]
pub struct OperationBatch {
    /// In full.
    pub operations: Vec<ReplayOperation>,
    /// Those of which nothing else is known, where there are none in full.
    pub ranges: Vec<RangeOperation>,
    /// Whether the ranges were recorded to have succeeded.
    pub ranges_succeeded: bool,
}

impl OperationBatch {
    pub fn with_capacity(operations: usize) -> OperationBatch {
        OperationBatch {
            operations: Vec::with_capacity(operations),
            ranges: Vec::with_capacity(operations),
            ranges_succeeded: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.ranges.is_empty()
    }

    pub fn clear(&mut self) {
        self.operations.clear();
        self.ranges.clear();
    }
}

/// Properties of an operation, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationFlags(pub u16);

impl OperationFlags {
    /// All before it must have ended before it is issued.
    pub const BARRIER: OperationFlags = OperationFlags(1);
    /// It makes the file if it is missing.
    pub const CREATES: OperationFlags = OperationFlags(1 << 1);
    /// It empties the file.
    pub const TRUNCATES: OperationFlags = OperationFlags(1 << 2);
    /// A flush that a record carried: no record of its own.
    pub const ADDED: OperationFlags = OperationFlags(1 << 3);
    /// The first of `edges` is what it thinks after, however far back it lies.
    pub const THINKS: OperationFlags = OperationFlags(1 << 4);
    /// All before it must have ended before it or anything after it is issued: a pass begins.
    pub const FENCE: OperationFlags = OperationFlags(1 << 6);
    /// At the end of the file, wherever that is.
    pub const APPENDS: OperationFlags = OperationFlags(1 << 5);
    /// No operation, and without a number: further edges of the next one that is, by their distances from that one.
    pub const MORE: OperationFlags = OperationFlags(1 << 7);
    /// It is another worker's, which `stream` names: it is waited for, and not issued.
    pub const ELSEWHERE: OperationFlags = OperationFlags(1 << 8);

    /// Whether others must have ended before, where each is issued after the one before it.
    pub const fn is_ordered(self) -> bool {
        self.0 & (OperationFlags::FENCE.0 | OperationFlags::BARRIER.0) != 0
    }

    pub const fn has(self, flag: OperationFlags) -> bool {
        self.0 & flag.0 == flag.0
    }

    #[must_use]
    pub const fn with(self, flag: OperationFlags) -> OperationFlags {
        OperationFlags(self.0 | flag.0)
    }

    #[must_use]
    pub const fn without(self, flag: OperationFlags) -> OperationFlags {
        OperationFlags(self.0 & !flag.0)
    }
}
