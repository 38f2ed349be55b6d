//! The rules as text, and whether what was promised is kept.

use iodyno_model::device::{Cloud, DevicePart, PartKind};
use iodyno_model::reflect::Reflect;
use iodyno_model::{Device, RunStart, units};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::fit::{Burst, LimitFigures, Rules};
use crate::rate_pair::RatePair;
use crate::single_workload::SingleWorkload;

/// A promise is kept from this part of it on: a cap is a little above what gets through.
const KEPT: f64 = 0.95;

/// Of what tells no size.
const UNKNOWN_CAPACITY_BYTES: u64 = 1_000_000_000_000;

/// All there is to tell.
pub struct LimitsReport {
    pub figures: LimitFigures,
    pub workload: SingleWorkload,
    pub started: RunStart,
    pub promised: Option<RatePair>,
}

impl LimitsReport {
    /// The best that was measured in the long run: operations and bytes per second.
    fn best(&self) -> (f64, f64) {
        let most = |figure: fn(&super::fit::SizePoint) -> f64| {
            self.figures.sizes.iter().map(figure).fold(0.0, f64::max)
        };
        (most(|point| point.iops), most(super::fit::SizePoint::rate))
    }

    pub fn is_kept(&self) -> bool {
        let (iops, bandwidth) = self.best();
        let kept =
            |promised: Option<f64>, found: f64| promised.is_none_or(|promised| found >= promised * KEPT);
        self.promised.is_none_or(|promised| kept(promised.iops, iops) && kept(promised.bandwidth, bandwidth))
    }

    pub fn report(&self) -> ExperimentReport {
        let rules = self.figures.rules();
        let sections = [Some(self.found(&rules)), Some(self.by_size()), self.bursts(), self.promises()];
        ExperimentReport {
            format: "iodyno.limits/1",
            title: format!("iodyno limits {}", self.workload.target),
            facts: self.workload.facts(&self.started),
            sections: sections.into_iter().flatten().collect(),
            remarks: self.workload.remarks(),
        }
    }

    /// The rules as a simulated device. Of what has no cap the best that was measured stands for one: more was never shown.
    pub fn device(&self, name: String) -> Device {
        let rules = self.figures.rules();
        let (most, _) = self.best();
        let whole = |figure: f64| figure.round().max(1.0) as u64;
        let iops = rules.lent.map(|lent| lent.slow).or(rules.iops).map_or(whole(most), whole);
        let target = &self.workload.target;
        let size = self.started.targets.iter().find_map(|facts| facts.size_bytes);
        let mut cloud = Cloud {
            capacity_bytes: size.filter(|bytes| *bytes > 0).unwrap_or(UNKNOWN_CAPACITY_BYTES),
            iops,
            burst_iops: 0,
            iops_credits: 0,
            bandwidth: rules.bandwidth.map_or(0, whole),
            burst_bandwidth: 0,
            bandwidth_credits_bytes: 0,
            latency_ns: 0,
            variation: 0.0,
            accounted_bytes: rules.accounted_bytes.unwrap_or(0),
            ..Cloud::blank()
        };
        if let (Some(_), Some((cold, warm))) =
            (rules.cold_times, self.figures.cold_ns.zip(self.figures.warm_ns))
        {
            cloud.cold_ns = whole(cold - warm);
            // How much is fetched together was not asked: as much as is usual.
        }
        if let Some(lent) = rules.lent.filter(|lent| whole(lent.fast) > iops) {
            (cloud.burst_iops, cloud.iops_credits) = (whole(lent.fast), whole(lent.operations));
        }
        cloud.latency_ns = self.figures.single_ns.map_or(0, |single| self.beside_caps(&cloud, single));
        Device {
            name,
            about: format!("the rules of {target} as they were found"),
            source: format!("iodyno limits {target}"),
            parts: vec![DevicePart {
                name: "volume".into(),
                kind: PartKind::Cloud(cloud),
                ..DevicePart::default()
            }],
            ..Device::default()
        }
    }

    /// What an operation takes beside the time in which the volume's caps let it pass: so the simulated one answers it at depth
    /// 1 as fast as the real one did.
    fn beside_caps(&self, cloud: &Cloud, single_ns: f64) -> u64 {
        let bytes = self.figures.sizes.first().map_or(0, |point| point.bytes);
        let interval = |amount: u64, rate: u64| match rate {
            0 => 0.0,
            rate => amount as f64 * 1e9 / rate as f64,
        };
        let operations = interval(1, cloud.iops.max(cloud.burst_iops));
        (single_ns - operations.max(interval(bytes, cloud.bandwidth))).max(0.0).round() as u64
    }

    fn found(&self, rules: &Rules) -> ReportSection {
        let rows = [
            ("operations", Some(self.operations(rules))),
            ("bytes", Some(bytes(rules))),
            ("accounting", Some(accounting(rules))),
            ("burst", Some(burst(rules))),
            ("refill", refill(rules).filter(|_| self.figures.idle_ns > 0)),
            ("first read", self.first_read(rules)),
            ("depth 1", self.figures.single_ns.map(|ns| format!("{} each", number::latency(ns)))),
        ];
        let column = |name| ReportColumn::new(name, ColumnUnit::Words);
        let found = |found: Option<String>| found.map_or(ReportCell::None, ReportCell::Text);
        ReportSection {
            title: "Rules that explain what was measured".into(),
            columns: vec![column("rule"), column("found")],
            rows: rows.into_iter().map(|(name, text)| vec![ReportCell::text(name), found(text)]).collect(),
            ..ReportSection::default()
        }
    }

