//! Fits a device to what was measured of another one: how fast reads, writes and mixes of them are at each depth and block size,
//! and how their latencies are distributed.
//!
//! The device is a link, which carries one request after the other, and servers behind it, of which several work at once; where
//! that is not enough, with a way in front that keeps nobody else waiting. That is the least with which latency at depth 1, the
//! rate of a deep queue and the data rate of long requests can be told apart. How the service varies is not assumed: it is drawn
//! from the percentiles of single requests. Of a grid of devices those that the bounds of operational analysis (Denning and
//! Buzen, 1978) put nearest are simulated, and the nearest is taken.

mod closed_loop;
mod figures;
mod search;

use iodyno_model::{Device, Histogram};

use closed_loop::predicted;
use search::NearestFigures;

pub use closed_loop::PredictedCell;

/// Requests that are simulated of a cell to compare it with what was measured.
const REQUESTS: u64 = 6000;
/// Latencies that must lie beyond a percentile for it to be compared.
const BEYOND: u64 = 10;

/// A closed loop of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellLoad {
    pub bytes: u64,
    /// Requests in flight.
    pub depth: u32,
    /// The share of reads; the others are writes.
    pub reads_percent: f64,
    /// Whether places are drawn; otherwise a request goes on where the one before ended.
    pub is_random: bool,
}

/// What was measured of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    pub load: CellLoad,
    /// Answers per second.
    pub rate: f64,
    pub reads: Histogram,
    pub writes: Histogram,
}

impl MeasuredCell {
    /// Half and 99 % of the latencies of a direction, ns; none where too few lie beyond.
    pub fn percentiles(&self, is_write: bool) -> [Option<f64>; 2] {
        let latencies = if is_write { &self.writes } else { &self.reads };
        [50.0, 99.0].map(|percent| {
            let is_sure = latencies.beyond(percent) >= BEYOND;
            is_sure.then(|| latencies.percentile(percent) as f64)
        })
    }
}

/// A device that was fitted, and what it says of each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    pub device: Device,
    /// In the order of the cells.
    pub cells: Vec<CheckedCell>,
}

/// What was said of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedCell {
    /// By the device that was fitted to all other cells, if it is held out; else by the device.
    pub predicted: PredictedCell,
    pub is_held_out: bool,
}

/// Fits a device to all cells, and tells how good the fit is: each cell that no figure rests on alone is held out in turn, and
/// predicted by what the others say. None: there is no single request of short blocks, or only one block size.
pub fn calibrated(cells: &[MeasuredCell], seed: u64) -> Option<Calibration> {
    let all: Vec<&MeasuredCell> = cells.iter().collect();
    let nearest = NearestFigures::of(&all, None, seed)?;
    let device = nearest.chosen(&all, seed).device();
    let needed = needed(cells);
    let checked = |(index, cell): (usize, &MeasuredCell)| {
        let by = if needed[index] { None } else { fitted_without(cells, index, &nearest, seed) };
        let predicted =
            predicted(by.as_ref().unwrap_or(&device), &cell.load, REQUESTS, seed.wrapping_add(1))?;
        Some(CheckedCell { predicted, is_held_out: by.is_some() })
    };
    let checked: Option<Vec<CheckedCell>> = cells.iter().enumerate().map(checked).collect();
    Some(Calibration { device, cells: checked? })
}

/// The device without a cell. What the cell says nothing of is not fitted again: a write nothing of reads, a mix of neither.
fn fitted_without(
    cells: &[MeasuredCell],
    index: usize,
    nearest: &NearestFigures,
    seed: u64,
) -> Option<Device> {
    let others = cells.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, cell)| cell);
    let others: Vec<&MeasuredCell> = others.collect();
    let fitted = match cells[index].load.reads_percent {
        // Reads are judged by reads.
        100.0 => NearestFigures::of(&search::of_direction(&others, 100.0), None, seed)?,
        0.0 => NearestFigures::of(&others, Some(nearest), seed)?,
        _ => nearest.clone(),
    };
    Some(fitted.chosen(&others, seed).device())
}

/// Cells that a figure rests on alone: of each direction the single requests and the deepest queue of the shortest block, and the
/// shallowest and the deepest queue of the longest.
fn needed(cells: &[MeasuredCell]) -> Vec<bool> {
    let mut needed = vec![false; cells.len()];
    for reads_percent in [100.0, 0.0] {
        let of = |at: &usize| cells[*at].load.reads_percent == reads_percent;
        let all: Vec<usize> = (0..cells.len()).filter(of).collect();
        let bytes = |at: &usize| cells[*at].load.bytes;
        let (Some(least), Some(longest)) = (all.iter().map(bytes).min(), all.iter().map(bytes).max()) else {
            continue;
        };
        let mut need = |at: Option<usize>| at.into_iter().for_each(|at| needed[at] = true);
        for bytes in [least, longest] {
            let same = || all.iter().copied().filter(|at| cells[*at].load.bytes == bytes);
            need(same().max_by_key(|at| cells[*at].load.depth));
            need(same().min_by_key(|at| cells[*at].load.depth));
        }
        for is_random in [false, true] {
            let single = |at: &usize| {
                let load = cells[*at].load;
                load.bytes == least && load.depth == 1 && load.is_random == is_random
            };
            need(all.iter().copied().find(single));
        }
    }
    needed
}

#[cfg(test)]
mod tests;
