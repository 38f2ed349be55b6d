//! Small plans, and what came of them.

use iodyno_engine::{Options, run};
use iodyno_model::{
    Items, Job, Open, Pattern, Phase, Pick, Plan, Prepare, Record, Setting, Tally, Target, TargetKind, Verb,
    WorkerKind, Workload,
};

use crate::Failed;

pub fn target(name: &str, kind: TargetKind) -> Target {
    let (open, prepare) = (Open::default(), Prepare::AsItIs);
    Target { name: name.into(), kind, open, prepare, remove: false, origin: Default::default() }
}

pub fn set(root: &str, count: u64, directories: bool) -> TargetKind {
    let items = Items { count, name: "j.0.{item}".into(), directories, ..Items::default() };
    TargetKind::FileSet { root: root.into(), items }
}

/// One verb in order, in blocks, by an engine with settings (`name=value`).
pub fn job(engine: &str, settings: &[&str], target: usize, verb: Verb, block_bytes: u64) -> Job {
    let pattern = Pattern::of(verb, Pick::Sequential, block_bytes);
    let mut job = Job::new(engine, engine, vec![target], Workload::Pattern(Box::new(pattern)));
    let pair = |text: &&str| {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        Setting::new(name, value)
    };
    job.settings = settings.iter().map(pair).collect();
    job
}

/// The jobs together.
pub fn plan(targets: Vec<Target>, jobs: Vec<Job>) -> Plan {
    let phase = Phase { name: "phase".into(), jobs, ..Phase::default() };
    Plan { name: "special".into(), seed: 5, targets, phases: vec![phase], ..Plan::default() }
}

pub fn refused(plan: &Plan) -> Result<String, Failed> {
    match run(plan, &Options { witness: false, ..Options::default() }, &mut |_| ()) {
        Err(wrong) => Ok(wrong.iter().map(|wrong| wrong.message.clone()).collect::<Vec<_>>().join("\n")),
        Ok(_) => Err("it was not refused".into()),
    }
}

/// The tallies of the jobs, in order; an error of the run is a failure.
pub fn tallies(plan: &Plan) -> Result<Vec<Tally>, Failed> {
    let record = record(plan)?;
    match record.errors.first() {
        Some(error) => Err(error.message.clone().into()),
        None => Ok(record.phases[0].jobs.iter().map(|job| job.tally.clone()).collect()),
    }
}

pub fn record(plan: &Plan) -> Result<Record, Failed> {
    run(plan, &Options { witness: false, ..Options::default() }, &mut |_| ()).map_err(|wrong| {
        Failed::from(wrong.iter().map(|wrong| wrong.message.clone()).collect::<Vec<_>>().join("\n"))
    })
}

pub fn in_processes(mut job: Job) -> Job {
    job.kind = WorkerKind::Processes;
    job
}
