//! `libaio`: Linux's older asynchronous interface, by its own system calls, without the library of that name.
//!
//! Operations are handed over in one `io_submit` for each batch, and completions are taken from the ring that the kernel
//! shares with us, so that a completion which is already there costs no system call. Reads, writes and syncs are
//! asynchronous; everything else, and reads and writes at the file's own position, are carried out by `call` at once.
//! (The kernel makes only direct I/O asynchronous; buffered I/O is done inside `io_submit`.)

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb, VerbSet};

use super::priority;
use super::{Engine, EngineFacts, Failure, Setup, check_switches, spec, switch, switched_on};
use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::facts::joined;
use crate::io::{AT_END, Files, Io, Slot};
use crate::memory::errno;

const COMMAND_READ: u16 = 0;
const COMMAND_WRITE: u16 = 1;
const COMMAND_FSYNC: u16 = 2;
const COMMAND_FDATASYNC: u16 = 3;
/// `reqprio` holds an I/O priority.
const FLAG_PRIORITY: u32 = 2;
/// `RWF_NOWAIT`.
const NOWAIT: i32 = 0x08;
/// `RWF_ATOMIC`.
const ATOMIC: i32 = 0x40;
/// What the shared ring begins with, if its layout is the one known here.
const RING_MAGIC: u32 = 0xa10a_10a1;

/// The kernel's control block of one operation (linux/aio_abi.h, little endian).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    command: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// One completion.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result_2: i64,
}

/// What the shared ring begins with; its events follow after `header_bytes`.
#[repr(C)]
struct Ring {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

/// Asynchronous I/O of the kernel.
pub struct Libaio {
    context: u64,
    depth: u32,
    shared_ring: bool,
    /// Flags of each read, and of each write.
    flags: [i32; 2],
    /// By label.
    priorities: Option<Box<[u16]>>,
    blocks: Box<[ControlBlock]>,
    /// Filled but not yet submitted, in order.
    pending: Vec<*const ControlBlock>,
    /// Carried out by `call`, or refused at submission.
    ready: Vec<(Slot, i64)>,
    /// Completions that are taken back together, at most so many.
    events: Box<[Event]>,
    in_kernel: u32,
}

impl Engine for Libaio {
    const FACTS: EngineFacts = EngineFacts {
        about: "Linux asynchronous I/O (io_submit); asynchronous with direct I/O only",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync]),
        submits: true,
        has_ring: true,
        reaps_parts: true,
        settings: &joined::<8>(
            &[
                spec(
                    "userspace_reap",
                    "on or off: take completions from the shared ring without a system call (default on)",
                ),
                spec("nowait", "fail with EAGAIN rather than block (RWF_NOWAIT)"),
                spec("atomic", "a write is never torn by a power cut (RWF_ATOMIC)"),
            ],
            &priority::SETTINGS,
        ),
        available: Self::available,
        check: Self::check,
        traits: &[EngineTrait::CountedByBlockLayer, EngineTrait::SubmitsBufferedInline],
        ..EngineFacts::named("libaio")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let depth = setup.depth as usize;
        let on = |name, flag| if switched_on(setup.job, name) { flag } else { 0 };
        let read_flags = on("nowait", NOWAIT);
        let context = context(setup.depth)?;
        Ok(Libaio {
            context,
            depth: setup.depth,
            shared_ring: switch(setup.job, "userspace_reap") != Some(false) && ring_is_known(context),
            flags: [read_flags, read_flags | on("atomic", ATOMIC)],
            priorities: setup.priorities.map(Box::from),
            blocks: vec![ControlBlock::default(); depth].into(),
            pending: Vec::with_capacity(depth),
            ready: Vec::with_capacity(depth),
            events: vec![Event::default(); most(setup.job.depth.reap_most, depth)].into(),
            in_kernel: 0,
        })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        let command = match io.verb {
            Verb::Read if io.offset < AT_END => COMMAND_READ,
            Verb::Write if io.offset < AT_END => COMMAND_WRITE,
            Verb::Fsync => COMMAND_FSYNC,
            Verb::Fdatasync => COMMAND_FDATASYNC,
            _ => return self.ready.push((slot, call::perform(io, files))),
        };
        let block = &mut self.blocks[slot as usize];
        *block = ControlBlock {
            data: u64::from(slot),
            command,
            fd: files.fd(io.file) as u32,
            ..ControlBlock::default()
        };
        // The kernel refuses a sync that carries anything else.
        if command <= COMMAND_WRITE {
            (block.buffer, block.bytes, block.offset) = (io.buffer as u64, io.bytes, io.offset as i64);
            block.rw_flags = self.flags[usize::from(command == COMMAND_WRITE)];
            if let Some(priorities) = &self.priorities {
                let priority = priorities[usize::from(io.label)] as i16;
                (block.priority, block.flags) = (priority, if priority != 0 { FLAG_PRIORITY } else { 0 });
            }
        }
        self.pending.push(block);
    }

    fn submit(&mut self) -> Result<(), Failure> {
        self.hand_over()
    }

    #[inline(always)]
    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        self.hand_over()?;
        let (mut count, mut events) = (0, self.take_from_ring());
        if min == 0 && !self.shared_ring && self.in_kernel > 0 {
            events = self.wait(0, 0)?;
        }
        loop {
            count += self.hand_back(events, &mut done);
            if count >= min {
                return Ok(());
            }
            // What found no room before finds it now.
            self.hand_over()?;
            let room = self.in_kernel.min(self.events.len() as u32);
            let missing = (min - count).saturating_sub(self.ready.len() as u32).min(room);
            if missing == 0 && self.ready.is_empty() {
                return Ok(());
            }
            events = match missing {
                0 => 0,
                // While some found no room, the next completion makes room.
                _ if !self.pending.is_empty() => self.wait(1, until)?,
                _ => self.wait(missing, until)?,
            };
            if missing > 0 && events == 0 && clock::now() >= until {
                return Ok(());
            }
        }
    }
}

