//! What the original prints: a line for each phase and the score on standard output, and its files in the directory of
//! results: `result.txt`, `result_summary.txt`, the configuration as it was given and with all values, a log of each phase.
//!
//! The marks say that none of it is for the list: it is our engine room that ran, not the programs that the rules name.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, JobRecord, PhaseRecord, Record, RunStart, WorkerRecord};
use iodyno_report::{Output, Reporter};

use super::logs::PhaseLog;
use super::lower::PlannedPhase;
use super::phases::{PHASES, PhaseKind, Places, ScoreGroup, Tool};
use super::score::score;
use crate::date;

/// The index of the first hard phase in [`PHASES`].
const FIRST_HARD: usize = 2;

/// Reports a run.
#[derive(Default)]
pub struct Io500Reporter {
    /// What belongs to which phase.
    pub pieces: Vec<PlannedPhase>,
    /// The logs of the phases.
    pub logs: Vec<PhaseLog>,
    /// The configuration as it was given, and with all its values.
    pub configuration: [String; 2],
    /// Where its files are.
    pub places: Places,
    /// How long the writing phases should last at least, s; what is shorter is invalid.
    pub ruled_s: u64,
    /// How long they were asked to last, s.
    pub stonewall_s: u64,
    /// A number that tells the configuration.
    pub config_hash: u32,
    /// The mode's name.
    pub mode: &'static str,
    /// Processes, or threads where there is one.
    pub tasks: u32,
    /// What was found, in the order of the phases.
    pub found: Vec<PhaseFigure>,
    /// `result.txt` so far.
    pub text: String,
    /// `result_summary.txt` so far.
    pub summary: String,
    pub started: RunStart,
    /// Whether the row between the easy and the hard phases is printed.
    pub is_stamped: bool,
    /// What is wrong with the run as a whole.
    pub invalid: Vec<String>,
}

/// The figure of one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseFigure {
    /// GiB/s, or thousand operations a second.
    pub figure: f64,
    /// How long it took, s.
    pub seconds: f64,
    /// What spoils it.
    pub invalid: Vec<String>,
    /// Files that the walk found, and entries that it looked at.
    pub matches: Option<(u64, u64)>,
    /// The rate until the time was up, in the figure's unit.
    pub until_stonewall: Option<f64>,
}

impl Reporter for Io500Reporter {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.started = RunStart::clone(started);
                self.begin(started.at_unix_ns, output)
            }
            Event::PhaseEnded(record) => self.ended(record, output),
            Event::Ended(record) => self.end(record, output),
            Event::Message(message) => writeln!(output.err, "{message}"),
            _ => Ok(()),
        }
    }
}

impl Io500Reporter {
    fn begin(&mut self, at_unix_ns: u64, output: &mut Output<'_>) -> io::Result<()> {
        let results = &self.places.results;
        output.files.folder(results)?;
        output.files.file(&format!("{results}/timestampfile"))?;
        for (name, text) in ["config-orig.ini", "config.ini"].iter().zip(&self.configuration) {
            output.files.file(&format!("{results}/{name}"))?.write_all(text.as_bytes())?;
        }
        writeln!(
            output.out,
            "IO500 version iodyno-{} ({}, not for submission)",
            env!("CARGO_PKG_VERSION"),
            self.mode
        )?;
        let wrong = self.stonewall_s != self.ruled_s;
        if wrong {
            self.invalid.push(format!("stonewall-time {}s != {}s", self.stonewall_s, self.ruled_s));
            writeln!(output.out, "ERROR INVALID {}", self.invalid[0])?;
        }
        let head = [
            ("procs", self.tasks.to_string()),
            ("version", format!("iodyno-{} (not for submission)", env!("CARGO_PKG_VERSION"))),
            ("config-hash", format!("{:X}", self.config_hash)),
            ("result-dir", self.places.results.clone()),
            ("mode", self.mode.to_string()),
        ];
        self.text.push_str("[run]\n");
        head.iter().for_each(|(key, value)| pair(&mut self.text, key, value));
        let _ = writeln!(self.text, "; START {}", date::stamp(at_unix_ns, 0));
        Ok(())
    }

