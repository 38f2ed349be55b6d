//! A drawn workload: which verb, which place, how many bytes, decided by seeded chance or by rule.
//!
//! Says *what* is drawn; the engine room's `source::pattern` draws. Offsets are relative to the span.

use crate::reflect::Reflect;

use crate::target::Extent;
use crate::verb::Verb;

/// One value for each direction of data.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Clone> PerDirection<T> {
    /// The same value in every direction.
    pub fn same(value: T) -> Self {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }
}

impl<T> PerDirection<T> {
    /// What becomes of each direction's value.
    pub fn map<U>(self, map: impl Fn(T) -> U) -> PerDirection<U> {
        PerDirection { read: map(self.read), write: map(self.write), trim: map(self.trim) }
    }

    /// The values of two, direction by direction.
    pub fn zip<U>(self, other: PerDirection<U>) -> PerDirection<(T, U)> {
        PerDirection {
            read: (self.read, other.read),
            write: (self.write, other.write),
            trim: (self.trim, other.trim),
        }
    }
}

/// A workload that is drawn.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Pattern {
    /// Which verb comes next.
    #[reflect(key = "")]
    pub mix: Mix,
    /// Where it goes; verbs on items (create, stat, …) pick an item, verbs on data an offset.
    pub pick: PerDirection<Pick>,
    /// How many bytes it moves; of an exchange, `write` is the request and `read` the response.
    #[reflect(key = "block")]
    pub size: PerDirection<Size>,
    /// Offsets are multiples of this; 0: of the (smallest) size.
    #[reflect(default)]
    pub align_bytes: PerDirection<u64>,
    /// Whether a place may come twice before all have come once.
    #[reflect(default, key = "")]
    pub coverage: Coverage,
    /// The part of each target that is touched.
    #[reflect(default)]
    pub span: Span,
    /// Which of several files comes next.
    #[reflect(default)]
    pub files: FileOrder,
    /// At most so many unfinished files take turns: another joins when one of them is finished; 0: all do. It bounds
    /// which files are worked on together; descriptors may stay open for all of them.
    #[reflect(default, key = "files_at_once", positive, phrase = "{unfinished file} at a time")]
    pub open_most: u32,
    /// Operations inserted after every n others (`fsync=32`).
    #[reflect(default, form = "every")]
    pub every: Vec<Every>,
    /// Whether a block that is still in flight is waited for when it comes again.
    #[reflect(default, key = "serialise_overlap", form = "flag")]
    pub overlap: Overlap,
    /// Whether `size.read` is the size of all sequential and `size.write` that of all random operations (fio
    /// `bs_is_seq_rand`).
    #[reflect(default, key = "block_by_order")]
    pub size_by_order: bool,
    /// A window that moves over the span, inside which places are picked.
    #[reflect(default)]
    pub window: Option<Window>,
    /// Whether creating an item writes it and opening one reads it, with all that belongs to that as one operation: the
    /// bytes are those of `size`. None: an item is opened and closed.
    #[reflect(default)]
    pub item_data: Option<ItemData>,
    /// Renames form a chain: the first item's name becomes free, each following one takes the name that is free, and the
    /// last name is the first item's; one operation more than items, and every name is there afterwards (mdtest).
    /// Otherwise an item is renamed to one beyond the last, in the next directory of a tree, and back in the next pass.
    #[reflect(default, phrase = "renamed in a chain: each takes the name before it")]
    pub chain: bool,
    /// Operations of several kinds, each with a size, a pick and an alignment of its own, in place of those above; each is
    /// sequential by itself. What is above then says what they come to in each direction.
    #[reflect(default, key = "")]
    pub kinds: Vec<OperationKind>,
}

/// One kind of operations among others, as large a part of all as its weight is of all weights.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct OperationKind {
    pub verb: Verb,
    pub weight: f64,
    pub bytes: u64,
    pub pick: Pick,
    /// Offsets are multiples of this; 0: of the size.
    #[reflect(default)]
    pub align_bytes: u64,
}

