//! The operations of one worker, from the records of a trace: which of them are its own, when each is due, where it goes,
//! and what it waits for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use iodyno_model::{Division, Kind, ReasonCount, Remap, Replay, ReplayRow, Timing, Trace, Verb, replay};

use super::dependency::{Dependencies, Waits};
use super::distance::Pair;
use super::ranges::RangeReader;
use super::{
    EDGES_MOST, MadeNodes, OperationBatch, OperationFlags, Placement, ReplayOperation, UNKNOWN, WINDOW,
    replayed,
};
use crate::{Batch, FileKind, RecordFlags, RecordSource, TraceError, TraceRecord};

/// Opens the trace anew, for each pass.
pub type Opener = Box<dyn FnMut() -> Result<Box<dyn RecordSource + Send>, TraceError> + Send>;

/// Completions that are kept to know how many were in flight.
const IN_FLIGHT_MOST: usize = 1 << 16;
/// A thread that was not met yet.
const UNMET: u32 = u32::MAX;
/// Completions of one thread that are kept to find the last before an issue.
const THREAD_MOST: usize = 64;

/// Which of several workers it is.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub worker: u32,
    pub workers: u32,
}

/// What a feed has seen and done.
#[derive(Clone, Debug, Default)]
pub struct FeedReport {
    /// Operations that the worker's records come to, with those that were left out.
    pub recorded: u64,
    /// From the first to the last time at which one is due, ns.
    pub length_ns: u64,
    pub skipped: Vec<ReasonCount>,
    pub changed: Vec<ReasonCount>,
    pub size_distance: f64,
    pub offset_distance: f64,
    /// What was due in each row, and how many were in flight in the trace.
    pub rows: Vec<ReplayRow>,
    pub depth_known: bool,
    /// Whether all of the trace has become operations.
    pub complete: bool,
}

/// The flags that say what an operation waits for.
const ORDER: OperationFlags = OperationFlags::BARRIER.with(OperationFlags::THINKS);

/// Makes operations of records.
pub struct Feed {
    open: Opener,
    pub(super) source: Box<dyn RecordSource + Send>,
    batch: Batch,
    /// The next record, of the batch or of the columns.
    pub(super) at: usize,
    /// Where records are read as columns.
    ranges: Option<Box<RangeReader>>,
    pub(super) trace: Trace,
    passes_left: u64,
    share: Share,
    /// By position of a target, or by file of a tree.
    pub(super) places: Vec<Placement>,
    pub(super) clock: ReplayClock,
    pub(super) sequence: u64,
    /// Records of this worker met in this pass, for dependencies that count records.
    pub(super) numbers: RecordNumbers,
    dependencies: Vec<Dependencies>,
    threads: Vec<ThreadState>,
    /// By number of a recorded thread: its stream, which is its place in `threads`; [`UNMET`]: none yet.
    streams: Vec<u32>,
    pub(super) report: FeedReport,
    row_ns: u64,
    /// The row of the last operation, and when it ends.
    pub(super) row: (usize, u64),
    /// Positions that each copy has for itself.
    pub(super) own_positions: usize,
    pub(super) sizes: Pair,
    pub(super) offsets: Pair,
    flying: BinaryHeap<Reverse<u64>>,
    /// What is handed out next.
    pub(super) ready: Vec<ReplayOperation>,
    /// What the last record has become beyond that.
    excess: Vec<ReplayOperation>,
    /// When the operation before was due, for gaps.
    last_due_ns: u64,
    /// The next operation is the first of a pass that waits for the one before.
    fence: bool,
    nodes: MadeNodes,
    /// By file of a tree, the workers that have it open, the last one last.
    holders: HashMap<u32, Vec<u64>>,
    is_serialised: bool,
    /// Whether what other workers issue is known as well, so that it can be waited for.
    knows_others: bool,
    /// Whether a read or write becomes one operation that waits for nothing and is this worker's.
    is_plain: bool,
    pub(super) is_over: bool,
}

/// From the trace's time to that of the replay.
pub(super) struct ReplayClock {
    factor: f64,
    idle_most_ns: u64,
    last_ns: u64,
    cut_ns: u64,
    /// When this pass begins.
    pub base_ns: u64,
    now_ns: u64,
}

impl ReplayClock {
    pub fn to(&mut self, at_ns: u64) -> u64 {
        let idle = at_ns.saturating_sub(self.last_ns);
        if self.idle_most_ns > 0 && idle > self.idle_most_ns {
            self.cut_ns += idle - self.idle_most_ns;
        }
        self.last_ns = self.last_ns.max(at_ns);
        let at_ns = at_ns.saturating_sub(self.cut_ns);
        let scaled = if self.factor == 1.0 { at_ns } else { self.scaled(at_ns) };
        self.now_ns = self.now_ns.max(self.base_ns + scaled);
        self.now_ns
    }

    /// Apart, so that a division is not done where its result is not wanted.
    #[inline(never)]
    fn scaled(&self, at_ns: u64) -> u64 {
        (at_ns as f64 / self.factor) as u64
    }

    /// The next pass begins when the last record of this one is due.
    fn again(&mut self) {
        (self.base_ns, self.last_ns, self.cut_ns) = (self.now_ns, 0, 0);
    }
}

/// Which operation each of the last records became.
#[derive(Default)]
pub(super) struct RecordNumbers {
    pub met: u64,
    last: VecDeque<(u64, Became)>,
}

/// The operations that a record became: the first of them, and how many each copy has.
#[derive(Clone, Copy)]
struct Became {
    first: u64,
    each: u64,
}

