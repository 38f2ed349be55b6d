//! `drive`: the hot loop. One loop for every engine, compiled once for each.
//!
//! While there is a free slot, ask the source for the next operation and hand it to the engine; if the source says
//! "later", remember when; poll for at least one completion; tally each and free its slot; stop when the source is
//! done and nothing is in flight. On this path: no allocation, no lock, no formatting; the clock is read once for each
//! batch handed over and once for each batch reaped.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_model::{ErrorPolicy, Fatal, Job, Kind, Plan, Stage, Tolerance, Verb, WorkerState};

use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::connections::Connections;
use crate::engines::null::Null;
use crate::engines::{Engine, Failure, Live, Setup};
use crate::gate::{Gate, Meeting};
use crate::io::{FORGIVEN, Files, Io, PACED, SILENT, Slot};
use crate::journal::{Book, Pen};
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::random::mix;
use crate::sheet::{SeriesWriter, Sheet};
use crate::source::{Next, Source, UNTALLIED, label_of, labels};
use crate::witness;

mod stretch;

/// With nothing in flight, a source that waits is asked again after this, ns.
const WAIT_NS: u64 = 20_000;

/// Results below this are kinds of corruption rather than negated error numbers.
const CORRUPT: i64 = -1000;

/// One worker, ready to go.
pub struct Worker<'a> {
    /// The plan.
    pub plan: &'a Plan,
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
    /// The names of its files, where its engine opens them.
    pub paths: &'a [String],
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
    /// The plan's seed, in each repetition another one.
    pub seed: u64,
    /// The job it waits for, by index in the phase.
    pub after: Option<usize>,
    /// Where it writes down what its job wants written down.
    pub pen: Option<Pen<'a>>,
    /// Where it writes what is no number.
    pub ledger: &'a Ledger,
    /// Where its engine tells of connections.
    pub connections: &'a Connections,
    /// Makes the source once the start line's time is known.
    pub source: &'a dyn Fn(&Files, Tick) -> Result<Source, Failure>,
}

