//! iozone's output format: a heading, a row for each cell or a block for each pass of streams, tables for spreadsheets.
//!
//! ```text
//!   events ─► Report ─┬─ heading, then figures as passes end      on standard output
//!                     ├─ spreadsheet tables when all is over      there, and in -b's file
//!                     ├─ operations and histograms                in files beside
//!                     └─ errors                                   on standard error
//! ```

mod book;
mod figures;
mod heading;
mod logs;
mod sheets;
mod streams;
#[cfg(test)]
mod tests;
mod trouble;

use std::io;

use iodyno_model::{Event, JobRecord, Level, PhaseRecord, Record, WorkerRecord};
use iodyno_report::{NoFiles, Output, Reporter};

use super::access::{self, Access};
use super::lower::Pass;
use super::settings::Settings;
use super::view::ReportContext;
pub use book::{is_workbook, too_large};
use figures::PassFigures;

/// Writes iozone's report.
struct Report {
    view: ReportContext,
    /// What each finished pass came to, in order.
    done: Vec<(Pass, PassFigures)>,
    /// The row that is being written, by the index of its first phase.
    row: Option<OpenRow>,
    /// Files of operations whose heading was written.
    logs: logs::Logs,
}

/// A row of the table under way.
struct OpenRow {
    part: Pass,
    /// Columns written so far.
    columns: usize,
}

/// The reporter of a run.
pub fn reporter(view: ReportContext) -> Box<dyn Reporter> {
    Box::new(Report { view, done: Vec::new(), row: None, logs: logs::Logs::default() })
}