impl Became {
    /// The last operation of a copy.
    fn last(self, copy: u32) -> u64 {
        self.first + self.each * (u64::from(copy) + 1) - 1
    }
}

/// What is known of a recorded thread.
#[derive(Default)]
struct ThreadState {
    /// When records ended in the trace, and what they became; the oldest first.
    ended: VecDeque<(u64, Became)>,
    /// Completions in flight, for its depth.
    flying: Vec<u64>,
}

impl Feed {
    /// `lengths`: of each target of the job, or of each file of its tree, how long it is; 0: nothing bounds it. `row_ns`:
    /// the length of a row of the report.
    ///
    /// # Errors
    /// What makes the trace unreadable.
    pub fn new(
        mut open: Opener,
        trace: &Trace,
        passes: u64,
        share: Share,
        lengths: &[u64],
        row_ns: u64,
    ) -> Result<Feed, TraceError> {
        let mut source = open()?;
        let settings = &trace.replay;
        let factor = match trace.timing {
            Timing::Scaled(factor) => factor,
            Timing::Gaps | Timing::Pauses => settings.gap_speed_percent.max(1) as f64 / 100.0,
            _ => 1.0,
        };
        let mut recorded = vec![0; lengths.len()];
        let own = own_positions(trace);
        for (file, end) in settings.facts.ends.iter().enumerate() {
            for copy in 0..settings.copies.max(1) as usize {
                let position = position(trace, own, file, copy);
                if let Some(known) = position.and_then(|position| recorded.get_mut(position)) {
                    let shift = settings.copy_shift_bytes.saturating_mul(copy as u64);
                    *known = (*known).max(end.saturating_add(shift));
                }
            }
        }
        let places = lengths.iter().zip(recorded).map(|(length, end)| Placement::new(settings, end, *length));
        let ranges = source.columns().and_then(|_| RangeReader::of(trace, share));
        Ok(Feed {
            source,
            ranges,
            open,
            batch: Batch::new(),
            at: 0,
            passes_left: passes.max(1),
            share,
            places: places.collect(),
            clock: ReplayClock {
                factor,
                idle_most_ns: settings.idle_most_ns,
                last_ns: 0,
                cut_ns: 0,
                base_ns: 0,
                now_ns: 0,
            },
            sequence: 0,
            numbers: RecordNumbers::default(),
            dependencies: (0..settings.copies.max(1)).map(|_| Dependencies::default()).collect(),
            threads: Vec::new(),
            streams: Vec::new(),
            report: FeedReport { depth_known: settings.facts.timed > 0, ..FeedReport::default() },
            row_ns: row_ns.max(1),
            row: (0, 0),
            own_positions: own,
            sizes: Pair::default(),
            offsets: Pair::default(),
            flying: BinaryHeap::new(),
            ready: Vec::new(),
            excess: Vec::new(),
            last_due_ns: 0,
            fence: false,
            nodes: MadeNodes::default(),
            holders: HashMap::new(),
            is_serialised: false,
            knows_others: share.workers > 1 && Feed::awaits_others(trace),
            is_plain: is_plain(trace, share),
            is_over: false,
            trace: Trace { entries: Vec::new(), ..trace.clone() },
        })
    }

    /// The same for content that is verified: no two operations that touch the same range are in flight together.
    pub fn serialised(mut self) -> Feed {
        (self.is_serialised, self.is_plain, self.ranges) = (true, false, None);
        self.dependencies.iter_mut().for_each(|known| *known = Dependencies::of_ranges());
        self
    }

    /// Whether operations of such a trace wait for each other, so that they are held in a window; else each is issued as
    /// soon as it is due. `verified`: its content is verified.
    pub fn waits(trace: &Trace, verified: bool) -> bool {
        match trace.timing {
            Timing::ThinkTimes | Timing::Dependencies | Timing::Depths => true,
            // Times between starts have an order: what waits for another one holds those behind it up.
            Timing::Gaps | Timing::Pauses => false,
            _ => trace.replay.facts.flushes || verified,
        }
    }

    /// Whether workers that divide such a trace wait for each other's operations.
    pub fn awaits_others(trace: &Trace) -> bool {
        trace.timing == Timing::Dependencies && trace.replay.division != Division::Whole
    }

    /// Puts the next operations into a batch, at most `most`; none: it is over.
    ///
    /// # Errors
    /// What makes the rest of the trace unreadable, or does not fit its target.
    pub fn fill(&mut self, most: usize, batch: &mut OperationBatch) -> Result<(), TraceError> {
        batch.clear();
        std::mem::swap(&mut self.ready, &mut batch.operations);
        self.ready.append(&mut self.excess);
        let filled = match self.ranges.take() {
            Some(mut reader) => {
                let filled = match self.is_over {
                    true => Ok(()),
                    false => self.fill_ranges(&mut reader, most, &mut batch.ranges),
                };
                batch.ranges_succeeded = reader.knows_results(self.at);
                self.ranges = Some(reader);
                filled
            }
            None => self.fill_ready(most),
        };
        if self.ready.len() > most {
            self.excess.extend(self.ready.drain(most..));
        }
        std::mem::swap(&mut self.ready, &mut batch.operations);
        filled
    }

