//! The full screen: what is running, drawn anew at every live event: bandwidth, IOPS and latency over time, a line for
//! each job, and what the witnesses see of the machine and its devices. A command with a card of its own has it drawn
//! here as it fills in.
//!
//! ```text
//!   live events ──► [history]: rates and percentiles of each interval ──► [chart], [columns] ──► [canvas] ──► bytes
//! ```
//! Driven by events alone: it starts no thread, reads no clock and no key, so a stored run draws the same bytes again.

use std::io;

use iodyno_model::{Event, Live, Sample};

use crate::curve;
use crate::live::TimeLeft;
use crate::number;
use crate::paint::Paint;
use crate::{Output, Reporter};

pub mod canvas;
mod chart;
mod columns;
mod history;
mod seen;

use canvas::{Area, Canvas, Ink};
use chart::{Curve, ScaleText};
use columns::Column;
use history::{History, IntervalRates};

/// Intervals that are kept and drawn at most.
const INTERVALS_MOST: usize = 600;
/// Rows that the charts take at most.
const CHART_ROWS: usize = 14;
/// Columns that a chart needs.
const CHART_COLUMNS: usize = 24;
/// Rows that charts need below a card.
const CHART_ROWS_LEAST: usize = 6;

/// Columns and rows of the terminal, asked for at each drawing: windows are resized.
pub type Size = Box<dyn Fn() -> (u16, u16)>;

/// A report that is shown while it fills in.
pub trait GrowingReport {
    /// Notes what happened.
    fn event(&mut self, event: &Event);
    /// The report so far, in so many rows.
    fn text(&self, paint: Paint, rows: usize) -> String;
}

/// Draws running jobs on the talk stream, on the terminal's other screen.
pub struct Screen {
    size: Size,
    paint: Paint,
    growing: Option<Box<dyn GrowingReport>>,
    open: bool,
    title: String,
    phase: String,
    time: TimeLeft,
    left_ns: Option<u64>,
    history: History,
    seen: Option<Sample>,
}

impl Screen {
    /// A screen of that size, around a report that fills in where there is one.
    pub fn new(size: Size, paint: Paint, growing: Option<Box<dyn GrowingReport>>) -> Self {
        Screen {
            size,
            paint,
            growing,
            open: false,
            title: String::new(),
            phase: String::new(),
            time: TimeLeft::default(),
            left_ns: None,
            history: History::new(INTERVALS_MOST),
            seen: None,
        }
    }

    fn draw(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let canvas = self.canvas();
        if !std::mem::replace(&mut self.open, true) {
            output.err.write_all(canvas::OPEN)?;
        }
        canvas.paint(self.paint.colour, output.err)?;
        output.err.flush()
    }

