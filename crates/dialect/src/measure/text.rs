//! The card as text: as wide as the paint says, plain enough for a pipe, every figure with what makes it comparable.

use iodyno_model::{Kind, TargetFacts, Verb, units};
use iodyno_report::curve::{self, Knee};
use iodyno_report::findings;
use iodyno_report::native;
use iodyno_report::number::{self, NONE};
use iodyno_report::table::{BARS, Table, wrapped};

use super::cells::{self, APPEND, CELLS, CardCell, DEPTH, METADATA, MIX_READS};
use super::class::{self, DeviceFigures};
use super::frame::{CardFrame, NARROW, knee_sentence, range, rate, time};
use super::gather::{self, CellFigures};
use super::settings::Settings;
use crate::PathKind;
use crate::engine_choice::keeps_depth;

/// Columns from which reads and writes stand side by side.
const WIDE: usize = 100;

/// Everything the card is written from.
pub(super) struct CardText<'a> {
    pub setup: &'a Settings,
    pub frame: CardFrame<'a>,
}

/// What is measured, in a line: kind, span, file system, device.
pub(super) fn what(setup: &Settings, targets: &[TargetFacts]) -> String {
    let facts = targets.first().unwrap_or(&setup.facts.target);
    let span = units::binary(setup.span_bytes);
    let what = match setup.kind {
        PathKind::Directory => format!("{span} in a temporary file"),
        PathKind::BlockDevice => return format!("{span}, a block device, only read"),
        _ => format!("{span} of a file that was there before, only read"),
    };
    let mut on = Vec::new();
    on.extend(facts.file_system.clone());
    on.extend(facts.disk.clone().or(facts.device.clone()));
    if on.is_empty() { what } else { format!("{what} on {}", on.join(" on ")) }
}

