//! One operation on its way to an engine, and the open files it refers to.
//!
//! `Io` is plain data of at most one cache line; names of items are computed when they are needed, never stored.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;

use iodyno_model::Verb;

use crate::clock::Tick;
use crate::memory::errno;

/// A place for one operation in flight, from 0 to depth - 1.
pub type Slot = u32;

/// The offset that means: at the file's own position, which moves.
pub const AT_POSITION: u64 = u64::MAX;

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

/// One operation.
///
/// What `file`, `offset`, `bytes` and `other` mean to each verb:
///
/// | verbs | on | besides |
/// |---|---|---|
/// | read, write | bytes at `offset`, or [`AT_POSITION`] | `buffer` |
/// | trim, write_zeroes | bytes at `offset` of a device or file | result = bytes |
/// | sync_file_range | bytes at `offset` | `other` = the call's flags; 0: start write-back |
/// | fallocate, fadvise | bytes at `offset` | `other` = the call's mode, or advice |
/// | fsync, fdatasync, syncfs, fstat, close | the handle | |
/// | truncate | the handle, or in a set the item, to `bytes` | |
/// | lock, unlock | bytes at `offset`; 0 bytes: to the end | `other` = 1: a shared lock |
/// | copy_file_range, clone | bytes at `offset`, the same in handle `other` | clone of 0 bytes: all |
/// | create, open | item `offset` | with [`KEEP`]: stays open in handle `other` |
/// | stat, lstat, unlink, mkdir, rmdir, mkfifo | item `offset` | modes are 644 and 755 |
/// | access, chmod, mknod | item `offset` | `other` = mode; mknod of 0: a plain file |
/// | chown | item `offset` | `other` = user << 32 \| group; all ones: unchanged |
/// | utimens | item `offset` | `other` = ns since 1970; 0: now |
/// | rename, link | item `offset` | `other` = the new name's item |
/// | symlink | item `offset`, a link to item `other` by that one's own name, without directories | |
/// | readlink | item `offset` | text into `buffer`; 0 bytes: nowhere; result = its bytes |
/// | readdir | the directory that holds item `offset`, or the handle itself | result = entries |
/// | setxattr, getxattr, listxattr, removexattr | item `offset`, or the handle | attribute `user.iodyno`; value in `buffer` |
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Io {
    /// What is done.
    pub verb: Verb,
    /// Any of [`VERIFY`], [`KEEP`], [`SILENT`], [`PACED`], [`FORGIVEN`].
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
}

impl Files {
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

/// Computes the path of an item below its set's root: `d1/d4/file.17`.
#[derive(Clone, Debug)]
pub struct Names {
    /// Text before the index.
    pub prefix: String,
    /// Text after it.
    pub suffix: String,
    /// Directory levels below the root.
    pub depth: u32,
    /// Directories in a directory.
    pub branch: u64,
    /// Items in the set.
    pub count: u64,
    /// Bytes of an item when prepared, at most; 0 where nothing bounds them.
    pub item_bytes: u64,
}

impl Names {
    /// Writes the zero-terminated path of an item and returns it; the longest fits 512 bytes.
    pub fn path<'a>(&self, item: u64, buffer: &'a mut PathBuffer) -> &'a CStr {
        self.directories(item, buffer);
        buffer.push(self.prefix.as_bytes());
        buffer.number(item);
        buffer.push(self.suffix.as_bytes());
        buffer.finish()
    }

    /// Writes the zero-terminated path of the directory that holds an item.
    pub fn directory<'a>(&self, item: u64, buffer: &'a mut PathBuffer) -> &'a CStr {
        self.directories(item, buffer);
        buffer.push(b".");
        buffer.finish()
    }

    fn directories(&self, item: u64, buffer: &mut PathBuffer) {
        buffer.length = 0;
        let leaves = self.branch.saturating_pow(self.depth).max(1);
        let mut leaf = item % leaves;
        for _ in 0..self.depth {
            buffer.push(b"d");
            buffer.number(leaf % self.branch.max(1));
            buffer.push(b"/");
            leaf /= self.branch.max(1);
        }
    }
}

/// Room for one computed path, so that naming an item allocates nothing.
pub struct PathBuffer {
    bytes: [u8; 512],
    length: usize,
}

impl Default for PathBuffer {
    fn default() -> Self {
        PathBuffer { bytes: [0; 512], length: 0 }
    }
}

impl PathBuffer {
    fn push(&mut self, text: &[u8]) {
        let end = (self.length + text.len()).min(self.bytes.len() - 1);
        self.bytes[self.length..end].copy_from_slice(&text[..end - self.length]);
        self.length = end;
    }

    fn number(&mut self, mut number: u64) {
        let mut digits = [0u8; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.push(&digits[start..]);
    }

    /// The same path for calls that know no directory to start from, by way of the process's descriptors (Linux).
    #[cfg(target_os = "linux")]
    pub fn below(&mut self, root: RawFd, path: &CStr) -> &CStr {
        self.length = 0;
        self.push(b"/proc/self/fd/");
        self.number(root.max(0) as u64);
        self.push(b"/");
        self.push(path.to_bytes());
        self.finish()
    }

    fn finish(&mut self) -> &CStr {
        self.bytes[self.length] = 0;
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).unwrap_or(c"")
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

    #[test]
    fn items_are_spread_over_the_leaves() {
        let names =
            Names { prefix: "f.".into(), suffix: ".x".into(), depth: 2, branch: 3, count: 20, item_bytes: 0 };
        let mut buffer = PathBuffer::default();
        assert_eq!(names.path(0, &mut buffer).to_bytes(), b"d0/d0/f.0.x");
        assert_eq!(names.path(17, &mut buffer).to_bytes(), b"d2/d2/f.17.x");
    }
}
