//! One run: what the keys mean together, judged once for whoever lowers or reports it.
//!
//! Judges keys against each other, against the world and against what is in the data folder; refuses to know how anything is
//! carried out.

use iodyno_model::dataset::{DatasetFormat, SampleFile};
use iodyno_model::reflect::Reflect as _;
use iodyno_model::{Diagnostic, Lasting, Origin, Size, TrainingInput};

use super::command::DlioConfig;
use super::data::DlioSet;
use super::settings::{Settings, lengths};
use super::states::DlioStates;
use crate::Loader;

/// Epochs of one run: each is a phase of the plan.
const EPOCHS_MOST: i64 = 1000;
/// Samples of a data set: their order is held in memory.
const SAMPLES_MOST: u64 = 200_000_000;
/// Files of all checkpoints of an epoch.
const SAVED_FILES_MOST: u64 = 10_000;
/// Accelerators of one machine, and readers of each.
const ACCELERATORS_MOST: u64 = 16_384;
const READERS_MOST: i64 = 1024;

/// A run, judged.
#[derive(Clone, Debug, Default)]
pub struct DlioTest {
    pub settings: Settings,
    pub ranks: u32,
    /// Accelerators of a rank.
    pub threads: u32,
    pub train: DlioSet,
    pub valid: DlioSet,
    /// Whether files are made, and whether anything but that is done.
    pub generates: bool,
    pub trains: bool,
    pub evaluates: bool,
    pub checkpoints: bool,
    /// Whether the run is on a simulated device, which has no files: samples lie one after the other.
    pub is_simulated: bool,
    pub epochs: u32,
    /// What files hold, and the length of a sample.
    pub file: SampleFile,
    pub sample: Size,
    pub readers: u32,
    /// Batches that a reader is ahead.
    pub prefetch: u32,
    pub compute: Lasting,
    pub eval_compute: Lasting,
    pub preprocess: Lasting,
    /// What shuffles are drawn from.
    pub seed: u32,
    pub files: ShuffleOrder,
    pub samples: ShuffleOrder,
    pub record_bytes: f64,
    /// Lengths of what a checkpoint consists of.
    pub groups: Vec<u64>,
    pub layers: Vec<u64>,
    /// Where results go, and the log's name.
    pub output: String,
    pub log: String,
    pub warnings: Vec<String>,
    /// Checkpoints that are saved and loaded without training; none: something else is done.
    pub states: Option<DlioStates>,
    /// Ranks of a machine.
    pub on_node: u32,
}

/// In which order something is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShuffleOrder {
    #[default]
    Off,
    Seed,
    Random,
}

impl DlioTest {
    pub fn accelerators(&self) -> u64 {
        u64::from(self.ranks) * u64::from(self.threads)
    }

    pub fn per_file(&self) -> u64 {
        self.settings.count("dataset.num_samples_per_file")
    }

    pub fn format(&self) -> &str {
        self.settings.text("dataset.format").unwrap_or_default()
    }

    pub fn model(&self) -> &str {
        self.settings.text("model").unwrap_or_default()
    }

    /// Whether TensorFlow's loader is followed.
    pub fn is_tensorflow(&self) -> bool {
        loader_of(&self.settings) == "tensorflow"
    }

    /// Epochs that end with a checkpoint.
    pub fn saves_after(&self, epoch: u32) -> bool {
        let (first, every) = (
            self.settings.count("checkpoint.checkpoint_after_epoch"),
            self.settings.count("checkpoint.epochs_between_checkpoints").max(1),
        );
        let epoch = u64::from(epoch);
        self.checkpoints && self.save_steps().is_none() && epoch >= first && (epoch - first) % every == 0
    }

    /// Steps of an epoch after which there is a checkpoint; none: there are some after epochs.
    pub fn save_steps(&self) -> Option<Vec<u64>> {
        let every = self.settings.number("checkpoint.steps_between_checkpoints");
        let every = u64::try_from(every).ok().filter(|_| self.checkpoints)?;
        let steps =
            (1..).map(|number| number * every).take_while(|step| every > 0 && *step <= self.train.steps);
        Some(steps.collect())
    }

    /// Epochs that are followed by an evaluation.
    pub fn evaluates_after(&self, epoch: u32) -> bool {
        let (first, every) = (
            self.settings.count("evaluation.eval_after_epoch"),
            self.settings.count("evaluation.epochs_between_evals").max(1),
        );
        // DLIO evaluates again as soon as it is late.
        let epoch = u64::from(epoch);
        self.evaluates && epoch >= first && (epoch - first) % every == 0
    }

    pub fn saves_all_ranks(&self) -> bool {
        self.settings.text("checkpoint.type") == Some("all_ranks")
    }
}

