//! Rows of figures under headings: as many columns as fit, the most important first.

use super::canvas::{Area, Canvas, Ink};

/// A column: heading and width. The first holds names, the others figures.
pub type Column = (&'static str, usize);

/// How many of the columns fit, and the width that they take with a blank between two.
pub fn fitting(columns: &[Column], width: usize) -> (usize, usize) {
    let mut taken = 0;
    for (count, (_, column)) in columns.iter().enumerate() {
        let next = taken + column + usize::from(count > 0);
        if next > width {
            return (count, taken);
        }
        taken = next;
    }
    (columns.len(), taken)
}

/// Draws one row: the first cell at the left, the others at the right of their columns.
pub fn row<S: AsRef<str>>(
    canvas: &mut Canvas,
    area: Area,
    at: usize,
    ink: Ink,
    columns: &[Column],
    cells: &[S],
) {
    let mut left = 0;
    for (index, ((_, width), cell)) in columns.iter().zip(cells).enumerate() {
        let part = Area {
            column: area.column + left,
            columns: (*width).min(area.columns.saturating_sub(left)),
            ..area
        };
        let text = cell.as_ref();
        let from = if index == 0 { 0 } else { width.saturating_sub(text.chars().count()) };
        canvas.text(part, at, from, ink, text);
        left += width + 1;
    }
}
