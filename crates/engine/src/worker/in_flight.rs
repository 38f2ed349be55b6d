//! What happens seldom: failures, the ramp's end, a row of the series, and how a worker comes to its end.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{ErrorPolicy, Fatal, Kind, Limit, Stage, Tolerance, Verb, WorkerState};

use super::{FreeSlots, InFlight, Instruments, Wear, Worker};
use crate::clock::{NEVER, Tick};
use crate::coroutine;
use crate::engines::{Engine, Failure};
use crate::io::{FORGIVEN, Io, PACED, SILENT, Slot};
use crate::source::{Source, UNTALLIED};
use crate::start_barrier::BarrierPoint;
use crate::witness;
use crate::worker_counters::SeriesWriter;

/// Results below this are kinds of corruption rather than negated error numbers.
const CORRUPT: i64 = -1000;

impl<'a> InFlight<'a> {
    /// All slots are free; it has yet to [begin](InFlight::begin).
    pub(super) fn new(worker: &Worker<'a>, source: Source, instruments: Instruments<'a>) -> Self {
        let (wish, depth) = (worker.job.depth, worker.depth as usize);
        let limit = &worker.job.limit;
        let slot = |slot| Io { buffer: worker.memory.buffer(slot), ..source.template() };
        InFlight {
            slots: (0..worker.depth).map(slot).collect(),
            free: FreeSlots { slots: (0..worker.depth).rev().collect(), count: depth },
            source,
            counters: worker.counters,
            stop: worker.barrier.flag(worker.number),
            batch: if wish.submit_batch == 0 { depth } else { wish.submit_batch as usize },
            refill_at: if wish.low == 0 { 0 } else { depth - (wish.low as usize).min(depth - 1) },
            filling: false,
            fills_up: wish.reap_least > 0,
            least: wish.reap_least.clamp(1, worker.depth),
            sample_ns: 0,
            untimed: 0,
            pulse: worker.barrier.pulse(),
            ramp_end: 0,
            ramp_bytes: limit.ramp_bytes,
            time_ns: limit.time_ns.unwrap_or(NEVER),
            eager: limit.ramp_bytes > 0 || worker.job.pace.latency_target.is_some(),
            turn: 0,
            series: SeriesWriter::new(0, worker.job.measure.row_ns),
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
            least_until: 0,
            deadline: NEVER,
            ended: 0,
            stackless: None,
            instruments,
        }
    }

    /// Its time begins.
    pub(super) fn begin(&mut self, limit: &Limit, begin: Tick) {
        let ramp_end = begin + limit.ramp_ns;
        self.series.restart(begin);
        self.ramp_end = if limit.ramp_ns > 0 { ramp_end } else { 0 };
        self.least_until = if limit.least_ns > 0 { ramp_end + limit.least_ns } else { 0 };
        self.deadline = limit.time_ns.map_or(NEVER, |time_ns| ramp_end.saturating_add(time_ns));
        self.ended = begin;
        self.turn_next();
        // One of many on a thread says where the loop will look.
        coroutine::will_need(&*self.slots);
        coroutine::will_need(&*self.free.slots);
        self.counters.will_need();
    }

    /// When something is due next.
    fn turn_next(&mut self) {
        self.turn = match self.eager {
            true => 0,
            false if self.ramp_end > 0 => self.ramp_end.min(self.series.next),
            false => self.series.next,
        };
    }

    /// The time is up. Whether something is left that must still be done: reading back what was written.
    #[cold]
    pub(super) fn winds_up(&mut self) -> bool {
        if self.deadline > 0 {
            self.waited(self.deadline);
        }
        if self.wear == Wear::Due && self.errors_left > 0 && self.deadline > 0 {
            (self.wear, self.deadline) = (Wear::Settling, NEVER);
            self.source.settle();
            return true;
        }
        let goes_on = self.errors_left > 0 && self.source.wind_up();
        if goes_on {
            self.deadline = NEVER;
            self.counters.enter(WorkerState::Verifying);
        }
        goes_on
    }

    /// It ends while nothing is in flight. A pause, the wait for others and the wait for the next operation's time are part
    /// of its time: a rate is what was moved in all of it.
    #[cold]
    pub(super) fn waited(&mut self, until: Tick) {
        if self.free.count == self.slots.len() && self.source.is_waiting() {
            self.ended = self.ended.max(until);
        }
    }

    /// Nothing was in flight until now: a ramp that ended meanwhile is over before the next operation begins, which counts.
    #[cold]
    pub(super) fn idled(&mut self, now: Tick, kinds: &[Kind]) {
        if self.ramp_end > 0 && now >= self.ramp_end {
            self.ended = self.ended.max(self.ramp_end);
            self.turn(kinds);
        }
    }

