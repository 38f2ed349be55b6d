//! Checks buffers that were read: a fast path that says "clean", and a slow one that names what is not.
//!
//! The fast path costs one checksum and three comparisons a sector. The slow path makes the content anew for the
//! likely explanations (the expected write, the one the stamp claims, a few older ones) and takes the one that fits. It
//! refuses to repair.

use iodyno_model::{Diagnostic, Payload, Stamp as StampKind, Verify};

use super::stamp::{self, Stamp};
use super::verdict::{Class, Corruption, Verdict};
use super::{BlockAddress, Filler, SECTOR_BYTES, Sector, pieces};

/// More wrong bits than this in a sector are no bit flip.
const FLIPPED_BITS_MOST: u32 = 16;
/// Older generations whose content is tried where no stamp names one.
const OLDER_TRIED: u64 = 8;
/// Of a sector that was overwritten in part, at least this much must be right for it to be called so, bytes.
const RIGHT_BYTES_LEAST: usize = 64;

/// Checks what one job's [`Filler`] wrote.
#[derive(Clone)]
pub struct Checker {
    filler: Filler,
    written_bytes: u64,
}

impl Checker {
    /// A checker of what a [`Filler`] of the same three arguments writes. A payload without `verify` is checked by its
    /// content.
    ///
    /// # Errors
    /// As [`Filler::new`]; and content that cannot be made again.
    pub fn new(payload: &Payload, seed: u64, block_bytes: usize) -> Result<Self, Diagnostic> {
        let content = || Verify { stamp: StampKind::Content, ..Verify::default() };
        let verify = Some(payload.verify.clone().unwrap_or_else(content));
        let filler = Filler::new(&Payload { verify, ..payload.clone() }, seed, block_bytes)?;
        Ok(Checker { filler, written_bytes: (block_bytes as u64).max(1) })
    }

    /// The same for writes of this many bytes (aligned to it) rather than a block: where sizes vary, the smallest. Only
    /// what was written as one can be torn.
    pub fn written_as(self, bytes: u64) -> Self {
        let bytes = bytes.max(1);
        let whole_sectors = bytes.next_multiple_of(SECTOR_BYTES as u64);
        Checker { written_bytes: if self.filler.is_stamped() { whole_sectors } else { bytes }, ..self }
    }

    /// Whether the bytes at `offset` of `file` are those of this generation, or (`None`) of any one generation in each
    /// written block. Content without stamps cannot say its generation: there `None` means 0. Without a generation,
    /// parts of stamped sectors at both ends are not checked.
    ///
    /// Allocates only when something is wrong.
    #[inline]
    pub fn check(&self, buffer: &[u8], file: u64, offset: u64, generation: Option<u64>) -> Verdict {
        let place = BlockAddress { file, offset, generation: generation.unwrap_or(0) };
        let aligned = offset.is_multiple_of(SECTOR_BYTES as u64) && buffer.len().is_multiple_of(SECTOR_BYTES);
        let clean = match self.filler.is_stamped() && aligned {
            true => self.all_sealed(buffer.as_chunks::<SECTOR_BYTES>().0, place, generation.is_none()),
            false => self.all_equal(buffer, place, generation.is_none()),
        };
        if clean { Verdict::default() } else { self.examine(buffer, place, generation) }
    }

    /// The content of a generation at a place, as it should be.
    pub fn remake(&self, file: u64, offset: u64, generation: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        self.filler.fill(&mut buffer, BlockAddress { file, offset, generation });
        buffer
    }

    #[inline]
    fn all_sealed(&self, sectors: &[Sector], place: BlockAddress, any: bool) -> bool {
        let mut expected = self.filler.stamp(place);
        let mut block_end = 0;
        for sector in sectors {
            if any && expected.address >= block_end {
                expected.generation = Stamp::read(sector).generation;
                block_end = expected.address - expected.address % self.written_bytes + self.written_bytes;
            }
            if !expected.seals(sector) {
                return false;
            }
            expected.address += SECTOR_BYTES as u64;
        }
        true
    }