    fn operations(&self, rules: &Rules) -> String {
        match rules.iops {
            Some(iops) if self.figures.is_limited_by_depth() => {
                format!("{} IOPS, made by depth {}: no cap was met", number::iops(iops), self.figures.depth)
            }
            Some(iops) => format!("at most {} IOPS", number::iops(iops)),
            None => "no cap was met: larger ones are slower from the smallest on".into(),
        }
    }

    fn first_read(&self, rules: &Rules) -> Option<String> {
        let (cold, warm) = self.figures.cold_ns.zip(self.figures.warm_ns)?;
        Some(match rules.cold_times {
            Some(times) => format!(
                "{} × as long as the second ({} and {})",
                number::significant(times),
                number::latency(cold),
                number::latency(warm)
            ),
            None => "not slower than the second".into(),
        })
    }

    fn by_size(&self) -> ReportSection {
        let row = |point: &super::fit::SizePoint| {
            vec![
                ReportCell::Number(point.bytes as f64),
                ReportCell::Number(point.iops),
                ReportCell::Number(point.rate()),
            ]
        };
        ReportSection {
            title: "Rate over block size".into(),
            about: format!("Random operations, {} in flight, after the burst.", self.figures.depth),
            columns: vec![
                ReportColumn::new("block", ColumnUnit::Bytes),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
            ],
            rows: self.figures.sizes.iter().map(row).collect(),
            bars: Some(2),
            charts: vec![
                ReportChart::bars("operations per second", 1),
                ReportChart::bars("bytes per second", 2),
            ],
            ..ReportSection::default()
        }
    }

    /// The rate over time, for the page: text has the rules.
    fn bursts(&self) -> Option<ReportSection> {
        let first = self.figures.first.as_ref()?;
        // As many rows as a person reads.
        let step = first.rates.len().div_ceil(ROWS).max(1);
        let rate = |burst: Option<&Burst>, at: usize| {
            let rates = burst.and_then(|burst| burst.rates.get(at..burst.rates.len().min(at + step)));
            let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
            ReportCell::of(rates.filter(|rates| !rates.is_empty()).map(mean))
        };
        let row = |at: usize| {
            vec![
                ReportCell::Number((at as u64 * first.row_ns) as f64),
                rate(Some(first), at),
                rate(self.figures.again.as_ref(), at),
            ]
        };
        Some(ReportSection {
            title: "Rate over time".into(),
            about: format!(
                "Small operations from the first one on, and again after {} of rest.",
                number::wait(self.figures.idle_ns)
            ),
            columns: vec![
                ReportColumn::new("after", ColumnUnit::Nanoseconds),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("after the pause", ColumnUnit::PerSecond),
            ],
            rows: (0..first.rates.len()).step_by(step).map(row).collect(),
            bars: Some(1),
            charts: vec![ReportChart::lines("operations per second over time", 0, vec![1, 2])],
            ..ReportSection::default()
        })
    }

    fn promises(&self) -> Option<ReportSection> {
        let promised = self.promised?;
        let (iops, bandwidth) = self.best();
        let said = |name: &str, promised: Option<f64>, found: f64, text: &dyn Fn(f64) -> String| {
            let promised = promised?;
            let verdict = if found >= promised * KEPT { "kept" } else { "NOT kept" };
            Some(format!("{name}: {} promised, {} measured: {verdict}.", text(promised), text(found)))
        };
        let iops = said("operations", promised.iops, iops, &|iops| format!("{} IOPS", number::iops(iops)));
        let bandwidth =
            said("bytes", promised.bandwidth, bandwidth, &|rate| format!("{} MB/s", number::mb(rate)));
        Some(ReportSection {
            title: "Promises".into(),
            sentences: iops.into_iter().chain(bandwidth).collect(),
            ..ReportSection::default()
        })
    }
}

fn bytes(rules: &Rules) -> String {
    match rules.bandwidth {
        Some(bandwidth) => format!("at most {} MB/s", number::mb(bandwidth)),
        None => "no cap was met: the largest operations still bring more".into(),
    }
}

fn accounting(rules: &Rules) -> String {
    match rules.accounted_bytes {
        Some(bytes) => format!("an operation counts once for each {}", units::binary(bytes)),
        None => "an operation counts once, as far as the rates show".into(),
    }
}

fn burst(rules: &Rules) -> String {
    match rules.lent {
        Some(lent) => format!(
            "{} IOPS for {}, then {}: {} operations lent",
            number::iops(lent.fast),
            number::latency(lent.lasted_ns),
            number::iops(lent.slow),
            number::thousands(lent.operations.round() as u64)
        ),
        None => "none was seen in this time".into(),
    }
}

fn refill(rules: &Rules) -> Option<String> {
    match rules.refill {
        Some(refill) => Some(format!("{} operations per second of rest", number::significant(refill))),
        None => rules.lent.map(|_| "nothing came back in the pause".into()),
    }
}

/// Rows of a rate over time in text.
const ROWS: usize = 12;
