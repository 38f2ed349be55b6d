//! Checks what workers do together in a phase (opening, barriers, `wear_out`) and what it cannot be combined with.

use std::path::Path;

use iodyno_model::{Diagnostic, Job, Phase, Plan, TargetKind, Verb, Workload};

use crate::names::templates::is_own;
use crate::source;
use crate::start_barrier::BarrierPoint;

/// Everything that would make workers wait for each other for ever, or undo each other's work.
pub fn check(plan: &Plan, phase: &Phase, wrong: &mut Vec<Diagnostic>) {
    for job in &phase.jobs {
        let mut say = |message: &str, hint: &str| {
            let diagnostic = Diagnostic::error(&job.origin, format!("job {}: {message}", job.name));
            wrong.push(diagnostic.hint(hint));
        };
        if waits_in_a_ring(phase, job) {
            say(
                "it waits for a job to end that waits for it",
                "leave out the barriers and wear_out, or start.after_job",
            );
        }
        check_end(job, &mut say);
        check_opening(plan, job, &mut say);
        check_map(plan, job, &mut say);
    }
}

/// A generation map that is there already belongs to another run's data, and one that is checked against is whole.
fn check_map(plan: &Plan, job: &Job, say: &mut dyn FnMut(&str, &str)) {
    let Some(path) = map_of(job) else { return };
    let is_set = |index: &usize| {
        plan.targets.get(*index).is_some_and(|target| {
            matches!(target.kind, TargetKind::FileSet { .. } | TargetKind::Bucket { .. })
        })
    };
    if job.targets.iter().any(is_set) {
        say("a generation map has no items of sets", "name files, or leave the map out");
    }
    let jobs = || plan.phases.iter().flat_map(|phase| &phase.jobs);
    let written = jobs().any(|job| kept_map(job) == Some(path));
    // What is checked first is gone on with.
    let first = jobs().find(|job| map_of(job) == Some(path));
    let is_checked = first.is_some_and(|job| job.payload.verify.as_ref().is_some_and(|verify| verify.only));
    if !written || is_checked {
        if let Err(failure) = source::check_map(path) {
            say(&failure.message, failure.hint.as_deref().unwrap_or_default());
        }
        return;
    }
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
    if source::has_map(path) {
        let hint = "remove it, or name another file; to check against it read, or say only = true (fio: verify_only)";
        say(&format!("the generation map {path} exists, and is not overwritten"), hint);
    } else if folder.is_some_and(|folder| !folder.is_dir()) {
        say(
            &format!("the generation map {path} cannot be written"),
            "name a file in a directory that is there",
        );
    }
}

fn map_of(job: &Job) -> Option<&str> {
    job.payload.verify.as_ref()?.map.as_deref()
}

/// The map that a job writes.
fn kept_map(job: &Job) -> Option<&str> {
    map_of(job)
        .filter(|_| writes_pattern(job) && job.payload.verify.as_ref().is_some_and(|verify| !verify.only))
}

fn writes_pattern(job: &Job) -> bool {
    matches!(&job.workload, Workload::Pattern(pattern) if pattern.mix.has(Verb::Write))
}

/// Whether a job that starts after another has a meeting with it.
fn waits_in_a_ring(phase: &Phase, job: &Job) -> bool {
    let meets = |job: &Job| BarrierPoint::ALL.iter().any(|meeting| meeting.has(job));
    let mut before = job.start.after_job.as_ref();
    // As many steps as there are jobs: those that wait for each other in a ring are another's finding.
    for _ in 0..phase.jobs.len() {
        let Some(other) = before.and_then(|name| phase.jobs.iter().find(|job| job.name == *name)) else {
            return false;
        };
        if meets(job) && meets(other) {
            return true;
        }
        before = other.start.after_job.as_ref();
    }
    false
}

fn check_end(job: &Job, say: &mut dyn FnMut(&str, &str)) {
    let (limit, recorded) = (&job.limit, matches!(job.workload, Workload::Trace(_)));
    if limit.wear_out && limit.time_ns.is_none() {
        say("nothing says when its time is up, after which it is to wear out", "limit the time, too");
    }
    if (limit.wear_out || limit.least_ns > 0) && recorded {
        say("a trace neither wears out nor begins again", "use a pattern or a script");
    }
    if limit.least_ns > 0 && limit.wear_out {
        say("it is to be repeated, and to wear out", "use one of least and wear_out");
    }
    let counted = limit.operations.is_some() || limit.bytes.is_some();
    if limit.least_ns > 0 && counted && matches!(job.workload, Workload::Script(_)) {
        say("a script that is to begin again, and a limit that ends it in the middle", "limit its passes");
    }
}

fn check_opening(plan: &Plan, job: &Job, say: &mut dyn FnMut(&str, &str)) {
    if !job.start.open {
        return;
    }
    for target in job.targets.iter().filter_map(|index| plan.targets.get(*index)) {
        if target.open.pre_read {
            say("it reads files before it opens them", "leave out pre_read, or start.open");
        }
        let shared = matches!(&target.kind, TargetKind::File { path, .. } if !is_own(path));
        if target.open.truncate && shared && job.workers > 1 && !job.start.barrier {
            say(
                "whoever opens the shared file late cuts off what others have written",
                "start.barrier = true lets them wait for each other after opening",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Limit, Pattern, Pick, Start, Verb};

    use super::*;

    fn job(name: &str) -> Job {
        let pattern = Pattern::of(Verb::Read, Pick::Sequential, 1);
        Job::new(name, "null", Vec::new(), Workload::Pattern(Box::new(pattern)))
    }

    fn wrong(jobs: Vec<Job>) -> usize {
        let mut wrong = Vec::new();
        check(&Plan::default(), &Phase { jobs, ..Phase::default() }, &mut wrong);
        assert!(wrong.iter().all(|wrong| wrong.hint.is_some()));
        wrong.len()
    }

    #[test]
    fn jobs_do_not_wait_for_each_other_in_a_ring() {
        let barrier = Start { barrier: true, ..Start::default() };
        let first = Job { start: barrier.clone(), ..job("a") };
        let middle = Job { start: Start { after_job: Some("a".into()), ..Start::default() }, ..job("b") };
        let last = Job { start: Start { after_job: Some("b".into()), ..barrier.clone() }, ..job("c") };
        assert_eq!(wrong(vec![first.clone(), middle.clone(), job("c")]), 0);
        assert_eq!(wrong(vec![first, middle.clone(), last.clone()]), 1);
        assert_eq!(wrong(vec![job("a"), middle, last]), 0);
    }

    #[test]
    fn ends_that_contradict_each_other_are_refused() {
        let with = |limit| wrong(vec![Job { limit, ..job("j") }]);
        assert_eq!(with(Limit { wear_out: true, time_ns: Some(1), ..Limit::default() }), 0);
        assert_eq!(with(Limit { wear_out: true, ..Limit::default() }), 1);
        assert_eq!(with(Limit { least_ns: 1, ..Limit::default() }), 0);
        assert_eq!(with(Limit { least_ns: 1, operations: Some(3), ..Limit::default() }), 0);
        assert_eq!(with(Limit { least_ns: 1, wear_out: true, time_ns: Some(1), ..Limit::default() }), 1);
    }
}
