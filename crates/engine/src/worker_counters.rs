//! A worker's counters while it runs, at fixed places in a shared mapping, without pointers.
//!
//! Only the worker writes; the conductor reads at any time. So every counter is a relaxed atomic that is loaded and
//! stored, never locked: on the hot path this is an ordinary increment.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_model::histogram::{self, BUCKETS, COARSE};
use iodyno_model::{
    ErrorCount, Fatal, FoundDepth, Histogram, Kind, Line, Mismatch, Series, Stage, Tally, Verb, WearOut,
    WorkerRecord, WorkerState,
};

use crate::clock::Tick;
use crate::coroutine;
use crate::memory::{Mapping, PAGE_BYTES};
use crate::mismatch;

mod counts;
mod series;

pub use counts::{Count, Counts, TimeSpread};
pub use series::SeriesWriter;
use series::{ROWS, SeriesCounters};

/// Kinds of error that are distinguished; more of them are counted as the last.
const ERRORS: usize = 16;
/// Depths that are distinguished; deeper ones count as the last.
const DEPTHS: usize = 4097;
/// What is counted by number: operations by the depth they made, hand-overs and reaps by their size.
const DEPTH: usize = 0;
const SUBMIT: usize = 1;
const COMPLETE: usize = 2;
/// Room for a worker's failure message, in words of four bytes.
const FAILURE_WORDS: usize = 120;
/// Room for what a worker's engine counted of its own.
const FACT_WORDS: usize = 512;
/// Room for a worker's complaints.
const COMPLAINT_WORDS: usize = 1024;
/// Room for the facts behind them.
const MISMATCH_WORDS: usize = 4096;

/// Latencies up to this have their memory before the start line, ns.
const POPULATED_NS: u64 = 1 << 20;

/// Adds to a counter that only this worker writes.
#[inline(always)]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Latencies of one kind.
#[repr(C)]
#[derive(Debug)]
pub struct Latencies {
    sum: AtomicU64,
    /// One's complement of the smallest, so that zeroed memory means: none yet.
    least: AtomicU64,
    most: AtomicU64,
    counts: [AtomicU64; BUCKETS],
}

impl Latencies {
    /// None.
    const fn new() -> Self {
        let [sum, least, most] = [const { AtomicU64::new(0) }; 3];
        Latencies { sum, least, most, counts: [const { AtomicU64::new(0) }; BUCKETS] }
    }

    /// Counts one latency.
    #[inline(always)]
    fn record(&self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts a latency so many times.
    #[inline(always)]
    fn record_many(&self, ns: u64, times: u64) {
        add(&self.counts[histogram::bucket_of(ns)], times);
        add(&self.sum, ns.wrapping_mul(times));
        if ns > self.most.load(Relaxed) {
            self.most.store(ns, Relaxed);
        }
        if !ns > self.least.load(Relaxed) {
            self.least.store(!ns, Relaxed);
        }
    }

    /// Counts latencies that are in their buckets.
    fn record_sum(&self, sum: &LatencySum) {
        add(&self.sum, sum.ns);
        self.most.store(self.most.load(Relaxed).max(sum.most), Relaxed);
        self.least.store(self.least.load(Relaxed).max(sum.least_complement), Relaxed);
    }

    /// The buckets from the smallest latency to the largest: to look at the others would give their pages memory, which
    /// ten thousand workers would feel.
    fn touched(&self) -> std::ops::Range<usize> {
        match self.least.load(Relaxed) {
            0 => 0..0,
            least => histogram::bucket_of(!least)..histogram::bucket_of(self.most.load(Relaxed)) + 1,
        }
    }

    /// Adds what was counted to coarse buckets.
    fn add_to(&self, coarse: &mut [u64; COARSE]) {
        for bucket in self.touched() {
            coarse[histogram::coarse_of(bucket)] += self.counts[bucket].load(Relaxed);
        }
    }

    /// Has the memory of latencies up to a millisecond now.
    fn populate(&self) {
        let most = histogram::bucket_of(POPULATED_NS);
        self.counts[..=most]
            .iter()
            .step_by(PAGE_BYTES / size_of::<AtomicU64>())
            .for_each(|count| add(count, 0));
        [&self.sum, &self.counts[most]].iter().for_each(|cell| add(cell, 0));
    }

    fn forget(&self) {
        self.counts[self.touched()].iter().for_each(|count| count.store(0, Relaxed));
        [&self.sum, &self.least, &self.most].iter().for_each(|cell| cell.store(0, Relaxed));
    }

    fn histogram(&self) -> Histogram {
        let sum = u128::from(self.sum.load(Relaxed));
        let touched = self.touched();
        let below = std::iter::repeat_n(0, touched.start);
        let counts = below.chain(self.counts[touched].iter().map(|count| count.load(Relaxed)));
        Histogram::from_counts(counts, sum, !self.least.load(Relaxed), self.most.load(Relaxed))
    }
}

/// Latencies that are counted together, but for their buckets.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatencySum {
    pub count: u64,
    ns: u64,
    /// As in [`Latencies`].
    least_complement: u64,
    pub most: u64,
}

