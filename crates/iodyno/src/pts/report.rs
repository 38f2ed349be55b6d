//! The report of the specification: what was done, whether and when each test was steady, its matrix and its curves.

use iodyno_model::RunStart;
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::figure;
use super::pts_test::{PtsCell, PtsTest, TrackedFigure, size};
use super::state::CellFigures;
use super::steady::{RoundVerdict, WINDOW, sentence, verdict, window};
use crate::single_workload::SingleWorkload;

/// What a test measured.
pub struct TestResult {
    pub test: PtsTest,
    pub cells: Vec<PtsCell>,
    /// A figure for each cell.
    pub rounds: Vec<Vec<CellFigures>>,
    /// The cells that must be steady, and in what.
    pub tracked: Vec<usize>,
    pub what: TrackedFigure,
    pub most_rounds: usize,
}

/// All tests of a command.
pub struct PtsReport {
    pub workload: SingleWorkload,
    /// None: every test was done before this start of the program.
    pub started: Option<RunStart>,
    pub facts: Vec<(String, String)>,
    pub results: Vec<TestResult>,
    /// Where the run was not by the specification.
    pub departs: Option<String>,
}

impl PtsReport {
    /// Whether every test that must be steady is. Write saturation also ends when enough was written.
    pub fn is_steady(&self) -> bool {
        self.results
            .iter()
            .filter(|result| result.test.is_steady_test() && result.test != PtsTest::Wsat)
            .all(|result| verdict(&result.tracked_rounds(), result.most_rounds) == RoundVerdict::Steady)
    }

    pub fn report(&self) -> ExperimentReport {
        let mut facts: Vec<(String, String)> =
            self.started.iter().flat_map(|start| self.workload.facts(start)).collect();
        // Each test has its own workload.
        facts.retain(|(name, _)| name != "workload");
        facts.splice(0..0, self.facts.iter().cloned());
        let sections = self.results.iter().flat_map(TestResult::sections);
        ExperimentReport {
            format: "iodyno.pts/1",
            title: format!("iodyno pts {}", self.workload.target),
            facts,
            sections: sections.collect(),
            remarks: self.departs.iter().cloned().chain(self.workload.remarks()).collect(),
        }
    }
}

impl TestResult {
    fn tracked_rounds(&self) -> Vec<Vec<f64>> {
        let of = |cell: &usize| self.rounds.iter().map(|round| figure(&round[*cell], self.what)).collect();
        self.tracked.iter().map(of).collect()
    }

    fn unit(&self) -> ColumnUnit {
        match self.what {
            TrackedFigure::Iops => ColumnUnit::PerSecond,
            TrackedFigure::Bandwidth => ColumnUnit::BytesPerSecond,
            TrackedFigure::MeanLatency => ColumnUnit::Nanoseconds,
        }
    }

    fn sections(&self) -> Vec<ReportSection> {
        match self.test {
            PtsTest::Xsr | PtsTest::Hir => vec![self.course()],
            PtsTest::Wsat => vec![self.saturation()],
            PtsTest::Iops => vec![
                self.convergence(),
                self.matrix(|figures| ReportCell::Number(figures.iops), ColumnUnit::PerSecond, "IOPS"),
            ],
            PtsTest::Throughput | PtsTest::Latency | PtsTest::Dirth => vec![self.convergence(), self.list()],
        }
    }

