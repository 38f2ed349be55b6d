//! The bytes that were touched at least once, as extents: exact until there are too many, then with a stated resolution.

use std::collections::BTreeMap;

/// Extents that are kept, at most.
const EXTENTS_MOST: usize = 1 << 18;
/// The resolution with which it begins to be coarse, bytes.
const FIRST_GRAIN: u64 = 4096;

/// A set of byte ranges of files.
#[derive(Clone, Debug)]
pub struct ExtentSet {
    /// The end of each extent, by file and start. Extents of a file neither touch nor overlap.
    extents: BTreeMap<(u32, u64), u64>,
    grain: u64,
    most: usize,
}

impl Default for ExtentSet {
    fn default() -> ExtentSet {
        ExtentSet { extents: BTreeMap::new(), grain: 1, most: EXTENTS_MOST }
    }
}

impl ExtentSet {
    pub fn add(&mut self, file: u32, start: u64, end: u64) {
        self.insert(file, start, end);
        while self.extents.len() > self.most {
            self.grain = (self.grain * 2).max(FIRST_GRAIN);
            let finer = std::mem::take(&mut self.extents);
            finer.into_iter().for_each(|((file, start), end)| self.insert(file, start, end));
        }
    }

    fn insert(&mut self, file: u32, start: u64, end: u64) {
        let mut start = start / self.grain * self.grain;
        let mut end = end.checked_next_multiple_of(self.grain).unwrap_or(u64::MAX);
        if end <= start {
            return;
        }
        if let Some((&(_, before), &until)) = self.extents.range((file, 0)..=(file, start)).next_back() {
            if until >= end {
                return;
            }
            if until >= start {
                self.extents.remove(&(file, before));
                start = before;
            }
        }
        while let Some((&(_, next), &until)) = self.extents.range((file, start)..=(file, end)).next() {
            self.extents.remove(&(file, next));
            end = end.max(until);
        }
        self.extents.insert((file, start), end);
    }

    pub fn bytes(&self) -> u64 {
        self.extents.iter().fold(0, |sum: u64, ((_, start), end)| sum.saturating_add(end - start))
    }

    /// Ranges are rounded outwards to multiples of this, bytes; 1: they are exact.
    pub fn resolution(&self) -> u64 {
        self.grain
    }

    /// What either of two has.
    #[must_use]
    pub fn union(&self, other: &ExtentSet) -> ExtentSet {
        let mut union = self.clone();
        other.extents.iter().for_each(|(&(file, start), &end)| union.add(file, start, end));
        union.grain = union.grain.max(other.grain);
        union
    }

    /// The first and the last byte of a file that it has, the latter exclusive.
    pub fn range_of(&self, file: u32) -> Option<(u64, u64)> {
        let mut extents = self.extents.range((file, 0)..=(file, u64::MAX));
        let (&(_, start), &end) = extents.next()?;
        Some((start, extents.next_back().map_or(end, |(_, end)| *end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut set = ExtentSet::default();
        for (start, end) in [(10, 20), (30, 40), (20, 30), (5, 12), (50, 50), (60, 70), (0, 100)] {
            set.add(0, start, end);
        }
        set.add(1, 7, 9);
        assert_eq!((set.bytes(), set.extents.len(), set.resolution()), (102, 2, 1));
        assert_eq!((set.range_of(0), set.range_of(1), set.range_of(2)), (Some((0, 100)), Some((7, 9)), None));
    }

    #[test]
    fn too_many_extents_make_it_coarser_and_it_says_so() {
        let mut set = ExtentSet { most: 4, ..ExtentSet::default() };
        (0..6).for_each(|at| set.add(0, at * 8192, at * 8192 + 100));
        assert_eq!((set.resolution(), set.bytes()), (8192, 6 * 8192));
        set.add(0, u64::MAX - 5, u64::MAX);
        assert!(set.bytes() > 6 * 8192);
    }

    #[test]
    fn a_union_counts_common_bytes_once() {
        let (mut a, mut b) = (ExtentSet::default(), ExtentSet::default());
        a.add(0, 0, 100);
        b.add(0, 50, 150);
        assert_eq!(a.union(&b).bytes(), 150);
    }
}
