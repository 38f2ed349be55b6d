//! What is reported of one direction: counts, rates, and the three latencies that fio tells apart.

use iodyno_model::{Histogram, Kind, Line, Tally, WorkerRecord};

use super::samples::{self, Samples};
use crate::fio::view::JobView;

/// Everything about reads, writes or trims of one reported job, or about all of them as one.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Bytes moved.
    pub bytes: u64,
    /// The longest that a worker moved any, ms, rounded up; 0: none did.
    pub runtime_ms: u64,
    /// Operations handed over, failed ones too.
    pub issued: u64,
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that moved less than was asked.
    pub short: u64,
    /// Until the kernel had it (`slat`), ns.
    pub submission: Histogram,
    /// From there to the completion (`clat`), ns.
    pub completion: Histogram,
    /// From the start to the completion (`lat`), ns.
    pub latency: Histogram,
    /// From the intended start, where there was one, ns.
    pub intended: Option<Histogram>,
    /// What is counted of each I/O priority: of the completion, or of the whole latency where that is asked for, ns.
    pub priorities: Vec<(Priority, Histogram)>,
    /// Extremes, mean and deviation of the three latencies, where another machine told them.
    pub received: Option<[LatencySpread; 3]>,
    /// Bandwidth, KiB/s.
    pub bandwidth: Samples,
    /// Operations per second.
    pub rate: Samples,
}

/// Class, level and hint of an I/O priority.
pub type Priority = [u16; 3];

/// The priority that a label's operations carried: that behind `prio` in it, or their job's own.
fn priority_of(line: &Line, view: &JobView) -> Priority {
    let told = line.label.split_once(" prio ").map(|(_, text)| text.split('/').map(str::parse));
    let mut numbers = told.into_iter().flatten();
    match [numbers.next(), numbers.next(), numbers.next()] {
        [Some(Ok(class)), Some(Ok(level)), Some(Ok(hint))] => [class, level, hint],
        _ => view.priority,
    }
}

/// The directions in fio's order.
pub const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];

/// The direction under which fio counts a line of a tally.
fn direction_of(line: &Line, view: &JobView) -> Kind {
    use iodyno_model::Verb;
    let engine = &view.engine;
    match (line.verb.kind(), line.verb) {
        (Kind::Network, Verb::Recv) => Kind::Read,
        (Kind::Network, Verb::Send) => Kind::Write,
        (Kind::Metadata, Verb::Truncate | Verb::Fallocate) => Kind::Write,
        // Names have no direction: they are counted under the one that the job says.
        (Kind::Metadata, _) if engine.starts_with("file") || engine.starts_with("dir") => {
            match view.direction {
                "write" | "randwrite" => Kind::Write,
                "trim" | "randtrim" => Kind::Trim,
                _ => Kind::Read,
            }
        }
        (kind, _) => kind,
    }
}

impl Direction {
    /// One worker's part.
    pub fn of(kind: Kind, tally: &Tally, worker: &WorkerRecord, view: &JobView) -> Self {
        let mut direction = Direction::default();
        let mine = |line: &&Line| direction_of(line, view) == kind;
        tally.lines.iter().filter(mine).for_each(|line| direction.count(line, view));
        if kind == Kind::Read {
            // They count as done and as failed.
            direction.issued = direction.issued.saturating_sub(tally.wrong_reads());
        }
        let time_ns = worker.ended_ns.saturating_sub(worker.began_ns);
        // What verify_only counts took no time.
        let is_assumed = view.counts_unwritten && kind != Kind::Read;
        if (direction.bytes > 0 || direction.done > 0) && !is_assumed {
            direction.runtime_ms = time_ns.div_ceil(1_000_000).max(1);
        }
        let figures = &view.figures;
        if figures.bandwidth {
            let rates = samples::rates(&tally.series, kind, figures.average_ms, worker.ended_ns);
            (direction.bandwidth, direction.rate) = rates;
        }
        if matches!(view.engine.as_str(), "cpuio" | "exec") {
            direction.only_pretends();
        }
        direction.show(view);
        direction
    }

    /// What moves no data has operations and latencies, but neither bytes nor a bandwidth.
    fn only_pretends(&mut self) {
        (self.bytes, self.runtime_ms, self.bandwidth) = (0, 0, Samples::default());
    }

