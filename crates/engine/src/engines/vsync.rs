//! `vsync`: lseek, then readv or writev; operations that continue each other become one call.
//!
//! What was handed over together is carried out when completions are asked for: a run of reads or of writes on one
//! file, each beginning where the one before ended, is one vector. A vector that comes back short or fails is finished
//! one by one, so that each operation has the result it would have had alone.

use std::os::fd::RawFd;

use iodyno_model::{EngineTrait, Verb};

use super::sync::Seeker;
use super::{Engine, EngineFacts, Failure, Setup};
use crate::clock::{self, Tick};
use crate::io::{AT_END, Files, Io, Slot};
use crate::memory::errno;

/// Vectors that the kernel takes in one call.
const MOST_VECTORS: u32 = 1024;
/// Bytes that one call moves at most.
const MOST_BYTES: u64 = 0x7fff_f000;

/// Seeks and vectored synchronous calls.
pub struct Vsync {
    seeker: Seeker,
    waiting: Vec<Waiting>,
    vectors: Vec<libc::iovec>,
    ready: Vec<(Slot, i64)>,
}

#[derive(Clone, Copy)]
struct Waiting {
    slot: Slot,
    fd: RawFd,
    io: Io,
}

impl Engine for Vsync {
    const FACTS: EngineFacts = EngineFacts {
        about: "readv and writev, one call for each run of adjacent operations",
        most_depth: MOST_VECTORS,
        traits: &[EngineTrait::CountedByBlockLayer],
        ..EngineFacts::named("vsync")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let depth = setup.depth as usize;
        Ok(Vsync {
            seeker: Seeker::new(setup.files.handles.len()),
            waiting: Vec::with_capacity(depth),
            vectors: Vec::with_capacity(depth),
            ready: Vec::with_capacity(depth),
        })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => {
                self.waiting.push(Waiting { slot, fd: files.fd(io.file), io: *io });
            }
            _ => {
                self.carry_out();
                self.ready.push((slot, self.seeker.other(io, files)));
            }
        }
    }

    fn poll(
        &mut self,
        _min: u32,
        _until: Tick,
        mut done: impl FnMut(Slot, i64, Tick),
    ) -> Result<(), Failure> {
        self.carry_out();
        let now = clock::now();
        for (slot, result) in self.ready.drain(..) {
            done(slot, result, now);
        }
        Ok(())
    }
}

impl Vsync {
    fn carry_out(&mut self) {
        let mut first = 0;
        while first < self.waiting.len() {
            let end = first + run_length(&self.waiting[first..]);
            self.transfer(first, end);
            first = end;
        }
        self.waiting.clear();
    }

    /// One call for a run, and one for each operation that it did not finish.
    fn transfer(&mut self, first: usize, end: usize) {
        let mut left = match end - first {
            1 => 0,
            _ => self.call(first, end).max(0) as u64,
        };
        for index in first..end {
            let Waiting { slot, io, .. } = self.waiting[index];
            if left >= io.bytes && end - first > 1 {
                left -= io.bytes;
                self.ready.push((slot, io.bytes as i64));
            } else {
                // What a short call moved of this operation is moved again.
                left = 0;
                let result = self.call(index, index + 1);
                self.ready.push((slot, result));
            }
        }
    }

    fn call(&mut self, first: usize, end: usize) -> i64 {
        self.vectors.clear();
        let vector =
            |one: &Waiting| libc::iovec { iov_base: one.io.buffer.cast(), iov_len: one.io.bytes as usize };
        self.vectors.extend(self.waiting[first..end].iter().map(vector));
        let (start, vectors) = (self.waiting[first], &self.vectors);
        self.seeker.at(start.io.file, start.fd, start.io.offset, |fd| {
            let (list, count) = (vectors.as_ptr(), vectors.len() as libc::c_int);
            // SAFETY: the vectors are valid for the call, and their buffers until their operations complete.
            let moved = unsafe {
                match start.io.verb {
                    Verb::Read => libc::readv(fd, list, count),
                    _ => libc::writev(fd, list, count),
                }
            };
            if moved < 0 { -i64::from(errno()) } else { moved as i64 }
        })
    }
}

/// How many operations continue the first one.
fn run_length(waiting: &[Waiting]) -> usize {
    let mut bytes = waiting[0].io.bytes;
    for (index, pair) in waiting.windows(2).enumerate() {
        let (one, next) = (&pair[0], &pair[1]);
        bytes += next.io.bytes;
        let follows = one.fd == next.fd
            && one.io.verb == next.io.verb
            && one.io.offset.checked_add(one.io.bytes) == Some(next.io.offset);
        if !follows || bytes > MOST_BYTES || index + 1 == MOST_VECTORS as usize {
            return index + 1;
        }
    }
    waiting.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_they_do_not_continue() {
        let at =
            |verb, offset, fd| Waiting { slot: 0, fd, io: Io { verb, offset, bytes: 10, ..Io::default() } };
        let read = |offset| at(Verb::Read, offset, 3);
        assert_eq!(run_length(&[read(0)]), 1);
        assert_eq!(run_length(&[read(0), read(10), read(20), read(40)]), 3);
        assert_eq!(run_length(&[read(0), at(Verb::Write, 10, 3)]), 1);
        assert_eq!(run_length(&[read(0), at(Verb::Read, 10, 4)]), 1);
        assert_eq!(run_length(&[read(20), read(10)]), 1);
    }
}
