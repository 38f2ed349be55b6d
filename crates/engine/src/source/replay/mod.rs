//! A recorded workload from a file: its operations as they were read ahead, each when its timing lets it go.
//!
//! An open loop keeps the recorded times whatever the storage does, skips nothing, and counts latency from them; others wait
//! for what they waited for when they were recorded. Places, divisions and dependencies were worked out by the reader
//! ([`iodyno_trace::replay`]); here nothing allocates, locks or waits.

use std::cell::Cell;

use iodyno_model::{Extent, Job, Kind, Plan, ReplayRecord, TargetKind, Timing, Trace, Verb, Workload};
use iodyno_trace::replay::{Feed, OperationFlags, RangeOperation, ReplayOperation, Share, UNKNOWN};
use iodyno_trace::{Owners, TraceError};

use super::content::{Late, WorkerContent};
use super::{Next, SourceContext, UNTALLIED, label_of, labels};
use crate::clock::Tick;
use crate::facts::EngineFacts;
use crate::failure::Failure;
use crate::io::{
    AT_END, Files, Io, KEEP, OPEN_CREATES, OPEN_TRUNCATES, PACED, RECORDED_SUCCESS, SILENT, Slot,
    UNCHECKED_RANGE,
};
use crate::trace_file;

mod certificate;
mod ends;
mod opened;
mod ring;
pub mod tree;
mod tree_content;
mod window;

use certificate::Certificate;
pub use ends::{SharedEnds, WorkerEnds};
use opened::OpenFiles;
pub use ring::OperationRing;
use tree_content::TreeContent;
use window::{Window, WindowAnswer};

#[cfg(test)]
mod tests;

/// Descriptors of a tree that are open at once at most.
const OPEN_MOST: u32 = 4096;
/// Handles beyond those that the trace has open: files that it uses without opening them.
const SPARE: u32 = 64;

/// The longest value of an extended attribute on Linux (`XATTR_SIZE_MAX`), bytes.
pub const ATTRIBUTE_MOST: u64 = 65_536;

/// Whether a trace can be replayed, as far as the job alone decides.
///
/// # Errors
/// Timings without the times they need, factors that are none.
pub fn check(trace: &Trace, depth: u32) -> Result<(), Failure> {
    let facts = &trace.replay.facts;
    if let Timing::Scaled(factor) = trace.timing
        && (factor <= 0.0 || !factor.is_finite())
    {
        return Err(Failure::new(format!("a trace scaled by {factor}: expected more than 0")));
    }
    let needs_ends = matches!(trace.timing, Timing::ThinkTimes | Timing::Depths);
    if needs_ends && facts.records > 0 && facts.timed == 0 {
        return Err(Failure::new("the trace has no times of completion, which this timing needs")
            .hint("replay it at its recorded times, or as fast as it goes"));
    }
    if trace.timing == Timing::Pauses && depth > 1 {
        return Err(Failure::new("a trace with pauses runs at depth 1").hint("set the depth to 1"));
    }
    Ok(())
}

/// Handles that a worker needs for the files of a tree.
pub fn extra_handles(trace: &Trace) -> u32 {
    match trace.replay.tree {
        // One more, in which nothing is ever open.
        true => (trace.replay.facts.open_files * trace.replay.copies.max(1)).min(OPEN_MOST) + SPARE + 1,
        false => 0,
    }
}

/// What the workers of a job share that wait for each other's operations, of which so many are on this rank; none: they do
/// not wait.
///
/// # Errors
/// Workers that cannot wait for each other, and no memory.
pub fn shared_ends(
    job: &Job,
    engine: &EngineFacts,
    (here, all): (u32, u32),
) -> Result<Option<SharedEnds>, Failure> {
    let Workload::Trace(trace) = &job.workload else { return Ok(None) };
    if trace.path.is_none() || all <= 1 || !Feed::awaits_others(trace) {
        return Ok(None);
    }
    let lone = "workers that wait for each other's operations";
    if engine.is_virtual {
        let message = format!("{lone} have one clock, and on engine {} each has its own", engine.name);
        return Err(Failure::new(message).hint("one worker, with a depth, keeps all dependencies"));
    }
    if here < all {
        return Err(Failure::new(format!("{lone} are on one rank"))
            .hint("one rank with all workers, or another timing"));
    }
    SharedEnds::new(all).map(Some).map_err(|errno| Failure::call("mmap", errno))
}

