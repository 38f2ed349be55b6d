//! Tables for people: aligned columns without lines, in plain characters, fit for a pipe.
//!
//! A thin cover over comfy-table. Refuses to look at the terminal: a table is as wide as its cells.

use comfy_table::{Cell, CellAlignment, ContentArrangement, presets};

use crate::paint::Paint;

/// A table whose first `left` columns are left-aligned and the others right-aligned.
pub struct Table {
    inner: comfy_table::Table,
    left: usize,
}

impl Table {
    /// A table with a heading for each column; the first `left` hold words, the others figures.
    pub fn new<S: AsRef<str>>(left: usize, headings: &[S]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let mut table = Table { inner, left };
        let cells = table.cells(headings);
        table.inner.set_header(cells);
        table
    }

    /// Adds a row.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells = self.cells(cells);
        self.inner.add_row(cells);
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    fn cells<S: AsRef<str>>(&self, cells: &[S]) -> Vec<Cell> {
        let alignment = |index| if index < self.left { CellAlignment::Left } else { CellAlignment::Right };
        let cell = |(index, text): (usize, &S)| Cell::new(text.as_ref()).set_alignment(alignment(index));
        cells.iter().enumerate().map(cell).collect()
    }

    /// The table as lines that end in a newline, indented by so many blanks, the headings dimmed.
    pub fn text(mut self, indent: usize, paint: Paint) -> String {
        self.inner.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
        let mut text = String::new();
        for (index, line) in self.inner.lines().enumerate() {
            let line = line.trim_end();
            let line = if index == 0 { paint.aside(line) } else { line.to_string() };
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
        text
    }
}

/// Text broken between words into lines of at most `width` characters; each but the first is moved in by so many blanks,
/// which do not count.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines.join(&format!("\n{:indent$}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_figures_right() {
        let mut table = Table::new(1, &["depth", "IOPS"]);
        table.row(&["1", "9,800"]);
        table.row(&["128", "120,000"]);
        assert_eq!(table.text(2, Paint::PLAIN), "  depth     IOPS\n  1        9,800\n  128    120,000\n");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, 2), "one two\n  three");
        assert_eq!(wrapped("unbreakable", 4, 2), "unbreakable");
    }
}
