//! Every table of a record, as names, headings and cells: what a spreadsheet or a folder of CSV files is made of.
//!
//! A figure that cannot be told is an empty cell, never a 0. Columns are only ever added at the end.

use iodyno_model::reflect::{Reflect, ReflectRef, TypeShape};
use iodyno_model::{DeviceActivity, Finding, Histogram, JobRecord, PhaseRecord, Record, Sighting, histogram};
use iodyno_truth::quantity::row_end_ns;

use crate::shape::Context;
use crate::{csv, number};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportTable {
    /// Its name: `results`, `series`, …
    pub name: &'static str,
    /// What stands above its columns.
    pub headings: Vec<String>,
    /// Its rows, each as long as the headings.
    pub rows: Vec<Vec<TableCell>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// A figure.
    Number(f64),
    /// A count.
    Whole(u64),
    /// What cannot be told.
    Empty,
}

impl TableCell {
    fn text(text: &str) -> Self {
        TableCell::Text(text.into())
    }

    /// A field of the model.
    fn field_of(view: ReflectRef<'_>) -> Self {
        match view {
            ReflectRef::Bool(is) => TableCell::text(if is { "yes" } else { "no" }),
            ReflectRef::Unsigned(number) => TableCell::Whole(number),
            ReflectRef::Signed(number) => TableCell::Number(number as f64),
            ReflectRef::Float(number) => TableCell::optional(Some(number)),
            ReflectRef::Text(text) => TableCell::text(text),
            ReflectRef::Optional(value) => {
                value.get().map_or(TableCell::Empty, |value| TableCell::field_of(value.view()))
            }
            ReflectRef::Composite(value) => TableCell::text(value.table().words[value.variant()]),
            _ => TableCell::Empty,
        }
    }

    fn optional(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(TableCell::Empty, TableCell::Number)
    }

    /// As one field of a CSV file.
    pub fn field(&self) -> String {
        match self {
            TableCell::Text(text) => text.clone(),
            TableCell::Number(number) => format!("{number}"),
            TableCell::Whole(number) => number.to_string(),
            TableCell::Empty => String::new(),
        }
    }
}

/// Columns of the results that hold words.
const WORDS: &[&str] = &[
    "phase",
    "coordinates",
    "job",
    "label",
    "verb",
    "engine",
    "io",
    "mix",
    "pattern",
    "direct",
    "simulated",
];

