//! `rw=`: which directions, sequential or random, and the number behind the colon.
//!
//! It refuses nothing but words that are none; what a direction needs is found elsewhere.

use iodyno_model::PerDirection;

use super::option_reader::OptionReader;

/// What `rw=` and `rw_sequencer=` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    pub reads: bool,
    pub writes: bool,
    pub trims: bool,
    /// Random rather than sequential.
    pub random: bool,
    /// The word that reports show.
    pub word: &'static str,
    /// `:N` behind a random word: operations for each offset; 1 where it was not said.
    pub operations: u32,
    /// `:N` behind a sequential word: bytes added after each operation.
    pub gap: i64,
    /// `rw_sequencer=identical`.
    pub identical: bool,
}

/// Word, its name in reports, and whether it reads, writes, trims, at random.
const WORDS: [(&str, &str, [bool; 4]); 11] = [
    ("read", "read", [true, false, false, false]),
    ("write", "write", [false, true, false, false]),
    ("trim", "trim", [false, false, true, false]),
    ("randread", "randread", [true, false, false, true]),
    ("randwrite", "randwrite", [false, true, false, true]),
    ("randtrim", "randtrim", [false, false, true, true]),
    ("rw", "rw", [true, true, false, false]),
    ("readwrite", "rw", [true, true, false, false]),
    ("randrw", "randrw", [true, true, false, true]),
    ("trimwrite", "trimwrite", [false, true, true, false]),
    ("randtrimwrite", "randtrimwrite", [false, true, true, true]),
];

impl Direction {
    /// What a job says.
    pub fn of(ask: &mut OptionReader<'_>) -> Direction {
        let (word, suffix) = ask.tailed("rw").unwrap_or(("read", ""));
        let known = WORDS.iter().find(|known| known.0 == word).unwrap_or(&WORDS[0]);
        let (_, name, [reads, writes, trims, random]) = known;
        let mut direction = Direction {
            reads: *reads,
            writes: *writes,
            trims: *trims,
            random: *random,
            word: name,
            identical: ask.word("rw_sequencer") == Some("identical"),
            operations: 1,
            gap: 0,
        };
        if !suffix.is_empty() {
            direction.number(ask, suffix);
        }
        direction
    }

    /// The number behind the colon.
    fn number(&mut self, ask: &mut OptionReader<'_>, suffix: &str) {
        let (negative, digits) = match suffix.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, suffix),
        };
        let bytes = super::number::bytes(digits, ask).and_then(|bytes| i64::try_from(bytes).ok());
        match (self.random, bytes) {
            (true, Some(operations)) if !negative && (1..=i64::from(u32::MAX)).contains(&operations) => {
                self.operations = operations as u32;
            }
            (false, Some(gap)) => self.gap = if negative { -gap } else { gap },
            _ => ask.refuse_value(
                "rw",
                "expected a number behind the colon",
                "randread:8 makes 8 I/Os for each random offset, read:4k leaves 4 KiB out after each I/O",
            ),
        }
    }

    pub fn used(&self) -> PerDirection<bool> {
        PerDirection { read: self.reads, write: self.writes, trim: self.trims }
    }

    /// Both reads and writes.
    pub fn mixed(&self) -> bool {
        self.reads && self.writes
    }

    /// Writes or trims.
    pub fn changes(&self) -> bool {
        self.writes || self.trims
    }
}
