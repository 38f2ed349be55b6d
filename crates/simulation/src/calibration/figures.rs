//! The figures of a fitted device, and what they say of a load without a simulation.

use iodyno_model::device::{DevicePart, PartKind, Station};
use iodyno_model::reflect::Reflect;
use iodyno_model::{Device, Histogram};

use super::CellLoad;

/// Steps between the percentiles that a service is drawn from.
const STEPS: u64 = 100;
/// More requests than are ever on the way.
const DELAYED: u32 = 1 << 16;
/// Bytes per second that take no time: where writes have none and reads have.
const NO_TIME: f64 = 1e15;

/// What one direction takes.
#[derive(Clone, Debug)]
pub(super) struct DirectionFigures {
    /// Of the link, for each request.
    pub(super) link_ns: f64,
    /// Bytes per second of the link; none: no time.
    pub(super) link_rate: Option<f64>,
    /// Bytes per second of each server; none: no time.
    pub(super) server_rate: Option<f64>,
    /// On the way, which keeps nobody else waiting.
    pub(super) delay_ns: f64,
    /// Latencies of single requests of the shortest block; in order, if the run has such.
    pub(super) single: Histogram,
    /// The block of these.
    pub(super) least_bytes: u64,
}

/// A device: a link and the servers behind it.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) servers: u32,
    /// 0: writes share the servers of reads.
    pub(super) write_servers: u32,
    /// 0: requests are not split.
    pub(super) split_bytes: u64,
    /// What a server takes for a request of a random place besides.
    pub(super) random_ns: f64,
    /// Of reads, unless there are only writes.
    pub(super) reads: DirectionFigures,
    /// None: writes are as reads.
    pub(super) writes: Option<DirectionFigures>,
}

/// How long so many bytes take at a rate, ns; 0 where none is known.
pub(super) fn transfer(bytes: u64, rate: Option<f64>) -> f64 {
    rate.map_or(0.0, |rate| bytes as f64 * 1e9 / rate)
}

impl DirectionFigures {
    /// What is no service in the latency of a single request.
    fn outside_ns(&self) -> f64 {
        self.link_ns
            + self.delay_ns
            + transfer(self.least_bytes, self.link_rate)
            + transfer(self.least_bytes, self.server_rate)
    }

    /// The mean service, without the transfer.
    pub(super) fn service_ns(&self) -> f64 {
        self.single.mean() - self.outside_ns()
    }

    /// The service as evenly spaced percentiles whose mean is that of the service: the last one lies where that comes out.
    fn percentiles_ns(&self) -> Vec<u64> {
        let outside = self.outside_ns();
        let at = |step: u64| {
            let ns = match step {
                0 => self.single.min,
                step => self.single.percentile(100.0 * step as f64 / STEPS as f64),
            };
            (ns as f64 - outside).max(1.0)
        };
        let mut all: Vec<f64> = (0..STEPS).map(at).collect();
        let inner = all[0] / 2.0 + all[1..].iter().sum::<f64>();
        let last = 2.0 * (STEPS as f64 * self.service_ns() - inner);
        let most = self.single.max as f64 - outside;
        all.push(last.min(most).max(all[STEPS as usize - 1]));
        all.into_iter().map(|ns| ns.round() as u64).collect()
    }
}

impl Figures {
    fn of(&self, is_write: bool) -> &DirectionFigures {
        self.writes.as_ref().filter(|_| is_write).unwrap_or(&self.reads)
    }

    /// Whether the direction that was fitted last has a delay.
    pub(super) fn is_delayed(&self) -> bool {
        self.writes.as_ref().unwrap_or(&self.reads).delay_ns > 0.0
    }

    /// Answers per second by the bounds of operational analysis, which say nothing of what is drawn.
    pub(super) fn bound(&self, load: &CellLoad) -> f64 {
        let share = load.reads_percent / 100.0;
        let directions = [(share, false), (1.0 - share, true)];
        let (mut alone, mut link, mut busy) = (0.0, 0.0, [0.0; 2]);
        for (share, is_write) in directions.into_iter().filter(|(share, _)| *share > 0.0) {
            let own = is_write && self.write_servers > 0;
            let servers = f64::from(if own { self.write_servers } else { self.servers });
            let figures = self.of(is_write);
            let piece = if self.split_bytes > 0 { self.split_bytes.min(load.bytes) } else { load.bytes };
            let pieces = load.bytes.div_ceil(piece.max(1)) as f64;
            let random = if load.is_random { self.random_ns } else { 0.0 };
            let service = figures.service_ns() + transfer(piece, figures.server_rate);
            let on_link = figures.link_ns + transfer(load.bytes, figures.link_rate);
            link += share * on_link;
            busy[usize::from(own)] += share * (pieces * service + random) / servers;
            alone += share * (figures.delay_ns + on_link + (pieces / servers).ceil() * service + random);
        }
        let least = link.max(busy[0]).max(busy[1]).max(alone / f64::from(load.depth));
        1e9 / least.max(1.0)
    }

    pub(super) fn device(&self) -> Device {
        let part = |name: &str, station| DevicePart {
            name: name.into(),
            kind: PartKind::Station(station),
            ..DevicePart::default()
        };
        let rate = |rate: Option<f64>| rate.map_or(0, |rate| rate.round() as u64);
        let write_rate = |of: &dyn Fn(&DirectionFigures) -> Option<f64>| {
            let writes = self.writes.as_ref().map(of);
            writes.map_or(0, |writes| rate(writes.or(of(&self.reads).map(|_| NO_TIME))))
        };
        let whole = |ns: f64| (ns.round() as u64).max(1);
        let link = Station {
            over: Some("stations".into()),
            service_ns: whole(self.reads.link_ns),
            write_ns: self.writes.as_ref().map_or(0, |writes| whole(writes.link_ns)),
            variation: 0.0,
            rate: rate(self.reads.link_rate),
            write_rate: write_rate(&|figures| figures.link_rate),
            split_bytes: self.split_bytes,
            ..Station::blank()
        };
        let stations = Station {
            servers: self.servers,
            write_servers: self.write_servers,
            // What is not drawn from percentiles: flushes and names.
            service_ns: whole(self.reads.service_ns()),
            variation: 0.0,
            random_ns: self.random_ns.round() as u64,
            rate: rate(self.reads.server_rate),
            write_rate: write_rate(&|figures| figures.server_rate),
            percentiles_ns: self.reads.percentiles_ns(),
            write_percentiles_ns: self
                .writes
                .as_ref()
                .map_or_else(Vec::new, DirectionFigures::percentiles_ns),
            ..Station::blank()
        };
        let delay = Station {
            over: Some("link".into()),
            servers: DELAYED,
            service_ns: whole(self.reads.delay_ns),
            write_ns: self.writes.as_ref().map_or(0, |writes| whole(writes.delay_ns)),
            variation: 0.0,
            ..Station::blank()
        };
        let mut parts = vec![part("link", link), part("stations", stations)];
        let has_delay = |figures: &DirectionFigures| figures.delay_ns > 0.0;
        if has_delay(&self.reads) || self.writes.as_ref().is_some_and(has_delay) {
            parts.insert(0, part("path", delay));
        }
        Device { parts, ..Device::default() }
    }
}
