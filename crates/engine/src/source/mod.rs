//! What to do next: a pattern that is drawn, a script, a trace, each slowed down by a pace.
//!
//! A source decides; it never performs. Everything that would otherwise clutter the loop (rates, think time, verify
//! backlogs, closed-loop traces) lives here. On the data plane nothing here allocates, locks or formats.

use iodyno_model::{
    FoundDepth, Job, Mismatch, Overlap, Pattern, Plan, ReplayRecord, SharedUse, Size, Target, Trace, Verb,
    WorkerKind, Workload,
};

use crate::clock::Tick;
use crate::facts::EngineFacts;
use crate::failure::Failure;
use crate::io::{Files, Io, Slot};
use crate::memory::Memory;
use crate::names::templates::Asker;
use crate::priorities;

pub mod cache_requests;
pub mod content;
mod depth_search;
pub mod drop_behind;
pub mod file_requests;
pub mod free_map;
pub mod general_source;
mod labels;
pub mod pace;
pub mod pattern;
pub mod pools;
pub mod preconditioning;
pub mod replay;
mod samples;
pub mod script;
pub mod segments;
pub mod shared;
pub mod sizes;
pub(crate) mod step_barrier;
#[cfg(test)]
mod testing;
pub mod trace;
mod trims;
pub mod walk;

pub use crate::io::UNTALLIED;
pub use crate::{permutation, random};
pub use labels::{VERIFY_LABEL, block_verb, label_of, labels};
pub use shared::SharedObjects;

use content::{Late, WorkerContent};
use file_requests::FileRequests;
use general_source::{Drawer, GeneralSource};
use pattern::PatternSource;
use replay::ReplaySource;

/// What a source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An operation was written into the `Io`.
    Io,
    /// Nothing before that time.
    Later(Tick),
    /// Nothing until a completion arrives.
    Wait,
    /// Nothing more.
    Done,
}

/// All that a source may know of its worker when it is made.
pub struct SourceContext<'a> {
    pub plan: &'a Plan,
    pub job: &'a Job,
    /// What is known of its engine.
    pub engine: &'static EngineFacts,
    /// The number, within its job, of the worker whose data it works on.
    pub worker: u32,
    /// Who asks for names.
    pub asker: Asker<'a>,
    /// What it has open; one handle for each file, in the order of the job's targets.
    pub files: &'a Files,
    /// Its buffers.
    pub memory: &'a Memory,
    /// The depth that will be kept.
    pub depth: u32,
    /// When the phase starts.
    pub start: Tick,
    /// The operations to do, where the limit is "as many as another phase did".
    pub goal: Option<u64>,
    /// Passes that were done in the phases that a script's items follow.
    pub passed: u64,
    /// The rate that its pace has of an earlier phase, operations per second.
    pub rate: Option<f64>,
    /// What the phase's workers share, where they share anything.
    pub shared: Option<&'a SharedObjects>,
    /// What is read ahead of a trace in a file.
    pub supply: Option<&'a replay::Supply>,
}

impl SourceContext<'_> {
    /// The job's n-th target.
    pub fn target(&self, index: usize) -> &Target {
        &self.plan.targets[self.job.targets[index]]
    }
}

/// The object that a job refers to, for one worker.
///
/// # Errors
/// There is none of that name.
pub(crate) fn object(context: &SourceContext<'_>, wanted: &SharedUse) -> Result<shared::Object, Failure> {
    let none = || Failure::new(format!("`{}` is not shared by this phase", wanted.name));
    Ok(context.shared.ok_or_else(none)?.object(wanted)?.of_worker(context.worker, wanted, context.start))
}

/// How many handles, beyond those of its targets, a job's workers need for files they open themselves; closed at first.
pub fn extra_handles(job: &Job) -> u32 {
    match &job.workload {
        Workload::Script(script) => script::compile::extra_handles(script),
        Workload::Trace(trace) if trace.path.is_none() => trace::extra_handles(trace),
        Workload::Trace(trace) => replay::extra_handles(trace),
        _ => 0,
    }
}

/// The phase that a job's script follows: of its passes the items are the next.
pub fn follows(job: &Job) -> Option<&str> {
    match &job.workload {
        Workload::Script(script) => script::compile::follows(script),
        _ => None,
    }
}

