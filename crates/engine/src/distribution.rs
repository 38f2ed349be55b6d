//! Where a drawn access goes and how long it is: popular places, hot zones, tables of sizes.
//!
//! Every draw is a function of the stream of [`Random`] alone. Zipf, Pareto, normal and gamma need logarithms and
//! powers; those come from the crate `libm`, not from the platform, whose last bits differ between systems: the same
//! seed gives the same offsets everywhere. It refuses picks that remember where they were (sequential, strided, runs):
//! `source::pattern` walks those.

use iodyno_model::{Diagnostic, Extent, Origin, Pick, Size, Zone};

use crate::permutation::Permutation;
use crate::random::Random;

/// A way to draw blocks below n without memory of the draws before.
#[derive(Clone, Debug)]
pub struct Distribution {
    blocks: u64,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    Zipf {
        ranks: Zipf,
        scatter: Scatter,
    },
    /// Rank n·u^power.
    Pareto {
        power: f64,
        scatter: Scatter,
    },
    Normal {
        middle: f64,
        deviation: f64,
    },
    Zones(Vec<Range>),
    Blend(Vec<Choice>),
}

/// A zone, by the upper bound of its share of all 64-bit draws.
#[derive(Clone, Debug)]
struct Range {
    below: u64,
    start: u64,
    blocks: u64,
}

#[derive(Clone, Debug)]
struct Choice {
    below: u64,
    distribution: Distribution,
}

/// Which place has which popularity.
#[derive(Clone, Debug)]
struct Scatter {
    places: Permutation,
    /// Added to each place, modulo all, so that the most popular one lies where it is wanted.
    shift: u64,
}

impl Scatter {
    fn new(blocks: u64, seed: u64, center: Option<f64>) -> Self {
        let places = Permutation::new(blocks, seed);
        let shift = center.map_or(0, |center| {
            let wanted = ((blocks as f64 * center) as u64).min(blocks - 1);
            (wanted + blocks - places.at(0)) % blocks
        });
        Scatter { places, shift }
    }

    #[inline]
    fn at(&self, rank: u64) -> u64 {
        let (place, blocks) = (self.places.at(rank) + self.shift, self.places.len());
        if place < blocks { place } else { place - blocks }
    }
}

impl Distribution {
    /// The distribution of `pick` over `blocks` blocks of `block_bytes` bytes each (used by zones given in bytes).
    /// `seed` decides which places are the popular ones.
    ///
    /// # Errors
    /// A parameter out of its range, zones that do not fit, or a pick that is not drawn.
    pub fn new(pick: &Pick, blocks: u64, block_bytes: u64, seed: u64) -> Result<Self, Diagnostic> {
        if blocks == 0 || blocks > 1 << 63 {
            return Err(refused(format!("cannot draw from {blocks} blocks"))
                .hint("the span needs at least one block"));
        }
        let scatter = |center| Scatter::new(blocks, seed, center);
        let law = match pick {
            Pick::Uniform => Law::Uniform,
            Pick::Zipf { center: Some(center), .. } | Pick::Pareto { center: Some(center), .. }
                if !(0.0..=1.0).contains(center) =>
            {
                return Err(refused(format!("center {center}: expected a number from 0 to 1")));
            }
            Pick::Zipf { theta, center } if *theta > 0.0 && theta.is_finite() => {
                Law::Zipf { ranks: Zipf::new(blocks, *theta), scatter: scatter(*center) }
            }
            Pick::Zipf { theta, .. } => {
                return Err(refused(format!("zipf skew {theta}: expected a number above 0")));
            }
            Pick::Pareto { h, center } if *h > 0.0 && *h < 1.0 => {
                Law::Pareto { power: libm::log(*h) / libm::log1p(-*h), scatter: scatter(*center) }
            }
            Pick::Pareto { h, .. } => {
                return Err(refused(format!("pareto skew {h}: expected a number between 0 and 1"))
                    .hint("h=0.2 sends 80 % of the accesses to 20 % of the places"));
            }
            Pick::Normal { deviation_percent } => normal(*deviation_percent, blocks)?,
            Pick::Zones(zones) => Law::Zones(ranges(zones, blocks, block_bytes)?),
            Pick::Blend(ways) => {
                let weights: Vec<f64> = ways.iter().map(|way| way.percent).collect();
                let choices = thresholds(&weights)?.into_iter().zip(ways).map(|(below, way)| {
                    let distribution = Distribution::new(&way.pick, blocks, block_bytes, seed)?;
                    Ok(Choice { below, distribution })
                });
                Law::Blend(choices.collect::<Result<_, Diagnostic>>()?)
            }
            other => return Err(refused(format!("{other:?} is walked, not drawn"))),
        };
        Ok(Distribution { blocks, law })
    }

