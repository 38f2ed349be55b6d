//! The cases: services, engines, depths and stalls.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Depth, Direct, Extent, Job, Open, Pattern, Phase, Pick, Plan, Tally, Target, TargetKind, Verb, Workload,
};
use testbed::fuse::{Config, Device, Fault, Kind, Log, Pick as Met, Service};
use testbed::{Case, Need};

use crate::compare::{self, Figure};
use crate::plain::{self, RealTime};

/// How often what is off is measured.
const TRIES: u32 = 3;
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
const ENGINES: [(&str, u32); 5] =
    [("psync", 1), ("libaio", 1), ("libaio", 8), ("io_uring", 1), ("io_uring", 8)];

type Any<T> = Result<T, Box<dyn std::error::Error>>;

/// Every service through every engine and depth.
pub fn services() -> Vec<Case> {
    let services = [
        ("constant", Service::Constant(2_000_000)),
        ("bimodal", Service::Bimodal { a_ns: 1_000_000, b_ns: 5_000_000, b_percent: 10, seed: 1 }),
        ("cyclic", Service::Cycle(vec![1_000_000, 2_000_000, 3_000_000, 6_000_000])),
    ];
    let every = services.iter().flat_map(|service| ENGINES.map(|engine| (service.clone(), engine)));
    every
        .map(|((name, service), (engine, depth))| {
            let name = format!("{name}::{engine}::depth_{depth}");
            let title = name.clone();
            Case::new(name, needs(engine), move || {
                let device = Device::mount(Config { read: service, parallelism: 8, ..Config::default() })?;
                compare::until_right(&title, TRIES, || latencies(&device, engine, depth))
            })
            .alone()
        })
        .collect()
}

fn needs(engine: &str) -> &'static [Need] {
    if engine == "io_uring" { &[Need::Fuse, Need::IoUring] } else { &[Need::Fuse] }
}

/// Percentiles and rate of random reads, beside the device's log.
fn latencies(device: &Device, engine: &str, depth: u32) -> Any<(String, Vec<Figure>)> {
    let _real_time = RealTime::enter();
    let operations = if depth == 1 { 1000 } else { 4000 };
    let before = plain::floor_ns(device, depth, 100 * u64::from(depth))?;
    let tally = read(device.path(), engine, depth, operations)?;
    let log = device.take_log();
    let after = plain::floor_ns(device, depth, 100 * u64::from(depth))?;
    let floor_ns = (before + after) / 2;
    let logged = log.latencies_ns(Kind::Read);
    if logged.len() as u64 != operations {
        return Err(format!("{} requests reached the device instead of {operations}", logged.len()).into());
    }
    let ours = &tally.lines[0];
    let mut figures = compare::percentiles(&PERCENTILES, &ours.latency, &logged, floor_ns);
    let seconds = (tally.last_done_ns - tally.began_ns) as f64 / 1e9;
    figures.push(Figure::new("IOPS", ours.operations as f64 / seconds, rate(&log)));
    let floors = format!("floor {:.1} µs before, {:.1} after", before as f64 / 1e3, after as f64 / 1e3);
    Ok((floors, figures))
}

/// Requests per second, from the first arrival to the last reply.
fn rate(log: &Log) -> f64 {
    let first = log.requests.iter().map(|request| request.arrival_ns).min().unwrap_or(0);
    let last = log.requests.iter().map(|request| request.end_ns).max().unwrap_or(0);
    log.requests.len() as f64 * 1e9 / (last - first) as f64
}

/// Random direct reads of one worker; its tally.
fn read(path: &Path, engine: &str, depth: u32, operations: u64) -> Any<Tally> {
    let target = Target {
        name: "device".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Rest },
        open: Open { direct: Direct::Yes, ..Open::default() },
        prepare: Default::default(),
        remove: false,
        origin: Default::default(),
    };
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, plain::BLOCK);
    let mut job = Job::new("reader", engine, vec![0], Workload::Pattern(Box::new(pattern)));
    job.depth = Depth { most: depth, ..Depth::default() };
    job.limit.operations = Some(operations);
    let phase = Phase { name: "read".into(), jobs: vec![job], ..Phase::default() };
    let plan =
        Plan { name: "known".into(), seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() };
    let mut record = run(&plan, &Options::default(), &mut |_| ()).map_err(|wrong| format!("{wrong:?}"))?;
    if let Some(error) = record.errors.first() {
        return Err(error.message.clone().into());
    }
    Ok(record.phases.remove(0).jobs.remove(0).tally)
}

/// Stalls at given requests show where they belong: in the largest latency and in the far percentiles.
pub fn stalls() -> Vec<Case> {
    let stall = |engine: &'static str, depth| {
        let name = format!("stalls::{engine}::depth_{depth}");
        let title = name.clone();
        Case::new(name, needs(engine), move || {
            let faults = vec![
                Fault::Stall { on: Kind::Read, pick: Met::EveryNth(250), ns: 40_000_000 },
                Fault::Stall { on: Kind::Read, pick: Met::Nth(777), ns: 500_000_000 },
            ];
            let device = Device::mount(Config { faults, ..Config::constant(400_000) })?;
            compare::until_right(&title, TRIES, || stalled(&device, engine, depth))
        })
        .alone()
    };
    vec![stall("psync", 1), stall("libaio", 8), stall("io_uring", 8)]
}

fn stalled(device: &Device, engine: &str, depth: u32) -> Any<(String, Vec<Figure>)> {
    let _real_time = RealTime::enter();
    let tally = read(device.path(), engine, depth, 5000)?;
    let logged = device.take_log().latencies_ns(Kind::Read);
    let (ours, last) = (&tally.lines[0].latency, logged.len() - 1);
    // 20 of 5000 took 40 ms: 99.7 % lies among them.
    let rank = (0.997 * logged.len() as f64).ceil() as usize;
    let figures = vec![
        Figure::new("p99.7", ours.percentile(99.7) as f64 / 1e3, logged[rank - 1] as f64 / 1e3),
        Figure::new("max", ours.max as f64 / 1e3, logged[last] as f64 / 1e3),
    ];
    let planted = logged.iter().filter(|ns| **ns >= 40_000_000).count();
    if planted != 21 {
        return Err(format!("{planted} stalls instead of 21").into());
    }
    Ok((format!("{planted} stalls"), figures))
}
