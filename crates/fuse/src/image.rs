//! A file system of one file, `device`: the image of a disk, whose requests somebody else answers.
//!
//! It refuses to be a general file system: nothing can be created, renamed or removed, and the file's size is fixed
//! like a block device's.

use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

/// The name of the file.
pub const FILE_NAME: &str = "device";

const DEVICE: INodeNo = INodeNo(2);
const ATTRIBUTES_LIVE: Duration = Duration::from_secs(3600);
const BLOCK_BYTES: u32 = 4096;

/// Answers the requests of an image; an error is an errno. From several threads at once.
pub trait ServedImage: Send + Sync + 'static {
    fn bytes(&self) -> u64;

    /// Permission bits of the file.
    fn mode(&self) -> u16 {
        0o600
    }

    /// Whether the kernel passes its page cache by.
    fn is_direct(&self) -> bool {
        true
    }

    /// Room that statfs(2) tells of.
    fn free_bytes(&self) -> u64 {
        0
    }

    /// # Errors
    /// An errno.
    fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, i32>;

    /// Bytes written.
    ///
    /// # Errors
    /// An errno.
    fn write(&self, offset: u64, data: &[u8]) -> Result<u64, i32>;

    /// What is there is needed no more, and reads as zeroes.
    ///
    /// # Errors
    /// An errno.
    fn discard(&self, _offset: u64, _bytes: u64) -> Result<(), i32> {
        Err(libc::EOPNOTSUPP)
    }

    /// # Errors
    /// An errno.
    fn zero(&self, _offset: u64, _bytes: u64) -> Result<(), i32> {
        Err(libc::EOPNOTSUPP)
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// An errno.
    fn flush(&self, data_only: bool) -> Result<(), i32>;
}

/// What an image answers where its own file or log failed.
pub fn errno_of(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Serves an image.
pub struct ImageServer<I> {
    image: I,
}

impl<I: ServedImage> ImageServer<I> {
    pub fn new(image: I) -> ImageServer<I> {
        ImageServer { image }
    }

    fn attributes(&self, node: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match node {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0),
            DEVICE => (FileType::RegularFile, self.image.mode(), self.image.bytes()),
            _ => return None,
        };
        Some(FileAttr {
            ino: node,
            size,
            blocks: size.div_ceil(512),
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        })
    }
}

fn answer(reply: ReplyEmpty, result: Result<(), i32>) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    }
}

impl<I: ServedImage> Filesystem for ImageServer<I> {
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
            Some(attributes) if parent == INodeNo::ROOT && name == FILE_NAME => {
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
        let cache = if self.image.is_direct() { direct } else { FopenFlags::empty() };
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
        match self.image.read(offset, u64::from(size)) {
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
        match self.image.write(offset, data) {
            Ok(written) => reply.written(written as u32),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // A loop device asks for a hole where blocks are discarded, and for zeroes where they must stay allocated.
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE => answer(reply, self.image.discard(offset, length)),
            libc::FALLOC_FL_ZERO_RANGE => answer(reply, self.image.zero(offset, length)),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, data_only: bool, reply: ReplyEmpty) {
        answer(reply, self.image.flush(data_only));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DEVICE, FileType::RegularFile, FILE_NAME),
        ];
        for (index, (node, kind, name)) in entries.into_iter().enumerate().skip(offset as usize) {
            if reply.add(node, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let block = u64::from(BLOCK_BYTES);
        let free = self.image.free_bytes() / block;
        reply.statfs(self.image.bytes() / block, free, free, 1, 0, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
