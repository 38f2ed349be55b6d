//! Locks of three kinds, and leases.

use std::ffi::c_int;

use super::Answer;
use super::fd_table::Hands;
use super::flags::WHENCE;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Fd, Number, One, Word};

/// For reading, for writing, none.
const TYPES: ArgumentKind = Word(&["rd", "wr", "un"]);
/// Shared, exclusive, none.
const FLOCK: ArgumentKind = Word(&["sh", "ex", "un"]);

const LOCK: &[ArgumentKind] = &[Fd, TYPES, Number, Number];
const FROM: &[ArgumentKind] = &[One(WHENCE)];

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("fcntl_lock", LOCK, "FD rd|wr|un START LENGTH [WHENCE]: locks a range, at once", |_, given| {
        Ok(set(libc::F_SETLK, given))
    })
    .or(FROM),
    verb("fcntl_lockw", LOCK, "FD rd|wr|un START LENGTH [WHENCE]: waits for a lock", |_, given| {
        Ok(set(libc::F_SETLKW, given))
    })
    .or(FROM),
    verb("fcntl_getlk", LOCK, "FD rd|wr|un START LENGTH [WHENCE]: says what is in the way", |_, given| {
        Ok(get(libc::F_GETLK, given))
    })
    .or(FROM),
    #[cfg(target_os = "linux")]
    verb(
        "ofd_lock",
        LOCK,
        "FD rd|wr|un START LENGTH [WHENCE]: locks for what is open, at once",
        |_, given| Ok(set(libc::F_OFD_SETLK, given)),
    )
    .or(FROM),
    #[cfg(target_os = "linux")]
    verb(
        "ofd_lockw",
        LOCK,
        "FD rd|wr|un START LENGTH [WHENCE]: waits for a lock of what is open",
        |_, given| Ok(set(libc::F_OFD_SETLKW, given)),
    )
    .or(FROM),
    #[cfg(target_os = "linux")]
    verb("ofd_getlk", LOCK, "FD rd|wr|un START LENGTH [WHENCE]: says what is in the way", |_, given| {
        Ok(get(libc::F_OFD_GETLK, given))
    })
    .or(FROM),
    verb("flock", &[Fd, FLOCK], "FD sh|ex|un [nb]: locks the whole file, nb at once", flock)
        .or(&[Word(&["nb"])]),
    #[cfg(target_os = "linux")]
    verb("lease", &[Fd, TYPES], "FD rd|wr|un: takes or gives back a lease", |_, given| {
        // Whoever breaks a lease sends its holder a signal that would end it.
        // SAFETY: ignoring a signal is always allowed.
        unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        Ok(ask!(fcntl(given.fd(0), libc::F_SETLEASE, c_int::from(number(given)))))
    }),
    #[cfg(target_os = "linux")]
    verb("getlease", &[Fd], "FD: says the lease that is held or wanted back", |_, given| {
        // SAFETY: takes no pointers.
        match unsafe { libc::fcntl(given.fd(0), libc::F_GETLEASE) } {
            -1 => Ok(Answer::last()),
            kind => Ok(Answer::said(word(kind as libc::c_short))),
        }
    }),
];

fn number(given: &CallArguments) -> libc::c_short {
    (match given.bytes(1) {
        b"rd" => libc::F_RDLCK,
        b"wr" => libc::F_WRLCK,
        _ => libc::F_UNLCK,
    }) as libc::c_short
}

fn word(kind: libc::c_short) -> &'static str {
    match kind {
        kind if kind == libc::F_RDLCK as libc::c_short => "rd",
        kind if kind == libc::F_WRLCK as libc::c_short => "wr",
        _ => "un",
    }
}

fn lock(given: &CallArguments) -> libc::flock {
    // SAFETY: a lock is numbers only, and those of an open file have no process.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = number(given);
    lock.l_whence = given.int(4) as _;
    lock.l_start = given.number(2);
    lock.l_len = given.number(3);
    lock
}

fn set(command: c_int, given: &CallArguments) -> Answer {
    let lock = lock(given);
    ask!(fcntl(given.fd(0), command, std::ptr::from_ref(&lock)))
}

fn get(command: c_int, given: &CallArguments) -> Answer {
    let mut lock = lock(given);
    let answer = ask!(fcntl(given.fd(0), command, std::ptr::from_mut(&mut lock)));
    if answer.errno.is_some() {
        return answer;
    }
    let answer = answer.with("type", word(lock.l_type)).with("whence", lock.l_whence);
    answer.with("start", lock.l_start).with("length", lock.l_len).with("pid", lock.l_pid)
}

fn flock(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let kind = match given.bytes(1) {
        b"sh" => libc::LOCK_SH,
        b"ex" => libc::LOCK_EX,
        _ => libc::LOCK_UN,
    };
    let at_once = if given.has(2) { libc::LOCK_NB } else { 0 };
    Ok(ask!(flock(given.fd(0), kind | at_once)))
}