    fn close(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            output.err.write_all(canvas::CLOSE)?;
            output.err.flush()?;
        }
        Ok(())
    }

    fn canvas(&self) -> Canvas {
        let (columns, rows) = (self.size)();
        let mut canvas = Canvas::new(usize::from(columns.max(40)), usize::from(rows.max(8)));
        let (head, below) = canvas.area().split(1);
        canvas.text(head, 0, 0, Ink::Bold, &self.head());
        match &self.growing {
            Some(report) => {
                let paint = Paint { columns: below.columns, ..self.paint };
                self.around(&report.text(paint, below.rows - 1), below, &mut canvas);
            }
            None => self.jobs_and_devices(below, &mut canvas),
        }
        canvas
    }

    /// The report so far, below a line about what runs now; charts where there is room.
    fn around(&self, text: &str, area: Area, canvas: &mut Canvas) {
        let (line, below) = area.split(1);
        canvas.text(line, 0, 0, Ink::Cyan, &self.now(area.columns));
        let (report, rest) = below.split(text.lines().count() + 1);
        canvas.lines(report, text);
        if rest.rows >= CHART_ROWS_LEAST {
            self.charts(rest.split(CHART_ROWS).0, canvas);
        }
    }

    /// The figures of the last interval, with the rate over time.
    fn now(&self, columns: usize) -> String {
        let Some(last) = self.history.all().last() else { return String::new() };
        let unit = self.paint.rates;
        let bytes =
            |interval: &IntervalRates| interval.read_bytes_per_second + interval.write_bytes_per_second;
        let moved = match bytes(last) {
            rate if rate > 0.0 => format!("{} {} · ", unit.figure(rate), unit.name()),
            _ => String::new(),
        };
        let p99 = number::latency(last.p99_ns as f64);
        let figures = format!(" now {moved}{} IOPS · p99 {p99} ", number::iops(last.operations_per_second()));
        let room = columns.saturating_sub(figures.chars().count() + 1);
        let rates: Vec<f64> = self.history.all().iter().map(IntervalRates::operations_per_second).collect();
        figures + &curve::sparkline(&rates[rates.len().saturating_sub(room)..], room)
    }

    fn jobs_and_devices(&self, area: Area, canvas: &mut Canvas) {
        let charts = CHART_ROWS.min(area.rows.saturating_sub(3) * 2 / 3);
        let (top, below) = area.split(charts);
        self.charts(top, canvas);
        let seen = self.seen.as_ref().map_or(0, seen::rows).min(area.rows / 4);
        let (middle, bottom) = below.split(below.rows - seen);
        self.jobs(middle, canvas);
        if let Some(sample) = &self.seen {
            seen::draw(sample, self.paint.rates, bottom, canvas);
        }
    }

    /// As many charts as there is room for side by side.
    fn charts(&self, area: Area, canvas: &mut Canvas) {
        let unit = self.paint.rates;
        let curve = |name, ink, pick: fn(&IntervalRates) -> f64| Curve {
            name,
            ink,
            values: self.history.all().iter().map(pick).collect(),
        };
        let bandwidth = [
            curve("read", Ink::Cyan, |f| f.read_bytes_per_second),
            curve("write", Ink::Yellow, |f| f.write_bytes_per_second),
        ];
        let latency = [
            curve("p50", Ink::Green, |f| f.p50_ns as f64),
            curve("p99", Ink::Magenta, |f| f.p99_ns as f64),
            curve("max", Ink::Red, |f| f.max_ns as f64),
        ];
        let iops = [
            curve("read", Ink::Cyan, |f| f.reads_per_second),
            curve("write", Ink::Yellow, |f| f.writes_per_second),
        ];
        let rate = |rate| unit.figure(rate);
        let all: [(&str, &[Curve], ScaleText<'_>); 3] = [
            (unit.name(), &bandwidth, &rate),
            ("latency", &latency, &number::latency),
            ("IOPS", &iops, &number::iops),
        ];
        let count = (area.columns / CHART_COLUMNS).clamp(1, all.len());
        let columns = area.columns / count;
        for (index, (title, curves, label)) in all.into_iter().take(count).enumerate() {
            let part = Area { column: area.column + index * columns, columns, ..area };
            chart::draw(canvas, part, title, curves, label);
        }
    }

    fn head(&self) -> String {
        let left = self.left_ns.map_or_else(String::new, |ns| format!(" · {} left", number::wait(ns)));
        let elapsed = number::wait(self.history.elapsed_ns());
        format!(" iodyno · {} · {} · {elapsed}{left}", self.title, self.phase)
    }

    /// A line for each job, as many as there is room for.
    fn jobs(&self, area: Area, canvas: &mut Canvas) {
        let room = area.rows.saturating_sub(1);
        let jobs = self.history.jobs();
        let shown = if jobs.len() > room { room.saturating_sub(1) } else { jobs.len() };
        let (count, taken) = columns::fitting(&COLUMNS, area.columns);
        let spark = area.columns.saturating_sub(taken + 2) / 2;
        let mut columns = COLUMNS[..count].to_vec();
        if spark >= SPARK_COLUMNS {
            columns.extend([("", spark), ("", spark)]);
        }
        let unit = self.paint.rates;
        let headings = COLUMNS.map(|(name, _)| match name {
            "read" | "write" => format!("{name} {}", unit.name()),
            name => name.to_string(),
        });
        let mut headings = headings[..count].to_vec();
        headings.extend(["bandwidth over time".into(), "p99 over time".into()]);
        columns::row(canvas, area, 0, Ink::Dim, &columns, &headings);
        for (index, job) in jobs.iter().take(shown).enumerate() {
            let mut cells = figures(job, unit)[..count].to_vec();
            cells.extend([
                history::spark(job.intervals(), spark, |f| {
                    f.read_bytes_per_second + f.write_bytes_per_second
                }),
                history::spark(job.intervals(), spark, |f| f.p99_ns as f64),
            ]);
            columns::row(canvas, area, index + 1, Ink::Plain, &columns, &cells);
        }
        if shown < jobs.len() {
            canvas.text(area, shown + 1, 0, Ink::Plain, &format!("and {} more", jobs.len() - shown));
        }
    }

    fn live(&mut self, live: &Live) {
        self.history.add(live);
        self.left_ns = self.time.left_ns(self.time.in_phase_ns(live)).or(live.left_ns);
    }
}

/// The columns of the jobs before the two curves, the most important first.
const COLUMNS: [Column; 9] = [
    ("job", 14),
    ("run", 4),
    ("read", 10),
    ("write", 10),
    ("IOPS", 9),
    ("p99", 7),
    ("p50", 7),
    ("max", 7),
    ("errors", 6),
];

/// Columns that a curve needs.
const SPARK_COLUMNS: usize = 20;

fn figures(job: &history::JobHistory, unit: number::RateUnit) -> [String; 9] {
    let now = job.last();
    [
        job.name.clone(),
        job.running.to_string(),
        unit.figure(now.read_bytes_per_second),
        unit.figure(now.write_bytes_per_second),
        number::iops(now.operations_per_second()),
        number::latency(now.p99_ns as f64),
        number::latency(now.p50_ns as f64),
        number::latency(now.max_ns as f64),
        job.errors.to_string(),
    ]
}

impl Reporter for Screen {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        if let Some(report) = &mut self.growing {
            report.event(event);
        }
        match event {
            Event::Started(started) => {
                self.title.clone_from(&started.plan.name);
                self.time = TimeLeft::of(&started.plan);
                Ok(())
            }
            Event::Preparing { target, done_bytes, total_bytes } => {
                let percent = *done_bytes as f64 / (*total_bytes).max(1) as f64 * 100.0;
                self.phase = format!("preparing {target}: {percent:.0} %");
                self.left_ns = self.time.left_ns(self.time.planned_ns());
                self.draw(output)
            }
            Event::PhaseStarted { index, count, name, .. } => {
                self.phase = format!("{name} ({} of {count})", index + 1);
                self.time.begin(*index);
                self.left_ns = self.time.left_ns(self.time.planned_ns());
                self.history.begin();
                self.seen = None;
                self.draw(output)
            }
            Event::Watched(sample) => {
                self.seen = Some((**sample).clone());
                self.draw(output)
            }
            Event::Live(live) => {
                self.live(live);
                self.draw(output)
            }
            Event::PhaseEnded(_) if self.growing.is_some() => self.draw(output),
            Event::Ended(_) => self.close(output),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
