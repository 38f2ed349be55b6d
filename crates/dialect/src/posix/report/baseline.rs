//! Two directories side by side: where they differ, rule by rule.
//!
//! What both do, right or wrong, is no difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use iodyno_model::Outcome;

use super::super::judge::{CaseResult, JudgedCheck};
use super::failures::timeless;
use super::{DirectoryResults, SuiteResults};

/// Where the two differ: a check, and what each made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub case: usize,
    pub round: String,
    /// The call, as it was made.
    pub call: String,
    pub expected: String,
    /// What each directory did.
    pub did: [String; 2],
}

/// Every difference, in the suite's order.
pub fn differences(answers: &[DirectoryResults]) -> Vec<Difference> {
    let [first, second] = answers else { return Vec::new() };
    let pairs = first.judgement.cases.iter().zip(&second.judgement.cases);
    pairs.enumerate().flat_map(|(case, (one, other))| in_case(case, one, other)).collect()
}

fn in_case(case: usize, one: &CaseResult, other: &CaseResult) -> Vec<Difference> {
    let by_check = |result: &CaseResult| -> BTreeMap<u32, JudgedCheck> {
        result.judged.iter().map(|judged| (judged.verdict.check, judged.clone())).collect()
    };
    let maps = [by_check(one), by_check(other)];
    let checks: BTreeSet<u32> = maps.iter().flat_map(|map| map.keys().copied()).collect();
    let mut found = Vec::new();
    for check in checks {
        let sides = [maps[0].get(&check), maps[1].get(&check)];
        let did = sides.map(did);
        let Some(judged) = sides[0].or(sides[1]) else { continue };
        // Times differ from run to run: they are no difference of the file systems.
        if timeless(&did[0]) != timeless(&did[1]) {
            let verdict = &judged.verdict;
            found.push(Difference {
                case,
                round: verdict.round.clone(),
                call: verdict.call.clone(),
                expected: verdict.expected.clone(),
                did,
            });
        }
    }
    found
}

fn did(judged: Option<&JudgedCheck>) -> String {
    match judged.map(|judged| (&judged.verdict.outcome, &judged.verdict.got)) {
        None => "as the rule says".into(),
        Some((Outcome::Fail, got)) => got.clone(),
        Some((Outcome::Skip(_), _)) => "skipped".into(),
        Some((Outcome::NotApplicable(why), _)) => format!("not applicable: {why}"),
        Some((Outcome::CouldNotRun(_), _)) => "could not run".into(),
        Some((Outcome::TimedOut(_), _)) => "timed out".into(),
    }
}

/// Whether two checks differ in the same way.
fn alike(one: &Difference, other: &Difference) -> bool {
    let key = |difference: &Difference| {
        let [first, second] = &difference.did;
        [timeless(first), timeless(second), timeless(&difference.expected)]
    };
    key(one) == key(other)
}

/// Differences of a rule that are alike are told once; this many ways at most without `--verbose`.
const MOST_WAYS: usize = 4;

/// The differences side by side, and how many there are.
pub fn text(results: &SuiteResults) -> String {
    let [first, second] = results.setup.sides.as_slice() else { return String::new() };
    let found = differences(&results.answers);
    let (one, other) =
        (label(first.file_system(), &first.folder), label(second.file_system(), &second.folder));
    let mut text = format!("\n{one} beside {other}\n");
    for (side, answer) in results.sides() {
        let totals = answer.judgement.totals;
        let _ = writeln!(text, "  {}: {} of {} checks passed", side.folder, totals.pass, totals.checks);
    }
    let mut rules: Vec<(&str, Vec<(&Difference, usize)>)> = Vec::new();
    for difference in &found {
        let rule = results.setup.suite.cases[difference.case].rule.as_str();
        let place = rules.iter().position(|(known, _)| *known == rule).unwrap_or_else(|| {
            rules.push((rule, Vec::new()));
            rules.len() - 1
        });
        let ways = &mut rules[place].1;
        match ways.iter_mut().find(|(known, _)| alike(known, difference)) {
            Some((_, count)) => *count += 1,
            None => ways.push((difference, 1)),
        }
    }
    let _ = writeln!(text, "  they differ in {} checks of {} rules", found.len(), rules.len());
    let most = if results.setup.options.suite.verbose { usize::MAX } else { MOST_WAYS };
    for (rule, ways) in &rules {
        let _ = writeln!(text, "\n  {rule}");
        for (difference, count) in ways.iter().take(most) {
            let Difference { call, expected, did, .. } = difference;
            let times = if *count > 1 { format!(" (and {} alike)", count - 1) } else { String::new() };
            let _ = writeln!(text, "    {call}, expected {expected}{times}");
            let width = first.folder.len().max(second.folder.len());
            let _ = writeln!(
                text,
                "      {:<width$}  {}\n      {:<width$}  {}",
                first.folder, did[0], second.folder, did[1]
            );
        }
        if ways.len() > most {
            let _ = writeln!(text, "    … and {} other ways", ways.len() - most);
        }
    }
    text
}

fn label(file_system: &str, folder: &str) -> String {
    format!("{folder} ({file_system})")
}
