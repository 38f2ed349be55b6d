//! A recorded workload: its entries in order, as recorded, scaled, with their pauses, or as fast as it goes.
//!
//! An open loop (as recorded, scaled) keeps the recorded starts whatever the storage does, and latency counts from
//! them; a closed loop keeps the pauses, or the time between starts, and runs at any depth. Traces in files are another
//! source's ([`replay`](super::replay)).

use iodyno_model::{Extent, TargetKind, Timing, Trace, TraceEntry, Verb};

use super::{Next, SourceContext, label_of, labels};
use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::{Io, PACED};

/// Replays a trace.
pub struct TraceSource {
    entries: Vec<(TraceEntry, u32, u16)>,
    timing: Timing,
    start: Tick,
    at: usize,
    passes: u64,
    operations: u64,
    bytes: u64,
    /// When the last operation ended, for pauses.
    ended: Tick,
    /// When the last operation started, for gaps; where it was waited for, when it should have.
    began: Tick,
    /// Whether the next operation is being waited for.
    waiting: bool,
}

/// Whether a trace can be replayed, as far as the trace alone decides.
///
/// # Errors
/// Times that are none, timings that need more than entries tell, pauses at a depth.
pub fn check(trace: &Trace, depth: u32) -> Result<(), Failure> {
    if let Timing::Scaled(factor) = trace.timing
        && (factor <= 0.0 || !factor.is_finite())
    {
        return Err(Failure::new(format!("a trace scaled by {factor}: expected more than 0")));
    }
    if matches!(trace.timing, Timing::ThinkTimes | Timing::Dependencies | Timing::Depths) {
        return Err(Failure::new(
            "its entries tell neither threads nor completions, which this timing needs",
        )
        .hint("say the path of a trace in a file"));
    }
    if trace.timing == Timing::Pauses && depth > 1 {
        return Err(Failure::new("a trace with pauses runs at depth 1").hint("set the depth to 1"));
    }
    Ok(())
}

impl TraceSource {
    /// A source for one worker.
    ///
    /// # Errors
    /// Traces that are files, entries beyond their target.
    pub fn new(context: &SourceContext<'_>, trace: &Trace) -> Result<Self, Failure> {
        check(trace, context.depth)?;
        let labels = labels(context.job);
        let mut ends: Vec<u64> = context.files.handles.iter().map(|handle| handle.bytes).collect();
        let mut entries = Vec::with_capacity(trace.entries.len());
        for (number, entry) in trace.entries.iter().enumerate() {
            let file = handle(context, entry.target)
                .ok_or_else(|| Failure::new(format!("entry {number}: no such target")))?;
            fits(context, entry, &mut ends[file]).map_err(|why| {
                Failure::new(format!("entry {number}: {why}")).hint("make the target larger")
            })?;
            let label = label_of(&labels, entry.verb.name(), entry.verb);
            entries.push((entry.clone(), file as u32, label));
        }
        for entry in &mut entries {
            entry.0.offset += context.files.handles[entry.1 as usize].base;
        }
        let limit = &context.job.limit;
        Ok(TraceSource {
            entries,
            timing: trace.timing,
            start: context.start,
            at: 0,
            passes: limit.passes.unwrap_or(1),
            operations: limit.operations.unwrap_or(u64::MAX),
            bytes: limit.bytes.unwrap_or(u64::MAX),
            ended: context.start,
            began: context.start,
            waiting: false,
        })
    }

    /// Whether any entry writes.
    pub fn writes(&self) -> bool {
        self.entries.iter().any(|(entry, ..)| entry.verb == Verb::Write)
    }

    /// Writes the next operation into `io`.
    pub fn next(&mut self, now: Tick, in_flight: u32, io: &mut Io) -> Next {
        if self.at == self.entries.len() && self.passes > 1 {
            (self.at, self.passes, self.start, self.began) = (0, self.passes - 1, now, now);
        }
        if self.operations == 0 || self.bytes == 0 {
            return Next::Done;
        }
        let Some((entry, file, label)) = self.entries.get(self.at) else { return Next::Done };
        let due = match self.timing {
            Timing::AsRecorded => self.start + entry.at_ns,
            Timing::Scaled(factor) => self.start + (entry.at_ns as f64 / factor) as u64,
            Timing::AsFast | Timing::ThinkTimes | Timing::Dependencies | Timing::Depths => now,
            Timing::Pauses if in_flight > 0 => return Next::Wait,
            Timing::Pauses => self.ended + entry.at_ns,
            Timing::Gaps => self.began.saturating_add(entry.at_ns),
            Timing::NoEarlier => self.start.saturating_add(entry.at_ns),
        };
        if due > now {
            self.waiting = true;
            return Next::Later(due);
        }
        // What a timer is late does not add up; what the storage is late does.
        self.began = if std::mem::take(&mut self.waiting) { due } else { now };
        let (verb, offset, bytes) = (entry.verb, entry.offset, entry.bytes);
        *io = Io { verb, label: *label, file: *file, offset, bytes, ..Io::default() };
        if matches!(self.timing, Timing::AsRecorded | Timing::Scaled(_)) {
            (io.flags, io.intended) = (PACED, due);
        }
        self.at += 1;
        self.operations -= u64::from(self.operations != u64::MAX);
        self.bytes = if self.bytes == u64::MAX { u64::MAX } else { self.bytes.saturating_sub(bytes) };
        Next::Io
    }

    /// Hears of a completion.
    pub fn done(&mut self, result: i64, now: Tick) -> i64 {
        self.ended = now;
        result
    }
}

/// The handle of a job's target.
fn handle(context: &SourceContext<'_>, target: usize) -> Option<usize> {
    let index = *context.job.targets.get(target)?;
    context.files.handles.iter().position(|handle| handle.target as usize == index)
}

/// Whether an entry lies within its target, `end` bytes long so far (0: unknown): a write may make a file longer.
fn fits(context: &SourceContext<'_>, entry: &TraceEntry, end: &mut u64) -> Result<(), String> {
    if !entry.verb.moves_data() {
        return Ok(());
    }
    if entry.bytes > context.memory.stride() as u64 {
        return Err(format!("{} bytes are more than a buffer holds", entry.bytes));
    }
    let grows = matches!(context.target(entry.target).kind, TargetKind::File { size: Extent::Rest, .. });
    let last = entry.offset.saturating_add(entry.bytes);
    if entry.verb == Verb::Write && grows && *end > 0 {
        *end = last.max(*end);
    }
    if *end > 0 && last > *end {
        return Err(format!("it ends at byte {last}, its target at {end}"));
    }
    Ok(())
}
