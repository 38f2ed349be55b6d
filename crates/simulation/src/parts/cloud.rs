//! A volume of a cloud. Its limits stand beside each other: a request passes when each of them lets it.

use iodyno_model::device::Cloud;

use super::{Lane, Part, PartPlace, drawn, transfer_ns};
use crate::Tick;
use crate::kernel::{Core, Count, DeviceRequest, RequestKind, TaskId};

const SECOND: u128 = 1_000_000_000;

/// A limit with a bucket: amounts pass at the rate of bursts while there are credits, which come back at the long-run rate.
#[derive(Clone, Debug, Default)]
struct Limit {
    /// Per second; 0: there is no limit.
    rate: u64,
    burst: u64,
    most_credits: u64,
    /// When the last amount has passed.
    free: Tick,
    /// Credits × ns, at that time.
    credits: u128,
}

impl Limit {
    fn new(rate: u64, burst: u64, credits: u64) -> Self {
        let burst = burst.max(rate);
        Limit { rate, burst, most_credits: credits, free: 0, credits: u128::from(credits) * SECOND }
    }

    /// When an amount has passed that comes now.
    fn pass(&mut self, now: Tick, amount: u64) -> Tick {
        if self.rate == 0 {
            return now;
        }
        let start = self.free.max(now);
        let (most, need) = (u128::from(self.most_credits) * SECOND, u128::from(amount) * SECOND);
        let idle = u128::from(start - self.free);
        let credits = (self.credits + idle * u128::from(self.rate)).min(most);
        // While it passes, credits come back as well.
        let fast = need.div_ceil(u128::from(self.burst));
        let back = fast * u128::from(self.rate);
        let (took, left) = match (credits + back).checked_sub(need) {
            Some(left) => (fast, left.min(most)),
            None => (need.saturating_sub(credits).div_ceil(u128::from(self.rate)), 0),
        };
        self.free = start + took as u64;
        self.credits = left;
        self.free
    }
}

/// The blocks of a volume that was made from a snapshot: each is fetched when it is first touched.
#[derive(Debug, Default)]
struct Snapshot {
    /// A bit for each block: whether it was fetched.
    fetched: Vec<u64>,
    /// The way from where the snapshot lies.
    lane: Lane,
    count: u64,
}

impl Snapshot {
    fn new(figures: &Cloud) -> Self {
        let blocks = match figures.is_cold() {
            true => figures.capacity_bytes.div_ceil(figures.cold_block_bytes),
            false => 0,
        };
        Snapshot { fetched: vec![0; blocks.div_ceil(64) as usize], ..Snapshot::default() }
    }

    /// When all blocks of a request are there.
    fn ready(&mut self, figures: &Cloud, now: Tick, offset: u64, bytes: u64) -> Tick {
        let mut ready = now;
        if self.fetched.is_empty() {
            return ready;
        }
        let each = figures.cold_block_bytes;
        for block in offset / each..=offset.saturating_add(bytes.max(1) - 1) / each {
            let Some(word) = self.fetched.get_mut((block / 64) as usize) else { continue };
            let bit = 1 << (block % 64);
            if *word & bit == 0 {
                *word |= bit;
                self.count += 1;
                let came = self.lane.take(now, transfer_ns(each, figures.cold_rate));
                ready = ready.max(came + figures.cold_ns);
            }
        }
        ready
    }
}

pub(crate) struct CloudVolume {
    figures: Cloud,
    place: PartPlace,
    iops: Limit,
    bandwidth: Limit,
    snapshot: Snapshot,
    accounted: u64,
    split: u64,
}

impl CloudVolume {
    pub(crate) fn new(figures: &Cloud, place: PartPlace) -> Self {
        CloudVolume {
            iops: Limit::new(figures.iops, figures.burst_iops, figures.iops_credits),
            bandwidth: Limit::new(
                figures.bandwidth,
                figures.burst_bandwidth,
                figures.bandwidth_credits_bytes,
            ),
            snapshot: Snapshot::new(figures),
            figures: figures.clone(),
            place,
            accounted: 0,
            split: 0,
        }
    }

    /// When a piece of a request is answered.
    fn answer(&mut self, offset: u64, bytes: u64, moves: bool, core: &mut Core) -> Tick {
        let figures = &self.figures;
        let operations = match figures.accounted_bytes {
            0 => 1,
            each => bytes.div_ceil(each).max(1),
        };
        let is_large = figures.large_bytes > 0 && bytes > figures.large_bytes;
        let charged = if is_large { (bytes as f64 * figures.large_charge).round() as u64 } else { bytes };
        self.accounted += operations;
        let passed = self.iops.pass(core.now, operations).max(self.bandwidth.pass(core.now, charged));
        let passed = match moves {
            true => self.snapshot.ready(figures, passed, offset, bytes),
            false => passed,
        };
        passed + drawn(figures.latency_ns, figures.variation, &mut core.random).max(1)
    }
}

impl Part for CloudVolume {
    fn servers(&self) -> u32 {
        1
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { kind, offset, bytes, .. } = core.request(task);
        let moves = matches!(kind, RequestKind::Read | RequestKind::Write);
        let most = if moves && self.figures.split_bytes > 0 { self.figures.split_bytes } else { u64::MAX };
        let (mut left, mut pieces, before) =
            (if moves { bytes } else { 0 }, 0, self.iops.free.max(self.bandwidth.free));
        loop {
            let piece = left.min(most);
            let at = self.answer(offset.saturating_add(bytes - left.min(bytes)), piece, moves, core);
            core.at(at, self.place.number, task);
            (left, pieces) = (left - piece, pieces + 1);
            if left == 0 {
                break;
            }
        }
        // Its limits are its one server: it works while one of them holds requests up.
        let after = self.iops.free.max(self.bandwidth.free);
        core.works_for(self.place.number, after - before.max(core.now).min(after));
        if pieces > 1 {
            self.split += 1;
        }
        core.task_mut(task).stage = pieces;
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        // Pieces that are still on their way.
        let pieces = &mut core.task_mut(task).stage;
        *pieces -= 1;
        if *pieces == 0 {
            core.finish(task);
        }
    }

    fn counts(&self) -> Vec<Count> {
        vec![
            ("accounted operations", self.accounted, 0),
            ("split requests", self.split, 0),
            ("blocks fetched", self.snapshot.count, 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_credits_is_a_rate() {
        let mut limit = Limit::new(1000, 0, 0);
        assert_eq!(
            [limit.pass(0, 1), limit.pass(0, 1), limit.pass(5_000_000, 1)],
            [1_000_000, 2_000_000, 6_000_000]
        );
    }

    /// 100 credits at 3000 beside 1000 a second: a burst of 100 / (3000 - 1000) s = 50 ms, 150 operations.
    #[test]
    fn a_burst_lasts_as_long_as_its_credits() {
        let mut limit = Limit::new(1000, 3000, 100);
        let passed: Vec<Tick> = (0..1150).map(|_| limit.pass(0, 1)).collect();
        assert!(passed[149].abs_diff(50_000_000) < 1_000_000, "{}", passed[149]);
        assert!(passed[1149].abs_diff(1_050_000_000) < 2_000_000, "{}", passed[1149]);
    }

    #[test]
    fn credits_come_back_while_it_rests() {
        let mut limit = Limit::new(1000, 1_000_000, 100);
        for _ in 0..100 {
            limit.pass(0, 1);
        }
        let rested = 1_000_000_000;
        let passed: Vec<Tick> = (0..100).map(|_| limit.pass(rested, 1)).collect();
        assert!(passed[98] < rested + 200_000);
    }
}
