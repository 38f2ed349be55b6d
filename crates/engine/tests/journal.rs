//! What is measured beyond counts: journals, latencies in parts, batch sizes, each worker's tally, records so far.
//!
//! In virtual time wherever a figure is expected, worked out on paper.

use iodyno_engine::{Halt, Options, run as run_plan};
use iodyno_model::{
    Coverage, Event, Job, Journal, JournalEntry, JournalPart, Limit, Open, Origin, Pattern, Phase, Pick,
    Plan, Prepare, Record, Setting, Target, TargetKind, Verb, WorkerKind, WorkerState, Workload,
};

const MS: u64 = 1_000_000;

fn job(engine: &str, limit: Limit) -> Job {
    let pattern = Pattern { coverage: Coverage::Repeating, ..Pattern::of(Verb::Read, Pick::Uniform, 4096) };
    let plain = Job::new("j", engine, vec![0], Workload::Pattern(Box::new(pattern)));
    let settings = if engine == "sim" { vec![Setting::new("service", "100us")] } else { Vec::new() };
    Job { limit, settings, ..plain }
}

fn time(ms: u64) -> Limit {
    Limit { time_ns: Some(ms * MS), ..Limit::default() }
}

fn operations(count: u64) -> Limit {
    Limit { operations: Some(count), ..Limit::default() }
}

fn run(job: Job, interim_ns: u64) -> (Record, Vec<Event>) {
    run_on(TargetKind::Nothing { bytes: 1 << 40 }, job, interim_ns)
}

/// A run without an end of its own: it is ended when it has told so many times how it stands.
fn run_until(job: Job, interim_ns: u64, times: usize) -> (Record, Vec<Event>) {
    let halt = Halt::default();
    let options = Options { halt: Some(halt.clone()), ..options(interim_ns) };
    let mut told = 0;
    conduct(TargetKind::Nothing { bytes: 1 << 40 }, job, &options, &mut |event| {
        told += usize::from(matches!(event, Event::Interim(_)));
        if told >= times {
            halt.ask();
        }
    })
}

fn options(interim_ns: u64) -> Options {
    Options { live_ns: interim_ns, interim_ns, live_latency: true, witness: false, ..Options::default() }
}

fn run_on(kind: TargetKind, job: Job, interim_ns: u64) -> (Record, Vec<Event>) {
    conduct(kind, job, &options(interim_ns), &mut |_| {})
}

fn conduct(
    kind: TargetKind,
    job: Job,
    options: &Options,
    hear: &mut dyn FnMut(&Event),
) -> (Record, Vec<Event>) {
    let file = matches!(kind, TargetKind::File { .. });
    let target = Target {
        name: "nothing".into(),
        kind,
        open: Open { create: file, ..Open::default() },
        prepare: if file { Prepare::Filled } else { Prepare::default() },
        remove: file,
        origin: Origin::Default,
    };
    let phase = Phase { name: "p".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { seed: 42, targets: vec![target], phases: vec![phase], ..Plan::default() };
    let mut events = Vec::new();
    let mut tell = |event: &Event| {
        events.push(event.clone());
        hear(event);
    };
    let record = run_plan(&plan, options, &mut tell).expect("it runs");
    assert_eq!(record.errors, []);
    (record, events)
}

fn parts<'a>(events: &'a [Event]) -> Vec<&'a JournalPart> {
    let part = |event: &'a Event| match event {
        Event::Journal(part) => Some(part.as_ref()),
        _ => None,
    };
    events.iter().filter_map(part).collect()
}

fn journal(wants: Journal, mut job: Job) -> (Vec<JournalEntry>, u64) {
    job.measure.journal = Some(wants);
    let (_, events) = run(job, 0);
    let parts = parts(&events);
    assert!(parts.iter().all(|part| part.entries.len() <= 1 << 16));
    let began = parts.first().map_or(0, |part| part.began_ns);
    (parts.into_iter().flat_map(|part| part.entries.clone()).collect(), began)
}

#[test]
fn every_completion_is_written_down_at_its_time() {
    let wants = Journal { completions: true, ..Journal::default() };
    let (entries, _) = journal(wants, job("sim", operations(100_000)));
    assert_eq!(entries.len(), 100_000);
    for (n, entry) in entries.iter().enumerate() {
        let JournalEntry::Done { at_ns, bytes, submission_ns, latency_ns, .. } = entry else {
            panic!("{entry:?}")
        };
        assert_eq!(
            (*at_ns, *bytes, *submission_ns, *latency_ns),
            ((n as u64 + 1) * 100_000, 4096, 0, 100_000)
        );
    }
}

#[test]
fn windows_and_distributions_add_up_to_the_run() {
    let wants = Journal { window_ns: 100 * MS, histogram_ns: 300 * MS, ..Journal::default() };
    let (entries, _) = journal(wants, job("sim", time(1000)));
    let (mut operations, mut counted, mut windows) = (0, 0, 0);
    for entry in &entries {
        match entry {
            JournalEntry::Window { operations: done, latency_ns, .. } => {
                assert_eq!((latency_ns.0, latency_ns.1), (done * 100_000, 100_000));
                (operations, windows) = (operations + done, windows + 1);
            }
            JournalEntry::Distribution { completion, .. } => counted += completion.count(),
            other => panic!("{other:?}"),
        }
    }
    // The last operation ends where the eleventh window begins.
    assert_eq!((operations, counted, windows), (10_000, 10_000, 11));
}

