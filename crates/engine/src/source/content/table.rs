//! What a worker remembers of each block it wrote: which write it was, where that write began, whether it was trimmed
//! since.
//!
//! A mapping that costs memory only where blocks were written. Refuses to know content.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::map::MapBlock;
use crate::memory::Mapping;
use crate::payload::NUMBER_BITS;

/// One more than the generation; 0: never written, or not known.
const GENERATION: u64 = 0xffff_ffff;
/// A write began at this block.
const START: u64 = 1 << 32;
/// Trimmed since it was written.
const TRIMMED: u64 = 1 << 33;
/// Where the write's number lies.
const NUMBER_AT: u32 = u64::BITS - NUMBER_BITS;

/// The blocks of one file's span.
pub struct BlockTable {
    cells: Mapping,
    /// Where a generation map is kept or used, for each block one more than the oldest and (upper half) the newest
    /// generation that may be there.
    bounds: Option<Mapping>,
    count: u64,
    grain: u64,
}

/// A stretch of blocks that hold one generation, or one of a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenGeneration {
    /// The newest that may be there.
    pub newest: u64,
    /// The oldest that may be there: another one where a write had not completed, or several workers wrote.
    pub oldest: u64,
}

/// One write that is still whole: a range of the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenUnit {
    /// Where it begins, bytes from the span's start.
    pub start: u64,
    pub end: u64,
    pub generation: u64,
    /// The oldest generation that may be there in its place.
    pub oldest: u64,
    /// Its number among the worker's writes, the low [`NUMBER_BITS`] of it.
    pub number: u32,
    /// Whether it was trimmed since.
    pub trimmed: bool,
}

impl BlockTable {
    /// A table of so many blocks of `grain` bytes.
    ///
    /// # Errors
    /// The error number, where there is no memory.
    pub fn new(count: u64, grain: u64) -> Result<Self, i32> {
        Ok(BlockTable { cells: Mapping::private(count as usize * 8)?, bounds: None, count, grain })
    }

    /// The same, which notes what a generation map says of each block.
    ///
    /// # Errors
    /// The error number, where there is no memory.
    pub fn bounded(self) -> Result<Self, i32> {
        Ok(BlockTable { bounds: Some(Mapping::private(self.count as usize * 8)?), ..self })
    }

    /// The same in memory that a file is mapped to.
    pub fn bounded_by(self, bounds: Mapping) -> Self {
        BlockTable { bounds: Some(bounds), ..self }
    }

    /// Takes over what a generation map says.
    pub fn load_map(&self, known: &[MapBlock]) {
        for (block, known) in (0..).zip(known) {
            // Where the oldest is not known nothing is.
            if known.oldest > 0 {
                self.store(block, u64::from(known.newest) | if known.begins { START } else { 0 });
                self.bound(block, known.oldest, known.newest);
            }
        }
    }

    /// Goes on behind the generations of an earlier phase, so that none is given twice.
    pub fn continue_map(&self, known: &[MapBlock]) {
        for (block, known) in (0..).zip(known) {
            let oldest = if known.oldest == known.newest { known.newest } else { 0 };
            self.bound(block, oldest, known.newest);
        }
    }

    /// What a generation map is to say, from the first block of which something is known on; the number of that block.
    pub fn to_map(&self) -> Option<(u64, Vec<MapBlock>)> {
        // What only an earlier phase wrote, that phase said.
        let is_known = |block: &u64| {
            let (oldest, newest) = self.bounds_of(*block);
            newest > 0 && (oldest != newest || self.load(*block) != 0)
        };
        let first = (0..self.count).find(is_known)?;
        let last = (first..self.count).rfind(is_known)?;
        let of = |block| {
            let (oldest, newest) = self.bounds_of(block);
            match self.load(block) {
                _ if !is_known(&block) => MapBlock::default(),
                cell if cell & TRIMMED != 0 => MapBlock { newest, ..MapBlock::default() },
                // What failed alone in its block begins there; the rest of a longer one is not known.
                0 => MapBlock { newest, oldest, begins: oldest > 0 },
                cell => MapBlock { newest, oldest, begins: cell & START != 0 },
            }
        };
        Some((first, (first..=last).map(of).collect()))
    }

    fn bounds_cell(&self, block: u64) -> Option<&AtomicU64> {
        let bounds = self.bounds.as_ref().filter(|_| block < self.count)?;
        // SAFETY: as in `cell`: this mapping holds as many.
        Some(unsafe { &*bounds.start().cast::<AtomicU64>().add(block as usize) })
    }

    fn bounds_of(&self, block: u64) -> (u32, u32) {
        let both = self.bounds_cell(block).map_or(0, |cell| cell.load(Relaxed));
        (both as u32, (both >> 32) as u32)
    }

    fn bound(&self, block: u64, oldest: u32, newest: u32) {
        if let Some(cell) = self.bounds_cell(block) {
            cell.store(u64::from(oldest) | u64::from(newest) << 32, Relaxed);
        }
    }

