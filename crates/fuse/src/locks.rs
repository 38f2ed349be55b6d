//! Record locks: those of a program are held for it on the file itself, so that programs outside see them.
//!
//! An owner's locks on a file lie on one open file description of the owner's, which goes when the owner closes the file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::calls;

/// A range and its kind, as `fcntl` has them.
#[derive(Clone, Copy, Debug)]
pub struct RangeLock {
    pub start: u64,
    /// The last byte.
    pub end: u64,
    pub kind: i32,
}

impl RangeLock {
    /// Bytes, where 0 is all that may ever follow.
    pub fn bytes(self) -> u64 {
        if self.end >= i64::MAX as u64 { 0 } else { self.end - self.start + 1 }
    }

    fn request(self) -> libc::flock {
        libc::flock {
            l_type: self.kind as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: self.start as i64,
            l_len: self.bytes() as i64,
            l_pid: 0,
        }
    }
}

/// The locks of all owners.
#[derive(Default)]
pub struct HeldLocks(Mutex<HashMap<(u64, u64), Arc<File>>>);

impl HeldLocks {
    fn of(&self, node: u64, owner: u64, path: &Path) -> io::Result<Arc<File>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = held.get(&(node, owner)) {
            return Ok(Arc::clone(file));
        }
        let both = File::options().read(true).write(true).open(path);
        let file = both.or_else(|_| File::options().read(true).open(path));
        let file = Arc::new(file.or_else(|_| File::options().write(true).open(path))?);
        held.insert((node, owner), Arc::clone(&file));
        Ok(file)
    }

    /// Locks or unlocks; `waits` until it can be had.
    pub fn set(&self, node: u64, owner: u64, path: &Path, range: RangeLock, waits: bool) -> io::Result<()> {
        let file = self.of(node, owner, path)?;
        let request = if waits { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
        calls::lock(&file, request, &mut range.request())
    }

    /// The lock that is in the way; its kind is `F_UNLCK` where none is.
    pub fn conflict(&self, node: u64, owner: u64, path: &Path, range: RangeLock) -> io::Result<RangeLock> {
        let file = self.of(node, owner, path)?;
        let mut lock = range.request();
        calls::lock(&file, libc::F_OFD_GETLK, &mut lock)?;
        let end = if lock.l_len == 0 { i64::MAX } else { lock.l_start + lock.l_len - 1 };
        Ok(RangeLock { start: lock.l_start as u64, end: end as u64, kind: lock.l_type.into() })
    }

    /// An owner closes the file.
    pub fn release(&self, node: u64, owner: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(node, owner));
    }
}
