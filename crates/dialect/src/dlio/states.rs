//! Checkpoints of language models without training: which files each process has, how often they are saved and loaded, and what
//! that came to.
//!
//! The keys of a transformer, its parallelism and ZeRO, as DLIO's head and MLPerf Storage 2.0 have them; the formulas are the
//! model's ([`CheckpointModel`]). Every process is an accelerator. It refuses checkpoints of such models while something is trained.

use iodyno_model::{
    CheckpointMedium, CheckpointModel, CheckpointRecord, CheckpointTransfer, Diagnostic, Origin, Parallelism,
    Phase, PhaseRecord, Plan, Ranks, Target, TargetKind, units,
};

use super::lower::{DlioPhase, DlioRole};
use super::results::{GIB, spread};
use super::test::{DlioJudge, DlioTest};
use crate::engine_choice::POSITIONED_CALLS;
use crate::json_tree::JsonTree;
use crate::{Loader, PathFacts};

/// What one write or read of a checkpoint moves at most.
const TRANSFER_BYTES: u64 = 16 << 20;
/// Checkpoints of a run, and files of all of them: each file is a target of the plan.
const CHECKPOINTS_MOST: i64 = 1000;
const FILES_MOST: u64 = 200_000;
/// The largest width of a model that is computed with, elements.
const WIDTH_MOST: u64 = 1 << 24;

/// Checkpoints without training.
#[derive(Clone, Debug, PartialEq)]
pub struct DlioStates {
    pub model: CheckpointModel,
    /// Those that take part: all of the model's, or the first ones.
    pub processes: u32,
    pub writes: u32,
    pub reads: u32,
    /// Before each of them.
    pub pause_ns: u64,
    /// A process loads what the one so many further has saved.
    pub shift: u32,
    pub fsync: bool,
    pub folder: String,
}

/// One checkpoint that was saved or loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateTimes {
    pub role: DlioRole,
    pub number: u64,
    /// Of the start line, ns since 1970.
    pub line_unix_ns: u64,
    pub record: CheckpointRecord,
}

impl StateTimes {
    /// None: no process ran.
    pub fn of(phase: &DlioPhase, line_unix_ns: u64, record: &PhaseRecord) -> Option<StateTimes> {
        let record = CheckpointRecord::of(record)?;
        Some(StateTimes { role: phase.role, number: phase.steps, line_unix_ns, record })
    }

    pub fn seconds(&self) -> f64 {
        self.record.longest_ns as f64 / 1e9
    }

    fn gib_per_second(&self) -> f64 {
        self.record.bytes_per_second() / GIB
    }

    /// The beginning and the end, as the log tells them.
    pub fn lines(&self, step: u64) -> [String; 2] {
        let [doing, number] = [self.word("saving", "loading").to_string(), self.number.to_string()];
        [
            format!("Starting {doing} checkpoint {number} after total step {step} for epoch 1"),
            format!(
                "Finished {doing} checkpoint {number} for epoch 1 in {:.4} s; Throughput: {:.4} GB/s; rank {} took longest",
                self.seconds(),
                self.gib_per_second(),
                self.record.late_rank
            ),
        ]
    }

    pub fn word<'a>(&self, saved: &'a str, loaded: &'a str) -> &'a str {
        if self.role == DlioRole::Save { saved } else { loaded }
    }
}

/// Durations in seconds and rates in units of 2^30 bytes of all checkpoints of one role.
fn of_role(all: &[StateTimes], role: DlioRole) -> (Vec<f64>, Vec<f64>) {
    all.iter().filter(|one| one.role == role).map(|one| (one.seconds(), one.gib_per_second())).unzip()
}

/// The lines that a run ends with.
pub fn metric_lines(all: &[StateTimes]) -> Vec<String> {
    let mut lines = Vec::new();
    for (role, word) in [(DlioRole::Save, "save"), (DlioRole::Load, "load")] {
        let (seconds, rates) = of_role(all, role);
        if seconds.is_empty() {
            continue;
        }
        let ((mean, deviation), (rate, rates)) = (spread(&seconds), spread(&rates));
        lines.push(format!("Checkpoint {word} duration (seconds): {mean:.4} ({deviation:.4})"));
        lines.push(format!("Checkpoint {word} I/O Throughput (GB/second): {rate:.4} ({rates:.4})"));
    }
    lines
}

