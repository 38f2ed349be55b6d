//! What happened in each interval of a running phase: rates and latencies of every job, from counters that only grow.

use iodyno_model::{Histogram, Live, LiveJob};

/// One interval of one job, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalRates {
    pub read_bytes_per_second: f64,
    pub write_bytes_per_second: f64,
    pub reads_per_second: f64,
    pub writes_per_second: f64,
    /// All other operations per second.
    pub others_per_second: f64,
    /// Median latency, ns; 0: nothing completed.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// Largest latency (the upper end of its bucket's middle), ns.
    pub max_ns: u64,
}

impl IntervalRates {
    pub fn operations_per_second(&self) -> f64 {
        self.reads_per_second + self.writes_per_second + self.others_per_second
    }
}

#[derive(Debug, Default)]
pub struct JobHistory {
    pub name: String,
    pub running: u32,
    /// Failed operations so far.
    pub errors: u64,
    intervals: Vec<IntervalRates>,
    before: LiveJob,
}

impl JobHistory {
    /// Oldest first.
    pub fn intervals(&self) -> &[IntervalRates] {
        &self.intervals
    }

    pub fn last(&self) -> IntervalRates {
        self.intervals.last().copied().unwrap_or_default()
    }
}

/// All jobs of the running phase.
#[derive(Debug)]
pub struct History {
    most: usize,
    elapsed_ns: u64,
    jobs: Vec<JobHistory>,
    all: Vec<IntervalRates>,
    latency_before: Histogram,
}

impl History {
    /// Keeps so many intervals.
    pub fn new(most: usize) -> Self {
        let latency_before = Histogram::default();
        History { most, elapsed_ns: 0, jobs: Vec::new(), all: Vec::new(), latency_before }
    }

    /// A new phase: its counters begin at nothing, the curves go on.
    pub fn begin(&mut self) {
        self.elapsed_ns = 0;
        self.jobs.clear();
        self.latency_before = Histogram::default();
    }

    /// Measured time of the phase, ns.
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    pub fn jobs(&self) -> &[JobHistory] {
        &self.jobs
    }

    /// All jobs together, oldest interval first.
    pub fn all(&self) -> &[IntervalRates] {
        &self.all
    }

    /// Adds the interval since the last event.
    pub fn add(&mut self, live: &Live) {
        let seconds = live.elapsed_ns.saturating_sub(self.elapsed_ns) as f64 / 1e9;
        self.elapsed_ns = live.elapsed_ns;
        if seconds <= 0.0 {
            return;
        }
        self.jobs.resize_with(live.jobs.len(), JobHistory::default);
        let mut total = IntervalRates::default();
        let mut latency = Histogram::default();
        for (history, job) in self.jobs.iter_mut().zip(&live.jobs) {
            let now = latency_of(job);
            let figures = interval(job, &history.before, &now, seconds);
            latency.merge(&now);
            total.read_bytes_per_second += figures.read_bytes_per_second;
            total.write_bytes_per_second += figures.write_bytes_per_second;
            total.reads_per_second += figures.reads_per_second;
            total.writes_per_second += figures.writes_per_second;
            total.others_per_second += figures.others_per_second;
            push(&mut history.intervals, figures, self.most);
            (history.running, history.errors) = (job.running, job.errors);
            history.name.clone_from(&job.name);
            history.before = job.clone();
        }
        (total.p50_ns, total.p99_ns, total.max_ns) = percentiles(&latency, &self.latency_before);
        self.latency_before = latency;
        push(&mut self.all, total, self.most);
    }
}

fn push(intervals: &mut Vec<IntervalRates>, figures: IntervalRates, most: usize) {
    if intervals.len() >= most {
        intervals.remove(0);
    }
    intervals.push(figures);
}

fn latency_of(job: &LiveJob) -> Histogram {
    let mut all = job.latency.read.clone();
    all.merge(&job.latency.write);
    all.merge(&job.latency.trim);
    all
}

fn interval(job: &LiveJob, before: &LiveJob, latency: &Histogram, seconds: f64) -> IntervalRates {
    let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
    let others = |job: &LiveJob| job.operations.saturating_sub(job.reads.0 + job.writes.0);
    let (p50_ns, p99_ns, max_ns) = percentiles(latency, &latency_of(before));
    IntervalRates {
        read_bytes_per_second: per_second(job.read_bytes, before.read_bytes),
        write_bytes_per_second: per_second(job.write_bytes, before.write_bytes),
        reads_per_second: per_second(job.reads.0, before.reads.0),
        writes_per_second: per_second(job.writes.0, before.writes.0),
        others_per_second: per_second(others(job), others(before)),
        p50_ns,
        p99_ns,
        max_ns,
    }
}

/// Median, 99th percentile and largest of what came between two states of a histogram that grows.
fn percentiles(now: &Histogram, before: &Histogram) -> (u64, u64, u64) {
    let mut counts: Vec<(u32, u64)> = Vec::with_capacity(now.buckets().len());
    let mut old = before.buckets().iter().peekable();
    for (bucket, count) in now.buckets() {
        while old.next_if(|(other, _)| other < bucket).is_some() {}
        let then = old.next_if(|(other, _)| other == bucket).map_or(0, |(_, count)| *count);
        counts.push((*bucket, count.saturating_sub(then)));
    }
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let at = |share: f64| {
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let found = counts.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map_or(0, |(bucket, _)| iodyno_model::histogram::middle(*bucket as usize))
    };
    if total == 0 { (0, 0, 0) } else { (at(0.5), at(0.99), at(1.0)) }
}

/// The newest intervals as a row of eighth blocks, scaled to the largest.
pub fn spark(intervals: &[IntervalRates], columns: usize, value: fn(&IntervalRates) -> f64) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &intervals[intervals.len().saturating_sub(columns)..];
    let most = shown.iter().map(value).fold(0.0, f64::max);
    let block = |share: f64| BLOCKS[((share * 8.0) as usize).min(7)];
    let one = |figures: &IntervalRates| match most > 0.0 {
        true => block(value(figures) / most),
        false => ' ',
    };
    shown.iter().map(one).collect()
}
