//! Verbs on an item of a set, by a path relative to the set's root.

use std::ffi::CStr;
use std::os::fd::RawFd;

use iodyno_model::Verb;

use super::{UNSUPPORTED, close, lock_range, range, result, system};
use crate::file_system_client::{Existing, FileCreation};
use crate::io::{
    DIRECTORY, DURABLE, Files, Io, KEEP, Names, OPEN_CREATES, OPEN_TRUNCATES, PathBuffer, READ_BACK,
};
use crate::memory::errno;

/// How a file is made: what is written to it may be read back before it is closed.
pub const CREATE_FLAGS: libc::c_int = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
/// How a file is opened.
pub const OPEN_FLAGS: libc::c_int = libc::O_RDONLY | libc::O_CLOEXEC;

/// Performs an operation on an item.
pub(super) fn perform(io: &Io, files: &mut Files) -> i64 {
    let handle = &mut files.handles[io.file as usize];
    if io.verb == Verb::Open && handle.names.is_none() {
        return reopen(io, files);
    }
    let (root, Some(names)) = (handle.fd, &mut handle.names) else { return -i64::from(libc::ENOTDIR) };
    if io.flags & DIRECTORY != 0 {
        return on_directory(io, root, names);
    }
    let path = names.path_of(io.offset).as_ptr();
    // SAFETY: `path` is zero-terminated and lives in `names`, which nothing below changes while it is used.
    let value = unsafe {
        match io.verb {
            Verb::Create | Verb::Open if names.client.is_some() => return by_client(io, files),
            Verb::Create => {
                let fd = system::open_at(root, path, create_flags(names, io), create_mode(names, io));
                return opened(io, fd, files);
            }
            Verb::Open => {
                let fd = system::open_at(root, path, open_flags(names, io), create_mode(names, io));
                return opened(io, fd, files);
            }
            Verb::Stat => stat(root, path, 0),
            Verb::Unlink => libc::unlinkat(root, path, 0),
            Verb::Mkdir => make_directory(root, path, names.reuses),
            Verb::Rmdir => libc::unlinkat(root, path, libc::AT_REMOVEDIR),
            Verb::Lstat => stat(root, path, libc::AT_SYMLINK_NOFOLLOW),
            Verb::Access => libc::faccessat(root, path, io.other as libc::c_int, 0),
            Verb::Chmod => libc::fchmodat(root, path, io.other as libc::mode_t, 0),
            Verb::Chown => libc::fchownat(root, path, (io.other >> 32) as u32, io.other as u32, 0),
            Verb::Utimens => libc::utimensat(root, path, stamps(io.other).as_ptr(), 0),
            Verb::Rename | Verb::Link | Verb::Symlink => return on_pair(io, root, names, path),
            Verb::Readdir => return list(io, root, names),
            _ => return by_name(io, root, names),
        }
    };
    result(value.into())
}

/// Opens a target again that is closed; one that is open stays.
fn reopen(io: &Io, files: &mut Files) -> i64 {
    let Some(Some(known)) = files.reopened.get(io.file as usize) else { return -i64::from(libc::ENOTDIR) };
    let handle = &mut files.handles[io.file as usize];
    if handle.fd < 0 {
        // SAFETY: the path is zero-terminated and lives in `files` until after the call.
        let fd = unsafe { libc::open(known.path.as_ptr(), known.flags) };
        if fd < 0 {
            return -i64::from(errno());
        }
        handle.fd = fd;
    }
    0
}