/// What a buffer holds where the plan does not say how long operations are, bytes.
pub const BUFFER_BYTES: u64 = 1 << 20;

/// The largest buffer a job's operations need, in bytes.
pub fn buffer_bytes(job: &Job) -> usize {
    let bytes = match &job.workload {
        Workload::Pattern(pattern) => {
            let item = |verb| pattern.item_data.is_some() && matches!(verb, Verb::Create | Verb::Open);
            let moves = |verb: Verb| verb.moves_data() || item(verb);
            let moving = pattern.mix.shares.iter().filter(|share| share.weight > 0.0 && moves(share.verb));
            moving.map(|share| most_bytes(pattern::directed(&pattern.size, share.verb))).max().unwrap_or(0)
        }
        Workload::Script(script) => script::compile::buffers(script, job.buffers.arena_bytes)
            .iter()
            .map(|(block, queue)| block + queue)
            .sum(),
        Workload::Trace(trace) => {
            let moving = trace.entries.iter().filter(|entry| entry.verb.moves_data());
            let facts = &trace.replay.facts;
            let has_attributes = facts
                .verbs
                .iter()
                .any(|verb| matches!(verb, Verb::Setxattr | Verb::Getxattr | Verb::Listxattr));
            let recorded = facts.largest_bytes.max(if has_attributes { replay::ATTRIBUTE_MOST } else { 0 });
            let align = trace.replay.align_bytes.max(1);
            moving.map(|entry| entry.bytes).max().unwrap_or(0).max(recorded.next_multiple_of(align))
        }
        Workload::Cases(_) | Workload::Exercise(_) => 0,
    };
    usize::try_from(bytes.max(1)).unwrap_or(usize::MAX)
}

fn most_bytes(size: &Size) -> u64 {
    match size {
        Size::Gamma { mean_bytes, .. } => ((mean_bytes * 16.0) as u64).max(BUFFER_BYTES),
        Size::Normal { mean_bytes, deviation_bytes } => {
            ((mean_bytes + deviation_bytes * 16.0) as u64).max(BUFFER_BYTES)
        }
        size => size.most_bytes().unwrap_or(BUFFER_BYTES),
    }
}

/// Whether a job's workload can be run, as far as the job alone decides.
///
/// # Errors
/// What it asks for and cannot have.
pub fn check(job: &Job) -> Result<(), Failure> {
    content::check(job)?;
    match &job.workload {
        // Each takes the name that the one before gave up.
        Workload::Pattern(pattern) if pattern.chain && job.depth.most > 1 => {
            Err(Failure::new(format!("a chain of renames, {} at a time", job.depth.most))
                .hint("use depth = 1"))
        }
        Workload::Pattern(_) => Ok(()),
        Workload::Script(script) if job.depth.most > 1 && !script::compile::has_background(script) => {
            script::too_deep(job.depth.most)
        }
        Workload::Script(script) => script::compile::check(script),
        Workload::Trace(trace) if trace.replay.served => file_requests::check(job, trace),
        Workload::Trace(trace) if trace.path.is_some() => check_replay(job, trace),
        Workload::Trace(trace) => trace::check(trace, job.depth.most),
        Workload::Cases(_) | Workload::Exercise(_) => Ok(()),
    }
}

/// Whether a file is a whole generation map.
///
/// # Errors
/// It cannot be read, is damaged, or something else.
pub fn check_map(path: &str) -> Result<(), Failure> {
    content::GenerationMap::read(path).map(drop)
}

/// Whether a generation map is there, or what a killed run left of one.
pub fn has_map(path: &str) -> bool {
    std::path::Path::new(path).exists() || content::LiveMap::is_left(path)
}

/// Whether a trace in a file can be replayed by a job.
fn check_replay(job: &Job, trace: &Trace) -> Result<(), Failure> {
    replay::check(trace, job.depth.most)?;
    if job.start.open {
        return Err(Failure::new("a trace in a file, and files that are opened in the measured time")
            .hint("leave start.open out: what the trace opens itself is measured"));
    }
    if !pace::is_free(job) {
        return Err(Failure::new("a trace in a file has its own pace").hint("leave rates and pauses out"));
    }
    if trace.replay.certified && job.kind == WorkerKind::Processes {
        return Err(Failure::new("the fidelity of workers that are processes is not measured")
            .hint("use kind = \"threads\", or leave certified out"));
    }
    Ok(())
}

