//! What a run depends on: set by commands one after the other, and shown by `show` in the original's words.

use std::fmt::Write as _;

/// A directory in which files are made, and how often it is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub path: String,
    pub weight: i64,
}

/// What is set, at first as the original has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub size_low: i64,
    pub size_high: i64,
    /// Files that are made before the transactions.
    pub number: i64,
    pub seed: i64,
    pub transactions: i64,
    /// None: the working directory.
    pub locations: Vec<Location>,
    /// In each location, from two on.
    pub subdirectories: i64,
    pub read_block: i64,
    pub write_block: i64,
    /// Whether calls are those of the C library's streams.
    pub buffered: bool,
    /// Reads in ten of reads and appends; -1: neither.
    pub bias_read: i64,
    /// Creations in ten of creations and deletions; -1: neither.
    pub bias_create: i64,
    pub terse: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            size_low: 500,
            size_high: 10_000,
            number: 500,
            seed: 42,
            transactions: 500,
            locations: Vec::new(),
            subdirectories: 0,
            read_block: 512,
            write_block: 512,
            buffered: true,
            bias_read: 5,
            bias_create: 5,
            terse: false,
        }
    }
}

impl Settings {
    /// The location that a number below the sum of all weights stands for.
    pub fn location_at(&self, drawn: i64) -> usize {
        let mut end = 0;
        let behind = |location: &Location| {
            end += location.weight;
            drawn < end
        };
        self.locations.iter().position(behind).unwrap_or(0)
    }

    /// The directories of the locations; the working directory where there are none.
    pub fn directories(&self) -> Vec<&str> {
        match self.locations.is_empty() {
            true => vec!["."],
            false => self.locations.iter().map(|location| location.path.as_str()).collect(),
        }
    }

    /// The text of `show`; `here`: the working directory.
    pub fn shown(&self, here: &str) -> String {
        let mut text = format!(
            "Current configuration is:\nThe base number of files is {}\nTransactions: {}\n",
            self.number, self.transactions
        );
        let (low, high) = (scaled(self.size_low), scaled(self.size_high));
        text += &match self.size_low == self.size_high {
            true => format!("Files are {low} in size\n"),
            false => format!("Files range between {low} and {high} in size\n"),
        };
        let (ending, own) = match self.locations.len() {
            0 => ("y", here),
            1 => ("y", ""),
            _ => ("ies", ""),
        };
        let _ = writeln!(text, "Working director{ending}: {own}");
        for Location { path, weight } in &self.locations {
            let _ = writeln!(text, "\t{path} (weight={weight})");
        }
        if self.subdirectories > 0 {
            let ending = if self.subdirectories == 1 { "y" } else { "ies" };
            let _ = writeln!(text, "{} subdirector{ending} will be used", self.subdirectories);
        }
        let (read, write) = (scaled(self.read_block), scaled(self.write_block));
        let buffered = if self.buffered { "U" } else { "Not u" };
        let report = if self.terse { "terse" } else { "verbose" };
        text + &format!(
            "Block sizes are: read={read}, write={write}\nBiases are: read/append={}, create/delete={}\n\
             {buffered}sing Unix buffered file I/O\nRandom number generator seed is {}\nReport format is {report}.\n",
            self.bias_read, self.bias_create, self.seed
        )
    }
}

/// Bytes in the largest unit that they reach.
fn scaled(bytes: i64) -> String {
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.2} kilobytes", bytes as f32 / 1024.0),
        _ => format!("{:.2} megabytes", bytes as f32 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_chosen_by_its_weight() {
        let location = |path: &str, weight| Location { path: path.into(), weight };
        let settings =
            Settings { locations: vec![location("/a", 2), location("/b", 3)], ..Settings::default() };
        let chosen: Vec<usize> = (0..5).map(|drawn| settings.location_at(drawn)).collect();
        assert_eq!(chosen, [0, 0, 1, 1, 1]);
        assert_eq!(
            (settings.directories(), Settings::default().directories()),
            (vec!["/a", "/b"], vec!["."])
        );
    }

    #[test]
    fn lengths_have_the_originals_units() {
        assert_eq!((scaled(512), scaled(10_000)), ("512 bytes".into(), "9.77 kilobytes".into()));
        assert_eq!((scaled(1024), scaled(3 << 20)), ("1.00 kilobytes".into(), "3.00 megabytes".into()));
    }
}
