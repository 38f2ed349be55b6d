//! `engine=`, `depth=`, `rate=` and `sweep=` of `--also`: the workload of any storage dialect on another engine, at another depth, or
//! over a list of values.
//!
//! The plan is changed after the dialect has lowered it, so that no dialect needs code for it. Parts of a run that cannot
//! take the change keep what they have, and are named; where nothing can take it, it is refused.

use std::io;

use iodyno_dialect::engine_choice::ASYNCHRONOUS;
use iodyno_engine::registry as engines;
use iodyno_model::sweep::Value;
use iodyno_model::{
    Coordinate, Diagnostic, Event, Intent, Job, Origin, Parameter, PerDirection, Plan, Rate, Record, Sweep,
    TargetKind, Trace, Workload, sweep, units,
};
use iodyno_report::native::Native;
use iodyno_report::{Output, Reporter};

/// The engine for a depth that the dialect's own engine cannot keep.
const DEEP_ENGINE: &str = ASYNCHRONOUS[0];
/// More operations in flight than any engine keeps.
const MOST_DEPTH: u64 = 65_536;
/// What can be swept, with the form of its values.
const SWEPT: &[(Parameter, &str)] = &[
    (Parameter::Depth, "depth:1:8:32"),
    (Parameter::Engine, "engine:psync:io_uring"),
    (Parameter::BlockBytes, "block:4k:64k:1m"),
    (Parameter::Workers, "workers:1:2:4"),
    (Parameter::Cached, "cached:yes:no"),
    (Parameter::SpanBytes, "span:16m:1g"),
];

/// What is put in place of a plan's own engine, depth and parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Substitution {
    engine: Option<String>,
    depth: Option<u32>,
    /// Operations each second of each worker.
    rate: Option<f64>,
    sweeps: Vec<Sweep>,
}