impl Worker<'_> {
    fn setup(&self) -> Setup<'_> {
        Setup {
            plan: self.plan,
            job: self.job,
            depth: self.depth,
            files: &self.files,
            memory: self.memory,
            paths: self.paths,
            seed: self.seed,
            worker: self.number,
            seat: self.seat,
            seats: self.seats,
            live: Live {
                job: self.index,
                stop: self.gate.flag(self.number),
                counts: &self.sheet.head.live,
                connections: self.connections,
            },
        }
    }

    /// Waits for the start line and then for its own turn; the time at which it begins.
    fn wait_for_turn<E: Engine>(&self, engine: &mut E) -> Tick {
        if self.after.is_some() || self.job.start.after_ns > 0 {
            self.sheet.enter(WorkerState::Waiting);
        }
        let line = self.gate.wait_for_start(self.number, self.after);
        let mut now = if E::VIRTUAL { engine.now() } else { line };
        let start = &self.job.start;
        let begin = now + start.after_ns + drawn(start.spread_ns, self.seed, self.number);
        while now < begin && !self.gate.is_stopped(self.number) {
            engine.idle(begin);
            now = engine.now();
        }
        begin
    }

    /// Opens its files, if it has not, and waits for the others if it is to. Answers whether that took time.
    fn open<E: Engine>(&mut self, line: Tick) -> Result<bool, Failure> {
        if let Some(open) = self.open {
            let began = clock::now();
            self.files = open()?;
            let (began, ended) = if E::VIRTUAL { (line, line) } else { (began, clock::now()) };
            self.sheet.opened(began, ended);
        }
        let waits = self.meet_after_opening();
        Ok(!E::VIRTUAL && (waits || self.open.is_some()))
    }

    /// Lets the engine open its files, inside the measured time.
    fn open_by<E: Engine>(&mut self) -> Result<E, Failure> {
        let began = clock::now();
        if let Some(open) = self.open {
            self.files = open()?;
        }
        let engine = E::start(&self.setup())?;
        self.sheet.opened(began, clock::now());
        self.meet_after_opening();
        Ok(engine)
    }

    /// Waits until everybody has opened theirs, if it is to. Whether that is so.
    fn meet_after_opening(&mut self) -> bool {
        let waits = self.job.start.barrier;
        if waits {
            self.sheet.enter(WorkerState::Waiting);
            self.gate.meet(self.index, self.number, Meeting::Opened, 0);
        }
        waits
    }

    /// Makes each file durable after the last operation, inside the measured time.
    fn sync<E: Engine>(&mut self, engine: &mut E, ended: &mut Tick) {
        self.sheet.enter(WorkerState::Finishing);
        if let Some(verb) = self.job.finish.sync {
            self.sync_all(engine, verb, ended);
        }
    }

    /// Waits for the others if it is to, and closes its files where that counts.
    fn close<E: Engine>(&mut self, mut engine: E, ended: Tick) -> Result<(), Failure> {
        if self.job.finish.barrier {
            self.gate.meet(self.index, self.number, Meeting::Closing, 0);
        }
        if E::OPENS {
            let began = clock::now();
            let closed = engine.close();
            if self.job.finish.close {
                self.sheet.closed(began, clock::now());
            }
            return closed;
        }
        // Whatever the engine holds of the files is let go of before they are closed.
        drop(engine);
        if !self.job.finish.close {
            return Ok(());
        }
        let began = clock::now();
        // Some file systems write back, or report what they could not write, only now.
        let wrong = self.files.close_all();
        let (began, closed) = if E::VIRTUAL { (ended, ended) } else { (began, clock::now()) };
        self.sheet.closed(began, closed);
        let Some((_, errno)) = wrong else { return Ok(()) };
        Err(Failure::call("close", errno).errno(errno))
    }

    fn sync_all<E: Engine>(&mut self, engine: &mut E, verb: Verb, ended: &mut Tick) {
        let label = label_of(&labels(self.job), verb.name(), verb);
        for file in 0..self.files.handles.len() as u32 {
            let handle = &self.files.handles[file as usize];
            if !E::OPENS && (handle.fd < 0 || (handle.names.is_none() && !call::is_writable(handle.fd))) {
                continue;
            }
            let started = clock::now();
            let io = Io { verb, file, ..Io::default() };
            let result = match E::OPENS {
                true => engine.perform(&io, &mut self.files),
                false => call::perform(&io, &mut self.files),
            };
            *ended = clock::now();
            match result {
                0.. => self.sheet.success(label, 0, *ended - started),
                _ => self.sheet.failure(label, verb, -result as i32, 0, file),
            }
        }
    }
}

/// Whether an error is one that is survived.
fn is_tolerated(tolerance: &Tolerance, verb: Verb, errno: i32) -> bool {
    if errno < 0 {
        // What is wrong with content has no number of the system's.
        return tolerance.verify.contains(&libc::EILSEQ);
    }
    match verb.kind() {
        Kind::Read => tolerance.read.contains(&errno),
        Kind::Trim => tolerance.trim.contains(&errno),
        _ => tolerance.write.contains(&errno),
    }
}

/// A worker's own part of a spread, the same for the same seed.
fn drawn(spread_ns: u64, seed: u64, worker: u32) -> u64 {
    ((u128::from(spread_ns) * u128::from(mix(seed ^ mix(u64::from(worker))))) >> 64) as u64
}

/// What is in flight and what becomes of it.
struct Flight<'a> {
    slots: Box<[Io]>,
    free: FreeSlots,
    source: Source,
    sheet: Sheet<'a>,
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
    /// Awaited together at least.
    least: u32,
    /// Time between two operations that are timed, ns; 0: all are.
    sample_ns: u64,
    /// Operations after a timed one that only count, at present.
    stretch: u64,
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
    close: Close<'a>,
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
struct Close<'a> {
    /// When the operation of each slot was handed over; empty where that is not asked for or cannot be told.
    issued: Box<[Tick]>,
    /// Whether latencies are measured.
    timed: bool,
    /// Whether CPU time is noted while the worker runs.
    noted: bool,
    book: Option<Box<Book<'a>>>,
    /// The buffers that operations take in turn, and the turn of each slot; none: each has its own.
    turns: Option<(&'a Memory, Box<[u32]>)>,
}

