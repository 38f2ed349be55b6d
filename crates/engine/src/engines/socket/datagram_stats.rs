//! What became of numbered datagrams: lost, late, duplicate, and how unevenly they came.
//!
//! Numbers that have come lately are remembered one by one, so that a duplicate is distinguished from a late one, which is no
//! longer lost. What came longer ago than that is taken for late.

use super::stamp::{Read, Stamp};
use crate::worker_counters::{Count, Counts, TimeSpread};

/// Numbers that are remembered.
const WINDOW: u64 = 1 << 16;
/// The weight of a new difference in the jitter (RFC 1889).
const WEIGHT: f64 = 16.0;

/// Datagrams that one packet of the kernel's may stand for, at most (`UDP_MAX_SEGMENTS`).
const JOINED_MOST: u64 = 64;

/// What the kernel dropped at a full buffer between a datagram and the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Full {
    /// Packets, as the kernel counts: several datagrams that were joined are one.
    pub packets: u64,
    /// Datagrams in the packet that came after them; 0: none is ever joined.
    pub joined: u64,
}

/// The account of one sender's datagrams.
#[derive(Debug)]
pub struct DatagramStats {
    seen: Box<[u64]>,
    /// The number before the first.
    before: u64,
    /// The largest number, counted from 1.
    highest: u64,
    datagrams: u64,
    lost: u64,
    late: u64,
    duplicates: u64,
    /// Datagrams that found the buffer full.
    overflow: u64,
    jitter_ns: f64,
    transit_ns: Option<i64>,
    /// Of datagrams that have the wall clock's time: how long they were on their way.
    one_way: Option<OneWay>,
    /// Whether these times are counted by their length too.
    spread: bool,
}

/// Times from one host to the other, by the clocks of both. A clock that is behind makes them 0.
#[derive(Debug, Default)]
struct OneWay {
    count: u64,
    sum_ns: u64,
    least_ns: u64,
    most_ns: u64,
    squares_us: u64,
}

impl OneWay {
    fn take(&mut self, transit_ns: i64) {
        let ns = u64::try_from(transit_ns).unwrap_or(0);
        self.least_ns = if self.count == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.squares_us = self.squares_us.saturating_add((ns / 1000).saturating_mul(ns / 1000));
        self.count += 1;
    }
}

impl DatagramStats {
    /// An empty one; the first datagram has this number.
    pub fn new(first: u64) -> DatagramStats {
        DatagramStats {
            seen: vec![0; (WINDOW / 64) as usize].into(),
            before: first.wrapping_sub(1),
            highest: 0,
            datagrams: 0,
            lost: 0,
            late: 0,
            duplicates: 0,
            overflow: 0,
            jitter_ns: 0.0,
            transit_ns: None,
            one_way: None,
            spread: false,
        }
    }

    /// The same of datagrams with a header of this form, whose times on the way may be counted by their length too.
    pub fn of(first: u64, stamp: Option<Stamp>, spread: bool) -> DatagramStats {
        let one_way = (stamp == Some(Stamp::NumberFirst)).then(OneWay::default);
        DatagramStats { one_way, spread, ..DatagramStats::new(first) }
    }

    /// Numbers that are missing.
    pub fn missing(&self) -> u64 {
        self.lost
    }

    /// Packets found the buffer full before the datagram that was just taken, which passed over so many numbers; none: it
    /// has no number. Where packets may be of several datagrams, numbers tell of how many, and else the packet that came.
    #[cold]
    pub fn found_full(&mut self, full: Full, passed_over: Option<u64>) {
        self.overflow += match (full.joined, passed_over) {
            (0, _) => full.packets,
            (_, Some(numbers)) => numbers.min(full.packets.saturating_mul(JOINED_MOST)),
            (joined, None) => full.packets.saturating_mul(joined),
        };
    }

    /// One that has come.
    #[inline(always)]
    pub fn take(&mut self, read: &Read, arrived_ns: u64, counts: &Counts) {
        self.datagrams += 1;
        let number = read.number.wrapping_sub(self.before);
        if number == self.highest + 1 {
            self.highest = number;
            self.mark(number);
        } else {
            self.take_odd(number);
        }
        let transit = arrived_ns.wrapping_sub(read.sent_ns) as i64;
        if let Some(one_way) = &mut self.one_way {
            one_way.take(transit);
            if self.spread {
                counts.spread(TimeSpread::Transit, u64::try_from(transit).unwrap_or(0));
            }
        }
        if let Some(last) = self.transit_ns.replace(transit) {
            let difference = transit.wrapping_sub(last).unsigned_abs() as f64;
            self.jitter_ns += (difference - self.jitter_ns) / WEIGHT;
        }
    }

    /// One that has no header.
    pub fn take_bare(&mut self) {
        self.datagrams += 1;
    }

    #[inline(always)]
    fn mark(&mut self, number: u64) {
        self.seen[(number % WINDOW / 64) as usize] |= 1 << (number % 64);
    }

    fn is_marked(&self, number: u64) -> bool {
        self.seen[(number % WINDOW / 64) as usize] & 1 << (number % 64) != 0
    }

    /// Before what is in line comes again round the window, its place must be free.
    fn clear(&mut self, number: u64) {
        self.seen[(number % WINDOW / 64) as usize] &= !(1 << (number % 64));
    }

