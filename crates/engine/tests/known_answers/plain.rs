//! The plain client: nothing but `pread` in a loop, to find what any client sees beyond the device's own latency.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Barrier;

use testbed::fuse::{Device, Kind, Request, now_ns};

/// Bytes of one read.
pub const BLOCK: u64 = 4096;

/// What plain loops of direct reads see beyond the device, ns, ascending: `depth` threads of one read each at a time.
/// The device's log is empty afterwards.
pub fn floor_ns(device: &Device, depth: u32, reads: u64) -> io::Result<Vec<u64>> {
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
    let seen: HashMap<u64, u64> = seen.into_iter().collect();
    let log = device.take_log();
    let beyond = |request: &Request| Some(seen.get(&request.offset)?.saturating_sub(request.latency_ns()));
    let mut floor: Vec<u64> = log.of(Kind::Read).filter_map(beyond).collect();
    floor.sort_unstable();
    if floor.is_empty() { Err(io::Error::other("nothing was read")) } else { Ok(floor) }
}

/// Reads blocks of these numbers; each offset with the time it took.
fn read(device: &Device, blocks: std::ops::Range<u64>, start_line: &Barrier) -> io::Result<Vec<(u64, u64)>> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device.path())?;
    let mut memory = vec![0u8; 2 * BLOCK as usize];
    let aligned = memory.as_ptr().align_offset(BLOCK as usize);
    let block = &mut memory[aligned..aligned + BLOCK as usize];
    start_line.wait();
    blocks
        .map(|number| {
            let start_ns = now_ns();
            file.read_exact_at(block, number * BLOCK)?;
            Ok((number * BLOCK, now_ns() - start_ns))
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
