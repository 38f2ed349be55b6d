//! The table of a search, and what it comes to.

use iodyno_model::{RunStart, units};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::AcceleratorsArgs;
use super::point::FeedingPoint;
use super::workload::TrainingRun;
use crate::doubling;
use crate::experiment_ranks;

/// Less than this from the page cache is no matter, percent.
const CACHED_PERCENT: f64 = 5.0;
/// A data set so many times as large as the memory needs no look at the cache. Source: MLPerf Storage rules 2.0.
const MEMORY_TIMES: u64 = 5;

pub struct FeedingFigures<'a> {
    pub words: &'a AcceleratorsArgs,
    pub run: &'a TrainingRun,
    pub started: RunStart,
    pub points: Vec<FeedingPoint>,
    pub least_percent: f64,
    /// Accelerators that the command and the data set allow.
    pub most: u32,
}

impl FeedingFigures<'_> {
    pub fn report(&self) -> ExperimentReport {
        let target = self.words.directory.as_deref().or(self.words.on.as_deref()).unwrap_or_default();
        let remark = "After MLPerf Storage, not a result of it.".to_string();
        let simulated = "All figures are simulated: no storage was touched.".to_string();
        ExperimentReport {
            format: "iodyno.accelerators/1",
            title: format!("iodyno accelerators {target}"),
            facts: self.facts(),
            sections: vec![self.curve()],
            remarks: self.run.device.as_ref().map(|_| simulated).into_iter().chain([remark]).collect(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (run, figures) = (self.run, &self.run.figures);
        let machine = &self.started.machine;
        let set = format!(
            "{} files of {} samples, {}; {} a sample",
            number::thousands(run.files),
            number::thousands(figures.per_file),
            units::binary(run.files * figures.file_bytes()),
            units::binary(figures.sample_bytes)
        );
        let input = format!(
            "batches of {}, {} readers each, {} computing for a step",
            figures.batch,
            figures.readers,
            number::latency(run.compute_ns as f64)
        );
        let mut facts = vec![
            ("workload".into(), format!("{}: {input}", figures.name)),
            ("data set".into(), set),
            ("machine".into(), format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel)),
        ];
        facts.extend(experiment_ranks::fact(&self.started.world));
        facts
    }

    fn curve(&self) -> ReportSection {
        let row = |point: &FeedingPoint| {
            vec![
                ReportCell::Number(point.accelerators.into()),
                ReportCell::Number(point.utilised_percent),
                ReportCell::Number(point.least_percent),
                ReportCell::Number(point.samples_per_second),
                ReportCell::Number(point.bytes_per_second),
                ReportCell::of(point.cached_percent),
                ReportCell::of(point.processors_percent),
            ]
        };
        let fed = doubling::last_good(&self.points, |point| point.is_fed(self.least_percent));
        ReportSection {
            title: "Utilisation over accelerators".into(),
            about: "The share of its time in which an accelerator computes: the mean of all, and of the one that waited longest.".into(),
            columns: vec![
                ReportColumn::new("accelerators", ColumnUnit::Number),
                ReportColumn::new("utilised", ColumnUnit::Percent),
                ReportColumn::new("least", ColumnUnit::Percent),
                ReportColumn::new("samples/s", ColumnUnit::PerSecond),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("cached", ColumnUnit::Percent),
                ReportColumn::new("CPU", ColumnUnit::Percent),
            ],
            rows: self.points.iter().map(row).collect(),
            mark: fed.map(|index| (index, "fed")),
            bars: None,
            pictures: Vec::new(),
            charts: vec![ReportChart::lines("utilisation", 0, vec![1, 2])],
            sentences: self.sentences(fed),
        }
    }

    fn sentences(&self, fed: Option<usize>) -> Vec<String> {
        let threshold = number::percent(self.least_percent);
        let name = self.run.figures.name;
        let next = fed.map_or(0, |index| index + 1);
        let beyond = self.points.get(next);
        let mut all = vec![match fed.map(|index| &self.points[index]) {
            None => format!("Not one accelerator of {name} is utilised {threshold}."),
            Some(point) => {
                format!("{} of {name} are utilised {threshold} or more.", counted(point.accelerators))
            }
        }];
        match beyond {
            Some(point) => all.push(self.limit(point)),
            None if self.most < self.words.most => all.push(format!(
                "The data set has no samples for more than {}: --dataset makes it larger.",
                self.most
            )),
            None => all.push("All that were asked for are fed: --most allows more.".into()),
        }
        all.extend(self.cache());
        let sample_ns = beyond.or(self.points.last()).and_then(|point| point.sample_ns);
        all.extend(
            sample_ns.map(|ns| format!("Reading took {} of processor time a sample.", number::latency(ns))),
        );
        all
    }

    /// What kept more of them from being fed.
    fn limit(&self, point: &FeedingPoint) -> String {
        format!(
            "With {} number {}{} waited longest, {} for its batches; {}.",
            point.accelerators,
            point.late,
            point.late_place,
            number::latency(point.late_ns as f64),
            point.limit
        )
    }

    /// Whether memory may have answered.
    fn cache(&self) -> Option<String> {
        if self.run.device.is_some() {
            return None;
        }
        let machines = u64::from(self.started.world.machines());
        let memory = self.started.machine.memory_bytes.saturating_mul(machines);
        let set = self.run.files * self.run.figures.file_bytes();
        if set >= memory.saturating_mul(MEMORY_TIMES) {
            return Some(format!("The data set is {MEMORY_TIMES} times the memory or more."));
        }
        let times = match set as f64 / memory.max(1) as f64 {
            times if times < 0.01 => "less than a hundredth of".into(),
            times => format!("{} times", number::significant(times)),
        };
        let worst = self.points.iter().filter_map(|point| point.cached_percent).max_by(f64::total_cmp);
        let seen = match worst {
            Some(percent) if percent > CACHED_PERCENT => {
                format!("and yet up to {} came from the cache", number::percent(percent))
            }
            Some(percent) => format!("and at most {} came from the cache", number::percent(percent)),
            None => "and what came from the cache all the same is unknown".into(),
        };
        Some(format!(
            "The data set is {times} the memory, not {MEMORY_TIMES} times; its cached pages were dropped before each point, {seen}."
        ))
    }
}

fn counted(count: u32) -> String {
    if count == 1 { "1 accelerator".into() } else { format!("{count} accelerators") }
}
