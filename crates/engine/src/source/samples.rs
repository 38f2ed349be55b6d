//! Which items samples of training input lie in, reader by reader, in their order.
//!
//! Shuffles are those of NumPy's `RandomState`, so that a seed means what it means to DLIO. Source: Matsumoto, Nishimura,
//! "Mersenne twister", 1998; Fisher and Yates from the end, each draw masked and repeated while it is too large. What nobody
//! shuffles is computed; a list that is shuffled is made once for all who read by it. Draws nothing while the phase runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use iodyno_model::SampleOrder;

/// A list in the order that seeds have shuffled it to: of so many numbers, an accelerator's samples or, without one, items.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ListKey {
    count: u64,
    /// Whose samples, among how many accelerators, and whether they are dealt in turn.
    of: Option<(u32, u32, bool)>,
    seeds: Vec<u32>,
}

type List = Arc<[u32]>;

/// The shuffled lists of a phase.
#[derive(Clone, Debug, Default)]
pub struct SampleLists(Arc<Mutex<HashMap<ListKey, Arc<OnceLock<List>>>>>);

impl SampleLists {
    /// That list, which whoever asks first makes while those who ask for others go on.
    fn shuffled(&self, key: ListKey, make: impl FnOnce() -> Vec<u32>) -> List {
        let seeds = key.seeds.clone();
        let place = {
            let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lists.entry(key).or_default())
        };
        let list = place.get_or_init(|| {
            let mut list = make();
            seeds.iter().for_each(|seed| Twister::new(*seed).shuffle(&mut list));
            list.into()
        });
        Arc::clone(list)
    }
}

/// The samples of one reader.
pub struct Samples {
    share: SampleShare,
    /// The items by their numbers, and the accelerator's samples by theirs, where they are shuffled.
    items: Option<List>,
    own: Option<List>,
    per_item: u64,
    batch: u64,
    readers: u64,
    /// The batch of the next sample, its place in it, and behind which batch there is no more.
    number: u64,
    place: u64,
    end: u64,
}

impl Samples {
    /// Of the reader with this number, counted over all accelerators.
    pub fn new(order: &SampleOrder, worker: u32, lists: &SampleLists) -> Samples {
        let readers = order.readers.max(1);
        let (accelerator, reader) = (worker / readers % order.accelerators.max(1), worker % readers);
        let (share, per_item) = (SampleShare::of(order, accelerator), order.per_item.max(1));
        let items = (!order.item_seeds.is_empty()).then(|| {
            let key = ListKey {
                count: order.samples.div_ceil(per_item),
                of: None,
                seeds: order.item_seeds.clone(),
            };
            let count = key.count;
            lists.shuffled(key, || (0..count).map(|item| item as u32).collect())
        });
        let own = (!order.sample_seeds.is_empty()).then(|| {
            let key = ListKey {
                count: order.samples,
                of: Some((accelerator, order.accelerators, order.dealt)),
                seeds: order.sample_seeds.clone(),
            };
            lists.shuffled(key, || (0..share.count).map(|index| share.sample(index) as u32).collect())
        });
        Samples {
            share,
            items,
            own,
            per_item,
            batch: order.batch.max(1).into(),
            readers: readers.into(),
            number: order.first.saturating_add(reader.into()),
            place: 0,
            end: order.first.saturating_add(order.steps),
        }
    }

    /// The item of the next sample; none: there is no more.
    pub fn next(&mut self) -> Option<u64> {
        Some(self.next_sample()? / self.per_item)
    }

    fn next_sample(&mut self) -> Option<u64> {
        if self.number >= self.end || self.share.count == 0 {
            return None;
        }
        let index = (self.number * self.batch + self.place) % self.share.count;
        self.place += 1;
        if self.place == self.batch {
            (self.number, self.place) = (self.number + self.readers, 0);
        }
        let sample = match &self.own {
            Some(list) => u64::from(list[index as usize]),
            None => self.share.sample(index),
        };
        Some(match &self.items {
            Some(list) => {
                u64::from(list[(sample / self.per_item) as usize]) * self.per_item + sample % self.per_item
            }
            None => sample,
        })
    }
}

