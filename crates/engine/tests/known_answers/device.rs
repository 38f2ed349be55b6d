//! The cases: services, engines, depths and stalls.

use std::path::Path;

use iodyno_model::histogram::lower_edge;
use iodyno_model::{
    Depth, Direct, Extent, Histogram, Job, Open, Pattern, Pick, Rate, Tally, Target, TargetKind, Verb,
    Workload,
};
use testbed::fuse::{Config, Device, Fault, Pick as Met, RequestKind, Service};
use testbed::{Case, Need, Outcome};

use crate::compare::{self, Figure, Turn};
use crate::plain::{self, RealTime, Submission};

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
        ("cyclic", Service::Cycle(vec![2_000_000, 2_500_000, 3_000_000, 3_500_000, 4_000_000])),
    ];
    let every = services.iter().flat_map(|service| ENGINES.map(|engine| (service.clone(), engine)));
    every
        .map(|((name, service), (engine, depth))| {
            let name = format!("{name}::{engine}::depth_{depth}");
            let title = name.clone();
            Case::new(name, needs(engine), move || {
                let device = Device::mount(Config { read: service, parallelism: 8, ..Config::default() })?;
                latencies(&title, &device, engine, depth)
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
fn latencies(name: &str, device: &Device, engine: &str, depth: u32) -> Outcome {
    let _real_time = RealTime::enter();
    let operations = if depth == 1 { 64 } else { 512 };
    let submission = if engine == "libaio" { Submission::Aio } else { Submission::Threads };
    let (mut turns, mut count) = (Vec::new(), 0);
    let (mut our_ns, mut logged_ns, mut beyond_ns) = (0, Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let floor = plain::floor(device, submission, depth, operations)?;
        beyond_ns.push(floor.whole_ns);
        let tally = read(device.path(), engine, depth, operations)?;
        let log = device.take_log();
        if log.requests.len() as u64 != operations {
            let reached = log.requests.len();
            return Err(format!("{reached} requests reached the device instead of {operations}").into());
        }
        our_ns += tally.last_done_ns - tally.began_ns;
        count += tally.operations(iodyno_model::Kind::Read);
        logged_ns.push(plain::span_ns(&log));
        let ours = tally.lines[0].latency.clone();
        turns.push(Turn { ours, logged: log.latencies_ns(RequestKind::Read), floor: floor.each_ns });
    }
    let mut figures = compare::percentiles(&PERCENTILES, &turns);
    figures.push(Figure::rate(count, our_ns, &logged_ns, &beyond_ns));
    let all =
        compare::sorted(turns.iter().flat_map(|turn| turn.floor.iter().map(|(_, beyond)| *beyond)).collect());
    let [half, most] = [50.0, 99.0].map(|percent| compare::at(&all, percent) as f64 / 1e3);
    compare::judge(name, &format!("floor {half:.0} µs, p99 {most:.0}"), &figures)
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
    compare::tally_of(target, job)
}

/// Stalls at given requests show where they belong: in the largest latency and in the far percentiles.
pub fn stalls() -> Vec<Case> {
    let stall = |engine: &'static str, depth| {
        let name = format!("stalls::{engine}::depth_{depth}");
        let title = name.clone();
        Case::new(name, needs(engine), move || {
            let faults = vec![
                Fault::Stall { on: RequestKind::Read, pick: Met::EveryNth(100), ns: STALL_NS },
                Fault::Stall { on: RequestKind::Read, pick: Met::Nth(777), ns: 500_000_000 },
            ];
            let device = Device::mount(Config { faults, ..Config::constant(200_000) })?;
            stalled(&title, &device, engine, depth)
        })
    };
    vec![stall("psync", 1), stall("libaio", 8), stall("io_uring", 8)]
}

/// What every hundredth of these reads is held up by, ns.
const STALL_NS: u64 = 40_000_000;
/// How many are read.
const STALLED: u64 = 2000;

fn stalled(name: &str, device: &Device, engine: &str, depth: u32) -> Outcome {
    let _real_time = RealTime::enter();
    let tally = read(device.path(), engine, depth, STALLED)?;
    let logged = device.take_log().latencies_ns(RequestKind::Read);
    let ours = &tally.lines[0].latency;
    // What the slowest of the reads that were not held up took beyond the log: so late may the client be woken after any.
    let plain = 100.0 * (1.0 - 21.5 / STALLED as f64);
    let late = ours.percentile(plain).saturating_sub(compare::at(&logged, plain));
    // 20 of 2000 take 40 ms, one 500 ms: 99.7 % and 99.9 % lie among the twenty.
    let figure = |percent: f64| {
        Figure::kept(format!("p{percent}"), ours.percentile(percent), compare::at(&logged, percent), late)
    };
    let most = Figure::new("p100", ours.max as f64 / 1e3, compare::at(&logged, 100.0) as f64 / 1e3);
    let figures = vec![figure(99.7), figure(99.9), most];
    // A machine that was taken away for a while adds stalls of its own, which the log shows as well: what is compared is
    // what the log shows, and those that were planted are among it.
    let long = logged.iter().filter(|ns| **ns >= STALL_NS).count();
    if long < 21 {
        return Err(format!("{long} stalls instead of 21").into());
    }
    compare::judge(name, &format!("{long} stalls"), &figures)
}

/// The device stands still for half a second while operations are due at a steady rate: all that were due meanwhile
/// are late, not only those that were on the device.
pub fn open_loop() -> Case {
    Case::new("a_stall_is_seen_by_all_that_were_due", needs("io_uring"), || {
        let seen = late_ones()?;
        eprintln!("{seen:?}");
        let (least, most) = seen.by_the_log;
        // Whatever was due in the first 400 ms of the freeze is done after it: so late at least.
        let all = least >= DUE_IN_FREEZE && (least..=most).contains(&seen.late);
        if all && seen.in_flight <= seen.long_on_the_device {
            Ok(())
        } else {
            Err(format!("{seen:?}").into())
        }
    })
}

/// What a stall of half a second does to operations that are due at a steady rate.
#[derive(Debug)]
struct Late {
    /// Late as we tell it.
    late: u64,
    /// Late by the device's log and the times they were due: for certain, and at most.
    by_the_log: (u64, u64),
    /// So late from their actual start on, as we tell it.
    in_flight: u64,
    /// So long on the device, by its log.
    long_on_the_device: u64,
}

fn late_ones() -> Any<Late> {
    let freeze = Fault::Freeze { on: RequestKind::Read, pick: Met::Nth(100), ns: 500_000_000 };
    let device = Device::mount(Config { faults: vec![freeze], ..Config::constant(500_000) })?;
    let _real_time = RealTime::enter();
    let mut job = reader("io_uring", 16, 800);
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
    let later_than = |late_ns: u64| {
        let due = (0u64..).map(|number| began_ns + number * 1_000_000);
        requests.iter().zip(due).filter(|(request, due)| request.end_ns >= due + late_ns).count() as u64
    };
    let long = requests.iter().filter(|request| request.latency_ns() >= LATE_NS - BLUR_NS);
    Ok(Late {
        late: late(&line.latency),
        by_the_log: (later_than(LATE_NS + BLUR_NS), later_than(LATE_NS - BLUR_NS)),
        in_flight: late(service),
        long_on_the_device: long.count() as u64,
    })
}

/// Late is what is done so long after it was due.
const LATE_NS: u64 = 100_000_000;
/// The first operation was due a little before it reached the device, and the classes of a histogram have a width.
const BLUR_NS: u64 = 20_000_000;
/// How many were due so early in the freeze that they are late for certain.
const DUE_IN_FREEZE: u64 = 370;
