//! How fast this machine copies memory: what an asynchronous checkpoint stops training for.

use std::hint::black_box;

use iodyno_engine::clock;

/// Of each thread, longer than caches are.
const BUFFER_BYTES: usize = 64 << 20;
/// How long is copied, ns.
const TIME_NS: u64 = 200_000_000;

/// Bytes per second of so many processes together, on the processors that there are.
pub fn bytes_per_second(processes: usize) -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processes.clamp(1, processors);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(copied_per_second)).collect();
        all.into_iter().filter_map(|one| one.join().ok()).sum()
    })
}

fn copied_per_second() -> f64 {
    let (from, mut to) = (vec![1u8; BUFFER_BYTES], vec![2u8; BUFFER_BYTES]);
    let (begin, mut copied) = (clock::monotonic(), 0u64);
    loop {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        copied += BUFFER_BYTES as u64;
        let elapsed_ns = clock::monotonic().saturating_sub(begin);
        if elapsed_ns >= TIME_NS {
            return copied as f64 / (elapsed_ns as f64 / 1e9);
        }
    }
}
