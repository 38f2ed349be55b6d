//! The card as text: as wide as the paint says, plain enough for a pipe, every figure with what makes it comparable.

use std::collections::HashSet;

use iodyno_model::{JobRecord, Kind, Record, Severity, TargetFacts, Verb, units};
use iodyno_report::curve::{self, Knee};
use iodyno_report::findings;
use iodyno_report::native;
use iodyno_report::number::{self, NONE};
use iodyno_report::paint::Paint;
use iodyno_report::shape::Context;
use iodyno_report::table::{BARS, Table, wrapped};

use super::cells::{self, APPEND, CELLS, CardCell, DEPTH, METADATA, MIX_READS};
use super::class::{self, DeviceFigures};
use super::gather::{self, CellFigures, Point};
use super::settings::Settings;
use crate::PathKind;
use crate::engine_choice::keeps_depth;

/// Columns from which reads and writes stand side by side.
const WIDE: usize = 100;
/// Columns below which a table leaves out its last column.
const NARROW: usize = 70;
/// Where the second column of the target block begins.
const INDENT: usize = 14;

/// Everything the card is written from.
pub(super) struct CardText<'a> {
    pub setup: &'a Settings,
    pub paint: Paint,
    pub context: &'a Context,
    pub record: &'a Record,
    pub details: bool,
    /// The cell that is measured now.
    pub running: Option<&'a str>,
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
        if self.record.phases.is_empty() {
            return [self.title(), self.errors()].concat();
        }
        let blocks = [
            self.title(),
            self.lines(),
            self.others(),
            self.depths(),
            self.metadata(),
            self.target(),
            self.errors(),
            native::demands(self.record, self.paint),
            findings::text(&self.record.findings, self.details, self.paint),
        ];
        blocks.concat()
    }

    /// The figures alone, in so many rows: the four lines, and of the others those that fit, the newest first.
    pub(super) fn growing(&self, rows: usize) -> String {
        let blocks = [self.others_table(), self.depths_table(), self.metadata_table()];
        let mut blocks: Vec<String> =
            blocks.into_iter().filter(|table| !table.is_empty()).map(|table| self.below(table)).collect();
        blocks.insert(0, self.lines_table());
        while blocks.len() > 1 && blocks.iter().map(|block| block.lines().count()).sum::<usize>() > rows {
            blocks.remove(1);
        }
        blocks.concat()
    }

    fn title(&self) -> String {
        let machine = &self.record.machine;
        let title = format!("iodyno measure {}", self.setup.path);
        let about = format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel);
        let is_short = title.chars().count() + 3 + about.chars().count() <= self.paint.columns;
        let between = if is_short { "   " } else { "\n" };
        let mut text = format!("\n{}{between}{}\n", self.paint.heading(&title), self.paint.aside(&about));
        if let Some(signal) = self.record.stopped_by {
            let planned = self.context.started.as_ref().map_or(0, |started| started.plan.phases.len());
            let stopped = match self.record.phases.len() {
                0 => format!("stopped by signal {signal} before anything was measured"),
                reached => format!(
                    "stopped by signal {signal} in measurement {reached} of {planned}: {NONE} was not reached, \
                     and medians rest on fewer passes"
                ),
            };
            text.push_str(
                &self.paint.severity(Severity::Doubtful, &wrapped(&stopped, self.paint.columns - 2, 2)),
            );
            text.push('\n');
        }
        text
    }

    /// The four lines that KDiskMark users know.
    fn lines(&self) -> String {
        self.lines_table() + &self.legend()
    }

    fn lines_table(&self) -> String {
        match self.paint.columns >= WIDE && !self.setup.reads_only() {
            true => self.lines_side_by_side(),
            false => self.line_for_each_cell(),
        }
    }

    fn figures(&self, cell: &CardCell, verb: Verb) -> Option<CellFigures> {
        let kind = if verb == Verb::Read { Kind::Read } else { Kind::Write };
        gather::figures(&self.record.phases, &cell.phase(verb, keeps_depth(self.setup.engine)), kind)
    }

    /// What a line is called: with a mark while it is measured.
    fn called(&self, name: String) -> String {
        if self.running == Some(name.as_str()) { format!("▸ {name}") } else { name }
    }

    fn line_for_each_cell(&self) -> String {
        let unit = self.paint.rates;
        let headings = ["", unit.name(), "IOPS", "mean", "p99", "range", "best"];
        let shown = |row: [String; 7]| match self.paint.columns < NARROW {
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
                    self.called(cell.phase(*verb, keeps_depth(self.setup.engine))),
                    self.mega(figures.bytes.median()),
                    rate(figures.iops.median()),
                    time(figures.mean_ns.median()),
                    number::percentile_text(&figures.latency, 99.0),
                    range(&figures.bytes),
                    self.mega(figures.bytes.most()),
                ]));
            }
        }
        self.below(table)
    }

    fn lines_side_by_side(&self) -> String {
        let unit = self.paint.rates.name();
        let above = format!("{:11} {:^42}  │ {:^42}", "", "read", "write");
        let head = format!("{unit:>7} [{:>7}] <{:>7}> {:>6} {:>7}", "IOPS", "mean", "range", "best");
        let heading = format!("{:11} {head}  │ {head}", "");
        let mut text = format!("\n{}\n", self.paint.heading(above.trim_end()));
        text.push_str(&format!("{}\n", self.paint.aside(&heading)));
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
        let is_running = self.running == Some(cell.phase(verb, keeps_depth(self.setup.engine)).as_str());
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

    /// A table below an empty line.
    fn below(&self, table: Table) -> String {
        format!("\n{}", table.text(0, self.paint))
    }

    fn legend(&self) -> String {
        let budget = &self.setup.budget;
        let shares =
            if self.setup.reads_only() { "100 % reads" } else { "each line 100 % reads or 100 % writes" };
        let unit = self.paint.rates.name();
        let legend = format!(
            "SEQ1M: 1 MiB, sequential; RND4K: 4 KiB, uniform random; over {}, {shares}. Q: I/Os that a worker keeps in \
             flight, T: workers. {}, {}. {unit} and the figures beside it: median of {} passes of {}{}; \
             range: largest minus smallest, in % of the median; best: highest {unit}.",
            self.span(),
            self.setup.engine,
            self.direct().0,
            budget.passes,
            number::latency(budget.cell_ns as f64),
            if self.record.stopped_by.is_some() { ", or of those that were reached" } else { "" },
        );
        format!("{}\n", self.paint.aside(&wrapped(&legend, self.paint.columns, 0)))
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
        let started = self.context.started.as_ref();
        started.and_then(|started| started.targets.first()).unwrap_or(&self.setup.facts.target)
    }

    /// The mix and the appends.
    fn others(&self) -> String {
        let legend = format!(
            "The mix: {MIX_READS} % reads, 4 KiB, uniform random over {}. The appends: 4 KiB at the end of a small file, each \
             made durable by its own fsync, depth 1, 1 worker, psync, through the page cache.",
            self.span()
        );
        self.with_legend(self.others_table(), &legend)
    }

    fn others_table(&self) -> Table {
        let count = if self.paint.columns < NARROW { 6 } else { 7 };
        let headings = ["", "IOPS", self.paint.rates.name(), "mean", "p99", "range", "best IOPS"];
        let mut table = Table::new(1, &headings[..count]);
        let dash = || NONE.to_string();
        let name = cells::mix(keeps_depth(self.setup.engine));
        if let Some((reads, writes, total)) = gather::mix(&self.record.phases, &name) {
            let both = add(&reads.bytes, &writes.bytes);
            let all = [
                self.called(name),
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
        if let Some(appends) = gather::appends(&self.record.phases) {
            let both = &appends.both;
            let all = [
                self.called(APPEND.into()),
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

    /// A table above its legend; nothing where the table has no row.
    fn with_legend(&self, table: Table, legend: &str) -> String {
        match table.is_empty() {
            true => String::new(),
            false => {
                let legend = self.paint.aside(&wrapped(legend, self.paint.columns, 0));
                format!("{}{legend}\n", self.below(table))
            }
        }
    }

    fn depths(&self) -> String {
        let points = gather::points(&self.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let legend = format!(
            "Queue depth: 4 KiB, uniform random over {}, 100 % reads, {}, {}; {} a depth. {}",
            self.span(),
            if keeps_depth(self.setup.engine) { "1 worker" } else { "depth 1 each" },
            self.setup.engine,
            number::latency(self.setup.budget.depth_ns as f64),
            knee_sentence(curve::knee(&rates), &points),
        );
        self.with_legend(self.depths_table(), legend.trim_end())
    }

    fn depths_table(&self) -> Table {
        let points = gather::points(&self.record.phases);
        let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        let knee = curve::knee(&rates);
        let by = if keeps_depth(self.setup.engine) { DEPTH } else { "workers" };
        let unit = self.paint.rates;
        let mut table = Table::new(1, &[by, "IOPS", unit.name(), "mean", "p99", "utilisation", BARS]);
        let bars = curve::bar_columns(self.paint.columns);
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
        self.with_legend(self.metadata_table(), legend)
    }

    fn metadata_table(&self) -> Table {
        let mut table = Table::new(1, &["metadata", "per second", "mean", "p99", "operations"]);
        for verb in METADATA {
            if let Some((operations, rate, latency)) = gather::metadata(&self.record.phases, *verb) {
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
        let mut rows = vec![
            (
                "target",
                what(self.setup, self.context.started.as_ref().map_or(&[], |started| &started.targets)),
            ),
            ("file system", file_system(facts)),
            ("device", device(facts)),
            ("beneath", facts.layers.join("; ")),
            ("I/O", self.direct().1.into()),
            ("engine", self.engine()),
            ("machine", self.machine()),
            ("not measured", self.skipped().join("; ")),
            ("looks like", self.looks()),
        ];
        rows.retain(|(_, text)| !text.is_empty());
        let row = |(name, text): &(&str, String)| {
            let name = self.paint.aside(&format!("{name:INDENT$}"));
            format!("{name}{}\n", wrapped(text, self.paint.columns - INDENT, INDENT))
        };
        format!("\n{}", rows.iter().map(row).collect::<String>())
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

    fn machine(&self) -> String {
        let machine = &self.record.machine;
        let memory = units::binary(machine.memory_bytes);
        format!("{} · {} CPUs · {memory} memory · clock {}", machine.processor, machine.cpus, machine.clock)
    }

    fn skipped(&self) -> Vec<String> {
        let mut skipped = self.setup.skipped.clone();
        let planned = self.context.started.as_ref().map_or(&[][..], |started| &started.plan.phases);
        if self.record.stopped_by.is_some() {
            let left = planned.len().saturating_sub(self.record.phases.len());
            skipped.push(format!("{left} of {} measurements: the run was stopped", planned.len()));
        }
        let done = |name: &str| {
            let mut phases = self.record.phases.iter().filter(|phase| phase.name == name);
            phases.any(|phase| phase.jobs.iter().any(|job| job.tally.all_operations() > 0))
        };
        let mut empty: Vec<&str> = planned.iter().map(|phase| phase.name.as_str()).collect();
        let mut seen = HashSet::new();
        empty.retain(|name| seen.insert(*name) && !done(name));
        if !empty.is_empty() {
            let what = if self.record.stopped_by.is_some() {
                "nothing at all of"
            } else {
                "no operation succeeded in"
            };
            skipped.push(format!("{what} {}", empty.join(", ")));
        }
        skipped
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
        match class::look(&looks, self.paint.rates) {
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

    fn errors(&self) -> String {
        let mut names: Vec<&str> = self.record.phases.iter().map(|phase| phase.name.as_str()).collect();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        let mut lines: Vec<String> = names.iter().flat_map(|name| self.errors_of(name)).collect();
        lines.extend(self.record.errors.iter().map(|error| error.to_string()));
        if lines.is_empty() {
            return String::new();
        }
        let heading =
            self.paint.severity(Severity::Invalid, "errors: failed operations are in no figure above");
        let lines: String =
            lines.iter().map(|line| format!("  {}\n", wrapped(line, self.paint.columns - 4, 4))).collect();
        format!("\n{heading}\n{lines}")
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
        bytes.map_or_else(|| NONE.into(), |bytes| self.paint.rates.figure(bytes))
    }

    /// The failures of all passes of a cell, together.
    fn errors_of(&self, name: &str) -> Vec<String> {
        let mut all = JobRecord::default();
        for job in self.record.phases.iter().filter(|phase| phase.name == name).flat_map(|phase| &phase.jobs)
        {
            all.tally.merge(&job.tally);
            all.workers.extend(job.workers.iter().filter(|worker| worker.failure.is_some()).cloned());
        }
        native::errors(&all, self.context).iter().map(|error| format!("{name}: {error}")).collect()
    }
}

fn add(a: &number::Repeats, b: &number::Repeats) -> Option<f64> {
    Some(a.median()? + b.median()?)
}

fn rate(rate: Option<f64>) -> String {
    match rate {
        None => NONE.into(),
        Some(rate) if rate >= 999_999.5 => format!("{:.2} M", rate / 1e6),
        Some(rate) => number::iops(rate),
    }
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.into(), number::latency)
}

fn range(repeats: &number::Repeats) -> String {
    repeats.range_percent().map_or_else(|| NONE.into(), number::percent)
}

fn knee_sentence(knee: Option<Knee>, points: &[Point]) -> String {
    let gain = curve::GAIN_PERCENT;
    match knee {
        Some(Knee::At(index)) => format!(
            "Knee at {}: no deeper queue brings {gain} % more IOPS, only latency.",
            points[index].depth
        ),
        Some(Knee::Flat) => format!("Flat: no deeper queue brings {gain} % more IOPS, only latency."),
        Some(Knee::Beyond) => {
            format!("No knee up to {}: IOPS still rise there.", points.last().map_or(0, |point| point.depth))
        }
        None => String::new(),
    }
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
