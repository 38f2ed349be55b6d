//! Whose data a worker works on: the owner's number for each worker, worked out once the world is known.
//!
//! Pure: every rank works out the same table from the same facts and the same seed. Shifts and permutations are
//! bijections; only a random draw may send two workers to one owner.

use iodyno_model::{Job, Phase, Place, Plan, Ranks, WorldFacts};

use crate::names::templates::Owner;
use crate::permutation::Permutation;
use crate::random::{GOLDEN, Random, mix};

/// The owners of one job's data.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// By worker; empty: everybody's data is their own.
    table: Vec<u32>,
    seats: Seats,
}

/// Where a job's workers are.
#[derive(Clone, Debug, Default)]
struct Seats {
    /// Workers of a rank.
    each: u32,
    /// The one rank that has all of them.
    only: Option<u32>,
    /// The node of each rank.
    nodes: Vec<u32>,
}

impl Seats {
    fn rank(&self, worker: u32) -> u32 {
        self.only.unwrap_or(worker / self.each.max(1))
    }

    fn node(&self, worker: u32) -> u32 {
        self.nodes.get(self.rank(worker) as usize).copied().unwrap_or(0)
    }
}

impl Owners {
    /// For a job of a phase, whose workers number `all` over all ranks.
    pub fn new(facts: &WorldFacts, plan: &Plan, phase: &Phase, job: &Job, all: u32) -> Owners {
        let only = if let Ranks::Only(rank) = job.ranks { Some(rank) } else { None };
        let seats = Seats { each: job.workers, only, nodes: facts.nodes.clone() };
        // A job's own seed is whole: whoever gives it says whether repetitions differ.
        let seed = job.seed.unwrap_or_else(|| mix(plan.seed ^ mix(u64::from(phase.repetition) + GOLDEN)));
        let table = match job.place {
            Place::Own => Vec::new(),
            Place::ShiftRanks(by) => rotated(all, u64::from(by)),
            Place::ShiftNodes(by) => shifted(&seats, all, by),
            Place::RandomAway(least) => drawn(&seats, all, least, seed),
            Place::Permuted => permuted(all, seed),
        };
        Owners { table, seats }
    }

    /// Who owns the data that a worker works on.
    pub fn of(&self, number: u32) -> Owner {
        self.itself(self.table.get(number as usize).copied().unwrap_or(number))
    }

    /// A worker as the owner of its own data.
    pub fn itself(&self, worker: u32) -> Owner {
        Owner { worker, rank: self.seats.rank(worker), node: self.seats.node(worker) }
    }
}

fn rotated(all: u32, by: u64) -> Vec<u32> {
    let all = u64::from(all);
    (0..all).map(|number| ((number + by) % all) as u32).collect()
}

fn permuted(all: u32, seed: u64) -> Vec<u32> {
    let permutation = Permutation::new(u64::from(all), seed);
    (0..u64::from(all)).map(|number| permutation.at(number) as u32).collect()
}

/// All workers, node by node, and where in that list each node's begin; one more at the end.
fn by_node(seats: &Seats, all: u32) -> (Vec<u32>, Vec<u64>) {
    let mut order: Vec<u32> = (0..all).collect();
    order.sort_by_key(|worker| seats.node(*worker));
    let begins = |pair: &[u32]| seats.node(pair[0]) != seats.node(pair[1]);
    let changes = order.windows(2).enumerate().filter(|(_, pair)| begins(pair));
    let mut starts: Vec<u64> = changes.map(|(place, _)| place as u64 + 1).collect();
    starts.insert(0, 0);
    starts.push(u64::from(all));
    (order, starts)
}

/// The worker at the same place so many nodes further. Where ranks are dealt to the nodes in turn, that is the one so
/// many ranks further, as IOR and mdtest count; else the list of all workers, node by node, is turned.
fn shifted(seats: &Seats, all: u32, by: u32) -> Vec<u32> {
    let (order, starts) = by_node(seats, all);
    let nodes = starts.len() as u64 - 1;
    if is_dealt(seats, all, nodes) {
        return rotated(all, u64::from(by) * u64::from(seats.each));
    }
    let turn = turn(&starts, u64::from(by)) as usize;
    let mut table = vec![0; all as usize];
    for (place, worker) in order.iter().enumerate() {
        table[*worker as usize] = order[(place + turn) % order.len()];
    }
    table
}

