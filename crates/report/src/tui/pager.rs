//! A text that is longer than the screen.

use super::Key;

#[derive(Debug, Default)]
pub struct Pager {
    pub title: String,
    lines: Vec<String>,
    top: usize,
}

impl Pager {
    pub fn of(title: &str, text: &str) -> Pager {
        let lines = text.lines().map(|line| line.replace('\t', "        "));
        Pager { title: title.into(), lines: lines.collect(), top: 0 }
    }

    /// Moves it; so many rows are seen.
    pub fn key(&mut self, key: Key, rows: usize) {
        let last = self.lines.len().saturating_sub(rows);
        let page = rows.saturating_sub(1).max(1);
        self.top = match key {
            Key::Up | Key::Letter('k') => self.top.saturating_sub(1),
            Key::Down | Key::Letter('j') => self.top + 1,
            Key::PageUp => self.top.saturating_sub(page),
            Key::PageDown | Key::Letter(' ') => self.top + page,
            Key::Home => 0,
            Key::End => last,
            _ => self.top,
        }
        .min(last);
    }

    /// What is seen of it in so many rows.
    pub fn seen(&self, rows: usize) -> String {
        self.lines.iter().skip(self.top).take(rows).map(|line| format!("{line}\n")).collect()
    }

    /// Which lines are seen, where that is not all.
    pub fn place(&self, rows: usize) -> String {
        match self.lines.len() > rows {
            true => {
                let last = (self.top + rows).min(self.lines.len());
                format!("lines {} to {last} of {}", self.top + 1, self.lines.len())
            }
            false => String::new(),
        }
    }
}
