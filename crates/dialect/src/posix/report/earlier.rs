//! What became of the cases that failed in an earlier run.

use std::fmt::Write as _;

use super::super::earlier::ways;
use super::SuiteResults;

/// More names than this are only counted, unless --verbose asks for all.
const MOST_NAMES: usize = 10;

/// How many pass now, fail as they did, and fail otherwise.
pub fn text(results: &SuiteResults) -> String {
    let (Some(earlier), Some((_, answer))) = (&results.setup.earlier, results.first()) else {
        return String::new();
    };
    let (mut passed, mut same, mut otherwise) = (Vec::new(), Vec::new(), Vec::new());
    for (case, result) in results.setup.suite.cases.iter().zip(&answer.judgement.cases) {
        let Some((name, before)) = earlier.cases.iter().find(|(name, _)| *name == case.name) else {
            continue;
        };
        match () {
            () if !result.is_bad() => passed.push(name.as_str()),
            () if ways(result) == *before => same.push(name.as_str()),
            () => otherwise.push(name.as_str()),
        }
    }
    let gone: Vec<&str> = earlier.gone.iter().map(String::as_str).collect();
    let count = earlier.cases.len() + gone.len();
    let cases = if count == 1 { "case" } else { "cases" };
    let mut text = format!("\nof {count} {cases} that failed in {}\n", earlier.path);
    let most = if results.setup.options.suite.verbose { usize::MAX } else { MOST_NAMES };
    for (names, what) in [
        (passed, "no longer fail"),
        (same, "fail as they did"),
        (otherwise, "fail otherwise"),
        (gone, "are not in this run"),
    ] {
        if !names.is_empty() {
            let more = if names.len() > most { ", …" } else { "" };
            let shown: Vec<&str> = names.iter().copied().take(most).collect();
            let _ = writeln!(text, "  {} {what}: {}{more}", names.len(), shown.join(", "));
        }
    }
    text
}
