//! From what was asked for to a plan: a phase for each directory, its cases as one job, and the load beside them.

use std::sync::Arc;

use iodyno_model::{
    Cases, Exit, ExitOn, ExitWhat, Intent, Items, Job, Phase, Plan, Stop, Target, TargetKind, Workload,
};

use super::exercise;
use super::settings::Setup;

/// The job of cases is called so, and no other.
pub const JOB: &str = "rules";

/// The engine that runs cases.
const ENGINE: &str = "cases";

/// The plan; `load` are jobs that run beside the first directory's cases.
pub fn plan(setup: &Arc<Setup>, load: Option<Plan>) -> Plan {
    let mut plan = Plan {
        name: "posix".into(),
        seed: setup.options.seed,
        intent: Intent::Correctness,
        targets: setup.sides.iter().map(|side| target(&side.folder)).collect(),
        ..Plan::default()
    };
    let rules = !setup.options.exercise.alone();
    let cases = Arc::new(cases(setup));
    for (index, side) in setup.sides.iter().enumerate().filter(|_| rules) {
        let mut job = Job::new(JOB, ENGINE, vec![index], Workload::Cases(Arc::clone(&cases)));
        let mut phase = Phase { name: side.folder.clone(), stop: Stop::Alone, ..Phase::default() };
        if let Some(load) = load.as_ref().filter(|_| index == 0) {
            job.exit = Some(Exit { on: ExitOn::End, what: ExitWhat::Phase });
            phase.jobs.push(job);
            beside(&mut phase, &mut plan.targets, load);
        } else {
            phase.jobs.push(job);
        }
        plan.phases.push(phase);
    }
    plan.phases.extend(exercise::phases(&setup.exercises, 0));
    plan
}

fn cases(setup: &Setup) -> Cases {
    Cases {
        features: setup.suite.features.clone(),
        cases: setup.suite.cases.clone(),
        // What failed runs again without company, unless it is asked for.
        at_once: match (setup.options.at_once, &setup.earlier) {
            (0, Some(_)) => 1,
            (at_once, _) => at_once,
        },
        limit_ns: setup.options.case_time,
        keep: setup.options.keep,
    }
}

fn target(folder: &str) -> Target {
    Target {
        name: folder.into(),
        kind: TargetKind::FileSet { root: folder.into(), items: Items { count: 0, ..Items::default() } },
        open: iodyno_model::Open::default(),
        prepare: iodyno_model::Prepare::AsItIs,
        remove: false,
        origin: iodyno_model::Origin::argument(folder),
    }
}

/// Puts the jobs of a load into a phase, and what they work on into the plan.
fn beside(phase: &mut Phase, targets: &mut Vec<Target>, load: &Plan) {
    let first = targets.len();
    targets.extend(load.targets.iter().cloned());
    for part in &load.phases {
        phase.shared.extend(part.shared.iter().cloned());
        phase.jobs.extend(part.jobs.iter().cloned().map(|mut job| {
            job.targets.iter_mut().for_each(|target| *target += first);
            // Another number than the cases' own: their end ends it, its end nothing.
            (job.exit, job.set) = (None, u32::MAX);
            job
        }));
    }
}
