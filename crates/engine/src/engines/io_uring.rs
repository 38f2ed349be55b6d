//! `io_uring`: Linux's rings. Operations are written into a ring that the kernel reads, and completions are taken from
//! a ring that it writes: one system call for each batch, or none with a polling kernel thread.
//!
//! Reads, writes, syncs, and the usual verbs on names and descriptors are the ring's own where the kernel has them (and
//! the ring does not poll the device); everything else is carried out by `call` at once. An option that was asked for
//! and cannot be had is an error; only what nobody asked for falls back silently.

use std::cell::Cell;
use std::os::fd::RawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use iodyno_model::{Diagnostic, EngineTrait, Job, Verb, VerbSet};

use super::priority;
use super::{Engine, EngineFacts, Failure, Setup, check_switches, check_values, spec, switched_on};
use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::facts::joined;
use crate::io::{AT_END, DIRECTORY, DURABLE, Files, Handle, Io, KEEP, PathBuffer, READ_BACK, Slot};

mod extras;
mod setup;
mod transfer;

use extras::Extras;
use setup::{NATIVE, build, forbidden, native_verbs, refused, tolerate};
use transfer::{READS, Transfer, WRITES};

/// Bytes that one read or write moves at most, as the kernel cuts them.
const MOST_BYTES: u64 = 0x7fff_f000;
/// In an operation's user data: the result is a descriptor that is closed again.
const THEN_CLOSE: u64 = 1 << 32;
/// With a polling kernel thread: looks at the ring before the worker goes to sleep.
const LOOKS: u32 = 2_000;
/// `io_uring_enter`: wait for completions.
const GET_EVENTS: u32 = 1;

const EMPTY: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
const SWITCHES: [&str; 9] = [
    "fixed_buffers",
    "fixed_files",
    "sqpoll",
    "iopoll",
    "defer_taskrun",
    "vectored",
    "nowait",
    "uncached",
    "atomic",
];

/// What an operation on names points to until it completes.
struct NameBuffers {
    first: PathBuffer,
    second: PathBuffer,
    attributes: libc::statx,
}

/// A pair of rings.
pub struct Uring {
    ring: IoUring,
    /// Verbs that this ring carries out itself.
    native: VerbSet,
    /// What the kernel has registered under each handle's number; -1 where nothing is.
    fixed_files: Vec<RawFd>,
    /// The registered buffers' beginning and stride; a stride of 0 when none are.
    fixed_start: usize,
    fixed_stride: usize,
    vectors: Box<[libc::iovec]>,
    names: Box<[NameBuffers]>,
    flags: Flags,
    /// What single reads and writes carry besides, where a job asks for it.
    extras: Option<Box<Extras>>,
    /// Carried out by `call`.
    ready: Vec<(Slot, i64)>,
    in_flight: u32,
    /// Completions that are taken from the ring together, at most.
    most: usize,
    timeouts: bool,
    polling_thread: bool,
    /// Operations are handed over before they are waited for, so completions may be there already.
    parted: bool,
    /// When the loop last asked for the time: waits are computed from it, to read no clock for them.
    last: Cell<Tick>,
}

