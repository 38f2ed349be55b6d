//! Record locks, for the faults that lie in them; otherwise the kernel keeps them and never asks.

use super::fault::Fault;
use super::tree::{Tree, Try};

/// A lock on the bytes from `start` to `end`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    pub owner: u64,
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
    /// `F_RDLCK` or `F_WRLCK`; `F_UNLCK` in a request.
    pub kind: i32,
    /// Process id of the owner.
    pub pid: u32,
}

impl Lock {
    fn meets(&self, other: &Lock) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    fn conflicts(&self, other: &Lock) -> bool {
        let writes = self.kind == libc::F_WRLCK || other.kind == libc::F_WRLCK;
        self.owner != other.owner && writes && self.meets(other)
    }

    /// What of it lies outside another.
    fn without(self, other: &Lock) -> Vec<Lock> {
        if !self.meets(other) {
            return vec![self];
        }
        let before = (self.start < other.start).then(|| Lock { end: other.start - 1, ..self });
        let behind = (self.end > other.end).then(|| Lock { start: other.end + 1, ..self });
        before.into_iter().chain(behind).collect()
    }
}

impl Tree {
    /// The lock that is in the way of this one.
    pub fn conflict(&self, number: u64, wanted: &Lock) -> Option<Lock> {
        if self.breaks(Fault::LockAlwaysGranted) || self.breaks(Fault::FlockAlwaysGranted) {
            return None;
        }
        self.locks.get(&number)?.iter().find(|held| held.conflicts(wanted)).copied()
    }

    /// Takes or releases a lock; `EAGAIN` where another is in the way.
    pub fn lock(&mut self, number: u64, mut wanted: Lock) -> Try<()> {
        if self.breaks(Fault::LockWholeFile) {
            (wanted.start, wanted.end) = (0, u64::MAX);
        }
        if wanted.kind != libc::F_UNLCK && self.conflict(number, &wanted).is_some() {
            return Err(libc::EAGAIN);
        }
        let held = self.locks.entry(number).or_default();
        let rest = |lock: Lock| if lock.owner == wanted.owner { lock.without(&wanted) } else { vec![lock] };
        *held = held.drain(..).flat_map(rest).collect();
        if wanted.kind != libc::F_UNLCK {
            held.push(wanted);
        }
        Ok(())
    }

    /// What a lock of this kind would meet, as `F_GETLK` tells it.
    pub fn holder(&self, number: u64, wanted: &Lock) -> Option<Lock> {
        self.conflict(number, wanted).filter(|_| !self.breaks(Fault::LockHolderHidden))
    }

    /// A process closed the file: its locks are gone.
    pub fn unlock_all(&mut self, number: u64, owner: u64) {
        if self.breaks(Fault::LockOutlivesClose) {
            return;
        }
        if let Some(held) = self.locks.get_mut(&number) {
            held.retain(|lock| lock.owner != owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_in_the_middle_splits() {
        let mut tree = Tree::new(None, false);
        let lock = Lock { owner: 1, start: 0, end: 99, kind: libc::F_WRLCK, pid: 1 };
        assert_eq!(tree.lock(7, lock), Ok(()));
        assert_eq!(tree.lock(7, Lock { start: 10, end: 19, kind: libc::F_UNLCK, ..lock }), Ok(()));
        let other = |start, end| Lock { owner: 2, start, end, ..lock };
        assert_eq!(tree.lock(7, other(10, 19)), Ok(()));
        assert_eq!(tree.lock(7, other(19, 20)), Err(libc::EAGAIN));
        assert_eq!(tree.holder(7, &other(0, 5)).map(|held| (held.start, held.end)), Some((0, 9)));
        tree.unlock_all(7, 1);
        assert_eq!(tree.lock(7, other(0, 99)), Ok(()));
    }
}
