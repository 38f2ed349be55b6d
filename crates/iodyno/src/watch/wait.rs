//! When the next probe is due: the budget that probes keep, and the clock, which is virtual where the storage is.

use iodyno_engine::{clock, signal};

/// A wait is looked at this often, ns: a signal may have come to another thread.
const GLANCE_NS: u64 = 500_000_000;
/// When virtual time begins: 2026-01-05, a Monday, ns since 1970.
const VIRTUAL_BEGIN_NS: u64 = 1_767_571_200_000_000_000;

/// The time of probes.
#[derive(Debug)]
pub enum WatchClock {
    Real,
    /// ns since 1970.
    Virtual(u64),
}

impl WatchClock {
    /// Virtual time goes on behind the last point that is known.
    pub fn of(is_virtual: bool, last_unix_ns: Option<u64>, every_ns: u64) -> Self {
        match (is_virtual, last_unix_ns) {
            (false, _) => WatchClock::Real,
            (true, Some(last)) => WatchClock::Virtual(last + every_ns),
            (true, None) => WatchClock::Virtual(VIRTUAL_BEGIN_NS),
        }
    }

    /// Of a clock that nobody sets.
    pub fn now_ns(&self) -> u64 {
        match self {
            WatchClock::Real => clock::monotonic(),
            WatchClock::Virtual(now) => *now,
        }
    }

    pub fn unix_ns(&self) -> u64 {
        match self {
            WatchClock::Real => clock::unix_ns(),
            WatchClock::Virtual(now) => *now,
        }
    }

    /// So much virtual time has passed.
    pub fn pass(&mut self, elapsed_ns: u64) {
        if let WatchClock::Virtual(now) = self {
            *now += elapsed_ns;
        }
    }

    /// Waits; false where a signal ended it.
    pub fn wait_until(&mut self, due_ns: u64) -> bool {
        match self {
            WatchClock::Virtual(now) => *now = due_ns.max(*now),
            WatchClock::Real => {
                while signal::interruptions().0 == 0 {
                    let left = due_ns.saturating_sub(clock::monotonic());
                    if left == 0 {
                        return true;
                    }
                    clock::sleep_ns(left.min(GLANCE_NS));
                }
            }
        }
        signal::interruptions().0 == 0
    }
}

/// The share of the storage's time that probes take.
#[derive(Debug)]
pub struct ProbeBudget {
    share: f64,
    every_ns: u64,
    began_ns: u64,
    spent_ns: u64,
}

impl ProbeBudget {
    pub fn new(percent: f64, every_ns: u64, now_ns: u64) -> Self {
        ProbeBudget { share: percent / 100.0, every_ns, began_ns: now_ns, spent_ns: 0 }
    }

    /// A probe took so long, with all that was laid out for it.
    pub fn spend(&mut self, ns: u64) {
        self.spent_ns += ns;
    }

    /// When the next probe may begin, after one that began then.
    pub fn next_ns(&self, began_ns: u64) -> u64 {
        let earned = self.began_ns.saturating_add((self.spent_ns as f64 / self.share) as u64);
        earned.max(began_ns.saturating_add(self.every_ns))
    }

    /// What was used until now, percent; the first probe is paid for by the time after it.
    pub fn used_percent(&self, now_ns: u64) -> f64 {
        let passed = now_ns.saturating_sub(self.began_ns).max(self.spent_ns).max(1);
        self.spent_ns as f64 / passed as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_long_probe_is_paid_for_before_the_next_one() {
        let mut budget = ProbeBudget::new(0.1, 600 * SECOND, 0);
        budget.spend(2 * SECOND);
        assert_eq!(budget.next_ns(0), 2_000 * SECOND, "two seconds are a thousandth of that");
        budget.spend(SECOND / 100);
        assert_eq!(budget.next_ns(2_000 * SECOND), 2_600 * SECOND, "a short one follows the clock");
        assert!(budget.used_percent(2_600 * SECOND) < 0.1);
        // Many probes at any interval keep within it.
        let (mut budget, mut now) = (ProbeBudget::new(1.0, SECOND, 0), 0);
        for _ in 0..100 {
            let began = now;
            now += SECOND / 10;
            budget.spend(SECOND / 10);
            now = budget.next_ns(began).max(now);
        }
        assert!((budget.used_percent(now) - 1.0).abs() < 1e-9, "{}", budget.used_percent(now));
    }

    #[test]
    fn virtual_time_goes_on_where_it_ended() {
        let mut clock = WatchClock::of(true, Some(5 * SECOND), SECOND);
        assert_eq!(clock.unix_ns(), 6 * SECOND);
        clock.pass(SECOND);
        assert!(clock.wait_until(9 * SECOND) && clock.now_ns() == 9 * SECOND);
        assert!(clock.wait_until(SECOND) && clock.now_ns() == 9 * SECOND, "it never goes back");
    }
}
