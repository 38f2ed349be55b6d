//! fio's job options: every one of version 3.42 exactly once, and its engines' own.
//!
//! One row says how an option's value is read, which engines it belongs to and what we do about it; parsing, help and
//! the documents all come from it. It refuses to know what an option does: that is lowering's.

mod blocks;
mod buffers;
mod control;
mod engines;
mod files;
mod load;
mod logs;
mod offsets;
mod place;
mod replay;
mod statistics;
mod time;
mod verify;
mod words;
mod zones;

pub use words::ENGINES;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::number::Unit;
use crate::option::{Entry, Kind, Spelling, Table, Word};

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its names, its help, and what we do about it.
    pub entry: Entry,
    /// How its value is read.
    pub reading: Reading,
    /// The engines it belongs to; none: every engine.
    pub engines: &'static [&'static str],
    /// How deep `--cmdhelp=all` shows it below the option it depends on.
    pub depth: usize,
    /// Whether it may stand without a value although it takes one.
    pub bare: bool,
    /// Whether help shows its bounds; none: as its kind does.
    pub bounded: Option<bool>,
}

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// As it is.
    Text,
    /// 0 or 1.
    Flag,
    /// 0, 1, or nothing, which is 1.
    Switch,
    /// A whole number within both bounds.
    Whole(i64, i64),
    /// Up to three, for reads, writes and trims.
    Triple(i64, i64),
    /// Bytes within both bounds.
    Bytes(i64, i64),
    /// Bytes, percent or zones.
    Amount,
    /// A time.
    Time(Unit),
    /// A time, or two that one is drawn from between.
    Times,
    /// A time in microseconds for each direction.
    Latencies,
    /// One size or two.
    Range,
    /// Two sizes for each direction.
    Ranges,
    /// Sizes with their shares, for each direction.
    Splits,
    /// Numbers with fractions, within both bounds.
    Decimals(f64, f64),
    /// One of the words.
    Word,
    /// One of the words, and what is written behind it after a colon.
    Tailed,
    /// Several of the words, and what is written behind the last.
    Words,
}

/// No upper bound but that of the original's own type, 32 bits.
const MOST: i64 = u32::MAX as i64;

/// No upper bound.
const ENDLESS: i64 = i64::MAX;

/// Options under one heading.
type Group = (&'static str, &'static [Row]);

const GROUPS: &[Group] = &[
    ("Job and files", files::JOB),
    ("Direction and block sizes", blocks::ROWS),
    ("Engine and depth", load::DEPTH),
    ("Sizes and offsets", offsets::ROWS),
    ("Files, caches and syncing", files::ROWS),
    ("Runs and times", time::ROWS),
    ("Verification", verify::ROWS),
    ("Traces", replay::ROWS),
    ("Zones and data placement", zones::ROWS),
    ("Mix, think time, rates and latency targets", load::ROWS),
    ("Processors, memory and priorities", place::ROWS),
    ("Ends, groups and errors", control::ROWS),
    ("Logs", logs::ROWS),
    ("Buffers", buffers::ROWS),
    ("Figures", statistics::ROWS),
    ("Options of engines", engines::ROWS),
    ("Options of engines that are not here", engines::ABSENT),
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].1.len();
        group += 1;
    }
    count
};

/// Every option, in the order that help shows them.
pub static ROWS: [Row; COUNT] = gathered();

const fn gathered() -> [Row; COUNT] {
    let mut rows = [files::JOB[0]; COUNT];
    let (mut at, mut group) = (0, 0);
    while group < GROUPS.len() {
        let (category, part) = GROUPS[group];
        let mut index = 0;
        while index < part.len() {
            rows[at] = part[index];
            rows[at].entry.category = category;
            at += 1;
            index += 1;
        }
        group += 1;
    }
    rows
}

static ENTRIES: [Entry; COUNT] = {
    let rows = gathered();
    let mut entries = [rows[0].entry; COUNT];
    let mut index = 0;
    while index < COUNT {
        entries[index] = rows[index].entry;
        index += 1;
    }
    entries
};

/// The table.
pub const TABLE: Table = Table { tool: "fio", spelling: Spelling::Assigned, entries: &ENTRIES };

/// The option of that name or alias; quick, for job files of thousands of sections.
pub fn find(name: &str) -> Option<&'static Row> {
    static NAMES: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let both = |row: &Row| [row.entry.name].into_iter().chain(row.entry.aliases.iter().copied());
        ROWS.iter().enumerate().flat_map(|(index, row)| both(row).map(move |name| (name, index))).collect()
    });
    names.get(name).map(|index| &ROWS[*index])
}

/// The page `docs/fio.md`, generated.
pub fn document() -> String {
    let program = super::program::PROGRAM.markdown().replace("## Options", "## The command line");
    let differences = super::differences::chapter();
    let introduction = include_str!("../introduction.md");
    format!("{introduction}\n{differences}\n{program}\n{}", TABLE.markdown())
}

