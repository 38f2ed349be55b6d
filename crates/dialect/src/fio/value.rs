//! What a value says: numbers with suffixes, sizes and shares, times, words, triples.
//!
//! It refuses a suffix it does not know, with the place and what may have been meant.

use iodyno_model::Directed;

/// A value that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no; a switch that is there.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Decimal(f64),
    /// Bytes, or a share.
    Amount(Amount),
    /// A time in ns.
    Time(u64),
    /// A number for each direction; `None`: that place was left empty.
    Triple(Directed<Option<u64>>),
    /// One of the words that the table lists.
    Word(&'static str),
    /// Anything else: its meaning is found where it is lowered.
    Text(String),
}

/// How much of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So much of the file or device, in percent.
    Percent(f64),
    /// So many zones of a zoned device (`10z`).
    Zones(u64),
}