impl LatencySum {
    #[inline(always)]
    pub fn add(&mut self, latency_ns: u64) {
        self.count += 1;
        self.ns = self.ns.wrapping_add(latency_ns);
        self.most = self.most.max(latency_ns);
        self.least_complement = self.least_complement.max(!latency_ns);
    }
}

#[repr(C)]
pub struct LabelCounters {
    operations: AtomicU64,
    bytes: AtomicU64,
    short: AtomicU64,
    failed: AtomicU64,
    untimed: AtomicU64,
    latency: Latencies,
    service: Latencies,
}

/// The two parts of the latencies of one label.
#[repr(C)]
pub struct LatencyParts {
    submission: Latencies,
    completion: Latencies,
}

#[repr(C)]
struct ErrorCounters {
    verb: AtomicU32,
    errno: AtomicI32,
    count: AtomicU64,
    first_offset: AtomicU64,
    first_target: AtomicU64,
}

/// The error that ended the worker.
#[repr(C)]
struct FatalError {
    /// 0: none; else the stage, counted from 1.
    stage: AtomicU32,
    errno: AtomicI32,
    /// Counted from 1; 0: none.
    verb: AtomicU32,
    /// As above, the handle.
    handle: AtomicU32,
    offset: AtomicU64,
    bytes: AtomicU64,
}

/// What comes before the lines.
#[repr(C)]
pub struct Head {
    /// First operation's start.
    pub began: AtomicU64,
    /// Last operation's end.
    pub ended: AtomicU64,
    /// When it began, by the clock its job named.
    pub began_clock_ns: AtomicU64,
    /// Waits on something shared or empty.
    pub waits: AtomicU64,
    /// Whether the worker has left the loop.
    pub over: AtomicU32,
    /// What it is doing: a [`WorkerState`].
    state: AtomicU32,
    /// Whether hand-overs and reaps are counted by their size.
    pub batched: AtomicU32,
    /// The number the kernel knows it by.
    pub pid: AtomicU32,
    /// Bytes of its journal that can be read.
    pub journaled: AtomicU64,
    /// Rows before this one are complete.
    rows: AtomicU32,
    /// Deeper than this the worker never is, so nobody need look there; 0: not known.
    pub deepest: AtomicU32,
    row_ns: AtomicU64,
    /// CPU time and switches: user ns, system ns, voluntary, involuntary, major and minor faults.
    pub usage: [AtomicU64; 6],
    /// Time it waited for a processor, ns, and one more; 0: it is unknown.
    pub waited: AtomicU64,
    /// Bytes that it made the storage read and write, where it is a process of its own.
    pub moved: [AtomicU64; 2],
    errors: [ErrorCounters; ERRORS],
    fatal: FatalError,
    /// When files began to be opened and were open, where that counts; the same of closing. 0: not yet.
    opening: [AtomicU64; 2],
    closing: [AtomicU64; 2],
    /// Before it wore out: when it noticed that the time was up, and the operations and bytes done; 0: it did not.
    worn: [AtomicU64; 3],
    /// Counted from 1; 0: none was looked for.
    found_depth: AtomicU32,
    found_per_second: AtomicU64,
    /// Bytes that were to leave the page cache before the start line and did not.
    pub undropped: AtomicU64,
    /// Ranges of what was read that are not what was written, and bytes of them.
    corrupt: [AtomicU64; 2],
    /// Lengths of the texts. They lie here, so that it takes no page to find that there is none.
    failure_bytes: AtomicU32,
    complaint_bytes: AtomicU32,
    fact_bytes: AtomicU32,
    mismatch_bytes: AtomicU32,
    /// By number: depths, hand-overs and reaps, side by side so that a shallow worker touches one page, that of all above.
    counts: [[AtomicU64; 3]; DEPTHS],
    series: [SeriesCounters; ROWS],
    failure: [AtomicU32; FAILURE_WORDS],
    complaints: [AtomicU32; COMPLAINT_WORDS],
    facts: [AtomicU32; FACT_WORDS],
    mismatches: [AtomicU32; MISMATCH_WORDS],
    /// What its engine counts of its own, at any time.
    pub live: Counts,
}