/// Whether rank r is on node r modulo their number, with as many on each.
fn is_dealt(seats: &Seats, all: u32, nodes: u64) -> bool {
    let even = u64::from(all).is_multiple_of(nodes * u64::from(seats.each.max(1)));
    nodes > 1
        && even
        && (0..all).all(|worker| u64::from(seats.node(worker)) == u64::from(seats.rank(worker)) % nodes)
}

/// How far the list of workers, node by node, is turned so that each gets so many nodes further. Of uneven nodes as
/// many workers leave theirs as can: no node is larger than the turn, nor than what the turn leaves.
fn turn(starts: &[u64], by: u64) -> u64 {
    let mut sizes: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let (all, further) = (sizes.iter().sum::<u64>(), (by % sizes.len() as u64) as usize);
    let (largest, wanted) = (sizes[0], sizes[..further].iter().sum::<u64>());
    match further {
        0 => 0,
        _ if 2 * largest > all => largest,
        _ => wanted.clamp(largest, all - largest),
    }
}

/// Anybody at least so many nodes away, counted around the ring of nodes; where none is so far, of the farthest. On one
/// node it is at least somebody else.
fn drawn(seats: &Seats, all: u32, least: u32, seed: u64) -> Vec<u32> {
    let (order, starts) = by_node(seats, all);
    let (nodes, all) = (starts.len() as u64 - 1, u64::from(all));
    let away = u64::from(least).min(nodes / 2);
    let mut random = Random::from_seed(seed, 0x0070_6c61_6365);
    let mut table = vec![0; all as usize];
    for node in 0..nodes {
        // The nodes that are far enough lie side by side in the ring.
        let begin = starts[((node + away) % nodes) as usize];
        let end = starts[((node + nodes - away) % nodes) as usize + 1];
        let room = if end > begin { end - begin } else { end + all - begin };
        for place in starts[node as usize]..starts[node as usize + 1] {
            let found = match away {
                0 if least > 0 && all > 1 => place + 1 + random.below(all - 1),
                0 => random.below(all),
                _ => begin + random.below(room),
            };
            table[order[place as usize] as usize] = order[(found % all) as usize];
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Pattern, Pick, Verb, Workload};

    use super::*;

    fn job(place: Place, workers: u32) -> Job {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 1)));
        Job { workers, place, ..Job::new("j", "null", Vec::new(), workload) }
    }

    fn owners(place: Place, workers: u32, nodes: &[u32], seed: u64) -> Vec<u32> {
        let facts = WorldFacts { nodes: nodes.to_vec(), ..WorldFacts::default() };
        let job = job(place, workers);
        let plan = Plan { seed, ..Plan::default() };
        let all = workers * nodes.len() as u32;
        let owners = Owners::new(&facts, &plan, &Phase::default(), &job, all);
        (0..all).map(|number| owners.of(number).worker).collect()
    }

    fn is_bijection(table: &[u32]) -> bool {
        let mut seen = table.to_vec();
        seen.sort_unstable();
        seen.iter().enumerate().all(|(index, owner)| index as u32 == *owner)
    }

    /// How many read their own node's data.
    fn stay(table: &[u32], workers: u32, nodes: &[u32]) -> usize {
        let node = |worker: u32| nodes[(worker / workers) as usize];
        table.iter().enumerate().filter(|(worker, owner)| node(*worker as u32) == node(**owner)).count()
    }

    #[test]
    fn even_mappings_are_shifted_as_the_field_counts() {
        assert_eq!(owners(Place::ShiftNodes(1), 1, &[0, 0, 1, 1, 2, 2], 0), [2, 3, 4, 5, 0, 1], "blocks");
        assert_eq!(owners(Place::ShiftNodes(2), 1, &[0, 0, 1, 1, 2, 2], 0), [4, 5, 0, 1, 2, 3]);
        assert_eq!(owners(Place::ShiftNodes(1), 1, &[0, 1, 0, 1], 0), [1, 2, 3, 0], "in turn");
        assert_eq!(
            owners(Place::ShiftNodes(1), 2, &[0, 1, 0, 1], 0),
            [2, 3, 4, 5, 6, 7, 0, 1],
            "with threads"
        );
        assert_eq!(owners(Place::ShiftNodes(1), 4, &[0], 0), [0, 1, 2, 3], "nowhere to go");
        assert_eq!(owners(Place::ShiftNodes(3), 1, &[0, 1, 2], 0), [0, 1, 2], "once around");
        assert_eq!(owners(Place::ShiftRanks(3), 2, &[0, 0], 0), [3, 0, 1, 2]);
        assert_eq!(owners(Place::Own, 2, &[0, 1], 0), [0, 1, 2, 3]);
    }

    #[test]
    fn uneven_nodes_are_left_by_all_who_can() {
        for (nodes, must_stay) in [
            (vec![0, 0, 0, 1, 1], 1),
            (vec![0, 1, 1, 1, 1], 3),
            (vec![0, 0, 1, 2, 2, 2], 0),
            (vec![0, 1, 0, 0, 2, 1, 2], 0),
            (vec![0, 0, 1, 0, 1], 1),
        ] {
            for by in 1..nodes.iter().max().unwrap() + 1 {
                for workers in [1, 3] {
                    let table = owners(Place::ShiftNodes(by), workers, &nodes, 0);
                    assert!(is_bijection(&table), "{nodes:?} {by}: {table:?}");
                    assert_eq!(
                        stay(&table, workers, &nodes),
                        must_stay * workers as usize,
                        "{nodes:?} {by}: {table:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn random_owners_are_far_enough_where_they_can_be() {
        let nodes = [0, 0, 1, 1, 2, 2, 3, 3, 4];
        for seed in 0..50 {
            for (least, far) in [(0, 0), (1, 1), (2, 2), (3, 2)] {
                let table = owners(Place::RandomAway(least), 2, &nodes, seed);
                let away = |one: u32, other: u32| one.abs_diff(other).min(5 - one.abs_diff(other));
                let node = |worker: u32| nodes[(worker / 2) as usize];
                let near = (0..18).find(|worker| away(node(*worker), node(table[*worker as usize])) < far);
                assert_eq!(near, None, "{least}: {table:?}");
            }
        }
        let met: std::collections::BTreeSet<_> =
            (0..500).map(|seed| owners(Place::RandomAway(2), 1, &nodes, seed)[0]).collect();
        assert_eq!(met.into_iter().collect::<Vec<_>>(), [4, 5, 6, 7], "all of them can come");
        let one_node = owners(Place::RandomAway(1), 8, &[0], 3);
        assert!(one_node.iter().enumerate().all(|(worker, owner)| worker as u32 != *owner), "{one_node:?}");
        assert_eq!(owners(Place::RandomAway(1), 1, &[0], 3), [0]);
    }

    #[test]
    fn permutations_go_by_seed_and_repetition_but_not_by_rank() {
        let one = owners(Place::Permuted, 4, &[0, 1, 2, 3], 1);
        assert!(is_bijection(&one) && one != owners(Place::Permuted, 4, &[0, 1, 2, 3], 2));
        assert_eq!(one, owners(Place::Permuted, 4, &[0, 1, 2, 3], 1));
    }

    #[test]
    fn owners_know_where_they_are() {
        let facts = WorldFacts { nodes: vec![0, 1], ..WorldFacts::default() };
        let job = job(Place::ShiftNodes(1), 2);
        let owners = Owners::new(&facts, &Plan::default(), &Phase::default(), &job, 4);
        assert_eq!(owners.of(1), Owner { worker: 3, rank: 1, node: 1 });
        let only = Job { ranks: Ranks::Only(1), place: Place::Own, ..job };
        let owners = Owners::new(&facts, &Plan::default(), &Phase::default(), &only, 2);
        assert_eq!(owners.of(1), Owner { worker: 1, rank: 1, node: 1 });
    }
}
