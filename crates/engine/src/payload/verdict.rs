//! What was found in a buffer that is not what was written, named as a storage engineer would name it.
//!
//! Plain copies without text: the sentence is made when somebody reads it. Refuses to guess: what fits no class with
//! certainty is garbage.

use std::collections::HashMap;
use std::fmt;

use iodyno_model::Wrong;

/// What kind of corruption it is, with the facts that prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The right content but for a few bits (16 at most in a sector).
    BitFlip {
        /// Number of the first wrong bit in its byte (the corruption's first), 0 the least significant.
        bit: u8,
        /// How many bits are wrong.
        bits: u32,
    },
    /// An older write of the same place: the newer one was lost.
    Stale {
        /// The generation found.
        found: u64,
        /// The generation that was acknowledged.
        written: u64,
    },
    /// Part of a block is new, and this part is not.
    Torn {
        /// The generation of the old part; `None`: zeros, or another run's data.
        old: Option<u64>,
        /// The generation of the new part.
        written: u64,
    },
    /// Two places hold each other's data; known after all reads only, see [`Findings`].
    Swapped {
        /// The other place's owner (see [`Corruption::owner`]).
        owner: u64,
        /// The other place's byte offset.
        with: u64,
    },
    /// The data of another place of this run.
    Misdirected {
        /// The owner it was written for (see [`Corruption::owner`]).
        owner: u64,
        /// The byte offset it was written for.
        from: u64,
    },
    /// Nothing was ever written here: one byte throughout.
    Lost {
        /// The byte: 0x00, or 0xff of erased flash.
        byte: u8,
    },
    /// Zeros, though more than one write of this place completed: a lost write would have left an older one.
    Zeroed {
        /// The generation that was acknowledged.
        written: u64,
    },
    /// The file ends before it.
    Missing,
    /// A whole stamp of another run.
    Foreign {
        /// The byte offset it was written for.
        from: u64,
        generation: u64,
    },
    /// The sector is right but for these bytes.
    Overwritten,
    /// A newer generation than was acknowledged: somebody else writes here.
    Ahead {
        /// The generation found.
        found: u64,
        /// The generation that was acknowledged.
        written: u64,
    },
    /// Nothing known.
    Garbage,
    /// Words that another worker of this run wrote.
    Misplaced {
        /// Its number.
        worker: u32,
    },
    /// The words of another place of the same worker's operations.
    Shifted {
        /// So many bytes further on within an operation; negative: before.
        bytes: i64,
    },
    /// The data of another item of the same worker.
    OtherItem {
        /// Its number.
        item: u32,
    },
    /// This worker's words, of another run or repetition.
    OtherRun {
        /// The signature found.
        signature: u32,
        /// The signature that was written.
        wanted: u32,
    },
    /// Another worker's words, of another run.
    Strange {
        /// Its number.
        worker: u32,
        /// The signature found.
        signature: u32,
    },
    /// A header or checksum in another tool's layout is not right, and nothing says why.
    Mismatch {
        /// What is not right.
        what: Wrong,
    },
}

impl Class {
    /// The class of a part that holds one byte throughout as places do that were never written, or whose blocks are gone.
    /// `written`: the generation that was acknowledged.
    pub fn of_blank(part: &[u8], written: u64) -> Option<Class> {
        let byte = *part.first().filter(|byte| matches!(byte, 0x00 | 0xff))?;
        part.iter().all(|other| *other == byte).then_some(match (byte, written) {
            (0, 1..) => Class::Zeroed { written },
            _ => Class::Lost { byte },
        })
    }