/// A text in words of four bytes, so that it can lie in shared memory.
struct SharedText<'a> {
    bytes: &'a AtomicU32,
    words: &'a [AtomicU32],
}

impl SharedText<'_> {
    /// As much of it as there is room for.
    fn write(&self, text: &str) {
        let mut end = text.len().min(self.words.len() * 4);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (cell, chunk) in self.words.iter().zip(text.as_bytes()[..end].chunks(4)) {
            let mut word = [0u8; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            cell.store(u32::from_le_bytes(word), Relaxed);
        }
        self.bytes.store(end as u32, Relaxed);
    }

    fn read(&self) -> String {
        let bytes = self.bytes.load(Relaxed) as usize;
        let words = self.words[..bytes.div_ceil(4).min(self.words.len())].iter();
        let all = words.flat_map(|cell| cell.load(Relaxed).to_le_bytes()).take(bytes);
        String::from_utf8_lossy(&all.collect::<Vec<_>>()).into_owned()
    }
}

impl Head {
    fn failure(&self) -> SharedText<'_> {
        SharedText { bytes: &self.failure_bytes, words: &self.failure }
    }

    fn complaints(&self) -> SharedText<'_> {
        SharedText { bytes: &self.complaint_bytes, words: &self.complaints }
    }

    fn facts(&self) -> SharedText<'_> {
        SharedText { bytes: &self.fact_bytes, words: &self.facts }
    }

    fn mismatches(&self) -> SharedText<'_> {
        SharedText { bytes: &self.mismatch_bytes, words: &self.mismatches }
    }
}

/// The counters of all workers of a phase.
pub struct CounterMapping {
    mapping: Mapping,
    stride: usize,
    lines: usize,
    parts: usize,
    cells: usize,
}

/// One worker's counters.
#[derive(Clone, Copy)]
pub struct WorkerCounters<'a> {
    /// What comes before the lines.
    pub head: &'a Head,
    /// A line for each label.
    pub lines: &'a [LabelCounters],
    /// The parts of the latencies of each label, where the phase has jobs that ask for them.
    pub parts: &'a [LatencyParts],
    /// The latencies of the rows of the series, one row behind the other.
    cells: &'a [AtomicU64],
}

impl CounterMapping {
    /// CounterMapping for so many workers with so many labels each, zeroed; with room for the parts of latencies, or without.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(workers: usize, lines: usize, parted: bool) -> Result<Self, i32> {
        let parts = if parted { lines } else { 0 };
        let cells = series::cells(workers);
        let bytes = size_of::<Head>()
            + lines * size_of::<LabelCounters>()
            + parts * size_of::<LatencyParts>()
            + cells * size_of::<AtomicU64>();
        let stride = bytes.next_multiple_of(4096);
        let mapping = Mapping::shared(stride.checked_mul(workers.max(1)).ok_or(libc::ENOMEM)?)?;
        Ok(CounterMapping { mapping, stride, lines, parts, cells })
    }

    /// One worker's counters.
    pub fn of(&self, worker: usize) -> WorkerCounters<'_> {
        assert!((worker + 1) * self.stride <= self.mapping.bytes());
        // SAFETY: the counters lie inside the mapping (asserted), which is zeroed, aligned to pages and outlives the
        // borrow; the types consist of atomics only, for which zero is a value.
        unsafe {
            let start = self.mapping.start().add(worker * self.stride);
            let lines = start.add(size_of::<Head>()).cast::<LabelCounters>();
            let parts = lines.add(self.lines).cast::<LatencyParts>();
            let cells = parts.add(self.parts).cast::<AtomicU64>();
            WorkerCounters {
                head: &*start.cast::<Head>(),
                lines: std::slice::from_raw_parts(lines, self.lines),
                parts: std::slice::from_raw_parts(parts, self.parts),
                cells: std::slice::from_raw_parts(cells, self.cells),
            }
        }
    }
}

