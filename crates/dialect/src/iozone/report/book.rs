//! The workbook of `-b`: a sheet for each pass, sizes down and across, or all passes over the numbers of streams.
//!
//! Only figures are gathered here; the spreadsheet itself is [`iodyno_report::grid`]'s.

use iodyno_report::grid::{self, Grid};

use super::sheets::{self, Done, accesses, mean};
use crate::iozone::access::{COLUMNS, STREAMS};
use crate::iozone::lower::Part;
use crate::iozone::settings::Unit;
use crate::iozone::view::View;

/// The bytes of the workbook.
///
/// # Errors
/// What the format does not hold.
pub fn workbook(view: &View, done: &Done) -> Result<Vec<u8>, String> {
    let grids = if view.settings.is_throughput() { vec![streams(view, done)] } else { cells(view, done) };
    grid::workbook(&grids)
}

fn unit(view: &View) -> &'static str {
    match view.settings.unit() {
        Unit::Kilobytes => "kB/s",
        Unit::Operations => "operations/s",
        Unit::Microseconds => "µs for each operation",
    }
}

fn cells(view: &View, done: &Done) -> Vec<Grid> {
    let unit_of = view.settings.unit();
    let grid = |access| {
        let value = |file: u64, record: u64| {
            let here =
                |part: Part| part.access == access && (part.cell.file, part.cell.record) == (file, record);
            mean(done, here, |figures| figures.children(unit_of))
        };
        let records = &view.matrix.records;
        Grid {
            name: access.facts().title.into(),
            title: format!("{} ({})", access.facts().title, unit(view)),
            across: ("record, kB".into(), records.iter().map(|bytes| (bytes / 1024).to_string()).collect()),
            down: (
                "file, kB".into(),
                view.matrix.files.iter().map(|bytes| (bytes / 1024).to_string()).collect(),
            ),
            values: view
                .matrix
                .files
                .iter()
                .map(|file| records.iter().map(|record| value(*file, *record)).collect())
                .collect(),
        }
    };
    accesses(&COLUMNS, done).into_iter().map(grid).collect()
}

fn streams(view: &View, done: &Done) -> Grid {
    let unit_of = view.settings.unit();
    let rounds = sheets::rounds(&view.settings);
    let passes = accesses(&STREAMS, done);
    let row = |access: &super::Access| {
        let value = |streams: &u32| {
            let here = |part: Part| part.access == *access && part.streams == *streams;
            mean(done, here, |figures| figures.children(unit_of))
        };
        rounds.iter().map(value).collect()
    };
    Grid {
        name: "Throughput".into(),
        title: format!("Throughput ({})", unit(view)),
        across: ("streams".into(), rounds.iter().map(u32::to_string).collect()),
        down: ("test".into(), passes.iter().map(|access| access.facts().label.to_string()).collect()),
        values: passes.iter().map(row).collect(),
    }
}
