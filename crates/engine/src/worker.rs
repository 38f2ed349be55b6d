//! `drive`: the hot loop. One loop for every engine, compiled once for each.
//!
//! While there is a free slot, ask the source for the next operation and hand it to the engine; if the source says
//! "later", remember when; poll for at least one completion; tally each and free its slot; stop when the source is
//! done and nothing is in flight. On this path: no allocation, no lock, no formatting; the clock is read once for each
//! batch handed over and once for each batch reaped.
//!
//! Here is the loop. `ready` leads from the start line to it, and from it to the last file closed. `in_flight` is what
//! happens seldom, and how a worker ends. `instrumented` is what a job may have measured beyond counts and whole latencies.
//! Two loops stand beside this one: `sampled`, whose operations are mostly counted only, and `collective`, whose workers
//! end together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_model::{Job, Kind, Plan, Tolerance, WorkerState};

pub use self::carry_out::{CarryOut, carry_out};
use self::collective::collective_loop;
use self::copying::copying_loop;
use self::ready::begin;
use self::sampled::sampled_loop;
use self::stackless::StacklessLoop;
use crate::clock::{self, NEVER, Tick};
use crate::connections::Connections;
use crate::engines::{Engine, Failure};
use crate::io::{Files, Io, PACED, SILENT, Slot};
use crate::journal::{JournalWriter, WorkerJournal};
use crate::memory::Memory;
use crate::objects::ObjectSet;
use crate::preread::Preread;
use crate::source::{Next, Source};
use crate::start_barrier::StartBarrier;
use crate::worker_counters::{SeriesWriter, WorkerCounters};
use crate::worker_findings::WorkerFindings;

mod carry_out;
mod collective;
mod copying;
mod in_flight;
mod instrumented;
mod ready;
mod sampled;
mod stackless;

/// How long a worker with nothing in flight sleeps at a time, ns.
const IDLE_NS: u64 = 50_000_000;

/// With nothing in flight, a source that waits is asked again after this, ns.
const WAIT_NS: u64 = 20_000;

/// Drives an engine until the source is done, the time is up, or somebody says stop.
///
/// # Errors
/// When the engine cannot start or breaks.
pub fn drive<E: Engine>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    match Instruments::are_plain::<E>(worker) {
        true => run_loop::<E, false>(worker),
        false => drive_instrumented::<E>(worker),
    }
}

/// The same for engines whose operations cost so much that a loop of their own for plain jobs is not worth compiling.
///
/// # Errors
/// When the engine cannot start or breaks.
pub fn drive_instrumented<E: Engine>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    worker.counters.head.batched.store(1, Relaxed);
    run_loop::<E, true>(worker)
}

/// From the start line to the end; `INSTRUMENTED`: with all that a job may have measured beyond counts and whole latencies.
fn run_loop<E: Engine, const INSTRUMENTED: bool>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let (mut engine, line) = begin::<E>(worker)?;
    let source = (worker.source)(&worker.files, line)?;
    let instruments = Instruments::new::<E>(worker, line);
    let mut flight = InFlight::new(worker, source, instruments);
    worker.preread.again();
    // To make all that took longer than a small file's operations do, and is none of those. Peers share the line.
    let begin = if E::FACTS.is_virtual || E::FACTS.connects { line } else { engine.now() };
    flight.begin(&worker.job.limit, begin);
    worker.counters.head.began.store(begin, Relaxed);
    worker.counters.enter(if flight.ramp_end > 0 { WorkerState::Ramping } else { WorkerState::Running });
    worker.counters.head.began_clock_ns.store(clock::by(worker.job.start.clock_id), Relaxed);
    let mut agreed = false;
    if E::FACTS.is_collective {
        agreed = collective_loop::<E, INSTRUMENTED>(worker, &mut engine, &mut flight)?;
    } else if !INSTRUMENTED && E::FACTS.performs && flight.is_sampled(&worker.job.measure) {
        sampled_loop(worker, &mut engine, &mut flight);
    } else {
        if !INSTRUMENTED && E::FACTS.performs && flight.is_copying(worker.job.measure.sample_ns) {
            copying_loop(worker, &mut engine, &mut flight);
        }
        event_loop::<E, INSTRUMENTED>(worker, &mut engine, &mut flight)?;
    }
    flight.end(worker, engine, begin, agreed)
}

