//! Where an operation goes on a target that is not the recorded one.

use iodyno_model::{Remap, Replay};

/// Blocks that keep their identity when they are dealt by a hash.
pub const BLOCK_BYTES: u64 = 4096;

/// The places of one target.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    remap: Remap,
    align: u64,
    divisor: u64,
    lengths_stay: bool,
    /// How long the recorded file was, as far as records reach.
    recorded: u64,
    /// How long the target is; 0: no length bounds it.
    length: u64,
}

impl Placement {
    pub fn new(replay: &Replay, recorded: u64, length: u64) -> Placement {
        Placement {
            remap: replay.remap,
            align: replay.align_bytes,
            divisor: replay.offset_divisor.max(1),
            lengths_stay: replay.lengths_stay,
            recorded,
            length,
        }
    }

    /// A range on the target; none: it does not fit.
    pub fn of(&self, offset: u64, bytes: u64) -> Option<(u64, u64)> {
        let (offset, bytes) = self.aligned(offset, bytes);
        let fits = offset.saturating_add(bytes) <= self.length;
        // What fits as a whole stays where it was, so that a small trace is not spread over a large device.
        let stays = fits && (self.remap == Remap::No || self.recorded <= self.length);
        if self.length == 0 || stays {
            return Some((offset, bytes));
        }
        let room = self.length.checked_sub(bytes)?;
        let grain = self.align.max(512);
        let down = |offset: u64| offset.min(room) / grain * grain;
        Some(match self.remap {
            Remap::No => return None,
            Remap::Linear => {
                let whole = self.recorded.max(offset.saturating_add(bytes)).max(1);
                (down((u128::from(offset) * u128::from(self.length) / u128::from(whole)) as u64), bytes)
            }
            Remap::Modulo => (down(offset % self.length), bytes),
            Remap::Hash => {
                let blocks = (self.length / BLOCK_BYTES).max(1);
                let block = mixed(offset / BLOCK_BYTES) % blocks;
                (down(block * BLOCK_BYTES + offset % BLOCK_BYTES), bytes)
            }
        })
    }

    /// Ranges that end here or before stay what they are; 0: it is not that simple.
    pub fn unchanged(&self) -> u64 {
        let stays = self.remap == Remap::No || self.recorded <= self.length;
        match self.length {
            _ if self.align > 0 || self.divisor > 1 => 0,
            0 => u64::MAX,
            length if stays => length,
            _ => 0,
        }
    }

    /// The length that a file gets by a truncation.
    pub fn of_end(&self, end: u64) -> u64 {
        if self.length == 0 || self.remap == Remap::No || self.recorded <= self.length {
            return end;
        }
        match self.remap {
            Remap::Linear => {
                let whole = self.recorded.max(end).max(1);
                (u128::from(end) * u128::from(self.length) / u128::from(whole)) as u64
            }
            _ => end.min(self.length),
        }
    }

    /// The places of a file under its new name, where those of the new one were `before`.
    pub fn renamed(self, before: Placement) -> Placement {
        Placement { recorded: self.recorded.max(before.recorded), ..self }
    }

    /// Those of a file that is made anew: nothing bounds it.
    pub fn unbounded(self) -> Placement {
        Placement { length: 0, ..self }
    }

    fn aligned(&self, offset: u64, bytes: u64) -> (u64, u64) {
        let offset = offset / self.divisor;
        match self.align {
            align @ 1.. if self.lengths_stay => (offset / align * align, bytes),
            0 => (offset, bytes),
            align => (offset / align * align, bytes.next_multiple_of(align)),
        }
    }
}

/// A number that tells nothing of the one it was made from (splitmix64, Steele, Lea and Flood).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(remap: Remap, align: u64, recorded: u64, length: u64) -> Placement {
        Placement::new(&Replay { remap, align_bytes: align, ..Replay::default() }, recorded, length)
    }

    #[test]
    fn what_fits_stays_and_what_does_not_is_refused_or_mapped() {
        for remap in [Remap::No, Remap::Linear, Remap::Modulo, Remap::Hash] {
            assert_eq!(place(remap, 0, 8192, 8192).of(4096, 4096), Some((4096, 4096)), "{remap:?}");
            assert_eq!(place(remap, 0, 1 << 40, 0).of(1 << 39, 512), Some((1 << 39, 512)), "no length");
        }
        assert_eq!(place(Remap::No, 0, 8193, 8192).of(4097, 4096), None);
        assert_eq!(place(Remap::Modulo, 0, 1 << 30, 1024).of(0, 2048), None, "longer than the target");
    }

    #[test]
    fn each_way_has_its_arithmetic() {
        let (recorded, length) = (1 << 20, 1 << 18);
        assert_eq!(place(Remap::Linear, 0, recorded, length).of(1 << 19, 4096), Some((1 << 17, 4096)));
        assert_eq!(
            place(Remap::Linear, 0, recorded, length).of(recorded - 4096, 4096),
            Some((258_048, 4096)),
            "before the end"
        );
        assert_eq!(place(Remap::Modulo, 0, recorded, length).of((1 << 18) + 1024, 512), Some((1024, 512)));
        // A range that would cross the end is moved before it.
        assert_eq!(
            place(Remap::Modulo, 0, recorded, length).of((1 << 18) - 512, 4096),
            Some((258_048, 4096))
        );
        let hash = place(Remap::Hash, 0, recorded, length);
        let (first, bytes) = hash.of(1 << 19, 512).unwrap();
        assert_eq!((hash.of(1 << 19, 512).unwrap(), bytes), ((first, 512), 512), "the same block again");
        assert_eq!(hash.of((1 << 19) + 1024, 512).unwrap().0, first + 1024, "and within it");
        let distinct: std::collections::BTreeSet<u64> =
            (0..64).map(|block| hash.of(block << 14, 512).unwrap().0).collect();
        assert!(distinct.len() > 30, "{} of 64 places", distinct.len());
    }

    #[test]
    fn truncations_follow_the_places() {
        let (recorded, length) = (1 << 20, 1 << 18);
        assert_eq!(place(Remap::Linear, 0, recorded, length).of_end(1 << 19), 1 << 17);
        assert_eq!(place(Remap::Modulo, 0, recorded, length).of_end(1 << 19), length);
        assert_eq!(place(Remap::Hash, 0, recorded, length).of_end(1000), 1000);
        assert_eq!(place(Remap::Linear, 0, recorded, length).unbounded().of_end(1 << 19), 1 << 19);
        let other = place(Remap::Linear, 0, 1 << 21, 0);
        assert_eq!(place(Remap::Linear, 0, recorded, length).renamed(other).of_end(1 << 20), 1 << 17);
    }

    #[test]
    fn aligned_ranges_cover_what_was_recorded() {
        assert_eq!(place(Remap::No, 4096, 0, 0).of(5000, 100), Some((4096, 4096)));
        assert_eq!(place(Remap::No, 4096, 0, 0).of(4096, 4097), Some((4096, 8192)));
        assert_eq!(place(Remap::Linear, 4096, 1 << 20, 1 << 18).of(20_000, 512), Some((4096, 4096)));
    }
}
