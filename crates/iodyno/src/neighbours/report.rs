//! The tables of two neighbours.

use iodyno_model::Histogram;
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use crate::rate_pair::RatePair;

/// One workload at one load of the other one.
pub struct NeighbourPoint {
    /// Percent of the maximum of the one that ramps.
    pub load: f64,
    /// What that one did; none: it did not run.
    pub other_iops: Option<f64>,
    pub victim_iops: f64,
    pub latency: Histogram,
}

impl NeighbourPoint {
    fn p99(&self) -> Option<f64> {
        number::percentile(&self.latency, 99.0).map(|ns| ns as f64)
    }
}

/// One workload while the other one ramps.
pub struct RampResult {
    /// 0: A, 1: B.
    pub victim: usize,
    /// Of the other one, alone.
    pub maximum: f64,
    pub is_limited: bool,
    /// The first is without the other one.
    pub points: Vec<NeighbourPoint>,
}

pub struct NeighboursReport {
    pub targets: [String; 2],
    pub facts: Vec<(String, String)>,
    pub remarks: Vec<String>,
    pub limit: Option<RatePair>,
    pub time_ns: u64,
    pub ramps: Vec<RampResult>,
}

const NAMES: [&str; 2] = ["A", "B"];

impl NeighboursReport {
    pub fn report(&self) -> ExperimentReport {
        let mut facts = vec![
            ("A".to_string(), self.targets[0].clone()),
            ("B".to_string(), self.targets[1].clone()),
            ("each point".to_string(), number::latency(self.time_ns as f64)),
        ];
        facts.extend(self.facts.iter().filter(|(name, _)| name != "workload").cloned());
        ExperimentReport {
            format: "iodyno.neighbours/1",
            title: format!("iodyno neighbours {} {}", self.targets[0], self.targets[1]),
            facts,
            sections: self.ramps.iter().map(|ramp| self.section(ramp)).collect(),
            remarks: self.remarks.clone(),
        }
    }

    fn section(&self, ramp: &RampResult) -> ReportSection {
        let (victim, other) = (NAMES[ramp.victim], NAMES[1 - ramp.victim]);
        let alone = ramp.points.first().and_then(NeighbourPoint::p99);
        let row = |point: &NeighbourPoint| {
            vec![
                ReportCell::Number(point.load),
                ReportCell::of(point.other_iops),
                ReportCell::Number(point.victim_iops),
                ReportCell::Number(point.latency.mean()),
                ReportCell::of(point.p99()),
                ReportCell::of(point.p99().zip(alone).map(|(p99, alone)| p99 / alone)),
            ]
        };
        let limited = match (ramp.is_limited, self.limit) {
            (true, Some(limit)) => format!(", which may do {}", limit_text(limit)),
            _ => String::new(),
        };
        ReportSection {
            title: format!("{victim} while {other} ramps{limited}"),
            about: format!(
                "{victim} as it is; {other} at random times, percent of the {} IOPS that it does alone.",
                number::iops(ramp.maximum)
            ),
            columns: vec![
                ReportColumn::new(&format!("load of {other}"), ColumnUnit::Percent),
                ReportColumn::new(&format!("{other} IOPS"), ColumnUnit::PerSecond),
                ReportColumn::new(&format!("{victim} IOPS"), ColumnUnit::PerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99", ColumnUnit::Nanoseconds),
                ReportColumn::new("× alone", ColumnUnit::Number),
            ],
            rows: ramp.points.iter().map(row).collect(),
            bars: Some(4),
            charts: vec![
                ReportChart::lines(&format!("response time of {victim}"), 0, vec![3, 4]).logarithmic(),
            ],
            sentences: sentence(ramp, victim, other).into_iter().collect(),
            ..ReportSection::default()
        }
    }
}

fn limit_text(limit: RatePair) -> String {
    let iops = limit.iops.map(|iops| format!("{} IOPS", number::iops(iops)));
    let bandwidth = limit.bandwidth.map(|rate| format!("{} MB/s", number::mb(rate)));
    iops.into_iter().chain(bandwidth).collect::<Vec<_>>().join(" and ")
}

fn sentence(ramp: &RampResult, victim: &str, other: &str) -> Option<String> {
    let (first, last) = (ramp.points.first()?, ramp.points.last()?);
    let (alone, beside) = (first.p99()?, last.p99()?);
    Some(format!(
        "p99 of {victim} goes from {} alone to {} beside {other} at {}, its rate from {} to {} IOPS.",
        number::latency(alone),
        number::latency(beside),
        number::percent(last.load),
        number::iops(first.victim_iops),
        number::iops(last.victim_iops)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_has_both_ends() {
        let point = |load, ns: u64| {
            let mut latency = Histogram::default();
            (0..2000).for_each(|_| latency.add(ns));
            NeighbourPoint { load, other_iops: None, victim_iops: 1000.0, latency }
        };
        let ramp = RampResult {
            victim: 1,
            maximum: 5000.0,
            is_limited: false,
            points: vec![point(0.0, 100_000), point(100.0, 2_000_000)],
        };
        let said = sentence(&ramp, "B", "A").unwrap();
        assert!(said.starts_with("p99 of B goes from 100 µs alone to 2.0"), "{said}");
        let limit = RatePair { iops: Some(500.0), bandwidth: Some(20e6) };
        assert_eq!(limit_text(limit), "500 IOPS and 20.0 MB/s");
    }
}
