//! `cargo xtask against TOOL|all [PART]`: the originals and ours on the same input, all cases of it.
//!
//! The comparing is done by tests (counts and bytes equal, text equal after masking numbers), so that `cargo test`
//! and continuous integration, which takes a sample, hold the same things; this chore builds those tests, runs every case
//! of a tool, and prints what differs. Of fio it also prints a line for each job with the times of both. It refuses to
//! call a comparison passed that was not made: where an original is not installed, its cases are skipped.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::suite::{CaseOutcome, Choice, Ran, Schedule, Suite, TestCase, Tier};
use crate::{dist, dlio, emulated, examples, guest, objects, packages, shell, studio, systems, wrappers};

/// Asks fio's test for a line a job, in this file.
const LINES: &str = "IODYNO_AGAINST_LINES";
/// Puts another program in the place of ours.
const CANDIDATE: &str = "IODYNO_FIO_CANDIDATE";
/// The packages whose tests compare with originals.
const PACKAGES: &[&str] = &["iodyno", "iodyno-dialect", "iodyno-engine"];
/// Tools whose cases are all in one test program.
const ONE_PROGRAM: &[(&str, &str)] = &[
    ("sctp", "sctp"),
    ("raid", "raid"),
    ("objects", "objects"),
    ("slurm", "world"),
    ("k8s", "world"),
    ("dlio", "door"),
];
/// Building the tests.
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);
/// No case begins later.
const LIMIT: Duration = Duration::from_secs(80 * 60);

/// Runs the comparisons with an original, or with all; true when nothing differs but what is known to.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let tool = arguments.first().ok_or("against which tool? e.g. `cargo xtask against fio`, or `all`")?;
    let Options { itself, part } = Options::parse(&arguments[1..])?;
    if tool == "aarch64" {
        return emulated::chore(root);
    }
    if tool == "systems" {
        return systems::chore(root);
    }
    if tool == "release" {
        return examples::with_release_build(root);
    }
    match tool.as_str() {
        "dist" => return dist::against_dist(root, part.as_deref()),
        "publish" => return dist::against_publish(root),
        "reproducible" => return dist::against_reproducible(root),
        "studio" => return studio::chore(root),
        "wrappers" => return wrappers::chore(root, part.as_deref()),
        _ => {}
    }
    if itself && tool != "fio" {
        return Err("against: --itself: only fio can stand in our place".into());
    }
    let mut environment = Vec::new();
    for feature in [guest::SCTP, guest::RAID] {
        if tool == feature.name || tool == "all" {
            match guest::parts(root, &feature) {
                Ok(folder) => environment.push((feature.variable.to_string(), folder.display().to_string())),
                Err(why) => println!("a guest for {} cannot be had: {why}", feature.name),
            }
        }
    }
    if tool == "slurm" || tool == "all" {
        packages::install(&packages::SLURM);
    }
    if tool == "dlio" || tool == "all" {
        let folder = dlio::folder(root)?;
        environment.push((dlio::FOLDER.to_string(), folder.display().to_string()));
    }
    if tool == "objects" || tool == "all" {
        let folder = objects::fetched(root)?;
        environment.push((objects::FETCHED.to_string(), folder.display().to_string()));
    }
    let cases = chosen(root, tool, part)?;
    let lines = root.join("target/against/fio.txt");
    shell::fresh(&lines)?;
    environment.push((LINES.to_string(), lines.display().to_string()));
    if itself {
        let fio = shell::find("fio").ok_or("fio is not installed")?;
        environment.push((CANDIDATE.into(), fio.display().to_string()));
    }
    let tally = perform(cases, environment);
    let text = std::fs::read_to_string(&lines).unwrap_or_default();
    print!("{}", if text.is_empty() { String::new() } else { table(&text) });
    tally.skips.iter().for_each(|skip| println!("skipped: {skip}"));
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skips.len());
    Ok(tally.failed == 0)
}

