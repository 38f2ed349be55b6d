//! Which of a job's workers are a rank's own: workers are counted over the ranks in their order.

use iodyno_model::Ranks;

/// A rank's workers of one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankShare {
    pub here: u32,
    /// The number of the first of them.
    pub first: u32,
    /// How many there are on all ranks together.
    pub all: u32,
}

/// The part that `rank` of `size` has in a job of so many workers on each rank.
pub fn part(ranks: Ranks, workers: u32, rank: u32, size: u32) -> RankShare {
    let first_n = |most: u32| {
        let all = most.min(workers.saturating_mul(size));
        let first = workers.saturating_mul(rank).min(all);
        RankShare { here: workers.min(all - first), first, all }
    };
    match ranks {
        Ranks::All => first_n(u32::MAX),
        Ranks::First(count) => first_n(workers.saturating_mul(count)),
        Ranks::Workers(count) => first_n(count),
        Ranks::Only(one) => RankShare { here: if one == rank { workers } else { 0 }, first: 0, all: workers },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted_over_the_ranks() {
        let parts = |ranks| -> Vec<_> {
            (0..3).map(|rank| part(ranks, 4, rank, 3)).map(|part| (part.here, part.first, part.all)).collect()
        };
        assert_eq!(parts(Ranks::All), [(4, 0, 12), (4, 4, 12), (4, 8, 12)]);
        assert_eq!(parts(Ranks::First(2)), [(4, 0, 8), (4, 4, 8), (0, 8, 8)]);
        assert_eq!(parts(Ranks::Workers(6)), [(4, 0, 6), (2, 4, 6), (0, 6, 6)]);
        assert_eq!(parts(Ranks::Only(1)), [(0, 0, 4), (4, 0, 4), (0, 0, 4)]);
        assert_eq!(part(Ranks::All, 8, 0, 1), RankShare { here: 8, first: 0, all: 8 });
    }
}
