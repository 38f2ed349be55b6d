//! Counts and latency, mergeable: of a worker, a job, a world.

use crate::reflect::Reflect;

use crate::histogram::Histogram;
use crate::verb::{Kind, Verb};

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Tally {
    /// One line for each label (a verb's name, or a script step's).
    pub lines: Vec<Line>,
    /// Failures by verb and error number.
    pub errors: Vec<ErrorCount>,
    /// First operation's start, ns after the start line.
    pub began_ns: u64,
    /// First worker that was done, ns after the start line.
    pub first_done_ns: u64,
    /// Last worker that was done, ns after the start line.
    pub last_done_ns: u64,
    /// Depths that were reached: index is the number in flight once a batch was handed over, value how many
    /// operations were handed over in such batches.
    pub depths: Vec<u64>,
    /// How many operations were handed over together: index is the number, value how many times. Empty where it was not
    /// asked for and the depth is more than 1.
    #[reflect(default)]
    pub submits: Vec<u64>,
    /// How many completions came together: index is the number, value how many times.
    #[reflect(default)]
    pub completes: Vec<u64>,
    /// Waits on an empty pool or shared object.
    pub waits: u64,
    /// Over time.
    pub series: Series,
}

/// The counts of one label.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Line {
    /// The label.
    pub label: String,
    /// The verb.
    pub verb: Verb,
    /// Operations that succeeded.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that moved less than asked.
    pub short: u64,
    /// Operations that failed; not in `operations`, except reads of wrong content that a helper found, or that
    /// [count as read](crate::Verify::wrong_is_read).
    pub failed: u64,
    /// Operations that were not timed: in `latency` they count as the timed one before them did.
    #[reflect(default)]
    pub untimed: u64,
    /// Latency in ns: from the intended start where the pace is open-loop, else from the actual one.
    pub latency: Histogram,
    /// Latency in ns from the actual start, kept where it differs from `latency`.
    pub service: Option<Histogram>,
    /// Time in ns from the actual start until the kernel had it, where that was asked for and the engine can tell.
    #[reflect(default)]
    pub submission: Option<Histogram>,
    /// Time in ns from when the kernel had it to its completion; kept with `submission`.
    #[reflect(default)]
    pub completion: Option<Histogram>,
}

impl Line {
    /// A line without counts.
    pub fn empty(label: &str, verb: Verb) -> Self {
        Line {
            label: label.into(),
            verb,
            operations: 0,
            bytes: 0,
            short: 0,
            failed: 0,
            untimed: 0,
            latency: Histogram::default(),
            service: None,
            submission: None,
            completion: None,
        }
    }
}

/// How often one error happened, and where first.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct ErrorCount {
    /// The verb that failed.
    pub verb: Verb,
    /// The error number; 0 for a short transfer, negative for a kind of corruption (see [`corruption`]).
    pub errno: i32,
    /// How often.
    pub count: u64,
    /// Offset (or item) of the first.
    pub first_offset: u64,
    /// The first one's target, by index in the plan.
    pub first_target: u32,
}

/// Kinds of corruption, in the order of their codes: -1001 is the first.
const CORRUPTIONS: [&str; 12] = [
    "bit flip",
    "stale",
    "torn",
    "swapped",
    "misdirected",
    "lost",
    "foreign",
    "overwritten",
    "ahead",
    "garbage",
    "mismatch",
    "zeroed",
];

/// The kind of corruption that a code stands for: -1001 to -1012, far from every error number of every system.
pub fn corruption(code: i32) -> Option<&'static str> {
    usize::try_from(-1001 - i64::from(code)).ok().and_then(|index| CORRUPTIONS.get(index)).copied()
}

/// The error number of Linux that stands for content that is not what was written (`EILSEQ`).
pub const ILLEGAL_CONTENT: i32 = 84;

impl ErrorCount {
    /// The error number as a program with nothing but error numbers tells it: every kind of corruption is
    /// [`ILLEGAL_CONTENT`].
    pub fn system_errno(&self) -> i32 {
        if corruption(self.errno).is_some() { ILLEGAL_CONTENT } else { self.errno }
    }
}

/// Counters over time, in rows of equal length.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Series {
    /// Length of a row, ns.
    pub interval_ns: u64,
    /// The rows, from the start line on.
    pub rows: Vec<SeriesRow>,
    /// The latencies of each row, all verbs together, in [coarse buckets](crate::histogram::coarse_of): bucket and count,
    /// ascending, no zero counts. As long as `rows`, or empty where latencies were not measured.
    #[reflect(omit_empty)]
    pub latencies: Vec<Vec<(u16, u32)>>,
}

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct SeriesRow {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Trims completed.
    #[reflect(default)]
    pub trims: u64,
    /// Bytes trimmed.
    #[reflect(default)]
    pub trim_bytes: u64,
    /// Other operations completed.
    pub others: u64,
    /// Latency summed over all, ns.
    pub latency_sum_ns: u64,
    /// Largest latency, ns.
    pub latency_max_ns: u64,
}

impl SeriesRow {
    /// Operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.reads + self.writes + self.trims + self.others
    }

    /// Adds another worker's row of the same interval.
    pub fn merge(&mut self, other: &SeriesRow) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
        self.trims += other.trims;
        self.trim_bytes += other.trim_bytes;
        self.others += other.others;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency_max_ns = self.latency_max_ns.max(other.latency_max_ns);
    }
}

