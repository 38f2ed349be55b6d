//! Places that all verbs of a mix share: every block once by whichever verb comes to it, and windows that move over the
//! span.
//!
//! Where the verbs of a mix pick for themselves, nothing of this is made.

use iodyno_model::{Coverage, Pattern, PerDirection, Pick, Window};

use super::super::free_map::FreeMap;
use super::super::permutation::Permutation;
use super::super::random::{GOLDEN, Random, mix};
use super::super::walk::{Once, PickRange, Walk};
use crate::failure::Failure;

/// What the verbs of a mix share on one file.
#[derive(Clone, Debug)]
pub enum Joint {
    /// Operations of one size: a permutation.
    Once(Once),
    /// Operations of any size: a map.
    Blocks(Box<Blocks>),
    /// A part of the span, and then the next.
    Window(Box<Moving>),
}

/// A map of blocks, with where an operation may begin.
#[derive(Clone, Debug)]
pub struct Blocks {
    map: FreeMap,
    granule: u64,
    /// Of each verb whose operations are all of one size, longer than a block: where there is room for one.
    rooms: Vec<Option<FreeBlockMap>>,
}

/// Where operations of one size may begin: a bit for each such place, set once any block of it was touched.
#[derive(Clone, Debug)]
struct FreeBlockMap {
    map: FreeMap,
    /// Blocks from one place to the next, and of one operation.
    step: u64,
    count: u64,
}

/// A window's state; places are relative to the span's start.
#[derive(Clone, Debug)]
pub struct Moving {
    window: Window,
    order: JointPick,
    /// Where the window is, where the operation before ended, and what was moved in it.
    start: u64,
    last: u64,
    moved: u64,
    reach: u64,
}

#[derive(Clone, Debug)]
enum JointPick {
    Sequential { gap: i64 },
    Repeating { pitch: u64 },
    Once { pitch: u64, permutation: Permutation, index: u64, seed: u64, count: u64 },
}

impl Joint {
    /// What a pattern's verbs share on ground whose smallest size is that of all verbs; none where they share nothing.
    /// `sizes`: of each verb the one size of its operations, if there is one, and their alignment.
    ///
    /// # Errors
    /// A window that holds no operation.
    pub fn new(
        pattern: &Pattern,
        ground: PickRange,
        sizes: &[(Option<u64>, u64)],
        seed: u64,
    ) -> Result<Option<Self>, Failure> {
        if let Some(window) = pattern.window {
            return Moving::new(pattern, window, ground, seed)
                .map(|moving| Some(Joint::Window(Box::new(moving))));
        }
        let PerDirection { read, write, trim } = &pattern.pick;
        let uniform = [read, write, trim].iter().all(|pick| **pick == Pick::Uniform);
        if pattern.coverage != Coverage::Together || !uniform {
            return Ok(None);
        }
        if ground.fixed {
            return Ok(Some(Joint::Once(Once::new(ground, seed))));
        }
        let granule = ground.least;
        let map = FreeMap::new(ground.span / granule);
        if map.is_full() {
            let message = format!("a span of {} bytes holds no operation of {granule} bytes", ground.span);
            return Err(Failure::new(message).hint("make the file or the span larger, or the size smaller"));
        }
        let blocks = map.blocks();
        let rooms = sizes.iter().map(|(bytes, align)| FreeBlockMap::new(blocks, granule, (*bytes)?, *align));
        Ok(Some(Joint::Blocks(Box::new(Blocks { map, granule, rooms: rooms.collect() }))))
    }

    /// What one pass over it is, bytes; the largest number where it does not end by itself.
    pub fn pass_bytes(&self, ground: PickRange) -> u64 {
        match self {
            Joint::Once(_) => Walk::places(&Pick::Uniform, ground).saturating_mul(ground.least),
            Joint::Blocks(_) => ground.span / ground.least * ground.least,
            Joint::Window(_) => u64::MAX,
        }
    }

    /// The next place and its length, for an operation of that verb of the mix that would like to move so many bytes from
    /// a multiple of `align`; none: this file has no more.
    pub fn next(&mut self, random: &mut Random, verb: usize, wanted: u64, align: u64) -> Option<(u64, u64)> {
        match self {
            Joint::Once(once) => Some((once.place(), wanted)),
            Joint::Blocks(blocks) => match blocks.rooms.get(verb) {
                Some(Some(_)) => blocks.next_whole(random, verb, wanted),
                _ => blocks.next(random, wanted, align),
            },
            Joint::Window(moving) => moving.next(random, wanted).map(|offset| (offset, wanted)),
        }
    }

    /// A pass begins.
    pub fn restart(&mut self) {
        match self {
            Joint::Once(_) => {}
            Joint::Blocks(blocks) => blocks.clear(),
            Joint::Window(moving) => (moving.start, moving.last, moving.moved) = (0, 0, 0),
        }
    }
}

