//! The kinds of parts. Each decides what becomes of a request that comes to it; time and figures are the kernel's.

use crate::Tick;
use crate::kernel::{Core, Count, DeviceRequest, TaskId};
use crate::random::Random;

pub(crate) mod cloud;
pub(crate) mod cluster;
pub(crate) mod disk;
mod flash_map;
pub(crate) mod network;
pub(crate) mod nvme;
pub(crate) mod page_cache;
mod page_table;
pub(crate) mod raid;
pub(crate) mod server;
pub(crate) mod ssd;
pub(crate) mod station;
pub(crate) mod volume;

/// Where an instance stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartPlace {
    pub(crate) number: u32,
    /// The first of the instances behind it; those of one part lie side by side.
    pub(crate) behind: u32,
    /// What each of them holds; 0: it is unknown.
    pub(crate) behind_bytes: u64,
}

/// One of several different parts behind an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartsBehind {
    pub(crate) first: u32,
    /// What it holds; 0: it is unknown.
    pub(crate) bytes: u64,
}

/// A part of a device.
pub(crate) trait Part {
    /// Servers that can work at a time, for its utilisation.
    fn servers(&self) -> u32;

    /// Before the first request.
    fn start(&mut self, _core: &mut Core) {}

    /// A request comes to it.
    fn arrive(&mut self, task: TaskId, core: &mut Core);

    /// What it had itself told of: the number of a task, or one of its own.
    fn event(&mut self, what: u32, core: &mut Core);

    /// A request that it sent for a task to the part behind was answered.
    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        core.finish(task);
    }

    /// The same for a task that it has answered before.
    fn late(&mut self, _request: DeviceRequest, _core: &mut Core) {}

    /// What it counted: name, amount, and what the amount is divided by, 0: nothing.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

/// How long bytes take at a rate; no rate: no time.
#[inline]
pub(crate) fn transfer_ns(bytes: u64, rate: u64) -> u64 {
    match rate {
        0 => 0,
        rate if bytes < 1 << 34 => bytes * 1_000_000_000 / rate,
        rate => u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX),
    }
}

/// A time of this mean and squared coefficient of variation.
///
/// Above 1 a hyperexponential of two phases with balanced means, below 1 a mixture of Erlang distributions of neighbouring
/// orders with the same rate. Source: Tijms, "A First Course in Stochastic Models", 2003, appendix B.
pub(crate) fn drawn(mean_ns: u64, variation: f64, random: &mut Random) -> u64 {
    let mean = mean_ns as f64;
    if variation == 0.0 || mean_ns == 0 {
        return mean_ns;
    }
    let ns = if variation == 1.0 {
        random.exponential(mean)
    } else if variation > 1.0 {
        let first = (1.0 + ((variation - 1.0) / (variation + 1.0)).sqrt()) / 2.0;
        let share = if random.unit() < first { first } else { 1.0 - first };
        random.exponential(mean / (2.0 * share))
    } else {
        let order = (1.0 / variation).ceil();
        let fewer = (order * variation
            - (order * (1.0 + variation) - order * order * variation).max(0.0).sqrt())
            / (1.0 + variation);
        let phases = if random.unit() < fewer { order - 1.0 } else { order };
        let each = mean / (order - fewer);
        (0..phases as u32).map(|_| random.exponential(each)).sum()
    };
    ns.round() as u64
}

/// A time drawn from evenly spaced percentiles, at least two, the first of which is the shortest.
pub(crate) fn drawn_between(percentiles_ns: &[u64], random: &mut Random) -> u64 {
    let at = random.unit() * (percentiles_ns.len() - 1) as f64;
    let (from, to) = (percentiles_ns[at as usize], percentiles_ns[at as usize + 1]);
    from + ((to - from) as f64 * at.fract()) as u64
}

/// A way that carries one thing after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) free: Tick,
}

impl Lane {
    /// Takes it for so long, from then on or later; when it is free again.
    #[inline]
    pub(crate) fn take(&mut self, from: Tick, ns: u64) -> Tick {
        self.free = self.free.max(from) + ns;
        self.free
    }
}