impl CardText<'_> {
    /// The whole card.
    pub(super) fn card(&self) -> String {
        if self.frame.record.phases.is_empty() {
            return [self.frame.title(&self.setup.path), self.frame.errors()].concat();
        }
        let blocks = [
            self.frame.title(&self.setup.path),
            self.lines(),
            self.others(),
            self.depths(),
            self.metadata(),
            self.target(),
            self.frame.errors(),
            native::demands(self.frame.record, self.frame.paint),
            findings::text(&self.frame.record.findings, self.frame.details, self.frame.paint),
        ];
        blocks.concat()
    }

    /// The figures alone, in so many rows: the four lines, and of the others those that fit, the newest first.
    pub(super) fn growing(&self, rows: usize) -> String {
        let tables = vec![self.others_table(), self.depths_table(), self.metadata_table()];
        self.frame.fitting(self.lines_table(), tables, rows)
    }

    /// The four lines that KDiskMark users know.
    fn lines(&self) -> String {
        self.lines_table() + &self.legend()
    }

    fn lines_table(&self) -> String {
        match self.frame.paint.columns >= WIDE && !self.setup.reads_only() {
            true => self.lines_side_by_side(),
            false => self.line_for_each_cell(),
        }
    }

    fn figures(&self, cell: &CardCell, verb: Verb) -> Option<CellFigures> {
        let kind = if verb == Verb::Read { Kind::Read } else { Kind::Write };
        gather::figures(&self.frame.record.phases, &cell.phase(verb, keeps_depth(self.setup.engine)), kind)
    }

    fn line_for_each_cell(&self) -> String {
        let unit = self.frame.paint.rates;
        let headings = ["", unit.name(), "IOPS", "mean", "p99", "range", "best"];
        let shown = |row: [String; 7]| match self.frame.paint.columns < NARROW {
            // The range says more of a cell than its p99, which rests on one depth.
            true => row.into_iter().enumerate().filter(|(at, _)| *at != 4).map(|(_, cell)| cell).collect(),
            false => Vec::from(row),
        };
        let mut table = Table::new(1, &shown(headings.map(String::from)));
        let verbs = if self.setup.reads_only() { &[Verb::Read][..] } else { &[Verb::Read, Verb::Write] };
        for verb in verbs {
            for cell in CELLS {
                let figures = self.figures(cell, *verb).unwrap_or_default();
                table.row(&shown([
                    self.frame.called(cell.phase(*verb, keeps_depth(self.setup.engine))),
                    self.mega(figures.bytes.median()),
                    rate(figures.iops.median()),
                    time(figures.mean_ns.median()),
                    number::percentile_text(&figures.latency, 99.0),
                    range(&figures.bytes),
                    self.mega(figures.bytes.most()),
                ]));
            }
        }
        self.frame.below(table)
    }

    fn lines_side_by_side(&self) -> String {
        let unit = self.frame.paint.rates.name();
        let above = format!("{:11} {:^42}  │ {:^42}", "", "read", "write");
        let head = format!("{unit:>7} [{:>7}] <{:>7}> {:>6} {:>7}", "IOPS", "mean", "range", "best");
        let heading = format!("{:11} {head}  │ {head}", "");
        let mut text = format!("\n{}\n", self.frame.paint.heading(above.trim_end()));
        text.push_str(&format!("{}\n", self.frame.paint.aside(&heading)));
        for cell in CELLS {
            let side = |verb: Verb| self.side(self.figures(cell, verb), cell, verb);
            let name = cell.heading(keeps_depth(self.setup.engine));
            let line = format!("{name:11} {}  │ {}", side(Verb::Read), side(Verb::Write));
            text.push_str(&format!("{}\n", line.trim_end()));
        }
        text
    }

    /// One direction of one of the four lines: always 42 columns.
    fn side(&self, figures: Option<CellFigures>, cell: &CardCell, verb: Verb) -> String {
        let figures = figures.unwrap_or_default();
        let is_running =
            self.frame.running == Some(cell.phase(verb, keeps_depth(self.setup.engine)).as_str());
        let first = match self.mega(figures.bytes.median()) {
            text if is_running => format!("▸{text:>6}"),
            text => format!("{text:>7}"),
        };
        format!(
            "{first} [{:>7}] <{:>7}> {:>6} {:>7}",
            rate(figures.iops.median()),
            time(figures.mean_ns.median()),
            range(&figures.bytes),
            self.mega(figures.bytes.most()),
        )
    }

    fn legend(&self) -> String {
        let budget = &self.setup.budget;
        let shares =
            if self.setup.reads_only() { "100 % reads" } else { "each line 100 % reads or 100 % writes" };
        let unit = self.frame.paint.rates.name();
        let legend = format!(
            "SEQ1M: 1 MiB, sequential; RND4K: 4 KiB, uniform random; over {}, {shares}. Q: I/Os that a worker keeps in \
             flight, T: workers. {}, {}. {unit} and the figures beside it: median of {} passes of {}{}; \
             range: largest minus smallest, in % of the median; best: highest {unit}.",
            self.span(),
            self.setup.engine,
            self.direct().0,
            budget.passes,
            number::latency(budget.cell_ns as f64),
            if self.frame.record.stopped_by.is_some() { ", or of those that were reached" } else { "" },
        );
        format!("{}\n", self.frame.paint.aside(&wrapped(&legend, self.frame.paint.columns, 0)))
    }

    fn span(&self) -> String {
        units::binary(self.setup.span_bytes)
    }

    /// How the page cache was dealt with, in a word and in a sentence.
    fn direct(&self) -> (&'static str, &'static str) {
        let facts = self.facts();
        match facts.direct {
            // The flag is taken there, and there is nothing else to go to.
            Some(true) if class::is_memory(facts.file_system.as_deref().unwrap_or_default()) => {
                ("direct I/O, in memory", "direct, but this is memory: no storage lies beneath it")
            }
            Some(true) => ("direct I/O", "direct: past the page cache"),
            Some(false) => (
                "through the page cache",
                "NOT direct: this file system takes no O_DIRECT, so the page cache was in the way of every figure",
            ),
            None => ("direct I/O if possible", "cannot tell whether the page cache was passed by"),
        }
    }

    fn facts(&self) -> &TargetFacts {
        let started = self.frame.context.started.as_ref();
        started.and_then(|started| started.targets.first()).unwrap_or(&self.setup.facts.target)
    }

    /// The mix and the appends.
    fn others(&self) -> String {
        let legend = format!(
            "The mix: {MIX_READS} % reads, 4 KiB, uniform random over {}. The appends: 4 KiB at the end of a small file, each \
             made durable by its own fsync, depth 1, 1 worker, psync, through the page cache.",
            self.span()
        );
        self.frame.with_legend(self.others_table(), &legend)
    }

    fn others_table(&self) -> Table {
        let count = if self.frame.paint.columns < NARROW { 6 } else { 7 };
        let headings = ["", "IOPS", self.frame.paint.rates.name(), "mean", "p99", "range", "best IOPS"];
        let mut table = Table::new(1, &headings[..count]);
        let dash = || NONE.to_string();
        let name = cells::mix(keeps_depth(self.setup.engine));
        if let Some((reads, writes, total)) = gather::mix(&self.frame.record.phases, &name) {
            let both = add(&reads.bytes, &writes.bytes);
            let all = [
                self.frame.called(name),
                rate(total.median()),
                self.mega(both),
                dash(),
                dash(),
                range(&total),
                rate(total.most()),
            ];
            table.row(&all[..count]);
            table.row(&self.figures_row("  its reads", &reads)[..count]);
            table.row(&self.figures_row("  its writes", &writes)[..count]);
        }
        if let Some(appends) = gather::appends(&self.frame.record.phases) {
            let both = &appends.both;
            let all = [
                self.frame.called(APPEND.into()),
                rate(both.iops.median()),
                self.mega(both.bytes.median()),
                time(appends.mean_ns.median()),
                dash(),
                range(&both.iops),
                rate(both.iops.most()),
            ];
            table.row(&all[..count]);
            let sync = &appends.sync;
            let (mean, p99) = (time(appends.sync_ns.median()), number::percentile_text(sync, 99.0));
            table.row(&["  its fsyncs".into(), dash(), dash(), mean, p99, dash(), dash()][..count]);
        }
        table
    }

    fn depths(&self) -> String {
        let points = gather::points(&self.frame.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let legend = format!(
            "Queue depth: 4 KiB, uniform random over {}, 100 % reads, {}, {}; {} a depth. {}",
            self.span(),
            if keeps_depth(self.setup.engine) { "1 worker" } else { "depth 1 each" },
            self.setup.engine,
            number::latency(self.setup.budget.depth_ns as f64),
            knee_sentence(curve::knee(&rates), &points, ("no deeper queue brings", "IOPS")),
        );
        self.frame.with_legend(self.depths_table(), legend.trim_end())
    }

    fn depths_table(&self) -> Table {
        let points = gather::points(&self.frame.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        let knee = curve::knee(&rates);
        let by = if keeps_depth(self.setup.engine) { DEPTH } else { "workers" };
        let unit = self.frame.paint.rates;
        let mut table = Table::new(1, &[by, "IOPS", unit.name(), "mean", "p99", "utilisation", BARS]);
        let bars = curve::bar_columns(self.frame.paint.columns);
        for (index, point) in points.iter().enumerate() {
            let mark = if knee == Some(Knee::At(index)) { " ◄ knee" } else { "" };
            let bar = curve::bar(point.iops, most, bars);
            table.row(&[
                point.depth.to_string(),
                number::iops(point.iops),
                unit.figure(point.bytes),
                number::latency(point.latency.mean()),
                number::percentile_text(&point.latency, 99.0),
                point.busy_percent.map_or_else(|| NONE.into(), number::percent),
                format!("{bar:bars$}{mark:8}"),
            ]);
        }
        table
    }

    fn metadata(&self) -> String {
        let legend = "Empty files in one directory, each once, in order; 1 worker, depth 1, psync. Create and open \
                      include the close; stat and open find their names in memory, as they were just made; nothing is \
                      made durable.";
        self.frame.with_legend(self.metadata_table(), legend)
    }

    fn metadata_table(&self) -> Table {
        let mut table = Table::new(1, &["metadata", "per second", "mean", "p99", "operations"]);
        for verb in METADATA {
            if let Some((operations, rate, latency)) =
                gather::metadata(&self.frame.record.phases, verb.name(), *verb)
            {
                table.row(&[
                    verb.name().into(),
                    number::iops(rate),
                    number::latency(latency.mean()),
                    number::percentile_text(&latency, 99.0),
                    number::thousands(operations),
                ]);
            }
        }
        table
    }

    fn target(&self) -> String {
        let facts = self.facts();
        let rows = vec![
            (
                "target",
                what(self.setup, self.frame.context.started.as_ref().map_or(&[], |started| &started.targets)),
            ),
            ("file system", file_system(facts)),
            ("device", device(facts)),
            ("beneath", facts.layers.join("; ")),
            ("I/O", self.direct().1.into()),
            ("engine", self.engine()),
            ("machine", self.frame.machine()),
            ("not measured", self.frame.skipped(&self.setup.skipped).join("; ")),
            ("looks like", self.looks()),
        ];
        self.frame.rows(rows)
    }

    fn engine(&self) -> String {
        let mut text = self.setup.engine.to_string();
        if !keeps_depth(self.setup.engine) {
            text.push_str(", which keeps one I/O in flight: depth is made by as many workers");
        }
        if let Some(note) = &self.setup.engine_note {
            text.push_str(&format!(" ({note})"));
        }
        text
    }

    fn looks(&self) -> String {
        let read = |cell: usize| self.figures(&CELLS[cell], Verb::Read);
        let streams = [read(0), read(1)].into_iter().flatten().filter_map(|figures| figures.bytes.median());
        let facts = self.facts();
        let disk = facts.disk.clone().unwrap_or_default();
        let hidden = ["vd", "xvd"].iter().any(|prefix| disk.starts_with(prefix));
        let looks = DeviceFigures {
            file_system: facts.file_system.clone(),
            disk: facts.disk.clone(),
            sequential: streams.reduce(f64::max),
            single_ns: read(3).and_then(|figures| figures.mean_ns.median()),
            deep_iops: read(2).and_then(|figures| figures.iops.median()),
        };
        match class::look(&looks, self.frame.paint.rates) {
            None => "too little was measured to say".into(),
            Some(mut look) => {
                if hidden {
                    look.reasons.push(format!(
                        "but {disk} is a virtual disk, and what is cached beneath it cannot be told"
                    ));
                }
                let class = look.class.map_or("nothing that we know", class::DeviceClass::name);
                format!("{class}: {}", look.reasons.join("; "))
            }
        }
    }
}

impl CardText<'_> {
    fn figures_row(&self, name: &str, figures: &CellFigures) -> [String; 7] {
        [
            name.into(),
            rate(figures.iops.median()),
            self.mega(figures.bytes.median()),
            time(figures.mean_ns.median()),
            number::percentile_text(&figures.latency, 99.0),
            range(&figures.iops),
            rate(figures.iops.most()),
        ]
    }

    fn mega(&self, bytes: Option<f64>) -> String {
        bytes.map_or_else(|| NONE.into(), |bytes| self.frame.paint.rates.figure(bytes))
    }
}

