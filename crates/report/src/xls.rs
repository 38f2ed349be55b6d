//! Text and numbers as a sheet of the older spreadsheets (`.xls`, BIFF8 as in MS-XLS): what names that are no `.xlsx` get.
//!
//! Every current spreadsheet opens it. It holds cells alone: no charts, no formulas, no widths; and it refuses what its 256
//! columns and 65,536 rows do not hold.

use std::collections::HashMap;

use crate::cfb;

/// Columns of a sheet.
pub const COLUMNS_MOST: usize = 256;
/// Rows of a sheet.
pub const ROWS_MOST: usize = 65_536;
/// Characters of a text here, so that it fits in one record.
const CHARACTERS_MOST: usize = 4000;
/// Bytes of a record's body, at most.
const RECORD_MOST: usize = 8224;
/// The first format of cells, behind those of styles.
const PLAIN: u16 = 15;

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum SheetCell {
    /// Nothing.
    Empty,
    /// Words.
    Text(String),
    /// A figure; what is not finite is left empty.
    Number(f64),
}

/// The bytes of a workbook with one sheet.
///
/// # Errors
/// What the format does not hold, as a lower-case fragment.
pub fn workbook(name: &str, rows: &[Vec<SheetCell>]) -> Result<Vec<u8>, String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns > COLUMNS_MOST || rows.len() > ROWS_MOST {
        let size = format!("{} rows and {columns} columns", rows.len());
        return Err(format!("{size} do not fit in an .xls; name it .xlsx"));
    }
    let mut texts = Texts::default();
    let sheet = sheet(rows, columns, &mut texts);
    let before = globals(name, 0, &texts);
    let mut stream = globals(name, before.len() as u32, &texts);
    stream.extend(sheet);
    cfb::file("Workbook", stream)
}

/// Texts, each once, in their order.
#[derive(Default)]
struct Texts {
    known: HashMap<String, u32>,
    order: Vec<String>,
    uses: u32,
}

impl Texts {
    fn index(&mut self, text: &str) -> u32 {
        self.uses += 1;
        let text: String = text.chars().take(CHARACTERS_MOST).collect();
        *self.known.entry(text).or_insert_with_key(|text| {
            self.order.push(text.clone());
            self.order.len() as u32 - 1
        })
    }

    /// The table, going on in further records between texts.
    fn records(&self) -> Vec<u8> {
        let mut bodies = vec![[self.uses.to_le_bytes(), (self.order.len() as u32).to_le_bytes()].concat()];
        for text in &self.order {
            let mut bytes = (text.encode_utf16().count() as u16).to_le_bytes().to_vec();
            bytes.push(1);
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            match bodies.last_mut() {
                Some(body) if body.len() + bytes.len() <= RECORD_MOST => body.extend(bytes),
                _ => bodies.push(bytes),
            }
        }
        let kinds = [0x00FC].into_iter().chain(std::iter::repeat(0x003C));
        kinds.zip(&bodies).flat_map(|(kind, body)| record(kind, body)).collect()
    }
}

fn record(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes(), &(body.len() as u16).to_le_bytes(), body].concat()
}

