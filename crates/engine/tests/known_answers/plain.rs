//! The plain client: nothing but `pread` in a loop, to find what any client sees beyond the device's own latency.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Barrier;

use testbed::fuse::{Device, Kind, Log, Request, now_ns};

/// Bytes of one read.
pub const BLOCK: u64 = 4096;

/// What plain loops see beyond the device.
pub struct Floor {
    /// Of each read, ns, ascending.
    pub each_ns: Vec<u64>,
    /// Of all of them together, from the start to the last one's end, ns.
    pub whole_ns: u64,
}

/// What plain loops of direct reads see beyond the device: `depth` threads of one read each at a time. The device's log
/// is empty afterwards.
pub fn floor(device: &Device, depth: u32, reads: u64) -> io::Result<Floor> {
    let start_line = Barrier::new(depth as usize);
    device.reset();
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
    let seen = seen.into_iter().collect::<io::Result<Vec<_>>>()?.concat();
    let log = device.take_log();
    let Some((began_ns, ended_ns)) = ends(seen.iter().map(|(_, times)| *times)) else {
        return Err(io::Error::other("nothing was read"));
    };
    let seen: HashMap<u64, (u64, u64)> = seen.into_iter().collect();
    let beyond = |request: &Request| {
        let (start_ns, end_ns) = seen.get(&request.offset)?;
        Some((end_ns - start_ns).saturating_sub(request.latency_ns()))
    };
    let mut each_ns: Vec<u64> = log.of(Kind::Read).filter_map(beyond).collect();
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
fn read(device: &Device, blocks: Range<u64>, start_line: &Barrier) -> io::Result<Vec<(u64, (u64, u64))>> {
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
