//! `iodyno neighbours A B`: what becomes of each workload while the other one ramps up, and what a limit on the other one
//! helps.
//!
//! Exit status: 0; 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n.

mod report;
mod throttle;

use clap::Parser;
use iodyno_engine::world::World;
use iodyno_model::{
    Arrivals, ControlGroup, Diagnostic, Job, Kind, Pace, Pattern, Phase, PhaseRecord, Pick, Plan, Rate,
    Record, Verb, WorkerKind,
};
use iodyno_report::shape;

use self::report::{NeighbourPoint, NeighboursReport, RampResult};
use self::throttle::ThrottledGroup;
use crate::experiment::{self, Experiment};
use crate::option_values::{load, positive_time};
use crate::rate_pair::RatePair;
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed};
use crate::single_workload::{SingleWorkload, WorkloadRequest};
use crate::target_options::{TargetOptions, TemporaryFileOptions};

#[derive(Parser)]
#[command(name = "iodyno neighbours", about = "See how two workloads slow each other down, with and without a limit",
    disable_version_flag = true, after_help = AFTER)]
pub struct NeighboursArgs {
    /// A workload: a plan file (.toml) or job file (.fio) of one job; or a directory, a file or a device
    pub a: String,
    /// The other one
    pub b: String,
    /// How much of its maximum the other one offers, percent
    #[arg(long, value_name = "P,P…", value_delimiter = ',', default_value = "25,50,75,100", value_parser = load)]
    pub loads: Vec<f64>,
    /// Measure again with the other one in a control group that allows it so much: iops=500,bandwidth=20MB
    #[arg(long, value_name = "NAME=V,…", value_parser = RatePair::parsed)]
    pub io_max: Option<RatePair>,
    /// Time of each point
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = positive_time)]
    pub time: u64,
    #[command(flatten)]
    pub on: TargetOptions,
    #[command(flatten)]
    pub temporary: TemporaryFileOptions,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "A directory, a file or a device stands for 4 KiB random reads, one in flight; anything else is said in a \
plan. Both should lie on the same device. --io-max needs root and a control group that limits I/O. docs/neighbours.md explains \
the tables.";

/// Does `iodyno neighbours ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<NeighboursArgs>("iodyno neighbours", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let pair =
        workload(world, &words, &words.a, "a").and_then(|a| Ok([a, workload(world, &words, &words.b, "b")?]));
    let pair = match pair {
        Ok(pair) => pair,
        Err(wrong) => return ended(Err(wrong)),
    };
    let opened = groups(&words, &pair).and_then(|groups| Ok((groups, ReportOutput::open(&words.output)?)));
    let (groups, files) = match opened {
        Ok(opened) => opened,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let mut experiment = Experiment::new(world, "neighbours", arguments);
    match measured(&mut experiment, &words, &pair, &groups) {
        Ok(report) => files.write(&report.report()),
        Err(status) => status,
    }
}

fn workload(
    world: &World,
    words: &NeighboursArgs,
    target: &str,
    label: &str,
) -> Result<SingleWorkload, Vec<Diagnostic>> {
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
    let request = WorkloadRequest {
        for_targets_only: words.on.engine.is_some().then_some("--engine"),
        ..words.on.request(target, label, pattern, words.temporary.size)
    };
    SingleWorkload::of(world, &request)
}

/// A control group for each workload, where a limit is asked for.
fn groups(words: &NeighboursArgs, pair: &[SingleWorkload; 2]) -> Result<Vec<ThrottledGroup>, Diagnostic> {
    let Some(limit) = words.io_max else { return Ok(Vec::new()) };
    ThrottledGroup::remove_left();
    let group = |(label, workload): (&str, &SingleWorkload)| {
        ThrottledGroup::new(label, &workload.target_path(), limit)
    };
    ["a", "b"].into_iter().zip(pair).map(group).collect()
}

/// Operations in flight of the one that ramps, at most: later ones wait.
const OPEN_DEPTH: u32 = 256;

