//! The columns of each layout: what is in them, how wide they are, and what stands above.
//!
//! Scripts cut these tables by blanks and by column, so nothing here may be made prettier.

use super::command::Unit;
use super::figures::Interval;

/// Whose columns are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// sysstat 9.0.
    Nine,
    /// sysstat 10.1.
    Ten,
    /// sysstat 11.6.
    Eleven,
    /// sysstat 12.6.
    #[default]
    Twelve,
}

impl Layout {
    /// The layout that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "9" => Layout::Nine,
            "10" => Layout::Ten,
            "11" => Layout::Eleven,
            "12" => Layout::Twelve,
            _ => return None,
        })
    }

    /// The version of sysstat that prints it.
    pub fn version(self) -> &'static str {
        match self {
            Layout::Nine => "9.0.4",
            Layout::Ten => "10.1.5",
            Layout::Eleven => "11.6.1",
            Layout::Twelve => "12.6.1",
        }
    }

    /// What stands above the names.
    pub fn device(self) -> &'static str {
        match self {
            Layout::Nine | Layout::Ten => "Device:",
            Layout::Eleven | Layout::Twelve => "Device",
        }
    }
}

/// What kind of figure a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain number.
    Plain,
    /// Bytes each second, in the chosen unit.
    Bytes,
    /// Bytes in all, in the chosen unit, whole.
    Total,
    /// Bytes, always in kB.
    Size,
    /// Percent.
    Percent,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What stands above it; `~` stands for the unit.
    head: &'static str,
    /// Its width without the blank before it.
    pub width: usize,
    /// What kind of figure it holds.
    pub kind: Kind,
    /// The figure.
    pub value: fn(&Interval) -> f64,
    /// In which of the narrow tables it stands.
    pub part: u8,
}

impl Column {
    const fn new(head: &'static str, width: usize, kind: Kind, value: fn(&Interval) -> f64) -> Self {
        Column { head, width, kind, value, part: 0 }
    }

    const fn part(self, part: u8) -> Self {
        Column { part, ..self }
    }

    /// What stands above it in that unit.
    pub fn head(&self, unit: Unit) -> String {
        // Totals and rates of the plain report are of blocks, those of the other of sectors.
        let sectors = if self.head.contains('_') { "Blk" } else { "sec" };
        self.head.replace('~', [sectors, "kB", "MB"][unit as usize])
    }

    /// Its key in a document.
    pub fn key(&self, unit: Unit) -> String {
        self.head(unit).trim_start_matches('%').to_string()
    }
}

use Kind::{Bytes, Percent, Plain, Size, Total};

const TRANSFERS: Column = Column::new("tps", 8, Plain, Interval::transfers);
const READ_RATE: Column = Column::new("~_read/s", 12, Bytes, Interval::read_bytes);
const WRITE_RATE: Column = Column::new("~_wrtn/s", 12, Bytes, Interval::write_bytes);
const READ_TOTAL: Column = Column::new("~_read", 10, Total, Interval::read_total);
const WRITE_TOTAL: Column = Column::new("~_wrtn", 10, Total, Interval::write_total);

const OLD: &[Column] = &[
    Column::new("tps", 8, Plain, Interval::reads_and_writes),
    READ_RATE,
    WRITE_RATE,
    READ_TOTAL,
    WRITE_TOTAL,
];

const PLAIN: &[Column] = &[
    TRANSFERS,
    READ_RATE,
    WRITE_RATE,
    Column::new("~_dscd/s", 12, Bytes, Interval::discard_bytes),
    READ_TOTAL,
    WRITE_TOTAL,
    Column::new("~_dscd", 10, Total, Interval::discard_total),
];

const SHORT: &[Column] = &[
    TRANSFERS,
    READ_RATE,
    Column::new("~_w+d/s", 12, Bytes, Interval::write_and_discard_bytes),
    READ_TOTAL,
    Column::new("~_w+d", 10, Total, Interval::write_and_discard_total),
];

const QUEUE: Column = Column::new("aqu-sz", 7, Plain, Interval::in_flight);
const BUSY: Column = Column::new("%util", 6, Percent, Interval::busy);

const SHORT_EXTENDED: &[Column] = &[
    TRANSFERS,
    Column::new("~/s", 9, Bytes, Interval::all_bytes),
    Column::new("rqm/s", 8, Plain, Interval::merges),
    Column::new("await", 7, Plain, Interval::request_ms),
    Column::new("areq-sz", 8, Size, Interval::size),
    QUEUE,
    BUSY,
];

