//! Our own JSON, `iodyno.record/1`, taken in again: from another machine, or from before the history was lost.
//!
//! Everything that the format holds comes back but what it works out anew (rates, percentiles). Sightings of kinds that
//! are not known here are left out. It refuses another version of the format.

use iodyno_model::document::{
    JobDocument, LatencyDocument, LineDocument, PhaseDocument, RecordDocument, SCHEMA, WorldDocument,
};
use iodyno_model::{
    Histogram, JobRecord, Line, PhaseRecord, Plan, Record, RunStart, Sighting, Tally, Verb, WorldFacts,
    histogram,
};
use serde::Deserialize;
use serde_json::Value;

use super::Imported;
use crate::entry::Opening;

/// The run of a document, where it is one of ours.
pub fn read(document: &Value, path: &str) -> Option<Result<Imported, String>> {
    let schema = document.get("schema")?.as_str()?;
    if !schema.starts_with("iodyno.record/") {
        return None;
    }
    if schema != SCHEMA {
        return Some(Err(format!("it is {schema}, and {SCHEMA} is what is known here")));
    }
    let understood = RecordDocument::deserialize(known(document)).map_err(|error| error.to_string());
    Some(understood.and_then(|document| run(document, path)))
}

/// The document without sightings of kinds that are not known here.
fn known(document: &Value) -> Value {
    let mut document = document.clone();
    let phases = document.get_mut("phases").and_then(Value::as_array_mut);
    for phase in phases.into_iter().flatten() {
        if let Some(sightings) = phase.get_mut("sightings").and_then(Value::as_array_mut) {
            sightings.retain(|sighting| Sighting::deserialize(sighting).is_ok());
        }
    }
    document
}

fn run(document: RecordDocument, path: &str) -> Result<Imported, String> {
    let RecordDocument { machine, world, targets, .. } = document;
    let WorldDocument { hosts, nodes, library, clock_error_ns, lost, .. } = world;
    let world = WorldFacts { hosts, nodes, library, clock_error_ns, lost };
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
        idleness: document.idleness,
    };
    let words = vec!["import".into(), path.into()];
    let opening = Opening { tool: "iodyno".into(), words, plan: plan.clone(), ..Opening::default() };
    let at_unix_ns = document.started_at_unix_ns.unwrap_or(0);
    Ok((opening, RunStart { plan, targets, machine, at_unix_ns, world }, record))
}

fn phase(told: PhaseDocument) -> Result<PhaseRecord, String> {
    Ok(PhaseRecord {
        name: told.name,
        index: told.index,
        repetition: told.repetition,
        coordinates: told.coordinates,
        elapsed_ns: told.elapsed_ns,
        jobs: told.jobs.into_iter().map(job).collect::<Result<_, _>>()?,
        sightings: told.sightings,
        samples: told.samples,
        cache: told.cache,
        parts: told.parts,
    })
}

fn job(told: JobDocument) -> Result<JobRecord, String> {
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
        engine_traits: told.engine_traits,
        ..JobRecord::default()
    })
}

fn line(told: LineDocument) -> Result<Line, String> {
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

fn latency(told: &LatencyDocument) -> Histogram {
    let mut dense = vec![0; histogram::BUCKETS];
    told.buckets.iter().for_each(|[from, _, count]| dense[histogram::bucket_of(*from)] += count);
    let count: u64 = told.buckets.iter().map(|[.., count]| count).sum();
    let sum = (told.mean_ns * count as f64).round() as u128;
    Histogram::from_counts(dense.into_iter(), sum, told.min_ns, told.max_ns)
}
