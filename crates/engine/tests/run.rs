//! Whole plans through `run`: phases, worlds, limits, preparation and removal, on real files.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Event, Extent, Items, Job, Kind, Open, Parameter, Pattern, Phase, Pick, Plan, Prepare, Record, Repeat,
    Size, Sweep, Target, TargetKind, Value, Verb, WorkerKind, Workload,
};

fn file(path: &Path, bytes: u64) -> Target {
    Target {
        name: "data".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(bytes) },
        open: Open::default(),
        prepare: Prepare::Filled,
        remove: true,
        origin: Default::default(),
    }
}

fn plan(target: Target, job: Job) -> Plan {
    let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
    Plan { name: "test".into(), seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

fn pattern(verb: Verb, pick: Pick) -> Workload {
    Workload::Pattern(Box::new(Pattern::of(verb, pick, 4096)))
}

fn record(plan: &Plan) -> (Record, Vec<Event>) {
    let mut events = Vec::new();
    let record = run(plan, &Options::default(), &mut |event| events.push(event.clone())).unwrap();
    (record, events)
}

#[test]
fn reporters_get_the_plan_with_its_repetitions_and_passes_go_on_until_the_interval_is_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new("r", "null", vec![0], pattern(Verb::Read, Pick::Uniform));
    job.limit.operations = Some(1000);
    let mut plan = plan(file(&folder.path().join("f"), 1 << 20), job);
    // No two measured rates are so near to each other.
    plan.repeat = Repeat { times: 2, most: 4, until_interval_percent: 1e-9, ..Repeat::default() };
    let (record, events) = record(&plan);
    let started = events.iter().find_map(|event| match event {
        Event::Started(started) => Some(started.plan.phases.len()),
        _ => None,
    });
    assert_eq!((started, record.phases.len()), (Some(2), 4));
}

#[test]
fn a_file_is_laid_out_read_once_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let job = Job::new("read", "psync", vec![0], pattern(Verb::Read, Pick::Uniform));
    let (record, events) = record(&plan(file(&path, 1 << 20), job));
    assert_eq!(record.errors, []);
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Read), tally.bytes(Kind::Read), tally.failed()), (256, 1 << 20, 0));
    assert!(!path.exists());
    assert!(
        matches!(events.first(), Some(Event::Started(_))) && matches!(events.last(), Some(Event::Ended(_)))
    );
}

/// Reports read from it what makes each point comparable.
#[test]
fn the_plan_that_reports_are_handed_has_every_point_of_a_sweep() {
    let nothing = TargetKind::Nothing { bytes: 1 << 20 };
    let target = Target { kind: nothing, prepare: Prepare::AsItIs, ..file(Path::new("n"), 0) };
    let mut plan = plan(target, Job::new("j", "null", vec![0], pattern(Verb::Read, Pick::Uniform)));
    let values = vec![Value::Number(1), Value::Number(2)];
    plan.sweep = vec![Sweep { parameter: Parameter::Depth, values, origin: Default::default() }];
    let (record, events) = record(&plan);
    let Some(Event::Started(started)) = events.first() else { panic!("{:?}", events.first()) };
    let depths: Vec<u32> = started.plan.phases.iter().map(|phase| phase.jobs[0].depth.most).collect();
    assert_eq!((depths, record.phases.len(), started.plan.sweep.len()), (vec![1, 2], 2, 0));
}

#[test]
fn samples_stand_for_what_was_not_timed() {
    let folder = tempfile::tempdir().unwrap();
    for (pick, operations) in [(Pick::Sequential, 3 * 4096 + 5), (Pick::Uniform, 8000)] {
        let mut job = Job::new("w", "psync", vec![0], pattern(Verb::Write, pick));
        job.measure.sample_ns = 1_000_000;
        job.limit.operations = Some(operations);
        let (record, _) = record(&plan(file(&folder.path().join("f"), 16 << 20), job));
        assert_eq!(record.errors, []);
        let line = &record.phases[0].jobs[0].tally.lines[0];
        assert_eq!((line.operations, line.bytes, line.failed), (operations, operations * 4096, 0));
        assert_eq!(line.latency.count(), operations);
        assert!(line.untimed > 0 && line.untimed < operations, "{} of {operations}", line.untimed);
    }
}

