//! Every workload that is more than a steady stream: paced, mixed, verified, serialised, read back, scripted, recorded.
//!
//! One operation at a time is drawn and held until the pace, the shared objects and what is in flight let it go; so no
//! draw ever depends on time. It refuses to know how operations are drawn: that is the drawer's.

use std::collections::VecDeque;

use iodyno_model::{ErrorPolicy, FoundDepth, Overlap, Verb, VerifyWhen, Workload};

use super::content::{self, Late, State, WorkerContent};
use super::drop_behind::Behind;
use super::pace::Pacer;
use super::pattern::{PatternSource, worker_seed};
use super::script::ScriptSource;
use super::trace::TraceSource;
use super::trims::Trims;
use super::{BlockCopy, Next, SourceContext, VERIFY_LABEL, label_of, labels};
use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::{AT_END, Io, SILENT, Slot};
use crate::priorities::PriorityDraw;

/// Who draws.
pub enum Drawer {
    /// By chance or rule.
    Pattern(Box<PatternSource>),
    Script(Box<ScriptSource>),
    /// By a recording.
    Trace(Box<TraceSource>),
}

/// A drawer with everything that holds its operations back or looks at their content.
pub struct GeneralSource {
    drawer: Drawer,
    pacer: Option<Pacer>,
    content: WorkerContent,
    behind: Behind,
    held: Option<Io>,
    /// By slot; the verb's `bytes` are 0 where nothing is in flight.
    flying: Vec<Io>,
    in_flight: u32,
    serialised: bool,
    fatal: bool,
    /// Bad reads that helpers may find before the worker ends.
    late_most: u64,
    back: Option<ReadBack>,
    trims: Option<Trims>,
    priorities: Option<PriorityDraw>,
    /// Writes are not done, only noted, and read back at the end.
    only: bool,
    /// How far an earlier run came, and how many of its writes were met so far.
    reach: Option<(State, u64)>,
    over: bool,
    /// Whether it was the drawer that had nothing more.
    drawn_out: bool,
    /// What has begun is brought to its end, and then something else decides.
    settling: bool,
    failure: Option<Failure>,
}

/// Reading back what was written.
struct ReadBack {
    label: u16,
    most_bytes: u64,
    when: When,
}

enum When {
    /// At the end: everything, file by file.
    AtEnd { handle: usize, from: u64 },
    /// As soon as `every` writes wait, the oldest few of them; so many reads of a round are still to come.
    Backlog { every: usize, batch: usize, waiting: VecDeque<(u32, u64, u64)>, reading: usize },
}

/// Writes that may wait to be read back before memory is asked for again.
const WAITING: usize = 1 << 20;

/// Writes that are noted in one go.
const ASSUMED_MOST: u32 = 100_000;

impl GeneralSource {
    /// A drawer with its guides.
    ///
    /// # Errors
    /// What the job asks for and cannot have.
    pub fn new(context: &SourceContext<'_>, drawer: Drawer) -> Result<Self, Failure> {
        let overlap = match &context.job.workload {
            Workload::Pattern(pattern) => pattern.overlap,
            _ => Overlap::Allowed,
        };
        let content = WorkerContent::new(context, drawer.writes())?;
        let back = ReadBack::new(context, &content);
        let verify = context.job.payload.verify.as_ref();
        Ok(GeneralSource {
            pacer: Pacer::new(context, worker_seed(context))?,
            held: None,
            flying: vec![Io::default(); context.depth.max(1) as usize],
            in_flight: 0,
            serialised: overlap == Overlap::Serialised || content.remembers(),
            fatal: verify.is_some_and(|verify| verify.fatal),
            late_most: late_most(context, verify.is_some_and(|verify| verify.fatal)),
            back,
            trims: verify.and_then(|verify| Trims::new(context, verify)),
            only: verify.is_some_and(|verify| verify.only),
            reach: verify.map_or(Ok(None), |verify| content::reach(context, verify))?.map(|state| (state, 0)),
            over: false,
            drawn_out: false,
            settling: false,
            failure: None,
            content,
            behind: Behind::new(context, &drawer),
            drawer,
            priorities: PriorityDraw::of(
                context.job,
                &labels(context.job),
                context.plan.seed,
                context.worker,
            ),
        })
    }