    /// Whether `pick` is one that is drawn, without memory.
    pub fn draws(pick: &Pick) -> bool {
        match pick {
            Pick::Uniform
            | Pick::Zipf { .. }
            | Pick::Pareto { .. }
            | Pick::Normal { .. }
            | Pick::Zones(_) => true,
            Pick::Blend(ways) => ways.iter().all(|way| Distribution::draws(&way.pick)),
            _ => false,
        }
    }

    /// The next block, below the number of blocks.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match &self.law {
            Law::Uniform => random.below(self.blocks),
            Law::Zipf { ranks, scatter } => scatter.at(ranks.draw(random)),
            Law::Pareto { power, scatter } => scatter.at(self.pareto_rank(*power, random)),
            Law::Normal { middle, deviation } => self.normal_block(*middle, *deviation, random),
            Law::Zones(ranges) => {
                let draw = random.next();
                let range = chosen(ranges, |range| draw <= range.below);
                range.start + random.below(range.blocks)
            }
            Law::Blend(choices) => {
                let draw = random.next();
                chosen(choices, |choice| draw <= choice.below).distribution.draw(random)
            }
        }
    }

    #[inline]
    fn pareto_rank(&self, power: f64, random: &mut Random) -> u64 {
        let rank = self.blocks as f64 * libm::pow(random.unit(), power);
        (rank as u64).min(self.blocks - 1)
    }

    #[inline]
    fn normal_block(&self, middle: f64, deviation: f64, random: &mut Random) -> u64 {
        loop {
            let place = middle + deviation * random.normal();
            if place >= 0.0 && (place as u64) < self.blocks {
                return place as u64;
            }
        }
    }
}

/// The first that takes the draw; the last one's bound is the largest number, so there always is one.
#[inline]
fn chosen<T>(choices: &[T], takes: impl Fn(&T) -> bool) -> &T {
    choices.iter().find(|choice| takes(choice)).unwrap_or(&choices[choices.len() - 1])
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&Origin::Default, message)
}

fn normal(deviation_percent: f64, blocks: u64) -> Result<Law, Diagnostic> {
    // Draws outside the span are drawn again; wider than this it would be a slow way to draw evenly.
    if !(0.0..=1000.0).contains(&deviation_percent) {
        return Err(refused(format!(
            "normal deviation {deviation_percent} %: expected 0 to 1000 percent of the span"
        )));
    }
    let blocks = blocks as f64;
    Ok(Law::Normal { middle: blocks / 2.0, deviation: blocks * deviation_percent / 100.0 })
}

/// Upper bounds (inclusive) of the shares of all 64-bit numbers that belong to each weight.
fn thresholds(weights: &[f64]) -> Result<Vec<u64>, Diagnostic> {
    let total: f64 = weights.iter().sum();
    if weights.iter().any(|weight| *weight < 0.0 || !weight.is_finite()) || total <= 0.0 {
        return Err(refused(format!("shares {weights:?}: expected percentages, at least one above 0")));
    }
    let mut sum = 0.0;
    let mut bounds: Vec<u64> = weights
        .iter()
        .map(|weight| {
            sum += weight;
            // Saturates at the largest number; a share of 0 gets the same bound as the one before it, hence nothing.
            (sum / total * 18_446_744_073_709_551_616.0) as u64
        })
        .collect();
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    bounds[last..].fill(u64::MAX);
    Ok(bounds)
}

