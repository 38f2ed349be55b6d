//! Where an SSD's data lies: a page map with greedy garbage collection, in bounded memory.
//!
//! A drive of a terabyte has hundreds of millions of sectors. The map has far fewer units; each stands for so many sectors,
//! and one of so many writes moves it. Units fill blocks and are collected as the sectors would be, so write amplification
//! and the time until it is steady are those of the whole drive: both depend on shares of the capacity only. What a
//! collected unit costs is that many sectors.
//!
//! Source of the policy: the block with the fewest valid pages is collected first (greedy); its write amplification under
//! uniform random writes is known in closed form: Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions
//! on Storage 10 (2), 2014.

use crate::random::Random;

/// Nothing lies there.
const NOWHERE: u32 = u32::MAX;

/// Units of a simulated block: so many that rounding does not matter, so few that there are many blocks.
pub(crate) const BLOCK_UNITS: u32 = 64;

/// Blocks that are kept erased.
const RESERVE: usize = 2;

pub(crate) struct FlashMap {
    /// Where each unit of the user's lies.
    places: Vec<u32>,
    /// Which unit lies at each place.
    units: Vec<u32>,
    /// Valid units of each block.
    valid: Vec<u32>,
    /// Erased blocks.
    free: Vec<u32>,
    /// The block that is written: its number, and how much of it is.
    open: (u32, u32),
    /// Blocks that are full, by the number of their valid units: each block's place in its list.
    by_valid: Vec<Vec<u32>>,
    places_in_list: Vec<u32>,
    pub(crate) written: u64,
    pub(crate) moved: u64,
}

impl FlashMap {
    /// A map of so many units and a spare part.
    pub(crate) fn new(units: u32, over_provisioning: f64) -> Self {
        let units = units.max(BLOCK_UNITS * 8);
        let physical = (f64::from(units) * (1.0 + over_provisioning)) as u32;
        let blocks = physical / BLOCK_UNITS + RESERVE as u32 + 1;
        FlashMap {
            places: vec![NOWHERE; units as usize],
            units: vec![NOWHERE; (blocks * BLOCK_UNITS) as usize],
            valid: vec![0; blocks as usize],
            free: (1..blocks).rev().collect(),
            open: (0, 0),
            by_valid: vec![Vec::new(); BLOCK_UNITS as usize + 1],
            places_in_list: vec![NOWHERE; blocks as usize],
            written: 0,
            moved: 0,
        }
    }

    pub(crate) fn units(&self) -> u64 {
        self.places.len() as u64
    }

    pub(crate) fn is_mapped(&self, unit: u64) -> bool {
        self.places[unit as usize] != NOWHERE
    }

    /// The user writes a unit; units that are moved to make room.
    pub(crate) fn write(&mut self, unit: u64) -> u64 {
        self.forget(unit);
        self.put(unit as u32);
        self.written += 1;
        let mut moved = 0;
        while self.free.len() < RESERVE {
            match self.collect() {
                Some(units) => moved += units,
                None => break,
            }
        }
        moved
    }

    /// The user gives a unit up.
    pub(crate) fn forget(&mut self, unit: u64) {
        let place = std::mem::replace(&mut self.places[unit as usize], NOWHERE);
        if place != NOWHERE {
            self.units[place as usize] = NOWHERE;
            let block = place / BLOCK_UNITS;
            self.leave_list(block);
            self.valid[block as usize] -= 1;
            self.enter_list(block);
        }
    }

    /// Whether so few blocks are erased that collecting ahead is of use; units that were moved for it.
    pub(crate) fn collect_ahead(&mut self) -> Option<u64> {
        let spare = (self.valid.len() - self.places.len() / BLOCK_UNITS as usize) / 2;
        if self.free.len() >= spare.max(RESERVE) {
            return None;
        }
        // Blocks that are valid throughout give nothing.
        let worth = self.by_valid[..BLOCK_UNITS as usize].iter().any(|list| !list.is_empty());
        if worth { self.collect() } else { None }
    }

    /// A unit is put at the end of the open block.
    fn put(&mut self, unit: u32) {
        if self.open.1 == BLOCK_UNITS {
            let full = self.open.0;
            let Some(block) = self.free.pop() else { return };
            self.open = (block, 0);
            self.enter_list(full);
        }
        let place = self.open.0 * BLOCK_UNITS + self.open.1;
        self.open.1 += 1;
        self.places[unit as usize] = place;
        self.units[place as usize] = unit;
        self.valid[self.open.0 as usize] += 1;
    }

