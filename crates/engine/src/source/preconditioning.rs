//! Places of [`Pick::Preconditioning`]: every place of the span once in a random order, region by region, and of each
//! region's places as many once more in the next region as [`RegionSchedule`] says.
//!
//! Which ones come again is decided by counting, not by chance: the order is random, so equal distances in it are as good,
//! and every region has its share exactly. It refuses blocks of several sizes: a share is a number of blocks.

use iodyno_model::{Pick, RegionSchedule};

use super::walk::PickRange;
use crate::failure::Failure;
use crate::permutation::Permutation;
use crate::random::{GOLDEN, mix};

/// One pass after the other.
#[derive(Clone, Debug)]
pub struct Preconditioning {
    schedule: RegionSchedule,
    permutation: Permutation,
    /// Places that have come.
    placed: u64,
    region: usize,
    /// Writes in this region, and how many of them are new.
    written: u64,
    new: u64,
    /// What this region overwrites, how much of it is done, and what the next one will overwrite.
    due: Vec<u64>,
    done: usize,
    staged: Vec<u64>,
    /// Whether new places come before those that are due.
    is_deferred: bool,
    /// Writes left in this pass.
    left: u64,
    pitch: u64,
    seed: u64,
    pass: u64,
}

impl Preconditioning {
    /// The places of a span, for a pick of this kind.
    ///
    /// # Errors
    /// Blocks of several sizes; numbers that make no schedule; a cache that holds a region.
    pub fn new(pick: &Pick, ground: PickRange, seed: u64) -> Result<Self, Failure> {
        let schedule = schedule(pick, ground)?;
        let Pick::Preconditioning { cache_bytes, .. } = *pick else { unreachable!("it has a schedule") };
        if cache_bytes >= schedule.region_bytes {
            let message =
                format!("a cache of {cache_bytes} bytes holds a region of {} bytes", schedule.region_bytes);
            return Err(Failure::new(message).hint("fewer regions, so that each is larger than the cache"));
        }
        // The data plane allocates nothing.
        let most = schedule.invalidated.iter().max().map_or(0, |most| *most as usize);
        let places = ground.places();
        Ok(Preconditioning {
            permutation: Permutation::new(places, seed),
            placed: 0,
            region: 0,
            written: 0,
            new: 0,
            due: Vec::with_capacity(most),
            done: 0,
            staged: Vec::with_capacity(most),
            is_deferred: cache_bytes > 0,
            left: schedule.writes(places),
            pitch: ground.pitch(),
            seed,
            pass: 0,
            schedule,
        })
    }

    /// Writes of one pass.
    ///
    /// # Errors
    /// As of [`Preconditioning::new`], but for the cache.
    pub fn writes(pick: &Pick, ground: PickRange) -> Result<u64, Failure> {
        Ok(schedule(pick, ground)?.writes(ground.places()))
    }

    /// The next offset.
    pub fn place(&mut self) -> u64 {
        if self.left == 0 {
            self.begin_anew();
        }
        self.left -= 1;
        loop {
            let quota = self.schedule.region_writes - self.due.len() as u64;
            let is_new = self.new < quota && self.placed < self.permutation.len();
            let is_due = self.done < self.due.len();
            match (is_due, is_new) {
                (true, false) => return self.overwrite(),
                (true, true) if !self.is_deferred => return self.overwrite(),
                (_, true) => {
                    let place = self.permutation.at(self.placed);
                    (self.placed, self.new) = (self.placed + 1, self.new + 1);
                    return self.wrote(place);
                }
                (false, false) => self.next_region(),
            }
        }
    }

    fn overwrite(&mut self) -> u64 {
        let place = self.due[self.done];
        self.done += 1;
        self.wrote(place)
    }

    fn wrote(&mut self, place: u64) -> u64 {
        self.written += 1;
        let before = self.schedule.invalidated_of(self.region, self.written - 1);
        if self.schedule.invalidated_of(self.region, self.written) > before {
            self.staged.push(place);
        }
        place * self.pitch
    }

    #[cold]
    fn next_region(&mut self) {
        std::mem::swap(&mut self.due, &mut self.staged);
        self.staged.clear();
        (self.region, self.written, self.new, self.done) = (self.region + 1, 0, 0, 0);
    }

    /// The next pass has another order.
    #[cold]
    fn begin_anew(&mut self) {
        self.pass += 1;
        let places = self.permutation.len();
        self.permutation = Permutation::new(places, mix(self.seed ^ mix(self.pass.wrapping_mul(GOLDEN))));
        self.due.clear();
        self.staged.clear();
        (self.region, self.placed, self.written, self.new, self.done) = (0, 0, 0, 0, 0);
        self.left = self.schedule.writes(places);
    }
}

