//! Sectors that say what they are: of which run, which object, where, and how new.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes of a sector: what storage writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a block, the unit of all steps but those of the append log.
pub const BLOCK_BYTES: usize = 4096;
/// Sectors of a block.
pub const SECTORS: u64 = (BLOCK_BYTES / SECTOR_BYTES) as u64;

const MAGIC: &[u8; 8] = b"iodynPF1";
/// Where the checksum of a sector lies, and where its content begins.
const CHECKSUM: usize = 44;
const CONTENT: usize = 48;
/// So many inverted bits are told as such; more are garbage.
const MOST_FLIPS: u32 = 16;

/// What a sector is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorPlace {
    pub run: u64,
    pub object: u32,
    /// Within the object.
    pub sector: u64,
}

/// What was found in a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectorContent {
    Whole {
        generation: u32,
    },
    Zeroes,
    /// Parts of two generations within the sector.
    Mixed {
        first: u32,
        last: u32,
    },
    /// A whole sector of this run that belongs elsewhere.
    Elsewhere {
        object: u32,
        sector: u64,
        generation: u32,
    },
    /// A whole sector of another run.
    OtherRun,
    /// So many bits of this generation are inverted.
    Flipped {
        generation: u32,
        bits: u32,
    },
    Garbage,
}

/// Fills a sector.
pub fn stamp(sector: &mut [u8], place: SectorPlace, generation: u32, at_unix_ns: u64) {
    sector[..8].copy_from_slice(MAGIC);
    sector[8..16].copy_from_slice(&place.run.to_le_bytes());
    sector[16..20].copy_from_slice(&place.object.to_le_bytes());
    sector[20..24].copy_from_slice(&generation.to_le_bytes());
    sector[24..32].copy_from_slice(&place.sector.to_le_bytes());
    sector[32..40].copy_from_slice(&at_unix_ns.to_le_bytes());
    sector[40..CONTENT].fill(0);
    fill(&mut sector[CONTENT..], place, generation);
    let sum = crc32c::crc32c(sector);
    sector[CHECKSUM..CONTENT].copy_from_slice(&sum.to_le_bytes());
}

/// Fills whole sectors that follow each other in an object.
pub fn stamp_all(bytes: &mut [u8], first: SectorPlace, generation: u32, at_unix_ns: u64) {
    for (index, sector) in bytes.chunks_exact_mut(SECTOR_BYTES).enumerate() {
        let place = SectorPlace { sector: first.sector + index as u64, ..first };
        stamp(sector, place, generation, at_unix_ns);
    }
}

fn fill(content: &mut [u8], place: SectorPlace, generation: u32) {
    let seed = place.run
        ^ u64::from(place.object).rotate_left(40)
        ^ place.sector.rotate_left(17)
        ^ u64::from(generation).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(content);
}

/// The number of `bytes` bytes at an offset.
fn number(sector: &[u8], at: usize, bytes: usize) -> u64 {
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&sector[at..at + bytes]);
    u64::from_le_bytes(word)
}

/// What a sector holds. `candidates`: generations that may be there in part.
pub fn read(sector: &[u8], place: SectorPlace, candidates: &[u32]) -> SectorContent {
    if sector.iter().all(|byte| *byte == 0) {
        return SectorContent::Zeroes;
    }
    let (object, generation) = (number(sector, 16, 4) as u32, number(sector, 20, 4) as u32);
    let (run, at) = (number(sector, 8, 8), number(sector, 24, 8));
    if &sector[..8] == MAGIC && has_its_sum(sector) {
        return match (run == place.run, (object, at) == (place.object, place.sector)) {
            (false, _) => SectorContent::OtherRun,
            (true, true) => SectorContent::Whole { generation },
            (true, false) => SectorContent::Elsewhere { object, sector: at, generation },
        };
    }
    mixed(sector, place, candidates)
        .or_else(|| flipped(sector, place, candidates))
        .unwrap_or(SectorContent::Garbage)
}

fn has_its_sum(sector: &[u8]) -> bool {
    let mut whole = [0; SECTOR_BYTES];
    whole.copy_from_slice(sector);
    whole[CHECKSUM..CONTENT].fill(0);
    u64::from(crc32c::crc32c(&whole)) == number(sector, CHECKSUM, 4)
}

