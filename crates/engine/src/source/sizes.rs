//! How long each item of a set is meant to be: drawn from the plan's seed and the item's number, never stored.
//!
//! Whoever lays the set out and whoever writes or copies one of its files whole come to the same length. It refuses to
//! look at the file.

use iodyno_model::{Diagnostic, Items, SampleFile, Size};

use super::random::{Random, mix};
use crate::distribution::Sizes;

/// The lengths of a set's items.
#[derive(Clone, Debug)]
pub struct ItemSizes {
    sizes: Sizes,
    seed: u64,
    format: Option<SampleFile>,
}

impl ItemSizes {
    /// Of the set of that name.
    ///
    /// # Errors
    /// Sizes that cannot be drawn.
    pub fn new(size: &Size, seed: u64, set: &str) -> Result<Self, Diagnostic> {
        let named = set.bytes().fold(seed, |sum, byte| mix(sum ^ u64::from(byte)));
        Ok(ItemSizes { sizes: Sizes::new(size)?, seed: named, format: None })
    }

    /// Of files, which are longer than their samples where they have a format.
    ///
    /// # Errors
    /// Sizes that cannot be drawn.
    pub fn of_files(items: &Items, seed: u64, set: &str) -> Result<Self, Diagnostic> {
        Ok(ItemSizes { format: items.format, ..ItemSizes::new(&items.size, seed, set)? })
    }

    /// The length of an item, bytes.
    pub fn of(&self, item: u64) -> u64 {
        let drawn_bytes = self.drawn(item);
        self.format.map_or(drawn_bytes, |format| format.layout(drawn_bytes).bytes())
    }

    /// The length that was drawn for an item: of a sample, where the set has a format.
    pub fn drawn(&self, item: u64) -> u64 {
        match self.sizes {
            Sizes::Fixed(bytes) => bytes,
            _ => self.sizes.draw(&mut Random::from_seed(self.seed, item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_always_as_long_and_sets_differ() {
        let gamma = Size::Gamma { mean_bytes: 16384.0, shape: 1.5 };
        let of = |seed, set| ItemSizes::new(&gamma, seed, set).unwrap();
        let all = |sizes: ItemSizes| (0..2000).map(|item| sizes.of(item)).collect::<Vec<_>>();
        assert_eq!(all(of(1, "a")), all(of(1, "a")));
        assert_ne!(all(of(1, "a")), all(of(2, "a")));
        assert_ne!(all(of(1, "a")), all(of(1, "b")));
        let mean = all(of(1, "a")).iter().sum::<u64>() / 2000;
        assert!((14_000..19_000).contains(&mean), "{mean}");
    }
}