impl<'a> Close<'a> {
    fn new<E: Engine>(worker: &mut Worker<'a>, begin: Tick) -> Self {
        let (job, pen) = (worker.job, worker.pen.take());
        let parted = job.measure.submission && job.measure.latency && E::SUBMITS;
        let mut book = pen
            .zip(job.measure.journal.as_ref())
            .map(|(pen, wants)| Box::new(Book::new(pen, wants, job, begin)));
        if let Some(book) = &mut book {
            book.files(Verb::Open, worker.files.handles.len() as u32, begin);
        }
        let slots = if parted { worker.depth as usize } else { 0 };
        let turns = (job.buffers.turns > 1).then(|| (worker.memory, vec![0; worker.depth as usize].into()));
        Close {
            issued: vec![0; slots].into(),
            timed: job.measure.latency,
            noted: job.measure.each,
            book,
            turns,
        }
    }

    /// The buffer that a slot's next operation takes: those of one slot lie as many apart as there are slots.
    fn next_buffer(&mut self, slot: Slot) -> Option<*mut u8> {
        let (memory, turns) = self.turns.as_mut()?;
        let slots = turns.len() as u32;
        let turn = turns.get_mut(slot as usize)?;
        *turn = (*turn + 1) % (memory.count() / slots).max(1);
        Some(memory.buffer(slot + *turn * slots))
    }

    /// Whether a worker measures plainly: counts and whole latencies.
    fn is_plain<E: Engine>(worker: &Worker<'_>) -> bool {
        let measure = &worker.job.measure;
        // Whatever is done otherwise than "as many as are free, at once" belongs to the other loop too.
        let depth = &worker.job.depth;
        let in_parts = depth.low > 0 || (depth.submit_batch > 0 && depth.submit_batch < worker.depth);
        let batches = (measure.batches || in_parts) && worker.depth > 1;
        let turns = worker.job.buffers.turns > 1;
        measure.latency && !turns && worker.pen.is_none() && !batches && !(measure.submission && E::SUBMITS)
    }
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

/// Drives an engine until the source is done, the time is up, or somebody says stop.
///
/// # Errors
/// When the engine cannot start or breaks.
pub fn drive<E: Engine>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    if Close::is_plain::<E>(worker) { fly::<E, false>(worker) } else { drive_closely::<E>(worker) }
}

/// The same for engines whose operations cost so much that a loop of their own for plain jobs is not worth compiling.
///
/// # Errors
/// When the engine cannot start or breaks.
pub fn drive_closely<E: Engine>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    worker.sheet.head.batched.store(1, Relaxed);
    fly::<E, true>(worker)
}

/// Starts the engine, and waits for the worker's turn. Peers meet only then: the time that one of them comes later is not
/// the other's.
fn begin<E: Engine>(worker: &mut Worker<'_>) -> Result<(E, Tick), Failure> {
    if !E::PEERS && (E::VIRTUAL || worker.open.is_none()) {
        let mut engine = E::start(&worker.setup())?;
        let begin = worker.wait_for_turn(&mut engine);
        let later = worker.open::<E>(begin)?;
        return Ok((engine, if later { clock::now() } else { begin }));
    }
    let begin = worker.wait_for_turn(&mut Null::start(&worker.setup())?);
    if E::PEERS && worker.gate.is_stopped(worker.number) {
        return Err(Failure::new("the run ended before it met its peer"));
    }
    if E::OPENS {
        return Ok((worker.open_by::<E>()?, clock::now()));
    }
    // What an engine registers with the kernel must be open.
    worker.open::<E>(begin)?;
    let engine = E::start(&worker.setup())?;
    Ok((engine, clock::now()))
}

