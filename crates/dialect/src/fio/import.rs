//! fio's JSON: a phase for each group, a job for each name in it.

use iodyno_model::{Histogram, JobRecord, PhaseRecord, Verb, WorkerRecord, histogram};
use serde_json::Value;

use crate::import::{ForeignRun, Import, count, facts, list, number, text};

/// fio's document; `None`: it is not one.
pub fn read(document: &Value) -> Option<Result<Vec<ForeignRun>, String>> {
    let version = document.get("fio version")?.as_str()?.to_string();
    let jobs =
        if document.get("jobs").is_some() { list(document, "jobs") } else { list(document, "client_stats") };
    if jobs.is_empty() {
        return Some(Err("there are no jobs in it".into()));
    }
    let global = facts(document.get("global options"));
    let mut phases: Vec<(u64, PhaseRecord)> = Vec::new();
    for job in jobs.iter().filter(|job| text(job, "jobname") != "All clients") {
        add(&mut phases, job, &global);
    }
    let mut phases: Vec<PhaseRecord> = phases.into_iter().map(|(_, phase)| phase).collect();
    for (index, phase) in phases.iter_mut().enumerate() {
        phase.index = index;
        phase.name = match phase.jobs.as_slice() {
            [only] => only.name.clone(),
            _ => format!("group {index}"),
        };
    }
    let milliseconds = count(document, "timestamp_ms").max(count(document, "timestamp") * 1000);
    let name = phases.first().map_or_else(String::new, |phase| phase.name.clone());
    let import =
        Import { version, name, began_unix_ns: milliseconds * 1_000_000, phases, ..Import::default() };
    Some(Ok(vec![import.into()]))
}

/// Adds a job to the phase of its group; jobs of one name are workers of one.
fn add(phases: &mut Vec<(u64, PhaseRecord)>, told: &Value, global: &[(String, String)]) {
    let job = job(told, global);
    let group = count(told, "groupid");
    let index = phases.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
        phases.push((group, PhaseRecord::default()));
        phases.len() - 1
    });
    let phase = &mut phases[index].1;
    phase.elapsed_ns = phase.elapsed_ns.max(job.tally.last_done_ns);
    match phase.jobs.iter_mut().find(|known| known.name == job.name) {
        Some(known) => {
            known.tally.merge(&job.tally);
            known.workers.extend(job.workers);
        }
        None => phase.jobs.push(job),
    }
}

fn job(told: &Value, global: &[(String, String)]) -> JobRecord {
    let own = facts(told.get("job options"));
    let mut engine_facts: Vec<_> =
        global.iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name)).cloned().collect();
    engine_facts.extend(own);
    // Either option says it, in its own way round.
    let is = |name: &str| {
        let value = engine_facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        value.map(|value| value != "0")
    };
    if let Some(direct) = is("direct").or_else(|| is("buffered").map(|buffered| !buffered)) {
        engine_facts.retain(|(name, _)| name != "direct");
        engine_facts.push(("direct".into(), if direct { "yes" } else { "no" }.into()));
    }
    let option =
        |name: &str| engine_facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut job = JobRecord {
        name: text(told, "jobname"),
        engine: option("ioengine").unwrap_or_else(|| "psync".into()),
        depth: option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1),
        ..JobRecord::default()
    };
    for (name, verb) in
        [("read", Verb::Read), ("write", Verb::Write), ("trim", Verb::Trim), ("sync", Verb::Fsync)]
    {
        if let Some(direction) = told.get(name).filter(|direction| count(direction, "total_ios") > 0) {
            line(&mut job, name, verb, direction);
        }
    }
    let errors = count(told, "total_err");
    job.engine_facts = engine_facts;
    job.workers.push(WorkerRecord {
        operations: job.tally.all_operations(),
        bytes: job.tally.all_bytes(),
        errors,
        ended_ns: job.tally.last_done_ns,
        ..WorkerRecord::default()
    });
    job.tally.first_done_ns = job.tally.last_done_ns;
    job
}

fn line(job: &mut JobRecord, name: &str, verb: Verb, direction: &Value) {
    let line = job.tally.line_mut(name, verb);
    line.operations = count(direction, "total_ios");
    line.bytes = count(direction, "io_bytes");
    line.short = count(direction, "short_ios");
    line.latency = latency(direction);
    let runtime_ns = count(direction, "runtime") * 1_000_000;
    job.tally.last_done_ns = job.tally.last_done_ns.max(runtime_ns);
}

