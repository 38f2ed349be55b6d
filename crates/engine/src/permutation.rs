//! A seeded shuffle of 0..n in constant memory: every place once, none remembered.
//!
//! No-repeat random coverage of a disk would need a bit for each block; a permutation that can be computed needs four
//! keys. This is an alternating Feistel network over a rectangle `rows` × 2^k that holds n with at most 2^k - 1 cells to
//! spare, so the walk out of the spare cells (cycle walking) is rare. It is a shuffle, not a cipher: it refuses to be
//! secret.
//!
//! Sources: Luby, Rackoff, "How to construct pseudorandom permutations", 1988 (why four rounds); Black, Rogaway,
//! "Ciphers with arbitrary finite domains", 2002 (rectangle and cycle walking).

use super::random::{GOLDEN, mix};

/// A permutation of `0..n`.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    rows: u64,
    column_bits: u32,
    column_mask: u64,
    keys: [(u64, u64); ROUNDS],
}

const ROUNDS: usize = 4;

impl Permutation {
    /// The permutation of `0..n` that belongs to `seed`.
    ///
    /// # Panics
    /// In debug builds, if `n` is above 2^63.
    pub fn new(n: u64, seed: u64) -> Self {
        debug_assert!(n <= 1 << 63);
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        // At least one, so that the shift by what 64 bits have more stays a shift.
        let column_bits = (bits / 2).max(1);
        let column_mask = (1 << column_bits) - 1;
        let rows = n.div_ceil(1 << column_bits).max(1);
        let state = mix(seed ^ GOLDEN);
        let key = |index: u64| mix(state.wrapping_add(GOLDEN.wrapping_mul(index)));
        let keys = std::array::from_fn(|round| (key(2 * round as u64) | 1, key(2 * round as u64 + 1)));
        Permutation { n, rows, column_bits, column_mask, keys }
    }

    /// How many places there are.
    #[inline]
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Whether there is no place at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The image of `i`, which must be below n.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let place = self.shuffled(i);
        if place < self.n { place } else { self.walked(place) }
    }

    /// On from a spare cell until a true one. Its own function, lest the loop take all registers from the usual case.
    #[cold]
    #[inline(never)]
    fn walked(&self, mut place: u64) -> u64 {
        while place >= self.n {
            place = self.shuffled(place);
        }
        place
    }

    /// One pass of the network over the whole rectangle. Rows change first: neighbours differ in their column, so
    /// already the first round tears them apart.
    #[inline]
    fn shuffled(&self, cell: u64) -> u64 {
        let mut row = cell >> self.column_bits;
        let mut column = cell & self.column_mask;
        for round in 0..ROUNDS {
            let keys = self.keys[round];
            if round % 2 == 0 {
                row += ((u128::from(scrambled(column, keys)) * u128::from(self.rows)) >> 64) as u64;
                row = row.min(row.wrapping_sub(self.rows));
            } else {
                column ^= scrambled(row, keys) >> (64 - self.column_bits);
            }
        }
        row << self.column_bits | column
    }
}

