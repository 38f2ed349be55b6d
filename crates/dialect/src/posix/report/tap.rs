//! TAP version 13: a line for each case in the suite's order, so that its number is always the same.
//!
//! A case that ends before an earlier one waits for it. What is not applicable is a skip with its reason; what the profile
//! expects is a TODO.

use std::io::{self, Write};

use iodyno_model::Case;

use super::super::exercise::ExerciseResult;
use super::super::judge::{CaseResult, CheckOutcome};
use super::super::settings::Setup;
use super::SuiteResults;
use super::summary::COLUMNS;

/// Cases on their way to their line.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    waiting: Vec<Option<CaseResult>>,
    /// The next case whose line is due.
    next: usize,
}

impl Tap {
    pub fn new(cases: usize) -> Self {
        Tap { waiting: vec![None; cases], next: 0 }
    }

    /// The version and the plan.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&self, setup: &Setup, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "TAP version 13\n1..{}", self.waiting.len() + setup.exercises.len())?;
        for side in &setup.sides {
            let profile = side.profile.as_ref().map_or("none", |profile| profile.name.as_str());
            writeln!(out, "# {}: {}, profile {profile}", side.folder, side.file_system())?;
        }
        out.flush()
    }

    /// A case has ended: all lines that are due now.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn ended(
        &mut self,
        setup: &Setup,
        case: usize,
        result: CaseResult,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Some(place) = self.waiting.get_mut(case) {
            *place = Some(result);
        }
        while let Some(result) = self.waiting.get_mut(self.next).and_then(Option::take) {
            line(setup, self.next, &result, out)?;
            self.next += 1;
        }
        out.flush()
    }

    /// The lines of all that were not told, and the totals as a comment.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn end(&mut self, results: &SuiteResults, out: &mut dyn Write) -> io::Result<()> {
        let Some((side, answer)) = results.first() else { return Ok(()) };
        if let Some(signal) = results.stopped_by {
            writeln!(out, "Bail out! ended by signal {signal}")?;
            return out.flush();
        }
        for index in self.next..self.waiting.len() {
            line(&results.setup, index, &answer.judgement.cases[index], out)?;
        }
        self.next = self.waiting.len();
        for (index, exercise) in results.exercises.iter().enumerate() {
            exercised(self.next + index + 1, exercise, out)?;
        }
        for (entry, _) in &answer.judgement.unmet {
            let reason = side.profile.as_ref().map_or("", |profile| profile.expected[*entry].reason.as_str());
            writeln!(out, "# unexpected pass: {reason}")?;
        }
        for (name, why) in &answer.judgement.missing {
            writeln!(out, "# missing: {name}: {why}")?;
        }
        let totals = answer.judgement.totals;
        let totals: Vec<String> =
            COLUMNS.iter().map(|(name, count)| format!("{name} {}", count(&totals))).collect();
        writeln!(out, "# {}", totals.join(", "))?;
        out.flush()
    }
}

/// An exercise is one test; what it found is in comments, with the lines that show it again.
fn exercised(number: usize, exercise: &ExerciseResult, out: &mut dyn Write) -> io::Result<()> {
    let verdict = if exercise.is_good() { "ok" } else { "not ok" };
    let amount = exercise.amount();
    writeln!(out, "{verdict} {number} - {} {amount}", exercise.name)?;
    exercise.complaint().iter().flat_map(|line| line.lines()).try_for_each(|line| writeln!(out, "# {line}"))
}

fn line(setup: &Setup, index: usize, result: &CaseResult, out: &mut dyn Write) -> io::Result<()> {
    let Some(case) = setup.suite.cases.get(index) else { return Ok(()) };
    let number = index + 1;
    let name = &case.name;
    if result.is_bad() || result.elapsed_ns.is_none() {
        writeln!(out, "not ok {number} - {name}")?;
        return block(case, result, out);
    }
    if result.counts.expected_fail > 0 {
        let reason = result.reason(setup.sides.first().and_then(|side| side.profile.as_ref()));
        writeln!(out, "not ok {number} - {name} # TODO {}", clean(reason.unwrap_or_default()))?;
        return block(case, result, out);
    }
    match result.untried() {
        Some(why) => writeln!(out, "ok {number} - {name} # SKIP {}", clean(why)),
        None => writeln!(out, "ok {number} - {name}"),
    }
}

/// One line, without the sign that begins a directive.
fn clean(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('#', "")
}

/// What failed, in YAML; strings as JSON writes them.
fn block(case: &Case, result: &CaseResult, out: &mut dyn Write) -> io::Result<()> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    writeln!(out, "  ---\n  message: {}\n  source: {}", quoted(&case.text), quoted(&case.source))?;
    if let Some(broken) = &result.broken {
        writeln!(out, "  ended: {}", quoted(broken))?;
    }
    let told = |kind: CheckOutcome| {
        use CheckOutcome::{CouldNotRun, ExpectedFail, Fail, TimedOut};
        matches!(kind, Fail | ExpectedFail | CouldNotRun | TimedOut)
    };
    let failed: Vec<_> = result.judged.iter().filter(|judged| told(judged.kind)).collect();
    if failed.is_empty() {
        writeln!(out, "  ended: \"it was not reached\"")?;
    } else {
        writeln!(out, "  data:")?;
    }
    for judged in failed {
        let verdict = &judged.verdict;
        writeln!(out, "    - round: {}", quoted(&verdict.round))?;
        writeln!(out, "      call: {}", quoted(&verdict.call))?;
        writeln!(out, "      expected: {}", quoted(&verdict.expected))?;
        writeln!(out, "      got: {}", quoted(&judged.came()))?;
    }
    writeln!(out, "  ...")
}
