//! The known lies, staged for real: a line a lie, caught or missed, its honest twin silent or falsely alarmed.
//!
//! The staging is done by a test of the program (`crates/iodyno/tests/lies`), so that `cargo test` and continuous
//! integration hold the same things; this chore runs that test and makes a table of what it wrote down. It refuses to
//! count a lie as caught that could not be staged here.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::shell;

/// Asks the test for a line a trial, in this file.
const LINES: &str = "IODYNO_LIES_LINES";
/// Tells the test which lies are asked for, by number; 0 is the honest runs.
const ONLY: &str = "IODYNO_LIES_ONLY";
const LIES: u8 = 40;
/// A replay that is late has no stage of its own: the tests of `replay` have its certificates.
const UNSTAGED: u8 = 33;
/// Building included.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs the staged lies; true when every one that could be staged was caught, and every twin silent.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    if let Some(flag) = arguments.iter().find(|argument| argument.starts_with('-')) {
        return Err(format!("lies: `{flag}`: expected numbers of lies, or nothing"));
    }
    let lines = root.join("target/lies/lines.txt");
    shell::fresh(&lines)?;
    let mut test = shell::cargo();
    // One after the other: what is asked for here is what each says of a machine that is left to it.
    test.current_dir(root).args(["test", "--package", "iodyno", "--test", "lies", "--", "--test-threads=1"]);
    test.env(LINES, &lines).env("CARGO_TERM_COLOR", "never");
    if !arguments.is_empty() {
        test.env(ONLY, numbers(arguments)?);
    }
    let log = root.join("target/lies/log.txt");
    let outcome = shell::run(test, Some(&log), LIMIT)?;
    let text = std::fs::read_to_string(&lines).unwrap_or_default();
    if text.is_empty() {
        return Err(format!("nothing was staged: {} (target/lies/log.txt)", outcome.last_words()));
    }
    let table = LieTable::of(&text, arguments);
    print!("{table}");
    Ok(table.is_good())
}

/// The numbers of these lies, with commas between them.
fn numbers(words: &[String]) -> Result<String, String> {
    let number = |word: &String| match word.as_str() {
        "honest" => Ok("0".to_string()),
        word => match word.parse::<u8>() {
            Ok(number) if (1..=LIES).contains(&number) && number != UNSTAGED => Ok(number.to_string()),
            _ => Err(format!("lies: `{word}`: expected the number of a lie, 1 to {LIES}, or `honest`")),
        },
    };
    Ok(words.iter().map(number).collect::<Result<Vec<_>, _>>()?.join(","))
}

/// One lie: its title, and verdict and reason of both parts.
#[derive(Default)]
struct LieResult {
    title: String,
    lie: Option<(String, String)>,
    twin: Option<(String, String)>,
}

/// An honest run: its command line, verdict and reason.
struct Honest {
    run: String,
    verdict: String,
    why: String,
}

/// All of them, by number; and what became of the honest runs.
struct LieTable {
    rows: BTreeMap<u8, LieResult>,
    honest: Vec<Honest>,
}

impl LieTable {
    /// From the test's lines: number, part, verdict, title, reason. Those asked for and never staged are missed.
    fn of(text: &str, asked: &[String]) -> LieTable {
        let all: Vec<u8> = if asked.is_empty() {
            (1..=LIES).filter(|number| *number != UNSTAGED).collect()
        } else {
            asked.iter().filter_map(|number| number.parse().ok()).collect()
        };
        let mut table = LieTable {
            rows: all.into_iter().map(|code| (code, LieResult::default())).collect(),
            honest: Vec::new(),
        };
        for line in text.lines() {
            let [code, part, verdict, title, why] = line.splitn(5, '\t').collect::<Vec<_>>()[..] else {
                continue;
            };
            let told = Some((verdict.to_string(), why.to_string()));
            if part == "honest" {
                table.honest.push(Honest { run: title.into(), verdict: verdict.into(), why: why.into() });
                continue;
            }
            // A lie that was not asked for may have said that it cannot be staged.
            let Some(row) = code.parse().ok().and_then(|code: u8| table.rows.get_mut(&code)) else {
                continue;
            };
            if row.title.is_empty() {
                row.title = title.into();
            }
            let known = if part == "lie" { &mut row.lie } else { &mut row.twin };
            // Of several stages of a lie the worst counts.
            if known.is_none() || rank(&told) > rank(known) {
                *known = told;
            }
        }
        table
    }

    fn count(&self, word: &str, of: fn(&LieResult) -> &Option<(String, String)>) -> usize {
        self.rows.values().filter(|row| of(row).as_ref().is_some_and(|(verdict, _)| verdict == word)).count()
    }

