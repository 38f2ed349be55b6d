//! From phase records to figures that only stores have.

use std::collections::BTreeMap;

use iodyno_model::{Histogram, PhaseRecord};

use crate::measure::gather::jobs;

/// Times from the last byte of a request to the first of its answer, of all phases of a name; empty where the engine
/// tells none.
pub fn first_byte(phases: &[PhaseRecord], name: &str) -> Histogram {
    let mut all = Histogram::default();
    let workers = jobs(phases, name).flat_map(|(_, job)| &job.workers);
    for (_, times) in workers.flat_map(|worker| &worker.spreads).filter(|(known, _)| known == "first_byte") {
        all.merge(times);
    }
    all
}

/// Answers other than success, by status and code: `503 SlowDown`.
pub fn answers(phases: &[PhaseRecord]) -> BTreeMap<String, u64> {
    let mut answers = BTreeMap::new();
    let workers = phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.workers);
    for (name, count) in workers.flat_map(|worker| &worker.facts) {
        if let Some(name) = name.strip_prefix("answer.") {
            *answers.entry(name.replace('.', " ")).or_default() += count;
        }
    }
    answers
}
