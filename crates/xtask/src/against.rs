//! The original and ours on the same input: counts and bytes equal, text equal after masking numbers, speed a ratio.
//!
//! The comparing is done by a test of the program (`crates/iodyno/tests/fio`), so that `cargo test` and continuous
//! integration hold the same things; this chore runs that test and prints what it wrote down: a line a job, a tally.
//! It refuses to call a comparison passed that was not made: where the original is not installed, all of it is skipped.

use std::path::Path;
use std::time::Duration;

use crate::shell;

/// Asks the test for a line a job, in this file.
const LINES: &str = "IODYNO_AGAINST_LINES";
/// Puts another program in the place of ours.
const CANDIDATE: &str = "IODYNO_FIO_CANDIDATE";
/// Building included.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// Runs the comparison with an original; true when nothing differs but what is known to.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let tool = arguments.first().ok_or("against which tool? e.g. `cargo xtask against fio`")?;
    if tool != "fio" {
        let hint = "hint: `cargo xtask against fio` is there; dd and hdparm are held against by `cargo test originals`";
        return Err(format!("nothing is compared with {tool} by this chore\n {hint}"));
    }
    let Options { itself, filter } = Options::parse(&arguments[1..])?;
    let lines = root.join("target/against/fio.txt");
    shell::fresh(&lines)?;
    let mut test = shell::cargo();
    test.current_dir(root).args(["test", "--package", "iodyno", "--test", "fio", "--"]);
    test.args(filter).env(LINES, &lines).env("CARGO_TERM_COLOR", "never");
    if itself {
        test.env(CANDIDATE, shell::find("fio").ok_or("fio is not installed")?);
    }
    let log = root.join("target/against/fio.log");
    let outcome = shell::run(test, Some(&log), LIMIT)?;
    print!("{}", table(&std::fs::read_to_string(&lines).unwrap_or_default()));
    failures(&outcome.lines).for_each(|line| println!("{line}"));
    outcome.lines.iter().filter(|line| line.starts_with("skipped: ")).for_each(|line| println!("{line}"));
    let tally = outcome.lines.iter().rev().find(|line| line.starts_with("test result: "));
    println!("{}", tally.map_or(outcome.last_words(), String::as_str));
    println!("all that was said is in target/against/fio.log");
    Ok(outcome.success)
}

struct Options {
    /// The original against itself: what is found then is the comparison's own unfairness.
    itself: bool,
    /// A part of the names of the cases to run.
    filter: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { itself: false, filter: None };
        for argument in arguments {
            match argument.as_str() {
                "--itself" => options.itself = true,
                flag if flag.starts_with('-') => return Err(format!("against: `{flag}`: expected --itself")),
                filter if options.filter.is_none() => options.filter = Some(filter.to_string()),
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

/// What the cases that failed said, after the list of all cases.
fn failures(lines: &[String]) -> impl Iterator<Item = &String> {
    let first = lines.iter().position(|line| line == "failures:");
    lines[first.unwrap_or(lines.len())..].iter().take_while(|line| !line.starts_with("test result: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_refuses_what_it_cannot_compare() {
        let root = Path::new(".");
        assert!(chore(root, &["nosuch".to_string()]).unwrap_err().contains("with nosuch"));
        assert!(chore(root, &[]).is_err());
        assert!(chore(root, &["fio".into(), "--fast".into()]).unwrap_err().contains("--fast"));
    }

    #[test]
    fn jobs_are_told_in_order_of_their_names_and_counted() {
        let line =
            |verdict: &str, job: &str| format!("{verdict:<8}{:>6} ms {:>6} ms   {job:<28}why\n", 310, 20);
        let text = table(&(line("DIFFERS", "b") + &line("equal", "a")));
        assert!(text.find(" a ").unwrap() < text.find(" b ").unwrap(), "{text}");
        assert!(text.ends_with("1 of 2 job files equal\n"), "{text}");
    }

    #[test]
    fn what_failed_is_told_from_its_head_to_the_tally() {
        let lines: Vec<String> =
            ["test a ... ok", "failures:", "---- b ----", "counts: 1", "test result: FAILED."]
                .map(String::from)
                .to_vec();
        assert_eq!(failures(&lines).count(), 3);
        assert_eq!(failures(&lines[..1]).count(), 0);
    }
}
