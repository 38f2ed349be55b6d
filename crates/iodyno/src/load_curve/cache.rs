//! What the page cache does for files of different sizes, and for different amounts of memory that something else holds.
//!
//! Each point: a file in the directory is made, read once through the cache, and then measured; then it goes.

use iodyno_model::{
    Buffers, Diagnostic, Direct, Extent, Intent, Job, Kind, Limit, Open, Origin, Pattern, Phase, Pick, Plan,
    Prepare, Record, Target, TargetKind, Verb, Workload, units,
};
use iodyno_report::experiment_report::{ColumnUnit, ReportCell, ReportChart, ReportColumn, ReportSection};
use iodyno_report::shape;

use super::LoadCurveArgs;
use crate::experiment::{self, Experiment};
use crate::leftovers;

/// Calls through the page cache.
const ENGINE: &str = iodyno_dialect::engine_choice::POSITIONED_CALLS;
/// Size of an operation, unless the command says it.
const BLOCK_BYTES: u64 = 64 << 10;
/// Files are whole blocks of this.
const FILE_STEP: u64 = 1 << 20;
/// More held memory than this starves the machine, percent.
const HELD_MOST: f64 = 80.0;
/// A file still lies in the cache while so much of what is read comes from it, percent.
const CACHED_PERCENT: f64 = 90.0;

/// What one file measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CachePoint {
    pub file_bytes: u64,
    pub held_bytes: u64,
    pub bytes_per_second: f64,
    pub mean_ns: f64,
    /// Percent that came from the cache; none: it is unknown.
    pub cached_percent: Option<f64>,
}

/// The questions of a command about the cache.
#[derive(Clone, Debug, Default)]
pub struct CacheQuestions {
    pub sizes: Vec<CachePoint>,
    /// Row by row: memory held.
    pub grid: Vec<Vec<CachePoint>>,
}

impl CacheQuestions {
    /// # Errors
    /// No directory, or files that do not fit.
    pub fn of(
        words: &LoadCurveArgs,
        memory_bytes: u64,
        free_bytes: Option<u64>,
    ) -> Result<CacheQuestions, Diagnostic> {
        let origin = Origin::argument(&words.target);
        let memory = words.memory.unwrap_or(memory_bytes);
        let whole = |bytes: f64| ((bytes as u64) / FILE_STEP).max(1) * FILE_STEP;
        let file =
            |file_bytes: u64, held_bytes: u64| CachePoint { file_bytes, held_bytes, ..CachePoint::default() };
        let sizes: Vec<CachePoint> =
            words.file_sizes.iter().map(|bytes| file(whole(*bytes as f64), 0)).collect();
        let part = |percent: f64| memory as f64 * percent / 100.0;
        if words.data.is_empty() && !words.held.is_empty() {
            return Err(Diagnostic::error(
                &Origin::argument("--held"),
                "memory is held beside data that is read",
            )
            .hint("e.g. --held 0,50 --data 50,150"));
        }
        if let Some(held) = words.held.iter().find(|held| **held > HELD_MOST) {
            let message = format!("{held} % of the memory held would starve the machine");
            return Err(Diagnostic::error(&Origin::argument("--held"), message)
                .hint(format!("at most {HELD_MOST} %")));
        }
        let held = if words.held.is_empty() { vec![0.0] } else { words.held.clone() };
        let row =
            |held: &f64| words.data.iter().map(|data| file(whole(part(*data)), part(*held) as u64)).collect();
        let grid: Vec<Vec<CachePoint>> =
            if words.data.is_empty() { Vec::new() } else { held.iter().map(row).collect() };
        let largest = sizes.iter().chain(grid.iter().flatten()).map(|point| point.file_bytes).max();
        let Some(largest) = largest else { return Ok(CacheQuestions::default()) };
        let Some(free) = free_bytes else {
            return Err(Diagnostic::error(&origin, "this is no directory that files can be made in")
                .hint("--file-sizes and --data make files: name a directory"));
        };
        if largest > free {
            let message = format!(
                "a file of {} is too large: {} are free",
                units::binary(largest),
                units::binary(free)
            );
            return Err(Diagnostic::error(&origin, message).hint("ask for less, or say --memory SIZE"));
        }
        Ok(CacheQuestions { sizes, grid })
    }

    /// Measures all points.
    ///
    /// # Errors
    /// The exit status.
    pub fn measure(&mut self, experiment: &mut Experiment<'_>, words: &LoadCurveArgs) -> Result<(), u8> {
        for point in self.sizes.iter_mut().chain(self.grid.iter_mut().flatten()) {
            let held = if point.held_bytes > 0 {
                format!(", {} held", units::binary(point.held_bytes))
            } else {
                String::new()
            };
            experiment::progress(&format!("a file of {}{held}", units::binary(point.file_bytes)));
            let (_, record) = experiment.run(plan(words, point), "the file")?;
            point.take(&record);
        }
        Ok(())
    }

    pub fn sections(&self) -> Vec<ReportSection> {
        let sizes = (!self.sizes.is_empty()).then(|| by_size(&self.sizes));
        let grid = (!self.grid.is_empty()).then(|| by_memory(&self.grid));
        sizes.into_iter().chain(grid).collect()
    }
}