    /// Whether completions must be reported.
    pub fn listens(&self) -> bool {
        self.serialised
            || self.content.listens()
            || self.behind.listens()
            || self.pacer.as_ref().is_some_and(Pacer::listens)
            || match &self.drawer {
                Drawer::Pattern(pattern) => pattern.ends_on_nothing,
                Drawer::Script(_) | Drawer::Trace(_) => true,
            }
    }

    /// Whether an operation's buffer may have to be filled.
    pub fn fills(&self) -> bool {
        !self.content.is_idle()
    }

    /// Writes the next operation into `io`.
    #[inline(never)]
    pub fn next(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        if self.failure.is_some() {
            return Next::Done;
        }
        let mut held = match self.held.take() {
            Some(held) => held,
            None => match self.draw(now) {
                Ok(drawn) => drawn,
                Err(answer) => return answer,
            },
        };
        if let Err(answer) = self.barrier(now, &mut held) {
            self.held = Some(held);
            return answer;
        }
        let buffer = if held.buffer.is_null() { io.buffer } else { held.buffer };
        *io = Io { buffer, started: io.started, ..held };
        if let Some(priorities) = &mut self.priorities {
            io.label = priorities.label(io.verb, io.bytes, io.label);
        }
        self.content.ready_at(io, now);
        self.flying[slot as usize] = *io;
        self.in_flight += 1;
        Next::Io
    }

    fn draw(&mut self, now: Tick) -> Result<Io, Next> {
        let mut io = Io::default();
        if self.behind.next(&mut io) {
            return Ok(io);
        }
        if let Some(answer) = self.back.as_mut().and_then(|back| back.backlog(&mut io)) {
            return answer.map(|()| io);
        }
        if let Some(io) = self.trims.as_mut().and_then(Trims::due) {
            return Ok(io);
        }
        let answer = match (&mut self.drawer, self.over) {
            (_, true) => Next::Done,
            (Drawer::Pattern(pattern), _) if self.only => assume(pattern, &mut self.content, &mut self.reach),
            (Drawer::Pattern(pattern), _) => pattern.next(&mut io),
            (Drawer::Script(script), _) => script.next(now, self.in_flight, &mut io),
            (Drawer::Trace(trace), _) => trace.next(now, self.in_flight, &mut io),
        };
        match answer {
            Next::Io if io.verb == Verb::Read && !within(&mut self.reach, &io) => {
                self.over = true;
                Err(Next::Done)
            }
            Next::Io => Ok(io),
            Next::Done if self.settling => Err(Next::Done),
            Next::Done => {
                self.drawn_out |= !self.over;
                self.over = true;
                self.read_back(&mut io).map(|()| io)
            }
            other => Err(other),
        }
    }

    /// After the last operation: what is left to be read back.
    fn read_back(&mut self, io: &mut Io) -> Result<(), Next> {
        let Some(back) = &mut self.back else { return Err(Next::Done) };
        // What is still being written cannot be read back yet.
        if self.flying.iter().any(|io| io.bytes > 0 && io.verb == Verb::Write) {
            return Err(Next::Wait);
        }
        back.rest(&self.content, io)
    }

    /// The overlap is asked first: what the pace has let pass is past.
    fn barrier(&mut self, now: Tick, held: &mut Io) -> Result<(), Next> {
        if self.serialised && self.overlaps(held) {
            return Err(Next::Wait);
        }
        let own = self.back.as_ref().is_some_and(|back| back.label == held.label);
        match &mut self.pacer {
            Some(pacer) if !own && held.flags & SILENT == 0 => pacer.barrier(now, held, self.in_flight),
            _ => Ok(()),
        }
    }

