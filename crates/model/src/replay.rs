//! How a file of recorded operations is played back, and what became of it: the certificate of a replay.

use crate::histogram::Histogram;
use crate::reflect::{Reflect, blank_by_default};
use crate::verb::Verb;
use crate::workload::Timing;

/// How the records of a file become operations.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Replay {
    /// Pauses in which nothing was issued are cut to this, ns; 0: they stay.
    #[reflect(default, phrase = "pauses cut to {}")]
    pub idle_most_ns: u64,
    /// How often each record is issued: by as many users of the same data, side by side.
    #[reflect(absent = 1, positive, phrase = "{copy}")]
    pub copies: u32,
    /// The distance of one copy's offsets from the next's; 0: each copy has targets of its own, those of the first copy
    /// stand first in the job's list.
    #[reflect(default, phrase = "each copy shifted by {}")]
    pub copy_shift_bytes: u64,
    /// For each file of the trace the position of its target in the job's list; none: its records are left out. An empty
    /// list: the n-th file goes to the n-th target.
    #[reflect(default, key = "")]
    pub map: Vec<Option<usize>>,
    /// Whether the first target is a directory in which the files of the trace lie under their names.
    #[reflect(default, phrase = "in a tree of its files")]
    pub tree: bool,
    /// Whether files and directories that the trace needs and does not make are made before the start line.
    #[reflect(default, phrase = "missing files made before")]
    pub recreate: bool,
    /// What becomes of places beyond the end of their target.
    #[reflect(default)]
    pub remap: Remap,
    /// Offsets are divided by this, before all else that becomes of them.
    #[reflect(absent = 1, positive, phrase = "offsets divided by {}")]
    pub offset_divisor: u64,
    /// Offsets are rounded down and lengths up to a multiple of this; 0: they stay.
    #[reflect(default, phrase = "aligned to {}")]
    pub align_bytes: u64,
    /// Whether lengths stay where offsets are rounded.
    #[reflect(default, phrase = "lengths kept")]
    pub lengths_stay: bool,
    /// The speed at which recorded times between starts pass, where they are kept: percent of the recorded one.
    #[reflect(absent = 100, positive, phrase = "at {} % of the recorded speed")]
    pub gap_speed_percent: u64,
    /// Whether targets are opened and closed where the trace opens and closes its files; else they are open throughout.
    #[reflect(default, phrase = "opened and closed as recorded")]
    pub opens: bool,
    /// Whether each record is a client's request to a file server, which takes several calls and is timed as one (dbench).
    #[reflect(default, phrase = "each record served as a request to a file server")]
    pub served: bool,
    /// Verbs that are left out.
    #[reflect(default, phrase = "without {,}")]
    pub skip: Vec<Verb>,
    /// How records are divided among workers.
    #[reflect(default)]
    pub division: Division,
    /// Whether its fidelity is measured and reported.
    #[reflect(default, phrase = "certified")]
    pub certified: bool,
    /// What the file was found to hold.
    #[reflect(default, key = "")]
    pub facts: TraceFacts,
}

blank_by_default!(Replay);

/// What becomes of places beyond the end of their target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Remap {
    /// The replay is refused.
    #[default]
    #[reflect(key = "no")]
    No,
    /// All offsets of the file are scaled by the same factor.
    #[reflect(phrase = "offsets scaled to the target")]
    Linear,
    /// The remainder of the offset by the target's length.
    #[reflect(phrase = "offsets wrapped at the end of the target")]
    Modulo,
    /// Blocks of 4 KiB are dealt to the target by a hash of their number: what was the same block still is.
    #[reflect(phrase = "blocks dealt to the target by a hash")]
    Hash,
}

/// How records are divided among workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Division {
    /// By the thread that issued them.
    #[default]
    #[reflect(phrase = "divided by recorded thread")]
    Threads,
    /// By the file or device.
    #[reflect(phrase = "divided by file")]
    Files,
    /// In turn.
    #[reflect(phrase = "dealt in turn")]
    Turns,
    /// Not at all: each worker replays all of them.
    #[reflect(phrase = "all of them by each worker")]
    Whole,
}

/// What a file of records was found to hold.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct TraceFacts {
    /// Its format or recorder.
    #[reflect(default)]
    pub source: String,
    /// Records.
    #[reflect(default)]
    pub records: u64,
    /// From the first record's issue to the last one's, ns.
    #[reflect(default)]
    pub length_ns: u64,
    /// The step of the clock that recorded it, ns.
    #[reflect(default)]
    pub resolution_ns: u64,
    /// The verbs that occur, as they are played back.
    #[reflect(default)]
    pub verbs: Vec<Verb>,
    /// The longest transfer, bytes.
    #[reflect(default)]
    pub largest_bytes: u64,
    /// Bytes that reads and writes asked for.
    #[reflect(default)]
    pub moved_bytes: u64,
    /// By file: the byte after the last that a record touches.
    #[reflect(default)]
    pub ends: Vec<u64>,
    /// Threads that issued records.
    #[reflect(default)]
    pub threads: u32,
    /// Records with a time of completion.
    #[reflect(default)]
    pub timed: u64,
    /// Records with a result.
    #[reflect(default)]
    pub results: u64,
    /// The most that were in flight, where completions are known.
    #[reflect(default)]
    pub depth: u32,
    /// Whether any carries a flush before or after it.
    #[reflect(default)]
    pub flushes: bool,
    /// Whether any transfer is not of whole sectors of 512 bytes.
    #[reflect(default)]
    pub odd: bool,
    /// The most descriptors that were open together.
    #[reflect(default)]
    pub open_files: u32,
}

