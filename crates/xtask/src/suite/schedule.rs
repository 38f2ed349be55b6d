//! Runs cases, as many at a time as their weights allow, and judges what the machine did to those that failed.
//!
//! A case that failed while a limit of [`machine`] was exceeded is run again, alone, once, after all others. That run
//! counts: it passes, it fails, or, where the machine is measured to be disturbed by others even then, it is skipped with
//! those figures.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::machine::{Idle, PressureShares, Watch};
use super::outcome::{self, CaseOutcome};
use super::{TestCase, Tier, Weight};
use crate::shell;

/// Cases that wait, for each processor.
const WAITING: usize = 3;
/// How often it is looked whether processors are idle.
const GLANCE: Duration = Duration::from_millis(500);
/// Shares of the processors' time: above the first one more case is run than usual, below the second one less.
const IDLE: (f64, f64) = (0.35, 0.10);
/// Cases that are run at most beyond what their weights allow, for each processor.
const BEYOND: usize = 2;
/// A case that takes longer hangs. No case is judged by it: the slowest takes a tenth of it on a quiet machine.
const HUNG: Duration = Duration::from_secs(600);
/// Threads of a program of the pure tier.
const PURE_THREADS: &str = "2";

/// Runs cases.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Processors to keep busy.
    pub processors: usize,
    /// A case that is not over by then has failed.
    pub deadline: Instant,
    /// What every case finds in its environment besides.
    pub environment: Vec<(String, String)>,
}

/// What became of one case.
#[derive(Debug, Clone)]
pub struct Ran {
    pub case: TestCase,
    /// What became of it.
    pub outcome: CaseOutcome,
    /// How long it took, the second run included.
    pub took: Duration,
    /// Whether its program could be started: no disturbance explains one that could not.
    pub began: bool,
    /// What disturbed its first run, where it was run again.
    pub disturbed: Option<String>,
    /// Of a whole program: its further outcomes, by the case's name.
    pub parts: Vec<(String, CaseOutcome)>,
}

impl Schedule {
    /// On all processors, until a moment.
    pub fn until(deadline: Instant) -> Schedule {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Schedule { processors, deadline, environment: Vec::new() }
    }

    /// Runs all cases and hands out each when it is over: beside each other those that may be, then those that run
    /// alone, then again those that the machine disturbed.
    pub fn run(&self, cases: Vec<TestCase>, each: &mut dyn FnMut(&Ran)) {
        let (alone, beside): (Vec<TestCase>, Vec<TestCase>) =
            cases.into_iter().partition(|case| case.weight == Weight::Alone);
        let mut again = Vec::new();
        let mut judge = |ran: Ran, figures: &PressureShares| {
            let failed =
                matches!(ran.outcome, CaseOutcome::Failed(_)) && ran.case.tier != Tier::Pure && ran.began;
            match failed && figures.is_disturbed() {
                true => again.push(Ran { disturbed: Some(figures.to_string()), ..ran }),
                false => each(&ran),
            }
        };
        self.beside(beside, &mut judge);
        for case in alone {
            let (ran, figures) = self.alone(case);
            judge(ran, &figures);
        }
        for first in again {
            let (ran, figures) = self.alone(first.case.clone());
            each(&second(first, ran, &figures));
        }
    }

