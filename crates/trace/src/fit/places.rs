//! Zones or popularity by rank: whichever draws places more like the trace's.

use super::distance::{cumulative_by_band, largest_difference};
use super::generate::{DrawnNumbers, PlacePicker};
use super::{FittedJob, FittedPlaces};
use crate::statistics::AccessMap;

/// Bands into which a file is divided to begin with.
const BANDS: usize = 200;
/// Zones of a fit.
const ZONES_MOST: usize = 24;
/// Skews that are tried.
const SKEWS: [f64; 7] = [0.5, 0.7, 0.9, 1.05, 1.2, 1.4, 1.7];
/// Draws to judge a fit by.
const DRAWS: u64 = 50_000;
/// Percent of the footprint at which hot-spot curves are compared.
pub const HOT: [f64; 7] = [0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0];

/// The places of a job of random accesses.
pub fn fit(regions: &AccessMap, job: &FittedJob) -> FittedPlaces {
    let of_file = regions.regions(job.file);
    let counts: u64 = of_file.iter().map(|(_, count)| count).sum();
    let recorded = AccessMap::of(&of_file, job.file, regions.region_bytes());
    let zones = zones(&of_file, regions.region_bytes(), job.file_bytes);
    let candidates = std::iter::once(FittedPlaces::Zones(zones)).chain(SKEWS.map(FittedPlaces::Zipf));
    // Accesses that touch several regions count in each: so many draws come to as many counts.
    let spanned = (counts as f64 / job.operations.max(1) as f64).max(1.0);
    let mut best = (f64::INFINITY, FittedPlaces::default());
    for places in candidates {
        let drawn = drawn(&places, job, regions.region_bytes(), spanned);
        let distance = hot_spot_difference(&recorded, &drawn)
            + largest_difference(
                &cumulative_by_band(&recorded, job.file, job.file_bytes),
                &cumulative_by_band(&drawn, job.file, job.file_bytes),
            );
        if distance < best.0 {
            best = (distance, places);
        }
    }
    best.1
}

/// Regions that draws from these places touch.
fn drawn(places: &FittedPlaces, job: &FittedJob, region_bytes: u64, spanned: f64) -> AccessMap {
    let picker = PlacePicker::new(places, job);
    let mut numbers = DrawnNumbers::new(0x51ac);
    let mut map = AccessMap::of(&[], job.file, region_bytes);
    let bytes = (spanned - 1.0).max(0.0) * region_bytes as f64;
    for _ in 0..DRAWS.min(job.operations) {
        let offset = picker.pick(&mut numbers);
        map.add(job.file, offset, offset.saturating_add(bytes as u64 + 1));
    }
    map
}

/// The largest difference of two hot-spot curves, 0 to 1.
pub fn hot_spot_difference(a: &AccessMap, b: &AccessMap) -> f64 {
    let (a, b) = (a.curve(&HOT), b.curve(&HOT));
    let differences = a.iter().zip(&b).map(|(a, b)| (a.access_percent - b.access_percent).abs() / 100.0);
    differences.fold(0.0, f64::max)
}

/// Neighbouring bands of similar density joined until few enough zones are left.
fn zones(regions: &[(u64, u64)], region_bytes: u64, file_bytes: u64) -> Vec<(f64, f64)> {
    let mut bands = vec![0.0f64; BANDS];
    for (region, count) in regions {
        let place = (*region as f64 + 0.5) * region_bytes as f64 / file_bytes.max(1) as f64;
        bands[((place * BANDS as f64) as usize).min(BANDS - 1)] += *count as f64;
    }
    let total = bands.iter().sum::<f64>().max(1.0);
    let width = 100.0 / BANDS as f64;
    let mut zones: Vec<(f64, f64)> = bands.iter().map(|count| (width, count / total * 100.0)).collect();
    while zones.len() > 1 {
        // What joining two costs: how far the density moves, weighted by how much of the file and of the accesses moves.
        let cost = |(a, b): (&(f64, f64), &(f64, f64))| {
            let density = (a.1 + b.1) / (a.0 + b.0);
            (a.1 - density * a.0).abs() + (b.1 - density * b.0).abs()
        };
        let costs = zones.iter().zip(&zones[1..]).map(cost).enumerate();
        let Some((at, cost)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if zones.len() <= ZONES_MOST && cost > 0.2 {
            break;
        }
        let next = zones.remove(at + 1);
        zones[at] = (zones[at].0 + next.0, zones[at].1 + next.1);
    }
    zones
}
