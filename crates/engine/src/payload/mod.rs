//! What is in the buffers: made here before a write, checked here after a read.
//!
//! Content is a function of the place alone (job seed, file, byte offset, generation), computed for 512-byte sectors of
//! the file. So every block of a run is unique, a reader needs no copy of what was written, and may use another block
//! size than the writer. It refuses to remember which generation a block has: the caller knows, or passes `None`.
//!
//! ```text
//!   Filler ── fill(buffer, place) ──► write … read ──► Checker ── check(buffer, …) ──► Verdict ──► Findings
//!   [fill]   content + stamps [stamp]                  [check]                         [verdict]
//! ```
//! Where stamps are laid out as another tool's, [`Headers`] takes the place of the filler and [`Inspector`] that of the
//! checker; words that name their owner are made by a [`Marker`] and examined by an [`Explainer`].

use crate::random::{GOLDEN, mix};

mod check;
mod digest;
mod fill;
mod header;
mod inspect;
mod marks;
mod stamp;
mod template;
#[cfg(test)]
mod tests;
mod verdict;

pub use check::Checker;
pub(crate) use digest::crc32c_plain;
pub use fill::Filler;
pub use header::{Headers, Write};
pub use inspect::{ExpectedBlock, Flaw, Inspector, NUMBER_BITS, UNKNOWN_NUMBER};
pub use marks::{Explainer, Marker};
pub(crate) use stamp::owner as stamp_owner;
pub use verdict::{Class, Corruption, Findings, Verdict};

/// The unit of content and of stamps, bytes: the smallest write a disk does in one piece.
pub const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

/// Where a buffer belongs, and which of its writes it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAddress {
    /// The file: see [`BlockAddress::file_id`].
    pub file: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// Counts the writes of this place, or the passes over the file; a larger number is a later write.
    pub generation: u64,
}

impl BlockAddress {
    /// A file's number, the same in every run and on every machine: a hash of the target's resolved name.
    pub fn file_id(name: &str) -> u64 {
        // FNV-1a, then mixed; names are few and short, and this runs before the start line.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        mix(hash.wrapping_add(GOLDEN))
    }

    /// The same write, seen from another byte of it.
    #[inline]
    fn at(self, offset: u64) -> Self {
        BlockAddress { offset, ..self }
    }
}

/// The sectors (whole, or the parts at both ends) that a range of a file consists of, as byte ranges of the buffer.
fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = bytes.min(start + SECTOR_BYTES - ((offset + start as u64) % SECTOR_BYTES as u64) as usize);
        let piece = start..end;
        start = end;
        (!piece.is_empty()).then_some(piece)
    })
}
