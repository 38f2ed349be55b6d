//! What a store can promise: how rarely it loses data, how rarely it answers nobody, and which value a read has.
//!
//! No test lasts long enough to measure nines. They follow from how often devices and failure domains are lost, how soon a
//! piece is rebuilt, and how many pieces a read and a write wait for. Each is computed twice: by a Markov chain ([`chain`])
//! and by Monte Carlo ([`trial`], [`moment`]), which shares no formula with it.
//!
//! Lives and repairs are exponential and independent, and each lost piece is rebuilt on its own (a declustered store, or as
//! many spares as losses). A failure domain that holds several pieces takes all of them with it.

pub mod chain;
pub mod moment;
pub mod trial;

/// How a store keeps its data, and how its parts fail. Times are years, rates are per year.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreDesign {
    /// Pieces of each group of data: replicas, or k + m; 1 to [`MOST_PIECES`].
    pub pieces: u32,
    /// Pieces that give the data back: 1 of replicas, k of a code.
    pub needed: u32,
    /// Failure domains that the pieces of a group are spread over evenly; 1 to `pieces`.
    pub domains: u32,
    /// Losses of a device's data.
    pub device_rate: f64,
    /// Losses of all data in a domain.
    pub domain_rate: f64,
    /// Mean time from the loss of a piece to its replacement.
    pub repair: f64,
    /// Outages of a domain, which lose nothing.
    pub outage_rate: f64,
    /// Mean length of an outage.
    pub outage: f64,
    /// Pieces that a read waits for, at least `needed`.
    pub read_quorum: u32,
    /// Pieces that a write waits for, at least `needed`.
    pub write_quorum: u32,
    /// Groups that hold all the data together.
    pub groups: u64,
}

/// Pieces of one group: they are the bits of a word.
pub const MOST_PIECES: u32 = 64;

impl StoreDesign {
    /// Pieces in a domain: the first domains have one more where they do not divide evenly.
    pub fn pieces_in(&self, domain: u32) -> u32 {
        self.pieces / self.domains + u32::from(domain < self.pieces % self.domains)
    }

    /// Pieces that may be lost at once.
    pub fn spare(&self) -> u32 {
        self.pieces - self.needed
    }

    /// The mean number of failures of a group's parts that are not repaired yet. From 1 on something always fails, and there
    /// is no time in which all is well.
    pub fn failures_at_once(&self) -> f64 {
        let (pieces, domains) = (f64::from(self.pieces), f64::from(self.domains));
        let lost = (pieces * self.device_rate + domains * self.domain_rate) * self.repair;
        lost + domains * self.outage_rate * self.outage
    }

    fn consistency(&self) -> Consistency {
        let meets = self.read_quorum + self.write_quorum >= self.pieces + self.needed;
        match (meets, 2 * self.write_quorum > self.pieces) {
            (true, true) => Consistency::Strong,
            (true, false) => Consistency::Unordered,
            (false, _) => Consistency::Eventual,
        }
    }
}

/// Rate of a yearly share that fails, when failures are exponential.
pub fn rate_of_share(share: f64) -> f64 {
    -(-share).ln_1p()
}

/// A figure that was computed and sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Promise {
    pub formula: f64,
    pub sampled: f64,
    /// Standard error of the sampled one, a share of it.
    pub error: f64,
}

impl Promise {
    /// How far the two are apart, a share of the formula's; 0 where both are 0.
    pub fn distance(&self) -> f64 {
        if self.formula == self.sampled { 0.0 } else { (self.sampled / self.formula - 1.0).abs() }
    }

    /// Nines of the formula's complement; none: nothing ever fails.
    pub fn nines(&self) -> Option<f64> {
        (self.formula > 0.0).then(|| -self.formula.log10())
    }
}

/// Which value a read has after a write that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The last one, and writes have one order.
    Strong,
    /// The last one; of two writes at once both may succeed.
    Unordered,
    /// Perhaps one before.
    Eventual,
}

impl Consistency {
    pub fn name(self) -> &'static str {
        match self {
            Consistency::Strong => "strong",
            Consistency::Unordered => "strong reads, unordered writes",
            Consistency::Eventual => "eventual",
        }
    }
}

/// What a design promises.
#[derive(Clone, Debug, PartialEq)]
pub struct Promises {
    /// Years until a group has lost its data, on average.
    pub years_to_loss: Promise,
    /// Probability that a group loses its data within a year.
    pub group_lost: Promise,
    /// Probability that any group does.
    pub any_lost: Promise,
    /// Share of the time in which reads find too few pieces.
    pub no_reads: Promise,
    /// Share of the time in which writes find too few pieces.
    pub no_writes: Promise,
    /// Probability that a read at random pieces, right after a write, has an older value.
    pub stale_read: Promise,
    pub consistency: Consistency,
    /// Losses of pieces that a write survives as soon as it is acknowledged.
    pub survived: u32,
}