fn content(place: SectorPlace, generation: u32) -> [u8; SECTOR_BYTES - CONTENT] {
    let mut content = [0; SECTOR_BYTES - CONTENT];
    fill(&mut content, place, generation);
    content
}

/// The sector begins as one generation and ends as another.
fn mixed(sector: &[u8], place: SectorPlace, candidates: &[u32]) -> Option<SectorContent> {
    let found = &sector[CONTENT..];
    for first in candidates {
        let begins = content(place, *first);
        let begin = found.iter().zip(&begins).take_while(|(found, want)| found == want).count();
        if begin == found.len() {
            // All of the content is one generation: the header may be another one's.
            let header = number(sector, 20, 4) as u32;
            let mut whole = [0; SECTOR_BYTES];
            stamp(&mut whole, place, header, number(sector, 32, 8));
            let is_other = header != *first && sector[..CONTENT] == whole[..CONTENT];
            return is_other.then_some(SectorContent::Mixed { first: header, last: *first });
        }
        for last in candidates.iter().filter(|last| *last != first) {
            let ends = content(place, *last);
            let end = found.iter().rev().zip(ends.iter().rev()).take_while(|(found, want)| found == want);
            let end = end.count();
            if end > 0 && begin > 0 && begin + end >= found.len() {
                return Some(SectorContent::Mixed { first: *first, last: *last });
            }
        }
    }
    None
}

fn flipped(sector: &[u8], place: SectorPlace, candidates: &[u32]) -> Option<SectorContent> {
    candidates.iter().find_map(|generation| {
        let mut whole = [0; SECTOR_BYTES];
        stamp(&mut whole, place, *generation, number(sector, 32, 8));
        let bits = |range: std::ops::Range<usize>| -> u32 {
            sector[range.clone()]
                .iter()
                .zip(&whole[range])
                .map(|(found, want)| (found ^ want).count_ones())
                .sum()
        };
        // Of the time nobody knows what it was: a sector that differs in its sum alone has at least one.
        let bits = (bits(0..CHECKSUM) + bits(CONTENT..SECTOR_BYTES)).max(1);
        (bits <= MOST_FLIPS).then_some(SectorContent::Flipped { generation: *generation, bits })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: SectorPlace = SectorPlace { run: 7, object: 3, sector: 11 };

    fn sector(generation: u32) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        stamp(&mut sector, PLACE, generation, 1);
        sector
    }

    #[test]
    fn a_sector_says_what_it_is() {
        assert_eq!(read(&sector(5), PLACE, &[]), SectorContent::Whole { generation: 5 });
        assert_eq!(read(&[0; SECTOR_BYTES], PLACE, &[5]), SectorContent::Zeroes);
        assert_eq!(read(&[9; SECTOR_BYTES], PLACE, &[5]), SectorContent::Garbage);
        let other = SectorPlace { sector: 12, ..PLACE };
        let elsewhere = SectorContent::Elsewhere { object: 3, sector: 11, generation: 5 };
        assert_eq!(read(&sector(5), other, &[5]), elsewhere);
        assert_eq!(read(&sector(5), SectorPlace { run: 8, ..PLACE }, &[5]), SectorContent::OtherRun);
    }

    #[test]
    fn a_sector_torn_within_is_told_from_garbage() {
        for cut in [48, 100, 511] {
            let mut torn = sector(4);
            torn[..cut].copy_from_slice(&sector(6)[..cut]);
            assert_eq!(read(&torn, PLACE, &[4, 6]), SectorContent::Mixed { first: 6, last: 4 }, "{cut}");
        }
    }

    #[test]
    fn inverted_bits_are_counted() {
        let mut sector = sector(4);
        sector[200] ^= 0b101;
        assert_eq!(read(&sector, PLACE, &[4, 6]), SectorContent::Flipped { generation: 4, bits: 2 });
        sector[200] ^= 0b101;
        sector[33] ^= 0b1;
        assert!(matches!(read(&sector, PLACE, &[4, 6]), SectorContent::Flipped { generation: 4, .. }));
    }
}