/// Waits, with nothing in flight, until a point in time or for one slice.
fn idle<E: Engine>(engine: &mut E, until: Tick) {
    if E::FACTS.is_virtual {
        let nothing = engine.poll(1, until, |_, _, _| ());
        debug_assert!(nothing.is_ok(), "a virtual clock breaks nothing");
    } else {
        clock::sleep_until(until, IDLE_NS);
    }
}

/// Hands over and takes back, until there is nothing more.
#[inline(always)]
fn event_loop<E: Engine, const INSTRUMENTED: bool>(
    worker: &mut Worker<'_>,
    engine: &mut E,
    flight: &mut InFlight<'_>,
) -> Result<(), Failure> {
    let mut now = engine.now();
    loop {
        let (stopped, time_is_up) = (flight.stop.load(Relaxed) != 0, now >= flight.deadline);
        match flight.step::<E, INSTRUMENTED>(worker, engine, now, stopped, time_is_up)? {
            Some(later) => now = later,
            None => return Ok(()),
        }
    }
}

impl InFlight<'_> {
    /// One turn of the loop: hands over what there are slots for, then takes back what is done. Answers what time it is
    /// then; none: there is nothing more.
    #[inline(always)]
    fn step<E: Engine, const INSTRUMENTED: bool>(
        &mut self,
        worker: &mut Worker<'_>,
        engine: &mut E,
        now: Tick,
        stopped: bool,
        time_is_up: bool,
    ) -> Result<Option<Tick>, Failure> {
        if stopped {
            self.waited(now);
        }
        let (mut wake, mut over) = (NEVER, stopped || (time_is_up && !self.winds_up()));
        let before = self.free.count;
        if !over {
            (wake, over) = self.hand_over::<E, INSTRUMENTED>(engine, &mut worker.files, now);
            if INSTRUMENTED {
                self.handed_over(engine, before)?;
                if self.filling && self.fills_up {
                    return Ok(Some(engine.now()));
                }
            }
        }
        let free = self.free.count;
        if free < self.slots.len() {
            if E::FACTS.is_virtual && !INSTRUMENTED && !over && wake == NEVER {
                self.run_stackless(engine, &worker.files);
            }
            self.take_back::<E, INSTRUMENTED>(engine, now, wake, over)?;
        } else if !over {
            idle(engine, wake.min(self.deadline));
            self.idled(engine.now(), worker.kinds);
        } else if !self.goes_on(worker, now) {
            return Ok(None);
        }
        if self.ended >= self.turn {
            self.turn(worker.kinds);
        }
        // Without latencies the time of the last reap is near enough.
        let recent = INSTRUMENTED && !self.instruments.timed && self.free.count > free;
        Ok(Some(if recent { self.ended } else { engine.now() }))
    }

    /// Asks the source for operations and hands them to the engine, while there are free slots. Answers when to come
    /// back, and whether there is nothing more.
    #[inline(always)]
    fn hand_over<E: Engine, const INSTRUMENTED: bool>(
        &mut self,
        engine: &mut E,
        files: &mut Files,
        now: Tick,
    ) -> (Tick, bool) {
        let free = self.free.count;
        if INSTRUMENTED && !std::mem::take(&mut self.filling) && free < self.refill_at {
            return (NEVER, false);
        }
        let rest = if INSTRUMENTED { free.saturating_sub(self.batch) } else { 0 };
        let mut answer = (NEVER, false);
        while self.free.count > rest {
            let slot = self.free.slots[self.free.count - 1];
            let io = &mut self.slots[slot as usize];
            match self.source.next(now, slot, io) {
                Next::Io => {
                    // What the client does to fill a buffer is no part of the operation.
                    io.started = if self.source.fills { engine.now() } else { now };
                    engine.push(slot, io, files);
                    self.free.count -= 1;
                    continue;
                }
                Next::Later(tick) => answer.0 = tick,
                Next::Wait => {
                    self.counters.wait();
                    if self.free.count == self.slots.len() {
                        answer.0 = now + WAIT_NS;
                    }
                }
                Next::Done => answer.1 = true,
            }
            break;
        }
        if rest > 0 {
            self.go_on(rest, now, &mut answer.0);
        }
        self.counters.depth(self.slots.len() - self.free.count, free - self.free.count);
        answer
    }

    /// Waits for completions, at most until it is time to come back, and tallies them.
    #[inline(always)]
    fn take_back<E: Engine, const INSTRUMENTED: bool>(
        &mut self,
        engine: &mut E,
        now: Tick,
        wake: Tick,
        over: bool,
    ) -> Result<(), Failure> {
        let free = self.free.count;
        let in_flight = (self.slots.len() - free) as u32;
        // What is left is reaped one by one: reaped together, all would look as slow as the last.
        let (least, until) = match over {
            true => (1, NEVER),
            // Between two batches only what is done is taken back.
            false if INSTRUMENTED && self.filling => (0, now),
            false => (self.least.min(in_flight), wake.min(self.deadline)),
        };
        engine
            .poll(least, until, |slot, result, ended| self.complete::<INSTRUMENTED>(slot, result, ended))?;
        if INSTRUMENTED {
            self.counters.completed(self.free.count - free);
        }
        Ok(())
    }

    /// A whole batch was handed over and there is room for another: nothing is waited for in between.
    #[cold]
    #[inline(never)]
    fn go_on(&mut self, rest: usize, now: Tick, wake: &mut Tick) {
        if self.free.count == rest {
            (*wake, self.filling) = (now, true);
        }
    }

    /// Tallies one completion and frees its slot.
    #[inline(always)]
    fn complete<const INSTRUMENTED: bool>(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &mut self.slots[slot as usize];
        self.ended = ended;
        let result = if self.source.listens { self.source.done(slot, io, result, ended) } else { result };
        self.free.push(slot);
        if INSTRUMENTED {
            self.complete_instrumented(slot, result, ended);
            if let Some(buffer) = self.instruments.next_buffer(slot) {
                self.slots[slot as usize].buffer = buffer;
            }
            return;
        }
        // Failed and short results alike are below what was asked for.
        if result < io.bytes as i64 || io.flags & (SILENT | PACED) != 0 {
            self.complete_rarely(slot, result, ended);
            return;
        }
        let latency = ended.saturating_sub(io.started);
        self.series.observe(latency);
        self.counters.success(io.label, result as u64, latency);
    }
}

