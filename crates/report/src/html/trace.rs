//! The page of a trace's statistics.

use iodyno_model::verb::Kind;
use iodyno_model::{Histogram, Verb, histogram, units};
use iodyno_trace::statistics::{BLOCK_BYTES, HeatGrid, OperationCounts, TimeRow, TraceStatistics};
use serde::Serialize;

use super::short::Short;
use super::{LIBRARY_VERSION, page, safe_json};
use crate::native::errno;
use crate::number::{self, NONE, percent, percentile_text, significant, thousands};

/// The scripts of this page, in the order in which its parts need each other.
const SCRIPT: &[&str] = &[
    include_str!("page/words.js"),
    include_str!("page/parts.js"),
    include_str!("page/charts.js"),
    include_str!("page/time.js"),
    include_str!("page/frame.js"),
    include_str!("page/trace.js"),
];
/// Files whose heat map is shown.
const HEATS: usize = 3;
/// Rows of a table.
const LISTED: usize = 50;
/// Points of a distribution, at most.
const POINTS: usize = 200;

/// Everything that the page of a trace is told.
#[derive(Clone, Debug, Serialize)]
pub struct TracePage {
    version: &'static str,
    library: &'static str,
    title: String,
    about: String,
    /// The figures at a glance.
    cards: Vec<FigureCard>,
    /// The length of a row over time, seconds.
    every: f64,
    panels: Vec<TimePanel>,
    heats: Vec<PlaceHeat>,
    distributions: Vec<TraceChart>,
    tables: Vec<TraceTable>,
    remarks: Vec<String>,
}

