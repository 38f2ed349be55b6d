//! The record as JSON, `iodyno.record/1`: everything the run knew, with rates and percentiles worked out.
//!
//! Its own structs, so that a change of the model is no accidental change of the format; described in `docs/json.md`.
//! What cannot be told is `null`. Fields are only ever added; a change of meaning is a new version.

use std::io;

use iodyno_model::{
    AgingRecord, CacheShare, Coordinate, DemandRecord, Diagnostic, ErrorCount, Event, Finding, Histogram,
    JobRecord, Line, Machine, PhaseRecord, Plan, Record, RoundsRecord, Sample, Series, Sighting, TargetFacts,
    WearOut, WorkerRecord, WorldFacts, histogram,
};
use iodyno_truth::passes::{self, Passes, Together, passes};
use iodyno_truth::stability::{Stability, stability};
use serde::Serialize;

use crate::number;
use crate::shape::{self, Context};
use crate::{Output, Reporter};

/// The format's name and version.
pub const SCHEMA: &str = "iodyno.record/1";

/// Percentiles that are worked out.
const PERCENTS: [f64; 8] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Writes the JSON report.
#[derive(Default)]
pub struct Json {
    context: Context,
}

impl Json {
    /// A JSON reporter.
    pub fn new() -> Self {
        Json::default()
    }

    fn record(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let started = self.context.started.as_deref();
        let document = Document {
            schema: SCHEMA,
            name: &record.name,
            seed: record.seed,
            completed: record.stopped_by.is_none(),
            stopped_by: record.stopped_by,
            started_at_unix_ns: started.map(|started| started.at_unix_ns),
            machine: &record.machine,
            world: world(&record.world),
            targets: started.map_or(&[], |started| &started.targets),
            plan: started.map(|started| &started.plan),
            phases: record.phases.iter().map(|phase| self.phase(phase)).collect(),
            findings: &record.findings,
            aging: &record.aging,
            demands: &record.demands,
            rounds: record.rounds.as_ref(),
            medians: passes(record).iter().filter(|passes| passes.is_several()).flat_map(medians).collect(),
            errors: &record.errors,
        };
        serde_json::to_writer_pretty(&mut *output.out, &document)?;
        writeln!(output.out)
    }

    fn phase<'a>(&self, phase: &'a PhaseRecord) -> Phase<'a> {
        Phase {
            name: &phase.name,
            index: phase.index,
            repetition: phase.repetition,
            coordinates: &phase.coordinates,
            elapsed_ns: phase.elapsed_ns,
            jobs: phase.jobs.iter().map(|job| self.job(phase, job)).collect(),
            sightings: &phase.sightings,
            samples: &phase.samples,
            cache: phase.cache.as_ref(),
        }
    }

    fn job<'a>(&self, phase: &PhaseRecord, job: &'a JobRecord) -> Job<'a> {
        let shape = self.context.shape(phase, job);
        Job {
            name: &job.name,
            engine: &job.engine,
            engine_facts: &job.engine_facts,
            worn: job.worn,
            peer: &job.peer,
            comparable: Comparable {
                io_bytes: shape.io_bytes,
                io: shape.io,
                span_bytes: shape.span_bytes,
                mix: shape.mix,
                pattern: shape.pattern,
                depth: shape.depth,
                workers: shape.workers,
                direct: shape.direct,
            },
            measured_ns: (shape::seconds(phase, job) * 1e9).round() as u64,
            lines: job.tally.lines.iter().map(|line| label(phase, job, line)).collect(),
            errors: &job.tally.errors,
            depths: &job.tally.depths,
            depth_mean: depth_mean(&job.tally.depths),
            began_ns: job.tally.began_ns,
            first_done_ns: job.tally.first_done_ns,
            last_done_ns: job.tally.last_done_ns,
            waits: job.tally.waits,
            series: &job.tally.series,
            stability: stability(job).as_ref().map(stable),
            workers: &job.workers,
        }
    }
}

impl Reporter for Json {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Ended(record) => self.record(record, output),
            _ => Ok(()),
        }
    }
}

