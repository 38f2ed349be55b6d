//! md-workbench's output: the head, a line for each phase, and the end. Errors are printed on standard error.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, Histogram, JobRecord, JournalPart, PhaseRecord, Record};
use iodyno_report::{Output, Reporter};

use super::latencies;
use super::results::PhaseTotals;
use super::view::{PhaseRole, ReportContext, TestPhase};
use crate::date::stamp;
use crate::mdtest::report::{message_text, refuse};
use crate::quantity::scientific;
use crate::strerror;

/// The version that reports name, with our name behind it.
pub const VERSION: &str = "4.1.0+iodyno";

const MIB: f64 = 1_048_576.0;

/// Latencies below this are not printed, seconds.
const LEAST_S: f64 = 1e-9;

/// Writes the report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    view: ReportContext,
    began_unix_ns: u64,
    elapsed_ns: u64,
    /// What making the data sets came to, until the objects are made: of all tasks, and of each.
    sets: Option<(PhaseTotals, Vec<PhaseTotals>)>,
    /// Objects that the working set has moved on.
    moved: u64,
    has_begun: bool,
    failed: Vec<String>,
}

impl Report {
    pub fn new(view: ReportContext) -> Self {
        Report { view, ..Report::default() }
    }

    fn is_quiet(&self) -> bool {
        self.view.test.flag("q")
    }