fn measured(
    experiment: &mut Experiment<'_>,
    words: &NeighboursArgs,
    pair: &[SingleWorkload; 2],
    groups: &[ThrottledGroup],
) -> Result<NeighboursReport, u8> {
    let mut ramps = Vec::new();
    let mut started = None;
    for victim in [0, 1] {
        let ramping = 1 - victim;
        let names = ["A", "B"];
        experiment::progress(&format!("{} alone, as fast as it goes", names[ramping]));
        let alone = pair[ramping].phase("alone", words.time, |job| job.pace = Pace::default());
        let (_, record) = experiment.run(pair[ramping].with("neighbours", vec![alone]), names[ramping])?;
        let maximum = point(&record, 0.0, 0).map_or(0.0, |point| point.victim_iops);
        if maximum <= 0.0 {
            crate::session::say(format_args!(
                "error: {}: no operation succeeded, so there is no maximum",
                names[ramping]
            ));
            return Err(1);
        }
        for group in std::iter::once(None).chain(groups.get(ramping).map(Some)) {
            let limited = if group.is_some() { ", limited" } else { "" };
            experiment::progress(&format!("{} while {} ramps{limited}", names[victim], names[ramping]));
            let plan = ramp(words, pair, victim, maximum, group);
            let (start, record) = experiment.run(plan, "the ramp")?;
            started = Some(start);
            let loads = std::iter::once(0.0).chain(words.loads.iter().copied());
            let points = loads.enumerate().filter_map(|(at, load)| point_at(&record, at, load, victim));
            ramps.push(RampResult { victim, maximum, is_limited: group.is_some(), points: points.collect() });
        }
    }
    Ok(NeighboursReport {
        targets: pair.each_ref().map(|workload| workload.target.clone()),
        facts: started.map_or_else(Vec::new, |started| pair[0].facts(&started)),
        remarks: if pair.iter().any(SingleWorkload::is_simulated) { pair[0].remarks() } else { Vec::new() },
        limit: words.io_max,
        time_ns: words.time,
        ramps,
    })
}

/// One workload as it is, the other one at nothing and at each load.
fn ramp(
    words: &NeighboursArgs,
    pair: &[SingleWorkload; 2],
    victim: usize,
    maximum: f64,
    group: Option<&ThrottledGroup>,
) -> Plan {
    let ramping = 1 - victim;
    let job = |number: usize, change: &dyn Fn(&mut Job)| {
        let mut job = pair[number].phase("", words.time, |job| change(job)).jobs.remove(0);
        job.name = ["A", "B"][number].into();
        if number == 1 { pair[0].second(job) } else { job }
    };
    let paced = |percent: f64| {
        job(ramping, &|job| {
            pair[ramping].set_depth(job, OPEN_DEPTH);
            job.pace = Pace {
                rate_all: Rate::Operations(maximum * percent / 100.0 / f64::from(job.workers)),
                arrivals: Arrivals::Poisson,
                open_loop: true,
                ..Pace::default()
            };
            if let Some(group) = group {
                // A group of version 2 takes whole processes.
                job.kind = WorkerKind::Processes;
                job.placement.cgroup = Some(ControlGroup { keep: true, ..ControlGroup::new(&group.path()) });
            }
        })
    };
    let phase = |percent: f64| {
        let mut jobs = vec![job(victim, &|_| {})];
        if percent > 0.0 {
            jobs.push(paced(percent));
        }
        // A first, whoever ramps.
        jobs.sort_by(|a, b| a.name.cmp(&b.name));
        Phase { name: format!("{percent} %"), jobs, ..Phase::default() }
    };
    let loads = std::iter::once(0.0).chain(words.loads.iter().copied());
    pair[0].beside(&pair[1], format!("neighbours {} {}", words.a, words.b), loads.map(phase).collect())
}

fn point_at(record: &Record, at: usize, load: f64, victim: usize) -> Option<NeighbourPoint> {
    let phase = record.phases.get(at)?;
    let name = ["A", "B"][victim];
    of_phase(phase, load, phase.jobs.iter().position(|job| job.name == name)?)
}

fn point(record: &Record, load: f64, victim: usize) -> Option<NeighbourPoint> {
    of_phase(record.phases.first()?, load, victim)
}

fn of_phase(phase: &PhaseRecord, load: f64, victim: usize) -> Option<NeighbourPoint> {
    let rate = |at: usize| {
        let job = phase.jobs.get(at)?;
        Some(shape::per_second(job.tally.all_operations(), phase, job))
    };
    let job = phase.jobs.get(victim)?;
    let mut latency = job.tally.latency(Kind::Read);
    latency.merge(&job.tally.latency(Kind::Write));
    let other = (0..phase.jobs.len()).find(|at| *at != victim);
    Some(NeighbourPoint { load, other_iops: other.and_then(rate), victim_iops: rate(victim)?, latency })
}
