//! The cells of the card, once: the plan is made from this table and the card is read by it.

use iodyno_model::Verb;

const SECOND: u64 = 1_000_000_000;

/// How much time the parts of a run get.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Passes over all cells.
    pub passes: u32,
    /// Time of a cell in a pass, ns.
    pub cell_ns: u64,
    /// Time of a depth of the sweep, ns.
    pub depth_ns: u64,
    /// The depths of the sweep.
    pub depths: &'static [u64],
    /// How long files are made for the metadata, ns; the other verbs take as many.
    pub made_ns: u64,
    /// Files that are made at most.
    pub files: u64,
}

impl Budget {
    /// About a minute.
    pub const DEFAULT: Budget = Budget {
        passes: 5,
        cell_ns: SECOND,
        depth_ns: SECOND,
        depths: &[1, 2, 4, 8, 16, 32, 64, 128],
        made_ns: 2 * SECOND,
        files: 200_000,
    };
    /// About 15 s.
    pub const QUICK: Budget = Budget {
        passes: 3,
        cell_ns: SECOND / 3,
        depth_ns: SECOND / 2,
        depths: &[1, 4, 16, 64],
        made_ns: SECOND,
        files: 100_000,
    };
    /// About six minutes.
    pub const FULL: Budget = Budget {
        passes: 5,
        cell_ns: 5 * SECOND,
        depth_ns: 5 * SECOND,
        depths: &[1, 2, 4, 8, 16, 32, 64, 128, 256],
        made_ns: 5 * SECOND,
        files: 500_000,
    };
}

/// One line of the four that KDiskMark users know.
pub struct CardCell {
    /// What the card calls it, before its depth and workers.
    pub title: &'static str,
    /// Bytes of one I/O.
    pub block_bytes: u64,
    /// Whether places are drawn.
    pub random: bool,
    /// I/Os in flight.
    pub depth: u32,
}

/// The four lines, in order.
pub const CELLS: &[CardCell] = &[
    CardCell { title: "SEQ1M", block_bytes: 1 << 20, random: false, depth: 8 },
    CardCell { title: "SEQ1M", block_bytes: 1 << 20, random: false, depth: 1 },
    CardCell { title: "RND4K", block_bytes: 4096, random: true, depth: 32 },
    CardCell { title: "RND4K", block_bytes: 4096, random: true, depth: 1 },
];

impl CardCell {
    /// The name of a cell and of its phases: `SEQ1M Q8T1 read`.
    pub fn phase(&self, verb: Verb, keeps_depth: bool) -> String {
        format!("{} {}", self.heading(keeps_depth), verb.name())
    }

    /// Its title with depth and workers, as the field writes them: `RND4K Q32T1`. An engine that keeps one I/O in
    /// flight gets its depth from as many workers.
    pub fn heading(&self, keeps_depth: bool) -> String {
        let (depth, workers) = if keeps_depth { (self.depth, 1) } else { (1, self.depth) };
        format!("{} Q{depth}T{workers}", self.title)
    }
}

/// The mix, as a cell that both verbs share.
pub const MIX_CELL: CardCell = CardCell { title: "RND4K", block_bytes: 4096, random: true, depth: 32 };
/// The name of the mix and of its phases: `RND4K Q32T1 mix`.
pub fn mix(keeps_depth: bool) -> String {
    format!("{} mix", MIX_CELL.heading(keeps_depth))
}
/// Percentage of reads in the mix.
pub const MIX_READS: f64 = 70.0;
/// The phases of the appends that are made durable one by one.
pub const APPEND: &str = "APPEND4K fsync";
/// The phases of the queue-depth sweep.
pub const DEPTH: &str = "depth";
/// The phases of the metadata verbs, which are the labels in them too; in order.
pub const METADATA: &[Verb] = &[Verb::Create, Verb::Stat, Verb::Open, Verb::Rename, Verb::Unlink];
