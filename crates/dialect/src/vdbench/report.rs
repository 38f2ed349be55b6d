//! vdbench's output: what the console shows, and the folder of results.
//!
//! ```text
//!   events ─► interval figures ─┬─ rows      console, summary.html, NAME.html of each storage and workload
//!                               ├─ averages  the same, and totals.html, flatfile.html, histogram.html, skew.html
//!                               └─ messages  console, logfile.html, errorlog.html
//! ```
//! Averages leave out the first interval, or the warm-up where there is one. A folder is made when the first run begins.

mod figures;
mod flat;
mod histogram;
mod pages;
mod rows;

use std::io;

use iodyno_model::{CpuShares, Diagnostic, Event, JobRecord, PhaseRecord, Record, Sample};
use iodyno_report::{Output, Reporter};

use super::runs::RequestedRate;
use super::view::{ReportContext, RunView};
use crate::{date, strerror};
pub use histogram::buckets;
pub use pages::SIGNS;

use figures::{IntervalFigures, PhaseFigures};
use pages::Page;

/// Writes everything.
pub struct Report {
    view: ReportContext,
    began_unix_ns: u64,
    /// Since the start, as far as events tell, ns.
    now_ns: u64,
    run: Option<CurrentRun>,
    /// Operations per second of each run, in the order of the phases; 0 before it was done.
    reached: Vec<f64>,
    pages: Vec<String>,
    errors: u64,
    has_begun: bool,
    cpu: Option<CpuShares>,
    /// Messages that were told when they came.
    told: Vec<String>,
}

/// The run that goes on.
struct CurrentRun {
    index: usize,
    began_ns: u64,
    /// Figures by the names of reports: `summary`, and each job's storage and workload.
    figures: PhaseFigures,
    /// The number of the last interval that was told.
    told: u64,
    /// Sums of processor shares over the intervals that count, and how many.
    cpu: (f64, f64, u32),
}

/// The reporter of a command.
pub fn reporter(view: ReportContext) -> Box<dyn Reporter> {
    let reached = vec![0.0; view.runs.len()];
    Box::new(Report {
        view,
        began_unix_ns: 0,
        now_ns: 0,
        run: None,
        reached,
        pages: Vec::new(),
        errors: 0,
        has_begun: false,
        cpu: None,
        told: Vec::new(),
    })
}

impl Report {
    /// The time of day of a moment after the start, to the millisecond.
    fn clock(&self, after_ns: u64) -> String {
        let unix_ns = self.began_unix_ns + after_ns;
        format!("{}.{:03}", &date::stamp(unix_ns, self.view.east_s)[11..], unix_ns / 1_000_000 % 1000)
    }

