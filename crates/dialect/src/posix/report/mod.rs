//! Reports of a run: what happens to a summary, TAP, JUnit and JSON.
//!
//! ```text
//!   Started ─► Event::Cases … ─► PhaseEnded (a directory each) ─► Ended
//!                   │                                              │
//!                   ├─► tap: a line a case, in order                ├─► judge ─► summary, junit, json
//!                   └─► progress on a terminal                      └─► differences from the baseline
//! ```

pub mod baseline;
pub mod causes;
pub mod earlier;
pub mod failures;
pub mod json;
pub mod junit;
pub mod summary;
pub mod tap;

use std::io;
use std::sync::Arc;

use iodyno_model::{CaseRecord, Event, JobRecord, Machine, PhaseRecord, Record};
use iodyno_report::{Output, Reporter};

use super::exercise::{self, ExerciseResult};
use super::judge::{self, CheckOutcome, Judgement};
use super::lower::JOB;
use super::settings::{CheckedDirectory, Setup};

/// What became of one directory.
#[derive(Clone, Debug, Default)]
pub struct DirectoryResults {
    /// Each case that ended.
    pub records: Vec<CaseRecord>,
    /// Features and why they are missing, where they are.
    pub features: Vec<(String, Option<String>)>,
    /// How long it took, ns; 0: it has not ended.
    pub elapsed_ns: u64,
    /// Jobs that ran beside, with what they did.
    pub beside: Vec<String>,
    /// What kept the cases from running at all.
    pub failure: Option<String>,
    /// All of it, judged.
    pub judgement: Judgement,
}

/// What reports know in the end.
#[derive(Clone, Debug, Default)]
pub struct SuiteResults {
    /// What was asked for.
    pub setup: Arc<Setup>,
    /// Each directory, in the order of [`Setup::sides`].
    pub answers: Vec<DirectoryResults>,
    /// What became of the exercises.
    pub exercises: Vec<ExerciseResult>,
    pub machine: Machine,
    /// Wall-clock time of the start, ns since 1970.
    pub at_unix_ns: u64,
    /// What went wrong with the run itself.
    pub errors: Vec<String>,
    /// The signal that ended it early.
    pub stopped_by: Option<i32>,
}

impl SuiteResults {
    /// The directories with what became of them.
    pub fn sides(&self) -> impl Iterator<Item = (&CheckedDirectory, &DirectoryResults)> {
        self.setup.sides.iter().zip(&self.answers)
    }

    /// The first directory and what became of it.
    pub fn first(&self) -> Option<(&CheckedDirectory, &DirectoryResults)> {
        self.sides().next()
    }

    /// What speaks against the file system; what could not run because the run was ended does not.
    pub fn bad_kinds(&self) -> &'static [CheckOutcome] {
        if self.stopped_by.is_some() {
            &[CheckOutcome::Fail]
        } else {
            &[CheckOutcome::Fail, CheckOutcome::CouldNotRun, CheckOutcome::TimedOut]
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        if let Some(signal) = self.stopped_by {
            return (128 + signal) as u8;
        }
        let Some((_, answer)) = self.first() else { return 1 };
        let strict = self.setup.options.suite.strict && !answer.judgement.unmet.is_empty();
        let exercised = self.exercises.iter().all(ExerciseResult::is_good);
        u8::from(
            !exercised
                || !answer.judgement.is_good()
                || !self.errors.is_empty()
                || strict
                || answer.failure.is_some(),
        )
    }
}

/// What a phase's record says of its cases.
fn answer(setup: &Setup, index: usize, record: &PhaseRecord) -> DirectoryResults {
    let mut answer = DirectoryResults { elapsed_ns: record.elapsed_ns, ..DirectoryResults::default() };
    for job in &record.jobs {
        if job.name == JOB {
            answer.records.clone_from(&job.cases);
            answer.features.clone_from(&job.features);
            answer.failure = job.workers.iter().find_map(|worker| worker.failure.clone());
        } else {
            answer.beside.push(beside(job));
        }
    }
    let profile = setup.sides.get(index).and_then(|side| side.profile.as_ref());
    answer.judgement = judge::judge(&setup.suite.cases, &answer.records, &answer.features, profile);
    answer
}

/// A job of the load in a sentence.
fn beside(job: &JobRecord) -> String {
    let operations: u64 = job.workers.iter().map(|worker| worker.operations).sum();
    let failure = job.workers.iter().find_map(|worker| worker.failure.as_deref());
    let ended = failure.map_or_else(String::new, |failure| format!(", ended by: {failure}"));
    format!("{}: {operations} operations, {} bytes{ended}", job.name, job.tally.all_bytes())
}