/// Starts to read the operations of one worker ahead; `ends`: where it waits for others; `made_lengths`: of a tree whose
/// places are mapped.
///
/// # Errors
/// A trace that cannot be read.
pub fn supply(
    (plan, job, trace): (&Plan, &Job, &Trace),
    share: Share,
    files: &Files,
    engine: &EngineFacts,
    ends: Option<&SharedEnds>,
    made_lengths: Option<&[u64]>,
) -> Result<ReplaySupply, Failure> {
    let path = trace.path.clone().unwrap_or_default();
    let format = trace.format.clone();
    let lengths: Vec<u64> = match made_lengths {
        Some(made_lengths) => tree::bounds(trace, files, made_lengths),
        None => job.targets.iter().map(|index| length(plan, *index, files, engine)).collect(),
    };
    let opened = path.clone();
    let open = Box::new(move || trace_file::open(&opened, &format));
    let passes = job.limit.passes.unwrap_or(1);
    // In a tree names and files are two things: which operations meet is known where they are issued.
    let serialised = job.payload.verify.is_some() && !trace.replay.tree;
    let row_ns = certificate::row_ns(length_ns(trace).saturating_mul(passes));
    let feed = Feed::new(open, trace, passes, share, &lengths, row_ns);
    let feed = feed.map_err(|error| unreadable(&path, &error))?;
    let ring = OperationRing::start(if serialised { feed.serialised() } else { feed })?;
    Ok(ReplaySupply { ring, ends: ends.map(|ends| WorkerEnds::new(ends.clone(), share.worker)) })
}

/// How long one pass takes as it is to be played, ns; cut pauses are not subtracted.
fn length_ns(trace: &Trace) -> u64 {
    match trace.timing {
        Timing::Scaled(factor) => (trace.replay.facts.length_ns as f64 / factor) as u64,
        _ => trace.replay.facts.length_ns,
    }
}

/// How far records may reach on a target: a file that is written grows.
fn length(plan: &Plan, index: usize, files: &Files, engine: &EngineFacts) -> u64 {
    let target = &plan.targets[index];
    let opened = files.handles.iter().find(|handle| handle.target as usize == index);
    match &target.kind {
        TargetKind::File { size: Extent::Bytes(bytes), .. } | TargetKind::Nothing { bytes } => *bytes,
        TargetKind::Device { .. } if engine.uses_files => opened.map_or(0, |handle| handle.bytes),
        _ => 0,
    }
}

fn unreadable(path: &str, error: &TraceError) -> Failure {
    let failure = Failure::new(format!("{path}: {error}"));
    match &error.hint {
        Some(hint) => failure.hint(hint.clone()),
        None => failure,
    }
}

/// Replays a trace.
pub struct ReplaySource {
    ring: OperationRing,
    path: String,
    timing: Timing,
    start: Tick,
    window: Option<Box<Window>>,
    content: WorkerContent,
    /// By verb.
    labels: [u16; Verb::COUNT],
    /// By position of a target: its handle, and where the workload's part of it begins.
    handles: Box<[(u32, u64)]>,
    tree: Option<Box<OpenFiles>>,
    /// Where what a tree holds is verified.
    tree_content: Option<Box<TreeContent>>,
    certificate: Option<Box<Certificate>>,
    resolution_ns: u64,
    is_virtual: bool,
    depth: u32,
    in_flight: u32,
    /// Whether what is in flight is a call on names of a tree: nothing else is in flight beside it.
    on_names: bool,
    slots: SlotUse,
    /// By slot: what came back from the trace, and whether it was due while all slots were taken.
    flying: Box<[Flying]>,
    /// The marks of the ranges at hand, in the flags of their operations.
    range_mark: u8,
    /// By position of a target twice: what its reads, and then its writes, have in common.
    range_calls: Box<[RangeCall]>,
    /// Whether content is written or checked, and whether what came back is looked at.
    fills_ranges: bool,
    checks_ranges: bool,
    ranges_issued: RangesIssued,
    /// Of those that ended well how many were recorded to have.
    ranges_compared: u64,
    operations: u64,
    /// When the last operation ended, and when the last one began, for closed loops.
    ended: Tick,
    began: Tick,
    waiting: bool,
    over: bool,
    failure: Option<Failure>,
}

