//! The written workloads, and files of the user's own.

use super::{StepOperation, parse_step};
use crate::oracle::ModelTree;
use serde::Deserialize;
use toml::Spanned;

/// Files of `suites/crash/`, which are part of the program.
const BUILTIN: &[(&str, &str)] = &[
    ("applications.toml", include_str!("../../suites/applications.toml")),
    ("files.toml", include_str!("../../suites/files.toml")),
    ("wrong.toml", include_str!("../../suites/wrong.toml")),
];

/// A workload as a suite has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenWorkload {
    pub name: String,
    /// A sentence for lists.
    pub about: String,
    /// Why it does not keep what it promises to its users; `None`: it does.
    pub wrong: Option<String>,
    pub prepare: Vec<StepOperation>,
    pub steps: Vec<StepOperation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    #[serde(default)]
    workload: Vec<WorkloadEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadEntry {
    name: Spanned<String>,
    about: String,
    wrong: Option<String>,
    #[serde(default)]
    prepare: Vec<Spanned<String>>,
    steps: Spanned<Vec<Spanned<String>>>,
}

/// The workloads of `suites/crash/`, in the order of their files.
///
/// # Errors
/// A mistake in one of them, which the tests exclude.
pub fn builtin() -> Result<Vec<WrittenWorkload>, String> {
    let mut all = Vec::new();
    for (file, text) in BUILTIN {
        all.extend(read_suite(file, text)?);
    }
    Ok(all)
}

/// The workloads of a file's text; its name is for messages.
///
/// # Errors
/// `FILE:LINE: what is wrong`, with a hint. Each workload has been tried on the model: a step whose file is missing is an error here.
pub fn read_suite(file: &str, text: &str) -> Result<Vec<WrittenWorkload>, String> {
    let place = |offset: usize| format!("{file}:{}", line_of(text, offset));
    let suite: SuiteFile = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        format!(
            "{}: {}\n hint: docs/crash-workloads.md describes these files",
            place(offset),
            error.message()
        )
    })?;
    let mut workloads: Vec<WrittenWorkload> = Vec::new();
    for entry in suite.workload {
        let here = place(entry.name.span().start);
        let name = entry.name.into_inner();
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(format!(
                "{here}: `{name}` is no name\n hint: lower-case letters, digits and hyphens"
            ));
        }
        if workloads.iter().any(|other| other.name == name) {
            return Err(format!("{here}: a second workload `{name}`\n hint: each has a name of its own"));
        }
        if entry.steps.get_ref().is_empty() {
            return Err(format!(
                "{}: `{name}` has no steps\n hint: steps = [\"create x\", \"fsync x\"]",
                place(entry.steps.span().start)
            ));
        }
        let mut trial = ModelTree::default();
        let prepare = steps_of(entry.prepare, &mut trial, &place)?;
        trial.keep_prepared();
        let steps = steps_of(entry.steps.into_inner(), &mut trial, &place)?;
        workloads.push(WrittenWorkload { name, about: entry.about, wrong: entry.wrong, prepare, steps });
    }
    Ok(workloads)
}

/// The operations of lines, which the trial can do one after the other.
fn steps_of(
    lines: Vec<Spanned<String>>,
    trial: &mut ModelTree,
    place: &dyn Fn(usize) -> String,
) -> Result<Vec<StepOperation>, String> {
    let mut step = |line: &Spanned<String>| {
        let operation = parse_step(line.get_ref())?;
        trial.apply(&operation)?;
        Ok(operation)
    };
    lines
        .iter()
        .map(|line| step(line).map_err(|error: String| format!("{}: {error}", place(line.span().start))))
        .collect()
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
