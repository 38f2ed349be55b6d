//! postmark's output: what a session prints between its runs, how far a run is, and its two forms of report.
//!
//! Times are whole seconds, one at least, as the original counts them. A run in which a call fails has no report: the original
//! counts what failed as done.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{ErrorCount, Event, PhaseRecord, Record, Verb};
use iodyno_report::{Output, Reporter};

use super::view::{FileManner, PostmarkPhase, ReportContext, ReportedRun, RunPart, SessionPart};
use crate::mdtest::report::message_text;
use crate::message_log::MessageLog;
use crate::strerror;

/// What the original says of itself.
pub const VERSION: &str = "v1.51 : 8/14/01";

/// Times of a run, ns.
#[derive(Clone, Copy, Debug, Default)]
struct RunTimes {
    creation: u64,
    transactions: u64,
    deletion: u64,
}

/// Writes the report.
pub struct Report {
    view: ReportContext,
    /// The next part of the session.
    at: usize,
    times: RunTimes,
    failed: Vec<String>,
    is_broken: bool,
    said: MessageLog,
    /// A line of standard output is not ended yet.
    is_open: bool,
}

impl Report {
    pub fn new(view: ReportContext) -> Self {
        let times = RunTimes::default();
        Report {
            view,
            at: 0,
            times,
            failed: Vec::new(),
            is_broken: false,
            said: MessageLog::default(),
            is_open: false,
        }
    }

    /// The texts up to the next run.
    fn texts(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        while let Some(SessionPart::Text(text, file)) = self.view.session.get(self.at) {
            write_to(output, file.as_deref(), text)?;
            self.at += 1;
        }
        output.out.flush()
    }

    fn run(&self) -> Option<&ReportedRun> {
        match self.view.session.get(self.at) {
            Some(SessionPart::Run(run)) => Some(run),
            _ => None,
        }
    }

    /// Whether a part of a run is told of: directories are where there are several.
    fn is_told(&self, part: RunPart) -> bool {
        let of_directories = matches!(part, RunPart::MakeDirectories | RunPart::RemoveDirectories);
        !of_directories || self.run().is_some_and(|run| run.settings.subdirectories > 1)
    }

    fn begins(&mut self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        let Some(PostmarkPhase { part, .. }) = self.view.phases.get(index).copied() else { return Ok(()) };
        if part == RunPart::MakeDirectories {
            self.times = RunTimes::default();
        }
        if self.is_told(part) {
            self.is_open = true;
            write!(output.out, "{}", part.beginning())?;
        }
        output.out.flush()
    }

    fn ends(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(PostmarkPhase { part, .. }) = self.view.phases.get(phase.index).copied() else {
            return Ok(());
        };
        self.note_failures(phase);
        if !self.is_whole() {
            return Ok(());
        }
        match part {
            RunPart::Create => self.times.creation = phase.elapsed_ns,
            RunPart::Transact => self.times.transactions = phase.elapsed_ns,
            RunPart::Delete => self.times.deletion = phase.elapsed_ns,
            RunPart::MakeDirectories | RunPart::RemoveDirectories => {}
        }
        let (points, incomplete) = self.run().map_or((0, 0), |run| (run.points, run.incomplete));
        if part == RunPart::Transact {
            write!(output.out, "{}", ".".repeat(points))?;
        }
        if self.is_told(part) {
            self.is_open = false;
            match part {
                RunPart::Transact if incomplete > 0 => write!(
                    output.out,
                    "out of files!\nFor this workload, either increase the number of files or\ndecrease the \
                     number of transactions.\n"
                )?,
                _ => writeln!(output.out, "Done")?,
            }
        }
        if part == RunPart::RemoveDirectories {
            self.report(output)?;
            self.at += 1;
            return self.texts(output);
        }
        output.out.flush()
    }

    fn report(&self, output: &mut Output<'_>) -> io::Result<()> {
        let Some(run) = self.run().filter(|run| run.incomplete == 0) else { return Ok(()) };
        let text = if run.settings.terse { terse(run, self.times) } else { verbose(run, self.times) };
        write_to(output, run.file.as_deref(), &text)
    }

    fn is_whole(&self) -> bool {
        self.failed.is_empty() && !self.is_broken
    }

    fn note_failures(&mut self, phase: &PhaseRecord) {
        for job in &phase.jobs {
            self.is_broken |=
                job.workers.iter().any(|worker| worker.failure.is_some() || worker.fatal.is_some());
            let failed: Vec<String> = job.tally.errors.iter().map(|error| self.failure(error)).collect();
            self.failed.extend(failed);
        }
    }