    /// Nothing is in flight and nothing more comes. Whether it goes on all the same: once more from the start, or until it
    /// has done as much as the others.
    #[cold]
    #[inline(never)]
    pub(super) fn goes_on(&mut self, worker: &Worker<'_>, now: Tick) -> bool {
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
        self.counters.wears_out(now, done, self.counters.totals().1);
        self.counters.enter(WorkerState::Waiting);
        let most = worker.barrier.meet(worker.index, worker.number, BarrierPoint::TimeUp, done);
        self.counters.enter(WorkerState::Running);
        self.source.go_on(most);
        true
    }

    /// Failures, short results, untallied operations, and latencies from the intended start. Answers whether it was
    /// counted as done.
    #[inline(never)]
    pub(super) fn complete_rarely(&mut self, slot: Slot, result: i64, ended: Tick) -> bool {
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
                self.counters.failure(io.label, io.verb, errno, io.offset, io.file);
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
        if self.instruments.timed {
            self.series.observe(latency);
            self.counters.success(io.label, result as u64, latency);
        } else {
            self.counters.success_untimed(io.label, result as u64);
        }
        if (result as u64) < io.bytes && io.verb.moves_data() {
            self.counters.short(io.label);
        }
        if paced && self.instruments.timed {
            self.counters.service(io.label, ended.saturating_sub(io.started));
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
            self.counters.end_by(&Fatal { errno, stage: Stage::Run, verb, target, offset, bytes });
        }
    }

    /// The ramp is over, or a row of the series.
    #[cold]
    pub(super) fn turn(&mut self, kinds: &[Kind]) {
        if self.ramp_end > 0 && self.ended >= self.ramp_end {
            // What was counted so far is forgotten.
            self.counters.reset();
            self.series.restart(self.ramp_end);
            self.counters.head.began.store(self.ramp_end, Relaxed);
            self.ramp_end = 0;
            self.counters.enter(WorkerState::Running);
            self.instruments.journal.iter_mut().for_each(|journal| journal.forget());
        }
        if self.eager {
            self.turn_eagerly();
        }
        if self.ended >= self.series.next {
            self.series.turn(&self.counters, kinds, self.ended);
        }
        if self.instruments.noted {
            self.counters.spend(&witness::usage());
        }
        self.turn_next();
    }

    /// What was counted so far may have to be forgotten for another reason than time.
    fn turn_eagerly(&mut self) {
        let ramped = self.ramp_bytes > 0 && self.counters.totals().1 >= self.ramp_bytes;
        if ramped || self.source.takes_restart() {
            self.counters.reset();
            self.series.restart(self.ended);
            self.counters.head.began.store(self.ended, Relaxed);
            self.counters.enter(WorkerState::Running);
            self.instruments.journal.iter_mut().for_each(|journal| journal.forget());
        }
        if ramped {
            (self.ramp_bytes, self.deadline) = (0, self.ended.saturating_add(self.time_ns));
        }
    }

    /// Comes to the end: what was promised to be durable is, the files are closed, and all that was found on the way is reported.
    pub(super) fn end<E: Engine>(
        mut self,
        worker: &mut Worker<'_>,
        mut engine: E,
        begin: Tick,
        agreed: bool,
    ) -> Result<(), Failure> {
        let files = worker.files.handles.len() as u32;
        if E::FACTS.is_collective && !agreed {
            engine.agree(true);
        }
        if self.ramp_end > 0 && self.ended >= self.ramp_end {
            // Its last operation was done before the ramp's end.
            self.turn(worker.kinds);
        }
        worker.sync(&mut engine, &mut self.ended);
        worker.counters.tell_facts(&[engine.facts(), self.source.facts()].concat());
        let closed = worker.close(engine, self.ended).and(self.close(worker.kinds, begin, files));
        for late in self.source.close() {
            worker.counters.failure(late.label, Verb::Read, late.code, late.offset, late.file);
            let read = Io { file: late.file, offset: late.offset, bytes: late.bytes, ..Io::default() };
            self.fail(&read, late.code);
        }
        for (label, (operations, bytes)) in self.source.counted().iter().enumerate() {
            worker.counters.successes_assumed(label as u16, *operations, *bytes);
        }
        if let Some(replayed) = self.source.certificate() {
            worker.findings.write(worker.index, |entries| entries.replay(replayed));
        }
        worker.counters.complain(&self.source.complaints());
        worker.counters.found(self.source.found_depth());
        worker.counters.mismatch(self.source.mismatches());
        worker.counters.count_corrupt(self.source.corrupt());
        closed?;
        self.source.failure().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Writes down the end.
    fn close(&mut self, kinds: &[Kind], begin: Tick, files: u32) -> Result<(), Failure> {
        let ended = self.ended.max(begin);
        self.series.finish(&self.counters, kinds, ended);
        self.counters.head.ended.store(ended, Relaxed);
        let Some(journal) = &mut self.instruments.journal else { return Ok(()) };
        journal.files(Verb::Close, files, ended);
        journal.close(ended);
        journal.failure().map_or(Ok(()), |failure| Err(failure.clone()))
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
