//! The plain client: nothing but `pread` in a loop, or nothing but `io_submit` and `io_getevents`, to find what any client
//! that submits in the same way sees beyond the device's own latency.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Barrier;

use testbed::fuse::{Device, Log, Request, RequestKind, now_ns};

/// Bytes of one read.
pub const BLOCK: u64 = 4096;

/// What plain loops see beyond the device.
pub struct Floor {
    /// Of each read, ns: the device's latency, and what the client saw beyond it; ascending.
    pub each_ns: Vec<(u64, u64)>,
    /// Of all of them together, from the start to the last one's end, ns.
    pub whole_ns: u64,
}

/// How a plain client keeps several reads in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    Threads,
    /// One thread and the kernel's AIO. A completion waits while the thread submits the next read, which none of several
    /// threads would notice.
    Aio,
}

/// Reads as a client saw them: each offset with when it began and ended, ns.
type Seen = Vec<(u64, (u64, u64))>;

/// What plain loops of direct reads see beyond the device, with `depth` reads in flight. The device's log is empty
/// afterwards.
pub fn floor(device: &Device, submission: Submission, depth: u32, reads: u64) -> io::Result<Floor> {
    device.reset();
    let seen = match submission {
        Submission::Threads => by_threads(device, depth, reads)?,
        Submission::Aio => by_aio(device, depth as usize, reads)?,
    };
    beyond(device, seen)
}

fn by_threads(device: &Device, depth: u32, reads: u64) -> io::Result<Seen> {
    let start_line = Barrier::new(depth as usize);
    let seen = std::thread::scope(|scope| {
        let each = reads / u64::from(depth);
        let threads: Vec<_> = (0..u64::from(depth))
            .map(|thread| {
                let start_line = &start_line;
                scope.spawn(move || read(device, thread * each..(thread + 1) * each, start_line))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader panicked")).collect::<Vec<_>>()
    });
    Ok(seen.into_iter().collect::<io::Result<Vec<_>>>()?.concat())
}

fn beyond(device: &Device, seen: Seen) -> io::Result<Floor> {
    let log = device.take_log();
    let Some((began_ns, ended_ns)) = ends(seen.iter().map(|(_, times)| *times)) else {
        return Err(io::Error::other("nothing was read"));
    };
    let seen: HashMap<u64, (u64, u64)> = seen.into_iter().collect();
    let beyond = |request: &Request| {
        let (start_ns, end_ns) = seen.get(&request.offset)?;
        Some((request.latency_ns(), (end_ns - start_ns).saturating_sub(request.latency_ns())))
    };
    let mut each_ns: Vec<(u64, u64)> = log.of(RequestKind::Read).filter_map(beyond).collect();
    each_ns.sort_unstable();
    Ok(Floor { each_ns, whole_ns: (ended_ns - began_ns).saturating_sub(span_ns(&log)) })
}

/// From the first arrival to the last reply.
pub fn span_ns(log: &Log) -> u64 {
    let times = log.requests.iter().map(|request| (request.arrival_ns, request.end_ns));
    ends(times).map_or(0, |(first, last)| last - first)
}

/// The first beginning and the last end.
fn ends(times: impl Iterator<Item = (u64, u64)>) -> Option<(u64, u64)> {
    times.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))
}

/// Reads blocks of these numbers; each offset with when it began and ended.
fn read(device: &Device, blocks: Range<u64>, start_line: &Barrier) -> io::Result<Seen> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device.path())?;
    let mut memory = vec![0u8; 2 * BLOCK as usize];
    let aligned = memory.as_ptr().align_offset(BLOCK as usize);
    let block = &mut memory[aligned..aligned + BLOCK as usize];
    start_line.wait();
    blocks
        .map(|number| {
            let start_ns = now_ns();
            file.read_exact_at(block, number * BLOCK)?;
            Ok((number * BLOCK, (start_ns, now_ns())))
        })
        .collect()
}

/// A control block of the kernel's AIO, as `linux/aio_abi.h` lays it out.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
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

/// A completion, as it lays it out.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Completion {
    data: u64,
    block: u64,
    result: i64,
    second: i64,
}

/// One thread that keeps so many reads with the kernel: whatever is done is reaped, and as many are submitted together.
fn by_aio(device: &Device, depth: usize, reads: u64) -> io::Result<Seen> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device.path())?;
    let mut memory = vec![0u8; (depth + 1) * BLOCK as usize];
    let first = memory.as_ptr().align_offset(BLOCK as usize);
    let buffer = |slot: usize| memory[first + slot * BLOCK as usize..].as_mut_ptr() as u64;
    let block = |(slot, buffer)| ControlBlock {
        data: slot as u64,
        fd: file.as_raw_fd() as u32,
        buffer,
        bytes: BLOCK,
        ..ControlBlock::default()
    };
    let mut blocks: Vec<_> = (0..depth).map(buffer).enumerate().map(block).collect();
    let mut context: libc::c_ulong = 0;
    // SAFETY: the context is valid for writing.
    checked(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) })?;
    let seen = keep_in_flight(context, &mut blocks, reads);
    // SAFETY: the call waits for what is in flight, and the buffers are there until then.
    checked(unsafe { libc::syscall(libc::SYS_io_destroy, context) })?;
    seen
}

/// Reads so many blocks through a context, the first ones first.
fn keep_in_flight(context: libc::c_ulong, blocks: &mut [ControlBlock], reads: u64) -> io::Result<Seen> {
    let (mut next, mut seen) = (0, Seen::new());
    let mut began = vec![0; blocks.len()];
    let mut done = vec![Completion::default(); blocks.len()];
    let mut free: Vec<usize> = (0..blocks.len()).rev().collect();
    while (seen.len() as u64) < reads {
        let start_ns = now_ns();
        let mut pending = Vec::with_capacity(blocks.len());
        while next < reads
            && let Some(slot) = free.pop()
        {
            (blocks[slot].offset, began[slot]) = ((next * BLOCK) as i64, start_ns);
            pending.push(&raw const blocks[slot]);
            next += 1;
        }
        let mut first = 0;
        while first < pending.len() {
            let rest = &pending[first..];
            // SAFETY: the blocks and their buffers are there until the context is destroyed.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, context, rest.len(), rest.as_ptr()) };
            first += checked(taken)?;
        }
        let (least, most, forever) = (1usize, done.len(), std::ptr::null::<libc::timespec>());
        let events = done.as_mut_ptr();
        // SAFETY: there is room for so many completions.
        let count = unsafe { libc::syscall(libc::SYS_io_getevents, context, least, most, events, forever) };
        let (count, end_ns) = (checked(count)?, now_ns());
        for completion in &done[..count] {
            let slot = completion.data as usize;
            if completion.result != BLOCK as i64 {
                return Err(io::Error::other(format!("a read brought {}", completion.result)));
            }
            seen.push((blocks[slot].offset as u64, (began[slot], end_ns)));
            free.push(slot);
        }
    }
    Ok(seen)
}

fn checked(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// This thread, and those it starts, in the real-time class until dropped, where that is permitted.
pub struct RealTime;

impl RealTime {
    /// Enters the class, below the device's server.
    pub fn enter() -> RealTime {
        schedule(libc::SCHED_FIFO, 5);
        RealTime
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        schedule(libc::SCHED_OTHER, 0);
    }
}

fn schedule(class: i32, priority: i32) {
    let priority = libc::sched_param { sched_priority: priority };
    // SAFETY: `priority` is valid for reading; where it is forbidden the thread stays as it was.
    unsafe { libc::sched_setscheduler(0, class, &priority) };
}