    fn fill_ready(&mut self, most: usize) -> Result<(), TraceError> {
        while self.ready.len() < most && !self.is_over {
            if self.at == self.batch.len() && !self.refill()? {
                self.is_over = true;
                break;
            }
            let batch = std::mem::take(&mut self.batch);
            let mut made = Ok(());
            while self.at < batch.len() && self.ready.len() < most && made.is_ok() {
                let record = &batch[self.at];
                if !self.is_plain || !self.plain(record) {
                    made = self.record(record);
                }
                self.at += 1;
            }
            self.batch = batch;
            made?;
        }
        Ok(())
    }

    /// What it has come to.
    pub fn report(&self) -> FeedReport {
        FeedReport {
            size_distance: self.sizes.distance(),
            offset_distance: self.offsets.distance(),
            complete: self.is_over,
            ..self.report.clone()
        }
    }

    /// Whether there are further records.
    fn refill(&mut self) -> Result<bool, TraceError> {
        self.at = 0;
        self.source.next_batch(&mut self.batch)?;
        while self.batch.is_empty() {
            if !self.begin_pass()? {
                return Ok(false);
            }
            self.source.next_batch(&mut self.batch)?;
        }
        Ok(true)
    }

    /// Opens the trace once more, if there is another pass and this one had any record.
    pub(super) fn begin_pass(&mut self) -> Result<bool, TraceError> {
        self.passes_left -= 1;
        if self.passes_left == 0 || self.numbers.met == 0 {
            self.passes_left = 1;
            return Ok(false);
        }
        self.source = (self.open)()?;
        self.clock.again();
        self.pass_begins();
        Ok(true)
    }

    /// Another pass: what it waits for is the end of the one before.
    fn pass_begins(&mut self) {
        self.numbers = RecordNumbers::default();
        self.flying.clear();
        if !self.is_serialised {
            self.dependencies.iter_mut().for_each(|known| *known = Dependencies::default());
        }
        for thread in &mut self.threads {
            // It goes on as long after its last operation as it began after the start.
            let last = thread.ended.iter().max_by_key(|(ended, _)| *ended).map(|(_, became)| (0, *became));
            thread.ended = last.into_iter().collect();
            thread.flying.clear();
        }
        self.fence = self.trace.timing == Timing::Dependencies;
    }

    /// The same as [`record`](Feed::record) for a read or write that goes where it was recorded: nearly all of most
    /// traces. Answers no where it is another one.
    #[inline(always)]
    pub(super) fn plain(&mut self, record: &TraceRecord) -> bool {
        let (verb, TraceRecord { offset, bytes, .. }) = (record.verb, *record);
        let is_write = verb == Verb::Write;
        let is_flushed =
            is_write && (record.flags.has(RecordFlags::PREFLUSH) || record.flags.has(RecordFlags::FUA));
        if !(is_write || verb == Verb::Read) || bytes == 0 || is_flushed {
            return false;
        }
        let position = position(&self.trace, self.own_positions, record.file as usize, 0);
        let place = position.and_then(|position| self.places.get(position));
        let stream = self.streams.get(record.thread as usize).copied().unwrap_or(UNMET);
        let kind = self.source.tables().files.get(record.file as usize).map(|file| file.kind);
        if stream == UNMET
            || kind == Some(FileKind::Other)
            || place.and_then(|place| place.of(offset, bytes)) != Some((offset, bytes))
        {
            return false;
        }
        let due_ns = self.clock.to(record.at_ns);
        self.numbers.met += 1;
        self.report.recorded += 1;
        if self.trace.replay.certified {
            self.sizes.both(bytes);
            self.offsets.both(offset);
        }
        let depth_recorded = self.depth(record);
        self.due(due_ns, 1, depth_recorded);
        self.sequence += 1;
        self.ready.push(ReplayOperation {
            due_ns: if self.trace.timing == Timing::AsFast { 0 } else { due_ns },
            offset,
            bytes,
            file: position.map_or(record.file, |position| position as u32),
            other: record.other.unwrap_or(u32::MAX),
            stream: stream.min(self.trace.replay.facts.threads.max(1) - 1),
            expected: expected(record),
            verb,
            flags: flags(record, verb),
            ..ReplayOperation::NOTHING
        });
        true
    }

    pub(super) fn record(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let due_ns = self.clock.to(record.at_ns);
        let number = self.numbers.met;
        self.numbers.met += 1;
        if self.trace.replay.tree && self.trace.replay.remap != Remap::No {
            self.follow_names(record);
        }
        if matches!(record.verb, Verb::Mkfifo | Verb::Mknod | Verb::Rename | Verb::Link) {
            // Whoever makes it.
            self.nodes.allow(record);
        }
        let Share { worker, workers } = self.share;
        let dealt = match self.trace.replay.division {
            Division::Threads => u64::from(record.thread),
            Division::Files => u64::from(record.file),
            Division::Turns => number,
            Division::Whole => u64::from(worker),
        };
        let owner = self.holder(record, dealt % u64::from(workers.max(1)));
        if workers > 1 && owner != u64::from(worker) {
            if self.knows_others {
                self.elsewhere(record, number, owner as u32);
            }
            return Ok(());
        }
        let copies = self.trace.replay.copies.max(1);
        self.report.recorded += u64::from(copies);
        let depth_recorded = self.depth(record);
        let verb = match self.kept(record) {
            Ok(verb) => verb,
            Err(reason) => {
                replay::count(&mut self.report.skipped, &reason, copies.into());
                (0..copies).for_each(|copy| self.left_out(record, copy));
                return Ok(());
            }
        };
        self.due(due_ns, copies, depth_recorded);
        let first = self.sequence;
        for copy in 0..copies {
            self.operation(record, verb, copy, due_ns)?;
        }
        let each = (self.sequence - first) / u64::from(copies);
        if each > 0 {
            self.remember(record, number, Became { first, each });
        }
        Ok(())
    }