    /// The tracked figures round by round, and the verdict.
    fn convergence(&self) -> ReportSection {
        let tracked = self.tracked_rounds();
        let names: Vec<String> = self.tracked.iter().map(|cell| self.cells[*cell].name()).collect();
        let mut columns = vec![ReportColumn::new("round", ColumnUnit::Number)];
        // Data rates say their unit in the heading: only the size and the direction have room beside it.
        let short = |cell: &usize| {
            let direction = if self.cells[*cell].reads > 0 { "read" } else { "write" };
            format!("{} {direction}", size(self.cells[*cell].bytes))
        };
        let heading =
            |(name, cell): (&String, &usize)| if names.len() > 1 { short(cell) } else { name.clone() };
        let headings = names.iter().zip(&self.tracked).map(heading);
        columns.extend(headings.map(|name| ReportColumn::new(&name, self.unit())));
        let row = |round: usize| {
            let mut row = vec![ReportCell::Number((round + 1) as f64)];
            row.extend(tracked.iter().map(|rounds| ReportCell::Number(rounds[round])));
            row
        };
        ReportSection {
            title: format!("{}: steady state", self.test.title()),
            about: format!("Rounds over {} cells until the last {WINDOW} are steady.", self.cells.len()),
            columns,
            rows: (0..self.rounds.len()).map(row).collect(),
            bars: (names.len() == 1).then_some(1),
            charts: vec![ReportChart::lines("tracked figure over rounds", 0, (1..=names.len()).collect())],
            sentences: names.iter().zip(&tracked).map(|(name, rounds)| sentence(name, rounds)).collect(),
            ..ReportSection::default()
        }
    }

    /// The mean of a cell over the steady rounds; of the longest operation the longest.
    fn steady(&self, cell: usize) -> CellFigures {
        let rounds = &self.rounds[window(self.rounds.len()).unwrap_or(0..self.rounds.len())];
        let mean = |of: fn(&CellFigures) -> f64| {
            rounds.iter().map(|round| of(&round[cell])).sum::<f64>() / rounds.len().max(1) as f64
        };
        let worst = |of: fn(&CellFigures) -> Option<f64>| {
            rounds
                .iter()
                .map(|round| of(&round[cell]))
                .collect::<Option<Vec<f64>>>()
                .map(|all| all.into_iter().fold(0.0, f64::max))
        };
        CellFigures {
            iops: mean(|figures| figures.iops),
            bytes_per_second: mean(|figures| figures.bytes_per_second),
            mean_ns: mean(|figures| figures.mean_ns),
            p99_ns: worst(|figures| figures.p99_ns),
            p99999_ns: worst(|figures| figures.p99999_ns),
            longest_ns: worst(|figures| Some(figures.longest_ns)).unwrap_or(0.0),
            bytes: mean(|figures| figures.bytes),
        }
    }

    /// Sizes down, mixes across.
    fn matrix(&self, of: fn(&CellFigures) -> ReportCell, unit: ColumnUnit, what: &str) -> ReportSection {
        let mut mixes: Vec<u8> = self.cells.iter().map(|cell| cell.reads).collect();
        mixes.dedup();
        let mut sizes: Vec<u64> = self.cells.iter().map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut columns = vec![ReportColumn::new("block", ColumnUnit::Words)];
        columns
            .extend(mixes.iter().map(|reads| ReportColumn::new(&format!("{reads}/{}", 100 - reads), unit)));
        let cell = |bytes: u64, reads: u8| {
            let found = self.cells.iter().position(|cell| cell.bytes == bytes && cell.reads == reads);
            found.map_or(ReportCell::None, |at| of(&self.steady(at)))
        };
        let row = |bytes: &u64| {
            let mut row = vec![ReportCell::text(size(*bytes))];
            row.extend(mixes.iter().map(|reads| cell(*bytes, *reads)));
            row
        };
        ReportSection {
            title: format!("{}: {what} by block size and reads/writes", self.test.title()),
            about: "Mean of the last five rounds.".into(),
            charts: vec![ReportChart::bars_of(what, (1..columns.len()).collect())],
            columns,
            rows: sizes.iter().map(row).collect(),
            ..ReportSection::default()
        }
    }