/// Where the samples of one reader lie.
pub struct SamplePlaces {
    samples: Samples,
    record_bytes: u64,
    /// Of those in items, where the first one of an item lies.
    first_byte: Option<u64>,
}

impl SamplePlaces {
    pub fn new(samples: Samples, record_bytes: u64, first_byte: Option<u64>) -> SamplePlaces {
        SamplePlaces { samples, record_bytes, first_byte }
    }

    /// The offset of the next sample; none: there is no more.
    pub fn next(&mut self) -> Option<u64> {
        let number = self.samples.next_sample()?;
        Some(match self.first_byte {
            None => number * self.record_bytes,
            Some(first) => first + number % self.samples.per_item * self.record_bytes,
        })
    }
}

/// The samples of an accelerator before anybody shuffles them.
#[derive(Clone, Copy, Debug)]
struct SampleShare {
    first: u64,
    /// From one to the next.
    step: u64,
    count: u64,
}

impl SampleShare {
    fn of(order: &SampleOrder, accelerator: u32) -> SampleShare {
        let (number, all) = (u64::from(accelerator), u64::from(order.accelerators.max(1)));
        if order.dealt {
            let count = order.samples.saturating_sub(number).div_ceil(all);
            return SampleShare { first: number, step: all, count };
        }
        let each = order.samples.div_ceil(all);
        let first = number.saturating_mul(each).min(order.samples);
        SampleShare { first, step: 1, count: each.min(order.samples - first) }
    }

    fn sample(&self, index: u64) -> u64 {
        self.first + index * self.step
    }
}

const WORDS: usize = 624;
const AHEAD: usize = 397;

struct Twister {
    words: Box<[u32]>,
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Twister {
        let mut words = vec![seed; WORDS].into_boxed_slice();
        for index in 1..WORDS {
            let before = words[index - 1];
            words[index] = 1_812_433_253u32.wrapping_mul(before ^ before >> 30).wrapping_add(index as u32);
        }
        Twister { words, next: WORDS }
    }

