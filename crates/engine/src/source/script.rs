//! A written workload: its steps in order, one at a time, with buffers that carry bytes from a read to a write.
//!
//! The engine's only interpreter: labels, repeats, composites timed as one, pauses, shared objects, pools of
//! items, and the transfers that copying tools need (whole records, padding, gathering, holes). It refuses depth:
//! a script is one user. What it cannot run it refuses when it is made, all of it at once ([`compile`]).

use iodyno_model::{Offset, Per, Script, Verb};

use super::random::Random;
use super::shared::{Answer, Object};
use super::{BlockCopy, Next, SourceContext};
use crate::clock::{NEVER, Tick};
use crate::coroutine;
use crate::distribution::Sizes;
use crate::failure::Failure;
use crate::io::{AT_END, AT_POSITION, DIRECTORY, FORGIVEN, Io, KEEP, PACED, SILENT};

mod buffer;
pub(crate) mod compile;
mod completion;
mod convert;
mod file;
mod listing;
mod pool;
mod requests;

use buffer::{Buffer, buffers};
use compile::{Code, CompiledOperation, Compiler, Length, OperationDetail, Spot, Use, Which};
use file::{FileState, clear_direct, file, give_back, manner, offset, pick_item, place, seek};

/// How soon an object that says "wait" is asked again, ns.
const ASK_AGAIN_NS: u64 = 50_000;

/// The same where whoever waits is woken by the change: only that it ends at all if there is none, ns.
const UNASKED_NS: u64 = 1_000_000_000;

/// How long a worker sleeps at most before it looks whether it is to stop, ns.
const LOOKS_NS: u64 = 10_000_000;

/// What a read asks for that goes on to the end of a file nobody knows the length of, bytes.
const TO_THE_END: u64 = u64::MAX >> 2;

/// How long a shared pool must have been empty before it ends a worker that it is to end, ns.
const EMPTY_NS: u64 = 2_000_000;

/// The fact of lines that were longer than the records they became.
const TRUNCATED: &str = "truncated";

/// `POSIX_FADV_DONTNEED`, as every system of ours numbers it.
const DONT_NEED: u64 = 4;

/// Runs a script.
pub struct ScriptSource {
    code: Vec<Code>,
    at: usize,
    /// Runs of the present step still to come, beside the one that is due; none yet when it is new.
    left: Option<u64>,
    composites: Vec<Composite>,
    files: Vec<FileState>,
    buffers: Vec<Buffer>,
    /// By label: what its last operation moved.
    results: Vec<u64>,
    random: Random,
    flight: Flight,
    discards: Vec<Discard>,
    /// A range that was just moved and is to leave the cache: handle, offset, bytes.
    behind: Option<(u32, u64, u64)>,
    pause: Option<(Tick, Tick)>,
    waiting_since: Option<Tick>,
    moved_in_pass: bool,
    limits: Limits,
    counts: LabelCounts,
    ending: bool,
    background: Background,
    /// What each call of a whole file's operation moves at most, bytes.
    chunk: u64,
    /// Which of its slots an operation that works in several is in.
    rotor: u32,
    /// The item of the last operation that picked one.
    last_item: u64,
    requests: requests::RequestProgress,
    /// Where the last read or write that had a place of its own began.
    last_place: u64,
    /// Memory in which places are drawn, bytes; 0: each operation begins where its buffer does.
    arena: u64,
    /// Whether anything asks how long items are meant to be.
    asks_sizes: bool,
    /// Whether the end of a file is the engine's to find.
    finds_end: bool,
    /// Why it ends, where that may be taken back.
    rest: Rest,
    /// Whether its time goes on while it sleeps.
    sleeps: bool,
}

/// What was handed over and is not waited for.
struct Background {
    /// By label: whether it is such an operation's.
    labels: Vec<bool>,
    flying: u32,
    /// A step that waits for some of them: when it began, and how many may stay.
    reaping: Option<(Tick, u32)>,
}

impl Background {
    fn new(code: &[Code], labels: usize) -> Self {
        let mut background = Background { labels: vec![false; labels], flying: 0, reaping: None };
        for code in code {
            if let Code::Do(step, _) = code {
                background.labels[step.label as usize] |= step.background;
            }
        }
        background
    }

    fn is_of(&self, label: u16) -> bool {
        self.flying > 0 && self.labels[label as usize]
    }
}

/// Between two passes of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Nothing is to happen there.
    No,
    /// It is to stop there.
    Wanted,
    /// It has stopped there, because it was to.
    Here,
    /// It has stopped there, because that was its last pass.
    Last,
}

struct Limits {
    passes: u64,
    operations: u64,
    bytes: u64,
    /// Bytes count once, when they are read: the script carries them from reads to writes.
    reads_only: bool,
}

/// Operations and bytes so far, by label, and of those that others look at too, the counts that they share.
struct LabelCounts {
    own: Vec<(u64, u64)>,
    /// Composites and control steps that were done; they are no operations of the worker's.
    marks: Vec<u64>,
    shared: Vec<SharedLabel>,
}

/// A label whose operations, or bytes, are counted for everybody.
struct SharedLabel {
    label: u16,
    bytes: bool,
    object: Object,
}

