//! Operations in flight over time, from their completion times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::rows::TimeRows;

/// Operations in flight that are followed, at most.
const IN_FLIGHT_MOST: usize = 1 << 20;
/// Depths that are told apart; deeper ones count as this.
const DEPTH_MOST: u64 = 1 << 16;

/// How long how many operations were in flight.
#[derive(Clone, Debug, Default)]
pub struct DepthOverTime {
    ends: BinaryHeap<Reverse<u64>>,
    now_ns: u64,
    /// Time at each depth, ns.
    pub at_depth_ns: BTreeMap<u64, u64>,
    pub most: u64,
    /// Operations whose completion time is known.
    pub timed: u64,
    /// Operations that were not followed, because too many were in flight.
    pub dropped: u64,
}

impl DepthOverTime {
    /// An operation was issued; `rows` gets what was in flight before.
    pub fn add(&mut self, at_ns: u64, ended_ns: u64, rows: Option<&mut TimeRows>) {
        self.advance(at_ns, rows);
        self.timed += 1;
        if self.ends.len() >= IN_FLIGHT_MOST {
            self.dropped += 1;
            return;
        }
        self.ends.push(Reverse(ended_ns.max(at_ns)));
        self.most = self.most.max(self.ends.len() as u64);
    }

    fn advance(&mut self, to_ns: u64, mut rows: Option<&mut TimeRows>) {
        while let Some(Reverse(end)) = self.ends.peek().copied().filter(|Reverse(end)| *end <= to_ns) {
            self.spend(end, rows.as_deref_mut());
            self.ends.pop();
        }
        self.spend(to_ns, rows);
    }

    fn spend(&mut self, until_ns: u64, rows: Option<&mut TimeRows>) {
        if until_ns > self.now_ns {
            let depth = (self.ends.len() as u64).min(DEPTH_MOST);
            *self.at_depth_ns.entry(depth).or_default() += until_ns - self.now_ns;
            if let Some(rows) = rows {
                rows.in_flight(self.now_ns, until_ns, depth);
            }
            self.now_ns = until_ns;
        }
    }

    /// The trace has ended: what is in flight still completes.
    pub fn end(&mut self, rows: &mut TimeRows) {
        if let Some(last) = self.ends.iter().map(|Reverse(end)| *end).max() {
            self.advance(last, Some(rows));
        }
    }

    fn total_ns(&self) -> u128 {
        self.at_depth_ns.values().map(|ns| u128::from(*ns)).sum()
    }

    /// The mean over time.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self.at_depth_ns.iter().map(|(depth, ns)| u128::from(*depth) * u128::from(*ns)).sum();
        sum as f64 / self.total_ns().max(1) as f64
    }

    /// At least so many percent of the time no more than this were in flight.
    pub fn percentile(&self, percent: f64) -> u64 {
        let (total, mut sum) = (self.total_ns() as f64, 0.0);
        for (depth, ns) in &self.at_depth_ns {
            sum += *ns as f64;
            if sum >= total * percent / 100.0 {
                return *depth;
            }
        }
        0
    }

    /// The share of the time in which nothing was in flight, percent.
    pub fn idle_percent(&self) -> f64 {
        let idle = self.at_depth_ns.get(&0).copied().unwrap_or(0);
        idle as f64 / self.total_ns().max(1) as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_weighted_by_time() {
        let (mut depth, mut rows) = (DepthOverTime::default(), TimeRows::default());
        for (at, ended) in [(0, 1000), (500, 1500), (2000, 2500), (2500, 3000)] {
            depth.add(at, ended, Some(&mut rows));
        }
        depth.end(&mut rows);
        assert_eq!(depth.at_depth_ns.into_iter().collect::<Vec<_>>(), [(0, 500), (1, 2000), (2, 500)]);
        assert_eq!(depth.most, 2);
        assert_eq!(rows.rows.iter().map(|row| row.depth_ns).collect::<Vec<_>>(), [1500, 500, 1000]);
    }

    #[test]
    fn the_mean_and_the_shares_follow_from_it() {
        let depth =
            DepthOverTime { at_depth_ns: [(0, 25), (1, 25), (3, 50)].into(), ..DepthOverTime::default() };
        assert_eq!((depth.mean(), depth.idle_percent()), (1.75, 25.0));
        assert_eq!((depth.percentile(50.0), depth.percentile(99.0)), (1, 3));
    }
}
