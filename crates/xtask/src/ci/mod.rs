//! `cargo xtask ci`: all that continuous integration runs, and exactly what a contributor can run before it does.
//!
//! Every step is announced on one line with its duration; a failed step does not end the run, so one run names
//! everything that is wrong. What cannot be done on this machine is counted as skipped, with its reason, and never as
//! passed. `--only TIER` runs the tests of one tier and nothing else: what one runs while working. The very last line is
//! `N passed, N failed, N skipped`.

mod packages;
mod python;
mod score;
mod tests;

pub use tests::BUILT_ONCE;

use score::Score;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::shell::{self, ProcessResult};
use crate::suite::{Choice, Tier};
use crate::{emulated, examples, newer, systems};

/// All of it must fit: a hosted run is ended after 90 minutes without a word.
const WHOLE_LIMIT: Duration = Duration::from_secs(80 * 60);
/// How many lines of a failed step are shown; the log file has them all.
const SHOWN_LINES: usize = 150;

/// What the run was asked to leave out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    no_install: bool,
    /// Only the tests of this tier.
    only: Option<Tier>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--no-install" => options.no_install = true,
                "--only" => {
                    let tier = arguments.next().ok_or("ci: --only: expected pure, live or against")?;
                    options.only = Some(tier.parse().map_err(|why| format!("ci: --only: {why}"))?);
                }
                other => return Err(format!("ci: `{other}`: expected --no-install or --only TIER")),
            }
        }
        Ok(options)
    }
}

/// A run in progress: where it runs, until when, and what it has counted.
struct CiRun {
    root: PathBuf,
    deadline: Instant,
    score: Score,
}

/// Runs every step, prints the reasons of all skips, then the closing line; true when nothing failed.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let started = Instant::now();
    let mut run =
        CiRun { root: root.to_path_buf(), deadline: started + WHOLE_LIMIT, score: Score::default() };
    match options.only {
        Some(tier) => run.tests(Some(tier)),
        None => run.everything(&options),
    }
    println!("\nall of it took {}", seconds(started.elapsed()));
    run.score.skips.iter().for_each(|skip| println!("skipped: {skip}"));
    println!("{}", run.score.closing_line());
    Ok(run.score.failed == 0)
}

/// `cargo xtask python`: the step of the Python module and nothing else.
pub fn python_chore(root: &Path) -> Result<bool, String> {
    let deadline = Instant::now() + WHOLE_LIMIT;
    let mut run = CiRun { root: root.to_path_buf(), deadline, score: Score::default() };
    python::check(&mut run, true);
    run.score.skips.iter().for_each(|skip| println!("skipped: {skip}"));
    println!("{}", run.score.closing_line());
    Ok(run.score.failed == 0)
}

/// What is fetched while something else is done.
struct Installing(JoinHandle<InstallResult>);

/// What came of it.
struct InstallResult {
    report: packages::Report,
    took: Duration,
    newer: Result<String, String>,
    newer_took: Duration,
}

impl Installing {
    fn begin(root: &Path, limit: Duration) -> Installing {
        let root = root.to_path_buf();
        Installing(std::thread::spawn(move || {
            let started = Instant::now();
            let report = packages::install(&root, limit);
            let took = started.elapsed();
            let newer = newer::fetch(&root);
            InstallResult { report, took, newer, newer_took: started.elapsed() - took }
        }))
    }
}

impl CiRun {
    fn everything(&mut self, options: &Options) {
        // Fetching waits for others: meanwhile it is compiled what needs no package.
        let installing = (!options.no_install).then(|| Installing::begin(&self.root, self.remaining()));
        self.cargo("format", &["fmt", "--all", "--check"]);
        let suite = tests::build_under_clippy(self);
        self.installed(installing);
        if let Some(suite) = suite {
            tests::perform(self, &suite, &Choice::default());
        }
        self.examples();
        python::check(self, !options.no_install);
        self.systems();
    }

    /// Waits for the packages, and says what came of them.
    fn installed(&mut self, installing: Option<Installing>) {
        let Some(installing) = installing else {
            return self.skip("packages for tests", "left out by --no-install");
        };
        let Ok(InstallResult { report, took, newer, newer_took }) = installing.0.join() else {
            return self.skip("packages for tests", "the step that installs them broke off");
        };
        announce("ok", took, "install", &report.summary);
        let missing = report.missing.iter();
        missing.for_each(|(package, reason)| self.score.skip(&format!("package {package}"), reason));
        match newer {
            Ok(version) => announce("ok", newer_took, "newer originals", &version),
            Err(why) => self.skip("newer originals", &why),
        }
    }

    /// Builds and runs the tests, of all tiers or of one.
    fn tests(&mut self, only: Option<Tier>) {
        let Some(suite) = tests::build(self) else { return };
        tests::perform(self, &suite, &Choice { tier: only, ..Choice::default() });
    }

    /// The program under test explains every example, and runs those that touch no storage. The README's optimised build is
    /// the same source, and takes a sixth of the time that a run has: `cargo xtask against release` makes it.
    fn examples(&mut self) {
        for example in examples::all(&self.root) {
            for verb in examples::verbs(&self.root, &example) {
                let command = examples::command(&self.root, "debug", verb, &example);
                self.step(&format!("{verb} {}", example.display()), command, examples::LIMIT);
            }
        }
        self.skip("the release build", "only `cargo xtask against release` makes it, and its examples");
    }