/// The whole latency where its distribution was written, else that of the completion.
fn latency(direction: &Value) -> Histogram {
    let known = ["lat_ns", "clat_ns"].into_iter().filter_map(|name| direction.get(name));
    let with = |name: &str| known.clone().find(|latency| latency.get(name).is_some_and(Value::is_object));
    match (with("bins"), with("percentile")) {
        (Some(latency), _) => of_counts(latency, bins(latency)),
        (None, Some(latency)) => of_counts(latency, between_percentiles(latency)),
        (None, None) => Histogram::default(),
    }
}

/// Values with their counts, with the sum and the extremes that were told.
fn of_counts(latency: &Value, counts: Vec<(u64, u64)>) -> Histogram {
    let mut dense = vec![0; histogram::BUCKETS];
    counts.iter().for_each(|(value, count)| dense[histogram::bucket_of(*value)] += count);
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let sum = (number(latency, "mean") * total as f64) as u128;
    Histogram::from_counts(dense.into_iter(), sum, count(latency, "min"), count(latency, "max"))
}

fn members(of: Option<&Value>) -> Vec<(f64, u64)> {
    let members = of.and_then(Value::as_object).into_iter().flatten();
    let mut members: Vec<(f64, u64)> =
        members.filter_map(|(name, value)| Some((name.parse().ok()?, value.as_f64()? as u64))).collect();
    members.sort_by(|a, b| a.0.total_cmp(&b.0));
    members
}

fn bins(latency: &Value) -> Vec<(u64, u64)> {
    members(latency.get("bins")).into_iter().map(|(value, count)| (value as u64, count)).collect()
}

/// As many values at each percentile as lie between it and the one before, the rest at the largest.
fn between_percentiles(latency: &Value) -> Vec<(u64, u64)> {
    let total = count(latency, "N");
    let mut below = 0;
    let mut counts = Vec::new();
    for (percent, value) in members(latency.get("percentile")) {
        let rank = ((percent / 100.0 * total as f64).ceil() as u64).min(total);
        if rank > below {
            counts.push((value, rank - below));
            below = rank;
        }
    }
    if total > below {
        counts.push((count(latency, "max"), total - below));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Kind;

    #[test]
    fn fio_is_taken_in_with_its_buckets() {
        let text = r#"{ "fio version" : "fio-3.33", "timestamp_ms" : 1795306503972, "jobs" : [
  { "jobname" : "a", "groupid" : 0, "job options" : { "bs" : "4k", "iodepth" : "8", "ioengine" : "libaio" },
    "read" : { "io_bytes" : 4096000, "total_ios" : 1000, "runtime" : 2000, "short_ios" : 0,
      "lat_ns" : { "min" : 90, "max" : 5000, "mean" : 300.0, "N" : 1000 },
      "clat_ns" : { "min" : 80, "max" : 4900, "mean" : 290.0, "N" : 1000, "bins" : { "80" : 1, "200" : 900, "4900" : 99 } } },
    "write" : { "io_bytes" : 0, "total_ios" : 0, "runtime" : 0 } },
  { "jobname" : "a", "groupid" : 0, "read" : { "io_bytes" : 409600, "total_ios" : 100, "runtime" : 2000,
      "clat_ns" : { "min" : 100, "max" : 900, "mean" : 200.0, "N" : 100,
        "percentile" : { "50.000000" : 150, "99.000000" : 800 } } } },
  { "jobname" : "b", "groupid" : 1, "write" : { "io_bytes" : 10, "total_ios" : 1, "runtime" : 1 } } ] }"#;
        let runs = read(&serde_json::from_str(text).unwrap()).unwrap().unwrap();
        let (_, started, record) = &runs[0];
        assert_eq!((started.machine.version.as_str(), started.at_unix_ns), ("fio-3.33", 1795306503972000000));
        assert_eq!(record.phases.len(), 2, "a phase for each group");
        let job = &record.phases[0].jobs[0];
        assert_eq!((job.depth, job.engine.as_str(), job.workers.len()), (8, "libaio", 2));
        assert_eq!((job.tally.operations(Kind::Read), job.tally.bytes(Kind::Read)), (1100, 4505600));
        assert!(job.engine_facts.contains(&("bs".into(), "4k".into())));
        let latency = job.tally.latency(Kind::Read);
        assert_eq!((latency.count(), latency.min, latency.max), (1100, 80, 4900));
        assert_eq!(record.phases[0].elapsed_ns, 2_000_000_000);
    }
}