impl Pattern {
    /// One verb, one size, one way of picking, over the whole target.
    pub fn of(verb: Verb, pick: Pick, block_bytes: u64) -> Self {
        let (pick, size) = (PerDirection::same(pick), PerDirection::same(Size::Fixed(block_bytes)));
        Pattern { mix: Mix::only(verb), pick, size, ..Pattern::blank() }
    }
}

/// What else is done with an item between its opening and its closing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct ItemData {
    /// What was written is made durable (mdtest -y).
    #[reflect(default, phrase = "synced before they are closed")]
    pub sync: bool,
    /// What was written is read back, and checked where the job verifies (mdtest --verify-write).
    #[reflect(default, phrase = "read back at once")]
    pub read_back: bool,
}

/// A part of the span that all operations stay in until they have moved so many bytes; then the next part (fio
/// `zonemode=strided`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub struct Window {
    /// Bytes moved before the next part.
    #[reflect(positive)]
    pub bytes: u64,
    /// How long a part is.
    #[reflect(positive, needed)]
    pub range_bytes: u64,
    /// Bytes left out between two parts.
    #[reflect(default)]
    pub skip_bytes: u64,
}

/// Which verb: shares in percent or any other weight.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Mix {
    /// The verbs and their weights, at least one.
    pub shares: Vec<Share>,
    /// Consecutive operations of one verb before the next draw, at least 1 (fio `rwmixcycle`).
    #[reflect(default = 1)]
    pub run: u32,
    /// Every place gets all verbs in the order of their shares before the next place is picked (fio `trimwrite`).
    #[reflect(default, phrase = "each place by all in turn")]
    pub in_turn: bool,
}

impl Mix {
    /// Only one verb.
    pub fn only(verb: Verb) -> Self {
        Mix { shares: vec![Share { verb, weight: 100.0 }], run: 1, in_turn: false }
    }

    /// Reads and writes by percentage of reads, 0 to 100.
    pub fn reads(percent: f64) -> Self {
        let shares = vec![
            Share { verb: Verb::Read, weight: percent },
            Share { verb: Verb::Write, weight: 100.0 - percent },
        ];
        Mix { shares, run: 1, in_turn: false }
    }

    /// Whether a verb can come at all.
    pub fn has(&self, verb: Verb) -> bool {
        self.shares.iter().any(|share| share.verb == verb && share.weight > 0.0)
    }
}

/// A verb's weight in a [`Mix`].
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Share {
    /// The verb.
    pub verb: Verb,
    /// Its weight, not negative; weights need not sum to 100.
    pub weight: f64,
}

