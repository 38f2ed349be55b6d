//! `iodyno whatif --calibrate RUN --to FILE`: a device file that is fitted to the reads, writes and mixes of a run.
//!
//! Each cell that no figure rests on alone is held out of a fit in turn and predicted by it. The report says how far each is off.

use std::path::Path;

use iodyno_model::{Device, Diagnostic, Origin, Plan, Record};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportColumn, ReportSection,
};
use iodyno_simulation::calibration::{CellLoad, CheckedCell, MeasuredCell, calibrated};

use super::WhatifArgs;
use super::cells::{RunCells, cells};
use crate::archive;
use crate::device_file::DeviceFile;
use crate::report_output::ReportOutput;
use crate::runs::{foreign, one};

/// How far a held-out cell may be off, percent.
const CLOSE_PERCENT: f64 = 10.0;
/// Of what is drawn, where no seed is named.
const SEED: u64 = 1;

/// Fits a device, writes its file, and reports how good it is; the exit status is 1 where a held-out cell is too far off.
pub fn told(words: &WhatifArgs, reference: &str) -> Result<u8, Vec<Diagnostic>> {
    let (plan, record, name) = run(reference).map_err(one)?;
    let found = cells(&plan, &record);
    let Some(fit) = calibrated(&found.cells, words.seed.unwrap_or(SEED)) else {
        let message =
            "its cells are too few: depth 1 and a deeper queue are needed, of short and of long blocks";
        let wrong = Diagnostic::error(&Origin::argument(reference), message);
        return Err(one(wrong.hint("name a run of iodyno measure; iodyno runs --tool measure lists them")));
    };
    let path = words.to.as_deref().unwrap_or_default();
    let file = DeviceFile::open(path).map_err(one)?;
    let device = Device {
        name: file.name(),
        about: format!("fitted to the {} of {name}", found.fitted().join(" and ")),
        source: format!("iodyno whatif --calibrate, {name}"),
        ..fit.device
    };
    let output = ReportOutput::open(&words.report).map_err(one)?;
    file.write(&device).map_err(one)?;
    let rows: Vec<CellRow<'_>> = found.cells.iter().zip(&fit.cells).map(CellRow).collect();
    let status = output.write(&report(&name, path, &device, &rows, &found));
    let is_far = rows.iter().any(|row| row.held_out_percent() > CLOSE_PERCENT);
    Ok(status.max(u8::from(is_far)))
}

/// A kept run, or one in a file.
fn run(reference: &str) -> Result<(Plan, Record, String), Diagnostic> {
    if Path::new(reference).is_file() {
        let wrong = || Diagnostic::error(&Origin::argument(reference), "there is no run in it");
        let (_, started, record) = foreign(reference)?
            .into_iter()
            .next()
            .ok_or_else(|| wrong().hint("name a run of iodyno measure"))?;
        return Ok((started.plan, record, reference.into()));
    }
    let kept = archive::open()?.load(reference)?;
    Ok((kept.started.plan, kept.record, format!("run {}", kept.entry.id)))
}

/// A cell as it was measured, and what was said of it.
struct CellRow<'a>((&'a MeasuredCell, &'a CheckedCell));

/// A percentile: what it is called, measured and simulated, ns.
type PercentilePair = (&'static str, f64, f64);

impl CellRow<'_> {
    fn load(&self) -> CellLoad {
        self.0.0.load
    }

    fn rates(&self) -> (f64, f64) {
        (self.0.0.rate, self.0.1.predicted.rate)
    }

    fn percentiles(&self) -> Vec<PercentilePair> {
        let CellRow((measured, checked)) = self;
        let directions = [
            (["read p50", "read p99"], checked.predicted.read_ns, false),
            (["write p50", "write p99"], checked.predicted.write_ns, true),
        ];
        let mut pairs = Vec::new();
        for (names, simulated, is_write) in directions {
            let Some(simulated) = simulated else { continue };
            let measured = measured.percentiles(is_write);
            let three = names.into_iter().zip(measured).zip(simulated);
            pairs.extend(three.filter_map(|((name, measured), said)| Some((name, measured?, said))));
        }
        pairs
    }

    /// How far what was held out is off at most, percent; of what was fitted it is nothing.
    fn held_out_percent(&self) -> f64 {
        if !self.0.1.is_held_out {
            return 0.0;
        }
        let rates = self.rates();
        let pairs = self.percentiles().into_iter().map(|(_, measured, said)| (measured, said));
        pairs.chain([rates]).map(|(measured, said)| off_percent(measured, said).abs()).fold(0.0, f64::max)
    }

    /// The first columns: what was asked.
    fn asked(&self) -> Vec<ReportCell> {
        let CellLoad { bytes, depth, reads_percent, is_random } = self.load();
        let order = if is_random { "random" } else { "in order" };
        vec![
            ReportCell::Number(bytes as f64),
            ReportCell::text(order),
            ReportCell::Number(reads_percent),
            ReportCell::Number(f64::from(depth)),
        ]
    }

    fn manner(&self) -> ReportCell {
        ReportCell::text(if self.0.1.is_held_out { "held out" } else { "fitted" })
    }
}

