//! Verbs as Linux has them.

use std::ffi::CStr;
use std::os::fd::RawFd;

use iodyno_model::Verb;

use crate::call::{UNSUPPORTED, XATTR_NAME, attributes, is_device, result};
use crate::io::{Io, PathBuffer};
use crate::memory::errno;

/// Waits for a lock that belongs to the open file, not to the process.
pub const LOCK_AND_WAIT: libc::c_int = libc::F_OFD_SETLKW;

/// Discards a range of a device: linux/fs.h, `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// Zeroes a range of a device: linux/fs.h, `_IO(0x12, 127)`.
const BLKZEROOUT: libc::Ioctl = 0x127f;

/// Room for directory entries of one call, aligned as they are.
#[repr(C, align(8))]
struct Entries([u8; 32 * 1024]);

/// The system calls that move data, or come with every item, without the C library's wrappers: these are cancellation
/// points, which cost a worker that nobody cancels two locked instructions for each call.
#[cfg(target_pointer_width = "64")]
mod data {
    use std::os::fd::RawFd;

    use libc::{c_char, c_int, c_void, iovec, mode_t, off_t, ssize_t};

    use crate::call::raw;

    /// As the C library's `openat`.
    #[inline(always)]
    pub unsafe fn open_at(root: RawFd, path: *const c_char, flags: c_int, mode: mode_t) -> RawFd {
        // SAFETY: the caller's path is zero-terminated.
        unsafe {
            let (root, flags) = (root as usize, flags as usize);
            raw::call(libc::SYS_openat, root, path as usize, flags, mode as usize) as RawFd
        }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn close(fd: RawFd) -> c_int {
        // SAFETY: the call takes no pointers.
        unsafe { raw::call(libc::SYS_close, fd as usize, 0, 0, 0) as c_int }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn fsync(fd: RawFd) -> c_int {
        // SAFETY: the call takes no pointers.
        unsafe { raw::call(libc::SYS_fsync, fd as usize, 0, 0, 0) as c_int }
    }

    /// As the C library's `pwritev2` of one part at the file's end.
    #[inline(always)]
    pub unsafe fn write_at_end(fd: RawFd, vector: *const iovec) -> ssize_t {
        // SAFETY: the caller's vector and what it names are valid.
        unsafe {
            let (fd, flags) = (fd as usize, libc::RWF_APPEND as usize);
            // The offset is minus one: the file's own position.
            raw::long(libc::SYS_pwritev2, [fd, vector as usize, 1, usize::MAX, 0, flags]) as ssize_t
        }
    }

    /// As the C library's function of this name.
    ///
    /// # Safety
    /// The buffer is valid for so many bytes.
    #[inline(always)]
    pub unsafe fn send(fd: RawFd, buffer: *const c_void, bytes: usize, flags: c_int) -> ssize_t {
        // SAFETY: the caller's buffer holds so many bytes; no address is given.
        unsafe {
            raw::long(libc::SYS_sendto, [fd as usize, buffer as usize, bytes, flags as usize, 0, 0])
                as ssize_t
        }
    }

    /// As the C library's function of this name.
    ///
    /// # Safety
    /// The buffer is valid for writing so many bytes.
    #[inline(always)]
    pub unsafe fn recv(fd: RawFd, buffer: *mut c_void, bytes: usize, flags: c_int) -> ssize_t {
        // SAFETY: as for `send`.
        unsafe {
            raw::long(libc::SYS_recvfrom, [fd as usize, buffer as usize, bytes, flags as usize, 0, 0])
                as ssize_t
        }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn read(fd: RawFd, buffer: *mut c_void, bytes: usize) -> ssize_t {
        // SAFETY: the caller's buffer holds so many bytes; the number of the call fits its arguments.
        unsafe { raw::call(libc::SYS_read, fd as usize, buffer as usize, bytes, 0) as ssize_t }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn write(fd: RawFd, buffer: *const c_void, bytes: usize) -> ssize_t {
        // SAFETY: as for `read`.
        unsafe { raw::call(libc::SYS_write, fd as usize, buffer as usize, bytes, 0) as ssize_t }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn pread(fd: RawFd, buffer: *mut c_void, bytes: usize, offset: off_t) -> ssize_t {
        // SAFETY: as for `read`.
        unsafe {
            raw::call(libc::SYS_pread64, fd as usize, buffer as usize, bytes, offset as usize) as ssize_t
        }
    }

    /// As the C library's function of this name.
    #[inline(always)]
    pub unsafe fn pwrite(fd: RawFd, buffer: *const c_void, bytes: usize, offset: off_t) -> ssize_t {
        // SAFETY: as for `read`.
        unsafe {
            raw::call(libc::SYS_pwrite64, fd as usize, buffer as usize, bytes, offset as usize) as ssize_t
        }
    }
}
#[cfg(target_pointer_width = "64")]
pub use data::{close, fsync, open_at, pread, pwrite, read, recv, send, write, write_at_end};
// Narrower systems pass an offset in two arguments, each in its own way, which their C library knows.
#[cfg(not(target_pointer_width = "64"))]
pub use libc::{close, fsync, pread, pwrite, read, recv, send, write};
/// A write of one part at the file's end.
///
/// # Safety
/// The vector and what it names are valid.
#[cfg(not(target_pointer_width = "64"))]
pub unsafe fn write_at_end(fd: RawFd, vector: *const libc::iovec) -> libc::ssize_t {
    // SAFETY: as the caller promises.
    unsafe { libc::pwritev2(fd, vector, 1, -1, libc::RWF_APPEND) }
}
/// As the C library's `openat`.
///
/// # Safety
/// The path is zero-terminated.
#[cfg(not(target_pointer_width = "64"))]
pub unsafe fn open_at(
    root: RawFd,
    path: *const libc::c_char,
    flags: libc::c_int,
    mode: libc::mode_t,
) -> RawFd {
    // SAFETY: as the caller promises.
    unsafe { libc::openat(root, path, flags, libc::c_uint::from(mode)) }
}

/// A write at the file's end, wherever it is at that moment (`RWF_APPEND`); a file system that cannot is asked where its
/// end is.
///
/// # Safety
/// The buffer holds so many bytes.
#[inline(never)]
pub unsafe fn append(fd: RawFd, buffer: *const libc::c_void, bytes: usize) -> libc::ssize_t {
    let vector = libc::iovec { iov_base: buffer.cast_mut(), iov_len: bytes };
    // SAFETY: the vector is valid for the call, the buffer as the caller promises; seeking takes no pointers.
    unsafe {
        match write_at_end(fd, &raw const vector) {
            -1 if matches!(errno(), libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => {
                match libc::lseek(fd, 0, libc::SEEK_END) {
                    -1 => -1,
                    _ => write(fd, buffer, bytes),
                }
            }
            written => written,
        }
    }
}

/// `fdatasync`.
pub fn data_sync(fd: RawFd) -> i64 {
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::fdatasync(fd) }.into())
}

/// The flags an operation asks for; none means: start write-back.
pub fn sync_file_range_flags(io: &Io) -> u32 {
    match io.other as u32 {
        0 => libc::SYNC_FILE_RANGE_WRITE,
        flags => flags,
    }
}

/// `sync_file_range`.
pub fn sync_file_range(fd: RawFd, io: &Io) -> i64 {
    let (offset, bytes) = (io.offset as i64, io.bytes as i64);
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::sync_file_range(fd, offset, bytes, sync_file_range_flags(io)) }.into())
}

/// `syncfs`.
pub fn sync_file_system(fd: RawFd) -> i64 {
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::syncfs(fd) }.into())
}