impl CachePoint {
    fn take(&mut self, record: &Record) {
        let Some(phase) = record.phases.last() else { return };
        let Some(job) = phase.jobs.first() else { return };
        self.bytes_per_second = shape::per_second(job.tally.all_bytes(), phase, job);
        self.mean_ns = job.tally.latency(Kind::Read).mean();
        self.cached_percent = phase.cache.as_ref().and_then(|cache| cache.percent());
    }
}

fn plan(words: &LoadCurveArgs, point: &CachePoint) -> Plan {
    let target = Target {
        name: "file".into(),
        kind: TargetKind::File {
            path: leftovers::temporary(&words.target, "load-cache"),
            size: Extent::Bytes(point.file_bytes),
        },
        open: Open { create: true, direct: Direct::No, ..Open::default() },
        prepare: Prepare::Filled,
        remove: true,
        origin: Origin::argument(&words.target),
    };
    let phase = |name: &str, pick: Pick, limit: Limit| {
        let pattern = Pattern::of(Verb::Read, pick, words.block.unwrap_or(BLOCK_BYTES));
        let mut job = Job::new(name, ENGINE, vec![0], Workload::Pattern(Box::new(pattern)));
        job.limit = limit;
        job.buffers = Buffers { held_bytes: point.held_bytes, ..Buffers::default() };
        Phase { name: name.into(), intent: Some(Intent::Cache), jobs: vec![job], ..Phase::default() }
    };
    Plan {
        name: format!("load-curve {}", words.target),
        seed: words.on.seed.unwrap_or(1),
        intent: Intent::Cache,
        targets: vec![target],
        phases: vec![
            phase("read once", Pick::Sequential, Limit { passes: Some(1), ..Limit::default() }),
            phase("read again", Pick::Uniform, Limit { time_ns: Some(words.time), ..Limit::default() }),
        ],
        ..Plan::default()
    }
}

fn by_size(points: &[CachePoint]) -> ReportSection {
    let row = |point: &CachePoint| {
        vec![
            ReportCell::Number(point.file_bytes as f64),
            ReportCell::Number(point.bytes_per_second),
            ReportCell::Number(point.mean_ns),
            ReportCell::of(point.cached_percent),
        ]
    };
    let overflow =
        points.iter().position(|point| point.cached_percent.is_some_and(|percent| percent < CACHED_PERCENT));
    let sentence = match overflow {
        Some(at) => format!("The cache overflows at {}.", units::binary(points[at].file_bytes)),
        None if points.iter().all(|point| point.cached_percent.is_some()) => {
            "All of these files lie in the cache.".into()
        }
        None => "Cannot tell what came from the cache.".into(),
    };
    ReportSection {
        title: "Rate over file size".into(),
        about: "Random reads through the page cache, of a file that was read once before.".into(),
        columns: vec![
            ReportColumn::new("file", ColumnUnit::Bytes),
            ReportColumn::new("", ColumnUnit::BytesPerSecond),
            ReportColumn::new("mean", ColumnUnit::Nanoseconds),
            ReportColumn::new("from cache", ColumnUnit::Percent),
        ],
        rows: points.iter().map(row).collect(),
        mark: overflow.map(|at| (at, "overflows")),
        bars: Some(1),
        charts: vec![ReportChart::bars("rate over file size", 1)],
        sentences: vec![sentence],
        pictures: Vec::new(),
    }
}

fn by_memory(grid: &[Vec<CachePoint>]) -> ReportSection {
    let mut columns = vec![ReportColumn::new("held", ColumnUnit::Bytes)];
    let first = grid.first().map(Vec::as_slice).unwrap_or_default();
    columns.extend(first.iter().map(|point| {
        ReportColumn::new(&format!("{} of data", units::binary(point.file_bytes)), ColumnUnit::BytesPerSecond)
    }));
    let row = |row: &Vec<CachePoint>| {
        let held = row.first().map_or(0, |point| point.held_bytes);
        let mut cells = vec![ReportCell::Number(held as f64)];
        cells.extend(row.iter().map(|point| ReportCell::Number(point.bytes_per_second)));
        cells
    };
    ReportSection {
        title: "Memory held beside data that is read".into(),
        about: "The same, while the program holds so much memory besides.".into(),
        charts: vec![ReportChart::bars_of("rate over memory held", (1..columns.len()).collect())],
        columns,
        rows: grid.iter().map(row).collect(),
        ..ReportSection::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overflow_is_the_first_file_that_does_not_lie_in_the_cache() {
        let point = |mib: u64, cached| CachePoint {
            file_bytes: mib << 20,
            bytes_per_second: 1e9,
            cached_percent: cached,
            ..CachePoint::default()
        };
        let section = by_size(&[point(64, Some(100.0)), point(128, Some(97.0)), point(256, Some(40.0))]);
        assert_eq!(
            (section.sentences[0].as_str(), section.mark),
            ("The cache overflows at 256 MiB.", Some((2, "overflows")))
        );
        assert_eq!(by_size(&[point(64, Some(100.0))]).sentences, ["All of these files lie in the cache."]);
        assert_eq!(by_size(&[point(64, None)]).sentences, ["Cannot tell what came from the cache."]);
    }
}