    fn overlaps(&self, held: &Io) -> bool {
        let moves = |io: &Io| io.bytes > 0 && io.offset < AT_END;
        let flying = self.flying.iter().filter(|io| moves(io) && io.file == held.file);
        moves(held)
            && flying
                .into_iter()
                .any(|io| io.offset < held.offset + held.bytes && held.offset < io.offset + io.bytes)
    }

    /// Hears of a completion.
    pub fn done(&mut self, slot: Slot, io: &mut Io, result: i64, now: Tick) -> i64 {
        self.in_flight -= 1;
        self.flying[slot as usize].bytes = 0;
        if self.behind.completed(io, result) {
            return result;
        }
        if let Some(back) = self.back.as_mut().filter(|_| io.verb == Verb::Write && result == io.bytes as i64)
        {
            back.wrote(io);
        }
        if let Some(trims) =
            self.trims.as_mut().filter(|_| io.verb == Verb::Write && result == io.bytes as i64)
        {
            trims.wrote(io);
        }
        let checked = self.content.done(io, result);
        if checked != result && checked < 0 && result > 0 {
            // So much was read, although it is not what was written.
            io.bytes = io.bytes.min(result as u64);
        }
        // What helpers find is counted at the end, but ends the job as soon as it is known.
        if (checked != result && self.fatal) || self.content.late() > self.late_most {
            self.end();
        }
        if let Some(failure) =
            self.pacer.as_mut().and_then(|pacer| pacer.done(io, result, now, self.in_flight))
        {
            self.failure.get_or_insert(failure);
        }
        if self.pacer.as_ref().is_some_and(Pacer::is_over) {
            self.end();
        }
        match &mut self.drawer {
            Drawer::Pattern(pattern) => {
                if pattern.ends_on_nothing
                    && result == 0
                    && matches!(
                        io.verb,
                        Verb::Read | Verb::Send | Verb::Recv | Verb::Readdir | Verb::Exchange
                    )
                {
                    // The end is no operation.
                    pattern.end();
                    return super::UNTALLIED;
                }
                checked
            }
            Drawer::Script(script) => script.done(io, checked, now),
            Drawer::Trace(trace) => trace.done(io, checked, now),
        }
    }

    /// No more of anything.
    fn end(&mut self) {
        self.over = true;
        self.held = None;
        self.back = None;
        self.trims = None;
    }

    /// The worker is done: what helpers found after all, and the state kept. A state that cannot be kept is a failure.
    pub fn close(&mut self) -> Vec<Late> {
        self.content.close().unwrap_or_else(|failure| {
            self.failure.get_or_insert(failure);
            Vec::new()
        })
    }

    /// Whether an operation is held back until its time, or a script is in the middle of a pause or waits for what others do.
    pub fn is_waiting(&self) -> bool {
        self.held.is_some() || matches!(&self.drawer, Drawer::Script(script) if script.is_waiting())
    }

    /// The time is up: no more of the workload. Whether something is left to be read back.
    pub fn wind_up(&mut self) -> bool {
        if !self.over {
            self.over = true;
            self.held = None;
            self.trims = None;
        }
        self.back.is_some()
    }

    /// No more than what has begun, until it knows how much is left. Whether that may be more than one operation.
    pub fn settle(&mut self) -> bool {
        self.settling = true;
        match &mut self.drawer {
            Drawer::Script(script) => {
                script.settle();
                true
            }
            Drawer::Pattern(_) | Drawer::Trace(_) => false,
        }
    }

    /// What is left: operations of a pattern, passes of a script.
    pub fn left(&self) -> u64 {
        match &self.drawer {
            Drawer::Pattern(pattern) => pattern.left(),
            Drawer::Script(script) => script.left(),
            Drawer::Trace(_) => 0,
        }
    }