    /// Whose a record is that falls to a worker: a close in a tree is that of whoever has the file open.
    fn holder(&mut self, record: &TraceRecord, owner: u64) -> u64 {
        let is_shared = self.share.workers > 1 && self.trace.replay.division != Division::Whole;
        if !is_shared || !self.trace.replay.tree || record.result.is_some_and(|result| result < 0) {
            return owner;
        }
        match record.verb {
            Verb::Open | Verb::Create => self.holders.entry(record.file).or_default().push(owner),
            Verb::Close => {
                let holders = self.holders.get_mut(&record.file);
                return holders.and_then(Vec::pop).unwrap_or(owner);
            }
            _ => {}
        }
        owner
    }

    /// In a tree whose places are mapped, a length goes with its file and not with its name.
    fn follow_names(&mut self, record: &TraceRecord) {
        if record.result.is_some_and(|result| result < 0) {
            return;
        }
        for copy in 0..self.trace.replay.copies.max(1) {
            let own = self.own_file(copy, record.file) as usize;
            let Some(place) = self.places.get(own).copied() else { continue };
            match (record.verb, record.other) {
                (Verb::Rename | Verb::Link, Some(other)) => {
                    let other = self.own_file(copy, other) as usize;
                    if let Some(before) = self.places.get_mut(other) {
                        *before = place.renamed(*before);
                    }
                    if record.verb == Verb::Rename && other != own {
                        self.places[own] = place.unbounded();
                    }
                }
                (Verb::Unlink | Verb::Create, _) => self.places[own] = place.unbounded(),
                _ => {}
            }
        }
    }

    /// A record of another worker: what follows may wait for the operations that it becomes there.
    fn elsewhere(&mut self, record: &TraceRecord, number: u64, owner: u32) {
        let Ok(verb) = self.kept(record) else { return };
        let copies = self.trace.replay.copies.max(1);
        let first = self.sequence;
        for copy in 0..copies {
            let own = |file: u32| self.own_file(copy, file);
            let (file, other) = (own(record.file), record.other.map_or(u32::MAX, own));
            if !self.trace.replay.tree
                && position(&self.trace, self.own_positions, record.file as usize, copy as usize).is_none()
            {
                continue;
            }
            let carried = self.carried(record, verb).into_iter().map(u64::from).sum::<u64>();
            if record.after.is_none() {
                let numbers = (self.sequence, self.sequence + carried);
                let (header, tables) = (self.source.header(), self.source.tables());
                self.dependencies[copy as usize].of(numbers, record, header, tables);
            }
            let flags = flags(record, verb).with(OperationFlags::ELSEWHERE);
            for _ in 0..=carried {
                let nothing = ReplayOperation::NOTHING;
                self.push(ReplayOperation { verb, file, other, flags, stream: owner, ..nothing });
            }
        }
        let each = (self.sequence - first) / u64::from(copies);
        if each > 0 {
            self.remember(record, number, Became { first, each });
        }
    }

    /// Whether a write becomes a flush before it, and one after it.
    fn carried(&self, record: &TraceRecord, verb: Verb) -> [bool; 2] {
        let carries = |flag| verb == Verb::Write && !self.trace.replay.tree && record.flags.has(flag);
        [carries(RecordFlags::PREFLUSH), carries(RecordFlags::FUA)]
    }

    /// The number of a file of a tree, each copy's its own.
    fn own_file(&self, copy: u32, file: u32) -> u32 {
        (copy as usize * self.files() + file as usize) as u32
    }

    /// The verb that is issued for a record, or why none is.
    fn kept(&mut self, record: &TraceRecord) -> Result<Verb, String> {
        let settings = &self.trace.replay;
        if settings.skip.contains(&record.verb) {
            return Err(format!("{}: left out as asked", record.verb));
        }
        let file = self.source.tables().files.get(record.file as usize);
        if file.is_some_and(|file| file.kind == FileKind::Other) && !self.nodes.allow(record) {
            return Err("pipes, sockets and terminals are not replayed".into());
        }
        if !settings.tree && position(&self.trace, self.own_positions, record.file as usize, 0).is_none() {
            return Err("its file has no target".into());
        }
        let named = record.verb.kind() == Kind::Metadata && record.verb != Verb::Fallocate;
        let opens = settings.opens && matches!(record.verb, Verb::Open | Verb::Close);
        if named && !settings.tree && !opens {
            return Err(format!("{}: names are not replayed on devices and files", record.verb));
        }
        if record.verb == Verb::Clone {
            match record.other {
                _ if !settings.tree => return Err("clones are replayed in a tree alone".into()),
                Some(_) if record.flags.has(RecordFlags::SAME_RANGE) => {}
                _ => {
                    return Err(
                        "clones of another range: where it lies in the source was not recorded".into()
                    );
                }
            }
        }
        let is_attribute = matches!(record.verb, Verb::Setxattr | Verb::Getxattr | Verb::Removexattr);
        if let Some(name) = record.other.filter(|_| is_attribute)
            && let Some(name) = self.source.tables().files.get(name as usize)
            && !name.name.starts_with("user.")
        {
            return Err("attributes outside of `user.` are the system's: not replayed".into());
        }
        let second = matches!(record.verb, Verb::Rename | Verb::Link | Verb::Symlink);
        if second && record.other.is_none() {
            return Err(format!("{}: its second name was not recorded", record.verb));
        }
        if record.verb == Verb::Chown && record.bytes == 0 {
            return Err("chown: it changes no owner, or which was not recorded".into());
        }
        let verb = replayed(record.verb).ok_or_else(|| format!("{} is not replayed", record.verb))?;
        if verb.moves_data() && record.bytes == 0 {
            return Err("transfers of 0 bytes".into());
        }
        Ok(verb)
    }