    /// The block with the fewest valid units is emptied; how many it had.
    fn collect(&mut self) -> Option<u64> {
        let list = self.by_valid.iter().position(|list| !list.is_empty())?;
        let block = self.by_valid[list].pop()?;
        self.places_in_list[block as usize] = NOWHERE;
        let first = block * BLOCK_UNITS;
        for place in first..first + BLOCK_UNITS {
            let unit = std::mem::replace(&mut self.units[place as usize], NOWHERE);
            if unit != NOWHERE {
                self.put(unit);
            }
        }
        self.valid[block as usize] = 0;
        self.free.push(block);
        self.moved += list as u64;
        Some(list as u64)
    }

    /// A full block is listed by its valid units; the open one is not.
    fn enter_list(&mut self, block: u32) {
        if block == self.open.0 {
            return;
        }
        let list = &mut self.by_valid[self.valid[block as usize] as usize];
        self.places_in_list[block as usize] = list.len() as u32;
        list.push(block);
    }

    fn leave_list(&mut self, block: u32) {
        let place = std::mem::replace(&mut self.places_in_list[block as usize], NOWHERE);
        if place == NOWHERE {
            return;
        }
        let list = &mut self.by_valid[self.valid[block as usize] as usize];
        list.swap_remove(place as usize);
        if let Some(moved) = list.get(place as usize) {
            self.places_in_list[*moved as usize] = place;
        }
    }

    /// Everything is written once, in order.
    pub(crate) fn fill(&mut self) {
        for unit in 0..self.units() {
            self.write(unit);
        }
        (self.written, self.moved) = (0, 0);
    }

    /// It is overwritten at random until its write amplification is steady.
    pub(crate) fn wear(&mut self, random: &mut Random) {
        self.fill();
        for _ in 0..4 * self.units() {
            let unit = random.below(self.units());
            self.write(unit);
        }
        (self.written, self.moved) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greedy collection of uniform random writes in blocks of n pages, with a times as much flash as data (Desnoyers 2014):
    /// A = n / (n - x + 1), x = 1/2 - n/a W(-c e^-c), c = (1 + 1/2n) a. With W(-c e^-c) = -c u, u solves u = e^(-c (1 - u)).
    #[test]
    fn write_amplification_is_what_theory_says() {
        for spare in [0.07, 0.15, 0.28, 0.5] {
            let mut map = FlashMap::new(1 << 16, spare);
            let mut random = Random::from_seed(1, 1);
            map.wear(&mut random);
            for _ in 0..4 * map.units() {
                let unit = random.below(map.units());
                map.write(unit);
            }
            let found = (map.written + map.moved) as f64 / map.written as f64;
            let (n, a) = (f64::from(BLOCK_UNITS), 1.0 + spare);
            let (c, mut u) = ((1.0 + 1.0 / (2.0 * n)) * a, 0.5_f64);
            for _ in 0..1000 {
                u = libm::exp(-c * (1.0 - u));
            }
            let expected = n / (n - (0.5 + n / a * c * u) + 1.0);
            assert!((found / expected - 1.0).abs() < 0.03, "spare {spare}: {found}, expected {expected}");
        }
    }

    #[test]
    fn what_is_written_in_order_moves_nothing() {
        let mut map = FlashMap::new(1 << 14, 0.07);
        for _ in 0..3 {
            for unit in 0..map.units() {
                map.write(unit);
            }
        }
        assert_eq!(map.moved, 0);
    }

    #[test]
    fn what_is_given_up_is_not_moved() {
        let mut map = FlashMap::new(1 << 14, 0.07);
        let mut random = Random::from_seed(1, 1);
        map.fill();
        (0..map.units() / 2).for_each(|unit| map.forget(unit));
        assert!(!map.is_mapped(0) && map.is_mapped(map.units() - 1));
        for _ in 0..4 * map.units() {
            let unit = map.units() / 2 + random.below(map.units() / 2);
            map.write(unit);
        }
        let found = (map.written + map.moved) as f64 / map.written as f64;
        assert!(found < 1.4, "half of the drive is spare: {found}");
    }
}
