//! Training input: samples that readers fetch ahead, whole batches at a time, for accelerators that compute on them.
//!
//! Says it as plain values and writes it as scripts of a phase: readers and accelerators that share semaphores. An accelerator is
//! a worker that waits for a batch and then sleeps as long as computing would take. Draws nothing and reads nothing.

use crate::pattern::Size;
use crate::plan::{Job, Measure, Phase};
use crate::record::{PhaseRecord, WorkerRecord};
use crate::reflect::{Reflect, blank_by_default};
use crate::tally::Tally;
use crate::verb::Verb;
use crate::workload::{
    Action, Item, Offset, Operation, Script, SharedKind, SharedObject, SharedUse, Step, Workload,
};

/// The job that computes, and the one that reads ahead.
pub const ACCELERATOR: &str = "accelerator";
pub const READER: &str = "reader";
/// The jobs that write checkpoints while accelerators wait.
pub const SAVER: &str = "checkpoint";

/// Labels: of steps that do not count and those that do, of waiting for a batch, and of computing.
const FIRST_STEP: &str = "first step";
const STEP: &str = "step";
const LOAD: &str = "load";
const COMPUTE: &str = "compute";
/// One sample, from opening to closing.
pub const SAMPLE: &str = "sample";

/// Batches that were read, or bytes of them; and those for which there is room.
const READY: &str = "batches ready";
const FREE: &str = "room for batches";
/// Where accelerators wait for each other after each step, and with those who save before and after their state is saved.
const BARRIER: &str = "steps ended";
const SAVE: &str = "state to save";

/// How often whoever waits asks again: after this part of the computing time, between the two bounds, ns.
const ASKED_PART: u64 = 1000;
const ASKED_NS: (u64, u64) = (10_000, 1_000_000);

/// In which order accelerators take samples, and readers fetch them.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct SampleOrder {
    pub samples: u64,
    /// Samples that lie in one item, one after the other.
    #[reflect(positive, default = 1)]
    pub per_item: u64,
    /// Among whom the samples are divided, over all ranks.
    #[reflect(positive, default = 1)]
    pub accelerators: u32,
    /// Whether they are dealt in turn; otherwise each accelerator has successive ones.
    #[reflect(default, phrase = "dealt in turn")]
    pub dealt: bool,
    /// Samples of a batch. The readers of an accelerator take its batches in turn.
    #[reflect(positive, default = 1)]
    pub batch: u32,
    #[reflect(positive, default = 1)]
    pub readers: u32,
    /// The batch of each accelerator that is the first, counted from 0.
    #[reflect(default)]
    pub first: u64,
    /// Batches of each accelerator from that one on; one that has fewer begins anew.
    #[reflect(default, positive)]
    pub steps: u64,
    /// The items are shuffled once with each of these seeds, as NumPy's `RandomState` does.
    #[reflect(default)]
    pub item_seeds: Vec<u32>,
    /// Then the samples of each accelerator are.
    #[reflect(default)]
    pub sample_seeds: Vec<u32>,
}

blank_by_default!(SampleOrder);

/// How a sample is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum SampleAccess {
    /// Its item is opened, read to its end and closed.
    #[default]
    #[reflect(key = "items")]
    Item,
    /// Items are read from their beginnings to their ends, and samples are taken out of what came.
    Stream,
    /// Samples lie one after the other in one file or device.
    Record,
    /// An item is opened, a sample is read at its place in it, and the item is closed.
    Placed,
}

