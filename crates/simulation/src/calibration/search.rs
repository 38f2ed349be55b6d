//! The search for the nearest device: a grid that is ranked by bounds, the best of which are simulated and then refined.

use iodyno_model::Histogram;

use super::closed_loop::{PredictedCell, predicted};
use super::figures::{DirectionFigures, Figures, transfer};
use super::{CellLoad, MeasuredCell};

/// Requests that are simulated of a cell of a candidate.
const REQUESTS: u64 = 1000;
/// Shares of the time between two answers of a deep queue that the link may take for a request.
const LINK_SHARES: [f64; 8] = [0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.98];
/// Parts of the servers that a deep queue needs at least.
const SERVER_SHARES: [f64; 8] = [0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0];
/// The share of the service that may be a delay instead.
const MOST_DELAY: f64 = 0.3;
/// More servers than any depth that is measured.
const MOST_SERVERS: f64 = 4096.0;
/// Longest requests that hosts pass on; 0: as long as they are.
const SPLITS: [u64; 6] = [0, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
/// Candidates of the grid that are simulated, of those with a delay and of those without.
const SIMULATED: usize = 8;
/// How much each figure is moved to refine it, in turns.
const STEPS: [f64; 2] = [0.12, 0.04];
/// A percentile counts as much as this beside a rate.
const PERCENTILE_WEIGHT: f64 = 0.25;
/// Servers of their own must bring writes so much nearer to be taken.
const OWN_SERVERS_GAIN: f64 = 0.5;

/// How much nearer a device must be for what it has besides servers and a data rate: a link that takes time for each request, a
/// delay that keeps nobody else waiting, and requests that are split. Otherwise the noise of a few cells makes parts that no
/// other cell has. One cell that is 5 to 7 % off is as much.
const LINK_COST: f64 = 0.002;
const DELAY_COST: f64 = 0.004;
const SPLIT_COST: f64 = 0.005;

/// The nearest devices of each kind.
#[derive(Clone, Debug)]
pub(super) struct NearestFigures {
    /// By reads alone, or by writes where there are no reads.
    base: Figures,
    /// With writes on the servers of reads, and on servers of their own.
    writes: Option<[Figures; 2]>,
}

impl NearestFigures {
    /// None where the cells do not tell its figures; `base` is what is known of reads before.
    pub(super) fn of(cells: &[&MeasuredCell], base: Option<&NearestFigures>, seed: u64) -> Option<Self> {
        let (reads, writes) = (of_direction(cells, 100.0), of_direction(cells, 0.0));
        let known = base.map(|known| known.base.clone());
        let Some(read) = DirectionFit::of(&reads, false) else {
            let written = DirectionFit::of(&writes, true)?.nearest(&writes, &Shape::Free, seed)?;
            return Some(NearestFigures { base: written, writes: None });
        };
        let base = known.or_else(|| read.nearest(&reads, &Shape::Free, seed))?;
        let writes = DirectionFit::of(&writes, true).and_then(|direction| {
            let shared = direction.nearest(&writes, &Shape::Shared(&base), seed)?;
            let own = direction.nearest(&writes, &Shape::Own(&base), seed)?;
            Some([shared, own])
        });
        Some(NearestFigures { base, writes })
    }

    /// The nearest of both kinds to all cells with writes.
    pub(super) fn chosen(&self, cells: &[&MeasuredCell], seed: u64) -> &Figures {
        let Some([shared, own]) = &self.writes else { return &self.base };
        let others: Vec<&MeasuredCell> =
            cells.iter().copied().filter(|cell| cell.load.reads_percent < 100.0).collect();
        let [of_shared, of_own] = [shared, own].map(|figures| distance(figures, &others, seed));
        if of_own < of_shared * OWN_SERVERS_GAIN { own } else { shared }
    }
}

pub(super) fn of_direction<'a>(cells: &[&'a MeasuredCell], reads_percent: f64) -> Vec<&'a MeasuredCell> {
    cells.iter().copied().filter(|cell| cell.load.reads_percent == reads_percent).collect()
}

