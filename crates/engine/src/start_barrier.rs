//! The start line, the barriers and the stop flags of a phase, in a mapping that threads and processes share.
//!
//! Waiting is a futex on Linux, short sleeps elsewhere. Nobody waits for a worker that is over, and whoever is told to
//! stop waits for nobody. It refuses to know other ranks: where there are some, the conductor brings them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use iodyno_model::Job;

use crate::clock::{self, Tick};
use crate::futex::{wait, wake};
use crate::memory::Mapping;

mod horizon;

pub use horizon::Horizon;

const WAITING: u32 = 0;
const OPEN: u32 = 1;

/// Where the workers of a phase wait for each other, in this order; not all phases have all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum BarrierPoint {
    /// Files are open.
    Opened = 0,
    /// The time is up, or there is nothing more to do.
    TimeUp = 1,
    /// Files are about to be closed.
    Closing = 2,
}

impl BarrierPoint {
    pub const ALL: [BarrierPoint; 3] = [BarrierPoint::Opened, BarrierPoint::TimeUp, BarrierPoint::Closing];

    /// Whether the workers of a job come to it.
    pub fn has(self, job: &Job) -> bool {
        match self {
            BarrierPoint::Opened => job.start.barrier,
            BarrierPoint::TimeUp => job.limit.wear_out,
            BarrierPoint::Closing => job.finish.barrier,
        }
    }
}

/// Words that all workers of a phase look at.
#[repr(C)]
struct SharedFlags {
    state: AtomicU32,
    stop: AtomicU32,
    stopped_one: AtomicU32,
    ready: AtomicU32,
    over: AtomicU32,
    pulse: AtomicU32,
    /// Rung when a worker is over or a meeting is full.
    bell: AtomicU32,
    /// What of it the conductor has heard.
    heard: AtomicU32,
    /// By meeting: how many have come, or will not come any more; and whether they may go on.
    arrived: [AtomicU32; MEETINGS],
    released: [AtomicU32; MEETINGS],
    /// Changes when the horizon does.
    raised: AtomicU32,
    start: AtomicU64,
    /// From when on workers wait awake for the start, rather than asleep.
    awake: AtomicU64,
    /// How far virtual clocks may go; 0: as far as they like.
    horizon: AtomicU64,
}

const MEETINGS: usize = BarrierPoint::ALL.len();

/// The start line, the meetings, the stop flags, and how many workers each job still has.
pub struct StartBarrier {
    mapping: Arc<Mapping>,
    jobs: usize,
    workers: usize,
    /// By job: whether its workers come to each meeting.
    comes: Vec<[bool; MEETINGS]>,
    /// By meeting: how many of this rank come.
    wanted: [u32; MEETINGS],
    /// Whether those of this rank are all there are.
    alone: bool,
}

