//! Monte Carlo: pieces and domains fail and are repaired one by one, by a seeded stream of random numbers.
//!
//! Losses are far too rare to wait for, so failures are made frequent and each history is weighed by how much more frequent
//! (importance sampling by balanced failure biasing). A cycle begins and ends where all is well; the mean time to loss is
//! the mean length of a cycle over the probability of a loss in it. The time in a state is taken at its mean, which varies
//! less than a drawn one. Source: Goyal, Shahabuddin, Heidelberger, Nicola, Glynn, "A unified framework for simulating
//! Markovian models of highly dependable systems", 1992.
//!
//! Availability is sampled at a moment ([`moment`]).

use super::StoreDesign;
use crate::random::Random;

/// Standard error that is enough, a share of the estimate.
const ENOUGH: f64 = 0.005;
/// Cycles between two looks at the error.
const BATCH: u64 = 10_000;
/// Cycles of one estimate, at most.
const MOST_CYCLES: u64 = 500_000;

/// What was sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Standard error, a share of the value.
    pub error: f64,
}

/// Mean and variance of samples, as they come.
#[derive(Default)]
struct Sum {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, sample: f64) {
        self.count += 1.0;
        self.sum += sample;
        self.squares += sample * sample;
    }

    fn estimate(&self) -> Estimate {
        let value = self.sum / self.count;
        let variance = (self.squares / self.count - value * value).max(0.0);
        let error = if value > 0.0 { (variance / self.count).sqrt() / value } else { 0.0 };
        Estimate { value, error }
    }
}

/// The mean of what is drawn, as exactly as it is needed or may cost.
pub fn sampled(mut draw: impl FnMut() -> f64) -> Estimate {
    let mut sum = Sum::default();
    let mut cycles = 0;
    loop {
        (0..BATCH).for_each(|_| sum.add(draw()));
        cycles += BATCH;
        let estimate = sum.estimate();
        let is_enough = estimate.value > 0.0 && estimate.error < ENOUGH;
        if is_enough || cycles >= MOST_CYCLES {
            return estimate;
        }
    }
}

fn ratio(above: Estimate, below: Estimate) -> Estimate {
    let error = (above.error * above.error + below.error * below.error).sqrt();
    Estimate { value: above.value / below.value, error }
}

/// The mean time until too few pieces are left.
pub fn years_to_loss(design: &StoreDesign, seed: u64) -> Estimate {
    let mut group = Group::new(design, seed);
    let length = sampled(|| group.cycle(false).time);
    let lost = sampled(|| group.cycle(true).hit);
    ratio(length, lost)
}

/// The probability that a read of random pieces finds fewer than it needs of those that were written. Pieces without the
/// write are drawn more often than they would be, and weighed.
pub fn stale_read(design: &StoreDesign, seed: u64) -> Estimate {
    let missed = design.pieces - design.write_quorum;
    if design.read_quorum >= missed + design.needed {
        return Estimate { value: 0.0, error: 0.0 };
    }
    let mut random = Random::from_seed(seed, 0);
    let bias = 1.0 - f64::from(design.needed - 1) / f64::from(design.read_quorum);
    sampled(|| {
        let (mut written, mut unwritten, mut found, mut weight) = (design.write_quorum, missed, 0, 1.0);
        for _ in 0..design.read_quorum {
            let natural = f64::from(unwritten) / f64::from(written + unwritten);
            let biased = if unwritten == 0 { 0.0 } else { bias.max(natural) };
            if random.unit() < biased {
                weight *= natural / biased;
                unwritten -= 1;
            } else {
                weight *= (1.0 - natural) / (1.0 - biased);
                written -= 1;
                found += 1;
                if found == design.needed {
                    return 0.0;
                }
            }
        }
        weight
    })
}

/// The position of one of the set bits of a word.
fn bit(random: &mut Random, mut word: u64) -> u32 {
    for _ in 0..random.below(u64::from(word.count_ones())) {
        word &= word - 1;
    }
    word.trailing_zeros()
}

/// What a cycle had.
#[derive(Default)]
struct Cycle {
    /// Its weight, if too few pieces were left; else 0.
    hit: f64,
    time: f64,
}

/// What happens: a piece is lost, a domain is, a piece is rebuilt.
const KINDS: usize = 3;
const PIECE_LOST: usize = 0;
const DOMAIN_LOST: usize = 1;
const PIECE_REBUILT: usize = 2;