/// The square of a keyed line, of which the upper bits are good. A line alone would keep neighbours a constant apart; its square does so
/// only in the second difference, and the next round has no neighbours to compare.
#[inline(always)]
fn scrambled(value: u64, (slope, start): (u64, u64)) -> u64 {
    let line = value.wrapping_mul(slope).wrapping_add(start);
    line.wrapping_mul(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_bijective(n: u64, seed: u64) -> bool {
        let permutation = Permutation::new(n, seed);
        let mut seen = vec![false; n as usize];
        (0..n).all(|i| !std::mem::replace(&mut seen[permutation.at(i) as usize], true))
    }

    #[test]
    fn every_small_n_and_the_edges_of_powers_are_bijective() {
        for n in (0..300).chain((9..18).flat_map(|power| (1 << power) - 1..=(1 << power) + 1)) {
            assert!(is_bijective(n, n ^ 5), "{n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_n_is_bijective(n in 1u64..200_000, seed: u64) {
            prop_assert!(is_bijective(n, seed));
        }

        #[test]
        fn huge_ranges_stay_inside_and_do_not_collide(n in (1u64 << 32)..=(1 << 63), seed: u64) {
            let permutation = Permutation::new(n, seed);
            let mut images: Vec<u64> = (0..1000).map(|i| permutation.at(n - 1 - i)).collect();
            prop_assert!(images.iter().all(|&image| image < n));
            images.sort_unstable();
            images.dedup();
            prop_assert_eq!(images.len(), 1000);
        }
    }

    #[test]
    fn seeds_differ() {
        let n = 10_000;
        let [a, b] = [1, 2].map(|seed| Permutation::new(n, seed));
        let same = (0..n).filter(|&i| a.at(i) == b.at(i)).count();
        let fixed = (0..n).filter(|&i| a.at(i) == i).count();
        assert!(same < 10 && fixed < 10, "{same} {fixed}"); // both Poisson with mean 1
    }

    /// Of two places, both orders; of three, all six come about.
    #[test]
    fn tiny_ranges_have_all_orders() {
        for (n, orders) in [(2, 2), (3, 6)] {
            let mut found = std::collections::BTreeSet::new();
            for seed in 0..500 {
                let permutation = Permutation::new(n, seed);
                found.insert((0..n).map(|i| permutation.at(i)).collect::<Vec<_>>());
            }
            assert_eq!(found.len(), orders, "of {n}");
        }
    }

    fn chi_square(values: impl Iterator<Item = u64>, n: u64, bins: usize) -> f64 {
        let mut counts = vec![0f64; bins];
        let mut total = 0.0;
        for value in values {
            counts[(u128::from(value) * bins as u128 / u128::from(n)) as usize] += 1.0;
            total += 1.0;
        }
        let expected = total / bins as f64;
        counts.iter().map(|count| (count - expected).powi(2) / expected).sum()
    }

    /// Both the first images and the distance from one image to the next are spread evenly, as draws would be. Over
    /// 64 bins (63 degrees of freedom) the 0.01 % point is 113; the mean over seeds must sit near 63.
    #[test]
    fn images_look_drawn() {
        for n in [1_000_003, 1 << 28, 268_435_399, (1 << 40) + 12345] {
            let (mut images, mut steps, mut pairs) = (0.0, 0.0, 0.0);
            let seeds = 40;
            for seed in 0..seeds {
                let permutation = Permutation::new(n, seed);
                let k = 8192;
                let step = |i| (permutation.at(i + 1) + n - permutation.at(i)) % n;
                let second = |i| (step(i + 1) + n - step(i)) % n;
                for (sum, value) in [
                    (&mut images, chi_square((0..k).map(|i| permutation.at(i)), n, 64)),
                    (&mut steps, chi_square((0..k).map(step), n, 64)),
                    (&mut pairs, chi_square((0..k).map(second), n, 64)),
                ] {
                    assert!(value < 130.0, "n {n} seed {seed}: {value}");
                    *sum += value / f64::from(seeds as u32);
                }
            }
            // Deviation of the mean of 40: sqrt(2 * 63 / 40) = 1.8; second differences overlap, hence wider.
            assert!((images - 63.0).abs() < 8.0, "n {n}: images {images}");
            assert!((steps - 63.0).abs() < 8.0, "n {n}: steps {steps}");
            assert!((pairs - 63.0).abs() < 10.0, "n {n}: second differences {pairs}");
        }
    }

    /// Serial correlation of neighbours' images, at lags 1, 2 and one row.
    #[test]
    fn neighbours_are_uncorrelated() {
        let n = 1 << 24;
        for seed in 0..10 {
            let permutation = Permutation::new(n, seed);
            let centred = |i| permutation.at(i) as f64 / n as f64 - 0.5;
            for lag in [1, 2, 4096] {
                let k = 20_000;
                let sum: f64 = (0..k).map(|i| centred(i) * centred(i + lag)).sum();
                let correlation = 12.0 * sum / k as f64;
                assert!(correlation.abs() < 0.03, "seed {seed} lag {lag}: {correlation}"); // 4 deviations
            }
        }
    }

    /// If this fails, recorded seeds no longer visit the blocks they visited: do not bless it away.
    #[test]
    fn images_are_pinned() {
        let first = |n, seed| {
            let permutation = Permutation::new(n, seed);
            [0, 1, 2, 3].map(|i| permutation.at(i))
        };
        assert_eq!(first(32_768, 1), [3_506, 12_993, 17_581, 8_773]);
        assert_eq!(first(1_000_000_007, 42), [681_767_953, 139_965_015, 17_504_805, 719_548_115]);
        assert_eq!(
            first(1 << 63, 7),
            [
                5_632_189_587_386_086_635,
                4_658_790_039_113_423_392,
                885_216_367_685_395_977,
                239_504_710_527_863_174
            ]
        );
    }
}
