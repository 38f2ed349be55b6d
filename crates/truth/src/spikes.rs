//! Lie 26: a steady rate with an unsteady latency: operations that take hundreds of milliseconds, hidden in a good mean.
//!
//! Proof: operations far beyond both the median and the mean, counted, with the rows in which they came. Judged is the
//! time from the actual start; lateness against a schedule is another lie (9). A storage that is slow throughout has no
//! spikes.

use iodyno_model::{
    Figure, FindingKind, Histogram, JobRecord, Kind, Line, Remedy, Severity, histogram, units,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;
use crate::statistics::median;

/// Shorter than this nobody calls a spike, ns. Chosen: people notice a tenth of a second; `spikes_in_a_good_mean`
/// stands on both sides.
const LEAST_NS: u64 = 100_000_000;
/// A spike takes so many times the median, and the mean. Chosen: an order of magnitude; `spikes_in_a_good_mean` stands
/// on both sides.
const TIMES: f64 = 10.0;
/// Rows with a spike from which the figures are doubtful. Chosen: three have a period; `spikes_in_a_good_mean` stands
/// on both sides.
const DOUBTFUL_ROWS: usize = 3;
/// Percent of the time in spikes from which they are. Chosen: a twentieth of the mean;
/// `spikes_that_take_a_twentieth_of_the_time_weigh_more` stands on both sides.
const DOUBTFUL_PERCENT: f64 = 5.0;

/// Spikes of this phase.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    case.jobs().filter_map(|(_, record)| judged(case, record)).collect()
}

/// What the operations of a job's data took, from their actual start.
fn service(record: &JobRecord) -> Histogram {
    let is_data = |line: &&Line| matches!(line.verb.kind(), Kind::Read | Kind::Write | Kind::Trim);
    let mut all = Histogram::default();
    let lines = record.tally.lines.iter().filter(is_data);
    lines.for_each(|line| all.merge(line.service.as_ref().unwrap_or(&line.latency)));
    all
}

fn judged(case: &PhaseEvidence<'_>, record: &JobRecord) -> Option<Suspicion> {
    let all = service(record);
    let usual = all.percentile(50.0).max(all.mean() as u64) as f64;
    let limit = LEAST_NS.max((TIMES * usual) as u64);
    if all.max < limit {
        return None;
    }
    let (count, total) = beyond(&all, limit);
    let percent = total / all.sum.max(1) as f64 * 100.0;
    let rows = rows_beyond(record, limit, all.max);
    let p99 = all.percentile(99.0) as f64;
    let mut figures = vec![
        Figure::new("longest", all.max as f64, "ns"),
        Figure::new("p99", p99, "ns"),
        Figure::new("mean", all.mean(), "ns"),
        Figure::new("spikes", count as f64, ""),
        Figure::new("a spike from", limit as f64, "ns"),
        Figure::new("time in spikes", percent, "%"),
    ];
    figures.extend(worst_second(record));
    let period = period(&rows, record.tally.series.interval_ns as f64);
    figures.extend(period.map(|ns| Figure::new("distance of spikes", ns, "ns")));
    let grave = rows.len() >= DOUBTFUL_ROWS || percent >= DOUBTFUL_PERCENT;
    let severity = if grave { Severity::Doubtful } else { Severity::Note };
    let every = period.map_or(String::new(), |ns| format!(", about every {}", units::duration(ns)));
    let many = if count == 1 { "1 operation".to_string() } else { format!("{count} operations") };
    let sentence = format!(
        "{many} took {} or more, up to {}{every}; the mean of {} hides it",
        units::duration(limit as f64),
        units::duration(all.max as f64),
        units::duration(all.mean())
    );
    let found = Suspicion::new(FindingKind::LatencySpikes, severity, case.label(), sentence, figures);
    Some(found.job(&record.name).remedy(Remedy::ReadTail).weight(all.max as f64).needs(percent / 100.0))
}

/// How many values lie at or above a limit, and their sum.
fn beyond(all: &Histogram, limit: u64) -> (u64, f64) {
    let above = all.buckets().iter().filter(|(bucket, _)| histogram::upper_edge(*bucket as usize) >= limit);
    above.fold((0, 0.0), |(count, sum), (bucket, more)| {
        let middle = histogram::middle(*bucket as usize).min(all.max);
        (count + more, sum + middle as f64 * *more as f64)
    })
}

/// The rows of the series in which a spike ended; none where other verbs (a sync, say) took as long, or where rows know
/// lateness only.
fn rows_beyond(record: &JobRecord, limit: u64, longest: u64) -> Vec<usize> {
    let rows = &record.tally.series.rows;
    let late = record.tally.lines.iter().any(|line| line.service.is_some());
    if late || rows.iter().any(|row| row.latency_max_ns > longest) {
        return Vec::new();
    }
    (0..rows.len()).filter(|row| rows[*row].latency_max_ns >= limit).collect()
}

/// The usual distance of rows with spikes, ns; none below three of them.
fn period(rows: &[usize], interval_ns: f64) -> Option<f64> {
    let apart: Vec<f64> = rows.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * interval_ns).collect();
    (apart.len() >= 2).then(|| median(&apart)).flatten()
}

/// The p99 of the worst row and of the one in the middle, where rows know their latencies.
fn worst_second(record: &JobRecord) -> Vec<Figure> {
    let rows = record.tally.series.latencies.iter().filter_map(|row| row_p99(row));
    let each: Vec<f64> = rows.collect();
    let worst = each.iter().copied().reduce(f64::max);
    let (Some(worst), Some(middle)) = (worst, median(&each)) else { return Vec::new() };
    vec![Figure::new("p99 of the worst row", worst, "ns"), Figure::new("p99 of the median row", middle, "ns")]
}

fn row_p99(row: &[(u16, u32)]) -> Option<f64> {
    let count: u64 = row.iter().map(|(_, count)| u64::from(*count)).sum();
    let rank = (count * 99).div_ceil(100);
    let mut seen = 0;
    let bucket = row.iter().find(|(_, count)| {
        seen += u64::from(*count);
        seen >= rank
    })?;
    Some(histogram::coarse_edges(usize::from(bucket.0)).1 as f64)
}
