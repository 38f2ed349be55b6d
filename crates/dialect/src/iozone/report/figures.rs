//! What a pass came to: of each stream, and of all of them.
//!
//! A stream's rate is its own bytes by its own time, busy computing left out unless it was asked to count.

use iodyno_model::{PhaseRecord, WorkerRecord};

use crate::iozone::lower::Pass;
use crate::iozone::settings::{Settings, Unit};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamFigures {
    /// Bytes moved.
    pub bytes: u64,
    pub operations: u64,
    /// Its own time, s.
    pub seconds: f64,
    /// From its begin to its end, s.
    pub wall_s: f64,
    /// Processor time, s.
    pub cpu_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassFigures {
    /// Each stream, by number.
    pub streams: Vec<StreamFigures>,
    /// From the start line to the last end, s.
    pub elapsed_s: f64,
}

impl PassFigures {
    /// Of a finished phase.
    pub fn of(phase: &PhaseRecord, settings: &Settings, part: Pass) -> Self {
        let idle_ns = if settings.has("+J") { 0 } else { settings.compute_ns(part.access) };
        let between = settings.is_between(part.access);
        let workers = phase.jobs.iter().flat_map(|job| &job.workers);
        let of = |worker| if between { busy(worker) } else { stream(worker, idle_ns) };
        let mut streams: Vec<StreamFigures> = workers.map(of).collect();
        if part.access == super::Access::Mixed && phase.jobs.len() == 2 {
            streams = dealt(settings, part, phase, streams);
        }
        PassFigures { streams, elapsed_s: phase.elapsed_ns as f64 / 1e9 }
    }

    /// The sum of what each stream moved in its own time, in a unit.
    pub fn children(&self, unit: Unit) -> f64 {
        self.streams.iter().map(|stream| stream.rate(unit)).sum()
    }

    /// What all moved by the whole time.
    pub fn parent(&self, unit: Unit) -> f64 {
        let sum = |what: fn(&StreamFigures) -> u64| self.streams.iter().map(what).sum::<u64>() as f64;
        let amount = match unit {
            Unit::Kilobytes => sum(|stream| stream.bytes) / 1024.0,
            _ => sum(|stream| stream.operations),
        };
        per(amount, self.elapsed_s)
    }

    /// Wall time, processor time and utilization in percent.
    pub fn cpu(&self) -> (f64, f64, f64) {
        let wall = self.streams.iter().map(|stream| stream.wall_s).fold(0.0, f64::max);
        let cpu = self.streams.iter().map(|stream| stream.cpu_s).sum();
        (wall, cpu, per(cpu, wall) * 100.0)
    }

    /// The figure of a single stream in a table: whole, but of µs two decimals.
    pub fn cell(&self, unit: Unit) -> String {
        match (self.streams.first(), unit) {
            (None, _) => String::new(),
            (Some(stream), Unit::Microseconds) => format!("{:.2}", stream.rate(unit)),
            (Some(stream), _) => format!("{:.0}", stream.rate(unit).trunc()),
        }
    }
}

impl StreamFigures {
    /// Its rate, or its time for an operation.
    pub fn rate(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Kilobytes => per(self.bytes as f64 / 1024.0, self.seconds),
            Unit::Operations => per(self.operations as f64, self.seconds),
            Unit::Microseconds => per(self.seconds * 1e6, self.operations as f64),
        }
    }

    /// What it moved, in kB or operations.
    pub fn amount(&self, unit: Unit) -> f64 {
        if unit == Unit::Kilobytes { self.bytes as f64 / 1024.0 } else { self.operations as f64 }
    }
}

/// 0 of nothing: a stream that was stopped before it began moved nothing, in no time.
fn per(amount: f64, by: f64) -> f64 {
    if by > 0.0 { amount / by } else { 0.0 }
}

fn stream(worker: &WorkerRecord, idle_ns: u64) -> StreamFigures {
    let closed = worker.closing.map_or(0, |(_, closed)| closed);
    let end_ns = worker.ended_ns.max(closed);
    let wall_ns = end_ns.saturating_sub(worker.began_ns);
    let own_ns = wall_ns.saturating_sub(idle_ns.saturating_mul(worker.operations));
    StreamFigures {
        bytes: worker.bytes,
        operations: worker.operations,
        seconds: own_ns as f64 / 1e9,
        wall_s: wall_ns as f64 / 1e9,
        cpu_s: (worker.user_ns + worker.system_ns) as f64 / 1e9,
    }
}

/// A stream whose operations alone count: what they took, with flushing and closing where those count.
fn busy(worker: &WorkerRecord) -> StreamFigures {
    let lines = worker.tally.iter().flat_map(|tally| &tally.lines);
    let own_ns: f64 = lines.map(|line| line.latency.mean() * line.latency.count() as f64).sum();
    let closing_ns = worker.closing.map_or(0, |(began, closed)| closed.saturating_sub(began));
    StreamFigures { seconds: (own_ns + closing_ns as f64) / 1e9, ..stream(worker, 0) }
}

/// Readers and writers of the mix, back in the order of their streams.
fn dealt(
    settings: &Settings,
    part: Pass,
    phase: &PhaseRecord,
    streams: Vec<StreamFigures>,
) -> Vec<StreamFigures> {
    let readers = phase.jobs.first().map_or(0, |job| job.workers.len());
    let (mut readers, mut writers) = (streams[..readers].iter(), streams[readers..].iter());
    let order = (0..part.streams).map(|number| {
        let reads = crate::iozone::lower::reads(settings, number, part.streams);
        let (own, other) = if reads { (&mut readers, &mut writers) } else { (&mut writers, &mut readers) };
        own.next().or_else(|| other.next()).copied().unwrap_or_default()
    });
    order.collect()
}
