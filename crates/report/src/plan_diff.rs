//! How two runs differ before any figure is looked at: in what was asked, and in what they ran on.
//!
//! What was asked is the plan's: size, mix, pattern, span, depth, workers, engine, and whatever else of a job differs.
//! What they ran on is the disclosure. It refuses to say which difference matters; it says which were not declared.

use std::collections::BTreeMap;

use iodyno_model::{
    EngineTrait, Job, JobRecord, Machine, PhaseRecord, Plan, Record, RunStart, TargetFacts, units,
};
use serde_json::Value;

use crate::shape::{Context, Shape};

/// One difference between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// What differs: `depth`, `kernel`, `scheduler of data`.
    pub what: String,
    /// The one and the other.
    pub values: (String, String),
    /// How much it matters.
    pub weight: Weight,
}

/// How much a difference matters to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Something else was done.
    Asked,
    /// It was done somewhere else, or by something else.
    Place,
    /// It differs from run to run.
    Passing,
}

/// A run: its beginning and its end.
pub type Run<'a> = (&'a RunStart, &'a Record);

/// Everything in which two runs differ, what was asked first; each thing once, however many jobs it concerns.
pub fn contrasts(before: Run<'_>, after: Run<'_>) -> Vec<Contrast> {
    let mut found = asked(before, after);
    found.extend(differing("origin of the figures", origin(before), origin(after), Weight::Asked));
    found.extend(machines(&before.0.machine, &after.0.machine));
    let world = |run: Run<'_>| (run.0.world.ranks().to_string(), run.0.world.machines().to_string());
    let (first, other) = (world(before), world(after));
    found.extend(differing("ranks", first.0, other.0, Weight::Asked));
    found.extend(differing("machines", first.1, other.1, Weight::Asked));
    for facts in &before.0.targets {
        let same = after.0.targets.iter().find(|other| other.target == facts.target);
        found.extend(same.into_iter().flat_map(|other| targets(facts, other)));
    }
    found.sort_by_key(|contrast| contrast.weight);
    found
}

/// Whether figures were measured or simulated.
fn origin((started, record): Run<'_>) -> String {
    let mut jobs = record.phases.iter().flat_map(|phase| &phase.jobs);
    match &started.plan.device {
        Some(device) => format!("simulated on {}", device.name),
        None if jobs.any(|job| job.engine_is(EngineTrait::HasVirtualTime)) => "simulated".into(),
        None => "measured".into(),
    }
}

/// Whether a word that a user said (`kernel`, `depth`) declares a difference.
pub fn is_declared(contrast: &Contrast, words: &[String]) -> bool {
    words.iter().any(|word| word == "all" || contrast.what.to_lowercase().contains(&word.to_lowercase()))
}

/// Whether a word that a user said names anything that these runs have, or that any run may differ in.
pub fn is_known(word: &str, before: Run<'_>, after: Run<'_>) -> bool {
    let word = word.to_lowercase();
    let mut names: Vec<String> = KNOWN.iter().map(ToString::to_string).collect();
    for (started, record) in [before, after] {
        names.extend(started.machine.facts.iter().map(|(name, _)| name.clone()));
        names.extend(started.targets.iter().map(|facts| facts.target.clone()));
        let facts = record.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.engine_facts);
        names.extend(facts.map(|(name, _)| name.clone()));
        fields(&serde_json::to_value(&started.plan.phases).map_or(Value::Null, unplaced), &mut names);
    }
    names.extend(contrasts(before, after).into_iter().map(|contrast| contrast.what));
    word == "all" || names.iter().any(|name| name.to_lowercase().contains(&word))
}

/// What any run may differ in, besides the fields of its plan.
pub const KNOWN: &[&str] = &[
    "origin of the figures",
    "I/O size",
    "mix",
    "pattern",
    "span",
    "depth",
    "workers",
    "engine",
    "page cache",
    "ranks",
    "machines",
    "host",
    "kernel",
    "processor",
    "memory",
    "version",
    "clock",
    "file system",
    "mount options",
    "model",
    "rotational",
    "scheduler",
    "write cache",
    "logical block",
    "physical block",
    "size",
    "read-ahead",
    "queue",
    "device",
    "mount point",
    "target",
    "settings",
];

