//! `cargo xtask faults [N …]`: plants faults in a clone of the tree, one at a time, and sees which tests find them.
//!
//! Why: a test run that is never red by chance is worth something only if it is red for a cause. The faults are data
//! (`faults.toml`), each with the tier and the programs that must find it. The clone and what is built of it lie under
//! `target/faults`, so that nobody's tree is touched. It refuses to call a fault found where its tests already fail
//! without it, and to go on when a fault's text no longer stands exactly once in its file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::shell;

const TABLE: &str = include_str!("../faults.toml");
/// Building included: a fault may hang what it breaks, and is found then too.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// A fault, and who must find it.
#[derive(Debug, PartialEq)]
struct PlantedFault {
    name: String,
    /// Below the root.
    file: String,
    /// What stands there once, and what is put in its place.
    text: String,
    replacement: String,
    tier: String,
    /// Arguments of `cargo test`.
    tests: String,
    /// Part of the name of a test that must fail.
    finder: String,
}

impl PlantedFault {
    fn of(entry: &toml::Value) -> Result<PlantedFault, String> {
        let field = |name: &str| {
            let text = entry.get(name).and_then(toml::Value::as_str);
            text.map(String::from).ok_or_else(|| format!("a fault without `{name}`: {entry}"))
        };
        Ok(PlantedFault {
            name: field("name")?,
            file: field("file")?,
            text: field("text")?,
            replacement: field("replacement")?,
            tier: field("tier")?,
            tests: field("tests")?,
            finder: field("finder")?,
        })
    }

    /// The file with the fault in it.
    fn planted(&self, sound: &str) -> Result<String, String> {
        match sound.matches(&self.text).count() {
            1 => Ok(sound.replacen(&self.text, &self.replacement, 1)),
            count => Err(format!(
                "{}: the text of \"{}\" stands {count} times there\n hint: faults.toml must follow the code",
                self.file, self.name
            )),
        }
    }
}

/// All of them, in order.
fn table() -> Result<Vec<PlantedFault>, String> {
    let table: toml::Table = TABLE.parse().map_err(|error| format!("faults.toml: {error}"))?;
    let entries = table.get("fault").and_then(toml::Value::as_array).ok_or("faults.toml: no faults")?;
    entries.iter().map(PlantedFault::of).collect()
}

/// Plants the faults of these numbers, or all, and prints a row for each; true when every one was found by its finder.
///
/// # Errors
/// A fault that does not fit any more, tests that fail without one, a clone that cannot be made.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let faults = table()?;
    let chosen = chosen(arguments, faults.len())?;
    for number in &chosen {
        faults[number - 1].planted(&read(&root.join(&faults[number - 1].file))?)?;
    }
    let clone = FaultTree::of(root)?;
    clone.is_sound(chosen.iter().map(|number| faults[number - 1].tests.as_str()).collect())?;
    println!("| no. | fault | tier | verdict | by |\n|-----|-------|------|---------|----|");
    let mut all = true;
    for number in chosen {
        let fault = &faults[number - 1];
        let verdict = FaultVerdict::of(fault, clone.with(fault)?);
        println!("| {number} | {} | {} | {} | {} |", fault.name, fault.tier, verdict.word, verdict.by);
        all &= verdict.is_found;
    }
    Ok(all)
}

