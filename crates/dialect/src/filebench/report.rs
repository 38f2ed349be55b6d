//! filebench's output format: the lines of the start, the breakdown by flowop, the summary.
//!
//! A stamp is the time since the start in seconds; it is as old as the event that told of it. Nothing that was measured is
//! left out, however a run ended.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Diagnostic, ErrorCount, Event, Line, PhaseRecord, Record, Said, Tally, histogram};
use iodyno_report::{Files, Output, Reporter};

use super::flowops::FlowopClass;
use super::view::{BreakdownRow, ObservedValue, ReportContext, RunReport};

/// Buckets of a row's histogram, a power of two of ns each.
const BUCKETS: usize = 64;

/// Writes the report.
#[derive(Clone, Debug, Default)]
pub struct TextReporter {
    view: ReportContext,
    began_unix_ns: u64,
    /// The latest time that anything told of, s after the start.
    now_s: f64,
    running: bool,
    /// What was counted when the last interim report was made.
    before: Option<(Tally, f64)>,
    /// What was told as it happened.
    spoken: Vec<String>,
    /// How many reports of this run were made at times that the script named.
    told: usize,
}

/// What comes so much earlier or later than any report is due was asked for, s.
const ASKED_S: f64 = 0.3;
/// How late an interim report may come, s.
const LATE_S: f64 = 0.05;

impl TextReporter {
    /// The reporter of a script's runs.
    pub fn new(view: ReportContext) -> Self {
        TextReporter { view, ..TextReporter::default() }
    }

    fn line(&self, text: &str) -> String {
        format!("{:.3}: {text}\n", self.now_s)
    }

    /// What comes before a run.
    fn head(&mut self, name: &str) -> String {
        (self.running, self.told, self.before) = (false, 0, None);
        let Some(part) = self.view.part(name) else { return String::new() };
        let mut text: String = part.lines.iter().map(|line| self.line(line)).collect();
        for (name, instances) in &part.processes {
            text += &self.line(&format!("Starting {instances} {name} instances"));
        }
        text
    }

    /// The line at the start of the measured time, once it is known when that was.
    fn running(&mut self, phase: &PhaseRecord) -> String {
        let began = phase.jobs.iter().map(|job| job.began_unix_ns).find(|began| *began > 0);
        let began_s = began.map_or(0.0, |began| self.since(began));
        let text = self.began(began_s);
        self.now_s = self.now_s.max(began_s + phase.elapsed_ns as f64 / 1e9);
        text
    }

    /// Seconds of the run until then.
    fn since(&self, unix_ns: u64) -> f64 {
        unix_ns.saturating_sub(self.began_unix_ns) as f64 / 1e9
    }

    fn began(&mut self, began_s: f64) -> String {
        self.now_s = self.now_s.max(began_s);
        let text = if self.running { String::new() } else { self.line("Running...") };
        self.running = true;
        text
    }

    /// The text that a flowop prints when it runs, and how often it ran where that is more than once.
    fn message(&mut self, said: &Said) -> String {
        let text = self.began(self.since(said.began_unix_ns));
        self.now_s = self.now_s.max(self.since(said.at_unix_ns));
        let who = if said.rank > 0 { format!("client{}: ", said.rank) } else { String::new() };
        let times = if said.times > 1 { format!(" ({} times)", said.times) } else { String::new() };
        text + &self.line(&format!("{who}{}: {}{times}", said.label, said.text))
    }

    /// Whether a report is due now: at the times that the script names, or because somebody asked for it.
    fn is_due(&mut self, part: &RunReport, seconds: f64) -> bool {
        let every = self.view.every();
        let off = if every > 0.0 { (seconds + part.ramp_s) % every } else { 0.0 };
        if off > ASKED_S && every - off > ASKED_S {
            return true;
        }
        let reached = match part.period_s.abs() {
            _ if part.time_s > 0.0 && seconds + LATE_S > part.time_s => return false,
            period if period > 0.0 => ((seconds + part.ramp_s + LATE_S) / period) as usize,
            _ if part.snaps.is_empty() => return every <= 0.0,
            _ => part.snaps.iter().filter(|snap| **snap <= seconds + LATE_S).count(),
        };
        // The last one is the run's own end.
        let reached = if part.snaps.is_empty() { reached } else { reached.min(part.snaps.len() - 1) };
        let due = reached > self.told;
        self.told = self.told.max(reached);
        due
    }