/// What a worker does next.
pub struct Source {
    work: Work,
    /// Whether completions must be reported to [`Source::done`].
    pub listens: bool,
    /// Whether drawing an operation may fill its buffer, which takes time of its own.
    pub fills: bool,
    /// What was left at the start, and what is when it has settled; see [`Source::units`].
    whole: u64,
    rest: Option<u64>,
}

enum Work {
    /// Reads, or writes whose buffers stay as they are.
    Steady(pattern::Steady),
    /// Writes whose buffers are filled each time.
    Filled(pattern::Steady, Box<WorkerContent>),
    /// Drawn, without anything that holds operations back.
    Pattern(Box<PatternSource>, Box<WorkerContent>),
    Guided(Box<GeneralSource>),
    Replay(Box<ReplaySource>),
    Served(Box<FileRequests>),
}

/// Blocks of one length that are read and written at their files' own positions, one like the other.
#[derive(Clone, Copy)]
pub struct BlockCopy {
    pub read: Io,
    pub write: Io,
    /// So many of them at most.
    pub most: u64,
}

impl Source {
    /// A source for a worker.
    ///
    /// # Errors
    /// What the workload asks for and cannot have.
    pub fn new(context: &SourceContext<'_>) -> Result<Self, Failure> {
        let work = match &context.job.workload {
            Workload::Pattern(pattern) => Source::drawn(context, pattern)?,
            Workload::Script(script) => {
                let source = script::ScriptSource::new(context, script)?;
                Work::Guided(Box::new(GeneralSource::new(context, Drawer::Script(Box::new(source)))?))
            }
            Workload::Trace(trace) if trace.replay.served => {
                Work::Served(Box::new(FileRequests::new(context, trace)?))
            }
            Workload::Trace(trace) if trace.path.is_some() => {
                Work::Replay(Box::new(ReplaySource::new(context, trace)?))
            }
            Workload::Trace(trace) => {
                let source = trace::TraceSource::new(context, trace)?;
                Work::Guided(Box::new(GeneralSource::new(context, Drawer::Trace(Box::new(source)))?))
            }
            Workload::Cases(_) | Workload::Exercise(_) => {
                return Err(Failure::new("cases and exercises are no stream of operations"));
            }
        };
        let listens = match &work {
            Work::Guided(guided) => guided.listens(),
            work => matches!(work, Work::Replay(_) | Work::Served(_)),
        };
        let whole = match &work {
            Work::Steady(steady) | Work::Filled(steady, _) => steady.left(),
            Work::Pattern(pattern, _) => pattern.left(),
            Work::Guided(guided) => guided.left(),
            Work::Replay(_) | Work::Served(_) => 0,
        };
        let fills = match &work {
            Work::Steady(_) | Work::Served(_) => false,
            Work::Filled(..) => true,
            Work::Pattern(_, content) => !content.is_idle(),
            Work::Guided(guided) => guided.fills(),
            Work::Replay(replay) => replay.fills(),
        };
        Ok(Source { work, listens, fills, whole, rest: None })
    }

    /// The plainest source that does what a pattern says.
    fn drawn(context: &SourceContext<'_>, pattern: &Pattern) -> Result<Work, Failure> {
        let source = PatternSource::new(context, pattern)?;
        let free = pace::is_free(context.job)
            && pattern.overlap == Overlap::Allowed
            && context.job.payload.verify.is_none()
            && !drop_behind::is_wanted(context)
            && !priorities::are_drawn(context.job)
            && !source.ends_on_nothing;
        if !free {
            return Ok(Work::Guided(Box::new(GeneralSource::new(
                context,
                Drawer::Pattern(Box::new(source)),
            )?)));
        }
        let content = WorkerContent::new(context, source.has(Verb::Write) || source.writes_items())?;
        Ok(match pattern::Steady::of(&source) {
            Some(steady) if content.is_idle() || content.prepare(context, &source) => Work::Steady(steady),
            Some(steady) => Work::Filled(steady, Box::new(content)),
            None => Work::Pattern(Box::new(source), Box::new(content)),
        })
    }

