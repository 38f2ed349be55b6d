//! `splice`: bytes go between file and memory through a pipe, by splice and vmsplice, without a copy where the kernel
//! can give pages away.
//!
//! What cannot be spliced (a write to a file that is only appended to) is refused by the kernel, and reported so.

use std::os::fd::RawFd;

use iodyno_model::{EngineTrait, Verb};

use super::{EngineFacts, Failure, Setup, SyncEngine};
use crate::call;
use crate::io::{AT_END, Files, Io};
use crate::memory::errno;

/// How much a pipe is asked to hold; it may hold less.
const PIPE_BYTES: libc::c_int = 1 << 20;

/// Bytes through a pipe.
pub struct Splice {
    pipe: Pipe,
}

impl SyncEngine for Splice {
    const FACTS: EngineFacts = EngineFacts {
        about: "splice and vmsplice through a pipe, two calls for each operation",
        is_slow: true,
        traits: &[EngineTrait::OneAtATime],
        ..EngineFacts::named("splice")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        let pipe = Pipe::new().map_err(|errno| Failure::call("pipe2", errno))?;
        Ok(Splice { pipe })
    }

    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        let offset = (io.offset < AT_END).then_some(io.offset);
        match io.verb {
            Verb::Read => self.pipe.read(files.fd(io.file), offset, io.buffer, io.bytes),
            Verb::Write if io.offset != AT_END => {
                self.pipe.write(files.fd(io.file), offset, io.buffer, io.bytes)
            }
            _ => call::perform(io, files),
        }
    }
}

/// A pipe that bytes pass through.
pub struct Pipe {
    reader: RawFd,
    writer: RawFd,
    holds: u64,
}

impl Pipe {
    /// An empty one.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new() -> Result<Self, i32> {
        let mut ends = [-1; 2];
        // SAFETY: the array is valid for writing both descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(errno());
        }
        // SAFETY: the calls take no pointers. A smaller pipe only means more calls.
        let holds = unsafe {
            libc::fcntl(ends[1], libc::F_SETPIPE_SZ, PIPE_BYTES);
            libc::fcntl(ends[1], libc::F_GETPIPE_SZ)
        };
        Ok(Pipe { reader: ends[0], writer: ends[1], holds: holds.max(4096) as u64 })
    }

    /// Bytes from a descriptor into memory. The result is how many, or `-errno` where the first part failed.
    pub(crate) fn read(&mut self, fd: RawFd, offset: Option<u64>, buffer: *mut u8, bytes: u64) -> i64 {
        self.in_parts(bytes, |pipe, moved, part| {
            let taken = splice(fd, at(offset, moved)?, pipe.writer, None, part)?;
            // SAFETY: `moved + taken` is at most the operation's length, for which the buffer is valid.
            let place = unsafe { buffer.add(moved as usize) };
            pipe.memory(pipe.reader, place, taken).map(|()| taken)
        })
    }

    /// Bytes from memory to a descriptor. The result is how many, or `-errno` where the first part failed.
    pub(crate) fn write(&mut self, fd: RawFd, offset: Option<u64>, buffer: *mut u8, bytes: u64) -> i64 {
        self.in_parts(bytes, |pipe, moved, part| {
            // SAFETY: `moved + part` is at most the operation's length, for which the buffer is valid.
            let place = unsafe { buffer.add(moved as usize) };
            let offset = at(offset, moved)?;
            pipe.memory(pipe.writer, place, part)?;
            let mut given = 0;
            while given < part {
                let offset = offset.map(|offset| offset + given as i64);
                match splice(pipe.reader, None, fd, offset, part - given) {
                    Ok(more) if more > 0 => given += more,
                    Ok(_) => break,
                    Err(number) if given == 0 => return Err(number),
                    Err(_) => break,
                }
            }
            Ok(given)
        })
    }

    /// Moves an operation in parts that the pipe holds, until one comes back short.
    fn in_parts(
        &mut self,
        bytes: u64,
        mut part_of: impl FnMut(&mut Pipe, u64, u64) -> Result<u64, i32>,
    ) -> i64 {
        let mut moved = 0;
        loop {
            let part = (bytes - moved).min(self.holds);
            match part_of(self, moved, part) {
                Ok(0) => return moved as i64,
                Ok(more) => moved += more,
                Err(number) => {
                    self.renew();
                    return if moved > 0 { moved as i64 } else { -i64::from(number) };
                }
            }
            if moved == bytes {
                return moved as i64;
            }
        }
    }

    /// All of these bytes between memory and one end of the pipe.
    fn memory(&self, end: RawFd, buffer: *mut u8, bytes: u64) -> Result<(), i32> {
        let mut moved = 0;
        while moved < bytes {
            // SAFETY: `moved` is below `bytes`, for which the caller's buffer is valid.
            let base = unsafe { buffer.add(moved as usize) };
            let vector = libc::iovec { iov_base: base.cast(), iov_len: (bytes - moved) as usize };
            // SAFETY: the vector is valid for the call. Pages lent to the pipe are read before the operation completes.
            match unsafe { libc::vmsplice(end, &raw const vector, 1, 0) } {
                0 => return Err(libc::EIO),
                more @ 1.. => moved += more as u64,
                _ if errno() == libc::EINTR => {}
                _ => return Err(errno()),
            }
        }
        Ok(())
    }

    /// What a failed part left inside must not come out with the next.
    #[cold]
    fn renew(&mut self) {
        if let Ok(new) = Pipe::new() {
            *self = new;
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        call::close(self.reader);
        call::close(self.writer);
    }
}

fn at(offset: Option<u64>, moved: u64) -> Result<Option<i64>, i32> {
    offset
        .map(|offset| offset.checked_add(moved).and_then(|at| i64::try_from(at).ok()).ok_or(libc::EINVAL))
        .transpose()
}

/// One splice between two descriptors, one of them a pipe's end.
fn splice(from: RawFd, at: Option<i64>, to: RawFd, to_at: Option<i64>, bytes: u64) -> Result<u64, i32> {
    let (mut at, mut to_at) = (at, to_at);
    let pointer = |at: &mut Option<i64>| at.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: the offsets are valid for the call, or there are none.
    let moved = unsafe { libc::splice(from, pointer(&mut at), to, pointer(&mut to_at), bytes as usize, 0) };
    if moved < 0 { Err(errno()) } else { Ok(moved as u64) }
}
