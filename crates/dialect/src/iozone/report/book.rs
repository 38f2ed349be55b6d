//! The workbook of `-b`: with a name in `.xlsx` a sheet and a chart for each pass, else the one sheet of an `.xls`, with its
//! cells where iozone has them.
//!
//! Only figures are gathered here; the files are [`iodyno_report::grid`]'s and [`iodyno_report::xls`]'s. What was not
//! measured is an empty cell, and not 0.

use iodyno_report::grid::{self, Grid};
use iodyno_report::xls::{self, COLUMNS_MOST, SheetCell};

use super::figures::PassFigures;
use super::sheets::{self, Done, TableMeasure, accesses, mean, measures, together};
use crate::iozone::access::{self, Access, columns};
use crate::iozone::lower::Pass;
use crate::iozone::matrix::Matrix;
use crate::iozone::settings::{Settings, Unit};
use crate::iozone::view::ReportContext;

/// Columns before the first number of streams, in an `.xls`.
const STREAMS_FROM: usize = 2;

/// The bytes of the workbook.
///
/// # Errors
/// What the format does not hold.
pub fn workbook(view: &ReportContext, done: &Done) -> Result<Vec<u8>, String> {
    let modern = is_modern(&view.settings);
    match (modern, view.settings.is_throughput()) {
        (true, true) => {
            let grids: Vec<_> =
                measures(&view.settings).map(|measure| streams(view, done, measure)).collect();
            grid::workbook(&grids)
        }
        (true, false) => {
            let grids: Vec<_> =
                measures(&view.settings).flat_map(|measure| cells(view, done, measure)).collect();
            grid::workbook(&grids)
        }
        (false, true) => xls::workbook("iozone", &stream_rows(view, done)),
        (false, false) => xls::workbook("iozone", &cell_rows(view, done)),
    }
}

/// Why the workbook could not hold the run's figures; none: it can.
pub fn too_large(settings: &Settings, matrix: &Matrix) -> Option<String> {
    settings.text("b").filter(|_| !is_modern(settings))?;
    let columns = match settings.is_throughput() {
        true => STREAMS_FROM + sheets::rounds(settings).len(),
        false => 1 + matrix.records.len(),
    };
    (columns > COLUMNS_MOST).then(|| format!("an .xls has {COLUMNS_MOST} columns, and this needs {columns}"))
}

/// Whether a file begins as a workbook does: iozone's own (BIFF 2), an `.xls`, or an `.xlsx`. An empty one holds nothing.
pub fn is_workbook(bytes: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 4] =
        [&[0x09, 0x00, 0x04, 0x00], &[0x09, 0x08], &[0xd0, 0xcf, 0x11, 0xe0], b"PK\x03\x04"];
    bytes.is_empty() || BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning))
}

fn is_modern(settings: &Settings) -> bool {
    settings.text("b").is_some_and(|path| path.to_ascii_lowercase().ends_with(".xlsx"))
}

/// A figure of a table of cells: as in the report, whole kB and operations.
fn figure(measure: TableMeasure, figures: &PassFigures) -> f64 {
    let value = measure.sum(figures);
    if measure.rates && measure.unit != Unit::Microseconds { value.trunc() } else { value }
}

fn words(measure: TableMeasure) -> &'static str {
    match (measure.rates, measure.unit) {
        (false, _) => "CPU %",
        (true, Unit::Kilobytes) => "kB/s",
        (true, Unit::Operations) => "operations/s",
        (true, Unit::Microseconds) => "µs for each operation",
    }
}

fn value(done: &Done, access: Access, file: u64, record: u64, measure: TableMeasure) -> Option<f64> {
    let here = |part: Pass| part.access == access && (part.cell.file, part.cell.record) == (file, record);
    mean(done, here, |figures| figure(measure, figures))
}

fn kilobytes(sizes: &[u64]) -> Vec<String> {
    sizes.iter().map(|bytes| (bytes / 1024).to_string()).collect()
}

