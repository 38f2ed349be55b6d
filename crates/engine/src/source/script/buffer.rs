//! A script's buffers: what a read left, padded where asked, and the queue in which records are gathered.
//!
//! Laid out in the worker's own memory before the start line. The only pointers of a script; it refuses to grow.

use iodyno_model::Script;

use super::super::SourceContext;
use super::super::random::Random;
use super::compile;
use crate::failure::Failure;
use crate::io::Io;

/// One numbered buffer.
#[derive(Clone, Copy)]
pub struct Buffer {
    pub start: *mut u8,
    pub bytes: u64,
    /// The most that a read asks for; the buffer may be larger.
    pub record: u64,
    pub queue: *mut u8,
    /// Bytes that the last read left in the buffer, or that lie in the queue.
    pub filled: u64,
    /// Bytes at the queue's front that were written already.
    pub taken: u64,
    pub gathers: bool,
}

/// Lays the script's buffers out in the worker's memory, one behind the other.
pub fn buffers(context: &SourceContext<'_>, script: &Script) -> Result<Vec<Buffer>, Failure> {
    let wanted = compile::buffers(script, context.job.buffers.arena_bytes);
    let all: u64 = wanted.iter().map(|(block, queue)| block + queue).sum();
    if all > context.memory.stride() as u64 {
        let message = format!("the script's buffers need {all} bytes, there are {}", context.memory.stride());
        return Err(Failure::new(message));
    }
    let mut start = context.memory.buffer(0);
    let lay = |((block, queue), record): ((u64, u64), u64)| {
        // SAFETY: the sum of all parts is at most the slot's memory (checked above).
        let (behind, next) = unsafe { (start.add(block as usize), start.add((block + queue) as usize)) };
        let (filled, taken, gathers) = (0, 0, queue > 0);
        let buffer = Buffer { start, bytes: block, record, queue: behind, filled, taken, gathers };
        start = next;
        buffer
    };
    Ok(wanted.into_iter().zip(compile::records(script)).map(lay).collect())
}

impl Buffer {
    /// Where an operation's bytes are.
    pub fn place(&self, queued: bool) -> *mut u8 {
        // SAFETY: `taken` never passes `filled`, which never passes the queue's length.
        if queued { unsafe { self.queue.add(self.taken as usize) } } else { self.start }
    }

    /// A place for so many bytes somewhere in the block, at the beginning of a page.
    pub fn anywhere(&self, bytes: u64, random: &mut Random) -> *mut u8 {
        let pages = self.bytes.saturating_sub(bytes) / 4096 + 1;
        let start = (random.below(pages) * 4096).min(self.bytes.saturating_sub(bytes));
        // SAFETY: `start` and what follows it lie inside the block.
        unsafe { self.start.add(start as usize) }
    }

    /// A read left so many bytes, to be padded with zeros up to so many; where records are gathered they join the queue.
    pub fn load(&mut self, bytes: u64, padded: u64, gathers: bool) {
        let bytes = bytes.min(self.bytes);
        let padded = padded.max(bytes).min(self.bytes);
        // SAFETY: both ranges lie in this buffer; `padded` is at most its length, and nothing is in flight.
        unsafe {
            std::ptr::write_bytes(self.start.add(bytes as usize), 0, (padded - bytes) as usize);
            if gathers {
                std::ptr::copy(
                    self.queue.add(self.taken as usize),
                    self.queue,
                    (self.filled - self.taken) as usize,
                );
                (self.filled, self.taken) = (self.filled - self.taken, 0);
                std::ptr::copy_nonoverlapping(
                    self.start,
                    self.queue.add(self.filled as usize),
                    padded as usize,
                );
                self.filled += padded;
                return;
            }
        }
        (self.filled, self.taken) = (padded, 0);
    }

    pub fn is_zero(&self, io: &Io) -> bool {
        // SAFETY: the operation's bytes lie in this buffer.
        let bytes = unsafe { std::slice::from_raw_parts(io.buffer, io.bytes as usize) };
        bytes.iter().all(|byte| *byte == 0)
    }
}