#[test]
fn filling_a_buffer_is_no_part_of_an_operation() {
    const BLOCK: u64 = 1 << 20;
    let pattern = Pattern::of(Verb::Write, Pick::Sequential, BLOCK);
    let mut job = Job::new("w", "null", vec![0], Workload::Pattern(Box::new(pattern)));
    job.limit.operations = Some(64);
    let folder = tempfile::tempdir().unwrap();
    let target = Target { prepare: Prepare::Sparse, ..file(&folder.path().join("f"), 64 * BLOCK) };
    let (record, _) = record(&plan(target, job));
    assert_eq!(record.errors, []);
    let tally = &record.phases[0].jobs[0].tally;
    // The engine does nothing, so that all of the time went into the data.
    let each = (tally.last_done_ns - tally.began_ns) / 64;
    let latency = tally.lines[0].latency.percentile(50.0);
    assert!(latency * 2 < each, "{latency} of {each} ns");
}

#[test]
fn slow_operations_are_all_timed_and_a_time_limit_holds() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new("w", "psync", vec![0], pattern(Verb::Write, Pick::Sequential));
    job.measure.sample_ns = 1;
    job.limit.operations = Some(100);
    let (every, _) = record(&plan(file(&folder.path().join("f"), 1 << 20), job.clone()));
    assert_eq!(every.phases[0].jobs[0].tally.lines[0].untimed, 0);
    (job.measure.sample_ns, job.limit.operations, job.limit.time_ns) = (1_000_000, None, Some(50_000_000));
    let (timed, _) = record(&plan(file(&folder.path().join("f"), 1 << 20), job));
    let tally = &timed.phases[0].jobs[0].tally;
    assert!(tally.last_done_ns >= 50_000_000 && tally.operations(Kind::Write) > 0);
}

#[test]
fn no_place_is_lost_when_a_stretch_is_broken_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let pick = Pick::Segmented { block_bytes: 64, count: 20_000, stride_bytes: 0, shuffled: false };
    let pattern = Pattern::of(Verb::Write, pick, 8);
    let mut job = Job::new("w", "psync", vec![0], Workload::Pattern(Box::new(pattern)));
    (job.workers, job.measure.sample_ns) = (2, 100_000);
    let mut target = file(&path, 2 * 64 * 20_000);
    (target.prepare, target.remove, target.open.create) = (Prepare::Absent, false, true);
    // Each look at how it goes breaks stretches off.
    let options = Options { live_ns: 1_000_000, ..Options::default() };
    let record = run(&plan(target, job), &options, &mut |_| {}).unwrap();
    let line = &record.phases[0].jobs[0].tally.lines[0];
    assert_eq!((line.operations, line.untimed > 0), (2 * 8 * 20_000, true));
    let bytes = std::fs::read(&path).unwrap();
    let empty = bytes.chunks(8).filter(|word| word.iter().all(|byte| *byte == 0)).count();
    assert_eq!((bytes.len(), empty), (2 * 64 * 20_000, 0));
}

#[test]
fn a_stretch_ends_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    // Of the last block there is a half, which no operation of a whole block reads.
    let path = folder.path().join("f");
    std::fs::write(&path, vec![7; 1000 * 4096 + 2048]).unwrap();
    let mut target = file(&path, 1 << 20);
    (target.prepare, target.remove) = (Prepare::AsItIs, false);
    target.kind = TargetKind::File { path: path.display().to_string(), size: Extent::Rest };
    let mut job = Job::new("r", "psync", vec![0], pattern(Verb::Read, Pick::Sequential));
    job.measure.sample_ns = 1_000_000;
    let (record, _) = record(&plan(target, job));
    let line = &record.phases[0].jobs[0].tally.lines[0];
    assert_eq!((line.operations, line.bytes, line.failed), (1000, 1000 * 4096, 0));
}

