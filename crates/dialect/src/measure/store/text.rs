//! The card of a store as text: as wide as the paint says, every figure with what makes it comparable.

use iodyno_model::{Histogram, Kind, Verb, units};
use iodyno_report::curve::{self, Knee};
use iodyno_report::findings;
use iodyno_report::native;
use iodyno_report::number::{self, NONE};
use iodyno_report::table::{BARS, Table};

use super::budget::{CELLS, MIX, ObjectSize, PART_BYTES, PARTS_AT_ONCE, REQUESTS, REQUESTS_DEPTH};
use super::consistency::{PROMISES, promises};
use super::cost::{self, RequestBill};
use super::gather::{answers as gather_answers, first_byte};
use super::settings::StoreSettings;
use crate::measure::cells::{DEPTH, MIX_READS};
use crate::measure::frame::{CardFrame, NARROW, knee_sentence, range, rate};
use crate::measure::gather::{self, CellFigures};

/// Everything the card is written from.
pub struct StoreText<'a> {
    pub setup: &'a StoreSettings,
    pub frame: CardFrame<'a>,
}

/// What is measured, in a line.
pub fn what(setup: &StoreSettings) -> String {
    let objects = |size: ObjectSize| {
        let count = number::thousands(setup.budget.objects[size as usize]);
        format!("{count} of {}", units::binary(size.bytes()))
    };
    let sizes: Vec<String> = ObjectSize::ALL.into_iter().map(objects).collect();
    format!("objects below a prefix of its own: {}", sizes.join(", "))
}