fn words(kind: u16, words: &[u16]) -> Vec<u8> {
    record(kind, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
}

/// The begin of a part: 5 the workbook, 16 a sheet.
fn begin(part: u16) -> Vec<u8> {
    words(0x0809, &[0x0600, part, 0x0DBB, 0x07CC, 0, 0, 6, 0])
}

/// What holds for the whole workbook, and where its sheet begins.
fn globals(name: &str, sheet_at: u32, texts: &Texts) -> Vec<u8> {
    let mut bytes = begin(5);
    bytes.extend(words(0x0042, &[0x04B0]));
    bytes.extend(words(0x003D, &[0x0168, 0x010E, 0x5C3A, 0x23CF, 0x0038, 0, 0, 1, 0x0258]));
    bytes.extend(words(0x0022, &[0]));
    let font = [&[200, 0, 0, 0, 0xFF, 0x7F, 0x90, 1, 0, 0, 0, 0, 0, 0, 5, 0][..], b"Arial"].concat();
    (0..4).for_each(|_| bytes.extend(record(0x0031, &font)));
    for style in 0..PLAIN {
        let font = [0, 1, 1, 2, 2].get(usize::from(style)).copied().unwrap_or(0);
        bytes.extend(words(0x00E0, &[font, 0, 0xFFF5, 0x0020, 0xF400, 0, 0, 0, 0, 0x20C0]));
    }
    bytes.extend(words(0x00E0, &[0, 0, 0x0001, 0x0020, 0, 0, 0, 0, 0, 0x20C0]));
    bytes.extend(record(0x0293, &[0, 0x80, 0, 0xFF]));
    let letters: Vec<u16> = name.encode_utf16().take(31).collect();
    let mut place = sheet_at.to_le_bytes().to_vec();
    place.extend([0, 0, letters.len() as u8, 1]);
    place.extend(letters.into_iter().flat_map(u16::to_le_bytes));
    bytes.extend(record(0x0085, &place));
    bytes.extend(texts.records());
    bytes.extend(record(0x000A, &[]));
    bytes
}

fn sheet(rows: &[Vec<SheetCell>], columns: usize, texts: &mut Texts) -> Vec<u8> {
    let mut bytes = begin(16);
    let last = (rows.len() as u32).to_le_bytes();
    let size = [&[0; 4][..], &last, &[0; 2], &(columns as u16).to_le_bytes(), &[0; 2]].concat();
    bytes.extend(record(0x0200, &size));
    for (row, cells) in rows.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            bytes.extend(self::cell(row as u16, column as u16, cell, texts));
        }
    }
    bytes.extend(words(0x023E, &[0x06B6, 0, 0, 0x0040, 0, 0, 0, 0, 0]));
    bytes.extend(record(0x000A, &[]));
    bytes
}

fn cell(row: u16, column: u16, cell: &SheetCell, texts: &mut Texts) -> Vec<u8> {
    let place: Vec<u8> = [row, column, PLAIN].into_iter().flat_map(u16::to_le_bytes).collect();
    match cell {
        SheetCell::Text(text) => record(0x00FD, &[&place[..], &texts.index(text).to_le_bytes()].concat()),
        SheetCell::Number(number) if number.is_finite() => {
            record(0x0203, &[&place[..], &number.to_le_bytes()].concat())
        }
        SheetCell::Number(_) | SheetCell::Empty => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of the stream: their kinds and bodies.
    fn records(file: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let (mut at, mut found) = (512, Vec::new());
        let word = |at: usize| u16::from_le_bytes([file[at], file[at + 1]]);
        while word(at) != 0 {
            let (kind, length) = (word(at), usize::from(word(at + 2)));
            found.push((kind, file[at + 4..at + 4 + length].to_vec()));
            at += 4 + length;
        }
        found
    }

    #[test]
    fn a_sheet_is_where_the_workbook_says() {
        let rows = [
            vec![SheetCell::Text("käse".into()), SheetCell::Number(1.5)],
            vec![SheetCell::Empty, SheetCell::Number(f64::NAN)],
        ];
        let file = workbook("iozone", &rows).unwrap();
        let records = records(&file);
        let kinds: Vec<u16> = records.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds[kinds.len() - 7..], [0x000A, 0x0809, 0x0200, 0x00FD, 0x0203, 0x023E, 0x000A]);
        let place = &records.iter().find(|(kind, _)| *kind == 0x0085).unwrap().1;
        let at = u32::from_le_bytes(place[..4].try_into().unwrap()) as usize + 512;
        assert_eq!(file[at..at + 8], [9, 8, 16, 0, 0, 6, 16, 0]);
    }

    #[test]
    fn many_texts_go_on_in_further_records() {
        let rows: Vec<_> = (0..300).map(|row| vec![SheetCell::Text(format!("{row:>500}"))]).collect();
        let records = records(&workbook("s", &rows).unwrap());
        let table: Vec<_> = records.iter().filter(|(kind, _)| matches!(kind, 0x00FC | 0x003C)).collect();
        assert!(table.len() > 30 && table.iter().all(|(_, body)| body.len() <= RECORD_MOST));
        assert!(workbook("s", &[vec![SheetCell::Empty; 257]]).unwrap_err().contains(".xlsx"));
    }
}