const READS: Column = Column::new("r/s", 7, Plain, Interval::reads);
const WRITES: Column = Column::new("w/s", 7, Plain, Interval::writes);
const READ_BYTES: Column = Column::new("r~/s", 9, Bytes, Interval::read_bytes);
const WRITE_BYTES: Column = Column::new("w~/s", 9, Bytes, Interval::write_bytes);
const READ_MERGES: Column = Column::new("rrqm/s", 8, Plain, Interval::read_merges);
const WRITE_MERGES: Column = Column::new("wrqm/s", 8, Plain, Interval::write_merges);
const READS_MERGED: Column = Column::new("%rrqm", 6, Percent, Interval::reads_merged);
const WRITES_MERGED: Column = Column::new("%wrqm", 6, Percent, Interval::writes_merged);
const READ_MS: Column = Column::new("r_await", 7, Plain, Interval::read_ms);
const WRITE_MS: Column = Column::new("w_await", 7, Plain, Interval::write_ms);
const READ_SIZE: Column = Column::new("rareq-sz", 8, Size, Interval::read_size);
const WRITE_SIZE: Column = Column::new("wareq-sz", 8, Size, Interval::write_size);
const SERVICE_MS: Column = Column::new("svctm", 6, Plain, Interval::service_ms);

const EXTENDED: &[Column] = &[
    READS,
    READ_BYTES,
    READ_MERGES,
    READS_MERGED,
    READ_MS,
    READ_SIZE,
    WRITES.part(1),
    WRITE_BYTES.part(1),
    WRITE_MERGES.part(1),
    WRITES_MERGED.part(1),
    WRITE_MS.part(1),
    WRITE_SIZE.part(1),
    Column::new("d/s", 7, Plain, Interval::discards).part(2),
    Column::new("d~/s", 9, Bytes, Interval::discard_bytes).part(2),
    Column::new("drqm/s", 8, Plain, Interval::discard_merges).part(2),
    Column::new("%drqm", 6, Percent, Interval::discards_merged).part(2),
    Column::new("d_await", 7, Plain, Interval::discard_ms).part(2),
    Column::new("dareq-sz", 8, Size, Interval::discard_size).part(2),
    Column::new("f/s", 7, Plain, Interval::flushes).part(3),
    Column::new("f_await", 7, Plain, Interval::flush_ms).part(3),
    QUEUE.part(3),
    BUSY.part(3),
];

/// The places of the extended columns in a document: figure by figure, not direction by direction.
const IN_DOCUMENT: &[usize] = &[0, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 19, 5, 11, 17, 20, 21];

const EXTENDED_11: &[Column] = &[
    READS,
    WRITES,
    READ_BYTES,
    WRITE_BYTES,
    READ_MERGES,
    WRITE_MERGES,
    READS_MERGED,
    WRITES_MERGED,
    READ_MS,
    WRITE_MS,
    Column { width: 6, ..QUEUE },
    READ_SIZE,
    WRITE_SIZE,
    SERVICE_MS,
    BUSY,
];

const EXTENDED_10: &[Column] = &[
    READ_MERGES,
    WRITE_MERGES,
    READS,
    WRITES,
    Column { width: 8, ..READ_BYTES },
    Column { width: 8, ..WRITE_BYTES },
    Column::new("avgrq-sz", 8, Plain, Interval::sectors),
    Column::new("avgqu-sz", 8, Plain, Interval::in_flight),
    Column::new("await", 7, Plain, Interval::transfer_ms),
    READ_MS,
    WRITE_MS,
    SERVICE_MS,
    BUSY,
];

/// The columns of a report, in order.
pub fn columns(layout: Layout, extended: bool, short: bool) -> Vec<Column> {
    match (layout, extended, short) {
        (Layout::Twelve, true, false) => EXTENDED.to_vec(),
        (Layout::Eleven, true, false) => EXTENDED_11.to_vec(),
        (Layout::Ten, true, _) => EXTENDED_10.to_vec(),
        // Reads and writes were not told apart yet.
        (Layout::Nine, true, _) => {
            EXTENDED_10.iter().filter(|column| !column.head.ends_with("_await")).copied().collect()
        }
        (_, true, true) => SHORT_EXTENDED.to_vec(),
        (Layout::Twelve, false, true) => SHORT.to_vec(),
        (Layout::Twelve, false, false) => PLAIN.to_vec(),
        (_, false, _) => OLD.to_vec(),
    }
}

/// The figures of a document, in order.
pub fn keys(layout: Layout, extended: bool, short: bool) -> Vec<Column> {
    match (layout, extended, short) {
        (Layout::Twelve, true, false) => IN_DOCUMENT.iter().map(|place| EXTENDED[*place]).collect(),
        // A document is as short as it is long.
        (Layout::Twelve, false, true) => PLAIN.to_vec(),
        _ => columns(layout, extended, short),
    }
}
