//! The largest depth at which enough operations are fast enough: found while the worker runs, window by window.
//!
//! The depth doubles until a window fails, then the interval between the best and the worst is halved. It refuses to
//! measure: it receives latencies and sets how many may be in flight.

use iodyno_model::{FoundDepth, LatencyTarget};

use crate::clock::Tick;
use crate::failure::Failure;

/// Windows that must meet the target one after the other before the next larger depth is tried again.
const STABLE: u32 = 3;

/// A depth that adapts to a latency.
#[derive(Clone, Debug)]
pub struct DepthSearch {
    target: LatencyTarget,
    most: u32,
    /// How many may be in flight now; the largest that met the target, and the smallest that did not.
    allowed: u32,
    low: u32,
    high: u32,
    stable: u32,
    /// What is in flight from a larger depth completes before the next window.
    drains: bool,
    /// The last window: nothing changes any more, and only it counts.
    last: bool,
    restarts: bool,
    over: bool,
    began: Tick,
    fast: u64,
    slow: u64,
    per_second: f64,
}

impl DepthSearch {
    /// A search from depth 1 up to `most`.
    pub fn new(target: &LatencyTarget, most: u32, start: Tick) -> Self {
        DepthSearch {
            target: target.clone(),
            most: most.max(1),
            allowed: 1,
            low: 1,
            high: most.max(1),
            stable: 0,
            drains: false,
            last: false,
            restarts: false,
            over: false,
            began: start,
            fast: 0,
            slow: 0,
            per_second: 0.0,
        }
    }

    /// Whether another operation must wait.
    pub fn holds(&self, in_flight: u32) -> bool {
        self.drains || in_flight >= self.allowed
    }

    /// Whether the search is over and the worker should end.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether what was counted so far is to be forgotten; asked once.
    pub fn takes_restart(&mut self) -> bool {
        std::mem::take(&mut self.restarts)
    }

    pub fn found(&self) -> FoundDepth {
        FoundDepth { depth: self.allowed, per_second: self.per_second }
    }

    /// Hears of a completion, with `in_flight` others still out.
    pub fn done(&mut self, latency_ns: u64, now: Tick, in_flight: u32) -> Option<Failure> {
        if self.over {
            return None;
        }
        if self.drains {
            if in_flight == 0 {
                self.drains = false;
                self.begin(now);
            }
            return None;
        }
        let is_slow = latency_ns > self.target.latency_ns;
        (self.fast, self.slow) = (self.fast + u64::from(!is_slow), self.slow + u64::from(is_slow));
        if is_slow && self.target.percent >= 100.0 {
            return self.missed(now, in_flight).then(|| self.too_slow(latency_ns));
        }
        if now.saturating_sub(self.began) >= self.target.window_ns {
            let share = self.fast as f64 * 100.0 / (self.fast + self.slow) as f64;
            match share >= self.target.percent {
                true => self.met(now),
                false => {
                    self.missed(now, in_flight);
                }
            }
        }
        None
    }

    fn begin(&mut self, now: Tick) {
        (self.began, self.fast, self.slow) = (now, 0, 0);
    }

    /// The depth is good enough: a larger one is tried.
    fn met(&mut self, now: Tick) {
        let before = self.allowed;
        let ns = now.saturating_sub(self.began).max(1);
        self.per_second = (self.fast + self.slow) as f64 * 1e9 / ns as f64;
        self.low = before;
        if before + 1 == self.high {
            self.stable += 1;
            if self.stable >= STABLE {
                (self.allowed, self.stable) = (before + 1, 0);
            }
        }
        self.allowed = match self.high == self.most {
            true => self.allowed.saturating_mul(2),
            false => self.allowed.midpoint(self.high),
        }
        .min(self.most);
        if !self.target.keep && self.allowed == before {
            (self.over, self.restarts) = (self.last, !self.last);
            self.last = true;
        }
        self.begin(now);
    }

    /// The depth is too much; `true`: even 1 is.
    fn missed(&mut self, now: Tick, in_flight: u32) -> bool {
        if self.allowed == 1 {
            self.begin(now);
            return true;
        }
        self.high = self.allowed;
        if self.allowed == self.low {
            self.low -= 1;
        }
        self.allowed = self.allowed.midpoint(self.low).max(1);
        self.stable = 0;
        self.drains = in_flight > 0;
        self.begin(now);
        false
    }

    fn too_slow(&self, latency_ns: u64) -> Failure {
        let message = format!(
            "an operation took {latency_ns} ns at depth 1: at most {} were demanded",
            self.target.latency_ns
        );
        Failure::new(message).errno(libc::ETIMEDOUT).hint("allow more time, or a share of slower operations")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device on which n operations in flight take n times 100 µs: the depth at which the search ends.
    fn search(latency_us: u64, percent: f64, most: u32) -> Result<FoundDepth, Failure> {
        let target =
            LatencyTarget { latency_ns: latency_us * 1000, window_ns: 50_000_000, percent, keep: false };
        let mut search = DepthSearch::new(&target, most, 0);
        let (mut now, mut flying, mut restarts) = (0, std::collections::VecDeque::new(), 0);
        for _ in 0..10_000_000 {
            while !search.holds(flying.len() as u32) && !search.is_over() {
                flying.push_back(now);
            }
            now += 100_000;
            let Some(began) = flying.pop_front() else { break };
            if let Some(failure) = search.done(now - began, now, flying.len() as u32) {
                return Err(failure);
            }
            restarts += u32::from(search.takes_restart());
        }
        assert!(search.is_over() && restarts == 1, "{search:?}");
        Ok(search.found())
    }

    #[test]
    fn the_largest_depth_that_is_fast_enough_is_found() {
        for (latency_us, depth) in [(100, 1), (250, 2), (500, 5), (1250, 12), (3000, 30), (99_000, 64)] {
            for percent in [90.0, 100.0] {
                let found = search(latency_us, percent, 64).unwrap();
                assert_eq!(found.depth, depth, "{latency_us} µs at {percent} %");
                assert!((found.per_second - 10_000.0).abs() < 300.0, "{found:?}");
            }
        }
    }

    #[test]
    fn what_is_never_fast_enough_fails() {
        assert_eq!(search(50, 100.0, 64).unwrap_err().errno, libc::ETIMEDOUT);
    }
}