/// Discards a range of a device, or punches a hole into a file.
pub fn trim(fd: RawFd, io: &Io) -> i64 {
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    range(fd, io, BLKDISCARD, hole)
}

/// Zeroes a range without moving a payload.
pub fn write_zeroes(fd: RawFd, io: &Io) -> i64 {
    range(fd, io, BLKZEROOUT, libc::FALLOC_FL_ZERO_RANGE)
}

/// One request for devices, one mode for files; the result is the length.
fn range(fd: RawFd, io: &Io, request: libc::Ioctl, mode: libc::c_int) -> i64 {
    let stat = match attributes(fd) {
        Ok(stat) => stat,
        Err(number) => return -i64::from(number),
    };
    if is_device(&stat) {
        return request_range(fd, io, request);
    }
    let outcome = allocate(fd, mode, io.offset, io.bytes);
    if outcome == 0 { io.bytes as i64 } else { outcome }
}

/// Discards a range of a device; the system refuses it for a file.
pub fn discard(fd: RawFd, io: &Io) -> i64 {
    request_range(fd, io, BLKDISCARD)
}

fn request_range(fd: RawFd, io: &Io, request: libc::Ioctl) -> i64 {
    let range = [io.offset, io.bytes];
    // SAFETY: the request reads two 64-bit numbers, which are valid for the call.
    let outcome = result(unsafe { libc::ioctl(fd, request, range.as_ptr()) }.into());
    if outcome == 0 { io.bytes as i64 } else { outcome }
}

