//! What is in the buffers: content, how far it compresses and deduplicates, and how it is verified.

use serde::{Deserialize, Serialize};

/// The content of write buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The bytes.
    #[serde(default)]
    pub content: Content,
    /// Part of every chunk that compresses away, 0 to 100 percent.
    #[serde(default)]
    pub compress_percent: u8,
    /// The chunk within which `compress_percent` holds; 0: the block.
    #[serde(default)]
    pub compress_chunk_bytes: u64,
    /// Blocks that repeat an earlier block, 0 to 100 percent.
    #[serde(default)]
    pub dedupe_percent: u8,
    /// How often the content changes.
    #[serde(default)]
    pub refresh: Refresh,
    /// The content's own seed, where another job or run must find the same bytes; none: the plan's seed.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Stamps and their checks.
    #[serde(default)]
    pub verify: Option<Verify>,
}

impl Default for Payload {
    fn default() -> Self {
        Payload {
            content: Content::Random,
            compress_percent: 0,
            compress_chunk_bytes: 0,
            dedupe_percent: 0,
            refresh: Refresh::EachWrite,
            seed: None,
            verify: None,
        }
    }
}

/// The bytes of a payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Incompressible, reproducible from the seed.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// A pattern, repeated.
    Pattern(Vec<u8>),
    /// What the step before left in the buffer (dd: the bytes that were read).
    Carried,
    /// Nearly constant data as fio's default writes it: random once, then a few words changed in each write.
    Scrambled,
}

/// How often the content changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// For each write: every block of the target is unique.
    #[default]
    EachWrite,
    /// Once, before the start: all writes carry the same bytes.
    Once,
}

/// Verification: what is stamped and when it is read back and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verify {
    /// The stamp or checksum.
    #[serde(default)]
    pub stamp: Stamp,
    /// When blocks are checked.
    #[serde(default)]
    pub when: VerifyWhen,
    /// Bytes from one stamp to the next; 0: one for each block.
    #[serde(default)]
    pub interval_bytes: u64,
    /// Stop at the first bad block.
    #[serde(default)]
    pub fatal: bool,
    /// Threads that check, beside the worker; 0: the worker itself.
    #[serde(default)]
    pub helpers: u32,
}

impl Default for Verify {
    fn default() -> Self {
        Verify { stamp: Stamp::Block, when: VerifyWhen::OnRead, interval_bytes: 0, fatal: false, helpers: 0 }
    }
}

/// What a block carries so that it can be checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// iodyno's own: block address, job seed, generation and checksum in every 512-byte sector.
    #[default]
    Block,
    /// A named checksum in the layout of another tool, which its dialect declares.
    Foreign(String),
    /// The content itself, regenerated from the seed and compared, no stamp.
    Content,
}

/// When verification happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyWhen {
    /// Whatever a read brings is checked.
    #[default]
    OnRead,
    /// After the writes of a phase, everything that was written is read back.
    AfterWrites,
    /// After every `writes`, the last `batch` of them are read back, and what remains at the end (fio
    /// `verify_backlog`).
    Backlog {
        /// Writes between two rounds.
        writes: u64,
        /// Blocks read back in a round; 0: as many as were written.
        batch: u64,
    },
}
