//! IOR's output format: what happens, as IOR 4.1 or 3 writes it down, or as JSON or CSV.
//!
//! ```text
//!   events ─► Report ─┬─ text or CSV as phases end        on standard output, or in summaryFile
//!                     ├─ JSON when all is over
//!                     ├─ tables of tasks and of transfers in files of their own
//!                     └─ errors, and what IOR would not say, on standard error
//! ```

mod columns;
mod facts;
mod json;
pub mod number;
mod operations;
mod outcome;
mod ranks;
pub(crate) mod text;
mod text3;
mod trouble;

use std::io;

use iodyno_model::{Event, Level, Machine, PhaseRecord, Plan, Record, RunStart, TargetFacts};
use iodyno_report::{Output, Reporter};

use super::lower::names;
use super::test::IorTest;
use super::view::{Access, ReportContext, TestPhase};
use crate::date::ctime;
use outcome::PhaseOutcome;
pub use text::VERSION;
pub use trouble::{message_text, missing};

/// What the phases of one test came to, for its report.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestResults {
    /// Whether its head was written.
    begun: bool,
    began: String,
    /// Its file system.
    facts: Option<TargetFacts>,
    /// What its phases came to.
    outcomes: Vec<PhaseOutcome>,
    /// Its warnings, without the word.
    warnings: Vec<String>,
}

/// The form of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Csv,
}

/// Writes IOR's report.
struct Report {
    view: ReportContext,
    form: Form,
    /// The file that results go to instead of standard output.
    file: Option<String>,
    results: Vec<TestResults>,
    started: Option<Box<RunStart>>,
    plan: Plan,
    /// Wall-clock time as far as events tell, ns since 1970.
    now_unix_ns: u64,
    /// Results that a test's last phase still has to follow.
    open: Option<usize>,
}

/// The reporter of a run.
pub fn reporter(view: ReportContext) -> Box<dyn Reporter> {
    let first = view.tests.first();
    let said = |name: &str| first.and_then(|test| test.settings.text(name));
    let form = match said("summaryFormat") {
        Some("JSON") => Form::Json,
        Some("CSV") => Form::Csv,
        _ => Form::Text,
    };
    let file = said("summaryFile").map(String::from);
    let results = view
        .tests
        .iter()
        .map(|test| TestResults { warnings: test.warnings.clone(), ..TestResults::default() });
    Box::new(Report {
        form,
        file,
        results: results.collect(),
        started: None,
        plan: Plan::default(),
        now_unix_ns: 0,
        open: None,
        view,
    })
}

impl Report {
    /// Writes results: to standard output, or the file that was named for them.
    fn results(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        match &self.file {
            Some(path) => output.files.file(path)?.write_all(text.as_bytes()),
            None => output.out.write_all(text.as_bytes()),
        }
    }

    fn say(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        if self.form == Form::Text { self.results(text, output) } else { Ok(()) }
    }

    fn now(&self) -> String {
        ctime(self.now_unix_ns, 0)
    }

    fn machine(&self) -> Machine {
        self.started.as_ref().map(|started| started.machine.clone()).unwrap_or_default()
    }

    /// `host(system)`.
    fn platform(&self) -> String {
        let machine = self.machine();
        format!("{}({})", machine.host, machine.kernel.split_whitespace().next().unwrap_or("Unknown"))
    }

    fn start(&mut self, started: &RunStart, output: &mut Output<'_>) -> io::Result<()> {
        self.started = Some(Box::new(started.clone()));
        self.plan = started.plan.clone();
        self.now_unix_ns = started.at_unix_ns;
        if let Some(path) = &self.file {
            writeln!(output.out, "Writing output to {path}")?;
        }
        let verbose = self.view.tests.first().map_or(0, IorTest::verbose);
        let machine = text::machine(&started.machine, verbose);
        let now = self.now();
        match (self.form, self.view.layout) {
            (Form::Text, 3) => self.results(&text3::head(&self.view.command, &now, &machine), output),
            (Form::Text, _) => self.results(&text::head(&self.view.command, &now, &machine), output),
            (Form::Csv, _) => self.results(&columns::csv_head(), output),
            (Form::Json, _) => Ok(()),
        }
    }

