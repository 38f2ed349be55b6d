//! How often each region was touched, for the hot-spot curve and for what is fitted to it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::distinct::{BLOCK_BYTES, block_hash};

/// Regions that are kept, at most.
const REGIONS_MOST: usize = 1 << 17;
/// A single access counts in so many regions at most; where it is longer, regions become longer.
const SPAN_MOST: u64 = 1 << 12;

/// A hasher for places, which are hashed by [`block_hash`].
#[derive(Default)]
pub struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = block_hash(self.0 as u32, value ^ self.0);
    }
}

pub type PlaceMap<K, V> = HashMap<K, V, BuildHasherDefault<PlaceHasher>>;

/// Reads and writes of each region. One that touches several regions counts in each.
#[derive(Clone, Debug)]
pub struct AccessMap {
    counts: PlaceMap<(u32, u64), u64>,
    region_bytes: u64,
    most: usize,
}

impl Default for AccessMap {
    fn default() -> AccessMap {
        AccessMap { counts: PlaceMap::default(), region_bytes: BLOCK_BYTES, most: REGIONS_MOST }
    }
}

/// How much of all accesses goes to the hottest part of what was touched at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HotSpot {
    /// The hottest so many percent of the touched regions …
    pub footprint_percent: f64,
    /// … have so many percent of the accesses.
    pub access_percent: f64,
}

impl AccessMap {
    /// One whose regions are at least so long, with counts of a file by region.
    pub fn of(regions: &[(u64, u64)], file: u32, region_bytes: u64) -> AccessMap {
        let counts = regions.iter().map(|(region, count)| ((file, *region), *count)).collect();
        AccessMap { counts, region_bytes, ..AccessMap::default() }
    }

    pub fn add(&mut self, file: u32, start: u64, end: u64) {
        if end <= start {
            return;
        }
        while (end - 1) / self.region_bytes - start / self.region_bytes >= SPAN_MOST {
            self.coarsen();
        }
        for region in start / self.region_bytes..=(end - 1) / self.region_bytes {
            *self.counts.entry((file, region)).or_default() += 1;
        }
        while self.counts.len() > self.most {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.region_bytes *= 2;
        let finer = std::mem::take(&mut self.counts);
        for ((file, region), count) in finer {
            *self.counts.entry((file, region / 2)).or_default() += count;
        }
    }

    /// How long a region is, bytes.
    pub fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The regions of a file that were touched, in order, each with its count.
    pub fn regions(&self, file: u32) -> Vec<(u64, u64)> {
        let of_file = self.counts.iter().filter(|((of, _), _)| *of == file);
        let mut regions: Vec<(u64, u64)> = of_file.map(|((_, region), count)| (*region, *count)).collect();
        regions.sort_unstable();
        regions
    }

    /// The curve at the given percentages of the footprint.
    pub fn curve(&self, percents: &[f64]) -> Vec<HotSpot> {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total = self.total().max(1) as f64;
        let mut sums = Vec::with_capacity(counts.len() + 1);
        sums.push(0.0);
        for count in &counts {
            sums.push(sums[sums.len() - 1] + *count as f64);
        }
        let at = |percent: &f64| {
            let place = percent / 100.0 * counts.len() as f64;
            let (whole, part) = (place.floor() as usize, place.fract());
            let next = counts.get(whole).copied().unwrap_or(0) as f64;
            let sum = sums.get(whole).copied().unwrap_or(0.0) + part * next;
            HotSpot { footprint_percent: *percent, access_percent: sum / total * 100.0 }
        };
        percents.iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_part_comes_first() {
        let mut map = AccessMap::default();
        (0..90).for_each(|_| map.add(0, 4096, 8192));
        (0..9).for_each(|region| map.add(0, 65536 + region * 4096, 65536 + region * 4096 + 1));
        map.add(1, 0, 0);
        let curve = map.curve(&[5.0, 10.0, 100.0]);
        let shares: Vec<f64> = curve.iter().map(|point| (point.access_percent * 10.0).round()).collect();
        assert_eq!(shares, [455.0, 909.0, 1000.0]);
        assert_eq!(map.regions(0)[0], (1, 90));
    }

    #[test]
    fn long_and_many_ranges_make_regions_longer() {
        let mut map = AccessMap { most: 8, ..AccessMap::default() };
        (0..16).for_each(|block| map.add(0, block * 4096, block * 4096 + 4096));
        assert_eq!((map.region_bytes(), map.total()), (8192, 16));
        map.add(0, 0, u64::MAX);
        assert!(map.counts.len() <= 8);
    }
}