    /// The same. Nothing more is drawn until it is set again.
    pub fn take_left(&mut self) -> u64 {
        match &mut self.drawer {
            Drawer::Pattern(pattern) => pattern.set_left(0),
            Drawer::Script(script) => script.left(),
            Drawer::Trace(_) => 0,
        }
    }

    /// Goes on with what is left.
    pub fn set_left(&mut self, left: u64) {
        self.settling = false;
        match &mut self.drawer {
            Drawer::Pattern(pattern) => _ = pattern.set_left(left),
            Drawer::Script(script) => script.set_left(left),
            Drawer::Trace(_) => {}
        }
    }

    /// It has come to the end of its passes: whether it begins again.
    pub fn repeat(&mut self) -> bool {
        let again = self.drawn_out
            && self.back.is_none()
            && match &mut self.drawer {
                Drawer::Pattern(pattern) => pattern.repeat(),
                Drawer::Script(script) => script.repeat(),
                Drawer::Trace(_) => false,
            };
        if again {
            (self.over, self.drawn_out) = (false, false);
        }
        again
    }

    /// The depth that a latency target allowed.
    pub fn found_depth(&self) -> Option<FoundDepth> {
        self.pacer.as_ref().and_then(Pacer::found_depth)
    }

    /// Whether what was counted so far is to be forgotten; asked once.
    pub fn takes_restart(&mut self) -> bool {
        self.pacer.as_mut().is_some_and(Pacer::takes_restart)
    }

    /// Why the worker ends before its time.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// The blocks that a script would copy next, if nothing holds them back, checks or fills them.
    pub fn copy(&mut self) -> Option<BlockCopy> {
        let guided = self.pacer.is_some() || self.back.is_some() || self.trims.is_some() || self.serialised;
        if guided || self.over || self.held.is_some() || self.behind.listens() || !self.content.is_idle() {
            return None;
        }
        match &mut self.drawer {
            Drawer::Script(script) if self.reach.is_none() => script.copy(),
            _ => None,
        }
    }

    /// So many blocks were copied.
    pub fn copied(&mut self, blocks: u64) {
        if let Drawer::Script(script) = &mut self.drawer {
            script.copied(blocks);
        }
    }

    /// What was counted besides operations, by name.
    pub fn facts(&self) -> Vec<(&'static str, u64)> {
        match &self.drawer {
            Drawer::Script(script) => script.facts(),
            Drawer::Pattern(_) | Drawer::Trace(_) => Vec::new(),
        }
    }

    /// What was found wrong with the content.
    pub fn content(&self) -> &WorkerContent {
        &self.content
    }
}

/// Bad reads that helpers may find before the worker ends.
fn late_most(context: &SourceContext<'_>, fatal: bool) -> u64 {
    match &context.job.errors {
        _ if fatal => 0,
        ErrorPolicy::Stop => 0,
        ErrorPolicy::Continue => u64::MAX,
        ErrorPolicy::AtMost(count) => *count,
        ErrorPolicy::Tolerate(tolerance) if tolerance.verify.contains(&libc::EILSEQ) => u64::MAX,
        ErrorPolicy::Tolerate(_) => 0,
    }
}

/// Draws on without doing anything, noting what would be written. It comes up for air, so that somebody may say stop.
fn assume(
    pattern: &mut PatternSource,
    content: &mut WorkerContent,
    reach: &mut Option<(State, u64)>,
) -> Next {
    let mut io = Io::default();
    for _ in 0..ASSUMED_MOST {
        match pattern.next(&mut io) {
            Next::Io if io.verb == Verb::Write && !within(reach, &io) => return Next::Done,
            Next::Io => {
                content.count(&io);
                if io.verb == Verb::Write {
                    content.assume(&io);
                }
            }
            other => return other,
        }
    }
    Next::Later(0)
}

