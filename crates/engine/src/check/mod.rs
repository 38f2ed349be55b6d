//! Checks a plan before anything is touched, and reports everything that is wrong at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use iodyno_model::{Aging, Diagnostic, Job, Origin, Plan, Repeat, TargetKind, WorkerKind, Workload, sweep};

mod buckets;
mod combinations;
mod simulated;
mod unsupported;
mod worker_limits;

use crate::facts::{EngineFacts, WorkloadClass};
use crate::names::templates::{Asker, Owner, resolve, tells_apart};
use crate::open::needs;
use crate::registry::{self, PlanEngines};
use crate::source;
use crate::source::replay::tree::TreeSurveys;
use crate::witness::{signature, users};

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    /// The plan with its sweeps and repetitions written out.
    pub plan: Arc<Plan>,
    /// The engines of its jobs.
    pub engines: PlanEngines,
    /// What was read of its traces.
    pub surveys: TreeSurveys,
}

/// The plan as it will run.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(plan: &Plan) -> Result<CheckedPlan, Vec<Diagnostic>> {
    let mut wrong = check_repeat(&plan.repeat);
    plan.aging.iter().for_each(|aging| wrong.extend(check_aging(aging)));
    let plan = sweep::expand(plan)?;
    let engines = PlanEngines::resolve(&plan);
    wrong.extend(iodyno_truth::demand::check(&plan));
    unsupported::check(&plan, &engines, &mut wrong);
    simulated::check(&plan, &engines, &mut wrong);
    for phase in &plan.phases {
        combinations::check(&plan, phase, &mut wrong);
        worker_limits::check(phase, &engines, &mut wrong);
        check_clocks(phase, &engines, &mut wrong);
        phase.jobs.iter().for_each(|job| check_job(&plan, job, &engines, &mut wrong));
        for job in &phase.jobs {
            if let Some(after) = &job.start.after_job
                && !phase.jobs.iter().any(|other| other.name == *after && other.name != job.name)
            {
                let message =
                    format!("job {}: it waits for `{after}`, which is no other job of its phase", job.name);
                wrong.push(Diagnostic::error(&job.origin, message).hint("name a job of the same phase"));
            }
        }
    }
    let written = |index: &usize| writes(&plan, &engines, *index);
    for index in (0..plan.targets.len()).filter(written) {
        check_device(&plan, index, &mut wrong);
    }
    wrong.dedup();
    if wrong.is_empty() {
        Ok(CheckedPlan { plan: plan.into(), engines, surveys: TreeSurveys::default() })
    } else {
        Err(wrong)
    }
}

/// What is wrong with how a file system is to be made old.
fn check_aging(aging: &Aging) -> Option<Diagnostic> {
    let whole = [aging.full_percent, aging.turnover, aging.youth].iter().all(|number| number.is_finite());
    let (what, hint) = match aging {
        _ if !whole => ("its numbers must be finite", "e.g. full 70 %, turnover 3, youth 2"),
        Aging { remove: true, .. } => return None,
        Aging { full_percent, .. } if *full_percent <= 0.0 || *full_percent >= 100.0 => {
            ("it becomes more than 0 and less than 100 % full", "70 % is usual")
        }
        Aging { turnover, .. } if !(0.0..=10_000.0).contains(turnover) => {
            ("its turnover is 0 to 10000", "3: what it holds is written anew three times")
        }
        Aging { youth, .. } if !(1.0..=100.0).contains(youth) => {
            ("its youth is 1 to 100", "1: young and old files die alike; 2 is usual")
        }
        Aging { workers, .. } if !(1..=256).contains(workers) => {
            ("it has 1 to 256 workers", "2 are usual; another number is another sequence")
        }
        _ => return None,
    };
    Some(Diagnostic::error(&aging.origin, format!("aging {}: {what}", aging.directory)).hint(hint))
}

