//! The native plan file: TOML with the model's own nouns as keys, and the commands `plan` and `run`.
//!
//! A file says what is done; who may destroy what is said on the command line only. Everything that is wrong is said
//! at once, each with its line. Engine names and settings are passed on as they stand: the engine room checks them.

mod age;
mod command;
pub mod device;
mod export;
pub(crate) mod fields;
mod inline;
mod job;
mod keep;
mod pace;
mod pattern;
mod payload;
mod phase;
mod run_arguments;
mod script;
mod sweep;
mod target;
mod training;
pub(crate) mod tree;
pub(crate) mod value;

use iodyno_model::reflect::Reflect;
use iodyno_model::{
    Action, Demand, Diagnostic, Job, Kind, Origin, Phase, Plan, Prepare, Repeat, Rounds, Stamp, Step, Verb,
    VerifyWhen, Workload,
};

pub use command::{
    ReporterMaker, WorldArguments, explanation, on_hosts, parsed, plan, refusal, request, run,
};
pub use export::ExportArguments;
pub use keep::KeepArguments;
pub use run_arguments::{Manner, WatchArguments};

pub use fields::suggestion;
use fields::{Fields, Wrong};
use tree::{Node, Value};
use value::{Read, text};

/// The plan that a file's text says; `path` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it, by line.
pub fn parse(text: &str, path: &str) -> Result<Plan, Vec<Diagnostic>> {
    let document = tree::parse(text, path)?;
    let wrong = Wrong::default();
    let plan = read(&document, &wrong);
    let list = wrong.into_list();
    if list.is_empty() { Ok(plan) } else { Err(list) }
}

/// The seed of a plan that names none: two runs of a file do the same.
const SEED: u64 = 1;

fn read(document: &Node, wrong: &Wrong) -> Plan {
    let fields = Fields::new(document, "a plan", wrong);
    let targets: Vec<_> = fields.named("target").iter().map(|entry| target::read(entry, wrong)).collect();
    let names: Vec<_> = targets.iter().map(|target| target.name.clone()).collect();
    let phases = fields.each("phase").into_iter().enumerate();
    let phases =
        phases.map(|(index, node)| phase::read(node, index + 1, (&targets, &names), wrong)).collect();
    let mut plan = Plan {
        name: "plan".into(),
        seed: SEED,
        targets,
        aging: fields.each("age").into_iter().map(|node| age::read(node, wrong)).collect(),
        phases,
        sweep: fields.each("sweep").into_iter().flat_map(|node| sweep::read(node, wrong)).collect(),
        demands: fields.or("fail_if", demands, Vec::new()),
        device: fields.node("device").and_then(|node| device::of_plan(node, wrong)),
        ..Plan::default()
    };
    fields.fill(&mut plan);
    no_destroy(&fields);
    if plan.phases.is_empty() {
        let hint = "write [[phase]] and [[phase.job]] with on = \"TARGET\" and do = \"read\"";
        wrong.error(&document.origin, "the plan has no phase", hint);
    }
    fields.unknown();
    references(&plan, document, wrong);
    unstamped_layouts(&plan, wrong);
    not_too_many(&plan, document, wrong);
    plan
}

/// A file that anybody may hand around must not be able to give up a device.
fn no_destroy(fields: &Fields<'_>) {
    if let Some(entry) = fields.entry("destroy") {
        let hint = "say it where you run it: iodyno run FILE --destroy DEVICE";
        fields.wrong().error(&entry.origin, "`destroy`: a plan file cannot give up a device", hint);
    }
}

/// How often; fewer passes than the least tell neither an interval nor whether it is steady.
fn repeat(node: &Node) -> Read<Repeat> {
    let mut repeat = Repeat::blank();
    inline::table(node, &mut repeat, &["until_steady"])?;
    repeat.until_steady = inline::may(node, "until_steady", rounds, None)?;
    let least = if repeat.until_interval_percent > 0.0 { 3 } else { 1 };
    let least = repeat.until_steady.map_or(least, |rounds| rounds.window.max(least));
    repeat.times = repeat.times.max(least);
    Ok(repeat)
}

/// `true` for SNIA's rounds, `false`, or a table.
fn rounds(node: &Node) -> Read<Option<Rounds>> {
    match node.word() {
        Some(_) => Ok(value::flag(node)?.then(Rounds::default)),
        None => inline::record(node).map(Some),
    }
}

/// Conditions under which the run fails: a text, or several.
fn demands(node: &Node) -> Read<Vec<Demand>> {
    let demand = |node: &Node| Ok(Demand { text: text(node)?, origin: node.origin.clone() });
    match &node.value {
        Value::List(items) => items.iter().map(demand).collect(),
        _ => Ok(vec![demand(node)?]),
    }
}

/// More phases than this are a slip of the pen, and would fill the memory.
const MOST_PHASES: usize = 100_000;

