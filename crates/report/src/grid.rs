//! Figures over two scales as sheets of a workbook (Office Open XML), each with a chart: what matrices are looked at in.
//!
//! A line for each row rather than a surface, which the library behind cannot draw. Without that library it refuses.

/// Figures over two scales.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The sheet's name, at most 31 characters.
    pub name: String,
    /// What stands above.
    pub title: String,
    /// The scale across: its name and its values.
    pub across: (String, Vec<String>),
    /// The scale down.
    pub down: (String, Vec<String>),
    /// The figures, row by row; none: not measured.
    pub values: Vec<Vec<Option<f64>>>,
}

/// The workbook's bytes.
///
/// # Errors
/// What the format does not hold, or that this program was built without spreadsheets.
#[cfg(feature = "xlsx")]
pub fn workbook(grids: &[Grid]) -> Result<Vec<u8>, String> {
    let mut workbook = rust_xlsxwriter::Workbook::new();
    for grid in grids {
        sheet(workbook.add_worksheet(), grid).map_err(|error| error.to_string())?;
    }
    if grids.is_empty() {
        workbook.add_worksheet();
    }
    workbook.save_to_buffer().map_err(|error| error.to_string())
}

/// The workbook's bytes.
///
/// # Errors
/// That this program was built without spreadsheets.
#[cfg(not(feature = "xlsx"))]
pub fn workbook(_grids: &[Grid]) -> Result<Vec<u8>, String> {
    Err("this program was built without spreadsheets".into())
}

#[cfg(feature = "xlsx")]
fn sheet(sheet: &mut rust_xlsxwriter::Worksheet, grid: &Grid) -> Result<(), rust_xlsxwriter::XlsxError> {
    let bold = rust_xlsxwriter::Format::new().set_bold();
    sheet.set_name(&grid.name)?;
    sheet.write_string_with_format(0, 0, &grid.title, &bold)?;
    sheet.write_string_with_format(1, 0, format!("{} \\ {}", grid.down.0, grid.across.0), &bold)?;
    sheet.set_column_width(0, 24.0)?;
    for (column, label) in grid.across.1.iter().enumerate() {
        scale(sheet, 1, column as u16 + 1, label)?;
    }
    for (row, (label, values)) in grid.down.1.iter().zip(&grid.values).enumerate() {
        let row = row as u32 + 2;
        scale(sheet, row, 0, label)?;
        for (column, value) in values.iter().enumerate() {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                sheet.write_number(row, column as u16 + 1, value)?;
            }
        }
    }
    let below = grid.down.1.len() as u32 + 3;
    sheet.insert_chart(below, 0, &chart(grid))?;
    Ok(())
}

/// A label of a scale: a number where it is one.
#[cfg(feature = "xlsx")]
fn scale(
    sheet: &mut rust_xlsxwriter::Worksheet,
    row: u32,
    column: u16,
    label: &str,
) -> Result<(), rust_xlsxwriter::XlsxError> {
    match label.parse::<f64>() {
        Ok(number) => sheet.write_number(row, column, number)?,
        Err(_) => sheet.write_string(row, column, label)?,
    };
    Ok(())
}

#[cfg(feature = "xlsx")]
fn chart(grid: &Grid) -> rust_xlsxwriter::Chart {
    let mut chart = rust_xlsxwriter::Chart::new(rust_xlsxwriter::ChartType::Line);
    let name = grid.name.as_str();
    let last = grid.across.1.len().max(1) as u16;
    for row in (0..grid.down.1.len() as u32).map(|row| row + 2) {
        let series = chart.add_series().set_name((name, row, 0));
        series.set_categories((name, 1, 1, 1, last)).set_values((name, row, 1, row, last));
    }
    chart.title().set_name(&grid.title);
    chart.x_axis().set_name(&grid.across.0);
    chart.y_axis().set_name(&grid.title);
    chart.set_width(900).set_height(480);
    chart
}

#[cfg(all(test, feature = "xlsx"))]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_a_sheet_with_a_chart() {
        let grid = Grid {
            name: "Writer".into(),
            title: "Writer (kB/s)".into(),
            across: ("record".into(), vec!["4".into(), "8".into()]),
            down: ("file".into(), vec!["64".into()]),
            values: vec![vec![Some(1.0), None]],
        };
        let bytes = workbook(&[grid.clone(), Grid { name: "Reader".into(), ..grid }]).unwrap();
        let names = String::from_utf8_lossy(&bytes);
        assert!(bytes.starts_with(b"PK\x03\x04") && names.contains("xl/charts/chart2.xml"));
        assert!(workbook(&[]).is_ok());
    }
}
