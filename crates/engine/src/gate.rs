//! The start line and the stop flag of a phase, in a mapping that threads and processes share.
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
    ready: AtomicU32,
    over: AtomicU32,
    start: AtomicU64,
}

/// The start line and the stop flag.
pub struct Gate {
    mapping: Mapping,
}

impl Gate {
    /// A closed gate.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new() -> Result<Self, i32> {
        Ok(Gate { mapping: Mapping::shared(size_of::<Words>())? })
    }

    #[inline(always)]
    fn words(&self) -> &Words {
        // SAFETY: the mapping is large enough, aligned to pages, zeroed, and holds only atomics.
        unsafe { &*self.mapping.start().cast::<Words>() }
    }

    /// Says that this worker is ready, and waits for the start line; returns its time.
    pub fn wait_for_start(&self) -> Tick {
        let words = self.words();
        words.ready.fetch_add(1, Ordering::AcqRel);
        wake(&words.ready);
        while words.state.load(Ordering::Acquire) == WAITING && !self.stopped() {
            wait(&words.state, WAITING, 100_000_000);
        }
        let start = words.start.load(Ordering::Acquire);
        if start == 0 { clock::now() } else { start }
    }

    /// Opens the gate: the time is now.
    pub fn open(&self) -> Tick {
        let start = clock::now();
        self.words().start.store(start, Ordering::Release);
        self.words().state.store(OPEN, Ordering::Release);
        wake(&self.words().state);
        start
    }

    /// Tells every worker to stop.
    pub fn stop(&self) {
        self.words().stop.store(1, Ordering::Release);
        wake(&self.words().state);
    }

    /// Whether somebody said stop.
    #[inline(always)]
    pub fn stopped(&self) -> bool {
        self.words().stop.load(Ordering::Relaxed) != 0
    }

    /// Says that this worker is over, having run or failed.
    pub fn leave(&self) {
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
