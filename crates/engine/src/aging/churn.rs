//! What happens to an aging file system, change by change: a function of the seed alone.
//!
//! First files are made until the aim is reached; then one is removed whenever there is too much, and one made whenever
//! there is room, until so much was written anew. Which file dies follows from its rank by age. Nothing here touches a
//! disk, so a sequence can be gone through again without doing it, and is at the same place afterwards.

use iodyno_model::{Aging, Diagnostic};

use crate::distribution::Sizes;
use crate::random::Random;

/// Bytes that a file without content takes: its inode.
const INODE_BYTES: u64 = 256;
/// No file is larger than this part of the aim.
const LARGEST_PART: u64 = 16;

/// The aim is passed by no more than this part of it at the end.
const NEAR_PART: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file is made.
    Make {
        /// Its number; none is used twice.
        number: u64,
        /// Its size.
        bytes: u64,
    },
    /// A file is removed.
    Remove { number: u64 },
}

/// The sequence of one worker.
#[derive(Debug)]
pub struct Churn {
    random: Random,
    sizes: Sizes,
    youth: f64,
    block_bytes: u64,
    aim_bytes: u64,
    /// What is to be written in all.
    written_aim: u64,
    written: u64,
    held_bytes: u64,
    files: Living,
}

impl Churn {
    /// The sequence that holds `aim_bytes`, counted in whole blocks.
    ///
    /// # Errors
    /// Sizes that cannot be drawn.
    pub fn new(
        aging: &Aging,
        seed: u64,
        worker: u32,
        aim_bytes: u64,
        block_bytes: u64,
    ) -> Result<Churn, Diagnostic> {
        let written_aim = (aim_bytes as f64 * (1.0 + aging.turnover.max(0.0))) as u64;
        Ok(Churn {
            random: Random::from_seed(seed, 0x6167_6500 + u64::from(worker)),
            sizes: Sizes::new(&aging.sizes)?,
            youth: aging.youth.max(1.0),
            block_bytes: block_bytes.max(512),
            aim_bytes,
            written_aim,
            written: 0,
            held_bytes: 0,
            files: Living::default(),
        })
    }

    /// What was written, and what is to be written in all, bytes in whole blocks.
    pub fn progress(&self) -> (u64, u64) {
        (self.written.min(self.written_aim), self.written_aim)
    }

    /// Files that are there now.
    pub fn files(&self) -> u64 {
        self.files.count
    }

    /// The numbers of the files that are there now, oldest first.
    #[cfg(test)]
    fn living(&self) -> impl Iterator<Item = u64> {
        self.files.places.iter().filter(|(_, bytes)| *bytes > 0).map(|(number, _)| *number)
    }

    /// What a file takes.
    fn taken(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.block_bytes).max(INODE_BYTES)
    }
}

impl Iterator for Churn {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        if self.held_bytes >= self.aim_bytes {
            if self.written >= self.written_aim {
                return None;
            }
            let rank = libm::pow(self.random.unit(), self.youth) * self.files.count as f64;
            let (number, taken) = self.files.remove_youngest(rank as u64)?;
            self.held_bytes -= taken;
            return Some(Change::Remove { number });
        }
        let largest = (self.aim_bytes / LARGEST_PART).max(self.block_bytes);
        let mut bytes = self.sizes.draw(&mut self.random).min(largest);
        // The last file is cut, so that the aim is met and not passed.
        let room = self.aim_bytes - self.held_bytes;
        let is_last = self.written + self.taken(bytes) >= self.written_aim;
        if is_last && self.taken(bytes) > room + self.aim_bytes / NEAR_PART {
            bytes = room;
        }
        let taken = self.taken(bytes);
        (self.held_bytes, self.written) = (self.held_bytes + taken, self.written + taken);
        Some(Change::Make { number: self.files.add(taken), bytes })
    }
}

/// The files that are there, by age; the n-th youngest is found in the logarithm of their number (a Fenwick tree: P.
/// Fenwick, "A new data structure for cumulative frequency tables", 1994).
#[derive(Debug, Default)]
struct Living {
    /// Number and bytes of each place, oldest first; 0 bytes: it is gone.
    places: Vec<(u64, u64)>,
    /// How many are there, summed as Fenwick does; as long as `places`.
    sums: Vec<u64>,
    count: u64,
    next: u64,
}

/// Places below which nothing is closed up.
const FEW: usize = 1024;

fn lowest_bit(place: usize) -> usize {
    place & place.wrapping_neg()
}

impl Living {
    /// One more, the youngest; its number.
    fn add(&mut self, bytes: u64) -> u64 {
        if self.places.len() >= FEW && self.places.len() as u64 >= 2 * self.count {
            self.close_up();
        }
        let number = self.next;
        self.next += 1;
        self.push((number, bytes));
        number
    }

    fn push(&mut self, file: (u64, u64)) {
        self.places.push(file);
        let place = self.places.len();
        let (mut sum, mut before) = (1, place - 1);
        while before > place - lowest_bit(place) {
            sum += self.sums[before - 1];
            before -= lowest_bit(before);
        }
        self.sums.push(sum);
        self.count += 1;
    }

