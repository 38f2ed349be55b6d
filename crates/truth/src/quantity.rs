//! The quantities of a job that can be demanded and compared, by their names: `read.p99`, `write.iops`, `stat.mean`.
//!
//! One place for what such a word means, so that a demand and a comparison mean the same. Refuses a value where nothing
//! of the kind was counted.

use std::fmt;

use iodyno_model::{Histogram, JobRecord, Kind, Line, PhaseRecord, Series, SeriesRow, units};

use crate::statistics::{self, Estimate, interval};

/// Which operations of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationSet {
    /// All but control.
    All,
    /// Those of a kind.
    Kind(Kind),
    /// Those of a label, or of a verb by its name.
    Label(String),
}

/// Words for kinds of operations.
pub const KINDS: [(&str, Kind); 6] = [
    ("read", Kind::Read),
    ("write", Kind::Write),
    ("trim", Kind::Trim),
    ("sync", Kind::Sync),
    ("metadata", Kind::Metadata),
    ("network", Kind::Network),
];

impl OperationSet {
    /// What a word means; any word that is none of ours is a label.
    pub fn named(word: &str) -> OperationSet {
        match (word, KINDS.iter().find(|(name, _)| *name == word)) {
            ("all" | "total" | "", _) => OperationSet::All,
            (_, Some((_, kind))) => OperationSet::Kind(*kind),
            (label, None) => OperationSet::Label(label.into()),
        }
    }

    fn has(&self, line: &Line) -> bool {
        match self {
            OperationSet::All => line.verb.kind() != Kind::Control,
            OperationSet::Kind(kind) => line.verb.kind() == *kind,
            OperationSet::Label(label) => line.label == *label || line.verb.name() == label,
        }
    }

    /// Operations and bytes of a row; `None` where rows do not tell these apart.
    fn of_row(&self, row: &SeriesRow) -> Option<(u64, u64)> {
        Some(match self {
            OperationSet::All => (row.operations(), row.read_bytes + row.write_bytes + row.trim_bytes),
            OperationSet::Kind(Kind::Read) => (row.reads, row.read_bytes),
            OperationSet::Kind(Kind::Write) => (row.writes, row.write_bytes),
            OperationSet::Kind(Kind::Trim) => (row.trims, row.trim_bytes),
            _ => return None,
        })
    }
}

impl fmt::Display for OperationSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperationSet::All => f.write_str("all"),
            OperationSet::Kind(kind) => {
                f.write_str(KINDS.iter().find(|(_, known)| known == kind).map_or("control", |(name, _)| name))
            }
            OperationSet::Label(label) => f.write_str(label),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Operations per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Operations per second of the slowest full row of the series.
    Worst,
    /// Mean latency, ns.
    Mean,
    /// Smallest latency, ns.
    Least,
    /// Largest latency, ns.
    Most,
    /// A percentile of the latency, ns.
    Percentile(f64),
    /// Operations that succeeded.
    Operations,
    /// Bytes they moved.
    Bytes,
    /// Operations that failed.
    Errors,
}

/// Words for what is measured, the first of each the one that is written; percentiles are `p50`, `p99.9`, ….
const MEASURES: [(&str, Measure); 17] = [
    ("iops", Measure::Rate),
    ("rate", Measure::Rate),
    ("bandwidth", Measure::Bandwidth),
    ("bw", Measure::Bandwidth),
    ("worst", Measure::Worst),
    ("mean", Measure::Mean),
    ("latency", Measure::Mean),
    ("lat", Measure::Mean),
    ("avg", Measure::Mean),
    ("min", Measure::Least),
    ("max", Measure::Most),
    ("operations", Measure::Operations),
    ("ops", Measure::Operations),
    ("bytes", Measure::Bytes),
    ("errors", Measure::Errors),
    ("failed", Measure::Errors),
    ("median", Measure::Percentile(50.0)),
];

