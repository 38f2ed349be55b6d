//! Truth: what was seen from outside, turned into what it means for the figures.
//!
//! ```text
//!   Plan + Record (with its sightings) ─► one file for each known lie ─► causes ─► merge ─► findings
//! ```
//!
//! Pure arithmetic on values: no clock, no file, no tool's name. A finding has figures or it is not one, and a witness
//! that is missing never proves anything: without a sighting there is no finding.

use iodyno_model::{Finding, Intent, Plan, Record};

pub mod amplification;
pub mod audit;
pub mod bursts;
pub mod cache;
pub mod cache_neighbours;
pub mod canary;
pub mod case;
pub mod causes;
pub mod ceiling;
pub mod clocks;
pub mod compare;
pub mod content;
pub mod demand;
pub mod depth;
pub mod errors;
pub mod flows;
pub mod flushes;
pub mod generator;
pub mod generator_bound;
pub mod handover;
pub mod holes;
pub mod late_replay;
pub mod limit;
pub mod machine;
pub mod merge;
pub mod names;
pub mod network;
pub mod other_io;
pub mod passes;
pub mod peak;
pub mod quantity;
pub mod reads;
pub mod replay;
pub mod reshaped;
pub mod rounds;
pub mod samples;
pub mod schedule;
pub mod shared;
pub mod short;
pub mod short_stroke;
pub mod skew;
pub mod spikes;
pub mod stability;
pub mod starved;
pub mod statistics;
pub mod steady;
pub mod stores;
pub mod target;
pub mod warmth;
pub mod writes;

use case::PhaseEvidence;
use merge::Suspicion;

/// One known lie: what it finds in one phase.
type Check = fn(&PhaseEvidence<'_>) -> Vec<Suspicion>;

/// Lies about how fast it is; nothing of them matters to who asks whether it is right.
const PERFORMANCE: &[Check] = &[
    reads::check,
    cache::check,
    cache_neighbours::check,
    writes::check,
    samples::check,
    depth::check,
    handover::check,
    target::check,
    generator::check,
    holes::check,
    content::check,
    warmth::check,
    amplification::check,
    flushes::check,
    reshaped::check,
    late_replay::check,
    names::check,
    short_stroke::check,
    schedule::check,
    generator_bound::check,
    machine::check,
    other_io::check,
    skew::check,
    clocks::check,
    network::check,
    flows::check,
    short::check,
    spikes::check,
    shared::check,
    ceiling::check,
    stores::check,
    starved::check,
];

/// What the sightings of a record mean for its figures, worst first. The plan is the one that ran, expanded.
pub fn judge(plan: &Plan, record: &Record) -> Vec<Finding> {
    let mut suspicions = Vec::new();
    for phase in &record.phases {
        let Some(case) = PhaseEvidence::new(plan, record, phase) else { continue };
        suspicions.extend(errors::check(&case));
        let is_result = case.intent() != Intent::Nothing && !case.asked.precondition;
        if plan.intent != Intent::Correctness && is_result {
            suspicions.extend(PERFORMANCE.iter().flat_map(|check| check(&case)));
        }
    }
    if plan.intent != Intent::Correctness {
        suspicions.extend(steady::check(plan, record));
        suspicions.extend(peak::check(plan, record));
    }
    causes::explain(&mut suspicions);
    merge::merge(suspicions)
}
