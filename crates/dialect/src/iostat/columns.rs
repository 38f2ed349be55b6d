//! The columns of each layout: what is in them, how wide they are, and what stands above.
//!
//! Scripts cut these tables by blanks and by column, so nothing here may be made prettier.

use super::command::Unit;
use super::figures::{Interval, mean, mean_ms, merged_percent};

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

/// What a column's figure is an amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A plain number.
    Number,
    /// Bytes each second, in the chosen unit.
    ByteRate,
    /// Bytes in all, in the chosen unit, whole.
    TotalBytes,
    /// Bytes, always in kB.
    Size,
    Percent,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading; `~` stands for the unit, and `'` is not printed: it marks an older column of the same heading.
    name: &'static str,
    /// Its width without the blank before it.
    pub width: usize,
    /// What its figure is an amount of.
    pub quantity: Quantity,
    /// The figure.
    pub value: fn(&Interval) -> f64,
}

impl Column {
    pub fn heading(&self, unit: Unit) -> String {
        // Totals and rates of the plain report are of blocks, those of the other of sectors.
        let sectors = if self.name.contains('_') { "Blk" } else { "sec" };
        self.name.trim_end_matches('\'').replace('~', [sectors, "kB", "MB"][unit as usize])
    }

    /// Its key in a document.
    pub fn key(&self, unit: Unit) -> String {
        self.heading(unit).trim_start_matches('%').to_string()
    }
}

const fn column(name: &'static str, width: usize, quantity: Quantity, value: fn(&Interval) -> f64) -> Column {
    Column { name, width, quantity, value }
}

use Quantity::{ByteRate, Number, Percent, Size, TotalBytes};

/// Every column.
const COLUMNS: &[Column] = &[
    column("tps", 8, Number, |i| i.rate(i.requests())),
    column("tps'", 8, Number, |i| i.rate(i.transfers())),
    column("~_read/s", 12, ByteRate, |i| i.rate(i.did.read_bytes)),
    column("~_wrtn/s", 12, ByteRate, |i| i.rate(i.did.write_bytes)),
    column("~_dscd/s", 12, ByteRate, |i| i.rate(i.did.discard_bytes)),
    column("~_w+d/s", 12, ByteRate, |i| i.rate(i.did.write_bytes + i.did.discard_bytes)),
    column("~_read", 10, TotalBytes, |i| i.did.read_bytes as f64),
    column("~_wrtn", 10, TotalBytes, |i| i.did.write_bytes as f64),
    column("~_dscd", 10, TotalBytes, |i| i.did.discard_bytes as f64),
    column("~_w+d", 10, TotalBytes, |i| (i.did.write_bytes + i.did.discard_bytes) as f64),
    column("~/s", 9, ByteRate, |i| i.rate(i.did.read_bytes + i.did.write_bytes + i.did.discard_bytes)),
    column("rqm/s", 8, Number, |i| i.rate(i.did.reads_merged + i.did.writes_merged + i.did.discards_merged)),
    column("await", 7, Number, |i| mean_ms(i.did.read_ns + i.did.write_ns + i.did.discard_ns, i.requests())),
    column("await'", 7, Number, |i| mean_ms(i.did.read_ns + i.did.write_ns, i.transfers())),
    column("areq-sz", 8, Size, |i| {
        mean(i.did.read_bytes + i.did.write_bytes + i.did.discard_bytes, i.requests())
    }),
    column("r/s", 7, Number, |i| i.rate(i.did.reads)),
    column("w/s", 7, Number, |i| i.rate(i.did.writes)),
    column("d/s", 7, Number, |i| i.rate(i.did.discards)),
    column("f/s", 7, Number, |i| i.rate(i.did.flushes)),
    column("r~/s", 9, ByteRate, |i| i.rate(i.did.read_bytes)),
    column("w~/s", 9, ByteRate, |i| i.rate(i.did.write_bytes)),
    column("d~/s", 9, ByteRate, |i| i.rate(i.did.discard_bytes)),
    column("r~/s'", 8, ByteRate, |i| i.rate(i.did.read_bytes)),
    column("w~/s'", 8, ByteRate, |i| i.rate(i.did.write_bytes)),
    column("rrqm/s", 8, Number, |i| i.rate(i.did.reads_merged)),
    column("wrqm/s", 8, Number, |i| i.rate(i.did.writes_merged)),
    column("drqm/s", 8, Number, |i| i.rate(i.did.discards_merged)),
    column("%rrqm", 6, Percent, |i| merged_percent(i.did.reads_merged, i.did.reads)),
    column("%wrqm", 6, Percent, |i| merged_percent(i.did.writes_merged, i.did.writes)),
    column("%drqm", 6, Percent, |i| merged_percent(i.did.discards_merged, i.did.discards)),
    column("r_await", 7, Number, |i| mean_ms(i.did.read_ns, i.did.reads)),
    column("w_await", 7, Number, |i| mean_ms(i.did.write_ns, i.did.writes)),
    column("d_await", 7, Number, |i| mean_ms(i.did.discard_ns, i.did.discards)),
    column("f_await", 7, Number, |i| mean_ms(i.did.flush_ns, i.did.flushes)),
    column("rareq-sz", 8, Size, |i| mean(i.did.read_bytes, i.did.reads)),
    column("wareq-sz", 8, Size, |i| mean(i.did.write_bytes, i.did.writes)),
    column("dareq-sz", 8, Size, |i| mean(i.did.discard_bytes, i.did.discards)),
    column("avgrq-sz", 8, Number, |i| {
        mean(i.did.read_bytes + i.did.write_bytes, i.transfers()) / SECTOR_BYTES
    }),
    column("avgqu-sz", 8, Number, Interval::in_flight),
    column("aqu-sz", 7, Number, Interval::in_flight),
    column("aqu-sz'", 6, Number, Interval::in_flight),
    // Time with a request in flight by reads and writes: it was taken for the time to serve one.
    column("svctm", 6, Number, |i| mean_ms(i.did.busy_ns, i.transfers())),
    column("%util", 6, Percent, Interval::busy),
];