/// The loop; `CLOSELY`: with all that a job may have measured beyond counts and whole latencies.
fn fly<E: Engine, const CLOSELY: bool>(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let (mut engine, begin) = begin::<E>(worker)?;
    let source = (worker.source)(&worker.files, begin)?;
    let close = Close::new::<E>(worker, begin);
    let mut flight = Flight::new(worker, source, close, begin);
    if !CLOSELY && E::WAITS {
        flight.stretch_for(&worker.job.measure);
    }
    worker.sheet.head.began.store(begin, Relaxed);
    worker.sheet.enter(if flight.ramp_end > 0 { WorkerState::Ramping } else { WorkerState::Running });
    worker.sheet.head.began_clock_ns.store(clock::by(worker.job.start.clock_id), Relaxed);
    let agreed = turn_over::<E, CLOSELY>(worker, &mut engine, &mut flight)?;
    let files = worker.files.handles.len() as u32;
    if E::AGREES && !agreed {
        engine.agree(true);
    }
    worker.sync(&mut engine, &mut flight.ended);
    worker.sheet.tell_facts(&engine.facts());
    let closed = worker.close(engine, flight.ended).and(flight.close(worker.kinds, begin, files));
    for late in flight.source.close() {
        worker.sheet.failure(late.label, Verb::Read, late.code, late.offset, late.file);
        let read = Io { file: late.file, offset: late.offset, bytes: late.bytes, ..Io::default() };
        flight.fail(&read, late.code);
    }
    worker.sheet.complain(&flight.source.complaints());
    worker.sheet.found(flight.source.found_depth());
    worker.sheet.mismatch(flight.source.mismatches());
    worker.sheet.count_corrupt(flight.source.corrupt());
    closed?;
    flight.source.failure().map_or(Ok(()), |failure| Err(failure.clone()))
}

/// Turn by turn, until there is nothing more. Answers whether all workers of the engine agreed on the end.
#[inline(always)]
fn turn_over<E: Engine, const CLOSELY: bool>(
    worker: &mut Worker<'_>,
    engine: &mut E,
    flight: &mut Flight<'_>,
) -> Result<bool, Failure> {
    let stop = worker.gate.flag(worker.number);
    let (mut now, mut agreed) = (engine.now(), false);
    loop {
        let stopped = stop.load(Relaxed) != 0;
        let mut up = now >= flight.deadline;
        if E::AGREES {
            agreed = engine.agree(stopped || up);
            up = agreed && !stopped;
            // Waiting for the others is no part of an operation.
            now = engine.now();
        }
        let (mut wake, mut over) = (NEVER, stopped || (up && !flight.winds_up()));
        let before = flight.free.count;
        if !CLOSELY && E::WAITS && flight.sample_ns > 0 {
            over = over || flight.stretch(engine, &mut worker.files, now);
            if over && !flight.goes_on(worker, now) {
                break;
            }
            if flight.ended >= flight.turn {
                flight.turn(worker.kinds);
            }
            // Whoever waited for others in between begins now.
            now = if over { engine.now() } else { flight.ended };
            continue;
        }
        if !over {
            (wake, over) = flight.hand_over::<E, CLOSELY>(engine, &mut worker.files, now);
            if CLOSELY {
                flight.handed_over(engine, before)?;
            }
        }
        let free = flight.free.count;
        let in_flight = flight.slots.len() - free;
        if in_flight > 0 {
            // What is left is reaped one by one: reaped together, all would look as slow as the last.
            let (least, until) = match over {
                true => (1, NEVER),
                false => (flight.least.min(in_flight as u32), wake.min(flight.deadline)),
            };
            engine
                .poll(least, until, |slot, result, ended| flight.complete::<CLOSELY>(slot, result, ended))?;
            if CLOSELY {
                flight.sheet.completed(flight.free.count - free);
            }
        } else if over {
            if !flight.goes_on(worker, now) {
                break;
            }
        } else {
            engine.idle(wake.min(flight.deadline));
        }
        if flight.ended >= flight.turn {
            flight.turn(worker.kinds);
        }
        // Without latencies the time of the last reap is near enough.
        let recent = CLOSELY && !flight.close.timed && flight.free.count > free;
        now = if recent { flight.ended } else { engine.now() };
    }
    Ok(agreed)
}

