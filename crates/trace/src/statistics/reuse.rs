//! Reuse distances and the miss-ratio curve of an LRU cache, by sampling blocks: SHARDS of fixed size (Waldspurger, Park,
//! Garthwaite, Ahmad: Efficient MRC Construction with SHARDS, FAST 2015), with its correction of the number of references.
//!
//! A block is sampled if its hash is below a threshold; the threshold falls whenever more blocks would be kept than fit. A
//! distance between two references to a sampled block, counted in sampled blocks, is 1/rate times as long in all blocks.
//! The error is not the paper's average but this trace's own: the sampled blocks fall into sixteen groups by other bits of
//! their hash, and each group gives a curve. The number of all references is known, so the curve is their regression
//! estimate at that number (Cochran: Sampling Techniques, chapter 7), and its interval is what is stated.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::histogram::{bucket_of, middle};

use super::hot::PlaceMap;

/// Blocks that are sampled at the same time, at most.
pub const SAMPLES_MOST: usize = 1 << 14;
/// Groups of blocks, each with a curve of its own.
const GROUPS: usize = 16;
/// The 99.5th percentile of Student's t with 14 degrees of freedom.
const STUDENT_T: f64 = 2.977;
/// A cache that would hold fewer sampled blocks is too small to be told about.
const SAMPLES_LEAST: f64 = 16.0;
/// Bits of a hash that are held against the threshold; the lowest tell the groups apart.
const HASH_BITS: u32 = 56;

/// Reuse distances of sampled blocks.
#[derive(Clone, Debug)]
pub struct ReuseSampler {
    /// Blocks with a hash below are sampled.
    threshold: u64,
    most: usize,
    /// When each sampled block was last referred to, and its hash.
    last: PlaceMap<u64, u32>,
    /// The sampled hashes in order: the largest goes first.
    hashes: BTreeSet<u64>,
    recency: Recency,
    /// Weights of references by the bucket of their distance in blocks, for each group.
    distances: BTreeMap<usize, [f64; GROUPS]>,
    /// Weights of first references.
    first: [f64; GROUPS],
    references: u64,
}

impl Default for ReuseSampler {
    fn default() -> ReuseSampler {
        ReuseSampler::of_size(SAMPLES_MOST)
    }
}

/// The miss ratio of an LRU cache of some size, which holds what is written, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissRatio {
    pub cache_blocks: u64,
    /// Percent of the references to blocks.
    pub miss_percent: f64,
    /// Half its 99 % interval, percentage points; 0: every block was counted.
    pub error: f64,
}

/// The curve with its error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissRatioCurve {
    /// By size of the cache, ascending.
    pub points: Vec<MissRatio>,
    /// The part of all blocks that was sampled in the end, percent.
    pub sampled_percent: f64,
    /// References to blocks.
    pub references: u64,
}

impl ReuseSampler {
    /// One that keeps so many blocks.
    pub fn of_size(most: usize) -> ReuseSampler {
        ReuseSampler {
            threshold: 1 << HASH_BITS,
            most,
            last: PlaceMap::default(),
            hashes: BTreeSet::new(),
            recency: Recency::of_size(most),
            distances: BTreeMap::new(),
            first: [0.0; GROUPS],
            references: 0,
        }
    }

    /// Counts a reference to the block of that hash.
    pub fn add(&mut self, hash: u64) {
        self.references += 1;
        if hash >> (64 - HASH_BITS) >= self.threshold {
            return;
        }
        let group = hash as usize % GROUPS;
        let scale = (1u64 << HASH_BITS) as f64 / self.threshold as f64;
        if self.recency.is_full() {
            self.recency.compact(&mut self.last);
        }
        let now = self.recency.push();
        match self.last.insert(hash, now) {
            Some(before) => {
                let between = self.recency.after(before) - 1;
                self.recency.remove(before);
                let distance = (f64::from(between) * scale).round() as u64;
                self.distances.entry(bucket_of(distance)).or_default()[group] += scale;
            }
            None => {
                self.first[group] += scale;
                self.hashes.insert(hash);
                self.evict();
            }
        }
    }

