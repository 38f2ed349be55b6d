//! Fills one worker's write buffers, and knows which of them need only a few words changed: a scrambled write costs a
//! fifth of a filled one.
//!
//! Whatever else uses a buffer spoils it. It refuses to know what a buffer holds; that is the payload's.

use iodyno_model::Workload;

use crate::io::Io;
use crate::payload::{BlockAddress, Filler};
use crate::source::SourceContext;

/// Fills buffers.
pub struct Filling {
    filler: Filler,
    base: usize,
    stride: usize,
    /// By slot: what its buffer was last filled for. Empty where a buffer is always filled anew.
    filled: Vec<FillRange>,
}

/// A stretch of memory, and where in its unit the content begins. No bytes: spoiled.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct FillRange {
    start: usize,
    bytes: usize,
    within: u64,
}

impl Filling {
    /// For the worker's memory.
    pub fn new(context: &SourceContext<'_>, filler: Filler) -> Self {
        // The buffers of a script may overlap.
        let apart = matches!(context.job.workload, Workload::Pattern(_));
        let count = if apart && filler.changes_little() { context.memory.count() as usize } else { 0 };
        Filling {
            base: context.memory.buffer(0) as usize,
            stride: context.memory.stride().max(1),
            filled: vec![FillRange::default(); count],
            filler,
        }
    }

    /// What fills them.
    pub fn filler(&self) -> &Filler {
        &self.filler
    }

    /// Fills the buffer of an operation that goes to `place`.
    #[inline]
    pub fn fill(&mut self, io: &Io, place: BlockAddress) {
        // SAFETY: the buffer is the slot's and at least as long as the operation; no operation is in flight on it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, io.bytes as usize) };
        let wanted = FillRange {
            start: io.buffer as usize,
            bytes: buffer.len(),
            within: self.filler.within_unit(place.offset),
        };
        let Some(filled) = self.of(io) else { return self.filler.fill(buffer, place) };
        if std::mem::replace(filled, wanted) == wanted {
            return self.filler.refresh(buffer, place);
        }
        self.filler.fill(buffer, place);
    }

    /// The buffer of an operation will hold something else.
    #[inline]
    pub fn spoil(&mut self, io: &Io) {
        self.of(io).into_iter().for_each(|filled| *filled = FillRange::default());
    }

    #[inline]
    fn of(&mut self, io: &Io) -> Option<&mut FillRange> {
        if self.filled.is_empty() {
            return None;
        }
        self.filled.get_mut((io.buffer as usize).wrapping_sub(self.base) / self.stride)
    }
}

#[cfg(test)]
#[path = "filling_tests.rs"]
mod tests;
