//! How far one load is from another.

use std::collections::BTreeMap;

use iodyno_model::Verb;

use super::FittedLoad;
use super::places::hot_spot_difference;
use crate::statistics::{AccessMap, SizeCounts, TraceStatistics};

/// Bands of a file in which offsets are compared.
const BANDS: usize = 1000;

/// The fitted load against the trace. Distances are from 0, the same, to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitDistance {
    /// Operations that were generated for it.
    pub generated: u64,
    /// The largest difference of a verb's share of the accesses, percentage points.
    pub mix_points: f64,
    /// Kolmogorov and Smirnov's statistic of the sizes of each verb.
    pub sizes: Vec<(Verb, f64)>,
    /// The same of the offsets in each file.
    pub offsets: Vec<(u32, f64)>,
    /// The largest difference of the hot-spot curves.
    pub hot_spots: f64,
    /// Shares of sequential accesses, percent: of the trace, of the fitted load.
    pub sequential: (f64, f64),
    /// Operations per second.
    pub rate: (f64, f64),
    pub dispersions: Vec<DispersionPair>,
}

/// Variance over mean of the arrivals in windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DispersionPair {
    pub window_ns: u64,
    pub trace: f64,
    pub fitted: f64,
}

impl FitDistance {
    pub fn between(trace: &TraceStatistics, fitted: &TraceStatistics, load: &FittedLoad) -> FitDistance {
        let data = [Verb::Read, Verb::Write, Verb::Trim];
        let share = |statistics: &TraceStatistics, verb: &Verb| {
            let of = |verb: &Verb| statistics.verbs.get(verb).map_or(0, |counts| counts.operations);
            of(verb) as f64 / data.iter().map(of).sum::<u64>().max(1) as f64 * 100.0
        };
        let mix = data.iter().map(|verb| (share(trace, verb) - share(fitted, verb)).abs());
        let mut sizes = Vec::new();
        for verb in data {
            if let (Some(a), Some(b)) = (trace.verbs.get(&verb), fitted.verbs.get(&verb)) {
                sizes.push((verb, size_difference(&a.sizes, &b.sizes)));
            }
        }
        let files: BTreeMap<u32, u64> = load.jobs.iter().map(|job| (job.file, job.file_bytes)).collect();
        let offset = |(file, bytes): (u32, u64)| {
            let of = |statistics: &TraceStatistics| cumulative_by_band(&statistics.regions, file, bytes);
            (file, largest_difference(&of(trace), &of(fitted)))
        };
        let sequential = |statistics: &TraceStatistics| {
            statistics.runs.interleaved as f64 / statistics.runs.accesses.max(1) as f64 * 100.0
        };
        let rate = |statistics: &TraceStatistics| {
            statistics.operations as f64 / (statistics.last_ns.max(1) as f64 / 1e9)
        };
        let windows = trace.arrivals.windows().into_iter().zip(fitted.arrivals.windows());
        let pair = |(a, b): (crate::statistics::WindowCounts, crate::statistics::WindowCounts)| {
            DispersionPair { window_ns: a.window_ns, trace: a.dispersion, fitted: b.dispersion }
        };
        FitDistance {
            generated: fitted.operations,
            mix_points: mix.fold(0.0, f64::max),
            sizes,
            offsets: files.into_iter().map(offset).collect(),
            hot_spots: hot_spot_difference(&trace.regions, &fitted.regions),
            sequential: (sequential(trace), sequential(fitted)),
            rate: (rate(trace), rate(fitted)),
            dispersions: windows.filter(|(a, b)| a.windows > 9 && b.windows > 9).map(pair).collect(),
        }
    }
}

/// Kolmogorov and Smirnov's statistic of two tables of sizes.
fn size_difference(a: &SizeCounts, b: &SizeCounts) -> f64 {
    let (total_a, total_b) = (a.total().max(1) as f64, b.total().max(1) as f64);
    let mut sizes: Vec<u64> = a.counts.keys().chain(b.counts.keys()).copied().collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (mut sum_a, mut sum_b, mut largest) = (0.0, 0.0, 0.0f64);
    for size in sizes {
        sum_a += a.counts.get(&size).copied().unwrap_or(0) as f64 / total_a;
        sum_b += b.counts.get(&size).copied().unwrap_or(0) as f64 / total_b;
        largest = largest.max((sum_a - sum_b).abs());
    }
    largest
}

/// The share of a file's accesses up to the end of each of its bands.
pub fn cumulative_by_band(map: &AccessMap, file: u32, file_bytes: u64) -> Vec<f64> {
    let mut bands = vec![0.0; BANDS];
    for (region, count) in map.regions(file) {
        let middle = (region as f64 + 0.5) * map.region_bytes() as f64 / file_bytes.max(1) as f64;
        bands[((middle * BANDS as f64) as usize).min(BANDS - 1)] += count as f64;
    }
    let total = bands.iter().sum::<f64>().max(1.0);
    let mut sum = 0.0;
    for band in &mut bands {
        sum += *band;
        *band = sum / total;
    }
    bands
}

/// The largest difference of two cumulative curves.
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
