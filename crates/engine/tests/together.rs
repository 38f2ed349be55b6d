//! What workers do together within a phase: shared segments, other owners' data, opening and closing inside the measured
//! time, meetings, and wearing out.

use std::collections::BTreeSet;
use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Action, Event, Extent, Finish, Job, JobRecord, Journal, JournalEntry, Kind, Limit, Measure, Open,
    Operation, Pattern, Phase, Pick, Place, Plan, Prepare, Record, Script, Setting, Start, Step, Stop,
    Target, TargetKind, Verb, WorkerKind, Workload,
};

const KIB: u64 = 1 << 10;

fn file(path: &Path) -> Target {
    Target {
        name: "data".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Rest },
        open: Open { create: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: true,
        origin: Default::default(),
    }
}

fn plan(target: Target, jobs: Vec<Job>) -> Plan {
    let phase = Phase { name: "phase".into(), jobs, ..Phase::default() };
    Plan { name: "test".into(), seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

fn job(workers: u32, engine: &str, pattern: Pattern) -> Job {
    let workload = Workload::Pattern(Box::new(pattern));
    Job { workers, ..Job::new("job", engine, vec![0], workload) }
}

/// Everything that can be measured around the transfers.
fn all_measured(job: Job) -> Job {
    Job {
        start: Start { open: true, barrier: true, ..Start::default() },
        finish: Finish { sync: Some(Verb::Fsync), close: true, barrier: true },
        ..job
    }
}

fn record(plan: &Plan) -> (Record, Vec<Event>) {
    let mut events = Vec::new();
    let record = run(plan, &Options::default(), &mut |event| events.push(event.clone())).unwrap();
    (record, events)
}

/// What each worker touched: offsets by worker.
fn offsets(events: &[Event], workers: usize) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new(); workers];
    for event in events {
        let Event::Journal(part) = event else { continue };
        for entry in &part.entries {
            if let JournalEntry::Done { offset, verb: Verb::Read | Verb::Write, .. } = entry {
                all[part.worker as usize].push(*offset);
            }
        }
    }
    all
}

fn journaled(job: Job) -> Job {
    let journal = Some(Journal { completions: true, ..Journal::default() });
    Job { measure: Measure { journal, ..Measure::default() }, ..job }
}

fn segments(verb: Verb, shuffled: bool) -> Pattern {
    let pick = Pick::Segmented { block_bytes: 64 * KIB, count: 3, stride_bytes: 0, shuffled };
    Pattern::of(verb, pick, 16 * KIB)
}

/// Where transfer `transfer` of a worker's block in a segment lies, as the field lays it out.
fn place(segment: u64, worker: u64, workers: u64, transfer: u64) -> u64 {
    segment * workers * 64 * KIB + worker * 64 * KIB + transfer * 16 * KIB
}

#[test]
fn a_shared_file_is_written_whole_and_read_by_the_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let path = folder.path().join("shared");
        let write = all_measured(journaled(job(4, "psync", segments(Verb::Write, false))));
        let (written, read) =
            (Job { kind, ..write.clone() }, Job { kind, place: Place::ShiftRanks(1), ..write });
        let workload = Workload::Pattern(Box::new(segments(Verb::Read, false)));
        let read = Job { workload, finish: Finish { sync: None, ..read.finish.clone() }, ..read };
        let mut plan = plan(file(&path), vec![written]);
        plan.phases.push(Phase { name: "read".into(), jobs: vec![read], ..Phase::default() });
        let (record, events) = record(&plan);
        assert_eq!(record.errors, []);
        let journals = |phase: usize| {
            let of = |event: &&Event| matches!(event, Event::Journal(part) if part.phase == phase);
            offsets(&events.iter().filter(of).cloned().collect::<Vec<_>>(), 4)
        };
        let expected = |worker: u64| -> Vec<u64> {
            (0..12).map(|number| place(number / 4, worker, 4, number % 4)).collect()
        };
        assert_eq!(journals(0), (0..4).map(expected).collect::<Vec<_>>());
        assert_eq!(journals(1), (0..4).map(|worker| expected((worker + 1) % 4)).collect::<Vec<_>>());
        let indices: Vec<u32> = record.phases[1].jobs[0].workers.iter().map(|worker| worker.index).collect();
        assert_eq!(indices, [0, 1, 2, 3], "a record is that of the worker, not of the owner");
        assert!(record.phases.iter().all(|phase| phase.jobs[0].tally.bytes(Kind::Read) % (768 * KIB) == 0));
        record.phases.iter().for_each(|phase| times_follow_each_other(&phase.jobs[0]));
        assert!(!path.exists(), "what the run made at opening time is removed");
    }
}

