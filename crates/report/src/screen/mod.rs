//! The full screen: what is running, drawn anew at every live event: bandwidth, IOPS and latency over time, a line for
//! each job, and what the witnesses see of the machine and its devices.
//!
//! ```text
//!   live events ──► [history]: rates and percentiles of each interval ──► widgets ──► [paint]: escape sequences
//! ```
//! Driven by events alone: it starts no thread, reads no clock and no key, so a stored run draws the same bytes again.

use std::io;

use iodyno_model::{Event, Sample};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Style};
use ratatui_core::symbols::Marker;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::chart::{Axis, Chart, Dataset, GraphType};
use ratatui_widgets::table::{Row, Table};

use crate::number;
use crate::{Output, Reporter};

mod history;
mod paint;
mod seen;

use history::{History, IntervalRates};

/// Intervals that are kept and drawn at most.
const INTERVALS_MOST: usize = 600;
/// Rows that the charts take at most.
const CHART_ROWS: u16 = 14;

/// Columns and rows of the terminal, asked for at each drawing: windows are resized.
pub type Size = Box<dyn Fn() -> (u16, u16)>;

/// Draws running jobs on the talk stream, on the terminal's other screen.
pub struct Screen {
    size: Size,
    open: bool,
    title: String,
    phase: String,
    history: History,
    seen: Option<Sample>,
}

impl Screen {
    /// A screen of that size.
    pub fn new(size: Size) -> Self {
        Screen {
            size,
            open: false,
            title: String::new(),
            phase: String::new(),
            history: History::new(INTERVALS_MOST),
            seen: None,
        }
    }

    fn draw(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let (columns, rows) = (self.size)();
        let area = Rect::new(0, 0, columns.max(40), rows.max(8));
        let mut buffer = Buffer::empty(area);
        self.render(area, &mut buffer);
        if !std::mem::replace(&mut self.open, true) {
            output.err.write_all(paint::OPEN)?;
        }
        paint::paint(&buffer, output.err)?;
        output.err.flush()
    }

    fn close(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            output.err.write_all(paint::CLOSE)?;
            output.err.flush()?;
        }
        Ok(())
    }

    fn render(&self, area: Rect, buffer: &mut Buffer) {
        let charts = CHART_ROWS.min(area.height.saturating_sub(4) * 2 / 3);
        let seen = self.seen.as_ref().map_or(0, seen::rows).min(area.height / 4);
        let heights =
            [Constraint::Length(1), Constraint::Length(charts), Constraint::Min(2), Constraint::Length(seen)];
        let [head, top, below, bottom] = Layout::vertical(heights).areas(area);
        Line::from(self.head()).style(Style::new().bold()).render(head, buffer);
        let [left, middle, right] = Layout::horizontal([Constraint::Ratio(1, 3); 3]).areas(top);
        let all = self.history.all();
        let curve = |name, colour, pick: fn(&IntervalRates) -> f64| Curve {
            name,
            colour,
            points: points(all.iter().map(pick)),
        };
        let bandwidth = [
            curve("read", Color::Cyan, |f| f.read_bytes_per_second),
            curve("write", Color::Yellow, |f| f.write_bytes_per_second),
        ];
        chart("bandwidth, MiB/s", &bandwidth, number::mib, left, buffer);
        let iops = [
            curve("read", Color::Cyan, |f| f.reads_per_second),
            curve("write", Color::Yellow, |f| f.writes_per_second),
        ];
        chart("IOPS", &iops, number::iops, middle, buffer);
        let latency = [
            curve("p50", Color::Green, |f| f.p50_ns as f64),
            curve("p99", Color::Magenta, |f| f.p99_ns as f64),
            curve("max", Color::Red, |f| f.max_ns as f64),
        ];
        chart("latency", &latency, number::latency, right, buffer);
        self.table(below, buffer);
        if let Some(sample) = &self.seen {
            seen::render(sample, bottom, buffer);
        }
    }

    fn head(&self) -> String {
        let left =
            self.history.left_ns().map_or_else(String::new, |ns| format!(" · {} left", number::wait(ns)));
        let elapsed = number::wait(self.history.elapsed_ns());
        format!(" iodyno · {} · {} · {elapsed}{left}", self.title, self.phase)
    }

    /// A line for each job, as many as there is room for.
    fn table(&self, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.height.saturating_sub(1));
        let jobs = self.history.jobs();
        let shown = if jobs.len() > room { room.saturating_sub(1) } else { jobs.len() };
        let fixed: u16 = COLUMNS.iter().map(|(_, width)| width + 1).sum();
        let spark = usize::from(area.width.saturating_sub(fixed + 2) / 2);
        let rows = jobs.iter().take(shown).map(|job| {
            let now = job.last();
            Row::new([
                job.name.clone(),
                job.running.to_string(),
                number::mib(now.read_bytes_per_second),
                number::mib(now.write_bytes_per_second),
                number::iops(now.reads_per_second + now.writes_per_second + now.others_per_second),
                number::latency(now.p50_ns as f64),
                number::latency(now.p99_ns as f64),
                number::latency(now.max_ns as f64),
                job.errors.to_string(),
                history::spark(job.intervals(), spark, |f| {
                    f.read_bytes_per_second + f.write_bytes_per_second
                }),
                history::spark(job.intervals(), spark, |f| f.p99_ns as f64),
            ])
        });
        let more = (shown < jobs.len()).then(|| Row::new([format!("and {} more", jobs.len() - shown)]));
        let widths = COLUMNS.iter().map(|(_, width)| Constraint::Length(*width));
        let widths = widths.chain([Constraint::Fill(1), Constraint::Fill(1)]);
        let names = COLUMNS.iter().map(|(name, _)| *name).chain(["bandwidth over time", "p99 over time"]);
        let header = Row::new(names.collect::<Vec<_>>()).style(Style::new().dim());
        Widget::render(Table::new(rows.chain(more), widths).header(header), area, buffer);
    }
}