const SECTOR_BYTES: f64 = 512.0;

/// The columns of those names, in their order.
pub fn table(names: &str) -> Vec<Column> {
    names.split(' ').filter_map(|name| COLUMNS.iter().find(|column| column.name == name)).copied().collect()
}

const OLD: &str = "tps' ~_read/s ~_wrtn/s ~_read ~_wrtn";
const PLAIN: &str = "tps ~_read/s ~_wrtn/s ~_dscd/s ~_read ~_wrtn ~_dscd";
const SHORT: &str = "tps ~_read/s ~_w+d/s ~_read ~_w+d";
const SHORT_EXTENDED: &str = "tps ~/s rqm/s await areq-sz aqu-sz %util";
const EXTENDED: [&str; 4] = [
    "r/s r~/s rrqm/s %rrqm r_await rareq-sz",
    "w/s w~/s wrqm/s %wrqm w_await wareq-sz",
    "d/s d~/s drqm/s %drqm d_await dareq-sz",
    "f/s f_await aqu-sz %util",
];
const EXTENDED_11: &str =
    "r/s w/s r~/s w~/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz' rareq-sz wareq-sz svctm %util";
const EXTENDED_10: &str =
    "rrqm/s wrqm/s r/s w/s r~/s' w~/s' avgrq-sz avgqu-sz await' r_await w_await svctm %util";
/// Reads and writes were not told apart yet.
const EXTENDED_9: &str = "rrqm/s wrqm/s r/s w/s r~/s' w~/s' avgrq-sz avgqu-sz await' svctm %util";
/// Figure by figure, not direction by direction.
const DOCUMENT: &str = "r/s w/s d/s f/s r~/s w~/s d~/s rrqm/s wrqm/s drqm/s %rrqm %wrqm %drqm r_await w_await d_await \
                        f_await rareq-sz wareq-sz dareq-sz aqu-sz %util";

/// The columns of a report, in order; the tables are narrow where there is more than one.
pub fn tables(layout: Layout, extended: bool, short: bool, is_narrow: bool) -> Vec<Vec<Column>> {
    let one = match (layout, extended, short) {
        (Layout::Twelve, true, false) if is_narrow => return EXTENDED.map(table).to_vec(),
        (Layout::Twelve, true, false) => &EXTENDED.join(" "),
        (Layout::Eleven, true, false) => EXTENDED_11,
        (Layout::Ten, true, _) => EXTENDED_10,
        (Layout::Nine, true, _) => EXTENDED_9,
        (_, true, true) => SHORT_EXTENDED,
        (Layout::Twelve, false, true) => SHORT,
        (Layout::Twelve, false, false) => PLAIN,
        (_, false, _) => OLD,
    };
    vec![table(one)]
}

/// The figures of a document, in order.
pub fn keys(layout: Layout, extended: bool, short: bool) -> Vec<Column> {
    match (layout, extended, short) {
        (Layout::Twelve, true, false) => table(DOCUMENT),
        // A document is as short as it is long.
        (Layout::Twelve, false, true) => table(PLAIN),
        _ => tables(layout, extended, short, false).concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_layout_is_a_columns() {
        let wide = [OLD, PLAIN, SHORT, SHORT_EXTENDED, EXTENDED_11, EXTENDED_10, EXTENDED_9, DOCUMENT];
        for names in wide.into_iter().chain(EXTENDED) {
            assert_eq!(table(names).len(), names.split(' ').count(), "{names}");
        }
    }
}
