//! `--debug=sprandom`: the regions of a preconditioning pass before it begins, each region as it is reached, and of each
//! write whether its place is new (`lfsr`) or overwrites one of the region before (`over`).

use std::fmt::Write as _;

use iodyno_model::{
    Extent, Job, JournalEntry, JournalPart, Pick, RegionSchedule, Size, TargetKind, Verb, Workload, units,
};

use super::DebugLines;
use crate::fio::view::JobView;

/// Where a worker is in the regions of one file.
pub struct RegionLines {
    schedule: RegionSchedule,
    block: u64,
    over_provisioning: f64,
    is_deferred: bool,
    /// Writes left in the pass, and new places left.
    left: u64,
    left_new: u64,
    region: usize,
    /// Writes in this region, how many of them overwrite, and how many have to.
    written: u64,
    overwritten: u64,
    due: u64,
    pid: u32,
    is_begun: bool,
}

impl RegionLines {
    fn new(job: &Job, bytes: u64) -> Option<RegionLines> {
        let Workload::Pattern(pattern) = &job.workload else { return None };
        let (Pick::Preconditioning { regions, over_provisioning, cache_bytes }, Size::Fixed(block)) =
            (&pattern.pick.write, &pattern.size.write)
        else {
            return None;
        };
        let schedule = RegionSchedule::new(bytes, *block, *regions, *over_provisioning).ok()?;
        Some(RegionLines {
            left: schedule.writes(bytes / block),
            left_new: bytes / block,
            schedule,
            block: *block,
            over_provisioning: *over_provisioning,
            is_deferred: *cache_bytes > 0,
            region: 0,
            written: 0,
            overwritten: 0,
            due: 0,
            pid: 0,
            is_begun: false,
        })
    }

    /// The model in numbers, as fio gives them.
    fn summary(&self) -> Vec<String> {
        let schedule = &self.schedule;
        let listed: Vec<String> = schedule.validity.iter().map(|valid| format!("{valid:.2}")).collect();
        let logical = self.left_new * self.block;
        let bytes = |name: &str, bytes: u64| format!("  {name:<19} {bytes}: {}", units::binary(bytes));
        vec![
            format!("validity resampled: [{}]", listed.join(", ")),
            "Summary:".into(),
            bytes("logical_size:", logical),
            bytes("physical_size:", schedule.physical_bytes),
            format!("  op: {:.6}", self.over_provisioning),
            format!("  {:<19} {}", "region_size:", schedule.region_bytes),
            format!("  {:<19} {}", "num_regions:", schedule.validity.len()),
            format!("  {:<19} {}", "region_write_count:", schedule.region_writes),
            format!("  {:<19} {}", "invalid_capacity:", schedule.invalidated.iter().max().unwrap_or(&0)),
        ]
    }

    /// What is said of a write, and before it of a region that it is the first of.
    fn write(&mut self, offset: u64) -> Vec<String> {
        if self.left == 0 {
            return Vec::new();
        }
        let mut told = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            told.push(self.region_begins());
        }
        if !self.is_new() && self.overwritten == self.due {
            self.due = self.schedule.invalidated_of(self.region, self.written);
            (self.region, self.written, self.overwritten) = (self.region + 1, 0, 0);
            told.push(self.region_begins());
        }
        let overwrites = self.overwritten < self.due && (!self.is_deferred || !self.is_new());
        self.left -= 1;
        self.written += 1;
        match overwrites {
            true => self.overwritten += 1,
            false => self.left_new = self.left_new.saturating_sub(1),
        }
        let word = if overwrites { "over" } else { "lfsr" };
        told.push(format!("Write {} {word} {}", offset / self.block, self.region));
        told
    }

    /// Whether the region has room for a new place, and there is one.
    fn is_new(&self) -> bool {
        self.written - self.overwritten < self.schedule.region_writes - self.due && self.left_new > 0
    }

    fn region_begins(&self) -> String {
        let writes = self.schedule.region_writes;
        let before = self.region.checked_sub(1).and_then(|before| self.schedule.validity.get(before));
        let (share, found) = (before.map_or(0.0, |valid| 1.0 - valid), self.due as f64 / writes as f64);
        format!("Invalidation[{}] {writes} {} {share:.4} {found:.4}", self.region, self.due)
    }
}

