//! Lie 33: a replay that was late, so that the target saw another load than the recorded one.
//!
//! Proof: the certificate of the replay, whose limit is [`replay`](crate::replay)'s: 99 % of the operations within 100 µs, or
//! the step of the clock that recorded them. A replay that keeps no times, or that cannot be compared with its trace, is not
//! late: its certificate says what it is.

use iodyno_model::{Figure, FindingKind, JobRecord, Remedy, Severity, units};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;
use crate::replay::{self, ReplayVerdict};

/// Of a replay of which fewer operations than this are in time, percent, the figures are those of another load. Chosen: most
/// of it was late; `a_replay_that_came_late` stands on both sides.
const HARDLY_PERCENT: f64 = 50.0;

/// The replays of this phase that came late.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    case.jobs().filter_map(|(_, record)| judged(case, record)).collect()
}

fn judged(case: &PhaseEvidence<'_>, record: &JobRecord) -> Option<Suspicion> {
    let replayed = record.replay.as_deref()?;
    let judgement = replay::judge(replayed);
    if judgement.verdict != ReplayVerdict::Late {
        return None;
    }
    let issued = replayed.issued.max(1) as f64;
    let in_time = replayed.within_100us as f64 * 100.0 / issued;
    let p99 = replayed.lateness.percentile(99.0) as f64;
    let sentence = format!(
        "{:.3} % of the operations were issued within 100 µs of their recorded time, and 99 % of them within {}: {}",
        in_time,
        units::duration(p99),
        judgement.because.first().map_or("", String::as_str)
    );
    let figures = vec![
        Figure::new("p99 of lateness", p99, "ns"),
        Figure::new("allowed", replay::limit_ns(replayed) as f64, "ns"),
        Figure::new("in time", in_time, "%"),
        Figure::new("operations", replayed.issued as f64, ""),
    ];
    let severity = if in_time < HARDLY_PERCENT { Severity::Invalid } else { Severity::Doubtful };
    let remedy = match replay::is_held_by_target(replayed) {
        true => Remedy::SlowReplay,
        false => Remedy::QuickenReplay,
    };
    let found = Suspicion::new(FindingKind::LateReplay, severity, case.label(), sentence, figures);
    Some(found.remedy(remedy).weight(100.0 - in_time).needs(1.0 - in_time / 100.0))
}
