//! fio's job options: every one of version 3.42 exactly once, and its engines' own.
//!
//! One entry says how an option's value is read, which engines it belongs to and what we do about it; parsing, help and
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
pub mod program;
mod replay;
mod statistics;
mod time;
mod verify;
mod words;
mod zones;

pub use engines::{ASYNC, ATOMIC, REAPS_PARTS, RING};
pub use words::ENGINES;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::number::TimeUnit;
use crate::option::{Entry, Kind, OptionGroup, OptionRow, Spelling, Table, Word, count, entries, grouped};

pub type JobOption = OptionRow<JobRule>;

/// How an option of a job is read, and how help shows it.
#[derive(Clone, Copy, Debug)]
pub struct JobRule {
    /// How its value is read.
    pub value: ValueType,
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
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
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
    Time(TimeUnit),
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
    Word(&'static [Word]),
    /// One of the words, and what is written behind it after a colon.
    Tailed(&'static [Word]),
    /// Several of the words, and what is written behind the last.
    Words(&'static [Word]),
}

impl ValueType {
    const fn kind(self) -> Kind {
        match self {
            ValueType::Text => Kind::Text,
            ValueType::Flag => Kind::Flag,
            ValueType::Switch => Kind::Switch,
            ValueType::Whole(least, most) => Kind::Whole(least, most),
            ValueType::Triple(..) | ValueType::Splits | ValueType::Decimals(..) => Kind::List,
            ValueType::Bytes(..) | ValueType::Amount => Kind::Bytes,
            ValueType::Time(_) | ValueType::Times | ValueType::Latencies => Kind::Time,
            ValueType::Range | ValueType::Ranges => Kind::Range,
            ValueType::Word(words) | ValueType::Tailed(words) => Kind::Word(words),
            ValueType::Words(words) => Kind::Words(words),
        }
    }
}

/// Why an option is refused that could be served.
const NOT_DONE: &str = "it is not done yet";

/// No upper bound but that of the original's own type, 32 bits.
const MOST: i64 = u32::MAX as i64;

/// No upper bound.
const ENDLESS: i64 = i64::MAX;

const GROUPS: &[OptionGroup<JobRule>] = &[
    ("Job and files", files::JOB),
    ("Direction and block sizes", blocks::OPTIONS),
    ("Engine and depth", load::DEPTH),
    ("Sizes and offsets", offsets::OPTIONS),
    ("Files, caches and syncing", files::OPTIONS),
    ("Runs and times", time::OPTIONS),
    ("Verification", verify::OPTIONS),
    ("Traces", replay::OPTIONS),
    ("Zones and data placement", zones::OPTIONS),
    ("Mix, think time, rates and latency targets", load::OPTIONS),
    ("Processors, memory and priorities", place::OPTIONS),
    ("Ends, groups and errors", control::OPTIONS),
    ("Logs", logs::OPTIONS),
    ("Buffers", buffers::OPTIONS),
    ("Figures", statistics::OPTIONS),
    ("Options of engines", engines::OPTIONS),
    ("Options of engines that are not here", engines::ABSENT),
];

/// Every option, in the order that help shows them.
pub static OPTIONS: [JobOption; count(GROUPS)] = grouped(GROUPS);

static ENTRIES: [Entry; count(GROUPS)] = entries(&grouped::<_, { count(GROUPS) }>(GROUPS));

pub const TABLE: Table = Table { tool: "fio", spelling: Spelling::Assigned, entries: &ENTRIES };

/// The option of that name or alias; quick, for job files of thousands of sections.
pub fn find(name: &str) -> Option<&'static JobOption> {
    static NAMES: OnceLock<HashMap<&'static str, &'static JobOption>> = OnceLock::new();
    let names = || OPTIONS.iter().flat_map(|option| option.entry.names().map(move |name| (name, option)));
    NAMES.get_or_init(|| names().collect()).get(name).copied()
}

/// The page `docs/fio.md`, generated.
pub fn document() -> String {
    let program = program::PROGRAM.markdown().replace("## Options", "## The command line");
    let differences = super::differences::chapter();
    let introduction = include_str!("../introduction.md");
    format!("{introduction}\n{differences}\n{program}\n{}", TABLE.markdown())
}

const fn option(name: &'static str, value: &'static str, rule: ValueType, help: &'static str) -> JobOption {
    OptionRow {
        entry: Entry::new(name, rule.kind(), value, help),
        rule: JobRule { value: rule, engines: &[], depth: 0, bare: false, bounded: None },
    }
}

/// Free text.
const fn text(name: &'static str, value: &'static str, help: &'static str) -> JobOption {
    option(name, value, ValueType::Text, help)
}

const fn path(name: &'static str, value: &'static str, help: &'static str) -> JobOption {
    let text = text(name, value, help);
    OptionRow { entry: Entry { kind: Kind::Path, ..text.entry }, ..text }
}

/// 0 or 1, off unless said.
const fn flag(name: &'static str, help: &'static str) -> JobOption {
    option(name, "0|1", ValueType::Flag, help).or("0")
}

/// The same without need of a value.
const fn switch(name: &'static str, help: &'static str) -> JobOption {
    option(name, "", ValueType::Switch, help)
}

/// A whole number.
const fn whole(name: &'static str, least: i64, most: i64, help: &'static str) -> JobOption {
    option(name, "N", ValueType::Whole(least, most), help)
}

/// A number for each direction.
const fn triple(
    name: &'static str,
    value: &'static str,
    least: i64,
    most: i64,
    help: &'static str,
) -> JobOption {
    option(name, value, ValueType::Triple(least, most), help)
}

/// A number of bytes.
const fn bytes(name: &'static str, least: i64, most: i64, help: &'static str) -> JobOption {
    option(name, "BYTES", ValueType::Bytes(least, most), help)
}

/// Bytes, percent or zones.
const fn amount(name: &'static str, help: &'static str) -> JobOption {
    option(name, "BYTES|N%|Nz", ValueType::Amount, help)
}

/// A time in seconds unless it says otherwise.
const fn seconds(name: &'static str, help: &'static str) -> JobOption {
    option(name, "TIME", ValueType::Time(TimeUnit::Second), help)
}

/// A time in microseconds unless it says otherwise.
const fn micros(name: &'static str, help: &'static str) -> JobOption {
    option(name, "US", ValueType::Time(TimeUnit::Microsecond), help)
}

/// Numbers with fractions.
const fn decimals(name: &'static str, least: i32, most: i32, help: &'static str) -> JobOption {
    option(name, "N[:N…]", ValueType::Decimals(least as f64, most as f64), help)
}

/// One of some words.
const fn word(name: &'static str, words: &'static [Word], help: &'static str) -> JobOption {
    option(name, "WORD", ValueType::Word(words), help)
}

/// One of some words, perhaps with something behind it.
const fn tailed(
    name: &'static str,
    words: &'static [Word],
    value: &'static str,
    help: &'static str,
) -> JobOption {
    option(name, value, ValueType::Tailed(words), help)
}

impl JobOption {
    /// Shown below the option above it.
    const fn below(mut self, depth: usize) -> Self {
        self.rule.depth = depth;
        self
    }

    const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.rule.engines = engines;
        self
    }

    /// Help shows its bounds, or it does not.
    const fn bounded(mut self, bounded: bool) -> Self {
        self.rule.bounded = Some(bounded);
        self
    }

    /// May stand without its value.
    const fn maybe(mut self) -> Self {
        self.rule.bare = true;
        self
    }

    /// Whether it is an option of every engine.
    pub const fn is_general(&self) -> bool {
        self.rule.engines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Status;

    #[test]
    fn every_option_once_and_what_is_refused_says_why() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert_eq!(program::PROGRAM.defects(), Vec::<String>::new());
        assert!(OPTIONS.len() > 300, "{}", OPTIONS.len());
        for row in &OPTIONS {
            assert_eq!(find(row.entry.name).map(|found| found.entry.name), Some(row.entry.name));
            if let Status::Refused(why, hint) = row.entry.status {
                assert!(!why.is_empty() && !hint.is_empty(), "{}", row.entry.name);
            }
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_option() {
        for row in OPTIONS.iter().filter(|row| !row.entry.default.is_empty()) {
            let read = super::super::value::read(row, Some(row.entry.default), Default::default());
            // fio's default protocol is known, and refused by its name.
            let is_refused = row.entry.name == "http_mode"
                && read.as_ref().is_err_and(|fault| fault.message.contains("WebDAV is not served"));
            assert!(read.is_ok() || is_refused, "{}={}: {read:?}", row.entry.name, row.entry.default);
        }
    }
}