impl Engine for Uring {
    const FACTS: EngineFacts = EngineFacts {
        about: "Linux rings: one system call for each batch, or none",
        submits: true,
        has_ring: true,
        reaps_parts: true,
        verbs: {
            let (mut verbs, mut index) = ([Verb::Read; NATIVE.len()], 0);
            while index < NATIVE.len() {
                verbs[index] = NATIVE[index].0;
                index += 1;
            }
            VerbSet::of(&verbs)
        },
        settings: &joined::<17>(
            &[
                spec("fixed_buffers", "register the buffers once (default off)"),
                spec("fixed_files", "register the open files once (default off)"),
                spec("sqpoll", "a kernel thread takes operations without a system call (default off)"),
                spec("sqpoll_cpu", "the CPU that thread is bound to"),
                spec("sqpoll_idle_ms", "how long that thread looks before it sleeps (default 1000)"),
                spec("iopoll", "poll the device for completions; needs direct I/O (default off)"),
                spec(
                    "defer_taskrun",
                    "completions are processed when they are waited for (default: on where the kernel can)",
                ),
                spec("vectored", "readv and writev instead of read and write (default off)"),
                spec(
                    "force_async",
                    "never try to complete at once: hand to a worker; N: only every Nth (default off)",
                ),
                spec("nowait", "fail with EAGAIN rather than block (RWF_NOWAIT)"),
                spec("uncached", "drop the pages from the cache afterwards (RWF_DONTCACHE)"),
                spec("atomic", "a write is never torn by a power cut (RWF_ATOMIC)"),
            ],
            &priority::SETTINGS,
        ),
        available: Self::available,
        check: Self::check,
        traits: &[EngineTrait::CountedByBlockLayer],
        ..EngineFacts::named("io_uring")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let (job, depth) = (setup.job, setup.depth);
        let ring = build(job, depth)?;
        let polls = switched_on(job, "iopoll");
        let named = setup.files.handles.iter().any(|handle| handle.names.is_some());
        let vectored = switched_on(job, "vectored");
        let async_every = extras::async_every(job);
        let mut engine = Uring {
            native: native_verbs(&ring, polls),
            fixed_files: Vec::new(),
            fixed_start: 0,
            fixed_stride: 0,
            vectors: vec![EMPTY; if vectored { depth as usize } else { 0 }].into(),
            names: (0..if named { depth } else { 0 }).map(|_| NameBuffers::new()).collect(),
            flags: if async_every == 1 { Flags::ASYNC } else { Flags::empty() },
            extras: Extras::of(setup, async_every),
            ready: Vec::with_capacity(depth as usize),
            in_flight: 0,
            most: if job.depth.reap_most == 0 { usize::MAX } else { job.depth.reap_most as usize },
            timeouts: ring.params().is_feature_ext_arg(),
            polling_thread: ring.params().is_setup_sqpoll(),
            parted: job.measure.submission || job.depth.submit_batch > 0,
            last: Cell::new(clock::now()),
            ring,
        };
        if switched_on(job, "fixed_buffers") {
            engine.register_buffers(setup)?;
        }
        if switched_on(job, "fixed_files") {
            engine.register_files(setup)?;
        }
        Ok(engine)
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        let fd = files.fd(io.file);
        let operations = match io.verb {
            Verb::Read => READS,
            Verb::Write if io.offset != AT_END => WRITES,
            _ => return self.push_other(slot, io, files),
        };
        let entry = self.transfer(slot, io, fd, operations);
        self.enter(entry);
    }

    fn submit(&mut self) -> Result<(), Failure> {
        match self.ring.submit() {
            Ok(_) => Ok(()),
            Err(error) => tolerate(&error),
        }
    }

    #[inline(always)]
    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let (mut count, mut now) = (0, self.last.get());
        if min == 0 && self.in_flight > 0 {
            self.look_in()?;
        }
        loop {
            let want = min.saturating_sub(count + self.ready.len() as u32).min(self.in_flight);
            self.submit_and_wait(want, until.saturating_sub(now))?;
            count += self.reap(&mut done);
            if count >= min || self.in_flight == 0 {
                return Ok(());
            }
            now = clock::now();
            if now >= until {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn now(&self) -> Tick {
        let now = clock::now();
        self.last.set(now);
        now
    }
}

impl Uring {
    fn available() -> Result<(), Failure> {
        IoUring::new(1).map(drop).map_err(|error| forbidden(&error))
    }

    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &SWITCHES);
        let is_number = |value: &str| value.parse::<u32>().is_ok();
        found.extend(check_values(job, &["sqpoll_cpu", "sqpoll_idle_ms"], is_number, "say a whole number"));
        let async_of = |value: &str| value.parse::<u32>().is_ok() || super::switch_of(value).is_some();
        found.extend(check_values(job, &["force_async"], async_of, "say on, off, or every how many"));
        found.extend(priority::check(job));
        let at = |name: &str| job.settings.iter().find(|setting| setting.name == name).map(|s| &s.origin);
        let mut clash = |one: &str, other: &str| {
            if let (true, true, Some(origin)) = (switched_on(job, one), switched_on(job, other), at(other)) {
                let message = format!("`{one}` and `{other}` exclude each other");
                found.push(
                    Diagnostic::error(origin, message).hint(format!("leave out one of {one} and {other}")),
                );
            }
        };
        clash("sqpoll", "defer_taskrun");
        clash("fixed_buffers", "vectored");
        found
    }