impl StartBarrier {
    /// A closed barrier for jobs of so many workers.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(workers: &[u32]) -> Result<Self, i32> {
        let (jobs, all) = (workers.len(), workers.iter().map(|workers| *workers as usize).sum::<usize>());
        let values = (2 * MEETINGS * jobs + all) * size_of::<AtomicU64>();
        let bytes = size_of::<SharedFlags>() + values + (2 * jobs + 3 * all) * size_of::<AtomicU32>();
        let (comes, wanted) = (vec![[false; MEETINGS]; jobs], [0; MEETINGS]);
        let mapping = Arc::new(Mapping::shared(bytes)?);
        let barrier = StartBarrier { mapping, jobs, workers: all, comes, wanted, alone: true };
        barrier
            .left()
            .iter()
            .zip(workers)
            .for_each(|(left, workers)| left.store(*workers, Ordering::Release));
        Ok(barrier)
    }

    /// The same for jobs whose workers wait for each other on the way; `alone`: those of other ranks are not waited for.
    pub fn with_meetings(self, jobs: &[Job], alone: bool) -> Self {
        let comes: Vec<_> =
            jobs.iter().map(|job| BarrierPoint::ALL.map(|meeting| meeting.has(job))).collect();
        let mut wanted = [0; MEETINGS];
        for (comes, workers) in comes.iter().zip(self.left()) {
            let workers = workers.load(Ordering::Acquire);
            wanted.iter_mut().zip(comes).for_each(|(wanted, comes)| *wanted += workers * u32::from(*comes));
        }
        StartBarrier { comes, wanted, alone, ..self }
    }

    /// By meeting and job: the largest value that was brought, then what all agreed on.
    fn values(&self) -> (&[AtomicU64], &[AtomicU64]) {
        let count = MEETINGS * self.jobs;
        (self.large(0, count), self.large(count, count))
    }

    /// The time that each worker's virtual clock waits for; 0: none.
    fn wants(&self) -> &[AtomicU64] {
        self.large(2 * MEETINGS * self.jobs, self.workers)
    }

    /// Large words behind the head: so many before those wanted.
    fn large(&self, before: usize, count: usize) -> &[AtomicU64] {
        // SAFETY: the mapping holds two for each meeting and job and one for each worker behind the head, whose size is a
        // multiple of theirs; callers stay within, and zero is a value of an atomic.
        unsafe {
            let first = self.mapping.start().add(size_of::<SharedFlags>()).cast::<AtomicU64>();
            std::slice::from_raw_parts(first.add(before), count)
        }
    }

    /// Small words behind the large ones: so many before those wanted.
    fn small(&self, before: usize, count: usize) -> &[AtomicU32] {
        let values = (2 * MEETINGS * self.jobs + self.workers) * size_of::<AtomicU64>();
        // SAFETY: the mapping holds two for each job and three for each worker behind the large ones; callers stay within.
        unsafe {
            let first = self.mapping.start().add(size_of::<SharedFlags>() + values).cast::<AtomicU32>();
            std::slice::from_raw_parts(first.add(before), count)
        }
    }

    /// Workers that each job still has.
    fn left(&self) -> &[AtomicU32] {
        self.small(0, self.jobs)
    }

    /// The stop flag of each worker.
    fn flags(&self) -> &[AtomicU32] {
        self.small(self.jobs, self.workers)
    }

    /// How many meetings each worker has come to, or passed.
    fn met(&self) -> &[AtomicU32] {
        self.small(self.jobs + self.workers, self.workers)
    }

    /// Whether each job is awaited on other ranks: not 0 until it is known to be over there.
    fn elsewhere(&self) -> &[AtomicU32] {
        self.small(self.jobs + 2 * self.workers, self.jobs)
    }

    #[inline(always)]
    fn words(&self) -> &SharedFlags {
        words(&self.mapping)
    }

    /// What calls the conductor to look.
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.mapping))
    }

    /// Says that this worker is ready, and waits for the start line and then for the end of the job it comes `after`;
    /// returns the time at which it may begin.
    pub fn wait_for_start(&self, number: u32, after: Option<usize>) -> Tick {
        let words = self.words();
        words.ready.fetch_add(1, Ordering::AcqRel);
        wake(&words.ready);
        while words.state.load(Ordering::Acquire) == WAITING && !self.is_stopped(number) {
            wait(&words.state, WAITING, 100_000_000);
        }
        if let Some(job) = after.filter(|job| *job < self.jobs) {
            self.queues(number, job);
            self.wait_for_zero(&self.left()[job], number);
            self.wait_for_zero(&self.elsewhere()[job], number);
            self.rises(number);
            return clock::now();
        }
        let start = words.start.load(Ordering::Acquire);
        let awake = words.awake.load(Ordering::Acquire);
        while clock::now() < start && !self.is_stopped(number) {
            match clock::now() < awake {
                true => clock::sleep_until(awake, 100_000_000),
                false => std::hint::spin_loop(),
            }
        }
        if start == 0 { clock::now() } else { start }
    }

    /// Waits until a word is 0 or this worker is asked to stop.
    fn wait_for_zero(&self, word: &AtomicU32, number: u32) {
        loop {
            let left = word.load(Ordering::Acquire);
            if left == 0 || self.is_stopped(number) {
                return;
            }
            wait(word, left, 100_000_000);
        }
    }

    /// Says that a job's workers on other ranks are not over.
    pub fn hold(&self, job: usize) {
        self.elsewhere()[job].store(1, Ordering::Release);
    }

    /// Says that a job's workers on other ranks are over.
    pub fn let_go(&self, job: usize) {
        self.elsewhere()[job].store(0, Ordering::Release);
        wake(&self.elsewhere()[job]);
    }

    /// When the barrier was opened; 0 before.
    pub fn started(&self) -> Tick {
        self.words().start.load(Ordering::Acquire)
    }

    /// Workers of a job that are not over.
    pub fn running(&self, job: usize) -> u32 {
        self.left()[job].load(Ordering::Acquire)
    }

    /// Opens the barrier: the time is now.
    pub fn open(&self) -> Tick {
        self.open_at(clock::now(), 0)
    }

    /// Opens the barrier for a start at that time, which may be to come; workers wait the last `awake_ns` before it awake.
    pub fn open_at(&self, start: Tick, awake_ns: u64) -> Tick {
        self.words().start.store(start, Ordering::Release);
        self.words().awake.store(start.saturating_sub(awake_ns), Ordering::Release);
        self.words().state.store(OPEN, Ordering::Release);
        wake(&self.words().state);
        start
    }

    /// Tells every worker to stop.
    pub fn stop(&self) {
        self.words().stop.store(1, Ordering::Release);
        self.flags().iter().for_each(|flag| flag.store(1, Ordering::Release));
        self.beat();
        wake(&self.words().state);
        self.words().released.iter().for_each(wake);
    }

    /// Tells one worker to stop.
    pub fn stop_one(&self, number: u32) {
        self.flags()[number as usize].store(1, Ordering::Release);
        self.words().stopped_one.store(1, Ordering::Release);
        self.words().released.iter().for_each(wake);
        self.beat();
    }

    /// Makes every worker look at the clock and at its stop flag, also one that would not yet.
    pub fn beat(&self) {
        self.words().pulse.fetch_add(1, Ordering::Release);
    }

    /// What changes with every [`beat`](StartBarrier::beat).
    pub fn pulse(&self) -> &AtomicU32 {
        &self.words().pulse
    }

    /// Whether everybody was asked to stop.
    pub fn stopped(&self) -> bool {
        self.words().stop.load(Ordering::Relaxed) != 0
    }

    /// Whether anybody was asked to stop.
    pub fn stopped_any(&self) -> bool {
        self.stopped() || self.words().stopped_one.load(Ordering::Relaxed) != 0
    }

    /// The stop flag of a worker: not 0 once it was asked to stop.
    pub fn flag(&self, number: u32) -> &AtomicU32 {
        &self.flags()[number as usize]
    }

    /// Whether a worker was asked to stop.
    pub fn is_stopped(&self, number: u32) -> bool {
        self.flag(number).load(Ordering::Relaxed) != 0
    }

    /// Says that this worker is over, having run or failed. It comes to no meeting any more.
    pub fn leave(&self, job: usize, number: u32) {
        self.arrive(job, number, MEETINGS - 1);
        self.left()[job].fetch_sub(1, Ordering::AcqRel);
        wake(&self.left()[job]);
        self.words().over.fetch_add(1, Ordering::AcqRel);
        self.ring();
        wake(&self.words().ready);
    }

    /// Waits until all workers that come to a meeting, on all ranks, have come there or are over. They agree on the
    /// largest value that was brought by one of the same job; one that is asked to stop meanwhile keeps its own.
    pub fn meet(&self, job: usize, number: u32, meeting: BarrierPoint, value: u64) -> u64 {
        let (brought, agreed) = self.values();
        let cell = meeting as usize * self.jobs + job;
        brought[cell].fetch_max(value, Ordering::AcqRel);
        self.arrive(job, number, meeting as usize);
        self.sits_down(number, meeting as usize);
        let released = &self.words().released[meeting as usize];
        while released.load(Ordering::Acquire) == 0 {
            if self.is_stopped(number) {
                return value;
            }
            wait(released, 0, 100_000_000);
        }
        self.rises(number);
        agreed[cell].load(Ordering::Acquire)
    }

    /// A worker has come to a meeting, and so to all before it.
    fn arrive(&self, job: usize, number: u32, last: usize) {
        let before = self.met()[number as usize].fetch_max(last as u32 + 1, Ordering::AcqRel) as usize;
        for meeting in (before..=last).filter(|meeting| self.comes[job][*meeting]) {
            let arrived = self.words().arrived[meeting].fetch_add(1, Ordering::AcqRel) + 1;
            if arrived < self.wanted[meeting] {
                continue;
            }
            match self.alone {
                true => self.adjourn(BarrierPoint::ALL[meeting], &self.brought(BarrierPoint::ALL[meeting])),
                false => self.ring(),
            }
        }
    }

    /// Whether everybody of this rank who comes to a meeting has come, or will not come any more.
    pub fn is_full(&self, meeting: BarrierPoint) -> bool {
        self.words().arrived[meeting as usize].load(Ordering::Acquire) >= self.wanted[meeting as usize]
    }

    /// The largest value that was brought to a meeting, for each job.
    pub fn brought(&self, meeting: BarrierPoint) -> Vec<u64> {
        let cells = &self.values().0[meeting as usize * self.jobs..][..self.jobs];
        cells.iter().map(|cell| cell.load(Ordering::Acquire)).collect()
    }

    /// Ends a meeting: what was agreed on, for each job.
    pub fn adjourn(&self, meeting: BarrierPoint, agreed: &[u64]) {
        let cells = &self.values().1[meeting as usize * self.jobs..][..self.jobs];
        cells.iter().zip(agreed).for_each(|(cell, value)| cell.store(*value, Ordering::Release));
        let released = &self.words().released[meeting as usize];
        released.store(1, Ordering::Release);
        wake(released);
    }

    fn ring(&self) {
        ring(self.words());
    }

    /// Workers that wait at the line.
    pub fn ready(&self) -> u32 {
        self.words().ready.load(Ordering::Acquire)
    }

    /// Workers that are over.
    pub fn over(&self) -> u32 {
        self.words().over.load(Ordering::Acquire)
    }

    /// Waits until more workers are over than `known`, a meeting is full, a signal comes, or the time has passed. Only
    /// for the conductor.
    pub fn wait_for_end(&self, known: u32, ns: u64) {
        let bell = self.words().bell.load(Ordering::Acquire);
        // What was rung since the last time was perhaps not looked at.
        if self.words().heard.swap(bell, Ordering::AcqRel) == bell && self.over() == known {
            wait(&self.words().bell, bell, ns);
        }
    }

    /// Waits until the number of ready workers changes, a signal comes, or the time has passed.
    pub fn wait_for_ready(&self, known: u32, ns: u64) {
        wait(&self.words().ready, known, ns);
    }
}