/// Verbs that the system module carries out.
fn by_name(io: &Io, root: RawFd, names: &mut Names) -> i64 {
    // Of a listed set the attribute's name is one of the list, counted from 1.
    let is_named = matches!(io.verb, Verb::Setxattr | Verb::Getxattr | Verb::Removexattr);
    let item = io.other.checked_sub(1).filter(|_| is_named);
    let attribute = item.and_then(|item| names.listed(item)).map(|name| name.text.clone());
    let name = names.path_of(io.offset);
    match io.verb {
        Verb::Mkfifo => system::make_fifo(root, name),
        Verb::Mknod => system::make_node(root, name, io.other),
        Verb::Readlink => read_link(io, root, name),
        Verb::Truncate => system::truncate_item(root, name, io.bytes),
        Verb::Setxattr | Verb::Getxattr | Verb::Listxattr | Verb::Removexattr => {
            system::attribute_of_item(root, name, attribute.as_deref(), io)
        }
        _ => UNSUPPORTED,
    }
}

/// Makes or opens an item whose file system is asked for more than POSIX has.
#[cold]
fn by_client(io: &Io, files: &mut Files) -> i64 {
    let handle = &mut files.handles[io.file as usize];
    let (root, Some(names)) = (handle.fd, &mut handle.names) else { return -i64::from(libc::ENOTDIR) };
    let Some(client) = names.client.clone() else { return UNSUPPORTED };
    let (flags, mode) = match io.verb {
        Verb::Create => (create_flags(names, io), create_mode(names, io)),
        _ => (open_flags(names, io), create_mode(names, io)),
    };
    let path = names.path_of(io.offset);
    let makes = flags & libc::O_CREAT != 0;
    let opened_by = match makes {
        true => {
            let (mode, existing) = (mode as libc::c_uint, Existing::Refused);
            client.create(&FileCreation { folder: root, path, flags, mode, existing })
        }
        // SAFETY: the path is zero-terminated and lives in `names`, which nothing changes here.
        false => match unsafe { system::open_at(root, path.as_ptr(), flags, mode) } {
            -1 => Err(errno()),
            fd => Ok(fd),
        },
    };
    match opened_by.and_then(|fd| match client.settle(fd, makes) {
        Ok(()) => Ok(fd),
        Err((_, errno)) => {
            close(fd);
            Err(errno)
        }
    }) {
        Ok(fd) => opened(io, fd, files),
        Err(errno) => -i64::from(errno),
    }
}

/// How an item is opened: a recorded one as it is used, and made or emptied where its record says so.
#[inline(always)]
fn open_flags(names: &Names, io: &Io) -> libc::c_int {
    let Some(name) = names.listed(io.offset) else { return OPEN_FLAGS | names.open_flags };
    let said = |bit, flag| if io.flags & KEEP != 0 && io.other & bit != 0 { flag } else { 0 };
    let asked = said(OPEN_CREATES, libc::O_CREAT) | said(OPEN_TRUNCATES, libc::O_TRUNC);
    let writes = if asked == 0 { name.flags } else { libc::O_RDWR };
    writes | asked | libc::O_CLOEXEC | names.open_flags
}

/// How an item is made.
#[inline(always)]
pub fn create_flags(names: &Names, io: &Io) -> libc::c_int {
    let mut flags = CREATE_FLAGS | names.open_flags;
    if names.reuses {
        flags &= !libc::O_EXCL;
    }
    // Joined, writing alone and reading with writing would be neither.
    let mode = match names.open_flags & libc::O_ACCMODE {
        libc::O_WRONLY if io.flags & READ_BACK == 0 => libc::O_WRONLY,
        _ => libc::O_RDWR,
    };
    flags & !libc::O_ACCMODE | mode
}

/// Mode bits of what is made. An item that is closed again carries something else where a kept one says its own.
#[inline(always)]
pub fn create_mode(names: &Names, io: &Io) -> libc::mode_t {
    let said = if io.flags & KEEP != 0 { (io.other >> 32) as u32 } else { 0 };
    names.made_with(said) as libc::mode_t
}

/// Verbs on a directory of the tree.
fn on_directory(io: &Io, root: RawFd, names: &Names) -> i64 {
    let mut buffer = PathBuffer::default();
    let path = names.directory(io.offset, &mut buffer).as_ptr();
    // SAFETY: `path` is zero-terminated and lives until the end of this function.
    let value = unsafe {
        match io.verb {
            Verb::Mkdir => make_directory(root, path, names.reuses),
            Verb::Rmdir => libc::unlinkat(root, path, libc::AT_REMOVEDIR),
            Verb::Stat => stat(root, path, 0),
            _ => return UNSUPPORTED,
        }
    };
    result(value.into())
}

