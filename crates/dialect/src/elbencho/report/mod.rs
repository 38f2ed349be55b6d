//! elbencho's output: a table that grows phase by phase, the same in a file, a line of CSV and JSON for each phase, live lines.

mod csv;
mod json;
mod latency;
mod live;
mod table;

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Diagnostic, Event, JobRecord, Level, Live, PhaseRecord, Plan, Record, Verb};
use iodyno_report::{Output, Reporter};

use super::results::{PhaseTotals, ResultLines};
use super::test::{BenchmarkPaths, ElbenchoTest};
use super::view::{ElbenchoPhase, PhaseRole, ReportContext};
use crate::{date, strerror};
use live::LiveCounts;

/// `ENOENT`, as all systems number it.
const NO_ENTRY: i32 = 2;

/// The name of live CSV that is printed.
const STDOUT: &str = "stdout";

/// Writes the report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    view: ReportContext,
    began_unix_ns: u64,
    /// Where the running phase was when it was last looked at, and when it began.
    before: LiveCounts,
    phase_began_unix_ns: u64,
    busy_percent: u64,
    iteration: Option<u64>,
    wrong: Vec<String>,
    has_live_head: bool,
    has_ended_by_time: bool,
}

/// What entries are called.
fn entry_word(view: &ReportContext, role: PhaseRole) -> &'static str {
    match (view.test.kind == BenchmarkPaths::Buckets, role.is_of_directories()) {
        (true, true) => "Buckets",
        (true, false) => "Objects",
        (false, true) => "Dirs",
        (false, false) => "Files",
    }
}

/// Whether entries are counted while a phase runs.
fn is_dirs(view: &ReportContext) -> bool {
    view.test.kind.has_entries()
}

/// Whether some threads read while others write.
fn is_balanced_mix(view: &ReportContext, totals: &PhaseTotals) -> bool {
    !totals.mixed.last.is_empty() && view.test.settings.is_given("rwmixthr")
}

/// Whether a phase was ended by its time.
pub fn timed_out(record: &Record, limit_ns: u64) -> bool {
    limit_ns > 0 && record.phases.iter().any(|phase| phase.elapsed_ns >= limit_ns)
}

/// What each phase would do.
pub fn dry_run(test: &ElbenchoTest, plan: &Plan, parts: &[ElbenchoPhase]) -> String {
    let mut text = String::new();
    let (unit, count) =
        if test.hosts > 1 { ("service", u64::from(test.hosts)) } else { ("thread", test.all_threads()) };
    for (phase, part) in plan.phases.iter().zip(parts) {
        if matches!(part.role, PhaseRole::Sync | PhaseRole::DropCaches) {
            continue;
        }
        let entries = |of: u64| format!("{of} | {} K | {} M", of / 1000, of / 1_000_000);
        let bytes = |of: u64| format!("{of} | {} MiB | {} GiB", of >> 20, of >> 30);
        let _ = writeln!(text, "Phase: {}", phase.name);
        let _ = writeln!(text, "* Entries per {unit}: {}", entries(part.entries / count));
        let _ = writeln!(text, "* Entries total:      {}", entries(part.entries));
        if part.role.moves_data() {
            let _ = writeln!(text, "* Bytes per {unit}:   {}", bytes(part.bytes / count));
            let _ = writeln!(text, "* Bytes total:        {}", bytes(part.bytes));
        }
    }
    text
}

impl Report {
    pub fn new(view: ReportContext) -> Self {
        Report { view, ..Report::default() }
    }

    fn file(&self, option: &str) -> Option<&str> {
        self.view.test.settings.text(option).filter(|path| !path.is_empty())
    }

