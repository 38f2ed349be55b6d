//! The written workloads, and files of the user's own.

use super::{StepOperation, parse_step};
use serde::Deserialize;
use toml::Spanned;

/// Files of `suites/crash/`, which are part of the program.
const BUILTIN: &[(&str, &str)] = &[
    ("applications.toml", include_str!("../../../../suites/crash/applications.toml")),
    ("files.toml", include_str!("../../../../suites/crash/files.toml")),
    ("wrong.toml", include_str!("../../../../suites/crash/wrong.toml")),
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
        let mut trial = crate::oracle::ModelTree::default();
        let mut read = |lines: Vec<Spanned<String>>| -> Result<Vec<StepOperation>, String> {
            lines
                .into_iter()
                .map(|line| {
                    step_of(&line, &mut trial)
                        .map_err(|error| format!("{}: {error}", place(line.span().start)))
                })
                .collect()
        };
        let (prepare, steps) = (read(entry.prepare)?, read(entry.steps.into_inner())?);
        workloads.push(WrittenWorkload { name, about: entry.about, wrong: entry.wrong, prepare, steps });
    }
    Ok(workloads)
}

/// The operation of a line, which the trial can do.
fn step_of(line: &Spanned<String>, trial: &mut crate::oracle::ModelTree) -> Result<StepOperation, String> {
    let operation = parse_step(line.get_ref())?;
    trial.apply(&operation)?;
    Ok(operation)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