fn chosen(arguments: &[String], count: usize) -> Result<Vec<usize>, String> {
    let number = |word: &String| match word.parse() {
        Ok(number) if (1..=count).contains(&number) => Ok(number),
        _ => Err(format!("faults: `{word}`: expected the number of a fault, 1 to {count}")),
    };
    match arguments.is_empty() {
        true => Ok((1..=count).collect()),
        false => arguments.iter().map(number).collect(),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What is said of a fault.
struct FaultVerdict {
    is_found: bool,
    word: &'static str,
    by: String,
}

impl FaultVerdict {
    fn of(fault: &PlantedFault, outcome: TestRunOutcome) -> FaultVerdict {
        let failed = match outcome {
            TestRunOutcome::Ran(failed) => failed,
            TestRunOutcome::Broken(why) => {
                return FaultVerdict { is_found: false, word: "DOES NOT BUILD", by: why };
            }
            TestRunOutcome::Hung => {
                return FaultVerdict { is_found: true, word: "found", by: "a test that never ends".into() };
            }
        };
        let more = failed.len().saturating_sub(1);
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match (failed.iter().find(|name| name.contains(&fault.finder)), failed.first()) {
            (Some(name), _) => {
                FaultVerdict { is_found: true, word: "found", by: format!("{name}{and_more}") }
            }
            (None, Some(name)) => {
                let by = format!("{name}{and_more}, but not by `{}`", fault.finder);
                FaultVerdict { is_found: false, word: "found by others", by }
            }
            (None, None) => FaultVerdict { is_found: false, word: "NOT FOUND", by: fault.tests.clone() },
        }
    }
}

/// What a run of tests came to.
enum TestRunOutcome {
    /// The names of those that failed.
    Ran(Vec<String>),
    /// It was not built; the last words.
    Broken(String),
    /// It was ended.
    Hung,
}

impl TestRunOutcome {
    fn of(outcome: &shell::ProcessResult) -> TestRunOutcome {
        let failed = |line: &String| {
            let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
            (verdict.trim() == "FAILED").then(|| name.trim().to_string())
        };
        let failed: Vec<String> = outcome.lines.iter().filter_map(failed).collect();
        let ran = outcome.lines.iter().any(|line| line.starts_with("test result: "));
        match (outcome.timed_out, ran || outcome.success) {
            (true, _) => TestRunOutcome::Hung,
            (false, true) => TestRunOutcome::Ran(failed),
            (false, false) => TestRunOutcome::Broken(outcome.last_words().to_string()),
        }
    }
}

/// A copy of what is committed, with a target directory of its own.
struct FaultTree {
    sources: PathBuf,
    target: PathBuf,
}

impl FaultTree {
    /// Makes it, or brings it up to date.
    fn of(root: &Path) -> Result<FaultTree, String> {
        let home = root.join("target/faults");
        let clone = FaultTree { sources: home.join("tree"), target: home.join("target") };
        if !clone.sources.join(".git").exists() {
            fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
            let mut make = std::process::Command::new("git");
            make.args(["clone", "--quiet", "--shared"]).arg(root).arg(&clone.sources);
            finished("git clone", make)?;
        }
        for words in
            [&["fetch", "--quiet", "origin", "HEAD"][..], &["reset", "--quiet", "--hard", "FETCH_HEAD"]]
        {
            let mut git = std::process::Command::new("git");
            git.arg("-C").arg(&clone.sources).args(words);
            finished(words[0], git)?;
        }
        Ok(clone)
    }

    fn test(&self, arguments: &str) -> Result<TestRunOutcome, String> {
        let mut test = shell::cargo();
        test.current_dir(&self.sources).args(["test", "--no-fail-fast"]).args(arguments.split_whitespace());
        test.env("CARGO_TARGET_DIR", &self.target).env("CARGO_TERM_COLOR", "never");
        let log = self.target.with_file_name("log.txt");
        Ok(TestRunOutcome::of(&shell::run(test, Some(&log), LIMIT)?))
    }

    /// Without a fault nothing fails.
    fn is_sound(&self, tests: BTreeSet<&str>) -> Result<(), String> {
        for arguments in tests {
            match self.test(arguments)? {
                TestRunOutcome::Ran(failed) if failed.is_empty() => {}
                TestRunOutcome::Ran(failed) => {
                    return Err(format!("{arguments}: fails without a fault: {}", failed.join(", ")));
                }
                TestRunOutcome::Broken(why) => {
                    return Err(format!("{arguments}: {why} (target/faults/log.txt)"));
                }
                TestRunOutcome::Hung => return Err(format!("{arguments}: it did not end without a fault")),
            }
        }
        Ok(())
    }

    /// Runs a fault's tests with the fault, and takes it out again.
    fn with(&self, fault: &PlantedFault) -> Result<TestRunOutcome, String> {
        let path = self.sources.join(&fault.file);
        let sound = read(&path)?;
        let write =
            |text: &str| fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()));
        write(&fault.planted(&sound)?)?;
        let outcome = self.test(&fault.tests);
        write(&sound)?;
        outcome
    }
}

fn finished(what: &str, command: std::process::Command) -> Result<(), String> {
    let outcome = shell::run(command, None, LIMIT)?;
    if outcome.success { Ok(()) } else { Err(format!("{what}: {}", outcome.last_words())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(lines: &[&str], success: bool) -> shell::ProcessResult {
        let lines = lines.iter().map(ToString::to_string).collect();
        shell::ProcessResult { success, timed_out: false, lines, duration: Duration::ZERO }
    }

    fn staged() -> PlantedFault {
        let entry: toml::Value = toml::from_str(
            "name = 'n'\nfile = 'f'\ntext = 'a'\nreplacement = 'b'\ntier = 'pure'\ntests = '-p x'\nfinder = 'one::'",
        )
        .expect("a fault");
        PlantedFault::of(&entry).expect("all fields")
    }

    #[test]
    fn every_fault_fits_its_file_and_most_are_for_pure_tests() {
        let faults = table().expect("a table");
        for fault in &faults {
            let path = crate::root().join(&fault.file);
            let planted = fault.planted(&read(&path).expect("its file"));
            assert!(planted.is_ok_and(|text| text.contains(&fault.replacement)), "{}", fault.name);
            assert!(["pure", "live"].contains(&fault.tier.as_str()), "{}", fault.name);
        }
        let pure = faults.iter().filter(|fault| fault.tier == "pure").count();
        assert!(faults.len() >= 12 && pure >= 9, "{pure} of {}", faults.len());
    }

    #[test]
    fn a_text_that_stands_twice_or_never_is_refused() {
        assert_eq!(staged().planted("xax"), Ok("xbx".into()));
        assert!(staged().planted("aa").is_err_and(|why| why.contains("2 times")));
        assert!(staged().planted("x").is_err_and(|why| why.contains("0 times")));
    }

    #[test]
    fn a_fault_is_found_by_its_finder_alone() {
        let verdict = |lines: &[&str], success| {
            let verdict = FaultVerdict::of(&staged(), TestRunOutcome::of(&ran(lines, success)));
            (verdict.is_found, verdict.word)
        };
        let end = "test result: FAILED. 1 passed; 1 failed";
        assert_eq!(verdict(&["test one::x ... FAILED", "test two   ... ok", end], false), (true, "found"));
        assert_eq!(verdict(&["test two   ... FAILED", end], false), (false, "found by others"));
        assert_eq!(verdict(&["test one::x ... ok", "test result: ok."], true), (false, "NOT FOUND"));
        assert_eq!(verdict(&["error: could not compile"], false), (false, "DOES NOT BUILD"));
    }

    #[test]
    fn faults_are_asked_for_by_number() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(chosen(&[], 3), Ok(vec![1, 2, 3]));
        assert_eq!(chosen(&words("3 1"), 3), Ok(vec![3, 1]));
        assert!(chosen(&words("4"), 3).is_err() && chosen(&words("x"), 3).is_err());
    }
}
