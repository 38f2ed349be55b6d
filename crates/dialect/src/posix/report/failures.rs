//! What did not pass, by rule: the sentence, what was expected and what came, in which rounds, and how to see it again.
//!
//! What failed alike in many rounds is told once.

use std::fmt::Write as _;

use iodyno_model::{Case, Outcome, Verdict};

use super::super::import::SOURCE as IMPORTED;
use super::super::judge::{CheckOutcome, Judgement};
use super::super::rules::class_name;
use super::super::settings::CheckedDirectory;
use super::super::{scripts, show};
use super::SuiteResults;

/// More places than this are told only with `--verbose`.
const MOST_PLACES: usize = 6;

/// More ways to fail than this are told only with `--verbose`.
const MOST_WAYS: usize = 4;

/// One way in which a rule failed.
#[derive(Clone, Debug)]
pub struct Way<'a> {
    /// The first check that failed so.
    pub verdict: &'a Verdict,
    pub case: &'a Case,
    /// The entry of the profile that explains it.
    pub entry: Option<usize>,
    /// Every place where it failed so: case and round.
    pub places: Vec<String>,
}

/// A rule that failed.
#[derive(Clone, Debug)]
pub struct BrokenRule<'a> {
    /// Any of its cases.
    pub case: &'a Case,
    pub ways: Vec<Way<'a>>,
}

/// The rules with checks of a kind, in the order of the suite.
pub fn of_kind<'a>(
    cases: &'a [Case],
    judgement: &'a Judgement,
    kinds: &[CheckOutcome],
) -> Vec<BrokenRule<'a>> {
    let mut rules: Vec<BrokenRule<'a>> = Vec::new();
    for (case, result) in cases.iter().zip(&judgement.cases) {
        for judged in result.judged.iter().filter(|judged| kinds.contains(&judged.kind)) {
            let place = match rules.iter().position(|rule| rule.case.rule == case.rule) {
                Some(place) => place,
                None => {
                    rules.push(BrokenRule { case, ways: Vec::new() });
                    rules.len() - 1
                }
            };
            let verdict = &judged.verdict;
            let same = |way: &&mut Way<'_>| {
                // What could not run for one reason is one thing, wherever it would have been looked at.
                let key = |verdict: &Verdict| match verdict.outcome {
                    Outcome::CouldNotRun(_) | Outcome::TimedOut(_) => (0, String::new(), String::new()),
                    _ => (verdict.step, timeless(&verdict.expected), timeless(&verdict.got)),
                };
                key(way.verdict) == key(verdict)
                    && outcome(&way.verdict.outcome) == outcome(&verdict.outcome)
                    && way.entry == judged.entry
            };
            let ways = &mut rules[place].ways;
            match ways.iter_mut().find(same) {
                Some(way) => {
                    let place = round_of(case, verdict);
                    if !way.places.contains(&place) {
                        way.places.push(place);
                    }
                }
                None => ways.push(Way {
                    verdict,
                    case,
                    entry: judged.entry,
                    places: vec![round_of(case, verdict)],
                }),
            }
        }
    }
    rules
}

/// An outcome without the times in its reason: what is the same in two runs, or in two rounds.
fn outcome(outcome: &Outcome) -> Outcome {
    match outcome {
        Outcome::CouldNotRun(why) => Outcome::CouldNotRun(timeless(why)),
        Outcome::TimedOut(why) => Outcome::TimedOut(timeless(why)),
        other => other.clone(),
    }
}

/// A text whose time stamps, numbers with nine decimals, are all the same: they differ each time.
pub fn timeless(text: &str) -> String {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
        plain.push_str(&rest[..begin]);
        let number = &rest[begin..];
        let end = number.find(|letter| !is_number(letter)).unwrap_or(number.len());
        let is_time = number[..end].split_once('.').is_some_and(|(_, decimals)| {
            decimals.len() == 9 && decimals.bytes().all(|byte| byte.is_ascii_digit())
        });
        plain.push_str(if is_time { "TIME" } else { &number[..end] });
        rest = &number[end..];
    }
    plain + rest
}

