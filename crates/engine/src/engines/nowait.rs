//! `nowait`: preadv2 with RWF_NOWAIT first, and a plain call where the page cache does not hold all of it.
//!
//! It distinguishes reads of the cache from reads of the storage one by one: each is counted as done at once, or as waited for. It
//! refuses nothing that psync does: writes and all other verbs are plain calls.

use super::{EngineFacts, Failure, Setup, SyncEngine};
use crate::call;
use crate::io::{AT_POSITION, Files, Io};
use iodyno_model::{EngineTrait, Verb};

/// Calls that first ask whether they would wait.
#[derive(Default)]
pub struct Nowait {
    at_once: u64,
    waited: u64,
}

impl SyncEngine for Nowait {
    const FACTS: EngineFacts = EngineFacts {
        about: "preadv2 with RWF_NOWAIT, then pread where that would wait; counts both",
        performs: true,
        traits: &[EngineTrait::CountedByBlockLayer, EngineTrait::OneAtATime],
        ..EngineFacts::named("nowait")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Nowait::default())
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        vec![("reads_at_once", self.at_once), ("reads_waited", self.waited)]
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        if io.verb != Verb::Read || io.offset == AT_POSITION {
            return call::perform(io, files);
        }
        let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.bytes as usize };
        // SAFETY: the vector is valid for the call, and its buffer until the operation completes, which is here.
        let got = unsafe {
            libc::preadv2(files.fd(io.file), &raw const vector, 1, io.offset as i64, libc::RWF_NOWAIT)
        };
        // A part may be there, and a file system may not know the flag: the plain call decides.
        if got == io.bytes as isize {
            self.at_once += 1;
            return got as i64;
        }
        self.waited += 1;
        call::perform(io, files)
    }
}