#[test]
fn processes_and_threads_tally_alike() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let mut job = Job::new("w", "psync", vec![0], pattern(Verb::Write, Pick::Sequential));
        (job.workers, job.kind) = (4, kind);
        let (record, _) = record(&plan(file(&folder.path().join("f.{worker}"), 64 << 10), job));
        assert_eq!(record.errors, []);
        let job = &record.phases[0].jobs[0];
        assert_eq!((job.workers.len(), job.tally.operations(Kind::Write)), (4, 64));
        assert!(job.workers.iter().all(|worker| worker.operations == 16 && worker.failure.is_none()));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    std::fs::write(&path, vec![7; 8192]).unwrap();
    let job = Job::new("read", "psync", vec![0], pattern(Verb::Read, Pick::Sequential));
    let (record, _) = record(&plan(file(&path, 8192), job));
    assert_eq!(record.phases[0].jobs[0].tally.operations(Kind::Read), 2);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8192]);
}

#[test]
fn a_worker_that_cannot_open_its_file_fails_the_phase() {
    let mut target = file(Path::new("/nonexistent/f"), 4096);
    target.prepare = Prepare::AsItIs;
    let job = Job::new("read", "psync", vec![0], pattern(Verb::Read, Pick::Sequential));
    let (record, _) = record(&plan(target, job));
    assert_eq!(record.errors.len(), 1);
    assert!(record.errors[0].message.contains("No such file"), "{}", record.errors[0]);
}

#[test]
fn a_thousand_workers_reach_the_line() {
    let target = testbed::pretended::target(1 << 30);
    let mut job = Job::new("n", "null", vec![0], pattern(Verb::Read, Pick::Uniform));
    job.workers = 1000;
    job.limit.operations = Some(10);
    let (record, _) = record(&plan(target, job));
    assert_eq!(record.phases[0].jobs[0].tally.operations(Kind::Read), 10_000);
}

fn mailboxes(root: &Path) -> Target {
    let items = Items { count: 5, own: true, size: Size::Fixed(100), ..Items::default() };
    Target { kind: TargetKind::FileSet { root: root.display().to_string(), items }, ..file(root, 0) }
}

#[test]
fn a_set_is_made_for_each_worker_and_nothing_of_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new("stat", "psync", vec![0], pattern(Verb::Stat, Pick::Sequential));
    job.workers = 3;
    let (record, _) = record(&plan(mailboxes(&folder.path().join("new/mail")), job));
    assert_eq!(record.errors, []);
    assert_eq!(record.phases[0].jobs[0].tally.operations(Kind::Metadata), 15);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_was_there_is_neither_removed_nor_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("w0");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("0"), b"mine").unwrap();
    let job = Job::new("stat", "psync", vec![0], pattern(Verb::Stat, Pick::Sequential));
    let (refused, _) = record(&plan(mailboxes(folder.path()), job.clone()));
    assert!(refused.errors[0].message.contains("it exists already"), "{:?}", refused.errors);
    let kept = Target { remove: false, ..mailboxes(folder.path()) };
    let (record, _) = record(&plan(kept, job));
    assert_eq!((record.errors.len(), record.phases[0].jobs[0].tally.failed()), (0, 0));
    assert_eq!(std::fs::read(mine.join("0")).unwrap(), b"mine");
}

/// Engines that put something else in the place of a file's data: commands, space, lengths, names, peers, data sets in a
/// container of their own; or that run no stream of operations at all.
const PECULIAR: &[&str] = &[
    "sg",
    "find",
    "file_service",
    "small_files",
    "falloc",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "net",
    "netsplice",
    "hdf5",
    "ncmpi",
];

#[test]
fn every_engine_writes_a_file_through_a_plan() {
    let writes = |entry: &&iodyno_engine::EngineFacts| entry.uses_files && !PECULIAR.contains(&entry.name);
    for entry in
        iodyno_engine::registry::all_facts().filter(writes).filter(|facts| (facts.available)().is_ok())
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut job = Job::new("write", entry.name, vec![0], pattern(Verb::Write, Pick::Uniform));
        job.finish.sync = Some(Verb::Fsync);
        let kept = Target { remove: false, ..file(&path, 64 << 10) };
        std::fs::write(&path, vec![0; 64 << 10]).unwrap();
        let (record, _) = record(&plan(kept, job));
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!((tally.operations(Kind::Write), tally.failed()), (16, 0), "{}", entry.name);
        let blocks = std::fs::read(&path).unwrap();
        assert!(blocks.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "{}", entry.name);
    }
}
