//! `iodyno accelerators DIR`: how many emulated accelerators a storage feeds with training samples.
//!
//! Their number is doubled until their utilisation is below the threshold, and then bisected. Exit status: 0; 1 a run failed;
//! 2 the command is wrong; 128 + n stopped by signal n.

mod point;
mod report;
mod workload;

use clap::Parser;
use iodyno_dialect::Loader;
use iodyno_dialect::native::WorldArguments;
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, units};

use self::point::FeedingPoint;
use self::report::FeedingFigures;
use self::workload::{Accelerator, Training, TrainingRun};
use crate::doubling;
use crate::experiment::{self, Experiment};
use crate::experiment_ranks;
use crate::loader::HostLoader;
use crate::option_values::{positive_number, positive_time, share};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{one, parsed};
use crate::work_directory::{ExperimentData, MadePath};
use crate::{leftovers, simulated_device};

#[derive(Parser)]
#[command(name = "iodyno accelerators", about = "Find how many AI accelerators a storage keeps busy",
    disable_version_flag = true, after_help = AFTER)]
pub struct AcceleratorsArgs {
    /// A directory: a data set is made in it, and removed at the end
    #[arg(value_name = "DIR", required_unless_present = "on", conflicts_with = "on")]
    pub directory: Option<String>,
    /// In place of a directory: a simulated device, in virtual time (iodyno devices lists them)
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// Samples, batches and readers of this training
    #[arg(long, value_name = "NAME")]
    pub workload: Training,
    /// Computing time of this accelerator [default: h100; of retinanet, dlrm and flux b200]
    #[arg(long, value_name = "NAME")]
    pub accelerator: Option<Accelerator>,
    /// Computing time of a step, in place of the accelerator's
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub compute: Option<u64>,
    /// Utilisation below which an accelerator is not fed, percent [default: the workload's: 90, retinanet 85, cosmoflow and dlrm 70]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub threshold: Option<f64>,
    /// Accelerators at most, on all ranks together
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub most: u32,
    /// Size of the data set, or 5x: so many times the memory [default: 4GiB, at most half of what is free; of a device, all it
    /// holds]
    #[arg(long, value_name = "SIZE", value_parser = dataset_size)]
    pub dataset: Option<DatasetSize>,
    /// Computing time of each point, together; fewer steps where the data set has no more
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_time)]
    pub time: u64,
    /// Seed of file sizes and of the samples' order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub world: WorldArguments,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "An accelerator sleeps as long as computing would take; its samples are read. Cached pages of the data set are \
dropped before each point, and what came from the cache all the same is reported. After MLPerf Storage, not a result of it. \
docs/accelerators.md explains the table.";

/// The data set of a directory, unless the command says it: at most this, and half of what is free.
const DATASET_BYTES: u64 = 4 << 30;
/// Steps of an accelerator at least, of which the first does not count.
const LEAST_STEPS: u64 = 3;

/// How large a data set is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DatasetSize {
    Bytes(u64),
    TimesMemory(f64),
}

impl DatasetSize {
    /// With so much memory; none: it is unknown.
    fn bytes(self, memory_bytes: Option<u64>) -> Result<u64, Diagnostic> {
        match (self, memory_bytes) {
            (DatasetSize::Bytes(bytes), _) => Ok(bytes),
            (DatasetSize::TimesMemory(times), Some(memory)) => Ok((memory as f64 * times) as u64),
            (DatasetSize::TimesMemory(_), None) => {
                let wrong = Diagnostic::error(
                    &Origin::argument("--dataset"),
                    "how large the memory is cannot be told",
                );
                Err(wrong.hint("say a size, e.g. --dataset 200GB"))
            }
        }
    }
}

fn dataset_size(text: &str) -> Result<DatasetSize, String> {
    match text.strip_suffix(['x', 'X']) {
        Some(times) => positive_number(times).map(DatasetSize::TimesMemory),
        None => units::parse_bytes(text).map(DatasetSize::Bytes),
    }
}

