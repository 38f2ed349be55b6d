//! The memory that blocks are sent from and received into: one block, warm, on a huge page where there is one.

use crate::engines::{Failure, Setup};
use crate::memory::Mapping;
use crate::payload::{Filler, Place};

/// A huge page on most machines.
const HUGE: usize = 2 << 20;
/// A block of less has nothing of a huge page, bytes; nor have workers many of them.
const WORTH_IT: usize = 64 << 10;
const FEW: u32 = 8;

/// One block.
pub struct Block {
    mapping: Mapping,
    first: usize,
    bytes: usize,
}

impl Block {
    /// A block of at least so many bytes, filled once with the job's payload.
    ///
    /// # Errors
    /// No memory, or a payload that cannot be made.
    pub fn new(setup: &Setup<'_>, bytes: usize) -> Result<Block, Failure> {
        let bytes = bytes.max(64).next_multiple_of(4096);
        let mapping = Mapping::private(bytes.next_multiple_of(HUGE) + HUGE);
        let mapping = mapping.map_err(|errno| Failure::call("memory for blocks", errno))?;
        let start = mapping.start() as usize;
        let first = start.next_multiple_of(HUGE) - start;
        let mut block = Block { mapping, first, bytes };
        if bytes >= WORTH_IT && setup.seats <= FEW {
            block.ask_for_huge_pages();
        }
        let payload = &setup.job.payload;
        let seed = payload.seed.unwrap_or(setup.plan.seed);
        let filler = Filler::new(payload, seed, bytes).map_err(|wrong| Failure::new(wrong.message))?;
        filler.fill(block.room(bytes), Place { file: 0, offset: 0, generation: u64::from(setup.seat) });
        Ok(block)
    }

    #[cfg(target_os = "linux")]
    fn ask_for_huge_pages(&mut self) {
        // SAFETY: the range lies inside our own mapping. That it is refused only costs time.
        unsafe {
            let start = self.mapping.start().add(self.first);
            libc::madvise(start.cast(), self.bytes.next_multiple_of(HUGE), libc::MADV_HUGEPAGE);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn ask_for_huge_pages(&mut self) {}

    /// The first bytes of it.
    #[inline(always)]
    pub fn bytes(&self, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.bytes);
        // SAFETY: so much lies inside the mapping, and nobody writes it while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.mapping.start().add(self.first), bytes) }
    }

    /// All of it.
    pub fn all(&self) -> &[u8] {
        self.bytes(self.bytes)
    }

    /// The same to be written to.
    #[inline(always)]
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        let bytes = bytes.min(self.bytes);
        // SAFETY: so much lies inside the mapping, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start().add(self.first), bytes) }
    }
}
