//! Lie 13: a queue depth that was asked for and never reached.
//!
//! Proof: the depths that were counted when operations were handed over. Depth is a limit only where the job itself
//! leaves it unused (a rate, pauses, a search, a script that hands over), so such jobs are not judged.

use iodyno_model::{
    Action, EngineTrait, Figure, FindingKind, Job, JobRecord, Remedy, Severity, Step, Workload,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// When all complete together and are handed over again one by one, depths of 1 to n are counted: half of n on average.
/// Less than that was never in flight. Chosen: a tenth below that half; `depth_that_was_never_reached` stands on both
/// sides.
pub const LEAST_SHARE: f64 = 0.45;
/// Hand-overs at the rising start of a job weigh nothing in so many times the depth. Chosen: the start then lowers the
/// mean by an eighth; `depth_that_was_never_reached` stands on both sides.
const LEAST_ROUNDS: u64 = 4;

/// Jobs of this phase whose depth was not reached.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (job, record) in case.jobs() {
        if !is_judged(job, record) {
            continue;
        }
        let Some(mean) = mean(record).filter(|_| !is_full(record)) else { continue };
        let most = most(record);
        let synchronous = is_synchronous(record);
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
        let remedy = match (synchronous, case.targets(job).all(|target| case.is_direct(target))) {
            (true, _) => Remedy::UseAsynchronousEngine,
            (_, true) => Remedy::KeepDepthWithWorkers,
            _ => Remedy::KeepDepthDirect,
        };
        let suspicion =
            Suspicion::new(FindingKind::DepthNotReached, Severity::Doubtful, case.label(), sentence, figures)
                .job(&job.name);
        let asked = f64::from(record.depth);
        let suspicion = suspicion.remedy(remedy).matter(remedy.words()).weight(asked / mean.max(0.01));
        let suspicion = suspicion.takes(1.0 - mean / asked);
        // What an engine cannot do is nobody else's doing.
        let needs = (!synchronous).then(|| 1.0 - mean / (LEAST_SHARE * asked));
        found.push(Suspicion { needs, ..suspicion });
    }
    found
}

/// Whether a job is to keep several operations in flight, did so often enough, and is free to.
pub fn is_judged(job: &Job, record: &JobRecord) -> bool {
    let paced = job.pace.has_rate() || job.pace.think.is_some() || job.pace.latency_target.is_some();
    let handed: u64 = record.tally.depths.iter().sum();
    let enough = LEAST_ROUNDS * u64::from(record.depth) * u64::from(job.workers.max(1));
    record.depth >= 2 && !paced && handed >= enough && !is_room(job)
}

/// Whether a job's depth is but room for what its script hands over and does not wait for: how much of it is used is the
/// script's doing, and nobody's wish.
pub fn is_room(job: &Job) -> bool {
    fn hands_over(step: &Step) -> bool {
        match &step.action {
            Action::Do(operation) => operation.background,
            Action::Block(steps) => steps.iter().any(hands_over),
            Action::Call(_) => false,
        }
    }
    matches!(&job.workload, Workload::Script(script) if script.steps.iter().any(hands_over))
}

/// The depth at which operations were handed over, the mean over them.
pub fn mean(record: &JobRecord) -> Option<f64> {
    let handed: u64 = record.tally.depths.iter().sum();
    let depths = record.tally.depths.iter().enumerate();
    let sum: f64 = depths.map(|(depth, count)| depth as f64 * *count as f64).sum();
    (handed > 0).then(|| sum / handed as f64)
}

/// Whether the depth that was asked was the one that was counted.
pub fn is_full(record: &JobRecord) -> bool {
    let few = is_synchronous(record) && most(record) < record.depth as usize;
    !few && mean(record).is_some_and(|mean| mean >= LEAST_SHARE * f64::from(record.depth))
}

fn most(record: &JobRecord) -> usize {
    record.tally.depths.iter().rposition(|count| *count > 0).unwrap_or(0)
}

fn is_synchronous(record: &JobRecord) -> bool {
    record.engine_is(EngineTrait::OneAtATime)
}