/// Where the next operation goes.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Pick {
    /// Each after the one before, plus a gap (negative: backwards), wrapping at the end of the span.
    #[default]
    Sequential,
    /// From the end towards the start.
    Backward,
    /// As sequential, with this many bytes skipped (or, negative, gone back) after each.
    Gap(i64),
    /// Every place this many blocks apart, then the next set (iozone's stride).
    Strided {
        /// Distance of successive places, in bytes.
        stride_bytes: u64,
    },
    /// Blocks of consecutive transfers, `stride_bytes` apart (IOR segments, zoned windows).
    Segmented {
        /// Bytes that are consecutive.
        block_bytes: u64,
        /// How many blocks; 0: as many as the span holds.
        count: u64,
        /// Distance of successive blocks' starts; 0: of a file that workers share, one block of every worker on all ranks
        /// lies in a segment, in the order of their numbers, and each begins at its own (unless the span's increment is
        /// neither nothing nor a block); of a file for each worker, its blocks follow each other.
        stride_bytes: u64,
        /// Whether the transfers inside a block come in random order. With a distance of 0 those of a whole segment of a
        /// shared file are dealt to its workers at random, as many to each: by the job's seed, the same for all.
        shuffled: bool,
    },
    /// Every place equally likely.
    Uniform,
    /// Zipf: the k-th most popular place has probability ∝ k^-theta; popular places are scattered.
    Zipf {
        /// Skew, > 0, not 1 exactly for fio's sake.
        theta: f64,
        /// Where the most popular place lies, 0 to 1 of the span (the others are scattered); none: anywhere.
        #[reflect(default)]
        center: Option<f64>,
    },
    /// Pareto (fio's `pareto:h`): self-similar, 0 < h < 1.
    Pareto {
        /// Skew: h of the accesses go to 1-h of the places.
        h: f64,
        /// As of zipf.
        #[reflect(default)]
        center: Option<f64>,
    },
    /// Normal around the middle of the span.
    Normal {
        /// Standard deviation as a percentage of the span.
        deviation_percent: f64,
    },
    /// Hot and cold zones, in order, sharing the span.
    Zones(Vec<Zone>),
    /// Several ways, drawn by percentage for each operation (fio `percentage_random`).
    Blend(Vec<Blend>),
    /// The same place `times` times before the next (fio `rw=randread:N` with `rw_sequencer=identical`).
    Repeat {
        /// How often each place comes.
        times: u32,
        /// How the place is picked.
        pick: Box<Pick>,
    },
    /// A new place only every `operations`; between them sequential (fio `rw=randread:N`).
    Runs {
        /// Operations in one run.
        operations: u32,
        /// How a run's first place is picked.
        pick: Box<Pick>,
    },
    /// Blocks of the smallest operation by their numbers in the span, again and again; beyond its end they begin anew (fio
    /// `random_distribution=sequence`).
    Listed {
        /// The numbers, at least one.
        blocks: Vec<u64>,
        /// Whether each time through the list lies one list further on (fio `random_sequence_stride`).
        #[reflect(default)]
        advances: bool,
    },
    /// Every place once in a random order, and some of them again, so that an SSD reaches the steady state of its garbage
    /// collection in one pass over its physical capacity (fio `sprandom`).
    Preconditioning {
        /// Parts of the pass; each next one overwrites a smaller share of the one before.
        #[reflect(positive)]
        regions: u32,
        /// The drive's spare capacity as a part of what it shows, above 0 and at most 1.
        over_provisioning: f64,
        /// The drive's write cache: a region overwrites at its end rather than at its start, so that what it overwrites has
        /// left the cache. Smaller than a region; 0: it has none.
        #[reflect(default)]
        cache_bytes: u64,
    },
    /// At the shared or own position, without seeking: pipes and character devices.
    Stream,
    /// At the present end of the file.
    Append,
}

/// A part of the span and its part of the accesses.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Zone {
    /// Accesses that go here, in percent.
    #[reflect(needed)]
    pub accesses_percent: f64,
    /// How much of the span it is.
    #[reflect(needed)]
    pub extent: Extent,
}

/// One way of [`Pick::Blend`].
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Blend {
    /// How often it is used, in percent.
    #[reflect(needed)]
    pub percent: f64,
    /// The way.
    #[reflect(needed)]
    pub pick: Pick,
}

/// How many bytes an operation moves.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Size {
    /// Always the same.
    Fixed(u64),
    /// Uniform between both ends (inclusive), a multiple of `step_bytes`.
    Uniform {
        /// Smallest.
        least_bytes: u64,
        /// Largest.
        most_bytes: u64,
        /// Granularity, at least 1.
        step_bytes: u64,
    },
    /// A table of sizes and their percentages (fio `bssplit`).
    Split(Vec<(u64, f64)>),
    /// Gamma distributed (filebench `cvar`).
    Gamma {
        /// Mean in bytes.
        mean_bytes: f64,
        /// Shape, > 0.
        shape: f64,
    },
    /// Normally distributed; what would be below 1 is 1.
    Normal {
        mean_bytes: f64,
        /// Standard deviation.
        deviation_bytes: f64,
    },
    /// Poisson distributed.
    Poisson {
        /// At most 700.
        mean: f64,
    },
    /// Several sizes, drawn by percentage (filebench tables of ranges).
    Blend(Vec<(Size, f64)>),
    /// What an earlier step moved or found; by label.
    ResultOf(String),
    /// The whole file.
    Whole,
}

impl Default for Size {
    fn default() -> Self {
        Size::Fixed(4096)
    }
}

