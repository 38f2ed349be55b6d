//! The file system: a root directory that holds one file, `device`, whose requests take their programmed time.
//!
//! It refuses to be a general file system: nothing can be created, renamed or removed, and the file's size is fixed
//! like a block device's.

use super::config::{Config, RequestKind};
use super::fault::{self, Fate};
use super::log::{Request as Logged, SharedLog};
use super::queue::{AdmittedRequest, Queue};
use super::timing::{now_ns, wait_until};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::{Duration, SystemTime};

const DEVICE: INodeNo = INodeNo(2);
const ATTRIBUTES_LIVE: Duration = Duration::from_secs(3600);

/// One staged device, being served.
pub(crate) struct FuseServer {
    config: Config,
    media: File,
    log: SharedLog,
    queue: Queue,
    space_used: AtomicU64,
    born: SystemTime,
}

impl FuseServer {
    pub(crate) fn new(config: Config, media: File, log: SharedLog) -> FuseServer {
        let queue = Queue::new(config.parallelism);
        FuseServer { config, media, log, queue, space_used: AtomicU64::new(0), born: SystemTime::now() }
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

    fn attributes(&self, node: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match node {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0),
            DEVICE => (FileType::RegularFile, self.config.mode, self.config.bytes),
            _ => return None,
        };
        Some(FileAttr {
            ino: node,
            size,
            blocks: size.div_ceil(512),
            atime: self.born,
            mtime: self.born,
            ctime: self.born,
            crtime: self.born,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

fn flip(data: &mut [u8], fate: &Fate) {
    for (at, mask) in &fate.flips {
        if let Some(byte) = data.get_mut(*at) {
            *byte ^= mask;
        }
    }
}

fn errno_of(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

impl Filesystem for FuseServer {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel executes asynchronous direct I/O one request at a time.
        kernel
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        // mmap of a file opened for direct I/O, where the kernel is new enough.
        let _ = kernel.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        // Asynchronous requests count as background ones, of which the default allows 16.
        let _ = kernel.set_max_background(4096);
        let _ = kernel.set_congestion_threshold(4096);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(DEVICE) {
            Some(attributes) if parent == INodeNo::ROOT && name == "device" => {
                reply.entry(&ATTRIBUTES_LIVE, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(node) {
            Some(attributes) => reply.attr(&ATTRIBUTES_LIVE, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(request, node, handle, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO;
        let cache = if self.config.direct { direct } else { FopenFlags::empty() };
        // Otherwise the kernel lets only one direct write per file through at a time.
        reply.opened(FileHandle(0), cache | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = u64::from(size);
        let admitted = self.admit(RequestKind::Read, offset, bytes);
        let data = self.read_media(offset, bytes, &admitted.fate);
        let result = data.as_ref().map(|data| data.len() as u64).map_err(|errno| *errno);
        self.conclude(&admitted, RequestKind::Read, offset, bytes, result);
        match data {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = data.len() as u64;
        let admitted = self.admit(RequestKind::Write, offset, bytes);
        let result = self.write_media(offset, data, &admitted.fate);
        self.conclude(&admitted, RequestKind::Write, offset, bytes, result);
        match result {
            Ok(written) => reply.written(written as u32),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, data_only: bool, reply: ReplyEmpty) {
        let admitted = self.admit(RequestKind::Sync, 0, 0);
        if data_only {
            self.log.header().data_syncs.fetch_add(1, AcqRel);
        }
        let result = admitted.fate.errno.map_or(Ok(0), Err);
        self.conclude(&admitted, RequestKind::Sync, 0, 0, result);
        match result {
            Ok(_) => reply.ok(),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DEVICE, FileType::RegularFile, "device"),
        ];
        for (index, (node, kind, name)) in entries.into_iter().enumerate().skip(offset as usize) {
            if reply.add(node, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let used = self.space_used.load(Acquire);
        let free = self.config.space_bytes.map_or(0, |space| space.saturating_sub(used)) / 4096;
        reply.statfs(self.config.bytes / 4096, free, free, 1, 0, 4096, 255, 4096);
    }
}
