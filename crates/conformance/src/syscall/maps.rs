//! Mapped files. A fault is an answer: `SIGBUS` or `SIGSEGV`.
//!
//! Memory is touched by a child first, which shares the mapping: where the child dies of a fault, that is the answer, and
//! this process never meets it. What is written to a shared mapping the child writes; to a private one this process does,
//! after it, because a child's pages are its own there.

use super::Answer;
use super::fd_table::{Hands, HeldDescriptor, MappedPart};
use super::flags::{MAP, MSYNC, PROT};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Fd, Flags, Number, Text};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb(
        "mmap",
        &[Fd, Number, Number, Flags(PROT), Flags(MAP)],
        "FD OFFSET LENGTH PROT FLAGS: maps a part of a file",
        mmap,
    ),
    verb("mread", &[ArgumentKind::Held, Number, Number], "MAP OFFSET LENGTH: says what is there", mread),
    verb("mwrite", &[ArgumentKind::Held, Number, Text], "MAP OFFSET TEXT: writes there", mwrite),
    verb(
        "msync",
        &[ArgumentKind::Held, Flags(MSYNC)],
        "MAP FLAGS: brings what was written to the file",
        |hands, given| {
            Ok(match hands.at(given.held(0)) {
                HeldDescriptor::MappedPart(map) => {
                    ask!(msync(map.address as *mut libc::c_void, map.length, given.int(1)))
                }
                _ => Answer::failed(libc::ENOMEM),
            })
        },
    ),
    verb("munmap", &[ArgumentKind::Held], "MAP: lets a mapping go", |hands, given| {
        Ok(hands.drop_at(given.held(0)))
    }),
];

fn mmap(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (length, offset) = (given.number(2) as usize, given.number(1));
    let (protection, flags) = (given.int(3), given.int(4));
    if flags & libc::MAP_FIXED != 0 {
        return Err("`MAP_FIXED`: nobody can say where, and what is there is the program".into());
    }
    // SAFETY: the kernel chooses a place where nothing is.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, given.fd(0), offset) };
    if address == libc::MAP_FAILED {
        return Ok(Answer::last());
    }
    let shared = flags & libc::MAP_SHARED != 0;
    hands.hold(
        &given.label,
        HeldDescriptor::MappedPart(MappedPart { address: address as usize, length, shared }),
    );
    Ok(Answer::default())
}

/// The part of a mapping that is meant; nothing if it is gone, which is a fault.
fn part(hands: &Hands, given: &CallArguments, length: usize) -> Result<Option<(MappedPart, usize)>, String> {
    match hands.at(given.held(0)) {
        HeldDescriptor::MappedPart(map) => {
            let offset = usize::try_from(given.number(1)).ok();
            let inside =
                offset.filter(|offset| offset.checked_add(length).is_some_and(|end| end <= map.whole()));
            let offset = inside
                .ok_or_else(|| format!("that is outside of the {} bytes that are mapped", map.whole()))?;
            Ok(Some((map, map.address + offset)))
        }
        HeldDescriptor::Gone => Ok(None),
        _ => Err("is no mapping".into()),
    }
}

impl MappedPart {
    /// Its length in whole pages: what belongs to it beyond the length asked for.
    fn whole(&self) -> usize {
        // SAFETY: takes no pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
        self.length.div_ceil(page) * page
    }
}

fn mread(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let length = given.number(2);
    let length = usize::try_from(length).map_err(|_| format!("{length} bytes: expected at least 0"))?;
    let Some((_, start)) = part(hands, given, length)? else { return Ok(Answer::failed(-libc::SIGSEGV)) };
    let touch = || {
        for offset in 0..length {
            // SAFETY: within a mapping of the hands; the child may die of it.
            unsafe { ((start + offset) as *const u8).read_volatile() };
        }
    };
    if let Some(fault) = dared(touch) {
        return Ok(fault);
    }
    // SAFETY: within a mapping of the hands, which a child just read.
    let bytes: Vec<u8> =
        (0..length).map(|offset| unsafe { ((start + offset) as *const u8).read_volatile() }).collect();
    Ok(Answer::said(text(&bytes)).with("count", length))
}

fn mwrite(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let bytes = given.bytes(2);
    let Some((map, start)) = part(hands, given, bytes.len())? else {
        return Ok(Answer::failed(-libc::SIGSEGV));
    };
    let write = || {
        for (offset, byte) in bytes.iter().enumerate() {
            // SAFETY: within a mapping of the hands; a child that may die of it, or after one that did not.
            unsafe { ((start + offset) as *mut u8).write_volatile(*byte) };
        }
    };
    if let Some(fault) = dared(write) {
        return Ok(fault);
    }
    if !map.shared {
        write();
    }
    Ok(Answer::default().with("count", bytes.len()))
}

/// Lets a child do it; the answer, if it died of a fault.
fn dared(work: impl Fn()) -> Option<Answer> {
    // SAFETY: the child does nothing but touch memory and end.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Some(Answer::last());
    }
    if child == 0 {
        quiet();
        work();
        // SAFETY: ends the child without any of the parent's business.
        unsafe { libc::_exit(0) };
    }
    match super::processes::outcome(child) {
        Ok(status) if libc::WIFSIGNALED(status) => Some(Answer::failed(-libc::WTERMSIG(status))),
        Ok(_) => None,
        Err(errno) => Some(Answer::failed(errno)),
    }
}

/// Faults end this process at once, and leave no image of it.
fn quiet() {
    for signal in [libc::SIGBUS, libc::SIGSEGV] {
        // SAFETY: the default is always there.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limits outlive the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    #[cfg(target_os = "linux")]
    // SAFETY: takes no pointers.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0 as libc::c_int, 0, 0, 0)
    };
}
