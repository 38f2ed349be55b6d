//! The table of a search for the largest rate, and what it comes to.

use iodyno_model::{RunStart, units};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::VectorSearchArgs;
use super::index::{self, IndexPlace, SearchPoint, SearchRun};
use crate::doubling;
use crate::experiment_ranks;

/// Less than this from the page cache is no matter, percent.
const CACHED_PERCENT: f64 = 5.0;

pub struct SearchFigures<'a> {
    pub words: &'a VectorSearchArgs,
    pub run: &'a SearchRun,
    pub started: RunStart,
    pub points: Vec<SearchPoint>,
}

impl SearchFigures<'_> {
    pub fn report(&self) -> ExperimentReport {
        let target = self.words.target.as_deref().or(self.words.on.as_deref()).unwrap_or_default();
        let remark = "After MLPerf Storage, not a result of it.".to_string();
        let simulated = "All figures are simulated: no storage was touched.".to_string();
        ExperimentReport {
            format: "iodyno.vector-search/1",
            title: format!("iodyno vector-search {target}"),
            facts: self.facts(),
            sections: vec![self.curve()],
            remarks: self.run.device().map(|_| simulated).into_iter().chain([remark]).collect(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (run, index, words) = (self.run, &self.run.index, self.words);
        let found = if matches!(run.place, IndexPlace::Found { .. }) { ", only read" } else { "" };
        let laid_out = format!(
            "{} vectors of {} numbers and {} neighbours, {}{found}",
            number::thousands(index.vectors),
            words.dimensions,
            words.degree,
            units::binary(index.bytes())
        );
        let mut search = format!(
            "{} reads of {} in {} rounds, one after the other, {} side by side; list of {}",
            run.reads(),
            units::binary(index.read_bytes()),
            run.rounds(),
            run.beam,
            run.list
        );
        if let Some(recall) = index::recall_of_list(run.list) {
            search.push_str(&format!(" (recall@10 {recall} % in DiskANN's example; not checked here)"));
        }
        if run.cached_levels > 0 {
            let nodes = index.nodes_of(run.cached_levels);
            let bytes = units::binary(nodes * index.node_bytes);
            search.push_str(&format!("; {} nodes in memory, {bytes}", number::thousands(nodes)));
        }
        search.push_str(&match run.compute_ns {
            0 => "; distances cost nothing".into(),
            ns => format!("; {} computing each round", number::latency(ns as f64)),
        });
        let engine = match run.device() {
            Some(_) => String::new(),
            None if run.is_bucket() => "s3".into(),
            None => format!("{}, past the page cache where the file system allows it", run.engine),
        };
        let machine = &self.started.machine;
        let mut facts = vec![
            ("index".into(), laid_out),
            ("search".into(), search),
            ("engine".into(), engine),
            ("machine".into(), format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel)),
        ];
        facts.extend(experiment_ranks::fact(&self.started.world));
        facts
    }

    fn curve(&self) -> ReportSection {
        let row = |point: &SearchPoint| {
            let at =
                |percent| ReportCell::of(number::percentile(&point.latency, percent).map(|ns| ns as f64));
            vec![
                ReportCell::Number(point.threads.into()),
                ReportCell::Number(point.per_second),
                ReportCell::of((!point.latency.is_empty()).then(|| point.latency.mean())),
                at(50.0),
                at(99.0),
                at(99.9),
                ReportCell::Number(point.reads_per_second),
                ReportCell::of(point.processors_percent),
            ]
        };
        let kept = self.kept();
        let column = ReportColumn::new;
        ReportSection {
            title: "Searches over threads".into(),
            about: "Each thread searches again and again; a search's time is that of all its rounds.".into(),
            columns: vec![
                column("threads", ColumnUnit::Number),
                column("searches/s", ColumnUnit::PerSecond),
                column("mean", ColumnUnit::Nanoseconds),
                column("p50", ColumnUnit::Nanoseconds),
                column("p99", ColumnUnit::Nanoseconds),
                column("p99.9", ColumnUnit::Nanoseconds),
                column("reads/s", ColumnUnit::PerSecond),
                column("CPU", ColumnUnit::Percent),
            ],
            rows: self.points.iter().map(row).collect(),
            mark: kept.map(|index| (index, "best")),
            bars: None,
            pictures: Vec::new(),
            charts: vec![
                ReportChart::lines("searches each second", 0, vec![1]),
                ReportChart::lines("time of a search", 0, vec![3, 4, 5]).logarithmic(),
            ],
            sentences: self.sentences(kept),
        }
    }

    /// The most searches of those that keep the target.
    fn kept(&self) -> Option<usize> {
        let good = doubling::last_good(&self.points, |point| point.keeps(self.words.target_p99))?;
        (0..=good).max_by(|a, b| self.points[*a].per_second.total_cmp(&self.points[*b].per_second))
    }

    fn sentences(&self, kept: Option<usize>) -> Vec<String> {
        let target = number::latency(self.words.target_p99 as f64);
        let mut all = vec![match kept.map(|index| &self.points[index]) {
            None => format!("With none of these do 99 % of the searches end within {target}."),
            Some(point) => format!(
                "{} searches/s, 99 % of them within {target}, by {}.",
                number::iops(point.per_second),
                threads(point.threads)
            ),
        }];
        match self.points.iter().find(|point| !point.keeps(self.words.target_p99)) {
            Some(point) => all.push(self.limit(point)),
            None if self.words.threads.is_empty() => {
                all.push("The most threads keep the target: --most allows more.".into());
            }
            None => {}
        }
        all.extend(self.points.get(kept.unwrap_or(0)).and_then(|point| point.late.clone()));
        let leaked = self.points.iter().filter_map(|point| point.cached_percent).fold(0.0, f64::max);
        if leaked > CACHED_PERCENT && self.run.device().is_none() {
            let leaked = number::percent(leaked);
            all.push(format!("Up to {leaked} of what was read came from the page cache: this file system takes no direct I/O."));
        }
        all
    }

    /// What kept more searches from being answered in time.
    fn limit(&self, point: &SearchPoint) -> String {
        let p99 = number::latency(point.latency.percentile(99.0) as f64);
        format!("With {} the p99 is {p99}: {}.", threads(point.threads), point.limit)
    }
}

fn threads(count: u32) -> String {
    if count == 1 { "1 thread".into() } else { format!("{count} threads") }
}
