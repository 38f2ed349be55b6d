//! The start line and the stop flags of a phase, in a mapping that threads and processes share.
//!
//! Waiting is a futex on Linux, short sleeps elsewhere.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::clock::{self, Tick};
use crate::memory::Mapping;

const WAITING: u32 = 0;
const OPEN: u32 = 1;

/// Words that all workers of a phase look at.
#[repr(C)]
struct Words {
    state: AtomicU32,
    stop: AtomicU32,
    stopped_one: AtomicU32,
    ready: AtomicU32,
    over: AtomicU32,
    start: AtomicU64,
}

/// The start line, the stop flags, and how many workers each job still has.
pub struct Gate {
    mapping: Mapping,
    jobs: usize,
    workers: usize,
}

impl Gate {
    /// A closed gate for jobs of so many workers.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(workers: &[u32]) -> Result<Self, i32> {
        let (jobs, all) = (workers.len(), workers.iter().map(|workers| *workers as usize).sum::<usize>());
        let bytes = size_of::<Words>() + (2 * jobs + all) * size_of::<AtomicU32>();
        let gate = Gate { mapping: Mapping::shared(bytes)?, jobs, workers: all };
        gate.left().iter().zip(workers).for_each(|(left, workers)| left.store(*workers, Ordering::Release));
        Ok(gate)
    }

    /// Workers that each job still has.
    fn left(&self) -> &[AtomicU32] {
        // SAFETY: the mapping holds one word for each job behind the head; zero is a value of an atomic.
        unsafe {
            let first = self.mapping.start().add(size_of::<Words>()).cast::<AtomicU32>();
            std::slice::from_raw_parts(first, self.jobs)
        }
    }

    /// The stop flag of each worker.
    fn flags(&self) -> &[AtomicU32] {
        // SAFETY: as in `left`, behind whose words there is one for each worker.
        unsafe {
            let first = self.mapping.start().add(size_of::<Words>()).cast::<AtomicU32>();
            std::slice::from_raw_parts(first.add(self.jobs), self.workers)
        }
    }

    /// Whether each job is awaited on other ranks: not 0 until it is known to be over there.
    fn elsewhere(&self) -> &[AtomicU32] {
        // SAFETY: as in `left`, behind whose words and the workers' there is one for each job.
        unsafe {
            let first = self.mapping.start().add(size_of::<Words>()).cast::<AtomicU32>();
            std::slice::from_raw_parts(first.add(self.jobs + self.workers), self.jobs)
        }
    }

    #[inline(always)]
    fn words(&self) -> &Words {
        // SAFETY: the mapping is large enough, aligned to pages, zeroed, and holds only atomics.
        unsafe { &*self.mapping.start().cast::<Words>() }
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
            self.wait_for_zero(&self.left()[job], number);
            self.wait_for_zero(&self.elsewhere()[job], number);
            return clock::now();
        }
        let start = words.start.load(Ordering::Acquire);
        while clock::now() < start && !self.is_stopped(number) {
            clock::sleep_until(start, 100_000_000);
        }
        if start == 0 { clock::now() } else { start }
    }

    /// Waits until a word is 0 or this worker is told to stop.
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
    pub fn release(&self, job: usize) {
        self.elsewhere()[job].store(0, Ordering::Release);
        wake(&self.elsewhere()[job]);
    }

    /// When the gate was opened; 0 before.
    pub fn started(&self) -> Tick {
        self.words().start.load(Ordering::Acquire)
    }

    /// Workers of a job that are not over.
    pub fn running(&self, job: usize) -> u32 {
        self.left()[job].load(Ordering::Acquire)
    }

    /// Opens the gate: the time is now.
    pub fn open(&self) -> Tick {
        self.open_at(clock::now())
    }

    /// Opens the gate for a start at that time, which may be to come.
    pub fn open_at(&self, start: Tick) -> Tick {
        self.words().start.store(start, Ordering::Release);
        self.words().state.store(OPEN, Ordering::Release);
        wake(&self.words().state);
        start
    }

    /// Tells every worker to stop.
    pub fn stop(&self) {
        self.words().stop.store(1, Ordering::Release);
        self.flags().iter().for_each(|flag| flag.store(1, Ordering::Release));
        wake(&self.words().state);
    }

    /// Tells one worker to stop.
    pub fn stop_one(&self, number: u32) {
        self.flags()[number as usize].store(1, Ordering::Release);
        self.words().stopped_one.store(1, Ordering::Release);
    }

    /// Whether everybody was told to stop.
    pub fn stopped(&self) -> bool {
        self.words().stop.load(Ordering::Relaxed) != 0
    }

    /// Whether anybody was told to stop.
    pub fn stopped_any(&self) -> bool {
        self.stopped() || self.words().stopped_one.load(Ordering::Relaxed) != 0
    }

    /// The stop flag of a worker: not 0 once it was told to stop.
    pub fn flag(&self, number: u32) -> &AtomicU32 {
        &self.flags()[number as usize]
    }

    /// Whether a worker was told to stop.
    pub fn is_stopped(&self, number: u32) -> bool {
        self.flag(number).load(Ordering::Relaxed) != 0
    }

    /// Says that this worker is over, having run or failed.
    pub fn leave(&self, job: usize) {
        self.left()[job].fetch_sub(1, Ordering::AcqRel);
        wake(&self.left()[job]);
        self.words().over.fetch_add(1, Ordering::AcqRel);
        wake(&self.words().over);
        wake(&self.words().ready);
    }

    /// Workers that wait at the line.
    pub fn ready(&self) -> u32 {
        self.words().ready.load(Ordering::Acquire)
    }

    /// Workers that are over.
    pub fn over(&self) -> u32 {
        self.words().over.load(Ordering::Acquire)
    }

    /// Waits until more workers are over than `known`, a signal comes, or the time has passed.
    pub fn wait_for_end(&self, known: u32, ns: u64) {
        wait(&self.words().over, known, ns);
    }

    /// Waits until the number of ready workers changes, a signal comes, or the time has passed.
    pub fn wait_for_ready(&self, known: u32, ns: u64) {
        wait(&self.words().ready, known, ns);
    }
}

#[cfg(target_os = "linux")]
fn wait(word: &AtomicU32, value: u32, ns: u64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    // SAFETY: the word and the time-out are valid for the call; the futex is shared between processes.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time) };
}

#[cfg(target_os = "linux")]
fn wake(word: &AtomicU32) {
    // SAFETY: the word is valid for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(not(target_os = "linux"))]
fn wait(word: &AtomicU32, value: u32, ns: u64) {
    if word.load(Ordering::Acquire) == value {
        clock::sleep_ns(ns.min(1_000_000));
    }
}

#[cfg(not(target_os = "linux"))]
fn wake(_word: &AtomicU32) {}
