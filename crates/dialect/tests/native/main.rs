//! Native plan files: what they say, what is wrong with them, what is explained, and what the commands ask for.
//!
//! Files lie in `golden/native`; `IODYNO_BLESS=1` rewrites the expected texts. No disk is measured, no engine runs.

mod commands;
mod complete;
mod devices;
mod explained;
mod mangled;
mod published;
mod reference;

use std::path::{Path, PathBuf};

use iodyno_dialect::native;
use iodyno_model::{Plan, sweep};
use iodyno_report::plan::print;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The plan files of a folder, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty(), "{folder} holds no plan file");
    files
}

fn parse(path: &Path) -> Result<Plan, String> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    native::parse(&text, &name)
        .map_err(|wrong| wrong.iter().map(|one| format!("{one}\n")).collect::<String>())
}

/// Compares a text with its golden file.
fn golden(path: &Path, found: &str) {
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, wanted, "{}: differs; IODYNO_BLESS=1 rewrites it", path.display());
}

#[test]
fn golden_plan_files_print_what_they_say() {
    for path in files("golden/native") {
        let plan = parse(&path).unwrap_or_else(|wrong| panic!("{}:\n{wrong}", path.display()));
        golden(&path.with_extension("txt"), &print(&plan));
    }
}

#[test]
fn golden_wrong_files_are_told_everything_at_once() {
    for path in files("golden/native/wrong") {
        let wrong = parse(&path).expect_err("a wrong file was taken");
        golden(&path.with_extension("txt"), &wrong);
    }
}

#[test]
fn golden_examples_parse_print_and_expand() {
    for path in files("examples") {
        let plan = parse(&path).unwrap_or_else(|wrong| panic!("{}:\n{wrong}", path.display()));
        assert!(print(&plan).starts_with("plan \""), "{}", path.display());
        let expanded = sweep::expand(&plan).unwrap();
        assert!(expanded.phases.len() >= plan.phases.len() && !expanded.phases.is_empty());
        let name = path.file_stem().unwrap().to_string_lossy();
        golden(&root().join(format!("golden/native/examples/{name}.txt")), &print(&plan));
    }
}

#[test]
fn a_message_names_the_line_of_its_word() {
    let wrong = native::parse("name = \"x\"\n\n\nseed = \"abc\"\n", "job.toml").unwrap_err();
    let texts: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.starts_with("error: job.toml:4: `seed = abc`")), "{texts:?}");
}

#[test]
fn golden_plans_follow_the_published_schema() {
    let published = iodyno_report::json::published();
    let (_, schema) = published.iter().find(|(name, _)| name.starts_with("plan")).unwrap();
    let folders = ["golden/native", "golden/native/explain", "examples"];
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let plan = parse(&path).unwrap_or_else(|wrong| panic!("{}:\n{wrong}", path.display()));
        let value = serde_json::to_value(&plan).unwrap();
        let followed = iodyno_report::json::follows(schema, &value);
        assert_eq!(followed, Ok(()), "{}", path.display());
    }
}
