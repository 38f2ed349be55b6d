//! One run: what the keys mean together, judged once for whoever lowers or reports it.
//!
//! Judges keys against each other, against the world and against what is in the data folder; refuses to know how anything is
//! carried out.

use iodyno_model::{Diagnostic, Lasting, Origin, SampleAccess, Size};

use super::command::DlioConfig;
use super::settings::{Settings, lengths};
use crate::Loader;

/// Epochs of one run: each is a phase of the plan.
const EPOCHS_MOST: i64 = 1000;
/// Samples of a data set: their order is held in memory.
const SAMPLES_MOST: u64 = 200_000_000;
/// Accelerators of one machine, and readers of each.
const ACCELERATORS_MOST: u64 = 16_384;
const READERS_MOST: i64 = 1024;
/// Poisson's mean, as far as it is drawn.
const POISSON_MOST: f64 = 700.0;
const S: f64 = 1e9;

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
    pub epochs: u32,
    pub access: SampleAccess,
    /// The largest read.
    pub transfer_bytes: u64,
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
}

/// A data set: of training or of evaluation.
#[derive(Clone, Debug, Default)]
pub struct DlioSet {
    pub folder: String,
    pub files: u64,
    /// The number of files that their names say.
    pub of: u64,
    pub subfolders: u64,
    pub batch: u32,
    /// Steps of an epoch.
    pub steps: u64,
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
        let steps = (1..).map(|number| number * every).take_while(|step| every > 0 && *step <= self.train.steps);
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
    let access = judge.access();
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
        epochs: settings.count("train.epochs") as u32,
        access,
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
    judge.work(&test);
    if judge.wrong.is_empty() {
        judge.found(&mut test, loader);
    }
    if !judge.wrong.is_empty() {
        return Err(judge.wrong);
    }
    test.warnings = judge.warnings;
    Ok(test)
}

struct DlioJudge<'a> {
    settings: &'a Settings,
    wrong: Vec<Diagnostic>,
    warnings: Vec<String>,
}