impl Blocks {
    /// Any free block is as likely as its distance to the touched ones before it; as few as fit are touched.
    fn next(&mut self, random: &mut Random, wanted: u64, align: u64) -> Option<(u64, u64)> {
        let step = (align / self.granule).max(1);
        let drawn = random.below(self.map.blocks().div_ceil(step)) * step;
        let mut block = self.map.next_free(drawn).or_else(|| self.map.next_free(0))?;
        // An aligned one near by is as good; where none is, alignment yields to coverage.
        let aligned = block.next_multiple_of(step);
        if !self.map.is_used(aligned) {
            block = aligned;
        }
        let count = self.map.run(block, wanted.div_ceil(self.granule).max(1));
        self.take(block, count);
        Some((block * self.granule, wanted.min(count * self.granule)))
    }

    /// The same for operations of one size, which come whole: once there is no room for one, the pass is over.
    fn next_whole(&mut self, random: &mut Random, verb: usize, wanted: u64) -> Option<(u64, u64)> {
        let rooms = self.rooms.get(verb)?.as_ref()?;
        if rooms.map.is_full() {
            return None;
        }
        let drawn = random.below(rooms.map.blocks());
        let place = rooms.map.next_free(drawn).or_else(|| rooms.map.next_free(0))?;
        let (block, count) = (place * rooms.step, rooms.count);
        self.take(block, count);
        Some((block * self.granule, wanted))
    }

    fn take(&mut self, block: u64, count: u64) {
        self.map.take(block, count);
        self.rooms.iter_mut().flatten().for_each(|rooms| rooms.lose(block, count));
    }

    fn clear(&mut self) {
        self.map.clear();
        self.rooms.iter_mut().flatten().for_each(|rooms| rooms.map.clear());
    }
}

impl FreeBlockMap {
    /// None where every free block is room enough.
    fn new(blocks: u64, granule: u64, bytes: u64, align: u64) -> Option<Self> {
        let (count, step) = (bytes.div_ceil(granule), (align / granule).max(1));
        let places = if blocks < count { 0 } else { (blocks - count) / step + 1 };
        (count > 1).then(|| FreeBlockMap { map: FreeMap::new(places), step, count })
    }

    /// These blocks were touched: whatever would reach into them has no room any more.
    fn lose(&mut self, block: u64, count: u64) {
        let first = (block + 1).saturating_sub(self.count).div_ceil(self.step);
        let last = ((block + count - 1) / self.step).min(self.map.blocks().saturating_sub(1));
        for place in first..=last {
            if !self.map.is_used(place) {
                self.map.take(place, 1);
            }
        }
    }
}

impl Moving {
    fn new(pattern: &Pattern, window: Window, ground: PickRange, seed: u64) -> Result<Self, Failure> {
        if window.range_bytes < ground.least || window.bytes == 0 {
            let message = format!(
                "a window of {} bytes holds no operation of {} bytes",
                window.range_bytes, ground.least
            );
            return Err(Failure::new(message).hint("make the window larger, or the size smaller"));
        }
        let pitch = ground.pitch();
        let order = match (&pattern.pick.read, pattern.coverage) {
            (Pick::Sequential, _) => JointPick::Sequential { gap: 0 },
            (Pick::Gap(gap), _) => JointPick::Sequential { gap: *gap },
            (Pick::Uniform, Coverage::Repeating) => JointPick::Repeating { pitch },
            (Pick::Uniform, _) => {
                let permutation = Permutation::new(window.range_bytes / pitch, seed);
                JointPick::Once { pitch, permutation, index: 0, seed, count: 0 }
            }
            _ => {
                return Err(Failure::new("places in a window are sequential or random")
                    .hint("leave the window out, or pick uniformly"));
            }
        };
        Ok(Moving { window, order, start: 0, last: 0, moved: 0, reach: ground.reach })
    }

    fn next(&mut self, random: &mut Random, wanted: u64) -> Option<u64> {
        let range = self.window.range_bytes;
        if self.moved >= self.window.bytes {
            self.moved = 0;
            self.start = self.start.saturating_add(range).saturating_add(self.window.skip_bytes);
            if self.start >= self.reach {
                self.start = 0;
            }
            self.last = self.start;
        }
        if self.last >= self.start + range {
            self.last = self.start;
        }
        let room = range.min(self.reach - self.start);
        let fresh = self.moved.is_multiple_of(range);
        let offset = match &mut self.order {
            JointPick::Sequential { gap } => {
                let within = self.last - self.start;
                let jump = if within > 0 { *gap } else { 0 };
                self.start + within.checked_add_signed(jump).filter(|within| *within < range).unwrap_or(0)
            }
            JointPick::Repeating { pitch } => {
                let places = (room / *pitch).max(1);
                self.start + random.below(places) * *pitch
            }
            JointPick::Once { pitch, permutation, index, seed, count } => {
                let places = (room / *pitch).max(1);
                if fresh || *index >= permutation.len() || permutation.len() != places {
                    *count += 1;
                    *permutation = Permutation::new(places, mix(*seed ^ mix(count.wrapping_mul(GOLDEN))));
                    *index = 0;
                }
                *index += 1;
                self.start + permutation.at(*index - 1) * *pitch
            }
        };
        if wanted > self.reach.saturating_sub(offset) {
            return None;
        }
        self.moved += wanted;
        self.last = offset + wanted;
        Some(offset)
    }
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
