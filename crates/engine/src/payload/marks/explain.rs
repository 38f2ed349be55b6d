//! The slow path of marked content: which bytes are wrong, and whose they are instead.
//!
//! The words of an operation are compared with what its owner would have written. A stretch of wrong bytes is then held
//! against the likely explanations, each as far as it reaches: nothing was ever written, another owner's words, another
//! run's, another place's, a few bits. It refuses to guess: what fits none of them is garbage.

use iodyno_model::{Marks, PayloadMarks, Wrong};

use super::{Draws, Marker, STAMP_WORDS, alike};
use crate::payload::inspect::Flaw;
use crate::payload::verdict::{Class, Corruption};

/// More wrong bits than this in a stretch are no bit flip.
const FLIPPED_BITS_MOST: u32 = 16;
/// Wrong bytes closer than this are one stretch: by chance some between them are right.
const APART_BYTES: usize = 64;
/// Owners, and operations before and after, whose words are tried where words do not name them.
const TRIED: u32 = 4096;
/// Searches that one worker does: a file full of garbage needs no more proof.
const SEARCHES_MOST: u32 = 64;
/// Words that are told of each stretch.
const WORDS_TOLD: usize = 4;
/// Words come from elsewhere in an operation by whole sectors only.
const SECTOR_WORDS: i64 = 64;
/// Operations are no longer than this, words.
const WORDS_MOST: u64 = 1 << 27;
const STAMP_BYTES: usize = STAMP_WORDS * 8;

/// Finds out what is wrong with what was read.
#[derive(Clone, Debug)]
pub struct Explainer {
    marker: Marker,
    searches_left: u32,
    expected: Vec<u8>,
}

/// The operation that is looked at.
#[derive(Clone, Copy)]
struct Operation<'a> {
    found: &'a [u8],
    wanted: &'a [u8],
    /// Where it lies in its file, bytes.
    offset: u64,
    /// What its words say of its place.
    place: u64,
    /// Whose place it is, see [`Corruption::owner`].
    accused: u64,
}

impl Operation<'_> {
    /// The found words from an index on.
    fn words(&self, first: usize) -> impl Iterator<Item = (usize, u64)> + Clone {
        let words = self.found.as_chunks::<8>().0;
        words.iter().enumerate().skip(first).map(|(index, word)| (index, u64::from_le_bytes(*word)))
    }

    fn is_item(&self) -> bool {
        self.place != self.offset
    }
}

impl Explainer {
    /// For what this marker marks.
    pub fn new(marker: Marker) -> Self {
        Explainer { marker, searches_left: SEARCHES_MOST, expected: Vec::new() }
    }

    /// From now on for what that owner marks.
    #[inline]
    pub fn turn_to(&mut self, owner: u32) {
        if self.marker.owner() != owner {
            self.marker = self.marker.of(owner);
        }
    }

    /// Whether an operation's bytes are right.
    #[inline]
    pub fn is_right(&self, found: &[u8], place: u64) -> bool {
        self.marker.is_right(found, place)
    }

    /// The bytes that an operation should have.
    pub fn remake(&self, place: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        self.marker.fill(&mut buffer, place);
        buffer
    }

    /// Everything that is wrong with an operation that lies at an offset and is marked for a place; `accused` says whose
    /// it is, as [`Corruption::owner`] does.
    #[cold]
    pub fn explain(&mut self, found: &[u8], offset: u64, place: u64, accused: u64) -> Vec<Flaw> {
        let mut expected = std::mem::take(&mut self.expected);
        expected.resize(found.len(), 0);
        self.marker.fill(&mut expected, place);
        let operation = Operation { found, wanted: &expected, offset, place, accused };
        let flaws = self.flaws(&operation);
        self.expected = expected;
        flaws
    }

    fn flaws(&mut self, operation: &Operation<'_>) -> Vec<Flaw> {
        let mut flaws: Vec<Flaw> = Vec::new();
        let mut start = 0;
        while let Some((from, to)) = stretch(operation.found, operation.wanted, start) {
            let (from, to, class) = self.classify(operation, from, to, start);
            start = to;
            let corruption = Corruption {
                class,
                owner: operation.accused,
                offset: operation.offset + from as u64,
                bytes: (to - from) as u64,
            };
            match flaws.last_mut() {
                Some(last) if goes_on(&last.corruption, &corruption) => {
                    last.corruption.bytes = corruption.offset + corruption.bytes - last.offset;
                    last.bytes = last.corruption.bytes;
                }
                _ => flaws.push(Flaw {
                    offset: corruption.offset,
                    bytes: corruption.bytes,
                    what: Wrong::Marks,
                    expected: numbers_text(operation.wanted, from),
                    found: numbers_text(operation.found, from),
                    corruption,
                }),
            }
        }
        flaws
    }

