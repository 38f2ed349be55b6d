//! Lie 20: errors, short transfers or failed operations that are counted as work.
//!
//! Always invalid, and the door makes the exit status say so. A read that is short at the end of a file is no error; an
//! operation that is expected to fail (correctness) is judged by its expectation, not here.

use iodyno_model::{
    ErrorCount, Figure, FindingKind, Intent, Job, JobRecord, Pick, Remedy, Severity, Verb, WorkerRecord,
    Workload, tally,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// Names of error numbers that storage gives. Source: Linux, `errno.h`; a record made elsewhere may mean others.
const NAMES: [(i32, &str); 22] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (19, "ENODEV"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (24, "EMFILE"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
    (122, "EDQUOT"),
];

/// What failed in this phase.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (job, record) in case.jobs() {
        let told = case.intent() != Intent::Correctness;
        found.extend(failed(record).filter(|_| told));
        found.extend(short(job, record).filter(|_| told));
        found.extend(unverified(record));
        found.extend(record.workers.iter().find_map(|worker| broken(worker, record)));
    }
    found
        .into_iter()
        .map(|(matter, sentence, figures, remedy, weight, job)| {
            let suspicion = Suspicion::new(
                FindingKind::FailedOperations,
                Severity::Invalid,
                case.label(),
                sentence,
                figures,
            );
            suspicion.remedy(remedy).matter(matter).weight(weight).job(job)
        })
        .collect()
}

/// Matter, sentence, figures, remedy, weight, job.
type Found<'a> = (&'static str, String, Vec<Figure>, Remedy, f64, &'a str);

fn failed(record: &JobRecord) -> Option<Found<'_>> {
    let failures: Vec<&ErrorCount> = record.tally.errors.iter().filter(|error| error.errno > 0).collect();
    let counted: u64 = failures.iter().map(|error| error.count).sum();
    let count = record.tally.failed().max(counted);
    let unverified: u64 =
        record.tally.errors.iter().filter(|error| error.errno < 0).map(|error| error.count).sum();
    if count.saturating_sub(unverified) == 0 {
        return None;
    }
    let first = failures.iter().max_by_key(|error| error.count);
    let what = first.map_or(String::new(), |error| {
        let place = match error.first_offset {
            // Streams and appends have no place of their own.
            u64::MAX => String::new(),
            offset => format!(" (first at offset {offset})"),
        };
        format!(", most often {} with {}{place}", error.verb, name(error.errno))
    });
    let tried = record.tally.all_operations() + count;
    let sentence = format!("{count} of {tried} operations failed{what}");
    let figures = vec![
        Figure::new("failed", count as f64, ""),
        Figure::new("share", count as f64 / tried as f64 * 100.0, "%"),
    ];
    Some(("failed", sentence, figures, Remedy::FixFailures, count as f64, &record.name))
}

fn short<'a>(job: &Job, record: &'a JobRecord) -> Option<Found<'a>> {
    let lines = record.tally.lines.iter().filter(|line| line.verb.moves_data());
    let wrong = lines.filter(|line| line.short > tolerated(job, record, line.verb));
    let line = wrong.max_by_key(|line| line.short)?;
    let sentence =
        format!("{} of {} operations of {} moved less than asked", line.short, line.operations, line.label);
    let figures = vec![
        Figure::new("short", line.short as f64, ""),
        Figure::new("share", line.short as f64 / line.operations.max(1) as f64 * 100.0, "%"),
    ];
    Some(("short", sentence, figures, Remedy::EnlargeTarget, line.short as f64, &record.name))
}

/// Short transfers that are the end of something: reads of streams and scripts, and the last read of each worker.
fn tolerated(job: &Job, record: &JobRecord, verb: Verb) -> u64 {
    match (verb, &job.workload) {
        (Verb::Send | Verb::Recv | Verb::Exchange, _) => u64::MAX,
        (Verb::Read, Workload::Pattern(pattern)) if pattern.pick.read != Pick::Stream => {
            record.workers.len().max(job.workers as usize) as u64 * job.limit.passes.unwrap_or(1).max(1)
        }
        (Verb::Read | Verb::CopyFileRange, _) => u64::MAX,
        _ => 0,
    }
}

fn unverified(record: &JobRecord) -> Option<Found<'_>> {
    let wrong: Vec<&ErrorCount> = record.tally.errors.iter().filter(|error| error.errno < 0).collect();
    let first = wrong.iter().min_by_key(|error| error.first_offset)?;
    let count: u64 = wrong.iter().map(|error| error.count).sum();
    let noun = if count == 1 { "block" } else { "blocks" };
    let kinds = kinds_of(&wrong);
    let sentence = format!(
        "{count} {noun} did not hold what was written{kinds}, first at offset {}",
        first.first_offset
    );
    let figures = vec![Figure::new("wrong blocks", count as f64, "")];
    Some(("verify", sentence, figures, Remedy::DistrustStorage, count as f64, &record.name))
}

/// How many blocks were stale, torn and so on, the most frequent kind first: ` (2 stale, 1 torn)`.
fn kinds_of(wrong: &[&ErrorCount]) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for error in wrong {
        let Some(kind) = tally::corruption(error.errno) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += error.count,
            None => kinds.push((kind, error.count)),
        }
    }
    kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
    match kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ") {
        words if words.is_empty() => words,
        words => format!(" ({words})"),
    }
}

fn broken<'a>(worker: &WorkerRecord, record: &'a JobRecord) -> Option<Found<'a>> {
    let failure = worker.failure.as_ref()?;
    let broken = record.workers.iter().filter(|worker| worker.failure.is_some()).count();
    let message = failure.lines().next().unwrap_or_default();
    let sentence = format!("{broken} of {} workers broke off: {message}", record.workers.len());
    let figures = vec![
        Figure::new("workers", record.workers.len() as f64, ""),
        Figure::new("broken", broken as f64, ""),
    ];
    Some(("worker", sentence, figures, Remedy::ReadWorkerError, broken as f64, &record.name))
}

fn name(errno: i32) -> String {
    match NAMES.iter().find(|(number, _)| *number == errno) {
        Some((_, name)) => (*name).to_string(),
        None => format!("error {errno}"),
    }
}