    /// Takes the places of the dead away, so that memory follows the living.
    fn close_up(&mut self) {
        let places = std::mem::take(&mut self.places);
        (self.sums, self.count) = (Vec::new(), 0);
        places.into_iter().filter(|(_, bytes)| *bytes > 0).for_each(|file| self.push(file));
    }

    /// Removes one by its rank, the youngest being 0; its number and bytes.
    fn remove_youngest(&mut self, rank: u64) -> Option<(u64, u64)> {
        let rank = rank.min(self.count.checked_sub(1)?);
        let mut older = self.count - 1 - rank;
        let (mut place, mut step) = (0, self.sums.len().next_power_of_two());
        while step > 0 {
            if let Some(sum) = self.sums.get(place + step - 1).filter(|sum| **sum <= older) {
                older -= sum;
                place += step;
            }
            step /= 2;
        }
        let (number, bytes) = self.places[place];
        self.places[place].1 = 0;
        let mut covering = place + 1;
        while covering <= self.sums.len() {
            self.sums[covering - 1] -= 1;
            covering += lowest_bit(covering);
        }
        self.count -= 1;
        Some((number, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aim_is_met_at_the_end_whatever_the_sizes() {
        const AIM: u64 = 100 << 20;
        let fixed = iodyno_model::Size::Fixed(64 << 10);
        for (full, sizes) in [(30.0, Aging::usual_sizes()), (70.0, Aging::usual_sizes()), (70.0, fixed)] {
            for seed in 0..8 {
                let aging = Aging { sizes: sizes.clone(), ..Aging::new("/d", full) };
                let mut churn = Churn::new(&aging, seed, 0, AIM, 4096).unwrap();
                while churn.next().is_some() {}
                let off = churn.held_bytes as i64 - AIM as i64;
                assert!((0..=(AIM / NEAR_PART) as i64).contains(&off), "seed {seed}: {off} bytes off");
            }
        }
    }

    fn churn(aging: &Aging, worker: u32) -> Churn {
        Churn::new(aging, 7, worker, 64 << 20, 4096).unwrap()
    }

    #[test]
    fn the_same_seed_does_the_same_and_ends_at_the_aim() {
        let aging = Aging::new("/d", 70.0);
        let mut first = churn(&aging, 0);
        let changes: Vec<_> = first.by_ref().collect();
        assert_eq!(changes, churn(&aging, 0).collect::<Vec<_>>());
        assert_ne!(changes, churn(&aging, 1).collect::<Vec<_>>());
        let (written, all) = first.progress();
        assert_eq!((written, all), (4 * (64 << 20), 4 * (64 << 20)));
        let mut there = std::collections::BTreeMap::new();
        let mut least = u64::MAX;
        let mut reached = false;
        for change in &changes {
            match change {
                Change::Make { number, bytes } => assert_eq!(there.insert(*number, *bytes), None),
                Change::Remove { number } => assert!(there.remove(number).is_some(), "{number} is there"),
            }
            let held: u64 = there.values().map(|bytes| bytes.next_multiple_of(4096).max(256)).sum();
            reached |= held >= 64 << 20;
            least = if reached { least.min(held) } else { least };
            assert!(held <= (64 << 20) + (4 << 20), "never more than one file above the aim: {held}");
        }
        assert!(least >= (64 << 20) - (4 << 20), "never more than one file below it: {least}");
        let living: Vec<u64> = first.living().collect();
        assert_eq!(living, there.into_keys().collect::<Vec<_>>(), "oldest first");
        assert_eq!(living.len() as u64, first.files());
    }

    #[test]
    fn the_young_die_sooner() {
        let mean_age = |youth: f64| {
            let aging = Aging { youth, sizes: iodyno_model::Size::Fixed(4096), ..Aging::new("/d", 50.0) };
            let (mut ages, mut deaths, mut made) = (0, 0, 0);
            for change in churn(&aging, 0) {
                match change {
                    Change::Make { .. } => made += 1,
                    Change::Remove { number } => (ages, deaths) = (ages + made - number, deaths + 1),
                }
            }
            assert!(deaths > 40_000, "three turnovers of 16,384 files");
            ages as f64 / deaths as f64
        };
        let (all_alike, young) = (mean_age(1.0), mean_age(4.0));
        assert!(young < 0.7 * all_alike, "{young} {all_alike}");
    }

    #[test]
    fn ranks_are_by_age_whatever_was_closed_up() {
        let mut living = Living::default();
        let mut plain: Vec<u64> = Vec::new();
        let mut random = Random::from_seed(3, 0);
        for turn in 0..20_000 {
            if turn % 5 < 2 || plain.len() < 10 {
                plain.push(living.add(1 + random.below(9)));
            } else {
                let rank = random.below(plain.len() as u64);
                let number = plain.remove(plain.len() - 1 - rank as usize);
                assert_eq!(living.remove_youngest(rank).map(|(number, _)| number), Some(number));
            }
            assert_eq!(living.count, plain.len() as u64);
        }
        assert!(living.places.len() < FEW + 10, "{} places for {}", living.places.len(), living.count);
        assert_eq!(Living::default().remove_youngest(0), None);
    }
}