    /// What a wrong stretch is, and the range of which that is so: not before `after`, and as far as it explains.
    fn classify(
        &mut self,
        operation: &Operation<'_>,
        from: usize,
        to: usize,
        after: usize,
    ) -> (usize, usize, Class) {
        let bytes = operation.found.len();
        let first = from / 8 * 8;
        let word_begin = if first < after { first + 8 } else { first };
        if let Some((end, class)) = self.other_place(operation, from, to) {
            return (first, end, class);
        }
        let byte = operation.found[from];
        let blank = operation.found[first.max(after)..].iter().take_while(|other| **other == byte).count();
        if (byte == 0x00 || byte == 0xff)
            && blank >= 8
            && first.max(after) + blank >= to.min(from + APART_BYTES)
        {
            let end = (first.max(after) + blank).min(to.next_multiple_of(8)).min(bytes);
            return (first.max(after), end, Class::Lost { byte });
        }
        if let Some((words, class)) = self.origin(operation, word_begin / 8)
            && word_begin + words * 8 >= to.min(word_begin + APART_BYTES)
        {
            return (first.max(after), word_begin + words * 8, class);
        }
        let pairs = operation.found[from..to].iter().zip(&operation.wanted[from..to]);
        let wrong: u32 = pairs.map(|(found, wanted)| (found ^ wanted).count_ones()).sum();
        if wrong <= FLIPPED_BITS_MOST {
            let bit = (operation.found[from] ^ operation.wanted[from]).trailing_zeros() as u8;
            return (from, to, Class::BitFlip { bit, bits: wrong });
        }
        // Behind the next page something else may lie.
        (from, to.min((from / STAMP_BYTES + 1) * STAMP_BYTES), Class::Garbage)
    }

    fn is_stamp(&self, index: usize) -> bool {
        index.is_multiple_of(STAMP_WORDS) && matches!(self.marker.marks, Marks::Placed | Marks::DrawnOnce)
    }

    /// A stamp of another place, all else of its page right: the page is that place's. Where it ends.
    fn other_place(&self, operation: &Operation<'_>, from: usize, to: usize) -> Option<(usize, Class)> {
        let index = from / 8;
        if !self.is_stamp(index) || to > (index + 1) * 8 {
            return None;
        }
        let (_, found) = operation.words(index).next()?;
        let (low, number) = (found as u32, (index / STAMP_WORDS) as u32 + 1);
        // Each page says its operation's place times its own number; only the first says it as it is.
        if (found >> 32) as u32 != self.marker.owner || !low.is_multiple_of(number) {
            return None;
        }
        let (place, bytes) = (low / number, operation.found.len());
        let end = bytes.min((index + STAMP_WORDS) * 8);
        if operation.is_item() {
            return Some((end, Class::OtherItem { item: place }));
        }
        // Operations begin at multiples of their length, flipped bits anywhere.
        if !u64::from(place).is_multiple_of(bytes.max(1) as u64) {
            return None;
        }
        let from = operation.place & !u64::from(u32::MAX) | u64::from(place);
        Some((end, Class::Misdirected { owner: operation.accused, from: from + index as u64 * 8 }))
    }

    /// Whose words begin at an index, by what the words themselves say, and how many they are.
    fn origin(&mut self, operation: &Operation<'_>, index: usize) -> Option<(usize, Class)> {
        match self.marker.marks {
            Marks::Counted | Marks::Placed => self.counted(operation, index),
            Marks::DrawnOnce => self.drawn_once(operation, index),
            Marks::Drawn => self.drawn(operation, index),
            Marks::Summed => None,
        }
    }

    /// So many words from an index on, without a right stamp at their end.
    fn reach(&self, operation: &Operation<'_>, index: usize, count: usize) -> usize {
        let last = index + count.saturating_sub(1);
        let (found, wanted) = (operation.found.as_chunks::<8>().0, operation.wanted.as_chunks::<8>().0);
        let is_right = self.is_stamp(last) && found.get(last) == wanted.get(last);
        count - usize::from(count > 0 && is_right)
    }

    /// Words that count, only from elsewhere: at least two.
    fn counted(&self, operation: &Operation<'_>, index: usize) -> Option<(usize, Class)> {
        let (at, word) = operation.words(index).find(|(index, _)| !self.is_stamp(*index))?;
        let signature = (word as u32).wrapping_sub(at as u32);
        let owner = if signature < 1 << 31 { (word >> 32) as u32 } else { self.marker.owner };
        let other = Marker::new(PayloadMarks { marks: Marks::Counted, signature }, owner);
        let counts = |(index, word): &(usize, u64)| {
            self.is_stamp(*index) || *word == other.top | other.first.wrapping_add(*index as u64)
        };
        let count = self.reach(operation, index, operation.words(index).take_while(counts).count());
        let shift = i64::from(signature.wrapping_sub(self.marker.signature).cast_signed());
        if count < 2 || (owner == self.marker.owner && shift == 0) {
            return None;
        }
        let from_here =
            shift % SECTOR_WORDS == 0 && index as i64 + shift >= 0 && shift.unsigned_abs() < WORDS_MOST;
        let class = match (owner == self.marker.owner, shift) {
            (false, 0) => Class::Misplaced { worker: owner },
            (false, _) => Class::Strange { worker: owner, signature },
            (true, _) if from_here && shift.unsigned_abs() < operation.found.len() as u64 / 8 => {
                Class::Shifted { bytes: shift * 8 }
            }
            (true, _) => Class::OtherRun { signature, wanted: self.marker.signature },
        };
        Some((count, class))
    }