impl LabelCounts {
    fn new(context: &SourceContext<'_>) -> Self {
        let labels = super::labels(context.job);
        let shared = context.shared.map(|shared| shared.watched(&labels)).unwrap_or_default();
        let shared = shared.into_iter().map(|(label, bytes, object)| SharedLabel { label, bytes, object });
        let count = labels.len();
        LabelCounts { own: vec![(0, 0); count], marks: vec![0; count], shared: shared.collect() }
    }

    /// An operation was done, and moved so much.
    #[inline(always)]
    fn add(&mut self, label: u16, bytes: u64) {
        let counts = &mut self.own[label as usize];
        *counts = (counts.0 + 1, counts.1 + bytes);
        if !self.shared.is_empty() {
            self.tell(label, bytes);
        }
    }

    /// A composite or a control step was done.
    fn mark(&mut self, label: u16) {
        self.marks[label as usize] += 1;
        self.tell(label, 0);
    }

    #[inline(never)]
    fn tell(&mut self, label: u16, bytes: u64) {
        for watched in self.shared.iter_mut().filter(|watched| watched.label == label) {
            watched.object.post(if watched.bytes { bytes as i64 } else { 1 });
        }
    }

    fn operations(&self, of: Option<u16>) -> u64 {
        let marks = of.map_or(0, |label| self.marks[usize::from(label)]);
        marks + self.of(of).map(|(operations, _)| operations).sum::<u64>()
    }

    fn bytes(&self, of: Option<u16>) -> u64 {
        self.of(of).map(|(_, bytes)| bytes).sum()
    }

    fn of(&self, of: Option<u16>) -> impl Iterator<Item = (u64, u64)> {
        let all = self.own.iter().enumerate();
        all.filter(move |(label, _)| of.is_none_or(|of| usize::from(of) == *label)).map(|(_, counts)| *counts)
    }

    /// How much a use takes now, and the count that is settled by it.
    fn amount(&self, used: &mut Use, results: &[u64], random: &mut Random) -> (i64, u64) {
        if let Some((length, unit)) = &used.drawn {
            let draw = || (drawn(length, results, random) as f64 * unit) as i64;
            return (*used.due.get_or_insert_with(draw), 0);
        }
        let unit = match used.per {
            Per::Use => return (used.amount, 0),
            Per::Operation => 1,
            Per::Bytes(unit) => unit.max(1),
        };
        if let Some(others) = &used.from {
            // What one has settled no other waits for.
            let due = used.due.get_or_insert_with(|| others.settle(unit));
            return (used.amount * *due, 0);
        }
        let count = if used.per == Per::Operation { self.operations(used.of) } else { self.bytes(used.of) };
        let uses = (count - used.counted) / unit;
        (used.amount * uses as i64, used.counted + uses * unit)
    }
}

struct Composite {
    began: Tick,
    left: u64,
}

/// Input of a file that cannot seek, read and thrown away.
struct Discard {
    file: u32,
    left: u64,
    /// Whether bytes count; otherwise a short read counts as the record that was asked for, as copying tools do.
    exact: bool,
}

/// The operation in flight.
#[derive(Clone, Copy)]
enum Flight {
    Nothing,
    /// One of the code.
    Step(StepProgress),
    /// Input that is thrown away.
    Discard(u32),
    /// A control operation or a composite's line; whatever the engine says, it went well.
    Mark,
    /// The same with a number, which counts as bytes do.
    Value(u64),
    /// A hole instead of zeros: so many bytes.
    Hole {
        code: usize,
        bytes: u64,
    },
    /// Setting a length.
    Length,
}

/// An operation that may need several calls.
#[derive(Clone, Copy)]
struct StepProgress {
    /// Its index in the code.
    code: usize,
    /// Where it begins, for those that have a place of their own.
    start: u64,
    /// What earlier calls moved.
    moved: u64,
    /// What it is to move, and what would be a whole record.
    wanted: u64,
    nominal: u64,
    began: Tick,
    /// What of it was tallied already, because a later part failed.
    reported: u64,
    /// Whether another call is due.
    again: bool,
}

/// What becomes of a step.
enum Emit {
    Io,
    Skip,
    Answer(Next),
}

/// A script is one user: at any other depth it is refused.
///
/// # Errors
/// Always.
pub fn too_deep(depth: u32) -> Result<(), Failure> {
    Err(Failure::new(format!("a script at depth {depth}")).hint("scripts run at depth 1"))
}

