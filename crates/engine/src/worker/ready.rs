//! From the start line to the loop, and from the loop to the last file closed.

use iodyno_model::{TargetKind, Verb, WorkerState};

use super::{Worker, idle};
use crate::call;
use crate::clock::{self, Tick};
use crate::coroutine;
use crate::engines::null::Null;
use crate::engines::{Engine, Failure, Live, Setup, switched_on};
use crate::io::Io;
use crate::random::mix;
use crate::source::{label_of, labels};
use crate::start_barrier::BarrierPoint;

/// Buffers of all workers of a job that are populated, bytes. Of more, a job that never reaches its depth would hold much
/// that it does not use.
const POPULATED_BYTES: u64 = 256 << 20;

/// Starts the engine, and waits for the worker's turn. Peers meet only then: the time that one of them comes later is not
/// the other's. Who is lent a connection has met, and gets ready before: beside others that run already it would be late.
pub(super) fn begin<E: Engine>(worker: &mut Worker<'_>) -> Result<(E, Tick), Failure> {
    if !E::FACTS.is_virtual {
        worker.populate();
    }
    let meets = E::FACTS.connects && worker.meets_somebody();
    if !meets && (E::FACTS.is_virtual || worker.open.is_none()) {
        let mut engine = E::start(&worker.setup())?;
        let begin = worker.wait_for_turn(&mut engine);
        let later = worker.open::<E>(begin)?;
        return Ok((engine, if later { clock::now() } else { begin }));
    }
    let begin = worker.wait_for_turn(&mut Null::start(&worker.setup())?);
    if meets && worker.barrier.is_stopped(worker.number) {
        return Err(Failure::new("the run ended before it met its peer"));
    }
    if E::FACTS.opens_files {
        return Ok((worker.open_by::<E>()?, clock::now()));
    }
    // What an engine registers with the kernel must be open.
    worker.open::<E>(begin)?;
    let engine = E::start(&worker.setup())?;
    Ok((engine, clock::now()))
}

