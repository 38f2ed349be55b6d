//! A barrier that workers come to again and again: one word of memory that they share.
//!
//! It counts who uses it, who has come, and how often all had come. Whoever comes last lets the others go on; where workers of
//! other ranks come to it too, the conductor does, when all ranks are full. Who leaves is not waited for any more. It knows no
//! names and never waits.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Workers that one barrier can count.
pub const MEMBERS_MOST: u64 = (1 << 16) - 1;

/// What the word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BarrierState {
    /// How often all had come, in the lower half: what workers wait to change.
    round: u32,
    arrived: u64,
    members: u64,
}

impl BarrierState {
    fn of(word: u64) -> BarrierState {
        BarrierState { round: word as u32, arrived: word >> 32 & MEMBERS_MOST, members: word >> 48 }
    }

    fn word(self) -> u64 {
        u64::from(self.round) | self.arrived << 32 | self.members << 48
    }

    fn is_full(self) -> bool {
        self.arrived >= self.members
    }

    /// The next round has begun.
    fn opened(self) -> BarrierState {
        BarrierState { round: self.round.wrapping_add(1), arrived: 0, ..self }
    }
}

/// What came of it that somebody has come or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Others are still to come.
    Waits,
    /// All of this rank have come; those of other ranks may not have.
    Full,
    /// All may go on.
    Opened,
}

/// The word of a barrier.
#[derive(Debug)]
#[repr(transparent)]
pub struct StepBarrier(AtomicU64);

impl StepBarrier {
    /// Another worker uses it; before any of them has come.
    pub fn join(&self) {
        self.0.fetch_add(1 << 48, SeqCst);
    }

    /// One of them has come: to which round, and what that leads to. `alone`: those of this rank are all there are.
    pub fn arrive(&self, alone: bool) -> (u32, Arrival) {
        self.change(alone, |state| BarrierState { arrived: state.arrived + 1, ..state })
    }

    /// One of them does not come any more, and is not waited for now.
    pub fn leave(&self, alone: bool) -> Arrival {
        self.change(alone, |state| BarrierState { members: state.members.saturating_sub(1), ..state }).1
    }

    /// All ranks were full: everybody goes on.
    pub fn open(&self) {
        let _ = self.0.fetch_update(SeqCst, SeqCst, |word| Some(BarrierState::of(word).opened().word()));
    }

    /// What changes with each round, as a word to wait for.
    pub fn round_word(&self) -> &AtomicU32 {
        let half = usize::from(cfg!(target_endian = "big"));
        // SAFETY: both halves lie in the number, are aligned for a word, and only atomics ever touch them.
        unsafe { &*self.0.as_ptr().cast::<AtomicU32>().add(half) }
    }

    pub fn round(&self) -> u32 {
        BarrierState::of(self.0.load(SeqCst)).round
    }

    /// Whether nobody is missing of those who still come: somebody waits, or nobody is left.
    pub fn is_full(&self) -> bool {
        BarrierState::of(self.0.load(SeqCst)).is_full()
    }

    /// Those who still come, and how many of them have.
    pub fn members(&self) -> (u64, u64) {
        let state = BarrierState::of(self.0.load(SeqCst));
        (state.members, state.arrived)
    }

    fn change(&self, alone: bool, how: impl Fn(BarrierState) -> BarrierState) -> (u32, Arrival) {
        let mut result = (0, Arrival::Waits);
        let _ = self.0.fetch_update(SeqCst, SeqCst, |word| {
            let changed = how(BarrierState::of(word));
            let all_came = changed.is_full() && changed.arrived > 0;
            let (next, arrival) = match (all_came, alone) {
                (true, true) => (changed.opened(), Arrival::Opened),
                (true, false) => (changed, Arrival::Full),
                (false, _) if changed.members == 0 => (changed, Arrival::Full),
                (false, _) => (changed, Arrival::Waits),
            };
            result = (changed.round, arrival);
            Some(next.word())
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barrier(members: u32) -> StepBarrier {
        let barrier = StepBarrier(AtomicU64::new(0));
        (0..members).for_each(|_| barrier.join());
        barrier
    }

    #[test]
    fn the_last_to_come_opens_each_round() {
        let barrier = barrier(3);
        for round in 0..4 {
            assert_eq!([barrier.arrive(true), barrier.arrive(true)], [(round, Arrival::Waits); 2]);
            assert_eq!((barrier.round(), barrier.arrive(true).1), (round, Arrival::Opened));
            assert_eq!(barrier.round(), round + 1);
        }
    }

    #[test]
    fn who_leaves_is_not_waited_for() {
        let barrier = barrier(3);
        assert_eq!([barrier.arrive(true).1, barrier.arrive(true).1], [Arrival::Waits; 2]);
        assert_eq!((barrier.leave(true), barrier.round()), (Arrival::Opened, 1), "the others have come");
        assert_eq!([barrier.arrive(true).1, barrier.arrive(true).1], [Arrival::Waits, Arrival::Opened]);
        assert_eq!([barrier.leave(true), barrier.arrive(true).1], [Arrival::Waits, Arrival::Opened]);
    }

    #[test]
    fn over_ranks_nobody_goes_on_before_all_ranks_are_full() {
        let barrier = barrier(2);
        assert_eq!([barrier.arrive(false).1, barrier.arrive(false).1], [Arrival::Waits, Arrival::Full]);
        assert_eq!((barrier.round(), barrier.is_full(), barrier.members()), (0, true, (2, 2)));
        barrier.open();
        assert_eq!((barrier.round(), barrier.is_full(), barrier.members()), (1, false, (2, 0)));
        assert_eq!([barrier.leave(false), barrier.leave(false)], [Arrival::Waits, Arrival::Full]);
        assert!(barrier.is_full(), "a rank that nobody is left on holds up nobody");
    }
}