impl Libaio {
    fn available() -> Result<(), Failure> {
        set_up(1).map(destroy)
    }

    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["userspace_reap", "nowait", "atomic"]);
        found.extend(priority::check(job));
        found
    }

    /// Hands pending operations to the kernel, as many as it takes; refused ones become results.
    fn hand_over(&mut self) -> Result<(), Failure> {
        let mut first = 0;
        let mut tries = 0;
        while first < self.pending.len() {
            let (count, blocks) = (self.pending.len() - first, self.pending[first..].as_ptr());
            // SAFETY: the control blocks live in `blocks` until their operations complete; the kernel copies them.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, blocks) };
            if taken > 0 {
                first += taken as usize;
                self.in_kernel += taken as u32;
                continue;
            }
            match if taken == 0 { libc::EAGAIN } else { errno() } {
                libc::EINTR => {}
                libc::EAGAIN if self.in_kernel > 0 => break,
                libc::EAGAIN if tries < 1000 => {
                    tries += 1;
                    clock::sleep_ns(100_000);
                }
                libc::ENOSYS => return Err(Failure::call("io_submit", libc::ENOSYS)),
                number => {
                    // Refused: the error is that of the first operation handed over.
                    // SAFETY: the pointer leads into `blocks`, which lives as long as the engine.
                    let slot = unsafe { (*self.pending[first]).data } as Slot;
                    self.ready.push((slot, -i64::from(number)));
                    first += 1;
                }
            }
        }
        self.pending.drain(..first);
        Ok(())
    }

    /// Hands back so many of `events`, and what is ready. `done` is called in one place only, so that it is compiled
    /// into the loop.
    #[inline(always)]
    fn hand_back(&mut self, count: usize, done: &mut impl FnMut(Slot, i64, Tick)) -> u32 {
        let all = count + self.ready.len();
        if all == 0 {
            return 0;
        }
        let now = clock::now();
        self.in_kernel -= count as u32;
        let events = self.events[..count].iter().map(|event| (event.data as Slot, event.result));
        for (slot, result) in events.chain(self.ready.drain(..)) {
            done(slot, result, now);
        }
        all as u32
    }

    /// Copies what is already in the shared ring into `events`.
    #[inline(always)]
    fn take_from_ring(&mut self) -> usize {
        if !self.shared_ring {
            return 0;
        }
        // SAFETY: a context is the address of its ring, which the kernel mapped for us and whose layout was checked.
        let ring = unsafe { &*(self.context as *const Ring) };
        let (mut at, tail) = (ring.head.load(Ordering::Relaxed), ring.tail.load(Ordering::Acquire));
        let mut count = 0;
        while at != tail && count < self.events.len() {
            // SAFETY: `at` is below the ring's length, so the event lies inside it; the kernel wrote it before `tail`.
            self.events[count] = unsafe {
                let events = (self.context as *const u8).add(ring.header_bytes as usize).cast::<Event>();
                events.add(at as usize).read()
            };
            at = if at + 1 >= ring.count { 0 } else { at + 1 };
            count += 1;
        }
        if count > 0 {
            // Events may be overwritten from here on.
            ring.head.store(at, Ordering::Release);
        }
        count
    }

    /// Waits for at least so many completions, into `events`; a signal or the time may end it early.
    fn wait(&mut self, min: u32, until: Tick) -> Result<usize, Failure> {
        let left = until.saturating_sub(if until == NEVER { 0 } else { clock::now() });
        let time =
            libc::timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ };
        let time_out = if until == NEVER { std::ptr::null() } else { &raw const time };
        let (most, events) = (self.events.len(), self.events.as_mut_ptr());
        // SAFETY: the events and the time are valid for the call; the events are consumed before the next one.
        let count = unsafe {
            libc::syscall(libc::SYS_io_getevents, self.context, min as usize, most, events, time_out)
        };
        match count {
            0.. => Ok(count as usize),
            _ if errno() == libc::EINTR => Ok(0),
            _ => Err(Failure::call("io_getevents", errno())),
        }
    }
}

