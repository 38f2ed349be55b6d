//! iostat: command lines become the plans, and samples the texts, that `golden/iostat` holds; and beside the original,
//! which reads the same counters out of a directory, the same texts to the letter.
//!
//! `IODYNO_BLESS=1` rewrites the golden files and the page that is generated from the option table.

mod original;
mod texts;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use iodyno_dialect::Request;
use iodyno_dialect::iostat::DIALECT;
use testbed::{Case, Need, Outcome};
use world::World;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares with a file of the repository, or rewrites it.
fn golden(path: &str, found: &str) -> Outcome {
    let file = root().join(path);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&file, found)?;
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{path} differs; IODYNO_BLESS=1 rewrites it; found:\n{found}").into()),
    }
}

/// What becomes of a command line; words of ours stand before `iostat`, as in an environment.
fn request(line: &str) -> Request {
    let (words, line) = line.split_once("iostat").unwrap_or(("", line));
    let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
    (DIALECT.lower)(&arguments, &mut World::new(words)).unwrap_or_else(|wrong| panic!("{line}: {}", wrong[0]))
}

fn plans() -> Outcome {
    let path = "golden/iostat/plans.txt";
    let wanted = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let mut found =
        String::from("# Command lines of iostat, each with its plan or with what is said instead.\n\n");
    for command in wanted.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let answer = match request(command) {
            Request::Run(run) => iodyno_report::plan::print(&run.plan),
            Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
            Request::Refuse { err, status } => {
                let lines: Vec<&str> = err.lines().take(2).collect();
                format!("status {status}, on standard error:\n{}\n", lines.join("\n"))
            }
            _ => "neither run nor printed\n".into(),
        };
        found += &format!("$ {command}\n{answer}\n");
    }
    golden(path, &found)
}

fn document() -> Outcome {
    golden("docs/iostat.md", &iodyno_dialect::iostat::options::document())
}

fn main() -> ExitCode {
    let original: &[Need] = &[Need::Tool("iostat")];
    testbed::run(vec![
        Case::new("golden_plans_of_iostat", &[], plans),
        Case::new("golden_texts_of_iostat", &[], texts::texts),
        Case::new("iostats_page_is_generated", &[], document),
        Case::new("texts_as_sysstat", original, original::texts).against(),
        Case::new("documents_as_sysstat", original, original::documents).against(),
        Case::new("refusals_as_sysstat", original, original::refusals).against(),
    ])
}