fn cells(view: &ReportContext, done: &Done, measure: TableMeasure) -> Vec<Grid> {
    let Matrix { files, records, .. } = &view.matrix;
    let grid = |access: Access| {
        let title = access.facts().title;
        let row = |file: &u64| {
            let file = *file;
            records.iter().map(|record| value(done, access, file, *record, measure)).collect()
        };
        Grid {
            name: if measure.rates { title.into() } else { format!("{title} CPU") },
            title: format!("{title} ({})", words(measure)),
            across: ("record (kB)".into(), kilobytes(records)),
            down: ("file (kB)".into(), kilobytes(files)),
            values: files.iter().map(row).collect(),
        }
    };
    accesses(columns(), done).into_iter().map(grid).collect()
}

fn streams(view: &ReportContext, done: &Done, measure: TableMeasure) -> Grid {
    let rounds = sheets::rounds(&view.settings);
    let passes = accesses(access::streams(), done);
    let row = |access: &Access| rounds.iter().map(|round| together(done, *access, *round, measure)).collect();
    let name = if measure.rates { "Throughput" } else { "CPU" };
    Grid {
        name: name.into(),
        title: format!("{name} ({})", words(measure)),
        across: ("streams".into(), rounds.iter().map(u32::to_string).collect()),
        down: ("test".into(), passes.iter().map(|access| access.facts().label.to_string()).collect()),
        values: passes.iter().map(row).collect(),
    }
}

fn text(text: impl Into<String>) -> Vec<SheetCell> {
    vec![SheetCell::Text(text.into())]
}

fn number(value: Option<f64>) -> SheetCell {
    value.map_or(SheetCell::Empty, SheetCell::Number)
}

fn size(bytes: u64) -> SheetCell {
    SheetCell::Number((bytes / 1024) as f64)
}

fn cell_rows(view: &ReportContext, done: &Done) -> Vec<Vec<SheetCell>> {
    let Matrix { files, records, .. } = &view.matrix;
    let mut rows = vec![
        text(format!("{} ", view.command)),
        text(" "),
        text("The top row is records sizes, the left column is file sizes"),
    ];
    for measure in measures(&view.settings) {
        // As in the original, an empty row is before those of processor time.
        rows.extend((!measure.rates).then(Vec::new));
        for access in accesses(columns(), done) {
            let what = if measure.rates {
                "Report"
            } else {
                "CPU utilization report (Zero values should be ignored)"
            };
            rows.push(text(format!("{} {what}", capitals(access.facts().title))));
            rows.push(
                [SheetCell::Empty].into_iter().chain(records.iter().map(|record| size(*record))).collect(),
            );
            for file in files {
                let row = records.iter().map(|record| number(value(done, access, *file, *record, measure)));
                rows.push([size(*file)].into_iter().chain(row).collect());
            }
        }
    }
    rows
}

/// Each word with one capital, as this file's titles are written.
fn capitals(title: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.flat_map(char::to_lowercase)).collect::<String>()
    };
    title.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn stream_rows(view: &ReportContext, done: &Done) -> Vec<Vec<SheetCell>> {
    let many = if view.settings.has("T") { "threads" } else { "processes" };
    let record = view.matrix.records.first().unwrap_or(&0) / 1024;
    let rounds = sheets::rounds(&view.settings);
    let mut rows = vec![text(format!("{} ", view.command))];
    for measure in measures(&view.settings) {
        let (what, unit) = measure.title();
        rows.push(text(format!("{what} report Y-axis is type of test X-axis is number of {many}")));
        rows.push(text(format!("Record size = {record} kBytes")));
        rows.push(text(format!("Output is in {unit}")));
        for access in accesses(access::streams(), done) {
            let values = rounds.iter().map(|round| number(together(done, access, *round, measure)));
            let label = [SheetCell::Text(format!("{:>15} ", access.facts().label)), SheetCell::Empty];
            rows.push(label.into_iter().chain(values).collect());
        }
    }
    rows
}
