//! mdtest's output format: the head, a line for each number of tasks, the tables, and the end.
//!
//! Two layouts: version 4's (`SUMMARY rate (in ops/sec): (of N iterations)`, names without a colon, deviation of a sample)
//! and version 3's (`SUMMARY rate: (of N iterations)`, a colon behind each name). Errors are printed on standard error.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Diagnostic, Event, JournalPart, PhaseRecord, Record, RunStart, TargetFacts};
use iodyno_report::{Output, Reporter};

use crate::date::american;
use crate::ior::report::text::Space;
use crate::quantity::scientific;
use crate::spread::{Deviation, Spread};
use crate::strerror;

use super::dumps;
use super::results::{PhaseResult, PhaseResults, per_second};
use super::test::node_map;
use super::view::{PhaseRole, ReportContext, ResultRow};

/// The version that reports name: that of the layout, with our name behind it.
pub const VERSION: &str = "4.1.0+iodyno";

/// Writes the report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    view: ReportContext,
    results: PhaseResults,
    /// The file system of the first directory.
    facts: TargetFacts,
    began_unix_ns: u64,
    elapsed_ns: u64,
    /// Numbers of tasks whose lines were written.
    printed_sets: usize,
    failed: Vec<String>,
    wrong: bool,
}

/// What a table tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFigure {
    /// Items per second.
    Rate,
    /// Milliseconds per item.
    Time,
}

impl Report {
    /// The reporter of a test; `facts` are those of its first directory.
    pub fn new(view: ReportContext, facts: TargetFacts) -> Self {
        Report { view, facts, ..Report::default() }
    }

    /// Everything before the first phase.
    fn head(&self, started: &RunStart) -> String {
        let test = &self.view.test;
        let version = if self.view.layout == 3 { "3.3.0+iodyno" } else { VERSION };
        let mut text = format!("-- started at {} --\n\n", american(started.at_unix_ns));
        let _ = writeln!(
            text,
            "mdtest-{version} was launched with {} total task(s) on {} node(s)",
            test.tasks,
            test.world.machines()
        );
        let mut words = self.view.command.iter();
        let _ = write!(text, "Command line used: {}", words.next().map_or("mdtest", String::as_str));
        words.for_each(|word| text += &format!(" '{word}'"));
        text.push('\n');
        test.warnings.iter().for_each(|warning| text += &format!("WARNING: {warning}\n"));
        if self.view.layout == 3 {
            text += &format!("Path: {}\n{}\n", self.facts.path, self.file_system());
            text += &format!("Nodemap: {}\n", node_map(&test.world, test.tasks, test.threads));
        } else {
            text += &format!("Nodemap: {}\n", node_map(&test.world, test.tasks, test.threads));
            text += &format!("Path                : {}\n{}\n", self.facts.path, self.file_system());
        }
        if test.shift > 0 {
            text += &format!("Shifting ranks by {} for each phase.\n", test.shift);
        }
        if let Some(seed) = test.seed {
            text += &format!("random seed: {seed}\n");
        }
        text
    }

    fn file_system(&self) -> String {
        let space = Space::from(&self.facts).line();
        if self.view.layout == 3 {
            format!("FS: {space}\n")
        } else {
            format!("FS                  : {space}")
        }
    }

    /// The line before the phases of a number of tasks.
    fn tasks_line(&self, set: usize) -> String {
        let test = &self.view.test;
        let Some(tasks) = test.counts.get(set) else { return String::new() };
        let items = test.all_items(*tasks);
        match (test.does.files, test.does.directories) {
            (true, true) => format!("{tasks} tasks, {items} files/directories\n"),
            (true, false) if test.shared => format!("{tasks} tasks, 1 file\n"),
            (true, false) => format!("{tasks} tasks, {items} files\n"),
            _ => format!("{tasks} tasks, {items} directories\n"),
        }
    }