    /// Everything before the first phase.
    fn head(&self) -> String {
        let test = &self.view.test;
        let mut text = String::new();
        if !self.is_quiet() {
            text += &format!("Args: {}", self.view.command.first().map_or("md-workbench", String::as_str));
            self.view.command.iter().skip(1).for_each(|word| text += &format!(" \"{word}\""));
            text += &format!("\nNodemap: {}\n", test.node_map);
        }
        if test.settings.count("start-item") > 0 {
            text += &format!("Using start position {}\n", test.start);
        }
        if self.is_quiet() {
            return text;
        }
        let (tasks, sets) = (u64::from(test.tasks), u64::from(test.sets));
        let all = sets * (test.objects * u64::from(test.iterations) + test.precreated) * tasks;
        let mib = tasks as f64 * sets as f64 * test.precreated as f64 * test.bytes as f64 / MIB;
        let _ = writeln!(
            text,
            "MD-Workbench total objects: {all} workingset size: {mib:.3} MiB (version: {VERSION}) time: {}",
            stamp(self.began_unix_ns, 0)
        );
        test.warnings.iter().for_each(|warning| text += &format!("WARNING: {warning}\n"));
        if test.flag("print-detailed-stats") {
            text += "phase\t\td name\tcreate\tdelete\tob nam\tcreate\tread\tstat\tdelete\tt_inc_b\tt_no_bar\tthp\tmax_t\n";
        }
        text
    }

    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index).copied() else { return Ok(()) };
        let Some(job) = phase.jobs.first() else { return Ok(()) };
        let each = self.view.test.flag("process-reports");
        let of_tasks =
            || (0..if each { job.workers.len() } else { 0 }).map(|place| PhaseTotals::of_task(job, place));
        if part.role == PhaseRole::Hidden {
            if job.tally.failed() > 0 {
                writeln!(output.out, "Unable to remove directory {}", self.view.test.directory)?;
            }
            return Ok(());
        }
        self.note_failures(phase);
        if part.role == PhaseRole::Sets {
            self.sets = Some((PhaseTotals::of(job), of_tasks().collect()));
            return Ok(());
        }
        let (mut totals, mut tasks) = (PhaseTotals::of(job), of_tasks().collect::<Vec<_>>());
        if let Some((of_all, of_each)) = self.sets.take() {
            totals = totals.with(&of_all);
            tasks = tasks.into_iter().zip(&of_each).map(|(task, sets)| task.with(sets)).collect();
        }
        let stonewall = self.stonewall(part, job, output)?;
        writeln!(output.out, "{}", self.lines(part, &totals, stonewall, true))?;
        for (worker, task) in job.workers.iter().zip(&tasks) {
            writeln!(output.out, "{}: {}", worker.index, self.lines(part, task, stonewall, false))?;
        }
        output.out.flush()
    }

    /// Iterations that were done until all were done with theirs, where time ended them; takes note of how far it came.
    fn stonewall(
        &mut self,
        part: TestPhase,
        job: &JobRecord,
        output: &mut Output<'_>,
    ) -> io::Result<Option<u64>> {
        let test = &self.view.test;
        if part.role != PhaseRole::Benchmark {
            return Ok(None);
        }
        let worn = job.worn.map(|worn| (worn.operations_most, worn.at_ns));
        let done = worn.map_or(test.objects, |(done, _)| done);
        self.moved += if test.flag("read-only") { 0 } else { done };
        let Some((done, at_ns)) = worn else { return Ok(None) };
        let is_hit = done < test.objects;
        if is_hit && test.flag("W") {
            writeln!(output.out, "stonewall wear out {:.6}s ({done} iter)", at_ns as f64 / 1e9)?;
        }
        Ok((is_hit || test.flag("W")).then_some(done))
    }

    /// The line of a phase, of all tasks or of one; with detailed statistics a second one tells failures.
    fn lines(&self, part: TestPhase, totals: &PhaseTotals, stonewall: Option<u64>, all: bool) -> String {
        match self.view.test.flag("print-detailed-stats") {
            true => self.detailed(part, totals),
            false => self.line(part, totals, stonewall, all),
        }
    }

    fn detailed(&self, part: TestPhase, totals: &PhaseTotals) -> String {
        let counts = |of: fn(&super::results::OperationCount) -> u64| {
            let PhaseTotals { sets_made, sets_removed, created, read, looked_at, deleted, .. } = totals;
            let all = [sets_made, sets_removed, created, read, looked_at, deleted];
            all.map(|count| of(count).to_string()).join("\t")
        };
        let (seconds, name) = (totals.seconds(), part.role.name());
        let mut text = format!(
            "{name} \t{}\t{seconds:.3}s\t{seconds:.3}s\t{:.2} MiB/s {}",
            counts(|count| count.done),
            self.mib_per_s(totals),
            scientific(totals.longest(), 4)
        );
        if totals.failed() > 0 {
            text += &format!("\n{name} err\t{}", counts(|count| count.failed));
        }
        text
    }

    fn mib_per_s(&self, totals: &PhaseTotals) -> f64 {
        let objects = totals.created.done + totals.read.done;
        per_second(objects as f64 * self.view.test.bytes as f64 / MIB, totals.seconds())
    }

    fn line(&self, part: TestPhase, totals: &PhaseTotals, stonewall: Option<u64>, all: bool) -> String {
        let seconds = totals.seconds();
        let rate = |count: u64| per_second(count as f64, seconds);
        let mut text = format!("{} process max:{seconds:.2}s ", part.role.name());
        if all {
            text += &spread(&totals.times);
        }
        let PhaseTotals { sets_made, sets_removed, created, read, looked_at, deleted, .. } = totals;
        let (mib_per_s, longest) = (self.mib_per_s(totals), scientific(totals.longest(), 4));
        match part.role {
            PhaseRole::Benchmark => {
                let each = if self.view.test.flag("read-only") { 2 } else { 4 };
                let _ = write!(
                    text,
                    "rate:{:.1} iops/s objects:{} rate:{:.1} obj/s tp:{mib_per_s:.1} MiB/s op-max:{longest}s",
                    rate(read.done * each),
                    read.done,
                    rate(read.done)
                );
                if part.waiting > LEAST_S {
                    let _ = write!(text, " waiting_factor:{:.2}", part.waiting);
                }
            }
            PhaseRole::Cleanup => {
                let _ = write!(
                    text,
                    "rate:{:.1} iops/s objects:{} dsets: {} rate:{:.1} obj/s rate:{:.3} dset/s op-max:{longest}s",
                    rate(deleted.done + sets_removed.done),
                    deleted.done,
                    sets_removed.done,
                    rate(deleted.done),
                    rate(sets_removed.done)
                );
            }
            PhaseRole::Precreate | PhaseRole::Sets | PhaseRole::Hidden => {
                let _ = write!(
                    text,
                    "rate:{:.1} iops/s dsets: {} objects:{} rate:{:.3} dset/s rate:{:.1} obj/s tp:{mib_per_s:.1} MiB/s \
                     op-max:{longest}s",
                    rate(sets_made.done + created.done),
                    sets_made.done,
                    created.done,
                    rate(sets_made.done),
                    rate(created.done)
                );
            }
        }
        let failed = totals.failed();
        if !self.is_quiet() || failed > 0 {
            text += &format!(" ({failed} errs{})", if failed > 0 { "!!!" } else { "" });
        }
        if let Some(done) = stonewall.filter(|_| !self.is_quiet()) {
            text += &format!(" stonewall-iter:{done}");
        }
        for (name, count) in [("read", read), ("stat", looked_at), ("create", created), ("delete", deleted)] {
            text += &quantiles(name, &count.latency);
        }
        text
    }

    fn note_failures(&mut self, phase: &PhaseRecord) {
        let ignores = self.view.test.flag("ignore-precreate-errors");
        let is_precreate = self
            .view
            .parts
            .get(phase.index)
            .is_some_and(|part| matches!(part.role, PhaseRole::Sets | PhaseRole::Precreate));
        for job in phase.jobs.iter().filter(|_| !(ignores && is_precreate)) {
            for error in &job.tally.errors {
                self.failed.push(format!(
                    "{}, iteration {}: {} operations failed: {}; the first on object {}",
                    phase.name,
                    phase.repetition + 1,
                    error.count,
                    strerror::of(error.errno),
                    error.first_offset
                ));
            }
            for worker in &job.workers {
                self.failed
                    .extend(worker.complaints.iter().map(|text| format!("task {}: {text}", worker.index)));
            }
        }
    }

    /// Latencies of single operations, each kind in a file of its own.
    fn journal(&self, entries: &JournalPart, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(entries.phase) else { return Ok(()) };
        if entries.worker > 0 && !self.view.test.flag("latency-all") {
            return Ok(());
        }
        for (verb, path) in latencies::paths(&self.view, *part) {
            write!(output.files.file(&path)?, "{}", latencies::rows(entries, verb))?;
        }
        Ok(())
    }

    /// Makes the files of a phase's latencies, each with its heading.
    fn headings(&self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(index) else { return Ok(()) };
        for (_, path) in latencies::paths(&self.view, *part) {
            writeln!(output.files.file(&path)?, "{}", latencies::HEADING)?;
        }
        Ok(())
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if self.began_unix_ns == 0 {
            return refuse(record, output);
        }
        if !self.has_begun {
            // Nothing was run, and the reason is printed already.
            return Ok(());
        }
        let test = &self.view.test;
        if !test.does.cleanup {
            let path = test.settings.text("run-info-file").unwrap_or_default();
            writeln!(output.files.file(path)?, "pos: {}", test.start + self.moved)?;
        }
        if !self.is_quiet() {
            let now = stamp(self.began_unix_ns + self.elapsed_ns, 0);
            writeln!(output.out, "Total runtime: {:.0}s time: {now}", self.elapsed_ns as f64 / 1e9)?;
        }
        output.out.flush()?;
        self.failed.iter().try_for_each(|failed| writeln!(output.err, "ERROR: {failed}"))
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                write!(output.out, "{}", self.head())?;
                output.out.flush()
            }
            Event::PhaseStarted { index, .. } => {
                self.has_begun = true;
                self.headings(*index, output)
            }
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

