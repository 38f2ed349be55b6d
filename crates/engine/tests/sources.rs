//! Scripts, verification and paces through whole runs on real files: what the source's own tests only pretend.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    AtEnd, Content, Extent, Item, Items, Job, Kind, Offset, Open, OpenMode, Operation, Pace, Pattern,
    PerDirection, Phase, Pick, Plan, Prepare, Rate, Record, Script, SharedKind, SharedObject, SharedUse,
    Size, Target, TargetKind, Transfer, Verb, Verify, VerifyWhen, WorkerKind, Workload,
};
use testbed::{Case, Need, Outcome};

fn target(name: &str, path: &Path, size: Extent, mode: OpenMode) -> Target {
    Target {
        name: name.into(),
        kind: TargetKind::File { path: path.display().to_string(), size },
        open: Open {
            mode,
            create: mode == OpenMode::Write,
            truncate: mode == OpenMode::Write,
            ..Open::default()
        },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    }
}

fn plan(targets: Vec<Target>, jobs: Vec<Job>) -> Plan {
    let phase = Phase { name: "phase".into(), jobs, ..Phase::default() };
    Plan { name: "test".into(), seed: 3, targets, phases: vec![phase], ..Plan::default() }
}

fn record(plan: &Plan) -> Record {
    run(plan, &Options::default(), &mut |_| {}).unwrap()
}

fn copy(read: Operation, write: Operation) -> Job {
    let steps = vec![read.step("read"), write.step("write")];
    let mut job = Job::new("dd", "psync", vec![0, 1], Workload::Script(Script { actors: Vec::new(), steps }));
    job.payload.content = Content::Carried;
    job.finish.sync = Some(Verb::Fsync);
    job
}

fn a_copy_from_the_middle_to_the_middle_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let input: Vec<u8> = (0..100_000u32).map(|index| (index * 7 % 253) as u8).collect();
    std::fs::write(&from, &input).unwrap();
    let read = Operation {
        size: Size::Fixed(8192),
        offset: Offset::NextFrom(10_000),
        at_end: AtEnd::Finish,
        ..Operation::on(Verb::Read, 0)
    };
    let write = Operation {
        size: Size::ResultOf("read".into()),
        offset: Offset::NextFrom(5_000),
        transfer: Transfer { full: true, ..Transfer::default() },
        ..Operation::on(Verb::Write, 1)
    };
    let targets = vec![
        target("from", &from, Extent::Rest, OpenMode::Read),
        target("to", &to, Extent::Rest, OpenMode::Write),
    ];
    let record = record(&plan(targets, vec![copy(read, write)]));
    assert_eq!(record.errors, []);
    let tally = &record.phases[0].jobs[0].tally;
    let counts: Vec<(u64, u64, u64)> =
        tally.lines.iter().map(|line| (line.operations, line.short, line.bytes)).collect();
    assert_eq!(counts, [(11, 1, 90_000), (11, 0, 90_000), (1, 0, 0)]);
    let output = std::fs::read(&to).unwrap();
    assert!(output[..5_000].iter().all(|byte| *byte == 0));
    assert_eq!(output[5_000..], input[10_000..]);
}