/// One worker, ready to go.
pub struct Worker<'a> {
    pub plan: &'a Plan,
    pub job: &'a Job,
    /// Where the start line and the stop flag are.
    pub barrier: &'a StartBarrier,
    pub counters: WorkerCounters<'a>,
    /// By label, the I/O priority that its operations carry, where any does.
    pub priorities: Option<&'a [u16]>,
    /// The kinds of its labels.
    pub kinds: &'a [Kind],
    /// What it has open.
    pub files: Files,
    /// Its buffers.
    pub memory: &'a Memory,
    /// What it has read before the start line.
    pub preread: Preread,
    /// The names of its files, where its engine opens them.
    pub paths: &'a [String],
    /// The objects of its buckets, in the order of its handles.
    pub objects: &'a [Option<ObjectSet>],
    /// The depth it keeps.
    pub depth: u32,
    /// Opens them, where that is part of what is measured; none: they are open.
    pub open: Option<&'a dyn Fn() -> Result<Files, Failure>>,
    /// Its number within the phase.
    pub number: u32,
    /// Its job, by index in the phase.
    pub index: usize,
    /// Its number within its job, counted over all ranks.
    pub seat: u32,
    /// Workers of its job on all ranks together.
    pub seats: u32,
    /// There is a processor for each of them.
    pub has_processor: bool,
    /// The plan's seed, in each repetition another one.
    pub seed: u64,
    /// The job it waits for, by index in the phase.
    pub after: Option<usize>,
    /// Where it writes down what its job wants written down.
    pub writer: Option<JournalWriter<'a>>,
    /// By slot, when the answer to its operation began, where its engine tells and its journal wants to know.
    pub marks: Box<[AtomicU64]>,
    /// Where it writes what is no number.
    pub findings: &'a WorkerFindings,
    /// Where its engine tells of connections.
    pub connections: &'a Connections,
    /// Makes the source once the start line's time is known.
    pub source: &'a dyn Fn(&Files, Tick) -> Result<Source, Failure>,
}