/// The same for `summary.json`.
pub fn push_metric(metric: &mut JsonTree, states: &DlioStates, all: &[StateTimes]) {
    for (role, word) in [(DlioRole::Save, "save"), (DlioRole::Load, "load")] {
        let (seconds, rates) = of_role(all, role);
        if seconds.is_empty() {
            continue;
        }
        for (name, values) in [("io", &rates), ("duration", &seconds)] {
            let unit = if name == "io" { "GB_per_second" } else { "seconds" };
            let (mean, deviation) = spread(values);
            metric.push(&format!("{word}_checkpoint_{name}_mean_{unit}"), mean);
            metric.push(&format!("{word}_checkpoint_{name}_stdev_{unit}"), deviation);
        }
    }
    metric.push("checkpoint_size_GB", states.bytes() as f64 / GIB);
}

impl DlioStates {
    /// What all processes that take part save, bytes.
    pub fn bytes(&self) -> u64 {
        self.model.bytes(self.processes)
    }

    /// What is told of a scale; none: tensors have all their elements.
    pub fn scale_line(&self) -> Option<String> {
        let scale = self.model.scale;
        (scale != 1.0).then(|| format!("Scale: {scale} of the elements of every tensor"))
    }

    /// What is told before anything is saved.
    pub fn lines(&self) -> Vec<String> {
        let Parallelism { tensor, pipeline, data } = self.model.parallelism;
        let mut lines = vec![
            format!("Total number of parameters in the transformation model: {}", self.model.parameters()),
            format!("Total checkpoint size: {} GB", self.bytes() as f64 / GIB),
            format!(
                "{} of {} processes (tensor {tensor}, pipeline {pipeline}, data {data}, ZeRO {})",
                self.processes,
                self.model.processes(),
                self.model.zero
            ),
        ];
        lines.extend(self.scale_line());
        lines
    }

    fn transfer(&self, number: u32, is_simulated: bool, origin: Origin) -> CheckpointTransfer {
        let folder = format!("{}/{}", self.folder, CheckpointModel::folder(number.into()));
        CheckpointTransfer {
            ranks: (0..self.processes).map(|rank| self.model.files(rank)).collect(),
            medium: if is_simulated { CheckpointMedium::Device } else { CheckpointMedium::Files },
            folder,
            engine: POSITIONED_CALLS.into(),
            transfer_bytes: TRANSFER_BYTES,
            fsync: self.fsync,
            shift: self.shift,
            is_kept: true,
            origin,
            ..CheckpointTransfer::default()
        }
    }

    /// Adds what is saved and loaded to a plan; what each phase is. So many processes are on a rank of the launcher.
    pub fn fill(&self, plan: &mut Plan, test: &DlioTest) -> Vec<DlioPhase> {
        let origin = test.settings.origin("checkpoint.checkpoint_folder");
        let saves = (1..=self.writes).map(|number| (DlioRole::Save, number, number));
        let most = if self.writes > 0 { self.writes } else { self.reads };
        let loads = (1..=self.reads).map(|number| (DlioRole::Load, number, (number - 1) % most.max(1) + 1));
        let (mut places, mut phases) = (Vec::new(), Vec::new());
        for (role, number, of) in saves.chain(loads) {
            let transfer = self.transfer(of, test.is_simulated, origin.clone());
            // What is saved replaces what was there; what is loaded must not. A device has one place for both.
            let of_device = test.is_simulated;
            let place = (of_device || role == DlioRole::Save, of);
            let known = places.iter().find(|(known, _)| *known == place).map(|(_, first)| *first);
            let first = known.unwrap_or(plan.targets.len());
            if known.is_none() {
                let saves = role == DlioRole::Save;
                plan.targets.extend(transfer.targets().into_iter().map(|target| replaced(target, saves)));
                places.push((place, first));
            }
            let (phase, word) = match role {
                DlioRole::Save => (transfer.save(), "save"),
                _ => (transfer.restore(), "load"),
            };
            let name = format!("{word} checkpoint {number}");
            plan.phases.push(Phase { name, pause_ns: self.pause_ns, ..placed(phase, first, test.threads) });
            phases.push(DlioPhase { role, epoch: 1, steps: number.into(), ..DlioPhase::default() });
        }
        phases
    }
}

/// A file that is there already and is saved again begins empty, as PyTorch opens it.
fn replaced(mut target: Target, saves: bool) -> Target {
    target.open.truncate = saves && matches!(target.kind, TargetKind::FileSet { .. });
    target
}

/// The phase with its targets from that one on, and each process on its rank.
fn placed(mut phase: Phase, first: usize, threads: u32) -> Phase {
    for job in &mut phase.jobs {
        job.targets.iter_mut().for_each(|target| *target += first);
        let process: u32 = job.name.strip_prefix("rank ").and_then(|rank| rank.parse().ok()).unwrap_or(0);
        job.ranks = Ranks::Only(process / threads.max(1));
    }
    phase
}

