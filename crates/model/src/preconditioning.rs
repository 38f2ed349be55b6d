//! How much of each region of an SSD is overwritten again while it is preconditioned, so that one pass over its physical
//! capacity leaves the mixture of valid and invalid pages that endless random writes would lead to.
//!
//! Source of the model: Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions on Storage 10 (2), 2014: in
//! the steady state of a drive that collects the block with the fewest valid pages first, a validity times the part of the
//! drive that has it is the same for all validities. The write amplification is taken as fio (`sprandom`) takes it.

/// Regions of equal size in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionSchedule {
    /// What the drive can hold, bytes: the logical capacity and its over-provisioning.
    pub physical_bytes: u64,
    /// Of one region.
    pub region_bytes: u64,
    /// Blocks that are written into a region, new ones and overwriting ones together.
    pub region_writes: u64,
    /// The share of each region's pages that is still valid at the end, 0 to 1, rising.
    pub validity: Vec<f64>,
    /// How many of each region's blocks the next region overwrites.
    pub invalidated: Vec<u64>,
    /// Blocks of the physical capacity.
    blocks: u64,
}

impl RegionSchedule {
    /// The schedule of a drive of so many logical bytes that is written in blocks; `over_provisioning` is its spare capacity
    /// as a part of the logical one.
    ///
    /// # Errors
    /// Why there is none, and what would be one.
    pub fn new(
        logical_bytes: u64,
        block_bytes: u64,
        regions: u32,
        over_provisioning: f64,
    ) -> Result<RegionSchedule, (String, &'static str)> {
        if regions == 0 {
            return Err(("expected at least one region".into(), "100 regions are usual"));
        }
        if !(over_provisioning > 0.0 && over_provisioning <= 1.0) {
            let message =
                format!("an over-provisioning of {over_provisioning}: expected more than 0 and at most 1");
            return Err((message, "0.15 for a drive with 15 % more flash than it shows"));
        }
        let block = block_bytes.max(1);
        let blocks = (logical_bytes as f64 * (1.0 + over_provisioning) / block as f64).ceil() as u64;
        let physical_bytes = blocks.saturating_mul(block);
        let region_bytes = physical_bytes / u64::from(regions);
        let region_writes = region_bytes / block;
        if region_writes == 0 {
            let message = format!("{regions} regions of {region_bytes} bytes hold no block of {block} bytes");
            return Err((message, "fewer regions, or smaller blocks"));
        }
        let validity = validity(regions as usize, over_provisioning);
        let invalid = |valid: &f64| ((1.0 - valid) * region_writes as f64).round() as u64;
        let invalidated = validity.iter().map(invalid).collect();
        Ok(RegionSchedule { physical_bytes, region_bytes, region_writes, validity, invalidated, blocks })
    }

    /// How many of the first so many writes of a region are overwritten: they lie at equal distances, so that every part
    /// of the region has the region's share.
    pub fn invalidated_of(&self, region: usize, writes: u64) -> u64 {
        let all = self.invalidated.get(region).copied().unwrap_or(0);
        (u128::from(writes) * u128::from(all) / u128::from(self.region_writes.max(1))) as u64
    }

    /// Writes of one pass over a drive of so many logical blocks.
    pub fn writes(&self, logical_blocks: u64) -> u64 {
        let (mut left, mut due, mut all) = (logical_blocks, 0, 0);
        for region in 0.. {
            let new = (self.region_writes - due).min(left);
            left -= new;
            all += due + new;
            due = self.invalidated_of(region, due + new);
            if left == 0 && due == 0 {
                break;
            }
        }
        all.min(self.blocks)
    }
}

/// How valid each region is, from the first written, which garbage collection would take next, to the last.
fn validity(regions: usize, over_provisioning: f64) -> Vec<f64> {
    let amplification = 0.5 / over_provisioning + 0.7;
    let lowest = 1.0 - 1.0 / amplification;
    let last = regions.saturating_sub(1).max(1) as f64;
    let levels: Vec<f64> = (0..regions).map(|index| 1.0 + (lowest - 1.0) * index as f64 / last).collect();
    // The lower a validity, the more of the drive has it.
    let mut reach = 0.0;
    let ends: Vec<f64> = levels
        .iter()
        .map(|level| {
            reach += 1.0 / level;
            reach
        })
        .collect();
    let (Some(first), Some(end)) = (ends.first(), ends.last()) else { return Vec::new() };
    let at = |place: f64| {
        let after = ends.partition_point(|end| *end < place).clamp(1, regions - 1);
        let part = (place - ends[after - 1]) / (ends[after] - ends[after - 1]);
        levels[after - 1] + part * (levels[after] - levels[after - 1])
    };
    match regions {
        1 => levels,
        _ => (0..regions).rev().map(|index| at(first + (end - first) * index as f64 / last)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.41 prints of its own model: `--debug=sprandom`.
    #[test]
    fn shares_are_those_of_fio() {
        let of = |regions, spare| {
            let schedule = RegionSchedule::new(64 << 20, 4096, regions, spare).unwrap();
            schedule.validity.iter().map(|valid| format!("{:.4}", 1.0 - valid)).collect::<Vec<_>>()
        };
        assert_eq!(
            of(10, 0.1),
            [
                "0.1754", "0.1576", "0.1393", "0.1207", "0.1016", "0.0822", "0.0623", "0.0420", "0.0212",
                "0.0000"
            ]
        );
        let half = of(16, 0.5);
        assert_eq!(half[..5], ["0.5882", "0.5631", "0.5369", "0.5093", "0.4794"]);
        assert_eq!(half[14..], ["0.0579", "0.0000"]);
        assert_eq!(of(1, 0.1), ["0.0000"]);
    }

    #[test]
    fn sizes_are_those_of_fio() {
        let schedule = RegionSchedule::new(32 << 20, 4096, 10, 0.1).unwrap();
        assert_eq!(
            (schedule.physical_bytes, schedule.region_bytes, schedule.region_writes),
            (36_913_152, 3_691_315, 901)
        );
        assert_eq!(schedule.invalidated, [158, 142, 126, 109, 92, 74, 56, 38, 19, 0]);
        assert_eq!(schedule.writes(8192), 8192 + 814);
        assert_eq!([schedule.invalidated_of(0, 450), schedule.invalidated_of(0, 901)], [78, 158]);
        assert_eq!(schedule.invalidated_of(10, 901), 0, "beyond the last region");
    }

    #[test]
    fn what_is_no_schedule_says_so() {
        let wrong = |bytes, regions, spare| RegionSchedule::new(bytes, 4096, regions, spare).unwrap_err().0;
        assert_eq!(wrong(1 << 20, 0, 0.1), "expected at least one region");
        assert!(wrong(1 << 20, 10, 0.0).contains("over-provisioning of 0"), "{}", wrong(1 << 20, 10, 0.0));
        assert!(wrong(1 << 20, 10, f64::NAN).contains("NaN"));
        assert_eq!(wrong(1 << 20, 1000, 0.1), "1000 regions of 1155 bytes hold no block of 4096 bytes");
    }
}
