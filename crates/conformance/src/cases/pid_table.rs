//! Who runs just now, in memory that all processes share: the guardian ends them where no name space does it.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use iodyno_engine::memory::Mapping;

/// More than ever run at once.
const PLACES: usize = 1024;

/// The processes that lead a group of their own.
pub struct Roster(Mapping);

impl Roster {
    /// How much memory it takes.
    pub const BYTES: usize = PLACES * size_of::<AtomicI32>();

    /// In memory that is large enough for it.
    pub fn on(mapping: Mapping) -> Self {
        assert!(mapping.bytes() >= Roster::BYTES);
        Roster(mapping)
    }

    fn words(&self) -> &[AtomicI32] {
        // SAFETY: the mapping holds so many, is aligned to pages and zeroed, and they are nothing but atomics.
        unsafe { std::slice::from_raw_parts(self.0.start().cast(), PLACES) }
    }

    /// One has begun.
    pub fn enter(&self, pid: libc::pid_t) {
        if let Some(place) = self.words().iter().find(|place| place.load(Relaxed) == 0) {
            place.store(pid, Relaxed);
        }
    }

    /// One is over.
    pub fn leave(&self, pid: libc::pid_t) {
        if let Some(place) = self.words().iter().find(|place| place.load(Relaxed) == pid) {
            place.store(0, Relaxed);
        }
    }

    /// Those that run.
    pub fn leaders(&self) -> impl Iterator<Item = libc::pid_t> {
        self.words().iter().map(|place| place.load(Relaxed)).filter(|pid| *pid > 0)
    }
}
