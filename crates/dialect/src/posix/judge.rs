//! What cases came to, held against what was to be expected of the file system.
//!
//! Pure: records and a profile in, counts and reasons out. A skip is never a pass, and what could not run is a failure
//! unless it follows from one that was expected.

use std::collections::BTreeMap;

use iodyno_model::{Case, CaseRecord, Outcome, Verdict};
use serde::Serialize;

use super::expand;
use super::profile::Profile;
use super::select::means;

/// How checks ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckCounts {
    pub checks: u64,
    /// As the rule says.
    pub pass: u64,
    /// Against the rule.
    pub fail: u64,
    /// Against the rule, as the profile says.
    pub expected_fail: u64,
    /// Entries of the profile that nothing met, though it was tried; these are no checks.
    pub unexpected_pass: u64,
    /// Left out by whoever ran it, or by what he may.
    pub skip: u64,
    /// About something that the file system does not have.
    pub not_applicable: u64,
    /// What they build on failed.
    pub could_not_run: u64,
    /// The time limit of their case passed before they were made.
    pub timed_out: u64,
}

impl CheckCounts {
    pub fn add(&mut self, other: &CheckCounts) {
        self.checks += other.checks;
        self.pass += other.pass;
        self.fail += other.fail;
        self.expected_fail += other.expected_fail;
        self.unexpected_pass += other.unexpected_pass;
        self.skip += other.skip;
        self.not_applicable += other.not_applicable;
        self.could_not_run += other.could_not_run;
        self.timed_out += other.timed_out;
    }
}

/// What a check that did not pass means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Against the rule.
    Fail,
    /// Against the rule, as the profile says.
    ExpectedFail,
    /// Left out.
    Skip,
    NotApplicable,
    /// What it builds on failed, and nothing else of its round did.
    CouldNotRun,
    /// It follows a failure in its round.
    Follows,
    /// The time limit of its case passed before it was made.
    TimedOut,
}

/// A check that did not pass, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCheck {
    /// What became of it.
    pub verdict: Verdict,
    /// What that means.
    pub kind: CheckOutcome,
    /// The entry of the profile that explains it.
    pub entry: Option<usize>,
}

impl JudgedCheck {
    /// Why it was to be expected, as the profile says.
    pub fn reason<'a>(&self, profile: Option<&'a Profile>) -> Option<&'a str> {
        Some(profile?.expected.get(self.entry?)?.reason.as_str())
    }

    /// What came, or why it could not be tried.
    pub fn came(&self) -> String {
        match &self.verdict.outcome {
            Outcome::CouldNotRun(why) => format!("could not run: {why}"),
            Outcome::TimedOut(why) => format!("timed out: {why}"),
            _ => self.verdict.got.clone(),
        }
    }
}

/// A case, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseResult {
    /// How its checks ended.
    pub counts: CheckCounts,
    /// Those that did not pass.
    pub judged: Vec<JudgedCheck>,
    /// How long it took, ns; none: it was not reached.
    pub elapsed_ns: Option<u64>,
    /// Why it ended before its end.
    pub broken: Option<String>,
    /// Checks of which nothing was told.
    pub unaccounted: u64,
}

impl CaseResult {
    /// Whether it speaks against the file system: something failed or could not even be tried.
    pub fn is_bad(&self) -> bool {
        let silent = self.elapsed_ns.is_none() || self.unaccounted > 0 && self.broken.is_none();
        silent
            || self.counts.fail > 0
            || self
                .judged
                .iter()
                .any(|judged| matches!(judged.kind, CheckOutcome::CouldNotRun | CheckOutcome::TimedOut))
    }

    /// Why some of it was to be expected, as the profile says.
    pub fn reason<'a>(&self, profile: Option<&'a Profile>) -> Option<&'a str> {
        self.judged.iter().find(|judged| judged.entry.is_some())?.reason(profile)
    }

    /// Why none of it was tried, if nothing was.
    pub fn untried(&self) -> Option<&str> {
        let counts = &self.counts;
        if counts.pass + counts.fail + counts.expected_fail + counts.could_not_run + counts.timed_out > 0 {
            return None;
        }
        self.judged.iter().find_map(|judged| match &judged.verdict.outcome {
            Outcome::Skip(why) | Outcome::NotApplicable(why) => Some(why.as_str()),
            _ => None,
        })
    }
}

