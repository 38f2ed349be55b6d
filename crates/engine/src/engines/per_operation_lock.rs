//! An engine whose operations each hold a lock on their file that all workers respect: one operation at a time, many reads or
//! one write, or a lock on the bytes of each. Or each tells a parallel file system its range, and gives it back.
//!
//! Only for synchronous engines: a lock that is held over several operations in flight would block other files.

use std::os::fd::RawFd;
use std::sync::Arc;

use iodyno_model::{FileLock, Verb};

use super::{Engine, EngineFacts, Failure, Setup};
use crate::call::{lock_range, range};
use crate::clock::{self, Tick};
use crate::file_system_client::{FileSystemClient, refused};
use crate::io::{Files, Io, Slot};
use crate::memory::errno;

/// An engine whose operations take turns.
pub struct LockPerOperation<E> {
    engine: E,
    /// For each handle.
    locks: Vec<FileLock>,
    held: Option<(RawFd, FileLock, libc::flock)>,
    /// For each handle: who is told of ranges.
    clients: Vec<Option<Arc<FileSystemClient>>>,
    /// The range that was told, and to whom.
    told: Option<(RawFd, u32, (u64, u64))>,
    /// The lock was not to be had.
    refused: Option<(Slot, i64)>,
}

impl<E: Engine> Engine for LockPerOperation<E> {
    const FACTS: EngineFacts = EngineFacts { most_depth: 1, performs: false, ..E::FACTS };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let lock = |handle| setup.target(handle).map_or(FileLock::No, |target| target.open.lock);
        let locks = (0..setup.files.handles.len()).map(lock).collect();
        let client = |handle: usize| {
            let hints = setup.target(handle).and_then(|target| target.open.hints.as_ref());
            // Opening it looks at the file system.
            hints.filter(|hints| hints.gpfs_access).map(|hints| FileSystemClient::load(hints)).transpose()
        };
        let clients = (0..setup.files.handles.len()).map(client).collect::<Result<_, _>>()?;
        let engine = E::start(setup)?;
        Ok(LockPerOperation { engine, locks, held: None, clients, told: None, refused: None })
    }

    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        if let Some(client) = self.clients.get(io.file as usize).and_then(Option::as_ref)
            && io.verb.moves_data()
        {
            let (fd, range) = (files.fd(io.file), (io.offset, io.bytes));
            if let Err(errno) = client.begin_access(fd, range, io.verb == Verb::Write) {
                self.refused = Some((slot, -i64::from(errno)));
                return;
            }
            self.told = Some((fd, io.file, range));
        }
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
        if let Some((fd, file, range)) = self.told.take()
            && let Some(client) = &self.clients[file as usize]
        {
            client.end_access(fd, range).map_err(|errno| refused("GPFS_FREE_RANGE", errno))?;
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
