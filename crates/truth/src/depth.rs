//! Lie 13: a queue depth that was asked for and never reached.
//!
//! Proof: the depths that were counted when operations were handed over. Depth is a limit only where the job itself
//! leaves it unused (a rate, pauses, a search), so such jobs are not judged.

use iodyno_model::{Figure, Severity};

use crate::case::Case;
use crate::merge::Suspicion;

/// Engines that can have one operation in flight in each worker, whatever is asked.
const SYNCHRONOUS: [&str; 5] = ["psync", "pvsync", "mmap", "sync", "splice"];
/// When all complete together and are handed over again one by one, depths of 1 to n are counted: half of n on average.
/// Less than that was never in flight.
const LEAST_SHARE: f64 = 0.45;
/// Hand-overs at the rising start of a job weigh nothing in so many times the depth.
const LEAST_ROUNDS: u64 = 4;

const ADVICE_SYNCHRONOUS: &str = "set `engine = \"io_uring\"`, or `depth = 1` and as many `workers`";
const ADVICE: &str = "set `direct = true` (buffered operations complete as they are handed over), raise `workers`, or \
                      lower `depth` to what is reached";

/// Jobs of this phase whose depth was not reached.
pub fn check(case: &Case<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (job, record) in case.jobs() {
        let paced = job.pace.has_rate() || job.pace.think.is_some() || job.pace.latency_target.is_some();
        let handed: u64 = record.tally.depths.iter().sum();
        let enough = LEAST_ROUNDS * u64::from(record.depth) * u64::from(job.workers.max(1));
        if record.depth < 2 || paced || handed < enough {
            continue;
        }
        let sum: f64 =
            record.tally.depths.iter().enumerate().map(|(depth, count)| depth as f64 * *count as f64).sum();
        let mean = sum / handed as f64;
        let most = record.tally.depths.iter().rposition(|count| *count > 0).unwrap_or(0);
        let synchronous = SYNCHRONOUS.contains(&record.engine.as_str());
        if mean >= LEAST_SHARE * f64::from(record.depth) && !(synchronous && most < record.depth as usize) {
            continue;
        }
        let sentence = if synchronous {
            format!(
                "{} is synchronous: of depth {} asked, 1 was in flight in each worker",
                record.engine, record.depth
            )
        } else {
            format!("of depth {} asked, {mean:.1} were in flight on average", record.depth)
        };
        let figures = vec![
            Figure::new("depth asked", f64::from(record.depth), ""),
            Figure::new("depth reached, mean", mean, ""),
            Figure::new("depth reached, most", most as f64, ""),
        ];
        let advice = if synchronous { ADVICE_SYNCHRONOUS } else { ADVICE };
        let suspicion =
            Suspicion::new(13, Severity::Doubtful, case.label(), sentence, figures).job(&job.name);
        found.push(suspicion.advice(advice).matter(advice).weight(f64::from(record.depth) / mean.max(0.01)));
    }
    found
}
