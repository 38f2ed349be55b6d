//! The staged device as an image, whose requests take their programmed time.

use super::config::{Config, RequestKind};
use super::fault::{self, Fate};
use super::log::{Request as Logged, SharedLog};
use super::queue::{AdmittedRequest, Queue};
use super::timing::{now_ns, wait_until};
use iodyno_fuse::image::{ServedImage, errno_of};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// One staged device, being served.
pub(crate) struct FuseServer {
    config: Config,
    media: File,
    log: SharedLog,
    queue: Queue,
    space_used: AtomicU64,
}

impl FuseServer {
    pub(crate) fn new(config: Config, media: File, log: SharedLog) -> FuseServer {
        let queue = Queue::new(config.parallelism);
        FuseServer { config, media, log, queue, space_used: AtomicU64::new(0) }
    }

    fn admit(&self, kind: RequestKind, offset: u64, bytes: u64) -> AdmittedRequest {
        self.queue.admit(&self.config, self.log.header(), kind, offset, bytes)
    }

    /// Waits out the service time and logs the request; the reply must follow at once.
    fn conclude(
        &self,
        admitted: &AdmittedRequest,
        kind: RequestKind,
        offset: u64,
        bytes: u64,
        result: Result<u64, i32>,
    ) {
        let header = self.log.header();
        match (kind, result) {
            (RequestKind::Read, Ok(transferred)) => header.read_bytes.fetch_add(transferred, AcqRel),
            (RequestKind::Write, Ok(transferred)) => header.written_bytes.fetch_add(transferred, AcqRel),
            _ => 0,
        };
        wait_until(admitted.due_ns, self.config.spin_ns);
        self.log.append(&Logged {
            kind,
            arrival_ns: admitted.arrival_ns,
            start_ns: admitted.start_ns,
            due_ns: admitted.due_ns,
            end_ns: now_ns(),
            offset,
            bytes: bytes as u32,
            result: result.map_or_else(|errno| -errno, |transferred| transferred as i32),
        });
    }

    fn read_media(&self, offset: u64, bytes: u64, fate: &Fate) -> Result<Vec<u8>, i32> {
        if let Some(errno) = fate.errno {
            return Err(errno);
        }
        let bytes = bytes.min(self.config.bytes.saturating_sub(offset));
        let mut data = vec![0; bytes as usize];
        self.media.read_exact_at(&mut data, offset).map_err(errno_of)?;
        for (at, length, from) in fault::swaps(&self.config.faults, offset, bytes) {
            self.media.read_exact_at(&mut data[at..at + length], from).map_err(errno_of)?;
        }
        flip(&mut data, fate);
        data.truncate(fate.short.unwrap_or(u64::MAX).min(bytes) as usize);
        Ok(data)
    }

    fn write_media(&self, offset: u64, data: &[u8], fate: &Fate) -> Result<u64, i32> {
        if let Some(errno) = fate.errno {
            return Err(errno);
        }
        let asked = fate.short.unwrap_or(u64::MAX).min(data.len() as u64);
        let taken = self.take_space(asked.min(self.config.bytes.saturating_sub(offset)));
        if taken == 0 && asked > 0 {
            return Err(libc::ENOSPC);
        }
        let landing = fate.landing.unwrap_or(offset);
        let room = self.config.bytes.saturating_sub(landing);
        let applied = taken.min(fate.applied.unwrap_or(u64::MAX)).min(room) as usize;
        let written = if fate.flips.is_empty() {
            self.media.write_all_at(&data[..applied], landing)
        } else {
            let mut flipped = data.to_vec();
            flip(&mut flipped, fate);
            self.media.write_all_at(&flipped[..applied], landing)
        };
        written.map_err(errno_of)?;
        Ok(taken)
    }

    /// As much of `bytes` as the programmed space still has.
    fn take_space(&self, bytes: u64) -> u64 {
        let Some(space) = self.config.space_bytes else { return bytes };
        let mut used = self.space_used.load(Acquire);
        loop {
            let taken = bytes.min(space.saturating_sub(used));
            match self.space_used.compare_exchange(used, used + taken, AcqRel, Acquire) {
                Ok(_) => return taken,
                Err(now) => used = now,
            }
        }
    }
}

fn flip(data: &mut [u8], fate: &Fate) {
    for (at, mask) in &fate.flips {
        if let Some(byte) = data.get_mut(*at) {
            *byte ^= mask;
        }
    }
}

impl ServedImage for FuseServer {
    fn bytes(&self) -> u64 {
        self.config.bytes
    }

    fn mode(&self) -> u16 {
        self.config.mode
    }

    fn is_direct(&self) -> bool {
        self.config.direct
    }

    fn free_bytes(&self) -> u64 {
        let used = self.space_used.load(Acquire);
        self.config.space_bytes.map_or(0, |space| space.saturating_sub(used))
    }

    fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, i32> {
        let admitted = self.admit(RequestKind::Read, offset, bytes);
        let data = self.read_media(offset, bytes, &admitted.fate);
        let result = data.as_ref().map(|data| data.len() as u64).map_err(|errno| *errno);
        self.conclude(&admitted, RequestKind::Read, offset, bytes, result);
        data
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<u64, i32> {
        let bytes = data.len() as u64;
        let admitted = self.admit(RequestKind::Write, offset, bytes);
        let result = self.write_media(offset, data, &admitted.fate);
        self.conclude(&admitted, RequestKind::Write, offset, bytes, result);
        result
    }

    fn flush(&self, data_only: bool) -> Result<(), i32> {
        let admitted = self.admit(RequestKind::Sync, 0, 0);
        if data_only {
            self.log.header().data_syncs.fetch_add(1, AcqRel);
        }
        let result = admitted.fate.errno.map_or(Ok(0), Err);
        self.conclude(&admitted, RequestKind::Sync, 0, 0, result);
        result.map(|_| ())
    }
}
