//! IOR's command lines and scripts as plans: every `golden/ior/*.txt` holds its input and what comes of it.
//!
//! The first line is the command, `# ior ARGUMENTS`; other comments say what is there (see [`world`]); behind them stand
//! the plan, with warnings and notes before it, or what is wrong. `IODYNO_BLESS=1` rewrites that part. Nothing is run.

mod audit;
mod mangled;
mod output_format;
mod world;

use std::path::PathBuf;

use iodyno_dialect::ior::{LoweredTests, command, lower, options};
use iodyno_model::Diagnostic;
use world::World;

/// What comes of a case: a plan, or what is wrong with it.
fn lowered(arguments: &[String], world: &mut World) -> Result<LoweredTests, Vec<Diagnostic>> {
    let command = command::parse(arguments)?;
    lower(&command, arguments, world)
}

/// The words of a case's command line.
fn words(text: &str) -> Vec<String> {
    let line =
        text.lines().next().and_then(|line| line.strip_prefix("# ior")).expect("a first line `# ior …`");
    line.split_whitespace().map(String::from).collect()
}

/// The comments that a case begins with.
fn head(text: &str) -> String {
    text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn answer(text: &str) -> String {
    let head = head(text);
    match lowered(&words(&head), &mut World::of(&head)) {
        Err(wrong) => wrong.iter().map(|wrong| format!("{wrong}\n")).collect(),
        Ok(lowered) => {
            let warnings = lowered.view.tests.iter().flat_map(|test| &test.warnings);
            let warnings: String = warnings.map(|warning| format!("WARNING: {warning}\n")).collect();
            let notes: String = lowered.notes.iter().map(|note| format!("{note}\n")).collect();
            warnings + &notes + &iodyno_report::plan::print(&lowered.plan)
        }
    }
}

fn cases() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/ior");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    paths.sort();
    let read = |path: PathBuf| (path.to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap());
    paths.into_iter().map(read).collect()
}

#[test]
fn golden_command_lines_become_their_plans() {
    let cases = cases();
    assert!(cases.len() >= 25, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for (path, text) in &cases {
        let found = format!("{}\n{}", head(text), answer(text));
        if std::env::var_os("IODYNO_BLESS").is_some() {
            std::fs::write(path, &found).unwrap();
        } else if *text != found {
            failures.push(format!("{path}: differs; IODYNO_BLESS=1 rewrites it:\n{found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn plans_survive_their_own_serialisation() {
    for (path, text) in cases() {
        let Ok(lowered) = lowered(&words(&text), &mut World::of(&text)) else { continue };
        let stored = serde_json::to_string(&lowered.plan).unwrap();
        assert_eq!(serde_json::from_str::<iodyno_model::Plan>(&stored).unwrap(), lowered.plan, "{path}");
        assert_eq!(lowered.plan.phases.len(), lowered.view.parts.len(), "{path}");
    }
}

#[test]
fn golden_document_and_help() {
    for (path, found) in [("docs/ior.md", options::document()), ("golden/ior/help.text", options::help())] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        if std::env::var_os("IODYNO_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, wanted, "{}: differs; IODYNO_BLESS=1 rewrites it", path.display());
    }
}

#[test]
fn the_example_is_three_tests() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/easy-and-hard.ior");
    let text = std::fs::read_to_string(path).unwrap();
    let world = &mut World::of(&format!("# file: x {}", text.replace('\n', "|")));
    let lowered = lowered(&["-f".into(), "x".into(), "-N".into(), "4".into()], world)
        .unwrap_or_else(|wrong| panic!("{wrong:?}"));
    assert_eq!((lowered.view.tests.len(), lowered.notes.len()), (3, 0));
}
