//! The record as JSON, `iodyno.record/1`: everything the run knew, with rates and percentiles worked out.
//!
//! The format is [`iodyno_model::document`]'s; here it is filled in. Described in `docs/json.md`, and for programs in
//! `docs/schema/record-1.schema.json` ([`schema`]).

use std::io;

use iodyno_model::document::{
    ComparableDocument, JobDocument, LatencyDocument, LineDocument, MedianDocument, PercentileDocument,
    PhaseDocument, RecordDocument, SCHEMA, SpreadDocument, StabilityDocument, TailDocument, WorldDocument,
};
use iodyno_model::{Event, Histogram, JobRecord, Line, PhaseRecord, Record, WorldFacts, histogram};
use iodyno_truth::passes::{self, Passes, Together, passes};
use iodyno_truth::replay::judge;
use iodyno_truth::stability::{Stability, stability};

use crate::number;
use crate::shape::{self, Context};
use crate::{Output, Reporter};

pub use crate::schema::{published, schema};
pub use crate::schema_check::follows;

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
        let document = RecordDocument {
            schema: SCHEMA.into(),
            name: record.name.clone(),
            seed: record.seed,
            completed: record.stopped_by.is_none(),
            stopped_by: record.stopped_by,
            started_at_unix_ns: started.map(|started| started.at_unix_ns),
            machine: record.machine.clone(),
            world: world(&record.world),
            targets: started.map_or(Vec::new(), |started| started.targets.clone()),
            plan: started.map(|started| started.plan.clone()),
            phases: record.phases.iter().map(|phase| self.phase(phase)).collect(),
            findings: record.findings.clone(),
            aging: record.aging.clone(),
            demands: record.demands.clone(),
            rounds: record.rounds.clone(),
            idleness: record.idleness.clone(),
            medians: passes(record).iter().filter(|passes| passes.is_several()).flat_map(medians).collect(),
            errors: record.errors.clone(),
        };
        serde_json::to_writer_pretty(&mut *output.out, &document)?;
        writeln!(output.out)
    }

    fn phase(&self, phase: &PhaseRecord) -> PhaseDocument {
        PhaseDocument {
            name: phase.name.clone(),
            index: phase.index,
            repetition: phase.repetition,
            coordinates: phase.coordinates.clone(),
            elapsed_ns: phase.elapsed_ns,
            jobs: phase.jobs.iter().map(|job| self.job(phase, job)).collect(),
            sightings: phase.sightings.clone(),
            samples: phase.samples.clone(),
            cache: phase.cache.clone(),
            parts: phase.parts.clone(),
        }
    }

    fn job(&self, phase: &PhaseRecord, job: &JobRecord) -> JobDocument {
        let shape = self.context.shape(phase, job);
        JobDocument {
            name: job.name.clone(),
            engine: job.engine.clone(),
            engine_facts: job.engine_facts.clone(),
            engine_traits: job.engine_traits.clone(),
            worn: job.worn,
            peer: job.peer.clone(),
            replay_verdict: job.replay.as_ref().map(|replay| judge(replay).verdict.name().into()),
            replay: job.replay.clone(),
            comparable: ComparableDocument {
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
            errors: job.tally.errors.clone(),
            depths: job.tally.depths.clone(),
            depth_mean: depth_mean(&job.tally.depths),
            began_ns: job.tally.began_ns,
            first_done_ns: job.tally.first_done_ns,
            last_done_ns: job.tally.last_done_ns,
            waits: job.tally.waits,
            series: job.tally.series.clone(),
            stability: stability(job).as_ref().map(stable),
            workers: job.workers.clone(),
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

fn stable(found: &Stability) -> StabilityDocument {
    let tail = found.tail.as_ref().map(|tail| TailDocument {
        window_ns: tail.window_ns,
        p999_ns: tail.each_ns.clone(),
        median_ns: tail.middle_ns,
        most_ns: tail.worst_ns,
        most_at_ns: tail.worst_at_ns,
    });
    StabilityDocument {
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

fn label(phase: &PhaseRecord, job: &JobRecord, line: &Line) -> LineDocument {
    LineDocument {
        label: line.label.clone(),
        verb: line.verb.name().into(),
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

fn world(facts: &WorldFacts) -> WorldDocument {
    WorldDocument {
        ranks: facts.ranks(),
        hosts: facts.hosts.clone(),
        nodes: facts.nodes.clone(),
        library: facts.library.clone(),
        clock_error_ns: facts.clock_error_ns,
        lost: facts.lost.clone(),
    }
}

fn latency(histogram: &Histogram) -> Option<LatencyDocument> {
    if histogram.is_empty() {
        return None;
    }
    let percentile = |percent: &f64| PercentileDocument {
        percent: *percent,
        ns: number::percentile(histogram, *percent),
        samples_beyond: histogram.beyond(*percent),
    };
    let bucket = |(bucket, count): &(u32, u64)| {
        [histogram::lower_edge(*bucket as usize), histogram::upper_edge(*bucket as usize), *count]
    };
    Some(LatencyDocument {
        count: histogram.count(),
        mean_ns: histogram.mean(),
        deviation_ns: histogram.deviation(),
        min_ns: histogram.min,
        max_ns: histogram.max,
        percentiles: PERCENTS.iter().map(percentile).collect(),
        buckets: histogram.buckets().iter().map(bucket).collect(),
    })
}

fn spread(found: passes::Spread) -> SpreadDocument {
    let passes::Spread { median, least, most } = found;
    SpreadDocument { median, least, most, range_percent: found.range_percent() }
}

fn medians(of: &Passes<'_>) -> Vec<MedianDocument> {
    let (phase, job) = of.result[0];
    let median = |found: Together| MedianDocument {
        phase: phase.name.clone(),
        coordinates: phase.coordinates.clone(),
        job: job.name.clone(),
        verb: found.verb.name().into(),
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
