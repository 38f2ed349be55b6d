//! Looks for files: every entry below a directory is looked at by one worker, those that match are counted.
//!
//! An operation is one entry (pattern: readdir, as a stream; the end of the walk ends the worker). Workers divide a
//! tree without talking to each other, on however many ranks they are: directories near the root are listed by all of
//! them and each looks at its share of what is in them, by name; directories further down are dealt out, each with all
//! that is below it. Links are not followed. A tree that changes meanwhile is walked as it is found.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine, check_values, only_verbs, setting, spec};
use crate::io::{Files, Io};
use crate::memory::{clear_errno, errno};

/// Directories less deep than this are listed by every worker.
const SHARED_LEVELS: u32 = 3;

/// The walk of one worker.
pub struct Find {
    wanted: MatchCriteria,
    mine: DirectoryShare,
    /// Directories that are still to be listed, below the root; `None` until the walk has begun.
    ahead: Option<Vec<Ahead>>,
    /// What was listed and not yet looked at, the last first.
    entries: Vec<CString>,
    /// The directory that they are in.
    here: Option<(RawFd, Ahead)>,
    /// Border directories that were met so far.
    dealt: u64,
    matches: u64,
    directories: u64,
}

/// A directory that is still to be listed.
#[derive(Clone, Debug, Default)]
struct Ahead {
    path: String,
    level: u32,
}

/// What a file must be to match.
#[derive(Debug, Default)]
struct MatchCriteria {
    /// Changed after this, s and ns since 1970.
    newer: Option<(i64, i64)>,
    bytes: Option<u64>,
    /// Parts of the name, in this order; from the beginning and to the end where the ends are not open.
    name: Option<Vec<String>>,
}

/// The part of one worker in what all share.
#[derive(Clone, Copy, Debug)]
struct DirectoryShare {
    worker: u64,
    workers: u64,
}

impl SyncEngine for Find {
    const FACTS: EngineFacts = EngineFacts {
        about: "walks directories and counts the files that match",
        verbs: VerbSet::of(&[Verb::Readdir]),
        settings: &[
            spec("newer_unix_ns", "only files changed after this time, ns since 1970"),
            spec("bytes", "only files of exactly this size"),
            spec("name", "only names like this; * stands for anything (*01*)"),
        ],
        is_slow: true,
        check: Self::check,
        ..EngineFacts::named("find")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let whole = |name| setting(setup.job, name).and_then(|value| value.parse::<u64>().ok());
        let split = |ns: u64| ((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        let parts = |name: &str| name.split('*').map(String::from).collect();
        Ok(Find {
            wanted: MatchCriteria {
                newer: whole("newer_unix_ns").map(split),
                bytes: whole("bytes"),
                name: setting(setup.job, "name").map(parts),
            },
            mine: DirectoryShare { worker: setup.seat.into(), workers: setup.seats.max(1).into() },
            ahead: None,
            entries: Vec::new(),
            here: None,
            dealt: 0,
            matches: 0,
            directories: 0,
        })
    }

    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        self.next(files.fd(io.file))
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        vec![("matches", self.matches), ("directories", self.directories)]
    }
}

impl Find {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = only_verbs(job, Self::FACTS.name, &[Verb::Readdir]);
        let whole = |value: &str| value.parse::<u64>().is_ok();
        wrong.extend(check_values(job, &["newer_unix_ns", "bytes"], whole, "expected a whole number"));
        wrong
    }

    /// Looks at the next entry: 1; 0 at the end of the walk; or the negated error number.
    fn next(&mut self, root: RawFd) -> i64 {
        let begin = || vec![Ahead::default()];
        self.ahead.get_or_insert_with(begin);
        loop {
            while let Some(name) = self.entries.pop() {
                if let Some(result) = self.look(&name) {
                    return result;
                }
            }
            self.leave();
            let Some(next) = self.ahead.as_mut().and_then(Vec::pop) else { return 0 };
            if let Err(number) = self.enter(root, next) {
                return -i64::from(number);
            }
        }
    }

    /// Opens and lists a directory.
    fn enter(&mut self, root: RawFd, next: Ahead) -> Result<(), i32> {
        let path = if next.path.is_empty() { "." } else { &next.path };
        let path = CString::new(path).map_err(|_| libc::EINVAL)?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the path is zero-terminated and lives until after the call.
        let fd = unsafe { libc::openat(root, path.as_ptr(), flags) };
        if fd < 0 {
            return Err(errno());
        }
        self.directories += 1;
        let level = next.level;
        self.here = Some((fd, next));
        self.entries = list(fd)?;
        if level < SHARED_LEVELS {
            // Whoever deals must see the same order.
            self.entries.sort_unstable_by(|a, b| b.cmp(a));
        }
        Ok(())
    }

