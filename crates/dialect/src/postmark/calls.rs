//! The calls by which a file is written or read: block by block, or as the C library gathers blocks in its buffer.
//!
//! With buffering the original's blocks go through a stream of the C library (glibc), so the system sees calls of the buffer's
//! length and, of longer blocks, what is whole in one call. Without it each block is a call, and one more has the rest, which
//! may be nothing.

/// Length of a stream's buffer: the block of the file system, as nearly all have it, bytes.
const BUFFER: u64 = 4096;

/// Calls of one length, one after the other.
pub type CallRun = (u64, u64);

/// Lengths of calls in order, as runs of equal ones.
#[derive(Default)]
struct CallRuns(Vec<CallRun>);

impl CallRuns {
    fn add(&mut self, bytes: u64) {
        match self.0.last_mut() {
            Some((last, times)) if *last == bytes => *times += 1,
            _ => self.0.push((bytes, 1)),
        }
    }
}

/// The blocks of a file, and what is left behind them.
fn blocks(bytes: u64, block: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_n(block, (bytes / block) as usize).chain([bytes % block])
}

/// The calls that write a file, or read one, in blocks without a buffer.
pub fn unbuffered(bytes: u64, block: u64) -> Vec<CallRun> {
    let whole = (block, bytes / block);
    [whole, (bytes % block, 1)].into_iter().filter(|(_, times)| *times > 0).collect()
}

/// The calls that write a file through a stream.
pub fn written(bytes: u64, block: u64) -> Vec<CallRun> {
    let mut calls = CallRuns::default();
    // The buffer is there from the first block on, which finds no room in it.
    let (mut held, mut is_there) = (0, false);
    for part in blocks(bytes, block).filter(|part| *part > 0) {
        let room = if is_there { BUFFER - held } else { 0 };
        let fits = part.min(room);
        (held, is_there) = (held + fits, true);
        let rest = part - fits;
        if rest > 0 {
            if held > 0 {
                calls.add(held);
            }
            if rest >= BUFFER {
                calls.add(rest - rest % BUFFER);
            }
            held = rest % BUFFER;
        }
    }
    if held > 0 {
        calls.add(held);
    }
    calls.0
}

/// The calls that read a file through a stream; the last one has what is left of the file.
pub fn read(bytes: u64, block: u64) -> Vec<CallRun> {
    let mut calls = CallRuns::default();
    let (mut held, mut left) = (0, bytes);
    for part in blocks(bytes, block) {
        let mut wanted = part;
        while wanted > 0 {
            if wanted <= held {
                held -= wanted;
                break;
            }
            wanted -= held;
            let asked = if wanted < BUFFER { BUFFER } else { wanted - wanted % BUFFER };
            let got = asked.min(left);
            if got == 0 {
                break;
            }
            calls.add(got);
            left -= got;
            if wanted < BUFFER {
                held = got;
            } else {
                (held, wanted) = (0, wanted - got);
            }
        }
    }
    calls.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that Debian's postmark 1.51 made (strace), by the length of the file and of the block.
    #[test]
    fn calls_are_those_of_the_original() {
        assert_eq!(written(16_486, 512), [(4096, 4), (102, 1)]);
        assert_eq!(read(16_486, 512), [(4096, 4), (102, 1)]);
        assert_eq!(written(3937, 512), [(3937, 1)]);
        assert_eq!((written(8192, 512), read(8192, 512)), (vec![(4096, 2)], vec![(4096, 2)]));
        assert_eq!(unbuffered(1100, 512), [(512, 2), (76, 1)]);
        assert_eq!(unbuffered(1024, 512), [(512, 2), (0, 1)]);
        assert_eq!(unbuffered(100, 512), [(100, 1)]);
    }

    #[test]
    fn no_byte_is_lost_whatever_the_block() {
        for block in [1, 100, 512, 3000, 4096, 5000, 8192, 10_000, 70_000] {
            for bytes in [1, 511, 512, 4095, 4096, 4097, 8192, 25_000, 69_999, 200_000] {
                for runs in [written(bytes, block), read(bytes, block), unbuffered(bytes, block)] {
                    let sum: u64 = runs.iter().map(|(bytes, times)| bytes * times).sum();
                    assert_eq!(sum, bytes, "{bytes} in {block}: {runs:?}");
                }
            }
        }
    }
}