/// Training input.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct TrainingInput {
    /// Workers that compute, each an accelerator, on each rank.
    #[reflect(positive, absent = 1)]
    pub accelerators: u32,
    #[reflect(key = "", absent = 1)]
    pub ranks: u32,
    /// Readers of each accelerator; 0: it reads itself, and nothing overlaps.
    #[reflect(absent = 1)]
    pub readers: u32,
    /// Batches that a reader may be ahead.
    #[reflect(positive, absent = 2)]
    pub prefetch: u32,
    /// Samples of a step.
    #[reflect(positive, absent = 1)]
    pub batch: u32,
    /// Steps; 0: as many as there are whole batches for each accelerator.
    pub steps: u64,
    /// Steps at the beginning that do not count for the utilisation.
    #[reflect(absent = 1)]
    pub warm_up: u64,
    #[reflect(positive)]
    pub samples: u64,
    /// Samples of an item.
    #[reflect(positive, absent = 1)]
    pub per_item: u64,
    /// What a sample is, bytes; of items that are read whole it is only told.
    pub record_bytes: u64,
    /// The largest read.
    #[reflect(positive, absent = 1 << 20)]
    pub transfer_bytes: u64,
    /// Of samples at their places: where the first one lies in its item. What is before it is read first, once for a sample.
    pub first_sample_bytes: u64,
    pub access: SampleAccess,
    /// Whether samples are dealt to the accelerators in turn; otherwise each has successive ones.
    pub dealt: bool,
    /// The items are shuffled once with each of these seeds.
    pub item_seeds: Vec<u32>,
    /// Then the samples of each accelerator are.
    pub sample_seeds: Vec<u32>,
    /// Whether the accelerators of all ranks begin each step together, when all have ended the one before.
    pub barrier: bool,
    /// Steps after which the accelerators of all ranks wait for what [`SAVER`] jobs write.
    #[reflect(key = "")]
    pub saves: Vec<u64>,
    /// How long a step computes.
    #[reflect(key = "")]
    pub compute: Lasting,
    /// How long a reader works on a sample that it has read.
    #[reflect(key = "")]
    pub preprocess: Lasting,
}

blank_by_default!(TrainingInput);

/// A time that is slept: always the same, or a number that is drawn and multiplied.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Lasting {
    pub ns: u64,
    /// The number, and the ns of its unit.
    pub drawn: Option<(Size, f64)>,
}

impl Lasting {
    fn is_none(&self) -> bool {
        self.ns == 0 && self.drawn.is_none()
    }

    fn think(&self, label: &str) -> Step {
        Operation { time_ns: self.ns, drawn: self.drawn.clone(), ..Operation::control(Verb::Think) }
            .step(label)
    }
}

impl TrainingInput {
    /// Accelerators of all ranks.
    pub fn all_accelerators(&self) -> u32 {
        self.accelerators.saturating_mul(self.ranks.max(1))
    }

    /// Steps that each accelerator takes.
    pub fn taken_steps(&self) -> u64 {
        let whole = self.samples / u64::from(self.batch.max(1)) / u64::from(self.all_accelerators().max(1));
        if self.steps == 0 { whole } else { self.steps.min(whole) }
    }

    /// Adds the jobs to a phase, on a target of the plan, and what they share.
    pub fn fill(&self, phase: &mut Phase, target: usize, engine: &str) {
        let lanes = self.all_accelerators().saturating_mul(self.lanes());
        if self.readers > 0 {
            let lane = |name: &str, initial| SharedObject {
                each_rank: true,
                ..SharedObject::new(name, SharedKind::Lanes { count: lanes, initial })
            };
            phase.shared.push(lane(READY, 0));
            phase.shared.push(lane(FREE, self.room()));
            phase.jobs.push(self.reader(target, engine));
        }
        let barriers = [(BARRIER, self.has_barrier()), (SAVE, !self.saves.is_empty())];
        let wanted = barriers.into_iter().filter(|(_, is_wanted)| *is_wanted);
        phase.shared.extend(wanted.map(|(name, _)| SharedObject::new(name, SharedKind::Barrier)));
        phase.jobs.push(self.accelerator(target, engine));
    }

    fn is_stream(&self) -> bool {
        self.access == SampleAccess::Stream
    }

    /// Semaphores of each accelerator: one for each reader, whose batches come in turn; a stream has one for all of them.
    fn lanes(&self) -> u32 {
        if self.is_stream() { 1 } else { self.readers.max(1) }
    }

    /// What may be read ahead: batches of a reader; of a stream, bytes of all of them.
    fn room(&self) -> u64 {
        match self.is_stream() {
            true => {
                self.batch_bytes() * u64::from(self.prefetch) + self.transfer_bytes * u64::from(self.readers)
            }
            false => self.prefetch.into(),
        }
    }