    /// The class in a word, as reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::BitFlip { .. } => "bit flip",
            Class::Stale { .. } | Class::OtherRun { .. } => "stale",
            Class::Torn { .. } => "torn",
            Class::Swapped { .. } => "swapped",
            Class::Misdirected { .. }
            | Class::Misplaced { .. }
            | Class::Shifted { .. }
            | Class::OtherItem { .. } => "misdirected",
            Class::Lost { .. } | Class::Missing => "lost",
            Class::Zeroed { .. } => "zeroed",
            Class::Foreign { .. } | Class::Strange { .. } => "foreign",
            Class::Overwritten => "overwritten",
            Class::Ahead { .. } => "ahead",
            Class::Garbage => "garbage",
            Class::Mismatch { .. } => "mismatch",
        }
    }

    /// The class as a result, beside `-errno`: -1001 to -1012, far from every error number of every system.
    pub const fn code(self) -> i32 {
        match self {
            Class::BitFlip { .. } => -1001,
            Class::Stale { .. } | Class::OtherRun { .. } => -1002,
            Class::Torn { .. } => -1003,
            Class::Swapped { .. } => -1004,
            Class::Misdirected { .. }
            | Class::Misplaced { .. }
            | Class::Shifted { .. }
            | Class::OtherItem { .. } => -1005,
            Class::Lost { .. } | Class::Missing => -1006,
            Class::Foreign { .. } | Class::Strange { .. } => -1007,
            Class::Overwritten => -1008,
            Class::Ahead { .. } => -1009,
            Class::Garbage => -1010,
            Class::Mismatch { .. } => -1011,
            Class::Zeroed { .. } => -1012,
        }
    }
}

/// A range of a file that is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// What kind it is.
    pub class: Class,
    /// Whose place it is: upper half a hash of the job's seed, lower half one of the file.
    pub owner: u64,
    /// The first byte concerned, in the file.
    pub offset: u64,
    /// How many bytes are concerned.
    pub bytes: u64,
}

impl Corruption {
    /// The class as a negative result for the tally, see [`Class::code`].
    pub const fn code(self) -> i32 {
        self.class.code()
    }

    /// Whether `next`, which begins where this ends, is more of the same.
    pub(in crate::payload) fn continues_in(&self, next: &Corruption) -> bool {
        let same = match (self.class, next.class) {
            (Class::BitFlip { .. }, _) => false,
            (Class::Misdirected { owner, from }, Class::Misdirected { owner: o, from: f }) => {
                owner == o && from.checked_add(self.bytes) == Some(f)
            }
            (Class::Foreign { from, generation }, Class::Foreign { from: f, generation: g }) => {
                generation == g && from.checked_add(self.bytes) == Some(f)
            }
            (a, b) => a == b,
        };
        same && self.owner == next.owner && self.offset + self.bytes == next.offset
    }
}

impl fmt::Display for Corruption {
    /// One sentence that names the place, e.g. `byte 81,920: stale: generation 3 found, 4 written (4,096 bytes)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}: ", grouped(self.offset), self.class.name())?;
        let place = |owner, from| match owner == self.owner {
            true => format!("byte {}", grouped(from)),
            false => format!("byte {} of another file", grouped(from)),
        };
        match self.class {
            Class::BitFlip { bit, bits: 1 } => return write!(f, "bit {bit} is wrong, all others are right"),
            Class::BitFlip { bit, bits } => {
                return write!(f, "{bits} bits are wrong from bit {bit} on, all others are right");
            }
            Class::Stale { found, written } => write!(f, "generation {found} found, {written} written")?,
            Class::Torn { old: Some(old), written } => {
                write!(f, "generation {old} inside a block of generation {written}")?;
            }
            Class::Torn { old: None, written } => {
                write!(f, "never written inside a block of generation {written}")?;
            }
            Class::Swapped { owner, with } => {
                write!(f, "holds the data of {}, and that holds this", place(owner, with))?
            }
            Class::Misdirected { owner, from } => write!(f, "holds the data of {}", place(owner, from))?,
            Class::Lost { byte } => write!(f, "never written, every byte is 0x{byte:02x}")?,
            Class::Zeroed { written } => write!(f, "every byte is 0, generation {written} written")?,
            Class::Missing => f.write_str("the file ends before it")?,
            Class::Foreign { from, generation } => {
                write!(f, "another run's data, of byte {}, generation {generation}", grouped(from))?;
            }
            Class::Misplaced { worker } => write!(f, "holds what worker {worker} wrote")?,
            Class::Shifted { bytes } if bytes < 0 => {
                write!(f, "holds words that belong {} bytes before", grouped(bytes.unsigned_abs()))?;
            }
            Class::Shifted { bytes } => {
                write!(f, "holds words that belong {} bytes further on", grouped(bytes.unsigned_abs()))?;
            }
            Class::OtherItem { item } => write!(f, "holds the data of item {item}")?,
            Class::OtherRun { signature, wanted } => {
                write!(f, "signature {signature} found, {wanted} written")?;
            }
            Class::Strange { worker, signature } => {
                write!(f, "holds what worker {worker} wrote under signature {signature}")?;
            }
            Class::Overwritten => f.write_str("other bytes inside a sector that is right otherwise")?,
            Class::Ahead { found, written } => {
                write!(f, "generation {found} found, only {written} was acknowledged")?;
            }
            Class::Mismatch { what } => f.write_str(mismatch(what))?,
            Class::Garbage => f.write_str("neither this nor an earlier content of this place")?,
        }
        write!(f, " ({} bytes)", grouped(self.bytes))
    }
}