fn add(a: &number::Repeats, b: &number::Repeats) -> Option<f64> {
    Some(a.median()? + b.median()?)
}

fn file_system(facts: &TargetFacts) -> String {
    let mut text = facts.file_system.clone().unwrap_or_default();
    if let Some(mount) = &facts.mount_point {
        text.push_str(&format!(" at {mount}"));
    }
    let size = facts.size_bytes.filter(|_| facts.file_system.is_some());
    text.push_str(&match (size, facts.free_bytes) {
        (Some(size), Some(free)) => format!(" · {} of {} free", units::binary(free), units::binary(size)),
        (None, Some(free)) => format!(" · {} free", units::binary(free)),
        _ => String::new(),
    });
    if let Some(options) = &facts.mount_options {
        text.push_str(&format!(" · {}", options.replace(',', ", ")));
    }
    text.trim_start_matches([' ', '·']).into()
}

fn device(facts: &TargetFacts) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(match (&facts.device, &facts.disk) {
        (Some(device), Some(disk)) if device != disk => Some(format!("{device} on {disk}")),
        (device, disk) => device.clone().or(disk.clone()).or(facts.source.clone()),
    });
    parts.extend(facts.model.clone());
    parts.extend(facts.size_bytes.filter(|_| facts.file_system.is_none()).map(units::binary));
    parts.extend(
        facts.rotational.map(|flag| if flag { "says rotational" } else { "says not rotational" }.into()),
    );
    parts.extend(facts.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.extend(facts.write_cache.as_ref().map(|mode| format!("{mode} cache")));
    if let (Some(logical), Some(physical)) = (facts.logical_block_bytes, facts.physical_block_bytes) {
        let (logical, physical) = (units::binary(logical), units::binary(physical));
        parts.push(format!("blocks {logical} logical, {physical} physical"));
    }
    parts.extend(facts.queue_requests.map(|requests| format!("queue of {requests}")));
    parts.extend(facts.read_ahead_bytes.map(|bytes| format!("read-ahead {}", units::binary(bytes))));
    parts.join(" · ")
}
