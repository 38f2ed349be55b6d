//! Known answers: what the loop, the counters and the simulated device must say to the last operation.
//!
//! Every expected figure is worked out on paper (or in a textbook), none was copied from a run.

use iodyno_engine::{Options, run as run_plan};
use iodyno_model::histogram::lower_edge;
use iodyno_model::{
    Arrivals, Coverage, ErrorPolicy, Histogram, Job, Limit, Pattern, Phase, Pick, Plan, Rate, Setting, Tally,
    Verb, Workload,
};

const SECOND: u64 = 1_000_000_000;
const SPAN: u64 = 1 << 40;

type Said<'a> = &'a [(&'a str, &'a str)];

fn job(verb: Verb, pick: Pick, block_bytes: u64, limit: Limit, settings: Said<'_>) -> Job {
    let pattern = Pattern { coverage: Coverage::Repeating, ..Pattern::of(verb, pick, block_bytes) };
    let settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
    let plain = Job::new("j", "sim", vec![0], Workload::Pattern(Box::new(pattern)));
    Job { settings, limit, errors: ErrorPolicy::Continue, ..plain }
}

fn random_reads(depth: u32, limit: Limit, settings: Said<'_>) -> Job {
    let mut job = job(Verb::Read, Pick::Uniform, 4096, limit, settings);
    job.depth.most = depth;
    job
}

fn seconds(seconds: u64) -> Limit {
    Limit { time_ns: Some(seconds * SECOND), ..Limit::default() }
}

fn operations(operations: u64) -> Limit {
    Limit { operations: Some(operations), ..Limit::default() }
}

fn plan(job: &Job) -> Plan {
    let target = testbed::pretended::target(SPAN);
    let phase = Phase { name: "p".into(), jobs: vec![job.clone()], ..Phase::default() };
    Plan { seed: 42, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

fn run(job: &Job) -> Tally {
    let options = Options { live_ns: 0, witness: false, ..Options::default() };
    let record = run_plan(&plan(job), &options, &mut |_| {}).expect("the simulated device runs");
    assert_eq!(record.errors, []);
    record.phases[0].jobs[0].tally.clone()
}

fn rate(tally: &Tally) -> f64 {
    tally.all_operations() as f64 * 1e9 / (tally.last_done_ns - tally.began_ns) as f64
}

fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found} instead of {expected}");
}

/// The histogram's own resolution.
const RESOLUTION: f64 = 0.004;

#[test]
fn four_servers_at_depth_four_are_exactly_forty_thousand_a_second() {
    let tally = run(&random_reads(4, seconds(1), &[("service", "100us"), ("parallelism", "4")]));
    assert_eq!((tally.all_operations(), tally.all_bytes()), (40_000, 40_000 * 4096));
    assert_eq!((tally.began_ns, tally.last_done_ns), (0, SECOND));
    let latency = &tally.lines[0].latency;
    assert_eq!((latency.min, latency.max, latency.mean()), (100_000, 100_000, 100_000.0));
    for percent in [0.1, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
        assert_eq!(latency.percentile(percent), 100_000, "p{percent}");
    }
}

#[test]
fn one_server_at_depth_four_queues() {
    let tally = run(&random_reads(4, seconds(1), &[("service", "100us")]));
    // Three more are in flight when the time is up; they are waited for and counted.
    assert_eq!((tally.all_operations(), tally.last_done_ns), (10_003, SECOND + 300_000));
    assert_near(rate(&tally), 10_000.0, 1e-9, "IOPS");
    let latency = &tally.lines[0].latency;
    assert_eq!((latency.min, latency.max), (100_000, 400_000));
    assert_near(latency.percentile(50.0) as f64, 400e3, RESOLUTION, "median");
    assert_eq!(latency.sum, 400_000 * 10_003 - (300_000 + 200_000 + 100_000));
    assert_eq!(tally.depths, [0, 0, 0, 0, 10_003]);
}

#[test]
fn the_textbook_disks() {
    let disks = [
        ("9", "7200", "0", 75.95),
        ("6", "10000", "0", 111.11),
        ("4", "15000", "0", 166.67),
        ("7", "10000", "0.8", 92.59),
    ];
    for (seek, rpm, transfer, expected) in disks {
        let settings = [("preset", "disk"), ("seek_ms", seek), ("rpm", rpm), ("transfer_ms", transfer)];
        let tally = run(&job(Verb::Read, Pick::Uniform, 65_536, operations(1000), &settings));
        assert_near(rate(&tally), expected, 1e-4, &format!("{seek} ms at {rpm}"));
    }
}

