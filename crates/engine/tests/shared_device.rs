//! Workers that share a simulated device and its clock: what they do together, on paper and by the loop.

use iodyno_engine::{Options, run as run_plan};
use iodyno_model::device::{Cluster, Device, DevicePart, PartKind, Server, Station};
use iodyno_model::reflect::Reflect;
use iodyno_model::{
    Coverage, Event, Job, Limit, Pattern, Phase, Pick, Plan, Rate, Record, Setting, Stop, TargetKind, Verb,
    Workload,
};

const SECOND: u64 = 1_000_000_000;

fn part(name: &str, kind: PartKind) -> DevicePart {
    DevicePart { name: name.into(), kind, ..DevicePart::default() }
}

fn station(servers: u32, service_ns: u64, variation: f64) -> Device {
    let station = Station { servers, service_ns, variation, ..Station::blank() };
    Device { name: "d".into(), parts: vec![part("s", PartKind::Station(station))], ..Device::default() }
}

fn job(name: &str, workers: u32, depth: u32, limit: Limit) -> Job {
    let pattern = Pattern { coverage: Coverage::Repeating, ..Pattern::of(Verb::Read, Pick::Uniform, 4096) };
    let mut job =
        Job { workers, limit, ..Job::new(name, "sim", vec![0], Workload::Pattern(Box::new(pattern))) };
    job.depth.most = depth;
    job
}

fn seconds(seconds: u64) -> Limit {
    Limit { time_ns: Some(seconds * SECOND), ..Limit::default() }
}

fn operations(operations: u64) -> Limit {
    Limit { operations: Some(operations), ..Limit::default() }
}

fn plan(device: Device, jobs: Vec<Job>) -> Plan {
    let target = testbed::pretended::target(1 << 40);
    let phase = Phase { name: "p".into(), jobs, ..Phase::default() };
    Plan { seed: 42, targets: vec![target], phases: vec![phase], device: Some(device), ..Plan::default() }
}

fn run(plan: &Plan) -> Record {
    let options = Options { live_ns: 0, witness: false, ..Options::default() };
    let record = run_plan(plan, &options, &mut |_| {}).expect("the simulated device runs");
    assert_eq!(record.errors, []);
    record
}

