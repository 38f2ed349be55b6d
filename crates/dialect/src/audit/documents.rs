//! From a piece of text to the results in it: JSON by the readers that the history takes files in with, text by the tool's
//! own tables.

use iodyno_model::{JobRecord, Kind, Record, Verb};
use iodyno_report::audit::{Claim, WorkKind};
use serde_json::Value;

use super::pasted::Piece;
use super::{Told, fio_text, lines, tables};
use crate::import::READERS;

/// The results of a piece.
pub fn results(piece: &Piece) -> Vec<Told> {
    let told = Told {
        tool: piece.tool,
        words: piece.words.clone(),
        launcher: piece.launcher.clone(),
        whole: piece.is_command,
        ..Told::default()
    };
    if let Some(document) = document(&piece.lines) {
        return of_document(piece, &document, &told);
    }
    let is_job_file = !piece.is_command
        && piece.tool == "fio"
        && piece.lines.iter().any(|line| line.trim().starts_with('[') && line.trim().ends_with(']'));
    if is_job_file {
        return vec![Told {
            words: vec!["-".into()],
            job_file: Some(piece.lines.join("\n") + "\n"),
            whole: true,
            ..told
        }];
    }
    match piece.tool {
        "fio" => fio_text::read(told, &piece.lines),
        "ior" => vec![tables::ior(told, &piece.lines)],
        "mdtest" => vec![tables::mdtest(told, &piece.lines)],
        "iozone" => vec![tables::iozone(told, &piece.lines)],
        "dd" => vec![lines::dd(told, &piece.lines)],
        "hdparm" => vec![lines::hdparm(told, &piece.lines)],
        _ => vec![lines::iperf3(told, &piece.lines)],
    }
}

/// The first JSON document among lines.
fn document(lines: &[String]) -> Option<Value> {
    let start = lines.iter().position(|line| line.trim_start().starts_with('{'))?;
    let text = lines[start..].join("\n");
    serde_json::Deserializer::from_str(&text).into_iter::<Value>().next()?.ok()
}

fn of_document(piece: &Piece, document: &Value, told: &Told) -> Vec<Told> {
    let read = READERS.iter().find_map(|(tool, read)| Some((*tool, read(document)?)));
    let note = |why: String| vec![Told { notes: vec![why], ..told.clone() }];
    match read {
        None => note(format!("the JSON in it is not that of {}", piece.tool)),
        Some((tool, Err(why))) => note(format!("as {tool}'s JSON: {why}")),
        Some((tool, Ok(runs))) => {
            runs.into_iter().flat_map(|(words, _, record)| of_run(tool, &words, &record, told)).collect()
        }
    }
}

/// A result for each job of fio, which has options of its own; for other tools one.
fn of_run(tool: &'static str, words: &[String], record: &Record, told: &Told) -> Vec<Told> {
    let jobs: Vec<&JobRecord> = record.phases.iter().flat_map(|phase| &phase.jobs).collect();
    let mut told = Told { tool, ..told.clone() };
    if tool == "fio" {
        let one = |job: &&JobRecord| {
            let mut one = told.clone();
            if !one.whole {
                (one.words, one.whole) = (fio_words(job), true);
            }
            one.claims = claims(job);
            one
        };
        return jobs.iter().map(one).collect();
    }
    if !told.whole && words.len() > 1 {
        (told.words, told.whole) = (words[1..].to_vec(), true);
    }
    told.claims = merged(jobs.iter().flat_map(|job| claims(job)).collect());
    let fact = |name: &str| {
        jobs.iter().flat_map(|job| &job.engine_facts).find(|(known, _)| known == name)?.1.parse().ok()
    };
    told.tasks = fact("tasks").or_else(|| fact("numTasks")).or_else(|| fact("num_streams"));
    told.hosts = fact("nodes");
    vec![told]
}

/// Repetitions of a figure as one, with their least and most.
fn merged(claims: Vec<Claim>) -> Vec<Claim> {
    let mut merged: Vec<Claim> = Vec::new();
    for claim in claims {
        let Some(known) = merged.iter_mut().find(|known| known.name == claim.name) else {
            merged.push(Claim { repeated: 1, ..claim });
            continue;
        };
        let rates = (known.bytes_per_second.unwrap_or(0.0), claim.bytes_per_second.unwrap_or(0.0));
        let (least, most) = known.range.unwrap_or((rates.0, rates.0));
        known.range = Some((least.min(rates.1), most.max(rates.1)));
        known.repeated += 1;
        known.bytes_per_second = Some(rates.0.max(rates.1));
    }
    merged
}

/// A job's options as a command line; what is no option of a job stays out.
fn fio_words(job: &JobRecord) -> Vec<String> {
    let mut words = vec![format!("--name={}", if job.name.is_empty() { "job" } else { &job.name })];
    // `name` stands first; the reader words `direct` in its own way.
    let options = job.engine_facts.iter().filter(|(name, _)| name != "name");
    words.extend(options.map(|(name, value)| match (name.as_str(), value.as_str()) {
        ("direct", value) => format!("--direct={}", u8::from(value == "yes")),
        (name, "") => format!("--{name}"),
        (name, value) => format!("--{name}={value}"),
    }));
    words
}

/// The figures of a job, a direction each.
fn claims(job: &JobRecord) -> Vec<Claim> {
    let tally = &job.tally;
    let seconds = tally.last_done_ns as f64 / 1e9;
    let lines = tally.lines.iter().filter(|line| line.operations > 0);
    lines
        .filter_map(|line| {
            let way = match line.verb.kind() {
                Kind::Read => WorkKind::Read,
                Kind::Write => WorkKind::Write,
                Kind::Network => WorkKind::Network,
                Kind::Metadata => WorkKind::Names,
                _ => return None,
            };
            let per_second = |number: u64| (seconds > 0.0 && number > 0).then(|| number as f64 / seconds);
            let latency = Some(&line.latency).filter(|latency| !latency.is_empty());
            let fact = |name: &str| job.engine_facts.iter().find(|(known, _)| known == name)?.1.parse().ok();
            let name = if job.name == line.label {
                job.name.clone()
            } else {
                format!("{}: {}", job.name, line.label)
            };
            Some(Claim {
                bytes_per_second: per_second(line.bytes),
                operations_per_second: if way == WorkKind::Network {
                    None
                } else {
                    per_second(line.operations)
                },
                bytes: (line.bytes > 0).then_some(line.bytes as f64),
                operations: Some(line.operations as f64),
                failed: (line.failed > 0).then_some(line.failed as f64),
                seconds: (seconds > 0.0).then_some(seconds),
                mean_ns: latency.map(iodyno_model::Histogram::mean),
                longest_ns: latency.map(|latency| latency.max as f64),
                retransmits: if line.verb == Verb::Send { fact("retransmits") } else { None },
                ..Claim::new(&name, way)
            })
        })
        .collect()
}
