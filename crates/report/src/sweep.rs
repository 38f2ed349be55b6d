//! Sweeps in text: one parameter gives a table with a curve and its knee, two give a surface, more a table of rows.

use iodyno_model::{Coordinate, Histogram, PhaseRecord, Record, Severity, Value};

use crate::curve::{self, Knee};
use crate::native;
use crate::number;
use crate::paint::Paint;
use crate::shape::{self, Context};
use crate::table::{BARS, Table};

/// One point of a sweep: all jobs of a phase, and all its repetitions, together.
pub(crate) struct Point<'a> {
    pub(crate) place: &'a [Coordinate],
    pub(crate) iops: f64,
    pub(crate) bytes: f64,
    pub(crate) latency: Histogram,
}

/// Every sweep of a record as text; nothing where there is none.
pub fn tables(record: &Record, context: &Context, paint: Paint) -> String {
    sweeps(record).iter().map(|phases| sweep(phases, context, paint)).collect()
}

/// The phases of each sweep of a record, in order.
pub(crate) fn sweeps(record: &Record) -> Vec<Vec<&PhaseRecord>> {
    let mut sweeps: Vec<Vec<&PhaseRecord>> = Vec::new();
    for phase in record.phases.iter().filter(|phase| !phase.coordinates.is_empty()) {
        match sweeps.iter_mut().find(|sweep| same(sweep[0], phase)) {
            Some(sweep) => sweep.push(phase),
            None => sweeps.push(vec![phase]),
        }
    }
    sweeps
}

/// Whether two phases belong to one sweep: one name, the same parameters.
fn same(a: &PhaseRecord, b: &PhaseRecord) -> bool {
    let parameters =
        |phase: &PhaseRecord| phase.coordinates.iter().map(|place| place.parameter).collect::<Vec<_>>();
    a.name == b.name && parameters(a) == parameters(b)
}

fn sweep(phases: &[&PhaseRecord], context: &Context, paint: Paint) -> String {
    let name = &phases[0].name;
    let points = points(phases);
    let parameters: Vec<&str> = points[0].place.iter().map(|place| place.parameter.name()).collect();
    let shape = phases[0].jobs.first().map(|job| context.shape(phases[0], job).line()).unwrap_or_default();
    let over = parameters.join(" × ");
    let mut text = format!("\n{}\n", paint.heading(&format!("{name} over {over}")));
    let first = crate::table::wrapped(&format!("at the first point: {shape}"), paint.columns - 4, 4);
    text.push_str(&format!("{}\n", paint.aside(&format!("  {first}"))));
    text.push_str(&match parameters.len() {
        1 => line(&points, paint),
        2 => surface(&points, paint),
        _ => rows(&points, paint),
    });
    text.push_str(&failures(phases, context, paint));
    text
}

/// Points whose failures are told; the others are counted.
const FAILED_POINTS_MOST: usize = 4;

/// What failed at which points: a rate without it reads as one of a point where all went well.
fn failures(phases: &[&PhaseRecord], context: &Context, paint: Paint) -> String {
    let told = |phase: &&PhaseRecord| {
        let place: Vec<String> = phase.coordinates.iter().map(Coordinate::to_string).collect();
        let failed: Vec<String> = phase.jobs.iter().flat_map(|job| native::errors(job, context)).collect();
        (!failed.is_empty()).then(|| format!("at {}: {}", place.join(", "), failed.join("; ")))
    };
    let told: Vec<String> = phases.iter().filter_map(told).collect();
    let mut lines: Vec<&str> = told.iter().take(FAILED_POINTS_MOST).map(String::as_str).collect();
    let further = format!("and at {} further points", told.len().saturating_sub(lines.len()));
    if told.len() > lines.len() {
        lines.push(&further);
    }
    let line = |line: &str| {
        let line = crate::table::wrapped(line, paint.columns - 4, 4);
        format!("  {}\n", paint.severity(Severity::Invalid, &line))
    };
    lines.into_iter().map(line).collect()
}

/// The points of one sweep's phases.
pub(crate) fn points<'a>(phases: &[&'a PhaseRecord]) -> Vec<Point<'a>> {
    let mut points: Vec<(Point<'a>, Vec<f64>, Vec<f64>)> = Vec::new();
    for phase in phases {
        let rate = |count: fn(&iodyno_model::Tally) -> u64| -> f64 {
            phase.jobs.iter().map(|job| shape::per_second(count(&job.tally), phase, job)).sum()
        };
        let (iops, bytes) = (rate(|tally| tally.all_operations()), rate(|tally| tally.all_bytes()));
        let index =
            points.iter().position(|(point, ..)| point.place == phase.coordinates).unwrap_or_else(|| {
                let point = Point { place: &phase.coordinates, iops, bytes, latency: Histogram::default() };
                points.push((point, Vec::new(), Vec::new()));
                points.len() - 1
            });
        let (point, rates, byte_rates) = &mut points[index];
        rates.push(iops);
        byte_rates.push(bytes);
        for line in phase.jobs.iter().flat_map(|job| &job.tally.lines) {
            point.latency.merge(&line.latency);
        }
    }
    let finish = |(mut point, rates, byte_rates): (Point<'a>, Vec<f64>, Vec<f64>)| {
        point.iops = number::Repeats::of(rates).median().unwrap_or(0.0);
        point.bytes = number::Repeats::of(byte_rates).median().unwrap_or(0.0);
        point
    };
    points.into_iter().map(finish).collect()
}