impl DlioJudge<'_> {
    fn refuse(&mut self, name: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(&self.origin(name), what).hint(hint));
    }

    /// Where a key was said; of a default its name.
    fn origin(&self, name: &str) -> Origin {
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
                let range = if most == i64::MAX { format!("at least {least}") } else { format!("from {least} to {most}") };
                self.refuse(entry.name, format!("{} = {number}: expected a number {range}", entry.name), entry.help);
            }
        }
        for (name, most) in [("train.epochs", EPOCHS_MOST), ("reader.read_threads", READERS_MOST)] {
            let number = self.settings.number(name);
            if number > most {
                self.refuse(name, format!("{name} = {number}: at most {most}"), format!("++workload.{name}={most}"));
            }
        }
        let length = self.settings.decimal("dataset.record_length");
        if !(1.0..1e15).contains(&length) {
            self.refuse("dataset.record_length", format!("a sample of {length} bytes"), "give its length in bytes");
        }
    }

    fn threads(&mut self, loader: &dyn Loader) -> u32 {
        let Some(text) = loader.also("threads") else { return 1 };
        match text.parse::<u32>().ok().filter(|count| (1..=ACCELERATORS_MOST).contains(&u64::from(*count))) {
            Some(count) => count,
            None => {
                let wrong = Diagnostic::error(&Origin::argument(&format!("threads={text}")), "expected a number of accelerators");
                self.wrong.push(wrong.hint("--also threads=4 gives each rank four accelerators"));
                1
            }
        }
    }

    fn access(&mut self) -> SampleAccess {
        let format = self.settings.text("dataset.format").unwrap_or_default();
        let loader = loader_of(self.settings);
        let framework = self.settings.text("framework").unwrap_or_default();
        let named = self.settings.text("reader.data_loader").is_some_and(|loader| loader != "none");
        if named && loader != framework {
            let what = format!("the loader of {loader} in the framework {framework}");
            self.refuse("reader.data_loader", what, format!("++workload.framework={loader}"));
        }
        if format == "tfrecord" && loader == "pytorch" {
            self.refuse(
                "dataset.format",
                "tfrecord is read by TensorFlow's loader only",
                "++workload.framework=tensorflow ++workload.reader.data_loader=tensorflow, or another format",
            );
        }
        match format {
            "tfrecord" => SampleAccess::Stream,
            _ => SampleAccess::Item,
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

    /// A time that is always the same, or drawn.
    fn lasting(&mut self, name: &str) -> Lasting {
        let of = |part: &str| self.settings.decimal(&format!("{name}{part}"));
        let given = |part: &str| self.settings.is_given(&format!("{name}{part}"));
        let mean = if given(".mean") { of(".mean") } else { of("") };
        let deviation = if given(".stdev") { of(".stdev") } else if given("_stdev") { of("_stdev") } else { 0.0 };
        let fixed = Lasting { ns: (mean * S) as u64, drawn: None };
        let normal = || Size::Normal { mean_bytes: mean * S, deviation_bytes: deviation * S };
        let gamma = |shape: f64, scale: f64| Size::Gamma { mean_bytes: shape * scale * S, shape };
        let text = self.settings.text(&format!("{name}.type")).unwrap_or_default();
        let (size, needed): (Size, &[&str]) = match text {
            "uniform" => {
                let (least, most) = ((of(".min") * S) as u64, (of(".max") * S) as u64);
                if least > most {
                    let what = format!("{name}: min is above max");
                    self.refuse(&format!("{name}.min"), what, "give min and max in seconds");
                    return fixed;
                }
                (Size::Uniform { least_bytes: least, most_bytes: most, step_bytes: 1 }, &[".max"])
            }
            "gamma" => (gamma(of(".shape"), of(".scale")), &[".shape", ".scale"]),
            "exponential" => (gamma(1.0, of(".scale")), &[".scale"]),
            "poisson" => (Size::Poisson { mean: of(".lam") }, &[".lam"]),
            "normal" if deviation > 0.0 => (normal(), &[]),
            "" if deviation > 0.0 => (normal(), &[]),
            _ => return fixed,
        };
        for part in needed.iter().filter(|part| of(part) <= 0.0) {
            let what = format!("{name}: the distribution {text} needs {}", &part[1..]);
            self.wrong.push(
                Diagnostic::error(&self.origin(&format!("{name}.type")), what).hint(format!("++workload.{name}{part}=0.1")),
            );
            return fixed;
        }
        if text == "poisson" && of(".lam") > POISSON_MOST {
            let what = format!("{name}: a mean of {} s", of(".lam"));
            self.refuse(&format!("{name}.lam"), what, format!("at most {POISSON_MOST}"));
        }
        Lasting { ns: 0, drawn: Some((size, if text == "poisson" { S } else { 1.0 })) }
    }

    /// How samples are fetched ahead, as the framework's loader does it.
    fn loading(&mut self, test: &mut DlioTest) {
        let (threads, ahead) = (self.settings.count("reader.read_threads") as u32, self.settings.count("reader.prefetch_size"));
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let is_stream = test.access == SampleAccess::Stream;
        // TensorFlow's loader has one reader at least.
        test.readers = if test.is_tensorflow() { threads.max(1) } else { threads };
        test.prefetch = match (is_stream, ahead.div_ceil(threads.max(1))) {
            (true, _) => ahead.max(1),
            (false, 0) => 2,
            (false, each) => each,
        };
        let numpy = matches!(test.format(), "npz" | "tfrecord");
        let usual = if numpy { 256 << 10 } else { 1 << 20 };
        test.transfer_bytes = match self.settings.count("reader.transfer_size") {
            0 => usual,
            bytes => bytes,
        };
    }

    fn set(&mut self, test: &DlioTest, training: bool) -> DlioSet {
        let (part, folder) = if training { ("train", "train") } else { ("eval", "valid") };
        let data = self.settings.text("dataset.data_folder").unwrap_or_default().trim_end_matches('/');
        let root = self.settings.text("storage.storage_root").unwrap_or_default().trim_end_matches('/');
        let data = if data.starts_with('/') || matches!(root, "" | ".") { data.into() } else { format!("{root}/{data}") };
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
        if !test.trains && !test.generates {
            self.refuse(
                "workflow.train",
                "nothing to do: neither workflow.train nor workflow.generate_data",
                "++workload.workflow.train=True, or ++workload.workflow.generate_data=True",
            );
        }
        if test.accelerators() > ACCELERATORS_MOST {
            self.refuse("train", format!("{} accelerators", test.accelerators()), format!("at most {ACCELERATORS_MOST}"));
        }
        if !test.trains {
            return;
        }
        let samples = test.train.files.saturating_mul(test.per_file());
        if samples > SAMPLES_MOST {
            let what = format!("a data set of {samples} samples, whose order cannot be held in memory");
            self.refuse("dataset.num_files_train", what, format!("at most {SAMPLES_MOST}: fewer files, or fewer samples in each"));
        }
        if test.train.steps == 0 {
            let what = format!("{samples} samples are no batch of {} for each of {} accelerators", test.train.batch, test.accelerators());
            self.refuse("dataset.num_files_train", what, "more files, a smaller reader.batch_size, or fewer accelerators");
        }
        let wanted = self.settings.number("train.total_training_steps");
        if wanted > 0 && wanted as u64 > test.train.steps {
            let what = format!("Only have enough data for {} steps but {wanted} wanted", test.train.steps);
            self.refuse("train.total_training_steps", what, "more files, or fewer steps");
        }
        if test.evaluates && test.valid.steps == 0 {
            let what = format!("{} files are no batch of {} to be evaluated by each accelerator", test.valid.files, test.valid.batch);
            self.refuse("dataset.num_files_eval", what, "++workload.dataset.num_files_eval=8, or ++workload.workflow.evaluation=False");
        }
    }

    /// What is in the data folder.
    fn found(&mut self, test: &mut DlioTest, loader: &mut dyn Loader) {
        let wanted = self.settings.number("train.total_training_steps");
        if wanted > 0 {
            test.train.steps = wanted as u64;
        }
        // A simulated device holds whatever is asked of it.
        if test.generates || loader.also("on").is_some() {
            return;
        }
        let mut sets = vec![("training", &mut test.train)];
        if test.evaluates {
            sets.push(("evaluation", &mut test.valid));
        }
        let (format, prefix) = (self.settings.text("dataset.format").unwrap_or_default(), self.settings.text("dataset.file_prefix").unwrap_or_default());
        for (name, set) in sets {
            let folder = if set.subfolders > 0 { format!("{}/{}", set.folder, subfolder(0, set.subfolders)) } else { set.folder.clone() };
            let names = loader.list(&folder).unwrap_or_default();
            let numbered: Vec<u64> = names.iter().filter_map(|file| count_of(file, prefix, format)).collect();
            let most = numbered.iter().copied().max().unwrap_or(0);
            let there = numbered.iter().filter(|of| **of == most).count() as u64;
            let expected = if set.subfolders > 0 { set.files.div_ceil(set.subfolders) } else { set.files };
            if there < expected {
                let origin = self.origin("dataset.data_folder");
                let message = format!("Not enough {name} dataset is found: {there} of {expected} files `{prefix}_*_of_*.{format}` in {folder}");
                self.wrong.push(Diagnostic::error(&origin, message).hint("Please run the code with ++workload.workflow.generate_data=True"));
            }
            if most > set.files {
                self.warnings.push(format!(
                    "Number of files for {name} in {} ({most}) is more than requested ({}). A subset of files will be used ",
                    set.folder, set.files
                ));
            }
            set.of = most.max(set.files);
        }
    }
}

/// The name of a folder by its number.
pub fn subfolder(number: u64, of: u64) -> String {
    let digits = of.to_string().len();
    format!("{number:0digits$}")
}

/// How many files there are, as the name of one says.
fn count_of(name: &str, prefix: &str, format: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('_')?.strip_suffix(format)?.strip_suffix('.')?;
    let (number, of) = rest.split_once("_of_")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(())?;
    of.parse().ok()
}