    fn files(&self) -> usize {
        self.trace.replay.facts.ends.len().max(1)
    }

    /// The recorded offset of one copy.
    fn shifted(&self, record: &TraceRecord, copy: u32) -> u64 {
        record.offset.saturating_add(self.trace.replay.copy_shift_bytes.saturating_mul(copy.into()))
    }

    /// Counts a copy that is not issued in the distributions of the trace.
    fn left_out(&mut self, record: &TraceRecord, copy: u32) {
        if record.verb.moves_data() {
            self.sizes.recorded(record.bytes);
            self.offsets.recorded(self.shifted(record, copy));
        }
    }

    /// Counts a copy in the distributions of the trace and of what is issued.
    fn distribution(&mut self, record: &TraceRecord, copy: u32, verb: Verb, (offset, bytes): (u64, u64)) {
        let shifted = self.shifted(record, copy);
        match (record.verb.moves_data(), verb.moves_data()) {
            (true, true) if (shifted, record.bytes) == (offset, bytes) => {
                self.sizes.both(bytes);
                self.offsets.both(offset);
            }
            (was_moved, is_moved) => {
                if was_moved {
                    self.left_out(record, copy);
                }
                if is_moved {
                    self.sizes.issued(bytes);
                    self.offsets.issued(offset);
                }
            }
        }
    }

    /// How many were in flight in the trace once this one was issued, of all this worker's records; 0: unknown.
    fn depth(&mut self, record: &TraceRecord) -> u64 {
        self.depth_at(record.at_ns, record.ended_ns())
    }

    pub(super) fn depth_at(&mut self, at_ns: u64, ended_ns: Option<u64>) -> u64 {
        let Some(ended) = ended_ns else { return 0 };
        while self.flying.peek().is_some_and(|Reverse(end)| *end <= at_ns) {
            self.flying.pop();
        }
        if self.flying.len() < IN_FLIGHT_MOST {
            self.flying.push(Reverse(ended));
        }
        self.flying.len() as u64
    }

    /// Counts what is due in its row.
    pub(super) fn due(&mut self, due_ns: u64, copies: u32, depth: u64) {
        self.report.length_ns = due_ns;
        if due_ns >= self.row.1 {
            let row = due_ns / self.row_ns;
            self.row = ((row as usize).min(replay::ROWS_MOST - 1), (row + 1).saturating_mul(self.row_ns));
            self.report.rows.resize(self.row.0 + 1, ReplayRow::default());
        }
        let row = self.row.0;
        self.report.rows[row].due += u64::from(copies);
        self.report.rows[row].depth_recorded += depth * u64::from(copies);
    }

    /// One copy of a record, with the flushes that it carries.
    fn operation(
        &mut self,
        record: &TraceRecord,
        verb: Verb,
        copy: u32,
        due_ns: u64,
    ) -> Result<(), TraceError> {
        let file = match self.trace.replay.tree {
            true => self.own_file(copy, record.file),
            false => match position(&self.trace, self.own_positions, record.file as usize, copy as usize) {
                Some(position) => position as u32,
                None => {
                    self.left_out(record, copy);
                    return Ok(());
                }
            },
        };
        let (offset, bytes) = self.place(record, verb, copy, file)?;
        let stream = self.stream(record, copy);
        let mut operation = ReplayOperation {
            due_ns: self.time(due_ns),
            offset,
            bytes,
            think_ns: 0,
            file,
            other: match verb {
                Verb::Fallocate => record.flags.allocation(),
                _ => record.other.map_or(u32::MAX, |other| self.own_file(copy, other)),
            },
            stream,
            depth: 0,
            expected: expected(record),
            edges: [0; EDGES_MOST],
            verb,
            flags: flags(record, verb),
        };
        let flush = |operation: &ReplayOperation| ReplayOperation {
            offset: 0,
            bytes: 0,
            verb: Verb::Fdatasync,
            flags: OperationFlags::ADDED,
            expected: UNKNOWN,
            think_ns: 0,
            ..*operation
        };
        let [before, after] = self.carried(record, verb);
        let last = self.sequence + u64::from(before) + u64::from(after);
        self.order(record, copy, last, &mut operation);
        if before {
            // It waits in the write's place, and the write for it.
            let think_ns = operation.think_ns;
            let first = flush(&operation);
            let flags = OperationFlags(first.flags.0 | operation.flags.0 & ORDER.0);
            self.push(ReplayOperation { flags, think_ns, ..first });
            let flags = operation.flags.without(ORDER);
            // The time since the operation before has passed already.
            let due_ns = if self.keeps_gaps() { 0 } else { operation.due_ns };
            operation =
                ReplayOperation { due_ns, edges: [1, 0, 0, 0], think_ns: 0, depth: 0, flags, ..operation };
        }
        self.push(operation);
        if after {
            let last = ReplayOperation { edges: [1, 0, 0, 0], depth: 0, due_ns: 0, ..flush(&operation) };
            self.push(last);
        }
        if self.trace.replay.certified {
            self.distribution(record, copy, verb, (offset, bytes));
        }
        Ok(())
    }