    /// Runs cases beside each other until all are over. What a case asks of the processors is a guess: while they are
    /// found idle, more cases run than the weights allow.
    fn beside(&self, cases: Vec<TestCase>, judge: &mut dyn FnMut(Ran, &PressureShares)) {
        let of = |weight| cases.iter().filter(|case| case.weight == weight).cloned().collect::<VecDeque<_>>();
        let (mut waiting, mut computing) = (of(Weight::Waits), of(Weight::Computes));
        let (mut waits, mut computes) = (0, 0);
        let (sender, receiver) = channel::<(Ran, PressureShares)>();
        let (mut idle, mut beyond) = (Idle::begin(), 0);
        loop {
            // Those that compute share the processors with those that wait, while there are both.
            let only = waiting.is_empty() && waits == 0;
            let room = if only { self.processors } else { self.processors.max(2) - 1 };
            while computes < room + beyond && self.start(&mut computing, &sender) {
                computes += 1;
            }
            while waits < WAITING * self.processors + beyond && self.start(&mut waiting, &sender) {
                waits += 1;
            }
            if waits + computes == 0 {
                return;
            }
            if let Some(share) = idle.share_after(GLANCE) {
                beyond = self.adjusted(beyond, share);
            }
            let Ok((ran, figures)) = receiver.recv_timeout(GLANCE) else { continue };
            match ran.case.weight {
                Weight::Waits => waits -= 1,
                _ => computes -= 1,
            }
            judge(ran, &figures);
        }
    }

    /// How many cases run beyond the weights, now that so much was idle.
    fn adjusted(&self, beyond: usize, idle: f64) -> usize {
        match idle {
            idle if idle > IDLE.0 => (beyond + 1).min(BEYOND * self.processors),
            idle if idle < IDLE.1 => beyond.saturating_sub(1),
            _ => beyond,
        }
    }

    /// Starts the next case of a queue; whether there was one.
    fn start(&self, queue: &mut VecDeque<TestCase>, done: &Sender<(Ran, PressureShares)>) -> bool {
        let Some(case) = queue.pop_front() else { return false };
        let (schedule, done) = (self.clone(), done.clone());
        std::thread::spawn(move || {
            let watch = Watch::among_others();
            let ran = schedule.perform(case);
            // The one who listens has gone only where the whole run was given up.
            let _ = done.send((ran, watch.end()));
        });
        true
    }

    /// Runs a case while nothing else of ours runs.
    fn alone(&self, case: TestCase) -> (Ran, PressureShares) {
        let watch = Watch::alone();
        let ran = self.perform(case);
        (ran, watch.end())
    }

    /// The command that runs a case as cargo would run its program.
    fn command(&self, case: &TestCase) -> Command {
        let mut command = Command::new(&case.executable);
        command.current_dir(&case.folder).env("CARGO_MANIFEST_DIR", &case.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        match case.name.is_empty() {
            true => command.env("RUST_TEST_THREADS", PURE_THREADS),
            false => command.args(["--exact", &case.name, "--test-threads=1", "--nocapture"]),
        };
        command
    }

    fn perform(&self, case: TestCase) -> Ran {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let ended = shell::run(self.command(&case), None, HUNG.min(left));
        match ended {
            Ok(ended) if case.name.is_empty() => whole(case, &ended),
            Ok(ended) => {
                let outcome = outcome::of_case(&case.name, &ended);
                Ran { case, outcome, took: ended.duration, began: true, disturbed: None, parts: Vec::new() }
            }
            Err(why) => Ran {
                case,
                outcome: CaseOutcome::Failed(vec![why]),
                took: Duration::ZERO,
                began: false,
                disturbed: None,
                parts: Vec::new(),
            },
        }
    }
}

/// What became of a program that ran whole.
fn whole(case: TestCase, ended: &shell::ProcessResult) -> Ran {
    let counted = outcome::of_program(&case.program, ended);
    let skipped = counted.skipped.iter().filter_map(|skip| skip.split_once(": "));
    let skipped = skipped.map(|(name, why)| (name.to_string(), CaseOutcome::Skipped(why.to_string())));
    let failed = counted.failed.iter().map(|name| (name.clone(), CaseOutcome::Failed(ended.lines.clone())));
    let parts = skipped.chain(failed).collect();
    Ran {
        case,
        outcome: CaseOutcome::Passed(counted.passed),
        took: ended.duration,
        began: true,
        disturbed: None,
        parts,
    }
}

/// The second run of a case, and what it counts as.
fn second(first: Ran, ran: Ran, figures: &PressureShares) -> Ran {
    let before = first.disturbed.unwrap_or_default();
    let outcome = match ran.outcome {
        CaseOutcome::Failed(_) if ran.began && figures.is_disturbed() => {
            CaseOutcome::Skipped(format!("disturbed twice: {before}; then, alone: {figures}"))
        }
        other => other,
    };
    Ran { outcome, took: first.took + ran.took, disturbed: Some(before), ..ran }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule { processors: 2, ..Schedule::until(Instant::now() + Duration::from_secs(600)) }
    }