/// Small blocks of which most are not timed: every byte arrives, every block counts, also the short one, the limits and
/// where it ends.
fn untimed_copies_carry_and_count_every_block() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let input: Vec<u8> = (0..2_000_100u32).map(|index| (index * 7 % 253) as u8).collect();
    std::fs::write(&from, &input).unwrap();
    for (sample_ns, passes, total_bytes) in [
        (0, None, None),
        (1_000_000_000, None, None),
        (1_000_000_000, Some(3000), None),
        (1_000_000_000, Some(3001), None),
        (1_000_000_000, None, Some(1_000_001)),
    ] {
        let transfer = Transfer { total_bytes, ..Transfer::default() };
        let (size, at_end) = (Size::Fixed(512), AtEnd::Finish);
        let read = Operation { size, at_end, transfer, ..Operation::on(Verb::Read, 0) };
        let transfer = Transfer { full: true, ..Transfer::default() };
        let write =
            Operation { size: Size::ResultOf("read".into()), transfer, ..Operation::on(Verb::Write, 1) };
        let targets = vec![
            target("from", &from, Extent::Rest, OpenMode::Read),
            target("to", &to, Extent::Rest, OpenMode::Write),
        ];
        let mut job = copy(read, write);
        (job.measure.sample_ns, job.limit.passes) = (sample_ns, Some(passes.unwrap_or(u64::MAX)));
        let record = record(&plan(targets, vec![job]));
        assert_eq!(record.errors, []);
        let most = passes.map_or(input.len() as u64, |passes| passes * 512);
        let bytes = most.min(total_bytes.unwrap_or(most)).min(input.len() as u64);
        let tally = &record.phases[0].jobs[0].tally;
        for line in &tally.lines[..2] {
            let counts = (line.operations, line.bytes, line.latency.count());
            let blocks = bytes.div_ceil(512);
            assert_eq!(
                counts,
                (blocks, bytes, blocks),
                "{} {sample_ns} {passes:?} {total_bytes:?}",
                line.label
            );
            assert_eq!(line.untimed > blocks / 2, sample_ns > 0, "{}: {}", line.label, line.untimed);
        }
        assert_eq!(tally.lines[0].short, u64::from(bytes % 512 > 0), "{passes:?} {total_bytes:?}");
        assert!(
            std::fs::read(&to).unwrap() == input[..bytes as usize],
            "{sample_ns} {passes:?} {total_bytes:?}"
        );
    }
}

fn zeros_become_holes_and_the_length_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut input = vec![0u8; 256 << 10];
    input[..4096].fill(7);
    std::fs::write(&from, &input).unwrap();
    let read = Operation { size: Size::Fixed(4096), at_end: AtEnd::Finish, ..Operation::on(Verb::Read, 0) };
    let write = Operation {
        size: Size::Fixed(4096),
        transfer: Transfer { sparse: true, ..Transfer::default() },
        ..Operation::on(Verb::Write, 1)
    };
    let targets = vec![
        target("from", &from, Extent::Rest, OpenMode::Read),
        target("to", &to, Extent::Rest, OpenMode::Write),
    ];
    let record = record(&plan(targets, vec![copy(read, write)]));
    assert_eq!(record.errors, []);
    assert_eq!(record.phases[0].jobs[0].tally.operations(Kind::Write), 64);
    assert_eq!(std::fs::read(&to).unwrap(), input);
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&to).unwrap());
    assert!(blocks < 64, "{blocks} sectors of a file of one block and holes");
}

fn workers_write_and_read_everything_back(kind: WorkerKind, engine: &str, depth: u32) -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.{worker}");
    let mut data = target("data", &path, Extent::Bytes(1 << 20), OpenMode::ReadWrite);
    (data.open.create, data.prepare) = (true, Prepare::Filled);
    let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Write, Pick::Uniform, 4096)));
    let mut job = Job::new("w", engine, vec![0], workload);
    (job.workers, job.kind, job.depth.most) = (2, kind, depth);
    job.payload.verify = Some(Verify { when: VerifyWhen::AfterWrites, ..Verify::default() });
    let record = record(&plan(vec![data], vec![job]));
    assert_eq!(record.errors, []);
    let tally = &record.phases[0].jobs[0].tally;
    let counts = (tally.operations(Kind::Write), tally.operations(Kind::Read), tally.failed());
    assert_eq!(counts, (512, 512, 0));
    assert!(tally.lines.iter().any(|line| line.label == "verify"));
    Ok(())
}