/// Does `iodyno accelerators ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<AcceleratorsArgs>("iodyno accelerators", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let asked: (Option<&str>, &[&str]) = (words.on.as_deref(), &[]);
    if let Some(status) = experiment_ranks::elsewhere(world, "accelerators", arguments, &words.world, asked) {
        return status;
    }
    let (run, files) = match ReportOutput::of(lowered(world, &words), &words.output) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let _removed = MadePath(run.root.clone());
    let by_data = run.files * run.figures.per_file / (u64::from(run.figures.batch) * LEAST_STEPS);
    let most = words.most.min(u32::try_from(by_data).unwrap_or(u32::MAX)) / run.ranks;
    let least_percent = words.threshold.unwrap_or(run.figures.least_percent);
    let mut experiment = Experiment::new(world, "accelerators", arguments);
    experiment.lasts = run.ranks > 1;
    let mut started = None;
    // Each rank has as many.
    let points = doubling::largest_number(most, |each| {
        let accelerators = each * run.ranks;
        experiment::progress(&format!("{accelerators} accelerators"));
        let (start, record) = experiment.run(run.plan(each), "the training input")?;
        let point = FeedingPoint::of(accelerators, &run, &start, &record);
        started.get_or_insert(start);
        let is_fed = point.is_fed(least_percent);
        Ok((point, is_fed))
    });
    files.write_points(points, started, |started, points| {
        FeedingFigures { words: &words, run: &run, started, points, least_percent, most: most * run.ranks }
            .report()
    })
}

/// What all points have in common.
///
/// # Errors
/// What is wrong with the command, or does not fit the directory.
fn lowered(world: &World, words: &AcceleratorsArgs) -> Result<TrainingRun, Vec<Diagnostic>> {
    let figures = words.workload.figures();
    let accelerator = words.accelerator.unwrap_or(figures.usual_accelerator());
    let compute_ns = words.compute.or(figures.compute_ns(accelerator)).ok_or_else(|| {
        let wrong = Diagnostic::error(
            &Origin::argument(&format!("--accelerator {}", accelerator.name())),
            format!("how long it computes on a step of {} is not known", figures.name),
        );
        one(wrong.hint("say it: --compute 200ms"))
    })?;
    let mut run = TrainingRun {
        figures,
        compute_ns,
        files: 0,
        steps: words.time.div_ceil(compute_ns).max(LEAST_STEPS) + 1,
        seed: words.seed,
        root: String::new(),
        ranks: world.size(),
        device: None,
        origin: Origin::argument(words.directory.as_deref().unwrap_or("--on")),
    };
    let bytes = match (&words.on, &words.directory) {
        (Some(device), _) => {
            experiment_ranks::one_clock(world).map_err(one)?;
            let device = simulated_device::named(device, "--on")?;
            let asked = words.dataset.map(|size| size.bytes(None)).transpose().map_err(one)?;
            let bytes = simulated_device::capacity_bytes(&device).min(asked.unwrap_or(u64::MAX));
            run.device = Some(device);
            bytes
        }
        (None, directory) => {
            let directory = directory.as_deref().unwrap_or_default();
            // Of all hosts, each of which is taken to have as much as this one.
            let machines = u64::from(world.facts().machines());
            let memory = HostLoader::new(world).look(directory).and_then(|facts| facts.target.memory_bytes);
            let memory = memory.map(|bytes| bytes.saturating_mul(machines));
            let asked = words.dataset.map(|size| size.bytes(memory)).transpose();
            let data = ExperimentData {
                directory,
                asked_bytes: asked.map_err(one)?,
                option: "--dataset",
                most_bytes: DATASET_BYTES,
            };
            let bytes = data.bytes(world).map_err(one)?;
            run.root = leftovers::temporary(directory, "accelerators");
            bytes
        }
    };
    run.files = bytes / figures.file_bytes();
    let least = (u64::from(figures.batch) * LEAST_STEPS * u64::from(run.ranks)).div_ceil(figures.per_file);
    if run.files < least {
        let needed = units::binary(least * figures.file_bytes());
        let message =
            format!("a data set of {} has too few samples of {}", units::binary(bytes), figures.name);
        let who = if run.ranks > 1 { "one accelerator on each rank" } else { "one accelerator" };
        let hint = format!("{who} needs {needed}: --dataset says how large it is, at most what is free");
        return Err(one(Diagnostic::error(&run.origin, message).hint(hint)));
    }
    Ok(run)
}
