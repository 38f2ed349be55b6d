//! Whether what was written is seen at once: rules of the S3 suite, each tried many times, and how many of the answers were
//! stale.
//!
//! Not seen is no proof: an answer that is stale once in a thousand is rarely met by 25.

use std::sync::Arc;

use iodyno_model::{CaseRecord, Cases, Outcome, PhaseRecord, Workload};

use super::budget::CONSISTENCY;
use crate::posix::suite::S3;
use crate::posix::{expand, rules};
use crate::s3check::vocabulary::STORES;

/// The rules, and what the card calls them.
pub const PROMISES: &[(&str, &str)] = &[
    ("consistency/read-after-write", "GET after PUT"),
    ("consistency/read-after-overwrite", "GET after overwrite"),
    ("consistency/read-after-delete", "GET after DELETE"),
    ("consistency/list-after-put", "LIST after PUT"),
    ("consistency/list-after-delete", "LIST after DELETE"),
];

/// Cases of a promise at a time.
const AT_ONCE: u32 = 4;

/// Every promise so many times, in turn: case `n` is of promise `n % PROMISES.len()`.
pub fn cases(tries: usize) -> Cases {
    let is_wanted = |rule: &str| PROMISES.iter().any(|(known, _)| *known == rule);
    let suite = rules::read(&S3.rules()).map(|(suite, _)| suite);
    let suite = suite.map(|suite| rules::Suite { vocabulary: &STORES, ..suite });
    let expanded = suite.ok().and_then(|suite| expand::expand_where(&suite, Some(&is_wanted)).ok());
    let known = expanded.unwrap_or_default().cases;
    let promised = |rule: &str| known.iter().find(|case| case.rule == rule).cloned();
    let once: Vec<_> = PROMISES.iter().filter_map(|(rule, _)| promised(rule)).collect();
    let mut cases = Vec::new();
    for number in 0..tries {
        cases.extend(once.iter().cloned().map(|mut case| {
            case.name = format!("{} {}", case.name, number + 1);
            case
        }));
    }
    Cases { features: Vec::new(), cases, at_once: AT_ONCE, limit_ns: 0, keep: false }
}

/// The same as a job's workload.
pub fn workload(tries: usize) -> Workload {
    Workload::Cases(Arc::new(cases(tries)))
}

/// What became of a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// Answers that told something: fresh or stale.
    pub answers: u64,
    pub stale: u64,
    /// Tries that told nothing: a request failed.
    pub failed: u64,
}

/// Of each promise, in order; none: nothing was tried.
pub fn promises(phases: &[PhaseRecord]) -> Option<Vec<Promise>> {
    let phase = phases.iter().find(|phase| phase.name == CONSISTENCY)?;
    let mut promises = vec![Promise::default(); PROMISES.len()];
    for case in phase.jobs.iter().flat_map(|job| &job.cases) {
        let promise = &mut promises[case.case % PROMISES.len()];
        match outcome(case) {
            Some(is_stale) => {
                promise.answers += 1;
                promise.stale += u64::from(is_stale);
            }
            None => promise.failed += 1,
        }
    }
    promises.iter().any(|promise| promise.answers + promise.failed > 0).then_some(promises)
}

/// Whether the last answer was stale; none: it does not tell.
fn outcome(case: &CaseRecord) -> Option<bool> {
    if case.broken.is_some() {
        return None;
    }
    match case.verdicts.as_slice() {
        [] => Some(false),
        // What was asked last is what may be stale; before it nothing is but the write's own success.
        [first, ..] if first.check > 0 && first.outcome == Outcome::Fail && is_answer(&first.got) => {
            Some(true)
        }
        _ => None,
    }
}

/// Whether a wrong answer is one of before, and no error: another content, or nothing of that name.
fn is_answer(got: &str) -> bool {
    ["NoSuchKey", "404", "success", "the empty text"].contains(&got)
        || ["the text ", "count "].iter().any(|begin| got.starts_with(begin))
}
