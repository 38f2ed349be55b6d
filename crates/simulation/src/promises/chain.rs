//! The closed formulas: mean time to loss of a Markov chain, its stationary distribution, and the overlap of quorums.
//!
//! States are eliminated without a subtraction, so that a mean of 10²⁰ years has as many digits as one of ten. Source:
//! Grassmann, Taksar, Heyman, "Regenerative analysis and steady state distributions for Markov chains", 1985.

use std::collections::BTreeMap;

use super::StoreDesign;

/// States of a chain that are eliminated, at most: the work grows with their cube.
pub const MOST_STATES: usize = 1200;

/// Lost pieces of each domain; domains of equal size are in descending order, as it does not matter which one it is.
type State = Vec<u32>;

/// The mean time until too few pieces are left, from the moment all are there.
///
/// With one piece in each domain it is the birth-death chain of Angus, "On computing MTBF for a k-out-of-n:G repairable
/// system", 1988.
///
/// # Errors
/// The number of states, where there are too many.
pub fn years_to_loss(design: &StoreDesign) -> Result<f64, usize> {
    let mut known: BTreeMap<State, usize> = BTreeMap::new();
    let mut states: Vec<State> = vec![vec![0; design.domains as usize]];
    known.insert(states[0].clone(), 0);
    let (mut rates, mut losses): (Vec<Vec<(usize, f64)>>, Vec<f64>) = (Vec::new(), Vec::new());
    while rates.len() < states.len() {
        let (mut row, mut loss) = (Vec::new(), 0.0);
        for (next, rate) in transitions(design, &states[rates.len()]) {
            if next.iter().sum::<u32>() > design.spare() {
                loss += rate;
                continue;
            }
            let index = *known.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                states.len() - 1
            });
            row.push((index, rate));
        }
        rates.push(row);
        losses.push(loss);
        if states.len() > MOST_STATES {
            return Err(states.len());
        }
    }
    Ok(mean_absorption(&rates, losses))
}

/// What can happen in a state, with its rate.
fn transitions(design: &StoreDesign, state: &State) -> Vec<(State, f64)> {
    let mut found = Vec::new();
    for (domain, &lost) in state.iter().enumerate() {
        let pieces = design.pieces_in(domain as u32);
        let mut add = |now: u32, rate: f64| {
            if rate > 0.0 && now != lost {
                let mut next = state.clone();
                next[domain] = now;
                found.push((sorted(design, next), rate));
            }
        };
        add(lost + 1, f64::from(pieces - lost) * design.device_rate);
        add(pieces, design.domain_rate);
        add(lost.saturating_sub(1), f64::from(lost) / design.repair);
    }
    found
}

fn sorted(design: &StoreDesign, mut state: State) -> State {
    let (larger, smaller) = state.split_at_mut((design.pieces % design.domains) as usize);
    larger.sort_unstable_by(|a, b| b.cmp(a));
    smaller.sort_unstable_by(|a, b| b.cmp(a));
    state
}

/// The mean time from the first state to the absorbing one, by eliminating the others from the last on.
fn mean_absorption(rates: &[Vec<(usize, f64)>], mut losses: Vec<f64>) -> f64 {
    let count = rates.len();
    let mut matrix = vec![vec![0.0; count]; count];
    for (from, row) in rates.iter().enumerate() {
        for (to, rate) in row {
            matrix[from][*to] += rate;
        }
    }
    // The time spent in a state and in the eliminated ones that follow it, times the rate at which it is left.
    let mut spent = vec![1.0; count];
    for last in (1..count).rev() {
        let row: Vec<f64> = matrix[last][..last].to_vec();
        let leaves: f64 = row.iter().sum::<f64>() + losses[last];
        let (last_spent, last_loss) = (spent[last], losses[last]);
        for from in 0..last {
            let share = matrix[from][last] / leaves;
            if share > 0.0 {
                spent[from] += share * last_spent;
                losses[from] += share * last_loss;
                for (to, rate) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                    matrix[from][to] += share * rate;
                }
            }
        }
    }
    spent[0] / losses[0]
}

/// The share of the time in which fewer than `quorum` pieces can be reached. Domains are independent of each other; what
/// one has lost is the stationary distribution of its own chain, apart from its outages.
pub fn unavailability(design: &StoreDesign, quorum: u32) -> f64 {
    let busy = design.outage_rate * design.outage;
    let out = busy / (1.0 + busy);
    // The probability of each number of pieces that can be reached, by the domains so far.
    let mut reached = vec![1.0];
    for domain in 0..design.domains {
        let pieces = design.pieces_in(domain);
        let lost = lost_in_domain(design, pieces);
        let mut next = vec![0.0; reached.len() + pieces as usize];
        for (before, probability) in reached.iter().enumerate() {
            next[before] += probability * out;
            for (lost, share) in lost.iter().enumerate() {
                next[before + pieces as usize - lost] += probability * share * (1.0 - out);
            }
        }
        reached = next;
    }
    reached[..quorum as usize].iter().sum()
}

/// The stationary probability of each number of lost pieces in a domain of so many.
fn lost_in_domain(design: &StoreDesign, pieces: u32) -> Vec<f64> {
    let count = pieces as usize + 1;
    let mut matrix = vec![vec![0.0; count]; count];
    for (lost, row) in matrix.iter_mut().enumerate() {
        if lost < pieces as usize {
            row[lost + 1] += (pieces as usize - lost) as f64 * design.device_rate;
            row[pieces as usize] += design.domain_rate;
        }
        if lost > 0 {
            row[lost - 1] += lost as f64 / design.repair;
        }
    }
    for last in (1..count).rev() {
        let row: Vec<f64> = matrix[last][..last].to_vec();
        let leaves: f64 = row.iter().sum();
        for (from, rates) in matrix.iter_mut().enumerate().take(last) {
            rates[last] /= leaves;
            let share = rates[last];
            for (to, rate) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                rates[to] += share * rate;
            }
        }
    }
    let mut weight = vec![1.0; count];
    for state in 1..count {
        weight[state] = (0..state).map(|from| weight[from] * matrix[from][state]).sum();
    }
    let total: f64 = weight.iter().sum();
    weight.iter().map(|weight| weight / total).collect()
}

