//! Each worker for itself: who fails ends alone, whom it takes along, what the record says.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    ErrorPolicy, Exit, ExitOn, ExitWhat, Extent, Fatal, Job, Kind, Limit, Open, Pattern, Phase, Pick, Plan,
    Prepare, Record, Setting, Stage, Stop, Target, TargetKind, Tolerance, Verb, WorkerKind, Workload,
};

fn target(kind: TargetKind) -> Target {
    let (open, origin) = (Open::default(), Default::default());
    Target { name: "data".into(), kind, open, prepare: Prepare::AsItIs, remove: false, origin }
}

fn file(path: &Path, prepare: Prepare) -> Target {
    let kind = TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(64 << 10) };
    Target { prepare, remove: true, ..target(kind) }
}

fn nothing() -> Target {
    target(TargetKind::Nothing { bytes: 1 << 30 })
}

fn job(name: &str, engine: &str, on: usize, settings: &[(&str, &str)]) -> Job {
    let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 4096)));
    let mut job = Job::new(name, engine, vec![on], workload);
    job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
    job.limit.operations = Some(10);
    job
}

fn phase(name: &str, jobs: Vec<Job>) -> Phase {
    Phase { name: name.into(), jobs, stop: Stop::Alone, ..Phase::default() }
}

fn record(targets: Vec<Target>, phases: Vec<Phase>) -> Record {
    let plan = Plan { name: "test".into(), seed: 1, targets, phases, ..Plan::default() };
    run(&plan, &Options { witness: false, ..Options::default() }, &mut |_| {}).unwrap()
}

fn reads(record: &Record, phase: usize, job: usize) -> u64 {
    record.phases[phase].jobs[job].tally.operations(Kind::Read)
}

fn fatal(record: &Record, phase: usize, job: usize, worker: usize) -> Fatal {
    record.phases[phase].jobs[job].workers[worker].fatal.clone().expect("it ended by an error")
}

#[test]
fn what_cannot_open_ends_alone_in_both_worlds() {
    let folder = tempfile::tempdir().unwrap();
    let targets = || {
        vec![file(Path::new("/dev/null/f"), Prepare::AsItIs), file(&folder.path().join("f"), Prepare::Filled)]
    };
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let mut broken = job("broken", "psync", 0, &[]);
        (broken.kind, broken.workers) = (kind, 3);
        let sound = Job { kind, ..job("sound", "psync", 1, &[]) };
        let later = Job { kind, ..job("later", "psync", 1, &[]) };
        let record = record(targets(), vec![phase("a", vec![broken, sound]), phase("b", vec![later])]);
        assert_eq!((reads(&record, 0, 0), reads(&record, 0, 1), reads(&record, 1, 0)), (0, 10, 10));
        for worker in 0..3 {
            let fatal = fatal(&record, 0, 0, worker);
            assert_eq!((fatal.errno, fatal.stage, fatal.target), (libc::ENOTDIR, Stage::Prepare, Some(0)));
        }
        assert_eq!(record.errors.len(), 3, "{:?}", record.errors);
        assert!(record.errors[0].message.contains("broken, worker 0: /dev/null/f: Not a directory"));
    }
}

#[test]
fn an_error_of_one_ends_one() {
    let bad = job("bad", "sim", 0, &[("service", "100us"), ("error_at", "5:EIO")]);
    let good = job("good", "sim", 0, &[("service", "100us")]);
    let record = record(vec![nothing()], vec![phase("a", vec![bad, good])]);
    assert_eq!((reads(&record, 0, 0), reads(&record, 0, 1)), (4, 10));
    let fatal = fatal(&record, 0, 0, 0);
    let expected = Fatal {
        errno: libc::EIO,
        stage: Stage::Run,
        verb: Some(Verb::Read),
        target: Some(0),
        offset: 4 * 4096,
        bytes: 4096,
    };
    assert_eq!(fatal, expected);
    assert_eq!(record.errors[0].message, "bad: read of data at 16384: Input/output error");
    assert!(record.phases[0].jobs[1].workers[0].fatal.is_none());
}