    fn is_good(&self) -> bool {
        let fine = |told: &Option<(String, String)>, good: &str| {
            told.as_ref().is_some_and(|(verdict, _)| verdict == good || verdict == "skipped")
        };
        let honest = self.honest.iter().all(|run| run.verdict != "false alarm");
        honest && self.rows.values().all(|row| fine(&row.lie, "caught") && fine(&row.twin, "silent"))
    }
}

/// How bad a verdict is.
fn rank(told: &Option<(String, String)>) -> u8 {
    match told.as_ref().map(|(verdict, _)| verdict.as_str()) {
        Some("caught" | "silent") | None => 0,
        Some("skipped") => 1,
        Some(_) => 2,
    }
}

impl std::fmt::Display for LieTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:>3} {:<56} {:<8} twin", "#", "the lie", "lie")?;
        let word = |told: &Option<(String, String)>, missing: &str| {
            told.as_ref().map_or(missing.to_string(), |(verdict, _)| verdict.clone())
        };
        for (code, row) in &self.rows {
            let title = if row.title.is_empty() { "(nothing stages it)" } else { &row.title };
            writeln!(
                f,
                "{code:>3} {title:<56} {:<8} {}",
                word(&row.lie, "missed"),
                word(&row.twin, "not run")
            )?;
            for (verdict, why) in row.lie.iter().chain(&row.twin) {
                if !matches!(verdict.as_str(), "caught" | "silent") {
                    writeln!(f, "      {verdict}: {why}")?;
                }
            }
        }
        for Honest { run, verdict, why } in self.honest.iter().filter(|run| run.verdict != "silent") {
            writeln!(f, "      {verdict}: `{run}`: {why}")?;
        }
        if !self.honest.is_empty() {
            let count = |word: &str| self.honest.iter().filter(|run| run.verdict == word).count();
            let (silent, alarms, all) = (count("silent"), count("false alarm"), self.honest.len());
            writeln!(
                f,
                "honest runs: {silent} of {all} silent, {alarms} false alarms, {} skipped",
                count("skipped")
            )?;
        }
        let (caught, silent) = (self.count("caught", |row| &row.lie), self.count("silent", |row| &row.twin));
        let all = self.rows.len();
        writeln!(f, "lies: {caught} of {all} caught, {silent} of {all} twins silent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lie_a_line_and_the_tally_last() {
        let text = "1\tlie\tcaught\tcached reads\t100 %\n1\ttwin\tsilent\tcached reads\t\n\
                    2\tlie\tskipped\twrites\tneeds root\n0\thonest\tsilent\tfio\tnothing\n0\thonest\tskipped\tior\t[11]\n";
        let table = LieTable::of(text, &["1".into(), "2".into()]);
        let said = table.to_string();
        assert!(said.contains("skipped: needs root") && said.contains("skipped: `ior`: [11]"), "{said}");
        assert!(said.contains("honest runs: 1 of 2 silent, 0 false alarms, 1 skipped\n"), "{said}");
        let alarm = "0\thonest\tfalse alarm\tdd\t[7]\n";
        assert!(!LieTable::of(alarm, &["honest".into()]).is_good(), "one false alarm is one too many");
        assert!(said.ends_with("lies: 1 of 2 caught, 1 of 2 twins silent\n"), "{said}");
        assert!(!table.is_good(), "the second twin was never run");
    }

    #[test]
    fn of_several_stages_the_worst_counts() {
        let text = "13\tlie\tcaught\ta depth\t\n13\tlie\tmissed\tanother\tnothing\n13\ttwin\tskipped\ta depth\tbusy\n\
                    13\ttwin\tsilent\tanother\t\n";
        let said = LieTable::of(text, &["13".into()]).to_string();
        assert!(said.contains("missed: nothing") && said.contains("skipped: busy"), "{said}");
    }

    #[test]
    fn what_nobody_stages_is_missed() {
        let said = LieTable::of("1\tlie\tmissed\tx\tsaid only: nothing\n", &[]).to_string();
        assert!(
            said.contains("missed: said only: nothing") && said.contains("(nothing stages it)"),
            "{said}"
        );
        assert!(said.ends_with("lies: 0 of 39 caught, 0 of 39 twins silent\n"));
        assert_eq!(numbers(&["7".into(), "honest".into()]).unwrap(), "7,0");
        assert!(numbers(&["all".into()]).is_err() && numbers(&["33".into()]).is_err());
        assert!(chore(Path::new("."), &["--fast".into()]).is_err());
    }
}
