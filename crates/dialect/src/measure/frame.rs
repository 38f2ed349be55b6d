//! What the cards of files and of stores have in common: the title, tables above their legends, what was not measured, and
//! what failed.

use std::collections::HashSet;

use iodyno_model::{JobRecord, Record, Severity, units};
use iodyno_report::curve::{self, Knee};
use iodyno_report::native;
use iodyno_report::number::{self, NONE};
use iodyno_report::paint::Paint;
use iodyno_report::shape::Context;
use iodyno_report::table::{Table, wrapped};

use super::gather::Point;

/// Columns below which a table leaves out its last column.
pub(super) const NARROW: usize = 70;
/// Where the second column of the target block begins.
const INDENT: usize = 14;

/// A run, and how it is written.
pub(super) struct CardFrame<'a> {
    pub paint: Paint,
    pub context: &'a Context,
    pub record: &'a Record,
    pub details: bool,
    /// The cell that is measured now.
    pub running: Option<&'a str>,
}

impl CardFrame<'_> {
    pub(super) fn title(&self, path: &str) -> String {
        let machine = &self.record.machine;
        let title = format!("iodyno measure {path}");
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

    /// What a line is called: with a mark while it is measured.
    pub(super) fn called(&self, name: String) -> String {
        if self.running == Some(name.as_str()) { format!("▸ {name}") } else { name }
    }

    /// A table below an empty line.
    pub(super) fn below(&self, table: Table) -> String {
        format!("\n{}", table.text(0, self.paint))
    }

    /// A text in so many rows, and below it those of the tables that fit, the last ones first.
    pub(super) fn fitting(&self, first: String, tables: Vec<Table>, rows: usize) -> String {
        let shown = tables.into_iter().filter(|table| !table.is_empty());
        let mut blocks: Vec<String> = shown.map(|table| self.below(table)).collect();
        blocks.insert(0, first);
        while blocks.len() > 1 && blocks.iter().map(|block| block.lines().count()).sum::<usize>() > rows {
            blocks.remove(1);
        }
        blocks.concat()
    }

    /// A table above its legend; nothing where the table has no row.
    pub(super) fn with_legend(&self, table: Table, legend: &str) -> String {
        match table.is_empty() {
            true => String::new(),
            false => {
                let legend = self.paint.aside(&wrapped(legend, self.paint.columns, 0));
                format!("{}{legend}\n", self.below(table))
            }
        }
    }

    pub(super) fn machine(&self) -> String {
        let machine = &self.record.machine;
        let memory = units::binary(machine.memory_bytes);
        format!("{} · {} CPUs · {memory} memory · clock {}", machine.processor, machine.cpus, machine.clock)
    }

    /// What was not measured, and why.
    pub(super) fn skipped(&self, from_the_first: &[String]) -> Vec<String> {
        let mut skipped = from_the_first.to_vec();
        let planned = self.context.started.as_ref().map_or(&[][..], |started| &started.plan.phases);
        if self.record.stopped_by.is_some() {
            let left = planned.len().saturating_sub(self.record.phases.len());
            skipped.push(format!("{left} of {} measurements: the run was stopped", planned.len()));
        }
        let done = |name: &str| {
            let mut phases = self.record.phases.iter().filter(|phase| phase.name == name);
            phases.any(|phase| {
                phase.jobs.iter().any(|job| job.tally.all_operations() > 0 || !job.cases.is_empty())
            })
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

    pub(super) fn errors(&self) -> String {
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

    /// What was measured and by what: a name before each text, those without a text left out.
    pub(super) fn rows(&self, mut rows: Vec<(&str, String)>) -> String {
        rows.retain(|(_, text)| !text.is_empty());
        let row = |(name, text): &(&str, String)| {
            let name = self.paint.aside(&format!("{name:INDENT$}"));
            format!("{name}{}\n", wrapped(text, self.paint.columns - INDENT, INDENT))
        };
        format!("\n{}", rows.iter().map(row).collect::<String>())
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

/// Where a sweep stops growing; `more` is what brings nothing, and `rate` what does not grow.
pub(super) fn knee_sentence(knee: Option<Knee>, points: &[Point], (more, rate): (&str, &str)) -> String {
    let gain = curve::GAIN_PERCENT;
    match knee {
        Some(Knee::At(index)) => {
            format!("Knee at {}: {more} {gain} % more {rate}, only latency.", points[index].depth)
        }
        Some(Knee::Flat) => format!("Flat: {more} {gain} % more {rate}, only latency."),
        Some(Knee::Beyond) => {
            format!(
                "No knee up to {}: {rate} still rise there.",
                points.last().map_or(0, |point| point.depth)
            )
        }
        None => String::new(),
    }
}

pub(super) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => NONE.into(),
        Some(rate) if rate >= 999_999.5 => format!("{:.2} M", rate / 1e6),
        Some(rate) => number::iops(rate),
    }
}

pub(super) fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.into(), number::latency)
}

pub(super) fn range(repeats: &number::Repeats) -> String {
    repeats.range_percent().map_or_else(|| NONE.into(), number::percent)
}