/// Percentiles that are worked out.
const PERCENTS: [f64; 11] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Every table of a record that has a row.
pub fn tables(record: &Record, context: &Context) -> Vec<ExportTable> {
    let all = [
        about(record, context),
        results(record, context),
        findings(&record.findings),
        percentiles(record),
        latencies(record),
        series(record),
        workers(record),
        errors(record, context),
        devices(record),
        samples(record),
        targets(context),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// A table without rows; its headings have blanks between them.
fn table(name: &'static str, headings: &str) -> ExportTable {
    ExportTable { name, headings: headings.split(' ').map(String::from).collect(), rows: Vec::new() }
}

/// The cells of a value's fields of these names; empty ones where there is no value.
///
/// # Panics
/// Where there is no such field.
fn fields<T: Reflect>(value: Option<&T>, names: &str) -> Vec<TableCell> {
    let TypeShape::Composite(of) = T::shape() else { panic!("only structs have fields") };
    let cell = |name: &str| {
        let index = of.variants[0].names.iter().position(|field| *field == name);
        let index = index.unwrap_or_else(|| panic!("{} has no field {name}", of.name));
        match value.map(Reflect::view) {
            Some(ReflectRef::Composite(value)) => TableCell::field_of(value.field(index).view()),
            _ => TableCell::Empty,
        }
    };
    names.split(' ').map(cell).collect()
}

/// Every job of a record, with its phase.
fn jobs(record: &Record) -> impl Iterator<Item = (&PhaseRecord, &JobRecord)> {
    record.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
}

/// The cells by which a row is found.
fn place(phase: &PhaseRecord, job: &JobRecord) -> Vec<TableCell> {
    vec![TableCell::text(&phase.name), TableCell::Whole(phase.index as u64), TableCell::text(&job.name)]
}

/// What was run, where, and how it ended.
fn about(record: &Record, context: &Context) -> ExportTable {
    let mut about = table("about", "fact value");
    let mut add = |name: &str, value: TableCell| about.rows.push(vec![TableCell::text(name), value]);
    let machine = &record.machine;
    add("plan", TableCell::text(&record.name));
    if let Some(device) = context.simulated() {
        add("simulated", TableCell::Text(format!("simulated on {device}: no storage was touched")));
    }
    add("seed", TableCell::Text(record.seed.to_string()));
    if let Some(started) = &context.started {
        add("started at, ns since 1970", TableCell::Text(started.at_unix_ns.to_string()));
    }
    add(
        "stopped by signal",
        record.stopped_by.map_or(TableCell::Empty, |signal| TableCell::Text(signal.to_string())),
    );
    add("host", TableCell::text(&machine.host));
    add("kernel", TableCell::text(&machine.kernel));
    add("processor", TableCell::text(&machine.processor));
    add("processors", TableCell::Whole(machine.cpus.into()));
    add("memory, bytes", TableCell::Whole(machine.memory_bytes));
    add("clock", TableCell::text(&machine.clock));
    add("iodyno", TableCell::text(&machine.version));
    machine.facts.iter().for_each(|(name, value)| add(name, TableCell::text(value)));
    record.errors.iter().for_each(|error| add("message", TableCell::text(&error.message)));
    about
}

fn results(record: &Record, context: &Context) -> ExportTable {
    let mut results = table("results", csv::COLUMNS);
    let medians = csv::Medians::of(record);
    for (phase, job) in jobs(record) {
        let shape = context.shape(phase, job);
        for line in &job.tally.lines {
            let cells = csv::row(phase, job, line, &shape, &medians).into_iter().zip(&results.headings);
            let cells = cells.map(|(text, heading)| result(text, heading)).collect();
            results.rows.push(cells);
        }
    }
    results
}

fn result(text: String, heading: &str) -> TableCell {
    match (text.is_empty(), WORDS.contains(&heading), text.parse::<u64>(), text.parse::<f64>()) {
        (true, ..) => TableCell::Empty,
        (_, false, Ok(whole), _) => TableCell::Whole(whole),
        (_, false, _, Ok(number)) => TableCell::Number(number),
        _ => TableCell::Text(text),
    }
}

fn findings(all: &[Finding]) -> ExportTable {
    let headings = "code severity phase job sentence figures advice explained_by";
    let mut findings = table("findings", headings);
    for finding in all {
        let figures: Vec<String> =
            finding.figures.iter().map(|figure| number::figure(figure, Default::default())).collect();
        findings.rows.push(vec![
            TableCell::Whole(finding.code.into()),
            TableCell::Text(format!("{:?}", finding.severity).to_lowercase()),
            TableCell::text(&finding.phase),
            finding.job.as_deref().map_or(TableCell::Empty, TableCell::text),
            TableCell::text(&finding.sentence),
            TableCell::Text(figures.join("; ")),
            TableCell::text(&finding.advice),
            finding.explained_by.map_or(TableCell::Empty, |code| TableCell::Whole(code.into())),
        ]);
    }
    findings
}

/// Each label's latencies that were counted, with the kind of them.
fn histograms(job: &JobRecord) -> Vec<(&str, &'static str, &Histogram)> {
    let mut all = Vec::new();
    for line in &job.tally.lines {
        let kinds = [
            ("latency", Some(&line.latency)),
            ("service", line.service.as_ref()),
            ("submission", line.submission.as_ref()),
            ("completion", line.completion.as_ref()),
        ];
        for (kind, histogram) in kinds {
            let counted = histogram.filter(|histogram| !histogram.is_empty());
            all.extend(counted.map(|histogram| (line.label.as_str(), kind, histogram)));
        }
    }
    all
}

fn percentiles(record: &Record) -> ExportTable {
    let headings = "phase index job label kind percent latency_ns samples_beyond";
    let mut percentiles = table("percentiles", headings);
    for (phase, job) in jobs(record) {
        for (label, kind, latency) in histograms(job) {
            for percent in PERCENTS {
                let mut row = place(phase, job);
                row.extend([TableCell::text(label), TableCell::text(kind), TableCell::Number(percent)]);
                row.push(number::percentile(latency, percent).map_or(TableCell::Empty, TableCell::Whole));
                row.push(TableCell::Whole(latency.beyond(percent)));
                percentiles.rows.push(row);
            }
        }
    }
    percentiles
}

fn latencies(record: &Record) -> ExportTable {
    let mut latencies = table("latencies", "phase index job label kind least_ns most_ns count");
    for (phase, job) in jobs(record) {
        for (label, kind, latency) in histograms(job) {
            for (bucket, count) in latency.buckets() {
                let bucket = *bucket as usize;
                let mut row = place(phase, job);
                row.extend([TableCell::text(label), TableCell::text(kind)]);
                row.extend(
                    [histogram::lower_edge(bucket), histogram::upper_edge(bucket), *count]
                        .map(TableCell::Whole),
                );
                latencies.rows.push(row);
            }
        }
    }
    latencies
}

fn series(record: &Record) -> ExportTable {
    let counts = "reads read_bytes writes write_bytes trims trim_bytes others";
    let headings = format!("phase index job until_s {counts} latency_ns_mean latency_ns_max");
    let mut series = table("series", &headings);
    for (phase, job) in jobs(record) {
        let of_job = &job.tally.series;
        for (index, counted) in of_job.rows.iter().enumerate() {
            let mut row = place(phase, job);
            let until_ns = row_end_ns(job, index);
            row.push(TableCell::Number(until_ns as f64 / 1e9));
            row.extend(fields(Some(counted), counts));
            let operations = counted.operations();
            let mean = (operations > 0).then(|| counted.latency_sum_ns as f64 / operations as f64);
            row.push(TableCell::optional(mean));
            row.push(if operations > 0 {
                TableCell::Whole(counted.latency_max_ns)
            } else {
                TableCell::Empty
            });
            series.rows.push(row);
        }
    }
    series
}

fn workers(record: &Record) -> ExportTable {
    let counts = "rank operations bytes errors began_ns ended_ns user_ns system_ns";
    let kernel = "switches_voluntary switches_involuntary faults_major faults_minor";
    let mut workers = table("workers", &format!("phase index job worker {counts} {kernel} failure"));
    for (phase, job) in jobs(record) {
        for worker in &job.workers {
            let mut row = place(phase, job);
            row.extend(fields(Some(worker), &format!("index {counts}")));
            let (switches, faults) = (worker.switches, worker.faults);
            row.extend([switches.0, switches.1, faults.0, faults.1].map(TableCell::Whole));
            row.extend(fields(Some(worker), "failure"));
            workers.rows.push(row);
        }
    }
    workers
}

fn errors(record: &Record, context: &Context) -> ExportTable {
    let counted = "verb errno count first_offset";
    let mut errors = table("errors", &format!("phase index job {counted} target"));
    for (phase, job) in jobs(record) {
        for error in &job.tally.errors {
            let mut row = place(phase, job);
            row.extend(fields(Some(error), counted));
            row.push(TableCell::Text(context.target(error.first_target)));
            errors.rows.push(row);
        }
    }
    errors
}

/// What a device did in an interval.
const ACTIVITY: &str = "interval_ns reads reads_merged read_bytes read_ns writes writes_merged write_bytes write_ns \
                        discards discards_merged discard_bytes discard_ns flushes flush_ns busy_ns weighted_ns in_flight";

/// What is worked out of it.
const LOAD: &str = "busy_percent depth_mean";

fn activity(did: &DeviceActivity) -> Vec<TableCell> {
    let share = |ns: u64| (did.interval_ns > 0).then(|| ns as f64 / did.interval_ns as f64);
    let mut cells = fields(Some(did), ACTIVITY);
    cells.push(TableCell::optional(share(did.busy_ns).map(|share| share * 100.0)));
    cells.push(TableCell::optional(share(did.weighted_ns)));
    cells
}

fn devices(record: &Record) -> ExportTable {
    let mut devices = table("devices", &format!("phase index device {ACTIVITY} {LOAD}"));
    for phase in &record.phases {
        for sighting in &phase.sightings {
            let Sighting::Device(did) = sighting else { continue };
            let mut row = vec![
                TableCell::text(&phase.name),
                TableCell::Whole(phase.index as u64),
                TableCell::text(&did.device),
            ];
            row.extend(activity(did));
            devices.rows.push(row);
        }
    }
    devices
}

/// What the machine did besides.
const CPU: &str =
    "user_percent nice_percent system_percent iowait_percent steal_percent idle_percent runnable";
const MEMORY: &str = "available_bytes cached_bytes dirty_bytes writeback_bytes";

/// A row for each sample and device; where there is no device, one for the machine alone.
fn samples(record: &Record) -> ExportTable {
    let headings = format!("phase index until_s device {ACTIVITY} {LOAD} {CPU} {MEMORY}");
    let mut samples = table("samples", &headings);
    for phase in &record.phases {
        for sample in &phase.samples {
            let until_s = TableCell::Number(sample.at_ns as f64 / 1e9);
            let place = [TableCell::text(&phase.name), TableCell::Whole(phase.index as u64), until_s];
            let nobody = DeviceActivity { interval_ns: sample.interval_ns, ..DeviceActivity::default() };
            let alone = sample.devices.is_empty().then_some(&nobody);
            for did in sample.devices.iter().chain(alone) {
                let mut row = place.to_vec();
                row.push(TableCell::text(&did.device));
                row.extend(activity(did));
                row.extend(fields(sample.cpu.as_ref(), CPU));
                row.extend(fields(sample.memory.as_ref(), MEMORY));
                samples.rows.push(row);
            }
        }
    }
    samples
}

fn targets(context: &Context) -> ExportTable {
    let headings = "target path file_system mount_point mount_options device model size_bytes rotational \
                    scheduler write_cache";
    let mut targets = table("targets", headings);
    let all = context.started.iter().flat_map(|started| &started.targets);
    targets.rows.extend(all.map(|facts| fields(Some(facts), headings)));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{CpuShares, Line, Sample, Verb, WorkerRecord};

    #[test]
    fn every_row_is_as_long_as_its_headings() {
        let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
        let mut line = Line { operations: 3, ..Line::empty("read", Verb::Read) };
        [100, 200, 300].into_iter().for_each(|ns| line.latency.add(ns));
        job.tally.lines.push(line);
        job.tally.series.rows = vec![Default::default(); 2];
        (job.tally.series.interval_ns, job.tally.last_done_ns) = (1_000_000_000, 1_250_000_000);
        job.workers.push(WorkerRecord::default());
        job.tally.errors.push(iodyno_model::ErrorCount {
            verb: Verb::Read,
            errno: 5,
            count: 1,
            first_offset: 0,
            first_target: 0,
        });
        let sample = |devices| Sample { devices, cpu: Some(CpuShares::default()), ..Sample::default() };
        let phase = PhaseRecord {
            jobs: vec![job],
            sightings: vec![Sighting::Device(DeviceActivity::default())],
            samples: vec![sample(vec![]), sample(vec![DeviceActivity::default(); 2])],
            ..PhaseRecord::default()
        };
        let record = Record { phases: vec![phase], ..Record::default() };
        let tables = tables(&record, &Context::default());
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.headings.len()), "{}", table.name);
        }
        let rows =
            |name: &str| tables.iter().find(|table| table.name == name).map_or(0, |table| table.rows.len());
        assert_eq!([rows("series"), rows("samples"), rows("latencies"), rows("errors")], [2, 3, 3, 1]);
        let series = tables.iter().find(|table| table.name == "series").unwrap();
        assert_eq!(series.rows[1][3], TableCell::Number(1.25), "the last row ends with the job");
        let results = tables.iter().find(|table| table.name == "results").unwrap();
        let cell = |heading: &str| {
            &results.rows[0][results.headings.iter().position(|name| name == heading).unwrap()]
        };
        assert_eq!((cell("operations"), cell("verb")), (&TableCell::Whole(3), &TableCell::text("read")));
    }
}