    /// What is printed of a phase when it ends.
    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index).copied() else { return Ok(()) };
        self.results.add(part, phase, &self.view.test);
        self.note_failures(phase);
        let PhaseRole::Measured(row) = part.role else { return Ok(()) };
        let cell = self.results.cell(part.set, part.iteration, row).cloned().unwrap_or_default();
        if row == ResultRow::FileCreation {
            self.stonewall(&cell, output)?;
        }
        if self.view.test.verbose() > 0 {
            let (seconds, rate) = (cell.seconds, cell.rate());
            writeln!(output.out, "V-1:   {:<18}: {seconds:14.3} sec, {rate:14.3} ops/sec", row.name())?;
        }
        Ok(())
    }

    /// The line of a stonewall, and the status file.
    fn stonewall(&self, cell: &PhaseResult, output: &mut Output<'_>) -> io::Result<()> {
        let most = cell.tasks.iter().map(|(items, _)| *items).max().unwrap_or(0);
        if let Some(worn) = cell.worn.filter(|worn| {
            worn.operations < worn.operations_most * cell.tasks.len() as u64 || most < self.view.test.items
        }) {
            let mean = worn.operations as f64 / cell.tasks.len().max(1) as f64;
            let (least, most) = (worn.operations_least, worn.operations_most);
            writeln!(output.out, "Continue stonewall hit min: {least} max: {most} avg: {mean:.1} \n")?;
        }
        match self.view.test.settings.text("x") {
            Some(path) if self.view.test.does.create => {
                write!(output.files.file(path)?, "{most}")?;
                output.files.close(path)
            }
            _ => Ok(()),
        }
    }

    fn note_failures(&mut self, phase: &PhaseRecord) {
        for job in &phase.jobs {
            for error in &job.tally.errors {
                let what = strerror::of(error.errno);
                let line = format!(
                    "{}, iteration {}: {} operations failed: {what}; the first on item {}",
                    phase.name,
                    phase.repetition + 1,
                    error.count,
                    error.first_offset
                );
                self.failed.push(line);
            }
            self.wrong |= job.tally.errors.iter().any(|error| error.errno < 0);
            for worker in &job.workers {
                let complaints =
                    worker.complaints.iter().map(|text| format!("task {}: {text}", worker.index));
                self.failed.extend(complaints);
            }
        }
    }

    /// The tables of all numbers of tasks from one on.
    fn tables(&self, set: usize) -> String {
        let test = &self.view.test;
        let figures: &[TableFigure] = match (test.flag("P"), test.flag("Z")) {
            (true, _) => &[TableFigure::Rate, TableFigure::Time],
            (false, true) => &[TableFigure::Time],
            _ => &[TableFigure::Rate],
        };
        let mut text = String::new();
        for figure in figures {
            if test.flag("print-all-procs") {
                text += &self.each_task(set, *figure);
            }
            text += &self.table(set, *figure);
        }
        if self.view.percentiles {
            text += &self.percentiles(set);
        }
        text
    }

    /// Rows of the table, without those of the tree.
    fn rows(&self) -> Vec<ResultRow> {
        let does = self.view.test.does;
        let own = ResultRow::ALL[..ResultRow::OWN]
            .iter()
            .filter(|row| !row.is_of_the_tree() && **row != ResultRow::DirectoryRead);
        let wanted = |row: &&ResultRow| if row.is_of_files() { does.files } else { does.directories };
        let older = |row: &&ResultRow| {
            self.view.layout != 3 || **row != ResultRow::DirectoryRename || self.results.has(**row)
        };
        own.filter(wanted).filter(older).copied().collect()
    }

    fn figure(&self, figure: TableFigure, cell: &PhaseResult) -> f64 {
        match figure {
            TableFigure::Rate => cell.rate(),
            TableFigure::Time if self.view.bugs => cell.seconds,
            TableFigure::Time => cell.ms_per_item(),
        }
    }

    fn table(&self, set: usize, figure: TableFigure) -> String {
        let iterations = self.view.test.iterations;
        let each = self.view.test.flag("showRankStatistics");
        let name = match (figure, self.view.layout) {
            (TableFigure::Rate, 3) => "rate:",
            (TableFigure::Time, 3) => "time:",
            (TableFigure::Rate, _) => "rate (in ops/sec):",
            (TableFigure::Time, _) => "time (in ms/op):",
        };
        let mut text = format!("\nSUMMARY {name} (of {iterations} iterations)\n");
        text += heading(each, self.view.layout);
        for row in self.rows() {
            text += &self.line(set, row, figure, each);
        }
        for row in [ResultRow::TreeCreation, ResultRow::TreeRemoval] {
            text += &self.line(set, row, figure, each);
        }
        let ours = ResultRow::ALL[ResultRow::OWN..].iter().filter(|row| self.results.has(**row));
        ours.for_each(|row| text += &self.line(set, *row, figure, each));
        text
    }

    fn line(&self, set: usize, row: ResultRow, figure: TableFigure, each: bool) -> String {
        let cells = self.results.row(set, row);
        let figures: Vec<f64> = cells.iter().map(|cell| self.figure(figure, cell)).collect();
        let Spread { max, min, mean, deviation } = Spread::of(&figures, Deviation::Sample);
        let tail = format!("{min:14.3} {mean:14.3} {deviation:14.3}");
        if each {
            let tasks: Vec<f64> = cells.iter().flat_map(|cell| self.of_tasks(figure, cell)).collect();
            let own = Spread::of(&tasks, Deviation::Sample);
            let (name, gap) = if row.is_of_the_tree() { (22, 5) } else { (18, 9) };
            return format!(
                "   {:<name$} {:14.3} {:14.3} {:14.3}{:gap$}{max:14.3} {tail}\n",
                row.name(),
                own.max,
                own.min,
                own.mean,
                ""
            );
        }
        match self.view.layout {
            3 => format!("   {:<26}: {max:14.3} {tail}\n", row.name()),
            _ => format!("   {:<18}     {max:14.3} {tail}\n", row.name()),
        }
    }

    pub fn of_tasks(&self, figure: TableFigure, cell: &PhaseResult) -> Vec<f64> {
        let of = |(items, seconds): &(u64, f64)| match figure {
            TableFigure::Rate => per_second(*items, *seconds),
            TableFigure::Time if self.view.bugs => *seconds,
            TableFigure::Time if *items == 0 => 0.0,
            TableFigure::Time => seconds * 1e3 / *items as f64,
        };
        cell.tasks.iter().map(of).collect()
    }

    fn each_task(&self, set: usize, figure: TableFigure) -> String {
        let name = if figure == TableFigure::Rate { "rate" } else { "time" };
        let mut text = format!("\nPer process result ({name}):\n");
        let tasks = self.view.test.counts.get(set).copied().unwrap_or(1);
        let does = self.view.test.does;
        let shown = |row: &&ResultRow| {
            row.is_of_the_tree() || if row.is_of_files() { does.files } else { does.directories }
        };
        for iteration in 0..self.view.test.iterations as usize {
            let _ = writeln!(text, "iteration: {iteration}");
            for row in ResultRow::ALL[..ResultRow::OWN].iter().filter(shown) {
                let cell = self.results.cell(set, iteration, *row).filter(|_| !row.is_of_the_tree());
                let figures = cell.map(|cell| self.of_tasks(figure, cell)).unwrap_or_default();
                let one = |task| scientific(figures.get(task).copied().unwrap_or(0.0), 6);
                let all: Vec<String> = (0..tasks as usize).map(one).collect();
                let _ = writeln!(text, "Test {} {}", row.name(), all.join(","));
            }
        }
        text
    }

    /// Latencies of single operations, which mdtest does not print.
    fn percentiles(&self, set: usize) -> String {
        let iterations = self.view.test.iterations;
        let mut text = format!("\nSUMMARY latency (in us): (of {iterations} iterations)\n");
        text += "   Operation                     50%            90%            99%          99.9%            Max\n";
        text += "   ---------                     ---            ---            ---          -----            ---\n";
        for row in ResultRow::ALL {
            let cells = self.results.row(set, *row);
            let Some((first, others)) = cells.split_first() else { continue };
            let mut latency = first.latency.clone();
            others.iter().for_each(|cell| latency.merge(&cell.latency));
            if latency.is_empty() {
                continue;
            }
            let us = |percent: f64| latency.percentile(percent) as f64 / 1e3;
            let max = latency.max as f64 / 1e3;
            let _ = writeln!(
                text,
                "   {:<18}     {:14.3} {:14.3} {:14.3} {:14.3} {max:14.3}",
                row.name(),
                us(50.0),
                us(90.0),
                us(99.0),
                us(99.9)
            );
        }
        text
    }

    /// Lines of the numbers of tasks up to one, with the tables between them.
    fn come_to(&mut self, set: usize, output: &mut Output<'_>) -> io::Result<()> {
        while self.printed_sets <= set {
            if self.printed_sets > 0 {
                write!(output.out, "{}", self.tables(self.printed_sets - 1))?;
            }
            write!(output.out, "{}", self.tasks_line(self.printed_sets))?;
            self.printed_sets += 1;
        }
        Ok(())
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if self.began_unix_ns == 0 {
            return refuse(record, output);
        }
        if self.printed_sets == 0 {
            // Nothing was run, and the reason is printed already.
            return Ok(());
        }
        write!(output.out, "{}", self.tables(self.printed_sets - 1))?;
        let test = &self.view.test;
        if let Some(path) = test.settings.text("saveRankPerformanceDetails") {
            let csv = dumps::ranks(&self.view, &self.results, self);
            write!(output.files.file(path)?, "{csv}")?;
        }
        if self.wrong {
            writeln!(
                output.out,
                "\nERROR: verifying the data read! Take the performance values with care!\n"
            )?;
        }
        let now = self.began_unix_ns + self.elapsed_ns;
        writeln!(output.out, "-- finished at {} --\n", american(now))?;
        output.out.flush()?;
        self.failed.iter().try_for_each(|failed| writeln!(output.err, "ERROR: {failed}"))
    }

    /// A part of a journal: rows of the files of single operations.
    fn journal(&self, part: &JournalPart, output: &mut Output<'_>) -> io::Result<()> {
        let Some(prefix) = self.view.test.settings.text("savePerOpDataCSV") else { return Ok(()) };
        let Some(PhaseRole::Measured(row)) = self.view.parts.get(part.phase).map(|part| part.role) else {
            return Ok(());
        };
        let path = format!("{prefix}-{}-{:05}.csv", row.name(), part.worker);
        let file = output.files.file(&path)?;
        write!(file, "{}", dumps::operations(part))
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                if let Some(prefix) = self.view.test.settings.text("savePerOpDataCSV") {
                    dumps::heads(prefix, &self.view, output)?;
                }
                write!(output.out, "{}", self.head(started))?;
                output.out.flush()
            }
            Event::PhaseStarted { index, .. } => match self.view.parts.get(*index).map(|part| part.set) {
                Some(set) => self.come_to(set, output),
                None => Ok(()),
            },
            Event::Journal(part) => self.journal(part, output),
            Event::PhaseEnded(phase) => {
                self.elapsed_ns += phase.elapsed_ns;
                self.phase(phase, output)
            }
            // At once: of a lost rank there may be no time to tell later. Nobody may be listening on standard error.
            Event::Message(wrong) => {
                let _ = output.err.write_all(message_text(wrong).as_bytes());
                Ok(())
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}

