//! Lie 6: a percentile that rests on a few samples.
//!
//! A percentile is an order statistic: with n samples beyond it, its rank is uncertain by about √n of them. It judges
//! only the percentiles that reports show, and only a note: rates and medians stand.

use iodyno_model::{Figure, Histogram, Kind, Severity};

use crate::case::Case;
use crate::merge::Suspicion;

/// Samples that must lie beyond a percentile: with 10, the rank is certain to about a third.
pub const LEAST_BEYOND: u64 = 10;
/// Percentiles that reports show, the surest first.
pub const SHOWN: [f64; 2] = [99.0, 99.9];

const ADVICE: &str = "run longer (`time`) or do more operations (`operations`), or read the median instead";

/// Percentiles of this phase that rest on too few samples: the lowest such of each job and verb.
pub fn check(case: &Case<'_>) -> Vec<Suspicion> {
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
            let figures = [figures, interval(&line.latency, *percent)].concat();
            let suspicion = Suspicion::new(6, Severity::Note, case.label(), sentence, figures);
            found.push(suspicion.job(&job.name).advice(ADVICE).weight(-(count as f64)));
        }
    }
    found
}

/// Where the percentile may lie with 95 % confidence, by its rank alone (binomial, in its normal approximation).
fn interval(latency: &Histogram, percent: f64) -> Vec<Figure> {
    const DEVIATIONS: f64 = 1.96;
    let share = percent / 100.0;
    let spread = DEVIATIONS * (share * (1.0 - share) / latency.count() as f64).sqrt() * 100.0;
    let [low, high] = [percent - spread, (percent + spread).min(100.0)].map(|at| latency.percentile(at) as f64);
    vec![
        Figure::new(&format!("p{percent} at least"), low, "ns"),
        Figure::new(&format!("p{percent} at most, as far as seen"), high, "ns"),
    ]
}
