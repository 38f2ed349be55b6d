//! `iodyno whatif PLAN|TRACE|RUN --on A,B,C`: one workload on several simulated devices, side by side.
//!
//! Each device gets the whole plan, in virtual time. What is told of a device beside its figures is which of its parts is
//! the bottleneck, and how much more load fits until that part is busy all the time.

use std::path::Path;

use iodyno_dialect::{DIALECTS, Request, native};
use iodyno_engine::world::World;
use iodyno_model::{Device, Diagnostic, Histogram, Origin, PhaseRecord, Plan, Record};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_truth::quantity::{Measure, OperationSet, Quantity};

use super::WhatifArgs;
use super::until;
use crate::archive;
use crate::experiment::{Experiment, no_reporter, progress};
use crate::loader::HostLoader;
use crate::report_output::ReportOutput;
use crate::runs::one;
use crate::simulated_device::{self, put_plan_on};

/// A part that is busy less than this is no bottleneck, a share.
const BOTTLENECK: f64 = 0.9;
/// The device that a trace is replayed on.
const TRACE_TARGET: &str = "/dev/simulated";

/// Runs the workload on each device and reports them together; the exit status.
pub fn told(world: &mut World, words: &WhatifArgs, arguments: &[String]) -> Result<u8, Vec<Diagnostic>> {
    simulated_device::check_world(world, "whatif").map_err(one)?;
    let name = words.workload.as_deref().unwrap_or_default();
    let devices: Vec<Device> =
        words.on.iter().map(|word| simulated_device::named(word, "--on")).collect::<Result<_, _>>()?;
    if devices.is_empty() {
        let wrong = Diagnostic::error(&Origin::argument("--on"), "no device is named");
        return Err(one(wrong.hint("e.g. --on hdd-7200,cloud-6000; iodyno devices lists them")));
    }
    let mut plan = workload(world, name)?;
    plan.seed = words.seed.unwrap_or(plan.seed);
    for device in &devices {
        put_plan_on(&mut plan.clone(), device, "--on").map_err(one)?;
    }
    let search = until::Search::of(words, &plan)?;
    let output = ReportOutput::open(&words.report).map_err(one)?;
    let mut experiment = Experiment::new(world, "whatif", arguments);
    experiment.keep.wanted = Some(false);
    let mut runs = Vec::new();
    let mut found = Vec::new();
    for device in &devices {
        progress(&format!("{}: simulating", device.name));
        let mut on_device = plan.clone();
        put_plan_on(&mut on_device, device, "--on").map_err(one)?;
        match experiment.run(on_device, &device.name) {
            Ok((_, record)) => runs.push((device, record)),
            Err(status) => return Ok(status),
        }
        if let Some(search) = &search {
            match search.run(&mut experiment, &plan, device) {
                Ok(row) => found.push(row),
                Err(status) => return Ok(status),
            }
        }
    }
    let mut report = report(name, &plan, &runs);
    report.sections.extend(search.map(|search| search.section(found)));
    Ok(output.write(&report))
}

/// The plan of a file, of a trace's replay, or of a kept run.
fn workload(world: &World, name: &str) -> Result<Plan, Vec<Diagnostic>> {
    let mut loader = HostLoader::new(world);
    loader.device_bytes = Some(u64::MAX >> 8);
    if !Path::new(name).is_file() {
        return Ok(archive::open().and_then(|history| history.load(name)).map_err(one)?.plan);
    }
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let lowered = |tool: &str, arguments: &[String], loader: &mut HostLoader| {
        let dialect = DIALECTS.iter().find(|dialect| dialect.name == tool);
        dialect.map_or_else(|| Err(Vec::new()), |dialect| (dialect.lower)(arguments, loader))
    };
    let request = match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        Some("toml") => native::run(&words(&[name]), &mut loader, &|_| no_reporter()),
        Some("fio" | "job") => lowered("fio", &words(&[name]), &mut loader),
        Some("ior") => lowered("ior", &words(&["-f", name]), &mut loader),
        Some("f") => lowered("filebench", &words(&["-f", name]), &mut loader),
        _ => lowered("replay", &words(&[name, TRACE_TARGET]), &mut loader),
    };
    match request? {
        Request::Run(run) => Ok(run.plan),
        _ => {
            let wrong =
                Diagnostic::error(&Origin::argument(name), "there is nothing in it that could be run");
            Err(one(wrong
                .hint("name a plan (.toml), a job file (.fio), a script (.ior, .f), a trace or a kept run")))
        }
    }
}

fn report(name: &str, plan: &Plan, runs: &[(&Device, Record)]) -> ExperimentReport {
    let phases = runs.first().map_or(0, |(_, record)| record.phases.len());
    let mut sections = Vec::new();
    for index in 0..phases {
        let rows: Vec<(&Device, &PhaseRecord)> =
            runs.iter().filter_map(|(device, record)| Some((*device, record.phases.get(index)?))).collect();
        sections.push(figures(&rows));
        sections.push(parts(&rows));
    }
    let generic: Vec<&str> = runs
        .iter()
        .filter(|(device, _)| device.is_generic())
        .map(|(device, _)| device.name.as_str())
        .collect();
    let mut remarks = vec!["All figures are simulated: no storage was touched.".to_string()];
    if !generic.is_empty() {
        remarks.push(format!("Generic, with the figures of no product: {}.", generic.join(", ")));
    }
    ExperimentReport {
        format: "iodyno.whatif/1",
        title: format!("{name}, simulated on {} devices", runs.len()).replace(" 1 devices", " 1 device"),
        facts: vec![("workload".into(), plan.name.clone()), ("seed".into(), plan.seed.to_string())],
        sections,
        remarks,
    }
}