/// Whether an earlier run came so far, where its state is known.
fn within(reach: &mut Option<(State, u64)>, io: &Io) -> bool {
    let Some((state, met)) = reach else { return true };
    *met += 1;
    state.was_done(*met - 1, u64::from(io.file), io.offset)
}

impl Drawer {
    fn writes(&self) -> bool {
        match self {
            Drawer::Pattern(pattern) => pattern.has(Verb::Write) || pattern.writes_items(),
            Drawer::Script(script) => script.writes(),
            Drawer::Trace(trace) => trace.writes(),
        }
    }
}

impl ReadBack {
    fn new(context: &SourceContext<'_>, content: &WorkerContent) -> Option<Self> {
        let verify = context.job.payload.verify.as_ref().filter(|_| content.remembers())?;
        let label = label_of(&labels(context.job), VERIFY_LABEL, Verb::Read);
        let when = match verify.when {
            VerifyWhen::OnRead | VerifyWhen::Never => return None,
            // What a generation map knows is all there from the start.
            VerifyWhen::Backlog { .. } if verify.only && verify.map.is_some() => {
                When::AtEnd { handle: 0, from: 0 }
            }
            VerifyWhen::AfterWrites => When::AtEnd { handle: 0, from: 0 },
            VerifyWhen::Backlog { writes, batch } => {
                let every = writes.max(1) as usize;
                let batch = if batch == 0 { every } else { batch as usize };
                // What is in flight when a round begins waits for the next.
                let waiting = VecDeque::with_capacity(every.min(WAITING) + context.depth as usize);
                When::Backlog { every, batch, waiting, reading: 0 }
            }
        };
        let Workload::Pattern(pattern) = &context.job.workload else { return None };
        let most_bytes = pattern.size.write.most_bytes().unwrap_or(context.memory.stride() as u64);
        Some(ReadBack { label, most_bytes, when })
    }

    fn io(&self, file: u32, offset: u64, bytes: u64) -> Io {
        Io { verb: Verb::Read, label: self.label, file, offset, bytes, ..Io::default() }
    }

    /// Notes a write that is to be read back.
    fn wrote(&mut self, io: &Io) {
        if let When::Backlog { waiting, .. } = &mut self.when {
            waiting.push_back((io.file, io.offset, io.bytes));
        }
    }

    /// A read of the backlog, where one is due.
    fn backlog(&mut self, io: &mut Io) -> Option<Result<(), Next>> {
        let When::Backlog { every, batch, waiting, reading } = &mut self.when else { return None };
        if *reading == 0 {
            if waiting.len() < *every {
                return None;
            }
            *reading = (*batch).min(waiting.len());
        }
        *reading -= 1;
        self.oldest(io).then_some(Ok(()))
    }

    /// Reads the write that has waited longest, if any waits.
    fn oldest(&mut self, io: &mut Io) -> bool {
        let When::Backlog { waiting, .. } = &mut self.when else { return false };
        let Some((file, offset, bytes)) = waiting.pop_front() else { return false };
        *io = self.io(file, offset, bytes);
        true
    }

    /// What is left at the end.
    fn rest(&mut self, content: &WorkerContent, io: &mut Io) -> Result<(), Next> {
        match &mut self.when {
            When::Backlog { .. } => self.oldest(io).then_some(()).ok_or(Next::Done),
            When::AtEnd { handle, from } => {
                while *handle < content.handles() {
                    if let Some((offset, bytes)) = content.next_written(*handle, *from, self.most_bytes) {
                        *from = offset + bytes;
                        let (file, offset) = (*handle as u32, content.base(*handle) + offset);
                        *io = self.io(file, offset, bytes);
                        return Ok(());
                    }
                    (*handle, *from) = (*handle + 1, 0);
                }
                Err(Next::Done)
            }
        }
    }
}

#[cfg(test)]
#[path = "general_source_tests.rs"]
mod tests;
