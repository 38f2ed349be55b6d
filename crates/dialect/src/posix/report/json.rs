//! Everything as JSON, in a layout that docs/posix.md describes and that only grows.

use std::io;

use iodyno_model::{Case, ExerciseRecord, Outcome};
use serde::Serialize;

use super::super::exercise::Exercised;
use super::super::judge::{CaseResult, CheckCounts, CheckOutcome, JudgedCheck};
use super::super::plan::CheckedDirectory;
use super::super::rules::class_name;
use super::{DirectoryResults, SuiteResults, baseline};

/// The layout's number: it changes when something that is there changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    iodyno: &'a str,
    started_unix_ns: u64,
    host: &'a str,
    kernel: &'a str,
    status: u8,
    stopped_by: Option<i32>,
    errors: &'a [String],
    file_systems: Vec<FileSystem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exercises: Vec<OneExercise<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<Difference<'a>>,
}

#[derive(Serialize)]
struct OneExercise<'a> {
    name: &'a str,
    elapsed_ns: u64,
    good: bool,
    failure: Option<&'a str>,
    record: Option<&'a ExerciseRecord>,
}

#[derive(Serialize)]
struct FileSystem<'a> {
    directory: &'a str,
    r#type: &'a str,
    source: Option<&'a str>,
    mount_point: Option<&'a str>,
    mount_options: Option<&'a str>,
    profile: Option<&'a str>,
    elapsed_ns: u64,
    totals: CheckCounts,
    features: Vec<Feature<'a>>,
    missing: Vec<Feature<'a>>,
    unexpected_passes: Vec<UnmetEntry<'a>>,
    cases: Vec<OneCase<'a>>,
}

#[derive(Serialize)]
struct Feature<'a> {
    name: &'a str,
    missing: Option<&'a str>,
}

#[derive(Serialize)]
struct UnmetEntry<'a> {
    rule: &'a str,
    reason: &'a str,
    source: &'a str,
}

#[derive(Serialize)]
struct OneCase<'a> {
    name: &'a str,
    rule: &'a str,
    group: &'a str,
    class: &'a str,
    text: &'a str,
    source: &'a str,
    elapsed_ns: Option<u64>,
    broken: Option<&'a str>,
    counts: CheckCounts,
    verdicts: Vec<OneVerdict<'a>>,
}

#[derive(Serialize)]
struct OneVerdict<'a> {
    check: u32,
    round: &'a str,
    step: u32,
    call: &'a str,
    expected: &'a str,
    got: &'a str,
    outcome: CheckOutcome,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct Difference<'a> {
    case: &'a str,
    round: &'a str,
    call: &'a str,
    expected: &'a str,
    did: &'a [String; 2],
}

/// The report.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn text(results: &SuiteResults) -> io::Result<String> {
    let differences = baseline::differences(&results.answers);
    let cases = &results.setup.suite.cases;
    let report = Report {
        schema: SCHEMA,
        iodyno: env!("CARGO_PKG_VERSION"),
        started_unix_ns: results.at_unix_ns,
        host: &results.machine.host,
        kernel: &results.machine.kernel,
        status: results.status(),
        stopped_by: results.stopped_by,
        errors: &results.errors,
        file_systems: results.sides().map(|(side, answer)| file_system(cases, side, answer)).collect(),
        exercises: results.exercises.iter().map(one_exercise).collect(),
        differences: differences
            .iter()
            .map(|difference| Difference {
                case: &cases[difference.case].name,
                round: &difference.round,
                call: &difference.call,
                expected: &difference.expected,
                did: &difference.did,
            })
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn one_exercise(exercise: &Exercised) -> OneExercise<'_> {
    OneExercise {
        name: &exercise.name,
        elapsed_ns: exercise.elapsed_ns,
        good: exercise.is_good(),
        failure: exercise.failure.as_deref(),
        record: exercise.record.as_ref(),
    }
}

fn file_system<'a>(
    cases: &'a [Case],
    side: &'a CheckedDirectory,
    answer: &'a DirectoryResults,
) -> FileSystem<'a> {
    let feature =
        |(name, missing): &'a (String, Option<String>)| Feature { name, missing: missing.as_deref() };
    let entries = answer.judgement.unmet.iter().filter_map(|(entry, _)| {
        let entry = side.profile.as_ref()?.expected.get(*entry)?;
        Some(UnmetEntry { rule: &entry.rule, reason: &entry.reason, source: &entry.source })
    });
    FileSystem {
        directory: &side.folder,
        r#type: side.file_system(),
        source: side.facts.source.as_deref(),
        mount_point: side.facts.mount_point.as_deref(),
        mount_options: side.facts.mount_options.as_deref(),
        profile: side.profile.as_ref().map(|profile| profile.name.as_str()),
        elapsed_ns: answer.elapsed_ns,
        totals: answer.judgement.totals,
        features: answer.features.iter().map(feature).collect(),
        missing: answer
            .judgement
            .missing
            .iter()
            .map(|(name, why)| Feature { name, missing: Some(why) })
            .collect(),
        unexpected_passes: entries.collect(),
        cases: cases
            .iter()
            .zip(&answer.judgement.cases)
            .map(|(case, result)| one_case(case, result, side))
            .collect(),
    }
}

fn one_case<'a>(case: &'a Case, result: &'a CaseResult, side: &'a CheckedDirectory) -> OneCase<'a> {
    OneCase {
        name: &case.name,
        rule: &case.rule,
        group: &case.group,
        class: class_name(case.class),
        text: &case.text,
        source: &case.source,
        elapsed_ns: result.elapsed_ns,
        broken: result.broken.as_deref(),
        counts: result.counts,
        verdicts: result.judged.iter().map(|judged| one_verdict(judged, side)).collect(),
    }
}

fn one_verdict<'a>(judged: &'a JudgedCheck, side: &'a CheckedDirectory) -> OneVerdict<'a> {
    let verdict = &judged.verdict;
    let why = match &verdict.outcome {
        Outcome::Fail => judged.reason(side.profile.as_ref()),
        Outcome::Skip(why) | Outcome::NotApplicable(why) | Outcome::CouldNotRun(why) => Some(why.as_str()),
    };
    OneVerdict {
        check: verdict.check,
        round: &verdict.round,
        step: verdict.step,
        call: &verdict.call,
        expected: &verdict.expected,
        got: &verdict.got,
        outcome: judged.kind,
        why,
    }
}
