//! filebench's handwriting: the lines of the start, the breakdown by flowop, the summary.
//!
//! A stamp is the time since the start in seconds; it is as old as the event that told of it. Nothing that was measured is
//! left out, however a run ended.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, Line, PhaseRecord, Tally, histogram};
use iodyno_report::{Output, Reporter};

use super::flowops::Class;
use super::view::{Part, Row, View};

/// Buckets of a row's histogram, a power of two of ns each.
const BUCKETS: usize = 64;

/// Writes the report.
#[derive(Clone, Debug, Default)]
pub struct Text {
    view: View,
    began_unix_ns: u64,
    /// The latest time that anything told of, s after the start.
    now_s: f64,
    running: bool,
    /// What was counted when the last interim report was made.
    before: Option<(Tally, f64)>,
}

impl Text {
    /// The reporter of a script's runs.
    pub fn new(view: View) -> Self {
        Text { view, ..Text::default() }
    }

    fn line(&self, text: &str) -> String {
        format!("{:.3}: {text}\n", self.now_s)
    }

    /// What comes before a run.
    fn head(&mut self, index: usize) -> String {
        self.running = false;
        let Some(part) = self.view.parts.get(index) else { return String::new() };
        let mut text: String = part.said.iter().map(|said| self.line(said)).collect();
        for (name, instances) in &part.processes {
            text += &self.line(&format!("Starting {instances} {name} instances"));
        }
        text
    }

    /// The line at the start of the measured time, once it is known when that was.
    fn running(&mut self, phase: &PhaseRecord) -> String {
        let began = phase.jobs.iter().map(|job| job.began_unix_ns).find(|began| *began > 0);
        let began_s = began.map_or(0.0, |began| began.saturating_sub(self.began_unix_ns) as f64 / 1e9);
        self.now_s = self.now_s.max(began_s);
        let text = if self.running { String::new() } else { self.line("Running...") };
        self.running = true;
        self.now_s = self.now_s.max(began_s + phase.elapsed_ns as f64 / 1e9);
        text
    }

    fn interim(&mut self, phase: &PhaseRecord) -> String {
        let Some(part) = self.view.parts.get(phase.index).cloned() else { return String::new() };
        let mut text = self.running(phase);
        let (tally, seconds) = (together(phase), phase.elapsed_ns as f64 / 1e9);
        let (since, from) = self.before.take().unwrap_or_default();
        text += &self.tables(&part, &tally, &since, seconds - from);
        self.before = (part.period_s < 0.0).then_some((tally, seconds));
        text
    }

    fn ended(&mut self, phase: &PhaseRecord) -> String {
        let Some(part) = self.view.parts.get(phase.index).cloned() else { return String::new() };
        let mut text = self.running(phase);
        let seconds = phase.elapsed_ns as f64 / 1e9;
        text += &self.line(&format!("Run took {seconds:.0} seconds..."));
        let (since, from) = self.before.take().unwrap_or_default();
        text += &self.tables(&part, &together(phase), &since, seconds - from);
        let waits: u64 = phase.jobs.iter().map(|job| job.tally.waits).sum();
        let failed: u64 = phase.jobs.iter().map(|job| job.tally.failed()).sum();
        if failed > 0 {
            text += &self.line(&format!("WARNING! {failed} operations failed"));
        }
        if waits > 0 && !part.blocks {
            let what = "times a thread waited for a file: none was there that nobody used";
            text += &self.line(&format!("WARNING! {waits} {what}"));
        }
        text + &self.line("Shutting down processes")
    }

    /// Breakdown and summary of what was counted since then.
    fn tables(&self, part: &Part, tally: &Tally, since: &Tally, seconds: f64) -> String {
        let mut text = self.line("Per-Operation Breakdown");
        let mut all = Figures::default();
        let (mut reads, mut writes) = (0, 0);
        for row in part.rows.iter().rev() {
            let figures = Figures::of(row, tally, since);
            text += &figures.row(&row.label, seconds, self.view.latencies);
            match row.class {
                Class::Control => continue,
                Class::Read => reads += figures.operations,
                Class::Write => writes += figures.operations,
                Class::Io => {}
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

/// All jobs' counts as one.
fn together(phase: &PhaseRecord) -> Tally {
    let mut all = Tally::default();
    phase.jobs.iter().for_each(|job| all.merge(&job.tally));
    all
}

/// What a row tells.
#[derive(Clone, Debug, Default)]
struct Figures {
    operations: u64,
    bytes: u64,
    sum_ns: f64,
    least_ns: u64,
    most_ns: u64,
    buckets: Vec<u64>,
}

impl Figures {
    fn of(row: &Row, tally: &Tally, since: &Tally) -> Figures {
        let mut figures = Figures { least_ns: u64::MAX, buckets: vec![0; BUCKETS], ..Figures::default() };
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

    fn add(&mut self, other: &Figures) {
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

impl Reporter for Text {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let text = match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                let head = self.head(0);
                format!("Filebench Version 1.5-alpha3\n{head}")
            }
            Event::PhaseStarted { index, .. } if *index > 0 => self.head(*index),
            Event::Interim(phase) => self.interim(phase),
            Event::PhaseEnded(phase) => self.ended(phase),
            Event::Ended(_) => {
                let last = std::mem::take(&mut self.view.last);
                last.iter().map(|said| self.line(said)).collect()
            }
            // What fails is told beside the report, as it happens.
            Event::Message(message) => return writeln!(output.err, "{message}"),
            _ => return Ok(()),
        };
        output.out.write_all(text.as_bytes())?;
        output.out.flush()
    }
}