    #[cold]
    fn take_odd(&mut self, number: u64) {
        // Half of all numbers lie before any given one.
        if number > self.highest && number - self.highest < u64::MAX / 2 {
            let missing = number - self.highest - 1;
            self.lost += missing;
            let from = number.saturating_sub(WINDOW - 1).max(self.highest + 1);
            (from..number).for_each(|gap| self.clear(gap));
            self.highest = number;
            return self.mark(number);
        }
        let is_near = self.highest.wrapping_sub(number) < WINDOW;
        if is_near && self.is_marked(number) {
            self.duplicates += 1;
            return;
        }
        self.mark(number);
        self.late += 1;
        self.lost = self.lost.saturating_sub(1);
    }

    /// Publishes what it comes to.
    pub fn tell(&self, counts: &Counts) {
        counts.set(Count::Datagrams, self.datagrams);
        counts.set(Count::Lost, self.lost);
        counts.set(Count::Late, self.late);
        counts.set(Count::Duplicates, self.duplicates);
        counts.set(Count::Overflow, self.overflow);
        if self.highest > 0 {
            counts.set(Count::Highest, self.highest.wrapping_add(self.before));
        }
        counts.set(Count::JitterNs, self.jitter_ns as u64);
        if let Some(one_way) = &self.one_way {
            counts.set(Count::Transits, one_way.count);
            counts.set(Count::TransitNs, one_way.sum_ns);
            counts.set(Count::TransitLeastNs, one_way.least_ns);
            counts.set(Count::TransitMostNs, one_way.most_ns);
            counts.set(Count::TransitSquares, one_way.squares_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(first: u64, numbers: &[u64]) -> DatagramStats {
        let (mut account, counts) = (DatagramStats::new(first), Counts::new());
        for number in numbers {
            account.take(&Read { number: *number, sent_ns: 0, leaves: false }, 0, &counts);
        }
        account
    }

    fn of(account: &DatagramStats) -> (u64, u64, u64, u64) {
        (account.lost, account.late, account.duplicates, account.highest)
    }

    #[test]
    fn lost_late_and_duplicate_are_told_apart() {
        assert_eq!(of(&account(1, &[1, 2, 3])), (0, 0, 0, 3));
        assert_eq!(of(&account(1, &[3, 4])), (2, 0, 0, 4));
        assert_eq!(of(&account(1, &[1, 3, 2])), (0, 1, 0, 3));
        assert_eq!(of(&account(1, &[1, 1, 3, 3])), (1, 0, 2, 3));
        assert_eq!(of(&account(1, &[1, 5, 2, 2, 5])), (2, 1, 2, 5));
        assert_eq!(of(&account(0, &[0, 1, 2])), (0, 0, 0, 3));
        assert_eq!(of(&account(0, &[1, 0])), (0, 1, 0, 2));
    }

    #[test]
    fn what_found_the_buffer_full_is_counted_in_datagrams() {
        let overflow = |full, passed_over| {
            let mut account = account(1, &[1]);
            account.found_full(full, passed_over);
            account.overflow
        };
        let full = |packets, joined| Full { packets, joined };
        // One by one the kernel's count is that of datagrams, whatever else is missing.
        assert_eq!((overflow(full(3, 0), Some(5)), overflow(full(3, 0), None)), (3, 3));
        // Two packets of 25: the numbers say so, but no packet is of more than 64.
        assert_eq!((overflow(full(2, 25), Some(50)), overflow(full(2, 1), Some(500))), (50, 128));
        assert_eq!(overflow(full(2, 25), None), 50);
    }

    #[test]
    fn times_on_the_way_are_those_of_both_clocks() {
        let mut account = DatagramStats::of(1, Some(Stamp::NumberFirst), true);
        let counts = Counts::new();
        for (number, arrived_ns) in [(1, 12_000), (2, 2_000), (3, 40_000)] {
            account.take(&Read { number, sent_ns: 5000, leaves: false }, arrived_ns, &counts);
        }
        account.tell(&counts);
        let spread = &counts.spreads()[0];
        assert_eq!((spread.0.as_str(), spread.1.count(), spread.1.max), ("transit", 3, 35_000));
        let of = [
            Count::Transits,
            Count::TransitNs,
            Count::TransitLeastNs,
            Count::TransitMostNs,
            Count::TransitSquares,
        ];
        assert_eq!(of.map(|count| counts.get(count)), [3, 42_000, 0, 35_000, 7 * 7 + 35 * 35]);
        // Other headers have a clock that the receiver does not know.
        let mut account = DatagramStats::of(1, Some(Stamp::Long), true);
        let counts = Counts::new();
        account.take(&Read { number: 1, sent_ns: 0, leaves: false }, 9, &counts);
        account.tell(&counts);
        assert_eq!((counts.get(Count::Transits), counts.spreads()), (0, Vec::new()));
    }

    #[test]
    fn the_window_comes_round() {
        let mut numbers: Vec<u64> = (1..=3 * WINDOW).collect();
        numbers.retain(|number| *number != 3 * WINDOW - 5);
        numbers.push(3 * WINDOW - 5);
        assert_eq!(of(&account(1, &numbers)), (0, 1, 0, 3 * WINDOW));
        let far = account(1, &[1, 2, 1 + 10 * WINDOW, 10 * WINDOW, 2]);
        assert_eq!(of(&far), (10 * WINDOW - 2 - 1 - 1, 2, 0, 1 + 10 * WINDOW));
    }

    #[test]
    fn jitter_is_that_of_rfc_1889() {
        let mut account = DatagramStats::new(1);
        let come = |account: &mut DatagramStats, number, sent_ns, at| {
            account.take(&Read { number, sent_ns, leaves: false }, at, &Counts::new());
        };
        come(&mut account, 1, 0, 1000);
        come(&mut account, 2, 1000, 2000);
        assert_eq!(account.jitter_ns, 0.0);
        come(&mut account, 3, 2000, 4600);
        assert_eq!(account.jitter_ns, 100.0);
    }
}