    /// A phase begins; with it perhaps its test.
    fn begin(&mut self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(index).copied() else { return Ok(()) };
        if !self.results[part.test].begun {
            self.begin_test(part.test, output)?;
        }
        let test = &self.view.tests[part.test];
        let delay = test.settings.decimal("interTestDelay");
        if test.verbose() > 0 && delay > 0.0 && matches!(part.access, Access::Write | Access::Read) {
            self.say(&format!("delayed {delay} seconds\n"), output)?;
        }
        operations::begin(part, &self.view.tests[part.test], output.files)
    }

    fn begin_test(&mut self, index: usize, output: &mut Output<'_>) -> io::Result<()> {
        self.end_test(output)?;
        let now = self.now();
        let platform = self.platform();
        let test = &self.view.tests[index];
        let name = names::template(test);
        let facts = self.started.as_ref().and_then(|started| {
            started.targets.iter().find(|facts| facts.target == name && facts.size_bytes.is_some()).cloned()
        });
        self.results[index].begun = true;
        self.results[index].began.clone_from(&now);
        self.results[index].facts.clone_from(&facts);
        self.open = Some(index);
        let head = match self.view.layout {
            3 => text3::test(test, &now),
            _ => text::test(test, &now, facts.as_ref(), &facts::parameters(test, &platform, self.view.bugs)),
        };
        self.say(&head, output)?;
        let mut early: Vec<String> = self.results[index].warnings.clone();
        if self.view.tests[index].verbose() > 1 {
            let signature = self.view.tests[index].signature;
            self.say(&format!("Used Time Stamp {signature} ({signature:#x}) for Data Signature\n"), output)?;
        }
        early.dedup();
        self.warn(&early, output)
    }