fn ranges(zones: &[Zone], blocks: u64, block_bytes: u64) -> Result<Vec<Range>, Diagnostic> {
    let weights: Vec<f64> = zones.iter().map(|zone| zone.accesses_percent).collect();
    let bounds = thresholds(&weights)?;
    let (mut start, mut percent) = (0, 0.0);
    let mut ranges = Vec::with_capacity(zones.len());
    for (number, (zone, below)) in zones.iter().zip(bounds).enumerate() {
        let end = match zone.extent {
            Extent::Bytes(bytes) => start + bytes / block_bytes.max(1),
            // Percentages are summed before they are rounded, so that no block falls between two zones.
            Extent::Percent(part) if start == share(percent, blocks) => share(percent + part, blocks),
            Extent::Percent(part) => start + share(part, blocks),
            Extent::Rest => blocks,
        };
        percent += if let Extent::Percent(part) = zone.extent { part } else { 0.0 };
        if end > blocks {
            return Err(refused(format!("zone {} ends beyond the span", number + 1))
                .hint("the zones' parts of the span may sum to 100 percent at most"));
        }
        if end <= start && zone.accesses_percent > 0.0 {
            return Err(refused(format!("zone {} is smaller than one block but has accesses", number + 1)));
        }
        if zone.accesses_percent > 0.0 {
            ranges.push(Range { below, start, blocks: end - start });
        }
        start = end.max(start);
    }
    Ok(ranges)
}

fn share(percent: f64, blocks: u64) -> u64 {
    (percent / 100.0 * blocks as f64).round() as u64
}

/// Zipf ranks 0..n with P(rank k) ∝ (k+1)^-theta, exactly, at constant cost for any n and theta.
///
/// Rejection-inversion: draw from the integral of the continuous x^-theta, round, and reject the little by which the
/// rounded bar sticks out. Above 2^53 ranks the bars are wider than one, as `f64` is.
/// Source: Hörmann, Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996.
#[derive(Clone, Debug)]
struct Zipf {
    ranks: f64,
    theta: f64,
    /// The integral up to the left end of the first bar and to the right end of the last.
    first: f64,
    last: f64,
    /// Draws this close to their integer are accepted unseen.
    squeeze: f64,
}

impl Zipf {
    fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Zipf { ranks: ranks as f64, theta, first: 0.0, last: 0.0, squeeze: 0.0 };
        // The first bar is cut to exactly the probability of rank 0, so that it is never rejected.
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.ranks + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.bar(2.0));
        zipf
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let bar = ((x + 0.5) as u64 as f64).clamp(1.0, self.ranks);
            if bar - x <= self.squeeze || area >= self.integral(bar + 0.5) - self.bar(bar) {
                // The last rank may round up to a power of two above it.
                return (bar as u64).min(self.ranks as u64) - 1;
            }
        }
    }

    /// x^-theta.
    #[inline]
    fn bar(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of t^-theta from 1 to x: (x^(1-theta) - 1) / (1-theta), and ln x where theta is 1.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let exponent = (1.0 - self.theta) * log;
        match exponent.abs() < 1e-8 {
            true => log * (1.0 + exponent / 2.0),
            false => log * libm::expm1(exponent) / exponent,
        }
    }

    /// The x of which [`Zipf::integral`] is `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may push the argument a hair beyond the pole of the logarithm.
        let step = (area * (1.0 - self.theta)).max(-1.0);
        match step.abs() < 1e-8 {
            true => libm::exp(area * (1.0 - step / 2.0)),
            false => libm::exp(area * libm::log1p(step) / step),
        }
    }
}

/// How many bytes each operation moves.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// Always so many.
    Fixed(u64),
    /// Evenly, `least` + i·`step` for i below `count`.
    Uniform {
        /// Smallest, bytes.
        least: u64,
        /// Distance of neighbours, bytes.
        step: u64,
        /// How many different sizes.
        count: u64,
    },
    /// By a table of inclusive upper bounds of the 64-bit draw, and sizes in bytes.
    Table(Vec<(u64, u64)>),
    /// By a table of inclusive upper bounds of the 64-bit draw, and ways to draw.
    Blend(Vec<(u64, Sizes)>),
    /// Gamma distributed, at least 1 byte.
    Gamma {
        /// Shape, > 0.
        shape: f64,
        /// Mean divided by shape, bytes.
        scale: f64,
    },
    /// Normally distributed, at least 1 byte.
    Normal {
        mean: f64,
        deviation: f64,
    },
    Poisson {
        mean: f64,
    },
}

