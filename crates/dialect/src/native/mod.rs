//! The native plan file: TOML with the model's own nouns as keys, and the commands `plan` and `run`.
//!
//! A file says what is done; who may destroy what is said on the command line only. Everything that is wrong is said
//! at once, each with its line. Engine names and settings are passed on as they stand: the engine room checks them.

mod age;
mod command;
mod export;
pub(crate) mod fields;
mod job;
mod keep;
mod measure;
mod pace;
mod pattern;
mod payload;
mod phase;
mod run_arguments;
mod script;
mod sweep;
mod target;
pub(crate) mod tree;
pub(crate) mod value;

use iodyno_model::{
    Action, Demand, Diagnostic, Intent, Job, Origin, Phase, Plan, Repeat, Rounds, Step, Workload,
};

pub(crate) use command::WorldArguments;
pub use command::{ReporterMaker, on_hosts, parsed, plan, refusal, request, run};
pub use export::ExportArguments;
pub use keep::KeepArguments;
pub use run_arguments::{Manner, WatchArguments};

pub use fields::suggestion;
use fields::{Fields, Wrong};
use tree::{Node, Value};
use value::{Read, choice, percent, small_count, text, whole};

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

const INTENTS: &[(&str, Intent)] = &[
    ("device", Intent::Device),
    ("whole device", Intent::WholeDevice),
    ("cache", Intent::Cache),
    ("network", Intent::Network),
    ("correctness", Intent::Correctness),
    ("nothing", Intent::Nothing),
];

fn read(document: &Node, wrong: &Wrong) -> Plan {
    let fields = Fields::new(document, "a plan", wrong);
    let targets: Vec<_> = fields.named("target").iter().map(|entry| target::read(entry, wrong)).collect();
    let names: Vec<_> = targets.iter().map(|target| target.name.clone()).collect();
    let phases = fields.each("phase").into_iter().enumerate();
    let plan = Plan {
        name: fields.or("name", text, "plan".into()),
        seed: fields.or("seed", whole, SEED),
        intent: fields.or("intent", choice(INTENTS), Intent::Device),
        targets,
        aging: fields.each("age").into_iter().map(|node| age::read(node, wrong)).collect(),
        phases: phases.map(|(index, node)| phase::read(node, index + 1, &names, wrong)).collect(),
        repeat: fields.or("repeat", repeat, Repeat::default()),
        sweep: fields.each("sweep").into_iter().flat_map(|node| sweep::read(node, wrong)).collect(),
        destroy: Vec::new(),
        mounted_allowed: Vec::new(),
        signatures_allowed: false,
        demands: fields.or("fail_if", demands, Vec::new()),
        ceiling_bits: fields.or("ceiling", |node| value::bits(node).map(Some), None),
    };
    no_destroy(&fields);
    if plan.phases.is_empty() {
        let hint = "write [[phase]] and [[phase.job]] with on = \"TARGET\" and do = \"read\"";
        wrong.error(&document.origin, "the plan has no phase", hint);
    }
    fields.unknown();
    references(&plan, document, wrong);
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

/// `3`, or a table.
fn repeat(node: &Node) -> Read<Repeat> {
    if node.word().is_some() {
        return Ok(Repeat { times: small_count(node)?, ..Repeat::default() });
    }
    pattern::known(node, &["times", "until_interval", "confidence", "until_steady", "most"])?;
    let until_interval_percent = pattern::may(node, "until_interval", percent, 0.0)?;
    let until_steady = pattern::may(node, "until_steady", |node| rounds(node).map(Some), None)?.flatten();
    // Fewer tell neither an interval nor whether it is steady.
    let least = if until_interval_percent > 0.0 { 3 } else { 1 };
    let least = until_steady.map_or(least, |rounds| rounds.window.max(least));
    Ok(Repeat {
        times: pattern::may(node, "times", small_count, 1)?.max(least),
        until_interval_percent,
        most: pattern::may(node, "most", small_count, 0)?,
        confidence_percent: pattern::may(node, "confidence", percent, 0.0)?,
        until_steady,
    })
}

/// `true` for SNIA's rounds, `false`, or a table.
fn rounds(node: &Node) -> Read<Option<Rounds>> {
    let usual = Rounds::default();
    if node.word().is_some() {
        return Ok(value::flag(node)?.then_some(usual));
    }
    pattern::known(node, &["window", "range", "slope"])?;
    Ok(Some(Rounds {
        window: pattern::may(node, "window", small_count, usual.window)?,
        range_percent: pattern::may(node, "range", percent, usual.range_percent)?,
        slope_percent: pattern::may(node, "slope", percent, usual.slope_percent)?,
    }))
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