/// What is in flight and what becomes of it.
struct InFlight<'a> {
    slots: Box<[Io]>,
    free: FreeSlots,
    source: Source,
    counters: WorkerCounters<'a>,
    stop: &'a AtomicU32,
    series: SeriesWriter,
    errors_left: u64,
    /// Errors that do not count against that.
    tolerance: Option<Box<Tolerance>>,
    /// Reads that brought wrong content are counted among those that were done too.
    wrong_is_read: bool,
    /// No space left is the end, not an error.
    until_full: bool,
    /// Whether it still has to do as much as the others, once the time is up.
    wear: Wear,
    /// Before this time the whole of it is done once more, and again.
    least_until: Tick,
    /// Handed over together at most, and only when so many slots are free.
    batch: usize,
    refill_at: usize,
    /// A refill goes on with the next batch.
    filling: bool,
    /// Nothing is taken back before all slots are taken.
    fills_up: bool,
    /// Awaited together at least.
    least: u32,
    /// Time between two operations that are timed, ns; 0: all are.
    sample_ns: u64,
    /// Operations after a timed one that only count, at present.
    untimed: u64,
    /// Changes when the clock is to be looked at all the same.
    pulse: &'a AtomicU32,
    /// When nothing more is begun: the time is up, or too much failed.
    deadline: Tick,
    /// When the ramp ends; 0 once it has.
    ramp_end: Tick,
    /// Bytes that are to be moved before anything counts; 0 once they were.
    ramp_bytes: u64,
    /// How long it goes on once the ramp is over, ns.
    time_ns: u64,
    /// Whether every batch is a turn: something else than time may end the ramp.
    eager: bool,
    /// When something is due that is not: the end of the ramp, or of a row of the series.
    turn: Tick,
    ended: Tick,
    /// What goes on in its place as long as its operations differ in their place alone.
    stackless: Option<Box<StacklessLoop<'a>>>,
    instruments: Instruments<'a>,
}

/// Slots without an operation, the last first. A stack that never grows, so that nothing asks whether it must.
struct FreeSlots {
    slots: Box<[Slot]>,
    count: usize,
}

impl FreeSlots {
    #[inline(always)]
    fn push(&mut self, slot: Slot) {
        self.slots[self.count] = slot;
        self.count += 1;
    }
}

/// How far a worker is that does as much as the others before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wear {
    /// It need not.
    No,
    /// The time is not up.
    Due,
    /// The time is up; what has begun is brought to its end.
    Settling,
    /// It knows how much the others have done.
    Agreed,
}

/// What is measured otherwise than plainly. Only loops that are compiled for it look here.
struct Instruments<'a> {
    /// When the operation of each slot was handed over; empty where that is not asked for or cannot be reported.
    issued: Box<[Tick]>,
    /// When the answer to the operation of each slot began; empty where nobody tells. The engine writes them.
    marks: Box<[AtomicU64]>,
    /// Whether each batch is handed to the kernel before anything else is done.
    submits: bool,
    /// Whether latencies are measured.
    timed: bool,
    /// Whether CPU time is noted while the worker runs.
    noted: bool,
    journal: Option<Box<WorkerJournal<'a>>>,
    /// The buffers that operations take in turn, and the turn of each slot; none: each has its own.
    turns: Option<(&'a Memory, Box<[u32]>)>,
}
