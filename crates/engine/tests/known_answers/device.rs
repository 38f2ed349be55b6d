//! The cases: services, engines, depths and stalls.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::histogram::lower_edge;
use iodyno_model::{
    Depth, Direct, Extent, Histogram, Job, Open, Pattern, Phase, Pick, Plan, Rate, Tally, Target, TargetKind,
    Verb, Workload,
};
use testbed::fuse::{Config, Device, Fault, Kind, Log, Pick as Met, Service};
use testbed::{Case, Need};

use crate::compare::{self, Figure};
use crate::plain::{self, RealTime};

const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
/// Turns that ours and the plain client take.
const TURNS: usize = 8;
const ENGINES: [(&str, u32); 5] =
    [("psync", 1), ("libaio", 1), ("libaio", 8), ("io_uring", 1), ("io_uring", 8)];

type Any<T> = Result<T, Box<dyn std::error::Error>>;

/// Every service through every engine and depth.
pub fn services() -> Vec<Case> {
    let services = [
        ("constant", Service::Constant(2_000_000)),
        // Shares that put no percentile we look at on the edge between two times.
        ("bimodal", Service::Bimodal { a_ns: 2_000_000, b_ns: 6_000_000, b_percent: 12, seed: 1 }),
        ("cyclic", Service::Cycle(vec![2_000_000, 3_000_000, 4_000_000, 6_000_000, 8_000_000])),
    ];
    let every = services.iter().flat_map(|service| ENGINES.map(|engine| (service.clone(), engine)));
    every
        .map(|((name, service), (engine, depth))| {
            let name = format!("{name}::{engine}::depth_{depth}");
            let title = name.clone();
            Case::new(name, needs(engine), move || {
                let device = Device::mount(Config { read: service, parallelism: 8, ..Config::default() })?;
                compare::until_right(&title, || latencies(&device, engine, depth))
            })
            .alone()
        })
        .collect()
}

fn needs(engine: &str) -> &'static [Need] {
    if engine == "io_uring" { &[Need::Fuse, Need::IoUring] } else { &[Need::Fuse] }
}

/// Percentiles and rate of random reads, beside the device's log. Ours and the plain client take turns, so that
/// what disturbs the machine for a second disturbs both.
fn latencies(device: &Device, engine: &str, depth: u32) -> Any<(String, Vec<Figure>)> {
    let _real_time = RealTime::enter();
    let operations = if depth == 1 { 64 } else { 512 };
    let (mut ours, mut logged, mut floors) = (Histogram::default(), Vec::new(), Vec::new());
    let (mut our_ns, mut logged_ns) = (0, 0);
    for _ in 0..TURNS {
        floors.push(plain::floor_ns(device, depth, operations)?);
        let tally = read(device.path(), engine, depth, operations)?;
        let log = device.take_log();
        if log.requests.len() as u64 != operations {
            let reached = log.requests.len();
            return Err(format!("{reached} requests reached the device instead of {operations}").into());
        }
        ours.merge(&tally.lines[0].latency);
        our_ns += tally.last_done_ns - tally.began_ns;
        logged.extend(log.latencies_ns(Kind::Read));
        logged_ns += span_ns(&log);
    }
    let logged = compare::sorted(logged);
    let mut figures = compare::percentiles(&PERCENTILES, &ours, &logged, &floors);
    let rate = |count: u64, ns: u64| count as f64 * 1e9 / ns as f64;
    figures.push(Figure::new("IOPS", rate(ours.count(), our_ns), rate(logged.len() as u64, logged_ns)));
    let all = compare::sorted(floors.concat());
    let [half, most] = [50.0, 99.0].map(|percent| compare::at(&all, percent) as f64 / 1e3);
    Ok((format!("floor {half:.0} µs, p99 {most:.0}"), figures))
}

/// From the first arrival to the last reply.
fn span_ns(log: &Log) -> u64 {
    let first = log.requests.iter().map(|request| request.arrival_ns).min().unwrap_or(0);
    let last = log.requests.iter().map(|request| request.end_ns).max().unwrap_or(0);
    last - first
}

/// Random direct reads of one worker; its tally.
fn read(path: &Path, engine: &str, depth: u32, operations: u64) -> Any<Tally> {
    perform(path, reader(engine, depth, operations))
}

