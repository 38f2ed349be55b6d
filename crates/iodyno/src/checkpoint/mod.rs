//! `iodyno checkpoint DIR`: how long saving the state of a language model stops its training, and how long a restart takes.
//!
//! Exit status: 0; 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n.

mod copying;
mod report;
mod setup;

use clap::{Parser, ValueEnum};
use iodyno_dialect::native::WorldArguments;
use iodyno_engine::world::World;
use iodyno_model::checkpoint::BehindRecord;
use iodyno_model::{CheckpointModel, CheckpointRecord, Diagnostic, Origin, units};

use self::report::{CheckpointFigures, CheckpointPoint};
use self::setup::CheckpointSetup;
use crate::experiment::{self, Experiment};
use crate::experiment_ranks;
use crate::option_values::{positive_time, setting};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed};

#[derive(Parser)]
#[command(name = "iodyno checkpoint", about = "Measure how long checkpoints of a language model take, and a restart",
    disable_version_flag = true, after_help = AFTER)]
pub struct CheckpointArgs {
    /// A directory, in which the files are made and removed at the end; or s3://BUCKET/PREFIX
    #[arg(value_name = "TARGET", required_unless_present = "on", conflicts_with = "on")]
    pub target: Option<String>,
    /// In place of a target: a simulated device, in virtual time (iodyno devices lists them)
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// The model: llama3-8b, llama3-70b, llama3-405b, llama3-1t
    #[arg(long, value_name = "NAME", value_parser = model)]
    pub model: String,
    /// Every tensor has so many times its elements, above 0 and at most 1
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = scale)]
    pub scale: f64,
    /// Processes that train: the model's, or a multiple of its tensor and pipeline ranks [default: 8, 64, 512, 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub ranks: Option<u32>,
    /// Only the first N processes save and restore, as one host of a large model does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub subset: Option<u32>,
    /// A process restores what the one N further saved, so that no host finds its own files in its cache
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub shift: u32,
    /// Stage of ZeRO, in place of the model's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub zero: Option<u8>,
    /// The files that the framework writes, or one for each process
    #[arg(long, value_name = "WHICH", default_value = "framework")]
    pub files: FileDivision,
    /// Training between two checkpoints [default: 30min; with --async, which waits for it, twice a save, at least 1s]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub interval: Option<u64>,
    /// Besides, write as many behind training that goes on, a sleep of --interval, and measure what that stops it for
    #[arg(long = "async")]
    pub behind: bool,
    /// Checkpoints that are saved and restored
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// The largest write and read of a file
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = transfer)]
    pub transfer: u64,
    /// What a process copies in a second for an asynchronous checkpoint [default: measured here; on a device 20GB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub copy_rate: Option<u64>,
    /// A setting of the engine of a bucket, e.g. endpoint=http://host:9000 or parts_at_once=8; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Leave the files where they are
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub world: WorldArguments,
    #[command(flatten)]
    pub output: ReportArguments,
}

/// Which files a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FileDivision {
    /// Model and optimiser states, of some models a file for each layer
    #[default]
    Framework,
    /// All that a process saves in one file
    Rank,
}

/// Training between two checkpoints, unless the command says it, ns.
const INTERVAL_NS: u64 = 1_800_000_000_000;
/// With checkpoints behind training: at least so much, and so many times a save.
const LEAST_INTERVAL_NS: u64 = 1_000_000_000;
const SAVES_EACH: u64 = 2;

const AFTER: &str = "Each process is a thread that creates its files, writes them and makes them durable; before a restore their \
cached pages are dropped. The longest process counts. After MLPerf Storage 2.0, not a result of it. docs/checkpoint.md explains \
the tables.";

fn model(name: &str) -> Result<String, String> {
    let known = || format!("expected one of {}", CheckpointModel::names().collect::<Vec<_>>().join(", "));
    CheckpointModel::named(name).map(|model| model.name).ok_or_else(known)
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale: &f64| *scale > 0.0 && *scale <= 1.0);
    scale.ok_or_else(|| "expected more than 0, at most 1".into())
}

fn transfer(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text)?;
    if (512..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err("expected 512 to 1GiB".into()) }
}

/// Does `iodyno checkpoint ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<CheckpointArgs>("iodyno checkpoint", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let asked: (Option<&str>, &[&str]) = (words.on.as_deref(), &[]);
    if let Some(status) = experiment_ranks::elsewhere(world, "checkpoint", arguments, &words.world, asked) {
        return status;
    }
    let (setup, files) = match ReportOutput::of(CheckpointSetup::new(world, &words), &words.output) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let mut experiment = Experiment::new(world, "checkpoint", arguments);
    let measured = measure(&mut experiment, &setup, words.times).and_then(|(started, points)| {
        let saves =
            points.iter().map(|point| point.save.longest_ns).sum::<u64>() / u64::from(words.times.max(1));
        let usual = if words.behind { (saves * SAVES_EACH).max(LEAST_INTERVAL_NS) } else { INTERVAL_NS };
        let interval_ns = words.interval.unwrap_or(usual);
        let copy_ns = setup.copy_ns(words.copy_rate, &started.world);
        let behind = match words.behind {
            true => behind(&mut experiment, &setup, (words.times, interval_ns, copy_ns.0))?,
            false => Vec::new(),
        };
        Ok((started, points, interval_ns, copy_ns, behind))
    });
    drop(experiment);
    match measured {
        Ok((started, points, interval_ns, copy_ns, behind)) => {
            let figures = CheckpointFigures {
                words: &words,
                setup: &setup,
                started,
                points,
                interval_ns,
                copy_ns,
                behind,
            };
            files.write(&figures.report())
        }
        Err(status) => status,
    }
}

/// Checkpoints behind training.
fn behind(
    experiment: &mut Experiment<'_>,
    setup: &CheckpointSetup,
    (times, interval_ns, copy_ns): (u32, u64, u64),
) -> Result<Vec<BehindRecord>, u8> {
    experiment::progress(&format!("{times} checkpoints behind training"));
    let (_, record) = experiment.run(setup.behind(times, interval_ns, copy_ns), "writing behind training")?;
    Ok(record.phases.last().map(|phase| BehindRecord::all(phase, times as usize)).unwrap_or_default())
}

type Measured = (iodyno_model::RunStart, Vec<CheckpointPoint>);

/// Saves and restores so many checkpoints.
fn measure(experiment: &mut Experiment<'_>, setup: &CheckpointSetup, times: u32) -> Result<Measured, u8> {
    let (mut started, mut points) = (None, Vec::new());
    for number in 1..=times {
        experiment::progress(&format!("checkpoint {number} of {times}"));
        let (start, record) = experiment.run(setup.plan(number), "the checkpoint")?;
        let phase = |name: &str| record.phases.iter().find(|phase| phase.name == name);
        let moved = |name| phase(name).and_then(CheckpointRecord::of);
        let (Some(save), Some(restore)) = (
            moved(iodyno_model::checkpoint::transfer::SAVE),
            moved(iodyno_model::checkpoint::transfer::RESTORE),
        ) else {
            let wrong = Diagnostic::error(&Origin::Default, "no process saved or restored anything");
            return Err(ended(Err(one(wrong.hint("ask for more processes, or another subset")))));
        };
        let restored = phase(iodyno_model::checkpoint::transfer::RESTORE);
        let cached_percent =
            restored.and_then(|phase| phase.cache.as_ref()).and_then(|cache| cache.percent());
        points.push(CheckpointPoint { save, restore, cached_percent });
        started.get_or_insert(start);
    }
    started.map(|started| (started, points)).ok_or(2)
}