    fn warn(&self, warnings: &[String], output: &mut Output<'_>) -> io::Result<()> {
        for warning in warnings {
            match self.form {
                Form::Text => self.results(&format!("WARNING: {warning}\n"), output)?,
                // A table of values has no place for it; JSON has a list.
                Form::Csv => drop(writeln!(output.err, "WARNING: {warning}")),
                Form::Json => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index).copied() else { return Ok(()) };
        let began = phase.jobs.first().map_or(0, |job| job.began_unix_ns);
        self.now_unix_ns = self.now_unix_ns.max(began.saturating_add(phase.elapsed_ns));
        let test = &self.view.tests[part.test];
        let outcome = PhaseOutcome::of(phase, part, test);
        let warnings = trouble::warnings(phase, &outcome, part, test, &self.view.world);
        // Nobody may be listening on standard error.
        let wrong = trouble::ended(phase, &self.plan, part, test) + &trouble::cut_short(phase, part, test);
        let _ = output.err.write_all(wrong.as_bytes());
        self.row(&outcome, &warnings, part, output)?;
        self.beside(&outcome, part, output)?;
        self.results[part.test].warnings.extend(warnings);
        self.results[part.test].outcomes.push(outcome);
        Ok(())
    }

    fn row(
        &self,
        outcome: &PhaseOutcome,
        warnings: &[String],
        part: TestPhase,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let test = &self.view.tests[part.test];
        self.say(&text::worn(outcome), output)?;
        self.warn(warnings, output)?;
        if outcome.corrupt > 0 {
            let signature = test.signature;
            self.say(
                &format!("\nUsed Time Stamp {signature} ({signature:#x}) for Data Signature\n"),
                output,
            )?;
        }
        let removed = outcome.access == Some(Access::Remove);
        if matches!(part.access, Access::Check | Access::Prefill) {
            return Ok(());
        }
        if test.verbose() > 2 && !removed {
            self.say(&text::tasks(outcome), output)?;
        }
        match (self.form, self.view.layout) {
            (Form::Csv, _) => self.results(&columns::csv_row(outcome, test), output),
            (Form::Text, 4) if removed && test.verbose() == 0 => Ok(()),
            (Form::Text, layout) => self.results(&columns::row(outcome, test, layout), output),
            (Form::Json, _) => Ok(()),
        }?;
        match &self.file {
            Some(_) => Ok(()),
            None => output.out.flush(),
        }
    }

    /// What goes to files of its own.
    fn beside(&self, outcome: &PhaseOutcome, part: TestPhase, output: &mut Output<'_>) -> io::Result<()> {
        let test = &self.view.tests[part.test];
        if let Some(path) = test.settings.text("saveRankPerformanceDetailsCSV") {
            let first = self.results.iter().all(|results| results.outcomes.is_empty());
            let head = if first { ranks::HEAD } else { "" };
            output.files.file(path)?.write_all((head.to_string() + &ranks::rows(outcome)).as_bytes())?;
        }
        let status = test.settings.text("stoneWallingStatusFile").filter(|_| part.access == Access::Write);
        if let (Some(path), Some(worn)) = (status, outcome.worn) {
            writeln!(output.files.file(path)?, "{}", worn.transfers.1)?;
            output.files.close(path)?;
        }
        Ok(())
    }

    /// What follows the last row of a test.
    fn end_test(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let Some(index) = self.open.take() else { return Ok(()) };
        let (test, results) = (&self.view.tests[index], &self.results[index]);
        match self.view.layout {
            3 => self.say(&format!("\n{}", text::best(&results.outcomes)), output)?,
            _ if test.verbose() > 0 => self.say(&text::best(&results.outcomes), output)?,
            _ => {}
        }
        let named = test.settings.text("stoneWallingStatusFile").is_some();
        let worn = results.outcomes.iter().rev().find_map(|outcome| outcome.worn);
        if let Some(worn) = worn.filter(|_| !named) {
            let line = format!("Pairs deadlineForStonewallingaccessed: {}\n", worn.transfers.1);
            self.say(&line, output)?;
        }
        if test.flag("summaryAlways") && self.view.tests.len() > 1 {
            self.say(text::SUMMARY, output)?;
            self.say(&text::summary(test, &results.outcomes), output)?;
        }
        Ok(())
    }

    fn finish(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for error in record.errors.iter().filter(|_| self.started.is_none()) {
            // Nobody may be listening on standard error.
            let _ = output.err.write_all(message_text(error).as_bytes());
        }
        if self.started.is_none() {
            return Ok(());
        }
        self.end_test(output)?;
        let now = self.now();
        let (head, rows): (_, fn(&IorTest, &[PhaseOutcome]) -> String) = match self.view.layout {
            3 => (text3::SUMMARY, text3::summary),
            _ => (text::SUMMARY, text::summary),
        };
        let rows: String = self
            .view
            .tests
            .iter()
            .zip(&self.results)
            .map(|(test, results)| rows(test, &results.outcomes))
            .collect();
        let last = if self.view.layout == 3 { text3::finished(&now) } else { text::finished(&now) };
        self.say(&format!("{head}{rows}{last}"), output)?;
        if self.form == Form::Json {
            self.results(&self.document(record, &now), output)?;
        }
        if self.view.talks {
            // Nobody may be listening on standard error.
            let _ = output.err.write_all(self.cache().as_bytes());
        }
        output.out.flush()
    }

    fn document(&self, record: &Record, now: &str) -> String {
        let verbose = self.view.tests.first().map_or(0, IorTest::verbose);
        let began = ctime(self.started.as_ref().map_or(0, |started| started.at_unix_ns), 0);
        let errors: Vec<String> = record.errors.iter().map(|error| error.message.clone()).collect();
        let machine = (text::machine(&self.machine(), verbose), self.platform());
        let frame = json::Frame {
            view: &self.view,
            began: &began,
            finished: now,
            machine: (&machine.0, &machine.1),
            findings: &record.findings,
            demands: &record.demands,
            errors: &errors,
        };
        json::document(&frame, &self.results)
    }

    /// How much of what was read came from the page cache: what IOR never says.
    fn cache(&self) -> String {
        let line = |outcome: &PhaseOutcome| {
            let (cache, access) = (outcome.cache.as_ref()?, outcome.access?);
            let share = match cache.percent() {
                Some(percent) => format!("{percent:.0} % came from the page cache"),
                None => "cannot tell how much came from the page cache".to_string(),
            };
            Some(format!("cache: {} {}: {share} ({})\n", access.name(), outcome.repetition, cache.because))
        };
        self.results.iter().flat_map(|results| &results.outcomes).filter_map(line).collect()
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => self.start(started, output),
            Event::PhaseStarted { index, .. } => self.begin(*index, output),
            Event::Journal(journal) => match self.view.parts.get(journal.phase) {
                Some(part) => operations::write(journal, *part, &self.view.tests[part.test], output.files),
                None => Ok(()),
            },
            Event::PhaseEnded(phase) => self.end(phase, output),
            Event::Message(diagnostic) => {
                let word = if diagnostic.level == Level::Error { "ERROR" } else { "WARNING" };
                let text = message_text(diagnostic).replacen("ERROR", word, 1);
                // Nobody may be listening on standard error.
                let _ = output.err.write_all(text.as_bytes());
                Ok(())
            }
            Event::Ended(record) => self.finish(record, output),
            _ => Ok(()),
        }
    }
}
