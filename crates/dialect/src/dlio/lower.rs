//! From a run to a plan: a phase for generating, one for each epoch, each evaluation and each checkpoint between epochs.
//!
//! Checkpoints after steps lie within an epoch: readers go on while the accelerators wait. Of PyTorch's order of samples each
//! epoch shuffles what the one before it shuffled, by the same seed.

use iodyno_model::dataset::{FileLayout, file_name};
use iodyno_model::reflect::Reflect as _;
use iodyno_model::training::SAVER;
use iodyno_model::{
    Content, Direct, Intent, Item, Items, Job, Journal, Lasting, Measure, Open, OpenMode, Operation, Origin,
    Payload, Phase, Plan, Prepare, Ranks, SampleAccess, Script, Size, Step, Target, TargetKind,
    TrainingInput, Verb, Workload,
};

use super::data::DlioSet;
use super::test::{DlioTest, ShuffleOrder};
use crate::engine_choice::POSITIONED_CALLS;
use crate::index_of;

/// How many make files side by side.
const MAKERS: u32 = 4;
/// What one write of a checkpoint moves at most.
const WRITE_BYTES: u64 = 16 << 20;

/// What a phase of the plan is to the reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DlioPhase {
    pub role: DlioRole,
    pub epoch: u32,
    /// Steps of each accelerator; of a checkpoint without training, which one it is.
    pub steps: u64,
    /// Steps after which there is a checkpoint within the phase.
    pub saves: Vec<u64>,
    /// Whether accelerators begin their steps together.
    pub barrier: bool,
    /// Pauses of a step before the one that computes: of an accelerator that reads itself and prepares samples.
    pub pauses: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DlioRole {
    Generate,
    #[default]
    Train,
    Evaluate,
    Checkpoint,
    /// A checkpoint without training is saved, or loaded.
    Save,
    Load,
}

/// A run's plan, and what its phases are.
pub fn plan(test: &DlioTest) -> (Plan, Vec<DlioPhase>) {
    let scale = test.states.as_ref().map(|states| states.model.scale).filter(|scale| *scale != 1.0);
    let scale = scale.map_or(String::new(), |scale| format!(", scale {scale}"));
    let plan = Plan {
        name: format!("dlio {}{scale}", test.model()),
        seed: u64::from(test.seed),
        intent: Intent::Device,
        ..Plan::default()
    };
    let mut lowering = DlioLowering { test, plan, phases: Vec::new() };
    lowering.phases();
    (lowering.plan, lowering.phases)
}

struct DlioLowering<'a> {
    test: &'a DlioTest,
    plan: Plan,
    phases: Vec<DlioPhase>,
}

