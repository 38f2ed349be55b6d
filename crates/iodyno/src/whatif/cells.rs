//! The cells of a run that a device can be fitted to: closed loops of reads and writes of one block size.

use iodyno_model::{Job, JobRecord, Kind, Pick, Plan, Record, Share, Verb, Workload, sweep};
use iodyno_simulation::calibration::{CellLoad, MeasuredCell};
use iodyno_truth::quantity::{Measure, OperationSet, Quantity};
use iodyno_truth::statistics::median;

/// What a run says of its device.
pub struct RunCells {
    /// By direction, block, depth.
    pub cells: Vec<MeasuredCell>,
    /// Names of its phases that are no such loops.
    pub others: Vec<String>,
}

/// The cells of a run; several phases of one load are one.
pub fn cells(plan: &Plan, record: &Record) -> RunCells {
    // The record counts the phases of a sweep one by one.
    let expanded = sweep::expand(plan).ok();
    let plan = expanded.as_ref().unwrap_or(plan);
    let mut others = Vec::new();
    let mut loads: Vec<(MeasuredCell, Vec<f64>)> = Vec::new();
    for phase in &record.phases {
        let planned = plan.phases.get(phase.index).map(|planned| planned.jobs.as_slice());
        let found = match (phase.jobs.as_slice(), planned) {
            ([job], Some([planned])) => load(planned, job).map(|load| (load, job)),
            _ => None,
        };
        let rate = Quantity::new(OperationSet::All, Measure::Rate);
        let rated = found.and_then(|(load, job)| Some((load, job, rate.of(phase, job)?)));
        let Some((load, job, rate)) = rated.filter(|(.., rate)| *rate > 0.0) else {
            if !others.contains(&phase.name) {
                others.push(phase.name.clone());
            }
            continue;
        };
        let of = |kind| Quantity::new(OperationSet::Kind(kind), Measure::Mean).latency(job);
        let (reads, writes) = (of(Kind::Read), of(Kind::Write));
        match loads.iter_mut().find(|(known, _)| known.load == load) {
            Some((known, rates)) => {
                known.reads.merge(&reads);
                known.writes.merge(&writes);
                rates.push(rate);
            }
            None => loads.push((MeasuredCell { load, rate, reads, writes }, vec![rate])),
        }
    }
    let cell = |(cell, rates): (MeasuredCell, Vec<f64>)| Some(MeasuredCell { rate: median(&rates)?, ..cell });
    let mut cells: Vec<MeasuredCell> = loads.into_iter().filter_map(cell).collect();
    cells.sort_by(|a, b| {
        let key = |cell: &MeasuredCell| (cell.load.bytes, cell.load.is_random, cell.load.depth);
        b.load.reads_percent.total_cmp(&a.load.reads_percent).then(key(a).cmp(&key(b)))
    });
    RunCells { cells, others }
}

/// The load of a job; none: it is no closed loop of reads and writes of one block size.
fn load(planned: &Job, job: &JobRecord) -> Option<CellLoad> {
    let Workload::Pattern(pattern) = &planned.workload else { return None };
    let is_free = pattern.every.is_empty() && planned.pace == Default::default();
    let done: Vec<_> = job.tally.lines.iter().filter(|line| line.operations > 0).collect();
    let is_data = done.iter().all(|line| matches!(line.verb, Verb::Read | Verb::Write) && line.bytes > 0);
    if done.is_empty() || !is_data || !is_free {
        return None;
    }
    let bytes = done[0].bytes / done[0].operations;
    if done.iter().any(|line| line.bytes != bytes * line.operations) {
        return None;
    }
    let weight = |is: &dyn Fn(&Share) -> bool| -> f64 {
        pattern.mix.shares.iter().filter(|share| is(share)).map(|share| share.weight).sum()
    };
    let reads_percent = 100.0 * weight(&|share| share.verb == Verb::Read) / weight(&|_| true);
    let pick = if reads_percent > 0.0 { &pattern.pick.read } else { &pattern.pick.write };
    let is_random = match pick {
        Pick::Sequential => false,
        Pick::Uniform => true,
        _ => return None,
    };
    let depth = planned.depth.most.saturating_mul(planned.workers);
    Some(CellLoad { bytes, depth, reads_percent, is_random })
}

impl RunCells {
    fn has(&self, is: impl Fn(&CellLoad) -> bool) -> bool {
        self.cells.iter().any(|cell| is(&cell.load))
    }

    /// What it has, by name.
    pub fn fitted(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.has(|load| load.reads_percent == 100.0) {
            names.push("reads");
        }
        if self.has(|load| load.reads_percent == 0.0) {
            names.push("writes");
        }
        names
    }

    /// What was not asked, and what becomes of it on the device.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let (reads, writes) =
            (self.has(|load| load.reads_percent == 100.0), self.has(|load| load.reads_percent == 0.0));
        if !writes {
            remarks.push("The run asked for no writes: they are simulated as reads are.".into());
        }
        if !reads {
            remarks.push("The run asked for no reads: they are simulated as writes are.".into());
        }
        let has_mix = self.has(|load| load.reads_percent > 0.0 && load.reads_percent < 100.0);
        if reads && writes && !has_mix {
            remarks.push(
                "The run asked for no mix: whether reads and writes share servers follows from how many each has."
                    .into(),
            );
        }
        let single = |load: &CellLoad, is_random: bool| load.depth == 1 && load.is_random == is_random;
        let both = self.cells.iter().any(|cell| {
            let same = |is_random| {
                self.has(|load| {
                    single(load, is_random)
                        && (load.bytes, load.reads_percent) == (cell.load.bytes, cell.load.reads_percent)
                })
            };
            same(false) && same(true)
        });
        if !both {
            remarks.push(
                "The run asked for no block size both in order and at random at depth 1: on the device the order \
                 makes no difference, only the block does."
                    .into(),
            );
        }
        if !self.others.is_empty() {
            remarks.push(format!("Not fitted: {}.", self.others.join(", ")));
        }
        remarks
    }
}