/// Whether a phase is one of rules, rather than an exercise.
fn is_of_rules(phase: &PhaseRecord) -> bool {
    phase.jobs.iter().any(|job| job.name == JOB)
}

/// What became of the directories of a whole run.
pub fn results(setup: &Arc<Setup>, record: &Record) -> SuiteResults {
    let mut answers = vec![DirectoryResults::default(); setup.sides.len()];
    for (index, place) in answers.iter_mut().enumerate() {
        match record.phases.iter().find(|phase| phase.index == index && is_of_rules(phase)) {
            Some(phase) => *place = answer(setup, index, phase),
            None => {
                place.judgement =
                    judge::judge(&setup.suite.cases, &[], &[], setup.sides[index].profile.as_ref())
            }
        }
    }
    SuiteResults {
        setup: Arc::clone(setup),
        answers,
        exercises: exercise::results(&setup.exercises, &record.phases),
        machine: record.machine.clone(),
        at_unix_ns: 0,
        errors: record.errors.iter().map(ToString::to_string).collect(),
        stopped_by: record.stopped_by,
    }
}

/// Reports while it happens, and in the end.
pub struct Reports {
    setup: Arc<Setup>,
    machine: Machine,
    at_unix_ns: u64,
    /// The phase that runs.
    phase: usize,
    tap: tap::Tap,
    /// Cases that have ended, and those of them that failed, in this phase.
    progress: (usize, usize),
    /// Whether the line on the terminal is ours.
    line: bool,
}

impl Reports {
    /// Of a run that has not begun.
    pub fn new(setup: Arc<Setup>) -> Self {
        let tap = tap::Tap::new(setup.suite.cases.len());
        Reports {
            setup,
            machine: Machine::default(),
            at_unix_ns: 0,
            phase: 0,
            tap,
            progress: (0, 0),
            line: false,
        }
    }

    fn cases(&mut self, records: &[CaseRecord], output: &mut Output<'_>) -> io::Result<()> {
        let setup = Arc::clone(&self.setup);
        let profile = setup.sides.get(self.phase).and_then(|side| side.profile.as_ref());
        for record in records {
            let Some(case) = setup.suite.cases.get(record.case) else { continue };
            let result = judge::case(case, Some(record), profile);
            self.progress.0 += 1;
            self.progress.1 += usize::from(result.is_bad());
            if setup.options.suite.verbose && !setup.options.suite.tap {
                self.clear(output)?;
                writeln!(output.err, "{}", summary::case_line(case, &result))?;
            }
            if setup.options.suite.tap && self.phase == 0 {
                self.tap.ended(&setup, record.case, result, output.out)?;
            }
        }
        self.show(output)
    }

    /// The line on a terminal.
    fn show(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if !self.setup.terminal {
            return Ok(());
        }
        let (ended, bad) = self.progress;
        let all = self.setup.suite.cases.len();
        let bad = if bad == 0 { String::new() } else { format!(", {bad} with failures") };
        let folder = self.setup.sides.get(self.phase).map_or("", |side| side.folder.as_str());
        write!(output.err, "\r\x1b[K{folder}: {ended} of {all} cases{bad}")?;
        self.line = true;
        output.err.flush()
    }

    fn clear(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.line) {
            write!(output.err, "\r\x1b[K")?;
        }
        Ok(())
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        self.clear(output)?;
        let mut results = results(&self.setup, record);
        results.machine.clone_from(&self.machine);
        results.at_unix_ns = self.at_unix_ns;
        let options = &self.setup.options;
        match options.suite.tap {
            true => self.tap.end(&results, output.out)?,
            false => output.out.write_all(summary::text(&results).as_bytes())?,
        }
        if let Some(path) = &options.suite.junit {
            output.files.file(path)?.write_all(&junit::xml(&results)?)?;
        }
        if let Some(path) = &options.suite.json {
            output.files.file(path)?.write_all(json::text(&results)?.as_bytes())?;
        }
        Ok(())
    }
}

impl Reporter for Reports {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.machine.clone_from(&started.machine);
                self.at_unix_ns = started.at_unix_ns;
                if self.setup.options.suite.tap {
                    self.tap.begin(&self.setup, output.out)?;
                }
                self.show(output)
            }
            Event::PhaseStarted { index, .. } => {
                self.phase = *index;
                self.progress = (0, 0);
                Ok(())
            }
            Event::Cases(0, records) => self.cases(records, output),
            Event::Message(message) => {
                self.clear(output)?;
                writeln!(output.err, "{message}")
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}