    fn ended(&mut self, record: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        for log in &mut self.logs {
            let path = format!("{}/{}.txt", self.places.results, log.name);
            if let Some(text) = log.ended(record, &self.started, output)? {
                output.files.file(&path)?.write_all(text)?;
                output.files.close(&path)?;
            }
        }
        let Some(piece) = self.pieces.iter().find(|piece| piece.measured == record.index).cloned() else {
            return Ok(());
        };
        if !self.is_stamped && piece.kind >= FIRST_HARD {
            self.stamp(record, output)?;
        }
        let (kind, command) = (&PHASES[piece.kind], piece.command.clone());
        let mut found = figure(kind, record);
        if kind.writes && found.seconds < self.stonewall_s as f64 {
            found.invalid.push("Runtime is smaller than expected minimum runtime".into());
        }
        for wrong in &found.invalid {
            writeln!(output.out, "ERROR INVALID {wrong}")?;
        }
        let mark = if kind.group == ScoreGroup::No { "[      ]" } else { "[RESULT]" };
        let unit = if kind.tool == Tool::Ior { "GiB/s" } else { "kIOPS" };
        let invalid = if found.invalid.is_empty() { "" } else { " [INVALID]" };
        let line = format!(
            "{mark} {:>20} {:>15.6} {unit} : time {:.3} seconds{invalid}",
            kind.name, found.figure, found.seconds
        );
        writeln!(output.out, "{line}")?;
        output.out.flush()?;
        let _ = writeln!(self.summary, "{line}");
        self.section(kind, &command, &found, record);
        self.found.push(found);
        Ok(())
    }

    /// The moment between the easy and the hard phases, which the original counts as a phase: what is searched for is newer.
    fn stamp(&mut self, next: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        self.is_stamped = true;
        let line = format!("[      ] {:>20} {:>15.6} kIOPS : time {:.3} seconds", "timestamp", 0.0, 0.0);
        writeln!(output.out, "{line}")?;
        let _ = writeln!(self.summary, "{line}");
        let at = date::stamp(next.jobs.first().map_or(self.started.at_unix_ns, |job| job.began_unix_ns), 0);
        self.text.push_str("\n[timestamp]\n");
        for (key, value) in
            [("t_start", at.as_str()), ("score", "0.000000"), ("t_delta", "0.0000"), ("t_end", &at)]
        {
            pair(&mut self.text, key, value);
        }
        Ok(())
    }