/// Makes a directory; one that is there already will do where items are reused.
///
/// # Safety
/// The path is zero-terminated and outlives the call.
unsafe fn make_directory(root: RawFd, path: *const libc::c_char, reuses: bool) -> libc::c_int {
    // SAFETY: the caller says so.
    match unsafe { libc::mkdirat(root, path, 0o755) } {
        -1 if reuses && errno() == libc::EEXIST => 0,
        value => value,
    }
}

/// Verbs on two items: the one of `offset`, and the one of `other`.
///
/// # Safety
/// The path is zero-terminated and outlives the call.
unsafe fn on_pair(io: &Io, root: RawFd, names: &Names, path: *const libc::c_char) -> i64 {
    let mut buffer = PathBuffer::default();
    let second = names.path(io.other, &mut buffer).to_bytes_with_nul();
    // SAFETY: both paths are zero-terminated and live until the end of this function.
    let value = unsafe {
        match io.verb {
            Verb::Rename => libc::renameat(root, path, root, second.as_ptr().cast()),
            Verb::Link => libc::linkat(root, path, root, second.as_ptr().cast(), 0),
            _ => {
                let text = match names.listed(io.other) {
                    Some(name) => recorded_link(CStr::from_ptr(path), &name.text),
                    None => link_text(path, second),
                };
                libc::symlinkat(text.as_ptr().cast(), root, path)
            }
        }
    };
    result(value.into())
}

/// What a link says so that it leads to another item: up to the root, and down again.
///
/// # Safety
/// The path is zero-terminated.
unsafe fn link_text(path: *const libc::c_char, second: &[u8]) -> Vec<u8> {
    // SAFETY: as the caller promises.
    let path = unsafe { CStr::from_ptr(path) };
    let levels = path.to_bytes().iter().filter(|byte| **byte == b'/').count();
    [b"../".repeat(levels).as_slice(), second].concat()
}

/// What a recorded link says: a path from its own directory that leads nowhere out of the root, zero-terminated.
fn recorded_link(link: &CStr, text: &str) -> Vec<u8> {
    let link = link.to_string_lossy();
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    let to = match text.starts_with('/') {
        true => iodyno_trace::replay::path_below(text),
        false => iodyno_trace::replay::path_below(&format!("{directory}/{text}")),
    };
    let levels = if directory.is_empty() { 0 } else { directory.split('/').count() };
    [b"../".repeat(levels).as_slice(), to.as_bytes(), b"\0"].concat()
}

/// Keeps a fresh descriptor in the handle the operation names, or closes it: then what is moved before, and the close,
/// are part of the operation.
#[inline(always)]
fn opened(io: &Io, fd: RawFd, files: &mut Files) -> i64 {
    if fd < 0 {
        return -i64::from(errno());
    }
    match io.flags & (KEEP | DURABLE | READ_BACK) {
        0 if io.bytes == 0 => close(fd),
        flags if flags & KEEP == 0 => visit(io, fd, files.handles[io.file as usize].names.as_deref()),
        _ => keep(io, fd, files),
    }
}

/// What lies between opening and closing an item as one operation; the result is the bytes of its data.
#[inline(never)]
fn visit(io: &Io, fd: RawFd, names: Option<&Names>) -> i64 {
    let is_plain = names.is_none_or(|names| !names.locks_ranges && names.client.is_none());
    let moved = if is_plain { moved_and_synced(io, fd) } else { announced(io, fd, names) };
    match close(fd) {
        // Some file systems say only now what they could not write.
        failure @ ..0 if moved >= 0 => failure,
        _ => moved,
    }
}