    /// `Jan 24, 2019`.
    fn day(&self) -> String {
        let text = date::ctime(self.began_unix_ns + self.now_ns, self.view.east_s);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [_, month, day, _, year] => format!("{month} {day:0>2}, {year}"),
            _ => text,
        }
    }

    fn write(&mut self, page: &str, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        let path = format!("{}/{page}", self.view.folder);
        if !self.pages.contains(&path) {
            let head = self.heading(page);
            output.files.file(&path)?.write_all(head.as_bytes())?;
            self.pages.push(path.clone());
        }
        // Who watches a run reads its pages while it goes on.
        let file = output.files.file(&path)?;
        file.write_all(text.as_bytes())?;
        file.flush()
    }

    fn heading(&self, page: &str) -> String {
        let began = date::ctime(self.began_unix_ns, self.view.east_s);
        pages::heading(page, &began, &self.view)
    }

    /// A line for the console and the log.
    fn say(&mut self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        let line = format!("{} {text}\n", self.clock(self.now_ns));
        output.out.write_all(line.as_bytes())?;
        self.write("logfile.html", &line, output)
    }

    fn started(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        output.files.folder(&self.view.folder)?;
        output.out.write_all(pages::banner().as_bytes())?;
        for word in self.view.words.clone() {
            self.say(&format!("input argument scanned: '{word}'"), output)?;
        }
        for page in pages::FIRST {
            self.write(page, "", output)?;
        }
        let lines: String = self.view.lines.iter().map(|line| format!("{line}\n")).collect();
        self.write("parmfile.html", &lines, output)?;
        self.write("parmscan.html", &lines, output)?;
        self.say("All slaves are now connected", output)?;
        let flat = flat::heading(self.view.of_files);
        self.write("flatfile.html", &flat, output)
    }

    fn phase_started(&mut self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.started(output)?;
        }
        let index = index % self.view.runs.len().max(1);
        let Some(run) = self.view.runs.get(index).cloned() else { return Ok(()) };
        let starting = format!("Starting RD={}{}", run.title, self.starting(&run));
        self.say(&starting, output)?;
        let line = format!("\n{} {starting}\n", self.clock(self.now_ns));
        for page in ["summary.html", "totals.html", "histogram.html"] {
            self.write(page, &line, output)?;
        }
        let head = rows::heading(&self.day(), &self.view);
        output.out.write_all(head.as_bytes())?;
        self.write("summary.html", &head, output)?;
        output.out.flush()?;
        let figures = PhaseFigures::default();
        self.run = Some(CurrentRun { index, began_ns: self.now_ns, figures, told: 0, cpu: (0.0, 0.0, 0) });
        Ok(())
    }

    /// What follows a run's name at its start.
    fn starting(&self, run: &RunView) -> String {
        let elapsed = match run.times {
            _ if run.is_format => "; elapsed=(none)".to_string(),
            times if times.warmup > 0 => format!("; elapsed={} warmup={}", times.elapsed, times.warmup),
            times => format!("; elapsed={}", times.elapsed),
        };
        let number = self.requested(run);
        match (self.view.of_files, run.rate) {
            (true, _) if run.is_format => String::new(),
            (true, RequestedRate::Max) => format!("{elapsed}; fwdrate=max. For loops: {}", run.loops),
            (true, RequestedRate::Curve) => format!("{elapsed}; fwdrate=curve. For loops: {}", run.loops),
            (true, _) => format!("{elapsed}; fwdrate={number:.0}; For loops: {}", run.loops),
            (false, RequestedRate::Max) => {
                format!("; I/O rate: Uncontrolled MAX{elapsed}; For loops: {}", run.loops)
            }
            (false, RequestedRate::Curve) => {
                format!("; I/O rate: Uncontrolled curve{elapsed}; For loops: {}", run.loops)
            }
            (false, _) => format!("; I/O rate: {number:.0}{elapsed}; For loops: {}", run.loops),
        }
    }

    /// The rate that is asked for, operations per second; of a maximum the number that stands for it.
    fn requested(&self, run: &RunView) -> f64 {
        match run.rate {
            RequestedRate::Max => 9_999_988.0,
            RequestedRate::Curve => 9_999_977.0,
            RequestedRate::Number(rate) => rate,
            RequestedRate::Percent { percent, .. } => {
                self.reached.get(run.base).copied().unwrap_or(0.0) * percent / 100.0
            }
        }
    }

    /// An interval has ended, unless it is too early for that: what was done since the one before is told.
    fn interim(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(current) = &self.run else { return Ok(()) };
        let Some(run) = self.view.runs.get(current.index) else { return Ok(()) };
        let interval_ns = run.times.interval.max(1) * super::settings::SECOND;
        // The program may have been late; a tenth of an interval early is what clocks are off.
        let reached = (phase.elapsed_ns + interval_ns / 10) / interval_ns;
        let last = if run.is_format {
            u64::MAX
        } else {
            (run.times.elapsed + run.times.warmup) / run.times.interval.max(1)
        };
        if reached <= current.told || reached >= last {
            return Ok(());
        }
        self.tell(phase, reached, output)
    }

    /// One row for each report.
    fn tell(&mut self, phase: &PhaseRecord, number: u64, output: &mut Output<'_>) -> io::Result<()> {
        let cpu = self.cpu;
        let Some(mut current) = self.run.take() else { return Ok(()) };
        let run = self.view.runs[current.index].clone();
        self.now_ns = current.began_ns + phase.elapsed_ns;
        let counts = number > first_counted(&run);
        current.figures.take(phase, counts);
        current.told = number;
        if let Some(cpu) = cpu.as_ref().filter(|_| counts) {
            current.cpu.0 += cpu.user_percent + cpu.system_percent;
            current.cpu.1 += cpu.system_percent;
            current.cpu.2 += 1;
        }
        let shares = cpu.map(|cpu| (cpu.user_percent + cpu.system_percent, cpu.system_percent));
        let clock = self.clock(self.now_ns);
        let label = number.to_string();
        for (name, figures) in current.figures.last_of_each() {
            let shares = shares.filter(|_| name == "summary");
            let row = rows::row(&clock, &label, &figures, shares, (&run, &self.view));
            self.row(&name, &row, output)?;
        }
        let all = current.figures.last();
        let flat = self.flat_row(&clock, &label, &run, (&all, shares));
        self.write("flatfile.html", &flat, output)?;
        output.out.flush()?;
        self.run = Some(current);
        Ok(())
    }

    fn row(&mut self, name: &str, row: &str, output: &mut Output<'_>) -> io::Result<()> {
        if name == "summary" {
            output.out.write_all(row.as_bytes())?;
        }
        let page = format!("{name}.html");
        let path = format!("{}/{page}", self.view.folder);
        if !self.pages.contains(&path) {
            let head = rows::heading(&self.day(), &self.view);
            self.write(&page, &head, output)?;
        }
        self.write(&page, row, output)
    }

    fn flat_row(
        &self,
        clock: &str,
        label: &str,
        run: &RunView,
        told: (&IntervalFigures, Option<(f64, f64)>),
    ) -> String {
        let stamp = date::stamp(self.began_unix_ns + self.now_ns, self.view.east_s);
        flat::row((clock, &stamp, label), run, self.requested(run), told, &self.view)
    }

    fn phase_ended(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(current) = &self.run else { return Ok(()) };
        let run = self.view.runs[current.index].clone();
        let interval_ns = run.times.interval.max(1) * super::settings::SECOND;
        let number = ((phase.elapsed_ns + interval_ns / 2) / interval_ns).max(current.told + 1);
        self.tell(phase, number, output)?;
        let Some(current) = self.run.take() else { return Ok(()) };
        let first = if number > first_counted(&run) { first_counted(&run) + 1 } else { 1 };
        let label = format!("avg_{first}-{number}");
        let clock = self.clock(self.now_ns);
        let count = f64::from(current.cpu.2.max(1));
        let shares = (current.cpu.2 > 0).then_some((current.cpu.0 / count, current.cpu.1 / count));
        let averages = current.figures.counted_of_each();
        for (name, figures) in &averages {
            let shares = shares.filter(|_| name == "summary");
            let row = rows::row(&clock, &label, figures, shares, (&run, &self.view));
            self.row(name, &row, output)?;
            if name == "summary" {
                self.write("totals.html", &(rows::heading(&self.day(), &self.view) + &row), output)?;
            }
        }
        let all = current.figures.counted();
        self.reached[current.index] = all.requested_rate(&run.requested);
        let flat = self.flat_row(&clock, &label, &run, (&all, shares));
        self.write("flatfile.html", &flat, output)?;
        for (title, latency) in all.histograms() {
            let text = histogram::text(&title, &latency, &self.view.buckets);
            self.write("histogram.html", &text, output)?;
        }
        let skew = pages::skew(&run.title, &averages, &run.requested);
        self.write("skew.html", &skew, output)?;
        self.failures(phase, output)?;
        output.out.flush()
    }

    /// What went wrong in a run: each kind of error, and each place whose content is not what was written.
    fn failures(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        for job in &phase.jobs {
            self.errors += job.tally.failed();
            for line in failures(job) {
                self.say(&line, output)?;
                let line = format!("{} {line}\n", self.clock(self.now_ns));
                self.write("errorlog.html", &line, output)?;
            }
        }
        Ok(())
    }

    fn message(&mut self, message: &Diagnostic, output: &mut Output<'_>) -> io::Result<()> {
        self.told.push(message.message.clone());
        if !self.has_begun {
            return writeln!(output.err, "{message}");
        }
        let text = message.to_string();
        self.write("logfile.html", &format!("{text}\n"), output)?;
        writeln!(output.err, "{text}")
    }

    fn ended(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for error in record.errors.iter().filter(|error| !self.told.contains(&error.message)) {
            writeln!(output.err, "{error}")?;
        }
        if !self.has_begun {
            return Ok(());
        }
        let folder = self.view.folder.clone();
        let end = match record.stopped_by {
            Some(_) => format!("Vdbench was interrupted. Output directory: {folder}"),
            None if !record.errors.is_empty() || self.errors > 0 => {
                format!("Vdbench ended with {} errors. Output directory: {folder}", self.errors.max(1))
            }
            None => format!("Vdbench execution completed successfully. Output directory: {folder}"),
        };
        self.say(&end, output)?;
        let line = format!("{} {end}\n", self.clock(self.now_ns));
        self.write("summary.html", &line, output)?;
        for path in std::mem::take(&mut self.pages) {
            if Page::of(&path).is_html {
                output.files.file(&path)?.write_all(b"</pre>\n")?;
            }
            output.files.close(&path)?;
        }
        output.out.flush()
    }
}

