//! Which items samples of training input lie in, reader by reader, in their order.
//!
//! Shuffles are those of NumPy's `RandomState`, so that a seed means what it means to DLIO. Source: Matsumoto, Nishimura,
//! "Mersenne twister", 1998; Fisher and Yates from the end, each draw masked and repeated while it is too large. A reader
//! keeps the items of its own batches only. Draws nothing while the phase runs.

use iodyno_model::SampleOrder;

/// The samples of one reader.
pub struct Samples {
    numbers: Box<[u32]>,
    per_item: u64,
    next: usize,
}

impl Samples {
    /// Of the reader with this number, counted over all accelerators.
    pub fn new(order: &SampleOrder, worker: u32) -> Samples {
        let readers = order.readers.max(1);
        let (accelerator, reader) = (worker / readers % order.accelerators.max(1), worker % readers);
        let own = share(order, accelerator);
        let batch = order.batch.max(1) as usize;
        let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (first, end) = (index(order.first), index(order.first.saturating_add(order.steps)));
        let batches = (first.saturating_add(reader as usize)..end).step_by(readers as usize);
        let places = batches.flat_map(|number| number * batch..(number + 1) * batch);
        let numbers = places.filter_map(|place| own.get(place % own.len().max(1)).copied()).collect();
        Samples { numbers, per_item: order.per_item.max(1), next: 0 }
    }

    /// The item of the next sample; none: there is no more.
    pub fn next(&mut self) -> Option<u64> {
        Some(self.next_sample()? / self.per_item)
    }

    fn next_sample(&mut self) -> Option<u64> {
        let number = self.numbers.get(self.next).copied().map(u64::from);
        self.next += 1;
        number
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
    pub fn new(order: &SampleOrder, worker: u32, record_bytes: u64, first_byte: Option<u64>) -> SamplePlaces {
        SamplePlaces { samples: Samples::new(order, worker), record_bytes, first_byte }
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

/// An accelerator's samples, in the order in which it takes them.
fn share(order: &SampleOrder, accelerator: u32) -> Vec<u32> {
    let per_item = order.per_item.max(1);
    // Items that nobody shuffles lie as they are numbered.
    let shuffled = (!order.item_seeds.is_empty()).then(|| {
        let mut items: Vec<u32> = (0..order.samples.div_ceil(per_item)).map(|item| item as u32).collect();
        order.item_seeds.iter().for_each(|seed| Twister::new(*seed).shuffle(&mut items));
        items
    });
    let (number, all) = (u64::from(accelerator), u64::from(order.accelerators.max(1)));
    let each = order.samples.div_ceil(all);
    let mut own: Vec<u64> = match order.dealt {
        true => (number..order.samples).step_by(all as usize).collect(),
        false => (number * each..((number + 1) * each).min(order.samples)).collect(),
    };
    order.sample_seeds.iter().for_each(|seed| Twister::new(*seed).shuffle(&mut own));
    let item = |number: u64| shuffled.as_ref().map_or(number, |items| u64::from(items[number as usize]));
    own.into_iter().map(|sample| (item(sample / per_item) * per_item + sample % per_item) as u32).collect()
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
        let mut samples = Samples::new(order, worker);
        std::iter::from_fn(|| samples.next()).collect()
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
        let mut items = Samples::new(&order, 0);
        let all = |first_byte| {
            let mut places = SamplePlaces::new(&order, 0, 10, first_byte);
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