impl DlioLowering<'_> {
    fn phases(&mut self) {
        let test = self.test;
        if let Some(states) = &test.states {
            self.phases = states.fill(&mut self.plan, test);
            return;
        }
        if test.generates && !test.is_simulated {
            self.generate();
        }
        if !test.trains {
            return;
        }
        let mut evaluations = 0;
        for epoch in 1..=test.epochs {
            self.train(epoch);
            if test.saves_after(epoch) {
                self.checkpoint(epoch);
            }
            if test.evaluates_after(epoch) {
                evaluations += 1;
                self.evaluate(epoch, evaluations);
            }
        }
    }

    /// Making the files is all that this phase does: they are made ready for it.
    fn generate(&mut self) {
        let sets = [&self.test.train, &self.test.valid];
        let targets: Vec<usize> =
            sets.into_iter().filter(|set| set.files > 0).map(|set| self.set(set, true)).collect();
        let nothing = Operation::control(Verb::Think).step("generated");
        let mut job = self.job("generate", targets, vec![nothing]);
        job.ranks = Ranks::Workers(1);
        let mut phase = Phase { intent: Some(Intent::Nothing), jobs: vec![job], ..Phase::default() };
        journaled(&mut phase);
        self.add(DlioRole::Generate, 0, "data generation", phase, Vec::new(), 0);
    }

    fn train(&mut self, epoch: u32) {
        let test = self.test;
        let mut input = self.input(&test.train, epoch);
        // All steps are one part of the script: which of them count, the report says.
        input.warm_up = 0;
        input.compute = test.compute.clone();
        input.saves = test.save_steps().unwrap_or_default();
        input.barrier = true;
        let mut phase = Phase::default();
        let target = self.set(&test.train, false);
        input.fill(&mut phase, target, POSITIONED_CALLS);
        self.savers(&input, epoch, &mut phase);
        journaled(&mut phase);
        let steps = input.taken_steps();
        self.add(DlioRole::Train, epoch, &format!("epoch {epoch}"), phase, input.saves, steps);
    }

    fn evaluate(&mut self, epoch: u32, evaluations: u32) {
        let test = self.test;
        let mut input = self.input(&test.valid, evaluations);
        input.compute = test.eval_compute.clone();
        let mut phase = Phase::default();
        let target = self.set(&test.valid, false);
        input.fill(&mut phase, target, POSITIONED_CALLS);
        journaled(&mut phase);
        let steps = input.taken_steps();
        self.add(DlioRole::Evaluate, epoch, &format!("evaluation {epoch}"), phase, Vec::new(), steps);
    }

    /// The input of an epoch of a set, which was gone through so many times, this one included.
    fn input(&self, set: &DlioSet, times: u32) -> TrainingInput {
        let test = self.test;
        let by_files = test.is_tensorflow();
        let seeds = |order: ShuffleOrder, is_used: bool, each: u32| match order {
            ShuffleOrder::Off => Vec::new(),
            _ if !is_used => Vec::new(),
            ShuffleOrder::Random => vec![test.seed.wrapping_add(each)],
            // What was shuffled once is shuffled again.
            ShuffleOrder::Seed => vec![test.seed; each as usize],
        };
        let changed = if test.settings.flag("train.seed_change_epoch") { 1 } else { 0 };
        let mut input = TrainingInput {
            accelerators: test.threads,
            ranks: test.ranks,
            readers: test.readers,
            prefetch: test.prefetch,
            batch: set.batch,
            steps: set.steps,
            warm_up: 0,
            samples: set.files * test.per_file(),
            per_item: test.per_file(),
            dealt: by_files,
            // The list of files is made once, and shuffled by the seed of the first epoch.
            item_seeds: match test.files {
                ShuffleOrder::Off => Vec::new(),
                _ if !by_files => Vec::new(),
                _ => vec![test.seed.wrapping_add(changed)],
            },
            sample_seeds: seeds(test.samples, !by_files, times),
            barrier: false,
            saves: Vec::new(),
            compute: Default::default(),
            preprocess: test.preprocess.clone(),
            ..TrainingInput::blank()
        };
        // What cannot be read was refused before.
        let _ = test.file.read_by(&mut input, &test.sample);
        if test.is_simulated {
            input.dealt &= input.access != SampleAccess::Stream;
            (input.access, input.first_sample_bytes) = (SampleAccess::Record, 0);
            input.record_bytes = self.layout().stored_bytes();
        }
        match test.settings.count("reader.transfer_size") {
            0 => {}
            bytes => input.transfer_bytes = bytes,
        }
        input
    }

    /// A file whose samples have their mean length.
    fn layout(&self) -> FileLayout {
        let bytes = match self.test.sample {
            Size::Normal { mean_bytes, .. } => mean_bytes as u64,
            ref size => size.most_bytes().unwrap_or(1),
        };
        self.test.file.layout(bytes)
    }

    /// The files of a set: as they are to be made, or as they are found. Of a simulated device, its part of it.
    fn set(&mut self, set: &DlioSet, makes: bool) -> usize {
        let test = self.test;
        if test.is_simulated {
            let target = Target {
                name: set.folder.clone(),
                kind: TargetKind::Nothing { bytes: set.files.saturating_mul(self.layout().bytes()) },
                open: Open::default(),
                prepare: Prepare::AsItIs,
                remove: false,
                origin: test.settings.origin("dataset.data_folder"),
            };
            return index_of(&mut self.plan.targets, target);
        }
        let prefix = test.settings.text("dataset.file_prefix").unwrap_or_default();
        let width = set.subfolders.to_string().len();
        let items = Items {
            count: set.files,
            name: file_name(prefix, set.of, test.file.kind),
            directory: format!("{{child:0{width}}}"),
            size: test.sample.clone(),
            format: Some(test.file),
            makers: MAKERS,
            depth: u32::from(set.subfolders > 0),
            branch: set.subfolders.max(1) as u32,
            leaves_only: set.subfolders > 0,
            ..Items::default()
        };
        let target = Target {
            name: format!("{}{}", if makes { "generated " } else { "" }, set.folder),
            kind: TargetKind::FileSet { root: set.folder.clone(), items },
            open: Open {
                mode: OpenMode::Read,
                direct: if test.settings.flag("reader.odirect") { Direct::Yes } else { Direct::No },
                create: test.generates,
                parents: test.generates,
                directory: !test.generates,
                ..Open::default()
            },
            prepare: if makes { Prepare::Filled } else { Prepare::AsItIs },
            remove: makes && !test.settings.flag("dataset.keep_files"),
            origin: test.settings.origin("dataset.data_folder"),
        };
        index_of(&mut self.plan.targets, target)
    }

    fn checkpoint(&mut self, epoch: u32) {
        let steps = self.test.train.steps;
        let mut job = self.saver(vec![(epoch, steps)], |write| write);
        if self.test.saves_all_ranks() {
            job.workers = self.test.threads;
        } else {
            job.ranks = Ranks::Workers(1);
        }
        let mut phase = Phase { jobs: vec![job], ..Phase::default() };
        journaled(&mut phase);
        self.add(DlioRole::Checkpoint, epoch, &format!("checkpoint {epoch}"), phase, Vec::new(), steps);
    }

    /// The jobs that write while the accelerators of an epoch wait.
    fn savers(&mut self, input: &TrainingInput, epoch: u32, phase: &mut Phase) {
        if input.saves.is_empty() {
            return;
        }
        let all = self.test.saves_all_ranks();
        let saves = input.saves.iter().map(|step| (epoch, *step)).collect();
        let mut job = self.saver(saves, TrainingInput::save);
        match all {
            true => job.workers = self.test.threads,
            false => job.ranks = Ranks::Workers(1),
        }
        phase.jobs.push(job);
    }

    /// A job that writes the checkpoints of these epochs and steps, one after the other.
    fn saver(&mut self, saves: Vec<(u32, u64)>, around: impl Fn(Vec<Step>) -> Vec<Step>) -> Job {
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for (epoch, step) in saves {
            let mut write = Vec::new();
            for (name, count, bytes) in self.parts(epoch, step) {
                let target = self.checkpoint_files(&name, count);
                let target = index_of(&mut targets, target);
                (0..count).for_each(|index| write.extend(self.written(target, index, bytes)));
            }
            steps.extend(around(write));
        }
        let mut job = self.job(SAVER, targets, steps);
        // As PyTorch's tensors of nothing but zeros.
        job.payload = Payload { content: Content::Zero, ..Payload::default() };
        job
    }

    /// The files of one checkpoint: their names, how many there are of each, and their lengths.
    fn parts(&self, epoch: u32, step: u64) -> Vec<(String, u64, u64)> {
        let test = self.test;
        let of = |name: &str| test.settings.count(&format!("checkpoint.{name}"));
        let name = |kind: &str| format!("{kind}-{epoch}-{step}-{{worker}}.pt");
        let sum = |lengths: &[u64]| lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length));
        let shared = if of("tensor_parallelism") > 1 { of("tensor_parallelism") } else { 0 };
        let layers = match of("num_layers") {
            0 => 0,
            layers => layers + shared,
        };
        [
            (name("model"), 1, of("model_size")),
            (name("optimizer"), 1, sum(&test.groups).saturating_mul(3)),
            (name("layer-{item}"), layers, sum(&test.layers)),
        ]
        .into_iter()
        .filter(|(_, count, bytes)| *count > 0 && *bytes > 0)
        .collect()
    }

    fn checkpoint_files(&mut self, name: &str, count: u64) -> usize {
        let root = self.test.settings.text("checkpoint.checkpoint_folder").unwrap_or_default();
        let root = root.trim_end_matches('/').to_string();
        let items = Items {
            count,
            name: name.into(),
            size: Size::Fixed(0),
            present_percent: 0.0,
            ..Items::default()
        };
        let target = Target {
            name: name.into(),
            kind: TargetKind::FileSet { root, items },
            open: Open { create: true, parents: true, truncate: true, ..Open::default() },
            prepare: Prepare::AsItIs,
            remove: false,
            origin: self.test.settings.origin("checkpoint.checkpoint_folder"),
        };
        index_of(&mut self.plan.targets, target)
    }

    /// One file, from its opening to its closing.
    fn written(&self, target: usize, index: u64, bytes: u64) -> Vec<Step> {
        let chunk = bytes.min(WRITE_BYTES);
        let (count, rest) = (bytes / chunk.max(1), bytes % chunk.max(1));
        let write = |bytes| {
            Operation { handle: Some(0), size: Size::Fixed(bytes), ..Operation::on(Verb::Write, target) }
                .step("write")
        };
        let create =
            Operation { item: Item::Index(index), handle: Some(0), ..Operation::on(Verb::Create, target) };
        let on_file = |verb| Operation { handle: Some(0), ..Operation::on(verb, target) };
        let mut steps = vec![create.step("create")];
        steps.extend((count > 0).then(|| Step { repeat: count, ..write(chunk) }));
        steps.extend((rest > 0).then(|| write(rest)));
        steps.extend(self.test.settings.flag("checkpoint.fsync").then(|| on_file(Verb::Fsync).step("fsync")));
        steps.push(on_file(Verb::Close).step("close"));
        steps
    }

    fn job(&self, name: &str, targets: Vec<usize>, steps: Vec<Step>) -> Job {
        let script = Script { steps, ..Script::default() };
        let mut job = Job::new(name, POSITIONED_CALLS, targets, Workload::Script(script));
        job.limit.passes = Some(1);
        job.origin = Origin::Default;
        job
    }

    fn add(&mut self, role: DlioRole, epoch: u32, name: &str, phase: Phase, saves: Vec<u64>, steps: u64) {
        let barrier = role == DlioRole::Train && self.test.accelerators() > 1;
        self.plan.phases.push(Phase { name: name.into(), ..phase });
        let prepares = self.test.readers == 0 && self.test.preprocess != Lasting::default();
        let batch = match role {
            DlioRole::Evaluate => self.test.valid.batch,
            _ => self.test.train.batch,
        };
        let pauses = if prepares { batch } else { 0 };
        self.phases.push(DlioPhase { role, epoch, steps, saves, barrier, pauses });
    }
}

/// What accelerators and savers do is written down, operation by operation; what readers do is not.
fn journaled(phase: &mut Phase) {
    for job in phase.jobs.iter_mut().filter(|job| job.name != iodyno_model::training::READER) {
        let journal = Some(Journal { completions: true, ..Journal::default() });
        job.measure = Measure { journal, ..job.measure.clone() };
    }
}