/// A disk of 332 IOPS: the rate stays and the latency grows with depth (a published table goes from 3 to 774 ms).
#[test]
fn depth_buys_one_disk_nothing_but_latency() {
    let settings = [("preset", "disk"), ("seek_ms", "1"), ("rpm", "15000"), ("transfer_ms", "0.012")];
    let table = [
        (1, 3.0),
        (2, 6.0),
        (4, 12.0),
        (8, 24.1),
        (16, 48.2),
        (32, 96.4),
        (64, 193.0),
        (128, 386.0),
        (256, 771.0),
    ];
    for (depth, expected_ms) in table {
        let tally = run(&random_reads(depth, operations(20_000), &settings));
        assert_near(rate(&tally), 332.0, 1e-4, "IOPS");
        let median_ms = tally.lines[0].latency.percentile(50.0) as f64 / 1e6;
        assert_near(median_ms, expected_ms, 0.008, &format!("latency at depth {depth}"));
    }
}

#[test]
fn heads_move_on_their_own() {
    let settings = [("preset", "disk"), ("seek_ms", "9"), ("rpm", "7200"), ("heads", "2")];
    assert_near(rate(&run(&random_reads(2, operations(2000), &settings))), 2.0 * 75.95, 1e-4, "IOPS");
    assert_near(rate(&run(&random_reads(1, operations(1000), &settings))), 75.95, 1e-4, "IOPS");
}

#[test]
fn a_disk_does_not_seek_where_it_is() {
    let mut settings = vec![("preset", "disk"), ("transfer_bytes_per_s", "100MB")];
    let end = |settings: Said<'_>| {
        run(&job(Verb::Read, Pick::Sequential, 100_000, operations(1000), settings)).last_done_ns
    };
    // One seek to the beginning, then a millisecond for each 100 kB.
    assert_eq!(end(&settings), 1000 * 1_000_000 + 8_500_000 + 4_166_667);
    settings.push(("seeks", "always"));
    assert_eq!(end(&settings), 1000 * (1_000_000 + 8_500_000 + 4_166_667));
}

#[test]
fn flash_serves_many_at_once() {
    let reads = run(&random_reads(16, seconds(1), &[("preset", "ssd")]));
    assert_eq!((reads.all_operations(), reads.lines[0].latency.max), (200_000, 80_000));
    let writes = run(&job(Verb::Write, Pick::Uniform, 4096, seconds(1), &[("preset", "ssd")]));
    assert_eq!(writes.all_operations(), 50_000);
}

#[test]
fn bandwidth_adds_the_transfer() {
    let settings = [("service", "100us"), ("bandwidth", "40960000")];
    assert_eq!(run(&random_reads(1, seconds(1), &settings)).all_operations(), 5000);
}

#[test]
fn two_modes_show_in_the_percentiles_where_they_must() {
    let tally = run(&random_reads(1, operations(200_000), &[("service", "bimodal:80us,5ms,1%")]));
    let latency = &tally.lines[0].latency;
    assert_near(latency.percentile(98.0) as f64, 80e3, RESOLUTION, "p98");
    assert_near(latency.percentile(99.5) as f64, 5e6, RESOLUTION, "p99.5");
    assert_near(latency.mean(), 0.99 * 80e3 + 0.01 * 5e6, 0.03, "mean");
}

#[test]
fn a_seed_means_the_same_run() {
    let with =
        |seed| run(&random_reads(4, operations(5000), &[("service", "exponential:100us"), ("seed", seed)]));
    assert_eq!(with("1"), with("1"));
    assert_ne!(with("1"), with("2"));
    assert_near(with("1").last_done_ns as f64, 5000.0 * 100e3, 0.05, "sum of the services");
}

#[test]
fn a_stall_is_felt_by_whoever_is_in_flight() {
    let tally = run(&random_reads(1, seconds(1), &[("service", "1ms"), ("stall", "500ms:200ms")]));
    // 500 before; the one that starts then takes 201 ms; 299 more fit.
    let latency = &tally.lines[0].latency;
    assert_eq!((tally.all_operations(), latency.max), (800, 201_000_000));
    assert_eq!(latency.buckets().last().map(|(_, count)| *count), Some(1));
}

