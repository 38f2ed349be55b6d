//! Verbs as FreeBSD and macOS have them: what is not here answers that it is not supported.

use std::ffi::CStr;
use std::os::fd::RawFd;

use crate::call::{UNSUPPORTED, close as close_descriptor, result};
use crate::io::Io;
use crate::memory::errno;

pub use libc::{close, fsync, pread, pwrite, read, recv, send, write};

/// As the C library's `openat`.
///
/// # Safety
/// The path is zero-terminated.
pub unsafe fn open_at(
    root: RawFd,
    path: *const libc::c_char,
    flags: libc::c_int,
    mode: libc::mode_t,
) -> RawFd {
    // SAFETY: as the caller promises.
    unsafe { libc::openat(root, path, flags, libc::c_uint::from(mode)) }
}

/// A write at the file's end, as it was a moment ago.
///
/// # Safety
/// The buffer holds so many bytes.
pub unsafe fn append(fd: RawFd, buffer: *const libc::c_void, bytes: usize) -> libc::ssize_t {
    // SAFETY: as the caller promises; seeking takes no pointers.
    unsafe {
        match libc::lseek(fd, 0, libc::SEEK_END) {
            -1 => -1,
            _ => libc::write(fd, buffer, bytes),
        }
    }
}

/// Waits for a lock, which belongs to the process here.
pub const LOCK_AND_WAIT: libc::c_int = libc::F_SETLKW;

/// `fdatasync` where there is one.
pub fn data_sync(fd: RawFd) -> i64 {
    #[cfg(target_os = "macos")]
    // SAFETY: the call takes no pointers.
    return result(unsafe { libc::fsync(fd) }.into());
    #[cfg(not(target_os = "macos"))]
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::fdatasync(fd) }.into())
}

/// The nearest there is: all data of the file.
pub fn sync_file_range(fd: RawFd, _io: &Io) -> i64 {
    data_sync(fd)
}

/// Not to be had.
pub fn sync_file_system(_fd: RawFd) -> i64 {
    UNSUPPORTED
}

/// Not to be had.
pub fn trim(_fd: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// Not to be had.
pub fn discard(_fd: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// Not to be had.
pub fn write_zeroes(_fd: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// `posix_fallocate` where there is one; it knows no modes.
pub fn allocate(fd: RawFd, mode: i32, offset: u64, bytes: u64) -> i64 {
    #[cfg(target_os = "freebsd")]
    if mode == 0 {
        // SAFETY: the call takes no pointers.
        return -i64::from(unsafe { libc::posix_fallocate(fd, offset as i64, bytes as i64) });
    }
    let _ = (fd, mode, offset, bytes);
    UNSUPPORTED
}

/// `posix_fadvise` where there is one.
pub fn advise(fd: RawFd, io: &Io) -> i64 {
    #[cfg(target_os = "freebsd")]
    // SAFETY: the call takes no pointers.
    return -i64::from(unsafe {
        libc::posix_fadvise(fd, io.offset as i64, io.bytes as i64, io.other as i32)
    });
    #[cfg(not(target_os = "freebsd"))]
    {
        let _ = (fd, io);
        UNSUPPORTED
    }
}

/// Not to be had.
pub fn copy_range(_from: RawFd, _to: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// Not to be had.
pub fn clone(_from: RawFd, _to: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// Entries of a directory, read from its beginning, without the two that every directory has.
pub fn count_entries(fd: RawFd) -> i64 {
    // SAFETY: the call takes no pointers; a copy is opened because closing the stream closes its descriptor.
    let copy =
        unsafe { libc::openat(fd, c".".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_DIRECTORY) };
    if copy < 0 {
        return -i64::from(errno());
    }
    // SAFETY: the descriptor is ours and belongs to the stream afterwards.
    let stream = unsafe { libc::fdopendir(copy) };
    if stream.is_null() {
        let number = errno();
        close_descriptor(copy);
        return -i64::from(number);
    }
    let mut count = 0;
    loop {
        // SAFETY: the stream is open.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            break;
        }
        // SAFETY: the entry is valid until the next call, and its name is zero-terminated.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        count += i64::from(name != c"." && name != c"..");
    }
    // SAFETY: the stream is open and closed once.
    unsafe { libc::closedir(stream) };
    count
}

/// Entries, counted: looking at each is left to where it is measured.
pub fn look_at_entries(_fd: RawFd) -> i64 {
    UNSUPPORTED
}

/// A named pipe.
pub fn make_fifo(root: RawFd, path: &CStr) -> i64 {
    #[cfg(target_os = "freebsd")]
    // SAFETY: the path is valid during the call.
    return result(unsafe { libc::mkfifoat(root, path.as_ptr(), 0o644) }.into());
    #[cfg(not(target_os = "freebsd"))]
    {
        let _ = (root, path);
        UNSUPPORTED
    }
}

/// Not to be had.
pub fn make_node(_root: RawFd, _path: &CStr, _mode: u64) -> i64 {
    UNSUPPORTED
}

/// Cuts a file by its name, by opening it.
pub fn truncate_item(root: RawFd, path: &CStr, bytes: u64) -> i64 {
    // SAFETY: the path is valid during the call.
    let fd = unsafe { libc::openat(root, path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return -i64::from(errno());
    }
    // SAFETY: the call takes no pointers.
    let cut = result(unsafe { libc::ftruncate(fd, bytes as libc::off_t) }.into());
    close_descriptor(fd);
    cut
}

/// Not to be had.
pub fn attribute_of_file(_fd: RawFd, _io: &Io) -> i64 {
    UNSUPPORTED
}

/// Not to be had.
pub fn attribute_of_item(_root: RawFd, _path: &CStr, _name: Option<&str>, _io: &Io) -> i64 {
    UNSUPPORTED
}