    /// The entry of a read or write, by whichever of the three operations (plain, fixed, vectored) is to carry it out.
    #[inline(always)]
    fn transfer(&mut self, slot: Slot, io: &Io, fd: RawFd, [plain, fixed, vectored]: [u8; 3]) -> Entry {
        let (number, flag) = self.file(io.file, fd);
        let (buffer, bytes) = (io.buffer as u64, io.bytes.min(MOST_BYTES) as u32);
        let (operation, address, length) = if self.is_fixed(slot, io) {
            (fixed, buffer, bytes)
        } else if self.vectors.is_empty() {
            (plain, buffer, bytes)
        } else {
            (vectored, self.vector(slot, io) as u64, 1)
        };
        let flags = (flag | self.flags).bits();
        let transfer = Transfer {
            operation,
            flags,
            file: number,
            offset: io.offset,
            address,
            length,
            user_data: slot.into(),
            buffer: slot as u16,
            ..Transfer::default()
        };
        match &mut self.extras {
            Some(extras) => extras.adorn(transfer, io).entry(),
            None => transfer.entry(),
        }
    }

    /// The number under which the kernel finds a file: registered, or its descriptor.
    #[inline(always)]
    fn file(&self, file: u32, fd: RawFd) -> (RawFd, Flags) {
        match self.fixed_files.get(file as usize) {
            Some(&registered) if registered == fd && fd >= 0 => (file as RawFd, Flags::FIXED_FILE),
            _ => (fd, Flags::empty()),
        }
    }

    /// Whether the buffer lies in the slot's registered one.
    #[inline(always)]
    fn is_fixed(&self, slot: Slot, io: &Io) -> bool {
        let begin = (io.buffer as usize).wrapping_sub(self.fixed_start + slot as usize * self.fixed_stride);
        begin < self.fixed_stride && io.bytes <= (self.fixed_stride - begin) as u64
    }