impl Measure {
    /// What a word means.
    pub fn named(word: &str) -> Option<Measure> {
        if let Some((_, measure)) = MEASURES.iter().find(|(name, _)| *name == word) {
            return Some(*measure);
        }
        let digits = word.strip_prefix('p').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
        let percent: f64 = digits.parse().ok()?;
        (percent > 0.0 && percent < 100.0).then_some(Measure::Percentile(percent))
    }

    /// Every word there is, for hints.
    pub fn words() -> String {
        let names: Vec<&str> = MEASURES.iter().map(|(name, _)| *name).collect();
        format!("{}, p50, p99, p99.9, …", names.join(", "))
    }

    /// `1/s`, `bytes/s`, `ns`, `bytes` or nothing.
    pub fn unit(self) -> &'static str {
        match self {
            Measure::Rate | Measure::Worst => "1/s",
            Measure::Bandwidth => "bytes/s",
            Measure::Bytes => "bytes",
            Measure::Operations | Measure::Errors => "",
            _ => "ns",
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        !matches!(self.unit(), "ns") && self != Measure::Errors
    }

    /// A value of it with its unit, for reading.
    pub fn text(self, value: f64) -> String {
        match self.unit() {
            "1/s" => format!("{}/s", units::count(value)),
            "bytes/s" => format!("{}/s", units::decimal(value)),
            "bytes" => units::decimal(value),
            "ns" => units::duration(value),
            _ => units::count(value),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, MEASURES.iter().find(|(_, known)| known == self)) {
            (Measure::Percentile(percent), _) => write!(f, "p{percent}"),
            (_, Some((name, _))) => f.write_str(name),
            (_, None) => Ok(()),
        }
    }
}

/// A quantity of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub what: OperationSet,
    pub measure: Measure,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            OperationSet::All => self.measure.fmt(f),
            _ => write!(f, "{}.{}", self.what, self.measure),
        }
    }
}

impl Quantity {
    /// A quantity.
    pub fn new(what: OperationSet, measure: Measure) -> Self {
        Quantity { what, measure }
    }

    /// Its value in a job's record; `None`: nothing of the kind was counted.
    pub fn of(&self, phase: &PhaseRecord, job: &JobRecord) -> Option<f64> {
        let mut lines = job.tally.lines.iter().filter(|line| self.what.has(line)).peekable();
        lines.peek()?;
        let sum = |of: fn(&Line) -> u64| lines.clone().map(of).sum::<u64>() as f64;
        let seconds = seconds(phase, job);
        let latency = || Some(self.latency(job)).filter(|latency| !latency.is_empty());
        match self.measure {
            Measure::Rate => (seconds > 0.0).then(|| sum(|line| line.operations) / seconds),
            Measure::Bandwidth => (seconds > 0.0).then(|| sum(|line| line.bytes) / seconds),
            Measure::Worst => self.rows(job)?.into_iter().min_by(f64::total_cmp),
            Measure::Operations => Some(sum(|line| line.operations)),
            Measure::Bytes => Some(sum(|line| line.bytes)),
            Measure::Errors => Some(sum(|line| line.failed)),
            Measure::Mean => latency().map(|latency| latency.mean()),
            Measure::Least => latency().map(|latency| latency.min as f64),
            Measure::Most => latency().map(|latency| latency.max as f64),
            Measure::Percentile(percent) => latency().map(|latency| latency.percentile(percent) as f64),
        }
    }

    /// The latencies of these operations.
    pub fn latency(&self, job: &JobRecord) -> Histogram {
        let mut merged = Histogram::default();
        let lines = job.tally.lines.iter().filter(|line| self.what.has(line));
        lines.for_each(|line| merged.merge(&line.latency));
        merged
    }

    /// What this quantity was in each full row of the series, per second; `None`: rows do not tell it.
    pub fn rows(&self, job: &JobRecord) -> Option<Vec<f64>> {
        let series = &job.tally.series;
        let per_second = 1e9 / series.interval_ns.max(1) as f64;
        let row = |row: &SeriesRow| match (self.measure, self.what.of_row(row)?) {
            (Measure::Rate | Measure::Worst, (operations, _)) => Some(operations as f64 * per_second),
            (Measure::Bandwidth, (_, bytes)) => Some(bytes as f64 * per_second),
            (Measure::Mean, (operations, _)) if self.what == OperationSet::All && operations > 0 => {
                Some(row.latency_sum_ns as f64 / operations as f64)
            }
            _ => None,
        };
        let rows: Option<Vec<f64>> = series.rows.get(..full_rows(job))?.iter().map(row).collect();
        rows.filter(|rows| !rows.is_empty())
    }

