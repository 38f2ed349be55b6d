//! Lie 5: a working set that fits the device's own cache, or that of the hypervisor or controller before it.
//!
//! Proof: past the page cache, with a device that delivered every byte, the same span was read again, and far faster the
//! second time, because each read took the device less. A limit or a neighbour that ends lets more reads through and makes
//! none of them cheaper, or moves bytes of its own. One pass alone proves nothing, and a drift is another matter (7): the
//! passes must not overlap.

use iodyno_model::{
    Figure, FindingKind, Intent, Job, JobRecord, Pattern, Remedy, Sample, Series, SeriesRow, Severity, Verb,
    Workload, units,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;
use crate::reads::LEAST_BYTES;
use crate::statistics::median;

/// So many times as fast as the first time is no chance. Chosen: beyond what a steady rate may range over (20 %);
/// `a_second_pass_that_is_faster` stands on both sides.
const LEAST_RATIO: f64 = 1.5;
/// The same of phases that lie apart in time, between which the machine may have changed. Chosen: more than within one;
/// `a_later_phase_that_is_faster` stands on both sides.
const ACROSS_RATIO: f64 = 2.0;
/// So many times as fast, the figure speaks of a cache. Chosen: two thirds of the time are gone;
/// `a_speed_up_is_a_cache_only_where_reads_cost_the_device_less` stands on one side only.
const INVALID_RATIO: f64 = 3.0;
/// Rows that either pass must have before it can be compared. Chosen: their median is no outlier;
/// `a_second_pass_that_is_faster` stands on one side only.
const LEAST_ROWS: usize = 3;
/// Share of what was read that the device must have delivered: otherwise the page cache explains it. Chosen: as in
/// finding 1; `a_second_pass_that_is_faster` stands on one side only.
const DELIVERED: f64 = 0.9;
/// So much more than the job read while others used the device. Chosen: read-ahead and metadata add less;
/// `a_speed_up_is_a_cache_only_where_reads_cost_the_device_less` stands on both sides.
const OTHERS: f64 = 1.3;
/// Share of a sample that must lie in a pass to speak for it. Chosen: the rest may be of the other pass;
/// `a_speed_up_is_a_cache_only_where_reads_cost_the_device_less` stands on one side only.
const INSIDE: f64 = 0.8;

/// Jobs of this phase that read the same again, faster.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Network) {
        return Vec::new();
    }
    case.storage_jobs()
        .filter_map(|(job, record)| within(case, job, record).or_else(|| across(case, job, record)))
        .collect()
}

/// The span that a job reads and nothing else, bytes; none where its rate is not the storage's to choose.
fn span(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<u64> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let paced = job.pace.has_rate() || job.pace.think.is_some() || job.pace.latency_target.is_some();
    let target = case.targets(job).next().filter(|_| job.targets.len() == 1)?;
    let only_reads = pattern.mix.shares.iter().all(|share| share.verb == Verb::Read || share.weight == 0.0);
    let carrier = case.carrier(&target.name)?;
    let read = bytes(record, Verb::Read);
    let delivered = case.read_for_us(&carrier) as f64 >= DELIVERED * read as f64;
    if paced || !only_reads || !delivered || !case.is_direct(target) || read < LEAST_BYTES {
        return None;
    }
    case.span_bytes(target, pattern)
}

/// Within a phase: the bytes up to one span are the first pass, what follows is the second.
fn within(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let span = span(case, job, record)?;
    let series = &record.tally.series;
    let workers = if case.is_own(job) { u64::from(job.workers.max(1)) } else { 1 };
    let mut read = 0;
    let first = series.rows.iter().take_while(|row| {
        read += row.read_bytes;
        read <= span * workers
    });
    let first = first.count();
    // The row in which the pass ends is neither; the last one was cut off.
    let rest = series.rows.get(first + 1..series.rows.len().saturating_sub(1))?;
    let seconds = series.interval_ns as f64 / 1e9;
    let rates =
        |rows: &[SeriesRow]| -> Vec<f64> { rows.iter().map(|row| row.reads as f64 / seconds).collect() };
    let (cold, warm) = (rates(&series.rows[..first]), rates(rest));
    if cold.len().min(warm.len()) < LEAST_ROWS || !is_apart(&cold, &warm) {
        return None;
    }
    let at = |row: usize| row as u64 * series.interval_ns;
    let passes = [(0, at(first)), (at(first + 1), at(series.rows.len().saturating_sub(1)))];
    let costs = passes.map(|pass| cost(case, job, record, pass));
    if !is_cheaper(costs) {
        return None;
    }
    let rates = (median(&cold)?, median(&warm)?);
    let found = suspicion(case, &job.name, span, rates, "the second time it was read in this phase")?;
    Some(with_costs(found, costs))
}

/// What a read took a device over a stretch of time.
#[derive(Clone, Copy, Debug)]
enum Cost {
    /// So much, ns.
    Each(f64),
    /// Others used it as well.
    Shared,
    /// Nobody looked.
    Unknown,
}

