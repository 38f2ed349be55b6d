//! dd's output format: what GNU dd writes on standard error, from events.

use std::io::{self, Write};

use iodyno_model::{Diagnostic, ErrorCount, Event, Kind, Live, Origin, PhaseRecord, Record, Verb};
use iodyno_report::{Output, Reporter};

use crate::strerror::{of_system as strerror, without_number};

use super::amount;
use super::command::Operands;
use super::quote;

/// Writes GNU's lines.
#[derive(Clone, Debug)]
pub struct Report {
    /// `if=` as messages name it.
    input: String,
    /// `of=` as messages name it.
    output: String,
    /// Bytes of a full write.
    block_bytes: u64,
    gathers: bool,
    pads: bool,
    /// Whether the record lines are wanted, the transfer line, and the line each second.
    records: bool,
    transfer: bool,
    progress: bool,
    warnings: Vec<String>,
    /// Characters of the progress line that stands on the terminal; 0: none.
    progress_width: usize,
}

/// Records that were full and records that were not, on each side, and what was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecordCounts {
    read: (u64, u64),
    written: (u64, u64),
    bytes: u64,
    elapsed_ns: u64,
    /// Lines that were longer than a record.
    truncated: u64,
}

/// GNU dd dies of SIGHUP and SIGTERM without a word.
const MUTE: [i32; 2] = [1, 15];

impl Report {
    /// The reporter of a copy; `warnings` are said before it begins, without `dd: `.
    pub fn new(operands: &Operands, warnings: Vec<String>) -> Self {
        let named = |path: &Option<String>, standard: &str| path.clone().unwrap_or_else(|| standard.into());
        Report {
            input: named(&operands.input, "standard input"),
            output: named(&operands.output, "standard output"),
            block_bytes: operands.write_bytes(),
            gathers: operands.gathers(),
            pads: operands.converts("sync"),
            records: operands.speaks(),
            transfer: !matches!(operands.level, Some("none" | "noxfer")),
            progress: operands.level == Some("progress"),
            warnings,
            progress_width: 0,
        }
    }

    /// How many records were full: GNU counts by what was asked of a block, a tally by what was asked of a call.
    fn counts(&self, reads: (u64, u64, u64), writes: u64, bytes: u64, elapsed_ns: u64) -> RecordCounts {
        let (read, short, failed) = reads;
        // A failed read that is filled with zeros is a record, and not a full one.
        let padded = if self.pads { failed } else { 0 };
        let written = match () {
            () if self.gathers => {
                (bytes / self.block_bytes, u64::from(!bytes.is_multiple_of(self.block_bytes)))
            }
            () if self.pads || bytes >= writes.saturating_mul(self.block_bytes) => (writes, 0),
            () => (writes - short.min(writes), short.min(writes)),
        };
        RecordCounts {
            read: (read - short.min(read), short + padded),
            written,
            bytes,
            elapsed_ns,
            truncated: 0,
        }
    }

    fn counts_live(&self, live: &Live) -> RecordCounts {
        let mut total = (0, 0, 0, 0);
        for job in &live.jobs {
            total = (
                total.0 + job.reads.0,
                total.1 + job.reads.1,
                total.2 + job.writes.0,
                total.3 + job.write_bytes,
            );
        }
        self.counts((total.0, total.1, 0), total.2, total.3, live.elapsed_ns)
    }

    fn counts_ended(&self, phase: &PhaseRecord) -> RecordCounts {
        let (mut reads, mut writes, mut bytes) = ((0, 0, 0), 0, 0);
        for line in phase.jobs.iter().flat_map(|job| &job.tally.lines) {
            match line.verb.kind() {
                Kind::Read => {
                    reads = (reads.0 + line.operations, reads.1 + line.short, reads.2 + line.failed);
                }
                Kind::Write => (writes, bytes) = (writes + line.operations, bytes + line.bytes),
                _ => {}
            }
        }
        let facts = phase.jobs.iter().flat_map(|job| &job.workers).flat_map(|worker| &worker.facts);
        let truncated = facts.filter(|(name, _)| name == "truncated").map(|(_, lines)| lines).sum();
        RecordCounts { truncated, ..self.counts(reads, writes, bytes, phase.elapsed_ns) }
    }

    fn live(&mut self, live: &Live, err: &mut dyn Write) -> io::Result<()> {
        let counts = self.counts_live(live);
        if live.asked {
            return self.lines(&counts, err);
        }
        if !self.progress {
            return Ok(());
        }
        let seconds = format!("{:.0}", live.elapsed_ns as f64 / 1e9);
        let line = transfer_line(&counts, &seconds);
        let width = self.progress_width;
        write!(err, "\r{line:width$}")?;
        self.progress_width = line.chars().count();
        err.flush()
    }