impl Substitution {
    /// Takes a word of `--also`; whether it is one of these.
    ///
    /// # Errors
    /// What is wrong with its value.
    pub fn word(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "engine" => match engines::facts(value) {
                Some(_) => self.engine = Some(value.into()),
                None => return Err(no_engine(value)),
            },
            "depth" => self.depth = Some(depth(value)? as u32),
            "rate" => self.rate = Some(rate(value)?),
            "sweep" => self.sweeps.push(parse_sweep(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What dialects can ask for before they lower: the engine and the greatest depth.
    pub fn words(&self) -> Vec<(String, String)> {
        let engine = self.engine.clone().map(|engine| ("engine".into(), engine));
        let depth = self.greatest_depth().map(|depth| ("depth".into(), depth.to_string()));
        engine.into_iter().chain(depth).collect()
    }

    /// Whether the report is a table over values, in place of the tool's own.
    pub fn sweeps(&self) -> bool {
        !self.sweeps.is_empty()
    }

    /// Whether engines are named.
    pub fn has_engine(&self) -> bool {
        self.engine.is_some() || self.sweeps.iter().any(|sweep| sweep.parameter == Parameter::Engine)
    }

    fn greatest_depth(&self) -> Option<u32> {
        let swept = self.sweeps.iter().filter(|sweep| sweep.parameter == Parameter::Depth);
        let values = swept.flat_map(|sweep| &sweep.values).filter_map(|value| match value {
            Value::Number(depth) => Some(*depth as u32),
            _ => None,
        });
        values.chain(self.depth).max()
    }

    /// Changes a plan; what is to be said of it.
    ///
    /// # Errors
    /// Why the plan cannot be changed so.
    pub fn apply(&self, plan: &mut Plan) -> Result<Vec<Diagnostic>, Diagnostic> {
        let mut notes = Vec::new();
        let batches = Batches::of(plan);
        if let Some(engine) = &self.engine {
            check_taken(plan, Parameter::Engine, &format!("engine={engine}"), &mut notes)?;
            change(plan, Parameter::Engine, |job| job.engine.clone_from(engine));
        }
        if let Some(depth) = self.depth {
            check_taken(plan, Parameter::Depth, &format!("depth={depth}"), &mut notes)?;
            change(plan, Parameter::Depth, |job| job.depth.most = depth);
        }
        if let Some(rate) = self.rate {
            check_taken(plan, Parameter::Rate, &format!("rate={rate}"), &mut notes)?;
            change(plan, Parameter::Rate, |job| {
                job.pace.rate_all = Rate::Operations(rate);
                job.pace.rate = PerDirection::default();
                // What comes late counts as late.
                job.pace.open_loop = true;
            });
        }
        if self.sweeps.iter().all(|sweep| sweep.parameter != Parameter::Engine) {
            self.keep_depth(plan)?;
        }
        for sweep in &self.sweeps {
            let word = format!("sweep={}", sweep.parameter.name());
            check_taken(plan, sweep.parameter, &word, &mut notes)?;
        }
        if self.sweeps() {
            let takes = |plan: &Plan, job: &Job, parameter| obstacle(plan, job, parameter).is_none();
            *plan = sweep::grid(plan, &self.sweeps, &takes).map_err(|mut wrong| wrong.swap_remove(0))?;
        }
        notes.extend(batches.given_up(plan));
        Ok(notes)
    }

    /// Gives jobs an engine that keeps their depth, unless one was named.
    fn keep_depth(&self, plan: &mut Plan) -> Result<(), Diagnostic> {
        let Some(depth) = self.greatest_depth().filter(|depth| *depth > 1) else { return Ok(()) };
        if let Some(facts) = self.engine.as_deref().and_then(engines::facts)
            && facts.most_depth < depth
        {
            let most = facts.most_depth;
            let message = format!("depth={depth}: engine {} has at most {most} in flight", facts.name);
            return Err(refusal(message).hint(format!("engine={DEEP_ENGINE}")));
        }
        change(plan, Parameter::Depth, |job| {
            if engines::facts(&job.engine).is_some_and(|facts| facts.most_depth < depth) {
                job.engine = DEEP_ENGINE.into();
                job.settings.clear();
            }
        });
        Ok(())
    }
}

/// The engines that jobs had before anything was put in their place, by name.
struct Batches(Vec<(String, String)>);

impl Batches {
    fn of(plan: &Plan) -> Batches {
        let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        Batches(jobs.map(|job| (job.name.clone(), job.engine.clone())).collect())
    }

    /// A limit to how many operations are taken back at once belongs to an engine that can keep it: where another one takes its
    /// place, it is given up and said. Where the engine is the job's own, the check refuses it.
    fn given_up(&self, plan: &mut Plan) -> Option<Diagnostic> {
        let mut given_up: Vec<String> = Vec::new();
        for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            let facts = engines::facts(&job.engine);
            let is_own = self.0.iter().any(|(name, engine)| (name, engine) == (&job.name, &job.engine));
            let keeps_none = facts.is_some_and(|facts| !facts.reaps_parts);
            if is_own || !keeps_none {
                continue;
            }
            let most = std::mem::take(&mut job.depth.reap_most);
            // One that waits for each operation never has two that are done together.
            let waits = facts.is_some_and(|facts| facts.most_depth == 1);
            let text = format!("{} (job {}: at most {most})", job.engine, job.name);
            if (1..job.depth.most).contains(&most) && !waits && !given_up.contains(&text) {
                given_up.push(text);
            }
        }
        let message = format!(
            "all operations that are done are taken back together, unlike by the tool's own engine: {}",
            given_up.join(", ")
        );
        (!given_up.is_empty()).then(|| Diagnostic::note(&Origin::argument("--also"), message))
    }
}

/// Changes every job that takes a parameter.
fn change(plan: &mut Plan, parameter: Parameter, change: impl Fn(&mut Job)) {
    let mut phases = std::mem::take(&mut plan.phases);
    for job in phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        if obstacle(plan, job, parameter).is_none() {
            change(job);
        }
    }
    plan.phases = phases;
}

/// Refuses what no job takes, and names the phases that keep what they have.
fn check_taken(
    plan: &Plan,
    parameter: Parameter,
    word: &str,
    notes: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let jobs = || plan.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
    let Some(why) = jobs().find_map(|(_, job)| obstacle(plan, job, parameter)) else {
        return match jobs().next() {
            Some(_) => Ok(()),
            None => Err(refusal(format!("{word}: {NO_FILES}")).hint("leave it out")),
        };
    };
    if jobs().all(|(_, job)| obstacle(plan, job, parameter).is_some()) {
        return Err(refusal(format!("{word}: {why}")).hint("leave it out"));
    }
    // Phases that remove files and the like are no result.
    let mut kept: Vec<&str> = jobs()
        .filter(|(phase, job)| {
            phase.intent != Some(Intent::Nothing) && obstacle(plan, job, parameter).is_some()
        })
        .map(|(phase, _)| phase.name.as_str())
        .collect();
    kept.dedup();
    if !kept.is_empty() {
        let message = format!("{word} does not hold for {}: {why}", kept.join(", "));
        notes.push(Diagnostic::note(&Origin::argument("--also"), message));
    }
    Ok(())
}

const NO_FILES: &str = "it issues no operations on files or devices";

/// Why a job cannot take a parameter; none: it can.
fn obstacle(plan: &Plan, job: &Job, parameter: Parameter) -> Option<&'static str> {
    let targets =
        || job.targets.iter().filter_map(|index| plan.targets.get(*index)).map(|target| &target.kind);
    let Some(facts) = engines::facts(&job.engine).filter(|facts| facts.is_stream() && !facts.connects) else {
        return Some(NO_FILES);
    };
    if targets().next().is_none() || targets().any(|kind| matches!(kind, TargetKind::Endpoint { .. })) {
        return Some(NO_FILES);
    }
    let has_no_files = targets().all(|kind| matches!(kind, TargetKind::Nothing { .. }));
    match (parameter, &job.workload) {
        (Parameter::Engine | Parameter::Cached, _) if has_no_files => Some(NO_FILES),
        (Parameter::Depth, _) if has_no_files && facts.most_depth == 1 => {
            Some("its engine waits for each operation")
        }
        (Parameter::Engine | Parameter::Workers | Parameter::Cached, _) => None,
        (Parameter::Depth, Workload::Trace(trace)) if !opens_items(trace) => None,
        (Parameter::Depth, Workload::Pattern(pattern)) if !pattern.chain => None,
        (Parameter::Depth, _) => Some("each of its operations waits for the one before"),
        (_, Workload::Pattern(_)) => None,
        _ => Some("its operations are a script with sizes and offsets of its own"),
    }
}

