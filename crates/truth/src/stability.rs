//! How stable a job was over a long time: its slowest second, its tail over time, and its spikes.
//!
//! A card for runs of minutes to hours, where a mean hides everything that matters. It describes and does not judge:
//! findings are elsewhere. Refuses rows that are too few for a figure.

use iodyno_model::JobRecord;
use iodyno_model::histogram::coarse_edges;

use crate::quantity::{Measure, OperationSet, Quantity, full_rows};
use crate::statistics::{median, warm_up};

/// Rows below which there is no card. Chosen: half a minute of seconds; `what_is_short_has_no_card` and
/// `the_worst_is_told_with_its_time` stand on both sides.
const LEAST_ROWS: usize = 30;
/// Operations in a window of the tail at least: ten of them lie beyond p99.9. Chosen: so that a window's p99.9 has what
/// a percentile needs; `the_worst_is_told_with_its_time` counts the windows.
const WINDOW_OPERATIONS: u64 = 10_000;
/// Windows at most. Chosen: they are drawn in a line; `the_worst_is_told_with_its_time` stands on one side only.
const MOST_WINDOWS: usize = 120;
/// A spike is so many times the usual longest operation of a row. Chosen: a longest of many varies by a few times
/// itself; `the_worst_is_told_with_its_time` shows the limit.
const SPIKE_TIMES: f64 = 8.0;
/// Shorter than this nobody calls a spike, ns. Chosen: interrupts and wake-ups take less;
/// `the_worst_is_told_with_its_time` stands on one side only.
const SPIKE_LEAST_NS: f64 = 1e6;

/// How stable a job was.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// Length of a row, ns.
    pub row_ns: u64,
    /// Operations per second in the middle row.
    pub middle_rate: f64,
    /// Operations per second in the slowest row.
    pub worst_rate: f64,
    /// When that row ended, ns after the start line.
    pub worst_at_ns: u64,
    /// The longest operation, ns.
    pub longest_ns: u64,
    /// When the row with it ended, ns.
    pub longest_at_ns: u64,
    /// p99.9 over time; none: latencies over time were not kept, or there were too few operations.
    pub tail: Option<Tail>,
    /// Rows whose longest operation stands out.
    pub spikes: Spikes,
    /// How long it took to warm up, ns; 0: it was warm, or it is unknown.
    pub warm_up_ns: u64,
}

/// A percentile over time: at most a quarter off, as rows keep their latencies coarsely.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// Length of a window, ns.
    pub window_ns: u64,
    /// p99.9 of each window, ns, in order.
    pub each_ns: Vec<u64>,
    pub middle_ns: u64,
    pub worst_ns: u64,
    /// When the worst window ended, ns.
    pub worst_at_ns: u64,
}

/// Rows whose longest operation stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spikes {
    pub count: usize,
    /// From which latency on, ns.
    pub beyond_ns: u64,
    /// How far they usually are apart, ns; none below three of them.
    pub period_ns: Option<u64>,
}

/// The card of a job; `None` where it was too short.
pub fn stability(job: &JobRecord) -> Option<Stability> {
    let series = &job.tally.series;
    let rates = Quantity::new(OperationSet::All, Measure::Rate).rows(job)?;
    if rates.len() < LEAST_ROWS {
        return None;
    }
    let rows = &series.rows[..full_rows(job)];
    let end = |row: usize| job.tally.began_ns.saturating_add((row + 1) as u64 * series.interval_ns);
    let worst = (0..rates.len()).min_by(|a, b| rates[*a].total_cmp(&rates[*b]))?;
    let longest = (0..rows.len()).max_by_key(|row| rows[*row].latency_max_ns)?;
    let warm_up = warm_up(&rates).map_or(0, |warm_up| warm_up.rows as u64 * series.interval_ns);
    Some(Stability {
        row_ns: series.interval_ns,
        middle_rate: median(&rates)?,
        worst_rate: rates[worst],
        worst_at_ns: end(worst),
        longest_ns: rows[longest].latency_max_ns,
        longest_at_ns: end(longest),
        tail: tail(job),
        spikes: spikes(
            &rows.iter().map(|row| row.latency_max_ns as f64).collect::<Vec<_>>(),
            series.interval_ns,
        ),
        warm_up_ns: warm_up,
    })
}