    /// What every slot holds before its first operation: where operations differ in their place alone, the rest.
    pub fn template(&self) -> Io {
        match &self.work {
            Work::Steady(steady) | Work::Filled(steady, _) => steady.template(),
            _ => Io::default(),
        }
    }

    /// Writes the next operation into `io`, which is the [template](Self::template) with the slot's buffer, or what an
    /// earlier call left there.
    #[inline(always)]
    pub fn next(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        // Asked first, and the others apart: a jump through a table costs as much as half a draw.
        match &mut self.work {
            Work::Steady(steady) => steady.next(io),
            Work::Replay(replay) => replay.next(now, slot, io),
            _ => self.next_of_others(now, slot, io),
        }
    }

    #[inline(never)]
    fn next_of_others(&mut self, now: Tick, slot: Slot, io: &mut Io) -> Next {
        match &mut self.work {
            Work::Steady(steady) => steady.next(io),
            Work::Filled(steady, content) => {
                let next = steady.next(io);
                if next == Next::Io {
                    content.ready(io);
                }
                next
            }
            Work::Pattern(pattern, content) => {
                let next = pattern.next(io);
                if next == Next::Io {
                    content.ready(io);
                }
                next
            }
            Work::Guided(guided) => guided.next(now, slot, io),
            Work::Replay(replay) => replay.next(now, slot, io),
            Work::Served(requests) => requests.next(now, io),
        }
    }

    /// What draws plainly: operations that differ in their place alone, and what fills their buffers, if anything does.
    #[inline(always)]
    pub fn plain(&mut self) -> Option<(&mut pattern::Steady, Option<&mut WorkerContent>)> {
        match &mut self.work {
            Work::Steady(steady) => Some((steady, None)),
            Work::Filled(steady, content) => Some((steady, Some(content))),
            _ => None,
        }
    }

    /// Hears of a completion, where the source [listens](Source::listens). The answer is the result that is tallied:
    /// a code of the payload's when the content is wrong, or [`UNTALLIED`]. It may set `bytes` to what would have been
    /// a whole record.
    #[inline(always)]
    pub fn done(&mut self, slot: Slot, io: &mut Io, result: i64, now: Tick) -> i64 {
        match &mut self.work {
            Work::Replay(replay) => replay.done(slot, io, result, now),
            _ => self.done_with_others(slot, io, result, now),
        }
    }

    #[inline(never)]
    fn done_with_others(&mut self, slot: Slot, io: &mut Io, result: i64, now: Tick) -> i64 {
        match &mut self.work {
            Work::Guided(guided) => guided.done(slot, io, result, now),
            Work::Served(requests) => requests.done(io, result),
            _ => result,
        }
    }

    /// The time is up: no more of the workload. Whether something is left that must still be done (reading back).
    #[cold]
    pub fn wind_up(&mut self) -> bool {
        match &mut self.work {
            Work::Guided(guided) => guided.wind_up(),
            Work::Replay(replay) => {
                replay.wind_up();
                false
            }
            _ => false,
        }
    }

    /// Whether an operation is held back until its time, or a script is in the middle of a pause or waits for what others do.
    #[cold]
    pub fn is_waiting(&self) -> bool {
        match &self.work {
            Work::Guided(guided) => guided.is_waiting(),
            Work::Replay(replay) => replay.is_waiting(),
            _ => false,
        }
    }

    /// The time is up, and others will say how much is left: what has begun is brought to its end.
    #[cold]
    pub fn settle(&mut self) {
        let by_itself = match &mut self.work {
            Work::Guided(guided) => guided.settle(),
            _ => false,
        };
        if !by_itself {
            self.take_left();
        }
    }

    /// What was done until it had settled: operations of a pattern, passes of a script.
    #[cold]
    pub fn units(&mut self) -> u64 {
        self.whole - self.take_left()
    }

    /// Nothing more is drawn; what is left.
    fn take_left(&mut self) -> u64 {
        if let Some(rest) = self.rest {
            return rest;
        }
        let left = match &mut self.work {
            Work::Steady(steady) | Work::Filled(steady, _) => steady.set_left(0),
            Work::Pattern(pattern, _) => pattern.set_left(0),
            Work::Guided(guided) => guided.take_left(),
            Work::Replay(_) | Work::Served(_) => 0,
        };
        *self.rest.insert(left)
    }

