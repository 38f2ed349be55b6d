//! `iodyno load-curve PLAN|TARGET`: the largest rate over queue depth, then response time over offered load.
//!
//! The load is offered at random times (Poisson), and latency counts from the time at which an operation was due. Exit
//! status: 0; 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n.

mod cache;
mod file_service;
mod lower;
mod profile;
mod report;

use clap::Parser;
use iodyno_dialect::{Loader, PathKind};
use iodyno_engine::LastingDevice;
use iodyno_engine::world::World;
use iodyno_model::{Plan, RunStart, units};

use self::cache::CacheQuestions;
use self::lower::LoadPlan;
use self::profile::Profile;
use self::report::{CurveFigures, LoadPoint};
use crate::experiment::{self, Experiment};
use crate::loader::HostLoader;
use crate::option_values::{load, positive_time, share};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed};
use crate::target_options::{TargetOptions, TemporaryFileOptions};

#[derive(Parser)]
#[command(name = "iodyno load-curve", about = "Find the maximum rate, and the response time below it",
    disable_version_flag = true, after_help = AFTER)]
pub struct LoadCurveArgs {
    /// A plan file (.toml) or job file (.fio) of one phase; or a directory, a file or a device
    #[arg(value_name = "PLAN|TARGET")]
    pub target: String,
    /// Mix of a TARGET: spc1-like, spc2-like-file, spc2-like-query, spc2-like-video, sfs-like, sfs97-like
    #[arg(long, value_name = "NAME", conflicts_with_all = ["block", "reads", "sequential"])]
    pub profile: Option<Profile>,
    /// Block size of a TARGET [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub block: Option<u64>,
    /// Reads of a TARGET, percent; the others are writes [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub reads: Option<u8>,
    /// Sequential instead of random offsets
    #[arg(long)]
    pub sequential: bool,
    /// Clients of a file service, each with files of its own [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub clients: Option<u32>,
    /// Files of a file service for each operation per second [default: 120MB, sfs97-like 10MB; together at most --size]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub data_per_operation: Option<u64>,
    /// Queue depths, rising
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128",
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depths: Vec<u32>,
    /// Loads, percent of the maximum
    #[arg(long, value_name = "P,P…", value_delimiter = ',', default_value = "10,50,80,90,95,100", value_parser = load)]
    pub loads: Vec<f64>,
    /// Parts of the target, percent, each beside the whole: how far the addressing span matters
    #[arg(long, value_name = "P,P…", value_delimiter = ',', value_parser = load)]
    pub spans: Vec<f64>,
    /// Sizes of files in a directory, read through the page cache: where it overflows
    #[arg(long, value_name = "S,S…", value_delimiter = ',', value_parser = units::parse_bytes)]
    pub file_sizes: Vec<u64>,
    /// Data read through the page cache, percent of the memory, with --held: a grid
    #[arg(long, value_name = "P,P…", value_delimiter = ',', value_parser = load)]
    pub data: Vec<f64>,
    /// Memory held besides, percent of the memory [default: 0]
    #[arg(long, value_name = "P,P…", value_delimiter = ',', value_parser = share)]
    pub held: Vec<f64>,
    /// What counts as the memory for --data and --held [default: the machine's]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub memory: Option<u64>,
    /// Time of each point, virtual time with engine sim
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = positive_time)]
    pub time: u64,
    #[command(flatten)]
    pub on: TargetOptions,
    #[command(flatten)]
    pub temporary: TemporaryFileOptions,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "In a directory it makes a temporary file and removes it. A file or a device that is there is only read, \
unless --destroy names the device. docs/load-curve.md explains the tables and the profiles, which follow published mixes and are not \
for submission.";

/// Does `iodyno load-curve ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<LoadCurveArgs>("iodyno load-curve", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let plan = match LoadPlan::of(world, &words) {
        Ok(plan) => plan,
        Err(wrong) => return ended(Err(wrong)),
    };
    let loader = HostLoader::new(world);
    let directory =
        loader.look(&words.target).filter(|facts| facts.kind == PathKind::Directory && facts.writable);
    let free_bytes = directory.map(|facts| facts.target.free_bytes.unwrap_or(u64::MAX));
    let opened = CacheQuestions::of(&words, loader.machine().memory_bytes, free_bytes)
        .and_then(|questions| Ok((questions, ReportOutput::open(&words.output)?)));
    let (mut questions, files) = match opened {
        Ok(opened) => opened,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let mut experiment = Experiment::new(world, "load-curve", arguments);
    // What one point writes wears the next one's device, as it would a real one.
    experiment.device = Some(LastingDevice::default());
    let figures = measured(&mut experiment, &words, &plan)
        .and_then(|figures| questions.measure(&mut experiment, &words).map(|()| figures));
    match figures {
        Ok(figures) => {
            let mut report = figures.report();
            report.sections.extend(questions.sections());
            files.write(&report)
        }
        Err(status) => status,
    }
}

fn measured(
    experiment: &mut Experiment<'_>,
    words: &LoadCurveArgs,
    plan: &LoadPlan,
) -> Result<CurveFigures, u8> {
    experiment::progress(&format!("{} queue depths", words.depths.len()));
    let (depths, started) = points(experiment, plan.depths(&words.depths), "the queue depths")?;
    let Some(best) = depths.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)).filter(|best| best.iops > 0.0)
    else {
        crate::session::say("error: no operation succeeded, so there is no maximum");
        return Err(1);
    };
    let (maximum, depth) = (best.iops, best.at);
    let spans = match words.spans.is_empty() {
        true => Vec::new(),
        false => {
            experiment::progress(&format!("{} spans", words.spans.len()));
            let plan = plan.spans(&words.spans, depth as u32);
            LoadPoint::all(&experiment.run(plan, "the spans")?.1)
        }
    };
    experiment::progress(&format!("{} loads of at most {maximum:.0} operations a second", words.loads.len()));
    let (loads, _) = points(experiment, plan.loads(&words.loads, maximum), "the loads")?;
    Ok(CurveFigures { plan: plan.clone(), started, depths, loads, spans, maximum, time_ns: words.time })
}

/// What all runs measured, and the start of the first.
fn points(
    experiment: &mut Experiment<'_>,
    runs: Vec<Plan>,
    what: &str,
) -> Result<(Vec<LoadPoint>, RunStart), u8> {
    let (mut points, mut first) = (Vec::new(), None);
    let count = runs.len();
    for (at, run) in runs.into_iter().enumerate() {
        if count > 1 {
            experiment::progress(&format!("{what}: {} of {count}", at + 1));
        }
        let (started, record) = experiment.run(run, what)?;
        points.extend(LoadPoint::all(&record));
        first.get_or_insert(started);
    }
    first.map(|started| (points, started)).ok_or(2)
}
