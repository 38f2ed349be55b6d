//! One operation on its way to an engine, and the open files it refers to.
//!
//! `Io` is plain data of at most one cache line; names of items are computed when they are needed, never stored.

use std::ffi::CString;
use std::os::fd::RawFd;

use iodyno_model::Verb;

use crate::clock::Tick;
use crate::memory::errno;
pub use crate::names::{Names, PathBuffer, Piece, SAYS_MODE};

/// A place for one operation in flight, from 0 to depth - 1.
pub type Slot = u32;

/// The result of an operation that is not to be tallied: part of another one, or the end of the input.
pub const UNTALLIED: i64 = i64::MIN;

/// The offset that means: at the file's own position, which moves.
pub const AT_POSITION: u64 = u64::MAX;

/// The offset of a write that means: at the file's end, wherever others have moved it.
pub const AT_END: u64 = u64::MAX - 1;

/// The content of a read is checked when it completes.
pub const VERIFY: u8 = 1;
/// The descriptor of an open or create stays open in handle `other`; without it, open and create close it again.
pub const KEEP: u8 = 2;
/// The operation is run but not tallied (discarding input, preparing a buffer).
pub const SILENT: u8 = 4;
/// `intended` lies before `started` because the pace wanted it so: both latencies are kept.
pub const PACED: u8 = 8;
/// A failure is counted but does not end the worker, whatever its job says about errors.
pub const FORGIVEN: u8 = 16;
/// What a create writes is made durable before it is closed again.
pub const DURABLE: u8 = 32;
/// What a create wrote is read back into its buffer before it is closed again.
pub const READ_BACK: u8 = 64;
/// `offset` numbers a directory of the set's tree rather than an item.
pub const DIRECTORY: u8 = 128;

/// Both with a read or write, to which neither means anything else: a range of a trace, of which nothing is to be checked once
/// it has succeeded.
pub const UNCHECKED_RANGE: u8 = READ_BACK | DIRECTORY;
/// With such a range: it was recorded to have succeeded.
pub const RECORDED_SUCCESS: u8 = DURABLE;

/// In `other` of an open of a [listed](Names::listed) item that stays open: the file is made if it is missing.
pub const OPEN_CREATES: u64 = 1 << 62;
/// The same: the file is emptied.
pub const OPEN_TRUNCATES: u64 = 1 << 61;

/// One operation.
///
/// What `file`, `offset`, `bytes` and `other` mean to each verb:
///
/// | verbs | on | besides |
/// |---|---|---|
/// | read, write | bytes at `offset`, [`AT_POSITION`], or for writes [`AT_END`] | `buffer` |
/// | trim, write_zeroes | bytes at `offset` of a device or file | result = bytes |
/// | sync_file_range | bytes at `offset` | `other` = the call's flags; 0: start write-back |
/// | fallocate, fadvise | bytes at `offset` | `other` = the call's mode, or advice |
/// | fsync, fdatasync, syncfs, fstat, close | the handle | |
/// | truncate | the handle, or in a set the item, to `bytes` | |
/// | lock, unlock | bytes at `offset`; 0 bytes: to the end | `other` = 1: a shared lock |
/// | copy_file_range, clone | bytes at `offset`, the same in handle `other` | clone of 0 bytes: all |
/// | create | item `offset` | with [`KEEP`]: stays open in handle `other`; else it is closed again, `bytes` written before |
/// | open | item `offset` | the same, but `bytes` are read |
/// | stat, lstat, unlink, mkdir, rmdir, mkfifo | item `offset` | modes are 644 and 755; see [`DIRECTORY`] |
/// | access, chmod, mknod | item `offset` | `other` = mode; mknod of 0: a plain file |
/// | chown | item `offset` | `other` = user << 32 \| group; all ones: unchanged |
/// | utimens | item `offset` | `other` = ns since 1970; 0: now |
/// | rename, link | item `offset` | `other` = the new name's item |
/// | symlink | item `offset`, a link to item `other` by way of the set's root | |
/// | readlink | item `offset` | text into `buffer`; 0 bytes: nowhere; result = its bytes |
/// | readdir | the directory that holds item `offset`, or the handle itself | result = entries; `other` = 1: each is looked at |
/// | setxattr, getxattr, listxattr, removexattr | item `offset`, or the handle | attribute `user.iodyno`; value in `buffer` |
///
/// Items of a bucket are [objects](crate::objects): create writes one of `bytes`, open reads `bytes` of one, readdir lists
/// those below the prefix (at most `bytes` of them; 0: all), clone copies one within the store to item `other`.
///
/// A create with [`KEEP`] has the handle in the low half of `other`; the high one is its mode, where [`SAYS_MODE`] is in it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Io {
    /// What is done.
    pub verb: Verb,
    /// Any of [`VERIFY`], [`KEEP`], [`SILENT`], [`PACED`], [`FORGIVEN`], [`DURABLE`], [`READ_BACK`], [`DIRECTORY`], or
    /// [`UNCHECKED_RANGE`] with or without [`RECORDED_SUCCESS`].
    pub flags: u8,
    /// The tally line it is counted in.
    pub label: u16,
    /// The handle it works on, an index into [`Files`].
    pub file: u32,
    /// Byte offset, [`AT_POSITION`], or for verbs on items the item's index.
    pub offset: u64,
    /// Bytes to move, or the length argument of a verb that has one.
    pub bytes: u64,
    /// The second item (rename, link), the handle to keep, or a verb's further argument.
    pub other: u64,
    /// The buffer; valid for `bytes` until the operation completes.
    pub buffer: *mut u8,
    /// When it should have started.
    pub intended: Tick,
    /// When it did start.
    pub started: Tick,
}

