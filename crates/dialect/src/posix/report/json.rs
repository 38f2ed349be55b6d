//! Everything as JSON, in a layout that docs/posix.md describes and that only grows.

#![allow(non_camel_case_types, reason = "the type of an object's member is called like the member")]

use std::io;

use iodyno_model::{Case, Outcome};
use serde::Serialize;

use super::super::exercise::ExerciseResult;
use super::super::judge::{CaseResult, JudgedCheck};
use super::super::rules::class_name;
use super::super::settings::CheckedDirectory;
use super::{DirectoryResults, SuiteResults, baseline};

/// The layout's number: it changes when something that is there changes its meaning.
const SCHEMA: u32 = 1;

/// A JSON object with its members in their order.
macro_rules! object {
    ($($key:ident: $value:expr),* $(,)?) => {{
        #[derive(Serialize)]
        struct Object<$($key),*> { $($key: $key),* }
        Object { $($key: $value),* }
    }};
}

#[derive(Serialize)]
struct Report<'a, F, E, D> {
    schema: u32,
    iodyno: &'a str,
    started_unix_ns: u64,
    host: &'a str,
    kernel: &'a str,
    status: u8,
    stopped_by: Option<i32>,
    errors: &'a [String],
    file_systems: Vec<F>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exercises: Vec<E>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<D>,
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
        file_systems: results
            .sides()
            .map(|(side, answer)| file_system(cases, side, answer))
            .collect::<Vec<_>>(),
        exercises: results.exercises.iter().map(one_exercise).collect::<Vec<_>>(),
        differences: differences
            .iter()
            .map(|difference| {
                object! {
                    case: &cases[difference.case].name,
                    round: &difference.round,
                    call: &difference.call,
                    expected: &difference.expected,
                    did: &difference.did,
                }
            })
            .collect::<Vec<_>>(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn one_exercise(exercise: &ExerciseResult) -> impl Serialize {
    object! {
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
) -> impl Serialize {
    let feature =
        |(name, missing): &'a (String, Option<String>)| object! { name: name, missing: missing.as_deref() };
    let entries = answer.judgement.unmet.iter().filter_map(|(entry, _)| {
        let entry = side.profile.as_ref()?.expected.get(*entry)?;
        Some(object! { rule: &entry.rule, reason: &entry.reason, source: &entry.source })
    });
    object! {
        directory: &side.folder,
        r#type: side.file_system(),
        source: side.facts.source.as_deref(),
        mount_point: side.facts.mount_point.as_deref(),
        mount_options: side.facts.mount_options.as_deref(),
        profile: side.profile.as_ref().map(|profile| profile.name.as_str()),
        elapsed_ns: answer.elapsed_ns,
        totals: answer.judgement.totals,
        features: answer.features.iter().map(feature).collect::<Vec<_>>(),
        missing: answer
            .judgement
            .missing
            .iter()
            .map(|(name, why)| object! { name: name, missing: Some(why) })
            .collect::<Vec<_>>(),
        unexpected_passes: entries.collect::<Vec<_>>(),
        cases: cases
            .iter()
            .zip(&answer.judgement.cases)
            .map(|(case, result)| one_case(case, result, side))
            .collect::<Vec<_>>(),
    }
}

fn one_case<'a>(case: &'a Case, result: &'a CaseResult, side: &'a CheckedDirectory) -> impl Serialize {
    object! {
        name: &case.name,
        rule: &case.rule,
        group: &case.group,
        class: class_name(case.class),
        text: &case.text,
        source: &case.source,
        elapsed_ns: result.elapsed_ns,
        broken: result.broken.as_deref(),
        counts: result.counts,
        verdicts: result.judged.iter().map(|judged| one_verdict(judged, side)).collect::<Vec<_>>(),
    }
}

fn one_verdict<'a>(judged: &'a JudgedCheck, side: &'a CheckedDirectory) -> impl Serialize {
    let verdict = &judged.verdict;
    let why = match &verdict.outcome {
        Outcome::Fail => judged.reason(side.profile.as_ref()),
        Outcome::Skip(why)
        | Outcome::NotApplicable(why)
        | Outcome::CouldNotRun(why)
        | Outcome::TimedOut(why) => Some(why.as_str()),
    };
    object! {
        check: verdict.check,
        round: &verdict.round,
        step: verdict.step,
        call: &verdict.call,
        expected: &verdict.expected,
        got: &verdict.got,
        outcome: judged.kind,
        why: why,
    }
}
