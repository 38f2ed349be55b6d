//! Our own format, `.iot`: docs/trace-format.md describes it to the byte.
//!
//! A file is a signature and then sections. Each has a head with its kind, its lengths and a checksum. The records lie in
//! blocks, a column for each field, and a block also defines the files and threads that are new in it: so a file that
//! was cut off is readable up to its last whole block. The sections at the end repeat what a reader wants first: totals,
//! the place of each block, all files and threads.

mod block;
mod bytes;
mod column;
mod decoder;
mod reader;
mod section;
mod tables;
mod totals;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::Reader;
pub use totals::{BlockPlace, TraceTotals, VerbTotal, has_range};
pub use writer::{CutBack, KeptTrace, Writer};

/// What each file begins with: it is no text, and a transfer that changes line ends damages it.
pub const SIGNATURE: [u8; 8] = *b"\x89IOT\r\n\x1a\n";

/// The version that is written; a reader refuses those above it.
pub const VERSION: u16 = 1;

/// Records of a block at most.
const BLOCK_LIMIT: usize = 65_536;