    /// A write of a range begins: its generation, which it may leave there from now on, whole or in part.
    pub fn begin(&self, offset: u64, bytes: u64) -> u64 {
        let blocks = offset / self.grain..(offset + bytes) / self.grain;
        let generation = self.next_generation(offset, bytes);
        if self.bounds.is_some() {
            let begun = blocks.clone().map(|block| u64::from(self.bounds_of(block).1)).max();
            let generation = generation.max(begun.unwrap_or(0)) & GENERATION >> 1;
            blocks.for_each(|block| self.bound(block, self.bounds_of(block).0, generation as u32 + 1));
            return generation;
        }
        generation
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    fn cell(&self, block: u64) -> Option<&AtomicU64> {
        if block >= self.count {
            return None;
        }
        // SAFETY: the mapping holds `count` cells, is zeroed and aligned, and is written through atomics only.
        Some(unsafe { &*self.cells.start().cast::<AtomicU64>().add(block as usize) })
    }

    fn load(&self, block: u64) -> u64 {
        self.cell(block).map_or(0, |cell| cell.load(Relaxed))
    }

    fn store(&self, block: u64, value: u64) {
        if let Some(cell) = self.cell(block) {
            cell.store(value, Relaxed);
        }
    }

    /// One more than the generation of a block whose content is known; 0 otherwise.
    pub fn generation(&self, block: u64) -> u64 {
        match self.load(block) {
            cell if cell & TRIMMED != 0 => 0,
            cell => cell & GENERATION,
        }
    }

    /// The generation that the next write of a range has.
    pub fn next_generation(&self, offset: u64, bytes: u64) -> u64 {
        let blocks = offset / self.grain..(offset + bytes) / self.grain;
        blocks.map(|block| self.load(block) & GENERATION).max().unwrap_or(0)
    }

    /// Takes note of a write; `None`: it failed or was short, and nothing is known of its range. What is left of other
    /// writes that it overlaps is no longer known either, where `whole` writes count.
    pub fn wrote(&self, offset: u64, bytes: u64, write: Option<(u64, u32)>, whole: bool) {
        let (first, end) = (offset / self.grain, (offset + bytes) / self.grain);
        if whole {
            self.forget_rest(first, end);
        }
        let cell = match write {
            Some((generation, number)) => (generation + 1) & GENERATION | u64::from(number) << NUMBER_AT,
            None => 0,
        };
        for block in first..end {
            let start = if block == first && cell != 0 { START } else { 0 };
            self.settle(block, cell, whole && end - first > 1);
            self.store(block, cell | start);
        }
    }

    /// Takes note of what a write left in a block for certain; of a failed one of several blocks that belong together
    /// nothing is known.
    fn settle(&self, block: u64, cell: u64, together: bool) {
        if self.bounds.is_none() {
            return;
        }
        match cell & GENERATION {
            0 if together => self.bound(block, 0, self.bounds_of(block).1),
            0 => {}
            one_more => self.bound(block, one_more as u32, one_more as u32),
        }
    }

    fn forget(&self, block: u64) {
        self.store(block, 0);
        self.bound(block, 0, self.bounds_of(block).1);
    }

    /// Forgets the parts of older writes before and behind a range that is overwritten.
    fn forget_rest(&self, first: u64, end: u64) {
        let continues = |block: u64| {
            let cell = self.load(block);
            cell & GENERATION != 0 && cell & START == 0
        };
        if continues(first) {
            for block in (0..first).rev() {
                let starts = self.load(block) & START != 0;
                self.forget(block);
                if starts {
                    break;
                }
            }
        }
        let mut block = end;
        while continues(block) {
            self.forget(block);
            block += 1;
        }
    }

    /// Takes note of a trim of what was written.
    pub fn trimmed(&self, offset: u64, bytes: u64) {
        for block in offset / self.grain..(offset + bytes) / self.grain {
            let cell = self.load(block);
            if cell & GENERATION != 0 {
                self.store(block, cell | TRIMMED);
            }
        }
    }

    /// The first write that begins at or behind an offset of the span.
    pub fn unit_from(&self, offset: u64) -> Option<WrittenUnit> {
        let first = (offset.div_ceil(self.grain)..self.count).find(|block| self.load(*block) & START != 0)?;
        let cell = self.load(first);
        let goes_on = |block: &u64| {
            let cell = self.load(*block);
            cell & GENERATION != 0 && cell & START == 0
        };
        let end = (first + 1..).find(|block| !goes_on(block)).unwrap_or(first + 1);
        Some(WrittenUnit {
            start: first * self.grain,
            end: end * self.grain,
            generation: (cell & GENERATION) - 1,
            oldest: self.written(first).map_or(0, |written| written.oldest),
            number: (cell >> NUMBER_AT) as u32,
            trimmed: cell & TRIMMED != 0,
        })
    }

    /// The next range that was written, from an offset on: at most so many bytes.
    pub fn written_from(&self, from: u64, most: u64) -> Option<(u64, u64)> {
        let written = |block: u64| self.load(block) & GENERATION != 0;
        let first = (from / self.grain..self.count).find(|block| written(*block))?;
        let room = first + (most / self.grain).max(1);
        let end = (first + 1..room).find(|block| !written(*block)).unwrap_or(room);
        Some((first * self.grain, (end - first) * self.grain))
    }

    /// How many bytes from here on have one generation, and which: `None` is "do not check".
    pub fn stretch(&self, offset: u64, most: usize) -> (usize, Option<WrittenGeneration>) {
        let first = offset / self.grain;
        let written = self.written(first);
        let mut end = (first + 1) * self.grain - offset;
        while (end as usize) < most && self.written((offset + end) / self.grain) == written {
            end += self.grain;
        }
        (most.min(end as usize), written)
    }

    /// What a block holds, if that is known.
    pub fn written(&self, block: u64) -> Option<WrittenGeneration> {
        let newest = self.generation(block).checked_sub(1)?;
        let oldest = match self.bounds_of(block).0 {
            0 => newest,
            oldest => newest.min(u64::from(oldest) - 1),
        };
        Some(WrittenGeneration { newest, oldest })
    }

    /// The trimmed ranges within a range, as offsets into it.
    pub fn trimmed_within(&self, offset: u64, bytes: u64) -> impl Iterator<Item = std::ops::Range<usize>> {
        let first = offset / self.grain;
        let end = (offset + bytes) / self.grain;
        let blocks = (first..end).filter(|block| self.load(*block) & TRIMMED != 0);
        blocks.map(move |block| {
            let start = (block * self.grain).saturating_sub(offset);
            start as usize..(start + self.grain).min(bytes) as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn known(oldest: u32, newest: u32, begins: bool) -> MapBlock {
        MapBlock { newest, oldest, begins }
    }

    #[test]
    fn a_map_tells_completed_writes_from_those_that_may_be_there() {
        let table = BlockTable::new(8, 512).unwrap().bounded().unwrap();
        for block in [1, 2, 3, 5] {
            assert_eq!(table.begin(block * 512, 512), 0);
            table.wrote(block * 512, 512, Some((0, 0)), false);
        }
        // One fails, one is in flight, one is trimmed; the first write of another fails.
        assert_eq!(table.begin(1024, 512), 1);
        table.wrote(1024, 512, None, false);
        assert_eq!(table.begin(1536, 512), 1);
        table.trimmed(2560, 512);
        assert_eq!(table.begin(3072, 512), 0);
        table.wrote(3072, 512, None, false);
        let (first, blocks) = table.to_map().unwrap();
        let expected = [
            known(1, 1, true),
            known(1, 2, true),
            known(1, 2, true),
            MapBlock::default(),
            known(0, 1, false),
            known(0, 1, false),
        ];
        assert_eq!((first, blocks.as_slice()), (1, &expected[..]));
        // A failed write's generation is not given to another one.
        assert_eq!(table.begin(1024, 512), 2);
    }

    #[test]
    fn a_later_phase_goes_on_and_says_what_it_wrote_itself() {
        let table = BlockTable::new(8, 512).unwrap().bounded().unwrap();
        table.continue_map(&[known(2, 2, true), known(2, 2, true), known(2, 2, true)]);
        assert_eq!(table.to_map(), None);
        assert_eq!(table.begin(512, 512), 2);
        table.wrote(512, 512, Some((2, 0)), false);
        assert_eq!(table.begin(1024, 512), 2);
        assert_eq!(table.to_map(), Some((1, vec![known(3, 3, true), known(2, 3, true)])));
    }

    #[test]
    fn a_map_comes_back_as_ranges_of_generations() {
        let table = BlockTable::new(8, 512).unwrap().bounded().unwrap();
        table.load_map(&[known(3, 3, true), known(3, 3, true), known(2, 5, true), known(0, 4, true)]);
        let of = |newest, oldest| Some(WrittenGeneration { newest, oldest });
        assert_eq!(table.stretch(0, 4096), (1024, of(2, 2)));
        assert_eq!(table.stretch(1024, 4096), (512, of(4, 1)));
        assert_eq!(table.written(3), None);
        assert_eq!(table.written_from(0, 4096), Some((0, 1536)));
    }

    #[test]
    fn the_last_write_wins_and_what_it_cut_is_forgotten() {
        let table = BlockTable::new(16, 512).unwrap();
        table.wrote(0, 2048, Some((0, 1)), true);
        table.wrote(2048, 1024, Some((0, 2)), true);
        table.wrote(1024, 1536, Some((table.next_generation(1024, 1536), 3)), true);
        let unit =
            |from| table.unit_from(from).map(|unit| (unit.start, unit.end, unit.generation, unit.number));
        assert_eq!(unit(0), Some((1024, 2560, 1, 3)));
        assert_eq!(unit(1536), None);
        table.wrote(0, 1024, Some((0, 4)), true);
        assert_eq!(unit(0), Some((0, 1024, 0, 4)));
        assert_eq!(table.written_from(0, 8192), Some((0, 2560)));
        table.trimmed(0, 1024);
        assert_eq!((table.generation(0), table.generation(2)), (0, 2));
        assert_eq!(table.trimmed_within(0, 2048).collect::<Vec<_>>(), [0..512, 512..1024]);
        table.wrote(0, 1024, None, true);
        assert_eq!(unit(0), Some((1024, 2560, 1, 3)));
    }
}