/// What is known of the rest of the device.
enum Shape<'a> {
    /// Nothing.
    Free,
    /// Reads have these servers, and writes share them.
    Shared(&'a Figures),
    /// Writes have servers of their own.
    Own(&'a Figures),
}

/// What the cells of a direction say by themselves.
struct DirectionFit {
    single: Histogram,
    least_bytes: u64,
    longest_bytes: u64,
    /// Between two answers of the deepest queue of the shortest block.
    deep_ns: f64,
    /// The same of the longest block.
    long_ns: f64,
    /// Bytes per second by what single requests of the longest block take longer; none: they take no longer.
    single_rate: Option<f64>,
    random_ns: f64,
}

impl DirectionFit {
    fn of(cells: &[&MeasuredCell], is_write: bool) -> Option<DirectionFit> {
        let least_bytes = cells.iter().map(|cell| cell.load.bytes).min()?;
        let longest_bytes =
            cells.iter().map(|cell| cell.load.bytes).max().filter(|longest| *longest > least_bytes)?;
        let latencies =
            |cell: &&MeasuredCell| if is_write { cell.writes.clone() } else { cell.reads.clone() };
        let single = |is_random: bool| {
            let is = |cell: &&&MeasuredCell| {
                let load = cell.load;
                load.bytes == least_bytes && load.depth == 1 && load.is_random == is_random
            };
            cells.iter().find(is).map(latencies).filter(|latencies| !latencies.is_empty())
        };
        let between = |bytes: u64| {
            let rates = cells.iter().filter(|cell| cell.load.bytes == bytes).map(|cell| cell.rate);
            1e9 / rates.fold(0.0, f64::max)
        };
        let long = cells.iter().find(|cell| cell.load.bytes == longest_bytes && cell.load.depth == 1);
        let (in_order, random) = (single(false), single(true));
        let random_ns = match (&in_order, &random) {
            (Some(in_order), Some(random)) => (random.mean() - in_order.mean()).max(0.0),
            _ => 0.0,
        };
        // In order there is a seek or a look-up less, whose length is known.
        let single = in_order.or(random)?;
        let longer_ns = long.map(|cell| latencies(cell).mean() - single.mean()).filter(|ns| *ns > 1.0);
        Some(DirectionFit {
            single_rate: longer_ns.map(|ns| (longest_bytes - least_bytes) as f64 * 1e9 / ns),
            single,
            least_bytes,
            longest_bytes,
            deep_ns: between(least_bytes),
            long_ns: between(longest_bytes),
            random_ns,
        })
    }

    /// The nearest of the grid, refined.
    fn nearest(&self, cells: &[&MeasuredCell], shape: &Shape<'_>, seed: u64) -> Option<Figures> {
        let rough = |figures: Figures| {
            let off = cells.iter().map(|cell| square(figures.bound(&cell.load), cell.rate));
            (off.sum::<f64>(), figures)
        };
        // Bounds know nothing of what is drawn, which looks like a delay: the best without one are simulated as well.
        let (delayed, prompt): (Vec<_>, Vec<_>) =
            self.grid(shape).into_iter().map(rough).partition(|(_, figures)| figures.is_delayed());
        let best_of = |mut ranked: Vec<(f64, Figures)>| {
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            ranked.truncate(SIMULATED);
            ranked
        };
        let ranked = best_of(delayed).into_iter().chain(best_of(prompt));
        let simulated = ranked.map(|(_, figures)| (distance(&figures, cells, seed), figures));
        let best = simulated.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(refined(best, cells, shape, seed))
    }

    fn grid(&self, shape: &Shape<'_>) -> Vec<Figures> {
        let mut grid = Vec::new();
        let splits: Vec<u64> = match shape {
            Shape::Free => SPLITS.into_iter().filter(|split| *split < self.longest_bytes).collect(),
            Shape::Shared(read) | Shape::Own(read) => vec![read.split_bytes],
        };
        for split_bytes in splits {
            for share in LINK_SHARES {
                let link_ns = share * self.deep_ns.min(self.single.mean());
                // The longest requests keep the link busy, or the servers, or just take longer on their own.
                let link_rate = self.longest_bytes as f64 * 1e9 / (self.long_ns - link_ns).max(1.0);
                let by_link = self.figures(link_ns, Some(link_rate), None);
                let by_servers = self.figures(link_ns, None, None);
                let by_single = self.figures(link_ns, None, self.single_rate);
                for (figures, is_whole) in [(by_link, true), (by_single, true), (by_servers, false)] {
                    for servers in self.servers(figures.service_ns(), shape) {
                        let figures = match is_whole {
                            true => figures.clone(),
                            false => self.on_servers(&figures, servers, split_bytes),
                        };
                        let delayed = self.delayed(&figures, servers);
                        for figures in [Some(figures), delayed].into_iter().flatten() {
                            grid.extend(self.with(figures, servers, split_bytes, shape));
                        }
                    }
                }
            }
        }
        grid
    }

    fn figures(&self, link_ns: f64, link_rate: Option<f64>, server_rate: Option<f64>) -> DirectionFigures {
        DirectionFigures {
            link_ns,
            link_rate,
            server_rate,
            delay_ns: 0.0,
            single: self.single.clone(),
            least_bytes: self.least_bytes,
        }
    }

    /// The same where the bytes take their time on the servers.
    fn on_servers(&self, figures: &DirectionFigures, servers: u32, split_bytes: u64) -> DirectionFigures {
        let pieces = if split_bytes == 0 { 1 } else { self.longest_bytes.div_ceil(split_bytes) } as f64;
        // The shortest block's own transfer is in its latency: a few rounds settle it.
        let mut found = figures.clone();
        for _ in 0..4 {
            let transfer_ns = f64::from(servers) * self.long_ns - pieces * found.service_ns();
            // What lies within a percent of the service is none.
            let is_some = transfer_ns > pieces * found.service_ns() * 0.01;
            found.server_rate = is_some.then(|| self.longest_bytes as f64 * 1e9 / transfer_ns);
        }
        found
    }

    /// The same where so many servers are busy all the time in the deepest queue: what is left of the latency keeps nobody else
    /// waiting.
    fn delayed(&self, figures: &DirectionFigures, servers: u32) -> Option<DirectionFigures> {
        let transfer_ns = transfer(self.least_bytes, figures.server_rate);
        let delay_ns = figures.service_ns() + transfer_ns - f64::from(servers) * self.deep_ns;
        let is_some = delay_ns > 0.0 && delay_ns < figures.service_ns() * MOST_DELAY;
        is_some.then(|| DirectionFigures { delay_ns, ..figures.clone() })
    }

    fn servers(&self, service_ns: f64, shape: &Shape<'_>) -> Vec<u32> {
        if let Shape::Shared(read) = shape {
            return vec![read.servers];
        }
        let least = service_ns / self.deep_ns;
        let of = |share: &f64| (least * share).round().clamp(1.0, MOST_SERVERS) as u32;
        let mut servers: Vec<u32> = SERVER_SHARES.iter().map(of).collect();
        servers.dedup();
        servers
    }

    /// A whole device; none: nothing would be left for the service.
    fn with(
        &self,
        figures: DirectionFigures,
        servers: u32,
        split_bytes: u64,
        shape: &Shape<'_>,
    ) -> Option<Figures> {
        if figures.service_ns() < 1.0 {
            return None;
        }
        Some(match shape {
            Shape::Free => Figures {
                servers,
                write_servers: 0,
                split_bytes,
                random_ns: self.random_ns,
                reads: figures,
                writes: None,
            },
            Shape::Shared(read) => Figures { writes: Some(figures), ..(*read).clone() },
            Shape::Own(read) => Figures { write_servers: servers, writes: Some(figures), ..(*read).clone() },
        })
    }
}

/// Moves one figure after the other as long as that brings the device nearer.
fn refined(best: (f64, Figures), cells: &[&MeasuredCell], shape: &Shape<'_>, seed: u64) -> Figures {
    let (mut least, mut figures) = best;
    for step in STEPS {
        for moved in 0..4 {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let Some(tried) = nudged(&figures, moved, factor, shape) else { continue };
                let found = distance(&tried, cells, seed);
                if found < least {
                    (least, figures) = (found, tried);
                }
            }
        }
    }
    figures
}

