//! `iodyno whatif --calibrate RUN --to FILE`: a device file that is fitted to the reads of a run of `measure`.
//!
//! Every second depth of the sweep is held out of the fit and predicted afterwards. The report says how far each cell is off.

use std::collections::BTreeMap;
use std::path::Path;

use iodyno_model::{Device, Diagnostic, Origin, Plan, Record, Verb};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportColumn, ReportSection,
};
use iodyno_simulation::calibration::{MeasuredCell, fit, predicted};
use iodyno_truth::quantity::{Measure, OperationSet, Quantity};
use iodyno_truth::statistics::median;

use super::WhatifArgs;
use crate::archive;
use crate::device_file::DeviceFile;
use crate::report_output::ReportOutput;
use crate::runs::{foreign, one};

/// Cells of a fit, at least: a device has five figures.
const LEAST_CELLS: usize = 4;
/// How far a held-out cell may be off, percent.
const CLOSE_PERCENT: f64 = 10.0;
/// Of what is drawn, where no seed is named.
const SEED: u64 = 1;

/// Fits a device, writes its file, and reports how good it is; the exit status is 1 where a held-out cell is too far off.
pub fn told(words: &WhatifArgs, reference: &str) -> Result<u8, Vec<Diagnostic>> {
    let (plan, record, name) = run(reference).map_err(one)?;
    let cells = cells(&plan, &record);
    let held_out = held_out(&cells);
    let fitted: Vec<MeasuredCell> =
        cells.iter().zip(&held_out).filter(|(_, is_out)| !**is_out).map(|(cell, _)| *cell).collect();
    let seed = words.seed.unwrap_or(SEED);
    let found = if fitted.len() < LEAST_CELLS { None } else { fit(&fitted, seed) };
    let Some(found) = found else {
        let message =
            "its reads are too few: depth 1 and a deeper queue are needed, of short and of long blocks";
        let wrong = Diagnostic::error(&Origin::argument(reference), message);
        return Err(one(wrong.hint("name a run of iodyno measure; iodyno runs --tool measure lists them")));
    };
    let path = words.to.as_deref().unwrap_or_default();
    let file = DeviceFile::open(path).map_err(one)?;
    let device = Device {
        name: file.name(),
        about: format!("fitted to the reads of {name}"),
        source: format!("iodyno whatif --calibrate, {name}"),
        ..found
    };
    let output = ReportOutput::open(&words.report).map_err(one)?;
    file.write(&device).map_err(one)?;
    let rows: Vec<(MeasuredCell, f64, bool)> = cells
        .iter()
        .zip(held_out)
        .map(|(cell, is_out)| (*cell, predicted(&device, cell, seed.wrapping_add(1)).unwrap_or(0.0), is_out))
        .collect();
    let worst =
        rows.iter().filter(|(.., is_out)| *is_out).map(|row| off_percent(row).abs()).fold(0.0, f64::max);
    let status = output.write(&report(&name, path, &device, &rows, worst));
    Ok(status.max(u8::from(worst > CLOSE_PERCENT)))
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

/// The reads of one block size at one depth, by size and depth; of several passes the median.
fn cells(plan: &Plan, record: &Record) -> Vec<MeasuredCell> {
    let rate = Quantity::new(OperationSet::All, Measure::Rate);
    let mut found: BTreeMap<(u64, u32), Vec<f64>> = BTreeMap::new();
    for phase in &record.phases {
        let ([job], Some(planned)) = (phase.jobs.as_slice(), plan.phases.get(phase.index)) else { continue };
        let Some(planned) = planned.jobs.first() else { continue };
        let done = || job.tally.lines.iter().filter(|line| line.operations > 0);
        let (Some(line), true) = (done().next(), done().all(|line| line.verb == Verb::Read)) else {
            continue;
        };
        let bytes = line.bytes / line.operations;
        let depth = planned.depth.most.saturating_mul(planned.workers);
        if let Some(rate) = rate.of(phase, job).filter(|rate| *rate > 0.0 && bytes > 0) {
            found.entry((bytes, depth)).or_default().push(rate);
        }
    }
    let cell = |((bytes, depth), rates): ((u64, u32), Vec<f64>)| {
        Some(MeasuredCell { bytes, depth, rate: median(&rates)? })
    };
    found.into_iter().filter_map(cell).collect()
}

/// Of each block size every second depth between the first and the last.
fn held_out(cells: &[MeasuredCell]) -> Vec<bool> {
    let place = |index: usize| {
        let same = |cell: &&MeasuredCell| cell.bytes == cells[index].bytes;
        (cells[..index].iter().filter(same).count(), cells[index..].iter().filter(same).count())
    };
    (0..cells.len()).map(place).map(|(before, left)| before % 2 == 1 && left > 1).collect()
}

fn off_percent((cell, predicted, _): &(MeasuredCell, f64, bool)) -> f64 {
    100.0 * (predicted / cell.rate - 1.0)
}

fn report(
    name: &str,
    path: &str,
    device: &Device,
    rows: &[(MeasuredCell, f64, bool)],
    worst: f64,
) -> ExperimentReport {
    let columns = [
        ("block", ColumnUnit::Bytes),
        ("depth", ColumnUnit::Number),
        ("measured IOPS", ColumnUnit::PerSecond),
        ("simulated IOPS", ColumnUnit::PerSecond),
        ("off, %", ColumnUnit::Words),
        ("", ColumnUnit::Words),
    ];
    let row = |row: &(MeasuredCell, f64, bool)| {
        let (cell, predicted, is_out) = row;
        vec![
            ReportCell::Number(cell.bytes as f64),
            ReportCell::Number(f64::from(cell.depth)),
            ReportCell::Number(cell.rate),
            ReportCell::Number(*predicted),
            ReportCell::text(format!("{:+.1}", off_percent(row))),
            ReportCell::text(if *is_out { "held out" } else { "fitted" }),
        ]
    };
    let verdict = match worst <= CLOSE_PERCENT {
        true => format!("Held-out cells are within {CLOSE_PERCENT} %: at most {worst:.1} % off."),
        false => format!(
            "Held-out cells are up to {worst:.1} % off, more than {CLOSE_PERCENT} %: do not rely on it."
        ),
    };
    let parts: Vec<String> = device.parts.iter().map(iodyno_report::device::line).collect();
    ExperimentReport {
        format: "iodyno.calibration/1",
        title: format!("{} fitted to {name}", device.name),
        facts: vec![("file".into(), path.into()), ("parts".into(), parts.join("; "))],
        sections: vec![ReportSection {
            title: "reads".into(),
            columns: columns.iter().map(|(name, unit)| ReportColumn::new(name, *unit)).collect(),
            rows: rows.iter().map(row).collect(),
            sentences: vec![verdict],
            ..ReportSection::default()
        }],
        remarks: vec!["Writes are simulated as reads are: nothing was fitted to them.".into()],
    }
}