/// What calls the conductor of a phase to look.
#[derive(Clone, Debug)]
pub struct Bell(Arc<Mapping>);

impl Bell {
    pub fn ring(&self) {
        ring(words(&self.0));
    }
}

fn ring(words: &SharedFlags) {
    words.bell.fetch_add(1, Ordering::AcqRel);
    wake(&words.bell);
}

/// The words of a mapping that a [`StartBarrier`] has made.
#[inline(always)]
fn words(mapping: &Mapping) -> &SharedFlags {
    // SAFETY: the mapping is large enough, aligned to pages, zeroed, and holds only atomics.
    unsafe { &*mapping.start().cast::<SharedFlags>() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iodyno_model::{Pattern, Pick, Verb, Workload};

    use super::*;

    /// Jobs that come to all meetings, and one that comes to none.
    fn barrier(workers: &[u32], alone: bool) -> StartBarrier {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 1)));
        let mut job = Job::new("j", "null", Vec::new(), workload);
        let other = job.clone();
        (job.start.barrier, job.limit.wear_out, job.finish.barrier) = (true, true, true);
        let mut jobs = vec![job; workers.len() - 1];
        jobs.push(other);
        StartBarrier::new(workers).unwrap().with_meetings(&jobs, alone)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_last_of_the_wait_for_a_start_is_not_slept() {
        const WAIT_NS: u64 = 10_000_000;
        // Voluntary switches: each sleep is one.
        let switches = |awake_ns: u64| {
            let barrier = barrier(&[1, 1], true);
            let start = barrier.open_at(clock::now() + WAIT_NS, awake_ns);
            let before = crate::witness::usage()[2];
            assert_eq!(barrier.wait_for_start(0, None), start);
            crate::witness::usage()[2] - before
        };
        assert!(switches(0) > 0);
        assert_eq!(switches(WAIT_NS), 0);
    }

    #[test]
    fn workers_of_a_job_agree_on_the_most() {
        let barrier = barrier(&[3, 2, 4], true);
        let agreed: Vec<u64> = std::thread::scope(|scope| {
            let threads =
                [(0, 0, 5), (0, 1, 9), (0, 2, 7), (1, 3, 1), (1, 4, 2)].map(|(job, number, value)| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.meet(job, number, BarrierPoint::Opened, 0);
                        barrier.meet(job, number, BarrierPoint::TimeUp, value)
                    })
                });
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        assert_eq!(agreed, [9, 9, 9, 2, 2]);
    }

    #[test]
    fn nobody_waits_for_those_who_are_over_or_further() {
        let barrier = barrier(&[4, 0], true);
        barrier.leave(0, 3);
        std::thread::scope(|scope| {
            let further = scope.spawn(|| barrier.meet(0, 0, BarrierPoint::Closing, 0));
            let first = scope.spawn(|| barrier.meet(0, 1, BarrierPoint::TimeUp, 4));
            let second = scope.spawn(|| barrier.meet(0, 2, BarrierPoint::TimeUp, 6));
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (6, 6));
            assert!(!barrier.is_full(BarrierPoint::Closing));
            barrier.leave(0, 1);
            barrier.leave(0, 2);
            further.join().unwrap();
        });
    }

    #[test]
    fn whoever_is_told_to_stop_waits_for_nobody() {
        let barrier = barrier(&[2, 0], true);
        let waits = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                waits.store(true, Ordering::Release);
                barrier.meet(0, 0, BarrierPoint::TimeUp, 3)
            });
            while !waits.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            barrier.stop();
            assert_eq!(waiting.join().unwrap(), 3);
        });
    }

    #[test]
    fn among_other_ranks_the_conductor_ends_a_meeting() {
        let barrier = barrier(&[1, 1], false);
        assert!(!barrier.is_full(BarrierPoint::TimeUp));
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| barrier.meet(0, 0, BarrierPoint::TimeUp, 3));
            while !barrier.is_full(BarrierPoint::TimeUp) {
                barrier.wait_for_end(0, 1_000_000_000);
            }
            assert_eq!(barrier.brought(BarrierPoint::TimeUp), [3, 0]);
            barrier.adjourn(BarrierPoint::TimeUp, &[8, 0]);
            assert_eq!(worker.join().unwrap(), 8);
        });
    }
}