/// The knee of a curve. It is a place along a growing load; an engine or a flag is none.
pub(crate) fn knee(points: &[Point<'_>]) -> Option<Knee> {
    let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
    let grows = points.windows(2).all(|pair| {
        matches!((&pair[0].place[0].value, &pair[1].place[0].value),
        (Value::Number(a), Value::Number(b)) if a < b)
    });
    if grows { curve::knee(&rates) } else { None }
}

fn line(points: &[Point<'_>], paint: Paint) -> String {
    let parameter = points[0].place[0].parameter;
    let most = points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let knee = knee(points);
    let bars = curve::bar_columns(paint.columns);
    let mut table =
        Table::new(1, &[parameter.name(), "IOPS", paint.rates.name(), "mean", "p99", "max", BARS]);
    for (index, point) in points.iter().enumerate() {
        let mark = if knee == Some(Knee::At(index)) { " ◄ knee" } else { "" };
        let mut cells = figures(point, paint);
        cells.insert(0, value(&point.place[0]));
        cells.push(format!("{:bars$}{mark:8}", curve::bar(point.iops, most, bars)));
        table.row(&cells);
    }
    format!("{}{}", table.text(2, paint), knee_sentence(knee, points, parameter.name()))
}

/// What there is to say about a knee; empty where it cannot be told.
pub(crate) fn knee_sentence(knee: Option<Knee>, points: &[Point<'_>], parameter: &str) -> String {
    match knee {
        Some(Knee::At(index)) => format!(
            "  knee at {parameter} {}: no further point brings {} % more IOPS\n",
            value(&points[index].place[0]),
            curve::GAIN_PERCENT
        ),
        Some(Knee::Flat) => format!("  flat: {parameter} brings no {} % more IOPS\n", curve::GAIN_PERCENT),
        Some(Knee::Beyond) => format!(
            "  no knee up to {parameter} {}: IOPS still rise there\n",
            value(&points[points.len() - 1].place[0])
        ),
        None => String::new(),
    }
}

fn surface(points: &[Point<'_>], paint: Paint) -> String {
    let mut columns: Vec<&Coordinate> = Vec::new();
    let mut rows: Vec<&Coordinate> = Vec::new();
    for point in points {
        if !rows.contains(&&point.place[0]) {
            rows.push(&point.place[0]);
        }
        if !columns.contains(&&point.place[1]) {
            columns.push(&point.place[1]);
        }
    }
    let corner = format!("{} \\ {}", rows[0].parameter.name(), columns[0].parameter.name());
    let surface = |title: &str, figure: &dyn Fn(&Point<'_>) -> String| {
        let mut headings = vec![corner.clone()];
        headings.extend(columns.iter().map(|column| value(column)));
        let mut table = Table::new(1, &headings);
        for row in &rows {
            let mut cells = vec![value(row)];
            cells.extend(columns.iter().map(|column| {
                let point = points.iter().find(|point| point.place[0] == **row && point.place[1] == **column);
                point.map_or_else(|| number::NONE.into(), figure)
            }));
            table.row(&cells);
        }
        format!("  {title}\n{}", table.text(2, paint))
    };
    surface("IOPS", &|point| number::iops(point.iops))
        + &surface(paint.rates.name(), &|point| paint.rates.figure(point.bytes))
        + &surface("mean latency", &|point| number::latency(point.latency.mean()))
}

fn rows(points: &[Point<'_>], paint: Paint) -> String {
    let places = points[0].place.len();
    let mut headings: Vec<&str> = points[0].place.iter().map(|place| place.parameter.name()).collect();
    headings.extend(["IOPS", paint.rates.name(), "mean", "p99", "max"]);
    let mut table = Table::new(places, &headings);
    for point in points {
        let mut cells: Vec<String> = point.place.iter().map(value).collect();
        cells.extend(figures(point, paint));
        table.row(&cells);
    }
    table.text(2, paint)
}

fn figures(point: &Point<'_>, paint: Paint) -> Vec<String> {
    vec![
        number::iops(point.iops),
        paint.rates.figure(point.bytes),
        number::latency(point.latency.mean()),
        number::percentile_text(&point.latency, 99.0),
        number::latency(point.latency.max as f64),
    ]
}

/// A coordinate's value as text.
pub(crate) fn value(place: &Coordinate) -> String {
    match &place.value {
        Value::Number(bytes) if place.parameter.is_bytes() => iodyno_model::units::binary(*bytes),
        value => value.to_string(),
    }
}