impl<'a> Flight<'a> {
    fn new(worker: &Worker<'a>, source: Source, close: Close<'a>, begin: Tick) -> Self {
        let (wish, depth) = (worker.job.depth, worker.depth as usize);
        let limit = &worker.job.limit;
        let ramp_end = begin + limit.ramp_ns;
        let series = SeriesWriter::new(begin, worker.job.measure.row_ns);
        let slot = |slot| Io { buffer: worker.memory.buffer(slot), ..source.template() };
        Flight {
            slots: (0..worker.depth).map(slot).collect(),
            free: FreeSlots { slots: (0..worker.depth).rev().collect(), count: depth },
            source,
            sheet: worker.sheet,
            stop: worker.gate.flag(worker.number),
            batch: if wish.submit_batch == 0 { depth } else { wish.submit_batch as usize },
            refill_at: if wish.low == 0 { 0 } else { depth - (wish.low as usize).min(depth - 1) },
            filling: false,
            least: wish.reap_least.clamp(1, worker.depth),
            sample_ns: 0,
            stretch: 0,
            pulse: worker.gate.pulse(),
            ramp_end: if limit.ramp_ns > 0 { ramp_end } else { 0 },
            ramp_bytes: limit.ramp_bytes,
            time_ns: limit.time_ns.unwrap_or(NEVER),
            eager: limit.ramp_bytes > 0 || worker.job.pace.latency_target.is_some(),
            turn: match limit.ramp_bytes > 0 || worker.job.pace.latency_target.is_some() {
                true => 0,
                false if limit.ramp_ns > 0 => ramp_end.min(series.next),
                false => series.next,
            },
            series,
            errors_left: match &worker.job.errors {
                ErrorPolicy::Stop | ErrorPolicy::Tolerate(_) => 1,
                ErrorPolicy::Continue => u64::MAX,
                ErrorPolicy::AtMost(count) => count.saturating_add(1),
            },
            tolerance: match &worker.job.errors {
                ErrorPolicy::Tolerate(tolerance) => Some(tolerance.clone()),
                _ => None,
            },
            wrong_is_read: worker.job.payload.verify.as_ref().is_some_and(|verify| verify.wrong_is_read),
            until_full: limit.until_full,
            wear: if limit.wear_out { Wear::Due } else { Wear::No },
            least_until: if limit.least_ns > 0 { ramp_end + limit.least_ns } else { 0 },
            deadline: limit.time_ns.map_or(NEVER, |time_ns| ramp_end.saturating_add(time_ns)),
            ended: begin,
            close,
        }
    }