/// A rate; 0 where no time passed.
fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

/// How evenly the tasks ended: the balance is the quickest one's share of the slowest one's time.
fn spread(times: &[f64]) -> String {
    let (min, max) =
        (times.iter().copied().fold(f64::INFINITY, f64::min), times.iter().copied().fold(0.0, f64::max));
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = if times.len() > 1 { (squares / (times.len() - 1) as f64).sqrt() } else { 0.0 };
    let (min, balance) = if max > 0.0 { (min, min / max * 100.0) } else { (0.0, 0.0) };
    format!("min:{min:.2}s mean: {mean:.2}s balance:{balance:.1} stddev:{deviation:.1} ")
}

/// Least, quartiles, 90 and 99 percent, and most; nothing where there is none.
fn quantiles(name: &str, latency: &Histogram) -> String {
    let seconds = |ns: u64| scientific(ns as f64 / 1e9, 4);
    if latency.is_empty() || latency.max as f64 / 1e9 <= LEAST_S {
        return String::new();
    }
    let between = [25.0, 50.0, 75.0, 90.0, 99.0].map(|percent| latency.percentile(percent));
    let all = [&[latency.min][..], &between, &[latency.max]].concat();
    let texts: Vec<String> = all.into_iter().map(|ns| format!("{}s", seconds(ns))).collect();
    format!(" {name}({})", texts.join(", "))
}