    fn vector(&mut self, slot: Slot, io: &Io) -> *const libc::iovec {
        let vector = &mut self.vectors[slot as usize];
        *vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.bytes as usize };
        vector
    }

    /// Writes an entry into the ring.
    #[inline(always)]
    fn enter(&mut self, entry: Entry) {
        self.in_flight += 1;
        // SAFETY: buffers, vectors and names of a slot stay where they are until its operation completes; drop waits.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // There are as many entries as slots, so the ring can only be full while a polling thread lags behind.
            if self.ring.submit().is_err() {
                clock::sleep_ns(10_000);
            }
        }
    }

    #[inline(never)]
    fn push_other(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        self.forget_fixed(io);
        let by_ring = self.native.has(io.verb) && io.flags & KEEP == 0;
        match by_ring.then(|| self.on_file(io, files).or_else(|| self.on_item(slot, io, files))).flatten() {
            Some(entry) => {
                let opens = matches!(io.verb, Verb::Open | Verb::Create);
                let data = u64::from(slot) | if opens { THEN_CLOSE } else { 0 };
                self.enter(entry.flags(self.flags).user_data(data));
            }
            None => self.ready.push((slot, call::perform(io, files))),
        }
    }

    /// A handle whose descriptor changes is no longer the registered one, even if the number comes back.
    fn forget_fixed(&mut self, io: &Io) {
        let changed = match io.verb {
            Verb::Close => u64::from(io.file),
            _ if io.flags & KEEP != 0 => u64::from(io.other as u32),
            _ => return,
        };
        if let Some(registered) = self.fixed_files.get_mut(changed as usize) {
            *registered = -1;
        }
    }

    /// The entry of a verb on an open file, if the ring can carry it out.
    fn on_file(&self, io: &Io, files: &mut Files) -> Option<Entry> {
        let Handle { fd, names, .. } = &mut files.handles[io.file as usize];
        if names.is_some() {
            return None;
        }
        let ((number, flag), bytes) = (self.file(io.file, *fd), io.bytes);
        let file = Fd(number);
        let entry = match io.verb {
            Verb::Fsync => opcode::Fsync::new(file).build(),
            Verb::Fdatasync => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            Verb::SyncFileRange => opcode::SyncFileRange::new(file, u32::try_from(bytes).ok()?)
                .offset(io.offset)
                .flags(call::sync_file_range_flags(io))
                .build(),
            Verb::Fallocate => {
                opcode::Fallocate::new(file, bytes).offset(io.offset).mode(io.other as i32).build()
            }
            Verb::Truncate => opcode::Ftruncate::new(file, bytes).build(),
            Verb::Fadvise => {
                opcode::Fadvise::new(file, i64::from(u32::try_from(bytes).ok()?), io.other as i32)
                    .offset(io.offset)
                    .build()
            }
            Verb::Close if *fd > 2 => return Some(opcode::Close::new(Fd(std::mem::replace(fd, -1))).build()),
            _ => return None,
        };
        Some(entry.flags(flag))
    }

    /// The entry of a verb on an item of a set, if the ring can carry it out.
    fn on_item(&mut self, slot: Slot, io: &Io, files: &Files) -> Option<Entry> {
        if io.flags & (DIRECTORY | DURABLE | READ_BACK) != 0
            || (matches!(io.verb, Verb::Create | Verb::Open) && io.bytes > 0)
        {
            // Several calls that follow from each other.
            return None;
        }
        let handle = &files.handles[io.file as usize];
        let (names, root, room) = (handle.names.as_ref()?, Fd(handle.fd), self.names.get_mut(slot as usize)?);
        let path = names.path(io.offset, &mut room.first).as_ptr();
        let attributes = (&raw mut room.attributes).cast();
        let entry = match io.verb {
            Verb::Create => {
                let (flags, mode) = (call::create_flags(names, io), call::create_mode(names, io));
                opcode::OpenAt::new(root, path).flags(flags).mode(mode).build()
            }
            Verb::Open => opcode::OpenAt::new(root, path).flags(call::OPEN_FLAGS | names.open_flags).build(),
            Verb::Stat => opcode::Statx::new(root, path, attributes).mask(libc::STATX_BASIC_STATS).build(),
            Verb::Lstat => opcode::Statx::new(root, path, attributes)
                .mask(libc::STATX_BASIC_STATS)
                .flags(libc::AT_SYMLINK_NOFOLLOW)
                .build(),
            Verb::Unlink => opcode::UnlinkAt::new(root, path).build(),
            Verb::Rmdir => opcode::UnlinkAt::new(root, path).flags(libc::AT_REMOVEDIR).build(),
            Verb::Mkdir if !names.reuses => opcode::MkDirAt::new(root, path).mode(0o755).build(),
            Verb::Rename | Verb::Link => {
                let to = names.path(io.other, &mut room.second).as_ptr();
                match io.verb {
                    Verb::Rename => opcode::RenameAt::new(root, path, root, to).build(),
                    _ => opcode::LinkAt::new(root, path, root, to).build(),
                }
            }
            _ => return None,
        };
        Some(entry)
    }

    /// Hands over what is in the ring and waits for so many completions, a signal, or the time.
    #[inline(always)]
    fn submit_and_wait(&mut self, want: u32, left_ns: u64) -> Result<(), Failure> {
        if self.polling_thread && self.look(want) {
            return Ok(());
        }
        if self.parted && self.ring.completion().len() >= want as usize && self.ring.submission().is_empty() {
            return Ok(());
        }
        let outcome = if left_ns > NEVER / 2 || !self.timeouts || want == 0 {
            self.ring.submit_and_wait(want as usize)
        } else {
            let time = Timespec::new().sec(left_ns / 1_000_000_000).nsec((left_ns % 1_000_000_000) as u32);
            self.ring.submitter().submit_with_args(want as usize, &SubmitArgs::new().timespec(&time))
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => tolerate(&error),
        }
    }

    /// Lets the kernel write down the completions that it has, without waiting for any.
    #[cold]
    fn look_in(&mut self) -> Result<(), Failure> {
        self.submit()?;
        // SAFETY: the call takes no pointers.
        let looked = unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 0, GET_EVENTS, None) };
        looked.map_or_else(|error| tolerate(&error), |_| Ok(()))
    }

    /// Lets the polling thread work, waking it if it sleeps; whether the completions came without waiting.
    fn look(&mut self, want: u32) -> bool {
        // An error here comes back from the call that follows.
        let _ = self.ring.submit();
        for _ in 0..LOOKS {
            if self.ring.completion().len() >= want as usize {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Takes the completions that are there, as many as the job takes together. `done` is called in one place only, so
    /// that it is compiled into the loop.
    #[inline(always)]
    fn reap(&mut self, done: &mut impl FnMut(Slot, i64, Tick)) -> u32 {
        let mut completions = self.ring.completion();
        if completions.is_empty() && self.ready.is_empty() {
            return 0;
        }
        let mut left = completions.len().min(self.most);
        self.in_flight -= left as u32;
        let (now, mut count) = (clock::now(), 0);
        self.last.set(now);
        let mut next = || match left {
            1.. => {
                left -= 1;
                completions.next().map(|done| (done.user_data(), i64::from(done.result())))
            }
            0 => self.ready.pop().map(|(slot, result)| (u64::from(slot), result)),
        };
        while let Some((data, mut result)) = next() {
            if data & THEN_CLOSE != 0 && result >= 0 {
                result = call::close(result as RawFd);
            }
            count += 1;
            done(data as Slot, result, now);
        }
        count
    }

    fn register_buffers(&mut self, setup: &Setup<'_>) -> Result<(), Failure> {
        let memory = setup.memory;
        let vector = |slot| libc::iovec { iov_base: memory.buffer(slot).cast(), iov_len: memory.stride() };
        let vectors: Vec<libc::iovec> = (0..setup.depth.min(memory.count())).map(vector).collect();
        // SAFETY: the buffers outlive the engine; the kernel lets go of them when the ring is closed.
        unsafe { self.ring.submitter().register_buffers(&vectors) }
            .map_err(|error| refused("fixed_buffers", &error))?;
        (self.fixed_start, self.fixed_stride) = (memory.whole().0 as usize, memory.stride());
        Ok(())
    }

    fn register_files(&mut self, setup: &Setup<'_>) -> Result<(), Failure> {
        let files: Vec<RawFd> = setup.files.handles.iter().map(|handle| handle.fd.max(-1)).collect();
        if !files.is_empty() {
            self.ring.submitter().register_files(&files).map_err(|error| refused("fixed_files", &error))?;
        }
        self.fixed_files = files;
        Ok(())
    }
}

impl Drop for Uring {
    /// Cancels what can be cancelled and waits for the rest: the kernel may write into buffers until then.
    fn drop(&mut self) {
        if !self.polling_thread {
            // Entries that the kernel has not seen need no waiting; a polling thread has seen them all.
            self.in_flight -= self.ring.submission().len() as u32;
        }
        if self.in_flight > 0 {
            let at_once = Some(Timespec::new());
            // Refused by old kernels: then everything is waited for.
            let _ = self.ring.submitter().register_sync_cancel(at_once, CancelBuilder::any());
        }
        while self.in_flight > 0 {
            // SAFETY: the call takes no pointers; nothing is submitted, only waited for.
            let waited = unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 1, GET_EVENTS, None) };
            if waited.is_err_and(|error| tolerate(&error).is_err()) {
                return;
            }
            self.reap(&mut |_, _, _| ());
        }
    }
}

impl NameBuffers {
    fn new() -> Self {
        // SAFETY: the structure consists of numbers only, for which zero is a value.
        let attributes = unsafe { std::mem::zeroed() };
        NameBuffers { first: PathBuffer::default(), second: PathBuffer::default(), attributes }
    }
}