    fn interim(&mut self, phase: &PhaseRecord, files: &mut dyn Files) -> io::Result<String> {
        let Some(part) = self.view.part(&phase.name).cloned() else { return Ok(String::new()) };
        let (tally, seconds, told) = (together(phase), measured(&part, phase), self.told);
        if seconds <= 0.0 || !self.is_due(&part, seconds) {
            return Ok(String::new());
        }
        let mut text = self.running(phase);
        let (since, from) = self.before.take().unwrap_or_default();
        let tables = self.tables(&part, &tally, &since, seconds - from);
        if !part.snaps.is_empty() && self.told > told {
            text += &self.missed(&part, told..self.told - 1, &tables, phase, files)?;
            self.dump(&part, self.told - 1, &tables, phase, files)?;
        }
        self.before = (part.period_s < 0.0).then_some((tally, seconds));
        Ok(text + &tables)
    }

    /// Reports that were due while nothing was heard of the run, as on a machine that has no time for us: each is made
    /// when the next one is, of what is known then, and its file is written.
    fn missed(
        &self,
        part: &RunReport,
        snaps: std::ops::Range<usize>,
        tables: &str,
        phase: &PhaseRecord,
        files: &mut dyn Files,
    ) -> io::Result<String> {
        let mut text = String::new();
        for snap in snaps {
            let (due, now) = (part.snaps[snap], measured(part, phase));
            text += &self.line(&format!("WARNING! the report after {due:.3} s is made after {now:.3} s"));
            text += tables;
            self.dump(part, snap, tables, phase, files)?;
        }
        Ok(text)
    }

