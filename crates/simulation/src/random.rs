//! Random numbers: one seeded, stable stream for each worker.
//!
//! A thin wrapper around xoshiro256++, so that the rest of the engine needs no trait and no generic. The numbers of a
//! (seed, stream) pair are the same on every machine and in every version: recorded runs refer to them. It refuses to
//! be seeded from the clock or the operating system; whoever wants surprise draws the plan's seed elsewhere.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The golden ratio's fraction times 2^64: SplitMix64's increment.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's output function: a bijection of 64 bits whose every output bit depends on every input bit.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 (variant 13 of Stafford).
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream with number `stream` (a worker, a purpose) of `seed`.
    ///
    /// The four words of the state come from SplitMix64 started at a mix of both, so streams with neighbouring numbers
    /// have nothing in common; that two of a million streams ever overlap has a chance below 2^-100.
    pub fn from_seed(seed: u64, stream: u64) -> Self {
        let mut state = mix(seed) ^ mix(stream.wrapping_add(GOLDEN)).rotate_left(32);
        let mut bytes = [0; 32];
        for word in bytes.as_chunks_mut::<8>().0 {
            state = state.wrapping_add(GOLDEN);
            *word = mix(state).to_le_bytes();
        }
        Random { generator: Xoshiro256PlusPlus::from_seed(bytes) }
    }

    /// The next 64 bits.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A whole number below `n`; 0 if `n` is 0.
    ///
    /// Lemire's multiply-high without the rejection: one draw always, so streams stay in step. A value's probability
    /// differs from 1/n by less than 2^-64, a relative bias below n/2^64: for a petabyte of 512-byte blocks, 2^-23.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Puts a list into a drawn order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// A number from 0 (inclusive) to 1 (exclusive), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number from 0 (exclusive) to 1 (inclusive): safe to take the logarithm of.
    #[inline]
    pub fn unit_positive(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// An exponentially distributed number with this mean: the gaps of Poisson arrivals.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit_positive())
    }

    /// A standard normal number (mean 0, deviation 1), by Marsaglia's polar method; the pair's second half is dropped,
    /// so that the stream has no hidden state.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, recorded seeds no longer mean what they meant: do not bless it away.
    #[test]
    fn the_stream_is_pinned() {
        let first = |seed, stream| {
            let mut random = Random::from_seed(seed, stream);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(
            first(0, 0),
            [6_107_110_358_951_231_949, 3_222_760_292_554_401_326, 10_275_651_617_953_013_981]
        );
        assert_eq!(
            first(1, 0),
            [7_701_904_924_898_381_928, 2_099_420_442_257_354_719, 3_902_657_878_365_250_965]
        );
        assert_eq!(
            first(1, 1),
            [18_165_105_979_400_700_301, 6_559_269_666_919_007_280, 16_335_265_023_658_931_915]
        );
        let mut random = Random::from_seed(42, 7);
        assert_eq!(random.below(1000), 82);
        assert_eq!(random.unit().to_bits(), 4_595_770_791_788_906_608);
        assert_eq!(random.exponential(10.0).to_bits(), 4_612_533_016_514_644_088);
        assert_eq!(random.normal().to_bits(), 13_810_783_436_778_803_145);
    }

    #[test]
    fn streams_and_seeds_are_independent() {
        let mut firsts: Vec<u64> = (0..1000)
            .flat_map(|seed| (0..100).map(move |stream| Random::from_seed(seed, stream).next()))
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 100_000);
    }

    #[test]
    fn below_is_even_and_bounded() {
        let mut random = Random::from_seed(3, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 27.9, "{counts:?}"); // 9 degrees of freedom, 0.1 %
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!(random.below(u64::MAX) < u64::MAX);
    }

    #[test]
    fn means_and_deviations() {
        let mut random = Random::from_seed(4, 0);
        let n = 200_000;
        let mean = |draw: &mut dyn FnMut() -> f64| (0..n).map(|_| draw()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.003);
        assert!((mean(&mut || random.exponential(80.0)) - 80.0).abs() < 0.8);
        assert!(mean(&mut || random.normal()).abs() < 0.01);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.02);
    }
}
