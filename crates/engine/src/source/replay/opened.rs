//! The files of a tree that a replay has open: each open takes a handle, and what follows on that name uses the newest.

use crate::io::SAYS_MODE;

const NONE: u32 = u32::MAX;

/// Which handle each file is open in.
pub(super) struct OpenFiles {
    /// By item: the newest handle.
    newest: Vec<u32>,
    /// By item: whether the newest handle was opened for a record that only used the file.
    is_lent: Vec<bool>,
    /// By handle, from the first of the pool: the one before it of the same item, or the next that is free.
    below: Box<[u32]>,
    first: u32,
    free: u32,
}

impl OpenFiles {
    /// A pool of so many handles after those of the job's targets.
    pub fn new(items: usize, first: u32, handles: u32) -> OpenFiles {
        let below = (0..handles).map(|handle| if handle + 1 < handles { handle + 1 } else { NONE });
        OpenFiles {
            newest: vec![NONE; items],
            is_lent: vec![false; items],
            below: below.collect(),
            first,
            free: if handles > 0 { 0 } else { NONE },
        }
    }

    /// The handle that a file is open in.
    pub fn of(&self, item: u32) -> Option<u32> {
        self.newest
            .get(item as usize)
            .copied()
            .filter(|handle| *handle != NONE)
            .map(|handle| handle + self.first)
    }

    /// A handle in which nothing is open.
    pub fn nothing(&self) -> u32 {
        self.first + self.below.len() as u32
    }

    /// A handle for one more open of a file, if there is one. What was lent for the file is given back: it may be another one.
    pub fn open(&mut self, item: u32) -> Option<u32> {
        self.forget(item);
        let handle = self.free;
        let newest = self.newest.get_mut(item as usize)?;
        let below = self.below.get_mut(handle as usize)?;
        self.free = std::mem::replace(below, *newest);
        *newest = handle;
        self.is_lent[item as usize] = false;
        Some(handle + self.first)
    }

    /// A handle for a file that a record uses and this worker has not opened.
    pub fn lend(&mut self, item: u32) -> Option<u32> {
        let handle = self.open(item)?;
        self.is_lent[item as usize] = true;
        Some(handle)
    }

    /// The name of a file means another one now: what was lent for it is opened anew.
    pub fn forget(&mut self, item: u32) {
        if self.is_lent.get(item as usize) == Some(&true) {
            self.close(item);
        }
    }

    /// The newest handle of a file is closed, or was never opened.
    pub fn close(&mut self, item: u32) -> Option<u32> {
        let newest = self.newest.get_mut(item as usize).filter(|handle| **handle != NONE)?;
        let handle = *newest;
        let below = &mut self.below[handle as usize];
        *newest = std::mem::replace(below, self.free);
        self.free = handle;
        self.is_lent[item as usize] = false;
        Some(handle + self.first)
    }
}

/// What an open that keeps its descriptor says beside its handle: the mode bits of what it makes.
pub(super) fn kept(handle: u32, mode: u64) -> u64 {
    u64::from(handle) | ((mode & 0o7777) | u64::from(SAYS_MODE)) << 32
}
