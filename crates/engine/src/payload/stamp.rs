//! The 32 bytes at the head of every stamped sector, and what they must say.
//!
//! ```text
//!   0  checksum    lower half of xxh3-64 over bytes 4..512      16  owner: upper half job seed, lower half file
//!   4  "iody"                                                   24  generation
//!   8  byte offset of the sector in its file                          (all little endian)
//! ```
//! It refuses to hold a time: what was written must follow from the plan alone.

use xxhash_rust::xxh3::xxh3_64;

use super::{BlockAddress, Sector};
use crate::random::{GOLDEN, mix};

const MAGIC: u32 = u32::from_le_bytes(*b"iody");

/// What a stamp says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) address: u64,
    pub(super) owner: u64,
    pub(super) generation: u64,
}

impl Stamp {
    /// The stamp of the sector at `place`.
    #[inline]
    pub(super) fn of(seed: u64, place: BlockAddress) -> Self {
        Stamp { address: place.offset, owner: owner(seed, place.file), generation: place.generation }
    }

    /// Writes the stamp over the head of a sector whose content is there already.
    #[inline]
    pub(super) fn seal(self, sector: &mut Sector) {
        sector[4..8].copy_from_slice(&MAGIC.to_le_bytes());
        sector[8..16].copy_from_slice(&self.address.to_le_bytes());
        sector[16..24].copy_from_slice(&self.owner.to_le_bytes());
        sector[24..32].copy_from_slice(&self.generation.to_le_bytes());
        let checksum = checksum(sector);
        sector[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Whether the sector carries exactly this stamp and all its content.
    #[inline]
    pub(super) fn seals(self, sector: &Sector) -> bool {
        self == Stamp::read(sector) && is_sealed(sector)
    }

    /// What the head of a sector says, true or not.
    #[inline]
    pub(super) fn read(sector: &Sector) -> Self {
        let words = sector.as_chunks::<8>().0;
        Stamp {
            address: u64::from_le_bytes(words[1]),
            owner: u64::from_le_bytes(words[2]),
            generation: u64::from_le_bytes(words[3]),
        }
    }
}

/// Whether the sector carries some whole stamp, its content unharmed.
#[inline]
pub(super) fn is_sealed(sector: &Sector) -> bool {
    let words = sector.as_chunks::<4>().0;
    u32::from_le_bytes(words[1]) == MAGIC && u32::from_le_bytes(words[0]) == checksum(sector)
}

/// Whether two owners are jobs of one seed.
pub(super) fn same_seed(a: u64, b: u64) -> bool {
    a >> 32 == b >> 32
}

/// Whose place it is: upper half a hash of the job's seed, lower half one of the file.
#[inline]
pub(crate) fn owner(seed: u64, file: u64) -> u64 {
    mix(seed ^ GOLDEN) >> 32 << 32 | mix(file) >> 32
}

#[inline]
fn checksum(sector: &Sector) -> u32 {
    xxh3_64(&sector[4..]) as u32
}
