//! How many different blocks: HyperLogLog (Flajolet et al., AOFA 2007), whose sketches can be merged.

/// What counts as a block, bytes: a page.
pub const BLOCK_BYTES: u64 = 4096;

/// Registers of a sketch, as a power of two.
const REGISTER_BITS: u32 = 11;
const REGISTERS: usize = 1 << REGISTER_BITS;

/// The relative standard error of a count, percent: 1.04 / √registers.
pub const DISTINCT_ERROR_PERCENT: f64 = 2.3;

/// A number that depends on every bit of a block's place, and tells blocks apart as chance would (SplitMix64's finaliser).
pub fn block_hash(file: u32, block: u64) -> u64 {
    let mut hash = block.wrapping_add(u64::from(file).wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ 0x51_7c_c1_b7;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// A sketch of a set of blocks, 2 KiB once anything is in it.
#[derive(Clone, Debug, Default)]
pub struct DistinctBlocks(Option<Box<[u8; REGISTERS]>>);

impl DistinctBlocks {
    pub fn add(&mut self, hash: u64) {
        let registers = self.0.get_or_insert_with(|| Box::new([0; REGISTERS]));
        let index = (hash >> (64 - REGISTER_BITS)) as usize;
        let rank = ((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))).leading_zeros() as u8 + 1;
        registers[index] = registers[index].max(rank);
    }

    pub fn merge(&mut self, other: &DistinctBlocks) {
        let Some(theirs) = &other.0 else { return };
        let mine = self.0.get_or_insert_with(|| Box::new([0; REGISTERS]));
        mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// About how many there are.
    pub fn count(&self) -> u64 {
        let Some(registers) = &self.0 else { return 0 };
        let count = REGISTERS as f64;
        let sum: f64 = registers.iter().map(|rank| (-f64::from(*rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = registers.iter().filter(|rank| **rank == 0).count();
        match empty {
            // Few blocks: how many registers are still empty tells more.
            1.. if raw <= 2.5 * count => (count * (count / empty as f64).ln()).round() as u64,
            _ => raw.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_within_three_standard_errors_and_merge() {
        for count in [1u64, 100, 5_000, 20_000, 200_000] {
            let (mut even, mut odd) = (DistinctBlocks::default(), DistinctBlocks::default());
            for block in 0..count {
                let half = if block % 2 == 0 { &mut even } else { &mut odd };
                half.add(block_hash(3, block));
                half.add(block_hash(3, block));
            }
            even.merge(&odd);
            let error = (even.count() as f64 / count as f64 - 1.0).abs() * 100.0;
            assert!(error <= 3.0 * DISTINCT_ERROR_PERCENT, "{count}: {}", even.count());
        }
        assert_eq!(DistinctBlocks::default().count(), 0);
    }
}
