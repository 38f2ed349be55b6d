//! Parts of a world made one: what each rank counted, how it stands, and what the witnesses of each machine saw.
//!
//! Merging is exact: k parts merged are what one rank with all their workers would have told. Nothing is judged here,
//! and nothing is averaged but what is a share by nature.

use crate::event::{Live, LiveJob};
use crate::record::{JobRecord, PhaseRecord, WearOut};

mod fields;
mod samples;
mod seen;

pub use samples::{coarsen, together};
pub use seen::{Seen, combine};

impl PhaseRecord {
    /// Adds another rank's record of the same phase. What was seen from outside is [combined](combine) apart, since
    /// ranks share machines.
    pub fn merge(&mut self, other: PhaseRecord) {
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        for (mine, theirs) in self.jobs.iter_mut().zip(other.jobs) {
            mine.merge(theirs);
        }
    }
}

impl JobRecord {
    /// Adds the workers of another rank; they keep the order of their numbers.
    pub fn merge(&mut self, other: JobRecord) {
        for fact in other.engine_facts {
            if !self.engine_facts.contains(&fact) {
                self.engine_facts.push(fact);
            }
        }
        self.cases.extend(other.cases);
        self.exercise = self.exercise.take().or(other.exercise);
        match (&mut self.replay, other.replay) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
        // A rank without workers counted nothing, and began at no time.
        if other.workers.is_empty() {
            return;
        }
        match self.workers.is_empty() {
            true => self.tally = other.tally,
            false => self.tally.merge(&other.tally),
        }
        let in_order =
            self.workers.last().map(|worker| worker.index) < other.workers.first().map(|w| w.index);
        self.workers.extend(other.workers);
        if !in_order {
            self.workers.sort_by_key(|worker| (worker.index, worker.rank));
        }
        match (&mut self.worn, other.worn) {
            (Some(mine), Some(theirs)) => *mine = mine.merged(theirs),
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
    }
}

impl WearOut {
    /// With other workers.
    pub fn merged(self, other: WearOut) -> WearOut {
        WearOut {
            at_ns: self.at_ns.max(other.at_ns),
            operations_least: self.operations_least.min(other.operations_least),
            operations: self.operations + other.operations,
            operations_most: self.operations_most.max(other.operations_most),
            bytes_least: self.bytes_least.min(other.bytes_least),
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Live {
    /// Adds how another rank stands in the same phase.
    pub fn merge(&mut self, other: &Live) {
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.left_ns = self.left_ns.max(other.left_ns);
        for (mine, theirs) in self.jobs.iter_mut().zip(&other.jobs) {
            mine.merge(theirs);
        }
    }
}

impl LiveJob {
    /// Adds the workers of another rank, which come after these.
    pub fn merge(&mut self, other: &LiveJob) {
        let sum = |mine: (u64, u64), theirs: (u64, u64)| (mine.0 + theirs.0, mine.1 + theirs.1);
        self.operations += other.operations;
        self.reads = sum(self.reads, other.reads);
        self.writes = sum(self.writes, other.writes);
        self.trims = sum(self.trims, other.trims);
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.trim_bytes += other.trim_bytes;
        self.syncs += other.syncs;
        self.errors += other.errors;
        self.running += other.running;
        for (state, count) in &other.states {
            match self.states.last_mut().filter(|(last, _)| last == state) {
                Some((_, mine)) => *mine += count,
                None => self.states.push((*state, *count)),
            }
        }
        self.latency.read.merge(&other.latency.read);
        self.latency.write.merge(&other.latency.write);
        self.latency.trim.merge(&other.latency.trim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WorkerState;
    use crate::record::WorkerRecord;
    use crate::tally::{Series, SeriesRow, Tally};
    use crate::verb::Verb;

    /// What one worker counted: different for each number.
    fn worker(index: u32, rank: u32) -> (Tally, WorkerRecord) {
        let (index_ns, count) = (u64::from(index), u64::from(index % 3) + 1);
        let mut tally =
            Tally { began_ns: 50 + index_ns, first_done_ns: 9_000 - index_ns, ..Tally::default() };
        tally.last_done_ns = tally.first_done_ns;
        let line = tally.line_mut(if index.is_multiple_of(2) { "read" } else { "write" }, Verb::Read);
        line.operations = count;
        (0..count).for_each(|turn| line.latency.add(1000 * (index_ns + 1) + turn * 77_777));
        let row = SeriesRow { reads: count, latency_max_ns: index_ns, ..SeriesRow::default() };
        tally.series = Series { interval_ns: 1 << (index % 2), rows: vec![row; 5], ..Series::default() };
        tally.depths = vec![0, count];
        let record = WorkerRecord { index, rank, operations: count, ..WorkerRecord::default() };
        (tally, record)
    }

    /// The record of ranks with these workers, as one of them would make it.
    fn part(workers: &[(u32, u32)]) -> PhaseRecord {
        let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
        for (index, rank) in workers {
            let (tally, record) = worker(*index, *rank);
            match job.workers.is_empty() {
                true => job.tally = tally,
                false => job.tally.merge(&tally),
            }
            job.workers.push(record);
        }
        let elapsed_ns = job.tally.last_done_ns;
        PhaseRecord { elapsed_ns, jobs: vec![job], ..PhaseRecord::default() }
    }

    #[test]
    fn parts_merged_equal_the_whole() {
        let all: Vec<(u32, u32)> = (0..24).map(|index| (index, index / 4)).collect();
        let whole = part(&all);
        for chunk in [1, 4, 7, 24] {
            let mut merged = part(&[]);
            all.chunks(chunk).for_each(|workers| merged.merge(part(workers)));
            assert_eq!(merged, whole, "{chunk}");
        }
    }

    #[test]
    fn a_rank_without_workers_changes_nothing_and_the_order_is_that_of_the_numbers() {
        let whole = part(&[(0, 0), (1, 1)]);
        let mut merged = part(&[(1, 1)]);
        merged.merge(part(&[]));
        merged.merge(part(&[(0, 0)]));
        merged.jobs[0].tally.lines.sort_by(|a, b| a.label.cmp(&b.label));
        assert_eq!(merged, whole);
        assert_eq!(merged.jobs[0].tally.began_ns, 50, "nobody began at 0");
    }

    #[test]
    fn neighbours_in_one_state_are_counted_together() {
        let job = |states: &[(WorkerState, u32)]| LiveJob {
            operations: 5,
            running: 2,
            states: states.to_vec(),
            ..LiveJob::default()
        };
        let live = |job| Live { jobs: vec![job], left_ns: Some(3), ..Live::default() };
        let mut mine = live(job(&[(WorkerState::Ended, 1), (WorkerState::Running, 1)]));
        mine.merge(&live(job(&[(WorkerState::Running, 2)])));
        assert_eq!(mine.jobs[0].states, [(WorkerState::Ended, 1), (WorkerState::Running, 3)]);
        assert_eq!((mine.jobs[0].operations, mine.jobs[0].running, mine.left_ns), (10, 4, Some(3)));
    }
}