    fn item_bytes(&self) -> u64 {
        self.record_bytes.saturating_mul(self.per_item.max(1))
    }

    fn batch_bytes(&self) -> u64 {
        self.record_bytes * u64::from(self.batch)
    }

    /// Of all batches.
    fn order(&self) -> SampleOrder {
        SampleOrder {
            first: 0,
            samples: self.samples,
            per_item: self.per_item,
            accelerators: self.all_accelerators(),
            dealt: self.dealt,
            batch: self.batch,
            readers: self.readers.max(1),
            steps: self.taken_steps(),
            item_seeds: self.item_seeds.clone(),
            sample_seeds: self.sample_seeds.clone(),
        }
    }

    /// Of a stream the items are dealt, one at a time.
    fn item_order(&self) -> SampleOrder {
        let order = self.order();
        if !self.is_stream() {
            return order;
        }
        let per_item = self.per_item.max(1);
        let steps = (order.steps * u64::from(self.batch)).div_ceil(per_item);
        SampleOrder { samples: self.samples / per_item, per_item: 1, batch: 1, steps, ..order }
    }

    fn wait(&self, name: &str, amount: u64, verb: Verb) -> Operation {
        let asked = (self.compute.ns / ASKED_PART).clamp(ASKED_NS.0, ASKED_NS.1);
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        let shared = SharedUse { retry_ns: asked, ..SharedUse::new(name, amount) };
        Operation { shared: Some(shared), ..Operation::control(verb) }
    }

    fn in_turn(&self, mut operation: Operation, before: u64) -> Operation {
        if let Some(shared) = &mut operation.shared {
            shared.lanes = self.lanes();
            shared.first_lane = (before % u64::from(shared.lanes)) as u32;
        }
        operation
    }

    fn shared_by_readers(&self, mut operation: Operation) -> Operation {
        if let Some(shared) = operation.shared.as_mut().filter(|_| self.is_stream()) {
            shared.sharers = self.readers;
        }
        operation
    }

    fn job(&self, name: &str, engine: &str, target: usize, steps: Vec<Step>) -> Job {
        let script = Script { steps, ..Script::default() };
        let job = Job::new(name, engine, vec![target], Workload::Script(script));
        Job { measure: Measure { each: true, ..Measure::default() }, ..job }
    }

    fn reader(&self, target: usize, engine: &str) -> Job {
        let steps = if self.is_stream() { self.stream() } else { self.batches() };
        let mut job = self.job(READER, engine, target, steps);
        job.workers = self.accelerators.saturating_mul(self.readers);
        let turns = self.taken_steps().div_ceil(u64::from(self.readers));
        job.limit.passes = Some(if self.is_stream() { u64::MAX - 1 } else { turns });
        job
    }

    fn batches(&self) -> Vec<Step> {
        let free = self.shared_by_readers(self.wait(FREE, 1, Verb::Wait)).step("room");
        let ready = self.shared_by_readers(self.wait(READY, 1, Verb::Post)).step("ready");
        vec![free, self.batch(self.order()), ready]
    }

    /// Each item is read in transfers, for which there must be room; what came is told by the byte.
    fn stream(&self) -> Vec<Step> {
        let item_bytes = self.item_bytes();
        let transfers = |bytes: u64, repeat: u64| {
            let room = self.shared_by_readers(self.wait(FREE, bytes, Verb::Wait)).step("room");
            let read =
                Operation { handle: Some(0), size: Size::Fixed(bytes), ..Operation::on(Verb::Read, 0) };
            let ready = self.shared_by_readers(self.wait(READY, bytes, Verb::Post)).step("ready");
            let steps = vec![room, read.step("read"), ready];
            Step { action: Action::Block(steps), repeat, ..Operation::control(Verb::Wait).step("transfer") }
        };
        let (whole, rest) = (item_bytes / self.transfer_bytes, item_bytes % self.transfer_bytes);
        let mut steps = vec![self.open(self.item_order())];
        steps.extend((whole > 0).then(|| transfers(self.transfer_bytes, whole)));
        steps.extend((rest > 0).then(|| transfers(rest, 1)));
        steps.push(close());
        steps
    }