impl Series {
    /// Adds another worker's series, row by row; the coarser interval wins.
    pub fn merge(&mut self, other: &Series) {
        if self.rows.is_empty() {
            *self = other.clone();
            return;
        }
        let mut other = other.clone();
        while self.interval_ns < other.interval_ns {
            self.coarsen();
        }
        while other.interval_ns < self.interval_ns && other.interval_ns > 0 {
            other.coarsen();
        }
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), SeriesRow::default());
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.merge(theirs);
        }
        if !self.latencies.is_empty() || !other.latencies.is_empty() {
            self.latencies.resize(self.rows.len(), Vec::new());
        }
        for (mine, theirs) in self.latencies.iter_mut().zip(&other.latencies) {
            *mine = joined(mine, theirs);
        }
    }

    /// Halves the resolution: pairs of rows become one.
    pub fn coarsen(&mut self) {
        self.rows = self
            .rows
            .chunks(2)
            .map(|pair| {
                let mut row = pair[0];
                pair[1..].iter().for_each(|next| row.merge(next));
                row
            })
            .collect();
        let pairs = self.latencies.chunks(2);
        self.latencies =
            pairs.map(|pair| pair[1..].iter().fold(pair[0].clone(), |a, b| joined(&a, b))).collect();
        self.interval_ns = (self.interval_ns * 2).max(1);
    }
}

/// Two rows of coarse buckets as one.
fn joined(a: &[(u16, u32)], b: &[(u16, u32)]) -> Vec<(u16, u32)> {
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut mine, mut theirs) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(a), Some(b)) = (mine.peek().copied(), theirs.peek().copied()) {
        let count = if a.0 <= b.0 { mine.next().map_or(0, |a| a.1) } else { 0 };
        let more = if b.0 <= a.0 { theirs.next().map_or(0, |b| b.1) } else { 0 };
        all.push((a.0.min(b.0), count.saturating_add(more)));
    }
    all.extend(mine);
    all.extend(theirs);
    all
}

impl Tally {
    /// The line of a label, made where it is missing.
    pub fn line_mut(&mut self, label: &str, verb: Verb) -> &mut Line {
        let index = self.lines.iter().position(|line| line.label == label && line.verb == verb);
        let index = index.unwrap_or_else(|| {
            self.lines.push(Line::empty(label, verb));
            self.lines.len() - 1
        });
        &mut self.lines[index]
    }

    /// Operations of a kind.
    pub fn operations(&self, kind: Kind) -> u64 {
        self.of(kind).map(|line| line.operations).sum()
    }

    /// Bytes of a kind.
    pub fn bytes(&self, kind: Kind) -> u64 {
        self.of(kind).map(|line| line.bytes).sum()
    }

    /// Operations of all kinds but control.
    pub fn all_operations(&self) -> u64 {
        self.lines.iter().filter(|line| line.verb.kind() != Kind::Control).map(|line| line.operations).sum()
    }

    /// Bytes moved, both ways.
    pub fn all_bytes(&self) -> u64 {
        self.lines.iter().map(|line| line.bytes).sum()
    }

    /// Operations that failed.
    pub fn failed(&self) -> u64 {
        self.lines.iter().map(|line| line.failed).sum()
    }

    /// Reads that brought other content than was written.
    pub fn wrong_reads(&self) -> u64 {
        let wrong = |error: &&ErrorCount| error.verb == Verb::Read && corruption(error.errno).is_some();
        self.errors.iter().filter(wrong).map(|error| error.count).sum()
    }

    /// All latencies of a kind, merged.
    pub fn latency(&self, kind: Kind) -> Histogram {
        let mut merged = Histogram::default();
        self.of(kind).for_each(|line| merged.merge(&line.latency));
        merged
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.verb.kind() == kind)
    }

    /// Adds another worker's, job's or rank's counts.
    pub fn merge(&mut self, other: &Tally) {
        let first = self.lines.is_empty() && self.last_done_ns == 0;
        for theirs in &other.lines {
            let mine = self.line_mut(&theirs.label, theirs.verb);
            mine.operations += theirs.operations;
            mine.bytes += theirs.bytes;
            mine.short += theirs.short;
            mine.untimed += theirs.untimed;
            mine.failed += theirs.failed;
            mine.latency.merge(&theirs.latency);
            if let Some(service) = &theirs.service {
                mine.service.get_or_insert_default().merge(service);
            }
            if let Some(submission) = &theirs.submission {
                mine.submission.get_or_insert_default().merge(submission);
            }
            if let Some(completion) = &theirs.completion {
                mine.completion.get_or_insert_default().merge(completion);
            }
        }
        other.errors.iter().for_each(|error| self.add_error(error));
        self.began_ns = if first { other.began_ns } else { self.began_ns.min(other.began_ns) };
        self.first_done_ns =
            if first { other.first_done_ns } else { self.first_done_ns.min(other.first_done_ns) };
        self.last_done_ns = self.last_done_ns.max(other.last_done_ns);
        add_counts(&mut self.depths, &other.depths);
        add_counts(&mut self.submits, &other.submits);
        add_counts(&mut self.completes, &other.completes);
        self.waits += other.waits;
        self.series.merge(&other.series);
    }

    fn add_error(&mut self, error: &ErrorCount) {
        let known =
            self.errors.iter_mut().find(|known| known.verb == error.verb && known.errno == error.errno);
        match known {
            Some(known) => known.count += error.count,
            None => self.errors.push(error.clone()),
        }
    }
}

fn add_counts(mine: &mut Vec<u64>, theirs: &[u64]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), 0);
    }
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
}