impl DebugLines {
    /// A worker's regions, before it starts.
    pub(super) fn regions_begin(&mut self, job: &Job, view: &JobView, clone: u32) -> String {
        if !self.debug.wants("sprandom") {
            return String::new();
        }
        let mut text = String::new();
        for (file, target) in job.targets.iter().enumerate() {
            let Some(bytes) = self.bytes(job, *target) else { continue };
            let Some(lines) = RegionLines::new(job, bytes) else { continue };
            for told in lines.summary() {
                text += &self.debug.line("sprandom", self.debug.pid, told);
            }
            self.regions.insert((view.phase, view.job, clone, file as u32), lines);
        }
        text
    }

    /// Bytes that a job works on in a target, where the plan says so.
    fn bytes(&self, job: &Job, target: usize) -> Option<u64> {
        let Workload::Pattern(pattern) = &job.workload else { return None };
        let whole = match &self.plan.targets.get(target)?.kind {
            TargetKind::File { size: Extent::Bytes(bytes), .. } => Some(*bytes),
            TargetKind::Nothing { bytes } => Some(*bytes),
            _ => None,
        };
        match (pattern.span.length, pattern.span.offset) {
            (Extent::Bytes(bytes), _) => Some(bytes),
            (Extent::Rest, Extent::Bytes(offset)) => whole?.checked_sub(offset),
            (Extent::Rest, Extent::Rest) => whole,
            _ => None,
        }
    }

    /// What is said of an operation that begins.
    pub(super) fn region_of(&mut self, entry: &JournalEntry, part: &JournalPart) -> String {
        let JournalEntry::Began { verb: Verb::Write, file, offset, .. } = *entry else {
            return String::new();
        };
        let Some(lines) = self.regions.get_mut(&(part.phase, part.job, part.worker, file)) else {
            return String::new();
        };
        lines.pid = part.pid;
        let mut text = String::new();
        for told in lines.write(offset) {
            text += &self.debug.line("sprandom", part.pid, told);
        }
        text
    }

    /// The phase is over: passes that came to their end say so.
    pub(super) fn regions_end(&mut self, phase: usize) -> String {
        let mut text = String::new();
        for (_, lines) in self.regions.iter().filter(|((of, ..), lines)| *of == phase && lines.left == 0) {
            let _ = write!(text, "{}", self.debug.line("sprandom", lines.pid, "sprandom is done"));
        }
        self.regions.retain(|(of, ..), _| *of != phase);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Pattern;

    /// A file of ten blocks in two regions of six writes: the first has three that the second overwrites.
    #[test]
    fn regions_and_writes_are_told_as_they_come() {
        let pick = Pick::Preconditioning { regions: 2, over_provisioning: 0.5, cache_bytes: 0 };
        let pattern = Pattern::of(Verb::Write, pick, 4096);
        let job = Job::new("x", "null", vec![0], Workload::Pattern(Box::new(pattern)));
        let mut lines = RegionLines::new(&job, 8 * 4096).unwrap();
        let summary = lines.summary().join("\n");
        assert!(
            summary.starts_with(
                "validity resampled: [0.41, 1.00]\nSummary:\n  logical_size:       32768: 32 KiB\n"
            ),
            "{summary}"
        );
        assert!(summary.ends_with("  region_write_count: 6\n  invalid_capacity:   4"), "{summary}");
        let told: Vec<String> = (0..14).flat_map(|block| lines.write(block * 4096)).collect();
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        assert_eq!(told[..3], ["Invalidation[0] 6 0 0.0000 0.0000", "Write 0 lfsr 0", "Write 1 lfsr 0"]);
        assert_eq!(told[7..9], ["Invalidation[1] 6 4 0.5882 0.6667", "Write 6 over 1"]);
        assert_eq!(
            told[11..],
            ["Write 9 over 1", "Write 10 lfsr 1", "Write 11 lfsr 1"],
            "and no more than 12"
        );
    }
}
