//! Verbs on an item of a set, by a path relative to the set's root.

use std::ffi::CStr;
use std::os::fd::RawFd;

use iodyno_model::Verb;

use super::{UNSUPPORTED, close, result, system};
use crate::io::{Files, Io, KEEP, Names, PathBuffer};
use crate::memory::errno;

/// How a file is made: what is written to it may be read back before it is closed.
pub const CREATE_FLAGS: libc::c_int = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
/// How a file is opened.
pub const OPEN_FLAGS: libc::c_int = libc::O_RDONLY | libc::O_CLOEXEC;

/// Performs an operation on an item.
pub(super) fn perform(io: &Io, files: &mut Files) -> i64 {
    let handle = &files.handles[io.file as usize];
    let Some(names) = &handle.names else { return -i64::from(libc::ENOTDIR) };
    let (root, mut buffer) = (handle.fd, PathBuffer::default());
    let name = names.path(io.offset, &mut buffer);
    let path = name.as_ptr();
    // SAFETY: `path` is zero-terminated and lives until the end of this function.
    let value = unsafe {
        match io.verb {
            Verb::Create => return keep(io, libc::openat(root, path, CREATE_FLAGS, 0o644), files),
            Verb::Open => return keep(io, libc::openat(root, path, OPEN_FLAGS), files),
            Verb::Stat => stat(root, path, 0),
            Verb::Lstat => stat(root, path, libc::AT_SYMLINK_NOFOLLOW),
            Verb::Access => libc::faccessat(root, path, io.other as libc::c_int, 0),
            Verb::Unlink => libc::unlinkat(root, path, 0),
            Verb::Mkdir => libc::mkdirat(root, path, 0o755),
            Verb::Rmdir => libc::unlinkat(root, path, libc::AT_REMOVEDIR),
            Verb::Chmod => libc::fchmodat(root, path, io.other as libc::mode_t, 0),
            Verb::Chown => libc::fchownat(root, path, (io.other >> 32) as u32, io.other as u32, 0),
            Verb::Utimens => libc::utimensat(root, path, stamps(io.other).as_ptr(), 0),
            Verb::Mkfifo => return system::make_fifo(root, name),
            Verb::Mknod => return system::make_node(root, name, io.other),
            Verb::Rename | Verb::Link | Verb::Symlink => return on_pair(io, root, names, name),
            Verb::Readlink => return read_link(io, root, name),
            Verb::Readdir => return list(io, root, names),
            Verb::Truncate => return system::truncate_item(root, name, io.bytes),
            Verb::Setxattr | Verb::Getxattr | Verb::Listxattr | Verb::Removexattr => {
                return system::attribute_of_item(root, name, io);
            }
            _ => return UNSUPPORTED,
        }
    };
    result(value.into())
}

/// Verbs on two items: the one of `offset`, and the one of `other`.
fn on_pair(io: &Io, root: RawFd, names: &Names, path: &CStr) -> i64 {
    let path = path.as_ptr();
    let mut buffer = PathBuffer::default();
    let second = names.path(io.other, &mut buffer).to_bytes_with_nul();
    let own_name = second.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    // SAFETY: both paths are zero-terminated and live until the end of this function.
    let value = unsafe {
        match io.verb {
            Verb::Rename => libc::renameat(root, path, root, second.as_ptr().cast()),
            Verb::Link => libc::linkat(root, path, root, second.as_ptr().cast(), 0),
            _ => libc::symlinkat(second[own_name..].as_ptr().cast(), root, path),
        }
    };
    result(value.into())
}

/// Keeps a fresh descriptor in the handle the operation names, or closes it: then the close is part of the operation.
fn keep(io: &Io, fd: RawFd, files: &mut Files) -> i64 {
    if fd < 0 {
        return -i64::from(errno());
    }
    if io.flags & KEEP == 0 {
        return close(fd);
    }
    match files.handles.get_mut(io.other as usize) {
        Some(handle) => {
            let before = std::mem::replace(&mut handle.fd, fd);
            if before > 2 {
                close(before);
            }
            0
        }
        None => {
            close(fd);
            -i64::from(libc::EMFILE)
        }
    }
}

/// # Safety
/// The path is zero-terminated.
unsafe fn stat(root: RawFd, path: *const libc::c_char, flags: libc::c_int) -> libc::c_int {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is as promised, and `stat` is valid for writing.
    unsafe { libc::fstatat(root, path, stat.as_mut_ptr(), flags) }
}

/// Both time stamps: nanoseconds since 1970, or now.
fn stamps(ns: u64) -> [libc::timespec; 2] {
    let stamp = match ns {
        0 => libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW as _ },
        ns => libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ },
    };
    [stamp, stamp]
}

/// The text goes into the operation's buffer, or nowhere when it has none.
fn read_link(io: &Io, root: RawFd, path: &CStr) -> i64 {
    let mut text = [0 as libc::c_char; 1024];
    let (room, bytes) = match io.bytes {
        0 => (text.as_mut_ptr(), text.len()),
        bytes => (io.buffer.cast(), bytes as usize),
    };
    // SAFETY: the path is valid, and the room is valid for so many bytes.
    result(unsafe { libc::readlinkat(root, path.as_ptr(), room, bytes) } as i64)
}

/// Lists the directory that holds an item.
fn list(io: &Io, root: RawFd, names: &Names) -> i64 {
    let mut buffer = PathBuffer::default();
    let path = names.directory(io.offset, &mut buffer).as_ptr();
    // SAFETY: `path` is zero-terminated and lives until the end of this function.
    let fd = unsafe { libc::openat(root, path, OPEN_FLAGS | libc::O_DIRECTORY) };
    if fd < 0 {
        return -i64::from(errno());
    }
    let entries = system::count_entries(fd);
    match close(fd) {
        0 => entries,
        failure => failure,
    }
}