#[test]
fn failures_are_tallied_where_they_happened() {
    let settings = [("error_at", "3,5:ENOSPC,9:EIO"), ("short_at", "7")];
    let mut sequential = job(Verb::Read, Pick::Sequential, 4096, operations(20), &settings);
    let tally = run(&sequential);
    let found: Vec<_> =
        tally.errors.iter().map(|error| (error.verb, error.errno, error.count, error.first_offset)).collect();
    assert_eq!(found, [(Verb::Read, 5, 2, 2 * 4096), (Verb::Read, 28, 1, 4 * 4096)]);
    let line = &tally.lines[0];
    assert_eq!((line.operations, line.failed, line.short), (17, 3, 1));
    assert_eq!(line.bytes, 16 * 4096 + 2048);
    sequential.errors = ErrorPolicy::Stop;
    assert_eq!(run(&sequential).lines[0].operations, 2);
    sequential.errors = ErrorPolicy::AtMost(1);
    assert_eq!(run(&sequential).lines[0].operations, 3);
}

#[test]
fn a_rate_of_errors_is_met() {
    let tally = run(&random_reads(4, operations(100_000), &[("error_rate", "1%")]));
    assert_near(tally.failed() as f64, 1000.0, 0.1, "failures");
}

#[test]
fn a_device_ends_where_its_capacity_ends() {
    let of = |verb| run(&job(verb, Pick::Sequential, 4096, operations(10), &[("capacity", "18k")]));
    let writes = of(Verb::Write);
    assert_eq!((writes.all_bytes(), writes.lines[0].short, writes.failed()), (18 * 1024, 1, 5));
    assert_eq!((writes.errors[0].errno, writes.errors[0].first_offset), (28, 5 * 4096));
    let reads = of(Verb::Read);
    assert_eq!((reads.all_bytes(), reads.lines[0].short, reads.failed()), (18 * 1024, 6, 0));
}

#[test]
fn time_limits_ramps_and_rows_are_exact() {
    let limit = Limit { ramp_ns: 2 * SECOND, ..seconds(3) };
    let settings = [("service", "100us"), ("parallelism", "2"), ("stall", "500ms:1s")];
    let tally = run(&random_reads(2, limit, &settings));
    assert_eq!((tally.began_ns, tally.last_done_ns), (2 * SECOND, 5 * SECOND));
    assert_eq!((tally.all_operations(), tally.lines[0].latency.max), (60_000, 100_000));
    assert_eq!(tally.series.interval_ns, SECOND);
    let row =
        |row: &iodyno_model::SeriesRow| (row.reads, row.read_bytes, row.latency_sum_ns, row.latency_max_ns);
    let rows: Vec<_> = tally.series.rows.iter().map(row).collect();
    assert_eq!(rows, [(20_000, 20_000 * 4096, 2 * SECOND, 100_000); 3]);
}

#[test]
fn a_row_shows_the_stall() {
    let tally = run(&random_reads(1, seconds(3), &[("service", "1ms"), ("stall", "1200ms:500ms")]));
    let reads: Vec<u64> = tally.series.rows.iter().map(|row| row.reads).collect();
    assert_eq!(reads, [1000, 500, 1000]);
    assert_eq!(tally.series.rows[1].latency_max_ns, 501_000_000);
}

#[test]
fn every_worker_has_a_device_of_its_own() {
    let mut job = random_reads(4, seconds(2), &[("service", "100us"), ("parallelism", "4")]);
    job.workers = 3;
    let tally = run(&job);
    assert_eq!((tally.all_operations(), tally.lines[0].latency.max), (3 * 80_000, 100_000));
    assert_eq!(tally.series.rows.iter().map(|row| row.reads).collect::<Vec<_>>(), [120_000; 2]);
    job.settings = vec![Setting::new("service", "exponential:100us")];
    (job.workers, job.limit) = (2, operations(1000));
    let once = run(&job);
    // Their draws differ, and are the same in every run.
    assert_ne!(once.first_done_ns, once.last_done_ns);
    assert_eq!(run(&job), once);
}

#[test]
fn a_job_starts_when_it_is_told() {
    let mut job = random_reads(1, seconds(1), &[("service", "100us")]);
    job.start.after_ns = 5 * SECOND;
    let tally = run(&job);
    assert_eq!(
        (tally.began_ns, tally.last_done_ns, tally.all_operations()),
        (5 * SECOND, 6 * SECOND, 10_000)
    );
}