    /// A row for each cell.
    fn list(&self) -> ReportSection {
        let by_depth = self.test == PtsTest::Dirth;
        let first = if by_depth { "in flight" } else { "cell" };
        let row = |at: usize| {
            let figures = self.steady(at);
            let cell = &self.cells[at];
            let name = cell.depth.filter(|_| by_depth).map_or_else(|| cell.name(), |depth| depth.to_string());
            vec![
                ReportCell::text(name),
                ReportCell::Number(figures.iops),
                ReportCell::Number(figures.bytes_per_second),
                ReportCell::Number(figures.mean_ns),
                ReportCell::of(figures.p99_ns),
                ReportCell::of(figures.p99999_ns),
                ReportCell::Number(figures.longest_ns),
            ]
        };
        ReportSection {
            title: format!("{}: figures of the last five rounds", self.test.title()),
            about: "Means; of percentiles and of the longest operation the largest of the rounds.".into(),
            columns: vec![
                ReportColumn::new(first, ColumnUnit::Words),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99.999", ColumnUnit::Nanoseconds),
                ReportColumn::new("longest", ColumnUnit::Nanoseconds),
            ],
            rows: (0..self.cells.len()).map(row).collect(),
            charts: match self.what {
                TrackedFigure::MeanLatency => {
                    vec![ReportChart::bars("mean latency", 3), ReportChart::bars("longest operation", 6)]
                }
                _ if by_depth => {
                    vec![ReportChart::bars("operations per second", 1), ReportChart::bars("mean latency", 3)]
                }
                _ => vec![ReportChart::bars("bytes per second", 2)],
            },
            ..ReportSection::default()
        }
    }

    fn course_columns(first: &str) -> Vec<ReportColumn> {
        vec![
            ReportColumn::new(first, ColumnUnit::Words),
            ReportColumn::new("written", ColumnUnit::Bytes),
            ReportColumn::new("IOPS", ColumnUnit::PerSecond),
            ReportColumn::new("", ColumnUnit::BytesPerSecond),
            ReportColumn::new("mean", ColumnUnit::Nanoseconds),
            ReportColumn::new("longest", ColumnUnit::Nanoseconds),
        ]
    }

    fn course_row(name: String, written: f64, figures: &CellFigures) -> Vec<ReportCell> {
        vec![
            ReportCell::Text(name),
            ReportCell::Number(written),
            ReportCell::Number(figures.iops),
            ReportCell::Number(figures.bytes_per_second),
            ReportCell::Number(figures.mean_ns),
            ReportCell::Number(figures.longest_ns),
        ]
    }

    /// Over time and over bytes written, a sample for each round.
    fn saturation(&self) -> ReportSection {
        let mut written = 0.0;
        let mut rows: Vec<Vec<ReportCell>> = Vec::new();
        for (round, figures) in self.rounds.iter().enumerate() {
            written += figures[0].bytes;
            rows.push(Self::course_row((round + 1).to_string(), written, &figures[0]));
        }
        let tracked = self.tracked_rounds();
        let name = self.cells[0].name();
        let mut sentences = vec![sentence(&name, &tracked[0])];
        if let (Some(first), Some(window)) = (tracked[0].first(), window(tracked[0].len())) {
            let last = tracked[0][window].iter().sum::<f64>() / WINDOW as f64;
            sentences.push(format!(
                "From {} IOPS in the first sample to {} in the last {WINDOW}: {}.",
                number::iops(*first),
                number::iops(last),
                number::percent(last / first * 100.0)
            ));
        }
        ReportSection {
            title: format!("{}: {name} over time", self.test.title()),
            about: "A row for each sample, from a purged target on.".into(),
            columns: Self::course_columns("sample"),
            rows,
            bars: Some(2),
            charts: vec![
                ReportChart::lines("IOPS over bytes written", 1, vec![2]),
                ReportChart::lines("latency over bytes written", 1, vec![4, 5]).logarithmic(),
            ],
            sentences,
            ..ReportSection::default()
        }
    }

    /// A sequence of a fixed length.
    fn course(&self) -> ReportSection {
        let figures = self.rounds.first().map(Vec::as_slice).unwrap_or_default();
        let mut written = 0.0;
        let mut rows = Vec::new();
        for (cell, figures) in self.cells.iter().zip(figures) {
            written += figures.bytes;
            let pause = if cell.pause_times > 0.0 {
                format!(" after {} × pause", cell.pause_times)
            } else {
                String::new()
            };
            rows.push(Self::course_row(format!("{}{pause}", cell.name()), written, figures));
        }
        ReportSection {
            title: format!("{}: course", self.test.title()),
            about: "A row for each sample, in order.".into(),
            columns: Self::course_columns("sample"),
            rows,
            charts: vec![
                ReportChart::bars("bytes per second", 3),
                ReportChart::bars_of("latency", vec![4, 5]).logarithmic(),
            ],
            ..ReportSection::default()
        }
    }
}