impl ScriptSource {
    /// A source for one worker.
    ///
    /// # Errors
    /// Everything of the script that cannot run, at once.
    pub fn new(context: &SourceContext<'_>, script: &Script) -> Result<Self, Failure> {
        if context.depth > 1 && !compile::has_background(script) {
            return too_deep(context.depth).map(|()| unreachable!("it always refuses"));
        }
        let wanted = compile::extra_handles(script) as usize;
        if context.files.handles.len() < wanted {
            return Err(Failure::new("no handles for the files that the script opens"));
        }
        let mut compiler = Compiler::new(context, script);
        compiler.run(script)?;
        let first_extra = compiler.first_extra();
        let code = compiler.code;
        let limit = &context.job.limit;
        let mut source = ScriptSource {
            at: 0,
            left: None,
            composites: Vec::new(),
            files: (0..context.files.handles.len())
                .map(|index| file(context, index, index as u32 >= first_extra))
                .collect(),
            buffers: buffers(context, script)?,
            results: vec![0; super::labels(context.job).len()],
            random: Random::from_seed(super::pattern::worker_seed(context), 0),
            flight: Flight::Nothing,
            discards: Vec::new(),
            behind: None,
            pause: None,
            waiting_since: None,
            moved_in_pass: true,
            limits: Limits {
                passes: limit.passes.unwrap_or(match (limit.time_ns, limit.operations, limit.bytes) {
                    (None, None, None) if !script_ends(&code) => 1,
                    // What wears out is counted, even where nothing limits it.
                    _ if limit.wear_out => u64::MAX - 1,
                    _ => u64::MAX,
                }),
                operations: limit.operations.unwrap_or(u64::MAX),
                bytes: limit.bytes.unwrap_or(u64::MAX),
                reads_only: code.iter().any(|code| matches!(code, Code::Do(step, _) if step.carried)),
            },
            counts: LabelCounts::new(context),
            ending: limit.passes == Some(0),
            background: Background::new(&code, super::labels(context.job).len()),
            chunk: 0,
            rotor: 0,
            last_item: 0,
            requests: requests::RequestProgress::default(),
            last_place: 0,
            arena: context.job.buffers.arena_bytes,
            asks_sizes: code.iter().any(asks_sizes),
            finds_end: context.engine.uses_files,
            rest: Rest::No,
            sleeps: !context.engine.is_virtual,
            code,
        };
        source.begin_at(script)?;
        Ok(source)
    }

    /// The blocks that it would copy next: a read and a write of what was read, whole and at the files' own positions.
    pub fn copy(&self) -> Option<BlockCopy> {
        let [Code::Do(read, 1), Code::Do(write, 1)] = self.code.as_slice() else { return None };
        let OperationDetail::Range(Spot::Next, Length::Drawn(Sizes::Fixed(bytes))) = read.what else {
            return None;
        };
        let OperationDetail::Range(Spot::Next, Length::ResultOf(label)) = write.what else { return None };
        let (buffer, from, to) =
            (&self.buffers[read.buffer], &self.files[read.file as usize], &self.files[write.file as usize]);
        let is_plain = read.verb == Verb::Read
            && read.finish_at_end
            && !read.whole
            && !read.background
            && write.carried
            && !write.whole
            && !write.background
            && label == read.label
            && !write.transfer.gather
            && !write.transfer.sparse
            && (read.rotates, write.rotates) == (0, 0)
            && read.buffer == write.buffer
            && buffer.converter.is_none()
            && (1..=buffer.bytes).contains(&bytes)
            && from.fd >= 0
            && to.fd >= 0
            && !from.drops
            && !to.drops
            && self.arena == 0
            && self.counts.shared.is_empty()
            && self.limits.operations == u64::MAX;
        // Between two passes: the one that is over is still to be counted.
        let is_over = self.at == self.code.len();
        let is_between = (self.at == 0 || is_over)
            && self.left.is_none()
            && !self.ending
            && self.rest == Rest::No
            && matches!(self.flight, Flight::Nothing)
            && self.behind.is_none()
            && self.pause.is_none()
            && self.discards.iter().all(|discard| discard.left == 0);
        // The last one is asked for as ever, so that the end is where it is.
        let passes = self.limits.passes.saturating_sub(1 + u64::from(is_over));
        let most = passes.min(self.limits.bytes / bytes.max(1)).min(read.total_left / bytes.max(1));
        if !is_plain || !is_between || most == 0 {
            return None;
        }
        let io = |step: &CompiledOperation| Io {
            verb: step.verb,
            flags: if step.transfer.skip_failed { FORGIVEN } else { 0 },
            label: step.label,
            file: step.file,
            offset: AT_POSITION,
            bytes,
            other: step.further,
            buffer: buffer.start,
            ..Io::default()
        };
        Some(BlockCopy { read: io(read), write: io(write), most })
    }

    /// So many of those blocks were copied.
    pub fn copied(&mut self, blocks: u64) {
        let Some(BlockCopy { read, write, .. }) = self.copy() else { return };
        let bytes = blocks * read.bytes;
        let count = |left: &mut u64, by: u64| {
            *left = if *left == u64::MAX { u64::MAX } else { left.saturating_sub(by) }
        };
        count(&mut self.limits.passes, blocks);
        count(&mut self.limits.bytes, bytes);
        if let Code::Do(step, _) = &mut self.code[0] {
            count(&mut step.total_left, bytes);
        }
        for io in [read, write] {
            let counts = &mut self.counts.own[io.label as usize];
            *counts = (counts.0 + blocks, counts.1 + bytes);
            let file = &mut self.files[io.file as usize];
            file.position += bytes;
            file.hole = false;
        }
        let written = &mut self.files[write.file as usize];
        written.end = written.end.max(written.position);
        self.results[read.label as usize] = read.bytes;
        self.results[write.label as usize] = read.bytes;
    }

    /// What it counted of its own, by name.
    pub fn facts(&self) -> Vec<(&'static str, u64)> {
        let converters = self.buffers.iter().filter_map(|buffer| buffer.converter.as_ref());
        let truncated: u64 = converters.map(|converter| converter.truncated).sum();
        let truncated = (truncated > 0).then_some((TRUNCATED, truncated));
        truncated.into_iter().chain(self.requests.facts()).collect()
    }