#[test]
fn reaping_in_batches_costs_what_it_must() {
    let settings = [("service", "sequence:100us,400us"), ("parallelism", "2")];
    let mut job = random_reads(2, operations(2000), &settings);
    job.depth.reap_least = 2;
    let tally = run(&job);
    // Both are heard of when the slower one is done.
    assert_near(rate(&tally), 5000.0, 0.001, "IOPS");
    assert_near(tally.lines[0].latency.percentile(10.0) as f64, 400e3, RESOLUTION, "p10");
}

#[test]
fn a_setting_that_makes_no_sense_stops_the_run() {
    let job = random_reads(1, operations(1), &[("service", "abc"), ("paralelism", "4")]);
    let wrong = run_plan(&plan(&job), &Options::default(), &mut |_| {}).expect_err("nonsense");
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong.iter().any(|wrong| wrong.message.contains("service=abc")));
    assert!(wrong.iter().any(|wrong| wrong.hint.as_deref() == Some("did you mean `parallelism`?")));
}

/// What truth says of simulated runs: it is caught by its figures alone.
#[test]
fn lies_of_a_simulated_device_are_found() {
    let codes = |job: &Job| {
        let record = run_plan(&plan(job), &Options::default(), &mut |_| {}).expect("it runs");
        record.findings.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    let quick = [("service", "100us"), ("parallelism", "4")];
    assert_eq!(codes(&random_reads(4, seconds(10), &quick)), [] as [u8; 0]);
    assert_eq!(codes(&random_reads(4, operations(100), &quick)), [6]);
    // Stalls that come and go in ten seconds: the spikes are told before the rate that they make uneven.
    assert_eq!(codes(&random_reads(4, seconds(10), &[("stall", "4s:1s"), quick[0], quick[1]])), [26, 7]);
    assert_eq!(codes(&random_reads(4, seconds(10), &[("error_at", "77"), quick[0], quick[1]])), [20]);
}

/// An open loop: operations are due at their times, whatever becomes of those before.
fn due(depth: u32, per_second: f64, arrivals: Arrivals, limit: Limit, settings: Said<'_>) -> Job {
    let mut job = random_reads(depth, limit, settings);
    job.pace.rate_all = Rate::Operations(per_second);
    (job.pace.arrivals, job.pace.open_loop) = (arrivals, true);
    job
}

/// Queueing theory: the mean time in an M/M/1 system is 1/(μ − λ); here μ is 10,000 a second.
#[test]
fn a_memoryless_queue_is_as_slow_as_theory_says() {
    for (per_second, expected_ns) in [(2_000.0, 125e3), (5_000.0, 200e3), (8_000.0, 500e3)] {
        let settings = [("service", "exponential:100us")];
        let tally = run(&due(512, per_second, Arrivals::Poisson, operations(400_000), &settings));
        assert_near(rate(&tally), per_second, 0.01, "rate");
        assert_near(tally.lines[0].latency.mean(), expected_ns, 0.03, &format!("at {per_second}/s"));
    }
}

/// Coordinated omission: one operation is slow, and hundreds that were due meanwhile are late.
#[test]
fn a_stall_shows_on_everything_that_was_due() {
    let settings = [("service", "100us"), ("stall", "1s:500ms")];
    let tally = run(&due(1, 1000.0, Arrivals::Even, seconds(4), &settings));
    let line = &tally.lines[0];
    let service = line.service.as_ref().expect("both latencies are kept");
    let slower = |histogram: &Histogram, ns: u64| {
        let buckets = histogram.buckets().iter().filter(|(bucket, _)| lower_edge(*bucket as usize) > ns);
        buckets.map(|(_, count)| count).sum::<u64>()
    };
    // Served back to back, the backlog of 500 shrinks by 900 µs with each: 555 operations are late.
    assert_eq!((slower(service, 1_000_000), slower(&line.latency, 1_000_000)), (1, 555));
    assert_near(service.max as f64, 500.1e6, 1e-9, "slowest service");
    assert_near(line.latency.max as f64, 500.1e6, 1e-9, "slowest from the intended start");
    assert_near(line.latency.percentile(99.0) as f64, 464e6, 0.01, "p99 from the intended start");
    assert_near(service.percentile(99.0) as f64, 100e3, RESOLUTION, "p99 of the service");
    assert_near(tally.all_operations() as f64, 4000.0, 1e-3, "nothing is left out");
}
