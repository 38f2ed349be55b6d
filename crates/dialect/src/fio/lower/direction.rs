//! `rw=`: which directions, sequential or random, and the number behind the colon.
//!
//! It refuses nothing but words that are none; what a direction needs is found elsewhere.

use super::option_reader::OptionReader;

/// What `rw=` and `rw_sequencer=` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
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
const WORDS: [(&str, &str, [bool; 4]); 12] = [
    ("read", "read", [true, false, false, false]),
    ("write", "write", [false, true, false, false]),
    ("trim", "trim", [false, false, true, false]),
    ("randread", "randread", [true, false, false, true]),
    ("randwrite", "randwrite", [false, true, false, true]),
    ("randtrim", "randtrim", [false, false, true, true]),
    ("rw", "rw", [true, true, false, false]),
    ("readwrite", "rw", [true, true, false, false]),
    ("randrw", "randrw", [true, true, false, true]),
    ("randreadwrite", "randrw", [true, true, false, true]),
    ("trimwrite", "trimwrite", [false, true, true, false]),
    ("randtrimwrite", "randtrimwrite", [false, true, true, true]),
];

impl Direction {
    /// What a job says.
    pub fn of(ask: &mut OptionReader<'_>) -> Direction {
        let text = ask.text("rw").unwrap_or("read");
        let (word, suffix) = match text.split_once(':') {
            Some((word, suffix)) => (word.trim(), Some(suffix.trim())),
            None => (text, None),
        };
        let Some((_, name, [reads, writes, trims, random])) = WORDS.iter().find(|known| known.0 == word)
        else {
            let known: Vec<_> = WORDS.iter().map(|known| known.0).collect();
            ask.refuse("rw", format!("`rw={text}`: no such kind of I/O"), known.join(" "));
            return Direction { word: "read", ..Direction::plain() };
        };
        let mut direction = Direction {
            reads: *reads,
            writes: *writes,
            trims: *trims,
            random: *random,
            word: name,
            identical: ask.word("rw_sequencer") == Some("identical"),
            ..Direction::plain()
        };
        if let Some(suffix) = suffix {
            direction.number(ask, text, suffix);
        }
        direction
    }

    fn plain() -> Direction {
        Direction {
            reads: true,
            writes: false,
            trims: false,
            random: false,
            word: "read",
            operations: 1,
            gap: 0,
            identical: false,
        }
    }

    /// The number behind the colon.
    fn number(&mut self, ask: &mut OptionReader<'_>, text: &str, suffix: &str) {
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
            _ => ask.refuse(
                "rw",
                format!("`rw={text}`: expected a number behind the colon"),
                "randread:8 makes 8 I/Os for each random offset, read:4k leaves 4 KiB out after each I/O",
            ),
        }
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
