//! `drive`: the hot loop. One loop for every engine, compiled once for each.
//!
//! While there is a free slot, ask the source for the next operation and hand it to the engine; if the source says
//! "later", remember when; poll for at least one completion; tally each and free its slot; stop when the source is
//! done and nothing is in flight. On this path: no allocation, no lock, no formatting; the clock is read once for each
//! batch handed over and once for each batch reaped.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{ErrorPolicy, Job, Kind};

use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::engines::{Engine, Failure, Setup};
use crate::gate::Gate;
use crate::io::{FORGIVEN, Files, Io, PACED, SILENT, Slot};
use crate::memory::Memory;
use crate::sheet::{SeriesWriter, Sheet};
use crate::source::{Next, Source, UNTALLIED, label_of, labels};

/// With nothing in flight, a source that waits is asked again after this, ns.
const WAIT_NS: u64 = 20_000;

/// One worker, ready to go.
pub struct Worker<'a> {
    /// Its job.
    pub job: &'a Job,
    /// Where the start line and the stop flag are.
    pub gate: &'a Gate,
    /// Its counters.
    pub sheet: Sheet<'a>,
    /// The kinds of its labels.
    pub kinds: &'a [Kind],
    /// What it has open.
    pub files: Files,
    /// Its buffers.
    pub memory: &'a Memory,
    /// The depth it keeps.
    pub depth: u32,
    /// Its number within the phase.
    pub number: u32,
    /// The plan's seed.
    pub seed: u64,
    /// The job it waits for, by index in the phase.
    pub after: Option<usize>,
    /// Makes the source once the start line's time is known.
    pub source: &'a dyn Fn(&Files, Tick) -> Result<Source, Failure>,
}

impl Worker<'_> {
    /// What is done with each file after the last operation, inside the measured time.
    fn finish(&mut self, ended: &mut Tick) {
        let Some(verb) = self.job.finish.sync else { return };
        let label = label_of(&labels(self.job), verb.name(), verb);
        for file in 0..self.files.handles.len() as u32 {
            if self.files.fd(file) < 0 {
                continue;
            }
            let started = clock::now();
            let result = call::perform(&Io { verb, file, ..Io::default() }, &mut self.files);
            *ended = clock::now();
            match result {
                0.. => self.sheet.success(label, 0, false, *ended - started),
                _ => self.sheet.failure(label, verb, -result as i32, 0, file),
            }
        }
    }
}

/// What is in flight and what becomes of it.
struct Flight<'a> {
    slots: Vec<Io>,
    free: Vec<Slot>,
    source: Source,
    sheet: Sheet<'a>,
    series: SeriesWriter,
    errors_left: u64,
    ended: Tick,
}