    /// The number of a record's thread, each copy's its own.
    fn stream(&mut self, record: &TraceRecord, copy: u32) -> u32 {
        let threads = self.trace.replay.facts.threads.max(1);
        let known = self.streams.get(record.thread as usize).copied().filter(|stream| *stream != UNMET);
        let stream = known.unwrap_or_else(|| self.meet(record.thread));
        copy * threads + stream.min(threads - 1)
    }

    /// The stream of a thread that was not met before.
    #[cold]
    fn meet(&mut self, thread: u32) -> u32 {
        let (index, stream) = (thread as usize, self.threads.len() as u32);
        if self.streams.len() <= index {
            self.streams.resize(index + 1, UNMET);
        }
        self.streams[index] = stream;
        self.threads.push(ThreadState::default());
        stream
    }

    /// What is known of a record's thread, once that was met.
    fn thread(&mut self, record: &TraceRecord) -> Option<&mut ThreadState> {
        let stream = *self.streams.get(record.thread as usize)?;
        self.threads.get_mut(stream as usize)
    }

    fn push(&mut self, mut operation: ReplayOperation) {
        self.sequence += 1;
        if std::mem::take(&mut self.fence) {
            operation.flags = operation.flags.with(OperationFlags::FENCE);
        }
        // What is in flight on a file holds it open, and what follows may need it.
        if !self.trace.replay.tree && matches!(operation.verb, Verb::Open | Verb::Close) {
            operation.flags = operation.flags.with(OperationFlags::FENCE);
        }
        if operation.flags.has(OperationFlags::ADDED) {
            replay::count(&mut self.report.changed, "a write's own flush is a sync beside it", 1);
        }
        self.ready.push(operation);
    }

    /// Whether times between starts are kept, rather than times since the start.
    fn keeps_gaps(&self) -> bool {
        matches!(self.trace.timing, Timing::Gaps | Timing::Pauses)
    }

    /// When an operation is due, in the terms of its timing.
    fn time(&mut self, due_ns: u64) -> u64 {
        match self.trace.timing {
            Timing::AsRecorded | Timing::Scaled(_) | Timing::NoEarlier => due_ns,
            Timing::Gaps | Timing::Pauses => {
                let gap = due_ns - self.last_due_ns;
                self.last_due_ns = due_ns;
                gap
            }
            Timing::AsFast | Timing::ThinkTimes | Timing::Dependencies | Timing::Depths => 0,
        }
    }

    fn place(
        &mut self,
        record: &TraceRecord,
        verb: Verb,
        copy: u32,
        file: u32,
    ) -> Result<(u64, u64), TraceError> {
        let ranged = verb.moves_data() || matches!(verb, Verb::Trim | Verb::Fallocate | Verb::SyncFileRange);
        let stays = self.trace.replay.tree && self.trace.replay.remap == Remap::No;
        let appends = self.trace.replay.tree && record.flags.has(RecordFlags::APPEND);
        if verb == Verb::Truncate && !stays {
            let place = self.places.get(file as usize);
            return Ok((record.offset, place.map_or(record.bytes, |place| place.of_end(record.bytes))));
        }
        if stays || appends || !ranged {
            return Ok((record.offset, record.bytes));
        }
        let offset =
            record.offset.saturating_add(self.trace.replay.copy_shift_bytes.saturating_mul(copy.into()));
        let place = self.places.get(file as usize).copied();
        let Some((to, bytes)) =
            place.map_or(Some((offset, record.bytes)), |place| place.of(offset, record.bytes))
        else {
            let message =
                format!("a {verb} of {} bytes at byte {offset} does not fit its target", record.bytes);
            return Err(TraceError::new(message).hint(match self.trace.replay.remap {
                Remap::No => {
                    "--remap linear, modulo or hash maps the places of the trace to a smaller target"
                }
                _ => "a target is at least as long as each transfer",
            }));
        };
        if (to, bytes) != (offset, record.bytes) {
            let aligned = self.trace.replay.align_bytes > 0
                && to / self.trace.replay.align_bytes.max(1) == offset / self.trace.replay.align_bytes.max(1);
            let reason = if aligned { "aligned" } else { "moved to the target's places" };
            replay::count(&mut self.report.changed, reason, 1);
        }
        Ok((to, bytes))
    }

    /// What an operation waits for; `last`: the number of the last operation that its record becomes.
    fn order(&mut self, record: &TraceRecord, copy: u32, last: u64, operation: &mut ReplayOperation) {
        match self.trace.timing {
            Timing::ThinkTimes => self.think(record, copy, operation),
            Timing::Dependencies => {
                let waits = match record.after {
                    Some(after) => self.after(after.back, copy, after.think_ns, operation),
                    None => self.dependencies[copy as usize].of(
                        (self.sequence, last),
                        record,
                        self.source.header(),
                        self.source.tables(),
                    ),
                };
                operation.edges = waits.edges;
                if waits.has_others {
                    self.wait_for_others(copy as usize);
                }
            }
            Timing::Depths => {
                let mut thread = self.thread(record);
                if copy == 0
                    && let Some(thread) = &mut thread
                {
                    thread.flying.retain(|end| *end > record.at_ns);
                    thread.flying.push(record.ended_ns().unwrap_or(record.at_ns + 1));
                }
                operation.depth = thread.map_or(1, |thread| thread.flying.len().max(1) as u32);
            }
            _ if self.is_serialised => self.serialise(copy, last, operation),
            _ => {}
        }
    }

