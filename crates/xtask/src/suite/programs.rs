//! Building the test programs, and asking each what it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{Choice, TestCase, Tier, Weight};
use crate::shell;

/// Asks a program of `testbed`'s for its plan; others print their list.
const PLAN: &str = "TESTBED_PLAN";
/// The cases that take the longest, the longest first: they start first. One that is not there any more does no harm.
const LONGEST: &str = include_str!("longest.txt");
/// A list takes moments.
const LIST_LIMIT: Duration = Duration::from_secs(120);

/// The cases of the built programs.
#[derive(Debug, Default)]
pub struct Suite {
    /// All of them, in order of programs.
    pub cases: Vec<TestCase>,
}

/// A built test program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    name: String,
    executable: PathBuf,
    manifest: PathBuf,
}

impl Suite {
    /// The command that builds the test programs and lists them, a JSON message a line.
    pub fn build(root: &Path, packages: &[&str]) -> Command {
        let mut command = shell::cargo();
        command.current_dir(root).args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
        match packages {
            [] => command.arg("--workspace"),
            some => command.args(some.iter().flat_map(|package| ["--package", package])),
        };
        command.env("CARGO_TERM_COLOR", "never");
        command
    }

    /// Asks every program that the build listed what it holds.
    ///
    /// # Errors
    /// A program that cannot be asked, or a manifest that cannot be read.
    pub fn read(lines: &[String]) -> Result<Suite, String> {
        let mut tiers = BTreeMap::new();
        let mut cases = Vec::new();
        for program in lines.iter().filter_map(|line| program(line)) {
            if !tiers.contains_key(&program.manifest) {
                tiers.insert(program.manifest.clone(), live_programs(&program.manifest)?);
            }
            let is_live = tiers[&program.manifest].contains(&program.name);
            cases.extend(held(&program, is_live)?);
        }
        // A long case that starts last is waited for by idle processors.
        let place =
            |case: &TestCase| LONGEST.lines().position(|title| title == case.title()).unwrap_or(usize::MAX);
        cases.sort_by_cached_key(place);
        Ok(Suite { cases })
    }

    /// The cases that are chosen; a sample has at least one case of each program that compares with originals.
    pub fn chosen(&self, choice: &Choice) -> Vec<TestCase> {
        let mut programs = BTreeSet::new();
        let mut chosen: Vec<TestCase> =
            self.cases.iter().filter(|case| choice.takes(case)).cloned().collect();
        programs.extend(chosen.iter().map(|case| case.program.clone()));
        let whole = Choice { whole: true, ..choice.clone() };
        let first = self.cases.iter().filter(|case| case.tier == Tier::Against && whole.takes(case));
        chosen.extend(first.filter(|case| programs.insert(case.program.clone())).cloned());
        chosen
    }
}

/// The test program in a message of cargo's.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message.pointer("/profile/test").and_then(Value::as_bool) == Some(true);
    let text = |path: &str| message.pointer(path).and_then(Value::as_str);
    let executable = text("/executable").filter(|_| is_test)?;
    let (name, manifest) = (text("/target/name")?, text("/manifest_path")?);
    Some(Program { name: name.into(), executable: executable.into(), manifest: manifest.into() })
}

/// The programs of a package that are not pure: `[package.metadata.tests] live = [...]`.
fn live_programs(manifest: &Path) -> Result<Vec<String>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", manifest.display());
    let text = std::fs::read_to_string(manifest).map_err(|error| wrong(&error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(&error))?;
    Ok(named(&table))
}

fn named(table: &toml::Table) -> Vec<String> {
    let metadata = table.get("package").and_then(|package| package.get("metadata"));
    let live = metadata.and_then(|metadata| metadata.get("tests")?.get("live")?.as_array());
    live.into_iter().flatten().filter_map(|name| name.as_str()).map(String::from).collect()
}

/// The cases of a program: one for the whole of it where it is pure.
fn held(program: &Program, is_live: bool) -> Result<Vec<TestCase>, String> {
    let folder = program.manifest.parent().unwrap_or(&program.manifest).to_path_buf();
    let of = |case: TestCase| TestCase {
        program: program.name.clone(),
        executable: program.executable.clone(),
        folder: folder.clone(),
        ..case
    };
    if !is_live {
        return Ok(vec![of(TestCase { tier: Tier::Pure, weight: Weight::Computes, ..TestCase::default() })]);
    }
    let mut list = Command::new(&program.executable);
    list.current_dir(&folder).args(["--list", "--format", "terse"]).env(PLAN, "1");
    let outcome = shell::run(list, None, LIST_LIMIT)?;
    if !outcome.success {
        return Err(format!("{} cannot say what it holds: {}", program.name, outcome.last_words()));
    }
    Ok(outcome.lines.iter().filter_map(|line| TestCase::read(line)).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_messages_are_read() {
        let message = |executable: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/a/Cargo.toml\",\
                 \"target\":{{\"name\":\"door\",\"kind\":[\"test\"]}},\"profile\":{{\"test\":{test}}},\
                 \"executable\":{executable}}}"
            )
        };
        let door =
            Program { name: "door".into(), executable: "/t/door-1".into(), manifest: "/a/Cargo.toml".into() };
        assert_eq!(program(&message("\"/t/door-1\"", true)), Some(door));
        assert_eq!(program(&message("null", true)), None);
        assert_eq!(program(&message("\"/t/iodyno\"", false)), None);
        assert_eq!(program("   Compiling iodyno v0.1.0"), None);
    }

    #[test]
    fn a_sample_has_a_case_of_every_program() {
        let case = |program: &str, number: u32| TestCase {
            program: program.into(),
            name: format!("case_{number}"),
            tier: Tier::Against,
            ..TestCase::default()
        };
        let cases = (0..50).map(|number| case("fio", number)).chain((0..3).map(|number| case("dd", number)));
        let suite = Suite { cases: cases.collect() };
        let chosen = suite.chosen(&Choice { tier: Some(Tier::Against), ..Choice::default() });
        let of = |program: &str| chosen.iter().filter(|case| case.program == program).count();
        assert!((1..30).contains(&of("fio")) && of("dd") >= 1, "{chosen:?}");
    }

    #[test]
    fn a_package_says_which_programs_are_not_pure() {
        let table =
            "[package]\nname = \"x\"\n[package.metadata.tests]\nlive = [\"door\", \"fio\"]".parse().unwrap();
        assert_eq!(named(&table), ["door", "fio"]);
        assert!(named(&"[package]\nname = \"x\"".parse().unwrap()).is_empty());
    }
}
