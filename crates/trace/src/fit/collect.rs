//! One pass over the records: what each job of the fitted load needs to know.

use std::collections::BTreeMap;

use iodyno_model::Verb;
use iodyno_model::verb::Kind;

use super::places;
use super::{FittedArrivals, FittedJob, FittedLoad, FittedPlaces};
use crate::statistics::{AccessMap, DepthOverTime, SizeCounts, TraceStatistics};
use crate::{FileKind, RecordFlags, TraceRecord};

/// Files that are looked at; those that are met later are left out.
pub const FILES_MOST: usize = 1024;
/// Jobs of a fitted load.
pub const JOBS_MOST: usize = 8;
/// A job needs this share of the operations, percent.
const SHARE_LEAST: f64 = 0.5;
/// Runs of a file that may be interleaved.
const STREAMS: usize = 16;
/// From so many operations on a run is sequential; what comes before is random.
const RUN_LEAST: u32 = 8;
/// Sizes of a verb that are told apart; the others are rounded up to one of these.
const SIZES_MOST: usize = 16;
/// Windows of the counts from which bursts are found.
const WINDOWS_MOST: usize = 1000;
/// A dispersion from which on pauses are fitted, over 100 ms.
const BURSTY: f64 = 4.0;

/// Counts by file and by whether an access is part of a run.
#[derive(Clone, Debug, Default)]
pub struct FitCollector {
    files: BTreeMap<u32, FileCounts>,
    /// Random accesses.
    regions: AccessMap,
    left_out: u64,
    others: BTreeMap<Verb, u64>,
}

#[derive(Clone, Debug, Default)]
struct FileCounts {
    /// The end of each run, its length, and when it went on.
    streams: Vec<(u64, u32, u64)>,
    clock: u64,
    end: u64,
    random: JobCounts,
    sequential: JobCounts,
    syncs: BTreeMap<Verb, u64>,
    writes: u64,
}

#[derive(Clone, Debug, Default)]
struct JobCounts {
    operations: u64,
    sizes: BTreeMap<Verb, SizeCounts>,
    /// All offsets, joined by or: its lowest bit is what they are aligned to.
    offsets: u64,
    /// Accesses that went on where a run ended.
    continued: u64,
    direct: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    depth: DepthOverTime,
    counts: WindowedCounts,
}

/// Arrivals in windows of equal length, which doubles where there are too many.
#[derive(Clone, Debug)]
struct WindowedCounts {
    width_ns: u64,
    counts: Vec<u64>,
}

impl Default for WindowedCounts {
    fn default() -> WindowedCounts {
        WindowedCounts { width_ns: 1_000_000, counts: Vec::new() }
    }
}