    /// Waits for all before that touch the same range, wherever that is now.
    fn serialise(&mut self, copy: u32, last: u64, operation: &mut ReplayOperation) {
        let ReplayOperation { verb, file, offset, bytes, .. } = *operation;
        let place = TraceRecord::new(0, verb, file, offset, bytes);
        let shared = usize::from(self.trace.replay.copy_shift_bytes == 0) * copy as usize;
        let (header, tables) = (self.source.header(), self.source.tables());
        let waits = self.dependencies[shared].of((self.sequence, last), &place, header, tables);
        operation.edges = waits.edges;
        // Where each is issued after the one before it, it waits for all that are in flight.
        if waits.has_others && Feed::waits(&self.trace, true) {
            self.wait_for_others(shared);
        }
    }

    /// Hands the edges out that have no place in the operation that follows.
    fn wait_for_others(&mut self, dependencies: usize) {
        for distances in self.dependencies[dependencies].others().chunks(EDGES_MOST) {
            let mut more = ReplayOperation { flags: OperationFlags::MORE, ..ReplayOperation::NOTHING };
            for (edge, distance) in more.edges.iter_mut().zip(distances) {
                *edge = *distance as u32;
            }
            self.ready.push(more);
        }
    }

    /// A dependency that the trace itself tells.
    fn after(&self, back: u64, copy: u32, think_ns: u64, operation: &mut ReplayOperation) -> Waits {
        let number = (self.numbers.met - 1).checked_sub(back);
        let found = number.and_then(|number| {
            let at = self.numbers.last.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            Some(self.sequence - self.numbers.last[at].1.last(copy))
        });
        operation.think_ns = think_ns;
        let mut waits = Waits::default();
        if let Some(distance) = found.filter(|distance| *distance < u64::from(WINDOW)) {
            waits.edges[0] = distance as u32;
        }
        waits
    }

    /// After the last of its thread that had ended when it was issued; before one has, at its recorded time.
    fn think(&mut self, record: &TraceRecord, copy: u32, operation: &mut ReplayOperation) {
        if let Some(after) = record.after {
            let waits = self.after(after.back, copy, after.think_ns, operation);
            operation.edges = waits.edges;
            operation.flags = operation.flags.with(OperationFlags::THINKS);
            return;
        }
        let now_ns = self.clock.now_ns;
        let sequence = self.sequence;
        let Some(thread) = self.thread(record) else { return };
        let has_ended = |(ended, _): &&(u64, Became)| *ended <= record.at_ns;
        let last = thread.ended.iter().filter(has_ended).max_by_key(|(ended, _)| *ended);
        let Some((ended, became)) = last.copied() else {
            operation.due_ns = now_ns;
            return;
        };
        operation.think_ns = record.at_ns - ended;
        operation.edges[0] = u32::try_from(sequence - became.last(copy)).unwrap_or(u32::MAX);
        operation.flags = operation.flags.with(OperationFlags::THINKS);
        if copy == 0 {
            thread.ended.retain(|(other, _)| *other >= ended);
        }
    }

    /// Notes what a record became, for those that follow.
    fn remember(&mut self, record: &TraceRecord, number: u64, became: Became) {
        if !matches!(self.trace.timing, Timing::ThinkTimes | Timing::Dependencies) {
            return;
        }
        if self.numbers.last.len() == WINDOW as usize {
            self.numbers.last.pop_front();
        }
        self.numbers.last.push_back((number, became));
        if self.trace.timing == Timing::ThinkTimes
            && let Some(thread) = self.thread(record)
        {
            if thread.ended.len() == THREAD_MOST {
                thread.ended.pop_front();
            }
            thread.ended.push_back((record.ended_ns().unwrap_or(record.at_ns), became));
        }
    }
}

/// Whether a trace has a record become one operation of the one worker, at the position of its file.
pub(super) fn is_plain(trace: &Trace, share: Share) -> bool {
    let Replay { tree, copies, copy_shift_bytes, skip, .. } = &*trace.replay;
    let timed =
        matches!(trace.timing, Timing::AsRecorded | Timing::Scaled(_) | Timing::NoEarlier | Timing::AsFast);
    let one = *copies <= 1 && *copy_shift_bytes == 0 && share.workers <= 1;
    timed && one && !tree && skip.is_empty()
}

/// How many positions each copy of a trace has for itself.
fn own_positions(trace: &Trace) -> usize {
    match trace.replay.map.is_empty() {
        true => trace.replay.facts.ends.len().max(1),
        false => trace.replay.map.iter().flatten().max().map_or(0, |most| most + 1),
    }
}

/// The position of a file's target in the job's list; `own`: how many each copy has.
pub(super) fn position(trace: &Trace, own: usize, file: usize, copy: usize) -> Option<usize> {
    let settings = &trace.replay;
    let position = match settings.map.is_empty() {
        true => file,
        false => settings.map.get(file).copied().flatten()?,
    };
    Some(if settings.copy_shift_bytes == 0 { copy * own + position } else { position })
}

fn expected(record: &TraceRecord) -> i32 {
    match record.result {
        None => UNKNOWN,
        Some(0..) => 0,
        Some(errno) => i32::try_from(-errno).unwrap_or(UNKNOWN),
    }
}

