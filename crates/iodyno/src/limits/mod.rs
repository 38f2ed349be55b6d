//! `iodyno limits TARGET`: the rules of a volume that nobody printed, by experiment: its caps on operations and on bytes,
//! what it lends above them and for how long, how it counts large operations, and what a first read costs.
//!
//! Exit status: 0; 1 a run failed, or a promise was not kept; 2 the command is wrong; 128 + n stopped by signal n.

mod fit;
mod report;

use clap::Parser;
use iodyno_engine::world::World;
use iodyno_model::PerDirection;
use iodyno_model::{
    Diagnostic, Job, Kind, Limit, Mix, Origin, Pace, Pattern, Phase, PhaseRecord, Pick, Record, Size, Verb,
    Workload, units,
};
use iodyno_report::shape;

use self::fit::{Burst, LimitFigures, SizePoint};
use self::report::LimitsReport;
use crate::device_file::DeviceFile;
use crate::experiment::{self, Experiment};
use crate::option_values::positive_time;
use crate::rate_pair::RatePair;
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed};
use crate::single_workload::{SingleWorkload, WorkloadRequest};
use crate::target_options::{TargetOptions, TemporaryFileOptions};

#[derive(Parser)]
#[command(name = "iodyno limits", about = "Find the caps, bursts and accounting of a volume by experiment",
    disable_version_flag = true, after_help = AFTER)]
pub struct LimitsArgs {
    /// A device, a file or a directory; or a plan file of one job, whose target and engine are taken
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// What was promised, which the result is held against: iops=6000,bandwidth=170MB
    #[arg(long, value_name = "NAME=V,…", value_parser = RatePair::parsed)]
    pub promised: Option<RatePair>,
    /// Measure writes instead of reads; of a device what is on it is lost
    #[arg(long)]
    pub writes: bool,
    /// Block sizes, rising
    #[arg(long, value_name = "S,S…", value_delimiter = ',', value_parser = units::parse_bytes,
        default_value = "4KiB,8KiB,16KiB,32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB")]
    pub blocks: Vec<u64>,
    /// Operations in flight
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: u32,
    /// How long a burst may last: small operations for so long, first of all
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = positive_time)]
    pub burst: u64,
    /// Pause in which what was lent may be refilled
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::parse_ns)]
    pub idle: u64,
    /// Time of each block size
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = positive_time)]
    pub time: u64,
    /// Blocks that are read once and then again: what a first read costs; 0: not measured
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub cold: u64,
    /// Write what was found to this new file, as a simulated device
    #[arg(long, value_name = "FILE")]
    pub to: Option<String>,
    #[command(flatten)]
    pub on: TargetOptions,
    #[command(flatten)]
    pub temporary: TemporaryFileOptions,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "A device is only read, unless --writes and --destroy name it. A volume that was used before has spent a part \
of its burst: let it rest. docs/limits.md says how each rule is found.";

/// Names of the phases, in order.
const COLD: &str = "first read";
const WARM: &str = "read again";
const DRAIN: &str = "burst";
const AGAIN: &str = "burst after the pause";
const SINGLE: &str = "depth 1";
const SIZES: &str = "block size";

