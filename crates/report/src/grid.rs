//! Figures over two scales as sheets of a workbook (Office Open XML), each with a chart: what matrices are looked at in.
//!
//! Sizes over sizes are a surface; what has names on one side, or a single row or column, is a line for each row. Without
//! the library behind it refuses.

#[cfg(feature = "xlsx")]
mod surface;

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

impl Grid {
    /// Whether its chart is a surface: both scales are sizes, with several of each.
    pub fn is_surface(&self) -> bool {
        let sizes =
            |scale: &[String]| scale.len() > 1 && scale.iter().all(|label| label.parse::<f64>().is_ok());
        sizes(&self.across.1) && sizes(&self.down.1)
    }
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
    let bytes = workbook.save_to_buffer().map_err(|error| error.to_string())?;
    surface::exchanged(bytes, grids)
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

    fn grid(name: &str, files: &[&str]) -> Grid {
        Grid {
            name: name.into(),
            title: format!("{name} (kB/s)"),
            across: ("record, kB".into(), vec!["4".into(), "8".into()]),
            down: ("file, kB".into(), files.iter().map(ToString::to_string).collect()),
            values: files.iter().map(|_| vec![Some(1.5), None]).collect(),
        }
    }

    fn part(workbook: &[u8], name: &str) -> String {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(workbook)).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut archive.by_name(name).unwrap(), &mut text).unwrap();
        text
    }

    #[test]
    fn sizes_over_sizes_are_a_surface() {
        let grids = [grid("Writer", &["64", "128"]), grid("Reader", &["64"]), grid("Streams", &["a", "b"])];
        let bytes = workbook(&grids).unwrap();
        let surface = part(&bytes, "xl/charts/chart1.xml");
        assert!(surface.contains("<c:surface3DChart>") && surface.contains("<c:serAx>"), "{surface}");
        assert!(surface.contains("<c:f>'Writer'!$B$4:$C$4</c:f>"), "{surface}");
        assert_eq!(surface.matches("<c:ser>").count(), 2);
        for lines in ["xl/charts/chart2.xml", "xl/charts/chart3.xml"] {
            assert!(part(&bytes, lines).contains("<c:lineChart>"), "{lines}");
        }
        assert!(part(&bytes, "xl/worksheets/sheet1.xml").contains("<v>1.5</v>"));
        assert!(workbook(&[]).is_ok());
    }
}
