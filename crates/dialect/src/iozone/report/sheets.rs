//! The tables at the end that spreadsheets take: one for each pass, sizes down and across, or streams across.

use std::fmt::Write as _;

use super::figures::Figures;
use crate::iozone::access::{Access, STREAMS, columns};
use crate::iozone::lower::Part;
use crate::iozone::settings::{Settings, Unit};
use crate::iozone::view::View;

/// What passes came to.
pub type Done = [(Part, Figures)];

/// The mean of what a pass came to, over its repetitions.
pub fn mean(done: &Done, wanted: impl Fn(Part) -> bool, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
    let found: Vec<f64> = done.iter().filter(|(part, _)| wanted(*part)).map(|(_, all)| figure(all)).collect();
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

/// Passes that came to something, in an order.
pub fn accesses(order: impl IntoIterator<Item = Access>, done: &Done) -> Vec<Access> {
    let has = |access: &Access| done.iter().any(|(part, _)| part.access == *access);
    order.into_iter().filter(has).collect()
}

/// The tables of the matrix, and with `-+u` those of processor time.
pub fn matrix(view: &View, done: &Done) -> String {
    let mut text = String::from("Excel output is below:\n");
    let unit = view.settings.unit();
    for access in accesses(columns(), done) {
        let shown = |value: f64| {
            if unit == Unit::Microseconds { format!("{value:.2}") } else { format!("{:.0}", value.trunc()) }
        };
        let figure = |figures: &Figures| figures.children(unit);
        let title = format!("{} report", access.facts().title);
        text += &table(view, done, access, &title, figure, shown);
    }
    if view.settings.has("+u") {
        for access in accesses(columns(), done) {
            let title =
                format!("{} CPU utilization report (Zero values should be ignored)", access.facts().title);
            text +=
                &table(view, done, access, &title, |figures| figures.cpu().2, |value| format!("{value:6.2}"));
        }
    }
    text
}

fn table(
    view: &View,
    done: &Done,
    access: Access,
    title: &str,
    figure: impl Fn(&Figures) -> f64,
    shown: impl Fn(f64) -> String,
) -> String {
    let mut text = format!("\n\"{title}\"\n      ");
    for record in &view.matrix.records {
        let _ = write!(text, "  \"{}\"", record / 1024);
    }
    for file in &view.matrix.files {
        let _ = write!(text, "\n\"{}\"  ", file / 1024);
        for (record, _) in view.matrix.row(*file) {
            let here =
                |part: Part| part.access == access && (part.cell.file, part.cell.record) == (*file, record);
            let value = mean(done, here, &figure).unwrap_or(0.0);
            let _ = write!(text, " {} ", shown(value));
        }
    }
    text + "\n"
}

/// The tables of streams, and with `-+u` those of processor time.
pub fn throughput(view: &View, done: &Done) -> String {
    let unit = view.settings.unit();
    let words = if unit == Unit::Kilobytes { "kBytes/sec" } else { "ops/sec" };
    let mut text = streams(view, done, "Throughput", words, |figures| figures.children(unit));
    if view.settings.has("+u") {
        text += &streams(view, done, "CPU utilization", "CPU%", |figures| figures.cpu().2);
    }
    text
}

fn streams(view: &View, done: &Done, what: &str, unit: &str, figure: impl Fn(&Figures) -> f64) -> String {
    let many = if view.settings.has("T") { "threads" } else { "processes" };
    let record = view.matrix.records.first().unwrap_or(&0) / 1024;
    let mut text = format!(
        "\n\"{what} report Y-axis is type of test X-axis is number of {many}\"\n\"Record size = {record} kBytes \"\n\
         \"Output is in {unit}\"\n"
    );
    for access in accesses(STREAMS, done) {
        let _ = write!(text, "\n\"{:>15} \"", access.facts().label);
        for streams in rounds(&view.settings) {
            let here = |part: Part| part.access == access && part.streams == streams;
            let _ = write!(text, " {:10.2} ", mean(done, here, &figure).unwrap_or(0.0));
        }
        text.push('\n');
    }
    text + "\n"
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