    /// Whether any step writes.
    pub fn writes(&self) -> bool {
        self.code.iter().any(|code| matches!(code, Code::Do(step, _) if step.writes()))
    }

    /// Moves files to where their first operation begins; what cannot seek is read up to there.
    fn begin_at(&mut self, script: &Script) -> Result<(), Failure> {
        let starts: Vec<(u32, Verb, u64, bool)> = compile::operations(&script.steps)
            .iter()
            .zip(
                self.code
                    .iter()
                    .filter_map(|code| if let Code::Do(step, _) = code { Some(step) } else { None }),
            )
            .filter_map(|(operation, step)| match operation.offset {
                Offset::NextFrom(bytes) => Some((step.file, step.verb, bytes, step.transfer.full)),
                _ => None,
            })
            .collect();
        for (index, verb, bytes, exact) in starts {
            let file = &mut self.files[index as usize];
            file.position = bytes;
            match (file.fd, file.seekable) {
                (0.., true) => seek(file.fd, (file.base + bytes) as i64, libc::SEEK_SET),
                (0.., false) if verb == Verb::Read => {
                    self.discards.push(Discard { file: index, left: bytes, exact });
                }
                (0.., false) if bytes > 0 => {
                    return Err(Failure::new("output that cannot seek cannot begin further on")
                        .hint("write to a file, or begin at 0"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the next operation into `io`.
    pub fn next(&mut self, now: Tick, in_flight: u32, io: &mut Io) -> Next {
        if in_flight > self.background.flying {
            // At depth 1 nobody asks while something is in flight; deeper ones come back when it is done.
            return Next::Later(NEVER);
        }
        if let Flight::Step(part @ StepProgress { again: true, .. }) = self.flight {
            self.go_on(part, io);
            return Next::Io;
        }
        if self.discard(io) || self.drop_behind(io) {
            return Next::Io;
        }
        loop {
            if self.ending {
                return self.flush(now, io);
            }
            if self.at == self.code.len() {
                self.end_pass();
                continue;
            }
            match self.instruction(now, io) {
                Emit::Io => return Next::Io,
                Emit::Skip => {}
                Emit::Answer(answer) => return answer,
            }
        }
    }

    fn end_pass(&mut self) {
        (self.at, self.left) = (0, None);
        self.limits.passes -= u64::from(self.limits.passes != u64::MAX);
        // A pass in which nothing happened would be repeated without end and without a word.
        if self.limits.passes == 0 || !self.moved_in_pass {
            self.ending = true;
        }
        self.rest = match self.rest {
            _ if self.ending && self.moved_in_pass => Rest::Last,
            Rest::Wanted if !self.ending => Rest::Here,
            rest => rest,
        };
        self.ending |= self.rest == Rest::Here;
        self.moved_in_pass = false;
    }

    /// Stops where a pass ends; in the middle of none, at once.
    pub fn settle(&mut self) {
        if self.ending || self.rest != Rest::No {
            return;
        }
        let between = self.at == 0 && self.left.is_none();
        self.rest = if between { Rest::Here } else { Rest::Wanted };
        self.ending = between;
    }

    /// Whether it is in the middle of a pause, or waits for what others do.
    pub fn is_waiting(&self) -> bool {
        self.pause.is_some() || self.waiting_since.is_some()
    }

    /// Passes that are left.
    pub fn left(&self) -> u64 {
        self.limits.passes
    }

    /// Goes on with so many passes, if it stopped because it was to.
    pub fn set_left(&mut self, passes: u64) {
        if self.rest == Rest::Here {
            (self.rest, self.ending, self.limits.passes) = (Rest::No, passes == 0, passes);
        }
    }

    /// It has come to the end of its last pass: whether it begins another.
    pub fn repeat(&mut self) -> bool {
        let again = self.rest == Rest::Last && self.limits.operations > 0 && self.limits.bytes > 0;
        if again {
            (self.rest, self.ending, self.limits.passes) = (Rest::No, false, 1);
        }
        again
    }

    fn instruction(&mut self, now: Tick, io: &mut Io) -> Emit {
        match &self.code[self.at] {
            Code::Begin => {
                self.composites.push(Composite { began: now, left: 0 });
                (self.left, self.at) = (None, self.at + 1);
                Emit::Skip
            }
            Code::End { label, verb, start, repeat, blocks } => {
                let over = blocks.is_some_and(|blocks| self.requests.is_done(blocks));
                let (label, verb, start) = (*label, *verb, *start);
                let repeat = if over { 1 } else { *repeat };
                self.end_composite(label, verb, start, repeat, now, io);
                Emit::Io
            }
            Code::Do(step, repeat) => {
                let (left, carried) = (self.left.unwrap_or(*repeat), step.carried);
                // What was read is still written.
                if !carried && (self.limits.operations == 0 || self.limits.bytes == 0) {
                    self.ending = true;
                    return Emit::Skip;
                }
                let at = self.at;
                let emit = self.step(at, now, io);
                // A gathering write goes on as long as there are whole records.
                let stays = match emit {
                    Emit::Answer(_) => true,
                    Emit::Io => self.gathers(at),
                    Emit::Skip => false,
                };
                if !stays {
                    self.left = (left > 1).then_some(left - 1);
                    self.at += usize::from(left <= 1);
                }
                self.moved_in_pass |= matches!(emit, Emit::Io);
                emit
            }
        }
    }

    fn gathers(&self, at: usize) -> bool {
        matches!(&self.code[at], Code::Do(step, _) if step.carried && step.transfer.gather)
    }

    /// The line of a composite: as long as all its steps took.
    fn end_composite(&mut self, label: u16, verb: Verb, start: usize, repeat: u64, now: Tick, io: &mut Io) {
        let Some(composite) = self.composites.last_mut() else { return };
        mark(io, verb, label, composite.began);
        self.flight = Flight::Mark;
        let done = composite.left + 1;
        if done < repeat {
            *composite = Composite { began: now, left: done };
            self.at = start + 1;
        } else {
            self.composites.pop();
            self.at += 1;
        }
        self.left = None;
    }

    fn step(&mut self, at: usize, now: Tick, io: &mut Io) -> Emit {
        let Code::Do(step, _) = &self.code[at] else { return Emit::Skip };
        let is_over = step.what.requested().is_some_and(|which| self.requests.is_done(which));
        if is_over || (step.held && !self.files[step.file as usize].held) {
            return Emit::Skip;
        }
        match step.what {
            OperationDetail::Range(..) => self.range(at, now, io),
            OperationDetail::Item(..) => self.item(at, now, io),
            OperationDetail::File => {
                let file = step.file + if step.rotates > 0 { self.rotor } else { 0 };
                if step.verb == Verb::Close && self.background.flying > 0 {
                    // A number that is closed may soon be another file's.
                    return Emit::Answer(Next::Later(NEVER));
                }
                if step.rotates > 0 && step.verb == Verb::Close && !self.files[file as usize].held {
                    return Emit::Skip;
                }
                *io = Io { verb: step.verb, label: step.label, file, bytes: step.value, ..Io::default() };
                io.buffer = self.buffers[step.buffer].start;
                if step.verb == Verb::Truncate {
                    io.bytes = self.files[step.file as usize].position;
                }
                self.take_off(at, 0, (0, 0), now);
                Emit::Io
            }
            _ => self.control(at, now, io),
        }
    }

    fn take_off(&mut self, code: usize, start: u64, (wanted, nominal): (u64, u64), began: Tick) {
        let part = StepProgress { code, start, moved: 0, wanted, nominal, began, reported: 0, again: false };
        self.flight = Flight::Step(part);
        self.limits.operations -= u64::from(self.limits.operations != u64::MAX);
    }

    /// Reading, writing, and what else has an offset.
    fn range(&mut self, at: usize, now: Tick, io: &mut Io) -> Emit {
        let Code::Do(step, _) = &mut self.code[at] else { return Emit::Skip };
        let OperationDetail::Range(spot, length) = &mut step.what else { return Emit::Skip };
        let whole = step.like.map(|like| self.files[like as usize].nominal).or(step.total);
        let index = step.file + if step.rotates > 0 { self.rotor } else { 0 };
        let file = &mut self.files[index as usize];
        let buffer = &mut self.buffers[step.buffer];
        let mut bytes = match length {
            Length::Drawn(sizes) => sizes.draw(&mut self.random),
            Length::ResultOf(label) => self.results[*label as usize],
            Length::Whole => whole.unwrap_or(file.bytes),
        };
        let nominal = bytes;
        if step.carried {
            let ready = buffer.ready(bytes, self.ending);
            if ready == 0 || (step.transfer.gather && ready < bytes && !self.ending) {
                return Emit::Skip;
            }
            bytes = if step.transfer.gather { bytes.min(ready) } else { ready };
        }
        if step.verb == Verb::Read {
            if step.total_left == 0 {
                self.ending = true;
                return Emit::Skip;
            }
            bytes = bytes.min(step.total_left);
            bytes = if self.limits.reads_only { bytes.min(self.limits.bytes) } else { bytes };
        }
        let manner = manner(step.verb, step.whole, step.finish_at_end, self.finds_end);
        let placed = self.requests.place(spot, file.base);
        let drawn = || offset(spot, manner, file, bytes, (&mut self.random, self.last_place));
        let Some(offset) = placed.or_else(drawn) else {
            self.ending = true;
            return Emit::Skip;
        };
        self.last_place = own_place(step, offset, file.base).unwrap_or(self.last_place);
        let wanted = wanted(step, file, bytes, whole);
        *io = Io { verb: step.verb, label: step.label, file: index, offset, ..Io::default() };
        io.other = step.further;
        self.chunk = most_at_once(step, bytes);
        io.bytes = match step.verb {
            Verb::CopyFileRange => wanted,
            verb if verb.moves_data() => wanted.min(bytes).min(buffer.bytes.max(1)).min(self.chunk),
            _ => bytes,
        };
        let record = if step.transfer.gather { nominal } else { buffer.record };
        if step.carried && file.direct && io.bytes < record {
            (file.direct, file.flush) = (false, true);
            clear_direct(file.fd);
        }
        io.flags = if step.transfer.skip_failed { FORGIVEN } else { 0 };
        io.buffer = buffer.place(step.carried && step.transfer.gather);
        if self.arena > 0 && !step.carried {
            io.buffer = buffer.anywhere(io.bytes, &mut self.random);
        }
        if step.background {
            return self.hand_over();
        }
        if step.carried && step.transfer.sparse && file.fd >= 0 && file.seekable && buffer.is_zero(io) {
            return self.hole(at, io);
        }
        file.hole = false;
        let sizes = match (step.verb.moves_data(), step.whole) {
            (true, true) => (wanted, wanted),
            (true, false) => (wanted, nominal.max(wanted)),
            _ => (0, 0),
        };
        self.take_off(at, io.offset, sizes, now);
        Emit::Io
    }

    /// What is not waited for.
    fn hand_over(&mut self) -> Emit {
        self.background.flying += 1;
        self.limits.operations -= u64::from(self.limits.operations != u64::MAX);
        Emit::Io
    }

    /// Zeros that are sought over: the engine writes nothing, the tally counts them.
    fn hole(&mut self, at: usize, io: &mut Io) -> Emit {
        let file = &mut self.files[io.file as usize];
        seek(file.fd, io.bytes as i64, libc::SEEK_CUR);
        file.hole = true;
        self.limits.operations -= u64::from(self.limits.operations != u64::MAX);
        self.flight = Flight::Hole { code: at, bytes: io.bytes };
        io.bytes = 0;
        Emit::Io
    }

    /// The rest of an operation that came back short.
    fn go_on(&mut self, part: StepProgress, io: &mut Io) {
        let StepProgress { code, start: place, moved, wanted, began, .. } = part;
        let Code::Do(step, _) = &self.code[code] else { return };
        let index = step.file + if step.rotates > 0 { self.rotor } else { 0 };
        let (file, buffer) = (&self.files[index as usize], &self.buffers[step.buffer]);
        let at_position = file.fd >= 0
            && matches!(&step.what, OperationDetail::Range(Spot::Next, _))
            && !(step.whole && file.seekable)
            && (step.verb == Verb::Write || step.finish_at_end || !file.seekable);
        let at_end = self.finds_end && matches!(&step.what, OperationDetail::Range(Spot::End, _));
        let offset = match (at_position, at_end && step.verb == Verb::Write) {
            (true, _) => AT_POSITION,
            (_, true) => AT_END,
            _ if matches!(
                &step.what,
                OperationDetail::Range(Spot::At(_) | Spot::Again | Spot::Drawn(_), _)
            ) =>
            {
                place + moved
            }
            _ => file.base + file.position,
        };
        let other = step.further;
        *io = Io { verb: step.verb, label: step.label, file: index, offset, other, ..Io::default() };
        let start = buffer.place(step.carried && step.transfer.gather);
        // Whole files go through the same block again and again; records are completed where they stopped.
        let ahead = if step.whole { 0 } else { moved };
        io.bytes = match step.verb {
            Verb::CopyFileRange => wanted - moved,
            _ => (wanted - moved).min(buffer.bytes.max(1) - ahead.min(buffer.bytes)).min(self.chunk),
        };
        // SAFETY: `moved` is below `wanted`, which is at most the buffer's length.
        io.buffer = unsafe { start.add(ahead as usize) };
        io.flags = PACED | if step.transfer.skip_failed { FORGIVEN } else { 0 };
        io.intended = began;
        self.flight = Flight::Step(StepProgress { again: false, ..part });
    }

    fn item(&mut self, at: usize, now: Tick, io: &mut Io) -> Emit {
        let Code::Do(step, _) = &mut self.code[at] else { return Emit::Skip };
        let (verb, ends) = (step.verb, step.ends);
        let turn = if step.rotates > 0 { (self.rotor + 1) % step.rotates } else { 0 };
        if step.once && step.keep.is_some_and(|keep| self.files[(keep + turn) as usize].held) {
            self.rotor = if step.rotates > 0 { turn } else { self.rotor };
            return Emit::Skip;
        }
        // What is in flight may be on a file that this one takes the place of; of a place that is free it cannot.
        let is_taken = step.keep.is_some_and(|keep| self.files[(keep + turn) as usize].held);
        if is_taken && self.background.flying > 0 {
            return Emit::Answer(Next::Later(NEVER));
        }
        let OperationDetail::Item(which, other) = &mut step.what else { return Emit::Skip };
        let set = step.file as usize;
        let flags = if matches!(which, Which::Tree { .. }) { DIRECTORY } else { 0 };
        let picked = match *which {
            Which::Last(further) => Some(self.last_item + further),
            Which::Requested(which) => self.requests.next(which),
            ref mut which => pick_item(which, verb, set, &mut self.files, &mut self.random),
        };
        let Some(first) = picked else {
            return self.empty_pool(set, ends, now);
        };
        // What several hold is removed by one of them.
        let held = verb == Verb::Unlink && matches!(which, Which::Held(_));
        if held && self.files[set].common.as_ref().is_some_and(|common| !common.lose(first)) {
            return Emit::Skip;
        }
        let mut second = 0;
        if let Some(other) = other {
            let Some(found) = pick_item(other, verb, set, &mut self.files, &mut self.random) else {
                give_back(&self.files[set], which, verb, first);
                return self.empty_pool(set, ends, now);
            };
            second = found;
        }
        self.waiting_since = None;
        self.last_item = if matches!(which, Which::Last(_)) { self.last_item } else { first };
        *io = Io {
            verb: step.verb,
            flags,
            label: step.label,
            file: step.file,
            offset: first,
            other: second,
            ..Io::default()
        };
        if let Some(handle) = step.keep {
            io.flags |= KEEP;
            io.other = u64::from(handle + turn) | step.further;
            self.rotor = if step.rotates > 0 { turn } else { self.rotor };
        } else if step.further > 0 {
            io.other = step.further;
        }
        if step.value > 0 {
            (io.bytes, io.buffer) = (step.value, self.buffers[step.buffer].start);
        }
        if let (bytes @ 1.., with) = step.data {
            let own = self.files[step.file as usize].sizes.as_ref().filter(|_| step.has_own_length);
            let bytes = own.map_or(bytes, |sizes| sizes.of(first));
            (io.bytes, io.buffer) = (bytes, self.buffers[step.buffer].start);
            io.flags |= with;
        }
        if step.background {
            return self.hand_over();
        }
        self.take_off(at, 0, (0, 0), now);
        Emit::Io
    }

    /// An own pool that is empty stays so: nobody else moves it. A shared one may fill again, so it is waited for; where
    /// it is to end the worker, it does so once it was found empty for a while, as others may just hold what is left.
    fn empty_pool(&mut self, set: usize, ends: bool, now: Tick) -> Emit {
        let Some(since) = self.waiting_since else {
            self.waiting_since = Some(now);
            return Emit::Answer(Next::Wait);
        };
        let shared = self.files[set].common.as_ref().is_some_and(|common| !common.is_alone());
        if !shared || (ends && now.saturating_sub(since) >= EMPTY_NS) {
            self.ending = true;
            return Emit::Skip;
        }
        Emit::Answer(Next::Later(now + ASK_AGAIN_NS))
    }

    /// Pauses, shared objects, and the end.
    fn control(&mut self, at: usize, now: Tick, io: &mut Io) -> Emit {
        let Code::Do(step, _) = &mut self.code[at] else { return Emit::Skip };
        let (verb, label) = (step.verb, step.label);
        if matches!(step.what, OperationDetail::Value(..)) {
            return self.draw(at, now, io);
        }
        let began = match &mut step.what {
            OperationDetail::Pause(ns, by_chance) => {
                let (began, until) = *self.pause.get_or_insert_with(|| {
                    let mut number = |length| drawn(length, &self.results, &mut self.random) as f64;
                    let drawn = by_chance.as_ref().map(|(length, ns)| number(length) * ns);
                    (now, now.saturating_add(drawn.map_or(*ns, |ns| ns as u64)))
                });
                if verb == Verb::Spin && began == now {
                    super::pace::burn(until - began);
                } else if now < until && verb == Verb::Think {
                    return Emit::Answer(Next::Later(until));
                }
                self.pause = None;
                began
            }
            OperationDetail::Reap(stay) => {
                let flying = self.background.flying;
                let (began, stay) = *self.background.reaping.get_or_insert((now, stay.unwrap_or(flying / 2)));
                if flying > stay {
                    return Emit::Answer(Next::Later(NEVER));
                }
                self.background.reaping = None;
                began
            }
            OperationDetail::Shared(..) => match self.use_shared(at, now) {
                Ok(began) => began,
                Err(emit) => return emit,
            },
            OperationDetail::Finish(shared, operations, bytes) => {
                let reached = match shared {
                    Some((object, amount)) => object.value() >= *amount,
                    None => self.counts.operations(None) >= *operations && self.counts.bytes(None) >= *bytes,
                };
                self.ending |= reached;
                return Emit::Skip;
            }
            _ => return Emit::Skip,
        };
        mark(io, verb, label, began);
        self.flight = Flight::Mark;
        Emit::Io
    }

    /// Takes or posts what a step shares with others; since when it waited for it, or what becomes of the step.
    fn use_shared(&mut self, at: usize, now: Tick) -> Result<Tick, Emit> {
        let Code::Do(step, _) = &mut self.code[at] else { return Err(Emit::Skip) };
        let (verb, label) = (step.verb, step.label);
        let OperationDetail::Shared(object, used) = &mut step.what else { return Err(Emit::Skip) };
        let began = self.waiting_since;
        let (amount, counted) = self.counts.amount(used, &self.results, &mut self.random);
        let answer = match verb {
            _ if amount == 0 => Answer::Granted,
            Verb::Wait => object.take(amount, now),
            _ if used.boundless => object.post_beyond(amount),
            _ => object.post(amount),
        };
        match answer {
            Answer::Granted => {
                (used.counted, used.due) = (counted, None);
                self.waiting_since = None;
                if let Some(arrival) = self.requests.take(object) {
                    // What is timed as one begins when it was asked for.
                    self.composites.iter_mut().for_each(|composite| composite.began = arrival);
                    self.results[label as usize] = self.requests.computed_tokens();
                }
                Ok(began.unwrap_or(now))
            }
            Answer::Over => {
                self.ending = true;
                Err(Emit::Skip)
            }
            Answer::At(tick) => {
                self.waiting_since.get_or_insert(now);
                Err(Emit::Answer(Next::Later(tick)))
            }
            Answer::Wait if began.is_none() => {
                self.waiting_since = Some(now);
                Err(Emit::Answer(Next::Wait))
            }
            Answer::Wait if self.sleeps && !coroutine::is_asking() && object.await_change(LOOKS_NS) => {
                Err(Emit::Answer(Next::Later(now)))
            }
            Answer::Wait => Err(Emit::Answer(Next::Later(now + again_ns(used)))),
        }
    }

    /// A number that is drawn, or computed from one that was, and taken note of.
    fn draw(&mut self, at: usize, now: Tick, io: &mut Io) -> Emit {
        let Code::Do(step, _) = &mut self.code[at] else { return Emit::Skip };
        let OperationDetail::Value(length, around) = &mut step.what else { return Emit::Skip };
        let value = drawn(length, &self.results, &mut self.random);
        let value = around.map_or(value, |around| square(value, around));
        self.results[step.label as usize] = value;
        mark(io, step.verb, step.label, now);
        self.flight = Flight::Value(value);
        Emit::Io
    }

    /// Advice that what was just moved is no longer needed.
    fn drop_behind(&mut self, io: &mut Io) -> bool {
        let Some((file, offset, bytes)) = self.behind.take() else { return false };
        *io = Io { verb: Verb::Fadvise, flags: SILENT, file, offset, bytes, ..Io::default() };
        io.other = DONT_NEED;
        self.flight = Flight::Length;
        true
    }

    /// A read of input that is thrown away.
    fn discard(&mut self, io: &mut Io) -> bool {
        let Some(&Discard { file, left, .. }) = self.discards.iter().find(|discard| discard.left > 0) else {
            return false;
        };
        let buffer = &self.buffers[0];
        *io = Io { verb: Verb::Read, flags: SILENT, file, offset: AT_POSITION, ..Io::default() };
        (io.bytes, io.buffer) = (left.min(buffer.record), buffer.start);
        self.flight = Flight::Discard(file);
        true
    }

    /// After the last pass: what was gathered and not written, then the length of a file that ends in a hole.
    fn flush(&mut self, now: Tick, io: &mut Io) -> Next {
        for at in 0..self.code.len() {
            if self.gathers(at) && matches!(self.range(at, now, io), Emit::Io) {
                return Next::Io;
            }
        }
        let unfinished = |(_, file): &(usize, &mut FileState)| file.hole || file.flush;
        let Some((index, file)) = self.files.iter_mut().enumerate().find(unfinished) else {
            return Next::Done;
        };
        let verb = if file.hole { Verb::Truncate } else { Verb::Fsync };
        *io = Io { verb, flags: SILENT, file: index as u32, ..Io::default() };
        match std::mem::take(&mut file.hole) {
            true => io.bytes = place(file.fd),
            false => file.flush = false,
        }
        self.flight = Flight::Length;
        Next::Io
    }
}

/// How soon a shared object is asked again.
fn again_ns(used: &Use) -> u64 {
    if coroutine::is_asking() { UNASKED_NS } else { used.ask_again_ns }
}

/// Where a read or write begins in its file; none: at the file's own position, or it is neither.
fn own_place(step: &CompiledOperation, offset: u64, base: u64) -> Option<u64> {
    (step.verb.moves_data() && offset < AT_END).then(|| offset.saturating_sub(base))
}

/// What one call of an operation moves at most, bytes.
fn most_at_once(step: &CompiledOperation, bytes: u64) -> u64 {
    match step.transfer.call_bytes {
        _ if step.whole => bytes.max(1),
        Some(call_bytes) if step.transfer.full => call_bytes.max(1),
        _ => u64::MAX,
    }
}

/// What all calls of an operation together are to move: a whole file is read to its end, wherever that is.
fn wanted(step: &CompiledOperation, file: &FileState, bytes: u64, whole: Option<u64>) -> u64 {
    match (step.whole, step.verb) {
        (true, Verb::Write) => whole.unwrap_or(bytes),
        (true, Verb::CopyFileRange) => TO_THE_END,
        (true, Verb::Read) if file.fd < 0 => TO_THE_END,
        (true, Verb::Read) if file.bytes > 0 => file.bytes,
        _ => bytes,
    }
}

/// A number that is drawn, or that an earlier step came to.
fn drawn(length: &Length, results: &[u64], random: &mut Random) -> u64 {
    match length {
        Length::Drawn(sizes) => sizes.draw(random),
        Length::ResultOf(of) => results[*of as usize],
        Length::Whole => 0,
    }
}

/// The square of how far a value is from what was expected, in millionths of that one's square.
fn square(value: u64, around: f64) -> u64 {
    ((value as f64 / around - 1.0).powi(2) * 1e6).round() as u64
}

/// An operation that only carries a line of the tally: from `began` to its own end.
fn mark(io: &mut Io, verb: Verb, label: u16, began: Tick) {
    *io = Io { verb, label, flags: PACED, intended: began, ..Io::default() };
}

/// Whether an instruction asks how long items are meant to be.
fn asks_sizes(code: &Code) -> bool {
    let Code::Do(step, _) = code else { return false };
    step.like.is_some() || matches!(step.what, OperationDetail::Range(Spot::Within(_), _))
}

fn script_ends(code: &[Code]) -> bool {
    code.iter()
        .any(|code| matches!(code, Code::Do(step, _) if step.finish_at_end || step.verb == Verb::Finish))
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
