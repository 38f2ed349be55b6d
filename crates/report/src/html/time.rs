//! A job over time: rates in columns, percentiles of each row, and the heat map of latencies.
//!
//! It joins neighbours until a page can show them at once, and invents nothing between them: a row without timed
//! operations is a gap.

use iodyno_model::histogram::coarse_edges;
use iodyno_model::{JobRecord, Series, SeriesRow};
use iodyno_truth::quantity::whole_rows;
use serde::Serialize;

use super::short::Short;

/// Columns of a heat map at most: more are narrower than what a screen can show.
const COLUMNS_MOST: usize = 360;

/// Rates and latencies in columns, one value for each row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Over {
    /// Seconds of a row.
    pub every: Short,
    /// Named columns of operations per second; directions that did nothing are left out.
    pub operations: Vec<Column>,
    /// Named columns of bytes per second.
    pub bytes: Vec<Column>,
    /// Named columns of latency in ns.
    pub latency: Vec<Column>,
    /// Latencies by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Column {
    pub name: String,
    /// A value for each row.
    pub values: Vec<Short>,
}

impl Column {
    /// A column, unless there is nothing in it.
    pub fn unless_empty(name: &str, values: impl Iterator<Item = Short>) -> Option<Column> {
        let values: Vec<Short> = values.collect();
        values.iter().any(|value| value.0 > 0.0).then(|| Column { name: name.into(), values })
    }
}

/// A heat map: how many operations of a stretch of time took how long.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Heat {
    /// Seconds of a column.
    pub every: Short,
    /// The least latency of each line of the map in ns, and last the most of the highest.
    pub edges: Vec<u64>,
    /// Column, line and count of each cell that is not empty, one after the other.
    pub cells: Vec<u64>,
}

/// A job's series as columns; none where there is nothing to draw a line through. A last row that the end cut short has
/// latencies, and is no rate.
pub fn over(job: &JobRecord) -> Option<Over> {
    let series = &job.tally.series;
    if series.rows.len() < 2 || series.interval_ns == 0 {
        return None;
    }
    let seconds = series.interval_ns as f64 / 1e9;
    let rows = &series.rows[..whole_rows(job)];
    let rate = |name: &str, of: fn(&SeriesRow) -> u64| {
        Column::unless_empty(name, rows.iter().map(|row| Short(of(row) as f64 / seconds)))
    };
    let operations = [
        rate("read", |row| row.reads),
        rate("write", |row| row.writes),
        rate("trim", |row| row.trims),
        rate("other", |row| row.others),
    ];
    let bytes = [
        rate("read", |row| row.read_bytes),
        rate("write", |row| row.write_bytes),
        rate("trim", |row| row.trim_bytes),
    ];
    Some(Over {
        every: Short(seconds),
        operations: operations.into_iter().flatten().collect(),
        bytes: bytes.into_iter().flatten().collect(),
        latency: latency(series),
        heat: heat(series),
    })
}

fn latency(series: &Series) -> Vec<Column> {
    let rows = || series.rows.iter();
    let mean = |row: &SeriesRow| match row.operations() {
        0 => Short::NONE,
        count => Short(row.latency_sum_ns as f64 / count as f64),
    };
    let max =
        |row: &SeriesRow| if row.operations() == 0 { Short::NONE } else { Short(row.latency_max_ns as f64) };
    let percentile = |percent: f64| {
        let each = series.latencies.iter().zip(rows());
        each.map(move |(row, whole)| Short::of(percentile(row, percent, whole.latency_max_ns)))
    };
    let columns = [
        Column::unless_empty("mean", rows().map(mean)),
        Column::unless_empty("p50", percentile(50.0)),
        Column::unless_empty("p99", percentile(99.0)),
        Column::unless_empty("p99.9", percentile(99.9)),
        Column::unless_empty("max", rows().map(max)),
    ];
    columns.into_iter().flatten().collect()
}

/// The latency below which that share of a row lies, ns, drawn evenly over its bucket; none where fewer than one
/// operation lies beyond it.
fn percentile(row: &[(u16, u32)], percent: f64, max_ns: u64) -> Option<f64> {
    let count: u64 = row.iter().map(|(_, count)| u64::from(*count)).sum();
    let rank = percent / 100.0 * count as f64;
    if count as f64 - rank < 1.0 {
        return None;
    }
    let mut seen = 0.0;
    for (bucket, in_bucket) in row {
        let next = seen + f64::from(*in_bucket);
        if next >= rank {
            let (low, high) = coarse_edges(usize::from(*bucket));
            let part = (rank - seen) / f64::from(*in_bucket);
            let value = low as f64 + (high as f64 + 1.0 - low as f64) * part;
            return Some(if max_ns > 0 { value.min(max_ns as f64) } else { value });
        }
        seen = next;
    }
    None
}

