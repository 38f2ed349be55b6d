//! What a replay measures of itself: how late operations were, what came back, how many were in flight over time.
//!
//! Counters only, in memory that is there from the start; the distributions of the trace are counted where it is read.

use iodyno_model::histogram::{BUCKETS, bucket_of};
use iodyno_model::{Histogram, ReasonCount, ReplayRecord, ReplayRow, ResultCount, Timing, Verb, replay};
use iodyno_trace::replay::{FeedReport, UNKNOWN};

use crate::clock::Tick;

/// Kinds of results that are told apart; more of them are counted as the last.
const RESULTS_MOST: usize = 64;

pub(super) struct Certificate {
    start: Tick,
    row_ns: u64,
    row: usize,
    row_end: Tick,
    rows: Box<[ReplayRow]>,
    /// Issued in this row so far, and the sum of how many were in flight at each.
    row_issued: u64,
    row_depth: u64,
    lateness: Box<[u64]>,
    sum: u128,
    least: u64,
    most: u64,
    within: [u64; 2],
    held: u64,
    issued: u64,
    last: Tick,
    pub compared: u64,
    results: Vec<ResultCount>,
    pub starved: u64,
    /// Files that were opened because a record used them without opening them.
    pub opened: u64,
    /// Bytes of a tree that were checked, and bytes that were read but not judged.
    pub judged: [u64; 2],
}

/// The limits that shares are told of, ns.
const WITHIN_NS: [u64; 2] = [100_000, 1_000_000];

impl Certificate {
    pub fn new(start: Tick, row_ns: u64) -> Certificate {
        Certificate {
            start,
            row_ns,
            row: 0,
            row_end: start + row_ns,
            rows: vec![ReplayRow::default(); replay::ROWS_MOST].into(),
            row_issued: 0,
            row_depth: 0,
            lateness: vec![0; BUCKETS].into(),
            sum: 0,
            least: u64::MAX,
            most: 0,
            within: [0; 2],
            held: 0,
            issued: 0,
            last: 0,
            compared: 0,
            results: Vec::with_capacity(RESULTS_MOST),
            starved: 0,
            opened: 0,
            judged: [0; 2],
        }
    }

    /// An operation is issued beside so many others.
    #[inline(always)]
    pub fn issued(&mut self, now: Tick, in_flight: u32) {
        if now >= self.row_end {
            self.turn(now);
        }
        self.row_issued += 1;
        self.row_depth += u64::from(in_flight) + 1;
        self.last = now;
    }

    /// Operations that were issued in this row, the last of them then: how many, and the sum of how many were in flight with
    /// each.
    pub fn issued_before(&mut self, count: u64, depth: u64, last: Tick) {
        self.row_issued += count;
        self.row_depth += depth;
        self.last = self.last.max(last);
    }

    /// When the row of a time ends.
    pub fn row_end(&mut self, now: Tick) -> Tick {
        if now >= self.row_end {
            self.turn(now);
        }
        self.row_end
    }

    /// What was counted goes into its row.
    fn settle(&mut self) {
        let (issued, depth) = (std::mem::take(&mut self.row_issued), std::mem::take(&mut self.row_depth));
        let row = &mut self.rows[self.row];
        row.issued += issued;
        row.depth_issued += depth;
        self.issued += issued;
    }

    #[cold]
    fn turn(&mut self, now: Tick) {
        self.settle();
        let row = (now.saturating_sub(self.start) / self.row_ns) as usize;
        self.row = row.min(self.rows.len() - 1);
        self.row_end = match row < self.rows.len() {
            true => self.start + (row as u64 + 1) * self.row_ns,
            false => Tick::MAX,
        };
    }

    /// How late an operation was; `held`: all slots were taken when it was due.
    #[inline(always)]
    pub fn late(&mut self, ns: u64, held: bool) {
        self.lateness[bucket_of(ns)] += 1;
        self.sum += u128::from(ns);
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
        self.within[0] += u64::from(ns <= WITHIN_NS[0]);
        self.within[1] += u64::from(ns <= WITHIN_NS[1]);
        self.held += u64::from(held && ns > WITHIN_NS[0]);
    }

    /// What came back beside what was recorded. Answers whether it is the recorded error.
    pub fn result(&mut self, verb: Verb, recorded: i32, got: i64) -> bool {
        if recorded == UNKNOWN {
            return false;
        }
        self.compared += 1;
        let got = if got < 0 { i32::try_from(-got).unwrap_or(i32::MAX) } else { 0 };
        if got == 0 && recorded == 0 {
            return false;
        }
        let same =
            |known: &&mut ResultCount| (known.verb, known.recorded, known.got) == (verb, recorded, got);
        let has_room = self.results.len() < RESULTS_MOST;
        match self.results.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None if has_room => {
                self.results.push(ResultCount { verb, recorded, got, count: 1 });
            }
            None => self.results[RESULTS_MOST - 1].count += 1,
        }
        got == recorded
    }

    pub fn record(
        &mut self,
        timing: Timing,
        resolution_ns: u64,
        ended_early: bool,
        feed: FeedReport,
    ) -> ReplayRecord {
        self.settle();
        let count: u64 = self.lateness.iter().sum();
        let least = if count > 0 { self.least } else { 0 };
        let used = self.rows.iter().rposition(|row| row.issued > 0).map_or(0, |last| last + 1);
        let mut rows = feed.rows;
        rows.resize(rows.len().max(used), ReplayRow::default());
        for (row, own) in rows.iter_mut().zip(&self.rows) {
            (row.issued, row.depth_issued) = (own.issued, own.depth_issued);
        }
        let mut changed = feed.changed;
        if self.opened > 0 {
            let reason = "opened although the trace did not say so".to_string();
            changed.push(ReasonCount { reason, count: self.opened });
        }
        ReplayRecord {
            timing,
            recorded: feed.recorded,
            issued: self.issued,
            recorded_ns: feed.length_ns,
            // From the start, where the first record is due, so that workers with parts of a trace have one length.
            issued_ns: self.last.saturating_sub(self.start),
            resolution_ns,
            lateness: Histogram::from_counts(self.lateness.iter().copied(), self.sum, least, self.most),
            within_100us: self.within[0],
            within_1ms: self.within[1],
            held_by_depth: self.held,
            starved: self.starved,
            row_ns: self.row_ns,
            rows,
            ended_early,
            depth_known: feed.depth_known,
            size_distance: feed.size_distance,
            offset_distance: feed.offset_distance,
            skipped: feed.skipped,
            changed,
            compared: self.compared,
            results: self.results.clone(),
            checked_bytes: self.judged[0],
            unjudged_bytes: self.judged[1],
        }
    }
}

/// The length of a row: some hundred of them, at most a thousand, of a length that reads well.
pub(super) fn row_ns(length_ns: u64) -> u64 {
    const STEPS: [u64; 9] = [
        10_000_000,
        100_000_000,
        1_000_000_000,
        5_000_000_000,
        10_000_000_000,
        60_000_000_000,
        300_000_000_000,
        600_000_000_000,
        3_600_000_000_000,
    ];
    let fits = |step: &u64| length_ns / step < 300;
    STEPS.into_iter().find(fits).unwrap_or(STEPS[STEPS.len() - 1])
}