/// The names of a value's fields, in words.
fn fields(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(name, value)| {
            names.push(name.replace('_', " "));
            fields(value, names);
        }),
        Value::Array(all) => all.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

fn differing(what: &str, before: String, after: String, weight: Weight) -> Option<Contrast> {
    let known = !before.is_empty() && !after.is_empty();
    (known && before != after).then(|| Contrast { what: what.into(), values: (before, after), weight })
}

/// The differences of jobs of one name; what all of them differ in is said once.
fn asked(before: Run<'_>, after: Run<'_>) -> Vec<Contrast> {
    let context = |run: Run<'_>| Context { started: Some(Box::new(run.0.clone())) };
    let (first, other) = (context(before), context(after));
    let mut found: BTreeMap<(String, String, String, Weight), Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    let mut count = 0;
    for (phase, job) in jobs(before.1) {
        let same = jobs(after.1).find(|(place, one)| is_same(phase, place) && one.name == job.name);
        let Some((place, one)) = same else { continue };
        count += 1;
        let sides = (
            ComparedJob { context: &first, phase, job },
            ComparedJob { context: &other, phase: place, job: one },
        );
        for contrast in of_job(&sides.0, &sides.1) {
            let key = (contrast.what, contrast.values.0, contrast.values.1, contrast.weight);
            if !found.contains_key(&key) {
                order.push(key.clone());
            }
            found.entry(key).or_default().push(format!("{}.{}", phase.name, job.name));
        }
    }
    let told = order.into_iter().map(|key| {
        let places = &found[&key];
        let (what, before, after, weight) = key;
        let what = match places.len() {
            all if all == count => what,
            1 => format!("{what} of {}", places[0]),
            more => format!("{what} of {} and {} more", places[0], more - 1),
        };
        Contrast { what, values: (before, after), weight }
    });
    told.collect()
}

/// Each job of a record, of repetitions the first.
fn jobs(record: &Record) -> impl Iterator<Item = (&PhaseRecord, &JobRecord)> {
    let phases = record.phases.iter().filter(|phase| phase.repetition == 0);
    phases.flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
}

fn is_same(a: &PhaseRecord, b: &PhaseRecord) -> bool {
    a.name == b.name && a.coordinates == b.coordinates
}

/// A job of one of the runs.
struct ComparedJob<'a> {
    context: &'a Context,
    phase: &'a PhaseRecord,
    job: &'a JobRecord,
}

impl ComparedJob<'_> {
    fn shape(&self) -> Shape {
        self.context.shape(self.phase, self.job)
    }

    fn planned(&self) -> Option<(&Plan, &Job)> {
        Some((&self.context.started.as_ref()?.plan, self.context.job(self.phase, self.job)?))
    }
}

fn of_job(before: &ComparedJob<'_>, after: &ComparedJob<'_>) -> Vec<Contrast> {
    let (a, b) = (before.shape(), after.shape());
    let direct = |direct: Option<bool>| match direct {
        Some(true) => "direct".to_string(),
        Some(false) => "through the page cache".into(),
        None => String::new(),
    };
    let pairs = [
        ("I/O size", a.io, b.io),
        ("mix", a.mix, b.mix),
        ("pattern", a.pattern, b.pattern),
        ("span", a.span, b.span),
        ("depth", a.depth.to_string(), b.depth.to_string()),
        ("workers", a.workers.to_string(), b.workers.to_string()),
        ("engine", a.engine, b.engine),
        ("page cache", direct(a.direct), direct(b.direct)),
    ];
    let mut found: Vec<Contrast> = pairs
        .into_iter()
        .filter_map(|(what, before, after)| differing(what, before, after, Weight::Asked))
        .collect();
    match (before.planned(), after.planned()) {
        (Some(first), Some(other)) => found.extend(planned(first, other, found.is_empty())),
        (None, None) => found.extend(facts(&before.job.engine_facts, &after.job.engine_facts, Weight::Asked)),
        _ => found.push(Contrast {
            what: "what was asked".into(),
            values: known(before.planned().is_some()),
            weight: Weight::Passing,
        }),
    }
    found
}