fn heat(series: &Series) -> Option<Heat> {
    let all = || series.latencies.iter().flatten().map(|(bucket, _)| *bucket);
    let (least, most) = (all().min()?, all().max()?);
    let joined = series.latencies.len().div_ceil(COLUMNS_MOST).max(1);
    let mut cells = Vec::new();
    for (column, rows) in series.latencies.chunks(joined).enumerate() {
        let mut counts = vec![0u64; usize::from(most - least) + 1];
        for (bucket, count) in rows.iter().flatten() {
            counts[usize::from(bucket - least)] += u64::from(*count);
        }
        let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.for_each(|(line, count)| cells.extend([column as u64, line as u64, *count]));
    }
    let lines = usize::from(least)..=usize::from(most);
    let edges = lines.map(|bucket| coarse_edges(bucket).0);
    let top = coarse_edges(usize::from(most)).1;
    let every = Short(series.interval_ns as f64 * joined as f64 / 1e9);
    Some(Heat { every, edges: edges.chain([top.saturating_add(1)]).collect(), cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::histogram::{bucket_of, coarse_of};

    fn coarse(ns: u64) -> u16 {
        coarse_of(bucket_of(ns)) as u16
    }

    fn series(rows: usize) -> Series {
        let row =
            SeriesRow { reads: 2000, read_bytes: 8192000, latency_max_ns: 900_000, ..SeriesRow::default() };
        let latencies = vec![vec![(coarse(100_000), 1900), (coarse(800_000), 100)]; rows];
        Series { interval_ns: 500_000_000, rows: vec![row; rows], latencies }
    }

    /// A job that ended so long after the start line.
    fn job(rows: usize, ended_ns: u64) -> JobRecord {
        let mut job = JobRecord::default();
        (job.tally.series, job.tally.last_done_ns) = (series(rows), ended_ns);
        job
    }

    #[test]
    fn rates_are_per_second_and_idle_directions_are_left_out() {
        let over = over(&job(4, 2_000_000_000)).unwrap();
        assert_eq!(over.operations.len(), 1);
        assert_eq!((over.operations[0].name.as_str(), over.operations[0].values[0].0), ("read", 4000.0));
        assert_eq!(over.bytes[0].values[3].0, 16384000.0);
    }

    #[test]
    fn percentiles_of_a_row_lie_in_their_bucket_and_need_somebody_beyond() {
        let row = &series(1).latencies[0];
        let (low, high) = coarse_edges(usize::from(coarse(100_000)));
        let median = percentile(row, 50.0, 900_000).unwrap();
        assert!(median >= low as f64 && median <= high as f64 + 1.0, "{median}");
        assert!(percentile(row, 99.0, 900_000).unwrap() > 700_000.0);
        assert!(percentile(row, 99.9, 900_000).unwrap() <= 900_000.0);
        assert_eq!(percentile(&[(coarse(1000), 50)], 99.0, 2000), None);
        assert_eq!(percentile(&[], 50.0, 0), None);
    }

    #[test]
    fn a_long_run_is_joined_and_no_operation_is_lost() {
        let long = heat(&series(7200)).unwrap();
        let counted: u64 = long.cells.chunks(3).map(|cell| cell[2]).sum();
        assert_eq!(counted, 7200 * 2000);
        assert!(long.cells.chunks(3).all(|cell| cell[0] < COLUMNS_MOST as u64));
        assert_eq!(long.every.0, 10.0);
    }

    #[test]
    fn a_row_that_the_end_cut_short_is_no_point() {
        let rows = |ended_ns| {
            let over = over(&job(4, ended_ns)).unwrap();
            assert_eq!(over.latency[0].values.len(), 4, "a latency is one, however short the row was");
            over.operations[0].values.len()
        };
        assert_eq!([1_510_000_000, 1_900_000_000, 1_980_000_000, 2_000_000_000].map(rows), [3, 3, 3, 4]);
        // Two rows were drawn as they were: half a row looked like half the rate.
        assert_eq!(over(&job(2, 750_000_000)).unwrap().operations[0].values.len(), 1);
    }

    #[test]
    fn one_row_is_no_line() {
        assert!(over(&job(1, 500_000_000)).is_none());
        assert!(over(&JobRecord::default()).is_none());
    }
}