const fn row(
    name: &'static str,
    kind: Kind,
    value: &'static str,
    reading: Reading,
    help: &'static str,
) -> Row {
    Row {
        entry: Entry::new(name, kind, value, help),
        reading,
        engines: &[],
        depth: 0,
        bare: false,
        bounded: None,
    }
}

/// Free text.
const fn text(name: &'static str, value: &'static str, help: &'static str) -> Row {
    row(name, Kind::Text, value, Reading::Text, help)
}

/// A path.
const fn path(name: &'static str, value: &'static str, help: &'static str) -> Row {
    row(name, Kind::Path, value, Reading::Text, help)
}

/// 0 or 1, off unless said.
const fn flag(name: &'static str, help: &'static str) -> Row {
    row(name, Kind::Flag, "0|1", Reading::Flag, help).or("0")
}

/// The same without need of a value.
const fn switch(name: &'static str, help: &'static str) -> Row {
    row(name, Kind::Switch, "", Reading::Switch, help)
}

/// A whole number.
const fn whole(name: &'static str, least: i64, most: i64, help: &'static str) -> Row {
    row(name, Kind::Whole(least, most), "N", Reading::Whole(least, most), help)
}

/// A number for each direction.
const fn triple(name: &'static str, value: &'static str, least: i64, most: i64, help: &'static str) -> Row {
    row(name, Kind::List, value, Reading::Triple(least, most), help)
}

/// A number of bytes.
const fn bytes(name: &'static str, least: i64, most: i64, help: &'static str) -> Row {
    row(name, Kind::Bytes, "BYTES", Reading::Bytes(least, most), help)
}

/// Bytes, percent or zones.
const fn amount(name: &'static str, help: &'static str) -> Row {
    row(name, Kind::Bytes, "BYTES|N%|Nz", Reading::Amount, help)
}

/// A time in seconds unless it says otherwise.
const fn seconds(name: &'static str, help: &'static str) -> Row {
    row(name, Kind::Time, "TIME", Reading::Time(Unit::Second), help)
}

/// A time in microseconds unless it says otherwise.
const fn micros(name: &'static str, help: &'static str) -> Row {
    row(name, Kind::Time, "US", Reading::Time(Unit::Microsecond), help)
}

/// Numbers with fractions.
const fn decimals(name: &'static str, least: i32, most: i32, help: &'static str) -> Row {
    row(name, Kind::List, "N[:N…]", Reading::Decimals(least as f64, most as f64), help)
}

/// One of some words.
const fn word(name: &'static str, words: &'static [Word], help: &'static str) -> Row {
    row(name, Kind::Word(words), "WORD", Reading::Word, help)
}

/// One of some words, perhaps with something behind it.
const fn tailed(name: &'static str, words: &'static [Word], value: &'static str, help: &'static str) -> Row {
    row(name, Kind::Word(words), value, Reading::Tailed, help)
}

impl Row {
    const fn also(mut self, aliases: &'static [&'static str]) -> Row {
        self.entry.aliases = aliases;
        self
    }

    const fn or(mut self, default: &'static str) -> Row {
        self.entry.default = default;
        self
    }

    /// Shown below the option above it.
    const fn below(mut self, depth: usize) -> Row {
        self.depth = depth;
        self
    }

    const fn of(mut self, engines: &'static [&'static str]) -> Row {
        self.engines = engines;
        self
    }

    const fn ignored(mut self, why: &'static str) -> Row {
        self.entry = self.entry.ignored(why);
        self
    }

    const fn refused(mut self, why: &'static str, hint: &'static str) -> Row {
        self.entry = self.entry.refused(why, hint);
        self
    }

    /// Help shows its bounds, or it does not.
    const fn bounded(mut self, bounded: bool) -> Row {
        self.bounded = Some(bounded);
        self
    }

    /// May stand without its value.
    const fn maybe(mut self) -> Row {
        self.bare = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Status;

    #[test]
    fn every_option_once_and_what_is_refused_says_why() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert_eq!(super::super::program::PROGRAM.defects(), Vec::<String>::new());
        assert!(ROWS.len() > 300, "{}", ROWS.len());
        for row in &ROWS {
            assert_eq!(find(row.entry.name).map(|found| found.entry.name), Some(row.entry.name));
            if let Status::Refused(why, hint) = row.entry.status {
                assert!(!why.is_empty() && !hint.is_empty(), "{}", row.entry.name);
            }
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_option() {
        for row in ROWS.iter().filter(|row| !row.entry.default.is_empty()) {
            let read = super::super::value::read(row, Some(row.entry.default), Default::default());
            assert!(read.is_ok(), "{}={}: {read:?}", row.entry.name, row.entry.default);
        }
    }
}