fn wrong(plan: &Plan) -> String {
    let options = Options { live_ns: 0, witness: false, ..Options::default() };
    let wrong = run_plan(plan, &options, &mut |_| {}).expect_err("a wrong plan was taken");
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn four_workers_are_no_faster_than_their_one_server() {
    let record = run(&plan(station(1, 100_000, 0.0), vec![job("j", 4, 2, seconds(2))]));
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!(tally.all_operations(), 20_000 + 7, "2 s, and what was in flight");
    // Eight wait for one server of 100 µs.
    assert_eq!(tally.lines[0].latency.percentile(50.0), tally.lines[0].latency.percentile(90.0));
    let mean = tally.lines[0].latency.mean();
    assert!((mean / 800_000.0 - 1.0).abs() < 0.01, "{mean}");
    let part = &record.phases[0].parts[0];
    assert_eq!((part.name.as_str(), part.kind.as_str(), part.instances), ("s", "station", 1));
    assert!(part.utilisation > 0.999 && (part.queue - 8.0).abs() < 0.01, "{part:?}");
}

#[test]
fn workers_share_fairly_and_each_run_is_the_same() {
    let jobs = || vec![job("a", 3, 1, seconds(1)), job("b", 5, 4, seconds(1))];
    let record = run(&plan(station(2, 70_000, 1.0), jobs()));
    let each: Vec<u64> = record.phases[0].jobs[0].workers.iter().map(|worker| worker.operations).collect();
    let mean = each.iter().sum::<u64>() as f64 / 3.0;
    assert!(each.iter().all(|operations| (*operations as f64 / mean - 1.0).abs() < 0.1), "{each:?}");
    let again = run(&plan(station(2, 70_000, 1.0), jobs()));
    for (one, other) in record.phases[0].jobs.iter().zip(&again.phases[0].jobs) {
        assert_eq!(one.tally, other.tally);
    }
    assert_eq!(record.phases[0].parts, again.phases[0].parts);
}

#[test]
fn a_rate_holds_while_others_saturate() {
    // M/D/1 with two classes: the paced worker waits behind the closed loop of depth 1, at most one service.
    let mut paced = job("paced", 1, 1, seconds(1));
    paced.pace.rate.read = Rate::Operations(1_000.0);
    let record = run(&plan(station(1, 100_000, 0.0), vec![paced, job("loop", 1, 1, seconds(1))]));
    let [paced, closed] = &record.phases[0].jobs[..] else { panic!("two jobs") };
    assert!(paced.tally.all_operations().abs_diff(1_000) <= 1);
    let all = paced.tally.all_operations() + closed.tally.all_operations();
    assert!(all.abs_diff(10_000) <= 2, "{all}");
    assert!(paced.tally.lines[0].latency.max <= 201_000);
}

#[test]
fn a_job_waits_for_another_and_starts_at_its_own_time() {
    let first = job("first", 1, 1, operations(100));
    let mut second = job("second", 2, 1, operations(50));
    second.start.after_job = Some("first".into());
    let record = run(&plan(station(1, SECOND / 1000, 0.0), vec![first, second]));
    let [first, second] = &record.phases[0].jobs[..] else { panic!("two jobs") };
    assert_eq!(first.tally.last_done_ns, 100 * SECOND / 1000);
    assert_eq!(second.tally.began_ns, 100 * SECOND / 1000);
    assert_eq!(second.tally.last_done_ns, 200 * SECOND / 1000);
}

#[test]
fn workers_wait_for_each_other_at_the_end_of_their_time() {
    let mut job = job("j", 4, 1, Limit { wear_out: true, ..seconds(1) });
    job.limit.operations = Some(1_000_000);
    let record = run(&plan(station(3, 100_000, 1.0), vec![job]));
    let each: Vec<u64> = record.phases[0].jobs[0].workers.iter().map(|worker| worker.operations).collect();
    assert!(each.iter().all(|operations| *operations == each[0]), "{each:?}");
}

#[test]
fn the_device_lasts_from_phase_to_phase() {
    let server = Server { cache_bytes: 1 << 30, over: "s".into(), ..Server::blank() };
    let station = Station { service_ns: 5_000_000, variation: 0.0, ..Station::blank() };
    let parts = vec![part("server", PartKind::Server(server)), part("s", PartKind::Station(station))];
    let device = Device { name: "d".into(), parts, ..Device::default() };
    let mut reads = job("j", 1, 1, operations(200));
    reads.workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 65_536)));
    let mut plan = plan(device, vec![reads.clone()]);
    plan.phases.push(Phase { name: "again".into(), jobs: vec![reads], ..Phase::default() });
    let record = run(&plan);
    let hits = |phase: usize| {
        record.phases[phase].parts[0].counts.iter().find(|count| count.name == "read hits").unwrap().value
    };
    assert_eq!((hits(0), hits(1)), (0.0, 1.0));
}

#[test]
fn live_figures_come_at_exact_times() {
    let mut ticks = Vec::new();
    let options = Options { live_ns: SECOND / 10, witness: false, ..Options::default() };
    let plan = plan(station(1, 100_000, 0.0), vec![job("j", 3, 1, seconds(1))]);
    let record = run_plan(&plan, &options, &mut |event| {
        if let Event::Live(live) = event {
            ticks.push(live.jobs[0].operations);
        }
    });
    assert_eq!(record.unwrap().errors, []);
    assert!(ticks.len() >= 9, "{ticks:?}");
    let expected: Vec<u64> = (1..=ticks.len() as u64).map(|tick| tick * 1000).collect();
    let close = ticks.iter().zip(&expected).all(|(found, expected)| found.abs_diff(*expected) <= 3);
    assert!(close, "{ticks:?}");
}

#[test]
fn the_first_that_is_done_ends_the_others() {
    let mut plan = plan(
        station(1, 100_000, 0.0),
        vec![job("short", 1, 1, operations(10)), job("long", 2, 1, seconds(1_000))],
    );
    plan.phases[0].stop = Stop::FirstDone;
    let record = run(&plan);
    let long = &record.phases[0].jobs[1];
    assert!(long.tally.all_operations() > 0 && long.tally.last_done_ns < 1_000 * SECOND);
}

/// 10,000 clients at 100 servers: each request takes 1 ms, 8 at a time at each server, so 800,000 a second in all.
#[test]
fn ten_thousand_clients_at_a_cluster() {
    let cluster =
        Cluster { servers: 100, replicas: 1, piece_bytes: 65_536, over: "s".into(), ..Cluster::blank() };
    let station = Station { servers: 8, service_ns: 1_000_000, variation: 1.0, ..Station::blank() };
    let parts = vec![part("cluster", PartKind::Cluster(cluster)), part("s", PartKind::Station(station))];
    let device = Device { name: "d".into(), parts, ..Device::default() };
    let record = run(&plan(device, vec![job("clients", 10_000, 1, operations(20))]));
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!(tally.all_operations(), 200_000);
    let rate = tally.all_operations() as f64 * 1e9 / tally.last_done_ns as f64;
    assert!((600_000.0..=800_000.0).contains(&rate), "{rate}");
    assert!(record.phases[0].parts[1].utilisation > 0.75);
}

