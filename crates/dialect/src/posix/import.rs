//! `iodyno posix import-tap FILE…`: the results of another suite in the same report.
//!
//! What that suite does not say is not guessed: a file that it left out without a word is a skip, tests that it planned
//! and did not make could not run.

use std::sync::Arc;

use clap::Parser;
use iodyno_model::{
    Action, Call, Case, CaseRecord, Class, Diagnostic, Expect, Origin, Outcome, Script, Step, Verdict,
};

use super::judge;
use super::options::Options;
use super::profile::{ExpectedFailure, Profile};
use super::report::{DirectoryResults, SuiteResults, json, junit, summary};
use super::settings::{CheckedDirectory, Setup};
use super::suite;
use super::suite_arguments::SuiteArguments;
use super::tap::{self, Directive, TapTest};
use crate::native::parsed;
use crate::{Loader, Request, Written};

/// The source of rules that another suite told of.
pub const SOURCE: &str = "TAP";

/// The words of the command.
#[derive(Debug, Parser)]
#[command(name = "iodyno posix import-tap", disable_version_flag = true)]
#[command(
    about = "The results of another suite (TAP, or what prove -v prints) in the report of iodyno posix"
)]
struct ImportArguments {
    /// Files with TAP; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<String>,
    /// Write JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Tell each broken rule, rather than the causes
    #[arg(long)]
    details: bool,
    /// Every round of a failure
    #[arg(short, long)]
    verbose: bool,
}

/// What the profile of a foreign suite is called.
const OWN: &str = "the suite's own TODO";

/// How a file that was left out without a word is told.
const SILENT: &str = "the file says only `1..1` and `ok 1`, as pjdfstest does of what it leaves out: unknown";

/// Reads results and reports them.
///
/// # Errors
/// What is wrong with the words or the files.
pub fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let words: ImportArguments = match parsed("iodyno posix import-tap", arguments)? {
        Ok(words) => words,
        Err(help) => return Ok(help),
    };
    let mut scripts = Vec::new();
    let mut wrong = Vec::new();
    for file in &words.files {
        match read(file, loader) {
            Ok(found) => scripts.extend(found),
            Err(problem) => wrong.push(problem),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let results = results(&scripts, &words);
    let failed = |error: std::io::Error| vec![Diagnostic::error(&Origin::Default, error.to_string())];
    let mut files = Vec::new();
    let mut write = |path: &String, text: String| {
        files.push(Written { path: path.clone(), bytes: text.into_bytes(), program: false })
    };
    if let Some(path) = &words.json {
        write(path, json::text(&results).map_err(failed)?);
    }
    if let Some(path) = &words.junit {
        let bytes = junit::xml(&results).map_err(failed)?;
        write(path, String::from_utf8_lossy(&bytes).into());
    }
    Ok(Request::Write { files, out: summary::text(&results), status: i32::from(results.status()) })
}

fn read(file: &str, loader: &mut dyn Loader) -> Result<Vec<tap::Script>, Diagnostic> {
    let origin = Origin::argument(file);
    let text = match file {
        "-" => loader.standard_input().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        path => suite::file(path, loader),
    };
    let text = text.map_err(|reason| Diagnostic::error(&origin, format!("cannot be read: {reason}")))?;
    let scripts = tap::parse(&text, file);
    if scripts.is_empty() {
        return Err(Diagnostic::error(&origin, "there is no TAP in it").hint(
            "a line of TAP is `ok 1` or `not ok 2 - why`; prove -v DIR > FILE keeps it of many files",
        ));
    }
    Ok(scripts)
}

fn results(scripts: &[tap::Script], words: &ImportArguments) -> SuiteResults {
    let mut profile = Profile { name: OWN.into(), ..Profile::default() };
    let mut setup = Setup::default();
    let mut answer = DirectoryResults::default();
    for script in scripts {
        let name = script.name.clone();
        let case = setup.suite.cases.len();
        let (checks, record) = record(script, case, &mut profile);
        answer.records.push(record);
        setup.suite.cases.push(Case {
            rule: name.clone(),
            group: group(&name),
            text: format!("what the test file {name} checks"),
            source: SOURCE.into(),
            class: Class::Shall,
            script: steps(checks),
            name,
            ..Case::default()
        });
    }
    answer.judgement = judge::judge(&setup.suite.cases, &answer.records, &[], Some(&profile));
    let folder = words.files.join(" ");
    setup.sides = vec![CheckedDirectory { folder, profile: Some(profile), ..CheckedDirectory::default() }];
    setup.options = Options {
        suite: SuiteArguments { verbose: words.verbose, details: words.details, ..SuiteArguments::default() },
        ..Options::default()
    };
    SuiteResults { setup: Arc::new(setup), answers: vec![answer], ..SuiteResults::default() }
}

/// The directory that a test file lies in.
fn group(name: &str) -> String {
    name.rsplit('/').nth(1).unwrap_or("tests").into()
}

/// So many checks, of which nothing else is known.
fn steps(checks: u32) -> Script {
    let check = || Step {
        label: String::new(),
        action: Action::Call(Box::new(Call { expect: vec![Expect::Succeeds], ..Call::default() })),
        repeat: 1,
        origin: Origin::Default,
    };
    let steps = (0..checks).map(|_| check()).collect();
    let round =
        Step { label: String::new(), action: Action::Block(steps), repeat: 1, origin: Origin::Default };
    Script { actors: Vec::new(), steps: vec![round] }
}

/// How many checks a file made or meant to make, and what became of them.
fn record(script: &tap::Script, case: usize, profile: &mut Profile) -> (u32, CaseRecord) {
    let mut record = CaseRecord { case, broken: script.bail_out.clone(), ..CaseRecord::default() };
    if script.is_silent() || script.skipped.is_some() {
        let why = script.skipped.clone().unwrap_or_else(|| SILENT.into());
        record.verdicts.push(verdict(0, 1, Outcome::Skip(why)));
        record.checks = 1;
        return (1, record);
    }
    for (index, test) in script.tests.iter().enumerate() {
        match judged(test, index as u32, &script.name, profile) {
            Some(verdict) => record.verdicts.push(verdict),
            None => record.passed += 1,
        }
    }
    let made = script.tests.len() as u32;
    let checks = made.max(script.planned.unwrap_or(made));
    for missing in made..checks {
        let why = Outcome::CouldNotRun("it was planned and not made".into());
        record.verdicts.push(verdict(missing, missing + 1, why));
    }
    record.checks = checks;
    (checks, record)
}

fn verdict(check: u32, number: u32, outcome: Outcome) -> Verdict {
    Verdict { check, round: format!("test {number}"), step: check, outcome, ..Verdict::default() }
}

/// What became of a test that did not pass; what is expected of it goes into the profile.
fn judged(test: &TapTest, check: u32, script: &str, profile: &mut Profile) -> Option<Verdict> {
    let bare = |outcome: Outcome| verdict(check, test.number, outcome);
    match &test.directive {
        Some((Directive::Skip, why)) => return Some(bare(Outcome::Skip(why.clone()))),
        Some((Directive::Todo, reason)) => profile.expected.push(ExpectedFailure {
            rule: script.into(),
            round: Some(format!("test {}", test.number)),
            reason: reason.clone(),
            source: script.into(),
            ..ExpectedFailure::default()
        }),
        None => {}
    }
    if test.ok {
        return None;
    }
    let (call, expected, got) = tap::tried(&test.text).unwrap_or((&test.text, "ok", "not ok"));
    Some(Verdict { call: call.into(), expected: expected.into(), got: got.into(), ..bare(Outcome::Fail) })
}
