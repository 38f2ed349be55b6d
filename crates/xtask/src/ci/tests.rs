//! The tests of a run, tier after tier: what each took, what failed with its words, what was disturbed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{CiRun, announce, seconds, show};
use crate::shell;
use crate::suite::{CaseOutcome, Choice, Ran, Schedule, Suite, TestCase, Tier};

/// How many of the cases that took the longest are named.
const SLOWEST: usize = 10;
/// Lines of a failed case's words that are shown; its log has them all.
const SHOWN_LINES: usize = 40;
/// Lines of warnings that are shown.
const SHOWN_WARNINGS: usize = 80;
/// What is built once is built faster if it need not be built incrementally, in small units, nor for a debugger: a panic
/// names its line all the same.
pub const BUILT_ONCE: [(&str, &str); 4] = [
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_LTO", "off"),
    ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "16"),
];
/// A compiler says at once where it lies.
const ASK_LIMIT: Duration = Duration::from_secs(60);

/// What is known of a tier when it is over.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// What disturbed a case, and what became of it when it ran alone.
    disturbed: Vec<String>,
    times: Vec<(Duration, String)>,
    /// When its last case was over, since the first of its schedule began.
    ended: Duration,
}

/// Builds the test programs as a contributor's own builds do, to share with them; none where they do not build.
pub fn build(run: &mut CiRun) -> Option<Suite> {
    let command = Suite::build(&run.root, &[]);
    finish(run, command).1
}

/// Builds the test programs under clippy, which compiles what it judges: the workspace is compiled once for both. Where
/// there is no clippy, that is skipped and the programs are built all the same.
pub fn build_under_clippy(run: &mut CiRun) -> Option<Suite> {
    let mut command = Suite::build(&run.root, &[]);
    command.envs(BUILT_ONCE);
    let driver = clippy_driver();
    if let Ok(driver) = &driver {
        // Warnings do not end the build, so that one run tells them and runs the tests.
        command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", "");
    }
    let (lines, suite) = finish(run, command);
    match driver {
        Ok(_) => judge_warnings(run, &lines),
        Err(why) => run.skip("clippy", &why),
    }
    suite
}

/// clippy as a compiler, beside the compiler that is in use.
fn clippy_driver() -> Result<PathBuf, String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--print", "sysroot"]);
    let asked = shell::run(command, None, ASK_LIMIT)?;
    let driver = Path::new(asked.last_words()).join("bin/clippy-driver");
    if driver.is_file() { Ok(driver) } else { Err("clippy is not installed".into()) }
}

/// Counts clippy as one step: passed where the build warned of nothing.
fn judge_warnings(run: &mut CiRun, lines: &[String]) {
    let rendered: Vec<&String> = lines.iter().filter(|line| !line.starts_with('{')).collect();
    let warnings = rendered.iter().filter(|line| is_warning(line)).count();
    if warnings == 0 {
        run.score.passed += 1;
        return announce("ok", Duration::ZERO, "clippy", "in the build of the tests");
    }
    run.score.failed += 1;
    announce(
        "FAILED",
        Duration::ZERO,
        "clippy",
        &format!("{warnings} warnings, in target/ci/build-the-tests.log"),
    );
    let first = rendered.iter().position(|line| is_warning(line)).unwrap_or(0);
    rendered[first..].iter().take(SHOWN_WARNINGS).for_each(|line| println!("    {line}"));
}

fn is_warning(line: &str) -> bool {
    line.starts_with("warning: ") || line.starts_with("warning[")
}

fn finish(run: &mut CiRun, command: Command) -> (Vec<String>, Option<Suite>) {
    let Some(outcome) = run.launch("build the tests", command, run.remaining()) else {
        return (Vec::new(), None);
    };
    let read = if outcome.success { Suite::read(&outcome.lines) } else { Err("they do not build".into()) };
    match read {
        Ok(suite) => {
            announce("ok", outcome.duration, "build the tests", &format!("{} cases", suite.cases.len()));
            (outcome.lines, Some(suite))
        }
        Err(why) => {
            run.score.failed += 1;
            announce("FAILED", outcome.duration, "build the tests", &why);
            show("build the tests", &outcome, |line| !line.starts_with('{'));
            (outcome.lines, None)
        }
    }
}