fn not_too_many(plan: &Plan, document: &Node, wrong: &Wrong) {
    let points = plan.sweep.iter().map(|sweep| sweep.values.len());
    let points = points.fold(plan.phases.len(), usize::saturating_mul);
    let all = points.saturating_mul(plan.repeat.times as usize);
    if all > MOST_PHASES {
        let origin = plan.sweep.last().map_or(&document.origin, |sweep| &sweep.origin);
        let message = format!("sweeps and repetitions make {all} phases, more than {MOST_PHASES}");
        wrong.error(origin, message, "sweep over fewer values, or repeat less often");
    }
}

/// What is laid out has no stamps: reads that are checked would find none, unless a job writes them before or beside.
fn unstamped_layouts(plan: &Plan, wrong: &Wrong) {
    let mut written: Vec<usize> = Vec::new();
    for phase in &plan.phases {
        let writers = phase.jobs.iter().filter(|job| may_write(job));
        written.extend(writers.flat_map(|job| job.targets.iter().copied()));
        for job in &phase.jobs {
            let Some(verify) = &job.payload.verify else { continue };
            let checks = verify.when == VerifyWhen::OnRead && verify.stamp != Stamp::Nothing;
            let laid_out = |target: &&usize| {
                let target = plan.targets.get(**target);
                target.is_some_and(|target| target.prepare == Prepare::Filled)
            };
            let unstamped = job.targets.iter().filter(laid_out).find(|target| !written.contains(target));
            if let Some(target) = unstamped.filter(|_| checks) {
                let message = format!(
                    "job {}: what lies in target {} before the start line has no stamps, so that its reads cannot be checked",
                    job.name, plan.targets[*target].name
                );
                let hint = "leave `prepare` out, and write it by a phase before with the same `verify`";
                wrong.error(&job.origin, message, hint);
            }
        }
    }
}

/// Whether a job puts data of its own somewhere.
fn may_write(job: &Job) -> bool {
    let Workload::Pattern(pattern) = &job.workload else { return true };
    let writes = |verb: Verb| verb.kind() == Kind::Write || verb == Verb::Create;
    pattern.mix.shares.iter().any(|share| writes(share.verb))
}

/// Names of jobs, phases and shared objects that are referred to must exist.
fn references(plan: &Plan, document: &Node, wrong: &Wrong) {
    for (index, phase) in plan.phases.iter().enumerate() {
        let earlier: Vec<_> = plan.phases[..index].iter().map(|phase| phase.name.as_str()).collect();
        let jobs: Vec<_> = phase.jobs.iter().map(|job| job.name.as_str()).collect();
        let shared: Vec<_> = phase.shared.iter().map(|shared| shared.name.as_str()).collect();
        for job in &phase.jobs {
            let check = |what: &str, name: Option<&str>, origin: &Origin, known: &[&str]| {
                if let Some(name) = name.filter(|name| !known.contains(name)) {
                    unknown(wrong, document.place_of(name, origin), what, name, known);
                }
            };
            check("job", job.start.after_job.as_deref(), &job.origin, &jobs);
            check("earlier phase", job.limit.as_phase.as_deref(), &job.origin, &earlier);
            for (origin, name) in shared_names(job) {
                check("shared object of this phase", Some(&name), &origin, &shared);
            }
        }
        duplicates(phase, wrong);
    }
}

fn unknown(wrong: &Wrong, origin: &Origin, what: &str, name: &str, known: &[&str]) {
    let hint = match known {
        [] => format!("there is no {what} at all"),
        known => suggestion(name, known),
    };
    wrong.error(origin, format!("`{name}`: there is no {what} of that name"), hint);
}

fn shared_names(job: &Job) -> Vec<(Origin, String)> {
    let mut names: Vec<_> =
        job.pace.shared.iter().map(|used| (job.origin.clone(), used.name.clone())).collect();
    if let Workload::Script(script) = &job.workload {
        script.steps.iter().for_each(|step| in_step(step, &mut names));
    }
    names
}

fn in_step(step: &Step, names: &mut Vec<(Origin, String)>) {
    match &step.action {
        Action::Do(operation) => {
            names.extend(operation.shared.iter().map(|used| (step.origin.clone(), used.name.clone())));
        }
        Action::Block(steps) => steps.iter().for_each(|step| in_step(step, names)),
        Action::Call(_) => {}
    }
}

/// Reports tell jobs of a phase apart by name.
fn duplicates(phase: &Phase, wrong: &Wrong) {
    for (index, job) in phase.jobs.iter().enumerate() {
        if phase.jobs[..index].iter().any(|earlier| earlier.name == job.name) {
            let message = format!("`{}`: another job of this phase has the same name", job.name);
            wrong.error(&job.origin, message, "give each job of a phase a name of its own");
        }
    }
}
