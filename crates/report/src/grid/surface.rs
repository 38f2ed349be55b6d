//! Surface charts in a workbook: the library behind draws none, so its charts are exchanged for these once it is done.
//!
//! Only the chart's own part of the archive is written here (ECMA-376, part 1, 21.2: DrawingML charts); sheets, relations
//! and everything else stay as the library wrote them. It refuses archives that lack the part.

use std::fmt::Write as _;
use std::io::{Cursor, Read, Write as _};

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::Grid;

/// Axes are told apart by these numbers alone.
const AXES: [u32; 3] = [50_010_001, 50_010_002, 50_010_003];

/// Puts surfaces in the place of the charts of those grids that are one.
///
/// # Errors
/// What is wrong with the archive.
pub fn exchanged(workbook: Vec<u8>, grids: &[Grid]) -> Result<Vec<u8>, String> {
    let parts: Vec<(String, &Grid)> = grids
        .iter()
        .enumerate()
        .filter(|(_, grid)| grid.is_surface())
        .map(|(index, grid)| (format!("xl/charts/chart{}.xml", index + 1), grid))
        .collect();
    if parts.is_empty() {
        return Ok(workbook);
    }
    rewritten(workbook, &parts).map_err(|error| format!("the workbook's archive: {error}"))
}

fn rewritten(workbook: Vec<u8>, parts: &[(String, &Grid)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut from = ZipArchive::new(Cursor::new(workbook))?;
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    let mut exchanged = 0;
    for index in 0..from.len() {
        let mut entry = from.by_index(index)?;
        let part = parts.iter().find(|(name, _)| name == entry.name());
        to.start_file(entry.name(), SimpleFileOptions::default())?;
        match part {
            Some((_, grid)) => {
                to.write_all(chart(grid).as_bytes())?;
                exchanged += 1;
            }
            None => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                to.write_all(&bytes)?;
            }
        }
    }
    match exchanged == parts.len() {
        true => Ok(to.finish()?.into_inner()),
        false => Err(zip::result::ZipError::FileNotFound),
    }
}

/// The chart of a grid, a part of its own.
fn chart(grid: &Grid) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<c:chartSpace \
         xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\" \
         xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
         xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><c:chart>",
    );
    xml += &title(&grid.title);
    // From above and beside, so that a fall from the caches to the device is seen.
    xml += "<c:autoTitleDeleted val=\"0\"/><c:view3D><c:rotX val=\"20\"/><c:rotY val=\"30\"/>\
        <c:rAngAx val=\"0\"/><c:perspective val=\"30\"/></c:view3D><c:plotArea><c:layout/><c:surface3DChart>\
        <c:wireframe val=\"0\"/>";
    for row in 0..grid.down.1.len() {
        xml += &series(grid, row);
    }
    for axis in AXES {
        let _ = write!(xml, "<c:axId val=\"{axis}\"/>");
    }
    xml += "</c:surface3DChart>";
    xml += &axes(grid);
    xml += "</c:plotArea><c:legend><c:legendPos val=\"r\"/></c:legend><c:plotVisOnly val=\"1\"/>\
        <c:dispBlanksAs val=\"gap\"/></c:chart></c:chartSpace>";
    xml
}

/// A file size: its name, the record sizes and the figures, each by its place in the sheet and as it stands now.
fn series(grid: &Grid, row: usize) -> String {
    let sheet = grid.name.replace('\'', "''");
    let place = |column: &str, row: usize| escaped(&format!("'{sheet}'!${column}${row}"));
    let range = |row: usize| {
        let last = letters(grid.across.1.len());
        escaped(&format!("'{sheet}'!$B${row}:${last}${row}"))
    };
    let label = escaped(&grid.down.1[row]);
    let sizes = grid.across.1.iter().map(|size| size.parse().ok());
    let values = grid.values.get(row).map(Vec::as_slice).unwrap_or_default();
    format!(
        "<c:ser><c:idx val=\"{row}\"/><c:order val=\"{row}\"/><c:tx><c:strRef><c:f>{name}</c:f><c:strCache>\
         <c:ptCount val=\"1\"/><c:pt idx=\"0\"><c:v>{label}</c:v></c:pt></c:strCache></c:strRef></c:tx>\
         <c:cat><c:numRef><c:f>{scale}</c:f>{scale_cache}</c:numRef></c:cat>\
         <c:val><c:numRef><c:f>{figures}</c:f>{figures_cache}</c:numRef></c:val></c:ser>",
        name = place("A", row + 3),
        scale = range(2),
        scale_cache = cache(sizes),
        figures = range(row + 3),
        figures_cache = cache(values.iter().copied()),
    )
}

fn cache(values: impl ExactSizeIterator<Item = Option<f64>>) -> String {
    let mut xml =
        format!("<c:numCache><c:formatCode>General</c:formatCode><c:ptCount val=\"{}\"/>", values.len());
    for (index, value) in values.enumerate() {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let _ = write!(xml, "<c:pt idx=\"{index}\"><c:v>{value}</c:v></c:pt>");
        }
    }
    xml + "</c:numCache>"
}

/// Record sizes along the front, figures upwards, file sizes into the depth.
fn axes(grid: &Grid) -> String {
    let [across, up, down] = AXES;
    let axis = |kind: &str, id: u32, place: &str, name: &str, more: &str, crosses: u32, end: &str| {
        format!(
            "<c:{kind}><c:axId val=\"{id}\"/><c:scaling><c:orientation val=\"minMax\"/></c:scaling>\
             <c:delete val=\"0\"/><c:axPos val=\"{place}\"/>{more}{title}<c:majorTickMark val=\"out\"/>\
             <c:minorTickMark val=\"none\"/><c:tickLblPos val=\"nextTo\"/><c:crossAx val=\"{crosses}\"/>\
             <c:crosses val=\"autoZero\"/>{end}</c:{kind}>",
            title = title(name),
        )
    };
    let text = "<c:auto val=\"1\"/><c:lblAlgn val=\"ctr\"/><c:lblOffset val=\"100\"/>";
    axis("catAx", across, "b", &grid.across.0, "", up, text)
        + &axis("valAx", up, "l", "", "<c:majorGridlines/>", across, "<c:crossBetween val=\"midCat\"/>")
        + &axis("serAx", down, "b", &grid.down.0, "", across, "")
}

fn title(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(
        "<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></c:rich></c:tx>\
         <c:overlay val=\"0\"/></c:title>",
        escaped(text)
    )
}

/// A column's letters, A being 0.
fn letters(mut column: usize) -> String {
    let mut text = String::new();
    loop {
        text.insert(0, char::from(b'A' + (column % 26) as u8));
        match column / 26 {
            0 => return text,
            more => column = more - 1,
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        let of = [0, 1, 25, 26, 27, 701, 702].map(letters);
        assert_eq!(of, ["A", "B", "Z", "AA", "AB", "ZZ", "AAA"]);
    }
}
