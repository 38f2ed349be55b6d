//! How the clocks behave: what a reading costs, how fine it is, and whether the clocks came apart while a phase ran.
//!
//! The wall clock is compared with the kernel's steady one (a difference is a step: both are slewed together), and the
//! counter that times operations with the steady one.

use std::sync::OnceLock;

use iodyno_model::ClockFacts;

use crate::clock::{self, Tick};

/// Readings that are timed together.
const BATCH: u32 = 64;
/// Apart by less than this, ns, clocks may well be together: reading them takes that long.
const UNSURE_NS: u64 = 2_000;

/// All clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct ClockReading {
    wall: u64,
    steady: Tick,
    counter: Tick,
}

/// Reads the clocks: the tightest of a few tries.
pub fn read() -> ClockReading {
    let attempt = |_| {
        let before = clock::monotonic();
        let (wall, counter) = (clock::unix_ns(), clock::now());
        let after = clock::monotonic();
        (after - before, ClockReading { wall, steady: before + (after - before) / 2, counter })
    };
    let tightest = (0..8).map(attempt).min_by_key(|(width, _)| *width);
    tightest.map_or(ClockReading { wall: 0, steady: 0, counter: 0 }, |(_, moment)| moment)
}

impl ClockReading {
    /// How the clocks behaved since an earlier moment.
    pub fn since(&self, before: &ClockReading) -> ClockFacts {
        let steady = self.steady.saturating_sub(before.steady);
        let sure = |difference: i64| if difference.unsigned_abs() < UNSURE_NS { 0 } else { difference };
        let against = |now: u64, then: u64| sure(now.wrapping_sub(then).wrapping_sub(steady) as i64);
        let drift = against(self.counter, before.counter);
        let (cost_ns, resolution_ns) = reading();
        ClockFacts {
            clock: clock::source().into(),
            cost_ns,
            resolution_ns,
            stepped_ns: against(self.wall, before.wall),
            drift_ppm: drift as f64 / steady.max(1) as f64 * 1e6,
            interval_ns: steady,
        }
    }
}

/// What one reading costs and the least difference between two of them, ns; found out once.
pub fn reading() -> (f64, f64) {
    static READING: OnceLock<(f64, f64)> = OnceLock::new();
    *READING.get_or_init(|| {
        let cost = |_| {
            let before = clock::now();
            (0..BATCH).for_each(|_| {
                std::hint::black_box(clock::now());
            });
            clock::now().saturating_sub(before) as f64 / f64::from(BATCH)
        };
        ((0..16).map(cost).fold(f64::INFINITY, f64::min), resolution())
    })
}

/// The least difference that two readings showed, ns.
fn resolution() -> f64 {
    let (mut least, mut last) = (u64::MAX, clock::now());
    let until = clock::monotonic() + 20_000_000;
    for seen in 0..256 {
        let mut now = clock::now();
        while now == last && clock::monotonic() < until {
            now = clock::now();
        }
        least = if now > last { least.min(now - last) } else { least };
        last = now;
        if seen > 0 && clock::monotonic() > until {
            break;
        }
    }
    if least == u64::MAX { 20_000_000.0 } else { least as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_wall_clock_is_seen_and_nothing_else() {
        let before = ClockReading { wall: 1_000_000_000, steady: 50, counter: 50 };
        let second = 1_000_000_000;
        let after = ClockReading { wall: 4 * second, steady: 50 + second, counter: 50 + second + 100_000 };
        let seen = after.since(&before);
        assert_eq!((seen.stepped_ns, seen.interval_ns), (2_000_000_000, second));
        assert!((seen.drift_ppm - 100.0).abs() < 1e-9);
        let back = ClockReading { wall: 1_500_000_000, ..after };
        assert_eq!(back.since(&before).stepped_ns, -500_000_000);
        let same = ClockReading { wall: 2_000_000_900, counter: 50 + second - 1_500, ..after };
        assert_eq!((same.since(&before).stepped_ns, same.since(&before).drift_ppm), (0, 0.0));
    }

    #[test]
    fn a_reading_costs_something() {
        let (cost, resolution) = reading();
        assert!(cost > 0.0 && cost < 1e6 && resolution >= 1.0, "{cost} {resolution}");
    }
}