/// Whether a trace works on the item that it opened last.
fn opens_items(trace: &Trace) -> bool {
    trace.entries.iter().any(|entry| !entry.verb.moves_data())
}

fn depth(text: &str) -> Result<u64, String> {
    let depth = text.parse::<u64>().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("depth: `{text}` is no whole number from 1 to {MOST_DEPTH}"))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("rate: `{text}` is no number of operations each second above 0"))
}

fn no_engine(name: &str) -> String {
    let names: Vec<_> = engines::all_facts()
        .filter(|facts| facts.is_stream() && !facts.connects)
        .map(|facts| facts.name)
        .collect();
    format!("engine: there is no `{name}`, but {}", names.join(", "))
}

/// `KEY:VALUE:VALUE…`
fn parse_sweep(text: &str) -> Result<Sweep, String> {
    let (key, values) = text.split_once(':').unwrap_or((text, ""));
    let Some((parameter, _)) = SWEPT.iter().find(|(parameter, _)| parameter.name() == key) else {
        let forms: Vec<_> = SWEPT.iter().map(|(_, form)| *form).collect();
        return Err(format!("sweep: `{key}` cannot be swept; expected one of {}", forms.join(", ")));
    };
    let values: Vec<Value> = values
        .split(':')
        .filter(|value| !value.is_empty())
        .map(|value| parse_value(*parameter, value).map_err(|wrong| format!("sweep: {wrong}")))
        .collect::<Result<_, String>>()?;
    if values.is_empty() {
        return Err(format!("sweep: no values of {key}; expected e.g. {key}:1:2"));
    }
    Ok(Sweep { parameter: *parameter, values, origin: Origin::argument("--also") })
}

fn parse_value(parameter: Parameter, text: &str) -> Result<Value, String> {
    match (parameter, text) {
        (Parameter::Engine, name) if engines::facts(name).is_some() => Ok(Value::Word(name.into())),
        (Parameter::Engine, name) => Err(no_engine(name)),
        (Parameter::Cached, "yes" | "no") => Ok(Value::Flag(text == "yes")),
        (Parameter::Cached, _) => Err(format!("cached: `{text}` is neither yes nor no")),
        (Parameter::Depth, _) => depth(text).map(Value::Number),
        (Parameter::Workers, _) => match text.parse::<u64>() {
            Ok(workers @ 1..) => Ok(Value::Number(workers)),
            _ => Err(format!("workers: `{text}` is no whole number of at least 1")),
        },
        (parameter, _) => match units::parse_bytes(text) {
            Ok(bytes @ 1..) => Ok(Value::Number(bytes)),
            Ok(0) => Err(format!("{}: at least 1 byte", parameter.name())),
            Err(wrong) => Err(format!("{}: {wrong}", parameter.name())),
        },
    }
}

fn refusal(message: String) -> Diagnostic {
    Diagnostic::error(&Origin::argument("--also"), message)
}

/// The report of a sweep: the tables over its values and the findings, without a part for each phase.
pub struct SweepReport(pub Native);

impl Reporter for SweepReport {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::PhaseEnded(_) => Ok(()),
            Event::Ended(record) => {
                let mut record = record.clone();
                record.phases.retain(|phase| !phase.coordinates.is_empty());
                leave_out_constants(&mut record);
                self.0.event(&Event::Ended(record), output)
            }
            event => self.0.event(event, output),
        }
    }
}

/// Leaves out parameters with one value, which the tool set for each phase by itself (iozone: file and record sizes).
fn leave_out_constants(record: &mut Record) {
    let places: Vec<_> =
        record.phases.iter().map(|phase| (phase.name.clone(), phase.coordinates.clone())).collect();
    for phase in &mut record.phases {
        let varies = |place: &Coordinate| {
            let same = places.iter().filter(|(name, _)| *name == phase.name).flat_map(|(_, places)| places);
            same.into_iter().any(|other| other.parameter == place.parameter && other.value != place.value)
        };
        let kept: Vec<Coordinate> = phase.coordinates.iter().filter(|place| varies(place)).cloned().collect();
        if !kept.is_empty() {
            phase.coordinates = kept;
        }
    }
}