impl WorkerCounters<'_> {
    /// Has the memory that an ordinary operation is counted in: the first one would have to wait for it.
    pub fn populate(&self) {
        self.lines.iter().for_each(|line| line.latency.populate());
        self.parts
            .iter()
            .flat_map(|parts| [&parts.submission, &parts.completion])
            .for_each(Latencies::populate);
        let depths = self.reachable().iter().step_by(PAGE_BYTES / size_of::<[AtomicU64; 3]>());
        depths.flatten().for_each(|count| add(count, 0));
    }

    /// Says where an ordinary operation is counted.
    pub fn will_need(&self) {
        if let Some(line) = self.lines.first() {
            coroutine::will_need(line);
            // Where the first milliseconds are counted, in the page that most latencies of devices share.
            coroutine::will_need(&line.latency.counts[histogram::bucket_of(POPULATED_NS / 4)]);
        }
        coroutine::will_need(&self.head.counts[1]);
    }

    /// Counts a success.
    #[inline(always)]
    pub fn success(&self, label: u16, bytes: u64, latency_ns: u64) {
        let line = &self.lines[label as usize];
        add(&line.operations, 1);
        add(&line.bytes, bytes);
        line.latency.record(latency_ns);
    }

    /// Counts a success whose latency was not measured.
    #[inline(always)]
    pub fn success_untimed(&self, label: u16, bytes: u64) {
        let line = &self.lines[label as usize];
        add(&line.operations, 1);
        add(&line.bytes, bytes);
    }

    /// Counts successes of an earlier run, which took no time in this one.
    pub fn successes_assumed(&self, label: u16, operations: u64, bytes: u64) {
        let line = &self.lines[label as usize];
        add(&line.operations, operations);
        add(&line.bytes, bytes);
    }

    /// Counts successes that were not timed, after a timed one that stands for them.
    #[inline(always)]
    pub fn successes_untimed(&self, label: u16, operations: u64, bytes: u64, latency_ns: u64) {
        let line = &self.lines[label as usize];
        add(&line.operations, operations);
        add(&line.bytes, bytes);
        add(&line.untimed, operations);
        line.latency.record_many(latency_ns, operations);
    }

    /// Counts one latency in its bucket alone: the rest comes [together](Self::successes_together).
    #[inline(always)]
    pub fn bucket(&self, label: u16, latency_ns: u64) {
        add(&self.lines[label as usize].latency.counts[histogram::bucket_of(latency_ns)], 1);
    }

    /// The buckets of a label's latencies, in the order of [`histogram::bucket_of`].
    pub fn buckets(&self, label: u16) -> *const AtomicU64 {
        self.lines[label as usize].latency.counts.as_ptr()
    }

    /// Counts successes whose latencies are in their buckets.
    pub fn successes_together(&self, label: u16, bytes: u64, together: &LatencySum) {
        let line = &self.lines[label as usize];
        add(&line.operations, together.count);
        add(&line.bytes, bytes.wrapping_mul(together.count));
        line.latency.record_sum(together);
    }

    /// Counts the two parts of a latency.
    #[inline(always)]
    pub fn parts(&self, label: u16, submission_ns: u64, completion_ns: u64) {
        if let Some(parts) = self.parts.get(label as usize) {
            parts.submission.record(submission_ns);
            parts.completion.record(completion_ns);
        }
    }

    /// Counts that a success moved less than it was asked to.
    pub fn short(&self, label: u16) {
        add(&self.lines[label as usize].short, 1);
    }

    /// Counts the latency from the actual start, beside the one from the intended start.
    #[inline(always)]
    pub fn service(&self, label: u16, service_ns: u64) {
        self.lines[label as usize].service.record(service_ns);
    }

    /// Counts how many were in flight once a batch of so many had been handed over.
    #[inline(always)]
    pub fn depth(&self, depth: usize, batch: usize) {
        add(&self.head.counts[depth.min(DEPTHS - 1)][DEPTH], batch as u64);
    }

    /// Counts that so many were handed over together.
    #[inline(always)]
    pub fn submitted(&self, batch: usize) {
        add(&self.head.counts[batch.min(DEPTHS - 1)][SUBMIT], 1);
    }

    /// Counts that so many completions came together.
    #[inline(always)]
    pub fn completed(&self, batch: usize) {
        add(&self.head.counts[batch.min(DEPTHS - 1)][COMPLETE], 1);
    }

    /// Says what the worker is doing.
    pub fn enter(&self, state: WorkerState) {
        self.head.state.store(state as u32, Relaxed);
    }

    /// Says when files began to be opened, and when they were open.
    pub fn opened(&self, began: Tick, ended: Tick) {
        self.head.opening.iter().zip([began, ended]).for_each(|(cell, tick)| cell.store(tick, Relaxed));
    }

    /// Says when files began to be closed, and when they were closed.
    pub fn closed(&self, began: Tick, ended: Tick) {
        self.head.closing.iter().zip([began, ended]).for_each(|(cell, tick)| cell.store(tick, Relaxed));
    }

    /// Says what was done when the time was up, before the worker wears out.
    pub fn wears_out(&self, at: Tick, operations: u64, bytes: u64) {
        self.head
            .worn
            .iter()
            .zip([at, operations, bytes])
            .for_each(|(cell, value)| cell.store(value, Relaxed));
    }

    /// What was done when the time was up, of a worker that then wore out.
    pub fn worn(&self, start: Tick) -> Option<WearOut> {
        let [at, operations, bytes] = [0, 1, 2].map(|cell| self.head.worn[cell].load(Relaxed));
        let (operations_least, operations_most, bytes_least) = (operations, operations, bytes);
        let at_ns = at.saturating_sub(start);
        (at > 0).then_some(WearOut {
            at_ns,
            operations_least,
            operations,
            operations_most,
            bytes_least,
            bytes,
        })
    }

    /// Operations of one label that succeeded so far.
    pub fn operations(&self, line: usize) -> u64 {
        self.lines.get(line).map_or(0, |line| line.operations.load(Relaxed))
    }

    /// When the worker began.
    pub fn began(&self) -> Tick {
        self.head.began.load(Relaxed)
    }

    /// What the worker is doing.
    pub fn state(&self) -> WorkerState {
        let states = [
            WorkerState::Starting,
            WorkerState::Waiting,
            WorkerState::Ramping,
            WorkerState::Running,
            WorkerState::Verifying,
            WorkerState::Finishing,
            WorkerState::Ended,
        ];
        states[(self.head.state.load(Relaxed) as usize).min(states.len() - 1)]
    }

    /// Counts a wait.
    pub fn wait(&self) {
        add(&self.head.waits, 1);
    }

    /// Counts a failure and keeps where the first of its kind was.
    #[cold]
    pub fn failure(&self, label: u16, verb: Verb, errno: i32, offset: u64, target: u32) {
        add(&self.lines[label as usize].failed, 1);
        let same = |error: &&ErrorCounters| {
            error.count.load(Relaxed) == 0
                || (error.verb.load(Relaxed) == verb as u32 && error.errno.load(Relaxed) == errno)
        };
        let error = self.head.errors.iter().find(same).unwrap_or(&self.head.errors[ERRORS - 1]);
        if error.count.load(Relaxed) == 0 {
            error.verb.store(verb as u32, Relaxed);
            error.errno.store(errno, Relaxed);
            error.first_offset.store(offset, Relaxed);
            error.first_target.store(u64::from(target), Relaxed);
        }
        add(&error.count, 1);
    }

    /// How many operations failed so far.
    pub fn failures(&self) -> u64 {
        self.lines.iter().map(|line| line.failed.load(Relaxed)).sum()
    }

    /// Notes CPU time, switches and faults so far.
    pub fn spend(&self, usage: &[u64; 6]) {
        self.head.usage.iter().zip(usage).for_each(|(cell, amount)| cell.store(*amount, Relaxed));
    }

    /// Notes how long it waited for a processor, and what it moved where it is a process of its own.
    pub fn account(&self, waited_ns: Option<u64>, moved: Option<[u64; 2]>) {
        self.head.waited.store(waited_ns.map_or(0, |ns| ns + 1), Relaxed);
        self.head
            .moved
            .iter()
            .zip(moved.unwrap_or_default())
            .for_each(|(cell, bytes)| cell.store(bytes, Relaxed));
    }

    /// CPU time noted so far, ns.
    pub fn spent_ns(&self) -> u64 {
        self.head.usage[0].load(Relaxed) + self.head.usage[1].load(Relaxed)
    }

    /// Says why the worker ends before its time.
    pub fn fail(&self, message: &str) {
        self.head.failure().write(message);
    }

    /// Says which depth a latency target allowed.
    pub fn found(&self, found: Option<FoundDepth>) {
        if let Some(found) = found {
            self.head.found_depth.store(found.depth + 1, Relaxed);
            self.head.found_per_second.store(found.per_second.to_bits(), Relaxed);
        }
    }

    fn found_depth(&self) -> Option<FoundDepth> {
        let depth = self.head.found_depth.load(Relaxed).checked_sub(1)?;
        Some(FoundDepth { depth, per_second: f64::from_bits(self.head.found_per_second.load(Relaxed)) })
    }

    /// Operations, bytes and the sum of latencies so far, ns.
    pub fn totals(&self) -> (u64, u64, u64) {
        self.lines.iter().fold((0, 0, 0u64), |sum, line| {
            let latency_ns = sum.2.wrapping_add(line.latency.sum.load(Relaxed));
            (sum.0 + line.operations.load(Relaxed), sum.1 + line.bytes.load(Relaxed), latency_ns)
        })
    }

    /// Says which error ended the worker, its target by handle; the first that is said stays.
    #[cold]
    pub fn end_by(&self, fatal: &Fatal) {
        let cell = &self.head.fatal;
        if cell.stage.load(Relaxed) != 0 {
            return;
        }
        cell.errno.store(fatal.errno, Relaxed);
        cell.verb.store(fatal.verb.map_or(0, |verb| verb as u32 + 1), Relaxed);
        cell.handle.store(fatal.target.map_or(0, |handle| handle + 1), Relaxed);
        cell.offset.store(fatal.offset, Relaxed);
        cell.bytes.store(fatal.bytes, Relaxed);
        cell.stage.store(fatal.stage as u32 + 1, Relaxed);
    }

    /// The error that ended the worker, its target by handle.
    pub fn ended_by(&self) -> Option<Fatal> {
        let cell = &self.head.fatal;
        let stage = match cell.stage.load(Relaxed) {
            0 => return None,
            1 => Stage::Prepare,
            2 => Stage::Start,
            _ => Stage::Run,
        };
        let verb = cell.verb.load(Relaxed).checked_sub(1);
        Some(Fatal {
            errno: cell.errno.load(Relaxed),
            stage,
            verb: verb.and_then(|verb| Verb::ALL.get(verb as usize).copied()),
            target: cell.handle.load(Relaxed).checked_sub(1),
            offset: cell.offset.load(Relaxed),
            bytes: cell.bytes.load(Relaxed),
        })
    }

    /// Why the worker ended before its time.
    pub fn failed_because(&self) -> Option<String> {
        // Asked of all workers now and then: nothing is made of nothing.
        if self.head.failure_bytes.load(Relaxed) == 0 {
            return None;
        }
        Some(self.head.failure().read()).filter(|text| !text.is_empty())
    }

    /// Says what was wrong with what was read: a sentence each, as many as there is room for.
    pub fn complain(&self, sentences: &[String]) {
        let mut text = String::new();
        for sentence in sentences {
            if text.len() + sentence.len() < COMPLAINT_WORDS * 4 {
                text.push_str(sentence);
                text.push('\n');
            }
        }
        self.head.complaints().write(&text);
    }

    /// Says how many ranges of what was read are not what was written, and how many bytes.
    pub fn count_corrupt(&self, (ranges, bytes): (u64, u64)) {
        self.head.corrupt[0].store(ranges, Relaxed);
        self.head.corrupt[1].store(bytes, Relaxed);
    }

    /// Writes down the facts of what was wrong with what was read, as many as there is room for.
    pub fn mismatch(&self, mismatches: &[Mismatch]) {
        if !mismatches.is_empty() {
            self.head.mismatches().write(&mismatch::encode(mismatches, MISMATCH_WORDS * 4));
        }
    }

    /// Operations, short ones and bytes of a verb so far.
    pub fn progress(&self, labels: &[(String, Verb)], kind: Kind) -> (u64, u64, u64) {
        labels.iter().zip(self.lines).filter(|((_, verb), _)| verb.kind() == kind).fold(
            (0, 0, 0),
            |sum, (_, line)| {
                let short = line.short.load(Relaxed);
                (sum.0 + line.operations.load(Relaxed), sum.1 + short, sum.2 + line.bytes.load(Relaxed))
            },
        )
    }

    /// Forgets everything counted so far: the ramp is over.
    #[cold]
    pub fn reset(&self) {
        for line in self.lines {
            let counters = [&line.operations, &line.bytes, &line.short, &line.untimed];
            counters.iter().for_each(|counter| counter.store(0, Relaxed));
            [&line.latency, &line.service].iter().for_each(|latencies| latencies.forget());
        }
        for parts in self.parts {
            [&parts.submission, &parts.completion].iter().for_each(|latencies| latencies.forget());
        }
        let counted = self.reachable().iter().flatten().filter(|count| count.load(Relaxed) > 0);
        counted.for_each(|count| count.store(0, Relaxed));
        self.head.live.end_ramp();
    }

    /// The worker's tally, once it is over, or so far. `start` is the phase's start line, `now` the end of what is
    /// counted for a worker that still runs.
    pub fn tally(&self, labels: &[(String, Verb)], start: Tick, now: Tick) -> Tally {
        let (began_ns, ended_ns) = self.span(start, now);
        // Opening and closing are part of the measured time, where they count.
        let began_ns = between(&self.head.opening, start).map_or(began_ns, |(opening, _)| opening);
        let ended_ns =
            between(&self.head.closing, start).map_or(ended_ns, |(_, closed)| closed.max(ended_ns));
        let mut tally = Tally {
            began_ns,
            first_done_ns: ended_ns,
            last_done_ns: ended_ns,
            waits: self.head.waits.load(Relaxed),
            series: self.series(),
            depths: self.counts(DEPTH),
            submits: self.batches(SUBMIT),
            completes: self.batches(COMPLETE),
            errors: self.errors(),
            ..Tally::default()
        };
        for (index, ((label, verb), line)) in labels.iter().zip(self.lines).enumerate() {
            if line.operations.load(Relaxed) + line.failed.load(Relaxed) > 0 {
                tally.lines.push(line.read(label, *verb, self.parts.get(index)));
            }
        }
        tally
    }

    /// When it began and ended, ns after the start line.
    fn span(&self, start: Tick, now: Tick) -> (u64, u64) {
        let (began, ended) = (self.head.began.load(Relaxed), self.head.ended.load(Relaxed));
        // A clock of an engine's own begins at 0.
        let has_begun = began > 0 || (WorkerState::Ramping..WorkerState::Ended).contains(&self.state());
        let ended = if ended == 0 && has_begun { now } else { ended };
        (began.saturating_sub(start), ended.saturating_sub(start))
    }

    /// The latencies of a direction so far.
    pub fn latency(&self, labels: &[(String, Verb)], kind: Kind) -> Histogram {
        let mut merged = Histogram::default();
        for ((_, verb), line) in labels.iter().zip(self.lines) {
            if verb.kind() == kind && line.operations.load(Relaxed) > 0 {
                merged.merge(&line.latency.histogram());
            }
        }
        merged
    }

    /// Keeps what an engine counted of its own.
    pub fn tell_facts(&self, facts: &[(&str, u64)]) {
        if !facts.is_empty() {
            let lines = facts.iter().map(|(name, value)| format!("{name} {value}\n"));
            // A number that is cut off would be another one.
            let fits = |text: &mut String, line: String| {
                text.push_str(&line);
                (text.len() <= FACT_WORDS * 4).then_some(line)
            };
            let text: String = lines.scan(String::new(), fits).collect();
            self.head.facts().write(&text);
        }
    }

    fn facts(&self) -> Vec<(String, u64)> {
        let text = self.head.facts().read();
        let fact = |line: &str| line.split_once(' ').and_then(|(n, v)| Some((n.into(), v.parse().ok()?)));
        text.lines().filter_map(fact).chain(self.head.live.by_name()).collect()
    }

    /// The worker's own row of a job's record.
    pub fn worker_record(&self, index: u32, start: Tick, now: Tick) -> WorkerRecord {
        let usage = |field: usize| self.head.usage[field].load(Relaxed);
        let (began_ns, ended_ns) = self.span(start, now);
        WorkerRecord {
            index,
            rank: 0,
            opening: between(&self.head.opening, start),
            closing: between(&self.head.closing, start),
            operations: self.lines.iter().map(|line| line.operations.load(Relaxed)).sum(),
            bytes: self.lines.iter().map(|line| line.bytes.load(Relaxed)).sum(),
            errors: self.failures(),
            began_ns,
            ended_ns,
            user_ns: usage(0),
            system_ns: usage(1),
            waited_ns: self.head.waited.load(Relaxed).checked_sub(1),
            switches: (usage(2), usage(3)),
            faults: (usage(4), usage(5)),
            failure: self.failed_because(),
            fatal: self.ended_by(),
            began_clock_ns: self.head.began_clock_ns.load(Relaxed),
            steady: None,
            found_depth: self.found_depth(),
            facts: self.facts(),
            spreads: self.head.live.spreads(),
            complaints: self.head.complaints().read().lines().map(String::from).collect(),
            mismatches: mismatch::decode(&self.head.mismatches().read()),
            corrupt_ranges: self.head.corrupt[0].load(Relaxed),
            corrupt_bytes: self.head.corrupt[1].load(Relaxed),
            pid: self.head.pid.load(Relaxed),
            tally: None,
        }
    }

    /// The counters by number, as far as the worker can have come.
    fn reachable(&self) -> &[[AtomicU64; 3]] {
        match self.head.deepest.load(Relaxed) as usize {
            0 => &self.head.counts,
            deepest => &self.head.counts[..DEPTHS.min(deepest + 1)],
        }
    }

    fn counts(&self, of: usize) -> Vec<u64> {
        let counts: Vec<u64> = self.reachable().iter().map(|counts| counts[of].load(Relaxed)).collect();
        let last = counts.iter().rposition(|count| *count > 0);
        counts[..last.map_or(0, |last| last + 1)].to_vec()
    }

    /// Hand-overs or reaps by their size, where they were counted; at depth 1 each is of one operation.
    fn batches(&self, of: usize) -> Vec<u64> {
        match (self.head.batched.load(Relaxed), self.head.deepest.load(Relaxed)) {
            (1, _) => self.counts(of),
            (_, 1) => self.counts(DEPTH),
            _ => Vec::new(),
        }
    }

    fn errors(&self) -> Vec<ErrorCount> {
        let used = self.head.errors.iter().filter(|error| error.count.load(Relaxed) > 0);
        used.map(|error| ErrorCount {
            verb: Verb::ALL[error.verb.load(Relaxed) as usize % Verb::COUNT],
            errno: error.errno.load(Relaxed),
            count: error.count.load(Relaxed),
            first_offset: error.first_offset.load(Relaxed),
            first_target: error.first_target.load(Relaxed) as u32,
        })
        .collect()
    }

    fn series(&self) -> Series {
        let rows = (self.head.rows.load(Relaxed) as usize).min(ROWS);
        let interval_ns = self.head.row_ns.load(Relaxed);
        let latencies = series::latencies(&self.head.series[..rows], self.cells);
        let rows = self.head.series[..rows].iter().map(SeriesCounters::read).collect();
        Series { interval_ns, rows, latencies }
    }
}