    /// Words that are all alike: the stamps among them, if any, say whose.
    fn drawn_once(&mut self, operation: &Operation<'_>, index: usize) -> Option<(usize, Class)> {
        let (_, same) = operation.words(index).find(|(index, _)| !self.is_stamp(*index))?;
        let alike_words = |(index, word): &(usize, u64)| self.is_stamp(*index) || *word == same;
        let count = self.reach(operation, index, operation.words(index).take_while(alike_words).count());
        let stamp = operation.words(index).take(count).find(|(index, _)| self.is_stamp(*index));
        let (signature, own) = (self.marker.signature, self.marker.owner);
        let is = |owner: &u32| *owner != own && alike(signature.wrapping_add(*owner)) == same;
        let named = stamp.map(|(_, word)| (word >> 32) as u32).filter(is);
        let worker = match named {
            Some(worker) => worker,
            None => {
                self.may_search()?;
                (0..TRIED).find(is)?
            }
        };
        (count >= 2).then_some((count, Class::Misplaced { worker }))
    }

    /// Words that are drawn: this owner's of another place, or another owner's of this place, tried one by one.
    fn drawn(&mut self, operation: &Operation<'_>, index: usize) -> Option<(usize, Class)> {
        self.may_search()?;
        let (place, bytes) = (operation.place, operation.found.len() as u64);
        let own = self.marker.signature.wrapping_add(self.marker.owner).wrapping_add(place as u32);
        let matching = |seed: u32| {
            let mut draws = Draws::new(seed);
            for _ in 0..index {
                draws.next();
            }
            operation.words(index).take_while(|(_, word)| *word == draws.next()).count()
        };
        // What begins within an operation must be drawn up to there each time.
        let tried = if index == 0 { TRIED } else { TRIED >> 6 };
        let step = if operation.is_item() { 1 } else { bytes };
        // Nearer places first: what is misdirected mostly comes from near.
        let near = (1..=u64::from(tried)).flat_map(|steps| {
            [place.checked_add(steps * step), place.checked_sub(steps * step)].into_iter().flatten()
        });
        let of_place = |other: u64| {
            let count = matching(own.wrapping_add(other as u32).wrapping_sub(place as u32));
            let class = match operation.is_item() {
                true => Class::OtherItem { item: other as u32 },
                false => Class::Misdirected { owner: operation.accused, from: other + index as u64 * 8 },
            };
            (count >= 2).then_some((count, class))
        };
        let others = (0..tried).filter(|owner| *owner != self.marker.owner);
        let of_owner = |worker: u32| {
            let count = matching(own.wrapping_sub(self.marker.owner).wrapping_add(worker));
            (count >= 2).then_some((count, Class::Misplaced { worker }))
        };
        near.into_iter().find_map(of_place).or_else(|| others.into_iter().find_map(of_owner))
    }

    fn may_search(&mut self) -> Option<()> {
        self.searches_left = self.searches_left.checked_sub(1)?;
        Some(())
    }
}

/// Whether a corruption is more of the one before; garbage goes on over bytes that are right by chance.
fn goes_on(last: &Corruption, next: &Corruption) -> bool {
    let garbage = last.class == Class::Garbage && next.class == Class::Garbage;
    last.continues_in(next) || (garbage && next.offset < last.offset + last.bytes + APART_BYTES as u64)
}

/// The next stretch of bytes that differ, from `start` on: right bytes between wrong ones belong to it, if they are few.
fn stretch(found: &[u8], wanted: &[u8], start: usize) -> Option<(usize, usize)> {
    let differs = |at: &usize| found[*at] != wanted[*at];
    let from = (start..found.len()).find(differs)?;
    let mut to = from + 1;
    while let Some(next) = (to..found.len().min(to + APART_BYTES)).find(differs) {
        to = next + 1;
    }
    Some((from, to))
}

/// The first words from a byte on, as numbers; where there is no whole word, the bytes.
fn numbers_text(bytes: &[u8], from: usize) -> String {
    let whole = bytes.as_chunks::<8>().0;
    let words = whole.iter().skip(from / 8).take(WORDS_TOLD);
    let words: Vec<String> = words.map(|word| format!("{:016x}", u64::from_le_bytes(*word))).collect();
    match words.is_empty() {
        false => words.join(" "),
        true => bytes[from..].iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