fn flags(record: &TraceRecord, verb: Verb) -> OperationFlags {
    let mut flags = OperationFlags::default();
    if record.flags == RecordFlags::default() {
        return flags;
    }
    let of = [
        (RecordFlags::CREATED, OperationFlags::CREATES),
        (RecordFlags::TRUNCATED, OperationFlags::TRUNCATES),
        (RecordFlags::APPEND, OperationFlags::APPENDS),
    ];
    for (recorded, flag) in of {
        let applies = if flag == OperationFlags::APPENDS { verb == Verb::Write } else { verb == Verb::Open };
        if applies && record.flags.has(recorded) {
            flags = flags.with(flag);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MemorySource;
    use crate::format::Reader;

    /// All operations of a trace and what is told of them, in batches of a few.
    fn fed(mut feed: Feed) -> String {
        let (mut all, mut batch) = (Vec::new(), OperationBatch::default());
        let outcome = loop {
            let filled = feed.fill(7, &mut batch);
            let succeeded = if batch.ranges_succeeded { 0 } else { UNKNOWN };
            all.extend(batch.operations.iter().copied());
            all.extend(batch.ranges.iter().map(|range| ReplayOperation {
                offset: range.offset,
                bytes: range.bytes.into(),
                file: range.position(),
                expected: succeeded,
                verb: if range.is_write() { Verb::Write } else { Verb::Read },
                ..ReplayOperation::NOTHING
            }));
            match filled {
                Ok(()) if batch.is_empty() => break Ok(()),
                Ok(()) => assert!(batch.operations.is_empty() || batch.ranges.is_empty()),
                Err(error) => break Err(error),
            }
        };
        if feed.ranges.is_some() || feed.trace.timing == Timing::AsFast {
            // They say nothing where each is issued after the one before it, and outside of a tree.
            for operation in &mut all {
                (operation.stream, operation.other) = (0, u32::MAX);
                operation.flags = operation.flags.without(OperationFlags::APPENDS);
            }
        }
        format!("{all:?} {outcome:?} {:?}", feed.report())
    }

    fn feed(open: Opener, trace: &Trace, lengths: &[u64]) -> Feed {
        Feed::new(open, trace, 2, Share { worker: 0, workers: 1 }, lengths, 1 << 30).unwrap()
    }

    /// A trace most of whose records are reads and writes, some of which fit a small target.
    fn mostly_plain(source: &mut MemorySource, timing: Timing, align: u64) -> Trace {
        for (index, record) in source.records.iter_mut().enumerate() {
            // Of one in three anything may be.
            if index % 3 > 0 {
                record.verb = if index % 2 == 0 { Verb::Read } else { Verb::Write };
                record.flags.0 &= !3;
                (record.offset, record.bytes) = (record.offset >> 8, record.bytes >> 8);
            }
        }
        let mut trace = Trace::of(Vec::new(), timing);
        trace.replay.certified = true;
        trace.replay.align_bytes = align;
        trace.replay.facts.threads = source.tables.threads.len() as u32;
        trace.replay.facts.ends = vec![u64::MAX; source.tables.files.len()];
        trace
    }

    proptest! {
        #[test]
        fn what_is_plain_becomes_what_anything_becomes(
            source in crate::testing::traces(),
            timing in 0..3usize,
            length in prop_oneof![Just(0), any::<u64>()],
            align in prop_oneof![Just(0), Just(4096u64)],
        ) {
            let mut source = source;
            let timing = [Timing::AsRecorded, Timing::Scaled(1.5), Timing::AsFast][timing];
            let trace = mostly_plain(&mut source, timing, align);
            let lengths = vec![length; source.tables.files.len()];
            let both = [true, false].map(|is_plain| {
                let source = source.clone();
                let open = move || Ok(Box::new(source.clone()) as Box<dyn RecordSource + Send>);
                let mut feed = feed(Box::new(open), &trace, &lengths);
                feed.is_plain &= is_plain;
                fed(feed)
            });
            prop_assert_eq!(&both[0], &both[1]);
        }

        #[test]
        fn columns_become_what_their_records_become(
            source in crate::testing::traces(),
            fewest in 1..9usize,
            most_bytes in prop_oneof![Just(1u64), Just(1 << 20), Just(u64::MAX)],
            row in any::<bool>(),
            length in prop_oneof![Just(0), any::<u64>()],
            align in prop_oneof![Just(0), Just(4096u64)],
            certified in any::<bool>(),
        ) {
            let mut source = source;
            let mut trace = mostly_plain(&mut source, Timing::AsFast, align);
            trace.replay.certified = certified;
            for record in &mut source.records {
                record.bytes = 1 + record.bytes % most_bytes;
                if row {
                    (record.result, record.latency_ns) = (Some(0), None);
                }
            }
            let lengths = vec![length; source.tables.files.len()];
            let bytes = crate::testing::written(&source);
            let both = [true, false].map(|by_columns| {
                let bytes = bytes.clone();
                let open = move || {
                    let reader = Reader::new(std::io::Cursor::new(bytes.clone()))?;
                    Ok(Box::new(reader) as Box<dyn RecordSource + Send>)
                };
                let mut feed = feed(Box::new(open), &trace, &lengths);
                feed.ranges = feed.ranges.filter(|_| by_columns);
                assert_eq!(feed.ranges.is_some(), by_columns);
                feed.ranges.iter_mut().for_each(|reader| reader.fewest = fewest);
                fed(feed)
            });
            let told = |text: &str| match certified {
                true => text.to_string(),
                // Times are only told of: without a certificate they are not read.
                false => text.split(" FeedReport").next().unwrap_or_default().to_string(),
            };
            prop_assert_eq!(told(&both[0]), told(&both[1]));
        }
    }
}