impl Default for Io {
    fn default() -> Self {
        Io {
            verb: Verb::Read,
            flags: 0,
            label: 0,
            file: 0,
            offset: 0,
            bytes: 0,
            other: 0,
            buffer: std::ptr::null_mut(),
            intended: 0,
            started: 0,
        }
    }
}

/// An open file, device, directory of items, or nothing yet.
#[derive(Debug)]
pub struct Handle {
    /// The descriptor; -1 when closed, or when there is nothing to open. For a set: of its root directory.
    pub fd: RawFd,
    /// The target's index in the plan.
    pub target: u32,
    /// Bytes it holds, as far as the workload may go.
    pub bytes: u64,
    /// Where the workload's span begins, in bytes.
    pub base: u64,
    /// How its items are named, for a set.
    pub names: Option<Box<Names>>,
}

impl Handle {
    /// A handle that an open or create will fill.
    pub fn closed() -> Self {
        Handle { fd: -1, target: 0, bytes: 0, base: 0, names: None }
    }
}

/// All that a worker has open. Closed on drop.
#[derive(Debug, Default)]
pub struct Files {
    /// Each handle; an [`Io`] refers to it by index.
    pub handles: Vec<Handle>,
    /// By handle, how a file is opened again that the workload opens and closes itself; empty where none does.
    pub reopened: Vec<Option<ReopenedFile>>,
}

/// How a file is opened again.
#[derive(Debug)]
pub struct ReopenedFile {
    pub path: CString,
    pub flags: libc::c_int,
}

impl Files {
    pub fn of(handles: Vec<Handle>) -> Files {
        Files { handles, reopened: Vec::new() }
    }

    /// Closes everything. The first that did not go well: its handle and the system's error number.
    pub fn close_all(&mut self) -> Option<(u32, i32)> {
        let mut wrong = None;
        for (index, handle) in self.handles.iter_mut().enumerate() {
            // Standard streams belong to the process.
            // SAFETY: the descriptor is ours and is closed once.
            if handle.fd > 2 && unsafe { libc::close(handle.fd) } < 0 && errno() != libc::EINTR {
                wrong.get_or_insert((index as u32, errno()));
            }
            handle.fd = -1;
        }
        wrong
    }

    /// The descriptor of a handle.
    #[inline(always)]
    pub fn fd(&self, file: u32) -> RawFd {
        self.handles[file as usize].fd
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.close_all();
    }
}

/// How long a file or device is; `None`: it has no length.
///
/// # Errors
/// The system's error number.
pub fn length(fd: RawFd) -> Result<Option<u64>, i32> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is valid for writing, and read only after success.
    let stat = unsafe {
        if libc::fstat(fd, stat.as_mut_ptr()) < 0 {
            return Err(errno());
        }
        stat.assume_init()
    };
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok(Some(stat.st_size as u64)),
        libc::S_IFBLK => {
            // SAFETY: the call takes no pointers. The end of a block device is its size; reads give their own offset.
            let end = unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
            // SAFETY: as above.
            unsafe { libc::lseek(fd, 0, libc::SEEK_SET) };
            if end < 0 { Err(errno()) } else { Ok(Some(end as u64)) }
        }
        _ => Ok(None),
    }
}

/// A path for a system call.
///
/// # Errors
/// `EINVAL` when it holds a zero byte.
pub fn c_path(path: &str) -> Result<CString, i32> {
    CString::new(path).map_err(|_| libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_fits_a_cache_line() {
        assert!(size_of::<Io>() <= 64);
    }
}