impl StoreText<'_> {
    /// The whole card.
    pub fn card(&self) -> String {
        let record = self.frame.record;
        if record.phases.is_empty() && record.stopped_by.is_none() {
            // Why nothing was measured is said on standard error.
            return String::new();
        }
        if record.phases.is_empty() {
            return [self.frame.title(&self.title()), self.frame.errors()].concat();
        }
        let blocks = [
            self.frame.title(&self.title()),
            self.cells(),
            self.mix(),
            self.depths(),
            self.requests(),
            self.promises(),
            self.target(),
            self.frame.errors(),
            native::demands(self.frame.record, self.frame.paint),
            findings::text(&self.frame.record.findings, self.frame.details, self.frame.paint),
        ];
        blocks.concat()
    }

    /// The figures alone, in so many rows: the cells, and of the others those that fit, the newest first.
    pub fn growing(&self, rows: usize) -> String {
        let tables =
            vec![self.mix_table(), self.depths_table(), self.requests_table(), self.promises_table()];
        self.frame.fitting(self.frame.below(self.cells_table()), tables, rows)
    }

    fn title(&self) -> String {
        self.setup.url.clone()
    }

    fn keeps_depth(&self) -> bool {
        self.setup.engine.keeps_depth
    }

    fn unit(&self) -> &'static str {
        self.frame.paint.rates.name()
    }

    fn mega(&self, bytes: Option<f64>) -> String {
        bytes.map_or_else(|| NONE.into(), |bytes| self.frame.paint.rates.figure(bytes))
    }

    fn figures(&self, name: &str, kind: Kind) -> Option<CellFigures> {
        gather::figures(&self.frame.record.phases, name, kind)
    }

    fn cells_table(&self) -> Table {
        // A narrow terminal has no room for the tail of the first byte; engines without requests know none.
        let is_narrow = self.frame.paint.columns < NARROW;
        let shown = |row: [String; 8]| -> Vec<String> {
            let is_shown = |at: usize| match at {
                5 => self.setup.engine.is_http,
                6 => self.setup.engine.is_http && !is_narrow,
                at => at < 7 || !is_narrow || !self.setup.engine.is_http,
            };
            row.into_iter().enumerate().filter(|(at, _)| is_shown(*at)).map(|(_, cell)| cell).collect()
        };
        let headings = ["", self.unit(), "ops/s", "p50", "p99", "first p50", "first p99", "range"];
        let mut table = Table::new(1, &shown(headings.map(String::from)));
        for cell in CELLS {
            let name = cell.name(self.keeps_depth());
            let kind = if cell.verb == Verb::Read { Kind::Read } else { Kind::Write };
            let figures = self.figures(&name, kind).unwrap_or_default();
            let first = first_byte(&self.frame.record.phases, &name);
            table.row(&shown([
                self.frame.called(name),
                self.mega(figures.bytes.median()),
                rate(figures.iops.median()),
                median(&figures.latency),
                number::percentile_text(&figures.latency, 99.0),
                median(&first),
                number::percentile_text(&first, 99.0),
                range(&figures.iops),
            ]));
        }
        table
    }

    fn cells(&self) -> String {
        let budget = &self.setup.budget;
        let parts = match self.setup.has_parts() {
            true => format!(" (PUT in parts of {}, {PARTS_AT_ONCE} in flight)", units::binary(PART_BYTES)),
            false => String::new(),
        };
        let first = match self.setup.engine.is_http {
            true => {
                " first: from a request's last byte to the answer's first (of uploads in parts: of each request)."
            }
            false => "",
        };
        let legend = format!(
            "GET and PUT of whole objects of 4 KiB, 1 MiB and 64 MiB{parts}; RANGE: 1 MiB anywhere in one of 64 MiB. Q: \
             requests that a worker keeps in flight, T: workers. {} and ops/s: median of {} passes of {}{}; range: largest \
             minus smallest ops/s, in % of the median.{first}",
            self.unit(),
            budget.passes,
            number::latency(budget.cell_ns as f64),
            if self.frame.record.stopped_by.is_some() { ", or of those that were reached" } else { "" },
        );
        self.frame.with_legend(self.cells_table(), &legend)
    }

    fn mix_table(&self) -> Table {
        let mut table = Table::new(1, &["", self.unit(), "ops/s", "p50", "p99", "range"]);
        let name = MIX.name(self.keeps_depth());
        let Some((reads, writes, total)) = gather::mix(&self.frame.record.phases, &name) else {
            return table;
        };
        let both = reads.bytes.median().zip(writes.bytes.median()).map(|(reads, writes)| reads + writes);
        let dash = || NONE.to_string();
        table.row(&[
            self.frame.called(name),
            self.mega(both),
            rate(total.median()),
            dash(),
            dash(),
            range(&total),
        ]);
        for (name, figures) in [("  its GETs", reads), ("  its PUTs", writes)] {
            table.row(&[
                name.into(),
                self.mega(figures.bytes.median()),
                rate(figures.iops.median()),
                median(&figures.latency),
                number::percentile_text(&figures.latency, 99.0),
                range(&figures.iops),
            ]);
        }
        table
    }

    fn mix(&self) -> String {
        let legend = format!("The mix: {MIX_READS} % GET, the rest PUT, of whole objects of 4 KiB.");
        self.frame.with_legend(self.mix_table(), &legend)
    }

    fn depths_table(&self) -> Table {
        let points = gather::points(&self.frame.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        let knee = curve::knee(&rates);
        let by = if self.keeps_depth() { DEPTH } else { "workers" };
        let mut table = Table::new(1, &[by, "ops/s", self.unit(), "p50", "p99", BARS]);
        let bars = curve::bar_columns(self.frame.paint.columns);
        for (index, point) in points.iter().enumerate() {
            let mark = if knee == Some(Knee::At(index)) { " ◄ knee" } else { "" };
            let bar = curve::bar(point.iops, most, bars);
            table.row(&[
                point.depth.to_string(),
                number::iops(point.iops),
                self.frame.paint.rates.figure(point.bytes),
                median(&point.latency),
                number::percentile_text(&point.latency, 99.0),
                format!("{bar:bars$}{mark:8}"),
            ]);
        }
        table
    }

    fn depths(&self) -> String {
        let points = gather::points(&self.frame.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let words = ("no more requests in flight bring", "ops/s");
        let legend = format!(
            "Concurrency: GET of objects of 4 KiB, {}; {} each. {}",
            if self.keeps_depth() { "1 worker with a connection for each in flight" } else { "depth 1 each" },
            number::latency(self.setup.budget.depth_ns as f64),
            knee_sentence(curve::knee(&rates), &points, words),
        );
        self.frame.with_legend(self.depths_table(), legend.trim_end())
    }

    fn requests_table(&self) -> Table {
        let mut table = Table::new(1, &["requests", "per second", "p50", "p99", "operations"]);
        for (name, verb) in REQUESTS {
            let found = gather::metadata(&self.frame.record.phases, name, *verb);
            let Some((operations, rate, latency)) = found else { continue };
            table.row(&[
                (*name).into(),
                number::iops(rate),
                median(&latency),
                number::percentile_text(&latency, 99.0),
                number::thousands(operations),
            ]);
        }
        table
    }

    fn requests(&self) -> String {
        let in_flight = if self.keeps_depth() { REQUESTS_DEPTH } else { 1 };
        let legend = format!(
            "Objects of 4 KiB, each once: made, asked for by HEAD, listed, removed; {in_flight} in flight. LIST: all of them, \
             page by page as one operation, one at a time."
        );
        self.frame.with_legend(self.requests_table(), &legend)
    }

    fn promises_table(&self) -> Table {
        let mut table = Table::new(1, &["consistency", "answers", "stale", "no answer", ""]);
        let found = promises(&self.frame.record.phases);
        for ((_, name), promise) in PROMISES.iter().zip(found.into_iter().flatten()) {
            let verdict = match (promise.answers, promise.stale) {
                (0, _) => "cannot tell",
                (_, 0) => "stale not seen",
                _ => "stale SEEN",
            };
            let count = |count: u64| number::thousands(count);
            table.row(&[
                (*name).to_string(),
                count(promise.answers),
                count(promise.stale),
                if promise.failed == 0 { NONE.into() } else { count(promise.failed) },
                verdict.into(),
            ]);
        }
        table
    }

    fn promises(&self) -> String {
        let found = promises(&self.frame.record.phases).unwrap_or_default();
        let verdict = match (
            found.iter().any(|promise| promise.stale > 0),
            found.iter().any(|promise| promise.answers > 0),
        ) {
            (true, _) => "Stale answers were seen: the store is eventually consistent.",
            (false, true) => {
                "Strong as far as this was tried: what is rare is seen by none of so few answers."
            }
            (false, false) => "It cannot be told.",
        };
        let more = if self.setup.engine.is_http { " `iodyno s3check` has more rules." } else { "" };
        let legend = format!(
            "The answer right behind a write of the same client, on the same connection. {verdict}{more}"
        );
        self.frame.with_legend(self.promises_table(), &legend)
    }

    fn target(&self) -> String {
        let bill = RequestBill::of(self.setup, &self.frame.record.phases);
        let is_billed = self.setup.engine.is_http && cost::has_counts(&self.frame.record.phases);
        let cost = match &self.setup.prices {
            Some(prices) => bill.price_words(prices),
            None => "--prices FILE tells what a store asks for it".into(),
        };
        let versions = match self.setup.keeps_versions {
            true => {
                "this bucket keeps versions: what was removed and overwritten is still stored until its rules end it"
            }
            false => "",
        };
        let rows = vec![
            ("target", what(self.setup)),
            ("endpoint", self.setup.endpoint.clone().unwrap_or_default()),
            ("versions", versions.into()),
            ("engine", self.engine()),
            ("machine", self.frame.machine()),
            ("requests", if is_billed { bill.words() } else { String::new() }),
            ("operations", if is_billed { String::new() } else { self.operations() }),
            ("cost", if is_billed { cost } else { String::new() }),
            ("answers", self.answers()),
            ("not measured", self.frame.skipped(&self.setup.skipped).join("; ")),
        ];
        self.frame.rows(rows)
    }

    /// What was asked of a store that bills nothing, by kind.
    fn operations(&self) -> String {
        cost::operations(self.setup, &self.frame.record.phases)
    }

    /// Answers other than success, by their names.
    fn answers(&self) -> String {
        let answers = gather_answers(&self.frame.record.phases);
        let one = |(name, count): (&String, &u64)| format!("{name} ×{}", number::thousands(*count));
        answers.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn engine(&self) -> String {
        let name = self.setup.engine.name;
        match self.keeps_depth() {
            true => name.into(),
            false => format!("{name}, which keeps one request in flight: depth is made by as many workers"),
        }
    }
}

/// The median, if half of the samples are enough for one.
fn median(histogram: &Histogram) -> String {
    match histogram.count() {
        0 => NONE.into(),
        _ => number::latency(histogram.percentile(50.0) as f64),
    }
}