    fn all_equal(&self, buffer: &[u8], place: BlockAddress, any: bool) -> bool {
        pieces(place.offset, buffer.len()).all(|piece| {
            let at = place.at(place.offset + piece.start as u64);
            let within = (at.offset % SECTOR_BYTES as u64) as usize;
            let part = &buffer[piece];
            match (self.filler.is_stamped() && any, <&Sector>::try_from(part)) {
                // Aligned blocks went the other way: in an odd read each sector speaks for itself.
                (true, Ok(sector)) => {
                    Stamp { generation: Stamp::read(sector).generation, ..self.filler.stamp(at) }
                        .seals(sector)
                }
                (true, Err(_)) => true,
                (false, _) => {
                    part == &self.filler.sector(at.at(at.offset - within as u64))[within..within + part.len()]
                }
            }
        })
    }

    /// The slow path: what is wrong, sector by sector, then block by block, then joined to ranges.
    #[cold]
    fn examine(&self, buffer: &[u8], place: BlockAddress, generation: Option<u64>) -> Verdict {
        let mut verdict = Verdict::default();
        let mut start = 0;
        while start < buffer.len() {
            let offset = place.offset + start as u64;
            let left = self.written_bytes - offset % self.written_bytes;
            let end = buffer.len().min(start.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)));
            for corruption in self.examine_block(&buffer[start..end], place.at(offset), generation) {
                match verdict.corruptions.last_mut() {
                    Some(last) if last.continues_in(&corruption) => last.bytes += corruption.bytes,
                    _ => verdict.corruptions.push(corruption),
                }
            }
            start = end;
        }
        verdict
    }

    /// What is wrong in (a part of) one written block. If some of it is right, its old parts are torn.
    fn examine_block(&self, block: &[u8], place: BlockAddress, generation: Option<u64>) -> Vec<Corruption> {
        let written = generation.unwrap_or_else(|| self.newest(block, place));
        let place = BlockAddress { generation: written, ..place };
        let mut found: Vec<Corruption> = Vec::new();
        let mut some_right = false;
        for piece in pieces(place.offset, block.len()) {
            let at = place.at(place.offset + piece.start as u64);
            let skipped = self.filler.is_stamped() && generation.is_none() && piece.len() < SECTOR_BYTES;
            match self.examine_piece(&block[piece], at).filter(|_| !skipped) {
                Some(corruption) => found.push(corruption),
                None => some_right |= !skipped && self.tells(at),
            }
        }
        for corruption in found.iter_mut().filter(|_| some_right) {
            let old = match corruption.class {
                Class::Stale { found, .. } => Some(found),
                Class::Lost { .. } | Class::Zeroed { .. } | Class::Foreign { .. } => None,
                _ => continue,
            };
            corruption.class = Class::Torn { old, written };
        }
        found
    }

    /// Whether the right content of this sector proves that it was written: zeros do not, nor does what never changes.
    fn tells(&self, place: BlockAddress) -> bool {
        let at = place.at(place.offset - place.offset % SECTOR_BYTES as u64);
        let content = self.filler.sector(at);
        let next = BlockAddress { generation: at.generation.wrapping_add(1), ..at };
        self.filler.is_stamped() || (content != [0; SECTOR_BYTES] && content != self.filler.sector(next))
    }

    /// The newest generation of which a whole sector lies at its own place; 0 if there is none.
    fn newest(&self, block: &[u8], place: BlockAddress) -> u64 {
        let whole = pieces(place.offset, block.len()).filter_map(|piece| {
            let sector = <&Sector>::try_from(&block[piece.clone()]).ok()?;
            let (stamp, own) =
                (Stamp::read(sector), self.filler.stamp(place.at(place.offset + piece.start as u64)));
            let right = stamp.owner == own.owner && stamp.address == own.address && stamp::is_sealed(sector);
            right.then_some(stamp.generation)
        });
        match self.filler.is_stamped() {
            true => whole.max().unwrap_or(0),
            false => 0,
        }
    }

    /// What is wrong with (a part of) one sector, if anything.
    fn examine_piece(&self, part: &[u8], place: BlockAddress) -> Option<Corruption> {
        let within = (place.offset % SECTOR_BYTES as u64) as usize;
        let expected = self.filler.sector(place.at(place.offset - within as u64));
        let expected = &expected[within..within + part.len()];
        let own = self.filler.stamp(place);
        if part == expected {
            return None;
        }
        let whole = Corruption {
            class: Class::Garbage,
            owner: own.owner,
            offset: place.offset,
            bytes: part.len() as u64,
        };
        let class = match <&Sector>::try_from(part) {
            Ok(sector) if self.filler.is_stamped() && stamp::is_sealed(sector) => {
                sealed_otherwise(Stamp::read(sector), own)
            }
            _ => self.unsealed(part, place, within),
        };
        if let Some(class) = class {
            return Some(Corruption { class, ..whole });
        }
        let claimed = <&Sector>::try_from(part).ok().map(|sector| Stamp::read(sector).generation);
        let claimed = claimed.filter(|_| self.filler.is_stamped()).unwrap_or(place.generation);
        let claimed = self.filler.sector(BlockAddress {
            generation: claimed,
            offset: place.offset - within as u64,
            ..place
        });
        let alike = |content: &[u8]| part.iter().zip(content).filter(|(a, b)| a == b).count();
        let likeliest = [expected, &claimed[within..within + part.len()]]
            .into_iter()
            .max_by_key(|content| alike(content));
        let (first, last, wrong) = difference(part, likeliest?)?;
        if wrong <= FLIPPED_BITS_MOST {
            let bit = (part[first] ^ likeliest?[first]).trailing_zeros() as u8;
            let class = Class::BitFlip { bit, bits: wrong };
            return Some(Corruption {
                class,
                offset: place.offset + first as u64,
                bytes: (last - first + 1) as u64,
                ..whole
            });
        }
        if part.len() - (last - first + 1) < RIGHT_BYTES_LEAST {
            return Some(whole);
        }
        let class = self.torn_inside(part, place, within, first..last + 1).unwrap_or(Class::Overwritten);
        Some(Corruption {
            class,
            offset: place.offset + first as u64,
            bytes: (last - first + 1) as u64,
            ..whole
        })
    }

    /// The class of a part without a whole stamp of its own that is not nearly right: blank, or (without stamps) an
    /// older or newer content.
    fn unsealed(&self, part: &[u8], place: BlockAddress, within: usize) -> Option<Class> {
        let written = place.generation;
        if let Some(blank) = Class::of_blank(part, written) {
            return Some(blank);
        }
        let is = |generation: u64| {
            let sector = self.filler.sector(BlockAddress {
                generation,
                offset: place.offset - within as u64,
                ..place
            });
            part == &sector[within..within + part.len()]
        };
        if let Some(found) = older(written).find(|&found| is(found)) {
            return Some(Class::Stale { found, written });
        }
        let found = written.saturating_add(1);
        is(found).then_some(Class::Ahead { found, written })
    }

    /// Torn, if the wrong range of a sector reaches one of its ends and is older content or zeros.
    fn torn_inside(
        &self,
        part: &[u8],
        place: BlockAddress,
        within: usize,
        wrong: std::ops::Range<usize>,
    ) -> Option<Class> {
        if wrong.start > 0 && wrong.end < part.len() {
            return None;
        }
        let written = place.generation;
        let is = |generation: u64| {
            let sector = self.filler.sector(BlockAddress {
                generation,
                offset: place.offset - within as u64,
                ..place
            });
            part[wrong.clone()] == sector[within..][wrong.clone()]
        };
        match older(written).find(|&generation| is(generation)) {
            Some(old) => Some(Class::Torn { old: Some(old), written }),
            None if part[wrong.clone()].iter().all(|byte| *byte == 0) => {
                Some(Class::Torn { old: None, written })
            }
            None => None,
        }
    }
}