/// Two points in time, ns after the start line; nothing before the second.
fn between(cells: &[AtomicU64; 2], start: Tick) -> Option<(u64, u64)> {
    let [began, ended] = [0, 1].map(|cell| cells[cell].load(Relaxed));
    (ended > 0).then(|| (began.saturating_sub(start), ended.saturating_sub(start)))
}

impl LabelCounters {
    fn read(&self, label: &str, verb: Verb, parts: Option<&LatencyParts>) -> Line {
        let service = self.service.histogram();
        let part = |part: &Latencies| Some(part.histogram()).filter(|histogram| !histogram.is_empty());
        Line {
            label: label.into(),
            verb,
            operations: self.operations.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            short: self.short.load(Relaxed),
            untimed: self.untimed.load(Relaxed),
            failed: self.failed.load(Relaxed),
            latency: self.latency.histogram(),
            service: (!service.is_empty()).then_some(service),
            submission: parts.and_then(|parts| part(&parts.submission)),
            completion: parts.and_then(|parts| part(&parts.completion)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let all = CounterMapping::new(2, 1, false).unwrap();
        let labels = [("read".to_string(), Verb::Read)];
        let counters = all.of(1);
        counters.success(0, 4096, 1000);
        counters.success(0, 512, 3000);
        counters.short(0);
        counters.failure(0, Verb::Read, libc::EIO, 77, 0);
        counters.failure(0, Verb::Read, libc::EIO, 99, 0);
        let tally = counters.tally(&labels, 0, 0);
        let line = &tally.lines[0];
        assert_eq!((line.operations, line.bytes, line.short, line.failed), (2, 4608, 1, 2));
        assert_eq!((line.latency.min, line.latency.max, line.latency.mean()), (1000, 3000, 2000.0));
        assert_eq!((tally.errors[0].count, tally.errors[0].first_offset), (2, 77));
        assert!(all.of(0).tally(&labels, 0, 0).lines.is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_populated_costs_no_page_fault() {
        let faults = |populated: bool| {
            let counters = CounterMapping::new(1, 2, true).unwrap();
            let counters = counters.of(0);
            counters.head.deepest.store(64, Relaxed);
            if populated {
                counters.populate();
            }
            let before = crate::witness::usage()[5];
            for ns in (0..1_000_000).step_by(64) {
                counters.success(1, 4096, ns);
                counters.parts(1, ns, ns);
                counters.depth(64, 1);
            }
            crate::witness::usage()[5] - before
        };
        assert!(faults(false) > 8, "memory was there before");
        assert_eq!(faults(true), 0);
    }
}
