//! Which links are slow, and whether that is a host's doing.
//!
//! A link is slow that lies further below the median link than three scaled median absolute deviations (MAD × 1.4826, the
//! consistent estimate of a standard deviation; Rousseeuw and Croux 1993), and by a tenth at least: on a quiet network
//! all links are so alike that the first alone would name some of them.

use super::rounds::RankPair;

/// Below the median by this part at least.
const LEAST_SHORTFALL: f64 = 0.1;
/// Deviations below the median.
const DEVIATIONS: f64 = 3.0;
/// From a median absolute deviation to a standard deviation.
const SCALE: f64 = 1.4826;

/// What is slow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The median link, in the figures' unit.
    pub median: f64,
    /// Slow links with their figures, the slowest first.
    pub slow: Vec<(RankPair, f64)>,
    /// Ranks most of whose links are slow when they send, and when they receive.
    pub senders: Vec<u32>,
    /// The same of receivers.
    pub receivers: Vec<u32>,
}

/// Judges links by their figures: more is better.
pub fn judge(links: &[(RankPair, f64)]) -> Verdict {
    let Some(median) = median(links.iter().map(|(_, figure)| *figure)) else { return Verdict::default() };
    let deviation = self::median(links.iter().map(|(_, figure)| (figure - median).abs())).unwrap_or(0.0);
    let floor = (median - DEVIATIONS * SCALE * deviation).min(median * (1.0 - LEAST_SHORTFALL));
    let mut slow: Vec<_> = links.iter().copied().filter(|(_, figure)| *figure < floor).collect();
    slow.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (senders, receivers) =
        blame(links.iter().map(|(flow, _)| *flow).collect(), |flow| slow.iter().any(|(of, _)| of == flow));
    Verdict { median, slow, senders, receivers }
}

/// The hosts that explain slow links, as senders and as receivers. One after the other, the one of whose links the
/// largest part is slow: what it explains speaks against nobody else.
fn blame(mut links: Vec<RankPair>, is_slow: impl Fn(&RankPair) -> bool) -> (Vec<u32>, Vec<u32>) {
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    while let Some((sends, rank)) = guiltiest(&links, &is_slow) {
        links.retain(|flow| if sends { flow.from } else { flow.to } != rank);
        if sends { &mut senders } else { &mut receivers }.push(rank);
    }
    senders.sort_unstable();
    receivers.sort_unstable();
    (senders, receivers)
}

/// The end of links most of which are slow, and more than one: whether it sends, and its rank.
fn guiltiest(links: &[RankPair], is_slow: impl Fn(&RankPair) -> bool) -> Option<(bool, u32)> {
    let ends = links.iter().flat_map(|flow| [(true, flow.from), (false, flow.to)]);
    let counts = ends.map(|(sends, rank)| {
        let of = |flow: &&RankPair| if sends { flow.from } else { flow.to } == rank;
        let (all, slow) =
            (links.iter().filter(of).count(), links.iter().filter(of).filter(|flow| is_slow(flow)).count());
        ((sends, rank), slow, all)
    });
    let guilty = counts.filter(|(_, slow, all)| *slow > 1 && slow * 2 > *all);
    // Of equal parts that of more links; and the first of these.
    let worse = |a: &((bool, u32), usize, usize), b: &((bool, u32), usize, usize)| {
        (a.1 * b.2, a.1, b.0.1).cmp(&(b.1 * a.2, b.1, a.0.1))
    };
    guilty.max_by(worse).map(|(end, ..)| end)
}

fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = figures.collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => None,
        count if count % 2 == 1 => Some(all[middle]),
        _ => Some(f64::midpoint(all[middle - 1], all[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(ranks: u32, figure: impl Fn(u32, u32) -> f64) -> Vec<(RankPair, f64)> {
        let flows = (0..ranks).flat_map(|from| (0..ranks).map(move |to| RankPair { from, to }));
        flows.filter(|f| f.from != f.to).map(|flow| (flow, figure(flow.from, flow.to))).collect()
    }

    /// Links that differ by a few percent.
    fn alike(from: u32, to: u32) -> f64 {
        9.4 + 0.02 * f64::from((from * 7 + to * 3) % 5)
    }

    #[test]
    fn a_quiet_network_has_no_slow_link() {
        let verdict = judge(&links(5, alike));
        assert_eq!((verdict.slow, verdict.senders, verdict.receivers), (vec![], vec![], vec![]));
        assert_eq!(judge(&[]), Verdict::default());
    }

    #[test]
    fn one_slow_link_is_named_and_no_host_is_blamed() {
        let verdict = judge(&links(4, |from, to| if (from, to) == (1, 3) { 4.1 } else { alike(from, to) }));
        assert_eq!(verdict.slow, [(RankPair { from: 1, to: 3 }, 4.1)]);
        assert_eq!((verdict.senders, verdict.receivers), (vec![], vec![]));
    }

    #[test]
    fn a_receiver_is_not_blamed_for_slow_senders() {
        // Two of four hosts send slowly: most links of each of the others are slow when they receive.
        let verdict = judge(&links(5, |from, to| if from < 2 { 1.0 } else { alike(from, to) }));
        assert_eq!((verdict.slow.len(), verdict.senders, verdict.receivers), (8, vec![0, 1], vec![]));
        // And the other way round; and one of each, which share a link.
        let verdict = judge(&links(5, |from, to| if to < 2 { 1.0 } else { alike(from, to) }));
        assert_eq!((verdict.senders, verdict.receivers), (vec![], vec![0, 1]));
        let verdict = judge(&links(6, |from, to| if from == 3 || to == 1 { 1.0 } else { alike(from, to) }));
        assert_eq!((verdict.senders, verdict.receivers), (vec![3], vec![1]));
    }

    #[test]
    fn a_host_that_receives_slowly_is_named() {
        let verdict = judge(&links(6, |from, to| if to == 2 { 1.0 } else { alike(from, to) }));
        assert_eq!((verdict.slow.len(), verdict.senders, verdict.receivers), (5, vec![], vec![2]));
    }
}