impl Worker<'_> {
    /// Has the memory that it will use. Without it the first operations pay for page faults: most of what 64 KiB of cached
    /// reads take.
    fn populate(&self) {
        let all = self.memory.whole().1 as u64 * u64::from(self.seats);
        if self.job.buffers.arena_bytes > 0 || all <= POPULATED_BYTES {
            self.memory.populate();
        }
        if self.has_processor {
            self.counters.populate();
        }
    }

    fn setup(&self) -> Setup<'_> {
        Setup {
            plan: self.plan,
            job: self.job,
            depth: self.depth,
            files: &self.files,
            memory: self.memory,
            paths: self.paths,
            objects: self.objects,
            seed: self.seed,
            worker: self.number,
            seat: self.seat,
            seats: self.seats,
            priorities: self.priorities,
            live: Live {
                job: self.index,
                stop: self.barrier.flag(self.number),
                counts: &self.counters.head.live,
                connections: self.connections,
                barrier: Some(self.barrier),
                marks: &self.marks,
            },
        }
    }

    /// Whether it has yet to connect to somebody, or to be connected to.
    fn meets_somebody(&self) -> bool {
        let mut targets = self.job.targets.iter().filter_map(|index| self.plan.targets.get(*index));
        targets.any(|target| match &target.kind {
            // A place that was lent brings nobody yet; who takes a connection for each exchange waits for none here.
            TargetKind::Endpoint { transport, listen, .. } => {
                transport != "connection" || (*listen && !switched_on(self.job, "accept_each"))
            }
            _ => true,
        })
    }

    /// Waits for the start line and then for its own turn; the time at which it begins.
    fn wait_for_turn<E: Engine>(&self, engine: &mut E) -> Tick {
        if self.after.is_some() || self.job.start.after_ns > 0 {
            self.counters.enter(WorkerState::Waiting);
        }
        let line = self.barrier.wait_for_start(self.number, self.after);
        coroutine::line_up();
        let mut now = if E::FACTS.is_virtual { engine.now() } else { line };
        let start = &self.job.start;
        let begin = now + start.after_ns + drawn(start.spread_ns, self.seed, self.number);
        while now < begin && !self.barrier.is_stopped(self.number) {
            idle(engine, begin);
            now = engine.now();
        }
        begin
    }

    /// Opens its files, if it has not, and waits for the others if it is to. Answers whether that took time.
    fn open<E: Engine>(&mut self, line: Tick) -> Result<bool, Failure> {
        if let Some(open) = self.open {
            let began = clock::now();
            self.files = open()?;
            let (began, ended) = if E::FACTS.is_virtual { (line, line) } else { (began, clock::now()) };
            self.counters.opened(began, ended);
        }
        let waits = self.meet_after_opening();
        Ok(!E::FACTS.is_virtual && (waits || self.open.is_some()))
    }

    /// Lets the engine open its files, inside the measured time.
    fn open_by<E: Engine>(&mut self) -> Result<E, Failure> {
        let began = clock::now();
        if let Some(open) = self.open {
            self.files = open()?;
        }
        let engine = E::start(&self.setup())?;
        self.counters.opened(began, clock::now());
        self.meet_after_opening();
        Ok(engine)
    }

    /// Waits until everybody has opened theirs, if it is to. Whether that is so.
    fn meet_after_opening(&mut self) -> bool {
        let waits = self.job.start.barrier;
        if waits {
            self.counters.enter(WorkerState::Waiting);
            self.barrier.meet(self.index, self.number, BarrierPoint::Opened, 0);
        }
        waits
    }

    /// Makes each file durable after the last operation, inside the measured time.
    pub(super) fn sync<E: Engine>(&mut self, engine: &mut E, ended: &mut Tick) {
        self.counters.enter(WorkerState::Finishing);
        if let Some(verb) = self.job.finish.sync {
            self.sync_all(engine, verb, ended);
        }
    }

    /// Waits for the others if it is to, and closes its files where that counts.
    pub(super) fn close<E: Engine>(&mut self, mut engine: E, ended: Tick) -> Result<(), Failure> {
        if self.job.finish.barrier {
            self.barrier.meet(self.index, self.number, BarrierPoint::Closing, 0);
        }
        if E::FACTS.opens_files {
            let began = clock::now();
            let closed = engine.close();
            if self.job.finish.close {
                self.counters.closed(began, clock::now());
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
        let (began, closed) = if E::FACTS.is_virtual { (ended, ended) } else { (began, clock::now()) };
        self.counters.closed(began, closed);
        let Some((_, errno)) = wrong else { return Ok(()) };
        Err(Failure::call("close", errno).errno(errno))
    }

    fn sync_all<E: Engine>(&mut self, engine: &mut E, verb: Verb, ended: &mut Tick) {
        let label = label_of(&labels(self.job), verb.name(), verb);
        for file in 0..self.files.handles.len() as u32 {
            let handle = &self.files.handles[file as usize];
            if !E::FACTS.opens_files
                && (handle.fd < 0 || (handle.names.is_none() && !call::is_writable(handle.fd)))
            {
                continue;
            }
            let started = clock::now();
            let io = Io { verb, file, ..Io::default() };
            let result = match E::FACTS.opens_files {
                true => engine.perform(&io, &mut self.files),
                false => call::perform(&io, &mut self.files),
            };
            *ended = clock::now();
            match result {
                0.. => self.counters.success(label, 0, *ended - started),
                _ => self.counters.failure(label, verb, -result as i32, 0, file),
            }
        }
    }
}

/// A worker's own part of a spread, the same for the same seed.
fn drawn(spread_ns: u64, seed: u64, worker: u32) -> u64 {
    ((u128::from(spread_ns) * u128::from(mix(seed ^ mix(u64::from(worker))))) >> 64) as u64
}