fn schedule(pick: &Pick, ground: PickRange) -> Result<RegionSchedule, Failure> {
    let Pick::Preconditioning { regions, over_provisioning, .. } = *pick else {
        return Err(Failure::new("only preconditioning has regions"));
    };
    if !ground.fixed {
        return Err(Failure::new("preconditioning with operations of several sizes").hint("give one size"));
    }
    RegionSchedule::new(ground.span, ground.pitch(), regions, over_provisioning)
        .map_err(|(message, hint)| Failure::new(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn pick(regions: u32, over_provisioning: f64, cache_bytes: u64) -> Pick {
        Pick::Preconditioning { regions, over_provisioning, cache_bytes }
    }

    fn ground(blocks: u64) -> PickRange {
        PickRange::plain(blocks * 4096, 4096, 4096, true)
    }

    /// The writes of one pass, as block numbers.
    fn pass(pick: &Pick, blocks: u64) -> Vec<u64> {
        let mut places = Preconditioning::new(pick, ground(blocks), 7).unwrap();
        let writes = Preconditioning::writes(pick, ground(blocks)).unwrap();
        (0..writes).map(|_| places.place() / 4096).collect()
    }

    /// Of each region of 901 writes: how many of its blocks are overwritten later, which is what garbage collection
    /// finds invalid. The known answer is the model's: 158 of the first 901, 142 of the second and so on.
    #[test]
    fn each_region_has_its_share_of_invalid_blocks_exactly() {
        for cache_bytes in [0, 1 << 20] {
            let writes = pass(&pick(10, 0.1, cache_bytes), 8192);
            assert_eq!(writes.len(), 8192 + 814);
            assert_eq!(writes.iter().collect::<BTreeSet<_>>().len(), 8192, "every block");
            let last: BTreeMap<u64, usize> =
                writes.iter().enumerate().map(|(at, block)| (*block, at)).collect();
            let mut invalid = [0; 10];
            for (at, block) in writes.iter().enumerate() {
                invalid[at / 901] += usize::from(last[block] != at);
            }
            assert_eq!(invalid, [158, 142, 126, 109, 92, 74, 56, 38, 19, 0]);
        }
    }

    #[test]
    fn a_region_overwrites_first_or_where_there_is_a_cache_last() {
        let overwrites = |cache_bytes| {
            let writes = pass(&pick(10, 0.1, cache_bytes), 8192);
            let first: BTreeSet<u64> = writes[..901].iter().copied().collect();
            writes[901..1802].iter().map(|block| first.contains(block)).collect::<Vec<_>>()
        };
        let (at_once, deferred) = (overwrites(0), overwrites(1));
        assert!(at_once[..158].iter().all(|is| *is) && at_once[158..].iter().all(|is| !is));
        assert!(deferred[743..].iter().all(|is| *is) && deferred[..743].iter().all(|is| !is));
    }

    #[test]
    fn the_next_pass_covers_everything_again_in_another_order() {
        let of = pick(5, 0.25, 0);
        let mut places = Preconditioning::new(&of, ground(1000), 7).unwrap();
        let writes = Preconditioning::writes(&of, ground(1000)).unwrap();
        let mut pass = || (0..writes).map(|_| places.place()).collect::<Vec<_>>();
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        let blocks = |pass: &[u64]| pass.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(blocks(&first), blocks(&second));
    }

    #[test]
    fn what_cannot_be_says_so() {
        let wrong = |pick: &Pick, ground| Preconditioning::new(pick, ground, 7).unwrap_err().message;
        let sizes = PickRange { fixed: false, ..ground(100) };
        assert_eq!(wrong(&pick(2, 0.1, 0), sizes), "preconditioning with operations of several sizes");
        assert_eq!(
            wrong(&pick(10, 0.1, 45_465), ground(100)),
            "a cache of 45465 bytes holds a region of 45465 bytes"
        );
    }

    proptest! {
        /// A pass comes to its end by itself and never writes more than the drive holds.
        #[test]
        fn passes_end(blocks in 1u64..3000, regions in 1u32..40, spare in 1u32..=100) {
            let of = pick(regions, f64::from(spare) / 100.0, 0);
            let Ok(writes) = Preconditioning::writes(&of, ground(blocks)) else { return Ok(()) };
            let written = pass(&of, blocks);
            prop_assert_eq!(written.len() as u64, writes);
            prop_assert!(writes <= (blocks as f64 * (1.0 + f64::from(spare) / 100.0)).ceil() as u64);
            prop_assert!(written.iter().all(|block| *block < blocks));
        }
    }
}