/// The same with the item's range told to the file system, and locked, as its set wants it.
#[cold]
fn announced(io: &Io, fd: RawFd, names: Option<&Names>) -> i64 {
    let range = (0, io.bytes);
    let client = names.and_then(|names| names.client.as_deref());
    if let Some(Err(errno)) = client.map(|client| client.begin_access(fd, range, io.verb == Verb::Create)) {
        return -i64::from(errno);
    }
    let locks = names.is_some_and(|names| names.locks_ranges);
    let moved = if locks { locked(io, fd) } else { moved_and_synced(io, fd) };
    match client.map(|client| client.end_access(fd, range)) {
        Some(Err(errno)) if moved >= 0 => -i64::from(errno),
        _ => moved,
    }
}

/// The same with a lock on the item's bytes, shared where they are only read.
#[cold]
fn locked(io: &Io, fd: RawFd) -> i64 {
    let mut bytes = range(&Io { offset: 0, ..*io });
    if !lock_range(fd, &mut bytes, if io.verb == Verb::Open { libc::LOCK_SH } else { libc::LOCK_EX }) {
        return -i64::from(errno());
    }
    let moved = moved_and_synced(io, fd);
    lock_range(fd, &mut bytes, libc::LOCK_UN);
    moved
}

fn moved_and_synced(io: &Io, fd: RawFd) -> i64 {
    let verb = if io.verb == Verb::Create { Verb::Write } else { Verb::Read };
    let moved = all(&Io { verb, ..*io }, fd);
    if moved >= 0 && io.flags & DURABLE != 0 {
        // SAFETY: the call takes no pointers.
        let synced = result(unsafe { system::fsync(fd) }.into());
        if synced < 0 {
            return synced;
        }
    }
    match io.flags & READ_BACK {
        0 => moved,
        _ if moved < 0 => moved,
        _ => all(&Io { verb: Verb::Read, ..*io }, fd),
    }
}

/// All bytes of an item from its beginning, in as many calls as it takes; fewer are a failure.
fn all(io: &Io, fd: RawFd) -> i64 {
    let mut done = 0;
    while done < io.bytes {
        // SAFETY: `done` is below `bytes`, which is the buffer's length at most.
        let buffer = unsafe { io.buffer.add(done as usize) };
        match super::transfer(&Io { offset: done, bytes: io.bytes - done, buffer, ..*io }, fd) {
            0 => return -i64::from(NO_DATA),
            moved @ 1.. => done += moved as u64,
            failure => return failure,
        }
    }
    done as i64
}

/// An item that holds less than is to be read of it.
#[cfg(not(target_os = "freebsd"))]
const NO_DATA: i32 = libc::ENODATA;
#[cfg(target_os = "freebsd")]
const NO_DATA: i32 = libc::EIO;

fn keep(io: &Io, fd: RawFd, files: &mut Files) -> i64 {
    match files.handles.get_mut(io.other as u32 as usize) {
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
    let path = names.directory_of(io.offset, &mut buffer).as_ptr();
    // SAFETY: `path` is zero-terminated and lives until the end of this function.
    let fd = unsafe { libc::openat(root, path, OPEN_FLAGS | libc::O_DIRECTORY) };
    if fd < 0 {
        return -i64::from(errno());
    }
    let entries = match io.other {
        1 => system::look_at_entries(fd),
        _ => system::count_entries(fd),
    };
    match close(fd) {
        0 => entries,
        failure => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_made_to_write_alone_where_the_plan_says_so() {
        let mode = |open_flags, flags| {
            let names = Names { open_flags, ..Names::default() };
            create_flags(&names, &Io { flags, ..Io::default() }) & libc::O_ACCMODE
        };
        assert_eq!(mode(libc::O_WRONLY, 0), libc::O_WRONLY);
        assert_eq!(mode(libc::O_WRONLY, READ_BACK), libc::O_RDWR);
        assert_eq!((mode(0, 0), mode(libc::O_RDWR, 0)), (libc::O_RDWR, libc::O_RDWR));
    }
}
