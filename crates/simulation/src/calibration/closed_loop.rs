//! What a device gives to a cell: a closed loop of requests in virtual time.

use iodyno_model::Device;

use super::CellLoad;
use crate::kernel::{DeviceRequest, RequestKind, Simulation};
use crate::random::Random;

/// Random requests lie within so many blocks.
const BLOCKS: u64 = 1 << 24;
/// The stream of random numbers that belongs to a loop.
const STREAM: u64 = 0x4c4f_4f50;

/// What a cell gets from a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedCell {
    /// Answers per second.
    pub rate: f64,
    /// Half and 99 % of the latencies of reads, ns; none: there were no reads.
    pub read_ns: Option<[f64; 2]>,
    pub write_ns: Option<[f64; 2]>,
}

/// What a device gives to a load in so many requests; none: the device is wrong.
pub fn predicted(device: &Device, load: &CellLoad, requests: u64, seed: u64) -> Option<PredictedCell> {
    let (rate, latencies) = latencies(device, load, requests, seed)?;
    let [read_ns, write_ns] = latencies.map(percentiles);
    Some(PredictedCell { rate, read_ns, write_ns })
}

/// Answers per second, and the latencies of reads and of writes.
pub(super) fn latencies(
    device: &Device,
    load: &CellLoad,
    requests: u64,
    seed: u64,
) -> Option<(f64, [Vec<u64>; 2])> {
    let mut simulation = Simulation::new(device, seed).ok()?;
    let mut source = LoadSource { load, random: Random::from_seed(seed, STREAM), sent: 0 };
    let mut done = Vec::new();
    // Of each that is in flight: whether it is a write, and when it was sent. Who is answered sends the next one.
    let mut in_flight: Vec<(bool, u64)> =
        (0..load.depth).map(|slot| source.send(&mut simulation, slot.into())).collect();
    // The first requests find an empty device.
    let first = 2 * u64::from(load.depth);
    let (mut answered, mut began) = (0, 0);
    let mut latencies = [Vec::new(), Vec::new()];
    while answered < requests + first {
        simulation.advance_to_answer(u64::MAX, &mut done);
        if done.is_empty() {
            return None;
        }
        for completion in done.drain(..) {
            answered += 1;
            let (is_write, at) = *in_flight.get(completion.token as usize)?;
            match answered > first {
                true => latencies[usize::from(is_write)].push(completion.at - at),
                false => began = completion.at,
            }
            in_flight[completion.token as usize] = source.send(&mut simulation, completion.token);
        }
    }
    let passed = (simulation.now() - began).max(1);
    Some(((answered - first) as f64 * 1e9 / passed as f64, latencies))
}

/// Requests as a load draws them.
struct LoadSource<'a> {
    load: &'a CellLoad,
    random: Random,
    sent: u64,
}

impl LoadSource<'_> {
    /// Sends the next request of a slot: whether it is a write, and when it was sent.
    fn send(&mut self, simulation: &mut Simulation, slot: u64) -> (bool, u64) {
        let CellLoad { bytes, reads_percent, is_random, .. } = *self.load;
        let is_write = self.random.unit() * 100.0 >= reads_percent;
        let block = if is_random { self.random.below(BLOCKS) } else { self.sent };
        let request = DeviceRequest {
            kind: if is_write { RequestKind::Write } else { RequestKind::Read },
            offset: block.wrapping_mul(bytes),
            bytes,
            ..DeviceRequest::default()
        };
        let now = simulation.now();
        simulation.arrive(now, slot, request);
        self.sent += 1;
        (is_write, now)
    }
}

/// Half and 99 % by nearest rank.
fn percentiles(mut latencies: Vec<u64>) -> Option<[f64; 2]> {
    latencies.sort_unstable();
    let last = latencies.len().checked_sub(1)?;
    let at =
        |percent: usize| latencies[(latencies.len() * percent).div_ceil(100).saturating_sub(1).min(last)];
    Some([at(50), at(99)].map(|ns| ns as f64))
}
