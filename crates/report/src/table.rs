//! Tables for people: aligned columns without lines, in plain characters, fit for a pipe.
//!
//! A thin cover over comfy-table. Refuses to look at the terminal: its width comes with the [`Paint`].

use comfy_table::{Cell, CellAlignment, ContentArrangement, presets};

use crate::paint::Paint;

/// The heading of a last column of bars, which is left out where a line has no room for it.
pub const BARS: &str = " ";

/// A table whose first `left` columns are left-aligned and the others right-aligned.
pub struct Table {
    /// The headings, then the others.
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table with a heading for each column; the first `left` hold words, the others figures.
    pub fn new<S: AsRef<str>>(left: usize, headings: &[S]) -> Self {
        let mut table = Table { rows: Vec::new(), left };
        table.row(headings);
        table
    }

    /// Adds a row.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        self.rows.push(cells.iter().map(|cell| cell.as_ref().to_string()).collect());
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The table as lines that end in a newline, indented by so many blanks, the headings dimmed. Where it is wider than a
    /// line may be, columns move together, and a last column of bars goes.
    pub fn text(mut self, indent: usize, paint: Paint) -> String {
        let most = paint.columns.saturating_sub(indent);
        let fits = |lines: &[String]| lines.iter().all(|line| line.chars().count() <= most);
        let mut lines = self.lines(2);
        if !fits(&lines) && self.rows[0].last().is_some_and(|heading| heading == BARS) {
            self.rows.iter_mut().for_each(|row| drop(row.pop()));
            lines = self.lines(2);
        }
        if !fits(&lines) {
            lines = self.lines(1);
        }
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            let line = if index == 0 { paint.aside(line) } else { line.clone() };
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
        text
    }

    fn lines(&self, distance: u16) -> Vec<String> {
        let alignment = |index| if index < self.left { CellAlignment::Left } else { CellAlignment::Right };
        let cell = |(index, text): (usize, &String)| Cell::new(text).set_alignment(alignment(index));
        let mut rows = self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>());
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(rows.next().unwrap_or_default());
        table.add_rows(rows);
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, distance));
        });
        table.lines().map(|line| line.trim_end().to_string()).collect()
    }
}

/// Units that stay on the line of their number.
const UNITS: &[&str] = &[
    "%", "s", "ms", "µs", "ns", "min", "h", "d", "B", "KiB", "MiB", "GiB", "TiB", "MB/s", "MiB/s", "Gbit/s",
    "IOPS",
];

/// Text broken between words into lines of at most `width` characters; each but the first is moved in by so many blanks,
/// which do not count. A number keeps its unit.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', '.', ':', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|last: char| last.is_ascii_digit()) => {
                number.push_str(&format!(" {word}"));
            }
            _ => words.push(word.into()),
        }
    }
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
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
    fn a_table_too_wide_loses_its_bars_then_its_blanks() {
        let text = |columns| {
            let mut table = Table::new(1, &["depth", "IOPS", BARS]);
            table.row(&["1", "9,800", "██████"]);
            table.text(0, Paint { columns, ..Paint::PLAIN })
        };
        assert_eq!(text(20), "depth   IOPS\n1      9,800  ██████\n");
        assert_eq!(text(19), "depth   IOPS\n1      9,800\n");
        assert_eq!(text(11), "depth  IOPS\n1     9,800\n");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, 2), "one two\n  three");
        assert_eq!(wrapped("unbreakable", 4, 2), "unbreakable");
        assert_eq!(wrapped("a pass of 1.00 s; more", 14, 0), "a pass of\n1.00 s; more");
    }
}
