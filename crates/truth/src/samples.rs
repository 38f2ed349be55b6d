//! Lie 6: a percentile that rests on a few samples.
//!
//! A percentile is an order statistic: with n samples beyond it, its rank is uncertain by about √n of them. It judges
//! only the percentiles that reports show, and only a note: rates and medians stand.

use iodyno_model::{Figure, FindingKind, Histogram, Kind, Remedy, Severity};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;
use crate::statistics::interval;

/// Samples that must lie beyond a percentile: with 10, the rank is certain to about a third. Chosen: a count scatters
/// by its root; `percentiles_of_a_few_samples` stands on both sides.
pub const LEAST_BEYOND: u64 = 10;
/// Percentiles that reports show, the surest first. Chosen: those that are quoted most; `percentiles_of_a_few_samples`
/// has too few for either.
pub const SHOWN: [f64; 2] = [99.0, 99.9];

/// Percentiles of this phase that rest on too few samples: the lowest such of each job and verb.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (job, record) in case.jobs() {
        for line in &record.tally.lines {
            // A sync or an open at the end is one operation, and nobody takes it for a distribution.
            let counts = matches!(line.verb.kind(), Kind::Read | Kind::Write | Kind::Trim | Kind::Network);
            let few = SHOWN.iter().find(|percent| line.latency.beyond(**percent) < LEAST_BEYOND);
            let (true, Some(percent)) = (counts && !line.latency.is_empty(), few) else { continue };
            let (count, beyond) = (line.latency.count(), line.latency.beyond(*percent));
            let sentence = format!("p{percent} of {} rests on {beyond} of {count} samples", line.label);
            let figures = vec![
                Figure::new("samples", count as f64, ""),
                Figure::new(&format!("beyond p{percent}"), beyond as f64, ""),
                Figure::new("needed beyond it", LEAST_BEYOND as f64, ""),
            ];
            let figures = [figures, spread(&line.latency, *percent)].concat();
            let remedy = if *percent > SHOWN[0] { Remedy::ReadLowerPercentile } else { Remedy::ReadMedian };
            let suspicion =
                Suspicion::new(FindingKind::FewSamples, Severity::Note, case.label(), sentence, figures);
            found.push(suspicion.job(&job.name).remedy(remedy).weight(-(count as f64)));
        }
    }
    found
}

/// Between which two the percentile lies; nothing where too few samples lie beyond it for an upper end.
fn spread(latency: &Histogram, percent: f64) -> Vec<Figure> {
    let Some(found) = interval::percentile(latency, percent, 1.0, 95.0) else { return Vec::new() };
    vec![
        Figure::new(&format!("p{percent} at least"), found.low, "ns"),
        Figure::new(&format!("p{percent} at most"), found.high, "ns"),
    ]
}