#[test]
fn tolerated_errors_are_counted_and_survived() {
    let errors = [("service", "100us"), ("error_at", "3:EIO,5:ENOMEM")];
    let with = |read: Vec<i32>| {
        let mut job = job("j", "sim", 0, &errors);
        job.errors = ErrorPolicy::Tolerate(Box::new(Tolerance { read, ..Tolerance::default() }));
        record(vec![nothing()], vec![phase("a", vec![job])])
    };
    let both = with(vec![libc::EIO, libc::ENOMEM]);
    assert_eq!((reads(&both, 0, 0), both.phases[0].jobs[0].tally.failed(), both.errors.len()), (8, 2, 0));
    let one = with(vec![libc::EIO]);
    assert_eq!((reads(&one, 0, 0), fatal(&one, 0, 0, 0).errno), (3, libc::ENOMEM));
    assert_eq!(fatal(&with(Vec::new()), 0, 0, 0).errno, libc::EIO);
}

#[test]
fn a_full_device_is_the_end_where_that_is_meant() {
    let full = |until_full| {
        let mut job = job("w", "sim", 0, &[("service", "100us"), ("capacity", "32KiB")]);
        job.workload = Workload::Pattern(Box::new(Pattern::of(Verb::Write, Pick::Sequential, 4096)));
        job.limit = Limit { until_full, ..Limit::default() };
        record(vec![nothing()], vec![phase("a", vec![job])])
    };
    let meant = full(true);
    let tally = &meant.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Write), tally.failed(), meant.errors.len()), (8, 0, 0));
    assert_eq!(fatal(&full(false), 0, 0, 0).errno, libc::ENOSPC);
}

/// What a job does that ends by itself though others end before.
const WHOLE: u64 = 300;

/// Jobs without an end of their own, beside one that ends or fails soon. Those that nobody takes along go on for ever, save
/// for the other set where only sets are taken along: that one ends when it has done all of its part.
fn with_exit(exit: Exit, fails: bool) -> Record {
    let endless = |name: &str, set| {
        let mut job = job(name, "null", 0, &[]);
        let stays = exit.what == ExitWhat::Set && set == 1;
        job.limit = Limit { operations: stays.then_some(WHOLE), ..Limit::default() };
        (job.set, job.depth.most) = (set, 1);
        job.pace.think = Some(iodyno_model::Think { sleep_ns: 1_000_000, every: 1, ..Default::default() });
        job
    };
    let soon = match fails {
        true => Job { exit: Some(exit), ..job("soon", "psync", 1, &[]) },
        false => Job { exit: Some(exit), ..job("soon", "null", 0, &[]) },
    };
    let jobs = vec![soon, endless("same set", 0), endless("other set", 1)];
    let next = job("next", "null", 0, &[]);
    let gone = file(Path::new("/dev/null/f"), Prepare::AsItIs);
    record(vec![nothing(), gone], vec![phase("a", jobs), phase("b", vec![next])])
}

#[test]
fn an_end_takes_along_whom_it_should() {
    for fails in [false, true] {
        let on = if fails { ExitOn::Error } else { ExitOn::End };
        let set = with_exit(Exit { on, what: ExitWhat::Set }, fails);
        // Taken along: it had no end of its own. And not taken along.
        assert_eq!((reads(&set, 0, 2), set.phases.len()), (WHOLE, 2));
        let phase = with_exit(Exit { on, what: ExitWhat::Phase }, fails);
        assert_eq!(phase.phases.len(), 2);
        let run = with_exit(Exit { on, what: ExitWhat::Run }, fails);
        assert_eq!(run.phases.len(), 1);
    }
}