/// The generations before this one, the latest first.
fn older(written: u64) -> impl Iterator<Item = u64> {
    (written.saturating_sub(OLDER_TRIED)..written).rev()
}

/// The class of a sector whose stamp is whole but not the expected one; `None` if it is the expected one after all.
fn sealed_otherwise(found: Stamp, own: Stamp) -> Option<Class> {
    let written = own.generation;
    Some(match found {
        _ if !stamp::same_seed(found.owner, own.owner) => {
            Class::Foreign { from: found.address, generation: found.generation }
        }
        _ if found.owner != own.owner || found.address != own.address => {
            Class::Misdirected { owner: found.owner, from: found.address }
        }
        _ if found.generation < written => Class::Stale { found: found.generation, written },
        _ if found.generation > written => Class::Ahead { found: found.generation, written },
        _ => return None,
    })
}

/// The first and the last byte that differ, and how many bits do.
fn difference(found: &[u8], expected: &[u8]) -> Option<(usize, usize, u32)> {
    let differs = |index: &usize| found[*index] != expected[*index];
    let first = (0..found.len()).find(differs)?;
    let last = (0..found.len()).rfind(differs)?;
    let bits = found.iter().zip(expected).map(|(a, b)| (a ^ b).count_ones()).sum();
    Some((first, last, bits))
}