    /// Its value with an interval, from what varied within a job's passes; `None` where they are too short to tell.
    pub fn estimate(
        &self,
        passes: &[(&PhaseRecord, &JobRecord)],
        confidence_percent: f64,
    ) -> Option<Estimate> {
        match self.measure {
            Measure::Percentile(percent) => {
                let mut all = Histogram::default();
                passes.iter().for_each(|(_, job)| all.merge(&self.latency(job)));
                let series = passes.iter().map(|(_, job)| full_series(job));
                let inflation = series.map(|series| statistics::inflation(&series, percent));
                interval::percentile(&all, percent, inflation.fold(1.0, f64::max), confidence_percent)
            }
            _ => {
                let rows: Option<Vec<Vec<f64>>> = passes.iter().map(|(_, job)| self.rows(job)).collect();
                let found = interval::mean_over_time(&rows?.concat(), confidence_percent)?;
                // Rows leave out the beginnings and ends, which the figure has.
                let values: Option<Vec<f64>> =
                    passes.iter().map(|(phase, job)| self.of(phase, job)).collect();
                let values = values?;
                let value = values.iter().sum::<f64>() / values.len() as f64;
                let off = value - found.value;
                Some(Estimate { value, low: found.low + off, high: found.high + off, ..found })
            }
        }
    }
}

/// The measured time of a job, seconds: from its first counted operation to its last worker's end.
pub fn seconds(phase: &PhaseRecord, job: &JobRecord) -> f64 {
    let own = job.tally.last_done_ns.saturating_sub(job.tally.began_ns);
    (if own > 0 { own } else { phase.elapsed_ns }) as f64 / 1e9
}

/// How many rows of a job's series were full: all of its workers ran from their beginning to their end. They begin where
/// the job began to count.
pub fn full_rows(job: &JobRecord) -> usize {
    let (tally, length) = (&job.tally, job.tally.series.interval_ns.max(1));
    let together_ns = tally.first_done_ns.saturating_sub(tally.began_ns);
    ((together_ns / length) as usize).min(tally.series.rows.len())
}

/// How many rows of a job's series lasted as long as a row is: some worker was at work until their end, but for a
/// hundredth of a row. What was counted in the last one of them is a rate; in one that the end cut short it is none.
pub fn whole_rows(job: &JobRecord) -> usize {
    let (tally, length) = (&job.tally, job.tally.series.interval_ns.max(1));
    let lasted_ns = tally.last_done_ns.saturating_sub(tally.began_ns).saturating_add(length / 100);
    ((lasted_ns / length) as usize).min(tally.series.rows.len())
}

/// When a row of a job's series ended, ns after the job began to count: the last one with the job.
pub fn row_end_ns(job: &JobRecord, row: usize) -> u64 {
    let (tally, length) = (&job.tally, job.tally.series.interval_ns);
    let (end_ns, lasted_ns) =
        (length.saturating_mul(row as u64 + 1), tally.last_done_ns.saturating_sub(tally.began_ns));
    let is_cut = lasted_ns < end_ns && lasted_ns > length.saturating_mul(row as u64);
    if is_cut { lasted_ns } else { end_ns }
}

