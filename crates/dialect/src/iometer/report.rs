//! IOMeter's results: a section for each run with a row for everybody, each manager, worker and target.
//!
//! ```text
//!   events ─► Report ─┬─ rows of 80 columns     in -r's file, or on standard output
//!                     └─ a line for each run    on standard output, where there is such a file
//! ```
//! It refuses to round what it does not know to 0: columns of networks are 0, those of nobody are empty.

mod row;

use std::io;

use iodyno_model::{Event, Level, PhaseRecord, Record, WorldFacts};
use iodyno_report::{Output, Reporter};

use super::lower::RunPhase;
use super::settings::{ResultScope, Settings};
use crate::date;
use row::{ResultFigures, ResultRow};

/// What the report must know that the plan does not say.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// What was asked for.
    pub configuration: Settings,
    /// What each phase of the plan is.
    pub parts: Vec<RunPhase>,
    /// When it began, ns since 1970.
    pub began_unix_ns: u64,
    /// How far local time is from Greenwich, s.
    pub east_s: i64,
    /// Where results go; none: standard output.
    pub results: Option<String>,
}

/// Writes the results.
struct Report {
    view: ReportContext,
    world: WorldFacts,
    host: String,
    /// Since the start, ns.
    passed_ns: u64,
    begun: bool,
}

/// The reporter of a run.
pub fn reporter(view: ReportContext) -> Box<dyn Reporter> {
    let (world, host) = (WorldFacts::default(), String::new());
    Box::new(Report { view, world, host, passed_ns: 0, begun: false })
}

impl Report {
    /// To the results' file, or to standard output.
    fn write(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        match &self.view.results {
            Some(path) => output.files.file(path)?.write_all(text.as_bytes()),
            None => output.out.write_all(text.as_bytes()),
        }
    }

    fn stamp(&self) -> String {
        let now = self.view.began_unix_ns + self.passed_ns;
        format!("'Time Stamp\n{}:{:03}\n", date::stamp(now, self.view.east_s), now / 1_000_000 % 1000)
    }

    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index % self.view.parts.len().max(1)).cloned() else {
            return Ok(());
        };
        let rows = row::rows(&self.view.configuration, &part, phase, &|rank| self.manager(rank));
        let mut text = String::new();
        if !self.begun {
            let configuration = &self.view.configuration;
            text += &format!(
                "'Test Type,Test Description\n{},{}\n'Version\n1.1.0\n",
                configuration.test as u8, configuration.description
            );
            self.begun = true;
        }
        text += &self.stamp();
        text += &specifications(&self.view.configuration, &part);
        let least = self.view.configuration.recorded;
        if least > ResultScope::Nothing {
            text += &format!("'Results\n{}\n", row::heading());
            rows.iter().filter(|row| row.kind.recorded() <= least).for_each(|row| text += &row.line());
        }
        self.passed_ns += phase.elapsed_ns;
        self.write(&text, output)?;
        if self.view.results.is_some() {
            output.out.write_all(sentence(&rows, phase).as_bytes())?;
        }
        output.out.flush()
    }

    /// The name of a rank's machine.
    fn manager(&self, rank: u32) -> String {
        let node = self.world.nodes.get(rank as usize).copied().unwrap_or(0) as usize;
        self.world.hosts.get(node).cloned().unwrap_or_else(|| self.host.clone())
    }

    fn ended(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for error in &record.errors {
            writeln!(output.err, "iometer: {error}")?;
        }
        let stamp = self.stamp();
        self.write(&stamp, output)?;
        match self.view.results.clone() {
            Some(path) => output.files.close(&path),
            None => output.out.flush(),
        }
    }
}

/// The specifications of a run, as the file had them.
fn specifications(configuration: &Settings, part: &RunPhase) -> String {
    let mut text = String::from("'Access specifications\n");
    let used = |name: &str| part.disks.iter().any(|disk| disk.specification.eq_ignore_ascii_case(name));
    for known in configuration.specifications.iter().filter(|known| used(&known.name)) {
        text += "'Access specification name,default assignment\n";
        text += &format!("{},{}\n", known.name, known.assignment);
        text += "'size,% of size,% reads,% random,delay,burst,align,reply\n";
        for line in &known.lines {
            text += &format!(
                "{},{},{},{},{},{},{},{}\n",
                line.bytes,
                line.percent,
                line.reads,
                line.random,
                line.delay_ms,
                line.burst,
                line.align,
                line.reply
            );
        }
    }
    text + "'End access specifications\n"
}

/// A run in a line.
fn sentence(rows: &[ResultRow], phase: &PhaseRecord) -> String {
    let Some(all) = rows.first() else { return String::new() };
    let figures: &ResultFigures = &all.figures;
    let place = phase.coordinates.iter().map(|place| format!(", {place}")).collect::<String>();
    format!(
        "{}{place}: {:.2} IOps, {:.2} MBps, {:.4} ms on average, {:.4} ms at most, {} errors\n",
        all.specification,
        figures.rate(figures.operations()),
        figures.rate(figures.bytes()) / 1e6,
        figures.both().mean() / 1e6,
        figures.both().max as f64 / 1e6,
        figures.failed.0 + figures.failed.1,
    )
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.world = started.world.clone();
                self.host.clone_from(&started.machine.host);
                Ok(())
            }
            Event::PhaseEnded(phase) => self.phase(phase, output),
            Event::Message(message) if message.level != Level::Note => {
                writeln!(output.err, "iometer: {message}")
            }
            Event::Ended(record) => self.ended(record, output),
            _ => Ok(()),
        }
    }
}