    fn open(&self, order: SampleOrder) -> Step {
        let item = Item::Sampled(Box::new(order));
        Operation { item, handle: Some(0), ..Operation::on(Verb::Open, 0) }.step("open")
    }

    /// All samples of a batch of that order, one after the other.
    fn batch(&self, order: SampleOrder) -> Step {
        let mut steps = match self.access {
            SampleAccess::Record => self.record(order, None),
            SampleAccess::Placed => self.placed(order),
            _ => {
                let size = Size::Fixed(self.transfer_bytes);
                let read = Operation { handle: Some(0), whole: true, size, ..Operation::on(Verb::Read, 0) };
                vec![self.open(order), read.step("read"), close()]
            }
        };
        if !self.preprocess.is_none() {
            steps.push(self.preprocess.think("preprocess"));
        }
        let sample = Operation::control(Verb::Wait).step(SAMPLE);
        Step { action: Action::Block(steps), repeat: self.batch.into(), ..sample }
    }

    /// What an item says of itself is read before its sample.
    fn placed(&self, order: SampleOrder) -> Vec<Step> {
        let mut steps = vec![self.open(order.clone())];
        if self.first_sample_bytes > 0 {
            let size = Size::Fixed(self.first_sample_bytes);
            let head =
                Operation { handle: Some(0), offset: Offset::At(0), size, ..Operation::on(Verb::Read, 0) };
            steps.push(head.step("read metadata"));
        }
        steps.extend(self.record(order, Some(0)));
        steps.push(close());
        steps
    }

    /// The first transfer of a sample finds its place, the others follow it.
    fn record(&self, order: SampleOrder, handle: Option<u32>) -> Vec<Step> {
        let transfer = self.transfer_bytes.min(self.record_bytes.max(1));
        let (count, rest) = (self.record_bytes / transfer, self.record_bytes % transfer);
        let first_byte = handle.map(|_| self.first_sample_bytes);
        let record_bytes = self.record_bytes;
        let offset = Offset::Sampled { order: Box::new(order), record_bytes, first_byte };
        let read = |offset, bytes| {
            Operation { handle, offset, size: Size::Fixed(bytes), ..Operation::on(Verb::Read, 0) }
                .step("read")
        };
        let mut steps = vec![read(offset, transfer)];
        steps.extend((count > 1).then(|| Step { repeat: count - 1, ..read(Offset::Next, transfer) }));
        steps.extend((rest > 0).then(|| read(Offset::Next, rest)));
        steps
    }

