//! Fits a device to what was measured of another one: how fast reads are at each depth and block size.
//!
//! The device has two parts: a link, which carries one request after the other, and stations behind it, which serve several at
//! once. That is the least with which latency at depth 1, the rate of a deep queue and the data rate of long requests can be
//! told apart. A grid of devices is simulated and the nearest is taken; nothing is assumed about the shape of the curve.

use iodyno_model::Device;
use iodyno_model::device::{DevicePart, PartKind, Station};
use iodyno_model::reflect::Reflect;

use crate::kernel::{DeviceRequest, RequestKind, Simulation};

/// Requests that are simulated of a cell.
const REQUESTS: u64 = 4000;
/// Shares of the time between two answers of a deep queue that the link may take for a request.
const LINK_SHARES: [f64; 8] = [0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.98];
/// Parts of the servers that a deep queue needs at least.
const SERVER_SHARES: [f64; 6] = [1.0, 1.1, 1.25, 1.5, 2.0, 4.0];
/// Squared coefficients of variation of the service.
const VARIATIONS: [f64; 4] = [0.0, 0.25, 1.0, 2.0];
/// More servers than any depth that is measured.
const MOST_SERVERS: f64 = 4096.0;

/// What was measured: a closed loop at a depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCell {
    pub bytes: u64,
    /// Requests in flight.
    pub depth: u32,
    /// Answers per second.
    pub rate: f64,
}

/// The device that is nearest to all cells; none: there is no cell of short requests at depth 1, or none of long ones.
pub fn fit(cells: &[MeasuredCell], seed: u64) -> Option<Device> {
    let least = cells.iter().map(|cell| cell.bytes).min()?;
    let longest = cells.iter().map(|cell| cell.bytes).max().filter(|longest| *longest > least)?;
    let short = || cells.iter().filter(|cell| cell.bytes == least);
    let single_ns = 1e9 / short().find(|cell| cell.depth == 1)?.rate;
    let deep_ns = 1e9 / short().map(|cell| cell.rate).fold(0.0, f64::max);
    let long = cells.iter().filter(|cell| cell.bytes == longest).map(|cell| cell.rate).fold(0.0, f64::max);
    let mut best: Option<(f64, Device)> = None;
    for link_share in LINK_SHARES {
        let link_ns = link_share * deep_ns.min(single_ns);
        // The longest requests keep the link busy.
        let rate = longest as f64 * 1e9 / (1e9 / long - link_ns).max(1.0);
        let service_ns = single_ns - link_ns - least as f64 * 1e9 / rate;
        if service_ns < 1.0 {
            continue;
        }
        let mut tried = 0;
        for server_share in SERVER_SHARES {
            let servers = (service_ns / deep_ns * server_share).round().clamp(1.0, MOST_SERVERS) as u32;
            if servers == tried {
                continue;
            }
            tried = servers;
            for variation in VARIATIONS {
                let device = device(link_ns, rate, servers, (service_ns, variation));
                let distance: f64 = cells.iter().map(|cell| distance(&device, cell, seed)).sum();
                if best.as_ref().is_none_or(|(known, _)| distance < *known) {
                    best = Some((distance, device));
                }
            }
        }
    }
    best.map(|(_, device)| device)
}

fn device(link_ns: f64, rate: f64, servers: u32, (service_ns, variation): (f64, f64)) -> Device {
    let part = |name: &str, station| DevicePart {
        name: name.into(),
        kind: PartKind::Station(station),
        ..DevicePart::default()
    };
    let link = Station {
        over: Some("stations".into()),
        service_ns: (link_ns.round() as u64).max(1),
        variation: 0.0,
        rate: rate.round() as u64,
        ..Station::blank()
    };
    let service_ns = (service_ns.round() as u64).max(1);
    let stations = Station { servers, service_ns, variation, ..Station::blank() };
    Device { parts: vec![part("link", link), part("stations", stations)], ..Device::default() }
}

fn distance(device: &Device, cell: &MeasuredCell, seed: u64) -> f64 {
    let off = libm::log(predicted(device, cell, seed).unwrap_or(1.0) / cell.rate);
    off * off
}

/// Answers per second that a device gives to a cell; none: the device is wrong.
pub fn predicted(device: &Device, cell: &MeasuredCell, seed: u64) -> Option<f64> {
    let mut simulation = Simulation::new(device, seed).ok()?;
    let request = |token: u64| DeviceRequest {
        kind: RequestKind::Read,
        offset: token * cell.bytes,
        bytes: cell.bytes,
        ..DeviceRequest::default()
    };
    for token in 0..u64::from(cell.depth) {
        simulation.arrive(0, token, request(token));
    }
    let (mut sent, mut answered, mut done) = (u64::from(cell.depth), 0, Vec::new());
    // The first requests find an empty device.
    let first = 2 * u64::from(cell.depth);
    let mut began = 0;
    while answered < REQUESTS + first {
        simulation.advance_to_answer(u64::MAX, &mut done);
        if done.is_empty() {
            return None;
        }
        for completion in done.drain(..) {
            answered += 1;
            if answered == first {
                began = completion.at;
            }
            simulation.arrive(completion.at.max(simulation.now()), sent, request(sent));
            sent += 1;
        }
    }
    Some((answered - first) as f64 * 1e9 / (simulation.now() - began).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: [(u64, u32); 8] =
        [(4096, 1), (4096, 2), (4096, 4), (4096, 8), (4096, 32), (4096, 64), (1 << 20, 1), (1 << 20, 8)];

    #[test]
    fn a_known_device_is_found_again_and_predicts_what_was_held_out() {
        for (link_ns, rate, servers, service) in [
            (2_000.0, 3e9, 16, (80_000.0, 0.0)),
            (20_000.0, 5e8, 4, (150_000.0, 1.0)),
            (1_000.0, 1.5e8, 1, (8_000_000.0, 0.25)),
        ] {
            let known = device(link_ns, rate, servers, service);
            let measured = |(bytes, depth): (u64, u32)| {
                let cell = MeasuredCell { bytes, depth, rate: 0.0 };
                MeasuredCell { rate: predicted(&known, &cell, 5).unwrap(), ..cell }
            };
            let fitted: Vec<MeasuredCell> =
                CELLS.into_iter().step_by(2).chain([CELLS[7]]).map(measured).collect();
            let found = fit(&fitted, 9).unwrap();
            for cell in CELLS.into_iter().map(measured) {
                let off = predicted(&found, &cell, 11).unwrap() / cell.rate - 1.0;
                assert!(off.abs() < 0.1, "{off} of {cell:?} by {found:?}, known {known:?}");
            }
        }
    }

    #[test]
    fn nothing_is_fitted_to_one_block_size() {
        let cell = MeasuredCell { bytes: 4096, depth: 1, rate: 1000.0 };
        assert_eq!(fit(&[cell], 1), None);
    }
}