/// The same device with one figure moved; none: it has no such figure.
fn nudged(figures: &Figures, moved: usize, factor: f64, shape: &Shape<'_>) -> Option<Figures> {
    let mut tried = figures.clone();
    if moved == 3 {
        let servers = match shape {
            Shape::Free => &mut tried.servers,
            Shape::Own(_) => &mut tried.write_servers,
            Shape::Shared(_) => return None,
        };
        let scaled = (f64::from(*servers) * factor).round();
        let one = f64::from(*servers) + (factor - 1.0).signum();
        let wanted = if scaled == f64::from(*servers) { one } else { scaled };
        *servers = wanted.clamp(1.0, MOST_SERVERS) as u32;
        return (tried.servers != figures.servers || tried.write_servers != figures.write_servers)
            .then_some(tried);
    }
    let direction = match shape {
        Shape::Free => &mut tried.reads,
        Shape::Shared(_) | Shape::Own(_) => tried.writes.as_mut()?,
    };
    match moved {
        0 if direction.link_ns > 0.0 => direction.link_ns *= factor,
        1 => *direction.link_rate.as_mut()? *= factor,
        2 => *direction.server_rate.as_mut()? *= factor,
        _ => return None,
    }
    (direction.service_ns() >= 1.0).then_some(tried)
}