/// What the reads or writes of one target have in common.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RangeCall {
    verb: Verb,
    flags: u8,
    label: u16,
    file: u32,
    /// Where the workload's part of the target begins.
    base: u64,
}

/// Reads and writes of each target in turn.
fn range_calls(handles: &[(u32, u64)], labels: &[u16; Verb::COUNT]) -> Box<[RangeCall]> {
    let of = |(file, base): &(u32, u64)| {
        [Verb::Read, Verb::Write].map(|verb| RangeCall {
            verb,
            flags: 0,
            label: labels[verb.index()],
            file: *file,
            base: *base,
        })
    };
    handles.iter().flat_map(of).collect()
}

/// Ranges that were issued and are not in the certificate yet. What a range costs is kept low: how many were taken is known
/// to the ring, and the rest is worked out seldom.
#[derive(Clone, Copy, Debug, Default)]
struct RangesIssued {
    /// When the certificate's row ends.
    row_end: Tick,
    /// When the last one was issued.
    last: Tick,
    /// How many were taken when the rest was worked out.
    first: u64,
    /// How many ended since, and the sum of how many had been taken then.
    ended: u64,
    ended_after: u64,
    /// Worked out: how many were issued, and the sum of how many were in flight with each, itself included.
    count: u64,
    depth: u64,
}

impl RangesIssued {
    /// Works out what was issued until so many were taken, `in_flight` operations before; answers how many are in flight then.
    fn settle(&mut self, taken: u64, in_flight: u32) -> u32 {
        let (issued, before) = (taken - self.first, u64::from(in_flight));
        // What ends is missing from each range that is issued after it.
        let missing = self.ended * taken - self.ended_after;
        self.count += issued;
        self.depth += issued * before + issued * (issued + 1) / 2 - missing;
        let left = before + issued - self.ended;
        (self.first, self.ended, self.ended_after) = (taken, 0, 0);
        left as u32
    }
}

/// How long all slots were taken: what is late while they are is late because of the target.
#[derive(Clone, Copy, Debug)]
struct SlotUse {
    full_since: Tick,
    /// In all, ns.
    full_ns: u64,
    /// The last time at which an operation was issued in time, and how long they had been taken then.
    calm: (Tick, u64),
}