/// `fallocate`.
pub fn allocate(fd: RawFd, mode: i32, offset: u64, bytes: u64) -> i64 {
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::fallocate(fd, mode, offset as i64, bytes as i64) }.into())
}

/// `posix_fadvise`.
pub fn advise(fd: RawFd, io: &Io) -> i64 {
    // SAFETY: the call takes no pointers.
    -i64::from(unsafe { libc::posix_fadvise(fd, io.offset as i64, io.bytes as i64, io.other as i32) })
}

/// `copy_file_range`, at the same offset in both files.
pub fn copy_range(from: RawFd, to: RawFd, io: &Io) -> i64 {
    let (mut read_at, mut write_at) = (io.offset as i64, io.offset as i64);
    // SAFETY: both offsets are valid for the call.
    result(unsafe {
        libc::copy_file_range(from, &raw mut read_at, to, &raw mut write_at, io.bytes as usize, 0)
    } as i64)
}

/// `FICLONE` of a whole file, or `FICLONERANGE` of a range at the same offset.
pub fn clone(from: RawFd, to: RawFd, io: &Io) -> i64 {
    if io.bytes == 0 {
        // SAFETY: the request takes a descriptor by value.
        return result(unsafe { libc::ioctl(to, libc::FICLONE, from) }.into());
    }
    let range = libc::file_clone_range {
        src_fd: from.into(),
        src_offset: io.offset,
        src_length: io.bytes,
        dest_offset: io.offset,
    };
    // SAFETY: the range is valid for the call.
    result(unsafe { libc::ioctl(to, libc::FICLONERANGE, &raw const range) }.into())
}

/// Entries of a directory, read from its beginning, without the two that every directory has.
pub fn count_entries(fd: RawFd) -> i64 {
    let mut room = std::mem::MaybeUninit::<Entries>::uninit();
    let mut count = 0;
    // SAFETY: the call takes no pointers.
    if unsafe { libc::lseek(fd, 0, libc::SEEK_SET) } < 0 {
        return result(-1);
    }
    loop {
        // SAFETY: the room is valid for writing so many bytes.
        let bytes =
            unsafe { libc::syscall(libc::SYS_getdents64, fd, room.as_mut_ptr(), size_of::<Entries>()) };
        if bytes <= 0 {
            return if bytes < 0 { result(-1) } else { count };
        }
        // SAFETY: the kernel wrote so many bytes.
        count += entries(unsafe { std::slice::from_raw_parts(room.as_ptr().cast(), bytes as usize) });
    }
}

/// The same, each entry looked at by its name. One that is gone by then counts all the same.
pub fn look_at_entries(fd: RawFd) -> i64 {
    let mut room = std::mem::MaybeUninit::<Entries>::uninit();
    let mut count = 0;
    loop {
        // SAFETY: the room is valid for writing so many bytes.
        let bytes =
            unsafe { libc::syscall(libc::SYS_getdents64, fd, room.as_mut_ptr(), size_of::<Entries>()) };
        if bytes <= 0 {
            return if bytes < 0 { result(-1) } else { count };
        }
        // SAFETY: the kernel wrote so many bytes.
        let mut entries = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), bytes as usize) };
        while let Some(&[low, high]) = entries.get(16..18) {
            let length = usize::from(u16::from_ne_bytes([low, high])).max(20);
            let name = &entries[19..];
            if !(name.starts_with(b".\0") || name.starts_with(b"..\0")) {
                count += 1;
                let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
                // SAFETY: names end with a zero, and `stat` is valid for writing.
                let looked = unsafe {
                    let flags = libc::AT_SYMLINK_NOFOLLOW;
                    libc::fstatat(fd, name.as_ptr().cast(), stat.as_mut_ptr(), flags)
                };
                if looked < 0 && errno() != libc::ENOENT {
                    return result(-1);
                }
            }
            entries = entries.get(length..).unwrap_or_default();
        }
    }
}