/// All cases of a file system, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Each case, in the suite's order.
    pub cases: Vec<CaseResult>,
    /// Over all of them.
    pub totals: CheckCounts,
    /// Entries of the profile that nothing met, though it was tried, with the first case they are about.
    pub unmet: Vec<(usize, usize)>,
    /// Features that the profile says are there, and are not: the name and why.
    pub missing: Vec<(String, String)>,
    /// Features that the profile says are not there, and are.
    pub surplus: Vec<String>,
}

impl Judgement {
    /// Whether the file system kept its promises, as far as they are known.
    pub fn is_good(&self) -> bool {
        self.missing.is_empty() && !self.cases.iter().any(CaseResult::is_bad)
    }
}

pub fn case(case: &Case, record: Option<&CaseRecord>, profile: Option<&Profile>) -> CaseResult {
    let checks = u64::from(expand::checks(case));
    let Some(record) = record else {
        let counts = CheckCounts { checks, could_not_run: checks, ..CheckCounts::default() };
        return CaseResult { counts, unaccounted: checks, ..CaseResult::default() };
    };
    let entries: Vec<usize> = profile.map_or_else(Vec::new, |profile| {
        let known = profile.expected.iter().enumerate();
        known.filter(|(_, entry)| means(&entry.rule, case)).map(|(index, _)| index).collect()
    });
    let explained = |verdict: &Verdict| {
        let profile = profile?;
        // What came of a check whose time was up is that.
        let late = match &verdict.outcome {
            Outcome::TimedOut(why) => Some(Verdict { got: why.clone(), ..verdict.clone() }),
            _ => None,
        };
        let verdict = late.as_ref().unwrap_or(verdict);
        entries.iter().copied().find(|entry| profile.expected[*entry].explains(verdict))
    };
    let mut result = CaseResult {
        elapsed_ns: Some(record.elapsed_ns),
        broken: record.broken.clone(),
        ..CaseResult::default()
    };
    // Of each round: whether something failed in it before, and which entry explains that.
    let mut failed: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for verdict in &record.verdicts {
        let entry = explained(verdict);
        let before = failed.get(verdict.round.as_str()).copied();
        let kind = match (&verdict.outcome, before) {
            (Outcome::Fail, _) => {
                if entry.is_some() {
                    CheckOutcome::ExpectedFail
                } else {
                    CheckOutcome::Fail
                }
            }
            (Outcome::Skip(_), _) => CheckOutcome::Skip,
            (Outcome::NotApplicable(_), _) => CheckOutcome::NotApplicable,
            (Outcome::CouldNotRun(_), Some(_)) => CheckOutcome::Follows,
            (Outcome::CouldNotRun(_), None) if entry.is_some() => CheckOutcome::Follows,
            (Outcome::CouldNotRun(_), None) => CheckOutcome::CouldNotRun,
            (Outcome::TimedOut(_), Some(_)) => CheckOutcome::Follows,
            (Outcome::TimedOut(_), None) if entry.is_some() => CheckOutcome::ExpectedFail,
            (Outcome::TimedOut(_), None) => CheckOutcome::TimedOut,
        };
        if matches!(verdict.outcome, Outcome::Fail) {
            failed.insert(&verdict.round, entry);
        }
        let entry = entry.filter(|_| matches!(kind, CheckOutcome::ExpectedFail | CheckOutcome::Follows));
        result.judged.push(JudgedCheck { verdict: verdict.clone(), kind, entry });
    }
    result.counts = counts(checks, record, &result.judged);
    result.unaccounted = checks.saturating_sub(u64::from(record.passed) + result.judged.len() as u64);
    if let Some(why) = &record.broken {
        broken(&mut result, why, &entries, profile);
    }
    result
}