    /// The original's words for what failed, and the system's for why.
    fn failure(&self, error: &ErrorCount) -> String {
        let reason = strerror::reason(error.errno, "less was moved than asked for");
        let at = error.first_target as usize;
        let root = self.view.roots.get(at).map_or("", String::as_str);
        let subdirectories = self.run().map_or(1, |run| run.settings.subdirectories.max(1)) as u64;
        let item = error.first_offset;
        let path = match subdirectories {
            1 => format!("{root}/{item}"),
            several => format!("{root}/s{}/{item}", item % several),
        };
        let appends = at % FileManner::ALL.len() == FileManner::Appended as usize;
        match error.verb {
            Verb::Create => format!("Error: cannot open '{path}' for writing: {reason}"),
            Verb::Open if appends => format!("Error: cannot open '{path}' for append: {reason}"),
            Verb::Open => format!("Error: cannot open '{path}' for reading: {reason}"),
            Verb::Unlink => format!("Error: Cannot delete '{path}': {reason}"),
            Verb::Mkdir | Verb::Rmdir => format!("Error: {root}: {}: {reason}", error.verb),
            verb => format!("Error: {verb} in {root}: {reason}"),
        }
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            writeln!(output.out)?;
        }
        output.out.flush()?;
        let failed: Vec<String> = self.failed.drain(..).map(|text| text + "\n").collect();
        let told = failed.into_iter().chain(record.errors.iter().map(message_text));
        told.for_each(|text| self.said.say(text, output));
        Ok(())
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.texts(output),
            Event::PhaseStarted { index, .. } => self.begins(*index, output),
            Event::PhaseEnded(phase) => self.ends(phase, output),
            Event::Message(wrong) => {
                self.said.say(message_text(wrong), output);
                Ok(())
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}

/// Standard output, or behind what a file holds.
fn write_to(output: &mut Output<'_>, file: Option<&str>, text: &str) -> io::Result<()> {
    match file {
        Some(path) => output.files.append(path)?.write_all(text.as_bytes()),
        None => output.out.write_all(text.as_bytes()),
    }
}

/// Whole seconds, one at least.
fn seconds(ns: u64) -> u64 {
    (ns / 1_000_000_000).max(1)
}

/// Bytes in the unit that the original chooses: kilobytes from the first byte on.
fn scaled(bytes: f32) -> String {
    match bytes {
        bytes if bytes / 1_048_576.0 > 1.0 => format!("{:.2} megabytes", bytes / 1_048_576.0),
        bytes if bytes > 0.0 => format!("{:.2} kilobytes", bytes / 1024.0),
        bytes => format!("{bytes:.6} bytes"),
    }
}

fn verbose(run: &ReportedRun, times: RunTimes) -> String {
    let (counts, settings) = (&run.counts, &run.settings);
    let elapsed = seconds(times.creation + times.transactions + times.deletion);
    let (creation, transactions, deletion) =
        (seconds(times.creation), seconds(times.transactions), seconds(times.deletion));
    let number = settings.number as u64;
    let mut text = format!("Time:\n\t{elapsed} seconds total\n");
    let mut line = |indent: &str, what: String, count: u64, over: u64| {
        let _ = writeln!(text, "{indent}{what} ({} per second)", count / over);
    };
    let of_transactions = format!("{transactions} seconds of transactions");
    line("\t", of_transactions, settings.transactions as u64, transactions);
    line("\nFiles:\n\t", format!("{} created", counts.created), counts.created, elapsed);
    line("\t\t", format!("Creation alone: {number} files"), number, creation);
    let mixed = counts.created - number;
    line("\t\t", format!("Mixed with transactions: {mixed} files"), mixed, transactions);
    line("\t", format!("{} read", counts.read), counts.read, transactions);
    line("\t", format!("{} appended", counts.appended), counts.appended, transactions);
    // The original divides the files that were made.
    line("\t", format!("{} deleted", counts.deleted), counts.created, elapsed);
    line("\t\t", format!("Deletion alone: {} files", counts.deleted_last), counts.deleted_last, deletion);
    let mixed = counts.deleted - counts.deleted_last;
    line("\t\t", format!("Mixed with transactions: {mixed} files"), mixed, transactions);
    text += "\nData:\n";
    for (bytes, word) in [(counts.bytes_read, "read"), (counts.bytes_written, "written")] {
        let rate = scaled(bytes / elapsed as f32);
        let _ = writeln!(text, "\t{} {word} ({rate} per second)", scaled(bytes));
    }
    text
}

/// Thirteen numbers; the ninth is that of files made once more, as in the original.
fn terse(run: &ReportedRun, times: RunTimes) -> String {
    let (counts, settings) = (&run.counts, &run.settings);
    let elapsed = seconds(times.creation + times.transactions + times.deletion);
    let transactions = seconds(times.transactions);
    let over = |count: u64, seconds: u64| count as f32 / seconds as f32;
    let number = settings.number as u64;
    let rates = [
        over(settings.transactions as u64, transactions),
        over(counts.created, elapsed),
        over(number, seconds(times.creation)),
        over(counts.created - number, transactions),
        over(counts.read, transactions),
        over(counts.appended, transactions),
        over(counts.created, elapsed),
        over(counts.deleted_last, seconds(times.deletion)),
        over(counts.deleted - counts.deleted_last, transactions),
        counts.bytes_read / elapsed as f32,
        counts.bytes_written / elapsed as f32,
    ];
    let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
    format!("{elapsed} {transactions} {}\n", rates.join(" "))
}