fn known(first: bool) -> (String, String) {
    let (known, not) = ("a plan".to_string(), "not known: another tool's".to_string());
    if first { (known, not) } else { (not, known) }
}

/// Fields of a job that are told above, or do not change what is done.
const TOLD: &[&str] =
    &["name", "seed", "origin", "targets", "engine", "depth", "workers", "group", "set", "measure"];
/// Fields that say how long, not what.
const LENGTH: &[&str] = &["limit"];
/// Fields of the workload that its shape does not tell apart where it is the same.
const SHAPED: &[&str] = &["workload"];

/// What else differs in what was planned, field by field.
fn planned(before: (&Plan, &Job), after: (&Plan, &Job), same_shape: bool) -> Vec<Contrast> {
    let fields = |job: &Job| match serde_json::to_value(job).map(unplaced) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (first, other) = (fields(before.1), fields(after.1));
    let mut found = Vec::new();
    let names: Vec<&String> =
        first.keys().chain(other.keys().filter(|name| !first.contains_key(*name))).collect();
    for name in names {
        let skipped = TOLD.contains(&name.as_str()) || (SHAPED.contains(&name.as_str()) && !same_shape);
        if !skipped {
            let weight = if LENGTH.contains(&name.as_str()) { Weight::Passing } else { Weight::Asked };
            leaves(name, first.get(name), other.get(name), weight, &mut found);
        }
    }
    let kind = |(plan, job): (&Plan, &Job)| {
        let targets = job.targets.iter().filter_map(|index| plan.targets.get(*index));
        targets.map(|target| serde_json::to_value(&target.kind).unwrap_or_default()).collect::<Vec<_>>()
    };
    for (first, other) in kind(before).iter().zip(&kind(after)) {
        leaves("target", Some(first), Some(other), Weight::Passing, &mut found);
    }
    found
}

/// A value without the places where its parts were written; settings by their names.
fn unplaced(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.remove("origin");
            fields.into_iter().map(|(name, value)| (name, unplaced(value))).collect()
        }
        Value::Array(values) => {
            let values: Vec<Value> = values.into_iter().map(unplaced).collect();
            let named = |value: &Value| match value.as_object() {
                Some(fields) if fields.len() == 2 => {
                    Some((fields.get("name")?.as_str()?.to_string(), fields.get("value")?.clone()))
                }
                _ => None,
            };
            let all: Option<serde_json::Map<String, Value>> = values.iter().map(named).collect();
            all.filter(|all| !all.is_empty()).map_or(Value::Array(values), Value::Object)
        }
        value => value,
    }
}

/// The innermost fields that differ; one that is missing has its default.
fn leaves(
    what: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    weight: Weight,
    found: &mut Vec<Contrast>,
) {
    if before == after {
        return;
    }
    if let (Some(Value::Object(first)), Some(Value::Object(other))) = (before, after) {
        let names = first.keys().chain(other.keys().filter(|name| !first.contains_key(*name)));
        for name in names.filter(|name| *name != "seed") {
            leaves(
                &format!("{what} {}", name.replace('_', " ")),
                first.get(name),
                other.get(name),
                weight,
                found,
            );
        }
        return;
    }
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    found.push(Contrast { what: what.into(), values: (text(before), text(after)), weight });
}

/// Words of facts that are never the same twice.
const PASSING: &[&str] =
    &["load", "free", "used", "uptime", "fill", "available", "mhz", "temperature", "dirty", "cached", "age"];