impl SlotUse {
    /// Whether an operation is late, and slots were taken for most of the time since one was not.
    #[inline(always)]
    fn hold(&mut self, due: Tick, now: Tick) -> bool {
        if now.saturating_sub(due) <= iodyno_truth::replay::IN_TIME_NS {
            self.calm = (now, self.full_ns);
            return false;
        }
        (self.full_ns - self.calm.1).saturating_mul(2) >= now.saturating_sub(self.calm.0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    verb: Verb,
    /// The item that an open or close concerns.
    file: u32,
    expected: i32,
    held: bool,
    /// It keeps a descriptor of its file.
    keeps: bool,
    /// A file that is opened for the record that follows.
    opens: bool,
    /// A target that is opened or closed where the trace says so, beside what is measured.
    reopens: bool,
}

impl Flying {
    const NOTHING: Flying = Flying {
        verb: Verb::Read,
        file: 0,
        expected: 0,
        held: false,
        keeps: false,
        opens: false,
        reopens: false,
    };

    /// A range with these marks.
    fn of_range(verb: Verb, marks: u8) -> Flying {
        let expected = if marks & RECORDED_SUCCESS != 0 { 0 } else { UNKNOWN };
        Flying { verb, expected, ..Flying::NOTHING }
    }
}

impl ReplaySource {
    /// A source for one worker, of what is read ahead.
    ///
    /// # Errors
    /// What the job asks for and cannot have.
    pub fn new(context: &SourceContext<'_>, trace: &Trace) -> Result<Self, Failure> {
        check(trace, context.depth)?;
        let ReplaySupply { ring, ends } = context
            .supply
            .and_then(Cell::take)
            .ok_or_else(|| Failure::new("a trace is replayed once for each start"))?;
        let known = labels(context.job);
        let label = |verb: &Verb| label_of(&known, verb.name(), *verb);
        let mut by_verb = [0; Verb::COUNT];
        Verb::ALL.iter().for_each(|verb| by_verb[verb.index()] = label(verb));
        let handle = |index: &usize| {
            let found = context.files.handles.iter().position(|handle| handle.target as usize == *index);
            found.map(|handle| (handle as u32, context.files.handles[handle].base))
        };
        let handles: Option<Box<[_]>> = context.job.targets.iter().map(handle).collect();
        let handles = handles.ok_or_else(|| Failure::new("a target of the trace is not open"))?;
        let facts = &trace.replay.facts;
        let copies = trace.replay.copies.max(1);
        let extra = extra_handles(trace);
        let first = context.files.handles.len() as u32 - extra;
        let waits = Feed::waits(trace, context.job.payload.verify.is_some() && !trace.replay.tree);
        let streams = facts.threads.max(1).saturating_mul(copies);
        let content = WorkerContent::new(context, facts.verbs.contains(&Verb::Write))?;
        let tree_content = match trace.replay.tree && content.checks() {
            true => Some(Box::new(TreeContent::new(context, handles[0].0)?)),
            false => None,
        };
        let row_ns =
            certificate::row_ns(length_ns(trace).saturating_mul(context.job.limit.passes.unwrap_or(1)));
        Ok(ReplaySource {
            ring,
            path: trace.path.clone().unwrap_or_default(),
            timing: trace.timing,
            start: context.start,
            window: waits.then(|| Box::new(Window::new(streams, context.depth, context.start, ends))),
            fills_ranges: !content.is_idle(),
            checks_ranges: content.listens(),
            content,
            labels: by_verb,
            range_calls: range_calls(&handles, &by_verb),
            handles,
            tree: trace.replay.tree.then(|| {
                Box::new(OpenFiles::new(facts.ends.len() * copies as usize, first, extra.saturating_sub(1)))
            }),
            tree_content,
            certificate: trace.replay.certified.then(|| Box::new(Certificate::new(context.start, row_ns))),
            resolution_ns: facts.resolution_ns,
            is_virtual: context.engine.is_virtual,
            depth: context.depth,
            in_flight: 0,
            on_names: false,
            slots: SlotUse { full_since: context.start, full_ns: 0, calm: (context.start, 0) },
            flying: vec![Flying::NOTHING; context.depth.max(1) as usize].into(),
            range_mark: 0,
            ranges_issued: RangesIssued { row_end: Tick::MAX, ..RangesIssued::default() },
            ranges_compared: 0,
            operations: context.job.limit.operations.unwrap_or(u64::MAX),
            ended: context.start,
            began: context.start,
            waiting: false,
            over: false,
            failure: None,
        })
    }

    /// Whether an operation's buffer may have to be filled.
    pub fn fills(&self) -> bool {
        !self.content.is_idle()
    }

    /// Writes the next operation into `io`.
    #[inline(always)]
    pub fn next(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        match self.ring.take_range() {
            Some(range) => self.issue_range(range, now, slot, io),
            None => self.next_of_others(now, slot, io),
        }
    }

    /// Issues a range: as fast as possible, beside whatever is in flight. A few instructions are all that a replay costs more
    /// than a pattern.
    #[inline(always)]
    fn issue_range(&mut self, range: RangeOperation, now: Tick, slot: Slot, io: &mut Io) -> Next {
        let call = &self.range_calls[range.index()];
        (io.verb, io.flags, io.label, io.file) = (call.verb, call.flags, call.label, call.file);
        (io.offset, io.bytes, io.other) = (range.offset + call.base, u64::from(range.bytes), 0);
        if now >= self.ranges_issued.row_end {
            self.certify_ranges(self.ring.ranges_taken() - 1, now);
        }
        self.ranges_issued.last = now;
        if self.fills_ranges {
            self.fill_range(slot, io, now);
        }
        Next::Io
    }

    /// Fills the buffer of a range. Of a read too: what it leaves there is not what was filled in.
    fn fill_range(&mut self, slot: Slot, io: &mut Io, now: Tick) {
        let marks = std::mem::take(&mut io.flags);
        self.content.ready_at(io, now);
        match self.checks_ranges {
            true => self.flying[slot as usize] = Flying::of_range(io.verb, marks),
            false => io.flags |= marks,
        }
    }

    /// Works out how many operations are in flight, once so many ranges were taken.
    fn settle_ranges(&mut self, taken: u64) {
        self.in_flight = self.ranges_issued.settle(taken, self.in_flight);
    }

    /// Puts the ranges that were issued, until so many were taken, into the certificate.
    #[cold]
    #[inline(never)]
    fn certify_ranges(&mut self, taken: u64, now: Tick) {
        self.settle_ranges(taken);
        let issued = &mut self.ranges_issued;
        let (count, depth) = (std::mem::take(&mut issued.count), std::mem::take(&mut issued.depth));
        issued.row_end = match &mut self.certificate {
            Some(certificate) => {
                certificate.issued_before(count, depth, issued.last);
                certificate.row_end(now)
            }
            None => Tick::MAX,
        };
    }

    #[inline(never)]
    fn next_of_others(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        self.settle_ranges(self.ring.ranges_taken());
        if self.over || self.operations == 0 {
            return Next::Done;
        }
        if self.window.is_some() {
            return self.next_of_window(now, slot, io);
        }
        if self.is_virtual {
            // What the reader takes is no time of the replay.
            self.ring.await_next();
        }
        if self.ring.ranges() > 0 {
            self.begin_ranges();
            return self.next(now, slot, io);
        }
        self.next_in_order(now, slot, io)
    }

    /// A batch of ranges comes next.
    fn begin_ranges(&mut self) {
        self.ring.limit_ranges(usize::try_from(self.operations).unwrap_or(usize::MAX));
        let count = self.ring.ranges() as u64;
        self.operations -= if self.operations == u64::MAX { 0 } else { count };
        let mark = UNCHECKED_RANGE | if self.ring.ranges_succeeded { RECORDED_SUCCESS } else { 0 };
        if mark != std::mem::replace(&mut self.range_mark, mark) {
            self.range_calls.iter_mut().for_each(|call| call.flags = mark);
        }
        // The row may have changed with other operations.
        self.ranges_issued.row_end = 0;
    }

    #[inline(always)]
    fn next_in_order(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        let Some(&operation) = self.ring.peek() else { return self.dry() };
        let due = match self.timing {
            Timing::AsFast | Timing::ThinkTimes | Timing::Dependencies | Timing::Depths => now,
            Timing::AsRecorded | Timing::Scaled(_) | Timing::NoEarlier => self.start + operation.due_ns,
            Timing::Gaps => self.began.saturating_add(operation.due_ns),
            Timing::Pauses if self.in_flight > 0 => return Next::Wait,
            Timing::Pauses => self.ended.saturating_add(operation.due_ns),
        };
        if due > now {
            self.waiting = true;
            return Next::Later(due);
        }
        if (operation.flags.is_ordered() || operation.edges[0] > 0) && self.in_flight > 0 {
            return Next::Wait;
        }
        if self.is_in_the_way(&operation) {
            return Next::Wait;
        }
        // What a timer is late does not add up; what the storage is late does.
        self.began = if std::mem::take(&mut self.waiting) { due } else { now };
        if self.write(&operation, now, due, slot, io) {
            self.ring.take();
        }
        Next::Io
    }

    #[inline(never)]
    fn next_of_window(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        let Some(window) = &mut self.window else { return Next::Done };
        let mut released = window.next(now, &mut self.ring);
        while released == WindowAnswer::Starved && self.is_virtual {
            self.ring.await_filled();
            released = window.next(now, &mut self.ring);
        }
        let (number, ready) = match released {
            WindowAnswer::Operation(number, ready) => (number, ready),
            WindowAnswer::Later(tick) => return Next::Later(tick),
            WindowAnswer::Wait => return Next::Wait,
            WindowAnswer::Done => {
                self.over = true;
                return self.dry();
            }
            WindowAnswer::Starved => return self.dry(),
        };
        let operation = *window.operation(number);
        if let Some(tree) = &mut self.tree {
            while let Some(item) = window.renamed() {
                tree.forget(item);
            }
        }
        if self.is_in_the_way(&operation) {
            return Next::Wait;
        }
        let due = if operation.due_ns > 0 { self.start + operation.due_ns } else { ready };
        if self.write(&operation, now, due, slot, io)
            && let Some(window) = &mut self.window
        {
            window.begin(number, slot);
        }
        Next::Io
    }

    /// Whether what is in flight must end before an operation of this verb: in a tree, calls on names are made alone, so
    /// that no handle is closed, and no name goes, while something uses it.
    #[inline(always)]
    fn is_in_the_way(&self, operation: &ReplayOperation) -> bool {
        self.in_flight > 0
            && self.tree.is_some()
            && (self.on_names
                || operation.verb.kind() == Kind::Metadata
                || operation.verb == Verb::Clone
                || self.meets(operation))
    }

    /// Whether an operation of a tree that is verified touches the bytes of one in flight.
    #[inline(never)]
    fn meets(&self, operation: &ReplayOperation) -> bool {
        let (Some(content), Some(tree)) = (&self.tree_content, &self.tree) else { return false };
        let Some(handle) = tree.of(operation.file) else { return false };
        let appends = operation.flags.has(OperationFlags::APPENDS);
        let offset = if appends { AT_END } else { operation.offset };
        content.is_in_the_way(handle, operation.verb, offset, operation.bytes)
    }

    /// Nothing is there: the end, or the reader is behind.
    #[cold]
    fn dry(&mut self) -> Next {
        if self.ring.is_over() {
            self.over = true;
            if let Some(Err(error)) = self.ring.outcome() {
                self.failure = Some(unreadable(&self.path, &error));
            }
            return Next::Done;
        }
        if let Some(certificate) = &mut self.certificate {
            certificate.starved += 1;
        }
        Next::Wait
    }

    /// Writes an operation into `io`. Answers no where another one has to come before: the file is opened first.
    #[inline(always)]
    fn write(&mut self, operation: &ReplayOperation, now: Tick, due: Tick, slot: Slot, io: &mut Io) -> bool {
        let mut flying = Flying {
            verb: operation.verb,
            file: operation.file,
            expected: operation.expected,
            held: self.slots.hold(due, now),
            ..Flying::NOTHING
        };
        *io = Io { buffer: io.buffer, started: io.started, ..self.call(operation, &mut flying) };
        self.flying[slot as usize] = flying;
        self.on_names = self.tree.is_some() && (io.verb.kind() == Kind::Metadata || io.verb == Verb::Clone);
        if flying.opens || flying.reopens {
            self.in_flight += 1;
            return flying.reopens;
        }
        if !matches!(self.timing, Timing::AsFast | Timing::Gaps | Timing::NoEarlier | Timing::Pauses) {
            io.flags |= PACED;
            io.intended = due;
        }
        if self.ranges_issued.count > 0 {
            self.certify_ranges(self.ring.ranges_taken(), now);
        }
        if let Some(certificate) = &mut self.certificate {
            certificate.issued(now, self.in_flight);
        }
        self.in_flight += 1;
        if self.in_flight == self.depth {
            self.slots.full_since = now;
        }
        self.operations -= u64::from(self.operations != u64::MAX);
        if !self.content.is_idle() {
            match &mut self.tree_content {
                Some(tree) => tree.ready(&mut self.content, slot, io),
                None => self.content.ready_at(io, now),
            }
        }
        true
    }

    /// The call that an operation is.
    #[inline(always)]
    fn call(&mut self, operation: &ReplayOperation, flying: &mut Flying) -> Io {
        let (verb, label) = (operation.verb, self.labels[operation.verb.index()]);
        if self.tree.is_some() {
            return self.call_on_tree(operation, label, flying);
        }
        let (file, base) = self.handles[operation.file as usize];
        if matches!(verb, Verb::Open | Verb::Close) {
            flying.reopens = true;
            return Io { verb, flags: SILENT, file, ..Io::default() };
        }
        Io { verb, label, file, offset: operation.offset + base, bytes: operation.bytes, ..Io::default() }
    }

    #[inline(never)]
    fn call_on_tree(&mut self, operation: &ReplayOperation, label: u16, flying: &mut Flying) -> Io {
        let (set, item, verb) = (self.handles[0].0, u64::from(operation.file), operation.verb);
        let on_item = Io { verb, label, file: set, offset: item, ..Io::default() };
        let Some(tree) = &mut self.tree else { return on_item };
        match verb {
            Verb::Open | Verb::Create => {
                let said = |flag, bit| if operation.flags.has(flag) { bit } else { 0 };
                // Where as many are open as may be, it is closed again at once.
                let Some(handle) = tree.open(operation.file) else { return on_item };
                flying.keeps = true;
                let other = opened::kept(handle, operation.bytes)
                    | said(OperationFlags::CREATES, OPEN_CREATES)
                    | said(OperationFlags::TRUNCATES, OPEN_TRUNCATES);
                Io { flags: KEEP, other, ..on_item }
            }
            // What was never opened here is open in a handle of nothing: closing it fails as it would have.
            Verb::Close => {
                Io { file: tree.close(operation.file).unwrap_or(tree.nothing()), offset: 0, ..on_item }
            }
            Verb::Rename | Verb::Link | Verb::Symlink => {
                tree.forget(operation.other);
                Io { other: operation.other.into(), ..on_item }
            }
            Verb::Chown => {
                let Owners { user, group } = Owners::from_bytes(operation.bytes);
                // −1 leaves an owner as it is.
                let number = |owner: Option<u32>| u64::from(owner.unwrap_or(u32::MAX));
                Io { other: number(user) << 32 | number(group), ..on_item }
            }
            Verb::Chmod => Io { other: operation.bytes & 0o7777, ..on_item },
            Verb::Truncate => Io { bytes: operation.bytes, ..on_item },
            Verb::Mknod => Io { other: operation.bytes, ..on_item },
            Verb::Setxattr | Verb::Getxattr | Verb::Listxattr | Verb::Removexattr => {
                // The attribute's name is an item too, counted from 1.
                let other = if operation.other == u32::MAX { 0 } else { u64::from(operation.other) + 1 };
                Io { other, bytes: operation.bytes.min(ATTRIBUTE_MOST), ..on_item }
            }
            Verb::Clone if tree.of(operation.other).is_none() => {
                // Its source is opened first.
                let Some(handle) = tree.lend(operation.other) else {
                    return Io { file: tree.nothing(), ..on_item };
                };
                flying.opens = true;
                let (offset, other) = (operation.other.into(), opened::kept(handle, 0o644));
                Io { verb: Verb::Open, flags: KEEP | SILENT, offset, other, ..on_item }
            }
            verb if is_by_name(verb) => on_item,
            _ => {
                let handle = tree.of(operation.file).unwrap_or_else(|| match tree.lend(operation.file) {
                    Some(handle) => {
                        flying.opens = true;
                        handle
                    }
                    None => tree.nothing(),
                });
                if flying.opens {
                    let other = opened::kept(handle, 0o644);
                    return Io { verb: Verb::Open, flags: KEEP | SILENT, other, ..on_item };
                }
                let at_end = operation.flags.has(OperationFlags::APPENDS);
                let offset = if at_end { AT_END } else { operation.offset };
                let (file, other) = match verb {
                    Verb::Clone => (tree.of(operation.other).unwrap_or(tree.nothing()), handle.into()),
                    Verb::Fallocate => (handle, u64::from(operation.other)),
                    _ => (handle, 0),
                };
                Io { verb, label, file, offset, bytes: operation.bytes, other, ..Io::default() }
            }
        }
    }

    /// Hears of a completion.
    #[inline(always)]
    pub fn done(&mut self, slot: Slot, io: &mut Io, result: i64, now: Tick) -> i64 {
        if io.flags & UNCHECKED_RANGE != UNCHECKED_RANGE || result < 0 {
            return self.done_with_others(slot, io, result, now);
        }
        self.ranges_issued.ended += 1;
        self.ranges_issued.ended_after += self.ring.ranges_taken();
        self.ranges_compared += u64::from(io.flags & RECORDED_SUCCESS != 0);
        result
    }

    #[inline(never)]
    fn done_with_others(&mut self, slot: Slot, io: &mut Io, result: i64, now: Tick) -> i64 {
        self.settle_ranges(self.ring.ranges_taken());
        let flying = match io.flags & UNCHECKED_RANGE == UNCHECKED_RANGE {
            true => Flying::of_range(io.verb, io.flags),
            false => self.flying[slot as usize],
        };
        if self.in_flight == self.depth {
            self.slots.full_ns += now.saturating_sub(self.slots.full_since);
        }
        self.in_flight -= 1;
        self.ended = now;
        if flying.opens {
            // The record follows; where this failed it finds its handle closed, and fails by itself.
            if let Some(certificate) = &mut self.certificate {
                certificate.opened += u64::from(result >= 0);
            }
            if let Some(tree) = &mut self.tree_content {
                tree.done(&mut self.content, slot, io, result);
            }
            return UNTALLIED;
        }
        if let Some(window) = &mut self.window {
            window.end(slot, now);
        }
        if flying.reopens {
            if result < 0 && flying.verb == Verb::Open {
                let errno = i32::try_from(-result).unwrap_or(libc::EIO);
                self.failure
                    .get_or_insert_with(|| Failure::call("a file of the trace cannot be opened", errno));
                self.over = true;
            }
            return UNTALLIED;
        }
        let checked = match &mut self.tree_content {
            _ if !self.content.listens() => result,
            Some(tree) => tree.done(&mut self.content, slot, io, result),
            None => self.content.done(io, result),
        };
        if result < 0
            && flying.keeps
            && let Some(tree) = &mut self.tree
        {
            tree.close(flying.file);
        }
        if let Some(certificate) = &mut self.certificate {
            if io.flags & PACED != 0 {
                certificate.late(io.started.saturating_sub(io.intended), flying.held);
            }
            if certificate.result(flying.verb, flying.expected, result) {
                // The error that was recorded is what was to come.
                io.bytes = 0;
                return 0;
            }
        }
        checked
    }

    /// The time is up: nothing more.
    pub fn wind_up(&mut self) {
        self.over = true;
        self.ring.limit_ranges(0);
    }

    /// Whether an operation is held back until its time.
    pub fn is_waiting(&self) -> bool {
        self.waiting || self.window.as_ref().is_some_and(|window| window.is_waiting())
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub fn content(&self) -> &WorkerContent {
        &self.content
    }

    /// The worker is done: what helpers found after all.
    pub fn close(&mut self) -> Vec<Late> {
        self.content.close().unwrap_or_else(|failure| {
            self.failure.get_or_insert(failure);
            Vec::new()
        })
    }

    /// How faithful it was, where that is measured.
    pub fn certificate(&mut self) -> Option<ReplayRecord> {
        self.certify_ranges(self.ring.ranges_taken(), self.ranges_issued.last);
        let certificate = self.certificate.as_mut()?;
        certificate.judged = self.tree_content.as_ref().map_or([0; 2], |tree| tree.judged);
        certificate.compared += std::mem::take(&mut self.ranges_compared);
        let taken = self.ring.is_empty() && self.window.as_ref().is_none_or(|window| !window.is_waiting());
        let feed = match self.ring.close() {
            Some(Ok(report)) => report,
            _ => return None,
        };
        let ended_early = !taken || !feed.complete;
        Some(certificate.record(self.timing, self.resolution_ns, ended_early, feed))
    }
}

/// Whether a call names its file rather than having it open.
fn is_by_name(verb: Verb) -> bool {
    verb.kind() == Kind::Metadata
        && !matches!(
            verb,
            Verb::Clone | Verb::Fallocate | Verb::Fadvise | Verb::Fstat | Verb::Lock | Verb::Unlock
        )
}

/// What a worker's source is made of.
pub struct ReplaySupply {
    pub ring: OperationRing,
    pub ends: Option<WorkerEnds>,
}

/// What is read ahead for a worker until its source is made.
pub type Supply = Cell<Option<ReplaySupply>>;