/// How stable a job was over a long time.
#[derive(Serialize)]
struct Stable {
    row_ns: u64,
    median_operations_per_second: f64,
    least_operations_per_second: f64,
    least_at_ns: u64,
    longest_ns: u64,
    longest_at_ns: u64,
    tail: Option<StableTail>,
    spikes: usize,
    spikes_from_ns: u64,
    spikes_apart_ns: Option<u64>,
    warm_up_ns: u64,
}

/// p99.9 over time.
#[derive(Serialize)]
struct StableTail {
    window_ns: u64,
    p999_ns: Vec<u64>,
    median_ns: u64,
    most_ns: u64,
    most_at_ns: u64,
}

fn stable(found: &Stability) -> Stable {
    let tail = found.tail.as_ref().map(|tail| StableTail {
        window_ns: tail.window_ns,
        p999_ns: tail.each_ns.clone(),
        median_ns: tail.middle_ns,
        most_ns: tail.worst_ns,
        most_at_ns: tail.worst_at_ns,
    });
    Stable {
        row_ns: found.row_ns,
        median_operations_per_second: found.middle_rate,
        least_operations_per_second: found.worst_rate,
        least_at_ns: found.worst_at_ns,
        longest_ns: found.longest_ns,
        longest_at_ns: found.longest_at_ns,
        tail,
        spikes: found.spikes.count,
        spikes_from_ns: found.spikes.beyond_ns,
        spikes_apart_ns: found.spikes.period_ns,
        warm_up_ns: found.warm_up_ns,
    }
}

/// The mean of a depth histogram whose index is the depth; `None` when nothing was counted.
pub fn depth_mean(depths: &[u64]) -> Option<f64> {
    let count: u64 = depths.iter().sum();
    let sum: f64 = depths.iter().enumerate().map(|(depth, count)| depth as f64 * *count as f64).sum();
    (count > 0).then(|| sum / count as f64)
}

fn label<'a>(phase: &PhaseRecord, job: &JobRecord, line: &'a Line) -> Label<'a> {
    Label {
        label: &line.label,
        verb: line.verb.name(),
        operations: line.operations,
        bytes: line.bytes,
        short: line.short,
        failed: line.failed,
        untimed: line.untimed,
        operations_per_second: shape::per_second(line.operations, phase, job),
        bytes_per_second: shape::per_second(line.bytes, phase, job),
        latency: latency(&line.latency),
        service: line.service.as_ref().and_then(latency),
    }
}

fn world(facts: &WorldFacts) -> World<'_> {
    World {
        ranks: facts.ranks(),
        hosts: &facts.hosts,
        nodes: &facts.nodes,
        library: facts.library.as_deref(),
        clock_error_ns: facts.clock_error_ns,
        lost: &facts.lost,
    }
}

fn latency(histogram: &Histogram) -> Option<Latency> {
    if histogram.is_empty() {
        return None;
    }
    let percentile = |percent: &f64| Percentile {
        percent: *percent,
        ns: number::percentile(histogram, *percent),
        samples_beyond: histogram.beyond(*percent),
    };
    let bucket = |(bucket, count): &(u32, u64)| {
        [histogram::lower_edge(*bucket as usize), histogram::upper_edge(*bucket as usize), *count]
    };
    Some(Latency {
        count: histogram.count(),
        mean_ns: histogram.mean(),
        deviation_ns: histogram.deviation(),
        min_ns: histogram.min,
        max_ns: histogram.max,
        percentiles: PERCENTS.iter().map(percentile).collect(),
        buckets: histogram.buckets().iter().map(bucket).collect(),
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    name: &'a str,
    seed: u64,
    completed: bool,
    stopped_by: Option<i32>,
    started_at_unix_ns: Option<u64>,
    machine: &'a Machine,
    world: World<'a>,
    targets: &'a [TargetFacts],
    plan: Option<&'a Plan>,
    phases: Vec<Phase<'a>>,
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "<[AgingRecord]>::is_empty")]
    aging: &'a [AgingRecord],
    demands: &'a [DemandRecord],
    rounds: Option<&'a RoundsRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    medians: Vec<Median<'a>>,
    errors: &'a [Diagnostic],
}