/// Opening, transfers with their sync, closing; and barriers between them.
fn times_follow_each_other(job: &JobRecord) {
    let parts: Vec<_> = job
        .workers
        .iter()
        .map(|worker| {
            let (opening, closing) = (worker.opening.unwrap(), worker.closing.unwrap());
            assert!(opening.0 <= opening.1 && opening.1 <= worker.began_ns, "{worker:?}");
            assert!(worker.began_ns < worker.ended_ns && worker.ended_ns <= closing.0, "{worker:?}");
            assert!(closing.0 <= closing.1, "{worker:?}");
            (opening, worker.began_ns, worker.ended_ns, closing)
        })
        .collect();
    let last_opened = parts.iter().map(|part| part.0.1).max().unwrap();
    assert!(parts.iter().all(|part| part.1 >= last_opened), "nobody begins before all have opened");
    let last_ended = parts.iter().map(|part| part.2).max().unwrap();
    assert!(parts.iter().all(|part| part.3.0 >= last_ended), "nobody closes before all are done");
    assert_eq!(job.tally.began_ns, parts.iter().map(|part| part.0.0).min().unwrap());
    assert_eq!(job.tally.last_done_ns, parts.iter().map(|part| part.3.1).max().unwrap());
}

#[test]
fn what_lies_in_a_shorter_file_cuts_nothing_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared");
    std::fs::write(&path, vec![1; 5000]).unwrap();
    let target = Target { remove: false, ..file(&path) };
    let (record, _) = record(&plan(target, vec![job(3, "psync", segments(Verb::Write, true))]));
    assert_eq!(record.errors, []);
    let written = std::fs::read(&path).unwrap();
    assert_eq!(written.len() as u64, 3 * 3 * 64 * KIB);
    assert!(written.chunks(16 << 10).all(|part| part.iter().any(|byte| *byte > 1)), "no hole");
}

#[test]
fn every_file_of_ones_own_is_read_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.{worker:08}");
    let write = all_measured(job(3, "psync", segments(Verb::Write, false)));
    let read = journaled(Job {
        workload: Workload::Pattern(Box::new(segments(Verb::Read, true))),
        place: Place::ShiftRanks(2),
        start: Start { open: true, ..Start::default() },
        ..job(3, "psync", segments(Verb::Read, true))
    });
    let mut plan = plan(file(&path), vec![write]);
    plan.phases.push(Phase { name: "read".into(), jobs: vec![read], ..Phase::default() });
    let (record, events) = record(&plan);
    assert_eq!(record.errors, []);
    let names: BTreeSet<(u32, String)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Journal(part) => Some((part.worker, part.files[0].rsplit('/').next()?.to_string())),
            _ => None,
        })
        .collect();
    let expected = [(0, "data.00000002"), (1, "data.00000000"), (2, "data.00000001")];
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        expected.map(|(worker, name)| (worker, name.to_string()))
    );
    for own in offsets(&events, 3) {
        assert!(
            own.chunks(4)
                .enumerate()
                .all(|(segment, own)| own.iter().all(|at| at / (64 * KIB) == segment as u64))
        );
        assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), 12, "each transfer once");
    }
}