fn facts(before: &[(String, String)], after: &[(String, String)], weight: Weight) -> Vec<Contrast> {
    let value = |facts: &[(String, String)], name: &str| {
        facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let both = before.iter().filter_map(|(name, first)| {
        let words: Vec<&str> = name.split([' ', '_', '-']).collect();
        let passes = words.iter().any(|word| PASSING.contains(&word.to_lowercase().as_str()));
        let other = value(after, name)?;
        let weight = if passes || is_nearly_as_full(first, &other) { Weight::Passing } else { weight };
        differing(name, first.clone(), other, weight)
    });
    both.collect()
}

/// Percent of a file system that come and go without making another one of it.
const FULL_POINTS: u64 = 5;

/// Whether two facts about a file system (`ext4, 77 % full, made …`) differ in nothing but how full it is, and in that by
/// little: every run leaves something, and so does everybody else.
fn is_nearly_as_full(before: &str, after: &str) -> bool {
    let parted = |fact: &str| {
        let (full, others): (Vec<String>, Vec<String>) =
            fact.split(", ").map(String::from).partition(|part| part.ends_with(" % full"));
        let percent: u64 = full.first()?.trim_end_matches(" % full").parse().ok()?;
        Some((percent, others))
    };
    match (parted(before), parted(after)) {
        (Some((a, first)), Some((b, other))) => first == other && a.abs_diff(b) <= FULL_POINTS,
        _ => false,
    }
}

/// Memory as far as it matters: what the kernel keeps for itself changes with every boot.
fn memory(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { units::binary(bytes >> 26 << 26) }
}

fn machines(before: &Machine, after: &Machine) -> Vec<Contrast> {
    let cpus = |machine: &Machine| match machine.cpus {
        0 => String::new(),
        cpus => cpus.to_string(),
    };
    let pairs = [
        ("host", before.host.clone(), after.host.clone()),
        ("kernel", before.kernel.clone(), after.kernel.clone()),
        ("processor", before.processor.clone(), after.processor.clone()),
        ("processors", cpus(before), cpus(after)),
        ("memory", memory(before.memory_bytes), memory(after.memory_bytes)),
        ("version", before.version.clone(), after.version.clone()),
        ("clock", before.clock.clone(), after.clock.clone()),
    ];
    let mut found: Vec<Contrast> = pairs
        .into_iter()
        .filter_map(|(what, before, after)| differing(what, before, after, Weight::Place))
        .collect();
    found.extend(facts(&before.facts, &after.facts, Weight::Place));
    found
}

fn targets(before: &TargetFacts, after: &TargetFacts) -> Vec<Contrast> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let bytes = |value: Option<u64>| value.map(units::binary).unwrap_or_default();
    let flag = |value: Option<bool>| value.map(|value| value.to_string()).unwrap_or_default();
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let (place, passing) = (Weight::Place, Weight::Passing);
    let (a, b) = (before, after);
    let pairs = [
        ("file system", text(&a.file_system), text(&b.file_system), place),
        ("mount options", text(&a.mount_options), text(&b.mount_options), place),
        ("model", text(&a.model), text(&b.model), place),
        ("rotational", flag(a.rotational), flag(b.rotational), place),
        ("scheduler", text(&a.scheduler), text(&b.scheduler), place),
        ("write cache", text(&a.write_cache), text(&b.write_cache), place),
        ("logical block", bytes(a.logical_block_bytes), bytes(b.logical_block_bytes), place),
        ("physical block", bytes(a.physical_block_bytes), bytes(b.physical_block_bytes), place),
        ("size", bytes(a.size_bytes), bytes(b.size_bytes), place),
        ("read-ahead", bytes(a.read_ahead_bytes), bytes(b.read_ahead_bytes), place),
        ("queue", number(a.queue_requests), number(b.queue_requests), place),
        ("device", text(&a.device), text(&b.device), passing),
        ("mount point", text(&a.mount_point), text(&b.mount_point), passing),
    ];
    let named = |(what, before, after, weight): (&str, String, String, Weight)| {
        differing(&format!("{what} of {}", a.target), before, after, weight)
    };
    pairs.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Limit, Pattern, Phase, Pick, Rate, Verb, Workload};

    fn run(change: impl Fn(&mut Job, &mut RunStart)) -> (RunStart, Record) {
        let mut started = RunStart::default();
        let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
        let mut job = Job::new("j", "psync", Vec::new(), Workload::Pattern(Box::new(pattern)));
        started.machine.kernel = "Linux 6.1".into();
        started.machine.facts =
            vec![("governor".into(), "performance".into()), ("load".into(), "0.1".into())];
        started.targets =
            vec![TargetFacts { target: "t".into(), scheduler: Some("none".into()), ..Default::default() }];
        change(&mut job, &mut started);
        let record = JobRecord {
            name: "j".into(),
            engine: job.engine.clone(),
            depth: job.depth.most,
            ..Default::default()
        };
        started.plan.phases = vec![Phase { name: "p".into(), jobs: vec![job], ..Phase::default() }];
        let phase = PhaseRecord { name: "p".into(), jobs: vec![record], ..PhaseRecord::default() };
        (started, Record { phases: vec![phase], ..Record::default() })
    }

    fn told(change: impl Fn(&mut Job, &mut RunStart)) -> Vec<(String, Weight)> {
        let (first, other) = (run(|_, _| {}), run(change));
        let found = contrasts((&first.0, &first.1), (&other.0, &other.1));
        found.into_iter().map(|contrast| (contrast.what, contrast.weight)).collect()
    }

    #[test]
    fn the_same_has_no_contrast_and_seeds_are_none() {
        assert_eq!(told(|_, _| {}), []);
        assert_eq!(told(|job, _| job.seed = Some(7)), []);
        let setting = |job: &mut Job, line| {
            let origin = iodyno_model::Origin::file("f", line);
            job.settings.push(iodyno_model::Setting { name: "a".into(), value: "b".into(), origin });
        };
        let (first, other) = (run(|job, _| setting(job, 1)), run(|job, _| setting(job, 2)));
        assert_eq!(contrasts((&first.0, &first.1), (&other.0, &other.1)), []);
    }

    #[test]
    fn what_was_asked_comes_first_in_words() {
        let found = told(|job, started| {
            job.depth.most = 8;
            job.pace.rate.read = Rate::Operations(100.0);
            job.limit = Limit { time_ns: Some(1), ..Limit::default() };
            started.machine.kernel = "Linux 6.5".into();
            started.machine.facts[1].1 = "0.9".into();
            started.targets[0].scheduler = Some("bfq".into());
        });
        let weight =
            |name: &str| found.iter().find(|(what, _)| what.contains(name)).map(|(_, weight)| *weight);
        assert_eq!(found[0], ("depth".into(), Weight::Asked), "{found:?}");
        assert_eq!(weight("pace"), Some(Weight::Asked), "{found:?}");
        assert_eq!((weight("kernel"), weight("scheduler of t")), (Some(Weight::Place), Some(Weight::Place)));
        assert_eq!((weight("limit"), weight("load")), (Some(Weight::Passing), Some(Weight::Passing)));
    }

    #[test]
    fn a_few_percent_more_on_a_file_system_are_no_other_one() {
        let full = |percent: &str| {
            let fact = ("file system /mnt".to_string(), format!("ext4, {percent} % full, made 2026-11-01"));
            run(|_, started| started.machine.facts.push(fact.clone()))
        };
        let weight = |before: &str, after: &str| {
            let (first, other) = (full(before), full(after));
            contrasts((&first.0, &first.1), (&other.0, &other.1))[0].weight
        };
        assert_eq!(weight("77", "78"), Weight::Passing);
        assert_eq!(weight("40", "78"), Weight::Place);
        assert!(!is_nearly_as_full("ext4, 77 % full", "xfs, 77 % full"));
    }

    #[test]
    fn a_word_that_names_nothing_is_not_known() {
        let (first, other) = (run(|_, _| {}), run(|job, _| job.depth.most = 8));
        let known = |word: &str| is_known(word, (&first.0, &first.1), (&other.0, &other.1));
        for word in ["depth", "Kernel", "all", "governor", "submit batch", "settings"] {
            assert!(known(word), "{word}");
        }
        assert!(!known("nonsense"));
    }

    #[test]
    fn a_difference_can_be_declared() {
        let contrast =
            Contrast { what: "scheduler of t".into(), values: Default::default(), weight: Weight::Place };
        assert!(is_declared(&contrast, &["Scheduler".into()]) && is_declared(&contrast, &["all".into()]));
        assert!(!is_declared(&contrast, &["kernel".into()]));
    }
}