    fn leave(&mut self) {
        if let Some((fd, _)) = self.here.take() {
            crate::call::close(fd);
        }
    }

    /// Looks at one entry; nothing: it is another worker's.
    fn look(&mut self, name: &CStr) -> Option<i64> {
        let (fd, here) = self.here.as_ref()?;
        let shared = here.level < SHARED_LEVELS;
        let own = !shared || hash(name) % self.mine.workers == self.mine.worker;
        let facts = match attributes(*fd, name) {
            Ok(facts) => facts,
            // What was there when it was listed may be gone.
            Err(libc::ENOENT) => return None,
            Err(number) => return own.then_some(-i64::from(number)),
        };
        let text = name.to_string_lossy();
        if facts.st_mode & libc::S_IFMT == libc::S_IFDIR {
            let path = if here.path.is_empty() { text.into() } else { format!("{}/{text}", here.path) };
            let level = here.level + 1;
            if self.takes(level) {
                self.ahead.get_or_insert_default().push(Ahead { path, level });
            }
        } else if own && self.wanted.is_met(&text, &facts) {
            self.matches += 1;
        }
        own.then_some(1)
    }

    /// Whether this worker goes into a directory: those at the border are dealt out.
    fn takes(&mut self, level: u32) -> bool {
        if level != SHARED_LEVELS {
            return true;
        }
        let number = self.dealt;
        self.dealt += 1;
        number % self.mine.workers == self.mine.worker
    }
}

impl Drop for Find {
    fn drop(&mut self) {
        self.leave();
    }
}

impl MatchCriteria {
    #[allow(clippy::unnecessary_cast)]
    fn is_met(&self, name: &str, facts: &libc::stat) -> bool {
        let changed = (facts.st_mtime as i64, facts.st_mtime_nsec as i64);
        facts.st_mode & libc::S_IFMT == libc::S_IFREG
            && self.bytes.is_none_or(|bytes| facts.st_size as u64 == bytes)
            && self.newer.is_none_or(|newer| changed > newer)
            && self.name.as_ref().is_none_or(|parts| is_like(name, parts))
    }
}

/// Whether a name has these parts in this order, with anything between them.
fn is_like(name: &str, parts: &[String]) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_none_or(|only| only == name);
    };
    let Some(mut rest) = name.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    middle.iter().all(|part| match rest.split_once(part.as_str()) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => part.is_empty(),
    })
}

fn hash(name: &CStr) -> u64 {
    name.to_bytes().iter().fold(0, |hash, byte| crate::random::mix(hash ^ u64::from(*byte)))
}

/// The names in a directory, without itself and the one above.
fn list(fd: RawFd) -> Result<Vec<CString>, i32> {
    // SAFETY: the call takes no pointers. The stream owns what it is given.
    let own = unsafe { libc::dup(fd) };
    // SAFETY: the descriptor is ours.
    let stream = unsafe { libc::fdopendir(own) };
    if stream.is_null() {
        let number = errno();
        crate::call::close(own);
        return Err(number);
    }
    let mut names = Vec::new();
    let number = loop {
        clear_errno();
        // SAFETY: the stream is open; an entry lives until the next call.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            break errno();
        }
        // SAFETY: the name is zero-terminated and lies within the entry.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    };
    // SAFETY: the stream is open and is closed once.
    unsafe { libc::closedir(stream) };
    if number == 0 { Ok(names) } else { Err(number) }
}

fn attributes(fd: RawFd, name: &CStr) -> Result<libc::stat, i32> {
    let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the name is zero-terminated, and the structure is read only when the call filled it.
    unsafe {
        match libc::fstatat(fd, name.as_ptr(), facts.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) {
            0 => Ok(facts.assume_init()),
            _ => Err(errno()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let like = |name: &str, pattern: &str| {
            is_like(name, &pattern.split('*').map(String::from).collect::<Vec<_>>())
        };
        assert!(like("file.mdtest.01.7", "*01*") && like("x01", "*01*") && like("01", "*01*"));
        assert!(!like("file.mdtest.1.0", "*01*") && !like("0x1", "*01*"));
        assert!(like("abc", "abc") && !like("abcd", "abc"));
        assert!(like("abxcd", "ab*cd") && like("abcd", "ab*cd") && !like("abc", "ab*cd"));
        assert!(!like("aba", "ab*ba") && like("a1b2c", "a*b*c") && !like("a1c2b", "a*b*c"));
    }
}