/// Does `iodyno limits ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<LimitsArgs>("iodyno limits", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let workload = match workload(world, &words) {
        Ok(workload) => workload,
        Err(wrong) => return ended(Err(wrong)),
    };
    let files = match ReportOutput::open(&words.output) {
        Ok(files) => files,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let file = match words.to.as_deref().map(DeviceFile::open).transpose() {
        Ok(file) => file,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let mut experiment = Experiment::new(world, "limits", arguments);
    experiment::progress(&format!(
        "{} for the burst, {} pause",
        units::duration(words.burst as f64),
        units::duration(words.idle as f64)
    ));
    let (started, record) =
        match experiment.run(workload.with("limits", phases(&words, &workload)), "the experiment") {
            Ok(run) => run,
            Err(status) => return status,
        };
    let report =
        LimitsReport { figures: figures(&words, &record), workload, started, promised: words.promised };
    let is_kept = report.is_kept();
    if let Some(file) = file {
        let device = report.device(file.name());
        if let Err(wrong) = file.write(&device) {
            return ended(Err(one(wrong)));
        }
    }
    files.write(&report.report()).max(u8::from(!is_kept))
}

fn workload(world: &World, words: &LimitsArgs) -> Result<SingleWorkload, Vec<Diagnostic>> {
    if words.blocks.windows(2).any(|pair| pair[0] >= pair[1]) || words.blocks.contains(&0) {
        let wrong = Diagnostic::error(&Origin::argument("--blocks"), "block sizes rise, and are more than 0");
        return Err(one(wrong.hint("e.g. --blocks 4KiB,64KiB,1MiB")));
    }
    let verb = if words.writes { Verb::Write } else { Verb::Read };
    let size = words.temporary.size;
    let pattern = Pattern::of(verb, Pick::Uniform, words.blocks[0]);
    let request = WorkloadRequest {
        for_targets_only: (size.is_some() || words.on.engine.is_some()).then_some("--size and --engine"),
        ..words.on.request(&words.target, "limits", pattern, size)
    };
    SingleWorkload::of(world, &request)
}

/// Random operations of a size at a depth.
fn change(words: &LimitsArgs, workload: &SingleWorkload, job: &mut Job, bytes: u64, depth: u32) {
    let verb = if words.writes { Verb::Write } else { Verb::Read };
    job.pace = Pace::default();
    workload.set_depth(job, depth);
    if let Workload::Pattern(pattern) = &mut job.workload {
        pattern.mix = Mix::only(verb);
        pattern.pick = PerDirection::same(Pick::Uniform);
        pattern.size = PerDirection::same(Size::Fixed(bytes));
        pattern.kinds = Vec::new();
    }
}

fn phases(words: &LimitsArgs, workload: &SingleWorkload) -> Vec<Phase> {
    let small = words.blocks[0];
    let phase = |name: &str, time_ns: u64, bytes: u64, depth: u32| {
        workload.phase(name, time_ns, |job| change(words, workload, job, bytes, depth))
    };
    let mut phases = Vec::new();
    if words.cold > 0 && !words.writes {
        // The same places twice: a seed of its own.
        for name in [COLD, WARM] {
            let mut phase = phase(name, words.time, small, 1);
            let job = &mut phase.jobs[0];
            job.seed = Some(workload.job().seed.unwrap_or(1));
            job.limit = Limit { operations: Some(words.cold), ..Limit::default() };
            phases.push(phase);
        }
    }
    // Before the burst, and so few that they spend none of it: afterwards one alone would meet the cap.
    let mut single = phase(SINGLE, words.time, small, 1);
    single.jobs[0].limit.operations = Some(SINGLE_OPERATIONS);
    single.jobs[0].limit.ramp_ns = 0;
    phases.push(single);
    for (name, pause_ns) in [(DRAIN, 0), (AGAIN, words.idle)] {
        let mut phase = phase(name, words.burst, small, words.depth);
        phase.pause_ns = pause_ns;
        // What is lent is spent from the first operation on.
        phase.jobs[0].limit.ramp_ns = 0;
        phase.jobs[0].measure.row_ns = (words.burst / BURST_ROWS).max(1);
        phases.push(phase);
    }
    // No points of a sweep: a simulated volume would be a new one at each, with all that it lends.
    phases.extend(words.blocks.iter().map(|bytes| phase(SIZES, words.time, *bytes, words.depth)));
    phases
}

/// Operations of which the latency at depth 1 is the mean, at most.
const SINGLE_OPERATIONS: u64 = 256;
/// Rows of a burst over time.
const BURST_ROWS: u64 = 120;

fn figures(words: &LimitsArgs, record: &Record) -> LimitFigures {
    let named = |name: &str| record.phases.iter().find(|phase| phase.name == name);
    let kind = if words.writes { Kind::Write } else { Kind::Read };
    let mean = |name: &str| {
        let job = named(name)?.jobs.first()?;
        let latency = job.tally.latency(kind);
        (!latency.is_empty()).then(|| latency.mean())
    };
    let burst = |name: &str| {
        let job = named(name)?.jobs.first()?;
        let series = &job.tally.series;
        let seconds = series.interval_ns as f64 / 1e9;
        let whole = series.rows.len().saturating_sub(1);
        let rates: Vec<f64> =
            series.rows[..whole].iter().map(|row| row.operations() as f64 / seconds).collect();
        Some(Burst { row_ns: series.interval_ns, rates })
    };
    let point = |(phase, bytes): (&PhaseRecord, &u64)| {
        let job = phase.jobs.first()?;
        Some(SizePoint { bytes: *bytes, iops: shape::per_second(job.tally.all_operations(), phase, job) })
    };
    LimitFigures {
        cold_ns: mean(COLD),
        warm_ns: mean(WARM),
        first: burst(DRAIN),
        again: burst(AGAIN),
        idle_ns: words.idle,
        single_ns: mean(SINGLE),
        sizes: {
            let phases = record.phases.iter().filter(|phase| phase.name == SIZES);
            phases.zip(&words.blocks).filter_map(point).collect()
        },
        depth: words.depth,
    }
    .settled()
}