/// Entries of one call: each holds its own length at byte 16 and its name from byte 19.
fn entries(mut bytes: &[u8]) -> i64 {
    let mut count = 0;
    while let Some(&[low, high]) = bytes.get(16..18) {
        let length = usize::from(u16::from_ne_bytes([low, high])).max(20);
        let name = &bytes[19..];
        count += i64::from(!(name.starts_with(b".\0") || name.starts_with(b"..\0")));
        bytes = bytes.get(length..).unwrap_or_default();
    }
    count
}

/// A named pipe.
pub fn make_fifo(root: RawFd, path: &CStr) -> i64 {
    // SAFETY: the path is valid during the call.
    result(unsafe { libc::mkfifoat(root, path.as_ptr(), 0o644) }.into())
}

/// A plain file, or whatever the mode says.
pub fn make_node(root: RawFd, path: &CStr, mode: u64) -> i64 {
    let mode = if mode == 0 { libc::S_IFREG | 0o644 } else { mode as libc::mode_t };
    // SAFETY: the path is valid during the call.
    result(unsafe { libc::mknodat(root, path.as_ptr(), mode, 0) }.into())
}

/// Cuts a file by its name.
pub fn truncate_item(root: RawFd, path: &CStr, bytes: u64) -> i64 {
    let mut buffer = PathBuffer::default();
    // SAFETY: the path is valid during the call.
    result(unsafe { libc::truncate(buffer.below(root, path).as_ptr(), bytes as i64) }.into())
}

/// Extended attributes of an open file.
pub fn attribute_of_file(fd: RawFd, io: &Io) -> i64 {
    let (name, value, bytes) = (XATTR_NAME.as_ptr(), io.buffer.cast::<libc::c_void>(), io.bytes as usize);
    // SAFETY: the name is zero-terminated, and the buffer is valid for `bytes`.
    result(unsafe {
        match io.verb {
            Verb::Setxattr => libc::fsetxattr(fd, name, value, bytes, 0).into(),
            Verb::Getxattr => libc::fgetxattr(fd, name, value, bytes) as i64,
            Verb::Listxattr => libc::flistxattr(fd, value.cast(), bytes) as i64,
            Verb::Removexattr => libc::fremovexattr(fd, name).into(),
            _ => return UNSUPPORTED,
        }
    })
}

/// Extended attributes of an item; the calls know no directory to start from, so the path goes by way of /proc.
/// `name`: the attribute's, where it is not the usual one.
pub fn attribute_of_item(root: RawFd, path: &CStr, name: Option<&str>, io: &Io) -> i64 {
    let mut buffer = PathBuffer::default();
    let path = buffer.below(root, path).as_ptr();
    let Ok(said) = name.map(std::ffi::CString::new).transpose() else { return -i64::from(libc::EINVAL) };
    let name = said.as_deref().unwrap_or(XATTR_NAME).as_ptr();
    let (value, bytes) = (io.buffer.cast::<libc::c_void>(), io.bytes as usize);
    // SAFETY: both names are zero-terminated, and the buffer is valid for `bytes`.
    result(unsafe {
        match io.verb {
            Verb::Setxattr => libc::setxattr(path, name, value, bytes, 0).into(),
            Verb::Getxattr => libc::getxattr(path, name, value, bytes) as i64,
            Verb::Listxattr => libc::listxattr(path, value.cast(), bytes) as i64,
            Verb::Removexattr => libc::removexattr(path, name).into(),
            _ => return UNSUPPORTED,
        }
    })
}