#[test]
fn what_cannot_be_opened_ends_the_phase_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for (stop, kind) in [(Stop::Each, WorkerKind::Threads), (Stop::Alone, WorkerKind::Processes)] {
        let path = format!("{0}/{{worker:a|missing/b|c}}", folder.path().display());
        let alone = stop == Stop::Alone;
        let mut plan =
            plan(file(Path::new(&path)), vec![all_measured(job(3, "psync", segments(Verb::Write, false)))]);
        (plan.phases[0].stop, plan.phases[0].jobs[0].kind) = (stop, kind);
        let (record, _) = record(&plan);
        let workers = &record.phases[0].jobs[0].workers;
        let fatal = workers[1].fatal.as_ref().unwrap();
        assert_eq!((fatal.errno, fatal.stage), (libc::ENOENT, iodyno_model::Stage::Start));
        assert!(workers[1].failure.as_ref().unwrap().contains("missing/b"), "{:?}", workers[1].failure);
        assert!(!record.errors.is_empty() && workers[1].opening.is_none());
        let whole = workers.iter().filter(|worker| worker.operations == 12).count();
        assert!(if alone { whole == 2 } else { whole <= 2 }, "{workers:?}");
    }
}

fn endless(workers: u32, engine: &str, wear_ns: u64) -> Job {
    let mut job = job(workers, engine, Pattern::of(Verb::Write, Pick::Sequential, 4 * KIB));
    job.limit = Limit { time_ns: Some(wear_ns), wear_out: true, ..Limit::default() };
    job
}

#[test]
fn the_slower_ones_do_as_much_as_the_fastest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.{worker}");
    let target = || Target {
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(256 * KIB) },
        ..file(&path)
    };
    for (engine, depth, kind) in [
        ("null", 1, WorkerKind::Threads),
        ("null", 8, WorkerKind::Processes),
        ("psync", 1, WorkerKind::Threads),
        ("libaio", 4, WorkerKind::Threads),
    ] {
        let mut job = endless(5, engine, 30_000_000);
        (job.depth.most, job.kind) = (depth, kind);
        let (record, _) = record(&plan(target(), vec![job]));
        assert_eq!(record.errors, [], "{engine}");
        let job = &record.phases[0].jobs[0];
        let worn = job.worn.unwrap();
        assert!(
            job.workers.iter().all(|worker| worker.operations == worn.operations_most),
            "{engine} {worn:?}"
        );
        assert!(worn.operations_least <= worn.operations_most, "{worn:?}");
        assert!(
            worn.bytes >= 5 * worn.bytes_least && worn.bytes <= 5 * worn.operations_most * 4 * KIB,
            "{worn:?}"
        );
        assert!(worn.at_ns >= 30_000_000 && job.workers.iter().all(|worker| worker.ended_ns > 0));
    }
}

#[test]
fn those_who_are_done_before_the_time_is_up_wait_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = journaled(job(3, "psync", segments(Verb::Write, true)));
    // Nobody waits for the time itself.
    let time_ns = Some(3_600_000_000_000);
    job.limit = Limit { time_ns, passes: Some(1), wear_out: true, ..Limit::default() };
    let (record, events) = record(&plan(file(&folder.path().join("f")), vec![job]));
    assert_eq!(record.errors, []);
    let worn = record.phases[0].jobs[0].worn.unwrap();
    assert_eq!((worn.operations_least, worn.operations_most, worn.bytes), (12, 12, 3 * 3 * 64 * KIB));
    let all: BTreeSet<u64> = offsets(&events, 3).concat().into_iter().collect();
    assert_eq!(all, (0..36).map(|transfer| transfer * 16 * KIB).collect());
}

#[test]
fn whoever_fails_on_the_way_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{{worker:/dev/full|{0}/a|{0}/b}}", folder.path().display());
    let target = Target { remove: false, ..file(Path::new(&path)) };
    let mut job = endless(3, "psync", 50_000_000);
    job.limit.operations = Some(200);
    (job.finish.barrier, job.finish.close) = (true, true);
    let mut plan = plan(target, vec![job]);
    plan.phases[0].stop = Stop::Alone;
    let (record, _) = record(&plan);
    let workers = &record.phases[0].jobs[0].workers;
    assert_eq!(workers[0].fatal.as_ref().unwrap().errno, libc::ENOSPC);
    assert_eq!((workers[1].operations, workers[1].failure.clone()), (workers[2].operations, None));
}