    /// A shell that prints what a test program prints; its "name" is the script's argument zero.
    fn staged(folder: &tempfile::TempDir, name: &str, body: &str, weight: Weight) -> TestCase {
        let program = folder.path().join(name);
        let result = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'";
        let script = format!("#!/bin/sh\n{body}\n{result}\n");
        std::fs::write(&program, script).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("executable");
        let folder = folder.path().to_path_buf();
        TestCase {
            program: name.into(),
            name: name.into(),
            tier: Tier::Live,
            weight,
            executable: program,
            folder,
        }
    }

    #[test]
    fn every_case_is_run_and_judged_once() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let cases = vec![
            staged(&folder, "waits", "", Weight::Waits),
            staged(&folder, "computes", "", Weight::Computes),
            staged(&folder, "alone", "", Weight::Alone),
        ];
        let mut seen = Vec::new();
        schedule().run(cases, &mut |ran| seen.push((ran.case.name.clone(), ran.outcome.clone())));
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[2], ("alone".to_string(), CaseOutcome::Passed(1)));
        assert!(seen.iter().all(|(_, outcome)| *outcome == CaseOutcome::Passed(1)), "{seen:?}");
    }

    #[test]
    fn one_that_runs_alone_runs_after_all_others_have_ended() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let cases = vec![
            staged(&folder, "alone", "test -e other-ended || exit 1", Weight::Alone),
            staged(&folder, "other", "touch other-ended", Weight::Computes),
        ];
        let mut failed = 0;
        schedule().run(cases, &mut |ran| failed += u32::from(ran.outcome != CaseOutcome::Passed(1)));
        assert_eq!(failed, 0);
    }

    #[test]
    fn idle_processors_get_more_cases_and_busy_ones_fewer() {
        let schedule = schedule();
        assert_eq!((schedule.adjusted(0, 0.9), schedule.adjusted(4, 0.9)), (1, 4));
        assert_eq!(
            (schedule.adjusted(2, 0.2), schedule.adjusted(2, 0.05), schedule.adjusted(0, 0.0)),
            (2, 1, 0)
        );
    }

    fn ran(outcome: CaseOutcome, disturbed: Option<&str>) -> Ran {
        let (case, took) = (TestCase::default(), Duration::from_secs(1));
        Ran { case, outcome, took, began: true, disturbed: disturbed.map(String::from), parts: Vec::new() }
    }

    #[test]
    fn the_second_run_counts() {
        let first = || ran(CaseOutcome::Failed(Vec::new()), Some("stolen 50 %"));
        let quiet = PressureShares::default();
        let passed = second(first(), ran(CaseOutcome::Passed(1), None), &quiet);
        assert_eq!((passed.outcome, passed.took), (CaseOutcome::Passed(1), Duration::from_secs(2)));
        let failed = second(first(), ran(CaseOutcome::Failed(Vec::new()), None), &quiet);
        assert_eq!(failed.outcome, CaseOutcome::Failed(Vec::new()));
    }

    #[test]
    fn one_that_is_disturbed_again_is_skipped_with_its_figures() {
        let first = ran(CaseOutcome::Failed(Vec::new()), Some("stolen 50 %"));
        let again = second(first, ran(CaseOutcome::Failed(Vec::new()), None), &PressureShares::staged(0.5));
        let CaseOutcome::Skipped(why) = again.outcome else { panic!("{again:?}") };
        assert!(why.contains("stolen 50 %") && why.contains("limit 3 %"), "{why}");
    }
}
