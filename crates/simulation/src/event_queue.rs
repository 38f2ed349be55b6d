//! What happens next: events in order of time, of equal times the one that was made first.
//!
//! A simulation is monotone: nothing is made to happen before what happened last. So this is a radix heap: an event lies in
//! the bucket of the highest bit in which its time differs from a base, and a bucket is looked at only when all below it are
//! empty. Each event moves down a few buckets, one behind the other in memory, where a binary heap of ten thousand events
//! compares it with some thirty that lie anywhere. Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest
//! path problem", 1990. The next few events are sorted, so that it is known ahead whose memory will be needed.

use crate::Tick;

/// So many events are sorted together at most when they come next.
const SORTED: usize = 32;
/// More sorted events than this show that their time has become denser than it was when they were sorted.
const MOST_SORTED: usize = 3 * SORTED;
/// At least so many are sorted, if there are as many.
const AHEAD: usize = 8;
/// All of so few are kept sorted: to find the place of one among them takes less than a way through the buckets.
const FEW: usize = 64;

/// What happens at a time: an event of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartEvent {
    pub(crate) at: Tick,
    pub(crate) part: u32,
    pub(crate) what: u32,
}

/// Events that have yet to happen.
pub(crate) struct EventQueue {
    /// The next ones, the last of them first; none is later than the base.
    sorted: Vec<PartEvent>,
    /// The others, none of which is earlier than the base, each bucket in the order in which they were made.
    buckets: Vec<Vec<PartEvent>>,
    /// The buckets that are not empty, a bit for each; that of times equal to the base has none.
    filled: u64,
    base: Tick,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        EventQueue {
            sorted: Vec::with_capacity(MOST_SORTED + 1),
            buckets: vec![Vec::new(); 65],
            filled: 0,
            base: 0,
        }
    }

    /// When something happens next.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<Tick> {
        self.sorted.last().map(|event| event.at)
    }

    /// The event that happens some others later: the memory that it needs can be fetched meanwhile.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<&PartEvent> {
        self.sorted.len().checked_sub(AHEAD).and_then(|index| self.sorted.get(index))
    }

    #[inline]
    pub(crate) fn push(&mut self, event: PartEvent) {
        if event.at < self.base {
            self.sort_in(event);
        } else if self.sorted.len() < FEW && self.is_far_empty() {
            self.base = event.at;
            self.sorted.insert(0, event);
        } else {
            self.keep(event);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<PartEvent> {
        let event = self.sorted.pop();
        if self.sorted.len() < AHEAD && !self.is_far_empty() {
            self.refill();
        }
        event
    }

    fn is_far_empty(&self) -> bool {
        self.filled == 0 && self.buckets[0].is_empty()
    }

    /// Behind those of the same time.
    fn sort_in(&mut self, event: PartEvent) {
        let index = self.sorted.partition_point(|other| other.at > event.at);
        self.sorted.insert(index, event);
        if self.sorted.len() > MOST_SORTED {
            self.spread();
        }
    }

    #[inline]
    fn keep(&mut self, event: PartEvent) {
        let bucket = 64 - (event.at ^ self.base).leading_zeros() as usize;
        self.buckets[bucket].push(event);
        self.filled |= bit(bucket);
    }

    /// Sorts those that come next.
    fn refill(&mut self) {
        loop {
            let bucket = match self.buckets[0].is_empty() {
                true => self.filled.trailing_zeros() as usize + 1,
                false => 0,
            };
            let mut events = std::mem::take(&mut self.buckets[bucket]);
            self.filled &= !bit(bucket);
            if bucket == 0 || events.len() <= SORTED {
                // Stable: of equal times they stay in the order in which they were made.
                events.sort_by_key(|event| event.at);
                self.base = events.last().map_or(self.base, |event| event.at);
                events.reverse();
                self.sorted.splice(0..0, events.iter().copied());
            } else {
                self.base = events.iter().map(|event| event.at).min().unwrap_or(self.base);
                events.iter().for_each(|event| self.keep(*event));
            }
            // Its memory serves again.
            events.clear();
            if self.buckets[bucket].is_empty() {
                self.buckets[bucket] = events;
            }
            if self.sorted.len() >= AHEAD || self.is_far_empty() {
                return;
            }
        }
    }

    /// Keeps only the next of the sorted ones sorted. The base goes back, so all others are kept anew.
    #[cold]
    fn spread(&mut self) {
        let mut others = self.sorted.split_off(self.sorted.len() - SORTED);
        std::mem::swap(&mut others, &mut self.sorted);
        let buckets: Vec<_> = self.buckets.iter_mut().map(std::mem::take).collect();
        self.filled = 0;
        self.base = self.sorted.first().map_or(0, |event| event.at);
        others.iter().rev().for_each(|event| self.keep(*event));
        buckets.iter().flatten().for_each(|event| self.keep(*event));
    }
}

/// The bit of a bucket in `EventQueue::filled`.
#[inline]
fn bit(bucket: usize) -> u64 {
    bucket.checked_sub(1).map_or(0, |bit| 1 << bit)
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::*;
    use crate::random::Random;

    /// Against a heap that compares the time and then the order of making.
    fn is_in_order(seed: u64, pending: u64, gap: impl Fn(&mut Random) -> Tick) {
        let (mut random, mut queue, mut heap) =
            (Random::from_seed(seed, 1), EventQueue::new(), BinaryHeap::new());
        let (mut now, mut made) = (0, 0_u32);
        for _ in 0..50_000 {
            let grows = random.below(2 * pending.max(1)) >= heap.len() as u64;
            for _ in 0..if grows { 2 } else { 0 } {
                let at = now + gap(&mut random);
                queue.push(PartEvent { at, part: 0, what: made });
                heap.push(Reverse((at, made)));
                made += 1;
            }
            assert_eq!(queue.next_at(), heap.peek().map(|Reverse((at, _))| *at));
            let (event, expected) = (queue.pop(), heap.pop().map(|Reverse(event)| event));
            assert_eq!(event.map(|event| (event.at, event.what)), expected);
            now = event.map_or(now, |event| event.at);
        }
        while let Some(Reverse(expected)) = heap.pop() {
            assert_eq!(queue.pop().map(|event| (event.at, event.what)), Some(expected));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn events_come_in_order_of_time_and_then_of_their_making() {
        for (seed, pending) in [(1, 1), (2, 7), (3, 100), (4, 5000)] {
            is_in_order(seed, pending, |random| random.exponential(1e5) as Tick);
            // Many at the same time.
            is_in_order(seed, pending, |random| random.below(3) * 1000);
            // Hours beside nanoseconds: what was sorted far ahead becomes dense.
            is_in_order(seed, pending, |random| 1 << random.below(42));
        }
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut queue = EventQueue::new();
        let at = [u64::MAX, 5, u64::MAX, 1 << 63, 6];
        at.iter().cycle().take(100).for_each(|at| queue.push(PartEvent { at: *at, part: 0, what: 0 }));
        let popped: Vec<Tick> = std::iter::from_fn(|| queue.pop()).map(|event| event.at).collect();
        assert!(popped.is_sorted() && popped.len() == 100, "{popped:?}");
    }

    #[test]
    fn what_comes_next_but_a_few_is_known() {
        let mut queue = EventQueue::new();
        (0..100).for_each(|at| queue.push(PartEvent { at: at * 7, part: 0, what: at as u32 }));
        queue.pop();
        assert_eq!(queue.ahead().map(|event| event.what), Some(AHEAD as u32));
    }
}
