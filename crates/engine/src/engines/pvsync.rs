//! `pvsync` and `pvsync2`: preadv2 and pwritev2, one call for each operation, with the flags that only these calls
//! carry.
//!
//! Where the kernel (or the system) has only the older preadv and pwritev they are used, unless a flag was asked for:
//! a flag is never dropped silently. The two names are one engine: people know it by either.

use std::os::fd::RawFd;

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, spec, switched_on, whole_number,
};
use crate::call;
use crate::io::{AT_END, AT_POSITION, Files, Io};
use crate::memory::errno;
use crate::random::Random;

/// The settings and the per-call flags they stand for, as the kernel numbers them.
const FLAGS: [(&str, i32); 4] = [("hipri", HIPRI), ("nowait", 0x08), ("atomic", 0x40), ("uncached", 0x80)];
/// Polls the device.
const HIPRI: i32 = 0x01;
/// The flags that a read may carry: an atomic read is refused by the kernel.
#[cfg(target_os = "linux")]
const READ_FLAGS: i32 = !0x40;

/// Vectored, positioned, synchronous calls.
pub struct VectoredCalls<const SECOND: bool> {
    /// The flags of each call, where there is preadv2 at all.
    flags: Option<i32>,
    /// Where only a part of the operations polls: in percent, and the draws.
    polls: Option<(u64, Random)>,
}

/// The engine by its first name.
pub type Pvsync = VectoredCalls<false>;
/// The engine by its second name.
pub type Pvsync2 = VectoredCalls<true>;

impl<const SECOND: bool> SyncEngine for VectoredCalls<SECOND> {
    const FACTS: EngineFacts = EngineFacts {
        about: "preadv2 and pwritev2, one call for each operation, with their flags",
        settings: &[
            spec("hipri", "poll the device for the completion (RWF_HIPRI); needs direct I/O"),
            spec("hipri_percentage", "how many of the operations poll, with hipri, in percent (default 100)"),
            spec("nowait", "fail with EAGAIN rather than block (RWF_NOWAIT)"),
            spec("uncached", "drop the pages from the cache afterwards (RWF_DONTCACHE)"),
            spec("atomic", "a write is never torn by a power cut (RWF_ATOMIC)"),
        ],
        takes_turns: true,
        check: Self::check,
        traits: if SECOND {
            &[EngineTrait::CountedByBlockLayer]
        } else {
            &[EngineTrait::CountedByBlockLayer, EngineTrait::OneAtATime]
        },
        ..EngineFacts::named(if SECOND { "pvsync2" } else { "pvsync" })
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let wanted = FLAGS.iter().filter(|(name, _)| switched_on(setup.job, name));
        let flags = wanted.fold(0, |flags, (_, flag)| flags | flag);
        let second = has_second();
        if flags != 0 && !second {
            let hint = "leave out hipri, nowait, uncached and atomic, or use a newer kernel";
            return Err(Failure::new("this system has no preadv2, which carries the flags").hint(hint));
        }
        let random = Random::from_seed(setup.seed, u64::from(setup.worker));
        let part = whole_number(setup.job, "hipri_percentage").filter(|percent| *percent < 100);
        let polls = part.filter(|_| flags & HIPRI != 0).map(|percent| (percent, random));
        Ok(VectoredCalls { flags: second.then_some(flags), polls })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        if self.polls.is_some() {
            self.draw_polling();
        }
        match io.verb {
            Verb::Read => self.read(io, files.fd(io.file)),
            Verb::Write => self.write(io, files.fd(io.file)),
            _ => call::perform(io, files),
        }
    }
}

impl<const SECOND: bool> VectoredCalls<SECOND> {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = check_switches(job, &FLAGS.map(|(name, _)| name));
        let percent = |value: &str| value.parse::<u64>().is_ok_and(|percent| percent <= 100);
        wrong.extend(check_values(job, &["hipri_percentage"], percent, "say 0 to 100"));
        wrong
    }

    #[inline(never)]
    fn draw_polling(&mut self) {
        if let (Some((percent, random)), Some(flags)) = (&mut self.polls, &mut self.flags) {
            let polls = random.below(100) < *percent;
            *flags = if polls { *flags | HIPRI } else { *flags & !HIPRI };
        }
    }

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
                (AT_END, _) => return call::transfer(io, fd),
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
