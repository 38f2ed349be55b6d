//! The pages that a memory holds, and which of them is dropped for another.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::RangeInclusive;

use iodyno_model::device::CachePolicy;

use crate::random::mix;

/// Hashes numbers of pages, the same on every machine.
pub(super) type PageHasher = BuildHasherDefault<NumberHasher>;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

/// A place for a page. Places form a ring by their use, the one used last behind the head.
#[derive(Clone, Copy, Debug)]
struct PagePlace {
    page: u64,
    before: u32,
    after: u32,
    /// Used since the hand came by.
    used: bool,
    /// It may not be dropped: dirty, or on its way.
    pinned: bool,
}

pub(super) struct PageTable {
    most: usize,
    policy: CachePolicy,
    /// The first is the head of the ring, and holds no page.
    places: Vec<PagePlace>,
    free: Vec<u32>,
    known: HashMap<u64, u32, PageHasher>,
}

const HEAD: u32 = 0;

impl PageTable {
    pub(super) fn new(most: usize, policy: CachePolicy) -> Self {
        let head = PagePlace { page: u64::MAX, before: HEAD, after: HEAD, used: false, pinned: true };
        PageTable { most, policy, places: vec![head], free: Vec::new(), known: HashMap::default() }
    }

    pub(super) fn find(&self, page: u64) -> Option<u32> {
        self.known.get(&page).copied()
    }

    /// Those of the pages that it has, in their order.
    pub(super) fn within(&self, pages: &RangeInclusive<u64>) -> Vec<u64> {
        if pages.end() - pages.start() < self.known.len() as u64 {
            return pages.clone().filter(|page| self.known.contains_key(page)).collect();
        }
        let mut found: Vec<u64> = self.known.keys().copied().filter(|page| pages.contains(page)).collect();
        found.sort_unstable();
        found
    }

    /// Has a page, as the one used last; another one is dropped if there is no room. Where all must stay it grows.
    pub(super) fn insert(&mut self, page: u64) {
        if self.known.contains_key(&page) {
            return;
        }
        if self.known.len() >= self.most
            && let Some(victim) = self.victim()
        {
            self.drop_place(victim);
        }
        let place = PagePlace { page, before: HEAD, after: HEAD, used: false, pinned: false };
        let number = match self.free.pop() {
            Some(number) => {
                self.places[number as usize] = place;
                number
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as u32
            }
        };
        self.known.insert(page, number);
        self.link(number);
    }

    pub(super) fn touch(&mut self, page: u64) {
        let Some(number) = self.find(page) else { return };
        match self.policy {
            CachePolicy::Lru => self.renew(number),
            CachePolicy::Clock => self.places[number as usize].used = true,
        }
    }

    pub(super) fn pin(&mut self, page: u64, pinned: bool) {
        if let Some(number) = self.find(page) {
            self.places[number as usize].pinned = pinned;
        }
    }

    /// Gives a page up, unless it must stay.
    pub(super) fn forget(&mut self, page: u64) {
        if let Some(number) = self.find(page)
            && !self.places[number as usize].pinned
        {
            self.drop_place(number);
        }
    }

    /// The one to be dropped: from the end of the ring on, those that stay begin anew.
    fn victim(&mut self) -> Option<u32> {
        for _ in 0..2 * self.known.len() {
            let last = self.places[HEAD as usize].before;
            let PagePlace { used, pinned, .. } = self.places[last as usize];
            if !used && !pinned {
                return Some(last);
            }
            self.places[last as usize].used = false;
            self.renew(last);
        }
        None
    }

    fn drop_place(&mut self, number: u32) {
        self.unlink(number);
        self.known.remove(&self.places[number as usize].page);
        self.free.push(number);
    }

    fn renew(&mut self, number: u32) {
        self.unlink(number);
        self.link(number);
    }

    fn unlink(&mut self, number: u32) {
        let PagePlace { before, after, .. } = self.places[number as usize];
        self.places[before as usize].after = after;
        self.places[after as usize].before = before;
    }

    /// Behind the head.
    fn link(&mut self, number: u32) {
        let next = self.places[HEAD as usize].after;
        let place = &mut self.places[number as usize];
        (place.before, place.after) = (HEAD, next);
        self.places[next as usize].before = number;
        self.places[HEAD as usize].after = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(policy: CachePolicy, steps: &[i64]) -> Vec<u64> {
        let mut table = PageTable::new(3, policy);
        for step in steps {
            let page = step.unsigned_abs();
            if *step < 0 {
                table.pin(page, true);
            } else {
                table.insert(page);
                table.touch(page);
            }
        }
        (1..=9).filter(|page| table.find(*page).is_some()).collect()
    }

    #[test]
    fn the_page_used_longest_ago_is_dropped() {
        assert_eq!(kept(CachePolicy::Lru, &[1, 2, 3, 1, 4]), [1, 3, 4]);
        assert_eq!(kept(CachePolicy::Lru, &[1, 2, 3, 4, 5, 6]), [4, 5, 6]);
    }

    #[test]
    fn a_page_that_must_stay_stays() {
        assert_eq!(kept(CachePolicy::Lru, &[1, -1, 2, 3, 4]), [1, 3, 4]);
        assert_eq!(kept(CachePolicy::Lru, &[1, -1, 2, -2, 3, -3, 4]), [1, 2, 3, 4], "it grows");
    }

    #[test]
    fn the_hand_gives_what_was_used_a_second_chance() {
        let mut table = PageTable::new(3, CachePolicy::Clock);
        [1, 2, 3].iter().for_each(|page| table.insert(*page));
        table.touch(1);
        table.insert(4);
        assert_eq!((table.find(1).is_some(), table.find(2).is_some()), (true, false));
    }
}
