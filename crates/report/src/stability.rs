//! How stable a job was over a long time, as text: its slowest row, its tail over time, its spikes.
//!
//! Describes; what is bad about it is said by findings. Nothing is written of a job that was too short.

use iodyno_model::JobRecord;
use iodyno_truth::stability::{Stability, Tail, stability};

use crate::curve::sparkline;
use crate::number;

/// The lines of a job, each without its line end; none where it was too short.
pub fn lines(job: &JobRecord) -> Vec<String> {
    stability(job).map_or_else(Vec::new, |found| sentences(&found))
}

fn sentences(found: &Stability) -> Vec<String> {
    let at = |ns: u64| number::latency(ns as f64);
    let mut lines = vec![format!(
        "stability: slowest {} {} IOPS, ending at {} (median {}); longest operation {}, at {}",
        if found.row_ns == 1_000_000_000 { "second".into() } else { at(found.row_ns) },
        number::iops(found.worst_rate),
        at(found.worst_at_ns),
        number::iops(found.middle_rate),
        at(found.longest_ns),
        at(found.longest_at_ns),
    )];
    lines.extend(found.tail.as_ref().map(tail));
    let (spikes, beyond) = (found.spikes.count, at(found.spikes.beyond_ns));
    lines.push(match (spikes, found.spikes.period_ns) {
        (0, _) => format!("spikes: none of {beyond} or more"),
        (count, None) => format!("spikes: {count} of {beyond} or more"),
        (count, Some(ns)) => format!("spikes: {count} of {beyond} or more, about every {}", at(ns)),
    });
    if found.warm_up_ns > 0 {
        lines.push(format!("warm-up: {}; its figures are among the others", at(found.warm_up_ns)));
    }
    lines
}

fn tail(tail: &Tail) -> String {
    let each: Vec<f64> = tail.each_ns.iter().map(|ns| *ns as f64).collect();
    format!(
        "p99.9 over time: {} median {}, worst {} ending at {}, one value {}",
        sparkline(&each, 50),
        number::latency(tail.middle_ns as f64),
        number::latency(tail.worst_ns as f64),
        number::latency(tail.worst_at_ns as f64),
        number::latency(tail.window_ns as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_truth::stability::Spikes;

    #[test]
    fn the_card_says_when_it_was_worst() {
        const SECOND: u64 = 1_000_000_000;
        let tail = Tail {
            window_ns: 10 * SECOND,
            each_ns: vec![1_000_000, 2_000_000, 90_000_000],
            middle_ns: 2_000_000,
            worst_ns: 90_000_000,
            worst_at_ns: 30 * SECOND,
        };
        let found = Stability {
            row_ns: SECOND,
            middle_rate: 1000.0,
            worst_rate: 300.0,
            worst_at_ns: 43 * SECOND,
            longest_ns: 200_000_000,
            longest_at_ns: 96 * SECOND,
            tail: Some(tail),
            spikes: Spikes { count: 10, beyond_ns: 24_000_000, period_ns: Some(10 * SECOND) },
            warm_up_ns: 0,
        };
        let lines = sentences(&found);
        assert!(
            lines[0].starts_with("stability: slowest second 300 IOPS, ending at 43.0 s (median 1,000)"),
            "{lines:?}"
        );
        assert!(lines[1].contains("median 2.00 ms, worst 90.0 ms ending at 30.0 s"), "{lines:?}");
        assert_eq!(lines[2], "spikes: 10 of 24.0 ms or more, about every 10.0 s");
        assert_eq!(lines.len(), 3);
    }
}