    /// Goes on after it had settled, until it has done so many in all, if there are as many.
    #[cold]
    pub fn go_on(&mut self, units: u64) {
        let (done, rest) = (self.units(), self.take_left());
        let left = units.saturating_sub(done).min(rest);
        self.rest = None;
        match &mut self.work {
            Work::Steady(steady) | Work::Filled(steady, _) => _ = steady.set_left(left),
            Work::Pattern(pattern, _) => _ = pattern.set_left(left),
            Work::Guided(guided) => guided.set_left(left),
            Work::Replay(_) | Work::Served(_) => {}
        }
    }

    /// It has come to the end of its passes: whether it begins again.
    #[cold]
    pub fn repeats(&mut self) -> bool {
        match &mut self.work {
            Work::Steady(steady) | Work::Filled(steady, _) => steady.repeat(),
            Work::Pattern(pattern, _) => pattern.repeat(),
            Work::Guided(guided) => guided.repeat(),
            Work::Replay(_) | Work::Served(_) => false,
        }
    }

    /// The depth that a latency target allowed.
    pub fn found_depth(&self) -> Option<FoundDepth> {
        match &self.work {
            Work::Guided(guided) => guided.found_depth(),
            _ => None,
        }
    }

    /// Whether what was counted so far is to be forgotten; asked once.
    #[cold]
    pub fn takes_restart(&mut self) -> bool {
        match &mut self.work {
            Work::Guided(guided) => guided.takes_restart(),
            _ => false,
        }
    }

    /// Why the worker ends before its time, where it does.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.work {
            Work::Guided(guided) => guided.failure(),
            Work::Replay(replay) => replay.failure(),
            _ => None,
        }
    }

    /// The worker is done, nothing is in flight. What was found wrong after it was tallied as right.
    #[cold]
    pub fn close(&mut self) -> Vec<Late> {
        match &mut self.work {
            Work::Guided(guided) => guided.close(),
            Work::Replay(replay) => replay.close(),
            _ => Vec::new(),
        }
    }

    /// What was found wrong with what was read, as facts.
    pub fn mismatches(&self) -> &[Mismatch] {
        match &self.work {
            Work::Guided(guided) => guided.content().mismatches(),
            Work::Replay(replay) => replay.content().mismatches(),
            _ => &[],
        }
    }

    /// How many ranges of what was read are not what was written, and how many bytes.
    pub fn corrupt(&self) -> (u64, u64) {
        let content = match &self.work {
            Work::Guided(guided) => guided.content(),
            Work::Replay(replay) => replay.content(),
            _ => return (0, 0),
        };
        (content.findings().count(), content.findings().bytes())
    }

    /// Operations and bytes, by label, that count although they were not done.
    pub fn counted(&self) -> &[(u64, u64)] {
        match &self.work {
            Work::Guided(guided) => guided.content().counted(),
            _ => &[],
        }
    }

    /// The blocks that it would copy next, where it does nothing else and is not in the middle of one.
    #[inline(always)]
    pub fn copy(&mut self) -> Option<BlockCopy> {
        match &mut self.work {
            Work::Guided(guided) => guided.copy(),
            _ => None,
        }
    }

    /// So many blocks were copied.
    pub fn copied(&mut self, blocks: u64) {
        if let Work::Guided(guided) = &mut self.work {
            guided.copied(blocks);
        }
    }

    /// What was counted besides operations, by name.
    pub fn facts(&self) -> Vec<(&'static str, u64)> {
        match &self.work {
            Work::Guided(guided) => guided.facts(),
            _ => Vec::new(),
        }
    }

    /// What was found wrong with what was read: a sentence each, the first few.
    pub fn complaints(&self) -> Vec<String> {
        match &self.work {
            Work::Guided(guided) => guided.content().complaints(),
            Work::Replay(replay) => replay.content().complaints(),
            Work::Served(requests) => requests.complaints(),
            _ => Vec::new(),
        }
    }

    /// How faithful the replay of a trace was, where that is measured.
    pub fn certificate(&mut self) -> Option<ReplayRecord> {
        match &mut self.work {
            Work::Replay(replay) => replay.certificate(),
            _ => None,
        }
    }
}
