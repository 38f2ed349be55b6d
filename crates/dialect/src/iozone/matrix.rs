//! Which cells there are: file sizes and record sizes in their series, with those that iozone leaves out.
//!
//! It knows sizes alone; what is done in a cell is decided elsewhere.

use super::settings::{KB, Settings};
use super::telemetry;

/// Above this file size, small records are left out.
const CROSSOVER: u64 = 16 << 20;
/// What counts as small there.
const LEAST_BEYOND: u64 = 64 << 10;

/// One file size with one record size, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeCell {
    /// The file's size.
    pub file: u64,
    /// The record's size.
    pub record: u64,
}

impl SizeCell {
    /// Whole records in the file.
    pub fn records(self) -> u64 {
        self.file / self.record
    }

    /// Bytes of whole records.
    pub fn bytes(self) -> u64 {
        self.records() * self.record
    }
}

/// Every size there is, and the cells that are measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// File sizes, bytes.
    pub files: Vec<u64>,
    /// Record sizes, bytes.
    pub records: Vec<u64>,
    /// Whether small records are left out of large files.
    pub crosses: bool,
}

impl Matrix {
    /// The sizes that a command line asks for.
    pub fn of(settings: &Settings) -> Self {
        if settings.has_lists() {
            return Matrix { files: vec![listed(settings)], records: vec![4 * KB], crosses: false };
        }
        let times = settings.number("+x").unwrap_or(2).max(2);
        let auto = settings.is_auto();
        let files = match (settings.files.as_slice(), auto) {
            (files, _) if files.len() > 1 => files.to_vec(),
            (files, false) => vec![files.first().copied().unwrap_or(512 * KB)],
            ([], true) => series(settings.size("n", 64).max(4 * KB), settings.size("g", 512 << 10), times),
            ([file, ..], true) if settings.has("n") || settings.has("g") => {
                let least = settings.size("n", 64).max(4 * KB);
                series(least, settings.size("g", 512 << 10).max(*file), times)
            }
            (files, true) => files.to_vec(),
        };
        let records = match settings.records.as_slice() {
            records if records.len() > 1 => records.to_vec(),
            [record] if !(settings.has("y") || settings.has("q")) => vec![*record],
            [] if !auto => vec![4 * KB],
            _ => series(settings.size("y", 4), settings.size("q", 16 << 10), times),
        };
        let crosses = auto
            && settings.records.is_empty()
            && !["s", "y", "q", "z", "A"].iter().any(|name| settings.has(name));
        Matrix { files, records, crosses }
    }

    /// The cells, file by file.
    pub fn cells(&self) -> Vec<SizeCell> {
        let row =
            |file: &u64| self.row(*file).filter_map(|(record, there)| there.then_some(record)).collect();
        let rows = self.files.iter().map(|file| (*file, row(file)));
        rows.flat_map(|(file, records): (u64, Vec<u64>)| {
            records.into_iter().map(move |record| SizeCell { file, record })
        })
        .collect()
    }

    /// The one cell that was asked for, where its record is larger than its file: iozone moves nothing, and says 0.
    pub fn cell_too_small(&self) -> Option<SizeCell> {
        match (self.files.as_slice(), self.records.as_slice()) {
            ([file], [record]) if record > file => Some(SizeCell { file: *file, record: *record }),
            _ => None,
        }
    }

    /// The record sizes up to the file's, and whether each is measured.
    pub fn row(&self, file: u64) -> impl Iterator<Item = (u64, bool)> + '_ {
        let there = move |record: u64| !(self.crosses && file > CROSSOVER && record < LEAST_BEYOND);
        self.records
            .iter()
            .filter(move |record| **record <= file)
            .map(move |record| (*record, there(*record)))
    }
}

/// The size of a file that holds all that lists say, in whole records.
fn listed(settings: &Settings) -> u64 {
    let lists = [&settings.writes, &settings.reads].into_iter().flatten();
    lists.map(|list| telemetry::end(list)).max().unwrap_or(0).next_multiple_of(4 * KB)
}

/// From the least to the most, each so many times the one before.
fn series(least: u64, most: u64, times: u64) -> Vec<u64> {
    std::iter::successors(Some(least), |size| size.checked_mul(times))
        .take_while(|size| *size <= most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::command;
    use crate::iozone::testing::Nowhere;

    fn matrix(line: &str) -> Matrix {
        let words = line.split_whitespace().map(String::from).collect::<Vec<_>>();
        Matrix::of(&crate::iozone::settings::judge(command::parse(&words).unwrap(), &mut Nowhere).unwrap())
    }

    #[test]
    fn the_whole_matrix_leaves_small_records_out_of_large_files() {
        let whole = matrix("-a");
        assert_eq!((whole.files.len(), whole.records.len()), (14, 13));
        let cells = whole.cells();
        assert_eq!(cells[0], SizeCell { file: 64 << 10, record: 4 << 10 });
        let of = |file: u64| cells.iter().filter(|cell| cell.file == file).count();
        assert_eq!((of(64 << 10), of(16 << 20), of(32 << 20), of(512 << 20)), (5, 13, 9, 9));
        assert_eq!(matrix("-a -z").cells().len() - cells.len(), 5 * 4);
    }

    #[test]
    fn sizes_are_lists_series_or_one() {
        assert_eq!(matrix("").cells(), [SizeCell { file: 512 << 10, record: 4 << 10 }]);
        assert_eq!(matrix("-a -n 64 -g 256 -y 4 -q 16 -+x 4").cells().len(), 4);
        assert_eq!(matrix("-s 1m -s 2m -r 4 -r 8").cells().len(), 4);
        assert_eq!(matrix("-a -n 1g -g 4g -i 0").files.len(), 3);
        // A record larger than the file is no cell.
        assert_eq!(matrix("-s 64 -r 128").cells(), []);
        assert!(matrix("-s 64 -r 128").cell_too_small().is_some());
        assert!(matrix("-s 64 -s 32 -r 128").cell_too_small().is_none());
    }
}