/// What the passes of a job came to together, of one label.
#[derive(Serialize)]
struct Median<'a> {
    phase: &'a str,
    coordinates: &'a [Coordinate],
    job: &'a str,
    label: String,
    verb: &'static str,
    /// Passes that are the result.
    passes: usize,
    /// Passes that were made.
    made: usize,
    operations: u64,
    failed: u64,
    operations_per_second: Spread,
    bytes_per_second: Option<Spread>,
    latency_ns_mean: Option<Spread>,
    latency: Option<Latency>,
}

/// A figure of several passes.
#[derive(Serialize)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
    range_percent: Option<f64>,
}

fn spread(found: passes::Spread) -> Spread {
    let passes::Spread { median, least, most } = found;
    Spread { median, least, most, range_percent: found.range_percent() }
}

fn medians<'a>(of: &Passes<'a>) -> Vec<Median<'a>> {
    let (phase, job) = of.result[0];
    let median = |found: Together| Median {
        phase: &phase.name,
        coordinates: &phase.coordinates,
        job: &job.name,
        verb: found.verb.name(),
        passes: of.result.len(),
        made: of.made,
        operations: found.operations,
        failed: found.failed,
        operations_per_second: spread(found.rate),
        bytes_per_second: found.bytes.map(spread),
        latency_ns_mean: found.mean_ns.map(spread),
        latency: latency(&found.latency),
        label: found.label,
    };
    of.together().into_iter().map(median).collect()
}

#[derive(Serialize)]
struct World<'a> {
    ranks: u32,
    hosts: &'a [String],
    nodes: &'a [u32],
    library: Option<&'a str>,
    clock_error_ns: u64,
    lost: &'a [u32],
}

#[derive(Serialize)]
struct Phase<'a> {
    name: &'a str,
    index: usize,
    repetition: u32,
    coordinates: &'a [Coordinate],
    elapsed_ns: u64,
    jobs: Vec<Job<'a>>,
    sightings: &'a [Sighting],
    #[serde(skip_serializing_if = "<[Sample]>::is_empty")]
    samples: &'a [Sample],
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'a CacheShare>,
}

#[derive(Serialize)]
struct Job<'a> {
    name: &'a str,
    engine: &'a str,
    engine_facts: &'a [(String, String)],
    #[serde(skip_serializing_if = "Option::is_none")]
    worn: Option<WearOut>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    peer: &'a [(String, u64)],
    comparable: Comparable,
    measured_ns: u64,
    lines: Vec<Label<'a>>,
    errors: &'a [ErrorCount],
    depths: &'a [u64],
    depth_mean: Option<f64>,
    began_ns: u64,
    first_done_ns: u64,
    last_done_ns: u64,
    waits: u64,
    series: &'a Series,
    stability: Option<Stable>,
    workers: &'a [WorkerRecord],
}

#[derive(Serialize)]
struct Comparable {
    io_bytes: Option<u64>,
    io: String,
    span_bytes: Option<u64>,
    mix: String,
    pattern: String,
    depth: u32,
    workers: u32,
    direct: Option<bool>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize)]
struct Label<'a> {
    label: &'a str,
    verb: &'static str,
    operations: u64,
    bytes: u64,
    short: u64,
    failed: u64,
    /// Counted in `latency` as the timed one before them.
    #[serde(skip_serializing_if = "is_none")]
    untimed: u64,
    operations_per_second: f64,
    bytes_per_second: f64,
    latency: Option<Latency>,
    service: Option<Latency>,
}

#[derive(Serialize)]
struct Latency {
    count: u64,
    mean_ns: f64,
    deviation_ns: f64,
    min_ns: u64,
    max_ns: u64,
    percentiles: Vec<Percentile>,
    buckets: Vec<[u64; 3]>,
}

#[derive(Serialize)]
struct Percentile {
    percent: f64,
    ns: Option<u64>,
    samples_beyond: u64,
}