    /// Prints to the console: on standard error where standard output has live CSV.
    fn print(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        let out = if self.file("livecsv") == Some(STDOUT) { &mut output.err } else { &mut output.out };
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The heading, before the first phase of each iteration.
    fn heading(&mut self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(index) else { return Ok(()) };
        if self.iteration == Some(part.iteration) {
            return Ok(());
        }
        let is_first = self.iteration.replace(part.iteration).is_none();
        self.print(&table::head(), output)?;
        if let Some(path) = self.file("resfile") {
            let label = self.file("label").map(|label| format!("LABEL: {label}\n")).unwrap_or_default();
            let began = date::iso_local(self.began_unix_ns, self.view.east_s, false);
            let command = &self.view.command;
            let file = output.files.append(path)?;
            write!(file, "ISO DATE: {began}\n{label}COMMAND LINE: {command}\n\n{}", table::head())?;
        }
        if let Some(path) = self.file("csvfile").filter(|_| is_first && self.view.labels.0) {
            write!(output.files.append(path)?, "{}", csv::head(&self.view))?;
        }
        Ok(())
    }

    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index).cloned() else { return Ok(()) };
        self.clear_line(output)?;
        self.note_failures(phase);
        let limit_ns = self.view.test.settings.count("timelimit").saturating_mul(1_000_000_000);
        self.has_ended_by_time |= limit_ns > 0 && phase.elapsed_ns >= limit_ns;
        let is_broken = |job: &JobRecord| {
            job.tally.failed() > 0 || job.workers.iter().any(|worker| worker.failure.is_some())
        };
        if phase.jobs.iter().any(is_broken) && !self.view.test.flag("s3ignoreerrors") {
            return Ok(());
        }
        let totals = PhaseTotals::of(phase, self.lines(part.role));
        let text = table::phase(&self.view, &phase.name, part.role, &totals);
        self.print(&text, output)?;
        let began = phase.jobs.first().map_or(self.began_unix_ns, |job| job.began_unix_ns);
        if let Some(path) = self.file("resfile") {
            writeln!(output.files.append(path)?, "{text}")?;
        }
        if let Some(path) = self.file("csvfile") {
            write!(output.files.append(path)?, "{}", csv::phase(&self.view, &phase.name, began, &totals))?;
        }
        if let Some(path) = self.file("jsonfile") {
            let line = json::phase(&self.view, phase.index, &phase.name, began, &totals);
            write!(output.files.append(path)?, "{line}")?;
        }
        Ok(())
    }

    fn lines(&self, role: PhaseRole) -> ResultLines {
        let test = &self.view.test;
        let (stores, random) = (test.kind == BenchmarkPaths::Buckets, test.flag("s3randobj"));
        let blocks = test.bytes.div_ceil(test.block.max(1));
        ResultLines {
            role,
            checks: test.flag("verifydirect"),
            blocks,
            has_entries: test.kind.has_entries(),
            reads_blocks: stores && role == PhaseRole::Read && !random && blocks > 1,
        }
    }

    fn note_failures(&mut self, phase: &PhaseRecord) {
        for job in &phase.jobs {
            for error in &job.tally.errors {
                let what = strerror::of(error.errno);
                let is_homeless = error.errno == NO_ENTRY && error.verb == Verb::Create;
                let hint = if is_homeless { " (-d creates the directories)" } else { "" };
                let place = self.view.test.paths.join(", ");
                let text =
                    format!("{}: {} {} failed in {place}: {what}{hint}", phase.name, error.count, error.verb);
                self.wrong.push(text);
            }
            for worker in &job.workers {
                let of_thread = |text: &String| format!("{}: thread {}: {text}", phase.name, worker.index);
                self.wrong.extend(worker.failure.iter().chain(&worker.complaints).map(of_thread));
            }
        }
        self.wrong.dedup();
    }

    /// Whether one line is renewed again and again.
    fn renews_line(&self) -> bool {
        let test = &self.view.test;
        test.flag("live1") && !test.flag("live1n") && !test.flag("nolive") && self.view.terminals.0
    }

    fn clear_line(&self, output: &mut Output<'_>) -> io::Result<()> {
        if self.renews_line() { self.print(live::CLEARED, output) } else { Ok(()) }
    }

    fn live(&mut self, live: &Live, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(live.phase).cloned() else { return Ok(()) };
        let now = LiveCounts::of(live, &part);
        if now.elapsed_ns <= self.before.elapsed_ns {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.before, now);
        let name = part.name.as_str();
        let test = &self.view.test;
        let line = live::line(&self.view, name, &part, &now, &before, self.busy_percent);
        if test.flag("live1n") && !test.flag("nolive") {
            writeln!(output.err, "{line}")?;
        } else if self.renews_line() {
            self.print(&format!("{}{line}", live::CLEARED), output)?;
        }
        let Some(path) = self.file("livecsv").map(String::from) else { return Ok(()) };
        let row = live::csv(
            &self.view,
            (name, self.phase_began_unix_ns),
            &part,
            (&now, &before),
            self.busy_percent,
        );
        let head = if self.view.labels.1 && !std::mem::replace(&mut self.has_live_head, true) {
            live::HEAD
        } else {
            ""
        };
        if path == STDOUT {
            write!(output.out, "{head}{row}")?;
            return output.out.flush();
        }
        write!(output.files.append(&path)?, "{head}{row}")
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for wrong in &record.errors {
            let text = message_text(wrong);
            if !self.wrong.contains(&text) {
                self.wrong.push(text);
            }
        }
        output.out.flush()?;
        for wrong in &self.wrong {
            let _ = writeln!(output.err, "ERROR: {}", wrong.trim_end());
        }
        if record.stopped_by.is_some() {
            let _ = writeln!(output.err, "Terminating due to interrupt signal.");
        } else if self.has_ended_by_time {
            let _ = writeln!(output.err, "Terminating due to phase time limit.");
        }
        Ok(())
    }
}

/// A message with what to do, in one line.
fn message_text(wrong: &Diagnostic) -> String {
    let hint = wrong.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}{hint}", wrong.message)
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                self.phase_began_unix_ns = started.at_unix_ns;
                Ok(())
            }
            Event::PhaseStarted { index, .. } => {
                self.before = LiveCounts::default();
                self.heading(*index, output)
            }
            Event::Live(live) => self.live(live, output),
            Event::Watched(sample) => {
                if let Some(cpu) = &sample.cpu {
                    self.busy_percent = (cpu.user_percent + cpu.system_percent) as u64;
                }
                Ok(())
            }
            Event::PhaseEnded(phase) => {
                self.phase_began_unix_ns += phase.elapsed_ns;
                self.phase(phase, output)
            }
            // At once: of a lost rank there may be no time to tell later. Nobody may be listening on standard error.
            Event::Message(wrong) => {
                let word = if wrong.level == Level::Error { "ERROR" } else { "NOTE" };
                let _ = writeln!(output.err, "{word}: {}", message_text(wrong));
                Ok(())
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}
