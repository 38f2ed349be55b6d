//! Locks on the bytes of an operation.
//!
//! Refuses to know when they are held: that is for whoever performs the operation to say.

use std::os::fd::RawFd;

use crate::io::{AT_END, Io};

/// The lock of an open file that does not belong to its process: the tasks of one process lock each other out, too.
#[cfg(target_os = "linux")]
const SET_RANGE: libc::c_int = libc::F_OFD_SETLKW;
#[cfg(not(target_os = "linux"))]
const SET_RANGE: libc::c_int = libc::F_SETLKW;

/// The bytes of an operation; all of the file, where it says no offset.
pub fn range(io: &Io) -> libc::flock {
    // SAFETY: numbers only, for which 0 is right.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_whence = libc::SEEK_SET as _;
    if io.offset < AT_END {
        (range.l_start, range.l_len) = (io.offset as _, io.bytes as _);
    }
    range
}

/// Takes a lock (`LOCK_SH`, `LOCK_EX`), waiting for it, or gives it back (`LOCK_UN`). Whether it could.
pub fn lock_range(fd: RawFd, range: &mut libc::flock, how: libc::c_int) -> bool {
    range.l_type = match how {
        libc::LOCK_SH => libc::F_RDLCK,
        libc::LOCK_EX => libc::F_WRLCK,
        _ => libc::F_UNLCK,
    } as _;
    // SAFETY: the range lives as long as the call.
    unsafe { libc::fcntl(fd, SET_RANGE, &raw const *range) == 0 }
}