    /// Type-checks the program for another system; the rest is left to `against`.
    fn systems(&mut self) {
        let (had, missing) = systems::to_be_had(systems::SAMPLE);
        missing.iter().for_each(|(target, why)| self.skip(&format!("check {target}"), why));
        if !had.is_empty() {
            let command = systems::check(&self.root, &had);
            self.step(&format!("check {}", had.join(", ")), command, self.remaining());
        }
        self.skip("macOS", "only `cargo xtask against systems` type-checks it");
        self.skip(
            "the studio's journeys in a browser",
            "only `cargo xtask against studio` drives Chromium, with packages of npm",
        );
        self.skip(emulated::TARGET, "only `cargo xtask against aarch64` builds and runs it");
    }

    fn cargo(&mut self, name: &str, arguments: &[&str]) -> bool {
        let command = self.cargo_command(arguments);
        self.step(name, command, self.remaining())
    }

    fn cargo_command(&self, arguments: &[&str]) -> Command {
        let mut command = shell::cargo();
        command.current_dir(&self.root).args(arguments);
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_COLOR", "never");
        command
    }

    /// Runs a step that counts as one, passed or failed, and says so.
    fn step(&mut self, name: &str, command: Command, limit: Duration) -> bool {
        let Some(outcome) = self.launch(name, command, limit) else { return false };
        if outcome.success {
            self.score.passed += 1;
            announce("ok", outcome.duration, name, "");
        } else {
            self.score.failed += 1;
            let why = if outcome.timed_out { "its time was up" } else { "" };
            announce("FAILED", outcome.duration, name, why);
            show(name, &outcome, |_| true);
        }
        outcome.success
    }

    /// Runs a program with its log under `target/ci`; one that cannot be started is a failed step.
    fn launch(&mut self, name: &str, command: Command, limit: Duration) -> Option<ProcessResult> {
        let log = self.log(name);
        match shell::run(command, Some(&log), limit.min(self.remaining())) {
            Ok(outcome) => Some(outcome),
            Err(message) => {
                self.score.failed += 1;
                announce("FAILED", Duration::ZERO, name, &message);
                None
            }
        }
    }

    /// Where what a step said is kept.
    fn log(&self, name: &str) -> PathBuf {
        self.root.join("target/ci").join(format!("{}.log", file_name(name)))
    }

    fn skip(&mut self, name: &str, reason: &str) {
        announce("skipped", Duration::ZERO, name, reason);
        self.score.skip(name, reason);
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

fn announce(word: &str, duration: Duration, name: &str, detail: &str) {
    let separator = if detail.is_empty() { "" } else { ": " };
    println!("{word:<8}{:>9}  {name}{separator}{detail}", seconds(duration));
}

fn show(name: &str, outcome: &ProcessResult, wanted: impl Fn(&str) -> bool) {
    let lines: Vec<&String> = outcome.lines.iter().filter(|line| wanted(line) && !is_chatter(line)).collect();
    let first = lines.len().saturating_sub(SHOWN_LINES);
    println!(
        "──── {name}: the last {} lines; all are in target/ci/{}.log",
        lines.len() - first,
        file_name(name)
    );
    lines[first..].iter().for_each(|line| println!("{line}"));
    println!("────");
}

/// Cargo's account of what it builds, which buries the reason of a failure.
fn is_chatter(line: &str) -> bool {
    let first = line.trim_start().split(' ').next().unwrap_or_default();
    line.starts_with("  ")
        && matches!(first, "Compiling" | "Checking" | "Downloading" | "Downloaded" | "Fresh")
}

fn file_name(step: &str) -> String {
    step.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn flags_are_read_and_others_refused() {
        let parse =
            |words: &[&str]| Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        let only = Some(Tier::Pure);
        assert_eq!(parse(&["--only", "pure", "--no-install"]), Ok(Options { no_install: true, only }));
        assert!(parse(&["--fast"]).unwrap_err().contains("--fast"));
        assert!(parse(&["--only", "quick"]).unwrap_err().contains("pure, live or against"));
        assert!(parse(&["--only"]).is_err());
    }

    #[test]
    fn cargos_chatter_is_left_out_of_what_failed() {
        assert!(is_chatter("   Compiling serde v1.0.229"));
        assert!(!is_chatter("error: could not compile `serde`"));
        assert!(!is_chatter("Checking is a word that a test may print"));
    }

    fn somewhere() -> CiRun {
        let root = std::env::temp_dir().join(format!("xtask-ci-{}", std::process::id()));
        CiRun { root, deadline: Instant::now() + Duration::from_secs(60), score: Score::default() }
    }

    #[test]
    fn a_failed_step_is_counted_and_the_run_goes_on() {
        let mut run = somewhere();
        assert!(!run.step("false", Command::new("false"), Duration::from_secs(9)));
        assert!(!run.step("missing", Command::new("no-such-program-here"), Duration::from_secs(9)));
        assert!(run.step("true", Command::new("true"), Duration::from_secs(9)));
        run.skip("a target", "not to be had");
        assert_eq!(run.score.closing_line(), "1 passed, 2 failed, 1 skipped");
        std::fs::remove_dir_all(&run.root).expect("the logs are there");
    }
}
