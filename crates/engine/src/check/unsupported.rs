//! What a plan can say and the engine cannot do yet: each is refused by name, none is ignored.
//!
//! Each line leaves this file when it is built. What depends on a worker's own files is refused by its source.

use iodyno_model::{
    Action, Diagnostic, Item, Job, Kind, Origin, Plan, SharedKind, Step, Submit, Target, TargetKind, Verb,
    Workload,
};

use crate::facts::EngineFacts;
use crate::file_system_client::FileSystemClient;
use crate::registry::PlanEngines;
use crate::source;
use crate::source::cache_requests::RequestList;

/// Everything in a plan that would otherwise be silently left out.
pub fn check(plan: &Plan, engines: &PlanEngines, wrong: &mut Vec<Diagnostic>) {
    plan.targets.iter().for_each(|target| check_target(target, wrong));
    for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
        check_job(plan, job, engines.facts(job), wrong);
    }
    for shared in plan.phases.iter().flat_map(|phase| &phase.shared) {
        if let SharedKind::Requests(asked) = &shared.kind
            && let Err(failure) = RequestList::check(asked)
        {
            wrong.push(failure.diagnostic(&Origin::Default, ""));
        }
    }
}

fn check_target(target: &Target, wrong: &mut Vec<Diagnostic>) {
    if let Some(Err(failure)) = target.open.hints.as_ref().map(|hints| FileSystemClient::load(hints)) {
        wrong.push(failure.diagnostic(&target.origin, ""));
    }
}

fn check_job(plan: &Plan, job: &Job, facts: Option<&EngineFacts>, wrong: &mut Vec<Diagnostic>) {
    let mut say =
        |what: &str, hint: &str| refuse(wrong, &job.origin, &format!("job {}: {what}", job.name), hint);
    let is_inline = job.depth.submit == Submit::Inline;
    let takes_parts = facts.is_some_and(|facts| facts.reaps_parts) && is_inline;
    // An engine that waits for each operation never has two that are done together.
    let waits = facts.is_some_and(|facts| facts.most_depth == 1) && is_inline;
    if (1..job.depth.most).contains(&job.depth.reap_most) && !takes_parts && !waits {
        say("taking back fewer operations than are done by this engine", "use libaio, io_uring or posixaio");
    }
    let range = |verb: Verb| verb.moves_data() || matches!(verb.kind(), Kind::Sync | Kind::Trim);
    if job.depth.submit == Submit::Offload && !source::labels(job).iter().all(|(_, verb)| range(*verb)) {
        say("helpers that open or change names", "leave offload out: only data goes through helpers");
    }
    let peer = |index: &usize| {
        plan.targets.get(*index).is_some_and(|target| matches!(target.kind, TargetKind::Endpoint { .. }))
    };
    let any = |is: &dyn Fn(&Target) -> bool| {
        job.targets.iter().any(|index| plan.targets.get(*index).is_some_and(is))
    };
    let takes_turns = facts.is_none_or(|facts| facts.takes_turns || !facts.uses_files);
    if any(&|target| target.open.surrounds_operations()) && !takes_turns {
        say("taking turns on a file by this engine", "use psync, sync, pvsync or pvsync2");
    }
    let opens_itself = facts.is_some_and(|facts| facts.opens_files);
    let is_hinted = |target: &Target| {
        let is_set = matches!(target.kind, TargetKind::FileSet { .. });
        target.open.hints.is_some() && (opens_itself || is_set && !takes_turns)
    };
    if any(&is_hinted) {
        say("asking a parallel file system by this engine", "use psync, sync, pvsync or pvsync2");
    }
    if job.targets.iter().any(peer) && !facts.is_some_and(|facts| facts.connects) {
        say("a network endpoint by this engine", "use the engine socket, net or netsplice");
    }
    if let Workload::Script(script) = &job.workload
        && job.workers > 1
        && script.steps.iter().any(|step| draws_from_shared_set(plan, job, step))
    {
        say(
            "a set that several workers go through shuffled",
            "own = true gives each worker a tree of its own",
        );
    }
}

/// Whether a step goes in a shuffled order through a set that is not each worker's own.
fn draws_from_shared_set(plan: &Plan, job: &Job, step: &Step) -> bool {
    let operation = match &step.action {
        Action::Call(_) => return false,
        Action::Block(steps) => return steps.iter().any(|step| draws_from_shared_set(plan, job, step)),
        Action::Do(operation) => operation,
    };
    let index = operation.target.and_then(|position| job.targets.get(position));
    let target = index.and_then(|index| plan.targets.get(*index));
    let shared =
        target.is_some_and(|target| matches!(&target.kind, TargetKind::FileSet { items, .. } if !items.own));
    shared && operation.item == Item::Shuffled
}

fn refuse(wrong: &mut Vec<Diagnostic>, origin: &Origin, what: &str, hint: &str) {
    wrong.push(Diagnostic::error(origin, format!("{what} is not served yet")).hint(hint));
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Pattern, Phase, Pick, Verb};

    #[test]
    fn nothing_is_left_out_in_silence() {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let plain = Job::new("j", "null", Vec::new(), Workload::Pattern(Box::new(pattern)));
        let with = |change: &dyn Fn(&mut Job)| {
            let mut job = plain.clone();
            change(&mut job);
            let phase = Phase { jobs: vec![job], ..Phase::default() };
            let mut wrong = Vec::new();
            let plan = Plan { phases: vec![phase], ..Plan::default() };
            check(&plan, &PlanEngines::resolve(&plan), &mut wrong);
            wrong
        };
        assert_eq!(with(&|_| {}), []);
        let stat = Pattern::of(Verb::Stat, Pick::Uniform, 0);
        let changes: [&dyn Fn(&mut Job); 1] = [&|job| {
            job.depth.submit = Submit::Offload;
            job.workload = Workload::Pattern(Box::new(stat.clone()));
        }];
        for change in changes {
            let wrong = with(change);
            assert!(wrong.len() == 1 && wrong[0].hint.is_some(), "{wrong:?}");
        }
    }
}
