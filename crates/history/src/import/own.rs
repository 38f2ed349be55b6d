//! Our own JSON, `iodyno.record/1`, taken in again: from another machine, or from before the history was lost.
//!
//! Everything that the format holds comes back but what it works out anew (rates, percentiles). Sightings of kinds that
//! are not known here are left out. It refuses another version of the format.

use iodyno_model::{
    AgingRecord, CacheShare, Coordinate, DemandRecord, Diagnostic, ErrorCount, Finding, Histogram, JobRecord,
    Line, Machine, PhaseRecord, Plan, Record, RoundsRecord, Sample, Series, Sighting, Started, Tally,
    TargetFacts, Verb, WearOut, WorkerRecord, WorldFacts, histogram,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::Imported;
use crate::entry::Opening;

/// The version of the format that is read. Source: `docs/json.md`.
const SCHEMA: &str = "iodyno.record/1";

#[derive(Deserialize)]
struct Document {
    name: String,
    seed: u64,
    stopped_by: Option<i32>,
    started_at_unix_ns: Option<u64>,
    machine: Machine,
    world: WorldFacts,
    #[serde(default)]
    targets: Vec<TargetFacts>,
    plan: Option<Plan>,
    phases: Vec<Phase>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    aging: Vec<AgingRecord>,
    #[serde(default)]
    demands: Vec<DemandRecord>,
    rounds: Option<RoundsRecord>,
    #[serde(default)]
    errors: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Phase {
    name: String,
    index: usize,
    repetition: u32,
    #[serde(default)]
    coordinates: Vec<Coordinate>,
    elapsed_ns: u64,
    jobs: Vec<Job>,
    #[serde(default)]
    sightings: Vec<Value>,
    #[serde(default)]
    samples: Vec<Sample>,
    cache: Option<CacheShare>,
}

#[derive(Deserialize)]
struct Job {
    name: String,
    engine: String,
    #[serde(default)]
    engine_facts: Vec<(String, String)>,
    worn: Option<WearOut>,
    #[serde(default)]
    peer: Vec<(String, u64)>,
    comparable: Comparable,
    lines: Vec<Label>,
    #[serde(default)]
    errors: Vec<ErrorCount>,
    #[serde(default)]
    depths: Vec<u64>,
    began_ns: u64,
    first_done_ns: u64,
    last_done_ns: u64,
    waits: u64,
    series: Series,
    workers: Vec<WorkerRecord>,
}

#[derive(Deserialize)]
struct Comparable {
    depth: u32,
}

#[derive(Deserialize)]
struct Label {
    label: String,
    verb: String,
    operations: u64,
    bytes: u64,
    short: u64,
    failed: u64,
    #[serde(default)]
    untimed: u64,
    latency: Option<Latency>,
    service: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    mean_ns: f64,
    min_ns: u64,
    max_ns: u64,
    buckets: Vec<[u64; 3]>,
}

/// The run of a document, where it is one of ours.
pub fn read(document: &Value, path: &str) -> Option<Result<Imported, String>> {
    let schema = document.get("schema")?.as_str()?;
    if !schema.starts_with("iodyno.record/") {
        return None;
    }
    if schema != SCHEMA {
        return Some(Err(format!("it is {schema}, and {SCHEMA} is what is known here")));
    }
    Some(understood::<Document>(document).and_then(|document| run(document, path)))
}

fn understood<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

fn run(document: Document, path: &str) -> Result<Imported, String> {
    let Document { machine, world, targets, .. } = document;
    let plan = document.plan.unwrap_or_else(|| Plan { name: document.name.clone(), ..Plan::default() });
    let record = Record {
        name: document.name,
        seed: document.seed,
        phases: document.phases.into_iter().map(phase).collect::<Result<_, _>>()?,
        findings: document.findings,
        errors: document.errors,
        stopped_by: document.stopped_by,
        machine: machine.clone(),
        world: world.clone(),
        aging: document.aging,
        demands: document.demands,
        rounds: document.rounds,
    };
    let words = vec!["import".into(), path.into()];
    let opening = Opening { tool: "iodyno".into(), words, plan: plan.clone(), ..Opening::default() };
    let at_unix_ns = document.started_at_unix_ns.unwrap_or(0);
    Ok((opening, Started { plan, targets, machine, at_unix_ns, world }, record))
}

fn phase(told: Phase) -> Result<PhaseRecord, String> {
    Ok(PhaseRecord {
        name: told.name,
        index: told.index,
        repetition: told.repetition,
        coordinates: told.coordinates,
        elapsed_ns: told.elapsed_ns,
        jobs: told.jobs.into_iter().map(job).collect::<Result<_, _>>()?,
        sightings: told.sightings.iter().filter_map(|seen| Sighting::deserialize(seen).ok()).collect(),
        samples: told.samples,
        cache: told.cache,
    })
}

fn job(told: Job) -> Result<JobRecord, String> {
    let tally = Tally {
        lines: told.lines.into_iter().map(line).collect::<Result<_, _>>()?,
        errors: told.errors,
        began_ns: told.began_ns,
        first_done_ns: told.first_done_ns,
        last_done_ns: told.last_done_ns,
        depths: told.depths,
        waits: told.waits,
        series: told.series,
        ..Tally::default()
    };
    Ok(JobRecord {
        name: told.name,
        engine: told.engine,
        depth: told.comparable.depth,
        tally,
        workers: told.workers,
        worn: told.worn,
        peer: told.peer,
        engine_facts: told.engine_facts,
        ..JobRecord::default()
    })
}

fn line(told: Label) -> Result<Line, String> {
    let verb =
        Verb::named(&told.verb).ok_or_else(|| format!("`{}`: no such verb is known here", told.verb))?;
    Ok(Line {
        operations: told.operations,
        bytes: told.bytes,
        short: told.short,
        failed: told.failed,
        untimed: told.untimed,
        latency: told.latency.as_ref().map(latency).unwrap_or_default(),
        service: told.service.as_ref().map(latency),
        ..Line::empty(&told.label, verb)
    })
}

fn latency(told: &Latency) -> Histogram {
    let mut dense = vec![0; histogram::BUCKETS];
    told.buckets.iter().for_each(|[from, _, count]| dense[histogram::bucket_of(*from)] += count);
    let count: u64 = told.buckets.iter().map(|[.., count]| count).sum();
    let sum = (told.mean_ns * count as f64).round() as u128;
    Histogram::from_counts(dense.into_iter(), sum, told.min_ns, told.max_ns)
}