    fn evict(&mut self) {
        while self.hashes.len() > self.most {
            let Some(largest) = self.hashes.pop_last() else { return };
            self.threshold = largest >> (64 - HASH_BITS);
            self.forget(largest);
            // Others with the same high bits are no longer below the threshold either.
            while let Some(next) =
                self.hashes.last().copied().filter(|next| next >> (64 - HASH_BITS) >= self.threshold)
            {
                self.hashes.remove(&next);
                self.forget(next);
            }
        }
    }

    fn forget(&mut self, hash: u64) {
        if let Some(last) = self.last.remove(&hash) {
            self.recency.remove(last);
        }
    }

    /// The curve from the smallest size that the sample resolves up to the one from which on only first references miss.
    pub fn curve(&self) -> MissRatioCurve {
        if self.references == 0 {
            return MissRatioCurve { points: Vec::new(), sampled_percent: 100.0, references: 0 };
        }
        let total = self.references as f64;
        let is_sampled = self.threshold < 1 << HASH_BITS;
        let mut misses = self.first;
        for weights in self.distances.values() {
            (0..GROUPS).for_each(|group| misses[group] += weights[group]);
        }
        let scale = (1u64 << HASH_BITS) as f64 / self.threshold as f64;
        let percent = |weights: [f64; GROUPS]| weights.map(|weight| weight * GROUPS as f64 / total * 100.0);
        let all = percent(misses);
        let mut points = Vec::new();
        let mut left = self.distances.iter().peekable();
        for cache_blocks in cache_sizes(self.distances.keys().next_back().map_or(0, |last| middle(*last) + 1))
        {
            // A reference hits where fewer other blocks came between than the cache has.
            while let Some((_, weights)) = left.next_if(|(bucket, _)| middle(**bucket) < cache_blocks) {
                (0..GROUPS).for_each(|group| misses[group] -= weights[group]);
            }
            if is_sampled && (cache_blocks as f64) < SAMPLES_LEAST * scale {
                continue;
            }
            let (miss_percent, error) = estimate(&all, &percent(misses));
            let (miss_percent, error) =
                (miss_percent.clamp(0.0, 100.0), if is_sampled { error } else { 0.0 });
            points.push(MissRatio { cache_blocks, miss_percent, error });
        }
        let sampled_percent = self.threshold as f64 / (1u64 << HASH_BITS) as f64 * 100.0;
        MissRatioCurve { points, sampled_percent, references: self.references }
    }
}

/// What the groups' misses come to where all references are 100 %, and half the 99 % interval of that.
fn estimate(all: &[f64; GROUPS], misses: &[f64; GROUPS]) -> (f64, f64) {
    let mean = |values: &[f64; GROUPS]| values.iter().sum::<f64>() / GROUPS as f64;
    let (mean_all, mean_misses) = (mean(all), mean(misses));
    let pairs = || all.iter().zip(misses).map(|(all, misses)| (all - mean_all, misses - mean_misses));
    let spread = pairs().map(|(x, _)| x * x).sum::<f64>().max(f64::MIN_POSITIVE);
    let slope = pairs().map(|(x, y)| x * y).sum::<f64>() / spread;
    let rest = pairs().map(|(x, y)| (y - slope * x).powi(2)).sum::<f64>() / (GROUPS - 2) as f64;
    let away = 100.0 - mean_all;
    let variance = rest * (1.0 / GROUPS as f64 + away * away / spread);
    (mean_misses + slope * away, STUDENT_T * variance.sqrt())
}

/// Sizes of caches in blocks, four to a power of two, up to the first that is large enough.
fn cache_sizes(largest: u64) -> Vec<u64> {
    let mut sizes = vec![1];
    let mut step = 1;
    while sizes[sizes.len() - 1] < largest {
        let size = (f64::from(step) / 4.0).exp2().round() as u64;
        if size > sizes[sizes.len() - 1] {
            sizes.push(size);
        }
        step += 1;
    }
    sizes
}

/// Which of the last references are a block's latest: a Fenwick tree over a bounded number of them.
#[derive(Clone, Debug)]
struct Recency {
    tree: Vec<u32>,
    next: u32,
    live: u32,
}

impl Recency {
    fn of_size(blocks: usize) -> Recency {
        Recency { tree: vec![0; blocks.max(1) * 4 + 2], next: 0, live: 0 }
    }

    fn is_full(&self) -> bool {
        self.next as usize + 2 >= self.tree.len()
    }

