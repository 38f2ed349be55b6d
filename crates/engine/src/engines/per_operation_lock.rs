//! An engine whose operations each hold a lock on their file that all workers respect: one operation at a time, or many reads or
//! one write.
//!
//! Only for synchronous engines: a lock that is held over several operations in flight would block other files.

use std::os::fd::RawFd;

use iodyno_model::{FileLock, Verb};

use super::{Engine, EngineFacts, Failure, Setup};
use crate::clock::{self, Tick};
use crate::io::{Files, Io, Slot};
use crate::memory::errno;

/// An engine whose operations take turns.
pub struct LockPerOperation<E> {
    engine: E,
    /// For each handle.
    locks: Vec<FileLock>,
    held: Option<RawFd>,
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
            let shares = lock == FileLock::ReadWrite && io.verb == Verb::Read;
            let fd = files.fd(io.file);
            // SAFETY: the call takes no pointers.
            if unsafe { libc::flock(fd, if shares { libc::LOCK_SH } else { libc::LOCK_EX }) } < 0 {
                self.refused = Some((slot, -i64::from(errno())));
                return;
            }
            self.held = Some(fd);
        }
        self.engine.push(slot, io, files);
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        if let Some((slot, result)) = self.refused.take() {
            done(slot, result, clock::now());
            return Ok(());
        }
        let outcome = self.engine.poll(min, until, done);
        if let Some(fd) = self.held.take() {
            // SAFETY: the call takes no pointers.
            unsafe { libc::flock(fd, libc::LOCK_UN) };
        }
        outcome
    }
}