/// Runs the chosen cases: the pure tier by itself, then the others in one schedule, whose waiting overlaps.
pub fn perform(run: &mut CiRun, suite: &Suite, choice: &Choice) {
    let mut slowest = Vec::new();
    for tiers in [&[Tier::Pure][..], &[Tier::Live, Tier::Against]] {
        let is_chosen = |tier: &&Tier| choice.tier.is_none_or(|only| only == **tier);
        let tiers: Vec<Tier> = tiers.iter().filter(is_chosen).copied().collect();
        if !tiers.is_empty() {
            slowest.extend(of_tiers(run, suite, choice, &tiers));
        }
    }
    slowest.sort_by_key(|(took, _): &(Duration, String)| std::cmp::Reverse(*took));
    println!("the {SLOWEST} cases that took the longest:");
    let all: String =
        slowest.iter().map(|(took, title)| format!("{:.3}\t{title}\n", took.as_secs_f64())).collect();
    // All of them, for whoever wants to make a run shorter.
    let _ = std::fs::write(run.root.join("target/ci/times.tsv"), all);
    slowest.iter().take(SLOWEST).for_each(|(took, title)| println!("{:>17}  {title}", seconds(*took)));
}

/// Runs the cases of some tiers beside each other; the time that each case took.
fn of_tiers(run: &mut CiRun, suite: &Suite, choice: &Choice, tiers: &[Tier]) -> Vec<(Duration, String)> {
    let chosen = |tier: &Tier| suite.chosen(&Choice { tier: Some(*tier), ..choice.clone() });
    let cases: Vec<TestCase> = tiers.iter().flat_map(chosen).collect();
    let mut tallies: BTreeMap<Tier, Tally> = tiers.iter().map(|tier| (*tier, Tally::default())).collect();
    let started = Instant::now();
    Schedule::until(run.deadline).run(cases, &mut |ran| {
        let tally = tallies.entry(ran.case.tier).or_default();
        tally.hear(ran, run);
        tally.ended = started.elapsed();
    });
    for (tier, tally) in &tallies {
        let all = suite.cases.iter().filter(|case| case.tier == *tier).count();
        tally.announce(*tier, all);
    }
    tallies.into_values().flat_map(|tally| tally.times).collect()
}

impl Tally {
    fn announce(&self, tier: Tier, all: usize) {
        let count = self.times.len();
        let work: Duration = self.times.iter().map(|(took, _)| *took).sum();
        let sample = if count < all { format!(", a sample: {count} of {all} cases") } else { String::new() };
        let counts =
            format!("{} passed, {} failed, {} skipped{sample}", self.passed, self.failed, self.skipped);
        let word = if self.failed == 0 { "ok" } else { "FAILED" };
        let text = format!("{counts}; its cases one after the other: {}", seconds(work));
        announce(word, self.ended, &format!("tests: {}", tier.name()), &text);
        self.disturbed.iter().for_each(|line| println!("{:>17}  {line}", "disturbed"));
    }

    /// Takes down what became of a case, and tells what failed at once.
    fn hear(&mut self, ran: &Ran, run: &mut CiRun) {
        let title = ran.case.title();
        self.times.push((ran.took, title.clone()));
        if let Some(figures) = &ran.disturbed {
            let word = match &ran.outcome {
                CaseOutcome::Passed(_) => "passed",
                CaseOutcome::Skipped(_) => "was skipped",
                CaseOutcome::Failed(_) => "failed",
            };
            self.disturbed.push(format!("{title}: {figures}; alone it {word}"));
        }
        self.count(&title, &ran.outcome, run);
        ran.parts.iter().for_each(|(name, outcome)| self.count(&format!("{title}: {name}"), outcome, run));
    }

    fn count(&mut self, title: &str, outcome: &CaseOutcome, run: &mut CiRun) {
        match outcome {
            CaseOutcome::Passed(count) => {
                self.passed += count;
                run.score.passed += count;
            }
            CaseOutcome::Skipped(why) => {
                self.skipped += 1;
                run.score.skip(title, why);
            }
            CaseOutcome::Failed(said) => {
                self.failed += 1;
                run.score.failed += 1;
                complain(title, said, run);
            }
        }
    }
}

/// Prints the end of what a failed case said, and keeps all of it.
fn complain(title: &str, said: &[String], run: &CiRun) {
    println!("  failed: {title}");
    let log = run.log(&format!("failed-{title}"));
    let _ = std::fs::create_dir_all(log.parent().unwrap_or(&log));
    let _ = std::fs::write(&log, said.join("\n"));
    let from = said.len().saturating_sub(SHOWN_LINES);
    said[from..].iter().for_each(|line| println!("    {line}"));
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::ci::score::Score;

    fn judged(lines: &[&str]) -> Score {
        let (root, deadline) = (std::env::temp_dir(), Instant::now());
        let mut run = CiRun { root, deadline, score: Score::default() };
        judge_warnings(&mut run, &lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        run.score
    }

    #[test]
    fn a_build_that_warns_fails_clippy() {
        let quiet = judged(&["   Compiling model v0.1.0", "{\"message\":\"warning: in a message\"}"]);
        assert_eq!((quiet.passed, quiet.failed), (1, 0));
        let loud = judged(&["warning: this `if` statement can be collapsed", "  --> a.rs:1:2"]);
        assert_eq!((loud.passed, loud.failed), (0, 1));
    }
}