    fn draw(&mut self) -> u32 {
        if self.next == WORDS {
            for index in 0..WORDS {
                let joined = self.words[index] & 1 << 31 | self.words[(index + 1) % WORDS] & !(1 << 31);
                let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.words[index] = self.words[(index + AHEAD) % WORDS] ^ joined >> 1 ^ twist;
            }
            self.next = 0;
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// A number from 0 to `most`.
    fn up_to(&mut self, most: u32) -> u32 {
        let mask = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        loop {
            let drawn = self.draw() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.up_to(last as u32) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(samples: u64, accelerators: u32, readers: u32, batch: u32) -> SampleOrder {
        let steps = samples / u64::from(batch * accelerators);
        let (per_item, dealt) = (1, false);
        let (item_seeds, sample_seeds) = (Vec::new(), Vec::new());
        SampleOrder {
            samples,
            per_item,
            accelerators,
            dealt,
            batch,
            readers,
            first: 0,
            steps,
            item_seeds,
            sample_seeds,
        }
    }

    fn all(order: &SampleOrder, worker: u32) -> Vec<u64> {
        let mut samples = Samples::new(order, worker, &SampleLists::default());
        std::iter::from_fn(|| samples.next()).collect()
    }

    /// How many lists a thousand accelerators of eight readers make, and the first items of the last reader.
    fn made(change: impl FnOnce(&mut SampleOrder)) -> (usize, Vec<u64>) {
        let mut order = order(8_192_000, 1024, 8, 10);
        change(&mut order);
        let lists = SampleLists::default();
        let mut all: Vec<Samples> = (0..8192).map(|worker| Samples::new(&order, worker, &lists)).collect();
        let first = std::iter::from_fn(|| all.last_mut()?.next()).take(3).collect();
        let count = lists.0.lock().unwrap().len();
        (count, first)
    }

    #[test]
    fn lists_are_made_of_what_is_shuffled_and_once_for_all_readers() {
        assert_eq!(made(|_| {}), (0, vec![8_184_070, 8_184_071, 8_184_072]));
        assert_eq!(made(|order| order.dealt = true), (0, vec![72_703, 73_727, 74_751]));
        let items = |order: &mut SampleOrder| (order.per_item, order.item_seeds) = (1000, vec![3]);
        assert_eq!(made(items).0, 1, "the items' order is the same for all");
        assert_eq!(made(|order| (order.samples, order.sample_seeds) = (10_240, vec![3])).0, 1024);
    }

    /// By NumPy 2.4: `numpy.random.seed(123)`, then `numpy.random.shuffle(list(range(10)))`, and both once more.
    #[test]
    fn a_seed_shuffles_as_numpy_does() {
        let shuffled = |samples, sample_seeds| {
            let order = SampleOrder { sample_seeds, ..order(samples, 1, 1, 1) };
            all(&order, 0)
        };
        assert_eq!(shuffled(10, vec![123]), [4, 0, 7, 5, 8, 3, 1, 6, 9, 2]);
        assert_eq!(shuffled(10, vec![123, 123]), [8, 4, 6, 3, 9, 5, 0, 1, 2, 7]);
        assert_eq!(shuffled(1000, vec![124])[..8], [80, 789, 869, 518, 794, 762, 896, 506]);
    }

    #[test]
    fn readers_take_the_batches_of_their_accelerator_in_turn() {
        let order = order(24, 2, 2, 3);
        assert_eq!(all(&order, 0), [0, 1, 2, 6, 7, 8]);
        assert_eq!(all(&order, 1), [3, 4, 5, 9, 10, 11]);
        assert_eq!(all(&order, 2), [12, 13, 14, 18, 19, 20]);
    }

    #[test]
    fn a_part_of_the_batches_goes_on_where_the_one_before_it_ended() {
        let parts = [(0, 1), (1, 3)].map(|(first, steps)| SampleOrder { first, steps, ..order(12, 1, 1, 3) });
        let samples: Vec<u64> = parts.iter().flat_map(|order| all(order, 0)).collect();
        assert_eq!(samples, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn every_sample_of_whole_batches_comes_once() {
        let order = SampleOrder { item_seeds: vec![7], sample_seeds: vec![1, 2], ..order(960, 4, 3, 8) };
        let mut items: Vec<u64> = (0..12).flat_map(|worker| all(&order, worker)).collect();
        items.sort_unstable();
        assert_eq!(items, (0..960).collect::<Vec<_>>());
    }

    #[test]
    fn samples_of_items_have_their_places_in_them() {
        let order = SampleOrder { per_item: 3, item_seeds: vec![4], ..order(9, 1, 1, 1) };
        let lists = SampleLists::default();
        let samples = || Samples::new(&order, 0, &lists);
        let mut items = samples();
        let all = |first_byte| {
            let mut places = SamplePlaces::new(samples(), 10, first_byte);
            std::iter::from_fn(|| places.next()).collect::<Vec<_>>()
        };
        assert_eq!(all(Some(2048)), [2048, 2058, 2068].repeat(3));
        // In one file, items that are shuffled move whole.
        let begin = |item: Option<u64>| item.map(|item| item * 30);
        assert_eq!(all(None).first().copied(), begin(items.next()));
        assert_eq!(all(None).iter().sum::<u64>(), (0..9u64).map(|sample| sample * 10).sum::<u64>());
    }

    #[test]
    fn items_are_dealt_and_begin_anew_where_there_are_too_few() {
        let order = SampleOrder { dealt: true, steps: 4, ..order(5, 2, 1, 1) };
        assert_eq!(all(&order, 0), [0, 2, 4, 0]);
        assert_eq!(all(&order, 1), [1, 3, 1, 3]);
        let several = SampleOrder { per_item: 2, ..self::order(6, 1, 1, 1) };
        assert_eq!(all(&several, 0), [0, 0, 1, 1, 2, 2]);
    }
}