/// What is wrong with how often it is done.
fn check_repeat(repeat: &Repeat) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    let mut say = |message: &str, hint: &str| {
        wrong.push(Diagnostic::error(&Origin::Default, format!("repeat: {message}")).hint(hint));
    };
    if repeat.most > 0 && repeat.most < repeat.times {
        say("at most fewer times than at least", "leave most out: it is 25 where something is waited for");
    }
    if !(0.0..100.0).contains(&repeat.until_interval_percent) {
        say("an interval is narrower than 100 %", "e.g. 5 %: from 2.5 % below the mean to 2.5 % above it");
    }
    let confidence = repeat.confidence_percent;
    if confidence != 0.0 && !(50.0..=99.99).contains(&confidence) {
        say("a confidence is 50 to 99.99 %", "95 % is usual");
    }
    if let Some(rounds) = &repeat.until_steady
        && (rounds.window < 3 || rounds.range_percent <= 0.0 || rounds.slope_percent <= 0.0)
    {
        say(
            "a steady window has at least 3 passes, and limits above 0",
            "SNIA's are 5 passes, 20 % and 10 %",
        );
    }
    wrong
}

/// Steadiness is judged by one clock.
fn check_clocks(phase: &iodyno_model::Phase, engines: &PlanEngines, wrong: &mut Vec<Diagnostic>) {
    let is_virtual = |job: &Job| engines.facts(job).is_some_and(|facts| facts.is_virtual);
    if phase.jobs.iter().all(is_virtual) {
        return;
    }
    for job in phase.jobs.iter().filter(|job| job.limit.steady.is_some() && is_virtual(job)) {
        let message = format!("job {}: virtual time passes unobserved beside the machine's", job.name);
        wrong.push(
            Diagnostic::error(&job.origin, message).hint("give the other jobs of its phase another phase"),
        );
    }
}

fn check_job(plan: &Plan, job: &Job, engines: &PlanEngines, wrong: &mut Vec<Diagnostic>) {
    let mut say = |message: String, hint: &str| {
        wrong.push(Diagnostic::error(&job.origin, format!("job {}: {message}", job.name)).hint(hint));
    };
    if job.workers == 0 {
        say("it has no worker".into(), "workers is at least 1");
    }
    if job.depth.most == 0 {
        say("its depth is 0".into(), "depth is how many operations are kept in flight, at least 1");
    }
    if let Some(index) = job.targets.iter().find(|index| **index >= plan.targets.len()) {
        say(format!("it refers to target {index}, which is not there"), "name one of the plan's targets");
        return;
    }
    let processes_only = job.placement.identity.is_some();
    if job.kind == WorkerKind::Threads && processes_only {
        say("an identity of its own needs processes".into(), "processes = true");
    }
    if let Some(steady) = &job.limit.steady
        && (steady.interval_ns == 0 || steady.window_ns < steady.interval_ns)
    {
        say("its window of steadiness holds no interval".into(), "a window of 10 s has ten intervals of 1 s");
    }
    let Some(facts) = engines.facts(job) else {
        let names: Vec<_> = registry::all_engines().map(|engine| engine.facts.name).collect();
        say(format!("no engine `{}`", job.engine), &format!("engines: {}", names.join(" ")));
        return;
    };
    let class = WorkloadClass::of(&job.workload);
    if facts.runs != class {
        say(
            format!("engine {} is not for what it does", job.engine),
            "cases are run by the engine cases, exercises by exercise",
        );
    }
    if class != WorkloadClass::Stream && (job.workers != 1 || job.kind != WorkerKind::Threads) {
        say("cases and exercises want one worker, a thread".into(), "they start their processes themselves");
    }
    for setting in &job.settings {
        if !facts.settings.iter().any(|spec| spec.name == setting.name) {
            let message = format!("engine {}: no setting `{}`", facts.name, setting.name);
            let hint = setting_hint(&setting.name, facts);
            wrong.push(Diagnostic::error(&setting.origin, message).hint(hint));
        }
    }
    if let Err(failure) = (facts.available)() {
        wrong.push(failure.diagnostic(&job.origin, &format!("engine {}: ", facts.name)));
    }
    let served = matches!(&job.workload, Workload::Trace(trace) if trace.replay.served);
    if served != facts.serves_requests {
        let message = format!("job {}: requests to a file server, and the engine {}", job.name, facts.name);
        wrong.push(Diagnostic::error(&job.origin, message).hint(
            "engine = file_service serves requests, and a trace whose records are served has nothing else",
        ));
    }
    buckets::check(plan, job, facts, wrong);
    wrong.extend((facts.check)(job));
    if let Err(failure) = source::check(job) {
        wrong.push(failure.diagnostic(&job.origin, &format!("job {}: ", job.name)));
    }
}