    fn lines(&mut self, counts: &RecordCounts, err: &mut dyn Write) -> io::Result<()> {
        if self.records {
            self.end_progress(err)?;
            writeln!(err, "{}+{} records in", counts.read.0, counts.read.1)?;
            writeln!(err, "{}+{} records out", counts.written.0, counts.written.1)?;
            match counts.truncated {
                0 => {}
                1 => writeln!(err, "1 truncated record")?,
                many => writeln!(err, "{many} truncated records")?,
            }
        }
        if self.transfer {
            writeln!(err, "{}", transfer_line(counts, &amount::seconds(counts.elapsed_ns)))?;
        }
        err.flush()
    }

    fn end_progress(&mut self, err: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.progress_width) > 0 {
            writeln!(err)?;
        }
        Ok(())
    }

    fn say(&mut self, message: &str, err: &mut dyn Write) -> io::Result<()> {
        self.end_progress(err)?;
        writeln!(err, "dd: {message}")
    }

    fn ended(&mut self, record: &Record, err: &mut dyn Write) -> io::Result<()> {
        let phase = record.phases.first();
        let tallied: Vec<&ErrorCount> =
            phase.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.tally.errors).collect();
        for error in &tallied {
            let message = self.failed_operation(error);
            self.say(&message, err)?;
        }
        for diagnostic in record.errors.iter().filter(|diagnostic| !already_said(diagnostic, &tallied)) {
            let message = self.failed_run(diagnostic);
            self.say(&message, err)?;
        }
        let opened = !tallied.iter().any(|error| matches!(error.verb, Verb::Open | Verb::Create))
            && !record.errors.iter().any(|diagnostic| self.not_opened(&diagnostic.message).is_some());
        match phase {
            Some(phase) if opened && !record.stopped_by.is_some_and(|signal| MUTE.contains(&signal)) => {
                let counts = self.counts_ended(phase);
                self.lines(&counts, err)
            }
            _ => Ok(()),
        }
    }

    fn failed_operation(&self, error: &ErrorCount) -> String {
        let what = match error.verb {
            Verb::Open | Verb::Create => "failed to open",
            Verb::Read => "error reading",
            Verb::Write if self.gathers => "writing to",
            Verb::Write => "error writing",
            Verb::Fsync => "fsync failed for",
            Verb::Fdatasync => "fdatasync failed for",
            Verb::Truncate => "failed to truncate",
            Verb::Close => "closing output file",
            _ => "error with",
        };
        let input = match error.verb {
            Verb::Read => true,
            Verb::Open | Verb::Create => error.first_target == 0,
            _ => false,
        };
        let name = if input { &self.input } else { &self.output };
        format!("{what} {}: {}", quote::name(name), strerror(error.errno))
    }

    /// The side that could not be opened, and the system's reason, as the engine room puts it.
    fn not_opened<'a>(&'a self, message: &'a str) -> Option<(&'a str, &'a str)> {
        let told = message.strip_prefix("cannot open ")?;
        let reason = |name: &str| told.strip_prefix(name)?.strip_prefix(": ");
        let sides = [self.input.as_str(), self.output.as_str()];
        sides.into_iter().find_map(|name| Some((name, without_number(reason(name)?))))
    }

    /// An error of the run as a whole: the system's own reason at a target's origin means that it did not open.
    fn failed_run(&self, diagnostic: &Diagnostic) -> String {
        if let Some((name, reason)) = self.not_opened(&diagnostic.message) {
            return format!("failed to open {}: {reason}", quote::name(name));
        }
        let message = without_number(&diagnostic.message);
        let path = match &diagnostic.origin {
            Origin::Argument(text) => text.strip_prefix("if=").or_else(|| text.strip_prefix("of=")),
            _ => None,
        };
        let known = message.rsplit(": ").next().filter(|reason| is_reason(reason));
        match (path, known, &diagnostic.hint) {
            (Some(path), Some(reason), _) => format!("failed to open {}: {reason}", quote::name(path)),
            (_, _, Some(hint)) => format!("{message}\n hint: {hint}"),
            _ => message.to_string(),
        }
    }
}

fn transfer_line(counts: &RecordCounts, seconds: &str) -> String {
    let (copied, rate) = (amount::bytes_copied(counts.bytes), amount::rate(counts.bytes, counts.elapsed_ns));
    format!("{copied} copied, {seconds} s, {rate}")
}

fn is_reason(text: &str) -> bool {
    (1..134).any(|errno| strerror(errno) == text)
}

fn already_said(diagnostic: &Diagnostic, tallied: &[&ErrorCount]) -> bool {
    tallied.iter().any(|error| diagnostic.message.contains(&strerror(error.errno)))
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => {
                let warnings = std::mem::take(&mut self.warnings);
                warnings.iter().try_for_each(|warning| self.say(warning, output.err))
            }
            Event::Live(live) => self.live(live, output.err),
            Event::Ended(record) => self.ended(record, output.err),
            _ => Ok(()),
        }
    }
}
