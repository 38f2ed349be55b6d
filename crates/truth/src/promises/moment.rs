//! Monte Carlo of availability: the state of each domain and each piece at a random moment.
//!
//! What a domain has lost as a whole is over as its pieces are rebuilt; how long ago it was lost is exponential. Given that
//! age its pieces are independent chains of two states, which began lost. Moments with too few pieces are rare, so moments
//! are drawn from several laws that make outages, lost pieces and young losses frequent, and are weighed by all of them
//! together (the balance heuristic of Veach, Guibas, "Optimally combining sampling techniques for Monte Carlo rendering",
//! 1995), so that no sample weighs much more than the others, whichever of them made it.

use super::StoreDesign;
use super::trial::{Estimate, Random, sampled};

/// The share of the time in which fewer than `quorum` pieces can be reached.
pub fn unavailability(design: &StoreDesign, quorum: u32, seed: u64) -> Estimate {
    let mut random = Random::new(seed);
    let store = Store::new(design);
    let laws = store.laws(quorum);
    let mut next = 0;
    let mut densities = vec![0.0; laws.len()];
    sampled(|| {
        // The laws in turn: each has the same share of the samples.
        next = (next + 1) % laws.len();
        let reached = store.draw(&laws, next, &mut random, &mut densities);
        // The first is the true one.
        if reached < quorum { densities[0] * laws.len() as f64 / densities.iter().sum::<f64>() } else { 0.0 }
    })
}

/// What makes moments: how often a domain is drawn as lost not long ago, and out, and a piece as lost.
struct SamplingLaw {
    young: f64,
    out: f64,
    lost: f64,
}

struct Store<'a> {
    design: &'a StoreDesign,
    /// Share of the time in which a domain is out.
    out: f64,
    /// Share of the time in which a piece is lost by itself.
    lost: f64,
    /// How fast a piece forgets that its domain was lost, per year.
    forgets: f64,
}

impl<'a> Store<'a> {
    fn new(design: &'a StoreDesign) -> Self {
        let busy = design.outage_rate * design.outage;
        let forgets = design.device_rate + 1.0 / design.repair;
        Store { design, out: busy / (1.0 + busy), lost: design.device_rate / forgets, forgets }
    }

    fn laws(&self, quorum: u32) -> Vec<SamplingLaw> {
        // About so many must be down, and not always all of them.
        let often = f64::from(self.design.pieces - quorum + 1) / f64::from(self.design.pieces);
        let often = often.min(0.8);
        let choices = |makes: bool| if makes { 0..2 } else { 0..1 };
        let mut laws = Vec::new();
        for young in choices(self.design.domain_rate > 0.0) {
            for out in choices(self.out > 0.0) {
                for lost in choices(true) {
                    // Where several causes are frequent, each has its part of what is down.
                    let each = often / f64::from((young + out + lost).max(1));
                    let out = (f64::from(out) * each).max(self.out);
                    laws.push(SamplingLaw {
                        young: f64::from(young) * each,
                        out,
                        lost: f64::from(lost) * each,
                    });
                }
            }
        }
        let share = |of: f64| (often * of / (self.out + self.lost)).max(of);
        laws.push(SamplingLaw { young: 0.0, out: share(self.out), lost: share(self.lost) });
        laws
    }

    /// The density of an age of the last loss of a domain, when it is drawn young so often.
    fn age_density(&self, age: f64, young: f64) -> f64 {
        let density = |rate: f64| rate * (-rate * age).exp();
        young * density(self.forgets) + (1.0 - young) * density(self.design.domain_rate)
    }

    /// Draws a moment by one of the laws: the pieces that can be reached, and how dense the moment is by each law.
    fn draw(&self, laws: &[SamplingLaw], chosen: usize, random: &mut Random, densities: &mut [f64]) -> u32 {
        densities.fill(1.0);
        let law = &laws[chosen];
        let mut reached = 0;
        for domain in 0..self.design.domains {
            let mut lost = self.lost;
            if self.design.domain_rate > 0.0 {
                let rate = if random.unit() < law.young { self.forgets } else { self.design.domain_rate };
                let age = -(1.0 - random.unit()).ln() / rate;
                lost += (1.0 - lost) * (-self.forgets * age).exp();
                for (density, law) in densities.iter_mut().zip(laws) {
                    *density *= self.age_density(age, law.young);
                }
            }
            let is_out = random.unit() < law.out;
            let (mut there, mut gone) = (0, 0);
            for _ in 0..self.design.pieces_in(domain) {
                if random.unit() < lost.max(law.lost) { gone += 1 } else { there += 1 }
            }
            for (density, law) in densities.iter_mut().zip(laws) {
                let piece = lost.max(law.lost);
                *density *= if is_out { law.out } else { 1.0 - law.out };
                *density *= piece.powi(gone) * (1.0 - piece).powi(there);
            }
            reached += if is_out { 0 } else { there };
        }
        reached as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_all_moments_sum_to_one() {
        let design = StoreDesign {
            pieces: 5,
            needed: 3,
            domains: 3,
            device_rate: 0.3,
            domain_rate: 0.1,
            repair: 0.02,
            outage_rate: 4.0,
            outage: 0.001,
            read_quorum: 3,
            write_quorum: 4,
            groups: 1,
        };
        // No store has more pieces than it has: each moment counts.
        let mut random = Random::new(3);
        let store = Store::new(&design);
        let laws = store.laws(4);
        let mut densities = vec![0.0; laws.len()];
        assert_eq!(laws.len(), 9);
        const DRAWS: usize = 60_000;
        let mut sum = 0.0;
        for index in 0..DRAWS {
            store.draw(&laws, index % laws.len(), &mut random, &mut densities);
            sum += densities[0] * laws.len() as f64 / densities.iter().sum::<f64>();
        }
        assert!((sum / DRAWS as f64 - 1.0).abs() < 0.02, "{}", sum / DRAWS as f64);
    }
}