    /// Writes a report into the files that the script names for it.
    fn dump(
        &self,
        part: &RunReport,
        snap: usize,
        tables: &str,
        phase: &PhaseRecord,
        files: &mut dyn Files,
    ) -> io::Result<()> {
        for dump in part.dumps.iter().filter(|dump| dump.snap == snap) {
            let text = if dump.xml { xml(part, phase) } else { tables.to_string() };
            if let Some((folder, _)) = dump.path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
                files.folder(folder)?;
            }
            files.file(&dump.path)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn ended(&mut self, phase: &PhaseRecord, files: &mut dyn Files) -> io::Result<String> {
        let Some(part) = self.view.part(&phase.name).cloned() else { return Ok(String::new()) };
        let mut text = self.running(phase);
        let seconds = measured(&part, phase);
        let all = together(phase);
        for row in &part.rows {
            text += &row.observation(&all).map_or(String::new(), |line| self.line(&line));
        }
        let (since, from) = self.before.take().unwrap_or_default();
        let tables = self.tables(&part, &all, &since, seconds - from);
        // The last of them is this one.
        let reached = part.snaps.iter().filter(|snap| **snap <= seconds).count();
        let missed = self.told..reached.min(part.snaps.len().saturating_sub(1));
        text += &self.missed(&part, missed, &tables, phase, files)?;
        text += &self.line(&format!("Run took {seconds:.0} seconds..."));
        self.dump(&part, part.snaps.len().saturating_sub(1), &tables, phase, files)?;
        text += &tables;
        let waits: u64 = phase.jobs.iter().map(|job| job.tally.waits).sum();
        let failed: u64 = phase.jobs.iter().map(|job| job.tally.failed()).sum();
        if failed > 0 {
            let failures = format!("WARNING! {failed} operations failed{}", why(&all));
            text += &self.line(&failures);
        }
        if waits > 0 && !part.blocks {
            let what = "times a thread waited for a file: none was there that nobody used";
            text += &self.line(&format!("WARNING! {waits} {what}"));
        }
        Ok(text + &self.line("Shutting down processes"))
    }

    /// Breakdown and summary of what was counted since then.
    fn tables(&self, part: &RunReport, tally: &Tally, since: &Tally, seconds: f64) -> String {
        let mut text = self.line("Per-Operation Breakdown");
        let mut all = RowFigures::default();
        let (mut reads, mut writes) = (0, 0);
        for row in part.rows.iter().rev() {
            let figures = RowFigures::of(row, tally, since);
            text += &figures.row(&row.label, seconds, self.view.latencies);
            match row.class {
                FlowopClass::Control => continue,
                FlowopClass::Read => reads += figures.operations,
                FlowopClass::Write => writes += figures.operations,
                FlowopClass::Io => {}
            }
            all.add(&figures);
        }
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let summary = format!(
            "IO Summary: {:5} ops {:.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:.3}ms/op",
            all.operations,
            rate(all.operations),
            rate(reads),
            rate(writes),
            rate(all.bytes) / f64::from(1 << 20),
            all.mean_ms()
        );
        text + &self.line(&summary)
    }
}

/// A report as XML.
fn xml(part: &RunReport, phase: &PhaseRecord) -> String {
    let (tally, seconds) = (together(phase), measured(part, phase));
    let mut text = format!("<?xml version=\"1.0\"?>\n<statistics seconds=\"{seconds:.3}\">\n");
    for row in part.rows.iter().rev() {
        let figures = RowFigures::of(row, &tally, &Tally::default());
        let name = row.label.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let least = if figures.operations == 0 { 0 } else { figures.least_ns };
        let _ = writeln!(
            text,
            "  <flowop name=\"{name}\" operations=\"{}\" bytes=\"{}\" mean_ms=\"{:.3}\" least_ms=\"{:.3}\" \
             most_ms=\"{:.3}\"/>",
            figures.operations,
            figures.bytes,
            figures.mean_ms(),
            least as f64 / 1e6,
            figures.most_ns as f64 / 1e6
        );
    }
    text + "</statistics>\n"
}

impl BreakdownRow {
    /// The line of a flowop that only observes a value.
    fn observation(&self, tally: &Tally) -> Option<String> {
        let (label, value) = (&self.label, self.value.as_ref()?);
        let sums = |label: &str| {
            let lines = tally.lines.iter().filter(|line| line.label == label);
            lines.fold((0, 0), |(count, sum), line| (count + line.operations, sum + line.bytes))
        };
        let (count, sum) = sums(label);
        match (count, value) {
            (0, _) => None,
            (_, ObservedValue::At(value)) => Some(format!("{label}: {value} ({count} times)")),
            (_, ObservedValue::Drawn(around)) => {
                let mean = sum as f64 / count as f64;
                let squares = sums(&squares_of(label)).1 as f64 / SQUARES_PER_UNIT / count as f64;
                let off = (mean - around) / around;
                let deviation = around * (squares - off * off).max(0.0).sqrt();
                Some(format!("{label}: {count} values, mean {mean:.2}, standard deviation {deviation:.2}"))
            }
        }
    }
}

/// The label under which squares of deviations are counted.
pub fn squares_of(label: &str) -> String {
    format!("{label}.squares")
}

/// Squares of deviations are counted in so many parts of the square of the expected mean.
pub const SQUARES_PER_UNIT: f64 = 1e6;

/// How long was counted, s.
fn measured(part: &RunReport, phase: &PhaseRecord) -> f64 {
    phase.elapsed_ns as f64 / 1e9 - part.ramp_s
}

/// What went wrong, each once, in the words of the language.
fn wrong(record: &Record, spoken: &[String]) -> String {
    let mut told: Vec<String> = Vec::new();
    for error in record.errors.iter().filter(|error| !spoken.contains(&error.message)) {
        let text = format!("{}\n", in_its_words(error));
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told.concat()
}

/// What failed, and for which reasons: the most frequent first.
fn why(tally: &Tally) -> String {
    let mut errors = tally.errors.clone();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    let tell = |error: &ErrorCount| {
        format!("{} {}: {}", error.count, error.verb.name(), crate::strerror::of(error.errno))
    };
    let told: Vec<String> = errors.iter().map(tell).collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) }
}

/// A message whose hint names words of the script.
fn in_its_words(message: &Diagnostic) -> Diagnostic {
    let mut message = message.clone();
    if message.hint.as_ref().is_some_and(|hint| hint.contains("leave remove out")) {
        message.hint =
            Some("name another directory, or say `reuse`: what is there is used, and stays".into());
    }
    message
}