impl Sizes {
    /// The sizes that `size` says.
    ///
    /// # Errors
    /// A table or a range that is empty or upside down, a gamma without positive parameters, or a size that another
    /// step or the file decides.
    pub fn new(size: &Size) -> Result<Self, Diagnostic> {
        Ok(match size {
            Size::Fixed(bytes) => Sizes::Fixed(*bytes),
            Size::Uniform { least_bytes, most_bytes, .. } if least_bytes > most_bytes => {
                return Err(refused(format!("sizes from {least_bytes} to {most_bytes} bytes: upside down")));
            }
            Size::Uniform { least_bytes: least, most_bytes, step_bytes } => {
                let step = (*step_bytes).max(1);
                Sizes::Uniform { least: *least, step, count: ((most_bytes - least) / step).saturating_add(1) }
            }
            Size::Split(table) => {
                let weights: Vec<f64> = table.iter().map(|(_, percent)| *percent).collect();
                Sizes::Table(thresholds(&weights)?.into_iter().zip(table.iter().map(|row| row.0)).collect())
            }
            Size::Blend(ways) => {
                let weights: Vec<f64> = ways.iter().map(|(_, percent)| *percent).collect();
                let rows = thresholds(&weights)?.into_iter().zip(ways);
                Sizes::Blend(
                    rows.map(|(below, way)| Ok((below, Sizes::new(&way.0)?))).collect::<Result<_, _>>()?,
                )
            }
            Size::Gamma { mean_bytes, shape } if *mean_bytes > 0.0 && *shape > 0.0 => {
                Sizes::Gamma { shape: *shape, scale: mean_bytes / shape }
            }
            Size::Gamma { mean_bytes, shape } => {
                return Err(refused(format!(
                    "gamma of mean {mean_bytes} and shape {shape}: both must be above 0"
                )));
            }
            Size::Normal { mean_bytes: mean, deviation_bytes: deviation } => {
                if !mean.is_finite() || !deviation.is_finite() || *deviation < 0.0 {
                    return Err(refused(format!("normal of mean {mean} and deviation {deviation}"))
                        .hint("the deviation is a number from 0 on"));
                }
                Sizes::Normal { mean: *mean, deviation: *deviation }
            }
            Size::Poisson { mean } if *mean > 0.0 && *mean <= POISSON_MOST => Sizes::Poisson { mean: *mean },
            Size::Poisson { mean } => {
                return Err(refused(format!("Poisson of mean {mean}"))
                    .hint(format!("a mean above 0 and at most {POISSON_MOST}")));
            }
            Size::ResultOf(_) | Size::Whole => return Err(refused(format!("{size:?} is not drawn"))),
        })
    }

    /// The next size, bytes.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Uniform { least, step, count } => least + step * random.below(*count),
            Sizes::Table(table) => {
                let draw = random.next();
                chosen(table, |row| draw <= row.0).1
            }
            Sizes::Blend(ways) => {
                let draw = random.next();
                chosen(ways, |way| draw <= way.0).1.draw(random)
            }
            Sizes::Gamma { shape, scale } => ((gamma(*shape, random) * scale).round() as u64).max(1),
            Sizes::Normal { mean, deviation } => ((mean + random.normal() * deviation).round() as u64).max(1),
            Sizes::Poisson { mean } => poisson(*mean, random),
        }
    }
}

/// The largest mean whose exponential is still a number above 0.
const POISSON_MOST: f64 = 700.0;

/// A Poisson variate. Source: Knuth, *The Art of Computer Programming*, volume 2, 3.4.1.
fn poisson(mean: f64, random: &mut Random) -> u64 {
    let (least, mut product, mut count) = (libm::exp(-mean), 1.0, 0);
    loop {
        product *= random.unit_positive();
        if product <= least {
            return count;
        }
        count += 1;
    }
}

/// A gamma variate of scale 1. Source: Marsaglia, Tsang, "A simple method for generating gamma variables", 2000; shapes
/// below 1 by their identity gamma(a) = gamma(a+1)·u^(1/a).
fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        let larger = gamma(shape + 1.0, random);
        return larger * libm::pow(random.unit_positive(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let cube = root * root * root;
        if libm::log(random.unit_positive()) < 0.5 * x * x + d - d * cube + d * libm::log(cube) {
            return d * cube;
        }
    }
}

#[cfg(test)]
mod tests;
