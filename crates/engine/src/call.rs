//! The reference meaning of every verb: one system call (or the few that one word stands for), its result or `-errno`.
//!
//! `psync` is this and nothing else; every other engine falls back to it for what it does not accelerate, and is
//! tested against it.

use std::os::fd::RawFd;

use iodyno_model::Verb;

use crate::io::{AT_POSITION, Files, Io, KEEP, PathBuffer};
use crate::memory::errno;

/// A system call's own result, or the negated error number.
#[inline(always)]
fn result(value: i64) -> i64 {
    if value < 0 { -i64::from(errno()) } else { value }
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
            AT_POSITION => libc::read(fd, buffer, bytes),
            offset => libc::pread(fd, buffer, bytes, offset as libc::off_t),
        }
    } as i64)
}

#[inline(always)]
fn write(io: &Io, fd: RawFd) -> i64 {
    let (buffer, bytes) = (io.buffer.cast_const().cast(), io.bytes as usize);
    // SAFETY: the buffer holds `bytes` bytes until the operation completes, which is here.
    result(unsafe {
        match io.offset {
            AT_POSITION => libc::write(fd, buffer, bytes),
            offset => libc::pwrite(fd, buffer, bytes, offset as libc::off_t),
        }
    } as i64)
}

/// Everything but reading and writing.
#[inline(never)]
fn other(io: &Io, files: &mut Files) -> i64 {
    let fd = files.fd(io.file);
    match io.verb {
        // SAFETY: the call takes no pointers.
        Verb::Fsync => result(unsafe { libc::fsync(fd) }.into()),
        Verb::Fdatasync => data_sync(fd),
        Verb::SyncFileRange => sync_file_range(fd, io.offset, io.bytes),
        Verb::Truncate => {
            // SAFETY: the call takes no pointers.
            result(unsafe { libc::ftruncate(fd, io.bytes as libc::off_t) }.into())
        }
        Verb::Trim => punch(fd, io.offset, io.bytes),
        Verb::Fallocate => allocate(fd, io.other as i32, io.offset, io.bytes),
        Verb::Fadvise => advise(fd, io.offset, io.bytes, io.other as i32),
        Verb::Create | Verb::Open | Verb::Stat | Verb::Unlink | Verb::Mkdir | Verb::Rmdir | Verb::Rename => {
            on_item(io, files)
        }
        _ => -i64::from(libc::EOPNOTSUPP),
    }
}

/// Verbs on an item of a set, by a path relative to the set's root.
fn on_item(io: &Io, files: &mut Files) -> i64 {
    let handle = &files.handles[io.file as usize];
    let Some(names) = &handle.names else { return -i64::from(libc::ENOTDIR) };
    let (root, mut buffer) = (handle.fd, PathBuffer::default());
    let path = names.path(io.offset, &mut buffer).as_ptr();
    // SAFETY (all calls below): `path` is zero-terminated and lives until the end of this function.
    match io.verb {
        Verb::Create => {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
            // SAFETY: as above.
            keep(io, unsafe { libc::openat(root, path, flags, 0o644) }, files)
        }
        // SAFETY: as above.
        Verb::Open => keep(io, unsafe { libc::openat(root, path, libc::O_RDONLY | libc::O_CLOEXEC) }, files),
        Verb::Stat => {
            let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
            // SAFETY: as above; `stat` is valid for writing.
            result(unsafe { libc::fstatat(root, path, stat.as_mut_ptr(), 0) }.into())
        }
        // SAFETY: as above.
        Verb::Unlink => result(unsafe { libc::unlinkat(root, path, 0) }.into()),
        // SAFETY: as above.
        Verb::Mkdir => result(unsafe { libc::mkdirat(root, path, 0o755) }.into()),
        // SAFETY: as above.
        Verb::Rmdir => result(unsafe { libc::unlinkat(root, path, libc::AT_REMOVEDIR) }.into()),
        Verb::Rename => {
            let mut second = PathBuffer::default();
            let to = names.path(io.other, &mut second).as_ptr();
            // SAFETY: as above, for both paths.
            result(unsafe { libc::renameat(root, path, root, to) }.into())
        }
        _ => -i64::from(libc::EOPNOTSUPP),
    }
}

/// Keeps a fresh descriptor in the handle the operation names, or closes it: then the close is part of the operation.
fn keep(io: &Io, fd: RawFd, files: &mut Files) -> i64 {
    if fd < 0 {
        return -i64::from(errno());
    }
    if io.flags & KEEP != 0 {
        files.handles[io.other as usize].fd = fd;
        return 0;
    }
    // SAFETY: the descriptor was opened above and is closed once.
    result(unsafe { libc::close(fd) }.into())
}

#[cfg(not(any(target_os = "macos", target_os = "ios")))]
fn data_sync(fd: RawFd) -> i64 {
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::fdatasync(fd) }.into())
}

#[cfg(any(target_os = "macos", target_os = "ios"))]
fn data_sync(fd: RawFd) -> i64 {
    // SAFETY: the call takes no pointers. There is no fdatasync in this system's libc binding.
    result(unsafe { libc::fsync(fd) }.into())
}

#[cfg(target_os = "linux")]
fn sync_file_range(fd: RawFd, offset: u64, bytes: u64) -> i64 {
    // SAFETY: the call takes no pointers.
    result(
        unsafe { libc::sync_file_range(fd, offset as i64, bytes as i64, libc::SYNC_FILE_RANGE_WRITE) }.into(),
    )
}

#[cfg(target_os = "linux")]
fn punch(fd: RawFd, offset: u64, bytes: u64) -> i64 {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    match allocate(fd, mode, offset, bytes) {
        0 => bytes as i64,
        failure => failure,
    }
}

#[cfg(target_os = "linux")]
fn allocate(fd: RawFd, mode: i32, offset: u64, bytes: u64) -> i64 {
    // SAFETY: the call takes no pointers.
    result(unsafe { libc::fallocate(fd, mode, offset as i64, bytes as i64) }.into())
}

#[cfg(target_os = "linux")]
fn advise(fd: RawFd, offset: u64, bytes: u64, advice: i32) -> i64 {
    // SAFETY: the call takes no pointers.
    -i64::from(unsafe { libc::posix_fadvise(fd, offset as i64, bytes as i64, advice) })
}

#[cfg(not(target_os = "linux"))]
fn sync_file_range(fd: RawFd, _offset: u64, _bytes: u64) -> i64 {
    data_sync(fd)
}

#[cfg(not(target_os = "linux"))]
fn punch(_fd: RawFd, _offset: u64, _bytes: u64) -> i64 {
    -i64::from(libc::EOPNOTSUPP)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_fd: RawFd, _mode: i32, _offset: u64, _bytes: u64) -> i64 {
    -i64::from(libc::EOPNOTSUPP)
}

#[cfg(not(target_os = "linux"))]
fn advise(_fd: RawFd, _offset: u64, _bytes: u64, _advice: i32) -> i64 {
    -i64::from(libc::EOPNOTSUPP)
}