    fn count(&mut self, line: &Line, view: &JobView) {
        self.bytes += line.bytes;
        self.issued += line.operations + line.failed;
        self.done += line.operations;
        self.short += line.short;
        let own = line.service.as_ref().unwrap_or(&line.latency);
        self.latency.merge(own);
        // An engine that waits has nothing to tell apart.
        let completion = line.completion.as_ref().unwrap_or(own);
        self.completion.merge(completion);
        let told = if view.figures.latency_percentiles { own } else { completion };
        self.add_priority(priority_of(line, view), told);
        if let Some(submission) = &line.submission {
            self.submission.merge(submission);
        }
        if line.service.is_some() {
            self.intended.get_or_insert_default().merge(&line.latency);
        }
    }

    fn add_priority(&mut self, priority: Priority, latency: &Histogram) {
        if latency.count() == 0 {
            return;
        }
        match self.priorities.iter_mut().find(|(known, _)| *known == priority) {
            Some((_, known)) => known.merge(latency),
            None => self.priorities.push((priority, latency.clone())),
        }
    }

    /// What each I/O priority had, where there were several.
    pub fn by_priority(&self) -> &[(Priority, Histogram)] {
        if self.priorities.len() > 1 { &self.priorities } else { &[] }
    }

    /// Leaves out what was not wanted.
    fn show(&mut self, view: &JobView) {
        let (submission, completion, latency) = view.figures.shown;
        if !submission || !view.asynchronous {
            self.submission = Histogram::default();
        }
        if !completion {
            self.completion = Histogram::default();
        }
        if !latency {
            self.latency = Histogram::default();
        }
        if !(if view.figures.latency_percentiles { latency } else { completion }) {
            self.priorities.clear();
        }
    }

    /// Extremes, mean and deviation of `slat`, `clat` and `lat`.
    pub fn spreads(&self) -> [LatencySpread; 3] {
        let of_histograms = || [&self.submission, &self.completion, &self.latency].map(LatencySpread::of);
        self.received.unwrap_or_else(of_histograms)
    }

    /// Adds another worker's part, or another direction.
    pub fn add(&mut self, other: &Direction) {
        if self.received.is_some() || other.received.is_some() {
            let (mine, theirs) = (self.spreads(), other.spreads());
            self.received = Some([0, 1, 2].map(|index| mine[index].joined(theirs[index])));
        }
        self.bytes += other.bytes;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.issued += other.issued;
        self.done += other.done;
        self.short += other.short;
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
        self.latency.merge(&other.latency);
        if let Some(intended) = &other.intended {
            self.intended.get_or_insert_default().merge(intended);
        }
        other.priorities.iter().for_each(|(priority, latency)| self.add_priority(*priority, latency));
        self.bandwidth.add(&other.bandwidth);
        self.rate.add(&other.rate);
    }

    pub fn bytes_per_second(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    /// Operations per second: those that succeeded.
    pub fn operations_per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.done as f64 * 1000.0 / self.runtime_ms as f64 }
    }
}

/// So many in so many ms, per second.
pub fn per_second(count: u64, ms: u64) -> u64 {
    if ms == 0 { 0 } else { (u128::from(count) * 1000 / u128::from(ms)) as u64 }
}

/// Smallest, largest, mean and deviation of a latency, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySpread {
    /// How many values.
    pub count: u64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    pub mean: f64,
    /// Standard deviation of a sample.
    pub deviation: f64,
}

impl LatencySpread {
    /// Of all values of both.
    pub fn joined(self, other: LatencySpread) -> Self {
        match (self.count, other.count) {
            (0, _) => return other,
            (_, 0) => return self,
            _ => {}
        }
        let count = self.count + other.count;
        let (own, others) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        let squares = |one: LatencySpread| one.deviation * one.deviation * (one.count as f64 - 1.0);
        let squares = squares(self) + squares(other) + apart * apart * own * others / count as f64;
        LatencySpread {
            count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            mean: self.mean + apart * others / count as f64,
            deviation: (squares / (count as f64 - 1.0)).sqrt(),
        }
    }

    /// All zero when nothing was counted.
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        let sample = if count > 1 { (count as f64 / (count - 1) as f64).sqrt() } else { 0.0 };
        LatencySpread {
            count,
            min: histogram.min,
            max: histogram.max,
            mean: histogram.mean(),
            deviation: histogram.deviation() * sample,
        }
    }
}