/// Where a check was made, within its rule.
fn round_of(case: &Case, verdict: &Verdict) -> String {
    let own = case.name.strip_prefix(&case.rule).map(|rest| rest.trim_start_matches(':')).unwrap_or_default();
    match (own.is_empty(), verdict.round.is_empty()) {
        (true, true) => "its only round".into(),
        (true, false) => verdict.round.clone(),
        (false, true) => own.into(),
        (false, false) => format!("{own} {}", verdict.round),
    }
}

/// What failed, in full.
pub fn text(results: &SuiteResults, side: &CheckedDirectory, judgement: &Judgement) -> String {
    let cases = &results.setup.suite.cases;
    let verbose = results.setup.options.suite.verbose;
    let mut text = String::new();
    let broken = of_kind(cases, judgement, results.bad_kinds());
    for rule in &broken {
        let Case { rule: name, class, source, text: sentence, .. } = rule.case;
        let _ = writeln!(text, "\n{name}  ({}, {source})\n  {sentence}", class_name(*class));
        let shown = if verbose { usize::MAX } else { MOST_WAYS };
        for (index, way) in rule.ways.iter().enumerate().take(shown) {
            one_way(&mut text, way, side, index == 0, verbose);
        }
        if rule.ways.len() > shown {
            let _ =
                writeln!(text, "  … and in {} other ways, see --verbose or --json", rule.ways.len() - shown);
        }
    }
    text
}

fn one_way(text: &mut String, way: &Way<'_>, side: &CheckedDirectory, in_full: bool, verbose: bool) {
    let Verdict { call, expected, got, round, step, outcome, .. } = way.verdict;
    let places = places(&way.places, verbose);
    let _ = writeln!(text, "  in {places}");
    match outcome {
        Outcome::CouldNotRun(why) => {
            let _ = writeln!(text, "    {call}\n      could not run: {why}");
        }
        Outcome::TimedOut(why) => {
            let _ = writeln!(text, "    {call}\n      timed out: {why}");
        }
        _ if call.is_empty() => {
            let _ = writeln!(text, "    expected {expected}\n    got      {got}");
        }
        _ => {
            let _ = writeln!(text, "    {call}\n      expected {expected}\n      got      {got}");
        }
    }
    if !in_full {
        return;
    }
    if let Some(steps) = show::round_named(way.case, round) {
        let _ = writeln!(text, "    steps");
        for line in show::round(&way.case.script, steps, Some(*step as usize)) {
            let _ = writeln!(text, "      {line}");
        }
    }
    if let Some(again) = again(way.case, side) {
        let _ = writeln!(text, "    again: {again}");
    }
}

/// The command that shows a case again; none of one that another suite told of.
pub fn again(case: &Case, side: &CheckedDirectory) -> Option<String> {
    let (folder, name) = (scripts::shell(&side.folder), scripts::shell(&case.name));
    (case.source != IMPORTED).then(|| match &side.command {
        Some(command) => format!("{command} --only {name}"),
        None => format!("iodyno posix {folder} --only {name} --keep"),
    })
}

fn places(places: &[String], verbose: bool) -> String {
    match places {
        [one] => one.clone(),
        many if verbose || many.len() <= MOST_PLACES => format!("{} rounds: {}", many.len(), many.join("; ")),
        many => format!("{} rounds: {}; …", many.len(), many[..MOST_PLACES].join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::timeless;

    #[test]
    fn time_stamps_are_all_the_same() {
        assert_eq!(timeless("ctime > 1764077612.123456789"), "ctime > TIME");
        assert_eq!(timeless("mtime -1.000000000, mode 0644, 1.5 s"), "mtime -TIME, mode 0644, 1.5 s");
        assert_eq!(timeless("nlink 2"), "nlink 2");
    }
}
