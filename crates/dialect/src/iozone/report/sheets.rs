//! The tables at the end that spreadsheets take: one for each pass, sizes down and across, or streams across.

use std::fmt::Write as _;

use super::figures::PassFigures;
use crate::iozone::access::{self, Access, columns};
use crate::iozone::lower::Pass;
use crate::iozone::settings::{Settings, Unit};
use crate::iozone::view::ReportContext;

/// What passes came to.
pub type Done = [(Pass, PassFigures)];

/// The mean of what a pass came to, over its repetitions.
pub fn mean(done: &Done, wanted: impl Fn(Pass) -> bool, figure: impl Fn(&PassFigures) -> f64) -> Option<f64> {
    let found: Vec<f64> = done.iter().filter(|(part, _)| wanted(*part)).map(|(_, all)| figure(all)).collect();
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

/// Passes that came to something, in an order.
pub fn accesses(order: impl IntoIterator<Item = Access>, done: &Done) -> Vec<Access> {
    let has = |access: &Access| done.iter().any(|(part, _)| part.access == *access);
    order.into_iter().filter(has).collect()
}

/// What a table shows of a pass.
#[derive(Clone, Copy)]
pub struct TableMeasure {
    /// Rates, rather than processor time.
    pub rates: bool,
    /// What rates are in.
    pub unit: Unit,
}

impl TableMeasure {
    /// What all streams of a pass came to.
    pub fn sum(self, figures: &PassFigures) -> f64 {
        if self.rates { figures.children(self.unit) } else { figures.cpu().2 }
    }

    /// What a table of streams is called, and its unit.
    pub fn title(self) -> (&'static str, &'static str) {
        match (self.rates, self.unit) {
            (false, _) => ("CPU utilization", "CPU%"),
            (true, Unit::Kilobytes) => ("Throughput", "kBytes/sec"),
            (true, _) => ("Throughput", "ops/sec"),
        }
    }
}

/// Rates, and with `-+u` processor time.
pub fn measures(settings: &Settings) -> impl Iterator<Item = TableMeasure> {
    let (unit, times) = (settings.unit(), settings.has("+u"));
    [true, false]
        .into_iter()
        .filter(move |rates| *rates || times)
        .map(move |rates| TableMeasure { rates, unit })
}

/// What all streams of a pass came to.
pub fn together(done: &Done, access: Access, streams: u32, measure: TableMeasure) -> Option<f64> {
    let here = |part: Pass| part.access == access && part.streams == streams;
    mean(done, here, |figures| measure.sum(figures))
}

/// The tables of the matrix, and with `-+u` those of processor time.
pub fn matrix(view: &ReportContext, done: &Done) -> String {
    let mut text = String::from("Excel output is below:\n");
    for measure in measures(&view.settings) {
        let what =
            if measure.rates { "report" } else { "CPU utilization report (Zero values should be ignored)" };
        for access in accesses(columns(), done) {
            let _ = write!(text, "\n\"{} {what}\"\n      ", access.facts().title);
            for record in &view.matrix.records {
                let _ = write!(text, "  \"{}\"", record / 1024);
            }
            for file in &view.matrix.files {
                let _ = write!(text, "\n\"{}\"  ", file / 1024);
                for (record, _) in view.matrix.row(*file) {
                    let here = |part: Pass| {
                        part.access == access && (part.cell.file, part.cell.record) == (*file, record)
                    };
                    let value = mean(done, here, |figures| measure.sum(figures)).unwrap_or(0.0);
                    let _ = match (measure.rates, measure.unit) {
                        (false, _) => write!(text, " {value:6.2} "),
                        (true, Unit::Microseconds) => write!(text, " {value:.2} "),
                        (true, _) => write!(text, " {:.0} ", value.trunc()),
                    };
                }
            }
            text.push('\n');
        }
    }
    text
}

/// The tables of streams, and with `-+u` those of processor time.
pub fn throughput(view: &ReportContext, done: &Done) -> String {
    let many = if view.settings.has("T") { "threads" } else { "processes" };
    let record = view.matrix.records.first().unwrap_or(&0) / 1024;
    let mut text = String::new();
    for measure in measures(&view.settings) {
        let (what, unit) = measure.title();
        let _ = write!(
            text,
            "\n\"{what} report Y-axis is type of test X-axis is number of {many}\"\n\"Record size = {record} kBytes \"\n\
             \"Output is in {unit}\"\n"
        );
        for access in accesses(access::streams(), done) {
            let _ = write!(text, "\n\"{:>15} \"", access.facts().label);
            for streams in rounds(&view.settings) {
                let _ = write!(text, " {:10.2} ", together(done, access, streams, measure).unwrap_or(0.0));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// The numbers of streams, each once.
pub fn rounds(settings: &Settings) -> Vec<u32> {
    let mut rounds = Vec::new();
    for streams in &settings.rounds {
        if !rounds.contains(streams) {
            rounds.push(*streams);
        }
    }
    rounds
}
