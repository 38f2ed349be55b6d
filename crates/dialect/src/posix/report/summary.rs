//! The summary: how many checks of each group and class ended how, what failed, and what could not be said and why.
//!
//! A skip is never a pass: each outcome has its own column.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use iodyno_model::{Case, Class, Outcome};

use super::super::exercise;
use super::super::judge::{CaseResult, CheckCounts, CheckOutcome, Judgement};
use super::super::rules::class_name;
use super::super::settings::CheckedDirectory;
use super::{DirectoryResults, SuiteResults, baseline, causes, earlier, failures};

/// The whole summary.
pub fn text(results: &SuiteResults) -> String {
    let mut text = String::new();
    let rules = !results.setup.options.exercise.alone();
    if let Some((side, answer)) = results.first().filter(|_| rules) {
        head(&mut text, side, answer);
        tables(&mut text, &results.setup.suite.cases, &answer.judgement);
        // What is missing breaks much of what follows.
        features(&mut text, side, &answer.judgement);
        text.push_str(&match results.setup.options.suite.tells_all() {
            true => failures::text(results, side, &answer.judgement),
            false => causes::text(results, side, &answer.judgement),
        });
        known(&mut text, results, side, &answer.judgement);
        untried(&mut text, &results.setup.suite.cases, &answer.judgement);
        if results.setup.suite.cases.iter().any(|case| case.group == SYNC) {
            let is_checked = results.setup.options.durability.trigger.is_some();
            text.push_str(if is_checked { CHECKED } else { NOT_CHECKED });
        }
        for line in &answer.beside {
            let _ = writeln!(text, "\nbeside them ran {line}");
        }
    }
    text.push_str(&earlier::text(results));
    text.push_str(&exercise::summary(&results.exercises));
    text.push_str(&baseline::text(results));
    for error in &results.errors {
        let _ = writeln!(text, "\n{error}");
    }
    if rules {
        text.push_str(&last(results));
    }
    text.trim_start_matches('\n').into()
}

/// The group of fsync and its kind.
const SYNC: &str = "sync";
/// What no rule of that group can see, and what nobody may take for passed.
const NOT_CHECKED: &str = "\nnot checked here\n  durability: 17 rules of what is there after a crash or a power failure; \
                           --trigger checks them\n";
/// The same where a trigger was named: the verdict stands before this report.
const CHECKED: &str = "\ndurability was checked before: the verdict stands above\n";

fn head(text: &mut String, side: &CheckedDirectory, answer: &DirectoryResults) {
    let source = side.facts.source.as_deref().map_or_else(String::new, |source| format!(" on {source}"));
    let profile =
        side.profile.as_ref().map_or("no profile".into(), |profile| format!("profile {}", profile.name));
    let _ = writeln!(
        text,
        "{}: {}{source}, {profile}, {:.1} s",
        side.folder,
        side.file_system(),
        answer.elapsed_ns as f64 / 1e9
    );
    if let Some(failure) = &answer.failure {
        let _ = writeln!(text, "the cases could not be run to their end: {failure}");
    }
    let mut verdicts = answer.records.iter().flat_map(|record| &record.verdicts);
    if let Some(death) = verdicts.find_map(causes::death) {
        let _ = writeln!(text, "{death}; the run ended there");
    }
    text.push('\n');
}

