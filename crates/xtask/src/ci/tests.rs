//! The tests of a run, tier after tier: what each took, what failed with its words, what was disturbed.

use std::time::{Duration, Instant};

use super::{Run, announce, seconds, show};
use crate::suite::{Case, Choice, Outcome, Ran, Schedule, Suite, Tier};

/// How many of the cases that took the longest are named.
const SLOWEST: usize = 10;
/// Lines of a failed case's words that are shown; its log has them all.
const SHOWN_LINES: usize = 40;

/// What is known of a tier when it is over.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// What disturbed a case, and what became of it when it ran alone.
    disturbed: Vec<String>,
    times: Vec<(Duration, String)>,
}

/// Builds the test programs; none where they do not build. What is built once is built faster if it need not be built
/// incrementally; a contributor's own builds are, and are shared with.
pub fn build(run: &mut Run, incrementally: bool) -> Option<Suite> {
    let mut command = Suite::build(&run.root, &[]);
    if !incrementally {
        command.env("CARGO_INCREMENTAL", "0");
    }
    let outcome = run.launch("build the tests", command, run.remaining())?;
    let read = if outcome.success { Suite::read(&outcome.lines) } else { Err("they do not build".into()) };
    match read {
        Ok(suite) => {
            announce("ok", outcome.duration, "build the tests", &format!("{} cases", suite.cases.len()));
            Some(suite)
        }
        Err(why) => {
            run.score.failed += 1;
            announce("FAILED", outcome.duration, "build the tests", &why);
            show("build the tests", &outcome, |line| !line.starts_with('{'));
            None
        }
    }
}

/// Runs the chosen cases of each tier.
pub fn perform(run: &mut Run, suite: &Suite, choice: &Choice) {
    let mut slowest = Vec::new();
    for tier in Tier::ALL.into_iter().filter(|tier| choice.tier.is_none_or(|only| only == *tier)) {
        let cases = suite.chosen(&Choice { tier: Some(tier), ..choice.clone() });
        let all = suite.cases.iter().filter(|case| case.tier == tier).count();
        let tally = of_tier(run, tier, cases, all);
        slowest.extend(tally.times);
    }
    slowest.sort_by_key(|(took, _): &(Duration, String)| std::cmp::Reverse(*took));
    println!("the {SLOWEST} cases that took the longest:");
    slowest.iter().take(SLOWEST).for_each(|(took, title)| println!("{:>17}  {title}", seconds(*took)));
}

fn of_tier(run: &mut Run, tier: Tier, cases: Vec<Case>, all: usize) -> Tally {
    let (started, count) = (Instant::now(), cases.len());
    let schedule = Schedule::until(run.deadline);
    let mut tally = Tally::default();
    schedule.run(cases, &mut |ran| tally.hear(ran, run));
    let word = if tally.failed == 0 { "ok" } else { "FAILED" };
    let sample = if count < all { format!(", a sample: {count} of {all} cases") } else { String::new() };
    let counts =
        format!("{} passed, {} failed, {} skipped{sample}", tally.passed, tally.failed, tally.skipped);
    announce(word, started.elapsed(), &format!("tests: {}", tier.name()), &counts);
    tally.disturbed.iter().for_each(|line| println!("{:>17}  {line}", "disturbed"));
    tally
}

impl Tally {
    /// Takes down what became of a case, and tells what failed at once.
    fn hear(&mut self, ran: &Ran, run: &mut Run) {
        let title = ran.case.title();
        self.times.push((ran.took, title.clone()));
        if let Some(figures) = &ran.disturbed {
            let word = match &ran.outcome {
                Outcome::Passed(_) => "passed",
                Outcome::Skipped(_) => "was skipped",
                Outcome::Failed(_) => "failed",
            };
            self.disturbed.push(format!("{title}: {figures}; alone it {word}"));
        }
        self.count(&title, &ran.outcome, run);
        ran.parts.iter().for_each(|(name, outcome)| self.count(&format!("{title}: {name}"), outcome, run));
    }

    fn count(&mut self, title: &str, outcome: &Outcome, run: &mut Run) {
        match outcome {
            Outcome::Passed(count) => {
                self.passed += count;
                run.score.passed += count;
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                run.score.skip(title, why);
            }
            Outcome::Failed(said) => {
                self.failed += 1;
                run.score.failed += 1;
                complain(title, said, run);
            }
        }
    }
}

/// Prints the end of what a failed case said, and keeps all of it.
fn complain(title: &str, said: &[String], run: &Run) {
    println!("  failed: {title}");
    let log = run.log(&format!("failed-{title}"));
    let _ = std::fs::create_dir_all(log.parent().unwrap_or(&log));
    let _ = std::fs::write(&log, said.join("\n"));
    let from = said.len().saturating_sub(SHOWN_LINES);
    said[from..].iter().for_each(|line| println!("    {line}"));
}
