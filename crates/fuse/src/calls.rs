//! The system calls that the standard library has no function for.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use fuser::TimeOrNow;

fn text(path: impl AsRef<OsStr>) -> io::Result<CString> {
    CString::new(path.as_ref().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn checked(result: impl Into<i64>) -> io::Result<u64> {
    u64::try_from(result.into()).map_err(|_| io::Error::last_os_error())
}

pub fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    // SAFETY: both names are valid C strings for the call.
    checked(unsafe { libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) })
        .map(drop)
}

pub fn remove(path: &Path, is_directory: bool) -> io::Result<()> {
    if is_directory { std::fs::remove_dir(path) } else { std::fs::remove_file(path) }
}

/// A second name for what a path in `/proc/self/fd` leads to.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    link_by(from, to, libc::AT_SYMLINK_FOLLOW)
}

/// A second name for what another one leads to; of a symbolic link for itself.
pub fn second_name(from: &Path, to: &Path) -> io::Result<()> {
    link_by(from, to, 0)
}

fn link_by(from: &Path, to: &Path, flags: i32) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    // SAFETY: both names are valid C strings for the call.
    checked(unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) })
        .map(drop)
}

pub fn make_node(path: &Path, mode: u32, device: u32) -> io::Result<()> {
    let path = text(path)?;
    // SAFETY: the name is a valid C string for the call.
    checked(unsafe { libc::mknod(path.as_ptr(), mode, libc::dev_t::from(device)) }).map(drop)
}

pub fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    let path = text(path)?;
    // SAFETY: the name is a valid C string for the call.
    checked(unsafe { libc::mkdir(path.as_ptr(), mode) }).map(drop)
}

/// None: as it was.
pub fn change_owner(file: &File, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    let (user, group) = (user.unwrap_or(u32::MAX), group.unwrap_or(u32::MAX));
    // SAFETY: the name is a C string without a length.
    checked(unsafe { libc::fchownat(file.as_raw_fd(), c"".as_ptr(), user, group, libc::AT_EMPTY_PATH) })
        .map(drop)
}

fn timespec(time: Option<TimeOrNow>) -> libc::timespec {
    let special = |tv_nsec| libc::timespec { tv_sec: 0, tv_nsec };
    match time {
        None => special(libc::UTIME_OMIT),
        Some(TimeOrNow::Now) => special(libc::UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => libc::timespec {
                tv_sec: since.as_secs() as libc::time_t,
                tv_nsec: since.subsec_nanos().into(),
            },
            // Of times before 1970 fuser 0.18 takes the seconds back and the nanoseconds, which count forwards, too.
            Err(before) => libc::timespec {
                tv_sec: -(before.duration().as_secs() as libc::time_t),
                tv_nsec: before.duration().subsec_nanos().into(),
            },
        },
    }
}

/// None: as they were.
pub fn change_times(file: &File, read: Option<TimeOrNow>, written: Option<TimeOrNow>) -> io::Result<()> {
    let times = [timespec(read), timespec(written)];
    // SAFETY: the name is a C string without a length, and both times are valid for the call.
    checked(unsafe { libc::utimensat(file.as_raw_fd(), c"".as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH) })
        .map(drop)
}

pub fn access(path: &Path, mask: i32) -> io::Result<()> {
    let path = text(path)?;
    // SAFETY: the name is a valid C string for the call.
    checked(unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mask, libc::AT_EACCESS) }).map(drop)
}

pub fn allocate(file: &File, mode: i32, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    checked(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, bytes as i64) }).map(drop)
}

/// The next data or hole.
pub fn seek(file: &File, offset: i64, whence: i32) -> io::Result<u64> {
    // SAFETY: the call takes numbers only.
    checked(unsafe { libc::lseek(file.as_raw_fd(), offset, whence) })
}

pub fn copy_range(from: &File, from_offset: u64, to: &File, to_offset: u64, bytes: u64) -> io::Result<u64> {
    let (mut from_offset, mut to_offset) = (from_offset as i64, to_offset as i64);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: both offsets are valid for the call.
    checked(unsafe {
        libc::copy_file_range(from, &raw mut from_offset, to, &raw mut to_offset, bytes, 0) as i64
    })
}

/// What closing one of a file's descriptors says.
pub fn flush(file: &File) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    let copy = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) })?;
    // SAFETY: the descriptor was just made, and nobody else has it.
    checked(unsafe { libc::close(copy as i32) }).map(drop)
}

pub fn set_attribute(path: &Path, name: &OsStr, value: &[u8], flags: i32) -> io::Result<()> {
    let (path, name) = (text(path)?, text(name)?);
    // SAFETY: both names are valid C strings and the value is as long as said.
    checked(unsafe {
        libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), flags)
    })
    .map(drop)
}

/// Its value; with no room asked for only its length, as that many zeros.
pub fn attribute(path: &Path, name: &OsStr, room: u32) -> io::Result<Vec<u8>> {
    let (path, name) = (text(path)?, text(name)?);
    let mut value = vec![0u8; room as usize];
    // SAFETY: both names are valid C strings and the kernel writes at most as many bytes as said.
    let length = checked(unsafe {
        libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) as i64
    })?;
    value.resize(length as usize, 0);
    Ok(value)
}

/// Their names, each with a zero byte; with no room asked for only their length.
pub fn attributes(path: &Path, room: u32) -> io::Result<Vec<u8>> {
    let path = text(path)?;
    let mut names = vec![0u8; room as usize];
    // SAFETY: the name is a valid C string and the kernel writes at most as many bytes as said.
    let length =
        checked(unsafe { libc::listxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) as i64 })?;
    names.resize(length as usize, 0);
    Ok(names)
}

pub fn remove_attribute(path: &Path, name: &OsStr) -> io::Result<()> {
    let (path, name) = (text(path)?, text(name)?);
    // SAFETY: both names are valid C strings for the call.
    checked(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) }).map(drop)
}

pub fn file_system(file: &File) -> io::Result<libc::statvfs> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel's answer is written into the structure.
    checked(unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut facts) })?;
    Ok(facts)
}

/// A request about a lock of an open file description.
pub fn lock(file: &File, request: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the structure is valid for the call.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), request, std::ptr::from_mut(lock)) }).map(drop)
}

/// The text of a link that is held.
pub fn link_text(link: &File) -> io::Result<Vec<u8>> {
    let mut text = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: the name is a C string without a length, and the kernel writes at most as many bytes as said.
    let length = checked(unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), text.as_mut_ptr().cast(), text.len()) as i64
    })?;
    text.truncate(length as usize);
    Ok(text)
}