    /// Asks the source for operations and hands them to the engine, while there are free slots. Answers when to come
    /// back, and whether there is nothing more.
    #[inline(always)]
    fn hand_over<E: Engine, const CLOSELY: bool>(
        &mut self,
        engine: &mut E,
        files: &mut Files,
        now: Tick,
    ) -> (Tick, bool) {
        let free = self.free.count;
        if CLOSELY && free < self.refill_at && !std::mem::take(&mut self.filling) {
            return (NEVER, false);
        }
        let rest = if CLOSELY { free.saturating_sub(self.batch) } else { 0 };
        let mut answer = (NEVER, false);
        while self.free.count > rest {
            let slot = self.free.slots[self.free.count - 1];
            let io = &mut self.slots[slot as usize];
            match self.source.next(now, slot, io) {
                Next::Io => {
                    io.started = now;
                    engine.push(slot, io, files);
                    self.free.count -= 1;
                    continue;
                }
                Next::Later(tick) => answer.0 = tick,
                Next::Wait => {
                    self.sheet.wait();
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
        self.sheet.depth(self.slots.len() - self.free.count, free - self.free.count);
        answer
    }

    /// A whole batch was handed over and there is room for another: nothing is waited for in between.
    #[cold]
    #[inline(never)]
    fn go_on(&mut self, rest: usize, now: Tick, wake: &mut Tick) {
        if self.free.count == rest {
            (*wake, self.filling) = (now, true);
        }
    }

    /// Makes sure that the kernel has what was handed over, and notes when it had it.
    #[inline(always)]
    fn handed_over<E: Engine>(&mut self, engine: &mut E, before: usize) -> Result<(), Failure> {
        // Slots that were taken from the stack still lie above it, the first taken uppermost.
        let taken = self.free.count..before;
        if taken.is_empty() {
            return Ok(());
        }
        self.sheet.submitted(taken.len());
        if !self.close.issued.is_empty() {
            engine.submit()?;
            let now = engine.now();
            self.free.slots[taken.clone()].iter().for_each(|slot| self.close.issued[*slot as usize] = now);
        }
        if let Some(book) = self.close.book.as_mut().filter(|book| book.wants_starts()) {
            let begun = self.free.slots[taken].iter().rev().map(|slot| &self.slots[*slot as usize]);
            begun.filter(|io| io.flags & SILENT == 0).for_each(|io| book.began(io));
        }
        Ok(())
    }

    /// The time is up. Whether something is left that must still be done: reading back what was written.
    #[cold]
    fn winds_up(&mut self) -> bool {
        if self.free.count == self.slots.len() && self.deadline > 0 && self.source.is_waiting() {
            // A pause, and the wait for others, is part of a script's time.
            self.ended = self.ended.max(self.deadline);
        }
        if self.wear == Wear::Due && self.errors_left > 0 && self.deadline > 0 {
            (self.wear, self.deadline) = (Wear::Settling, NEVER);
            self.source.settle();
            return true;
        }
        let goes_on = self.errors_left > 0 && self.source.wind_up();
        if goes_on {
            self.deadline = NEVER;
            self.sheet.enter(WorkerState::Verifying);
        }
        goes_on
    }

    /// Nothing is in flight and nothing more comes. Whether it goes on all the same: once more from the start, or until it
    /// has done as much as the others.
    #[cold]
    #[inline(never)]
    fn goes_on(&mut self, worker: &Worker<'_>, now: Tick) -> bool {
        let ends = self.stop.load(Relaxed) != 0 || self.errors_left == 0 || self.source.failure().is_some();
        if ends || self.deadline == 0 {
            return false;
        }
        if now < self.least_until.min(self.deadline) && self.source.repeats() {
            return true;
        }
        if !matches!(self.wear, Wear::Due | Wear::Settling) {
            return false;
        }
        (self.wear, self.deadline) = (Wear::Agreed, NEVER);
        self.source.settle();
        let done = self.source.units();
        self.sheet.wears_out(now, done, self.sheet.totals().1);
        self.sheet.enter(WorkerState::Waiting);
        let most = worker.gate.meet(worker.index, worker.number, Meeting::TimeUp, done);
        self.sheet.enter(WorkerState::Running);
        self.source.go_on(most);
        true
    }

    /// Tallies one completion and frees its slot.
    #[inline(always)]
    fn complete<const CLOSELY: bool>(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &mut self.slots[slot as usize];
        self.ended = ended;
        let result = if self.source.listens { self.source.done(slot, io, result, ended) } else { result };
        self.free.push(slot);
        if CLOSELY {
            self.complete_closely(slot, result, ended);
            if let Some(buffer) = self.close.next_buffer(slot) {
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
        self.sheet.success(io.label, result as u64, latency);
    }

    /// Latencies in parts, or none, and what is written down.
    #[inline(never)]
    fn complete_closely(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &self.slots[slot as usize];
        let latency = ended.saturating_sub(io.started);
        if result < io.bytes as i64 || io.flags & (SILENT | PACED) != 0 {
            if !self.complete_rarely(slot, result, ended) {
                return;
            }
        } else if self.close.timed {
            self.series.observe(latency);
            self.sheet.success(io.label, result as u64, latency);
        } else {
            self.sheet.success_untimed(io.label, result as u64);
        }
        let io = &self.slots[slot as usize];
        let mut issued = io.started;
        if let Some(at) = self.close.issued.get(slot as usize) {
            issued = *at;
            self.sheet.parts(io.label, issued.saturating_sub(io.started), ended.saturating_sub(issued));
        }
        if let Some(book) = self.close.book.as_mut().filter(|_| self.ramp_end == 0) {
            book.done(io, result as u64, issued, ended);
            if book.failure().is_some() {
                self.deadline = 0;
            }
        }
    }

    /// Failures, short results, untallied operations, and latencies from the intended start. Answers whether it was
    /// counted as done.
    #[inline(never)]
    fn complete_rarely(&mut self, slot: Slot, result: i64, ended: Tick) -> bool {
        let io = self.slots[slot as usize];
        if result == UNTALLIED || (io.flags & SILENT != 0 && result >= 0) {
            return false;
        }
        if result == -i64::from(libc::EINTR) && self.stop.load(Relaxed) != 0 {
            // Interrupted because the run ends.
            return false;
        }
        if result < 0 {
            // Kinds of corruption keep their negative code.
            let errno = if result > CORRUPT { -result } else { result } as i32;
            let is_end = self.until_full && matches!(errno, libc::ENOSPC | libc::EDQUOT);
            if !is_end {
                self.sheet.failure(io.label, io.verb, errno, io.offset, io.file);
            }
            self.fail(&io, errno);
            let read = self.wrong_is_read && errno < 0 && io.verb == Verb::Read && io.flags & SILENT == 0;
            if !read {
                return false;
            }
        }
        // What was read wrong took its time all the same.
        let result = if result < 0 { io.bytes as i64 } else { result };
        let paced = io.flags & PACED != 0;
        let latency = ended.saturating_sub(if paced { io.intended } else { io.started });
        if self.close.timed {
            self.series.observe(latency);
            self.sheet.success(io.label, result as u64, latency);
        } else {
            self.sheet.success_untimed(io.label, result as u64);
        }
        if (result as u64) < io.bytes && io.verb.moves_data() {
            self.sheet.short(io.label);
        }
        if paced && self.close.timed {
            self.sheet.service(io.label, ended.saturating_sub(io.started));
        }
        true
    }

    /// What an error means to the worker: it goes on, or it ends.
    #[cold]
    fn fail(&mut self, io: &Io, errno: i32) {
        if matches!(errno, libc::ENOSPC | libc::EDQUOT) && self.until_full {
            (self.errors_left, self.deadline) = (0, 0);
            return;
        }
        if self.tolerance.as_ref().is_some_and(|tolerance| is_tolerated(tolerance, io.verb, errno)) {
            return;
        }
        self.errors_left = self.errors_left.saturating_sub(u64::from(io.flags & FORGIVEN == 0));
        if self.errors_left == 0 {
            self.deadline = 0;
            let (verb, target) = (Some(io.verb), Some(io.file));
            let (offset, bytes) = (io.offset, io.bytes);
            self.sheet.end_by(&Fatal { errno, stage: Stage::Run, verb, target, offset, bytes });
        }
    }

    /// The ramp is over, or a row of the series.
    #[cold]
    fn turn(&mut self, kinds: &[Kind]) {
        if self.ramp_end > 0 && self.ended >= self.ramp_end {
            // What was counted so far is forgotten.
            self.sheet.reset();
            self.series.restart(self.ramp_end);
            self.sheet.head.began.store(self.ramp_end, Relaxed);
            self.ramp_end = 0;
            self.sheet.enter(WorkerState::Running);
            self.close.book.iter_mut().for_each(|book| book.forget());
        }
        if self.eager {
            self.turn_eagerly();
        }
        if self.ended >= self.series.next {
            self.series.turn(&self.sheet, kinds, self.ended);
        }
        if self.close.noted {
            self.sheet.spend(&witness::usage());
        }
        self.turn = match self.eager {
            true => 0,
            false if self.ramp_end > 0 => self.ramp_end.min(self.series.next),
            false => self.series.next,
        };
    }

    /// What was counted so far may have to be forgotten for another reason than time.
    fn turn_eagerly(&mut self) {
        let ramped = self.ramp_bytes > 0 && self.sheet.totals().1 >= self.ramp_bytes;
        if ramped || self.source.takes_restart() {
            self.sheet.reset();
            self.series.restart(self.ended);
            self.sheet.head.began.store(self.ended, Relaxed);
            self.sheet.enter(WorkerState::Running);
            self.close.book.iter_mut().for_each(|book| book.forget());
        }
        if ramped {
            (self.ramp_bytes, self.deadline) = (0, self.ended.saturating_add(self.time_ns));
        }
    }

    /// Writes down the end.
    fn close(&mut self, kinds: &[Kind], begin: Tick, files: u32) -> Result<(), Failure> {
        let ended = self.ended.max(begin);
        self.series.finish(&self.sheet, kinds, ended);
        self.sheet.head.ended.store(ended, Relaxed);
        let Some(book) = &mut self.close.book else { return Ok(()) };
        book.files(Verb::Close, files, ended);
        book.close(ended);
        book.failure().map_or(Ok(()), |failure| Err(failure.clone()))
    }
}
