//! What a trace says about the load, in one pass over its records.
//!
//! Memory does not grow with the number of records: 2 MiB for the series, 12 MiB for each of the two sets of extents,
//! 4 MiB for the regions, 2 MiB for the sampled blocks, 3 MiB for the heat maps, 16 MiB for operations in flight at most;
//! besides, 150 bytes for each file and each thread. What was counted less than exactly says so in
//! [`TraceStatistics::remarks`].

mod arrivals;
mod depth;
mod distinct;
mod extents;
mod heat;
mod hot;
mod reuse;
mod rows;
mod runs;
mod tables;

use std::collections::BTreeMap;

use iodyno_model::Verb;
use iodyno_model::verb::Kind;

use crate::{Batch, FileKind, RecordFlags, RecordSource, Tables, TraceError, TraceHeader, TraceRecord};

pub use arrivals::{Arrivals, Hurst, WindowCounts};
pub use depth::DepthOverTime;
pub use distinct::{BLOCK_BYTES, DISTINCT_ERROR_PERCENT, DistinctBlocks, block_hash};
pub use extents::ExtentSet;
pub use heat::{BANDS, COLUMNS, GRIDS_MOST, HeatGrid, HeatMaps};
pub use hot::{AccessMap, HotSpot};
pub use reuse::{MissRatio, MissRatioCurve, ReuseSampler, SAMPLES_MOST};
pub use rows::{ROWS_MOST, TimeRow, TimeRows};
pub use runs::{STREAMS, SequentialRuns};
pub use tables::{ErrorCounts, OperationCounts, SizeCounts, VerbCounts};

/// Blocks of one access that go into working sets and reuse distances, at most.
const BLOCKS_MOST: u64 = 1 << 18;

/// All that was counted.
#[derive(Clone, Debug, Default)]
pub struct TraceStatistics {
    pub header: TraceHeader,
    pub tables: Tables,
    pub operations: u64,
    /// When the last record was issued, ns after the first.
    pub last_ns: u64,
    /// When the last one that tells it ended.
    pub ended_ns: u64,
    pub verbs: BTreeMap<Verb, VerbCounts>,
    pub threads: Vec<OperationCounts>,
    pub files: Vec<OperationCounts>,
    pub errors: ErrorCounts,
    pub rows: TimeRows,
    pub runs: SequentialRuns,
    pub read: ExtentSet,
    pub written: ExtentSet,
    pub regions: AccessMap,
    pub reuse: ReuseSampler,
    pub arrivals: Arrivals,
    pub depth: DepthOverTime,
    pub heat: HeatMaps,
    /// Records with each flag.
    pub flags: BTreeMap<u32, u64>,
    /// Reads and writes of more blocks than are followed.
    pub long: u64,
}

