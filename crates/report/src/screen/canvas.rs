//! A grid of characters that the screen is drawn on, and its escape sequences (ECMA-48, and xterm's second screen).

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// To the terminal's other screen, without a cursor.
pub const OPEN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// Back to the screen as it was.
pub const CLOSE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// How a character is shown: a parameter of the select-graphic-rendition sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    #[default]
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Ink::Plain => "0",
            Ink::Bold => "0;1",
            Ink::Dim => "0;2",
            Ink::Red => "0;31",
            Ink::Green => "0;32",
            Ink::Yellow => "0;33",
            Ink::Magenta => "0;35",
            Ink::Cyan => "0;36",
        }
    }
}

/// Part of a canvas.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub column: usize,
    pub row: usize,
    pub columns: usize,
    pub rows: usize,
}

impl Area {
    /// So many of its rows, and the rest below them.
    pub fn split(self, rows: usize) -> (Area, Area) {
        let rows = rows.min(self.rows);
        let below = Area { row: self.row + rows, rows: self.rows - rows, ..self };
        (Area { rows, ..self }, below)
    }
}

/// Characters in rows; what is drawn beyond the edge of an area is cut off.
pub struct Canvas {
    columns: usize,
    /// A wide character is followed by a `None`.
    cells: Vec<(Option<char>, Ink)>,
}

impl Canvas {
    pub fn new(columns: usize, rows: usize) -> Self {
        Canvas { columns, cells: vec![(Some(' '), Ink::Plain); columns * rows] }
    }

    pub fn area(&self) -> Area {
        Area { column: 0, row: 0, columns: self.columns, rows: self.cells.len() / self.columns.max(1) }
    }

    /// Writes a text into a row of an area from one of its columns on. Control characters are left out.
    pub fn text(&mut self, area: Area, row: usize, column: usize, ink: Ink, text: &str) {
        let mut at = column;
        for letter in text.chars() {
            let Some(width) = letter.width().filter(|width| *width > 0) else { continue };
            if row >= area.rows || at + width > area.columns {
                return;
            }
            let first = (area.row + row) * self.columns + area.column + at;
            self.cells[first] = (Some(letter), ink);
            self.cells[first + 1..first + width].fill((None, ink));
            at += width;
        }
    }

    /// Writes lines from the top of an area, with what [`crate::paint::Paint`] colours in them.
    pub fn lines(&mut self, area: Area, text: &str) {
        for (row, line) in text.lines().enumerate() {
            let (mut column, mut ink) = (0, Ink::Plain);
            for (index, part) in line.split("\x1b[").enumerate() {
                let (code, part) =
                    if index == 0 { ("", part) } else { part.split_once('m').unwrap_or(("", part)) };
                ink = match code {
                    "" if index == 0 => ink,
                    "1" => Ink::Bold,
                    "2" => Ink::Dim,
                    "33" => Ink::Yellow,
                    "36" => Ink::Cyan,
                    "1;31" => Ink::Red,
                    _ => Ink::Plain,
                };
                self.text(area, row, column, ink, part);
                column += part.chars().filter_map(UnicodeWidthChar::width).sum::<usize>();
            }
        }
    }

    #[cfg(test)]
    pub fn rows(&self) -> Vec<String> {
        let row = |cells: &[(Option<char>, Ink)]| cells.iter().filter_map(|(letter, _)| *letter).collect();
        self.cells.chunks(self.columns).map(row).collect()
    }

    /// Writes all rows from the top left corner.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn paint(&self, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::with_capacity(self.cells.len() * 2);
        for (row, cells) in self.cells.chunks(self.columns).enumerate() {
            text.push_str(&format!("\x1b[{};1H", row + 1));
            let mut ink = Ink::Plain;
            for (letter, of) in cells {
                if colour && *of != ink {
                    ink = *of;
                    text.push_str(&format!("\x1b[{}m", ink.code()));
                }
                text.extend(letter);
            }
            if ink != Ink::Plain {
                text.push_str("\x1b[0m");
            }
        }
        out.write_all(text.as_bytes())
    }
}
