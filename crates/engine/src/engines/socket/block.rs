//! The memory that blocks are sent from and received into: one block, warm, on a huge page where there is one.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_model::Workload;

use crate::engines::{Failure, Setup};
use crate::memory::Mapping;
use crate::payload::{BlockAddress, Filler};

/// A huge page on most machines.
const HUGE: usize = 2 << 20;
/// A block of less has nothing of a huge page, bytes; nor have many workers.
const WORTH_IT: usize = 64 << 10;
const FEW: u32 = 8;
/// Blocks of this process that asked for a huge page: a server has a run for each of its peers' streams.
static HUGE_BLOCKS: AtomicU32 = AtomicU32::new(0);

pub struct Block {
    mapping: Mapping,
    first: usize,
    bytes: usize,
    _huge: Option<HugePage>,
}

/// One of the few huge pages, for as long as its block is.
struct HugePage;

impl HugePage {
    fn of_few() -> Option<HugePage> {
        let one_more = |held: u32| (held < FEW).then_some(held + 1);
        HUGE_BLOCKS.fetch_update(Relaxed, Relaxed, one_more).ok().map(|_| HugePage)
    }
}

impl Drop for HugePage {
    fn drop(&mut self) {
        HUGE_BLOCKS.fetch_sub(1, Relaxed);
    }
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
        let wanted = bytes >= WORTH_IT && setup.seats <= FEW;
        let huge = wanted.then(HugePage::of_few).flatten();
        let asks = huge.is_some();
        let mut block = Block { mapping, first, bytes, _huge: huge };
        if asks {
            block.ask_for_huge_pages();
        }
        let payload = &setup.job.payload;
        let seed = payload.seed.unwrap_or(setup.plan.seed);
        let filler = Filler::new(payload, seed, bytes).map_err(|wrong| Failure::new(wrong.message))?;
        filler
            .fill(block.room(bytes), BlockAddress { file: 0, offset: 0, generation: u64::from(setup.seat) });
        Ok(block)
    }

    /// So many bytes of it from there on.
    fn part(&self, from: usize, bytes: usize) -> &[u8] {
        self.all().get(from..).and_then(|rest| rest.get(..bytes)).unwrap_or(self.bytes(bytes))
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

/// Several blocks that go out in turn: what is sent is longer than one.
pub struct InTurn {
    all: Block,
    each: usize,
    count: usize,
    next: usize,
}

impl InTurn {
    /// So many blocks, filled as if they were one.
    ///
    /// # Errors
    /// No memory, or a payload that cannot be made.
    pub fn new(setup: &Setup<'_>, count: usize) -> Result<InTurn, Failure> {
        let each = setup.memory.stride();
        let each = match &setup.job.workload {
            Workload::Pattern(pattern) => {
                pattern.size.write.most_bytes().map_or(each, |bytes| bytes as usize)
            }
            _ => each,
        };
        let bytes = each.checked_mul(count).ok_or_else(|| Failure::new("too many blocks"))?;
        Ok(InTurn { all: Block::new(setup, bytes)?, each, count, next: 0 })
    }

    /// The first bytes of the next one.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let from = self.next * self.each;
        self.next = (self.next + 1) % self.count;
        self.all.part(from, bytes.min(self.each))
    }
}