/// A column: its heading, and what stands in it.
pub type Column = (&'static str, fn(&CheckCounts) -> u64);

/// The columns of the tables.
pub const COLUMNS: &[Column] = &[
    ("checks", |counts| counts.checks),
    ("pass", |counts| counts.pass),
    ("fail", |counts| counts.fail),
    ("expected fail", |counts| counts.expected_fail),
    ("unexpected pass", |counts| counts.unexpected_pass),
    ("skip", |counts| counts.skip),
    ("not applicable", |counts| counts.not_applicable),
    ("could not run", |counts| counts.could_not_run),
    ("timed out", |counts| counts.timed_out),
];

/// Columns that are there even where all of them are empty.
const ALWAYS: usize = 3;

/// The groups of cases by name, each once.
pub fn groups(cases: &[Case]) -> BTreeSet<&str> {
    cases.iter().map(|case| case.group.as_str()).collect()
}

fn tables(text: &mut String, cases: &[Case], judgement: &Judgement) {
    let counts = |pick: &dyn Fn(&Case) -> bool| {
        let mut counts = CheckCounts::default();
        let picked = cases.iter().zip(&judgement.cases).filter(|(case, _)| pick(case));
        picked.for_each(|(_, result)| counts.add(&result.counts));
        let met = |place: &usize| cases.get(*place).is_some_and(pick);
        counts.unexpected_pass = judgement.unmet.iter().filter(|(_, first)| met(first)).count() as u64;
        counts
    };
    let rows: Vec<(&str, CheckCounts)> =
        groups(cases).into_iter().map(|group| (group, counts(&|case| case.group == group))).collect();
    let classes = [Class::Shall, Class::May, Class::Linux, Class::FileSystem];
    let classes = classes.into_iter().map(|class| (class_name(class), counts(&|case| case.class == class)));
    let classes: Vec<_> = classes.filter(|(_, counts)| counts.checks > 0).collect();
    let totals = judgement.totals;
    let shown: Vec<_> = COLUMNS
        .iter()
        .enumerate()
        .filter(|(index, (_, of))| *index < ALWAYS || of(&totals) > 0)
        .map(|(_, column)| *column)
        .collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(10);
    let heads = shown.iter().map(|(name, _)| format!("  {name:>6}"));
    let _ = writeln!(text, "{:width$}{}", "", heads.collect::<String>());
    let mut row = |name: &str, counts: &CheckCounts| {
        let cells = shown.iter().map(|(head, of)| match of(counts) {
            // A line that only names what follows.
            0 if counts.checks == 0 => String::new(),
            0 => format!("  {:>1$}", "-", head.len().max(6)),
            count => format!("  {count:>0$}", head.len().max(6)),
        });
        let line = format!("{name:width$}{}", cells.collect::<String>());
        let _ = writeln!(text, "{}", line.trim_end());
    };
    rows.iter().for_each(|(name, counts)| row(name, counts));
    row("by class", &CheckCounts::default());
    classes.iter().for_each(|(name, counts)| row(name, counts));
    row("all", &totals);
}

/// What failed as the profile says, and what did not although it says so.
fn known(text: &mut String, results: &SuiteResults, side: &CheckedDirectory, judgement: &Judgement) {
    let Some(profile) = &side.profile else { return };
    let cases = &results.setup.suite.cases;
    let broken = failures::of_kind(cases, judgement, &[CheckOutcome::ExpectedFail]);
    let mut reasons: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for rule in &broken {
        for entry in rule.ways.iter().filter_map(|way| way.entry) {
            let rules = reasons.entry(entry).or_default();
            if !rules.contains(&rule.case.rule.as_str()) {
                rules.push(&rule.case.rule);
            }
        }
    }
    if !reasons.is_empty() {
        let _ = writeln!(text, "\nfailed as profile {} expects", profile.name);
    }
    for (entry, rules) in reasons {
        let entry = &profile.expected[entry];
        let _ = writeln!(text, "  {}\n    {} ({})", rules.join(", "), entry.reason, entry.source);
    }
    if !judgement.unmet.is_empty() {
        let _ = writeln!(text, "\ndid not fail, although profile {} expects it", profile.name);
    }
    for (entry, _) in &judgement.unmet {
        let entry = &profile.expected[*entry];
        let _ = writeln!(text, "  {} ({})\n    {}", entry.rule, entry.origin, entry.reason);
    }
}

/// What was not tried and why, the reasons together.
fn untried(text: &mut String, cases: &[Case], judgement: &Judgement) {
    let mut reasons: BTreeMap<(&str, &str), (u64, Vec<&str>)> = BTreeMap::new();
    for (case, result) in cases.iter().zip(&judgement.cases) {
        for judged in &result.judged {
            let (kind, why) = match &judged.verdict.outcome {
                Outcome::NotApplicable(why) => ("not applicable", why),
                Outcome::Skip(why) => ("skipped", why),
                _ => continue,
            };
            let (checks, groups) = reasons.entry((kind, why)).or_default();
            *checks += 1;
            if !groups.contains(&case.group.as_str()) {
                groups.push(&case.group);
            }
        }
    }
    for kind in ["not applicable", "skipped"] {
        let mut of_kind: Vec<_> = reasons.iter().filter(|((known, _), _)| *known == kind).collect();
        of_kind.sort_by_key(|(_, (checks, _))| std::cmp::Reverse(*checks));
        if !of_kind.is_empty() {
            let _ = writeln!(text, "\n{kind}");
        }
        for ((_, why), (checks, groups)) in of_kind {
            let _ = writeln!(text, "  {checks:>6} checks: {why} ({})", groups.join(", "));
        }
    }
    let unreached = judgement.cases.iter().filter(|result| result.elapsed_ns.is_none()).count();
    if unreached > 0 {
        let cases = if unreached == 1 { "case was" } else { "cases were" };
        let _ = writeln!(text, "\n{unreached} {cases} not reached");
    }
}

fn features(text: &mut String, side: &CheckedDirectory, judgement: &Judgement) {
    let profile = side.profile.as_ref().map_or("", |profile| profile.name.as_str());
    for (name, why) in &judgement.missing {
        let _ = writeln!(text, "\nprofile {profile} says that there is {name}, and there is not: {why}");
    }
    if !judgement.surplus.is_empty() {
        let names = judgement.surplus.join(", ");
        let _ = writeln!(text, "\nprofile {profile} says that there is no {names}, and there is");
    }
}

/// The sentence that everybody reads.
fn last(results: &SuiteResults) -> String {
    let Some((side, answer)) = results.first() else { return String::new() };
    let CheckCounts {
        checks, pass, fail, expected_fail, not_applicable, skip, could_not_run, timed_out, ..
    } = answer.judgement.totals;
    let mut text = format!("\n{}: {checks} checks, {pass} passed", side.folder);
    let parts = [
        (fail, "failed"),
        (expected_fail, "failed as expected"),
        (could_not_run, "could not run"),
        (timed_out, "timed out"),
        (not_applicable, "not applicable"),
        (skip, "skipped"),
    ];
    for (count, what) in parts.into_iter().filter(|(count, what)| *count > 0 || *what == "failed") {
        let _ = write!(text, ", {count} {what}");
    }
    let rules = failures::of_kind(&results.setup.suite.cases, &answer.judgement, results.bad_kinds());
    if !rules.is_empty() {
        let broken = if rules.len() == 1 { "rule is" } else { "rules are" };
        let _ = write!(text, "; {} {broken} broken", rules.len());
    }
    for exercise in results.exercises.iter().filter(|exercise| !exercise.is_good()) {
        let _ = write!(text, "; {} failed", exercise.name);
    }
    if let Some(signal) = results.stopped_by {
        let _ = write!(text, "; ended by signal {signal}");
    }
    text.push('\n');
    text
}

pub fn case_line(case: &Case, result: &CaseResult) -> String {
    let CheckCounts { checks, pass, .. } = result.counts;
    let state = match () {
        () if result.counts.timed_out > 0 && result.counts.fail == 0 => "TIMED OUT",
        () if result.is_bad() => "FAIL",
        () if result.counts.expected_fail > 0 => "expected fail",
        () if result.untried().is_some() => "not tried",
        () => "pass",
    };
    let ms = result.elapsed_ns.unwrap_or_default() as f64 / 1e6;
    let why =
        result.untried().or(result.broken.as_deref()).map_or_else(String::new, |why| format!(": {why}"));
    format!("{state:<13} {} ({pass} of {checks} checks, {ms:.0} ms){why}", case.name)
}