    fn accelerator(&self, target: usize, engine: &str) -> Job {
        let all = self.taken_steps();
        let first = self.warm_up.min(all);
        let mut steps = Vec::new();
        let mut cuts: Vec<u64> = self.saves.iter().copied().filter(|save| *save <= all).collect();
        cuts.extend([first, all]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut before = 0;
        for cut in cuts {
            let labels = if cut <= first {
                [FIRST_STEP, "first load", "first compute"]
            } else {
                [STEP, LOAD, COMPUTE]
            };
            steps.extend((cut > before).then(|| self.step(labels, before, cut - before)));
            if self.saves.contains(&cut) {
                steps.extend(["save", "saved"].map(|label| meet(SAVE).step(label)));
            }
            before = cut;
        }
        if self.is_stream() && self.readers > 0 {
            // Readers finish the items that they have begun.
            steps.push(self.wait(FREE, self.item_bytes(), Verb::Post).step("taken"));
        }
        let mut job = self.job(ACCELERATOR, engine, target, steps);
        job.workers = self.accelerators;
        job.limit.passes = Some(1);
        job
    }

    /// So many steps after those before.
    fn step(&self, [label, load, compute]: [&str; 3], before: u64, repeat: u64) -> Step {
        let mut steps = match self.readers {
            0 => {
                // Each part of the steps goes on where the one before it ended.
                let order = if self.is_stream() { self.item_order() } else { self.order() };
                let batch = vec![self.batch(SampleOrder { first: before, steps: repeat, ..order })];
                vec![Step { action: Action::Block(batch), ..Operation::control(Verb::Wait).step(load) }]
            }
            _ => {
                let amount = if self.is_stream() { self.batch_bytes() } else { 1 };
                let wait = self.in_turn(self.wait(READY, amount, Verb::Wait), before).step(load);
                let post = self.in_turn(self.wait(FREE, amount, Verb::Post), before).step("taken");
                vec![wait, post]
            }
        };
        steps.push(self.compute.think(compute));
        if self.has_barrier() {
            steps.push(meet(BARRIER).step("barrier"));
        }
        Step { action: Action::Block(steps), repeat, ..Operation::control(Verb::Wait).step(label) }
    }

    fn has_barrier(&self) -> bool {
        self.barrier && self.all_accelerators() > 1
    }

    /// What a job that saves state does: it waits for the accelerators, writes, and lets them go on.
    pub fn save(write: Vec<Step>) -> Vec<Step> {
        let [before, behind] = ["asked to save", "saved"].map(|label| meet(SAVE).step(label));
        [vec![before], write, vec![behind]].concat()
    }
}

/// Waiting for all who come to a barrier.
fn meet(name: &str) -> Operation {
    Operation { shared: Some(SharedUse::new(name, 1)), ..Operation::control(Verb::Wait) }
}

fn close() -> Step {
    Operation { handle: Some(0), ..Operation::on(Verb::Close, 0) }.step("close")
}

/// What an accelerator did in a phase of training input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AcceleratorRecord {
    /// Its number, over all ranks.
    pub index: u32,
    pub rank: u32,
    /// Steps, the first ones included.
    pub steps: u64,
    /// Without the first steps: computing, and waiting for batches; what is left of the whole is neither. ns.
    pub compute_ns: u64,
    pub load_ns: u64,
    pub whole_ns: u64,
    /// All steps, ns.
    pub elapsed_ns: u64,
}

impl AcceleratorRecord {
    /// Each accelerator of a phase; none: the phase is no training input.
    pub fn of(phase: &PhaseRecord) -> Vec<AcceleratorRecord> {
        let job = phase.jobs.iter().filter(|job| job.name == ACCELERATOR);
        job.flat_map(|job| &job.workers).filter_map(Self::of_worker).collect()
    }

    fn of_worker(worker: &WorkerRecord) -> Option<AcceleratorRecord> {
        let tally = worker.tally.as_deref()?;
        let (first, step) = (sum(tally, FIRST_STEP), sum(tally, STEP));
        Some(AcceleratorRecord {
            index: worker.index,
            rank: worker.rank,
            steps: first.0 + step.0,
            compute_ns: sum(tally, COMPUTE).1,
            load_ns: sum(tally, LOAD).1,
            whole_ns: step.1,
            elapsed_ns: first.1 + step.1,
        })
    }

    /// The share of its time in which it computed, percent; 0 where nothing counted.
    pub fn utilisation_percent(&self) -> f64 {
        if self.whole_ns == 0 { 0.0 } else { self.compute_ns as f64 / self.whole_ns as f64 * 100.0 }
    }
}

/// How busy several accelerators were kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation {
    /// The mean of all, percent.
    pub mean_percent: f64,
    /// The one that was kept busy least.
    pub least: AcceleratorRecord,
}

impl Utilisation {
    /// Of none: none.
    pub fn of(all: &[AcceleratorRecord]) -> Option<Utilisation> {
        let percent = AcceleratorRecord::utilisation_percent;
        let least = *all.iter().min_by(|one, other| percent(one).total_cmp(&percent(other)))?;
        Some(Utilisation { mean_percent: all.iter().map(percent).sum::<f64>() / all.len() as f64, least })
    }
}

/// How often something was done, and how long that took, ns.
fn sum(tally: &Tally, label: &str) -> (u64, u64) {
    let lines = tally.lines.iter().filter(|line| line.label == label);
    lines.fold((0, 0), |(count, ns), line| {
        (count + line.latency.count(), ns + u64::try_from(line.latency.sum).unwrap_or(u64::MAX))
    })
}