fn counts(checks: u64, record: &CaseRecord, judged: &[JudgedCheck]) -> CheckCounts {
    let mut counts = CheckCounts { checks, pass: u64::from(record.passed), ..CheckCounts::default() };
    for judged in judged {
        *match judged.kind {
            CheckOutcome::Fail => &mut counts.fail,
            CheckOutcome::ExpectedFail => &mut counts.expected_fail,
            CheckOutcome::Skip => &mut counts.skip,
            CheckOutcome::NotApplicable => &mut counts.not_applicable,
            CheckOutcome::CouldNotRun | CheckOutcome::Follows => &mut counts.could_not_run,
            CheckOutcome::TimedOut => &mut counts.timed_out,
        } += 1;
    }
    let told = counts.pass + judged.len() as u64;
    // What nobody told of was never reached.
    counts.could_not_run += checks.saturating_sub(told);
    counts
}

/// A case that ended before its end has failed, even if no check of it did; unless its time was up, which says nothing of
/// what the file system would have answered.
fn broken(result: &mut CaseResult, why: &str, entries: &[usize], profile: Option<&Profile>) {
    if result.judged.iter().any(|judged| {
        matches!(judged.kind, CheckOutcome::Fail | CheckOutcome::ExpectedFail | CheckOutcome::TimedOut)
    }) {
        return;
    }
    let last = result.judged.iter().find(|judged| matches!(judged.verdict.outcome, Outcome::CouldNotRun(_)));
    let place = last.map(|judged| judged.verdict.clone()).unwrap_or_default();
    let verdict = Verdict { expected: "an end".into(), got: why.into(), outcome: Outcome::Fail, ..place };
    let entry = profile.and_then(|profile| {
        entries.iter().copied().find(|entry| profile.expected[*entry].explains(&verdict))
    });
    let kind = if entry.is_some() { CheckOutcome::ExpectedFail } else { CheckOutcome::Fail };
    for judged in result.judged.iter_mut().filter(|judged| judged.kind == CheckOutcome::CouldNotRun) {
        judged.kind = CheckOutcome::Follows;
    }
    let counts = &mut result.counts;
    // Of the checks that it did not reach, one has failed.
    match counts.could_not_run > 0 {
        true => counts.could_not_run -= 1,
        false => counts.pass = counts.pass.saturating_sub(1),
    }
    *if entry.is_some() { &mut counts.expected_fail } else { &mut counts.fail } += 1;
    result.judged.insert(0, JudgedCheck { verdict, kind, entry });
}

/// All cases of a run, by the records of those that ended.
pub fn judge(
    cases: &[Case],
    records: &[CaseRecord],
    features: &[(String, Option<String>)],
    profile: Option<&Profile>,
) -> Judgement {
    let mut by_case: Vec<Option<&CaseRecord>> = vec![None; cases.len()];
    for record in records {
        if let Some(place) = by_case.get_mut(record.case) {
            *place = Some(record);
        }
    }
    let mut judgement = Judgement::default();
    for (place, record) in cases.iter().zip(by_case) {
        let result = case(place, record, profile);
        judgement.totals.add(&result.counts);
        judgement.cases.push(result);
    }
    if let Some(profile) = profile {
        judgement.unmet = unmet(cases, &judgement.cases, profile);
        judgement.totals.unexpected_pass = judgement.unmet.len() as u64;
        for (name, why) in features {
            match why {
                Some(why) if profile.has.contains(name) => {
                    judgement.missing.push((name.clone(), why.clone()))
                }
                None if profile.lacks.contains(name) => judgement.surplus.push(name.clone()),
                _ => {}
            }
        }
    }
    judgement
}

/// Entries that nothing met, though all they are about was tried.
fn unmet(cases: &[Case], results: &[CaseResult], profile: &Profile) -> Vec<(usize, usize)> {
    let entries = profile.expected.iter().enumerate().filter(|(_, entry)| !entry.sometimes);
    entries
        .filter_map(|(index, entry)| {
            let about =
                || cases.iter().zip(results).enumerate().filter(|(_, (case, _))| means(&entry.rule, case));
            let met = about()
                .any(|(_, (_, result))| result.judged.iter().any(|judged| judged.entry == Some(index)));
            let tried = about().all(|(_, (_, result))| {
                (result.counts.pass > 0 || result.counts.fail > 0) && result.counts.timed_out == 0
            });
            let (first, _) = about().next()?;
            (!met && tried).then_some((index, first))
        })
        .collect()
}
