//! Words that name their owner, byte for byte as IOR and mdtest write them: made before a write, compared after a read.
//!
//! An operation's bytes are little-endian words of eight bytes, counted from the operation's first byte on. With `owner`
//! the owner's number, `s` the signature, `p` the operation's place (its byte offset in the file; of an item of a set,
//! the item's number) and `i` the word's index:
//!
//! ```text
//!   counted     owner « 32  |  sign64(s) + i             sign64: s as a signed 32-bit number, widened
//!   placed      counted, but word 512·(k-1) is           owner « 32  |  low32(low32(p) · k)       k = 1, 2, …
//!   drawn       x ← (x · 0x9e37fffffffc0001) » 3         before the first: x = draw(low32(s + owner + p))
//!   summed      s + p + 8·i                               also of the last, partial word
//!   drawn once  a « 32 | b, every word the same, but for the words 512·(k-1), which are as placed;
//!               a and b are the first two draws of seed low32(s + owner)
//!   behind the last whole word, byte j of the operation is low8(j)
//! ```
//!
//! `draw` is what the GNU C library's `rand_r` answers. Two defects of the originals are kept, for otherwise neither tool
//! could check the other's files: places that are 4 GiB apart have the same stamp, and the words that were meant to be
//! incompressible are all alike. It refuses nothing: what may be marked is checked where a source is made.

use iodyno_model::{Marks, PayloadMarks};

mod explain;
#[cfg(test)]
mod tests;

pub use explain::Explainer;

/// A stamp lies in each so many words.
const STAMP_WORDS: usize = 512;
const GOLDEN_PRIME: u64 = 0x9e37_ffff_fffc_0001;

type MarkWord = [u8; 8];

/// Makes and compares the words of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    marks: Marks,
    signature: u32,
    owner: u32,
    /// The word before any is counted on.
    first: u64,
    /// What is added to the count: the owner's half.
    top: u64,
    /// From one word to the next.
    step: u64,
}

impl Marker {
    /// The words of this owner.
    pub fn new(marked: PayloadMarks, owner: u32) -> Self {
        let PayloadMarks { marks, signature } = marked;
        let top = u64::from(owner) << 32;
        let (first, top, step) = match marks {
            Marks::Counted | Marks::Placed => (i64::from(signature.cast_signed()).cast_unsigned(), top, 1),
            Marks::Summed => (u64::from(signature), 0, 8),
            Marks::Drawn => (0, 0, 0),
            Marks::DrawnOnce => (alike(signature.wrapping_add(owner)), 0, 0),
        };
        Marker { marks, signature, owner, first, top, step }
    }

    /// The same for another owner.
    pub fn of(self, owner: u32) -> Self {
        Marker::new(PayloadMarks { marks: self.marks, signature: self.signature }, owner)
    }

    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Whether all operations of an owner carry the same bytes.
    pub fn is_constant(&self) -> bool {
        self.marks == Marks::Counted
    }

    /// Writes a whole operation. Allocates nothing.
    pub fn fill(&self, buffer: &mut [u8], place: u64) {
        let (words, tail) = buffer.as_chunks_mut::<8>();
        let marked = words.len() * 8;
        if self.marks == Marks::Drawn {
            let mut draws = self.draws(place);
            words.iter_mut().for_each(|word| *word = draws.next().to_le_bytes());
        } else if self.marks == Marks::Summed {
            let first = self.first.wrapping_add(place);
            write_counted(words, first, self.step, 0);
            let next = first.wrapping_add(marked as u64).to_le_bytes();
            return tail.copy_from_slice(&next[..tail.len()]);
        } else {
            write_counted(words, self.first, self.step, self.top);
            self.stamp(words, place);
        }
        write_tail(tail, marked);
    }

    /// Writes what differs from one operation to the next, in a buffer that [`fill`](Self::fill) left for an operation
    /// of the same length.
    #[inline]
    pub fn refresh(&self, buffer: &mut [u8], place: u64) {
        match self.marks {
            Marks::Counted => {}
            Marks::Drawn | Marks::Summed => self.fill(buffer, place),
            Marks::Placed | Marks::DrawnOnce => self.stamp(buffer.as_chunks_mut::<8>().0, place),
        }
    }

