//! mdtest: command lines become the plans, and records the texts, that `golden/mdtest` holds; what other programs read out
//! of the text, they find.
//!
//! `IODYNO_BLESS=1` rewrites the golden files and `docs/mdtest.md`.

mod elbencho;
mod parsers;
mod texts;
mod workbench;
mod world;

use std::path::PathBuf;

use iodyno_dialect::{DIALECTS, Request};
use iodyno_report::FilesInMemory;
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

/// What mdtest makes of a command line, with our own words.
fn request(line: &str, also: &[(&str, &str)]) -> Request {
    let words: Vec<String> = line.split(' ').skip(1).map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "mdtest").unwrap();
    let also = also.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    (dialect.lower)(&words, &mut World { also }).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

fn answer(command: &str) -> String {
    match request(command, &[("threads", "4")]) {
        Request::Run(run) => iodyno_report::plan::print(&run.plan),
        Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
        Request::Refuse { err, status } => format!("status {status}, on standard error:\n{err}"),
        Request::Hosts(_) => "sent to other hosts\n".into(),
        _ => "neither run nor printed\n".into(),
    }
}

/// Command lines of a golden file, each followed by what a tool answers; a head before the first one stays.
fn golden_answers(path: &str, answer: impl Fn(&str) -> String) {
    let wanted = std::fs::read_to_string(root().join(path)).unwrap();
    let (mut found, mut in_head) = (String::new(), true);
    for line in wanted.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                in_head = false;
                found += &format!("$ {command}\n{}\n", answer(command));
            }
            None if in_head => found += &format!("{line}\n"),
            None => {}
        }
    }
    golden(path, &found);
}

/// A command line with what it printed and the files that it wrote, each of which ends as `file_end` says.
fn told_text(line: &str, (out, err, files): (String, String, FilesInMemory), file_end: &str) -> String {
    let mut text = format!("$ {line}\n{out}");
    if !err.is_empty() {
        text += &format!("on standard error:\n{err}");
    }
    for (name, bytes) in files.0 {
        text += &format!("in {name}:\n{}{file_end}", String::from_utf8(bytes).unwrap());
    }
    text + "\n"
}

#[test]
fn golden_plans_of_mdtest() {
    golden_answers("golden/mdtest/plans.txt", answer);
}

#[test]
fn golden_documents_of_mdtest() {
    golden("docs/mdtest.md", &iodyno_dialect::mdtest::options::document());
    golden("golden/mdtest/help.txt", &iodyno_dialect::mdtest::options::help());
}

#[test]
fn ten_million_items_are_a_small_plan() {
    let Request::Run(run) = request("mdtest -n 10000000 -z 3 -b 8 -u -d dir", &[("threads", "64")]) else {
        panic!("refused")
    };
    assert!(run.plan.targets.len() < 8 && run.plan.phases.len() == 11, "{}", run.plan.phases.len());
}
