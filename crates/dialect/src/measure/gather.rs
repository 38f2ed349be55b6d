//! From phase records to the card's figures: medians over passes, with their range and the best.
//!
//! Only figures; how they are written is in [`super::text`]. A figure that was not measured is `None`, never 0.

use iodyno_model::{Histogram, JobRecord, Kind, PhaseRecord, Sighting, Value, Verb};
use iodyno_report::number::Repeats;
use iodyno_report::shape;

use super::cells::{APPEND, DEPTH};

/// One cell of the card in one direction.
#[derive(Clone, Debug, Default)]
pub struct CellFigures {
    /// Operations per second, one for each pass.
    pub iops: Repeats,
    /// Bytes per second, one for each pass.
    pub bytes: Repeats,
    /// Mean latency, one for each pass.
    pub mean_ns: Repeats,
    /// All latencies of all passes.
    pub latency: Histogram,
}

/// One point of the queue-depth sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// I/Os in flight.
    pub depth: u64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes: f64,
    pub latency: Histogram,
    /// Share of the time in which the device had something to do, where the kernel tells.
    pub busy_percent: Option<f64>,
}

/// The appends: both parts of one, and what they come to.
#[derive(Clone, Debug)]
pub struct Appends {
    /// Appends, each with its fsync.
    pub both: CellFigures,
    /// Mean time of write and fsync together, one for each pass.
    pub mean_ns: Repeats,
    /// Mean time of the fsync alone, one for each pass.
    pub sync_ns: Repeats,
    /// All fsyncs.
    pub sync: Histogram,
}

/// The jobs of all phases of a name.
pub fn jobs<'a>(
    phases: &'a [PhaseRecord],
    name: &'a str,
) -> impl Iterator<Item = (&'a PhaseRecord, &'a JobRecord)> {
    phases
        .iter()
        .filter(move |phase| phase.name == name)
        .flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
}

/// The figures of one kind of verb in all phases of a name; `None` where nothing was done.
pub fn figures(phases: &[PhaseRecord], name: &str, kind: Kind) -> Option<CellFigures> {
    let done: Vec<_> = jobs(phases, name).filter(|(_, job)| job.tally.operations(kind) > 0).collect();
    if done.is_empty() {
        return None;
    }
    let mut latency = Histogram::default();
    done.iter().for_each(|(_, job)| latency.merge(&job.tally.latency(kind)));
    let each = |figure: &dyn Fn(&PhaseRecord, &JobRecord) -> f64| {
        Repeats::of(done.iter().map(|(p, j)| figure(p, j)))
    };
    Some(CellFigures {
        iops: each(&|phase, job| shape::per_second(job.tally.operations(kind), phase, job)),
        bytes: each(&|phase, job| shape::per_second(job.tally.bytes(kind), phase, job)),
        mean_ns: each(&|_, job| job.tally.latency(kind).mean()),
        latency,
    })
}

/// Reads and writes of the mix, and their sum per second.
pub fn mix(phases: &[PhaseRecord], name: &str) -> Option<(CellFigures, CellFigures, Repeats)> {
    let sum =
        |(phase, job): (&PhaseRecord, &JobRecord)| shape::per_second(job.tally.all_operations(), phase, job);
    let total = Repeats::of(jobs(phases, name).map(sum).filter(|rate| *rate > 0.0));
    Some((figures(phases, name, Kind::Read)?, figures(phases, name, Kind::Write)?, total))
}

/// The appends that were made durable one by one.
pub fn appends(phases: &[PhaseRecord]) -> Option<Appends> {
    let both = figures(phases, APPEND, Kind::Write)?;
    let mut sync = Histogram::default();
    jobs(phases, APPEND).for_each(|(_, job)| sync.merge(&job.tally.latency(Kind::Sync)));
    let each = |mean: &dyn Fn(&JobRecord) -> f64| {
        Repeats::of(jobs(phases, APPEND).map(|(_, job)| mean(job)).filter(|ns| *ns > 0.0))
    };
    let sync_mean = |job: &JobRecord| job.tally.latency(Kind::Sync).mean();
    let mean_ns = each(&|job| job.tally.latency(Kind::Write).mean() + sync_mean(job));
    Some(Appends { both, mean_ns, sync_ns: each(&sync_mean), sync })
}

/// The sweep's points, by depth.
pub fn points(phases: &[PhaseRecord]) -> Vec<Point> {
    let mut points: Vec<Point> =
        phases.iter().filter(|phase| phase.name == DEPTH).filter_map(point).collect();
    points.sort_by_key(|point| point.depth);
    points
}

fn point(phase: &PhaseRecord) -> Option<Point> {
    let Some(Value::Number(depth)) = phase.coordinates.first().map(|place| place.value.clone()) else {
        return None;
    };
    let job = phase.jobs.first().filter(|job| job.tally.operations(Kind::Read) > 0)?;
    Some(Point {
        depth,
        iops: shape::per_second(job.tally.operations(Kind::Read), phase, job),
        bytes: shape::per_second(job.tally.bytes(Kind::Read), phase, job),
        latency: job.tally.latency(Kind::Read),
        busy_percent: busy(phase),
    })
}

/// How busy the device was: told only where one device was watched and did something.
fn busy(phase: &PhaseRecord) -> Option<f64> {
    let mut devices = phase.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::Device(device) => Some(device),
        _ => None,
    });
    let device = devices.next().filter(|device| device.interval_ns > 0 && device.reads > 0)?;
    if devices.next().is_some() {
        return None;
    }
    Some((device.busy_ns as f64 / device.interval_ns as f64 * 100.0).min(100.0))
}

/// One metadata verb in the phase of a name: operations, operations per second, and latencies.
pub fn metadata(phases: &[PhaseRecord], name: &str, verb: Verb) -> Option<(u64, f64, Histogram)> {
    let (phase, job) = jobs(phases, name).next()?;
    let line = job.tally.lines.iter().find(|line| line.verb == verb && line.operations > 0)?;
    Some((line.operations, shape::per_second(line.operations, phase, job), line.latency.clone()))
}