fn loader_of(settings: &Settings) -> &str {
    match settings.text("reader.data_loader") {
        None | Some("none") => settings.text("framework").unwrap_or_default(),
        Some(loader) => loader,
    }
}

/// Judges a configuration.
///
/// # Errors
/// Everything about it that cannot be.
pub fn judge(config: &DlioConfig, loader: &mut dyn Loader) -> Result<DlioTest, Vec<Diagnostic>> {
    let settings = config.settings.clone();
    let mut judge = DlioJudge { settings: &config.settings, wrong: Vec::new(), warnings: Vec::new() };
    judge.bounds();
    let ranks = loader.world().ranks();
    let threads = judge.threads(loader);
    let (file, sample) = judge.sample();
    let seed = settings.count("train.seed") as u32;
    let drawn = || (loader.now_unix_ns() / 1000) as u32;
    let (files, samples) = (judge.order("reader.file_shuffle"), judge.order("reader.sample_shuffle"));
    let is_random = files == ShuffleOrder::Random || samples == ShuffleOrder::Random;
    let mut test = DlioTest {
        ranks,
        threads,
        generates: settings.flag("workflow.generate_data"),
        trains: settings.flag("workflow.train"),
        evaluates: settings.flag("workflow.evaluation"),
        checkpoints: settings.flag("workflow.checkpoint"),
        is_simulated: loader.also("on").is_some(),
        epochs: settings.count("train.epochs") as u32,
        file,
        sample,
        compute: judge.lasting("train.computation_time"),
        eval_compute: judge.lasting("evaluation.eval_time"),
        preprocess: judge.lasting("reader.preprocess_time"),
        seed: if is_random { drawn() } else { seed },
        files,
        samples,
        record_bytes: settings.decimal("dataset.record_length"),
        groups: judge.lengths("checkpoint.optimization_groups"),
        layers: judge.lengths("checkpoint.layer_parameters"),
        output: settings.text("output.folder").unwrap_or(&config.run_folder).trim_end_matches('/').into(),
        log: settings.text("output.log_file").unwrap_or_default().into(),
        settings,
        ..DlioTest::default()
    };
    judge.loading(&mut test);
    test.train = judge.set(&test, true);
    test.valid = judge.set(&test, false);
    test.on_node = loader.world().on_node(0).max(1);
    test.states = judge.states(&test, loader);
    judge.work(&test);
    if judge.wrong.is_empty() && test.states.is_none() {
        judge.found(&mut test, loader);
    }
    if !judge.wrong.is_empty() {
        return Err(judge.wrong);
    }
    test.warnings = judge.warnings;
    Ok(test)
}

pub struct DlioJudge<'a> {
    pub settings: &'a Settings,
    pub wrong: Vec<Diagnostic>,
    pub warnings: Vec<String>,
}