/// A group of pieces in its domains; each piece is a bit.
struct Group<'a> {
    design: &'a StoreDesign,
    random: Random,
    /// The pieces of each domain.
    members: Vec<u64>,
    lost: u64,
}

impl<'a> Group<'a> {
    fn new(design: &'a StoreDesign, seed: u64) -> Self {
        let pieces = |domain| (0..design.pieces).filter(move |piece| piece % design.domains == domain);
        let members = |domain| pieces(domain).fold(0, |word, piece| word | 1 << piece);
        Group {
            design,
            random: Random::from_seed(seed, 0),
            members: (0..design.domains).map(members).collect(),
            lost: 0,
        }
    }

    /// Domains with something left to lose.
    fn laden(&self) -> u64 {
        let laden = self.members.iter().enumerate().filter(|(_, members)| **members & !self.lost != 0);
        laden.fold(0, |word, (domain, _)| word | 1 << domain)
    }

    /// What each kind can happen to.
    fn subjects(&self) -> [u64; KINDS] {
        let there = (u64::MAX >> (64 - self.design.pieces)) & !self.lost;
        [there, if self.design.domain_rate > 0.0 { self.laden() } else { 0 }, self.lost]
    }

    /// One cycle, from all there to all there, or to a loss.
    fn cycle(&mut self, is_biased: bool) -> Cycle {
        self.lost = 0;
        let (mut cycle, mut weight) = (Cycle::default(), 1.0);
        let each = [self.design.device_rate, self.design.domain_rate, 1.0 / self.design.repair];
        loop {
            let subjects = self.subjects();
            let rates = std::array::from_fn(|kind| each[kind] * f64::from(subjects[kind].count_ones()));
            cycle.time += weight / rates.iter().sum::<f64>();
            let (kind, factor) = draw(&mut self.random, &rates, is_biased);
            weight *= factor;
            let which = bit(&mut self.random, subjects[kind]);
            match kind {
                PIECE_LOST => self.lost |= 1 << which,
                DOMAIN_LOST => self.lost |= self.members[which as usize],
                _ => self.lost &= !(1 << which),
            }
            if self.lost.count_ones() > self.design.spare() {
                return Cycle { hit: weight, ..cycle };
            }
            if self.lost == 0 {
                return cycle;
            }
        }
    }
}

/// What happens next, and how much less likely it truly is than it was made.
fn draw(random: &mut Random, rates: &[f64; KINDS], is_biased: bool) -> (usize, f64) {
    let failures = rates[PIECE_LOST] + rates[DOMAIN_LOST];
    let natural = failures / (failures + rates[PIECE_REBUILT]);
    // All is well: only failures happen.
    let is_well = rates[PIECE_REBUILT] == 0.0;
    let biased = if is_well {
        1.0
    } else if is_biased {
        bias(natural)
    } else {
        natural
    };
    if random.unit() >= biased {
        return (PIECE_REBUILT, (1.0 - natural) / (1.0 - biased));
    }
    // Half by their rates, half evenly, so that rare losses that take many pieces at once are seen as well.
    let truly = rates[DOMAIN_LOST] / failures;
    let made = if is_biased && truly > 0.0 { 0.5 * truly + 0.25 } else { truly };
    match random.unit() < made {
        true => (DOMAIN_LOST, natural / biased * truly / made),
        false => (PIECE_LOST, natural / biased * (1.0 - truly) / (1.0 - made)),
    }
}

/// How likely the next event is made a failure. Where failures are frequent anyway they are left alone: weights of long
/// histories would spread.
fn bias(natural: f64) -> f64 {
    match natural {
        natural if natural < 0.1 => 0.8,
        natural if natural < 0.5 => 0.5,
        natural => natural,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_any_of_the_set_ones() {
        let mut random = Random::from_seed(1, 0);
        let mut seen = 0;
        (0..200).for_each(|_| seen |= 1u64 << bit(&mut random, 0x8000_0000_0010_0001));
        assert_eq!(seen, 0x8000_0000_0010_0001);
    }

    #[test]
    fn weights_make_up_for_the_bias() {
        let mut random = Random::from_seed(2, 0);
        let rates = [0.2, 0.01, 5.0];
        let mut sums = [0.0; KINDS];
        const DRAWS: usize = 200_000;
        for _ in 0..DRAWS {
            let (kind, weight) = draw(&mut random, &rates, true);
            sums[kind] += weight / DRAWS as f64;
        }
        for (sum, rate) in sums.iter().zip(rates) {
            assert!((sum - rate / 5.21).abs() < 0.01 * rate.max(0.1), "{sums:?}");
        }
    }
}
