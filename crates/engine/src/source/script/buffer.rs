//! A script's buffers: what a read left, padded where asked, and the queue in which records are gathered.
//!
//! Laid out in the worker's own memory before the start line. The only pointers of a script; it refuses to grow.

use iodyno_model::Script;

use super::super::SourceContext;
use super::super::random::Random;
use super::compile;
use super::convert::Converter;
use crate::failure::Failure;
use crate::io::Io;

/// One numbered buffer.
pub struct Buffer {
    pub start: *mut u8,
    pub bytes: u64,
    /// The most that a read asks for; the buffer may be larger.
    pub record: u64,
    pub queue: *mut u8,
    pub queue_bytes: u64,
    /// Bytes that the last read left in the buffer, or that lie in the queue.
    pub filled: u64,
    /// Bytes at the queue's front that were written already.
    pub taken: u64,
    pub gathers: bool,
    /// Stands between the block and the queue.
    pub converter: Option<Box<Converter>>,
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
    let lay = |(number, ((block, queue), record)): (usize, ((u64, u64), u64))| {
        // SAFETY: the sum of all parts is at most the slot's memory (checked above).
        let (behind, next) = unsafe { (start.add(block as usize), start.add((block + queue) as usize)) };
        let (filled, taken, gathers) = (0, 0, queue > 0);
        let converter = compile::conversion(script, number as u32).filter(|_| gathers);
        let converter = converter.map(|conversion| Box::new(Converter::new(conversion, block)));
        let (bytes, queue_bytes) = (block, queue);
        let buffer =
            Buffer { start, bytes, record, queue: behind, queue_bytes, filled, taken, gathers, converter };
        start = next;
        buffer
    };
    Ok(wanted.into_iter().zip(compile::records(script)).enumerate().map(lay).collect())
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
        let padding = self.converter.as_ref().map_or(0, |converter| converter.padding());
        // SAFETY: both ranges lie in this buffer; `padded` is at most its length, and nothing is in flight.
        unsafe {
            std::ptr::write_bytes(self.start.add(bytes as usize), padding, (padded - bytes) as usize);
            if let Some(converter) = &mut self.converter {
                return converter.take(std::slice::from_raw_parts(self.start, padded as usize));
            }
            if gathers {
                self.close_up();
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

    /// Moves what is in the queue to its front.
    fn close_up(&mut self) {
        let left = (self.filled - self.taken) as usize;
        // SAFETY: `taken` never passes `filled`, which never passes the queue's length; nothing is in flight.
        unsafe { std::ptr::copy(self.queue.add(self.taken as usize), self.queue, left) };
        (self.filled, self.taken) = (left as u64, 0);
    }

    /// Bytes that are there to be written, where so many are wanted; `ends`: nothing more is read.
    pub fn ready(&mut self, wanted: u64, ends: bool) -> u64 {
        if self.converter.is_some() && self.filled - self.taken < wanted {
            self.convert(ends);
        }
        self.filled - self.taken
    }

    /// Converts as much of what was read as the queue has room for.
    #[cold]
    fn convert(&mut self, ends: bool) {
        self.close_up();
        let room = (self.queue_bytes - self.filled) as usize;
        // SAFETY: the rest of the queue is this buffer's alone, and was written to before (zeros at the start).
        let room = unsafe { std::slice::from_raw_parts_mut(self.queue.add(self.filled as usize), room) };
        self.filled += self.converter.as_mut().map_or(0, |converter| converter.fill(room, ends)) as u64;
    }

    pub fn is_zero(&self, io: &Io) -> bool {
        // SAFETY: the operation's bytes lie in this buffer.
        let bytes = unsafe { std::slice::from_raw_parts(io.buffer, io.bytes as usize) };
        bytes.iter().all(|byte| *byte == 0)
    }
}