#[test]
fn a_steady_rate_ends_its_jobs_together() {
    use iodyno_model::{Criterion, Rate, Steady};
    let rule = Steady {
        criterion: Criterion::Operations,
        slope: false,
        limit: 50.0,
        percent: true,
        window_ns: 200_000_000,
        ramp_ns: 0,
        interval_ns: 50_000_000,
    };
    let paced = |name: &str, group: Option<&str>, steady| {
        let mut job = job(name, "sim", 0, &[("service", "100us")]);
        job.workers = 2;
        job.group = group.map(String::from);
        job.pace.rate_all = Rate::Operations(2000.0);
        job.limit = Limit { steady, ..Limit::default() };
        job.limit.time_ns = Some(3_600_000_000_000);
        job
    };
    let jobs = vec![
        paced("a", Some("both"), Some(rule)),
        paced("b", Some("both"), Some(rule)),
        paced("alone", None, Some(rule)),
    ];
    let record = record(vec![nothing()], vec![phase("a", jobs)]);
    let [a, b, alone] = [0, 1, 2].map(|job| &record.phases[0].jobs[job].workers);
    for workers in [a, b, alone] {
        // Four intervals of 50 ms, and what was due at their end.
        assert!(workers.iter().all(|worker| worker.ended_ns == 200_100_000), "{workers:?}");
        let steady = workers[0].steady.as_ref().expect("it was judged");
        assert!(steady.attained && steady.operations.len() == 4, "{steady:?}");
    }
    assert!(a[1].steady.is_none() && alone[1].steady.is_some());
    assert_eq!(a[0].steady, b[0].steady);
}

#[test]
fn a_depth_is_found_in_virtual_time() {
    let mut job = job("j", "sim", 0, &[("service", "100us")]);
    job.depth.most = 64;
    job.limit = Limit::default();
    job.pace.latency_target = Some(iodyno_model::LatencyTarget {
        latency_ns: 800_000,
        window_ns: 50_000_000,
        percent: 99.0,
        keep: false,
    });
    job.limit.time_ns = Some(100_000_000_000);
    let record = record(vec![nothing()], vec![phase("a", vec![job])]);
    let worker = &record.phases[0].jobs[0].workers[0];
    let found = worker.found_depth.expect("it was sought");
    assert_eq!(found.depth, 8);
    assert!((found.per_second - 10_000.0).abs() < 500.0, "{found:?}");
    assert!(worker.operations < 1000, "only the last window counts: {}", worker.operations);
}

#[test]
fn bytes_may_ramp_a_job_up() {
    let mut job = job("j", "sim", 0, &[("service", "100us")]);
    job.limit = Limit { operations: Some(100), ramp_bytes: 40 * 4096, ..Limit::default() };
    let record = record(vec![nothing()], vec![phase("a", vec![job])]);
    let worker = &record.phases[0].jobs[0].workers[0];
    assert_eq!((worker.operations, worker.began_ns), (60, 4_000_000));
}

#[test]
fn helpers_write_and_read_every_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = job("w", "psync", 0, &[]);
    written.workload = Workload::Pattern(Box::new(Pattern::of(Verb::Write, Pick::Uniform, 4096)));
    written.limit = Limit::default();
    written.depth.most = 8;
    written.depth.submit = iodyno_model::Submit::Offload;
    let read = Job { workload: job("r", "psync", 0, &[]).workload, ..written.clone() };
    let target = file(&folder.path().join("f"), Prepare::Filled);
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let jobs = [&written, &read].map(|job| vec![Job { kind, ..job.clone() }]);
        let phases = jobs.map(|jobs| phase("p", jobs)).to_vec();
        let record = record(vec![target.clone()], phases);
        assert_eq!(record.errors, []);
        let [written, read] = [0, 1].map(|phase| &record.phases[phase].jobs[0].tally);
        assert_eq!((written.operations(Kind::Write), read.operations(Kind::Read)), (16, 16));
        assert!(written.depths.len() > 2, "several were in flight: {:?}", written.depths);
    }
}