/// What does not fit, in words.
const fn mismatch(what: Wrong) -> &'static str {
    match what {
        Wrong::Magic => "no header begins here",
        Wrong::Version => "the header is of another version",
        Wrong::Length => "the header tells another length",
        Wrong::Seed => "the header tells another seed",
        Wrong::Offset => "the header tells another place",
        Wrong::Number => "the header tells another write",
        Wrong::Header => "the header's own checksum is wrong",
        Wrong::Checksum => "the checksum of the data is wrong",
        Wrong::Pattern { .. } => "it is not the pattern",
        Wrong::NotZero { .. } => "trimmed, but not zeros",
        Wrong::Content => "it is not the content",
        Wrong::Marks => "it is not the words that were written",
    }
}

/// A number with a comma at each thousand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What [`Checker::check`](super::Checker::check) found in one buffer. A clean one allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    /// The bad ranges, by offset.
    pub corruptions: Vec<Corruption>,
}

impl Verdict {
    /// Whether the buffer is what was written.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.corruptions.is_empty()
    }

    /// 0 if clean, otherwise the first corruption's negative code.
    pub fn code(&self) -> i32 {
        self.corruptions.first().map_or(0, |first| first.code())
    }
}

/// Collects the corruptions of many reads; only all together show which places were swapped.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    kept: Vec<Corruption>,
    bytes: u64,
    count: u64,
}

impl Findings {
    /// Corruptions that are kept one by one; a file full of garbage needs no more proof.
    pub const KEPT_MOST: usize = 10_000;

    /// Adds what one buffer showed.
    pub fn add(&mut self, verdict: &Verdict) {
        verdict.corruptions.iter().for_each(|corruption| self.note(*corruption));
    }

    /// Adds one corruption.
    pub fn note(&mut self, corruption: Corruption) {
        self.count += 1;
        self.bytes += corruption.bytes;
        if self.kept.len() < Findings::KEPT_MOST {
            self.kept.push(corruption);
        }
    }

    /// Adds what another worker collected.
    pub fn merge(&mut self, other: &Findings) {
        self.count += other.count;
        self.bytes += other.bytes;
        let room = Findings::KEPT_MOST - self.kept.len();
        self.kept.extend(other.kept.iter().take(room));
    }

    /// How many bad ranges there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many bytes they concern.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All that were kept, by file and offset, swapped ones recognised.
    pub fn classified(&self) -> Vec<Corruption> {
        Findings::classify_all(&self.kept)
    }

    /// Sorts, and turns each pair of misdirected blocks that hold each other's data into swapped ones.
    pub fn classify_all(corruptions: &[Corruption]) -> Vec<Corruption> {
        let holds: HashMap<(u64, u64), (u64, u64)> = corruptions
            .iter()
            .filter_map(|corruption| match corruption.class {
                Class::Misdirected { owner, from } => {
                    Some(((corruption.owner, corruption.offset), (owner, from)))
                }
                _ => None,
            })
            .collect();
        let mut all: Vec<Corruption> = corruptions
            .iter()
            .map(|&corruption| match corruption.class {
                Class::Misdirected { owner, from }
                    if holds.get(&(owner, from)) == Some(&(corruption.owner, corruption.offset)) =>
                {
                    Corruption { class: Class::Swapped { owner, with: from }, ..corruption }
                }
                _ => corruption,
            })
            .collect();
        all.sort_by_key(|corruption| (corruption.owner, corruption.offset));
        all
    }
}
