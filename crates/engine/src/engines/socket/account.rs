//! What became of numbered datagrams: lost, late, duplicate, and how unevenly they came.
//!
//! Numbers that have come lately are remembered one by one, so that a duplicate is told from a late one, which is no
//! longer lost. What came longer ago than that is taken for late.

use super::stamp::Read;
use crate::sheet::{Count, Counts};

/// Numbers that are remembered.
const WINDOW: u64 = 1 << 16;
/// The weight of a new difference in the jitter (RFC 1889).
const WEIGHT: f64 = 16.0;

/// The account of one sender's datagrams.
#[derive(Debug)]
pub struct Account {
    seen: Box<[u64]>,
    /// The number before the first.
    before: u64,
    /// The largest number, counted from 1.
    highest: u64,
    datagrams: u64,
    lost: u64,
    late: u64,
    duplicates: u64,
    jitter_ns: f64,
    transit_ns: Option<i64>,
}

impl Account {
    /// An empty one; the first datagram has this number.
    pub fn new(first: u64) -> Account {
        Account {
            seen: vec![0; (WINDOW / 64) as usize].into(),
            before: first.wrapping_sub(1),
            highest: 0,
            datagrams: 0,
            lost: 0,
            late: 0,
            duplicates: 0,
            jitter_ns: 0.0,
            transit_ns: None,
        }
    }

    /// One that has come.
    #[inline(always)]
    pub fn take(&mut self, read: &Read, arrived_ns: u64) {
        self.datagrams += 1;
        let number = read.number.wrapping_sub(self.before);
        if number == self.highest + 1 {
            self.highest = number;
            self.mark(number);
        } else {
            self.take_odd(number);
        }
        let transit = arrived_ns.wrapping_sub(read.sent_ns) as i64;
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
        if self.highest > 0 {
            counts.set(Count::Highest, self.highest.wrapping_add(self.before));
        }
        counts.set(Count::JitterNs, self.jitter_ns as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(first: u64, numbers: &[u64]) -> Account {
        let mut account = Account::new(first);
        for number in numbers {
            account.take(&Read { number: *number, sent_ns: 0, leaves: false }, 0);
        }
        account
    }

    fn of(account: &Account) -> (u64, u64, u64, u64) {
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
        let mut account = Account::new(1);
        let come = |account: &mut Account, number, sent_ns, at| {
            account.take(&Read { number, sent_ns, leaves: false }, at);
        };
        come(&mut account, 1, 0, 1000);
        come(&mut account, 2, 1000, 2000);
        assert_eq!(account.jitter_ns, 0.0);
        come(&mut account, 3, 2000, 4600);
        assert_eq!(account.jitter_ns, 100.0);
    }
}
