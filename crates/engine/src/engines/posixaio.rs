//! `posixaio`: the portable asynchronous interface of the C library.
//!
//! In glibc it is a pool of threads that serialises operations on one descriptor, so depth helps only across files;
//! on FreeBSD and macOS the kernel does it. Reads, writes and syncs at an offset are asynchronous; everything else is
//! carried out by `call` at once.

use iodyno_model::{EngineTrait, Verb, VerbSet};

use super::{Engine, EngineFacts, Failure, Setup};
use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::io::{AT_END, Files, Io, Slot};
use crate::memory::errno;

/// The longest wait at once while operations are held back for want of room, ns.
const RETRY_NS: u64 = 1_000_000;

/// The C library's asynchronous I/O.
pub struct Posixaio {
    blocks: Box<[libc::aiocb]>,
    verbs: Box<[Verb]>,
    /// The control block of each slot that is in flight, else null: what `aio_suspend` wants.
    active: Box<[*const libc::aiocb]>,
    in_flight: u32,
    /// Completions taken in one go, at most; where more are asked for, in several.
    most: u32,
    /// Refused for want of room; tried again in the next poll.
    held_back: Vec<Slot>,
    /// Carried out by `call`, or refused.
    ready: Vec<(Slot, i64)>,
}

impl Engine for Posixaio {
    const FACTS: EngineFacts = EngineFacts {
        about: "aio_read and aio_write of the C library (glibc: threads, serial on one file)",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync]),
        submits: true,
        reaps_parts: true,
        most_depth: 1024,
        traits: &[EngineTrait::CountedByBlockLayer],
        ..EngineFacts::named("posixaio")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let depth = setup.depth as usize;
        // SAFETY: the control block consists of numbers and pointers, for which zero is a value.
        let block = || unsafe { std::mem::zeroed::<libc::aiocb>() };
        Ok(Posixaio {
            blocks: (0..depth).map(|_| block()).collect(),
            verbs: vec![Verb::Read; depth].into(),
            active: vec![std::ptr::null(); depth].into(),
            in_flight: 0,
            most: match setup.job.depth.reap_most {
                0 => u32::MAX,
                most => most,
            },
            held_back: Vec::with_capacity(depth),
            ready: Vec::with_capacity(depth),
        })
    }

    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => {}
            Verb::Fsync | Verb::Fdatasync => {}
            _ => return self.ready.push((slot, call::perform(io, files))),
        }
        let block = &mut self.blocks[slot as usize];
        block.aio_fildes = files.fd(io.file);
        block.aio_buf = io.buffer.cast();
        block.aio_nbytes = io.bytes as usize;
        block.aio_offset = io.offset as libc::off_t;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.verbs[slot as usize] = io.verb;
        self.hand_over(slot);
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let mut count = 0;
        loop {
            for _ in 0..self.held_back.len() {
                let slot = self.held_back.remove(0);
                self.hand_over(slot);
            }
            count += self.reap(self.most, &mut done);
            if count >= min || (self.in_flight == 0 && self.held_back.is_empty()) {
                return Ok(());
            }
            if until != NEVER && clock::now() >= until {
                return Ok(());
            }
            self.wait(until)?;
        }
    }
}

impl Posixaio {
    fn hand_over(&mut self, slot: Slot) {
        let block = &raw mut self.blocks[slot as usize];
        // SAFETY: the control block and the buffer stay where they are until the operation completes; drop waits.
        let value = unsafe {
            match self.verbs[slot as usize] {
                Verb::Read => libc::aio_read(block),
                Verb::Write => libc::aio_write(block),
                Verb::Fdatasync => libc::aio_fsync(DATA_SYNC, block),
                _ => libc::aio_fsync(libc::O_SYNC, block),
            }
        };
        match if value == 0 { 0 } else { errno() } {
            0 => {
                self.active[slot as usize] = block;
                self.in_flight += 1;
            }
            // Something of ours (or of another process) must complete first.
            libc::EAGAIN => self.held_back.push(slot),
            number => self.ready.push((slot, -i64::from(number))),
        }
    }

    /// Takes the completions that are there, so many at most.
    fn reap(&mut self, most: u32, done: &mut impl FnMut(Slot, i64, Tick)) -> u32 {
        let mut count = (self.ready.len() as u32).min(most);
        let mut reaped = (count > 0).then(clock::now);
        let ready = self.ready.drain(..count as usize);
        ready.for_each(|(slot, result)| done(slot, result, reaped.unwrap_or_default()));
        for slot in 0..self.active.len() {
            if count == most {
                break;
            }
            if self.active[slot].is_null() {
                continue;
            }
            let block = &raw mut self.blocks[slot];
            // SAFETY: the control block is that of an operation handed over and not yet taken back.
            let state = unsafe { libc::aio_error(block) };
            if state == libc::EINPROGRESS {
                continue;
            }
            // SAFETY: as above; its state is final, and it is taken back once.
            let value = unsafe { libc::aio_return(block) };
            self.active[slot] = std::ptr::null();
            self.in_flight -= 1;
            count += 1;
            // The clock is read after the first completion is seen, so that no latency is too short.
            let now = *reaped.get_or_insert_with(clock::now);
            done(slot as Slot, if state == 0 { value as i64 } else { -i64::from(state) }, now);
        }
        count
    }

    /// Waits for any completion, a signal, or the time.
    fn wait(&self, until: Tick) -> Result<(), Failure> {
        let left = until.saturating_sub(clock::now());
        let left = if self.held_back.is_empty() { left } else { left.min(RETRY_NS) };
        if self.in_flight == 0 {
            clock::sleep_ns(left);
            return Ok(());
        }
        let (seconds, ns) = (left / 1_000_000_000, left % 1_000_000_000);
        let time = libc::timespec { tv_sec: seconds as _, tv_nsec: ns as _ };
        let time_out =
            if until == NEVER && self.held_back.is_empty() { std::ptr::null() } else { &raw const time };
        // SAFETY: the list holds control blocks of operations in flight, or nothing.
        let value = unsafe { libc::aio_suspend(self.active.as_ptr(), self.active.len() as i32, time_out) };
        match if value == 0 { 0 } else { errno() } {
            0 | libc::EAGAIN | libc::EINTR => Ok(()),
            number => Err(Failure::call("aio_suspend", number)),
        }
    }
}

impl Drop for Posixaio {
    /// Waits for what is in flight: buffers are released afterwards.
    fn drop(&mut self) {
        self.held_back.clear();
        while self.in_flight > 0 && self.wait(NEVER).is_ok() {
            self.reap(u32::MAX, &mut |_, _, _| ());
        }
    }
}

#[cfg(not(target_os = "macos"))]
const DATA_SYNC: libc::c_int = libc::O_DSYNC;
#[cfg(target_os = "macos")]
const DATA_SYNC: libc::c_int = libc::O_SYNC;