/// A card: its name and its figures.
#[derive(Clone, Debug, Serialize)]
struct FigureCard(&'static str, Vec<CardFigure>);

/// A label, a value, a unit and the colour of its mark.
#[derive(Clone, Debug, Serialize)]
struct CardFigure(&'static str, String, String, &'static str);

/// Lines over time.
#[derive(Clone, Debug, Default, Serialize)]
struct TimePanel {
    title: &'static str,
    unit: &'static str,
    height: u32,
    log: bool,
    lines: Vec<TimeLine>,
}

#[derive(Clone, Debug, Serialize)]
struct TimeLine {
    name: &'static str,
    hue: &'static str,
    fill: bool,
    values: Vec<Short>,
}

/// Counts by time and place.
#[derive(Clone, Debug, Serialize)]
struct PlaceHeat {
    title: String,
    unit: &'static str,
    /// The length of a column, seconds.
    every: f64,
    edges: Vec<u64>,
    /// Column, band and count, one after the other.
    cells: Vec<u32>,
}

/// Bars over names, or curves of percentages.
#[derive(Clone, Debug, Default, Serialize)]
struct TraceChart {
    title: &'static str,
    about: String,
    /// What stands below the axis across.
    across: &'static str,
    /// Of the axis across; of bars the one upwards.
    unit: &'static str,
    /// Names below bars; none: curves.
    names: Vec<String>,
    lines: Vec<ChartLine>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct ChartLine {
    name: String,
    hue: &'static str,
    dashed: bool,
    /// Heights of bars.
    values: Vec<Short>,
    /// Across, percent, and half of its interval.
    points: Vec<(Short, Short, Short)>,
}

#[derive(Clone, Debug, Serialize)]
struct TraceTable {
    title: &'static str,
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl TracePage {
    /// The page of a trace that is called so.
    pub fn of(name: &str, statistics: &TraceStatistics) -> TracePage {
        TracePage {
            version: env!("CARGO_PKG_VERSION"),
            library: LIBRARY_VERSION,
            title: name.into(),
            about: about(statistics),
            cards: cards(statistics),
            every: statistics.rows.width_ns as f64 / 1e9,
            panels: panels(statistics),
            heats: heats(statistics),
            distributions: distributions(statistics),
            tables: tables(statistics),
            remarks: statistics.remarks(),
        }
    }

    /// The whole file.
    pub fn html(&self) -> String {
        page(&self.title, safe_json(self), SCRIPT)
    }
}

fn about(statistics: &TraceStatistics) -> String {
    let counted =
        |count: u64, what: &str| format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" });
    let parts = [
        statistics.header.source.clone(),
        counted(statistics.operations, "operation"),
        units::duration(statistics.span_ns() as f64),
        counted(statistics.files.len() as u64, "file"),
        counted(statistics.threads.len() as u64, "thread"),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn split(text: &str) -> (String, String) {
    text.split_once(' ')
        .map_or_else(|| (text.into(), String::new()), |(value, unit)| (value.into(), unit.into()))
}

fn cards(statistics: &TraceStatistics) -> Vec<FigureCard> {
    vec![
        FigureCard("Rates", rates(statistics)),
        FigureCard("Places", places(statistics)),
        FigureCard("Arrivals", bursts(statistics)),
    ]
}

fn sized(label: &'static str, bytes: u64, hue: &'static str) -> CardFigure {
    let (value, unit) = split(&units::binary(bytes));
    CardFigure(label, value, unit, hue)
}

fn rates(statistics: &TraceStatistics) -> Vec<CardFigure> {
    let seconds = statistics.span_ns() as f64 / 1e9;
    let (reads, read_bytes) = statistics.of_kind(Kind::Read);
    let (writes, written_bytes) = statistics.of_kind(Kind::Write);
    let rate = |count: u64| significant(count as f64 / seconds);
    vec![
        CardFigure("reads", rate(reads), "per second".into(), "read"),
        CardFigure("writes", rate(writes), "per second".into(), "write"),
        sized("read in all", read_bytes, "read"),
        sized("written in all", written_bytes, "write"),
    ]
}

fn places(statistics: &TraceStatistics) -> Vec<CardFigure> {
    let runs = &statistics.runs;
    let sequential = match runs.accesses {
        0 => NONE.into(),
        all => significant(runs.interleaved as f64 / all as f64 * 100.0),
    };
    let hottest = statistics.regions.curve(&[1.0, 10.0]);
    let share = |index: usize| match runs.accesses {
        0 => NONE.into(),
        _ => significant(hottest[index].access_percent),
    };
    let of_accesses = "% of the accesses".to_string();
    vec![
        sized("footprint", statistics.touched().bytes(), "extra"),
        CardFigure("sequential", sequential, "% of reads and writes".into(), "extra"),
        CardFigure("hottest 1 % has", share(0), of_accesses.clone(), "extra"),
        CardFigure("hottest 10 % has", share(1), of_accesses, "extra"),
    ]
}

fn bursts(statistics: &TraceStatistics) -> Vec<CardFigure> {
    let depth = &statistics.depth;
    let longest = statistics.arrivals.windows().into_iter().rfind(|window| window.windows > 1);
    let (peak, of) = match longest {
        Some(window) => {
            let width = units::duration(window.window_ns as f64);
            (significant(window.peak()), format!("× the mean in {width}"))
        }
        None => (NONE.into(), String::new()),
    };
    let (hurst, error) = match statistics.arrivals.hurst() {
        Some(hurst) => (format!("{:.2}", hurst.value), format!("± {:.2}", hurst.error)),
        None => (NONE.into(), "too short".into()),
    };
    let (mean, most, unit) = match depth.timed {
        0 => (NONE.into(), NONE.into(), "no completion times"),
        _ => (significant(depth.mean()), thousands(depth.most), "in the mean over time"),
    };
    vec![
        CardFigure("busiest window", peak, of, "extra"),
        CardFigure("Hurst parameter", hurst, error, "extra"),
        CardFigure("queue depth", mean, unit.into(), "extra"),
        CardFigure("most in flight", most, String::new(), "extra"),
    ]
}

fn panels(statistics: &TraceStatistics) -> Vec<TimePanel> {
    let rows = &statistics.rows.rows;
    let seconds = statistics.rows.width_ns as f64 / 1e9;
    let line = |name, hue, fill, value: &dyn Fn(&TimeRow) -> f64| TimeLine {
        name,
        hue,
        fill,
        values: rows.iter().map(|row| Short(value(row))).collect(),
    };
    let is_timed = statistics.depth.timed > 0;
    let has_others = rows.iter().any(|row| row.counts.others > 0);
    let mut rates = vec![
        line("read", "read", false, &|row| row.counts.reads as f64 / seconds),
        line("write", "write", false, &|row| row.counts.writes as f64 / seconds),
    ];
    if has_others {
        rates.push(line("other", "other", false, &|row| row.counts.others as f64 / seconds));
    }
    let share = |row: &TimeRow| match row.counts.reads + row.counts.writes {
        0 => f64::NAN,
        both => row.counts.reads as f64 / both as f64 * 100.0,
    };
    let mut panels = vec![
        TimePanel {
            title: "Bandwidth",
            unit: "bytes/s",
            height: 130,
            log: false,
            lines: vec![
                line("read", "read", false, &|row| row.counts.read_bytes as f64 / seconds),
                line("write", "write", false, &|row| row.counts.written_bytes as f64 / seconds),
            ],
        },
        TimePanel { title: "Operations per second", unit: "1/s", height: 130, log: false, lines: rates },
        TimePanel {
            title: "Reads among reads and writes",
            unit: "%",
            height: 84,
            log: false,
            lines: vec![line("reads", "read", true, &share)],
        },
        TimePanel {
            title: "Working set of each row",
            unit: "bytes",
            height: 84,
            log: false,
            lines: vec![line("working set", "other", true, &|row| (row.blocks.count() * BLOCK_BYTES) as f64)],
        },
    ];
    if is_timed {
        let width = statistics.rows.width_ns as f64;
        panels.push(TimePanel {
            title: "Queue depth",
            unit: "",
            height: 84,
            log: false,
            lines: vec![line("depth", "trim", true, &|row| row.depth_ns as f64 / width)],
        });
        let mean = |row: &TimeRow| row.counts.mean_latency().unwrap_or(f64::NAN);
        panels.push(TimePanel {
            title: "Mean latency as recorded",
            unit: "ns",
            height: 110,
            log: true,
            lines: vec![line("mean", "other", false, &mean)],
        });
    }
    panels
}

fn heat(title: String, unit: &'static str, grid: &HeatGrid) -> PlaceHeat {
    let mut cells = Vec::new();
    let mut bands = 0;
    for (column, band, count) in grid.cells() {
        cells.extend([column as u32, band as u32, count]);
        bands = bands.max(band + 1);
    }
    let edges = (0..=bands as u64).map(|band| band.saturating_mul(grid.band)).collect();
    PlaceHeat { title, unit, every: grid.column_ns as f64 / 1e9, edges, cells }
}

fn heats(statistics: &TraceStatistics) -> Vec<PlaceHeat> {
    let of = |file: u32| statistics.files.get(file as usize).map_or(0, |counts| counts.reads + counts.writes);
    let mut files: Vec<u32> = statistics.heat.files.keys().copied().collect();
    files.sort_by_key(|file| (std::cmp::Reverse(of(*file)), *file));
    let mut heats: Vec<PlaceHeat> = files
        .iter()
        .take(HEATS)
        .map(|file| {
            heat(
                format!("Offsets of {}", statistics.file_name(*file as usize)),
                "bytes",
                &statistics.heat.files[file],
            )
        })
        .collect();
    if statistics.files.len() > 1 && !statistics.heat.files.is_empty() {
        heats.push(heat("Files, by the order in which they were met".into(), "", &statistics.heat.by_file));
    }
    heats
}

fn hue(verb: Verb) -> &'static str {
    match verb.kind() {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Sync => "other",
        _ => "extra",
    }
}

fn distributions(statistics: &TraceStatistics) -> Vec<TraceChart> {
    let all = [
        sizes(statistics),
        hot_spots(statistics),
        miss_ratios(statistics),
        latencies(statistics),
        arrivals(statistics),
        depths(statistics),
        runs(statistics),
    ];
    all.into_iter()
        .filter(|chart| chart.lines.iter().any(|line| line.points.len() + line.values.len() > 1))
        .collect()
}

fn sizes(statistics: &TraceStatistics) -> TraceChart {
    let sized: Vec<_> = statistics.verbs.iter().filter(|(_, counts)| counts.sizes.total() > 0).collect();
    let powers: Vec<_> =
        sized.iter().map(|(verb, counts)| (**verb, counts.sizes.by_power(), counts.sizes.total())).collect();
    let mut sizes: Vec<u64> = powers.iter().flat_map(|(_, powers, _)| powers.keys().copied()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let line = |(verb, powers, total): &(Verb, std::collections::BTreeMap<u64, u64>, u64)| ChartLine {
        name: verb.name().into(),
        hue: hue(*verb),
        values: sizes
            .iter()
            .map(|size| Short(powers.get(size).copied().unwrap_or(0) as f64 / *total as f64 * 100.0))
            .collect(),
        ..ChartLine::default()
    };
    TraceChart {
        title: "Sizes",
        about: "Each bar is up to that power of two; share of the verb's operations.".into(),
        across: "size of an operation",
        unit: "%",
        lines: powers.iter().map(line).collect(),
        names: sizes.iter().map(|size| units::binary(*size)).collect(),
    }
}

fn hot_spots(statistics: &TraceStatistics) -> TraceChart {
    let percents: Vec<f64> = (0..=60).map(|step| 10f64.powf(f64::from(step) / 20.0 - 1.0)).collect();
    let even = percents.iter().map(|at| (Short(*at), Short(*at), Short(0.0))).collect();
    let curve = statistics.regions.curve(&percents);
    let points =
        curve.iter().map(|point| (Short(point.footprint_percent), Short(point.access_percent), Short(0.0)));
    let lines = vec![
        ChartLine { name: "accesses".into(), hue: "read", points: points.collect(), ..ChartLine::default() },
        ChartLine {
            name: "if all were alike".into(),
            hue: "faint",
            dashed: true,
            points: even,
            ..ChartLine::default()
        },
    ];
    let about = format!(
        "Share of the accesses that go to the hottest part of the footprint, in regions of {}.",
        units::binary(statistics.regions.region_bytes())
    );
    let lines = if statistics.regions.total() > 0 { lines } else { Vec::new() };
    TraceChart {
        title: "Hot spots",
        about,
        across: "hottest part of the footprint",
        unit: "%",
        lines,
        ..TraceChart::default()
    }
}

fn miss_ratios(statistics: &TraceStatistics) -> TraceChart {
    let curve = statistics.reuse.curve();
    let points = curve.points.iter().map(|point| {
        (Short((point.cache_blocks * BLOCK_BYTES) as f64), Short(point.miss_percent), Short(point.error))
    });
    let how = match curve.sampled_percent < 100.0 {
        true => format!(
            "SHARDS sampling of {} of the blocks, with the 99 % interval",
            percent(curve.sampled_percent)
        ),
        false => "exact".into(),
    };
    TraceChart {
        title: "Miss ratio of an LRU cache",
        about: format!("Reads and writes of blocks of {}; {how}.", units::binary(BLOCK_BYTES)),
        across: "size of the cache",
        unit: "bytes",
        lines: vec![ChartLine {
            name: "misses".into(),
            hue: "write",
            points: points.collect(),
            ..ChartLine::default()
        }],
        ..TraceChart::default()
    }
}

/// The share of the values up to each, in at most [`POINTS`] points.
fn cumulative(values: &Histogram) -> Vec<(Short, Short, Short)> {
    let (total, mut sum) = (values.count().max(1) as f64, 0);
    let each = values.buckets().len().div_ceil(POINTS).max(1);
    let mut points = Vec::new();
    for (index, (bucket, count)) in values.buckets().iter().enumerate() {
        sum += count;
        if index % each == 0 || index + 1 == values.buckets().len() {
            let value = histogram::middle(*bucket as usize).clamp(values.min.max(1), values.max.max(1));
            points.push((Short(value as f64), Short(sum as f64 / total * 100.0), Short(0.0)));
        }
    }
    points
}

fn latencies(statistics: &TraceStatistics) -> TraceChart {
    let timed = statistics.verbs.iter().filter(|(_, counts)| counts.latency_ns.count() > 1);
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.operations));
    let line = |(verb, counts): &(&Verb, &iodyno_trace::statistics::VerbCounts)| ChartLine {
        name: verb.name().into(),
        hue: hue(**verb),
        points: cumulative(&counts.latency_ns),
        ..ChartLine::default()
    };
    TraceChart {
        title: "Latency as recorded",
        about: "Share of the operations that took at most so long.".into(),
        across: "latency",
        unit: "ns",
        lines: timed.iter().take(5).map(line).collect(),
        ..TraceChart::default()
    }
}

fn arrivals(statistics: &TraceStatistics) -> TraceChart {
    let distances = &statistics.arrivals.distances_ns;
    let points = cumulative(distances);
    let mean = distances.mean().max(f64::MIN_POSITIVE);
    let poisson = points
        .iter()
        .map(|(at, ..)| (*at, Short((1.0 - (-at.0 / mean).exp()) * 100.0), Short(0.0)))
        .collect();
    TraceChart {
        title: "Between two arrivals",
        about: "Share of the operations that came at most so long after the one before.".into(),
        across: "time between two",
        unit: "ns",
        lines: vec![
            ChartLine { name: "recorded".into(), hue: "read", points, ..ChartLine::default() },
            ChartLine {
                name: "Poisson of the same rate".into(),
                hue: "faint",
                dashed: true,
                points: poisson,
                ..ChartLine::default()
            },
        ],
        ..TraceChart::default()
    }
}

fn depths(statistics: &TraceStatistics) -> TraceChart {
    let at = &statistics.depth.at_depth_ns;
    let total: u128 = at.values().map(|ns| u128::from(*ns)).sum();
    let mut bars = std::collections::BTreeMap::new();
    for (depth, ns) in at {
        let power = if *depth < 2 { *depth } else { depth.next_power_of_two() };
        *bars.entry(power).or_insert(0u128) += u128::from(*ns);
    }
    let values = bars.values().map(|ns| Short(*ns as f64 / total.max(1) as f64 * 100.0)).collect();
    TraceChart {
        title: "Queue depth",
        about: "Share of the time with up to so many operations in flight, above the bar before.".into(),
        across: "operations in flight",
        unit: "%",
        names: bars.keys().map(|depth| thousands(*depth)).collect(),
        lines: vec![ChartLine { name: "time".into(), hue: "trim", values, ..ChartLine::default() }],
    }
}

fn runs(statistics: &TraceStatistics) -> TraceChart {
    TraceChart {
        title: "Sequential runs",
        about: "Share of the runs that move at most so much; a single random access is a run.".into(),
        across: "length of a run",
        unit: "bytes",
        lines: vec![ChartLine {
            name: "runs".into(),
            hue: "other",
            points: cumulative(&statistics.runs.run_bytes),
            ..ChartLine::default()
        }],
        ..TraceChart::default()
    }
}

fn tables(statistics: &TraceStatistics) -> Vec<TraceTable> {
    let verbs = statistics.verbs.iter().map(|(verb, counts)| {
        let at = |percent| percentile_text(&counts.latency_ns, percent);
        let size = |percent| {
            if counts.sizes.total() > 0 {
                units::binary(counts.sizes.percentile(percent))
            } else {
                NONE.into()
            }
        };
        vec![
            verb.name().to_string(),
            thousands(counts.operations),
            units::binary(counts.bytes),
            thousands(counts.errors),
            size(50.0),
            size(99.0),
            at(50.0),
            at(99.0),
            at(99.9),
        ]
    });
    let thread = |index: usize| match statistics.tables.threads.get(index) {
        Some(thread) => format!("{}/{} {}", thread.process, thread.thread, thread.name),
        None => format!("thread {index}"),
    };
    let errors = statistics.errors.iter().map(|((verb, number), count)| {
        let error = i32::try_from(*number).map_or_else(|_| number.to_string(), errno);
        vec![verb.name().to_string(), error, thousands(*count)]
    });
    let busy = ["operations", "reads", "writes", "read", "written", "errors", "mean latency"];
    let headings = |first| std::iter::once(first).chain(busy.iter().copied()).collect::<Vec<_>>();
    let all = vec![
        TraceTable {
            title: "Operations",
            headings: vec![
                "verb",
                "operations",
                "bytes",
                "errors",
                "size p50",
                "size p99",
                "latency p50",
                "p99",
                "p99.9",
            ],
            rows: verbs.collect(),
        },
        TraceTable {
            title: "Threads",
            headings: headings("thread"),
            rows: listed(&statistics.threads, thread),
        },
        TraceTable {
            title: "Files",
            headings: headings("file"),
            rows: listed(&statistics.files, |index| statistics.file_name(index)),
        },
        TraceTable { title: "Errors", headings: vec!["verb", "error", "number"], rows: errors.collect() },
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn listed(counts: &[OperationCounts], name: impl Fn(usize) -> String) -> Vec<Vec<String>> {
    let mut busy: Vec<(usize, &OperationCounts)> =
        counts.iter().enumerate().filter(|(_, counts)| counts.operations() > 0).collect();
    busy.sort_by_key(|(index, counts)| (std::cmp::Reverse(counts.operations()), *index));
    let row = |(index, counts): &(usize, &OperationCounts)| {
        vec![
            name(*index),
            thousands(counts.operations()),
            thousands(counts.reads),
            thousands(counts.writes),
            units::binary(counts.read_bytes),
            units::binary(counts.written_bytes),
            thousands(counts.errors),
            counts.mean_latency().map_or_else(|| NONE.into(), number::latency),
        ]
    };
    busy.iter().take(LISTED).map(row).collect()
}
