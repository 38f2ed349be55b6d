//! posix: rules become the plans, wrong ones the messages, and records the texts, that `golden/posix` holds.
//!
//! `IODYNO_BLESS=1` rewrites the golden files.

mod texts;
mod world;

use std::path::PathBuf;

use iodyno_dialect::{DIALECTS, Request};
use iodyno_model::Diagnostic;
use world::World;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares with a file of the repository, or rewrites it.
fn golden(path: &str, found: &str) {
    let file = root().join(path);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, wanted, "{path} differs; IODYNO_BLESS=1 rewrites it");
}

fn try_request(line: &str, world: &mut World) -> Result<Request, Vec<Diagnostic>> {
    let words: Vec<String> = line.split(' ').skip(1).map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "posix").unwrap();
    (dialect.lower)(&words, world)
}

fn answer(line: &str) -> String {
    match try_request(line, &mut World::golden()) {
        Ok(Request::Run(run)) => iodyno_report::plan::print(&run.plan),
        Ok(Request::Print { out, status }) => format!("status {status}, printed:\n{out}"),
        Ok(Request::Write { files, out, status }) => {
            let file = |file: &iodyno_dialect::Written| {
                format!(
                    "written {}{}:\n{}",
                    file.path,
                    if file.program { " (a program)" } else { "" },
                    String::from_utf8_lossy(&file.bytes)
                )
            };
            format!("{}status {status}, printed:\n{out}", files.iter().map(file).collect::<String>())
        }
        Ok(_) => "something else\n".into(),
        Err(wrong) => wrong.iter().map(|wrong| format!("{wrong}\n")).collect(),
    }
}

/// Answers of command lines, one after the other.
fn answers(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("$ {line}\n{}\n", answer(line))).collect()
}

#[test]
fn golden_plans() {
    let lines = [
        "posix --rules rules --profile none dir",
        "posix --rules rules --profile none dir --only chmod/denied --at-once 3 --case-time 5 --keep",
        "posix --rules rules --profile none dir --baseline dir2 --only names",
        "posix --rules rules --profile none dir --only names --with other/load.fio",
    ];
    golden("golden/posix/plans.txt", &answers(&lines));
}

#[test]
fn golden_lists() {
    let lines = [
        "posix --rules rules --check-rules",
        "posix --rules rules --list",
        "posix --rules rules --list --verbose --class shall,linux",
        "posix --rules rules --explain chmod/denied",
        "posix --rules rules --explain names/*",
        "posix --rules rules --write-t dir --class shall",
    ];
    golden("golden/posix/lists.txt", &answers(&lines));
}

#[test]
fn golden_messages() {
    let lines = [
        "posix --rules wrong --check-rules",
        "posix",
        "posix --rules nowhere dir",
        "posix --rules rules nowhere",
        "posix --rules rules file",
        "posix --rules rules ro",
        "posix --rules rules dir --only chmdo",
        "posix --rules rules dir --class shal",
        "posix --rules rules dir --except *",
        "posix --rules rules dir --profile ext5",
        "posix --rules rules dir --profile other/nothing.toml",
        "posix --rules rules --explain chmod/denid",
        "posix --rules rules dir --with other/nothing.fio",
        "posix --rules rules dir --frobnicate",
        "posix --rules rules dir --case-time soon",
        "posix import-tap",
        "posix import-tap nothing.tap",
    ];
    golden("golden/posix/messages.txt", &answers(&lines));
}

/// The suite that is carried along is right, and every profile speaks of rules that there are.
#[test]
fn the_suite_reads() {
    let told = answer("posix --check-rules");
    assert!(told.starts_with("status 0"), "{told}");
}
