//! What rules need again and again: files of every type, texts, a file system that is full.
//!
//! Each is several calls; the first that fails is the answer.

use std::ffi::{CStr, CString, c_char, c_int};

use super::Answer;
use super::fd_table::Hands;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Number, Path, Text, Word};

/// Everything a name can stand for.
const TYPES: ArgumentKind = Word(&["regular", "directory", "fifo", "block", "char", "socket", "symlink"]);

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("make", &[TYPES, Path], "TYPE PATH [MODE]: makes a file of a type", make).or(&[Number]),
    verb("remove", &[TYPES, Path], "TYPE PATH: removes a file of a type", |_, given| {
        Ok(match given.bytes(0) {
            b"directory" => ask!(rmdir(given.path(1))),
            _ => ask!(unlink(given.path(1))),
        })
    }),
    verb("put", &[Path, Text], "PATH TEXT: makes or empties a file, and writes", |_, given| {
        Ok(put(given.path(0), given.bytes(1), 0o644))
    }),
    verb("get", &[Path], "PATH: says what is in a file", |_, given| Ok(get(given.path(0)))),
    verb(
        "exhaust",
        &[Path],
        "PATH: fills a small file system below a directory, and says with what",
        exhaust,
    ),
    verb("refund", &[Path], "PATH: removes what filled it", |_, given| Ok(refund(given))),
];

fn make(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (to, directory) = (given.path(1), given.bytes(0) == b"directory");
    let mode = match given.has(2) {
        true => given.mode(2),
        false if directory => 0o755,
        false => 0o644,
    };
    let node = |kind: libc::mode_t, device| ask!(mknod(to, kind | mode, device));
    Ok(match given.bytes(0) {
        b"directory" => ask!(mkdir(to, mode)),
        b"fifo" => ask!(mkfifo(to, mode)),
        b"block" => node(libc::S_IFBLK, libc::makedev(1, 2)),
        b"char" => node(libc::S_IFCHR, libc::makedev(1, 2)),
        b"socket" => node(libc::S_IFSOCK, 0),
        b"symlink" => ask!(symlink(c"nowhere".as_ptr(), to)),
        _ => written(to, &[], libc::O_EXCL, mode),
    })
}

/// Makes or empties a file, and writes all of the bytes.
pub(super) fn put(to: *const c_char, bytes: &[u8], mode: libc::mode_t) -> Answer {
    written(to, bytes, libc::O_TRUNC, mode)
}

fn written(to: *const c_char, bytes: &[u8], how: c_int, mode: libc::mode_t) -> Answer {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC | how;
    // SAFETY: the path outlives the call, or is bad on purpose.
    let fd = unsafe { libc::open(to, flags, libc::c_uint::from(mode)) };
    if fd < 0 {
        return Answer::last();
    }
    let answer = all(fd, bytes);
    let closed = ask!(close(fd));
    if answer.errno.is_some() { answer } else { Answer { fields: answer.fields, ..closed } }
}

/// Writes until nothing is left, or it fails.
fn all(fd: c_int, bytes: &[u8]) -> Answer {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        // SAFETY: the place is as long as said.
        match unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) } {
            count if count > 0 => done += count as usize,
            0 => return Answer::failed(libc::ENOSPC),
            _ if iodyno_engine::memory::errno() == libc::EINTR => (),
            _ => return Answer::last(),
        }
    }
    Answer::default().with("count", done)
}

/// The most that `get` says, bytes.
const MOST: usize = 16 << 20;

fn get(from: *const c_char) -> Answer {
    // SAFETY: the path outlives the call, or is bad on purpose.
    let fd = unsafe { libc::open(from, libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return Answer::last();
    }
    let (mut all, mut room) = (Vec::new(), vec![0u8; 1 << 16]);
    let answer = loop {
        // SAFETY: the room is as long as said.
        match unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) } {
            0 => break Answer::said(text(&all)).with("count", all.len()),
            count if count > 0 => all.extend_from_slice(&room[..count as usize]),
            _ if iodyno_engine::memory::errno() == libc::EINTR => (),
            _ => break Answer::last(),
        }
        if all.len() > MOST {
            break Answer::failed(libc::EFBIG);
        }
    };
    let _ = ask!(close(fd));
    answer
}

