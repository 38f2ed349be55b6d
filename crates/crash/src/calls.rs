//! System calls that workloads and promises have in common, and the standard library has no function for.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What a call returned, or its error.
pub fn checked(result: impl Into<i64>) -> io::Result<u64> {
    u64::try_from(result.into()).map_err(|_| io::Error::last_os_error())
}

pub fn sync_file_system(file: &File) -> io::Result<()> {
    // SAFETY: the call takes a number only.
    checked(unsafe { libc::syncfs(file.as_raw_fd()) }).map(drop)
}

pub fn sync_range(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes numbers only.
    checked(unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, flags) }).map(drop)
}

/// One write with flags of pwritev2(2), whole or not at all.
pub fn write_with(file: &File, bytes: &[u8], offset: u64, flags: i32) -> io::Result<()> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the part describes `bytes`, which are only read.
    let written = checked(unsafe {
        libc::pwritev2(file.as_raw_fd(), &raw const part, 1, offset as i64, flags) as i64
    })?;
    if written == bytes.len() as u64 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