/// The cases against a tool, of the tests as they are now.
fn chosen(root: &Path, tool: &str, part: Option<String>) -> Result<Vec<TestCase>, String> {
    // Their tests are one program each: no other is built for them.
    let one = ONE_PROGRAM.iter().find(|(name, _)| *name == tool);
    let mut build = Suite::build(root, if one.is_some() { &["iodyno"] } else { PACKAGES });
    if let Some((_, program)) = one {
        build.args(["--test", program]);
    }
    if tool == "objects" {
        // Its C is compiled for nothing else.
        build.args(["--test", "objects_tls", "--features", "tls-tests"]);
    }
    let outcome = shell::run(build, Some(&root.join("target/against/build.log")), BUILD_LIMIT)?;
    if !outcome.success {
        return Err(format!("the tests do not build: target/against/build.log: {}", outcome.last_words()));
    }
    let suite = Suite::read(&outcome.lines)?;
    let choice = Choice { tier: Some(Tier::Against), whole: true, part };
    let cases: Vec<TestCase> =
        suite.chosen(&choice).into_iter().filter(|case| tool == "all" || is_of(case, tool)).collect();
    if cases.is_empty() {
        let mut known: Vec<&str> =
            suite.cases.iter().filter(|case| case.tier == Tier::Against).map(tool_of).collect();
        known.sort_unstable();
        known.dedup();
        return Err(format!(
            "no such case is compared with {tool}\n hint: tools are all, aarch64, dist, publish, release, reproducible, \
             studio, systems, {}",
            known.join(", ")
        ));
    }
    Ok(cases)
}

/// Whether a case compares with a tool: its program or its own name says so.
fn is_of(case: &TestCase, tool: &str) -> bool {
    let begins =
        |name: &str| name.strip_prefix(tool).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    begins(&case.program) || begins(&case.name)
}

/// The tool that a program's name begins with.
fn tool_of(case: &TestCase) -> &str {
    case.program.split('_').next().unwrap_or(&case.program)
}

#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skips: Vec<String>,
}

fn perform(cases: Vec<TestCase>, environment: Vec<(String, String)>) -> Tally {
    let mut tally = Tally::default();
    let schedule = Schedule { environment, ..Schedule::until(Instant::now() + LIMIT) };
    schedule.run(cases, &mut |ran| tally.hear(ran));
    tally
}

impl Tally {
    fn hear(&mut self, ran: &Ran) {
        match &ran.outcome {
            CaseOutcome::Passed(count) => self.passed += count,
            CaseOutcome::Skipped(why) => self.skips.push(format!("{}: {why}", ran.case.title())),
            CaseOutcome::Failed(said) => {
                self.failed += 1;
                println!("failed: {}", ran.case.title());
                said.iter().for_each(|line| println!("    {line}"));
            }
        }
    }
}

struct Options {
    /// The original against itself: what is found then is the comparison's own unfairness.
    itself: bool,
    /// A part of the names of the cases to run.
    part: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { itself: false, part: None };
        for argument in arguments {
            match argument.as_str() {
                "--itself" => options.itself = true,
                flag if flag.starts_with('-') => return Err(format!("against: `{flag}`: expected --itself")),
                part if options.part.is_none() => options.part = Some(part.to_string()),
                more => return Err(format!("against: `{more}`: one part of a name is enough")),
            }
        }
        Ok(options)
    }
}

/// The lines in order of their jobs' names, with a head.
fn table(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let name = |line: &str| line.get(30..).unwrap_or(line).to_string();
    lines.sort_by_key(|line| name(line));
    let head = format!(
        "{:<8}{:>9} {:>9}   {:<28}{}\n",
        "", "original", "ours", "job", "what it proves, or what differs"
    );
    let equal = lines.iter().filter(|line| line.starts_with("equal")).count();
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{head}{body}\n{equal} of {} job files equal\n", lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_words_are_refused_before_anything_is_built() {
        let root = Path::new(".");
        assert!(chore(root, &[]).is_err());
        assert!(chore(root, &["fio".into(), "--fast".into()]).unwrap_err().contains("--fast"));
        assert!(chore(root, &["ior".into(), "--itself".into()]).unwrap_err().contains("only fio"));
    }

    #[test]
    fn a_tool_is_found_in_the_names_of_programs_and_cases() {
        let case = |program: &str, name: &str| TestCase {
            program: program.into(),
            name: name.into(),
            ..TestCase::default()
        };
        assert!(is_of(&case("fio_report", "shapes"), "fio") && is_of(&case("fio", "job_verify"), "fio"));
        assert!(is_of(&case("originals", "dd_counts"), "dd") && !is_of(&case("iperf3", "udp"), "iperf"));
    }

    #[test]
    fn jobs_are_told_in_order_of_their_names_and_counted() {
        let line =
            |verdict: &str, job: &str| format!("{verdict:<8}{:>6} ms {:>6} ms   {job:<28}why\n", 310, 20);
        let text = table(&(line("DIFFERS", "b") + &line("equal", "a")));
        assert!(text.find(" a ").unwrap() < text.find(" b ").unwrap(), "{text}");
        assert!(text.ends_with("1 of 2 job files equal\n"), "{text}");
    }
}
