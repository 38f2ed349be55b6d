//! `pvsync`: preadv2 and pwritev2, one call for each operation, with the flags that only these calls carry.
//!
//! Where the kernel (or the system) has only the older preadv and pwritev they are used, unless a flag was asked for:
//! a flag is never dropped silently.

use std::os::fd::RawFd;

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::{Engine, Failure, SettingSpec, Setup, Single, check_switches, switched_on};
use crate::call;
use crate::clock::Tick;
use crate::io::{AT_POSITION, Files, Io, Slot};
use crate::memory::errno;

/// The settings and the per-call flags they stand for, as the kernel numbers them.
const FLAGS: [(&str, i32); 4] = [("hipri", 0x01), ("nowait", 0x08), ("atomic", 0x40), ("uncached", 0x80)];
/// The flags that a read may carry: an atomic read is refused by the kernel.
#[cfg(target_os = "linux")]
const READ_FLAGS: i32 = !0x40;

/// Vectored, positioned, synchronous calls.
pub struct Pvsync {
    done: Single,
    /// The flags of each call, where there is preadv2 at all.
    flags: Option<i32>,
}

impl Engine for Pvsync {
    const NAME: &'static str = "pvsync";
    const ABOUT: &'static str = "preadv2 and pwritev2, one call for each operation, with their flags";
    const VERBS: VerbSet = VerbSet::ALL;
    const SETTINGS: &'static [SettingSpec] = &[
        SettingSpec {
            name: "hipri",
            help: "poll the device for the completion (RWF_HIPRI); needs direct I/O",
        },
        SettingSpec { name: "nowait", help: "fail with EAGAIN rather than block (RWF_NOWAIT)" },
        SettingSpec { name: "uncached", help: "drop the pages from the cache afterwards (RWF_DONTCACHE)" },
        SettingSpec { name: "atomic", help: "a write is never torn by a power cut (RWF_ATOMIC)" },
    ];
    const MOST_DEPTH: u32 = 1;

    fn check(job: &Job) -> Vec<Diagnostic> {
        check_switches(job, &FLAGS.map(|(name, _)| name))
    }

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let wanted = FLAGS.iter().filter(|(name, _)| switched_on(setup.job, name));
        let flags = wanted.fold(0, |flags, (_, flag)| flags | flag);
        let second = has_second();
        if flags != 0 && !second {
            let hint = "leave out hipri, nowait, uncached and atomic, or use a newer kernel";
            return Err(Failure::new("this system has no preadv2, which carries the flags").hint(hint));
        }
        Ok(Pvsync { done: Single::default(), flags: second.then_some(flags) })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        let result = match io.verb {
            Verb::Read => self.read(io, files.fd(io.file)),
            Verb::Write => self.write(io, files.fd(io.file)),
            _ => call::perform(io, files),
        };
        self.done.keep(slot, result);
    }

    #[inline(always)]
    fn poll(&mut self, _min: u32, _until: Tick, done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        self.done.hand_back(done);
        Ok(())
    }
}

impl Pvsync {
    #[inline(always)]
    fn read(&self, io: &Io, fd: RawFd) -> i64 {
        let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.bytes as usize };
        // SAFETY: the vector is valid for the call and its buffer until the operation completes, which is here.
        result(unsafe {
            match (io.offset, self.flags) {
                #[cfg(target_os = "linux")]
                (offset, Some(flags)) => {
                    libc::preadv2(fd, &raw const vector, 1, offset as i64, flags & READ_FLAGS)
                }
                (AT_POSITION, _) => libc::readv(fd, &raw const vector, 1),
                (offset, _) => libc::preadv(fd, &raw const vector, 1, offset as libc::off_t),
            }
        })
    }

    #[inline(always)]
    fn write(&self, io: &Io, fd: RawFd) -> i64 {
        let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.bytes as usize };
        // SAFETY: the vector is valid for the call and its buffer until the operation completes, which is here.
        result(unsafe {
            match (io.offset, self.flags) {
                #[cfg(target_os = "linux")]
                (offset, Some(flags)) => libc::pwritev2(fd, &raw const vector, 1, offset as i64, flags),
                (AT_POSITION, _) => libc::writev(fd, &raw const vector, 1),
                (offset, _) => libc::pwritev(fd, &raw const vector, 1, offset as libc::off_t),
            }
        })
    }
}

#[inline(always)]
fn result(value: isize) -> i64 {
    if value < 0 { -i64::from(errno()) } else { value as i64 }
}

/// Whether the kernel knows preadv2: then it complains about the descriptor, not about the call.
#[cfg(target_os = "linux")]
fn has_second() -> bool {
    let mut byte = 0u8;
    let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the vector is valid for the call; descriptor -1 makes it fail.
    let value = unsafe { libc::preadv2(-1, &raw const vector, 1, 0, 0) };
    value < 0 && errno() != libc::ENOSYS
}

#[cfg(not(target_os = "linux"))]
fn has_second() -> bool {
    false
}
