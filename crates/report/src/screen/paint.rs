//! A buffer of cells as escape sequences (ECMA-48, and xterm's second screen), line by line from the top left corner.

use std::io::{self, Write};

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};

/// To the terminal's other screen, without a cursor.
pub const OPEN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// Back to the screen as it was.
pub const CLOSE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// Writes all cells.
///
/// # Errors
/// When the terminal is gone.
pub fn paint(buffer: &Buffer, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::with_capacity(buffer.content.len() * 2);
    for row in 0..buffer.area.height {
        text.push_str(&format!("\x1b[{};1H", row + 1));
        let mut style = (Color::Reset, Modifier::empty());
        for column in 0..buffer.area.width {
            let cell = &buffer[(column, row)];
            if (cell.fg, cell.modifier) != style {
                style = (cell.fg, cell.modifier);
                text.push_str(&graphic(cell));
            }
            text.push_str(cell.symbol());
        }
        text.push_str("\x1b[0m");
    }
    out.write_all(text.as_bytes())
}

/// The select-graphic-rendition sequence of a cell: the colours and attributes that the screen uses.
fn graphic(cell: &Cell) -> String {
    let mut codes = String::from("0");
    for (attribute, code) in [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2")] {
        if cell.modifier.contains(attribute) {
            codes.push_str(code);
        }
    }
    codes.push_str(match cell.fg {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        Color::Magenta => ";35",
        Color::Cyan => ";36",
        _ => "",
    });
    format!("\x1b[{codes}m")
}