impl Size {
    /// The largest it can be, where that is known; buffers are made of this size.
    pub fn most_bytes(&self) -> Option<u64> {
        match self {
            Size::Fixed(bytes) => Some(*bytes),
            Size::Uniform { most_bytes, .. } => Some(*most_bytes),
            Size::Split(table) => table.iter().map(|(bytes, _)| *bytes).max(),
            Size::Blend(table) => {
                let most: Option<Vec<_>> = table.iter().map(|(size, _)| size.most_bytes()).collect();
                most?.into_iter().max()
            }
            Size::Gamma { .. }
            | Size::Normal { .. }
            | Size::Poisson { .. }
            | Size::ResultOf(_)
            | Size::Whole => None,
        }
    }

    /// The smallest it can be, where that is known.
    pub fn least_bytes(&self) -> Option<u64> {
        match self {
            Size::Fixed(bytes) => Some(*bytes),
            Size::Uniform { least_bytes, .. } => Some(*least_bytes),
            Size::Split(table) => table.iter().map(|(bytes, _)| *bytes).min(),
            Size::Blend(table) => table.iter().map(|(size, _)| size.least_bytes()).min().flatten(),
            Size::Gamma { .. }
            | Size::Normal { .. }
            | Size::Poisson { .. }
            | Size::ResultOf(_)
            | Size::Whole => None,
        }
    }
}

/// Whether a place may come twice before all have come once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Coverage {
    /// Every place once by each verb, by a seeded permutation of constant memory.
    #[default]
    Once,
    /// Every block once, by whichever verb and size comes to it (fio's random map).
    Together,
    /// With replacement (fio `norandommap`).
    Repeating,
}

/// The part of a target that is touched.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Span {
    /// Where it begins.
    #[reflect(default, phrase = "from {}")]
    pub offset: Extent,
    /// How long it is; rest: to the end.
    #[reflect(default, bare)]
    pub length: Extent,
    /// Added to the offset for each worker (fio `offset_increment`) or rank.
    #[reflect(default, phrase = "{} further for each worker")]
    pub increment: Extent,
    /// Relative offsets are rounded up to a multiple of this, bytes; 0: not at all.
    #[reflect(default, positive, phrase = "relative offsets rounded up to {}")]
    pub align_bytes: u64,
    /// Whether an operation that begins inside may end beyond, where the target is longer. Gaps and windows then go by
    /// the target's end, and wrap until a limit ends them (fio).
    #[reflect(default, phrase = "operations may hang over")]
    pub overhang: bool,
}

/// Which of several files comes next.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum FileOrder {
    /// One I/O each in turn (`operations` before the next).
    RoundRobin {
        /// I/Os on one file before the next, at least 1.
        operations: u32,
    },
    /// Each to its end, then the next.
    #[default]
    #[reflect(key = "one by one")]
    InTurn,
    /// Drawn.
    Drawn {
        /// How.
        pick: Box<Pick>,
        /// I/Os on one file before the next draw.
        operations: u32,
    },
}

/// A verb inserted after every `operations` writes (syncs) or operations (others).
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Every {
    /// What is inserted.
    #[reflect(key = "")]
    pub verb: Verb,
    /// After how many, at least 1.
    #[reflect(bare, positive, needed)]
    pub operations: u64,
    /// Only between operations: not after the last one.
    #[reflect(default)]
    pub between: bool,
    /// What a `sync_file_range` does to what was written since the last one, as its system call numbers it: 1 waits
    /// before, 2 starts to write, 4 waits after; 0: starts to write. Other verbs have none.
    #[reflect(default)]
    pub flags: u32,
}

impl Every {
    /// A verb without flags.
    pub fn new(verb: Verb, operations: u64) -> Self {
        Every { verb, operations, between: false, flags: 0 }
    }
}

/// What to do when a block that is still in flight comes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Overlap {
    /// Send it all the same.
    #[default]
    Allowed,
    /// Wait for the one in flight (fio `serialize_overlap`).
    #[reflect(phrase = "a block in flight is waited for before it comes again")]
    Serialised,
}