/// The intervals that do not count for averages: the warm-up, or the first one.
fn first_counted(run: &RunView) -> u64 {
    match run.times.warmup {
        0 => 1,
        warmup => warmup / run.times.interval.max(1),
    }
}

/// Errors of a job, a line each.
fn failures(job: &JobRecord) -> Vec<String> {
    let errors = job.tally.errors.iter().map(|error| {
        let what = match iodyno_model::tally::corruption(error.errno) {
            Some(kind) => format!("Data Validation error, {kind}"),
            None => strerror::of(error.errno).to_string(),
        };
        format!(
            "{}: op: {}, count: {}, lba: {:#x}: {what}",
            job.name, error.verb, error.count, error.first_offset
        )
    });
    let failed = job.workers.iter().filter_map(|worker| worker.failure.clone());
    let failed = failed.map(|failure| format!("{}: {failure}", job.name));
    let complaints = job.workers.iter().flat_map(|worker| worker.complaints.iter());
    let complaints = complaints.map(|text| format!("{}: {text}", job.name));
    errors.chain(failed).chain(complaints).collect()
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                Ok(())
            }
            Event::PhaseStarted { index, .. } => self.phase_started(*index, output),
            Event::Watched(sample) => {
                self.watched(sample);
                Ok(())
            }
            Event::Interim(phase) => self.interim(phase, output),
            Event::PhaseEnded(phase) => self.phase_ended(phase, output),
            Event::Message(message) => self.message(message, output),
            Event::Ended(record) => self.ended(record, output),
            _ => Ok(()),
        }
    }
}

impl Report {
    fn watched(&mut self, sample: &Sample) {
        self.cpu.clone_from(&sample.cpu);
    }
}