fn noted(label: &str, verb: Verb) -> Step {
    let operation = Operation { size: iodyno_model::Size::Fixed(4 * KIB), ..Operation::on(verb, 0) };
    let action = Action::Do(Box::new(operation));
    Step { label: label.into(), action, repeat: 1, origin: Default::default() }
}

#[test]
fn scripts_wear_out_by_whole_passes() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script {
        actors: Vec::new(),
        steps: vec![noted("one", Verb::Write), noted("two", Verb::Fsync), noted("three", Verb::Write)],
    };
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let worn = |engine: &str, settings: &[Setting]| {
            let mut job = Job { kind, workers: 4, ..endless(1, engine, 40_000_000) };
            (job.workload, job.settings) = (Workload::Script(script.clone()), settings.to_vec());
            let (record, _) = record(&plan(file(&folder.path().join("f.{worker}")), vec![job]));
            assert_eq!(record.errors, []);
            let job = &record.phases[0].jobs[0];
            let worn = job.worn.unwrap();
            for worker in &job.workers {
                assert_eq!(worker.operations, 2 * worn.operations_most, "{worn:?}");
            }
            worn
        };
        // How far they come is the disk's affair, that all of them come equally far is not.
        worn("psync", &[]);
        // Of devices that differ in speed, and whose time is their own, the slower ones have something to catch up.
        let drawn = worn("sim", &[Setting::new("service", "exponential:100us")]);
        assert!(0 < drawn.operations_least && drawn.operations_least < drawn.operations_most, "{drawn:?}");
    }
}

#[test]
fn passes_are_repeated_until_a_least_time_has_passed() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = Pattern::of(Verb::Write, Pick::Uniform, 4 * KIB);
    let fsync = Pattern { every: vec![iodyno_model::Every::new(Verb::Fdatasync, 10)], ..pattern.clone() };
    let steps = vec![noted("one", Verb::Write), noted("two", Verb::Fsync)];
    let script = Workload::Script(Script { actors: Vec::new(), steps });
    let drawn = |pattern: &Pattern| Workload::Pattern(Box::new(pattern.clone()));
    for (engine, workload, pass, depth, passes) in [
        ("null", drawn(&pattern), 64, 1, None),
        ("null", drawn(&pattern), 64, 7, None),
        ("psync", drawn(&fsync), 64, 1, None),
        ("psync", script, 1, 1, None),
        // A pass takes 6.4 ms, so that the fourth one is the last; with seven at a time on one server it takes as long.
        ("sim", drawn(&pattern), 64, 1, Some(4)),
        ("sim", drawn(&pattern), 64, 7, Some(4)),
    ] {
        let path = folder.path().join("f");
        let target = Target {
            kind: TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(256 * KIB) },
            ..file(&path)
        };
        let mut job = Job { workload, ..job(1, engine, pattern.clone()) };
        (job.limit.least_ns, job.limit.passes, job.depth.most) = (20_000_000, Some(1), depth);
        if engine == "sim" {
            job.settings.push(Setting::new("service", "100us"));
        }
        let (record, _) = record(&plan(target, vec![job]));
        assert_eq!(record.errors, [], "{engine}");
        let job = &record.phases[0].jobs[0];
        let (worker, writes) = (&job.workers[0], job.tally.operations(Kind::Write));
        assert!(worker.ended_ns - worker.began_ns >= 20_000_000, "{worker:?}");
        assert!(writes >= pass && writes % pass == 0, "{writes} {pass}");
        assert!(passes.is_none_or(|passes| writes == passes * pass), "{engine} {depth}: {writes}");
    }
}