/// The columns of the table of jobs before the two curves: heading and width.
const COLUMNS: [(&str, u16); 9] = [
    ("job", 18),
    ("run", 5),
    ("read MiB/s", 12),
    ("write MiB/s", 12),
    ("IOPS", 9),
    ("p50", 9),
    ("p99", 9),
    ("max", 9),
    ("errors", 6),
];

/// One line of a chart.
struct Curve {
    name: &'static str,
    colour: Color,
    points: Vec<(f64, f64)>,
}

fn points(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    values.enumerate().map(|(index, value)| (index as f64, value)).collect()
}

fn chart(title: &str, curves: &[Curve], label: fn(f64) -> String, area: Rect, buffer: &mut Buffer) {
    // What never moved is not drawn: a line along the bottom looks like a measurement.
    let moving = || curves.iter().filter(|curve| curve.points.iter().any(|point| point.1 > 0.0));
    let values = moving().flat_map(|curve| &curve.points).map(|point| point.1);
    let most = values.fold(0.0, f64::max).max(1.0) * 1.1;
    let last = curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0).max(2) - 1;
    let datasets = moving().map(|curve| {
        Dataset::default()
            .name(curve.name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(curve.colour))
            .data(&curve.points)
    });
    let labels = ["0".to_string(), label(most / 2.0), label(most)];
    let chart = Chart::new(datasets.collect())
        .hidden_legend_constraints((Constraint::Ratio(1, 1), Constraint::Ratio(1, 1)))
        .block(Block::bordered().title(title.to_string()))
        .x_axis(Axis::default().bounds([0.0, last as f64]))
        .y_axis(Axis::default().bounds([0.0, most]).labels(labels));
    Widget::render(chart, area, buffer);
}

impl Reporter for Screen {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.title.clone_from(&started.plan.name);
                Ok(())
            }
            Event::Preparing { target, done_bytes, total_bytes } => {
                let percent = *done_bytes as f64 / (*total_bytes).max(1) as f64 * 100.0;
                self.phase = format!("preparing {target}: {percent:.0} %");
                self.draw(output)
            }
            Event::PhaseStarted { index, count, name, .. } => {
                self.phase = format!("{name} ({} of {count})", index + 1);
                self.history.begin();
                self.seen = None;
                self.draw(output)
            }
            Event::Watched(sample) => {
                self.seen = Some((**sample).clone());
                self.draw(output)
            }
            Event::Live(live) => {
                self.history.add(live);
                self.draw(output)
            }
            Event::Ended(_) => self.close(output),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
