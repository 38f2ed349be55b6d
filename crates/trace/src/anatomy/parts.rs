//! The parts of a latency, and how they are kept by its percentiles.

use std::collections::BTreeMap;

use iodyno_model::Histogram;
use iodyno_model::histogram::bucket_of;

/// How many parts there are.
pub const PARTS: usize = 6;

/// A part of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LatencyPart {
    /// From the call to its first request.
    Submission,
    /// The page cache or the file system, where no request is in flight.
    Cache,
    /// A journal commits.
    Journal,
    /// Queued, not yet issued to the device.
    Scheduler,
    Device,
    /// From the last request's completion to the call's return.
    Completion,
}

impl LatencyPart {
    pub const ALL: [LatencyPart; PARTS] = [
        LatencyPart::Submission,
        LatencyPart::Cache,
        LatencyPart::Journal,
        LatencyPart::Scheduler,
        LatencyPart::Device,
        LatencyPart::Completion,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            LatencyPart::Submission => "submission",
            LatencyPart::Cache => "cache",
            LatencyPart::Journal => "journal",
            LatencyPart::Scheduler => "scheduler",
            LatencyPart::Device => "device",
            LatencyPart::Completion => "completion",
        }
    }

    /// What a call does in it, after "is 71 %".
    pub const fn doing(self) -> &'static str {
        match self {
            LatencyPart::Submission => "submitting",
            LatencyPart::Cache => "in the page cache or the file system",
            LatencyPart::Journal => "waiting for a commit of the journal",
            LatencyPart::Scheduler => "waiting in the scheduler",
            LatencyPart::Device => "waiting for the device",
            LatencyPart::Completion => "completing",
        }
    }
}

/// Latencies with their parts, by buckets of the latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartTable {
    pub latency_ns: Histogram,
    sums: BTreeMap<u32, (u64, [u128; PARTS])>,
}

impl PartTable {
    /// One latency, ns of each part.
    pub fn add(&mut self, parts: &[u64; PARTS]) {
        let latency = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
        self.latency_ns.add(latency);
        let (count, sums) = self.sums.entry(bucket_of(latency) as u32).or_default();
        *count += 1;
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += u128::from(*part));
    }

    /// The parts of all latencies together, ns.
    pub fn sums(&self) -> [u128; PARTS] {
        let mut all = [0; PARTS];
        for (_, sums) in self.sums.values() {
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        all
    }

    /// Percent of each part in the latencies around a percentile: within half of what lies beyond it, at most five
    /// percent, on either side.
    pub fn shares_at(&self, percent: f64) -> [f64; PARTS] {
        let total = self.latency_ns.count() as f64;
        let around = ((100.0 - percent) / 2.0).min(5.0);
        let (low, high) = ((percent - around) / 100.0 * total, (percent + around) / 100.0 * total);
        let mut sums = [0.0; PARTS];
        let mut seen = 0.0;
        for (count, parts) in self.sums.values() {
            let (from, to) = (seen, seen + *count as f64);
            seen = to;
            // A latency is in the window by how much of its rank is.
            let inside = (to.min(high) - from.max(low)).max(0.0) / *count as f64;
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += *part as f64 * inside);
        }
        shares(&sums)
    }

    /// Percent of each part in all latencies together.
    pub fn shares(&self) -> [f64; PARTS] {
        shares(&self.sums().map(|sum| sum as f64))
    }
}

fn shares(sums: &[f64; PARTS]) -> [f64; PARTS] {
    let all = sums.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    sums.map(|sum| sum / all * 100.0)
}

type Interval = (u64, u64);

/// The parts of a call between two moments, from its requests (queued, issued, completed) and from commits of journals.
pub fn split(call: Interval, requests: &[(u64, u64, u64)], commits: &[Interval]) -> [u64; PARTS] {
    let clip = |(from, to): Interval| (from.clamp(call.0, call.1), to.clamp(call.0, call.1));
    let device = joined(requests.iter().map(|(_, issued, completed)| clip((*issued, *completed))));
    let queued = joined(requests.iter().map(|(queued, issued, _)| clip((*queued, *issued))));
    let busy = joined(device.iter().chain(&queued).copied());
    let commits = joined(commits.iter().copied().map(clip));
    let all = joined(busy.iter().chain(&commits).copied());
    let mut parts = [0; PARTS];
    parts[LatencyPart::Device as usize] = length(&device);
    parts[LatencyPart::Scheduler as usize] = length(&busy) - length(&device);
    parts[LatencyPart::Journal as usize] = length(&all) - length(&busy);
    let rest = call.1.saturating_sub(call.0) - length(&all);
    match (busy.first(), busy.last()) {
        (Some((first, _)), Some((_, last))) => {
            // What a commit covers is the journal's already.
            let outside = |from: u64, to: u64| {
                let covered = commits.iter().map(|(a, b)| (*b).min(to).saturating_sub((*a).max(from)));
                to.saturating_sub(from) - covered.sum::<u64>()
            };
            let (before, after) = (outside(call.0, *first), outside(*last, call.1));
            parts[LatencyPart::Submission as usize] = before;
            parts[LatencyPart::Completion as usize] = after;
            parts[LatencyPart::Cache as usize] = rest - before - after;
        }
        _ => parts[LatencyPart::Cache as usize] = rest,
    }
    parts
}

/// Intervals that neither touch nor overlap, in order.
fn joined(intervals: impl Iterator<Item = Interval>) -> Vec<Interval> {
    let mut sorted: Vec<Interval> = intervals.filter(|(from, to)| to > from).collect();
    sorted.sort_unstable();
    let mut joined: Vec<Interval> = Vec::with_capacity(sorted.len());
    for (from, to) in sorted {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

fn length(intervals: &[Interval]) -> u64 {
    intervals.iter().map(|(from, to)| to - from).sum()
}