/// What is known of a folder, or of the nearest one above it that is there.
fn nearest_above(folder: &str, loader: &dyn Loader) -> Option<PathFacts> {
    let above = std::iter::successors(Some(folder), |path| match path.rsplit_once('/') {
        Some(("", _)) => Some("/"),
        Some((above, _)) => Some(above),
        None if *path == "." => None,
        None => Some("."),
    });
    above.take(256).find_map(|path| loader.look(if path.is_empty() { "/" } else { path }))
}

impl DlioJudge<'_> {
    /// The checkpoints of a model that are all that is asked for; none: it is no transformer, or something is trained.
    pub fn states(&mut self, test: &DlioTest, loader: &dyn Loader) -> Option<DlioStates> {
        let is_model = self.settings.count("model.transformer.hidden_size") > 0;
        let scale = self.scale(loader, is_model);
        if !is_model || !test.checkpoints {
            return None;
        }
        if test.trains || test.generates {
            let what = "a model's state is saved by itself: a transformer is not trained here";
            let hint = "++workload.workflow.train=False ++workload.workflow.generate_data=False";
            self.refuse("workflow.train", what, hint);
            return None;
        }
        let count = |name: &str| u32::try_from(self.settings.number(name).clamp(0, CHECKPOINTS_MOST));
        let (writes, reads) =
            (count("checkpoint.num_checkpoints_write"), count("checkpoint.num_checkpoints_read"));
        let (writes, reads) = (writes.unwrap_or(0), reads.unwrap_or(0));
        for name in ["checkpoint.num_checkpoints_write", "checkpoint.num_checkpoints_read"] {
            let number = self.settings.number(name);
            if number > CHECKPOINTS_MOST {
                self.refuse(name, format!("{number} checkpoints"), format!("at most {CHECKPOINTS_MOST}"));
            }
        }
        if writes + reads == 0 {
            let hint =
                "++workload.checkpoint.num_checkpoints_write=10, or num_checkpoints_read of what is there";
            self.refuse("checkpoint.num_checkpoints_write", "no checkpoint is saved or loaded", hint);
        }
        let processes = u32::try_from(test.accelerators()).unwrap_or(u32::MAX);
        let model = self.state_model(processes, scale)?;
        let pause_s = self.settings.decimal("checkpoint.time_between_checkpoints").max(0.0);
        let folder = self.settings.text("checkpoint.checkpoint_folder").unwrap_or_default();
        let is_shifted = self.settings.flag("checkpoint.recovery_rank_shift");
        let states = DlioStates {
            shift: if is_shifted { self.shift(test, processes) } else { 0 },
            model,
            processes,
            writes,
            reads,
            pause_ns: (pause_s * 1e9) as u64,
            fsync: self.settings.flag("checkpoint.fsync"),
            folder: folder.trim_end_matches('/').into(),
        };
        self.states_fit(&states, test, loader);
        Some(states)
    }

    fn scale(&mut self, loader: &dyn Loader, is_model: bool) -> f64 {
        let Some(text) = loader.also("scale") else { return 1.0 };
        let scale = text.parse().ok().filter(|scale: &f64| *scale > 0.0 && *scale <= 1.0);
        let origin = Origin::argument(&format!("scale={text}"));
        if scale.is_none() {
            let wrong = Diagnostic::error(&origin, "expected more than 0, at most 1");
            self.wrong.push(wrong.hint("--also scale=0.01: every tensor has a hundredth of its elements"));
        } else if !is_model {
            let wrong = Diagnostic::error(&origin, "only checkpoints of transformers have a scale");
            self.wrong.push(wrong.hint("workload=llama3_8b, or leave it out"));
        }
        scale.unwrap_or(1.0)
    }

    /// The processes of one node, so that each restores from another one; on one node of its half.
    fn shift(&self, test: &DlioTest, processes: u32) -> u32 {
        let on_node = test.on_node.saturating_mul(test.threads);
        if on_node < processes { on_node } else { processes / 2 }
    }

    /// The model that the keys describe, divided over so many processes; a part of it where only a subset is asked for.
    fn state_model(&mut self, processes: u32, scale: f64) -> Option<CheckpointModel> {
        let settings = self.settings;
        let of = |name: &str| settings.count(&format!("model.transformer.{name}"));
        let small = |name: &str| u32::try_from(settings.number(name).max(0)).unwrap_or(u32::MAX);
        let (tensor, pipeline) =
            (small("checkpoint.tensor_parallelism").max(1), small("checkpoint.pipeline_parallelism").max(1));
        let widths = ["hidden_size", "ffn_hidden_size", "vocab_size", "num_attention_heads", "num_kv_heads"];
        if let Some(name) = widths.into_iter().find(|name| !(1..=WIDTH_MOST).contains(&of(name))) {
            let name = format!("model.transformer.{name}");
            let what = format!("{name} = {}: expected 1 to {WIDTH_MOST}", self.settings.count(&name));
            self.refuse(&name, what, "as workload=llama3_8b has it: --cfg job prints it");
            return None;
        }
        let group = tensor.saturating_mul(pipeline);
        let is_subset = self.settings.text("checkpoint.mode") == Some("subset");
        let data = match (is_subset, small("model.parallelism.data")) {
            (false, _) => processes / group,
            (true, 0) => processes.div_ceil(group),
            (true, data) => data,
        };
        if !is_subset && (data == 0 || !processes.is_multiple_of(group)) {
            let what = format!(
                "{processes} processes are no multiple of tensor {tensor} times pipeline {pipeline}, {group}"
            );
            let hint = format!(
                "so many ranks, --also threads={group}, or ++workload.checkpoint.mode=subset for the part of the first ones"
            );
            self.refuse("checkpoint.tensor_parallelism", what, hint);
            return None;
        }
        let zero = u8::try_from(self.settings.number("model.parallelism.zero_stage").max(0)).unwrap_or(0);
        if zero >= 3 && pipeline > 1 {
            let what = "ZeRO 3 divides the model over data ranks, and has no pipeline";
            self.refuse("model.parallelism.zero_stage", what, "zero_stage: 1, or pipeline: 1");
        }
        Some(CheckpointModel {
            name: self.settings.text("model").unwrap_or_default().into(),
            hidden: of("hidden_size"),
            feed_forward: of("ffn_hidden_size"),
            heads: of("num_attention_heads"),
            key_value_heads: of("num_kv_heads"),
            layers: self.settings.count("checkpoint.num_layers"),
            vocabulary: of("vocab_size"),
            parallelism: Parallelism { tensor, pipeline, data },
            zero,
            model_element_bytes: self.element_bytes("checkpoint.model_datatype"),
            optimiser_element_bytes: self.element_bytes("checkpoint.optimizer_datatype"),
            scale,
        })
    }

    fn element_bytes(&self, name: &str) -> u64 {
        match self.settings.text(name) {
            Some("fp64") => 8,
            Some("fp32") => 4,
            Some("int8" | "uint8") => 1,
            _ => 2,
        }
    }

    fn states_fit(&mut self, states: &DlioStates, test: &DlioTest, loader: &dyn Loader) {
        let all = states.model.processes();
        if states.processes > all {
            let what = format!("{} processes of a model that has {all}", states.processes);
            self.refuse("checkpoint.mode", what, "fewer ranks, or a larger model.parallelism.data");
            return;
        }
        let checkpoints = u64::from(states.writes.max(if states.writes == 0 { states.reads } else { 0 }));
        let files = (0..states.processes).map(|rank| states.model.files(rank).len() as u64).sum::<u64>();
        let files = files.saturating_mul(checkpoints);
        if files > FILES_MOST && !test.is_simulated {
            let hint = format!("at most {FILES_MOST}: fewer checkpoints");
            self.refuse("checkpoint.num_checkpoints_write", format!("{files} files"), hint);
        }
        let free = nearest_above(&states.folder, loader).and_then(|facts| facts.target.free_bytes);
        let needed = states.bytes().saturating_mul(states.writes.into());
        if let Some(free) = free.filter(|free| *free < needed && !test.is_simulated) {
            let what = format!(
                "{} checkpoints have {}; so much is free: {}",
                states.writes,
                units::binary(needed),
                units::binary(free)
            );
            let hint = "--also scale=0.01 has a hundredth of every tensor; or fewer num_checkpoints_write";
            self.refuse("checkpoint.checkpoint_folder", what, hint);
        }
        if states.writes == 0 && states.reads > 0 && !test.is_simulated {
            self.states_found(states, loader);
        }
    }

    /// What is only loaded must be there.
    fn states_found(&mut self, states: &DlioStates, loader: &dyn Loader) {
        let missing = (1..=states.reads)
            .map(|number| format!("{}/{}", states.folder, CheckpointModel::folder(number.into())))
            .find(|folder| loader.look(folder).is_none());
        if let Some(folder) = missing {
            let hint = "++workload.checkpoint.num_checkpoints_write=1 saves one first";
            self.refuse("checkpoint.num_checkpoints_read", format!("{folder} is not there"), hint);
        }
    }
}