impl Drop for Libaio {
    /// The kernel cancels what it can and waits for the rest, so that buffers may be released afterwards.
    fn drop(&mut self) {
        match self.in_kernel {
            // It holds nothing more, and its end takes the kernel tens of milliseconds: they are nobody's figure, as of
            // an original that ends its own after its last measurement.
            0 => keep(Context { process: std::process::id(), depth: self.depth, id: self.context }),
            _ => destroy(self.context),
        }
    }
}

/// A context whose worker is done.
struct Context {
    /// Whose it is: what a child has of its parent's is nothing but numbers.
    process: u32,
    depth: u32,
    id: u64,
}

/// Contexts that are kept, at most.
const IDLE_MOST: usize = 256;

/// Contexts for workers to come; they go with the process.
fn idle() -> MutexGuard<'static, [Option<Context>; IDLE_MOST]> {
    static IDLE: Mutex<[Option<Context>; IDLE_MOST]> = Mutex::new([const { None }; IDLE_MOST]);
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a context for the next worker, where there is room.
fn keep(context: Context) {
    match idle().iter_mut().find(|place| place.is_none()) {
        Some(place) => *place = Some(context),
        None => destroy(context.id),
    }
}

/// An idle context of that depth, or a new one.
fn context(depth: u32) -> Result<u64, Failure> {
    let own = std::process::id();
    let fits = |context: &Context| context.process == own && context.depth == depth;
    let found = idle().iter_mut().find_map(|place| place.take_if(|context| fits(context)));
    found.map_or_else(|| set_up(depth), |context| Ok(context.id))
}

fn destroy(context: u64) {
    // SAFETY: the context was made by `set_up`, nothing refers to it any more, and it is destroyed once.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}

/// How many completions are taken back together: as many as are in flight, or fewer where a job says so.
fn most(asked: u32, depth: usize) -> usize {
    if asked == 0 { depth } else { depth.min(asked as usize) }
}

fn set_up(depth: u32) -> Result<u64, Failure> {
    let made = make(depth);
    if made != Err(libc::EAGAIN) {
        return made.map_err(setup_failure);
    }
    // All workers of a machine share its room: what is idle gives way.
    let own = std::process::id();
    let is_own = |context: &mut Context| context.process == own;
    idle().iter_mut().filter_map(|place| place.take_if(is_own)).for_each(|context| destroy(context.id));
    make(depth).map_err(setup_failure)
}

fn make(depth: u32) -> Result<u64, i32> {
    let mut context = 0u64;
    // SAFETY: `context` is valid for writing and zero, as the call wants it.
    if unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) } == 0 {
        return Ok(context);
    }
    Err(errno())
}

fn setup_failure(errno: i32) -> Failure {
    match errno {
        libc::EAGAIN => Failure::call("io_setup", libc::EAGAIN)
            .hint("raise fs.aio-max-nr (sysctl), or use less depth or fewer workers"),
        number @ (libc::ENOSYS | libc::EPERM) => Failure::call("io_setup", number)
            .hint("this kernel or container forbids it: use psync or io_uring"),
        number => Failure::call("io_setup", number),
    }
}

fn ring_is_known(context: u64) -> bool {
    let ring = context as *const Ring;
    // SAFETY: a context is the address of its ring, of which the kernel mapped at least one page for us.
    let (magic, incompatible) = unsafe { ((*ring).magic, (*ring).incompatible) };
    magic == RING_MAGIC && incompatible == 0
}