/// Rows that a replay's course has at most; what comes later is counted in the last.
pub const ROWS_MOST: usize = 1200;

/// How faithful a replay was.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ReplayRecord {
    /// How it kept time.
    pub timing: Timing,
    /// Records that fell to it, each as often as it was to be issued.
    pub recorded: u64,
    /// Operations that were issued.
    pub issued: u64,
    /// From the first record's time to the last one's as they were to be issued, ns.
    pub recorded_ns: u64,
    /// The same as they were issued, ns.
    pub issued_ns: u64,
    /// The step of the clock that recorded it, ns.
    #[reflect(default)]
    pub resolution_ns: u64,
    /// From the time at which an operation was due to its issue, where it was due at a time.
    #[reflect(default)]
    pub lateness: Histogram,
    /// Of these, at most 100 µs late.
    #[reflect(default)]
    pub within_100us: u64,
    /// At most 1 ms late.
    #[reflect(default)]
    pub within_1ms: u64,
    /// Later than that while as many operations as allowed were in flight.
    #[reflect(default)]
    pub held_by_depth: u64,
    /// How often the file was not read fast enough.
    #[reflect(default)]
    pub starved: u64,
    /// Length of a row, ns.
    #[reflect(default)]
    pub row_ns: u64,
    /// The trace and the replay over time.
    #[reflect(default)]
    pub rows: Vec<ReplayRow>,
    /// Whether it ended before the trace did.
    #[reflect(default)]
    pub ended_early: bool,
    /// Whether the depth of the trace is known.
    #[reflect(default)]
    pub depth_known: bool,
    /// The largest difference of the cumulative distributions of sizes, recorded and issued, 0 to 1 (Kolmogorov–Smirnov);
    /// of several workers the largest.
    #[reflect(default)]
    pub size_distance: f64,
    /// The same of offsets.
    #[reflect(default)]
    pub offset_distance: f64,
    /// Records that were left out, by reason.
    #[reflect(default)]
    pub skipped: Vec<ReasonCount>,
    /// Operations that were issued otherwise than recorded, by reason.
    #[reflect(default)]
    pub changed: Vec<ReasonCount>,
    /// Operations whose recorded result is known and that ended.
    #[reflect(default)]
    pub compared: u64,
    /// Results that differ, and errors that came again.
    #[reflect(default)]
    pub results: Vec<ResultCount>,
    /// Bytes that were read in a tree and checked.
    #[reflect(default)]
    pub checked_bytes: u64,
    /// Bytes that were read there and not judged: they were there before, or a write of them had failed.
    #[reflect(default)]
    pub unjudged_bytes: u64,
}

/// The trace and the replay in one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct ReplayRow {
    /// Operations that were due.
    pub due: u64,
    /// Operations that were issued.
    pub issued: u64,
    /// Sum over the records due of how many were in flight in the trace, with them.
    pub depth_recorded: u64,
    /// Sum over the operations issued of how many were in flight, with them.
    pub depth_issued: u64,
}

/// How often something happened, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct ReasonCount {
    pub reason: String,
    pub count: u64,
}

/// How often a result came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub struct ResultCount {
    pub verb: Verb,
    /// The error number that was recorded; 0: success.
    pub recorded: i32,
    /// The one that came.
    pub got: i32,
    pub count: u64,
}

impl ReplayRecord {
    /// Adds what another worker did.
    pub fn merge(&mut self, other: &ReplayRecord) {
        self.recorded += other.recorded;
        self.issued += other.issued;
        self.recorded_ns = self.recorded_ns.max(other.recorded_ns);
        self.issued_ns = self.issued_ns.max(other.issued_ns);
        self.lateness.merge(&other.lateness);
        self.within_100us += other.within_100us;
        self.within_1ms += other.within_1ms;
        self.held_by_depth += other.held_by_depth;
        self.starved += other.starved;
        self.ended_early |= other.ended_early;
        self.depth_known &= other.depth_known;
        self.compared += other.compared;
        self.checked_bytes += other.checked_bytes;
        self.unjudged_bytes += other.unjudged_bytes;
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), ReplayRow::default());
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.due += theirs.due;
            mine.issued += theirs.issued;
            mine.depth_recorded += theirs.depth_recorded;
            mine.depth_issued += theirs.depth_issued;
        }
        self.size_distance = self.size_distance.max(other.size_distance);
        self.offset_distance = self.offset_distance.max(other.offset_distance);
        for (mine, theirs) in [(&mut self.skipped, &other.skipped), (&mut self.changed, &other.changed)] {
            theirs.iter().for_each(|theirs| count(mine, &theirs.reason, theirs.count));
        }
        for theirs in &other.results {
            let same = |mine: &&mut ResultCount| {
                (mine.verb, mine.recorded, mine.got) == (theirs.verb, theirs.recorded, theirs.got)
            };
            match self.results.iter_mut().find(same) {
                Some(mine) => mine.count += theirs.count,
                None => self.results.push(*theirs),
            }
        }
    }

    /// Results that are not what was recorded.
    pub fn mismatches(&self) -> u64 {
        self.results.iter().filter(|result| result.recorded != result.got).map(|result| result.count).sum()
    }
}

/// Counts something once more for its reason.
pub fn count(reasons: &mut Vec<ReasonCount>, reason: &str, times: u64) {
    match reasons.iter_mut().find(|known| known.reason == reason) {
        Some(known) => known.count += times,
        None => reasons.push(ReasonCount { reason: reason.into(), count: times }),
    }
}
