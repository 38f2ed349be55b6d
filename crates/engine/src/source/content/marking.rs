//! Marks one worker's write buffers, and knows which of them are marked already: what differs from one operation to the
//! next is often one word in 4 KiB, or nothing at all.
//!
//! A read into a buffer spoils it. It refuses to know what a mark says; that is the payload's.

use iodyno_model::PayloadMarks;

use crate::io::Io;
use crate::memory::Memory;
use crate::payload::Marker;
use crate::source::SourceContext;

/// Marks buffers.
pub struct Marking {
    marker: Marker,
    /// Whose operations the worker marks.
    worker: u32,
    base: usize,
    stride: usize,
    /// By slot: where its bytes begin that are marked for the present owner, and how many they are.
    marked: Vec<(usize, usize)>,
}

impl Marking {
    /// For the worker's owner and memory.
    pub fn new(context: &SourceContext<'_>, marked: PayloadMarks) -> Self {
        let SourceContext { memory, worker, .. } = context;
        let count = memory.count() as usize;
        let base = memory.buffer(0) as usize;
        Marking {
            marker: Marker::new(marked, *worker),
            worker: *worker,
            base,
            stride: memory.stride(),
            marked: vec![(0, 0); count],
        }
    }

    /// Marks every buffer for operations of so many bytes, where all of an owner's carry the same. Whether that is so.
    pub fn prepare(&self, memory: &Memory, depth: u32, bytes: usize) -> bool {
        for slot in (0..depth.min(memory.count())).filter(|_| self.marker.is_constant()) {
            // SAFETY: the slot's buffer is as long as the stride, and nothing is in flight yet.
            let buffer =
                unsafe { std::slice::from_raw_parts_mut(memory.buffer(slot), bytes.min(memory.stride())) };
            self.marker.fill(buffer, 0);
        }
        self.marker.is_constant()
    }

    /// Makes the buffer of a write ready; `owner`: whose marks it carries, where they are not the worker's own.
    #[inline]
    pub fn mark(&mut self, io: &Io, place: u64, owner: Option<u32>) {
        if self.marker.owner() != owner.unwrap_or(self.worker) {
            self.marker = self.marker.of(owner.unwrap_or(self.worker));
            self.marked.fill((0, 0));
        }
        let (start, bytes) = (io.buffer as usize, io.bytes as usize);
        // SAFETY: the buffer is the slot's and at least as long as the operation; no operation is in flight on it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, bytes) };
        let Some(marked) = self.marked.get_mut(start.wrapping_sub(self.base) / self.stride) else {
            return self.marker.fill(buffer, place);
        };
        if *marked == (start, bytes) {
            return self.marker.refresh(buffer, place);
        }
        self.marker.fill(buffer, place);
        *marked = (start, bytes);
    }

    /// The buffer of an operation will hold something else.
    #[inline]
    pub fn spoil(&mut self, io: &Io) {
        let slot = (io.buffer as usize).wrapping_sub(self.base) / self.stride;
        if let Some(marked) = self.marked.get_mut(slot) {
            *marked = (0, 0);
        }
    }
}