impl WindowedCounts {
    fn add(&mut self, at_ns: u64) {
        while at_ns / self.width_ns >= WINDOWS_MOST as u64 {
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        let index = (at_ns / self.width_ns) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Windows joined until each is at least so long.
    fn joined(&self, least_ns: u64) -> (u64, Vec<u64>) {
        let each = least_ns.div_ceil(self.width_ns).max(1) as usize;
        let counts = self.counts.chunks_exact(each).map(|chunk| chunk.iter().sum()).collect();
        (self.width_ns.saturating_mul(each as u64), counts)
    }
}

/// Variance over mean.
fn dispersion(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    let square = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>();
    if mean > 0.0 { square / counts.len() as f64 / mean } else { 0.0 }
}

impl FitCollector {
    pub fn add(&mut self, record: &TraceRecord) {
        let kind = record.verb.kind();
        let is_sync = matches!(record.verb, Verb::Fsync | Verb::Fdatasync);
        let is_range = matches!(record.verb, Verb::Read | Verb::Write | Verb::Trim) && record.bytes > 0;
        if !is_sync && !is_range {
            *self.others.entry(record.verb).or_default() += 1;
            return;
        }
        if self.files.len() >= FILES_MOST && !self.files.contains_key(&record.file) {
            self.left_out += 1;
            return;
        }
        let file = self.files.entry(record.file).or_default();
        if is_sync {
            *file.syncs.entry(record.verb).or_default() += 1;
            return;
        }
        file.writes += u64::from(kind == Kind::Write);
        file.end = file.end.max(record.end());
        let (run, is_continued) = file.follow(record);
        let is_sequential = run > RUN_LEAST;
        let job = if is_sequential { &mut file.sequential } else { &mut file.random };
        job.continued += u64::from(is_continued);
        job.add(record);
        if !is_sequential {
            self.regions.add(record.file, record.offset, record.end());
        }
    }

    /// The load that resembles what was counted.
    pub fn fit(mut self, statistics: &TraceStatistics) -> FittedLoad {
        let span_ns = statistics.span_ns();
        let mut jobs = Vec::new();
        for (file, counts) in std::mem::take(&mut self.files) {
            for is_sequential in [false, true] {
                let part = if is_sequential { &counts.sequential } else { &counts.random };
                if part.operations > 0 {
                    jobs.push(self.job(file, &counts, is_sequential, statistics));
                }
            }
        }
        jobs.sort_by_key(|job| (std::cmp::Reverse(job.operations), job.file, job.sequential));
        let total: u64 = jobs.iter().map(|job| job.operations).sum::<u64>() + self.left_out;
        let is_small = |job: &FittedJob| (job.operations as f64) < total as f64 * SHARE_LEAST / 100.0;
        let mut kept = Vec::new();
        let mut left_out = self.left_out;
        for job in jobs {
            if kept.len() >= JOBS_MOST || (is_small(&job) && !kept.is_empty()) {
                left_out += job.operations;
            } else {
                kept.push(job);
            }
        }
        let mut load = FittedLoad { span_ns, jobs: kept, notes: Vec::new() };
        load.notes = notes(&load, &self.others, left_out, total);
        load
    }

    fn job(
        &self,
        file: u32,
        counts: &FileCounts,
        sequential: bool,
        statistics: &TraceStatistics,
    ) -> FittedJob {
        let part = if sequential { &counts.sequential } else { &counts.random };
        let mix = part.sizes.iter();
        let mix: Vec<(Verb, f64)> =
            mix.map(|(verb, sizes)| (*verb, sizes.total() as f64 / part.operations as f64 * 100.0)).collect();
        let sizes: Vec<(Verb, Vec<(u64, f64)>)> =
            part.sizes.iter().map(|(verb, sizes)| (*verb, table(sizes))).collect();
        let smallest = sizes.iter().flat_map(|(_, table)| table.iter().map(|(bytes, _)| *bytes)).min();
        let most = 1 << smallest.unwrap_or(1).max(1).ilog2();
        let align = match part.offsets {
            0 => most,
            offsets => (1u64 << offsets.trailing_zeros().min(62)).min(most),
        };
        let writes = part.sizes.get(&Verb::Write).map_or(0, SizeCounts::total);
        // Syncs belong to the part of the file that writes more.
        let rest = counts.writes.saturating_sub(writes);
        let syncs =
            counts.syncs.iter().max_by_key(|(_, count)| **count).filter(|_| writes > 0 && writes >= rest);
        let sync =
            syncs.map(|(verb, count)| (*verb, (writes as f64 / *count as f64).round().max(1.0) as u64));
        let file_facts = statistics.tables.files.get(file as usize);
        let is_device = file_facts.is_some_and(|facts| facts.kind == FileKind::Device)
            || statistics.header.level == crate::TraceLevel::Block;
        let continued = part.continued as f64 / part.operations as f64;
        let mut job = FittedJob {
            file,
            name: statistics.file_name(file as usize),
            file_bytes: counts.end,
            sequential,
            operations: part.operations,
            mix,
            sizes,
            align,
            places: FittedPlaces::Sequential,
            run: if sequential {
                1
            } else {
                (1.0 / (1.0 - continued.min(0.99))).round().clamp(1.0, 64.0) as u32
            },
            sync,
            arrivals: part.arrivals(statistics.span_ns()),
            depth: (part.depth.percentile(99.9).clamp(1, 1024)) as u32,
            direct: is_device || part.direct * 2 > part.operations,
        };
        if part.depth.timed == 0 {
            job.depth = 32;
        }
        if !sequential {
            job.places = places::fit(&self.regions, &job);
        }
        job
    }
}

impl FileCounts {
    /// How long the run is that an access goes on with, itself counted, and whether it goes on with one.
    fn follow(&mut self, record: &TraceRecord) -> (u32, bool) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(stream) = self.streams.iter_mut().find(|(end, ..)| *end == record.offset) {
            *stream = (record.end(), stream.1.saturating_add(1), clock);
            return (stream.1, true);
        }
        let stream = (record.end(), 1, clock);
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|(.., used)| *used) {
            *oldest = stream;
        }
        (1, false)
    }
}