fn tail(job: &JobRecord) -> Option<Tail> {
    let series = &job.tally.series;
    let rows = series.latencies.get(..full_rows(job))?;
    let count = |row: &Vec<(u16, u32)>| row.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
    let all: u64 = rows.iter().map(count).sum();
    let wanted = (all / WINDOW_OPERATIONS.max(1)).min(MOST_WINDOWS as u64).min(rows.len() as u64);
    if wanted < 3 {
        return None;
    }
    let length = rows.len().div_ceil(wanted as usize);
    let each_ns: Vec<u64> = rows.chunks_exact(length).filter_map(p999).collect();
    let values: Vec<f64> = each_ns.iter().map(|ns| *ns as f64).collect();
    let worst = (0..each_ns.len()).max_by_key(|window| each_ns[*window])?;
    Some(Tail {
        window_ns: length as u64 * series.interval_ns,
        middle_ns: median(&values)? as u64,
        worst_ns: each_ns[worst],
        worst_at_ns: job.tally.began_ns.saturating_add(((worst + 1) * length) as u64 * series.interval_ns),
        each_ns,
    })
}

/// p99.9 of some rows together: the middle of the coarse bucket that it lies in.
fn p999(rows: &[Vec<(u16, u32)>]) -> Option<u64> {
    let mut sums = std::collections::BTreeMap::new();
    for (bucket, count) in rows.iter().flatten() {
        *sums.entry(*bucket).or_insert(0u64) += u64::from(*count);
    }
    let all: u64 = sums.values().sum();
    let (rank, mut seen) = ((all as f64 * 0.999).ceil() as u64, 0);
    let (bucket, _) = sums.into_iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    })?;
    let (low, high) = coarse_edges(usize::from(bucket));
    Some(low + (high - low) / 2)
}

fn spikes(longest: &[f64], row_ns: u64) -> Spikes {
    let usual = median(longest).unwrap_or(0.0);
    let beyond = (usual * SPIKE_TIMES).max(SPIKE_LEAST_NS);
    let at: Vec<usize> = (0..longest.len()).filter(|row| longest[*row] >= beyond).collect();
    let apart: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let period = (apart.len() >= 2).then(|| median(&apart)).flatten();
    let period_ns = period.map(|rows| (rows * row_ns as f64) as u64);
    Spikes { count: at.len(), beyond_ns: beyond as u64, period_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::histogram::{bucket_of, coarse_of};
    use iodyno_model::{Line, Series, SeriesRow, Verb};

    const SECOND: u64 = 1_000_000_000;

    /// 100 s of 1,000 reads a second in 1 ms; a longest operation of 3 ms, and every tenth second one of 200 ms.
    fn job() -> JobRecord {
        let mut job = JobRecord::default();
        let mut line = Line::empty("read", Verb::Read);
        line.operations = 100_000;
        job.tally.lines.push(line);
        let coarse = |ns: u64| coarse_of(bucket_of(ns)) as u16;
        let row = |second: u64| SeriesRow {
            reads: if second == 42 { 300 } else { 1000 },
            latency_max_ns: if second % 10 == 5 { 200_000_000 } else { 3_000_000 },
            ..SeriesRow::default()
        };
        let latencies = (0..100).map(|second| match second {
            70..80 => vec![(coarse(1_000_000), 990), (coarse(90_000_000), 10)],
            _ => vec![(coarse(1_000_000), 1000)],
        });
        let latencies = latencies.collect();
        job.tally.series = Series { interval_ns: SECOND, rows: (0..100).map(row).collect(), latencies };
        (job.tally.first_done_ns, job.tally.last_done_ns) = (100 * SECOND, 100 * SECOND);
        job
    }

    #[test]
    fn the_worst_is_told_with_its_time() {
        let found = stability(&job()).unwrap();
        assert_eq!((found.middle_rate, found.worst_rate, found.worst_at_ns), (1000.0, 300.0, 43 * SECOND));
        assert_eq!((found.longest_ns, found.warm_up_ns), (200_000_000, 0));
        let spikes = found.spikes;
        assert_eq!((spikes.count, spikes.beyond_ns, spikes.period_ns), (10, 24_000_000, Some(10 * SECOND)));
        let tail = found.tail.unwrap();
        assert_eq!((tail.window_ns, tail.each_ns.len(), tail.worst_at_ns), (10 * SECOND, 10, 80 * SECOND));
        assert!(
            tail.middle_ns.abs_diff(1_000_000) < 130_000 && tail.worst_ns.abs_diff(90_000_000) < 12_000_000
        );
    }

    #[test]
    fn what_is_short_has_no_card() {
        let mut short = job();
        short.tally.first_done_ns = 20 * SECOND;
        assert_eq!(stability(&short), None);
        let mut coarse = job();
        coarse.tally.series.latencies.clear();
        assert_eq!(stability(&coarse).unwrap().tail, None);
    }
}
