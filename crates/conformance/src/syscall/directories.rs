//! Calls on directories: what is in them, and which one this process stands in.

use std::ffi::CStr;

use super::Answer;
use super::fd_table::{Hands, HeldDescriptor};
use super::stat::forget;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Fd, Number, Path};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("opendir", &[Path], "PATH: opens a directory stream", |hands, given| {
        Ok(open(given.path(0)).map_or_else(
            |failed| failed,
            |stream| {
                hands.hold(&given.label, stream);
                Answer::default()
            },
        ))
    }),
    verb("readdir", &[ArgumentKind::Held], "DIR [COUNT]: says the next names, at its end nothing", readdir)
        .or(&[Number]),
    verb("telldir", &[ArgumentKind::Held], "DIR: says where it stands", |hands, given| {
        let stream = stream(hands, given)?;
        // SAFETY: the stream is open.
        Ok(Answer::said(unsafe { telldir(stream) }.to_string()))
    }),
    verb(
        "seekdir",
        &[ArgumentKind::Held, Number],
        "DIR POSITION: goes where telldir said",
        |hands, given| {
            let stream = stream(hands, given)?;
            // SAFETY: the stream is open.
            unsafe { seekdir(stream, given.number(1) as libc::c_long) };
            Ok(Answer::default())
        },
    ),
    verb("rewinddir", &[ArgumentKind::Held], "DIR: goes back to the beginning", |hands, given| {
        let stream = stream(hands, given)?;
        // SAFETY: the stream is open.
        unsafe { libc::rewinddir(stream) };
        Ok(Answer::default())
    }),
    verb("closedir", &[ArgumentKind::Held], "DIR: closes a directory stream", |hands, given| {
        stream(hands, given)?;
        Ok(hands.drop_at(given.held(0)))
    }),
    verb("entries", &[Path], "PATH: says all names but `.` and `..`, sorted", |_, given| {
        Ok(listed(given, |name, _| name))
    }),
    verb(
        "dirents",
        &[Path],
        "PATH: says all names but `.` and `..`, sorted, each with `:type`",
        |_, given| Ok(listed(given, |name, kind| format!("{name}:{}", self::kind(kind)))),
    ),
    verb("chdir", &[Path], "PATH: goes to a directory", |_, given| Ok(ask!(chdir(given.path(0))))),
    verb("fchdir", &[Fd], "FD: goes to a directory", |_, given| Ok(ask!(fchdir(given.fd(0))))),
    verb("getcwd", &[], ": says where this process stands", getcwd),
];

unsafe extern "C" {
    fn telldir(stream: *mut libc::DIR) -> libc::c_long;
    fn seekdir(stream: *mut libc::DIR, position: libc::c_long);
}

/// Opens a stream of what is in a directory.
pub(super) fn open(path: *const libc::c_char) -> Result<HeldDescriptor, Answer> {
    // The library's opendir reads the path itself: it would not survive a bad one.
    // SAFETY: the path outlives the call, or is bad on purpose.
    let fd = unsafe { libc::open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(Answer::last());
    }
    // SAFETY: the descriptor is open, and nobody else's.
    let stream = unsafe { libc::fdopendir(fd) };
    if stream.is_null() {
        let failed = Answer::last();
        let _ = ask!(close(fd));
        return Err(failed);
    }
    // SAFETY: the stream is open.
    Ok(HeldDescriptor::Stream(stream as usize, unsafe { libc::dirfd(stream) }))
}

fn stream(hands: &Hands, given: &CallArguments) -> Result<*mut libc::DIR, String> {
    match hands.at(given.held(0)) {
        HeldDescriptor::Stream(stream, _) => Ok(stream as *mut libc::DIR),
        _ => Err("is no open directory stream".into()),
    }
}

/// The next entry: its name and its type as the directory has it; nothing at the end.
pub(super) fn next(stream: *mut libc::DIR) -> Result<Option<(String, u8)>, Answer> {
    forget();
    // SAFETY: the stream is open.
    let entry = unsafe { libc::readdir(stream) };
    if entry.is_null() {
        return if iodyno_engine::memory::errno() == 0 { Ok(None) } else { Err(Answer::last()) };
    }
    // SAFETY: an entry is good until the next is read, and its name ends with a 0.
    let (name, kind) = unsafe { (CStr::from_ptr((*entry).d_name.as_ptr()), (*entry).d_type) };
    Ok(Some((text(name.to_bytes()), kind)))
}

fn readdir(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let stream = stream(hands, given)?;
    let count = if given.has(1) { given.number(1) } else { 1 };
    let mut names = Vec::new();
    while (names.len() as i64) < count {
        match next(stream) {
            Ok(Some((name, _))) => names.push(name),
            Ok(None) => break,
            Err(failed) => return Ok(failed),
        }
    }
    Ok(Answer::said(names.join(" ")).with("count", names.len()))
}

/// All entries but the two that every directory has, each as the function writes it.
fn listed(given: &CallArguments, write: fn(String, u8) -> String) -> Answer {
    let held = match open(given.path(0)) {
        Ok(held) => held,
        Err(failed) => return failed,
    };
    let mut hands = Hands::default();
    hands.hold("list", held);
    let HeldDescriptor::Stream(stream, _) = held else { return Answer::default() };
    let mut names = Vec::new();
    loop {
        match next(stream as *mut libc::DIR) {
            Ok(Some((name, _))) if name == "." || name == ".." => (),
            Ok(Some((name, kind))) => names.push(write(name, kind)),
            Ok(None) => break,
            Err(failed) => return failed,
        }
    }
    names.sort_unstable();
    Answer::said(names.join(" ")).with("count", names.len())
}

/// The type that an entry has.
fn kind(entry: u8) -> &'static str {
    match entry {
        libc::DT_REG => "regular",
        libc::DT_DIR => "directory",
        libc::DT_FIFO => "fifo",
        libc::DT_CHR => "char",
        libc::DT_BLK => "block",
        libc::DT_SOCK => "socket",
        libc::DT_LNK => "symlink",
        _ => "unknown",
    }
}

fn getcwd(_: &mut Hands, _: &CallArguments) -> Result<Answer, String> {
    let mut room = vec![0u8; 1 << 16];
    // SAFETY: the room is as long as said.
    if unsafe { libc::getcwd(room.as_mut_ptr().cast(), room.len()) }.is_null() {
        return Ok(Answer::last());
    }
    let length = room.iter().position(|byte| *byte == 0).unwrap_or(0);
    Ok(Answer::said(text(&room[..length])))
}
