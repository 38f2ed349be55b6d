//! The workbook of `-b`: with a name in `.xlsx` a sheet and a chart for each pass, else the one sheet of an `.xls`, with its
//! cells where iozone has them.
//!
//! Only figures are gathered here; the files are [`iodyno_report::grid`]'s and [`iodyno_report::xls`]'s. What was not
//! measured is an empty cell, and not 0.

use iodyno_report::grid::{self, Grid};
use iodyno_report::xls::{self, COLUMNS_MOST, SheetCell};

use super::figures::Figures;
use super::sheets::{self, Done, accesses, mean};
use crate::iozone::access::{Access, STREAMS, columns};
use crate::iozone::lower::Part;
use crate::iozone::matrix::Matrix;
use crate::iozone::settings::{Settings, Unit};
use crate::iozone::view::View;

/// Columns before the first number of streams, in an `.xls`.
const STREAMS_FROM: usize = 2;

/// The bytes of the workbook.
///
/// # Errors
/// What the format does not hold.
pub fn workbook(view: &View, done: &Done) -> Result<Vec<u8>, String> {
    let modern = is_modern(&view.settings);
    match (modern, view.settings.is_throughput()) {
        (true, true) => grid::workbook(&tables(view, |table| streams(view, done, table))),
        (true, false) => grid::workbook(&tables(view, |table| cells(view, done, table)).concat()),
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

fn is_modern(settings: &Settings) -> bool {
    settings.text("b").is_some_and(|path| path.to_ascii_lowercase().ends_with(".xlsx"))
}

/// What a table shows of a pass.
#[derive(Clone, Copy)]
struct Table {
    /// Rates, or processor time.
    rates: bool,
    unit: Unit,
}

impl Table {
    fn figure(self, figures: &Figures) -> f64 {
        let value = if self.rates { figures.children(self.unit) } else { figures.cpu().2 };
        // As in the report: whole kB and operations.
        if self.rates && self.unit != Unit::Microseconds { value.trunc() } else { value }
    }

    fn sum(self, figures: &Figures) -> f64 {
        if self.rates { figures.children(self.unit) } else { figures.cpu().2 }
    }

    fn words(self) -> &'static str {
        match (self.rates, self.unit) {
            (false, _) => "CPU %",
            (true, Unit::Kilobytes) => "kB/s",
            (true, Unit::Operations) => "operations/s",
            (true, Unit::Microseconds) => "µs for each operation",
        }
    }
}

/// Rates, and with `-+u` processor time.
fn tables<T>(view: &View, of: impl FnMut(Table) -> T) -> Vec<T> {
    let unit = view.settings.unit();
    let kinds = [true, false].into_iter().filter(|rates| *rates || view.settings.has("+u"));
    kinds.map(|rates| Table { rates, unit }).map(of).collect()
}

fn value(done: &Done, access: Access, file: u64, record: u64, table: Table) -> Option<f64> {
    let here = |part: Part| part.access == access && (part.cell.file, part.cell.record) == (file, record);
    mean(done, here, |figures| table.figure(figures))
}

fn kilobytes(sizes: &[u64]) -> Vec<String> {
    sizes.iter().map(|bytes| (bytes / 1024).to_string()).collect()
}

fn cells(view: &View, done: &Done, table: Table) -> Vec<Grid> {
    let Matrix { files, records, .. } = &view.matrix;
    let grid = |access: Access| {
        let title = access.facts().title;
        let row = |file: &u64| {
            let file = *file;
            records.iter().map(|record| value(done, access, file, *record, table)).collect()
        };
        Grid {
            name: if table.rates { title.into() } else { format!("{title} CPU") },
            title: format!("{title} ({})", table.words()),
            across: ("record (kB)".into(), kilobytes(records)),
            down: ("file (kB)".into(), kilobytes(files)),
            values: files.iter().map(row).collect(),
        }
    };
    accesses(columns(), done).into_iter().map(grid).collect()
}

/// What all streams of a pass came to.
fn together(done: &Done, access: Access, streams: u32, table: Table) -> Option<f64> {
    let here = |part: Part| part.access == access && part.streams == streams;
    mean(done, here, |figures| table.sum(figures))
}

fn streams(view: &View, done: &Done, table: Table) -> Grid {
    let rounds = sheets::rounds(&view.settings);
    let passes = accesses(STREAMS, done);
    let row = |access: &Access| rounds.iter().map(|round| together(done, *access, *round, table)).collect();
    let name = if table.rates { "Throughput" } else { "CPU" };
    Grid {
        name: name.into(),
        title: format!("{name} ({})", table.words()),
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

fn cell_rows(view: &View, done: &Done) -> Vec<Vec<SheetCell>> {
    let Matrix { files, records, .. } = &view.matrix;
    let mut rows = vec![
        text(format!("{} ", view.command)),
        text(" "),
        text("The top row is records sizes, the left column is file sizes"),
    ];
    for table in tables(view, |table| table) {
        // As in the original, an empty row is before those of processor time.
        rows.extend((!table.rates).then(Vec::new));
        for access in accesses(columns(), done) {
            let what =
                if table.rates { "Report" } else { "CPU utilization report (Zero values should be ignored)" };
            rows.push(text(format!("{} {what}", capitals(access.facts().title))));
            rows.push(
                [SheetCell::Empty].into_iter().chain(records.iter().map(|record| size(*record))).collect(),
            );
            for file in files {
                let row = records.iter().map(|record| number(value(done, access, *file, *record, table)));
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

fn stream_rows(view: &View, done: &Done) -> Vec<Vec<SheetCell>> {
    let many = if view.settings.has("T") { "threads" } else { "processes" };
    let record = view.matrix.records.first().unwrap_or(&0) / 1024;
    let rounds = sheets::rounds(&view.settings);
    let mut rows = vec![text(format!("{} ", view.command))];
    for table in tables(view, |table| table) {
        let (what, unit) = match (table.rates, table.unit) {
            (false, _) => ("CPU utilization", "CPU%"),
            (true, Unit::Kilobytes) => ("Throughput", "kBytes/sec"),
            (true, _) => ("Throughput", "ops/sec"),
        };
        rows.push(text(format!("{what} report Y-axis is type of test X-axis is number of {many}")));
        rows.push(text(format!("Record size = {record} kBytes")));
        rows.push(text(format!("Output is in {unit}")));
        for access in accesses(STREAMS, done) {
            let values = rounds.iter().map(|round| number(together(done, access, *round, table)));
            let label = [SheetCell::Text(format!("{:>15} ", access.facts().label)), SheetCell::Empty];
            rows.push(label.into_iter().chain(values).collect());
        }
    }
    rows
}