/// Drives an engine until the source is done, the time is up, or somebody says stop.
///
/// # Errors
/// When the engine cannot start or breaks.
pub fn drive<E: Engine>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let setup = Setup {
        job: worker.job,
        depth: worker.depth,
        files: &worker.files,
        memory: worker.memory,
        seed: worker.seed,
        worker: worker.number,
    };
    let mut engine = E::start(&setup)?;
    let line = worker.gate.wait_for_start(worker.after);
    let mut now = if E::VIRTUAL { engine.now() } else { line };
    let begin = now + worker.job.start.after_ns;
    let ramp_end = begin + worker.job.limit.ramp_ns;
    let mut deadline = worker.job.limit.time_ns.map_or(NEVER, |time_ns| ramp_end.saturating_add(time_ns));
    while now < begin && !worker.gate.stopped() {
        engine.idle(begin);
        now = engine.now();
    }
    let mut ramping = worker.job.limit.ramp_ns > 0;
    let mut flight = Flight::new(worker, (worker.source)(&worker.files, begin)?, begin);
    let depth = worker.depth as usize;
    let batch = (worker.job.depth.submit_batch as usize).clamp(1, depth)
        * usize::from(worker.job.depth.submit_batch > 0);
    let batch = if batch == 0 { depth } else { batch };
    let low = depth - (worker.job.depth.low as usize).min(depth - 1);
    let least = worker.job.depth.reap_least.clamp(1, worker.depth);
    worker.sheet.head.began.store(begin, Relaxed);
    loop {
        now = engine.now();
        let mut wake = NEVER;
        let mut over = flight.errors_left == 0 || worker.gate.stopped();
        if now >= deadline {
            // What was written may still have to be read back.
            if flight.source.wind_up() { deadline = NEVER } else { over = true }
        }
        let mut ask_again = NEVER;
        if !over && (flight.free.len() >= low || worker.job.depth.low == 0) {
            for _ in 0..batch {
                let Some(slot) = flight.free.pop() else { break };
                match flight.source.next(now, slot, &mut flight.slots[slot as usize]) {
                    Next::Io => {
                        let io = &mut flight.slots[slot as usize];
                        io.started = now;
                        flight.sheet.depth(depth - flight.free.len());
                        engine.push(slot, io, &mut worker.files);
                        continue;
                    }
                    Next::Later(tick) => wake = tick,
                    Next::Wait => {
                        flight.sheet.wait();
                        ask_again = now + WAIT_NS;
                    }
                    Next::Done => over = true,
                }
                flight.free.push(slot);
                break;
            }
        }
        let in_flight = (depth - flight.free.len()) as u32;
        if in_flight > 0 {
            // What is left is reaped one by one: reaped together, all would look as slow as the last.
            let (least, until) = if over { (1, NEVER) } else { (least.min(in_flight), wake.min(deadline)) };
            engine.poll(least, until, |slot, result, ended| flight.complete(slot, result, ended))?;
        } else if over {
            break;
        } else {
            engine.idle(wake.min(ask_again).min(deadline));
        }
        if flight.ended >= flight.series.next {
            flight.series.turn(&flight.sheet, worker.kinds, flight.ended);
        }
        if ramping && flight.ended >= ramp_end {
            ramping = false;
            flight.begin_anew(ramp_end);
        }
    }
    worker.finish(&mut flight.ended);
    let ended = flight.ended.max(begin);
    flight.series.finish(&flight.sheet, worker.kinds, ended);
    worker.sheet.head.ended.store(ended, Relaxed);
    if let Some(complaint) = flight.source.complaints().first() {
        worker.sheet.fail(complaint);
    }
    flight.source.failure().map_or(Ok(()), |failure| Err(failure.clone()))
}

impl<'a> Flight<'a> {
    fn new(worker: &Worker<'a>, source: Source, begin: Tick) -> Self {
        let slot = |slot| Io { buffer: worker.memory.buffer(slot), ..Io::default() };
        Flight {
            slots: (0..worker.depth).map(slot).collect(),
            free: (0..worker.depth).rev().collect(),
            source,
            sheet: worker.sheet,
            series: SeriesWriter::new(begin),
            errors_left: match worker.job.errors {
                ErrorPolicy::Stop => 1,
                ErrorPolicy::Continue => u64::MAX,
                ErrorPolicy::AtMost(count) => count.saturating_add(1),
            },
            ended: begin,
        }
    }

    /// Tallies one completion and frees its slot.
    #[inline(always)]
    fn complete(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &mut self.slots[slot as usize];
        self.ended = ended;
        let result = if self.source.listens { self.source.done(slot, io, result, ended) } else { result };
        self.free.push(slot);
        if result < 0 || io.flags & (SILENT | PACED) != 0 {
            return self.complete_rarely(slot, result, ended);
        }
        let latency = ended.saturating_sub(io.started);
        self.series.observe(latency);
        self.sheet.success(
            io.label,
            result as u64,
            (result as u64) < io.bytes && io.verb.moves_data(),
            latency,
        );
    }

    /// Failures, untallied operations, and latencies from the intended start.
    #[inline(never)]
    fn complete_rarely(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = self.slots[slot as usize];
        if io.flags & SILENT != 0 {
            return;
        }
        if result == UNTALLIED {
            return;
        }
        if result < 0 {
            self.sheet.failure(io.label, io.verb, -result as i32, io.offset, io.file);
            self.errors_left = self.errors_left.saturating_sub(u64::from(io.flags & FORGIVEN == 0));
            return;
        }
        let latency = ended.saturating_sub(io.intended);
        self.series.observe(latency);
        self.sheet.success(
            io.label,
            result as u64,
            (result as u64) < io.bytes && io.verb.moves_data(),
            latency,
        );
        self.sheet.service(io.label, ended.saturating_sub(io.started));
    }

    /// The ramp is over: what was counted so far is forgotten.
    #[cold]
    fn begin_anew(&mut self, start: Tick) {
        self.sheet.reset();
        self.series.restart(start);
        self.sheet.head.began.store(start, Relaxed);
    }
}