/// All operations of a phase, their rate, data rate and latencies.
pub fn totals(phase: &PhaseRecord) -> (f64, f64, Histogram) {
    let sum = |measure: Measure| {
        let quantity = Quantity::new(OperationSet::All, measure);
        phase.jobs.iter().filter_map(|job| quantity.of(phase, job)).sum::<f64>()
    };
    let mut latency = Histogram::default();
    let all = Quantity::new(OperationSet::All, Measure::Mean);
    phase.jobs.iter().for_each(|job| latency.merge(&all.latency(job)));
    (sum(Measure::Rate), sum(Measure::Bandwidth), latency)
}

fn figures(rows: &[(&Device, &PhaseRecord)]) -> ReportSection {
    let columns = [
        ("device", ColumnUnit::Words),
        ("IOPS", ColumnUnit::PerSecond),
        ("", ColumnUnit::BytesPerSecond),
        ("p50", ColumnUnit::Nanoseconds),
        ("p99", ColumnUnit::Nanoseconds),
        ("p99.9", ColumnUnit::Nanoseconds),
        ("bottleneck", ColumnUnit::Words),
    ];
    let row = |(device, phase): &(&Device, &PhaseRecord)| {
        let (rate, bandwidth, latency) = totals(phase);
        let percentile = |percent: f64| {
            let found = iodyno_report::number::percentile(&latency, percent);
            ReportCell::of(found.map(|ns| ns as f64))
        };
        let bottleneck = bottleneck(phase).map_or("none", |part| part.name.as_str());
        vec![
            ReportCell::text(&device.name),
            ReportCell::Number(rate),
            ReportCell::Number(bandwidth),
            percentile(50.0),
            percentile(99.0),
            percentile(99.9),
            ReportCell::text(bottleneck),
        ]
    };
    ReportSection {
        title: rows.first().map_or_else(String::new, |(_, phase)| phase.name.clone()),
        columns: columns.iter().map(|(name, unit)| ReportColumn::new(name, *unit)).collect(),
        rows: rows.iter().map(row).collect(),
        sentences: rows.iter().map(|(device, phase)| headroom(device, phase)).collect(),
        charts: [("IOPS", 1), ("p99", 4)].map(|(title, line)| ReportChart::bars(title, line)).into(),
        ..ReportSection::default()
    }
}

/// A bar for each device.
fn busiest(phase: &PhaseRecord) -> Option<&iodyno_model::PartRecord> {
    phase.parts.iter().max_by(|a, b| a.busiest.total_cmp(&b.busiest))
}

/// The part that limits the rate: it works all the time.
fn bottleneck(phase: &PhaseRecord) -> Option<&iodyno_model::PartRecord> {
    busiest(phase).filter(|part| part.busiest >= BOTTLENECK)
}

fn headroom(device: &Device, phase: &PhaseRecord) -> String {
    let name = &device.name;
    let Some(part) = busiest(phase).filter(|part| part.busiest > 0.0) else {
        return format!("{name}: no part was busy");
    };
    let busy = 100.0 * part.busiest;
    match bottleneck(phase) {
        Some(part) => format!("{name}: {} is the bottleneck, {busy:.0} % busy; no headroom", part.name),
        None => format!(
            "{name}: no bottleneck; {} is the busiest part, {busy:.0} %: {} times this load would fill it",
            part.name,
            iodyno_report::number::significant(1.0 / part.busiest)
        ),
    }
}

fn parts(rows: &[(&Device, &PhaseRecord)]) -> ReportSection {
    let columns = [
        ("device", ColumnUnit::Words),
        ("part", ColumnUnit::Words),
        ("instances", ColumnUnit::Number),
        ("busy", ColumnUnit::Percent),
        ("busiest", ColumnUnit::Percent),
        ("queue", ColumnUnit::Number),
        ("response", ColumnUnit::Nanoseconds),
    ];
    let all = rows.iter().flat_map(|(device, phase)| phase.parts.iter().map(move |part| (device, part)));
    let row = |(device, part): (&&Device, &iodyno_model::PartRecord)| {
        vec![
            ReportCell::text(&device.name),
            ReportCell::text(&part.name),
            ReportCell::Number(part.instances as f64),
            ReportCell::Number(100.0 * part.utilisation),
            ReportCell::Number(100.0 * part.busiest),
            ReportCell::Number(part.queue),
            ReportCell::Number(part.response_ns),
        ]
    };
    ReportSection {
        title: rows.first().map_or_else(String::new, |(_, phase)| format!("{}: parts", phase.name)),
        columns: columns.iter().map(|(name, unit)| ReportColumn::new(name, *unit)).collect(),
        rows: all.map(row).collect(),
        ..ReportSection::default()
    }
}
