//! What is in the buffers: content, how far it compresses and deduplicates. How it is verified: [`crate::verify`].

use crate::reflect::{Reflect, blank_by_default};

use crate::verify::Verify;

/// The content of write buffers.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Payload {
    /// The bytes.
    #[reflect(default)]
    pub content: Content,
    /// Part of every chunk that compresses away, 0 to 100 percent.
    #[reflect(default, phrase = "{} % compresses away")]
    pub compress_percent: u8,
    /// The chunk within which that share holds; 0: the block.
    #[reflect(default, phrase = "in chunks of {}")]
    pub compress_chunk_bytes: u64,
    /// Blocks that repeat an earlier block, 0 to 100 percent.
    #[reflect(default, phrase = "{} % repeat an earlier block")]
    pub dedupe_percent: u8,
    /// How long a block is that repeats; 0: the operation's, at least 4 KiB.
    #[reflect(default, phrase = "blocks of {}")]
    pub dedupe_chunk_bytes: u64,
    /// What the blocks that repeat are copies of.
    #[reflect(default, key = "")]
    pub dedupe: Dedupe,
    /// Whether every write has the same content.
    #[reflect(default, key = "same_in_every_write", form = "flag")]
    pub refresh: Refresh,
    /// The content's own seed, where another job or run must find the same bytes; none: the plan's seed.
    #[reflect(default, phrase = "seed {}")]
    pub seed: Option<u64>,
    /// Stamps and their checks.
    #[reflect(default, key = "")]
    pub verify: Option<Verify>,
}

blank_by_default!(Payload);

/// The bytes of a payload.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Content {
    /// Incompressible, reproducible from the seed.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// A pattern, repeated from the file's first byte on.
    Pattern(Vec<u8>),
    /// A pattern, repeated from the first byte of each write on, that may name the write's place (fio
    /// `buffer_pattern`). With `compress_percent`, it is that part of each chunk, behind random bytes.
    Repeated(Template),
    /// What the step before left in the buffer (dd: the bytes that were read).
    Carried,
    /// Words that name their owner.
    Marked(PayloadMarks),
    /// Nearly constant data as fio's default writes it: random once, then a few words changed in each write.
    Scrambled,
}

/// Words of eight bytes, little endian, that name the worker whose data they are: what one worker, run or tool wrote,
/// another verifies (IOR, mdtest). The owner is the one that [`Place`](crate::plan::Place) names. They are checked where
/// the payload's `verify` has the stamp [`Content`](crate::verify::Stamp::Content), by operations of the length that
/// they were written with. Of an item of a set the offset is the item's number, unless the words are
/// [`Summed`](Marks::Summed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct PayloadMarks {
    /// What the words are.
    #[reflect(default)]
    pub marks: Marks,
    /// Tells one run's words from another's; also the seed of those that are drawn.
    #[reflect(default)]
    pub signature: u32,
}

/// What the words of [`PayloadMarks`] content are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Marks {
    /// The owner in the upper half, signature plus the word's index in the operation in the lower: alike in all
    /// operations of an owner (IOR `-l t`).
    #[default]
    #[reflect(phrase = "counted words that name their owner")]
    Counted,
    /// As counted, and the first word of every 4 KiB names its operation's offset instead, in 32 bits: places that are
    /// 4 GiB apart look alike, as the real one's do (IOR `-l o`).
    #[reflect(phrase = "counted words that name their owner and place")]
    Placed,
    /// Drawn anew for each operation from signature, owner and offset (IOR `-l r`, which without `-G` writes with
    /// signature 0).
    #[reflect(phrase = "words drawn for their owner and place")]
    Drawn,
    /// The signature plus the word's byte offset in the file, whoever wrote it (elbencho `--verify`).
    #[reflect(phrase = "words that are the sum of signature and place")]
    Summed,
    /// One word, drawn once and repeated: it compresses, as the real one's does. The first word of every 4 KiB is as
    /// placed (IOR `-l i`).
    #[reflect(phrase = "words drawn once that name their place")]
    DrawnOnce,
}

/// How often the content changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Refresh {
    /// For each write: every block of the target is unique.
    #[default]
    EachWrite,
    /// Once, before the start: all writes carry the same bytes.
    #[reflect(phrase = "the same in every write")]
    Once,
}

/// Bytes to be repeated, in some places the offset at which they will lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Template {
    /// The bytes, at least one; zeros where an offset goes.
    pub bytes: Vec<u8>,
    /// Where in `bytes` the byte offset in the file of the whole write goes, eight bytes, little endian (fio `%o`).
    #[reflect(default)]
    pub offsets: Vec<u32>,
}

/// What the blocks that repeat are copies of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub enum Dedupe {
    /// Of a few, the same for all jobs of one seed (native; fio `dedupe_global=1`).
    #[default]
    Few,
    /// Of a few of the job's own (fio `dedupe_mode=repeat`).
    Own,
    /// Of a set of different blocks that is so large a part of the worker's span (fio `dedupe_mode=working_set`).
    WorkingSet {
        /// Part of the span, in percent, above 0.
        percent: f64,
        /// Whether all jobs of one seed have the same set (fio `dedupe_global`).
        shared: bool,
    },
    /// Some of a few, some of a few of the file's own; all others are what every file of one seed has at that place, and
    /// repeat in no file (iozone `-+w`, `-+y`, `-+C`).
    Mixed {
        /// Part of the blocks that repeat, in percent.
        few_percent: f64,
        /// Part of the blocks that repeat, in percent.
        own_percent: f64,
    },
}