/// What a read took the job's device between two times, by the samples that lie there.
fn cost(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord, (from, to): (u64, u64)) -> Cost {
    let device = case.targets(job).next().and_then(|target| case.device(&target.name));
    let Some(device) = device else { return Cost::Unknown };
    let inside = |sample: &&Sample| {
        let begin = sample.at_ns.saturating_sub(sample.interval_ns);
        let common = sample.at_ns.min(to).saturating_sub(begin.max(from));
        sample.interval_ns > 0 && common as f64 >= INSIDE * sample.interval_ns as f64
    };
    let (mut reads, mut ns, mut moved, mut ours) = (0, 0, 0, 0.0);
    for sample in case.found.samples.iter().filter(inside) {
        let Some(did) = sample.devices.iter().find(|did| did.device == device.device) else { continue };
        (reads, ns) = (reads + did.reads, ns + did.read_ns);
        moved += did.read_bytes + did.write_bytes;
        ours +=
            read_between(&record.tally.series, sample.at_ns.saturating_sub(sample.interval_ns), sample.at_ns);
    }
    match (reads, ns) {
        (0, _) | (_, 0) => Cost::Unknown,
        _ if moved as f64 > OTHERS * ours + LEAST_BYTES as f64 => Cost::Shared,
        _ => Cost::Each(ns as f64 / reads as f64),
    }
}

/// Bytes that a series read between two times; of a row that lies partly there, its part.
fn read_between(series: &Series, from: u64, to: u64) -> f64 {
    let length = series.interval_ns.max(1);
    let part = |(index, row): (usize, &SeriesRow)| {
        let (begin, end) = (index as u64 * length, (index as u64 + 1) * length);
        let common = end.min(to).saturating_sub(begin.max(from));
        row.read_bytes as f64 * common as f64 / length as f64
    };
    series.rows.iter().enumerate().map(part).sum()
}

/// Whether the later reads took the device less, as far as can be reported.
fn is_cheaper(costs: [Cost; 2]) -> bool {
    match costs {
        [Cost::Each(cold), Cost::Each(warm)] => cold >= LEAST_RATIO * warm,
        [Cost::Shared, _] | [_, Cost::Shared] => false,
        _ => true,
    }
}

/// The finding with what a read took the device; without it, the rates alone speak, and they have other reasons too.
fn with_costs(mut found: Suspicion, costs: [Cost; 2]) -> Suspicion {
    match costs {
        [Cost::Each(cold), Cost::Each(warm)] => {
            found.finding.figures.push(Figure::new("a read in the device, first pass", cold, "ns"));
            found.finding.figures.push(Figure::new("a read in the device, later passes", warm, "ns"));
        }
        _ => found.finding.severity = Severity::Doubtful,
    }
    found
}

/// Whether nearly every row of the later passes is above nearly every row of the first: one in ten may be a hiccup.
fn is_apart(cold: &[f64], warm: &[f64]) -> bool {
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (cold, warm) = (sorted(cold), sorted(warm));
    warm[warm.len() / 10] > cold[cold.len() - 1 - cold.len() / 10]
}

/// Across phases: the first that read the same in the same way was slower than every later one, and so was the device.
fn across(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let span = span(case, job, record)?;
    let like = |phase| {
        let other = PhaseEvidence::new(case.plan, case.record, phase)?;
        let (asked, found) = other.storage_jobs().find(|(asked, _)| is_same(asked, job))?;
        self::span(&other, asked, found)?;
        Some((rate(found), device_ns(&other, asked)))
    };
    let mut passes = case.record.phases.iter().filter_map(like);
    let (cold, cold_ns) = passes.next()?;
    let slowest = passes.map(|(rate, _)| rate).reduce(f64::min)?;
    let cheaper = match (cold_ns, device_ns(case, job)) {
        (Some(before), Some(now)) => before >= LEAST_RATIO * now,
        _ => true,
    };
    if slowest < ACROSS_RATIO * cold || rate(record) < ACROSS_RATIO * cold || !cheaper {
        return None;
    }
    suspicion(case, &job.name, span, (cold, rate(record)), "when a later phase read it again")
}

/// What a read took the job's device, on average, ns; none where it did not say.
fn device_ns(case: &PhaseEvidence<'_>, job: &Job) -> Option<f64> {
    let device = case.targets(job).next().and_then(|target| case.device(&target.name));
    let device = device.filter(|device| device.reads > 0 && device.read_ns > 0)?;
    Some(device.read_ns as f64 / device.reads as f64)
}

fn is_same(a: &Job, b: &Job) -> bool {
    let alike = |a: &Pattern, b: &Pattern| a.pick == b.pick && a.size == b.size && a.span == b.span;
    let (Workload::Pattern(first), Workload::Pattern(second)) = (&a.workload, &b.workload) else {
        return false;
    };
    a.targets == b.targets
        && a.engine == b.engine
        && a.depth.most == b.depth.most
        && a.workers == b.workers
        && alike(first, second)
}

/// Reads a second.
fn rate(record: &JobRecord) -> f64 {
    let ns = record.tally.last_done_ns.saturating_sub(record.tally.began_ns).max(1);
    let reads: u64 =
        record.tally.lines.iter().filter(|line| line.verb == Verb::Read).map(|line| line.operations).sum();
    reads as f64 * 1e9 / ns as f64
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    job: &str,
    span: u64,
    rates: (f64, f64),
    when: &str,
) -> Option<Suspicion> {
    let (cold, warm) = rates;
    let ratio = warm / cold.max(1e-9);
    if ratio < LEAST_RATIO {
        return None;
    }
    let sentence = format!(
        "{} were {ratio:.1} times as fast {when}: they came from a cache that the device or its host keeps",
        units::binary(span)
    );
    let figures = vec![
        Figure::new("first pass", cold, "1/s"),
        Figure::new("later passes", warm, "1/s"),
        Figure::new("span", span as f64, "bytes"),
    ];
    let severity = if ratio >= INVALID_RATIO { Severity::Invalid } else { Severity::Doubtful };
    let found = Suspicion::new(FindingKind::DeviceCacheReads, severity, case.label(), sentence, figures);
    Some(found.remedy(Remedy::OutgrowDeviceCache).job(job).weight(ratio).takes(1.0 - 1.0 / ratio))
}