/// A job of random direct reads.
fn reader(engine: &str, depth: u32, operations: u64) -> Job {
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, plain::BLOCK);
    let mut job = Job::new("reader", engine, vec![0], Workload::Pattern(Box::new(pattern)));
    job.depth = Depth { most: depth, ..Depth::default() };
    job.limit.operations = Some(operations);
    job
}

/// One job on the device; its tally.
fn perform(path: &Path, job: Job) -> Any<Tally> {
    let target = Target {
        name: "device".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Rest },
        open: Open { direct: Direct::Yes, ..Open::default() },
        prepare: Default::default(),
        remove: false,
        origin: Default::default(),
    };
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
            compare::until_right(&title, || stalled(&device, engine, depth))
        })
        .alone()
    };
    vec![stall("psync", 1), stall("libaio", 8), stall("io_uring", 8)]
}

fn stalled(device: &Device, engine: &str, depth: u32) -> Any<(String, Vec<Figure>)> {
    let _real_time = RealTime::enter();
    let tally = read(device.path(), engine, depth, 5000)?;
    let logged = device.take_log().latencies_ns(Kind::Read);
    let ours = &tally.lines[0].latency;
    // 20 of 5000 took 40 ms, one 500 ms: 99.7 % and 99.9 % lie among the twenty.
    let figure = |percent: f64, ours: u64| {
        Figure::new(format!("p{percent}"), ours as f64 / 1e3, compare::at(&logged, percent) as f64 / 1e3)
    };
    let figures = vec![
        figure(99.7, ours.percentile(99.7)),
        figure(99.9, ours.percentile(99.9)),
        figure(100.0, ours.max),
    ];
    // A machine that was taken away for a while adds stalls of its own, which the log shows as well: what is compared is
    // what the log shows, and those that were planted are among it.
    let long = logged.iter().filter(|ns| **ns >= 40_000_000).count();
    if long < 21 {
        return Err(format!("{long} stalls instead of 21").into());
    }
    Ok((format!("{long} stalls"), figures))
}

/// The device stands still for half a second while operations are due at a steady rate: all that were due meanwhile
/// are late, not only those that were on the device.
pub fn open_loop() -> Case {
    Case::new("a_stall_is_seen_by_all_that_were_due", needs("io_uring"), || {
        let mut told = String::new();
        // How many are late depends on how fast the machine works off the backlog: the device's log says it.
        for _ in 0..TRIES {
            let (seen, by_the_log, in_flight) = late_ones()?;
            told = format!("{seen} late instead of {by_the_log}, {in_flight} of them so long on the device");
            eprintln!("{told}");
            if by_the_log >= 440 && seen.abs_diff(by_the_log) <= 15 && in_flight <= seen / 4 {
                return Ok(());
            }
        }
        Err(told.into())
    })
    .alone()
}

/// Operations that were late as we tell it, as the device's log and the times they were due say it, and those of ours
/// that took so long on the device.
fn late_ones() -> Any<(u64, u64, u64)> {
    let freeze = Fault::Freeze { on: Kind::Read, pick: Met::Nth(300), ns: 500_000_000 };
    let device = Device::mount(Config { faults: vec![freeze], ..Config::constant(1_000_000) })?;
    let _real_time = RealTime::enter();
    let mut job = reader("io_uring", 16, 1500);
    job.pace.rate.read = Rate::Operations(1000.0);
    let tally = perform(device.path(), job)?;
    let line = &tally.lines[0];
    let service = line.service.as_ref().ok_or("no latency from the actual start was kept")?;
    let late = |times: &Histogram| -> u64 {
        let late = times.buckets().iter().filter(|(bucket, _)| lower_edge(*bucket as usize) >= LATE_NS);
        late.map(|(_, count)| count).sum()
    };
    let mut requests = device.take_log().requests;
    requests.sort_by_key(|request| request.arrival_ns);
    let began_ns = requests.first().ok_or("nothing reached the device")?.arrival_ns;
    let due = (0u64..).map(|number| began_ns + number * 1_000_000);
    let by_the_log = requests.iter().zip(due).filter(|(request, due)| request.end_ns >= due + LATE_NS);
    Ok((late(&line.latency), by_the_log.count() as u64, late(service)))
}

/// Tries to see what a machine that is taken away for a while blurs.
const TRIES: usize = 3;
/// Late is what is done so long after it was due.
const LATE_NS: u64 = 100_000_000;