/// The probability that a read of random pieces finds fewer than it needs among those that a write was acknowledged by.
///
/// For replicas it is that of Bailis et al., "Probabilistically bounded staleness for practical partial quorums", 2012,
/// equation 1; for codes the lower tail of the same hypergeometric distribution.
pub fn stale_read(design: &StoreDesign) -> f64 {
    let (pieces, read, written) = (design.pieces, design.read_quorum, design.write_quorum);
    let unwritten = pieces - written;
    let ways = |overlap: u32| match read - overlap <= unwritten {
        true => binomial(written, overlap) * binomial(unwritten, read - overlap),
        false => 0.0,
    };
    (0..design.needed.min(read + 1)).map(ways).sum::<f64>() / binomial(pieces, read)
}

fn binomial(of: u32, chosen: u32) -> f64 {
    if chosen > of {
        return 0.0;
    }
    (0..chosen).fold(1.0, |ways, index| ways * f64::from(of - index) / f64::from(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: f64 = 1.0 / 8766.0;

    fn design(pieces: u32, needed: u32, domains: u32) -> StoreDesign {
        StoreDesign {
            pieces,
            needed,
            domains,
            device_rate: 0.03,
            domain_rate: 0.0,
            repair: 24.0 * HOUR,
            outage_rate: 0.0,
            outage: 0.0,
            read_quorum: 1,
            write_quorum: 1,
            groups: 1,
        }
    }

    fn is_near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn a_mirror_has_the_textbook_mean_time_to_loss() {
        // (3λ + μ) / 2λ²: Patterson, Gibson, Katz, "A case for redundant arrays of inexpensive disks", 1988, exact.
        let (failure, repair) = (0.03, 1.0 / (24.0 * HOUR));
        let mirror = (3.0 * failure + repair) / (2.0 * failure * failure);
        is_near(years_to_loss(&design(2, 1, 2)).unwrap(), mirror);
    }

    /// The sum over the paths of a birth-death chain: every term is positive.
    fn birth_death(design: &StoreDesign) -> f64 {
        let failure = |lost: u32| f64::from(design.pieces - lost) * (design.device_rate + design.domain_rate);
        let repair = |lost: u32| f64::from(lost) / design.repair;
        let inner = |to: u32| -> f64 {
            (0..=to)
                .map(|from| (from + 1..=to).map(|i| repair(i) / failure(i)).product::<f64>() / failure(from))
                .sum()
        };
        (0..=design.spare()).map(inner).sum()
    }

    #[test]
    fn one_piece_in_a_domain_is_a_birth_death_chain() {
        for (pieces, needed) in [(3, 1), (14, 10), (20, 17), (9, 1)] {
            let design = StoreDesign { domain_rate: 0.001, ..design(pieces, needed, pieces) };
            is_near(years_to_loss(&design).unwrap(), birth_death(&design));
        }
    }

    #[test]
    fn a_domain_with_too_many_pieces_is_the_weak_one() {
        // Two of six pieces may be lost, and each of two domains has three: the first domain that is lost is the end.
        let design = StoreDesign { domain_rate: 0.5, device_rate: 1e-9, ..design(6, 4, 2) };
        assert!((years_to_loss(&design).unwrap() - 1.0).abs() < 1e-3);
        let spread = StoreDesign { domains: 6, ..design };
        assert!(years_to_loss(&spread).unwrap() > 1e3);
    }

    #[test]
    fn availability_is_that_of_independent_pieces() {
        let design =
            StoreDesign { outage_rate: 10.0, outage: 1.0 / 90.0, device_rate: 1e-12, ..design(3, 1, 3) };
        // Each is out a tenth of the time.
        is_near(unavailability(&design, 1), 0.001);
        is_near(unavailability(&design, 2), 0.001 + 3.0 * 0.01 * 0.9);
        let one = StoreDesign { domains: 1, ..design };
        is_near(unavailability(&one, 1), 0.1);
    }

    #[test]
    fn lost_pieces_of_a_domain_are_binomial_where_nothing_takes_all_of_them() {
        let design = StoreDesign { device_rate: 1.0, repair: 0.25, ..design(3, 1, 1) };
        // Each is lost a fifth of the time.
        for (lost, expected) in [0.512, 0.384, 0.096, 0.008].into_iter().enumerate() {
            is_near(lost_in_domain(&design, 3)[lost], expected);
        }
    }

    #[test]
    fn quorums_that_overlap_are_never_stale() {
        let stale = |pieces, needed, read_quorum, write_quorum| {
            stale_read(&StoreDesign { read_quorum, write_quorum, ..design(pieces, needed, pieces) })
        };
        is_near(stale(3, 1, 1, 1), 2.0 / 3.0);
        is_near(stale(3, 1, 1, 2), 1.0 / 3.0);
        assert_eq!(stale(3, 1, 2, 2), 0.0);
        // Of six, four are needed and five were written: the sixth is among the four that are read in two cases of three.
        is_near(stale(6, 4, 4, 5), 2.0 / 3.0);
        assert_eq!(stale(6, 4, 4, 6), 0.0);
    }

    #[test]
    fn too_many_states_are_counted_and_not_solved() {
        assert!(years_to_loss(&design(64, 1, 9)).is_err());
    }
}