fn off_percent(measured: f64, simulated: f64) -> f64 {
    100.0 * (simulated / measured - 1.0)
}

fn off_text(measured: f64, simulated: f64) -> ReportCell {
    ReportCell::text(format!("{:+.1}", off_percent(measured, simulated)))
}

const ASKED: [(&str, ColumnUnit); 4] = [
    ("block", ColumnUnit::Bytes),
    ("order", ColumnUnit::Words),
    ("reads, %", ColumnUnit::Number),
    ("depth", ColumnUnit::Number),
];

fn columns(more: &[(&str, ColumnUnit)]) -> Vec<ReportColumn> {
    ASKED.iter().chain(more).map(|(name, unit)| ReportColumn::new(name, *unit)).collect()
}

fn report(
    name: &str,
    path: &str,
    device: &Device,
    rows: &[CellRow<'_>],
    found: &RunCells,
) -> ExperimentReport {
    let parts: Vec<String> = device.parts.iter().map(iodyno_report::device::line).collect();
    ExperimentReport {
        format: "iodyno.calibration/1",
        title: format!("{} fitted to {name}", device.name),
        facts: vec![
            ("file".into(), path.into()),
            ("fitted".into(), found.fitted().join(", ")),
            ("parts".into(), parts.join("; ")),
        ],
        sections: vec![rates(rows), percentiles(rows)],
        remarks: found.remarks(),
    }
}

fn rates(rows: &[CellRow<'_>]) -> ReportSection {
    let more = [
        ("measured IOPS", ColumnUnit::PerSecond),
        ("simulated", ColumnUnit::PerSecond),
        ("off, %", ColumnUnit::Words),
        ("", ColumnUnit::Words),
    ];
    let row = |row: &CellRow<'_>| {
        let (measured, simulated) = row.rates();
        let figures = [
            ReportCell::Number(measured),
            ReportCell::Number(simulated),
            off_text(measured, simulated),
            row.manner(),
        ];
        row.asked().into_iter().chain(figures).collect()
    };
    ReportSection {
        title: "rates".into(),
        columns: columns(&more),
        rows: rows.iter().map(row).collect(),
        ..ReportSection::default()
    }
}

fn percentiles(rows: &[CellRow<'_>]) -> ReportSection {
    let more = [
        ("of", ColumnUnit::Words),
        ("measured", ColumnUnit::Nanoseconds),
        ("simulated", ColumnUnit::Nanoseconds),
        ("off, %", ColumnUnit::Words),
        ("", ColumnUnit::Words),
    ];
    let lines = |row: &CellRow<'_>| -> Vec<Vec<ReportCell>> {
        let line = |(name, measured, simulated): PercentilePair| {
            let figures = [
                ReportCell::text(name),
                ReportCell::Number(measured),
                ReportCell::Number(simulated),
                off_text(measured, simulated),
                row.manner(),
            ];
            row.asked().into_iter().chain(figures).collect()
        };
        row.percentiles().into_iter().map(line).collect()
    };
    ReportSection {
        title: "latencies".into(),
        columns: columns(&more),
        rows: rows.iter().flat_map(lines).collect(),
        sentences: vec![verdict(rows)],
        ..ReportSection::default()
    }
}

fn verdict(rows: &[CellRow<'_>]) -> String {
    let count = rows.iter().filter(|row| row.0.1.is_held_out).count();
    let worst = rows.iter().map(CellRow::held_out_percent).fold(0.0, f64::max);
    match (count, worst <= CLOSE_PERCENT) {
        (0, _) => "No cell could be held out: how good it is was not checked.".into(),
        (_, true) => format!(
            "Held-out cells are within {CLOSE_PERCENT} %: {count}, each in turn, are at most {worst:.1} % off."
        ),
        (_, false) => format!(
            "Held-out cells are up to {worst:.1} % off, more than {CLOSE_PERCENT} %: do not rely on it."
        ),
    }
}
