//! The engines of names: `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`. One call on one
//! item for each operation, and that call alone is timed.
//!
//! What `psync` does with the same verbs counts the close of a created file as part of the operation; here it comes
//! after. Each engine takes its own verb only.

use std::os::fd::RawFd;

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine, check_values, only_verbs, setting, spec};
use crate::call;
use crate::clock::Tick;
use crate::io::{Files, Io, PathBuffer};
use crate::memory::errno;

/// `filecreate`.
pub type Filecreate = NameEngine<0>;
/// `filestat`.
pub type Filestat = NameEngine<1>;
/// `filedelete`.
pub type Filedelete = NameEngine<2>;
/// `dircreate`.
pub type Dircreate = NameEngine<3>;
/// `dirstat`.
pub type Dirstat = NameEngine<4>;
/// `dirdelete`.
pub type Dirdelete = NameEngine<5>;

/// Name, what it does, its verb.
const KINDS: [(&str, &str, Verb); 6] = [
    ("filecreate", "makes one file for each operation; the open alone is timed", Verb::Create),
    ("filestat", "looks up one file's attributes for each operation", Verb::Stat),
    ("filedelete", "removes one file for each operation", Verb::Unlink),
    ("dircreate", "makes one directory for each operation", Verb::Mkdir),
    ("dirstat", "looks up one directory's attributes for each operation", Verb::Stat),
    ("dirdelete", "removes one directory for each operation", Verb::Rmdir),
];

/// How a file is made: one that is there already is opened.
const MAKE_FLAGS: libc::c_int = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC;

/// How attributes are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Stat,
    Lstat,
    Statx,
}

/// One call on one name.
pub struct NameEngine<const KIND: usize> {
    /// Closed once the operation was handed back.
    made: RawFd,
    ask: Ask,
}

impl<const KIND: usize> SyncEngine for NameEngine<KIND> {
    const FACTS: EngineFacts = EngineFacts {
        about: KINDS[KIND].1,
        verbs: VerbSet::of(&[KINDS[KIND].2]),
        settings: match KINDS[KIND].2 {
            Verb::Stat => {
                &[spec("stat_type", "stat, lstat or statx: the call that asks for attributes (default stat)")]
            }
            _ => &[],
        },
        is_slow: true,
        check: Self::check,
        ..EngineFacts::named(KINDS[KIND].0)
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let ask = match setting(setup.job, "stat_type") {
            Some("lstat") => Ask::Lstat,
            Some("statx") => Ask::Statx,
            _ => Ask::Stat,
        };
        Ok(NameEngine { made: -1, ask })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        match (io.verb, self.ask) {
            (Verb::Create, _) => self.make(io, files),
            (Verb::Stat, Ask::Lstat) => call::perform(&Io { verb: Verb::Lstat, ..*io }, files),
            (Verb::Stat, Ask::Statx) => extended_attributes(io, files),
            _ => call::perform(io, files),
        }
    }

    #[inline(always)]
    fn after_operation(&mut self, _until: Tick) {
        if self.made >= 0 {
            call::close(std::mem::replace(&mut self.made, -1));
        }
    }
}

impl<const KIND: usize> NameEngine<KIND> {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = only_verbs(job, Self::FACTS.name, &[KINDS[KIND].2]);
        let known = |value: &str| matches!(value, "stat" | "lstat" | "statx");
        wrong.extend(check_values(job, &["stat_type"], known, "say stat, lstat or statx"));
        wrong
    }

    fn make(&mut self, io: &Io, files: &Files) -> i64 {
        let handle = &files.handles[io.file as usize];
        let Some(names) = &handle.names else { return -i64::from(libc::ENOTDIR) };
        let mut buffer = PathBuffer::default();
        let path = names.path(io.offset, &mut buffer).as_ptr();
        let mode = names.permissions.unwrap_or(0o600) as libc::c_uint;
        // SAFETY: the path is zero-terminated and lives until after the call.
        self.made = unsafe { libc::openat(handle.fd, path, MAKE_FLAGS, mode) };
        if self.made < 0 { -i64::from(errno()) } else { 0 }
    }
}

impl<const KIND: usize> Drop for NameEngine<KIND> {
    fn drop(&mut self) {
        if self.made >= 0 {
            call::close(self.made);
        }
    }
}

#[cfg(target_os = "linux")]
fn extended_attributes(io: &Io, files: &mut Files) -> i64 {
    let handle = &files.handles[io.file as usize];
    let Some(names) = &handle.names else { return -i64::from(libc::ENOTDIR) };
    let mut buffer = PathBuffer::default();
    let path = names.path(io.offset, &mut buffer).as_ptr();
    let mut about = std::mem::MaybeUninit::<libc::statx>::uninit();
    // SAFETY: the path is zero-terminated, and the structure is valid for writing.
    let value = unsafe { libc::statx(handle.fd, path, 0, libc::STATX_BASIC_STATS, about.as_mut_ptr()) };
    if value < 0 { -i64::from(errno()) } else { 0 }
}

#[cfg(not(target_os = "linux"))]
fn extended_attributes(io: &Io, files: &mut Files) -> i64 {
    call::perform(io, files)
}