/// The series of a job without the rows that are not full.
fn full_series(job: &JobRecord) -> Series {
    let series = &job.tally.series;
    let latencies = series.latencies.get(..full_rows(job)).unwrap_or_default().to_vec();
    Series { interval_ns: series.interval_ns, rows: Vec::new(), latencies }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Verb;

    fn job() -> JobRecord {
        let mut line = Line::empty("read", Verb::Read);
        (line.operations, line.bytes, line.failed) = (1000, 4_096_000, 2);
        (1..=1000u64).for_each(|index| line.latency.add(index * 1000));
        let mut job = JobRecord::default();
        job.tally.lines.push(line);
        (job.tally.first_done_ns, job.tally.last_done_ns) = (9_500_000_000, 10_000_000_000);
        let rows = (0..10).map(|index| SeriesRow { reads: 100 - index, ..SeriesRow::default() }).collect();
        job.tally.series = Series { interval_ns: 1_000_000_000, rows, ..Series::default() };
        job
    }

    #[test]
    fn words_are_quantities_and_back() {
        for (word, measure) in MEASURES.iter().chain(&[("p99.9", Measure::Percentile(99.9))]) {
            assert_eq!(Measure::named(word), Some(*measure));
            let again = Measure::named(&measure.to_string()).unwrap();
            assert_eq!(again, *measure, "{word}");
        }
        assert_eq!(
            (Measure::named("p0"), Measure::named("p100"), Measure::named("pace")),
            (None, None, None)
        );
        assert_eq!(
            Quantity::new(OperationSet::named("read"), Measure::Percentile(99.0)).to_string(),
            "read.p99"
        );
    }

    #[test]
    fn quantities_are_what_was_counted() {
        let (phase, job) = (PhaseRecord::default(), job());
        let of = |what: &str, measure: &str| {
            Quantity::new(OperationSet::named(what), Measure::named(measure).unwrap()).of(&phase, &job)
        };
        assert_eq!(of("read", "iops"), Some(100.0));
        assert_eq!(of("all", "bandwidth"), Some(409_600.0));
        assert_eq!((of("read", "errors"), of("read", "max")), (Some(2.0), Some(1_000_000.0)));
        assert_eq!(of("read", "worst"), Some(92.0), "the tenth row was cut off");
        assert_eq!((of("write", "iops"), of("stat", "p99")), (None, None));
        assert!((of("read", "p99").unwrap() / 990_000.0 - 1.0).abs() < 0.005);
    }

    #[test]
    fn a_row_that_the_end_cut_short_is_no_rate() {
        let mut job = job();
        let rows = |job: &JobRecord| (full_rows(job), whole_rows(job), row_end_ns(job, 9));
        assert_eq!(rows(&job), (9, 10, 10_000_000_000));
        job.tally.last_done_ns = 9_995_000_000;
        assert_eq!(rows(&job), (9, 10, 9_995_000_000), "so little is missing that it is one");
        job.tally.last_done_ns = 9_500_000_000;
        assert_eq!(rows(&job), (9, 9, 9_500_000_000));
        // After a ramp of five seconds the rows begin where counting does.
        let tally = &mut job.tally;
        (tally.began_ns, tally.first_done_ns, tally.last_done_ns) =
            (5_000_000_000, 14_500_000_000, 14_600_000_000);
        assert_eq!(rows(&job), (9, 9, 9_600_000_000));
        // The start line is crossed a moment before the first operation.
        let tally = &mut job.tally;
        (tally.began_ns, tally.first_done_ns, tally.last_done_ns) = (30_000, 10_000_040_000, 10_000_050_000);
        assert_eq!(rows(&job), (10, 10, 10_000_000_000));
    }

    #[test]
    fn estimates_hold_the_figure() {
        let (phase, job) = (PhaseRecord::default(), job());
        let rate = Quantity::new(OperationSet::All, Measure::Rate).estimate(&[(&phase, &job)], 95.0).unwrap();
        assert!(rate.low < 100.0 && rate.value == 100.0 && rate.high > 100.0, "{rate:?}");
        let p90 = Quantity::new(OperationSet::Kind(Kind::Read), Measure::Percentile(90.0));
        let p90 = p90.estimate(&[(&phase, &job)], 95.0).unwrap();
        assert!(p90.low < 890_000.0 && p90.high > 910_000.0, "{p90:?}");
        let stat = Quantity::new(OperationSet::Label("stat".into()), Measure::Rate);
        assert_eq!(stat.estimate(&[(&phase, &job)], 95.0), None);
    }
}