/// Two processes take turns: each waits for the other's post.
fn processes_share_semaphores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![1; 4096]).unwrap();
    let player = |name: &str, own: &str, other: &str| {
        let shared = |name: &str| Some(SharedUse::new(name, 1));
        let steps = vec![
            Operation { shared: shared(own), ..Operation::control(Verb::Wait) }.step("wait"),
            Operation { size: Size::Fixed(4096), ..Operation::on(Verb::Read, 0) }.step("read"),
            Operation { shared: shared(other), ..Operation::control(Verb::Post) }.step("post"),
        ];
        let mut job =
            Job::new(name, "psync", vec![0], Workload::Script(Script { actors: Vec::new(), steps }));
        job.limit.passes = Some(50);
        job.kind = WorkerKind::Processes;
        job
    };
    let mut plan = plan(
        vec![target("f", &path, Extent::Rest, OpenMode::Read)],
        vec![player("ping", "a", "b"), player("pong", "b", "a")],
    );
    let semaphore =
        |name: &str, initial| SharedObject::new(name, SharedKind::Semaphore { initial, most: 1, waiters: 0 });
    plan.phases[0].shared = vec![semaphore("a", 1), semaphore("b", 0)];
    let record = record(&plan);
    assert_eq!(record.errors, []);
    for job in &record.phases[0].jobs {
        assert_eq!(job.tally.operations(Kind::Read), 50);
    }
}

fn a_script_makes_fills_and_closes_items() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let items = Items { count: 20, present_percent: 0.0, own: true, ..Items::default() };
    let set = Target {
        kind: TargetKind::FileSet { root: root.display().to_string(), items },
        prepare: Prepare::Empty,
        ..target("set", &root, Extent::Rest, OpenMode::AsNeeded)
    };
    let create = Operation { item: Item::Each, handle: Some(0), ..Operation::on(Verb::Create, 0) };
    let write = Operation { handle: Some(0), size: Size::Fixed(1000), ..Operation::on(Verb::Write, 0) };
    let close = Operation { handle: Some(0), ..Operation::on(Verb::Close, 0) };
    let steps = vec![create.step("create"), write.step("write"), close.step("close")];
    let mut job = Job::new("make", "psync", vec![0], Workload::Script(Script { actors: Vec::new(), steps }));
    job.limit.passes = Some(20);
    let record = record(&plan(vec![set], vec![job]));
    assert_eq!(record.errors, []);
    let lines: Vec<(&str, u64, u64)> = record.phases[0].jobs[0]
        .tally
        .lines
        .iter()
        .map(|line| (line.label.as_str(), line.operations, line.failed))
        .collect();
    assert_eq!(lines, [("create", 20, 0), ("write", 20, 0), ("close", 20, 0)]);
    let lengths = std::fs::read_dir(&root).unwrap().flat_map(|entry| entry.unwrap().metadata());
    assert!(lengths.filter(|facts| facts.is_file()).all(|facts| facts.len() == 1000));
}

fn too_slow_for_the_least_rate_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 4096)));
    let mut job = Job::new("slow", "psync", vec![0], workload);
    job.pace = Pace {
        rate: PerDirection::same(Rate::Operations(50.0)),
        rate_least: PerDirection { read: Rate::Operations(1000.0), ..PerDirection::default() },
        ..Pace::default()
    };
    let record = record(&plan(vec![target("f", &path, Extent::Rest, OpenMode::Read)], vec![job]));
    assert!(record.errors.iter().any(|error| error.message.contains("at least 1000")), "{:?}", record.errors);
}

fn main() -> std::process::ExitCode {
    let plain = |name: &str, body: fn()| {
        Case::new(name, &[], move || {
            body();
            Ok(())
        })
    };
    testbed::run_waiting(vec![
        plain("a_copy_from_the_middle_to_the_middle_arrives", a_copy_from_the_middle_to_the_middle_arrives),
        plain("untimed_copies_carry_and_count_every_block", untimed_copies_carry_and_count_every_block),
        plain("zeros_become_holes_and_the_length_is_right", zeros_become_holes_and_the_length_is_right),
        plain("processes_share_semaphores", processes_share_semaphores),
        plain("a_script_makes_fills_and_closes_items", a_script_makes_fills_and_closes_items),
        plain("too_slow_for_the_least_rate_is_an_error", too_slow_for_the_least_rate_is_an_error),
        Case::new("processes_write_and_read_everything_back", &[], || {
            workers_write_and_read_everything_back(WorkerKind::Processes, "psync", 1)
        }),
        Case::new("threads_write_and_read_everything_back", &[Need::IoUring], || {
            workers_write_and_read_everything_back(WorkerKind::Threads, "io_uring", 8)
        }),
    ])
}