#[test]
fn the_ramp_is_not_written_down() {
    let wants = Journal { completions: true, starts: true, ..Journal::default() };
    let limit = Limit { ramp_ns: 500 * MS, ..time(1000) };
    let (entries, began) = journal(wants, job("sim", limit));
    let times = |wanted: bool| {
        let time = move |entry: &JournalEntry| match entry {
            JournalEntry::Done { at_ns, .. } if wanted => Some(*at_ns),
            JournalEntry::Began { at_ns, verb: Verb::Read, .. } if !wanted => Some(*at_ns),
            _ => None,
        };
        entries.iter().filter_map(time).collect::<Vec<_>>()
    };
    assert_eq!(
        (began, times(true).len(), times(true).first()),
        (500 * MS, 10_000, Some(&(500 * MS + 100_000)))
    );
    // What was done is what has to be replayed.
    assert_eq!((times(false).len(), times(false).first()), (15_000, Some(&0)));
}

#[test]
fn processes_write_journals_too() {
    for kind in [WorkerKind::Threads, WorkerKind::Processes] {
        let mut job = job("null", operations(70_000));
        (job.workers, job.kind) = (3, kind);
        job.measure.journal = Some(Journal { completions: true, ..Journal::default() });
        let (_, events) = run(job, 0);
        let parts = parts(&events);
        for worker in 0..3 {
            let entries = parts.iter().filter(|part| part.worker == worker).map(|part| part.entries.len());
            assert_eq!(entries.sum::<usize>(), 70_000, "{kind:?}");
        }
    }
}

#[test]
fn parts_batches_and_each_workers_tally() {
    let mut job = job("null", operations(1000));
    (job.workers, job.depth.most) = (2, 10);
    (job.measure.submission, job.measure.batches, job.measure.each) = (true, true, true);
    let (record, _) = run(job, 0);
    let job = &record.phases[0].jobs[0];
    let line = &job.tally.lines[0];
    let count = |part: &Option<iodyno_model::Histogram>| part.as_ref().map(iodyno_model::Histogram::count);
    assert_eq!((count(&line.submission), count(&line.completion)), (Some(2000), Some(2000)));
    let sum = |part: &Option<iodyno_model::Histogram>| part.as_ref().map_or(0, |part| part.sum);
    assert_eq!(sum(&line.submission) + sum(&line.completion), line.latency.sum);
    assert_eq!((job.tally.submits[10], job.tally.completes[10]), (200, 200));
    assert!(job.began_unix_ns > 0);
    for worker in &job.workers {
        let tally = worker.tally.as_ref().expect("it was asked for");
        assert!(tally.operations(iodyno_model::Kind::Read) == 1000 && worker.pid > 0);
    }
}

#[test]
fn a_small_batch_still_fills_the_depth() {
    let mut job = job("sim", operations(1000));
    job.settings.push(Setting::new("parallelism", "8"));
    (job.depth.most, job.depth.submit_batch, job.measure.batches) = (8, 1, true);
    let (record, _) = run(job, 0);
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!(tally.last_done_ns, 1000 / 8 * 100_000);
    assert_eq!((tally.submits.len(), tally.submits[1]), (2, 1000));
}

#[test]
fn without_latencies_everything_else_is_counted() {
    let mut job = job("sim", time(1000));
    job.measure.latency = false;
    let (record, _) = run(job, 0);
    let line = &record.phases[0].jobs[0].tally.lines[0];
    assert_eq!((line.operations, line.latency.is_empty()), (10_000, true));
}

#[test]
fn rows_are_as_long_as_asked() {
    let mut job = job("sim", time(2000));
    job.measure.row_ns = 500 * MS;
    let (record, _) = run(job, 0);
    let series = &record.phases[0].jobs[0].tally.series;
    assert_eq!((series.interval_ns, series.rows.len()), (500 * MS, 4));
}

#[test]
fn a_running_phase_says_what_it_has_so_far() {
    let mut job = job("null", Limit::default());
    (job.workers, job.limit.passes) = (2, None);
    let (record, events) = run_until(job, 5 * MS, 3);
    let count = |phase: &iodyno_model::PhaseRecord| phase.jobs[0].tally.all_operations();
    let mut before = 0;
    let mut interims = 0;
    for event in &events {
        match event {
            Event::Interim(phase) => {
                assert!(count(phase) >= before && phase.elapsed_ns > 0);
                (before, interims) = (count(phase), interims + 1);
            }
            Event::Live(live) => {
                let workers: u32 = live.jobs[0].states.iter().map(|(_, count)| count).sum();
                assert!(workers == 2 && !live.jobs[0].latency.read.is_empty());
                assert!(live.jobs[0].states.iter().all(|(state, _)| *state >= WorkerState::Running));
            }
            _ => {}
        }
    }
    assert!(interims >= 3 && before <= count(&record.phases[0]));
}

#[test]
#[cfg(target_os = "linux")]
fn no_more_is_taken_back_together_than_was_said() {
    let available =
        |name: &&str| iodyno_engine::engine(name).is_some_and(|engine| (engine.facts.available)().is_ok());
    let engines: Vec<_> = ["libaio", "io_uring"].into_iter().filter(available).collect();
    assert!(!engines.is_empty(), "neither libaio nor io_uring is here");
    for engine in engines {
        let mut job = job(engine, operations(200));
        // Through the page cache all that is handed over together is done together.
        (job.depth.most, job.depth.reap_most, job.measure.batches) = (16, 2, true);
        let path = std::env::temp_dir().join(format!("iodyno-taken-back-{engine}-{}", std::process::id()));
        let kind =
            TargetKind::File { path: path.display().to_string(), size: iodyno_model::Extent::Bytes(1 << 20) };
        let (record, _) = run_on(kind, job, 0);
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!(tally.all_operations(), 200);
        assert!(tally.completes.len() <= 3 && tally.completes[2] > 0, "{engine}: {:?}", tally.completes);
    }
}
