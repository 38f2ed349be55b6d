//! Lie 15: trouble with clocks: one that was set while the run went on, two that come apart, ranks whose clocks are not
//! known well enough, a resolution near what was measured.
//!
//! Proof: two clocks of the machine against each other over the phase, and what one reading costs. A clock that is
//! slewed by time synchronisation (500 ppm at most) is in order.

use iodyno_model::{ClockFacts, Figure, FindingKind, Kind, Remedy, Severity, Sighting, units};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// What synchronisation may slew, parts per million; the kernel's limit. Source: Linux, `MAXFREQ`; adjtimex(2).
const SLEW_PPM: f64 = 500.0;
/// Smaller steps are the readings' own uncertainty, ns. Chosen: a reading may be interrupted for a turn of the
/// scheduler; `trouble_with_clocks` stands at 4.9 and 50 ms, in a phase so long that slewing alone explains 10.
const LEAST_STEP_NS: f64 = 5_000_000.0;
/// The timing clock may go so much faster or slower than the kernel's: a share of a percent at most. Chosen: quartz is
/// off by less than a tenth of the first; `trouble_with_clocks` stands on both sides.
const MOST_DRIFT_PPM: (f64, f64) = (1000.0, 10_000.0);
/// A shorter phase says nothing about drift, ns. Chosen: a millisecond of uncertainty is the limit of drift in it;
/// `drift_is_told_of_a_second_and_more` stands on both sides.
const LEAST_DRIFT_NS: u64 = 1_000_000_000;
/// Half of operations took less than so many times what the clock resolves or costs. Chosen: a reading is off by a
/// fifth of such a time; `trouble_with_clocks` and `an_honest_run_is_not_accused` stand on both sides.
const LEAST_TIMES: f64 = 5.0;
/// What may be unknown between the clocks of ranks, in percent of the phase, and at least, ns. Chosen: a rate is off by
/// no more than that; `trouble_with_clocks` stands on both sides.
const MOST_SKEW: (f64, f64) = (1.0, 1_000_000.0);

/// Clocks that were in the way of this phase.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = skewed(case).into_iter().collect();
    for sighting in &case.found.sightings {
        if let Sighting::Clock(clock) = sighting {
            found.extend(stepped(case, clock));
            found.extend(drifted(case, clock));
            found.extend(coarse(case, clock));
        }
    }
    found
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    severity: Severity,
    sentence: String,
    figures: Vec<Figure>,
    remedy: Remedy,
) -> Suspicion {
    Suspicion::new(FindingKind::UnreliableClock, severity, case.label(), sentence, figures)
        .remedy(remedy)
        .matter(remedy.words())
}

fn stepped(case: &PhaseEvidence<'_>, clock: &ClockFacts) -> Option<Suspicion> {
    let step = clock.stepped_ns as f64;
    let slewed = clock.interval_ns as f64 * SLEW_PPM / 1e6;
    if step.abs() < LEAST_STEP_NS.max(2.0 * slewed) {
        return None;
    }
    let way = if step > 0.0 { "forward" } else { "back" };
    let sentence =
        format!("the wall clock was set {way} by {} during the phase", units::duration(step.abs()));
    let figures =
        vec![Figure::new("stepped by", step, "ns"), Figure::new("over", clock.interval_ns as f64, "ns")];
    Some(suspicion(case, Severity::Doubtful, sentence, figures, Remedy::KeepClockUnset).weight(step.abs()))
}

fn drifted(case: &PhaseEvidence<'_>, clock: &ClockFacts) -> Option<Suspicion> {
    let drift = clock.drift_ppm.abs();
    if drift < MOST_DRIFT_PPM.0 || clock.interval_ns < LEAST_DRIFT_NS {
        return None;
    }
    let severity = if drift >= MOST_DRIFT_PPM.1 { Severity::Invalid } else { Severity::Doubtful };
    let sentence = format!(
        "the clock that times operations ({}) and the kernel's came apart by {:.2} %",
        clock.clock,
        drift / 1e4
    );
    let figures = vec![
        Figure::new("apart, parts per million", clock.drift_ppm, ""),
        Figure::new("over", clock.interval_ns as f64, "ns"),
    ];
    Some(suspicion(case, severity, sentence, figures, Remedy::ChangeClockSource).weight(drift))
}

/// Operations too short for what one reading shows, or costs.
fn coarse(case: &PhaseEvidence<'_>, clock: &ClockFacts) -> Option<Suspicion> {
    let step = clock.resolution_ns.max(clock.cost_ns);
    let mut worst: Option<(f64, &str)> = None;
    for (_, record) in case.storage_jobs() {
        for line in &record.tally.lines {
            let median = line.latency.percentile(50.0) as f64;
            let timed = line.verb.kind() != Kind::Control && !line.latency.is_empty() && line.untimed == 0;
            if timed && median < LEAST_TIMES * step && worst.is_none_or(|(known, _)| median < known) {
                worst = Some((median, &record.name));
            }
        }
    }
    let (median, job) = worst?;
    let sentence = format!(
        "half of the operations took {} or less, and one reading of the clock {}: their latencies are largely the clock's",
        units::duration(median),
        units::duration(step)
    );
    let figures = vec![
        Figure::new("median latency", median, "ns"),
        Figure::new("resolution of the clock", clock.resolution_ns, "ns"),
        Figure::new("cost of a reading", clock.cost_ns, "ns"),
    ];
    Some(
        suspicion(case, Severity::Note, sentence, figures, Remedy::TimeBatches)
            .job(job)
            .weight(step / median.max(1.0)),
    )
}

fn skewed(case: &PhaseEvidence<'_>) -> Option<Suspicion> {
    let world = &case.record.world;
    let (error, elapsed) = (world.clock_error_ns as f64, case.found.elapsed_ns as f64);
    let percent = error / elapsed.max(1.0) * 100.0;
    if world.ranks() < 2 || percent < MOST_SKEW.0 || error < MOST_SKEW.1 {
        return None;
    }
    let sentence = format!(
        "how far the ranks' clocks are apart is known to {} only, {percent:.0} % of the phase",
        units::duration(error)
    );
    let figures = vec![Figure::new("largest error", error, "ns"), Figure::new("of the phase", percent, "%")];
    Some(suspicion(case, Severity::Doubtful, sentence, figures, Remedy::LengthenPhases).weight(percent))
}