/// The heading of a summary: with the tasks' own figures before the iterations', or in one of the two layouts.
fn heading(each: bool, layout: u8) -> &'static str {
    match (each, layout) {
        (true, _) => concat!(
            "   Operation     per Rank: Max            Min           Mean      ",
            "per Iteration: Max            Min           Mean        Std Dev\n",
            "   ---------               ---            ---           ----      ",
            "                ---            ---           ----        -------\n",
        ),
        (false, 3) => concat!(
            "   Operation                      Max            Min           Mean        Std Dev\n",
            "   ---------                      ---            ---           ----        -------\n",
        ),
        (false, _) => concat!(
            "   Operation                     Max            Min           Mean        Std Dev\n",
            "   ---------                     ---            ---           ----        -------\n",
        ),
    }
}

/// Says why nothing was begun, each reason once: many phases may have it.
///
/// # Errors
/// None: nobody may be listening on standard error.
pub fn refuse(record: &Record, output: &mut Output<'_>) -> io::Result<()> {
    let mut said: Vec<String> = Vec::new();
    for text in record.errors.iter().map(message_text) {
        if !said.contains(&text) {
            let _ = output.err.write_all(text.as_bytes());
            said.push(text);
        }
    }
    Ok(())
}

/// A message as mdtest begins its own.
pub fn message_text(wrong: &Diagnostic) -> String {
    let word = match wrong.level {
        iodyno_model::Level::Error => "ERROR",
        _ => "WARNING",
    };
    let hint = wrong.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{word}: {}{hint}\n", wrong.message)
}

#[cfg(test)]
mod tests {
    use super::american;

    #[test]
    fn dates_are_american() {
        assert_eq!(american(1_795_306_503_000_000_000), "11/22/2026 00:15:03");
        assert_eq!(american(951_782_400_000_000_000), "02/29/2000 00:00:00");
    }
}
