//! What rules there are: by group and class, one by one, and one of them in full.
//!
//! Counts what would be run; nothing is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use iodyno_model::{Case, Class, Diagnostic, Origin, glob};

use super::expand::{self, ExpandedSuite};
use super::rules::class_name;
use super::{near_or, show};

#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    rules: usize,
    cases: usize,
    rounds: usize,
    checks: u64,
}

impl Amount {
    fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Self {
        let (mut amount, mut last) = (Amount::default(), "");
        for case in cases {
            amount.rules += usize::from(case.rule != last);
            last = &case.rule;
            amount.cases += 1;
            amount.rounds += case.script.steps.len();
            amount.checks += u64::from(expand::checks(case));
        }
        amount
    }

    fn line(&self, name: &str, width: usize) -> String {
        let Amount { rules, cases, rounds, checks } = self;
        format!("{name:<width$} {rules:>6} {cases:>6} {rounds:>7} {checks:>7}\n")
    }
}

/// `1 case`, `2 cases`.
pub fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A sentence with the totals.
pub fn totals(cases: &[Case]) -> String {
    let all = Amount::of(sorted(cases).into_iter());
    format!("{} rules, {} cases, {} rounds, {} checks\n", all.rules, all.cases, all.rounds, all.checks)
}

/// Cases of a rule side by side.
fn sorted(cases: &[Case]) -> Vec<&Case> {
    let mut sorted: Vec<&Case> = cases.iter().collect();
    sorted.sort_by_key(|case| &case.rule);
    sorted
}

/// Groups and classes with their numbers; with `each`, every rule.
pub fn list(cases: &[Case], each: bool) -> String {
    let sorted = sorted(cases);
    let mut groups: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    sorted.iter().for_each(|case| groups.entry(&case.group).or_default().push(case));
    let width = groups.keys().map(|name| name.len()).max().unwrap_or(0).max(10);
    let mut text =
        format!("{:<width$} {:>6} {:>6} {:>7} {:>7}\n", "group", "rules", "cases", "rounds", "checks");
    for (group, cases) in &groups {
        text.push_str(&Amount::of(cases.iter().copied()).line(group, width));
        if each {
            rules(&mut text, cases);
        }
    }
    text.push('\n');
    for class in [Class::Shall, Class::May, Class::Linux, Class::FileSystem] {
        let amount = Amount::of(sorted.iter().copied().filter(|case| case.class == class));
        if amount.cases > 0 {
            text.push_str(&amount.line(class_name(class), width));
        }
    }
    text.push_str(&Amount::of(sorted.iter().copied()).line("all", width));
    text
}

fn rules(text: &mut String, cases: &[&Case]) {
    let mut last = "";
    for case in cases {
        if case.rule != last {
            let _ = writeln!(text, "  {} ({})\n    {}", case.rule, class_name(case.class), case.text);
        }
        last = &case.rule;
    }
}

/// Everything about the rules that a name means.
///
/// # Errors
/// No rule is meant.
pub fn explain(suite: &ExpandedSuite, name: &str) -> Result<String, Vec<Diagnostic>> {
    let meant: Vec<&Case> = suite
        .cases
        .iter()
        .filter(|case| glob::matches(name, &case.rule) || glob::matches(name, &case.name))
        .collect();
    if meant.is_empty() {
        let mut names: Vec<&str> = suite.cases.iter().map(|case| case.rule.as_str()).collect();
        names.dedup();
        let hint = near_or(name, &names, "--list --verbose tells what there is");
        let wrong =
            Diagnostic::error(&Origin::argument(&format!("--explain {name}")), "there is no such rule");
        return Err(vec![wrong.hint(hint)]);
    }
    let mut text = String::new();
    let mut rules: Vec<&str> = meant.iter().map(|case| case.rule.as_str()).collect();
    rules.dedup();
    for rule in rules {
        let cases: Vec<&Case> = meant.iter().copied().filter(|case| case.rule == rule).collect();
        one(&mut text, suite, &cases);
    }
    Ok(text)
}

fn one(text: &mut String, suite: &ExpandedSuite, cases: &[&Case]) {
    let Some(first) = cases.first() else { return };
    let amount = Amount::of(cases.iter().copied());
    let blank = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{blank}{}\n  {}\n  source  {}", first.rule, first.text, first.source);
    let _ = writeln!(text, "  class   {}", class_name(first.class));
    if !first.needs.is_empty() {
        let about = |need: &String| {
            let feature = suite.features.iter().find(|feature| feature.name == *need);
            feature.map_or_else(|| need.clone(), |feature| format!("{need} ({})", feature.text))
        };
        let _ = writeln!(text, "  needs   {}", first.needs.iter().map(about).collect::<Vec<_>>().join(", "));
    }
    if let Some(round) = first.script.steps.first() {
        let _ = writeln!(text, "  at      {}", round.origin);
    }
    let (cases_of, rounds) = (many(amount.cases as u64, "case"), many(amount.rounds as u64, "round"));
    let _ = writeln!(text, "  makes   {cases_of}, {rounds}, {}", many(amount.checks, "check"));
    let other_cases = cases.iter().skip(1).map(|case| case.name.as_str());
    let names: Vec<&str> = std::iter::once(first.name.as_str()).chain(other_cases).collect();
    if names.len() > 1 {
        let _ = writeln!(text, "  cases   {}", names.join(" "));
    }
    for round in first.script.steps.iter().take(1) {
        let label = if round.label.is_empty() { String::new() } else { format!(" with {}", round.label) };
        let _ = writeln!(text, "  steps{label}");
        show::round(&first.script, round, None).iter().for_each(|line| {
            let _ = writeln!(text, "    {line}");
        });
    }
    let others: Vec<&str> = first.script.steps.iter().skip(1).map(|round| round.label.as_str()).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "  and with");
        others.iter().for_each(|label| {
            let _ = writeln!(text, "    {label}");
        });
    }
}