/// The report of passes that have nothing to move.
///
/// # Errors
/// That a file beside it was asked for.
pub fn of_nothing(view: ReportContext) -> io::Result<String> {
    let (mut out, mut err) = (Vec::new(), io::sink());
    let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
    let parts = view.parts.clone();
    let mut report = Report { view, done: Vec::new(), row: None, logs: logs::Logs::default() };
    report.begin(&mut output)?;
    for (index, part) in parts.iter().enumerate() {
        let workers = vec![WorkerRecord::default(); part.streams.max(1) as usize];
        let jobs = vec![JobRecord { workers, ..JobRecord::default() }];
        report.phase(&PhaseRecord { index, jobs, ..PhaseRecord::default() }, &mut output)?;
    }
    report.ended(&Record::default(), &mut output)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The columns of a table, selected or not.
pub fn columns(settings: &Settings) -> Vec<Access> {
    let extended = |test: u8| settings.tests.contains(&test);
    let shown = |access: &Access| match access.facts().test {
        0 | 1 => true,
        _ if settings.has("A") => false,
        6 | 7 => !settings.is_mapped() && settings.in_flight().is_none(),
        8 => extended(8),
        9 | 10 => settings.has("E") || extended(9) || extended(10),
        11 | 12 => extended(11) || extended(12),
        _ => true,
    };
    access::columns().filter(shown).collect()
}

impl Report {
    fn part(&self, index: usize) -> Option<Pass> {
        // Passes of a repetition follow each other: the same parts again.
        self.view.parts.get(index % self.view.parts.len().max(1)).copied()
    }

    fn begin(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        output.out.write_all(heading::heading(&self.view).as_bytes())?;
        if !self.view.settings.is_throughput() {
            output.out.write_all(heading::columns(&self.view.settings).as_bytes())?;
        }
        output.out.flush()
    }

    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.part(phase.index) else { return Ok(()) };
        let figures = PassFigures::of(phase, &self.view.settings, part);
        if self.view.settings.has("+z") && part.streams > 0 {
            self.logs.histograms(part, phase, output)?;
        }
        if self.view.settings.has("+T") {
            logs::times(part, phase, self.view.east_s, output)?;
        }
        for line in trouble::complaints(&self.view.settings, part, phase) {
            output.out.flush()?;
            writeln!(output.err, "iozone: {line}")?;
        }
        match part.streams {
            // What broke off came to no figure, and its column stays blank.
            0 if trouble::broke(phase) => return output.err.flush(),
            0 => self.value(part, &figures, output)?,
            _ => {
                let first = self.begins_round(part);
                let text = streams::block(&self.view.settings, part, &figures, first, self.done.is_empty());
                output.out.write_all(text.as_bytes())?;
                if let Some(said) = self.skew(part, &figures) {
                    output.out.flush()?;
                    writeln!(output.err, "iozone: {said}")?;
                }
            }
        }
        self.done.push((part, figures));
        output.out.flush()
    }

    /// How far apart the streams were when the first one's end stopped the others; the original says nothing of it.
    fn skew(&self, part: Pass, figures: &PassFigures) -> Option<String> {
        let stopped = self.view.talks && part.streams > 1 && !self.view.settings.has("x");
        let moved = || figures.streams.iter().map(|stream| stream.bytes);
        let (least, most) = (moved().min()?, moved().max()?);
        if !stopped || least >= most - most / 10 {
            return None;
        }
        let idle = moved().filter(|bytes| *bytes == 0).count();
        let none =
            if idle > 0 { format!(", {idle} of {} had moved nothing", part.streams) } else { String::new() };
        let (least, most, test) = (least / 1024, most / 1024, part.access.word());
        Some(format!(
            "{test}: when the first stream was done with {most} kB, the slowest was at {least} kB{none}; -x lets each go \
             on to its end"
        ))
    }

    /// Whether a pass begins with the first test again.
    fn begins_round(&self, part: Pass) -> bool {
        let place = |part: Pass| part.access.facts().streams.map(|(order, ..)| order);
        self.done.last().is_none_or(|(last, _)| place(*last) >= place(part))
    }

    /// One figure of a row: what lies before it is blank, and so is what was not selected.
    fn value(&mut self, part: Pass, figures: &PassFigures, output: &mut Output<'_>) -> io::Result<()> {
        let columns = columns(&self.view.settings);
        let Some(at) = columns.iter().position(|access| *access == part.access) else { return Ok(()) };
        let begins = self.row.as_ref().is_none_or(|row| row.part.cell != part.cell || row.columns > at);
        if begins {
            self.finish_row(output)?;
            // Records of lists are as long as each says.
            let record = if self.view.settings.has_lists() { 0 } else { part.cell.record / 1024 };
            // Of a record that is larger than the file, the file all the same.
            let file = if part.cell.records() == 0 { part.cell.file } else { part.cell.bytes() } / 1024;
            write!(output.out, "{file:16} {record:7}")?;
            self.row = Some(OpenRow { part, columns: 0 });
        }
        let Some(row) = &mut self.row else { return Ok(()) };
        let blank: usize = columns[row.columns..at].iter().map(|access| heading::width(*access)).sum();
        row.columns = at + 1;
        let width = heading::width(part.access);
        write!(output.out, "{:blank$}{:>width$}", "", figures.cell(self.view.settings.unit()))
    }

    fn finish_row(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let Some(row) = self.row.take() else { return Ok(()) };
        let columns = columns(&self.view.settings);
        let blank: usize = columns[row.columns..].iter().map(|access| heading::width(*access)).sum();
        writeln!(output.out, "{:blank$}", "")
    }

    fn ended(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        self.finish_row(output)?;
        for error in &record.errors {
            writeln!(output.err, "iozone: {error}")?;
        }
        let settings = &self.view.settings;
        if !settings.clients.is_empty() {
            writeln!(output.out, "\tTest cleanup:")?;
        }
        if settings.is_throughput() {
            write!(output.out, "\n\n")?;
        }
        let tables = settings.has("R") || settings.has("b");
        if settings.is_throughput() && tables {
            output.out.write_all(sheets::throughput(&self.view, &self.done).as_bytes())?;
        }
        write!(output.out, "\niozone test complete.\n")?;
        if !settings.is_throughput() && tables {
            output.out.write_all(sheets::matrix(&self.view, &self.done).as_bytes())?;
        }
        if let Some(path) = settings.text("b") {
            let bytes = book::workbook(&self.view, &self.done).map_err(io::Error::other)?;
            output.files.file(path)?.write_all(&bytes)?;
            output.files.close(path)?;
        }
        output.out.flush()
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.begin(output),
            // Others may want a journal, too.
            Event::Journal(part) if self.view.settings.has("Q") => match self.part(part.phase) {
                Some(of) => self.logs.operations(of, part, output),
                None => Ok(()),
            },
            Event::PhaseEnded(phase) => self.phase(phase, output),
            Event::Message(message) if message.level != Level::Note => {
                writeln!(output.err, "iozone: {message}")
            }
            Event::Ended(record) => self.ended(record, output),
            _ => Ok(()),
        }
    }
}