impl JobCounts {
    fn add(&mut self, record: &TraceRecord) {
        self.operations += 1;
        self.sizes.entry(record.verb).or_default().add(record.bytes);
        self.offsets |= record.offset;
        self.direct += u64::from(record.flags.has(RecordFlags::DIRECT));
        self.first_ns.get_or_insert(record.at_ns);
        self.last_ns = record.at_ns;
        self.counts.add(record.at_ns);
        if let Some(ended) = record.ended_ns() {
            self.depth.add(record.at_ns, ended, None);
        }
    }

    /// Rate, clustering at 1 ms, and pauses where arrivals come in bursts.
    fn arrivals(&self, span_ns: u64) -> FittedArrivals {
        let seconds = span_ns as f64 / 1e9;
        let rate = self.operations as f64 / seconds;
        let (_, fine) = self.counts.joined(1_000_000);
        let together = dispersion(&fine);
        let poisson = fine.len() < 10 || together >= 0.5;
        let smooth = FittedArrivals { rate, poisson, together: 1, burst: 0, pause_ns: 0 };
        let (width, windows) = self.counts.joined(10_000_000.max(span_ns / 500));
        if windows.len() < 20 || dispersion(&windows) < BURSTY {
            // What clusters within a millisecond is due together.
            let is_fine = self.counts.width_ns <= 2_000_000;
            let together = if is_fine { together.round().clamp(1.0, 64.0) as u32 } else { 1 };
            return FittedArrivals { together, ..smooth };
        }
        let mean = windows.iter().sum::<u64>() as f64 / windows.len() as f64;
        let is_busy: Vec<bool> = windows.iter().map(|count| *count as f64 > mean).collect();
        let bursts = 1 + is_busy.windows(2).filter(|pair| !pair[0] && pair[1]).count() as u64;
        let bursts = if is_busy.first() == Some(&true) { bursts } else { (bursts - 1).max(1) };
        let busy = is_busy.iter().filter(|busy| **busy).count() as u64;
        let idle = windows.len() as u64 - busy;
        let burst = (self.operations / bursts).max(1);
        let busy_seconds = (busy * width) as f64 / 1e9;
        FittedArrivals {
            rate: self.operations as f64 / busy_seconds.max(1e-9),
            burst,
            pause_ns: idle * width / bursts,
            ..smooth
        }
    }
}

/// The most frequent sizes with their shares; the others go to the next larger of these, or to the largest.
fn table(sizes: &SizeCounts) -> Vec<(u64, f64)> {
    let mut frequent: Vec<(u64, u64)> = sizes.counts.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    frequent.sort_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
    frequent.truncate(SIZES_MOST);
    let mut kept: BTreeMap<u64, u64> = frequent.iter().map(|(bytes, _)| (*bytes, 0)).collect();
    for (bytes, count) in &sizes.counts {
        let next = kept.range(*bytes..).next().or_else(|| kept.iter().next_back()).map(|(bytes, _)| *bytes);
        *kept.entry(next.unwrap_or(*bytes)).or_default() += count;
    }
    let total = sizes.total().max(1) as f64;
    kept.into_iter().map(|(bytes, count)| (bytes, count as f64 / total * 100.0)).collect()
}

fn notes(load: &FittedLoad, others: &BTreeMap<Verb, u64>, left_out: u64, total: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if left_out > 0 {
        let share = left_out as f64 / total.max(1) as f64 * 100.0;
        notes.push(format!(
            "{left_out} accesses ({share:.1} %) of small parts and of further files are left out"
        ));
    }
    let others: Vec<String> = others.iter().map(|(verb, count)| format!("{verb} {count}")).collect();
    if !others.is_empty() {
        notes.push(format!(
            "a drawn load has no calls on names and attributes: {} are left out",
            others.join(", ")
        ));
    }
    if load.jobs.iter().any(|job| job.sequential) {
        notes.push("sequential runs that were interleaved become one run for each file".into());
    }
    if load.jobs.iter().any(|job| job.arrivals.pause_ns > 0) {
        notes.push("bursts and pauses that vary in length become equally long ones".into());
    }
    notes.push("that one operation waited for another is not in a drawn load: jobs are independent".into());
    notes.push("places do not become hot or cold as time passes".into());
    notes
}
