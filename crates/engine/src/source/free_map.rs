//! Which blocks of a span were touched: a bit each, with summaries above, so that the next free one is found in a few
//! steps however full the map is.
//!
//! Needed only where sizes differ: with one size a permutation remembers everything in four keys. It refuses to choose.

/// A bit for each block; set: touched.
#[derive(Clone, Debug)]
pub struct FreeMap {
    /// The blocks, then a bit for each full word below, up to a single word.
    levels: Vec<Vec<u64>>,
    blocks: u64,
    used: u64,
}

impl FreeMap {
    /// A map of so many blocks, all free.
    pub fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64).max(1);
            levels.push(vec![0; words as usize]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = FreeMap { levels, blocks, used: 0 };
        map.close_ends();
        map
    }

    /// Bits behind the last of each level count as touched.
    fn close_ends(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            if !bits.is_multiple_of(64)
                && let Some(last) = level.last_mut()
            {
                *last |= u64::MAX << (bits % 64);
            }
            bits = bits.div_ceil(64);
        }
        if self.blocks == 0 {
            self.levels[0][0] = u64::MAX;
        }
    }

    /// All free again.
    pub fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.used = 0;
        self.close_ends();
    }

    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Whether nothing is free.
    pub fn is_full(&self) -> bool {
        self.used == self.blocks
    }

    /// Whether a block was touched; those behind the end were.
    pub fn is_used(&self, block: u64) -> bool {
        block >= self.blocks || self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// How many blocks are free from this one on, at most so many.
    pub fn run(&self, first: u64, most: u64) -> u64 {
        (first..first.saturating_add(most)).take_while(|block| !self.is_used(*block)).count() as u64
    }

    /// Touches free blocks that follow each other.
    pub fn take(&mut self, first: u64, count: u64) {
        for block in first..first + count {
            let mut at = block;
            for level in &mut self.levels {
                let word = &mut level[(at / 64) as usize];
                *word |= 1 << (at % 64);
                if *word != u64::MAX {
                    break;
                }
                at /= 64;
            }
        }
        self.used += count;
    }

    /// The first free block from this one on.
    pub fn next_free(&self, from: u64) -> Option<u64> {
        let (mut at, mut height) = (from, 0);
        loop {
            let word = self.levels.get(height)?.get((at / 64) as usize)?;
            let free = !word & (u64::MAX << (at % 64));
            if free != 0 {
                at = at / 64 * 64 + u64::from(free.trailing_zeros());
                break;
            }
            (at, height) = (at / 64 + 1, height + 1);
        }
        for level in self.levels[..height].iter().rev() {
            at = at * 64 + u64::from((!level[at as usize]).trailing_zeros());
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_next_free_is_what_a_search_finds() {
        for blocks in [0u64, 1, 63, 64, 65, 4096, 5000] {
            let (mut map, mut plain) = (FreeMap::new(blocks), vec![false; blocks as usize]);
            let mut random = Random::from_seed(blocks, 0);
            while !map.is_full() {
                let from = random.below(blocks);
                let found = map.next_free(from);
                let expected = (from..blocks).find(|block| !plain[*block as usize]);
                assert_eq!(found, expected, "of {blocks} from {from}");
                let first = found.or_else(|| map.next_free(0)).unwrap();
                let count = map.run(first, 1 + random.below(100));
                assert!((first..first + count).all(|block| !plain[block as usize]));
                map.take(first, count);
                (first..first + count).for_each(|block| plain[block as usize] = true);
            }
            assert_eq!((map.next_free(0), plain.iter().all(|used| *used)), (None, true));
            map.clear();
            assert_eq!(map.next_free(0), (blocks > 0).then_some(0));
        }
    }
}
