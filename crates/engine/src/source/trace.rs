//! A recorded workload: its entries in order, as recorded, scaled, with their pauses, or as fast as it goes.
//!
//! An open loop (as recorded, scaled) keeps the recorded starts whatever the storage does, and latency counts from
//! them; a closed loop keeps the pauses, or the time between starts, and runs at any depth. Items of sets are made and opened
//! one at a time: what is read, written and closed is the one that is open. Traces in files are another source's
//! ([`replay`](super::replay)).

use iodyno_model::{Extent, TargetKind, Timing, Trace, TraceEntry, Verb};

use super::{Next, SourceContext, label_of, labels};
use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::{Io, KEEP, PACED};

/// Replays a trace.
pub struct TraceSource {
    entries: Vec<PlacedEntry>,
    timing: Timing,
    start: Tick,
    at: usize,
    /// How often the present entry was issued.
    repeated: u64,
    /// An item could not be opened: what is done with it is left out.
    is_closed: bool,
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

/// An entry as it is issued.
struct PlacedEntry {
    entry: TraceEntry,
    file: u32,
    label: u16,
    /// The handle that it fills, of what opens an item.
    fills: Option<u32>,
    /// Whether it works on the item that is open.
    on_open: bool,
}

/// Handles that a worker needs beside those of its targets: one, where items are opened.
pub fn extra_handles(trace: &Trace) -> u32 {
    u32::from(trace.entries.iter().any(|entry| opens(entry.verb)))
}

fn opens(verb: Verb) -> bool {
    matches!(verb, Verb::Create | Verb::Open)
}

/// Whether a trace can be replayed, as far as the trace alone decides.
///
/// # Errors
/// Times that are none, timings that need more than entries tell, pauses and open items at a depth.
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
    if extra_handles(trace) > 0 && depth > 1 {
        return Err(Failure::new("a trace that opens items runs at depth 1").hint("set the depth to 1"));
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
        // Behind the handles of the targets, where items are opened.
        let open = context.files.handles.len().saturating_sub(1) as u32;
        for (number, entry) in trace.entries.iter().enumerate() {
            let file = handle(context, entry.target)
                .ok_or_else(|| Failure::new(format!("entry {number}: no such target")))?;
            let label = label_of(&labels, entry.verb.name(), entry.verb);
            let mut placed =
                PlacedEntry { entry: entry.clone(), file: file as u32, label, fills: None, on_open: false };
            let known = &context.files.handles[file];
            if known.names.is_some() {
                placed.fills = opens(entry.verb).then_some(open);
                placed.on_open = entry.verb.moves_data() || entry.verb == Verb::Close;
                placed.file = if placed.on_open { open } else { placed.file };
                (!placed.on_open || fits_buffer(context, entry))
                    .then_some(())
                    .ok_or_else(|| long(number, entry.bytes))?;
            } else {
                fits(context, entry, &mut ends[file]).map_err(|why| {
                    Failure::new(format!("entry {number}: {why}")).hint("make the target larger")
                })?;
                placed.entry.offset += known.base;
            }
            entries.push(placed);
        }
        let limit = &context.job.limit;
        Ok(TraceSource {
            entries,
            timing: trace.timing,
            start: context.start,
            at: 0,
            repeated: 0,
            is_closed: false,
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
        self.entries.iter().any(|placed| placed.entry.verb == Verb::Write)
    }

    /// Writes the next operation into `io`.
    pub fn next(&mut self, now: Tick, in_flight: u32, io: &mut Io) -> Next {
        self.leave_out();
        if self.at == self.entries.len() && self.passes > 1 {
            (self.at, self.passes, self.start, self.began) = (0, self.passes - 1, now, now);
        }
        if self.operations == 0 || self.bytes == 0 {
            return Next::Done;
        }
        let Some(placed) = self.entries.get(self.at) else { return Next::Done };
        let entry = &placed.entry;
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
        let (verb, bytes) = (entry.verb, entry.bytes);
        let offset = entry.offset + self.repeated * bytes;
        *io = Io { verb, label: placed.label, file: placed.file, offset, bytes, ..Io::default() };
        if let Some(handle) = placed.fills {
            (io.flags, io.other) = (KEEP, handle.into());
        }
        if matches!(self.timing, Timing::AsRecorded | Timing::Scaled(_)) {
            (io.flags, io.intended) = (io.flags | PACED, due);
        }
        self.repeated += 1;
        if self.repeated >= entry.repeat {
            (self.at, self.repeated) = (self.at + 1, 0);
        }
        self.operations -= u64::from(self.operations != u64::MAX);
        self.bytes = if self.bytes == u64::MAX { u64::MAX } else { self.bytes.saturating_sub(bytes) };
        Next::Io
    }

    /// What would be done with an item that could not be opened.
    fn leave_out(&mut self) {
        while self.is_closed && self.entries.get(self.at).is_some_and(|placed| placed.on_open) {
            (self.at, self.repeated) = (self.at + 1, 0);
        }
        self.is_closed = false;
    }

    /// Hears of a completion.
    pub fn done(&mut self, io: &Io, result: i64, now: Tick) -> i64 {
        self.is_closed = opens(io.verb) && io.flags & KEEP != 0 && result < 0;
        self.ended = now;
        result
    }
}

/// The handle of a job's target.
fn handle(context: &SourceContext<'_>, target: usize) -> Option<usize> {
    let index = *context.job.targets.get(target)?;
    context.files.handles.iter().position(|handle| handle.target as usize == index)
}

fn fits_buffer(context: &SourceContext<'_>, entry: &TraceEntry) -> bool {
    entry.bytes <= context.memory.stride() as u64
}

fn long(number: usize, bytes: u64) -> Failure {
    Failure::new(format!("entry {number}: {bytes} bytes are more than a buffer holds"))
        .hint("leave out what moves so much at once")
}

/// Whether an entry lies within its target, `end` bytes long so far (0: unknown): a write may make a file longer.
fn fits(context: &SourceContext<'_>, entry: &TraceEntry, end: &mut u64) -> Result<(), String> {
    if !entry.verb.moves_data() {
        return Ok(());
    }
    if !fits_buffer(context, entry) {
        return Err(format!("{} bytes are more than a buffer holds", entry.bytes));
    }
    let grows = matches!(context.target(entry.target).kind, TargetKind::File { size: Extent::Rest, .. });
    let last = entry.offset.saturating_add(entry.bytes.saturating_mul(entry.repeat));
    if entry.verb == Verb::Write && grows && *end > 0 {
        *end = last.max(*end);
    }
    if *end > 0 && last > *end {
        return Err(format!("it ends at byte {last}, its target at {end}"));
    }
    Ok(())
}