    /// Whether these are the bytes of the operation at this place; of a short one, the first of them.
    pub fn is_right(&self, buffer: &[u8], place: u64) -> bool {
        let (words, tail) = buffer.as_chunks::<8>();
        let body = match self.marks {
            Marks::Summed => {
                let first = self.first.wrapping_add(place);
                let next = first.wrapping_add(words.len() as u64 * 8).to_le_bytes();
                return equals_counted(words, first, self.step, 0) && tail == &next[..tail.len()];
            }
            Marks::Counted => equals_counted(words, self.first, self.step, self.top),
            Marks::Drawn => {
                let mut draws = self.draws(place);
                words.chunks(STAMP_WORDS).all(|page| {
                    page.iter().fold(0, |wrong, word| wrong | (u64::from_le_bytes(*word) ^ draws.next())) == 0
                })
            }
            Marks::Placed | Marks::DrawnOnce => words.chunks(STAMP_WORDS).enumerate().all(|(page, part)| {
                let count = self.first.wrapping_add((page * STAMP_WORDS) as u64 * self.step + self.step);
                part[0] == self.stamp_of(place, page).to_le_bytes()
                    && equals_counted(&part[1..], count, self.step, self.top)
            }),
        };
        body && tail.iter().enumerate().all(|(at, byte)| *byte == (words.len() * 8 + at) as u8)
    }

    /// The first word of each 4 KiB.
    #[inline]
    fn stamp(&self, words: &mut [MarkWord], place: u64) {
        if matches!(self.marks, Marks::Placed | Marks::DrawnOnce) {
            for (page, word) in words.iter_mut().step_by(STAMP_WORDS).enumerate() {
                *word = self.stamp_of(place, page).to_le_bytes();
            }
        }
    }

    #[inline]
    fn stamp_of(&self, place: u64, page: usize) -> u64 {
        u64::from((place as u32).wrapping_mul(page as u32 + 1)) | u64::from(self.owner) << 32
    }

    fn draws(&self, place: u64) -> Draws {
        Draws::new(self.signature.wrapping_add(self.owner).wrapping_add(place as u32))
    }
}

/// The words of [`Marks::Drawn`], one after the other.
struct Draws(u64);

impl Draws {
    fn new(mut seed: u32) -> Self {
        Draws(u64::from(draw(&mut seed)))
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(GOLDEN_PRIME) >> 3;
        self.0
    }
}

/// The word that [`Marks::DrawnOnce`] repeats.
fn alike(mut seed: u32) -> u64 {
    let upper = u64::from(draw(&mut seed));
    upper << 32 | u64::from(draw(&mut seed))
}

/// 31 bits of three rounds of the C standard's congruential generator: 11, 10 and 10 of the upper half of each.
fn draw(seed: &mut u32) -> u32 {
    let mut round = |bits: u32| {
        *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (*seed >> 16) & ((1 << bits) - 1)
    };
    round(11) << 20 | round(10) << 10 | round(10)
}

fn write_tail(tail: &mut [u8], from: usize) {
    tail.iter_mut().enumerate().for_each(|(at, byte)| *byte = (from + at) as u8);
}

/// Words that count on from the first by the step, by the widest vectors there are.
fn write_counted(words: &mut [MarkWord], first: u64, step: u64, top: u64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked whether it has AVX2.
        return unsafe { write_counted_avx2(words, first, step, top) };
    }
    write_counted_plain(words, first, step, top);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn write_counted_avx2(words: &mut [MarkWord], first: u64, step: u64, top: u64) {
    write_counted_plain(words, first, step, top);
}

/// Inlined into both callers, and so compiled for each one's vectors.
#[inline(always)]
fn write_counted_plain(words: &mut [MarkWord], first: u64, step: u64, top: u64) {
    let mut count = first;
    for word in words {
        *word = (top | count).to_le_bytes();
        count = count.wrapping_add(step);
    }
}

fn equals_counted(words: &[MarkWord], first: u64, step: u64, top: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked whether it has AVX2.
        return unsafe { equals_counted_avx2(words, first, step, top) };
    }
    equals_counted_plain(words, first, step, top)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn equals_counted_avx2(words: &[MarkWord], first: u64, step: u64, top: u64) -> bool {
    equals_counted_plain(words, first, step, top)
}

/// A page at a time: no branch within, and an early end after it.
#[inline(always)]
fn equals_counted_plain(words: &[MarkWord], first: u64, step: u64, top: u64) -> bool {
    let mut count = first;
    for page in words.chunks(STAMP_WORDS) {
        let mut wrong = 0;
        for word in page {
            wrong |= u64::from_le_bytes(*word) ^ (top | count);
            count = count.wrapping_add(step);
        }
        if wrong != 0 {
            return false;
        }
    }
    true
}