    fn push(&mut self) -> u32 {
        let at = self.next;
        self.next += 1;
        self.live += 1;
        self.change(at, 1);
        at
    }

    fn remove(&mut self, at: u32) {
        self.live -= 1;
        self.change(at, -1);
    }

    fn change(&mut self, at: u32, by: i32) {
        let mut node = at as usize + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add_signed(by);
            node += node & node.wrapping_neg();
        }
    }

    /// How many live ones come after it.
    fn after(&self, at: u32) -> u32 {
        let (mut node, mut until) = (at as usize + 1, 0);
        while node > 0 {
            until += self.tree[node];
            node -= node & node.wrapping_neg();
        }
        self.live - until
    }

    /// Numbers the live ones anew from 0 on.
    fn compact(&mut self, last: &mut PlaceMap<u64, u32>) {
        let mut order: Vec<(&u64, &mut u32)> = last.iter_mut().collect();
        order.sort_unstable_by_key(|(_, at)| **at);
        self.tree.fill(0);
        (self.next, self.live) = (0, 0);
        for (_, at) in order {
            *at = self.push();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct::block_hash;
    use super::*;

    /// The exact stack distances of a trace: a list, the latest first.
    fn exact(blocks: &[u64]) -> Vec<Option<usize>> {
        let mut stack: Vec<u64> = Vec::new();
        let mut distances = Vec::new();
        for block in blocks {
            let place = stack.iter().rposition(|each| each == block);
            distances.push(place.map(|place| stack.len() - 1 - place));
            place.map(|place| stack.remove(place));
            stack.push(*block);
        }
        distances
    }

    fn exact_misses(distances: &[Option<usize>], cache: u64) -> f64 {
        let hits = distances.iter().flatten().filter(|distance| (**distance as u64) < cache).count();
        (1.0 - hits as f64 / distances.len() as f64) * 100.0
    }

    /// References of which many go to few blocks, from a seed.
    fn skewed(seed: u64, count: usize, blocks: u64) -> Vec<u64> {
        let draw = |index: u64| {
            let uniform = (block_hash(seed as u32, index) >> 11) as f64 / (1u64 << 53) as f64;
            (uniform.powi(3) * blocks as f64) as u64
        };
        (0..count as u64).map(draw).collect()
    }

    #[test]
    fn without_sampling_the_curve_is_exact() {
        let blocks = skewed(1, 5000, 300);
        let mut sampler = ReuseSampler::default();
        blocks.iter().for_each(|block| sampler.add(block_hash(0, *block)));
        let (curve, distances) = (sampler.curve(), exact(&blocks));
        assert_eq!((curve.points[3].error, curve.sampled_percent, curve.references), (0.0, 100.0, 5000));
        for point in curve.points.iter().filter(|point| point.cache_blocks < 128) {
            let exact = exact_misses(&distances, point.cache_blocks);
            assert!((point.miss_percent - exact).abs() < 1e-9, "{point:?} against {exact}");
        }
    }

    #[test]
    fn a_sampled_curve_is_within_the_error_that_it_states() {
        for seed in 1..6 {
            let blocks = skewed(seed, 15_000, 12_000);
            let mut sampler = ReuseSampler::of_size(1024);
            blocks.iter().for_each(|block| sampler.add(block_hash(7, *block)));
            let (curve, distances) = (sampler.curve(), exact(&blocks));
            assert!(curve.sampled_percent < 25.0 && curve.points.len() > 10, "{seed}: {curve:?}");
            for point in &curve.points {
                let exact = exact_misses(&distances, point.cache_blocks);
                let off = (point.miss_percent - exact).abs();
                assert!(off <= point.error && point.error < 8.0, "seed {seed}, {point:?}, exact {exact}");
            }
        }
    }

    #[test]
    fn a_loop_larger_than_the_cache_always_misses() {
        let mut sampler = ReuseSampler::of_size(256);
        for _ in 0..20 {
            (0..10_000).for_each(|block| sampler.add(block_hash(0, block)));
        }
        let curve = sampler.curve();
        let at = |blocks: u64| {
            curve.points.iter().rfind(|point| point.cache_blocks <= blocks).map(|point| point.miss_percent)
        };
        assert!(at(5_000).is_some_and(|percent| percent > 75.0));
        assert!(at(20_000).is_some_and(|percent| percent < 25.0), "{curve:?}");
    }
}
