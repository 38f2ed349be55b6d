//! Who sends to whom, round after round.
//!
//! In `pairs` no rank has more than one partner in a round, so that each link is measured while nothing else burdens its
//! ends: a round-robin tournament by the circle method.

/// One direction of a link: ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankPair {
    /// Who sends.
    pub from: u32,
    /// Who receives.
    pub to: u32,
}

/// Which flows there are, and which of them at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MeshPattern {
    /// Every ordered pair once, each rank with one partner at a time
    Pairs,
    /// Everybody to everybody, all at once
    All,
    /// Each to the next, all at once
    Ring,
    /// All others to one, all at once
    Incast,
    /// One to all others, all at once
    Outcast,
}

/// The rounds of a shape among so many ranks; `one` is the rank that incast and outcast are about.
pub fn rounds(shape: MeshPattern, ranks: u32, one: u32) -> Vec<Vec<RankPair>> {
    let others = || (0..ranks).filter(move |rank| *rank != one);
    match shape {
        MeshPattern::Pairs => pairs(ranks),
        MeshPattern::All => {
            let to = |from| (0..ranks).filter(move |to| *to != from).map(move |to| RankPair { from, to });
            vec![(0..ranks).flat_map(to).collect()]
        }
        MeshPattern::Ring => vec![(0..ranks).map(|from| RankPair { from, to: (from + 1) % ranks }).collect()],
        MeshPattern::Incast => vec![others().map(|from| RankPair { from, to: one }).collect()],
        MeshPattern::Outcast => vec![others().map(|to| RankPair { from: one, to }).collect()],
    }
}

/// A tournament there, and the same back.
fn pairs(ranks: u32) -> Vec<Vec<RankPair>> {
    // With an odd number one sits out each round: the partner of one who is not there.
    let seats = ranks + ranks % 2;
    let turn = |round: u32| -> Vec<RankPair> {
        let seat = |place: u32| match place {
            0 => 0,
            place => (place - 1 + round) % (seats - 1) + 1,
        };
        let pairs = (0..seats / 2).map(|place| RankPair { from: seat(place), to: seat(seats - 1 - place) });
        pairs.filter(|flow| flow.from < ranks && flow.to < ranks).collect()
    };
    let back =
        |there: &[RankPair]| there.iter().map(|flow| RankPair { from: flow.to, to: flow.from }).collect();
    (0..seats.saturating_sub(1)).flat_map(|round| [turn(round), back(&turn(round))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_has_every_link_once_and_each_rank_once_a_round() {
        for ranks in 2..=9 {
            let rounds = rounds(MeshPattern::Pairs, ranks, 0);
            let mut all: Vec<RankPair> = rounds.iter().flatten().copied().collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len() as u32, ranks * (ranks - 1), "{ranks} ranks");
            assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), all.len());
            for round in rounds {
                let mut busy: Vec<u32> = round.iter().flat_map(|flow| [flow.from, flow.to]).collect();
                let count = busy.len();
                busy.sort_unstable();
                busy.dedup();
                assert_eq!(busy.len(), count, "{ranks} ranks: {round:?}");
            }
        }
    }

    #[test]
    fn the_other_shapes_are_one_round() {
        let of = |shape| {
            let rounds = rounds(shape, 3, 1);
            assert_eq!(rounds.len(), 1);
            rounds[0].iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>()
        };
        assert_eq!(of(MeshPattern::All), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
        assert_eq!(of(MeshPattern::Ring), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(of(MeshPattern::Incast), [(0, 1), (2, 1)]);
        assert_eq!(of(MeshPattern::Outcast), [(1, 0), (1, 2)]);
    }
}
