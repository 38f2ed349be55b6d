//! What a time span came to: by thread and target, and in all.

use iodyno_model::{Histogram, JobRecord, PhaseRecord, Series, Sighting, Tally, Verb};

use super::super::settings::TimeSpan;

/// Reads, writes or both.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    pub operations: u64,
    pub bytes: u64,
    pub latency: Histogram,
    /// Operations in each interval of the series.
    pub buckets: Vec<u64>,
}

impl Transfers {
    fn add(&mut self, other: &Transfers) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, more)| *mine += more);
    }

    /// Standard deviation of the rate among the whole intervals, operations per second.
    pub fn deviation(&self, bucket_ms: u64) -> f64 {
        let rates: Vec<f64> =
            self.buckets.iter().map(|count| *count as f64 * 1000.0 / bucket_ms.max(1) as f64).collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
        (squares / rates.len().max(1) as f64).sqrt()
    }
}

/// What a thread did with a target.
#[derive(Clone, Debug, Default)]
pub struct ThreadFigures {
    pub thread: u32,
    /// By index in the span.
    pub target: usize,
    pub read: Transfers,
    pub write: Transfers,
}

impl ThreadFigures {
    pub fn both(&self) -> Transfers {
        let mut both = self.read.clone();
        both.add(&self.write);
        both
    }
}

/// A time span.
#[derive(Clone, Debug, Default)]
pub struct SpanFigures {
    /// By index in the profile.
    pub number: usize,
    /// Measured, s.
    pub seconds: f64,
    pub threads: Vec<ThreadFigures>,
    pub read: Transfers,
    pub write: Transfers,
    pub both: Transfers,
    /// User and kernel, percent of all processors; none: nobody looked.
    pub cpu: Option<(f64, f64)>,
    pub cpus: u32,
}

impl SpanFigures {
    /// A phase as a time span.
    pub fn of(phase: &PhaseRecord, span: &TimeSpan, number: usize, cpus: u32) -> SpanFigures {
        let mut figures = SpanFigures { number, cpus, ..SpanFigures::default() };
        let whole = (span.duration_s * 1000 / span.bucket_ms.max(1)) as usize;
        let mut measured_ns = 0;
        for (target, job) in phase.jobs.iter().enumerate().take(span.targets.len()) {
            let (first, _) = span.threads_of(target);
            measured_ns = measured_ns.max(job.tally.last_done_ns.saturating_sub(job.tally.began_ns));
            figures.threads.extend(threads(job, target, first, whole));
        }
        figures.threads.sort_by_key(|row| (row.thread, row.target));
        for row in &figures.threads {
            figures.read.add(&row.read);
            figures.write.add(&row.write);
            figures.both.add(&row.both());
        }
        figures.seconds = measured_ns as f64 / 1e9;
        figures.cpu = phase.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Cpu { user_percent, system_percent, .. } => Some((*user_percent, *system_percent)),
            _ => None,
        });
        figures
    }

    /// A count for each second.
    pub fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }
}

fn threads(job: &JobRecord, target: usize, first: u32, whole: usize) -> Vec<ThreadFigures> {
    let row = |thread: u32, tally: &Tally| ThreadFigures {
        thread,
        target,
        read: transfers(tally, Verb::Read, whole),
        write: transfers(tally, Verb::Write, whole),
    };
    let each =
        job.workers.iter().filter_map(|worker| Some(row(first + worker.index, worker.tally.as_deref()?)));
    let each: Vec<ThreadFigures> = each.collect();
    if each.is_empty() { vec![row(first, &job.tally)] } else { each }
}

fn transfers(tally: &Tally, verb: Verb, whole: usize) -> Transfers {
    let mut sum = Transfers { buckets: buckets(&tally.series, verb, whole), ..Transfers::default() };
    for line in tally.lines.iter().filter(|line| line.verb == verb) {
        sum.operations += line.operations;
        sum.bytes += line.bytes;
        sum.latency.merge(&line.latency);
    }
    sum
}

/// The last whole intervals: a warm-up comes before them.
fn buckets(series: &Series, verb: Verb, whole: usize) -> Vec<u64> {
    let count = |row: &iodyno_model::SeriesRow| if verb == Verb::Read { row.reads } else { row.writes };
    series.rows.iter().take(whole.max(1)).map(count).collect()
}
