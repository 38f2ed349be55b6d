//! How far virtual clocks may go: no further than what the conductor has told of.
//!
//! An engine whose time is its own runs through hours in milliseconds. Where somebody wants to hear at given times how it
//! stands, its workers wait there until that was reported, so that the reports are the same on every run. Only who moves such a
//! clock asks; nobody else pays for it. Whether everybody waits is decided from what they wait for, not from a count, so
//! that whoever may already go on is never taken for waiting.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{MEETINGS, StartBarrier};
use crate::clock::{NEVER, Tick};
use crate::futex::{wait, wake};

/// What a worker waits for: nothing, or this and the number of a meeting, or that and the number of a job.
const IN_MEETING: u32 = 1;
const AFTER_JOB: u32 = IN_MEETING + MEETINGS as u32;

/// How far one worker's clock may go, as far as it knows.
pub struct Horizon {
    barrier: *const StartBarrier,
    number: u32,
    known: Tick,
}

impl Horizon {
    /// That of a worker; of one that has no barrier there is none.
    pub fn new(barrier: Option<&StartBarrier>, number: u32) -> Horizon {
        let known = if barrier.is_some() { 0 } else { NEVER };
        Horizon { barrier: barrier.map_or(std::ptr::null(), std::ptr::from_ref), number, known }
    }

    /// Returns when the clock may show that time.
    #[inline]
    pub fn pass(&mut self, to: Tick) {
        if to > self.known {
            self.wait(to);
        }
    }

    #[cold]
    fn wait(&mut self, to: Tick) {
        // SAFETY: a phase's barrier outlives every engine of the phase; without a barrier everything is known.
        self.known = unsafe { &*self.barrier }.wait_for_horizon(self.number, to);
    }
}

impl StartBarrier {
    /// Virtual clocks may go so far; 0, as it is at first: as far as they like.
    pub fn raise_horizon(&self, to: Tick) {
        self.words().horizon.store(to, Ordering::Release);
        self.words().raised.fetch_add(1, Ordering::AcqRel);
        wake(&self.words().raised);
    }

    fn horizon(&self) -> Tick {
        match self.words().horizon.load(Ordering::Acquire) {
            0 => NEVER,
            horizon => horizon,
        }
    }

    /// Waits until a clock may show that time, or its worker is asked to stop; how far it may go then.
    fn wait_for_horizon(&self, number: u32, to: Tick) -> Tick {
        let wants = &self.wants()[number as usize];
        loop {
            let raised = self.words().raised.load(Ordering::Acquire);
            let horizon = self.horizon();
            if to <= horizon || self.is_stopped(number) {
                wants.store(0, Ordering::Release);
                return if to <= horizon { horizon } else { to };
            }
            if wants.swap(to, Ordering::AcqRel) != to {
                self.ring();
            }
            wait(&self.words().raised, raised, 100_000_000);
        }
    }

    /// The same for workers that share a clock: all of them wait. One that is stopped lets the others go on as well.
    pub fn wait_for_horizon_together(&self, numbers: &[u32], to: Tick) -> Tick {
        loop {
            let raised = self.words().raised.load(Ordering::Acquire);
            let horizon = self.horizon();
            let is_stopped = numbers.iter().any(|number| self.is_stopped(*number));
            let wants = |to: Tick| {
                let of = |number: &u32| self.wants()[*number as usize].swap(to, Ordering::AcqRel) != to;
                numbers.iter().filter(|number| of(number)).count() > 0
            };
            if to <= horizon || is_stopped {
                wants(0);
                return if to <= horizon { horizon } else { to };
            }
            if wants(to) {
                self.ring();
            }
            wait(&self.words().raised, raised, 100_000_000);
        }
    }

    /// A worker begins to wait in a meeting.
    pub(super) fn sits_down(&self, number: u32, meeting: usize) {
        self.waits_for(number, IN_MEETING + meeting as u32);
    }

    /// A worker begins to wait for the end of a job.
    pub(super) fn queues(&self, number: u32, job: usize) {
        self.waits_for(number, AFTER_JOB + job as u32);
    }

    /// A worker goes on.
    pub(super) fn rises(&self, number: u32) {
        self.waits()[number as usize].store(0, Ordering::Release);
    }

    fn waits_for(&self, number: u32, what: u32) {
        self.waits()[number as usize].store(what, Ordering::Release);
        if self.words().horizon.load(Ordering::Acquire) > 0 {
            self.ring();
        }
    }

    fn waits(&self) -> &[AtomicU32] {
        self.small(2 * (self.jobs + self.workers), self.workers)
    }

    /// Whether every worker is over, waits for a later time than the horizon, or waits for such a one.
    pub fn all_at_horizon(&self) -> bool {
        let horizon = self.horizon();
        let waiting = (0..self.workers).filter(|number| self.is_held(*number, horizon)).count();
        // Who is over waits for nothing.
        waiting + self.over() as usize >= self.workers
    }

    fn is_held(&self, number: usize, horizon: Tick) -> bool {
        if self.is_stopped(number as u32) {
            return false;
        }
        if self.wants()[number].load(Ordering::Acquire) > horizon {
            return true;
        }
        match self.waits()[number].load(Ordering::Acquire) {
            0 => false,
            what @ AFTER_JOB.. => self.running((what - AFTER_JOB) as usize) > 0,
            what => self.words().released[(what - IN_MEETING) as usize].load(Ordering::Acquire) == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_clock_goes_no_further_than_it_may() {
        let barrier = Arc::new(StartBarrier::new(&[2]).unwrap());
        barrier.raise_horizon(100);
        assert!(!barrier.all_at_horizon());
        let (tell, told) = mpsc::channel();
        let worker = |number: u32, times: &'static [Tick]| {
            let (barrier, tell) = (barrier.clone(), tell.clone());
            std::thread::spawn(move || {
                let mut horizon = Horizon::new(Some(&barrier), number);
                for time in times {
                    horizon.pass(*time);
                    tell.send((number, *time)).unwrap();
                }
                barrier.leave(0, number);
            })
        };
        let threads = [worker(0, &[50, 100, 101, 250]), worker(1, &[300])];
        let come = |count: usize| {
            let mut come: Vec<_> = (0..count).map(|_| told.recv().unwrap()).collect();
            come.sort();
            come
        };
        assert_eq!(come(2), [(0, 50), (0, 100)]);
        settled(&barrier);
        barrier.raise_horizon(200);
        assert_eq!(come(1), [(0, 101)]);
        settled(&barrier);
        assert!(told.try_recv().is_err());
        barrier.raise_horizon(300);
        assert_eq!(come(2), [(0, 250), (1, 300)]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(barrier.all_at_horizon());
    }

    /// Until all of them wait or are over: nothing but their own progress ends this.
    fn settled(barrier: &StartBarrier) {
        while !barrier.all_at_horizon() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_is_told_to_stop_is_held_by_nothing() {
        let barrier = StartBarrier::new(&[1]).unwrap();
        barrier.raise_horizon(10);
        barrier.stop();
        let mut horizon = Horizon::new(Some(&barrier), 0);
        horizon.pass(1_000);
        assert!(!barrier.all_at_horizon());
        barrier.leave(0, 0);
        assert!(barrier.all_at_horizon());
    }

    #[test]
    fn without_a_horizon_there_is_no_waiting() {
        let barrier = StartBarrier::new(&[1]).unwrap();
        Horizon::new(Some(&barrier), 0).pass(NEVER);
        Horizon::new(None, 0).pass(NEVER);
    }
}
