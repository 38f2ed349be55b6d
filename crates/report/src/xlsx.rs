//! Every table of a record in one spreadsheet (Office Open XML), a sheet each.
//!
//! Written at the end of the run. Figures are numbers, so that a spreadsheet can reckon with them; text is never a formula.

use std::io;

use iodyno_model::{Event, Record};
use rust_xlsxwriter::{Format, Workbook, Worksheet, XlsxError};

use crate::experiment_report::ExperimentReport;
use crate::shape::Context;
use crate::tables::{TableCell, tables};
use crate::{Output, Reporter};

/// Rows of a sheet below its headings, at most: what the format holds.
const ROWS_MOST: usize = 1_048_575;
/// Characters of a cell, at most: what the format holds.
const CHARACTERS_MOST: usize = 32_767;
/// A column is as wide as what stands in it, up to so many characters.
const WIDTH_MOST: usize = 60;
/// Whole numbers up to this are exact in a cell.
const EXACT_MOST: u64 = 1 << 53;

/// Writes the spreadsheet.
#[derive(Default)]
pub struct Xlsx {
    context: Context,
}

impl Xlsx {
    /// A reporter of spreadsheets.
    pub fn new() -> Self {
        Xlsx::default()
    }
}

impl Reporter for Xlsx {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Ended(record) => {
                let bytes = workbook(record, &self.context).map_err(io::Error::other)?;
                output.out.write_all(&bytes)
            }
            _ => Ok(()),
        }
    }
}

fn workbook(record: &Record, context: &Context) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    for table in tables(record, context) {
        let page = workbook.add_worksheet();
        if let Some(device) = context.simulated() {
            page.set_header(format!("&Csimulated on {}", device.replace('&', "&&")));
        }
        sheet(page, table.name, &table.headings, &table.rows)?;
    }
    workbook.save_to_buffer()
}

/// Characters of a sheet's name, at most: what the format holds.
const NAME_MOST: usize = 31;

/// The spreadsheet of a command that judges several runs.
///
/// # Errors
/// What the format does not hold.
pub fn of_experiment(result: &ExperimentReport) -> Result<Vec<u8>, String> {
    let written = || {
        let mut workbook = Workbook::new();
        for (index, (name, headings, rows)) in result.tables().into_iter().enumerate() {
            // Names differ, and have none of the characters that the format forbids.
            let name: String = name.chars().filter(|each| !"[]:*?/\\'".contains(*each)).collect();
            let name: String = format!("{} {name}", index + 1).chars().take(NAME_MOST).collect();
            sheet(workbook.add_worksheet(), name.trim(), &headings, &rows)?;
        }
        workbook.save_to_buffer()
    };
    written().map_err(|error: XlsxError| error.to_string())
}

fn sheet(
    sheet: &mut Worksheet,
    name: &str,
    headings: &[String],
    rows: &[Vec<TableCell>],
) -> Result<(), XlsxError> {
    sheet.set_name(name)?;
    let bold = Format::new().set_bold();
    for (column, heading) in headings.iter().enumerate() {
        sheet.write_string_with_format(0, column as u16, heading, &bold)?;
        let cells = rows.iter().take(1000).map(|row| row[column].field().chars().count());
        let widest = cells.chain([heading.len()]).max().unwrap_or(0);
        sheet.set_column_width(column as u16, widest.min(WIDTH_MOST) as f64 + 2.0)?;
    }
    sheet.set_freeze_panes(1, 0)?;
    for (index, row) in rows.iter().take(ROWS_MOST).enumerate() {
        for (column, cell) in row.iter().enumerate() {
            write(sheet, index as u32 + 1, column as u16, cell)?;
        }
    }
    if rows.len() > ROWS_MOST {
        let left = rows.len() - ROWS_MOST + 1;
        let text = format!("{left} more rows do not fit in a sheet; csv=FOLDER/ has them all");
        sheet.write_string(ROWS_MOST as u32, 0, text)?;
    }
    let last = rows.len().min(ROWS_MOST) as u32;
    sheet.autofilter(0, 0, last, headings.len() as u16 - 1)?;
    Ok(())
}

fn write(sheet: &mut Worksheet, row: u32, column: u16, cell: &TableCell) -> Result<(), XlsxError> {
    match cell {
        TableCell::Text(text) => {
            let text: String = text.chars().take(CHARACTERS_MOST).collect();
            sheet.write_string(row, column, text)?;
        }
        TableCell::Whole(number) if *number > EXACT_MOST => {
            sheet.write_string(row, column, number.to_string())?;
        }
        TableCell::Whole(number) => {
            sheet.write_number(row, column, *number as f64)?;
        }
        TableCell::Number(number) if number.is_finite() => {
            sheet.write_number(row, column, *number)?;
        }
        TableCell::Number(_) | TableCell::Empty => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_is_a_zip_archive_of_sheets() {
        let record = Record { name: "=1+1".into(), seed: u64::MAX, ..Record::default() };
        let bytes = workbook(&record, &Context::default()).unwrap();
        assert!(bytes.starts_with(b"PK\x03\x04"));
        let names = String::from_utf8_lossy(&bytes).into_owned();
        assert!(names.contains("xl/worksheets/sheet1.xml"), "{names}");
    }

    #[test]
    fn a_spreadsheet_of_a_simulated_run_says_so_on_every_page() {
        let device = iodyno_model::Device { name: "disk & co".into(), ..Default::default() };
        let plan = iodyno_model::Plan { device: Some(device), ..Default::default() };
        let started = iodyno_model::RunStart { plan, ..Default::default() };
        let bytes = workbook(&Record::default(), &Context { started: Some(Box::new(started)) }).unwrap();
        let mut book = zip::ZipArchive::new(io::Cursor::new(bytes)).unwrap();
        let mut part = |name: &str| io::read_to_string(book.by_name(name).unwrap()).unwrap();
        let sheet = part("xl/worksheets/sheet1.xml");
        assert!(sheet.contains("simulated on disk &amp;&amp; co"), "{sheet}");
        let words = part("xl/sharedStrings.xml");
        assert!(words.contains("simulated on disk &amp; co: no storage was touched"), "{words}");
    }
}