impl TraceStatistics {
    /// Reads a source to its end.
    ///
    /// # Errors
    /// Those of the source.
    pub fn of(source: &mut dyn RecordSource) -> Result<TraceStatistics, TraceError> {
        let (mut statistics, mut batch) = (TraceStatistics::default(), Batch::new());
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            batch.iter().for_each(|record| statistics.add(record));
        }
        statistics.header = source.header().clone();
        statistics.tables = source.tables().clone();
        statistics.end();
        Ok(statistics)
    }

    /// Counts one record; they come in the order of their times.
    pub fn add(&mut self, record: &TraceRecord) {
        self.operations += 1;
        self.last_ns = self.last_ns.max(record.at_ns);
        let failed = record.result.is_some_and(|result| result < 0);
        let kind = record.verb.kind();
        self.count_verb(record, kind, failed);
        for (table, index) in [(&mut self.threads, record.thread), (&mut self.files, record.file)] {
            if index as usize >= table.len() {
                table.resize(index as usize + 1, OperationCounts::default());
            }
            table[index as usize].add(record, kind, failed);
        }
        if let Some(result) = record.result.filter(|result| *result < 0) {
            *self.errors.entry((record.verb, -result)).or_default() += 1;
        }
        let mut flags = record.flags.0;
        while flags != 0 {
            let lowest = flags & flags.wrapping_neg();
            *self.flags.entry(lowest).or_default() += 1;
            flags ^= lowest;
        }
        self.arrivals.add(record.at_ns);
        if let Some(ended) = record.ended_ns() {
            self.ended_ns = self.ended_ns.max(ended);
            self.depth.add(record.at_ns, ended, Some(&mut self.rows));
        }
        self.rows.at(record.at_ns).counts.add(record, kind, failed);
        if matches!(record.verb, Verb::Read | Verb::Write) && record.bytes > 0 {
            self.count_range(record);
        }
    }

    fn count_verb(&mut self, record: &TraceRecord, kind: Kind, failed: bool) {
        let verb = self.verbs.entry(record.verb).or_default();
        verb.operations += 1;
        verb.errors += u64::from(failed);
        let has_size = matches!(kind, Kind::Read | Kind::Write | Kind::Trim);
        if has_size {
            verb.bytes = verb.bytes.saturating_add(record.bytes);
            verb.sizes.add(record.bytes);
        }
        if let Some(latency) = record.latency_ns {
            verb.latency_ns.add(latency);
            if has_size {
                let power = record.bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
                verb.latency_by_power.entry(power).or_default().add(latency);
            }
        }
    }

    fn count_range(&mut self, record: &TraceRecord) {
        let (file, start, end) = (record.file, record.offset, record.end());
        if end <= start {
            return;
        }
        let set = if record.verb == Verb::Read { &mut self.read } else { &mut self.written };
        set.add(file, start, end);
        self.regions.add(file, start, end);
        self.runs.add(record.thread, file, start, end);
        self.heat.add(record.at_ns, file, start);
        let (first, last) = (start / BLOCK_BYTES, (end - 1) / BLOCK_BYTES);
        if last - first >= BLOCKS_MOST {
            self.long += 1;
        }
        let blocks = &mut self.rows.at(record.at_ns).blocks;
        for block in first..=last.min(first + BLOCKS_MOST - 1) {
            let hash = block_hash(file, block);
            blocks.add(hash);
            self.reuse.add(hash);
        }
    }

    /// The last record was counted.
    pub fn end(&mut self) {
        self.runs.end_all();
        self.depth.end(&mut self.rows);
        self.threads.resize(self.threads.len().max(self.tables.threads.len()), OperationCounts::default());
        self.files.resize(self.files.len().max(self.tables.files.len()), OperationCounts::default());
    }

    /// From the first issue to the last issue or completion, ns; at least 1.
    pub fn span_ns(&self) -> u64 {
        self.last_ns.max(self.ended_ns).max(1)
    }

    /// Operations of a kind, and their bytes.
    pub fn of_kind(&self, kind: Kind) -> (u64, u64) {
        let of_kind = self.verbs.iter().filter(|(verb, _)| verb.kind() == kind).map(|(_, counts)| counts);
        of_kind.fold((0, 0), |(operations, bytes), counts| {
            (operations + counts.operations, bytes.saturating_add(counts.bytes))
        })
    }

    /// What was read or written at least once.
    pub fn touched(&self) -> ExtentSet {
        self.read.union(&self.written)
    }

    /// The name of a file, as its source has it.
    pub fn file_name(&self, file: usize) -> String {
        match self.tables.files.get(file) {
            Some(file) if !file.name.is_empty() => file.name.clone(),
            Some(file) if file.kind == FileKind::Device && file.device.is_some() => {
                file.device.map_or_else(String::new, |(major, minor)| format!("{major},{minor}"))
            }
            _ => format!("file {file}"),
        }
    }

    /// What was counted less than exactly, and what the trace itself tells of its faults.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.header.notes.clone();
        let mut remark = |holds: bool, text: String| remarks.extend(holds.then_some(text));
        let grain = self.read.resolution().max(self.written.resolution());
        remark(grain > 1, format!("footprint: ranges were rounded outwards to multiples of {grain} bytes"));
        let rounded: u64 = self.verbs.values().map(|verb| verb.sizes.rounded).sum();
        remark(
            rounded > 0,
            format!("sizes: {rounded} of more than 1,024 different ones were rounded down by up to 1/8"),
        );
        remark(
            self.long > 0,
            format!(
                "{} ranges of more than 1 GiB count with their first GiB in working sets and reuse",
                self.long
            ),
        );
        remark(
            self.depth.dropped > 0,
            format!("queue depth: {} operations beyond 1,048,576 in flight are left out", self.depth.dropped),
        );
        let spread = self.flags.get(&RecordFlags::SPREAD.0).copied().unwrap_or(0);
        remark(
            spread > 0,
            format!("times of {spread} records are computed: arrivals below the clock's step tell nothing"),
        );
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;

    fn trace(records: Vec<TraceRecord>) -> TraceStatistics {
        TraceStatistics::of(&mut MemorySource::new(TraceHeader::default(), Tables::default(), records))
            .unwrap()
    }

    #[test]
    fn a_small_trace_is_counted_to_the_byte() {
        let timed = |record: TraceRecord, latency| TraceRecord { latency_ns: Some(latency), ..record };
        let statistics = trace(vec![
            timed(TraceRecord::new(0, Verb::Read, 0, 0, 4096), 1000),
            timed(TraceRecord::new(500, Verb::Read, 0, 4096, 4096), 3000),
            TraceRecord { result: Some(-28), thread: 2, ..TraceRecord::new(700, Verb::Write, 1, 100, 50) },
            TraceRecord::new(900, Verb::Fsync, 1, 0, 0),
            TraceRecord::new(1000, Verb::Trim, 0, 0, 1 << 40),
        ]);
        assert_eq!((statistics.operations, statistics.span_ns()), (5, 3500));
        assert_eq!((statistics.of_kind(Kind::Read), statistics.of_kind(Kind::Write)), ((2, 8192), (1, 50)));
        assert_eq!(
            (statistics.read.bytes(), statistics.written.bytes(), statistics.touched().bytes()),
            (8192, 50, 8242)
        );
        assert_eq!(statistics.errors.iter().collect::<Vec<_>>(), [(&(Verb::Write, 28), &1)]);
        assert_eq!(
            (statistics.threads.len(), statistics.threads[2].writes, statistics.files[1].others),
            (3, 1, 1)
        );
        assert_eq!((statistics.runs.accesses, statistics.runs.strict), (3, 1));
        assert_eq!(statistics.depth.most, 2);
        assert_eq!(
            statistics.rows.rows.iter().map(|row| row.counts.operations()).collect::<Vec<_>>(),
            [4, 1, 0, 0]
        );
        assert!(statistics.remarks().is_empty());
    }

    #[test]
    fn nothing_that_a_trace_can_hold_makes_it_fail() {
        let extreme = |verb| TraceRecord {
            latency_ns: Some(u64::MAX),
            result: Some(i64::MIN + 1),
            flags: RecordFlags(u32::MAX),
            ..TraceRecord::new(u64::MAX, verb, 70_000, u64::MAX, u64::MAX)
        };
        let whole = TraceRecord::new(0, Verb::Read, 0, 0, u64::MAX);
        let records = std::iter::once(whole).chain(Verb::ALL.iter().map(|verb| extreme(*verb)));
        let statistics = trace(records.collect());
        assert_eq!((statistics.operations, statistics.long), (Verb::COUNT as u64 + 1, 1));
        assert_eq!(statistics.reuse.curve().references, 1 << 18);
        trace(Vec::new()).reuse.curve();
    }
}
