//! `--failed-in FILE`: the cases that failed in an earlier run, from its JSON report; they run again, alone.
//!
//! A failure is the same as before where the same checks of the same rounds came out the same, time stamps aside.

use std::collections::BTreeSet;

use iodyno_model::{Diagnostic, Origin};
use serde::Deserialize;

use super::expand::ExpandedSuite;
use super::judge::{CaseResult, CheckOutcome};
use super::report::failures::timeless;
use crate::Loader;

/// The failures of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierFailures {
    /// Its report.
    pub path: String,
    /// Each case that failed, and how its checks did.
    pub cases: Vec<(String, BTreeSet<String>)>,
    /// Cases that failed and are not in the suite, or not among what is selected.
    pub gone: Vec<String>,
}

/// As much of the JSON report as this needs.
#[derive(Deserialize)]
struct ReadReport {
    file_systems: Vec<ReadSide>,
}

#[derive(Deserialize)]
struct ReadSide {
    cases: Vec<ReadCase>,
}

#[derive(Deserialize)]
struct ReadCase {
    name: String,
    elapsed_ns: Option<u64>,
    verdicts: Vec<ReadVerdict>,
}

#[derive(Deserialize)]
struct ReadVerdict {
    round: String,
    call: String,
    expected: String,
    got: String,
    outcome: String,
    why: Option<String>,
}

/// Reads a report, and leaves of the suite what failed in it.
///
/// # Errors
/// It cannot be read, or nothing that is selected failed in it.
pub fn select(
    path: &str,
    suite: &mut ExpandedSuite,
    loader: &mut dyn Loader,
) -> Result<EarlierFailures, Vec<Diagnostic>> {
    let origin = Origin::argument(&format!("--failed-in {path}"));
    let wrong =
        |what: String| vec![Diagnostic::error(&origin, what).hint("name a file that --json has written")];
    let bytes = loader.read(path).map_err(|why| wrong(format!("cannot be read: {why}")))?;
    let report: ReadReport = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("is no report of iodyno posix: {error}")))?;
    let cases = report.file_systems.into_iter().next().map(|side| side.cases).unwrap_or_default();
    let mut earlier = EarlierFailures { path: path.into(), ..EarlierFailures::default() };
    for case in cases {
        let ways: BTreeSet<String> = case.verdicts.iter().filter_map(ReadVerdict::way).collect();
        if ways.is_empty() && case.elapsed_ns.is_some() {
            continue;
        }
        match suite.cases.iter().any(|known| known.name == case.name) {
            true => earlier.cases.push((case.name, ways)),
            false => earlier.gone.push(case.name),
        }
    }
    suite.cases.retain(|case| earlier.cases.iter().any(|(name, _)| *name == case.name));
    if earlier.cases.is_empty() {
        let message = "no case that is selected failed in it";
        return Err(vec![
            Diagnostic::error(&origin, message).hint("leave --failed-in out: it runs what failed before"),
        ]);
    }
    Ok(earlier)
}

impl ReadVerdict {
    /// How a check failed; none: it did not.
    fn way(&self) -> Option<String> {
        let came = match (self.outcome.as_str(), &self.why) {
            ("fail", _) => self.got.clone(),
            ("could_not_run", Some(why)) => format!("could not run: {why}"),
            ("timed_out", Some(why)) => format!("timed out: {why}"),
            _ => return None,
        };
        Some(way(&self.round, &self.call, &self.expected, &came))
    }
}

fn way(round: &str, call: &str, expected: &str, came: &str) -> String {
    timeless(&format!("{round}: {call}: expected {expected}, got {came}"))
}

/// How the checks of a case failed now.
pub fn ways(result: &CaseResult) -> BTreeSet<String> {
    let is_bad =
        |kind| matches!(kind, CheckOutcome::Fail | CheckOutcome::CouldNotRun | CheckOutcome::TimedOut);
    let bad = result.judged.iter().filter(|judged| is_bad(judged.kind));
    bad.map(|judged| {
        let verdict = &judged.verdict;
        way(&verdict.round, &verdict.call, &verdict.expected, &judged.came())
    })
    .collect()
}