    fn section(&mut self, kind: &PhaseKind, command: &str, found: &PhaseFigure, record: &PhaseRecord) {
        let began = record.jobs.first().map_or(self.started.at_unix_ns, |job| job.began_unix_ns);
        let text = &mut self.text;
        let _ = write!(text, "\n[{}]\n", kind.name);
        pair(text, "t_start", &date::stamp(began, 0));
        pair(text, "exe", command);
        if let Some((matches, entries)) = found.matches {
            pair(text, "found", &matches.to_string());
            pair(text, "total-files", &entries.to_string());
        }
        if let Some(rate) = found.until_stonewall {
            pair(
                text,
                if kind.tool == Tool::Ior { "throughput-stonewall" } else { "rate-stonewall" },
                &format!("{rate:.6}"),
            );
        }
        pair(text, "score", &format!("{:.6}", found.figure));
        pair(text, "t_delta", &format!("{:.4}", found.seconds));
        pair(text, "t_end", &date::stamp(began + (found.seconds * 1e9) as u64, 0));
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for wrong in &record.errors {
            writeln!(output.out, "ERROR INVALID {wrong}")?;
        }
        let scored: Vec<(ScoreGroup, f64)> = PHASES
            .iter()
            .enumerate()
            .filter(|(_, kind)| kind.group != ScoreGroup::No)
            .map(|(index, kind)| (kind.group, self.figure_of(index)))
            .collect();
        let total = score(&scored);
        let spoilt = !self.invalid.is_empty()
            || !record.errors.is_empty()
            || record.stopped_by.is_some()
            || self.found.len() < self.pieces.len()
            || self.found.iter().any(|found| !found.invalid.is_empty())
            || scored.iter().any(|(_, figure)| *figure == 0.0);
        let invalid = if spoilt { " [INVALID]" } else { "" };
        let line = format!(
            "[SCORE ] Bandwidth {:.6} GiB/s : IOPS {:.6} kiops : TOTAL {:.6}{invalid}",
            total.bandwidth, total.rate, total.total
        );
        writeln!(output.out, "{line}")?;
        let _ = writeln!(self.summary, "{line}");
        self.text.push_str("\n[SCORE]\n");
        pair(&mut self.text, "MD", &format!("{:.6}", total.rate));
        pair(&mut self.text, "BW", &format!("{:.6}", total.bandwidth));
        pair(&mut self.text, "SCORE", format!("{:.6} {invalid}", total.total).trim_end());
        self.text.push_str("; not for submission: this is iodyno, not the programs that the rules name\n");
        let took = record.phases.iter().map(|phase| phase.elapsed_ns).sum::<u64>();
        let _ = writeln!(self.text, "; END {}", date::stamp(self.started.at_unix_ns + took, 0));
        let results = self.places.results.clone();
        for (name, text) in [("result.txt", &self.text), ("result_summary.txt", &self.summary)] {
            output.files.file(&format!("{results}/{name}"))?.write_all(text.as_bytes())?;
        }
        writeln!(output.out, "\nThe result files are stored in the directory: {results}")
    }

    fn figure_of(&self, kind: usize) -> f64 {
        let place = self.pieces.iter().position(|piece| piece.kind == kind);
        place.and_then(|place| self.found.get(place)).map_or(0.0, |found| found.figure)
    }
}

/// A line `key = value`, as result files have them.
fn pair(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key:<15} = {value}");
}

/// What a phase's record says in the unit of its kind.
fn figure(kind: &PhaseKind, record: &PhaseRecord) -> PhaseFigure {
    let workers = || record.jobs.iter().flat_map(|job| &job.workers);
    let seconds = span_ns(workers()) as f64 / 1e9;
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let worn = record.jobs.iter().find_map(|job| job.worn);
    let sum = |of: fn(&JobRecord) -> u64| record.jobs.iter().map(of).sum::<u64>() as f64;
    let failed = record.jobs.iter().map(|job| job.tally.failed()).sum::<u64>();
    let mut found = PhaseFigure { seconds, ..PhaseFigure::default() };
    match kind.tool {
        Tool::Ior => {
            found.figure = per_second(sum(|job| job.tally.all_bytes())) / f64::from(1 << 30);
            found.until_stonewall =
                worn.map(|worn| worn.bytes as f64 / (worn.at_ns as f64 / 1e9) / f64::from(1 << 30));
        }
        _ => found.figure = per_second(workers().map(|worker| worker.operations).sum::<u64>() as f64) / 1e3,
    }
    if kind.tool == Tool::Find {
        let matches = workers().flat_map(|worker| &worker.facts).filter(|(name, _)| name == "matches");
        let matches: u64 = matches.map(|(_, count)| count).sum();
        found.matches = Some((matches, workers().map(|worker| worker.operations).sum()));
        if matches == 0 {
            found.invalid.push("Find didn't find anything, this is likely invalid.".into());
        }
    }
    if failed > 0 {
        found.invalid.push(format!("{failed} operations failed or brought wrong data"));
    }
    found
}

/// From the first worker's beginning to the last one's end, opening and closing included, ns.
fn span_ns<'a>(workers: impl Iterator<Item = &'a WorkerRecord>) -> u64 {
    let (mut began, mut ended) = (u64::MAX, 0);
    for worker in workers {
        began = began.min(worker.opening.map_or(worker.began_ns, |(began, _)| began));
        ended = ended.max(worker.closing.map_or(worker.ended_ns, |(_, ended)| ended));
    }
    ended.saturating_sub(began)
}