#[test]
fn what_a_device_says_no_setting_says_as_well() {
    let mut with_service = job("j", 1, 1, seconds(1));
    with_service.settings = vec![Setting::new("service", "1ms")];
    assert_eq!(
        wrong(&plan(station(1, 1, 0.0), vec![with_service])),
        "error: `service`: what operations cost is said by the device d\n \
         hint: leave it out, or the device; with a device go error_at, error_rate, short_at"
    );
    let mut on_null = job("j", 1, 1, seconds(1));
    on_null.engine = "null".into();
    assert_eq!(
        wrong(&plan(station(1, 1, 0.0), vec![on_null])),
        "error: device d: no job works on it\n hint: say engine = \"sim\" in a job, or leave the device out"
    );
    let mut small = station(1, 1, 0.0);
    if let PartKind::Station(station) = &mut small.parts[0].kind {
        station.capacity_bytes = 1 << 30;
    }
    let mut plan = plan(small, vec![job("j", 1, 1, seconds(1))]);
    assert_eq!(
        wrong(&plan),
        "error: device d: it holds 1 GiB, the targets of its jobs 1 TiB\n hint: smaller targets, or a larger device"
    );
    plan.targets[0].kind = TargetKind::Nothing { bytes: 1 << 30 };
    plan.phases[0].jobs[0].limit = operations(10);
    run(&plan);
}

/// Plain jobs at depth 1 go on without their workers' stacks. What is asked for besides keeps them on it: all else is the same.
#[test]
fn without_stacks_the_record_is_the_same() {
    let ramped = Limit { ramp_ns: SECOND / 2, ..seconds(3) };
    let mut writes = job("writes", 3, 1, ramped);
    if let Workload::Pattern(pattern) = &mut writes.workload {
        **pattern =
            Pattern { coverage: Coverage::Repeating, ..Pattern::of(Verb::Write, Pick::Sequential, 8192) };
    }
    let mut short_rows = job("rows", 20, 1, seconds(2));
    short_rows.measure.row_ns = SECOND / 10;
    let deep = job("deep", 2, 4, seconds(2));
    let jobs = [job("many", 300, 1, operations(40)), writes, short_rows, deep, job("late", 5, 1, seconds(1))];
    for limit in [Limit { wear_out: true, ..seconds(1) }, operations(1)] {
        let mut jobs = jobs.to_vec();
        jobs[4].limit = limit;
        jobs[4].start.after_ns = SECOND;
        let mut on_stacks = jobs.clone();
        on_stacks.iter_mut().for_each(|job| job.measure.submission = true);
        let options = Options { live_ns: SECOND / 4, witness: false, ..Options::default() };
        let [without, with] = [jobs, on_stacks].map(|jobs| {
            let mut ticks = Vec::new();
            let record = run_plan(&plan(station(4, 300_000, 1.0), jobs), &options, &mut |event| {
                if let Event::Live(live) = event {
                    ticks.push(live.jobs.iter().map(|job| job.operations).collect::<Vec<_>>());
                }
            });
            (record.expect("the simulated device runs"), ticks)
        });
        assert!(without.1.len() > 4 && without.1 == with.1, "{:?}\n{:?}", without.1, with.1);
        assert_eq!(without.0.phases[0].parts, with.0.phases[0].parts);
        for (one, other) in without.0.phases[0].jobs.iter().zip(&with.0.phases[0].jobs) {
            let mut other = other.clone();
            other.tally.lines.iter_mut().for_each(|line| (line.submission, line.completion) = (None, None));
            // Batches are counted there at every depth, and times at which nothing had come.
            other.tally.submits.clone_from(&one.tally.submits);
            other.tally.completes.clone_from(&one.tally.completes);
            assert!(one.tally == other.tally, "{}: tallies differ", one.name);
            let rows = |job: &iodyno_model::JobRecord| -> Vec<_> {
                job.workers.iter().map(|row| (row.operations, row.began_ns, row.ended_ns)).collect()
            };
            assert_eq!(rows(one), rows(&other), "{}", one.name);
        }
    }
}
