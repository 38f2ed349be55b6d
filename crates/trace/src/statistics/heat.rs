//! Where accesses go as time passes: a grid of bounded size for each of the first files.

use std::collections::BTreeMap;

/// Columns of a grid, at most: time.
pub const COLUMNS: usize = 200;
/// Rows of a grid, at most: places.
pub const BANDS: usize = 96;
/// Files that have a grid.
pub const GRIDS_MOST: usize = 32;
/// The length of a column to begin with, ns.
const FIRST_COLUMN_NS: u64 = 1000;

/// Counts by time and place. Where time or places outlast it, its columns or bands become twice as long.
#[derive(Clone, Debug)]
pub struct HeatGrid {
    pub column_ns: u64,
    pub band: u64,
    /// Band by band, [`COLUMNS`] counts each.
    counts: Vec<u32>,
}

impl HeatGrid {
    /// An empty one whose bands are so long.
    pub fn of_bands(band: u64) -> HeatGrid {
        HeatGrid { column_ns: FIRST_COLUMN_NS, band, counts: vec![0; COLUMNS * BANDS] }
    }

    pub fn add(&mut self, at_ns: u64, place: u64) {
        while at_ns / self.column_ns >= COLUMNS as u64 {
            self.fold(|row, column| (row, column / 2));
            self.column_ns = self.column_ns.saturating_mul(2);
        }
        while place / self.band >= BANDS as u64 {
            self.fold(|row, column| (row / 2, column));
            self.band = self.band.saturating_mul(2);
        }
        let cell = (place / self.band) as usize * COLUMNS + (at_ns / self.column_ns) as usize;
        self.counts[cell] = self.counts[cell].saturating_add(1);
    }

    fn fold(&mut self, to: impl Fn(usize, usize) -> (usize, usize)) {
        let finer = std::mem::replace(&mut self.counts, vec![0; COLUMNS * BANDS]);
        for (cell, count) in finer.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let (row, column) = to(cell / COLUMNS, cell % COLUMNS);
            let there = &mut self.counts[row * COLUMNS + column];
            *there = there.saturating_add(count);
        }
    }

    /// The cells that have something: column, band and count.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        let some = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        some.map(|(cell, count)| (cell % COLUMNS, cell / COLUMNS, *count))
    }
}

/// Grids of the first files, and one of all files by their number.
#[derive(Clone, Debug)]
pub struct HeatMaps {
    pub files: BTreeMap<u32, HeatGrid>,
    pub by_file: HeatGrid,
}

impl Default for HeatMaps {
    fn default() -> HeatMaps {
        HeatMaps { files: BTreeMap::new(), by_file: HeatGrid::of_bands(1) }
    }
}

impl HeatMaps {
    pub fn add(&mut self, at_ns: u64, file: u32, offset: u64) {
        self.by_file.add(at_ns, u64::from(file));
        if self.files.len() < GRIDS_MOST || self.files.contains_key(&file) {
            let grid = self.files.entry(file).or_insert_with(|| HeatGrid::of_bands(512));
            grid.add(at_ns, offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_keeps_every_access_however_far_it_goes() {
        let mut maps = HeatMaps::default();
        for step in 0..10_000u64 {
            maps.add(step * 12_345, 0, step * 65_536);
        }
        maps.add(u64::MAX, 40, u64::MAX);
        let cells: Vec<_> = maps.files[&0].cells().collect();
        assert_eq!(cells.iter().map(|(.., count)| u64::from(*count)).sum::<u64>(), 10_000);
        // A straight line from the first to the last place.
        assert!(cells.iter().all(|(column, band, _)| {
            let (x, y) = (
                *column as f64 * maps.files[&0].column_ns as f64 / 12_345.0,
                *band as f64 * maps.files[&0].band as f64 / 65_536.0,
            );
            (x - y).abs() < 200.0
        }));
        assert_eq!(maps.by_file.cells().count(), 2);
    }
}