/// What fills a file system is called so, and a number.
const FULL: &str = "iodyno-full.";
/// A file system with more room than that is none to be filled, bytes.
const SMALL: u64 = 2 << 30;
/// More names than that are not made.
const NAMES: u32 = 200_000;
/// So many are made before the space is taken: where names need space, that is quicker than all of them.
const FIRST_NAMES: u32 = 1_000;

/// Names first, which some file systems have few of; then space, down to the last byte; then names until there is no
/// other, and what space they left.
fn exhaust(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    // SAFETY: the structure is numbers only.
    let mut room: libc::statvfs = unsafe { std::mem::zeroed() };
    let answer = ask!(statvfs(given.path(0), &mut room));
    if answer.errno.is_some() {
        return Ok(answer);
    }
    let free = u64::from(room.f_bavail).saturating_mul(room.f_frsize.into());
    if free > SMALL {
        return Err(format!("{free} bytes are free: that is no small file system"));
    }
    let mut names = 0;
    let mut bytes = 0;
    for most in [FIRST_NAMES, NAMES] {
        if let Err(failed) =
            crowd(given, most, &mut names).and_then(|()| swell(given, &mut names, &mut bytes))
        {
            return Ok(failed);
        }
    }
    Ok(Answer::said(format!("{names} names, {bytes} bytes")).with("names", names).with("bytes", bytes))
}

fn full(given: &CallArguments, number: u32) -> CString {
    let mut name = given.name(0).to_vec();
    name.extend_from_slice(format!("/{FULL}{number}").as_bytes());
    CString::new(name).unwrap_or_default()
}

/// Whether the answer is that there is no more; another error is one.
fn no_more(answer: Answer) -> Result<bool, Answer> {
    match answer.errno {
        // What an earlier one left takes its room as well.
        None | Some(libc::EEXIST) => Ok(false),
        Some(libc::ENOSPC | libc::EDQUOT) => Ok(true),
        Some(_) => Err(answer),
    }
}

fn crowd(given: &CallArguments, most: u32, names: &mut u32) -> Result<(), Answer> {
    while *names < most {
        if no_more(written(full(given, *names).as_ptr(), &[], libc::O_EXCL, 0o600))? {
            break;
        }
        *names += 1;
    }
    Ok(())
}

/// Writes to the first name, which always is there, in ever smaller pieces.
fn swell(given: &CallArguments, names: &mut u32, bytes: &mut u64) -> Result<(), Answer> {
    *names = (*names).max(1);
    let zeros = vec![0x55u8; 1 << 20];
    for size in [1 << 20, 1 << 16, 1 << 12, 1 << 9, 1] {
        loop {
            let piece = &zeros[..size];
            if no_more(written(full(given, 0).as_ptr(), piece, libc::O_APPEND, 0o600))? {
                break;
            }
            *bytes += size as u64;
        }
    }
    Ok(())
}

fn refund(given: &CallArguments) -> Answer {
    // SAFETY: the path outlives the call, or is bad on purpose.
    let stream = unsafe { libc::opendir(given.path(0)) };
    if stream.is_null() {
        return Answer::last();
    }
    let mut names = 0u32;
    let mut left = Answer::default();
    loop {
        // SAFETY: the stream is open.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            break;
        }
        // SAFETY: an entry is good until the next is read, and its name ends with a 0.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        if name.to_bytes().starts_with(FULL.as_bytes()) {
            // SAFETY: the stream and the name are good.
            let removed =
                Answer::of(i64::from(unsafe { libc::unlinkat(libc::dirfd(stream), name.as_ptr(), 0) }));
            names += u32::from(removed.errno.is_none());
            left = if removed.errno.is_some() { removed } else { left };
        }
    }
    // SAFETY: the stream came from opendir and is let go once.
    unsafe { libc::closedir(stream) };
    if left.errno.is_some() { left } else { left.with("names", names) }
}