/// Computes and samples what a design promises, which must be within the ranges of its fields.
///
/// # Errors
/// The number of states, where the chain has more than [`chain::MOST_STATES`].
pub fn promises(design: &StoreDesign, seed: u64) -> Result<Promises, usize> {
    let years = chain::years_to_loss(design)?;
    let sampled = trial::years_to_loss(design, seed);
    let lost = |groups: f64| {
        let share = |years: f64| -(-groups / years).exp_m1();
        Promise { formula: share(years), sampled: share(sampled.value), error: sampled.error }
    };
    let refused = |quorum, stream| {
        let sampled = moment::unavailability(design, quorum, seed ^ stream);
        let formula = chain::unavailability(design, quorum);
        Promise { formula, sampled: sampled.value, error: sampled.error }
    };
    let stale = trial::stale_read(design, seed ^ 3);
    Ok(Promises {
        years_to_loss: Promise { formula: years, sampled: sampled.value, error: sampled.error },
        group_lost: lost(1.0),
        any_lost: lost(design.groups as f64),
        no_reads: refused(design.read_quorum, 1),
        no_writes: refused(design.write_quorum, 2),
        stale_read: Promise { formula: chain::stale_read(design), sampled: stale.value, error: stale.error },
        consistency: design.consistency(),
        survived: design.write_quorum - design.needed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: f64 = 1.0 / 8766.0;

    fn design(pieces: u32, needed: u32, domains: u32) -> StoreDesign {
        let majority = pieces / 2 + 1;
        StoreDesign {
            pieces,
            needed,
            domains,
            device_rate: 0.02,
            domain_rate: 0.0,
            repair: 12.0 * HOUR,
            outage_rate: 2.0,
            outage: 0.5 * HOUR,
            read_quorum: if needed == 1 { pieces + 1 - majority } else { needed },
            write_quorum: if needed == 1 { majority } else { (needed + 1).min(pieces) },
            groups: 1000,
        }
    }

    fn agrees(promise: &Promise, what: &str, design: &StoreDesign) {
        assert!(promise.distance() < 0.02, "{what}: {promise:?} of {design:?}");
    }

    #[test]
    fn formula_and_monte_carlo_agree_within_two_percent() {
        let stores = [(1, 1, 1), (2, 1, 2), (3, 1, 3), (5, 1, 3), (6, 4, 6), (12, 8, 4), (11, 8, 11)];
        let parts = [(0.01, 0.0, 6.0), (0.05, 0.002, 72.0), (0.4, 0.05, 300.0)];
        for (index, (pieces, needed, domains)) in stores.into_iter().enumerate() {
            let (device_rate, domain_rate, repair) = parts[index % parts.len()];
            let repair = repair * HOUR;
            let design = StoreDesign { device_rate, domain_rate, repair, ..design(pieces, needed, domains) };
            let promises = promises(&design, 7).unwrap();
            agrees(&promises.years_to_loss, "loss", &design);
            agrees(&promises.group_lost, "loss in a year", &design);
            agrees(&promises.any_lost, "any loss", &design);
            agrees(&promises.no_reads, "reads", &design);
            agrees(&promises.no_writes, "writes", &design);
            agrees(&promises.stale_read, "stale", &design);
        }
    }

    #[test]
    fn a_seed_gives_the_same_promises_again() {
        let design = design(3, 1, 3);
        assert_eq!(promises(&design, 4), promises(&design, 4));
        assert_ne!(promises(&design, 4).unwrap().years_to_loss, promises(&design, 5).unwrap().years_to_loss);
    }

    #[test]
    fn quorums_make_the_consistency() {
        let consistency = |pieces, needed, read_quorum, write_quorum| {
            StoreDesign { read_quorum, write_quorum, ..design(pieces, needed, pieces) }.consistency()
        };
        assert_eq!(consistency(3, 1, 2, 2), Consistency::Strong);
        assert_eq!(consistency(3, 1, 3, 1), Consistency::Unordered);
        assert_eq!(consistency(3, 1, 1, 2), Consistency::Eventual);
        assert_eq!(consistency(11, 8, 8, 11), Consistency::Strong);
        assert_eq!(consistency(11, 8, 8, 10), Consistency::Eventual);
    }

    #[test]
    fn a_yearly_share_is_a_rate() {
        assert!((rate_of_share(0.5) - std::f64::consts::LN_2).abs() < 1e-12);
    }
}