/// The setting that was probably meant, or all there are.
fn setting_hint(name: &str, facts: &EngineFacts) -> String {
    let names = || facts.settings.iter().map(|spec| spec.name);
    let distance = |known: &&str| strsim::damerau_levenshtein(known, name);
    match names().min_by_key(distance) {
        None => "it has no settings".into(),
        Some(near) if distance(&near) <= 3 => format!("did you mean `{near}`?"),
        Some(_) => format!("settings: {}", names().collect::<Vec<_>>().join(" ")),
    }
}

/// Whether any job changes a target, through an engine that touches it.
fn writes(plan: &Plan, engines: &PlanEngines, index: usize) -> bool {
    let touches = |job: &&Job| engines.facts(job).is_none_or(|facts| facts.uses_files);
    plan.phases.iter().flat_map(|phase| &phase.jobs).filter(touches).any(|job| {
        job.targets.iter().enumerate().any(|(position, target)| *target == index && needs(job, position).1)
    })
}

/// Refuses to write to a device that somebody may still need. What is in use, or counted on, no giving up sets free.
fn check_device(plan: &Plan, index: usize, wrong: &mut Vec<Diagnostic>) {
    let target = &plan.targets[index];
    // An original's option is for all the names that its one word stands for.
    if target.path().is_some_and(|path| plan.mounted_allowed.iter().any(|allowed| allowed == path)) {
        return;
    }
    for path in devices(plan, index) {
        let given_up = plan.signatures_allowed || plan.destroy.contains(&path);
        let (what, hint) = if let Some(user) = users::of(&path) {
            (user.what, user.remedy)
        } else if let Some(name) = signature::on(&path).filter(|_| !given_up) {
            let hint = format!("everything on it would be lost; if that is meant: --destroy {path}");
            (format!("it carries {name}"), hint)
        } else {
            continue;
        };
        let message = format!("{path}: {what}, not writing to it");
        wrong.push(Diagnostic::error(&target.origin, message).hint(hint));
    }
}

/// So many workers' names are looked at among devices, where no machine has more of them, and elsewhere, where links to
/// devices may lie and a look at each of many files would take its time.
const WORKERS_NAMED: [u32; 2] = [1 << 16, 64];

/// The block devices that a target is, by the names that its workers open.
fn devices(plan: &Plan, index: usize) -> Vec<String> {
    let template = match &plan.targets[index].kind {
        TargetKind::Device { path } => {
            return if is_block_device(path) { vec![path.clone()] } else { Vec::new() };
        }
        TargetKind::File { path, .. } => path,
        _ => return Vec::new(),
    };
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.targets.contains(&index));
    let mut names = BTreeSet::new();
    for job in jobs {
        let most = WORKERS_NAMED[usize::from(!template.contains("/dev/"))];
        let workers = if tells_apart(template) { job.workers.min(most) } else { 1 };
        for worker in 0..workers {
            let owner = Owner { worker, ..Owner::default() };
            names.insert(resolve(template, Asker { job: &job.name, owner, all: workers, repetition: 0 }));
        }
    }
    names.into_iter().filter(|path| is_block_device(path)).collect()
}

/// The block devices that a plan overwrites although something was on them, and what.
pub fn given_up(plan: &Plan) -> Vec<(String, Option<&'static str>)> {
    let engines = PlanEngines::resolve(plan);
    let all = (0..plan.targets.len()).filter(|index| writes(plan, &engines, *index));
    let mut found: Vec<_> = all
        .flat_map(|index| devices(plan, index))
        .map(|path| (signature::on(&path), path))
        .filter(|(name, path)| name.is_some() || plan.destroy.contains(path))
        .map(|(name, path)| (path, name))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Whether a path is a block device.
pub fn is_block_device(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}
