//! The reference meaning of every verb: one system call (or the few that one word stands for), its result or `-errno`.
//!
//! `psync` is this and nothing else; every other engine falls back to it for what it does not accelerate, and is
//! tested against it. What each verb reads from an [`Io`] stands beside [`Io`]. Verbs of peers and of control are not
//! files' business: they answer `-EOPNOTSUPP`, as does what the system does not have.

use std::os::fd::RawFd;

use iodyno_model::Verb;

use crate::io::{AT_END, AT_POSITION, Files, Io};
use crate::memory::errno;

mod items;
mod locks;
#[cfg(target_os = "linux")]
mod raw;
mod system;

pub use items::{CREATE_FLAGS, OPEN_FLAGS, create_flags, create_mode};
pub use locks::{lock_range, range};
#[cfg(target_os = "linux")]
pub use system::sync_file_range_flags;
pub use system::{recv, send};

/// The only extended attribute that the verbs on extended attributes touch.
pub const XATTR_NAME: &std::ffi::CStr = c"user.iodyno";

/// What the system cannot do, or what is no verb of a file.
const UNSUPPORTED: i64 = -(libc::EOPNOTSUPP as i64);

/// A system call's own result, or the negated error number.
#[inline(always)]
fn result(value: i64) -> i64 {
    if value < 0 { -i64::from(errno()) } else { value }
}

/// Whether a descriptor may be written to; what was only read needs no sync.
pub fn is_writable(fd: RawFd) -> bool {
    // SAFETY: the call takes no pointers.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// Performs one operation. The result is what it moved (or 0), or `-errno`.
#[inline(always)]
pub fn perform(io: &Io, files: &mut Files) -> i64 {
    match io.verb {
        Verb::Read => read(io, files.fd(io.file)),
        Verb::Write => write(io, files.fd(io.file)),
        _ => other(io, files),
    }
}

#[inline(always)]
fn read(io: &Io, fd: RawFd) -> i64 {
    let (buffer, bytes) = (io.buffer.cast(), io.bytes as usize);
    // SAFETY: the buffer holds `bytes` bytes until the operation completes, which is here.
    result(unsafe {
        match io.offset {
            AT_POSITION => system::read(fd, buffer, bytes),
            offset => system::pread(fd, buffer, bytes, offset as libc::off_t),
        }
    } as i64)
}

#[inline(always)]
fn write(io: &Io, fd: RawFd) -> i64 {
    let (buffer, bytes) = (io.buffer.cast_const().cast(), io.bytes as usize);
    // SAFETY: the buffer holds `bytes` bytes until the operation completes, which is here.
    result(unsafe {
        match io.offset {
            AT_POSITION => system::write(fd, buffer, bytes),
            AT_END => system::append(fd, buffer, bytes),
            offset => system::pwrite(fd, buffer, bytes, offset as libc::off_t),
        }
    } as i64)
}

/// Reads or writes through a descriptor, whatever handle it belongs to.
#[inline(always)]
pub fn transfer(io: &Io, fd: RawFd) -> i64 {
    match io.verb {
        Verb::Read => read(io, fd),
        _ => write(io, fd),
    }
}

/// Everything but reading and writing.
#[inline(never)]
fn other(io: &Io, files: &mut Files) -> i64 {
    // A script that only computes and waits has no file at all.
    let handle = files.handles.get(io.file as usize);
    let (fd, is_set) = handle.map_or((-1, false), |handle| (handle.fd, handle.names.is_some()));
    match io.verb {
        // SAFETY: the call takes no pointers.
        Verb::Fsync => result(unsafe { system::fsync(fd) }.into()),
        Verb::Fdatasync => system::data_sync(fd),
        Verb::SyncFileRange => system::sync_file_range(fd, io),
        Verb::Syncfs => system::sync_file_system(fd),
        // SAFETY: the call takes no pointers.
        Verb::Truncate if !is_set => result(unsafe { libc::ftruncate(fd, io.bytes as libc::off_t) }.into()),
        Verb::Trim => system::trim(fd, io),
        Verb::Discard => system::discard(fd, io),
        Verb::WriteZeroes => system::write_zeroes(fd, io),
        Verb::Fallocate => system::allocate(fd, io.other as i32, io.offset, io.bytes),
        Verb::Fadvise => system::advise(fd, io),
        Verb::Statfs => file_system_attributes(fd),
        Verb::Fstat => attributes(fd).map_or_else(|number| -i64::from(number), |_| 0),
        Verb::Lock => {
            lock(fd, io, if io.other == 1 { libc::F_RDLCK } else { libc::F_WRLCK } as libc::c_short)
        }
        Verb::Unlock => lock(fd, io, libc::F_UNLCK as libc::c_short),
        Verb::Close => close_handle(io, files),
        Verb::CopyFileRange => system::copy_range(fd, second(io, files), io),
        Verb::Clone => system::clone(fd, second(io, files), io),
        Verb::Readdir if !is_set => system::count_entries(fd),
        Verb::Setxattr | Verb::Getxattr | Verb::Listxattr | Verb::Removexattr if !is_set => {
            system::attribute_of_file(fd, io)
        }
        _ if io.verb.kind() == iodyno_model::Kind::Metadata => items::perform(io, files),
        _ => UNSUPPORTED,
    }
}

/// The descriptor of the second handle that an operation names.
fn second(io: &Io, files: &Files) -> RawFd {
    files.handles.get(io.other as usize).map_or(-1, |handle| handle.fd)
}

fn close_handle(io: &Io, files: &mut Files) -> i64 {
    match std::mem::replace(&mut files.handles[io.file as usize].fd, -1) {
        // Standard streams belong to the process.
        0..=2 => 0,
        fd => close(fd),
    }
}

/// Closes a descriptor.
#[inline(always)]
pub fn close(fd: RawFd) -> i64 {
    // SAFETY: the caller gives the descriptor away.
    result(unsafe { system::close(fd) }.into())
}

fn file_system_attributes(fd: RawFd) -> i64 {
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `found` is valid for writing.
    result(unsafe { libc::fstatvfs(fd, found.as_mut_ptr()) }.into())
}

fn attributes(fd: RawFd) -> Result<libc::stat, i32> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is valid for writing, and filled when the call succeeds.
    unsafe { if libc::fstat(fd, stat.as_mut_ptr()) == 0 { Ok(stat.assume_init()) } else { Err(errno()) } }
}

/// Bytes in a file, or of a device.
///
/// # Errors
/// The system's error number.
pub fn file_bytes(fd: RawFd) -> Result<u64, i32> {
    let stat = attributes(fd)?;
    if !is_device(&stat) {
        return Ok(stat.st_size as u64);
    }
    // SAFETY: the calls take no pointers. The position is put back, since `AT_POSITION` reads depend on it.
    let (before, end) = unsafe { (libc::lseek(fd, 0, libc::SEEK_CUR), libc::lseek(fd, 0, libc::SEEK_END)) };
    let number = errno();
    // SAFETY: as above.
    unsafe { libc::lseek(fd, before, libc::SEEK_SET) };
    if end < 0 { Err(number) } else { Ok(end as u64) }
}

fn is_device(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFBLK
}

/// Locks or unlocks a range and waits for it; on Linux the lock belongs to the open file, elsewhere to the process.
fn lock(fd: RawFd, io: &Io, kind: libc::c_short) -> i64 {
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    (range.l_start, range.l_len) = (io.offset as libc::off_t, io.bytes as libc::off_t);
    // SAFETY: the range is valid for the call.
    result(unsafe { libc::fcntl(fd, system::LOCK_AND_WAIT, &raw const range) }.into())
}
