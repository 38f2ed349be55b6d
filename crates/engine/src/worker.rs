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
use crate::io::{Files, Io, PACED, SILENT, Slot};
use crate::memory::Memory;
use crate::sheet::{SeriesWriter, Sheet};
use crate::source::{Next, Source};

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
        let label = self.kinds.len() as u16 - 1;
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
    /// When nothing more is begun: the time is up, or too much failed.
    deadline: Tick,
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
    while now < begin && !worker.gate.stopped() {
        engine.idle(begin);
        now = engine.now();
    }
    let mut ramping = worker.job.limit.ramp_ns > 0;
    let mut flight = Flight::new(worker, (worker.source)(&worker.files, begin)?, begin, ramp_end);
    let depth = worker.depth as usize;
    let batch = match worker.job.depth.submit_batch as usize {
        0 => depth,
        batch => batch,
    };
    let refill_at = match worker.job.depth.low as usize {
        0 => 0,
        low => depth - low.min(depth - 1),
    };
    let least = worker.job.depth.reap_least.clamp(1, worker.depth);
    worker.sheet.head.began.store(begin, Relaxed);
    loop {
        now = engine.now();
        let mut wake = NEVER;
        let mut over = now >= flight.deadline || worker.gate.stopped();
        let free = flight.free.len();
        if !over && free >= refill_at {
            let keep = free.saturating_sub(batch);
            while flight.free.len() > keep {
                let slot = flight.free[flight.free.len() - 1];
                let io = &mut flight.slots[slot as usize];
                match flight.source.next(now, slot, io) {
                    Next::Io => {
                        io.started = now;
                        engine.push(slot, io, &mut worker.files);
                        flight.free.pop();
                        continue;
                    }
                    Next::Later(tick) => wake = tick,
                    Next::Wait => flight.sheet.wait(),
                    Next::Done => over = true,
                }
                break;
            }
        }
        let in_flight = depth - flight.free.len();
        if in_flight > 0 {
            flight.sheet.depth(in_flight, free - flight.free.len());
            // What is left is reaped one by one: reaped together, all would look as slow as the last.
            let (least, until) = match over {
                true => (1, NEVER),
                false => (least.min(in_flight as u32), wake.min(flight.deadline)),
            };
            engine.poll(least, until, |slot, result, ended| flight.complete(slot, result, ended))?;
        } else if over {
            break;
        } else {
            engine.idle(wake.min(flight.deadline));
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
    Ok(())
}

impl<'a> Flight<'a> {
    fn new(worker: &Worker<'a>, source: Source, begin: Tick, ramp_end: Tick) -> Self {
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
            deadline: worker.job.limit.time_ns.map_or(NEVER, |time_ns| ramp_end.saturating_add(time_ns)),
            ended: begin,
        }
    }

    /// Tallies one completion and frees its slot.
    #[inline(always)]
    fn complete(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &self.slots[slot as usize];
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
        if result < 0 {
            self.sheet.failure(io.label, io.verb, -result as i32, io.offset, io.file);
            self.errors_left = self.errors_left.saturating_sub(1);
            if self.errors_left == 0 {
                self.deadline = 0;
            }
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