impl DlioJudge<'_> {
    pub fn refuse(&mut self, name: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(&self.origin(name), what).hint(hint));
    }

    /// Where a key was said; of a default its name.
    pub fn origin(&self, name: &str) -> Origin {
        match self.settings.origin(name) {
            Origin::Default => Origin::argument(name),
            origin => origin,
        }
    }

    fn bounds(&mut self) {
        use crate::option::Kind;
        for entry in super::options::TABLE.entries {
            let Kind::Whole(least, most) = entry.kind else { continue };
            if !self.settings.is_given(entry.name) {
                continue;
            }
            let number = self.settings.number(entry.name);
            if number < least || number > most {
                let range = if most == i64::MAX {
                    format!("at least {least}")
                } else {
                    format!("from {least} to {most}")
                };
                self.refuse(
                    entry.name,
                    format!("{} = {number}: expected a number {range}", entry.name),
                    entry.help,
                );
            }
        }
        for (name, most) in [("train.epochs", EPOCHS_MOST), ("reader.read_threads", READERS_MOST)] {
            let number = self.settings.number(name);
            if number > most {
                self.refuse(
                    name,
                    format!("{name} = {number}: at most {most}"),
                    format!("++workload.{name}={most}"),
                );
            }
        }
        let length = self.settings.decimal("dataset.record_length");
        if !(1.0..1e15).contains(&length) {
            self.refuse(
                "dataset.record_length",
                format!("a sample of {length} bytes"),
                "give its length in bytes",
            );
        }
    }

    fn threads(&mut self, loader: &dyn Loader) -> u32 {
        let Some(text) = loader.also("threads") else { return 1 };
        match text.parse::<u32>().ok().filter(|count| (1..=ACCELERATORS_MOST).contains(&u64::from(*count))) {
            Some(count) => count,
            None => {
                let wrong = Diagnostic::error(
                    &Origin::argument(&format!("threads={text}")),
                    "expected a number of accelerators",
                );
                self.wrong.push(wrong.hint("--also threads=4 gives each rank four accelerators"));
                1
            }
        }
    }

    fn sample(&mut self) -> (SampleFile, Size) {
        let format = self.settings.text("dataset.format").unwrap_or_default();
        let loader = loader_of(self.settings);
        let framework = self.settings.text("framework").unwrap_or_default();
        let named = self.settings.text("reader.data_loader").is_some_and(|loader| loader != "none");
        if named && loader != framework {
            let what = format!("the loader of {loader} in the framework {framework}");
            self.refuse("reader.data_loader", what, format!("++workload.framework={loader}"));
        }
        // A workload that only saves and loads a model's state has no samples.
        let has_samples = ["workflow.train", "workflow.generate_data", "workflow.evaluation"]
            .iter()
            .any(|step| self.settings.flag(step))
            && self.settings.count("model.transformer.hidden_size") == 0;
        if format == "tfrecord" && loader == "pytorch" && has_samples {
            self.refuse(
                "dataset.format",
                "tfrecord is read by TensorFlow's loader only",
                "++workload.framework=tensorflow ++workload.reader.data_loader=tensorflow, or another format",
            );
        }
        let per_file = self.settings.count("dataset.num_samples_per_file");
        let kind = DatasetFormat::named(format).unwrap_or_default();
        let mut file = SampleFile::new(kind, per_file);
        if self.settings.flag("dataset.enable_chunking") {
            file.chunk_bytes = self.settings.count("dataset.chunk_size");
        }
        if kind.is_picture() && per_file > 1 {
            self.refuse(
                "dataset.num_samples_per_file",
                format!("a file of {format} is one sample"),
                "++workload.dataset.num_samples_per_file=1",
            );
        }
        let size = self.sample_size();
        let is_drawn = !matches!(size, Size::Fixed(_));
        if let Err(why) = file.read_by(&mut TrainingInput::blank(), &size) {
            self.refuse("dataset.record_length_stdev", why, "++workload.dataset.record_length_stdev=0");
        } else if is_drawn && per_file > 1 && kind == DatasetFormat::Tfrecord {
            let what = "several records of a drawn length in a file are no stream whose length is known";
            self.refuse("dataset.record_length_stdev", what, "++workload.dataset.record_length_stdev=0");
        }
        (file, size)
    }

    /// DLIO's samples are squares, of which both sides are drawn.
    fn sample_size(&self) -> Size {
        let side = (self.settings.decimal("dataset.record_length") as u64).isqrt().max(1);
        match self.settings.decimal("dataset.record_length_stdev") {
            deviation if deviation > 0.0 => {
                let (mean_bytes, deviation_bytes) =
                    ((side * side) as f64, deviation / std::f64::consts::SQRT_2);
                Size::Normal { mean_bytes, deviation_bytes }
            }
            _ => Size::Fixed(side * side),
        }
    }

    fn order(&self, name: &str) -> ShuffleOrder {
        match self.settings.text(name) {
            Some("seed") => ShuffleOrder::Seed,
            Some("random") => ShuffleOrder::Random,
            _ => ShuffleOrder::Off,
        }
    }

    fn lengths(&mut self, name: &str) -> Vec<u64> {
        let text = self.settings.text(name).unwrap_or_default();
        lengths(text).unwrap_or_else(|why| {
            self.refuse(name, format!("{name}: {why}"), "whole numbers, with commas between them");
            Vec::new()
        })
    }

    /// How samples are fetched ahead, as the framework's loader does it.
    fn loading(&mut self, test: &mut DlioTest) {
        let (threads, ahead) =
            (self.settings.count("reader.read_threads") as u32, self.settings.count("reader.prefetch_size"));
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let is_stream = test.file.kind == DatasetFormat::Tfrecord && test.file.samples > 1;
        // TensorFlow's loader has one reader at least.
        test.readers = if test.is_tensorflow() { threads.max(1) } else { threads };
        // On a device each reader has batches of its own.
        test.prefetch = match (is_stream && !test.is_simulated, ahead.div_ceil(threads.max(1))) {
            (true, _) => ahead.max(1),
            (false, 0) => 2,
            (false, each) => each,
        };
    }

    fn set(&mut self, test: &DlioTest, training: bool) -> DlioSet {
        let (part, folder) = if training { ("train", "train") } else { ("eval", "valid") };
        let data = self.settings.text("dataset.data_folder").unwrap_or_default().trim_end_matches('/');
        let root = self.settings.text("storage.storage_root").unwrap_or_default().trim_end_matches('/');
        let data = if data.starts_with('/') || matches!(root, "" | ".") {
            data.into()
        } else {
            format!("{root}/{data}")
        };
        let files = self.settings.count(&format!("dataset.num_files_{part}"));
        let batch = if training { "reader.batch_size" } else { "reader.batch_size_eval" };
        let batch = self.settings.count(batch).max(1);
        let subfolders = self.settings.count(&format!("dataset.num_subfolders_{part}"));
        let samples = files.saturating_mul(test.per_file());
        DlioSet {
            folder: format!("{data}/{folder}"),
            files,
            of: files,
            subfolders: if subfolders > 1 { subfolders } else { 0 },
            batch: batch.min(u64::from(u32::MAX)) as u32,
            steps: samples / batch / test.accelerators().max(1),
        }
    }

    /// Whether there is anything to do, and enough for it.
    fn work(&mut self, test: &DlioTest) {
        if test.states.is_some() {
            return;
        }
        // What is wrong with checkpoints was said.
        if !test.trains && !test.generates && self.wrong.is_empty() {
            self.refuse(
                "workflow.train",
                "nothing to do: neither workflow.train nor workflow.generate_data",
                "++workload.workflow.train=True, or ++workload.workflow.generate_data=True; workload=llama3_8b saves checkpoints",
            );
        }
        if test.accelerators() > ACCELERATORS_MOST {
            self.refuse(
                "train",
                format!("{} accelerators", test.accelerators()),
                format!("at most {ACCELERATORS_MOST}"),
            );
        }
        if !test.generates && !test.is_simulated && !self.settings.flag("dataset.keep_files") {
            let what = "this run makes no data set, and one that was there before is not removed";
            let hint = "++workload.workflow.generate_data=True, or leave it out";
            self.refuse("dataset.keep_files", what, hint);
        }
        if !test.trains && test.is_simulated {
            let what = "a simulated device keeps no data, so that none is made for it";
            self.refuse("workflow.generate_data", what, "++workload.workflow.train=True");
        }
        if !test.trains {
            return;
        }
        let samples = test.train.files.saturating_mul(test.per_file());
        for (name, files) in [("num_files_train", test.train.files), ("num_files_eval", test.valid.files)] {
            let samples = files.saturating_mul(test.per_file());
            if samples > SAMPLES_MOST {
                let what = format!("a data set of {samples} samples, whose order cannot be held in memory");
                let hint = format!("at most {SAMPLES_MOST}: fewer files, or fewer samples in each");
                self.refuse(&format!("dataset.{name}"), what, hint);
            }
        }
        self.saved(test);
        if test.train.steps == 0 {
            let what = format!(
                "{samples} samples are no batch of {} for each of {} accelerators",
                test.train.batch,
                test.accelerators()
            );
            self.refuse(
                "dataset.num_files_train",
                what,
                "more files, a smaller reader.batch_size, or fewer accelerators",
            );
        }
        let wanted = self.settings.number("train.total_training_steps");
        if wanted > 0 && wanted as u64 > test.train.steps {
            let what = format!("Only have enough data for {} steps but {wanted} wanted", test.train.steps);
            self.refuse("train.total_training_steps", what, "more files, or fewer steps");
        }
        if test.evaluates && test.valid.steps == 0 {
            let what = format!(
                "{} files are no batch of {} to be evaluated by each accelerator",
                test.valid.files, test.valid.batch
            );
            self.refuse(
                "dataset.num_files_eval",
                what,
                "++workload.dataset.num_files_eval=8, or ++workload.workflow.evaluation=False",
            );
        }
    }

    /// How much is written by checkpoints.
    fn saved(&mut self, test: &DlioTest) {
        let of = |name: &str| self.settings.count(&format!("checkpoint.{name}"));
        let layers = of("num_layers").saturating_add(of("tensor_parallelism"));
        let every = u64::try_from(self.settings.number("checkpoint.steps_between_checkpoints")).unwrap_or(0);
        let each = if test.checkpoints && every > 0 { test.train.steps / every } else { 1 };
        let files = layers.saturating_add(2).saturating_mul(each);
        if test.checkpoints && files > SAVED_FILES_MOST {
            let what = format!("{files} files of checkpoints in an epoch");
            let hint =
                format!("at most {SAVED_FILES_MOST}: raise steps_between_checkpoints, or lower num_layers");
            self.refuse("checkpoint.steps_between_checkpoints", what, hint);
        }
        let is_split = test.saves_all_ranks() && of("pipeline_parallelism") > 1;
        if test.checkpoints && is_split {
            let what = "not all ranks write layers: checkpoints of divided models are a command of their own";
            self.refuse(
                "checkpoint.pipeline_parallelism",
                what,
                "iodyno checkpoint, or pipeline_parallelism: 1",
            );
        }
    }
}