/// What a device has besides servers and a data rate.
fn cost(figures: &Figures) -> f64 {
    let direction = figures.writes.as_ref().unwrap_or(&figures.reads);
    let has = |is: bool, cost: f64| if is { cost } else { 0.0 };
    has(direction.link_ns > 0.0, LINK_COST)
        + has(figures.split_bytes > 0, SPLIT_COST)
        + has(figures.is_delayed(), DELAY_COST)
}

/// How far a device is from all cells; percentiles count beside rates.
fn distance(figures: &Figures, cells: &[&MeasuredCell], seed: u64) -> f64 {
    let device = figures.device();
    let of = |cell: &&MeasuredCell| {
        let requests = requests(&cell.load);
        let found = predicted(&device, &cell.load, requests, seed).unwrap_or_default();
        square(found.rate, cell.rate) + percentile_distance(&found, cell)
    };
    cells.iter().map(of).sum::<f64>() + cost(figures)
}

/// Deep queues need their fill to show what they do.
fn requests(load: &CellLoad) -> u64 {
    REQUESTS.max(8 * u64::from(load.depth))
}

fn percentile_distance(found: &PredictedCell, cell: &MeasuredCell) -> f64 {
    let of = |found: Option<[f64; 2]>, is_write: bool| -> f64 {
        let Some(found) = found else { return 0.0 };
        let pairs = found.into_iter().zip(cell.percentiles(is_write));
        pairs.filter_map(|(found, measured)| Some(square(found, measured?))).sum()
    };
    PERCENTILE_WEIGHT * (of(found.read_ns, false) + of(found.write_ns, true))
}

/// The square of the logarithm of their quotient.
fn square(found: f64, measured: f64) -> f64 {
    let off = libm::log(found.max(1.0) / measured);
    off * off
}
