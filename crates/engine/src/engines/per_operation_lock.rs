//! An engine whose operations each hold a lock on their file that all workers respect: one operation at a time, many reads or
//! one write, or a lock on the bytes of each.
//!
//! Only for synchronous engines: a lock that is held over several operations in flight would block other files.

use std::os::fd::RawFd;

use iodyno_model::{FileLock, Verb};

use super::{Engine, EngineFacts, Failure, Setup};
use crate::call::{lock_range, range};
use crate::clock::{self, Tick};
use crate::io::{Files, Io, Slot};
use crate::memory::errno;

/// An engine whose operations take turns.
pub struct LockPerOperation<E> {
    engine: E,
    /// For each handle.
    locks: Vec<FileLock>,
    held: Option<(RawFd, FileLock, libc::flock)>,
    /// The lock was not to be had.
    refused: Option<(Slot, i64)>,
}

impl<E: Engine> Engine for LockPerOperation<E> {
    const FACTS: EngineFacts = EngineFacts { most_depth: 1, performs: false, ..E::FACTS };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let lock = |handle| setup.target(handle).map_or(FileLock::No, |target| target.open.lock);
        let locks = (0..setup.files.handles.len()).map(lock).collect();
        Ok(LockPerOperation { engine: E::start(setup)?, locks, held: None, refused: None })
    }

    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        let lock = self.locks.get(io.file as usize).copied().unwrap_or_default();
        if lock.is_each_operation() && io.verb.moves_data() {
            let (fd, range) = (files.fd(io.file), range(io));
            let shares = lock != FileLock::Exclusive && io.verb == Verb::Read;
            if !set(fd, lock, range, if shares { libc::LOCK_SH } else { libc::LOCK_EX }) {
                self.refused = Some((slot, -i64::from(errno())));
                return;
            }
            self.held = Some((fd, lock, range));
        }
        self.engine.push(slot, io, files);
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        if let Some((slot, result)) = self.refused.take() {
            done(slot, result, clock::now());
            return Ok(());
        }
        let outcome = self.engine.poll(min, until, done);
        if let Some((fd, lock, range)) = self.held.take() {
            set(fd, lock, range, libc::LOCK_UN);
        }
        outcome
    }
}

/// Takes a lock (`LOCK_SH`, `LOCK_EX`) or gives it back (`LOCK_UN`). Whether it could.
fn set(fd: RawFd, lock: FileLock, mut range: libc::flock, how: libc::c_int) -> bool {
    if lock != FileLock::Range {
        // SAFETY: the call takes no pointers.
        return unsafe { libc::flock(fd, how) } == 0;
    }
    lock_range(fd, &mut range, how)
}
