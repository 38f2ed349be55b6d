//! The fitted load as a stream of records: what a plan of it would issue, by the same rules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_model::Verb;

use super::{FittedJob, FittedLoad, FittedPlaces};
use crate::statistics::block_hash;
use crate::{Batch, RecordSource, Tables, TraceError, TraceFile, TraceHeader, TraceRecord, TraceThread};

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub struct DrawnNumbers {
    seed: u32,
    next: u64,
}

impl DrawnNumbers {
    pub fn new(seed: u64) -> DrawnNumbers {
        DrawnNumbers { seed: seed as u32, next: seed }
    }

    /// Above 0, below 1.
    pub fn uniform(&mut self) -> f64 {
        self.next = self.next.wrapping_add(1);
        ((block_hash(self.seed, self.next) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Which of several shares, which need not sum to 100.
    fn choose<T: Copy>(&mut self, shares: &[(T, f64)]) -> Option<T> {
        let mut left = self.uniform() * shares.iter().map(|(_, share)| share).sum::<f64>();
        for (value, share) in shares {
            left -= share;
            if left <= 0.0 {
                return Some(*value);
            }
        }
        shares.last().map(|(value, _)| *value)
    }
}

/// Draws places of a job.
#[derive(Clone, Debug)]
pub struct PlacePicker {
    places: FittedPlaces,
    blocks: u64,
    align: u64,
    file_bytes: u64,
}

impl PlacePicker {
    pub fn new(places: &FittedPlaces, job: &FittedJob) -> PlacePicker {
        let align = job.align.max(1);
        let blocks = (job.file_bytes / align).max(1);
        PlacePicker { places: places.clone(), blocks, align, file_bytes: job.file_bytes }
    }

    /// A place, bytes; of sequential ones the beginning.
    pub fn pick(&self, numbers: &mut DrawnNumbers) -> u64 {
        let blocks = self.blocks as f64;
        let block = match &self.places {
            FittedPlaces::Sequential => 0,
            FittedPlaces::Zones(zones) => {
                let mut start = 0.0;
                let ranges: Vec<((f64, f64), f64)> = zones
                    .iter()
                    .map(|(extent, accesses)| {
                        start += extent;
                        ((start - extent, *extent), *accesses)
                    })
                    .collect();
                let (start, extent) = numbers.choose(&ranges).unwrap_or((0.0, 100.0));
                ((start + numbers.uniform() * extent) / 100.0 * blocks) as u64
            }
            FittedPlaces::Zipf(theta) => {
                // The inverse of the continuous distribution; ranks are scattered by a step that shares no factor with the
                // number of blocks.
                let power = 1.0 - theta;
                let rank = ((blocks.powf(power) - 1.0) * numbers.uniform() + 1.0).powf(1.0 / power) - 1.0;
                let rank = (rank as u64).min(self.blocks - 1);
                let step = scatter_step(self.blocks);
                (u128::from(rank) * u128::from(step) % u128::from(self.blocks)) as u64
            }
        };
        (block.min(self.blocks - 1) * self.align).min(self.file_bytes)
    }
}

fn scatter_step(blocks: u64) -> u64 {
    let mut step = (blocks as f64 * 0.618_033_988_75) as u64 | 1;
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    while divisor(step, blocks) != 1 {
        step += 2;
    }
    step
}

/// One job that goes on.
#[derive(Clone, Debug)]
struct RunningJob {
    job: FittedJob,
    picker: PlacePicker,
    numbers: DrawnNumbers,
    /// When the next operation is due.
    due_ns: f64,
    /// Operations that are still due at that time.
    together_left: u32,
    burst_left: u64,
    run_left: u32,
    offset: u64,
    writes_to_sync: u64,
}

impl RunningJob {
    fn new(job: &FittedJob, seed: u64) -> RunningJob {
        let picker = PlacePicker::new(&job.places, job);
        RunningJob {
            picker,
            numbers: DrawnNumbers::new(seed),
            due_ns: 0.0,
            together_left: job.arrivals.together.max(1),
            burst_left: job.arrivals.burst.max(1),
            run_left: 0,
            offset: 0,
            writes_to_sync: job.sync.map_or(0, |(_, every)| every),
            job: job.clone(),
        }
    }

    fn step(&mut self, batch: &mut Batch) {
        let at = self.due_ns as u64;
        let verb = self.numbers.choose(&self.job.mix).unwrap_or(Verb::Read);
        let sizes = self.job.sizes.iter().find(|(of, _)| *of == verb).map(|(_, sizes)| sizes.clone());
        let bytes = sizes.and_then(|sizes| self.numbers.choose(&sizes)).unwrap_or(4096);
        if self.job.sequential || self.run_left > 0 {
            self.run_left = self.run_left.saturating_sub(1);
            if self.offset.saturating_add(bytes) > self.job.file_bytes {
                self.offset = 0;
            }
        } else {
            self.offset = self.picker.pick(&mut self.numbers);
            // A place is drawn such that the operation fits into the file.
            let last =
                self.job.file_bytes.saturating_sub(bytes) / self.job.align.max(1) * self.job.align.max(1);
            self.offset = self.offset.min(last);
            self.run_left = self.job.run.saturating_sub(1);
        }
        batch.push(TraceRecord::new(at, verb, self.job.file, self.offset, bytes));
        self.offset += bytes;
        if let Some((sync, every)) = self.job.sync.filter(|_| verb == Verb::Write) {
            self.writes_to_sync = self.writes_to_sync.saturating_sub(1);
            if self.writes_to_sync == 0 {
                self.writes_to_sync = every;
                batch.push(TraceRecord::new(at, sync, self.job.file, 0, 0));
            }
        }
        self.wait();
    }

    /// Moves on to when the next one is due.
    fn wait(&mut self) {
        let arrivals = self.job.arrivals;
        if arrivals.pause_ns > 0 {
            self.burst_left = self.burst_left.saturating_sub(1);
            if self.burst_left == 0 {
                self.burst_left = arrivals.burst.max(1);
                self.due_ns += arrivals.pause_ns as f64;
            }
        }
        self.together_left -= 1;
        if self.together_left > 0 {
            return;
        }
        self.together_left = arrivals.together.max(1);
        let gap = 1e9 / arrivals.rate.max(1e-9) * f64::from(self.together_left);
        self.due_ns += if arrivals.poisson { -self.numbers.uniform().ln() * gap } else { gap };
    }
}

/// The records of a fitted load, in the order of their times.
#[derive(Debug)]
pub struct FittedSource {
    header: TraceHeader,
    tables: Tables,
    jobs: Vec<RunningJob>,
    /// When each job is due next.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    span_ns: u64,
    left: u64,
}

impl FittedSource {
    /// At most so many operations of the load.
    pub fn new(load: &FittedLoad, seed: u64, operations_most: u64) -> FittedSource {
        let files = load.jobs.iter().map(|job| job.file as usize + 1).max().unwrap_or(0);
        let mut tables =
            Tables { files: vec![TraceFile::default(); files], threads: vec![TraceThread::default()] };
        load.jobs.iter().for_each(|job| tables.files[job.file as usize].name.clone_from(&job.name));
        let header = TraceHeader { source: "fitted load".into(), resolution_ns: 1, ..TraceHeader::default() };
        let jobs: Vec<RunningJob> = load
            .jobs
            .iter()
            .enumerate()
            .map(|(index, job)| RunningJob::new(job, seed.wrapping_add(index as u64 * 7919)))
            .collect();
        let due = (0..jobs.len()).map(|index| Reverse((0, index))).collect();
        FittedSource { header, tables, jobs, due, span_ns: load.span_ns, left: operations_most }
    }
}

impl RecordSource for FittedSource {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < 60_000 && self.left > 0 {
            let Some(Reverse((due, index))) = self.due.pop() else { break };
            if due >= self.span_ns {
                continue;
            }
            let job = &mut self.jobs[index];
            job.step(batch);
            self.left -= 1;
            self.due.push(Reverse((job.due_ns as u64, index)));
        }
        Ok(())
    }
}