/// All jobs' counts as one.
fn together(phase: &PhaseRecord) -> Tally {
    let mut all = Tally::default();
    phase.jobs.iter().for_each(|job| all.merge(&job.tally));
    all
}

/// What a row tells.
#[derive(Clone, Debug, Default)]
struct RowFigures {
    operations: u64,
    bytes: u64,
    sum_ns: f64,
    least_ns: u64,
    most_ns: u64,
    buckets: Vec<u64>,
}

impl RowFigures {
    fn of(row: &BreakdownRow, tally: &Tally, since: &Tally) -> RowFigures {
        let mut figures =
            RowFigures { least_ns: u64::MAX, buckets: vec![0; BUCKETS], ..RowFigures::default() };
        let counts = |line: &Line| (line.operations, line.bytes, line.latency.sum as f64);
        for line in tally.lines.iter().filter(|line| line.label == row.label) {
            let old = since.lines.iter().find(|old| old.label == line.label && old.verb == line.verb);
            let (operations, bytes, sum) = counts(line);
            let (fewer, less, before) = old.map_or((0, 0, 0.0), counts);
            figures.operations += operations - fewer;
            // A listing's bytes are names: the original counts them as moved, and so do we.
            figures.bytes += bytes - less;
            figures.sum_ns += sum - before;
            if line.latency.count() > 0 {
                figures.least_ns = figures.least_ns.min(line.latency.min);
                figures.most_ns = figures.most_ns.max(line.latency.max);
            }
            figures.count(line, 1);
            old.into_iter().for_each(|old| figures.count(old, -1));
        }
        if row.value.is_some() {
            // What was drawn is no traffic.
            figures.bytes = 0;
        }
        for inner in tally.lines.iter().filter(|line| row.inner.contains(&line.label)) {
            figures.bytes += inner.bytes;
        }
        figures
    }

    /// A line's latencies into powers of two.
    fn count(&mut self, line: &Line, sign: i64) {
        for (bucket, count) in line.latency.buckets() {
            let ns = histogram::lower_edge(*bucket as usize);
            let power = (64 - ns.leading_zeros() as usize).min(BUCKETS - 1);
            self.buckets[power] = self.buckets[power].saturating_add_signed(sign * *count as i64);
        }
    }

    fn add(&mut self, other: &RowFigures) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.sum_ns += other.sum_ns;
    }

    fn mean_ms(&self) -> f64 {
        if self.operations == 0 { 0.0 } else { self.sum_ns / self.operations as f64 / 1e6 }
    }

    fn row(&self, label: &str, seconds: f64, latencies: bool) -> String {
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let least = if self.operations == 0 { 0 } else { self.least_ns.min(self.most_ns) };
        let mut text = format!(
            "{label:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op [{:.3}ms - {:.3}ms]",
            self.operations,
            rate(self.operations),
            rate(self.bytes) / f64::from(1 << 20),
            self.mean_ms(),
            least as f64 / 1e6,
            self.most_ns as f64 / 1e6
        );
        if latencies {
            text += "\t[ ";
            self.buckets.iter().for_each(|count| {
                let _ = write!(text, "{count} ");
            });
            text.push(']');
        }
        text + "\n"
    }
}

impl Reporter for TextReporter {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let text = match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                let head = self.head("run 1");
                format!("Filebench Version 1.5-alpha3\n{head}")
            }
            Event::PhaseStarted { index, name, .. } if *index > 0 => self.head(name),
            Event::Said(said) => self.message(said),
            Event::Interim(phase) => self.interim(phase, output.files)?,
            Event::PhaseEnded(phase) => self.ended(phase, output.files)?,
            Event::Ended(record) => {
                output.err.write_all(wrong(record, &self.spoken).as_bytes())?;
                let last = std::mem::take(&mut self.view.last);
                last.iter().map(|said| self.line(said)).collect()
            }
            // What fails is told beside the report, as it happens.
            Event::Message(message) => {
                self.spoken.push(message.message.clone());
                return writeln!(output.err, "{}", in_its_words(message));
            }
            _ => return Ok(()),
        };
        output.out.write_all(text.as_bytes())?;
        output.out.flush()
    }
}
