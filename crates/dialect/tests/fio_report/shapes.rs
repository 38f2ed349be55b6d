//! Stored runs of many shapes, and the exact text of each: `IODYNO_BLESS=1` rewrites `golden/fio/report/`.

use iodyno_dialect::fio::client::HostView;
use iodyno_dialect::fio::view::{
    Format, JobView, ReportContext, ReportFigures, ReportStyle, UnifiedReporting,
};
use iodyno_model::pace::{Criterion, Steady};
use iodyno_model::*;
use testbed::Outcome;

use crate::stage::{BEGAN_UNIX_NS, ended, histogram, plan, started, written};

/// A stored run.
pub struct Shape {
    name: &'static str,
    view: ReportContext,
    /// Of a run on several hosts.
    parts: Vec<HostView>,
    events: Vec<Event>,
}

impl Shape {
    /// What the test is called; `cargo xtask bless` finds it by its first word.
    pub fn title(&self) -> String {
        format!("golden_{}", self.name)
    }

    /// Compares with the golden file, or rewrites it.
    pub fn check(self) -> Outcome {
        let (out, err) = written(&self.view, &self.parts, &self.events);
        let mut text = out;
        if !err.is_empty() {
            text += &format!("--- on standard error\n{err}");
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/fio/report");
        let path = root.join(format!("{}.txt", self.name));
        if std::env::var_os("IODYNO_BLESS").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(&root)?;
            std::fs::write(&path, text)?;
            return Ok(());
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        match expected == text {
            true => Ok(()),
            false => {
                let wrong = text.lines().zip(expected.lines()).find(|(a, b)| a != b);
                Err(format!("{} differs: {wrong:?}; IODYNO_BLESS=1 rewrites it", self.name).into())
            }
        }
    }
}

/// So many latencies around a mean with a tail to the right, from no clock and no dice.
fn spread(count: u64, mean_ns: f64) -> Histogram {
    let value = |part: f64| (mean_ns * (0.85 - 0.15 * (1.0 - part).ln())).round() as u64;
    let steps = count.min(200);
    let bins: Vec<(u64, u64)> = (0..steps)
        .map(|step| {
            let upto = |step: u64| (count as f64 * step as f64 / steps as f64).round() as u64;
            (value((step as f64 + 0.5) / steps as f64), upto(step + 1) - upto(step))
        })
        .collect();
    let sum = bins.iter().map(|(value, count)| u128::from(*value) * u128::from(*count)).sum();
    let ends = (bins.first().map_or(0, |bin| bin.0), bins.last().map_or(0, |bin| bin.0));
    histogram(&bins, sum, ends)
}

fn line(verb: Verb, count: u64, block: u64, mean_ns: f64) -> Line {
    let mut line = Line::empty(verb.name(), verb);
    (line.operations, line.bytes, line.latency) = (count, count * block, spread(count, mean_ns));
    line
}

/// A worker that ran so many ms.
fn worker(pid: u32, ms: u64, lines: Vec<Line>) -> WorkerRecord {
    let rows = ms / 500;
    let mut series = Series { interval_ns: 500_000_000, rows: Vec::new(), ..Series::default() };
    for row in 0..rows {
        let mut counts = SeriesRow::default();
        for line in &lines {
            // Some rows have a little more than others.
            let share = |count: u64| count / rows.max(1) * (100 + row % 3) / 100;
            let (operations, bytes) = (share(line.operations), share(line.bytes));
            match line.verb.kind() {
                Kind::Read => (counts.reads, counts.read_bytes) = (operations, bytes),
                Kind::Write => (counts.writes, counts.write_bytes) = (operations, bytes),
                Kind::Trim => (counts.trims, counts.trim_bytes) = (operations, bytes),
                _ => {}
            }
        }
        series.rows.push(counts);
    }
    let all: u64 = lines.iter().map(|line| line.operations).sum();
    let tally = Tally {
        lines,
        depths: vec![0, all],
        submits: vec![0, all],
        completes: vec![0, all],
        last_done_ns: ms * 1_000_000,
        series,
        ..Tally::default()
    };
    WorkerRecord {
        pid,
        ended_ns: ms * 1_000_000,
        user_ns: ms * 110_000,
        system_ns: ms * 320_000,
        switches: (all / 2, 7),
        faults: (0, 14),
        tally: Some(Box::new(tally)),
        ..WorkerRecord::default()
    }
}

fn job(name: &str, direction: &'static str) -> JobView {
    JobView {
        name: name.into(),
        clones: 1,
        direction,
        blocks: PerDirection::same((4096, 4096)),
        engine: "psync".into(),
        depth: 1,
        options: vec![("rw".into(), direction.into())],
        ..JobView::default()
    }
}

fn phase(index: usize, jobs: Vec<Vec<WorkerRecord>>) -> PhaseRecord {
    let record = |workers: Vec<WorkerRecord>| {
        let mut tally = Tally::default();
        workers.iter().filter_map(|worker| worker.tally.as_deref()).for_each(|one| tally.merge(one));
        let began_unix_ns = BEGAN_UNIX_NS + 1_000_000_000 * (index as u64 + 1);
        JobRecord { workers, tally, began_unix_ns, ..JobRecord::default() }
    };
    let jobs: Vec<JobRecord> = jobs.into_iter().map(record).collect();
    let elapsed_ns = jobs.iter().flat_map(|job| &job.workers).map(|worker| worker.ended_ns).max();
    PhaseRecord { index, jobs, elapsed_ns: elapsed_ns.unwrap_or(0), ..PhaseRecord::default() }
}

fn disk(name: &str, requests: u64) -> DeviceActivity {
    DeviceActivity {
        device: name.into(),
        reads: requests,
        writes: requests / 2,
        reads_merged: 3,
        read_bytes: requests * 4096,
        write_bytes: requests * 2048,
        busy_ns: 1_800_000_000,
        weighted_ns: 2_400_000_000,
        interval_ns: 2_000_000_000,
        read_ns: 1_500_000_000,
        write_ns: 900_000_000,
        ..DeviceActivity::default()
    }
}

fn view(jobs: Vec<JobView>, formats: Vec<Format>) -> ReportContext {
    ReportContext {
        jobs,
        style: ReportStyle { formats, version: "fio-3.42".into(), ..ReportStyle::default() },
        ..ReportContext::default()
    }
}

fn shape(name: &'static str, view: ReportContext, phases: Vec<PhaseRecord>) -> Shape {
    let plan = plan(&view, "/data/f");
    let mut events = vec![started(&plan)];
    events.extend(ended(phases, Vec::new(), None));
    Shape { name, view, parts: Vec::new(), events }
}

fn mixed_worker() -> WorkerRecord {
    let mut fsync = line(Verb::Fsync, 120, 0, 480_000.0);
    fsync.bytes = 0;
    worker(
        4711,
        2001,
        vec![line(Verb::Read, 87_566, 4096, 77_230.0), line(Verb::Write, 87_313, 4096, 97_206.0), fsync],
    )
}

fn in_every_format() -> Vec<Shape> {
    let all = |name, formats, terse_version| {
        let described = JobView { description: "a description".into(), ..job("rr", "randrw") };
        let mut view = view(vec![described], formats);
        view.style.terse_version = terse_version;
        view.global = vec![("ioengine".into(), "psync".into())];
        let mut phase = phase(0, vec![vec![mixed_worker()]]);
        phase.sightings.push(Sighting::Device(disk("vda", 70_000)));
        shape(name, view, vec![phase])
    };
    vec![
        all("normal", vec![Format::Normal], 3),
        all("terse-2", vec![Format::Terse], 2),
        all("terse-3", vec![Format::Terse], 3),
        all("terse-4", vec![Format::Terse], 4),
        all("terse-5", vec![Format::Terse], 5),
        all("json", vec![Format::Json], 3),
        all("json-plus", vec![Format::JsonPlus], 3),
        all("normal-terse-json", vec![Format::Normal, Format::Terse, Format::Json], 3),
    ]
}

/// Two hosts, the second with two jobs.
fn clients() -> Vec<Shape> {
    let formats =
        [("clients", Format::Normal), ("clients-json", Format::Json), ("clients-terse", Format::Terse)];
    let of = |(name, format): (&'static str, Format)| {
        let jobs = vec![
            job("a", "read"),
            JobView { job: 1, ..job("a", "read") },
            JobView { job: 2, ..job("b", "write") },
        ];
        let all = view(jobs.clone(), vec![format]);
        let part = |host: &str, jobs: &[JobView]| HostView {
            host: host.into(),
            view: view(jobs.to_vec(), vec![format]),
        };
        let parts = vec![part("h1", &jobs[..1]), part("h2", &jobs[1..])];
        let read = |pid, mean| vec![worker(pid, 1000, vec![line(Verb::Read, 10_000, 4096, mean)])];
        let write = vec![worker(12, 900, vec![line(Verb::Write, 5_000, 4096, 80_000.0)])];
        let phase = phase(0, vec![read(10, 50_000.0), read(11, 70_000.0), write]);
        Shape { parts, ..shape(name, all, vec![phase]) }
    };
    formats.map(of).into()
}

fn groups() -> Vec<Shape> {
    let read = |pid, ms| worker(pid, ms, vec![line(Verb::Read, 10_000, 4096, 50_000.0)]);
    let group = |clones| JobView { clones, group_reporting: true, threads: true, ..job("a", "read") };
    let jobs = vec![
        group(2),
        JobView { job: 1, description: "second".into(), group_reporting: true, ..job("b", "write") },
        JobView { phase: 1, group: 1, ..job("c", "trim") },
    ];
    let write = worker(12, 1500, vec![line(Verb::Write, 512, 1 << 20, 2_800_000.0)]);
    let trim = worker(13, 400, vec![line(Verb::Trim, 1280, 65_536, 310_000.0)]);
    let phases =
        vec![phase(0, vec![vec![read(10, 2000), read(11, 1800)], vec![write]]), phase(1, vec![vec![trim]])];
    let apart = vec![JobView { clones: 2, ..job("a", "read") }];
    vec![
        shape("groups", view(jobs, vec![Format::Normal]), phases),
        shape(
            "clones",
            view(apart.clone(), vec![Format::Normal]),
            vec![phase(0, vec![vec![read(10, 2000), read(11, 1800)]])],
        ),
        shape(
            "clones-terse",
            view(apart, vec![Format::Terse]),
            vec![phase(0, vec![vec![read(10, 2000), read(11, 1800)]])],
        ),
    ]
}

fn units() -> Vec<Shape> {
    let with = |name, change: fn(&mut ReportFigures), formats: Vec<Format>| {
        let mut figures = ReportFigures::default();
        change(&mut figures);
        let jobs = vec![JobView { figures, asynchronous: true, depth: 32, ..job("u", "randrw") }];
        let mut worker = mixed_worker();
        if let Some(tally) = &mut worker.tally {
            for line in tally.lines.iter_mut().take(2) {
                (line.submission, line.completion) =
                    (Some(spread(87_566, 3_500.0)), Some(spread(87_566, 73_700.0)));
            }
            tally.depths = vec![
                0, 10, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 174_859,
            ];
        }
        shape(name, view(jobs, formats), vec![phase(0, vec![vec![worker]])])
    };
    let normal = || vec![Format::Normal];
    vec![
        with("kb-base-1000", |figures| figures.kb_base = 1000, normal()),
        with("bits", |figures| figures.unit_base = 1, normal()),
        with("significant-figures", |figures| figures.significant_figures = 7, normal()),
        with(
            "all-percentiles",
            |figures| {
                figures.percentiles = vec![50.0, 99.0, 99.9999];
                (figures.submission_percentiles, figures.latency_percentiles) = (true, true);
            },
            normal(),
        ),
        with(
            "no-latencies",
            |figures| {
                figures.shown = (false, false, false);
                (figures.completion_percentiles, figures.bandwidth) = (false, false);
            },
            normal(),
        ),
        with("mixed", |figures| figures.unified = UnifiedReporting::Mixed, normal()),
        with("both", |figures| figures.unified = UnifiedReporting::Both, normal()),
        with("mixed-terse", |figures| figures.unified = UnifiedReporting::Mixed, vec![Format::Terse]),
        with("both-terse", |figures| figures.unified = UnifiedReporting::Both, vec![Format::Terse]),
        with("mixed-json", |figures| figures.unified = UnifiedReporting::Mixed, vec![Format::Json]),
        with("both-json", |figures| figures.unified = UnifiedReporting::Both, vec![Format::Json]),
    ]
}

fn extremes() -> Vec<Shape> {
    let one = |name, formats, lines, ms| {
        shape(name, view(vec![job("x", "read")], formats), vec![phase(0, vec![vec![worker(9, ms, lines)]])])
    };
    let slow = || vec![line(Verb::Read, 40, 4096, 21_000_000_000.0)];
    vec![
        one("nothing", vec![Format::Normal], Vec::new(), 10),
        one("nothing-terse", vec![Format::Terse], Vec::new(), 10),
        one("one-io", vec![Format::Normal], vec![line(Verb::Read, 1, 512, 900.0)], 1),
        one("nanoseconds", vec![Format::Normal], vec![line(Verb::Read, 5_000_000, 4096, 31.0)], 1000),
        one("huge", vec![Format::Normal], vec![line(Verb::Read, 4_000_000_000, 1 << 22, 120.0)], 2000),
        one("beyond-17-seconds", vec![Format::Normal], slow(), 840_000),
        one("beyond-17-seconds-json", vec![Format::JsonPlus], slow(), 840_000),
    ]
}

fn failed_worker(errno: i32, stage: Stage) -> WorkerRecord {
    let mut failed = line(Verb::Write, 3, 4096, 8_000.0);
    failed.failed = 1;
    let mut worker = worker(9386, 1, vec![failed]);
    let error = ErrorCount { verb: Verb::Write, errno, count: 1, first_offset: 12_288, first_target: 0 };
    worker.fatal =
        Some(Fatal { errno, stage, verb: Some(Verb::Write), target: Some(0), offset: 12_288, bytes: 4096 });
    worker.failure = Some(format!("write failed: {}", std::io::Error::from_raw_os_error(errno.abs())));
    if let Some(tally) = &mut worker.tally {
        tally.errors.push(error);
    }
    worker
}

fn errors() -> Vec<Shape> {
    let one = |name, formats: Vec<Format>, worker: WorkerRecord, counts_errors| {
        let jobs = vec![JobView { counts_errors, ..job("er", "write") }];
        shape(name, view(jobs, formats), vec![phase(0, vec![vec![worker]])])
    };
    let mut opened = failed_worker(2, Stage::Start);
    opened.tally = Some(Box::default());
    opened.ended_ns = 0;
    let mut garbled = failed_worker(-1001, Stage::Run);
    garbled.mismatches = vec![Mismatch {
        file: "/data/f".into(),
        offset: 12_288,
        bytes: 4096,
        read_offset: 12_288,
        read_bytes: 4096,
        what: Wrong::Checksum,
        check: "crc32c".into(),
        expected: "f4a2efa3".into(),
        found: "dbbb7ae9".into(),
        dumped: None,
    }];
    let mut forgiven = failed_worker(28, Stage::Run);
    (forgiven.fatal, forgiven.failure) = (None, None);
    vec![
        one("error", vec![Format::Normal], failed_worker(28, Stage::Run), false),
        one("error-json", vec![Format::Json], failed_worker(28, Stage::Run), false),
        one("error-open", vec![Format::Normal], opened, false),
        one("error-verify", vec![Format::Normal], garbled, false),
        one("errors-counted", vec![Format::Normal], forgiven.clone(), true),
        one("errors-counted-terse", vec![Format::Terse], forgiven.clone(), true),
        one("errors-counted-json", vec![Format::Json], forgiven, true),
        forbidden(),
    ]
}

/// A job that never began, since its file was not there and was not to be made.
fn forbidden() -> Shape {
    let view = view(vec![job("er", "read")], vec![Format::Normal]);
    let mut plan = plan(&view, "missing");
    plan.targets[0].prepare = Prepare::AsItIs;
    let mut worker = failed_worker(2, Stage::Prepare);
    worker.tally = Some(Box::default());
    (worker.ended_ns, worker.failure) = (0, None);
    let mut ended_early = phase(0, vec![vec![worker]]);
    ended_early.sightings.push(Sighting::Device(disk("sda", 0)));
    let mut events = vec![started(&plan)];
    events.extend(ended(vec![ended_early], Vec::new(), None));
    Shape { name: "error-forbidden", view, parts: Vec::new(), events }
}

/// Jobs that move no data: one burns, one asks after names in the direction that it says, one waits for a caller.
fn idle() -> Vec<Shape> {
    let of = |name, engine: &str, direction, verb, block| {
        let view = view(vec![JobView { engine: engine.into(), ..job("x", direction) }], vec![Format::Normal]);
        let line = line(verb, 450, block, 1_003_000.0);
        shape(name, view, vec![phase(0, vec![vec![worker(9, 1000, vec![line])]])])
    };
    let listener =
        JobView { engine: "net".into(), clones: 2, group_reporting: true, ..job("receiver", "read") };
    let view = view(vec![listener], vec![Format::Normal]);
    let mut plan = plan(&view, "");
    let address = ":8765".to_string();
    plan.targets[0].kind = TargetKind::Endpoint { transport: "tcp".into(), address, listen: true };
    let line = || vec![line(Verb::Recv, 64, 4096, 1_700.0)];
    let mut events = vec![started(&plan)];
    events.extend(ended(
        vec![phase(0, vec![vec![worker(4, 3, line()), worker(5, 3, line())]])],
        vec![],
        None,
    ));
    vec![
        of("burner", "cpuio", "read", Verb::Read, 4096),
        of("names-written", "filestat", "write", Verb::Stat, 0),
        Shape { name: "listener", view, parts: Vec::new(), events },
    ]
}

fn courses() -> Vec<Shape> {
    let simple = || view(vec![job("si", "randrw")], vec![Format::Normal]);
    let ends = |view: ReportContext, stopped_by: Option<i32>, before: Vec<Event>, findings: Vec<Finding>| {
        let plan = plan(&view, "/data/f");
        let mut events = vec![started(&plan)];
        events.extend(before);
        events.extend(ended(vec![phase(0, vec![vec![mixed_worker()]])], findings, stopped_by));
        (view, events)
    };
    let interim = |ms| {
        let lines =
            vec![line(Verb::Read, ms * 40, 4096, 77_000.0), line(Verb::Write, ms * 40, 4096, 90_000.0)];
        Event::Interim(Box::new(phase(0, vec![vec![worker(4711, ms, lines)]])))
    };
    let laid = || Event::LayingOut { job: "si".into(), files: 1, total_bytes: 16 << 20 };
    let finding = Finding {
        code: 1,
        kind: Some(FindingKind::CachedReads),
        severity: Severity::Invalid,
        phase: String::new(),
        job: Some("si".into()),
        sentence: "the page cache answered".into(),
        figures: vec![Figure::new("from the device", 0.0, "%")],
        advice: "direct=1".into(),
        remedy: None,
        explained_by: None,
    };
    let mut json = simple();
    json.style.formats = vec![Format::Json];
    let shape =
        |name, (view, events): (ReportContext, Vec<Event>)| Shape { name, view, parts: Vec::new(), events };
    vec![
        shape("laid-out", ends(simple(), None, vec![laid()], Vec::new())),
        shape("interrupted", ends(simple(), Some(2), Vec::new(), Vec::new())),
        shape("interrupted-json", ends(json.clone(), Some(2), Vec::new(), Vec::new())),
        shape("interim", ends(simple(), None, vec![interim(1000), interim(1500)], Vec::new())),
        shape("findings-json", ends(json, None, Vec::new(), vec![finding])),
    ]
}

fn searches() -> Vec<Shape> {
    let record = |operations: &[f64]| SteadyRecord {
        attained: true,
        found: Some(0.688_073),
        slope: 6.0,
        operations: operations.to_vec(),
        bytes: operations.iter().map(|count| count * 4096.0).collect(),
        ..SteadyRecord::default()
    };
    let steady = |name, formats, record: SteadyRecord| {
        let view = view(vec![job("ss", "read")], formats);
        let mut plan = plan(&view, "/data/f");
        plan.phases[0].jobs[0].limit.steady = Some(Steady {
            criterion: Criterion::Operations,
            slope: true,
            limit: 20.0,
            percent: true,
            window_ns: 2_000_000_000,
            ramp_ns: 0,
            interval_ns: 1_000_000_000,
        });
        let mut worker = worker(5, 2000, vec![line(Verb::Read, 1744, 4096, 1_100_000.0)]);
        worker.steady = Some(record);
        let mut events = vec![started(&plan)];
        events.extend(ended(vec![phase(0, vec![vec![worker]])], Vec::new(), None));
        Shape { name, view, parts: Vec::new(), events }
    };
    let mut found = mixed_worker();
    found.found_depth = Some(FoundDepth { depth: 11, per_second: 43_000.0 });
    let target =
        JobView { latency_target: (10_000_000, 500_000_000, 99.0), depth: 16, ..job("lt", "randrw") };
    let mut rated = mixed_worker();
    if let Some(tally) = &mut rated.tally {
        tally.lines[0].service = Some(spread(87_566, 60_000.0));
    }
    let mut made = phase(0, vec![vec![mixed_worker()]]);
    let beneath = vec![disk("sda", 10_000), disk("sdb", 12_000)];
    made.sightings.push(Sighting::Device(DeviceActivity { beneath, ..disk("dm-0", 22_000) }));
    let simple = |formats| view(vec![job("x", "randrw")], formats);
    vec![
        steady("steady", vec![Format::Normal], record(&[869.0, 875.0])),
        steady("steady-json", vec![Format::Json], record(&[869.0, 875.0])),
        // What ramps has no interval yet, or not all.
        steady("steady-ramping", vec![Format::Normal], SteadyRecord::default()),
        steady(
            "steady-ramping-json",
            vec![Format::Json],
            SteadyRecord { attained: false, found: None, ..record(&[869.0]) },
        ),
        shape("latency-target", view(vec![target], vec![Format::Normal]), vec![phase(0, vec![vec![found]])]),
        shape("rated-json", simple(vec![Format::Json]), vec![phase(0, vec![vec![rated]])]),
        shape("disks", simple(vec![Format::Normal]), vec![made.clone()]),
        shape("disks-json", simple(vec![Format::Json]), vec![made]),
    ]
}

/// Operations of several I/O priorities, and writes of an earlier run that are only counted.
fn tallied_apart() -> Vec<Shape> {
    let prioritised = |count, mean| {
        let mut line = line(Verb::Read, count, 4096, mean);
        line.label = "read prio 1/3/0".into();
        line
    };
    let mut both = worker(6, 1000, vec![line(Verb::Read, 8000, 4096, 90_000.0), prioritised(2000, 40_000.0)]);
    both.tally.as_mut().expect("its own").lines.push(line(Verb::Write, 500, 4096, 50_000.0));
    let clone = worker(7, 1000, vec![prioritised(1000, 60_000.0)]);
    let phases = || vec![phase(0, vec![vec![both.clone(), clone.clone()]])];
    let priorities = |name, format, latency_percentiles| {
        let figures = ReportFigures { latency_percentiles, ..ReportFigures::default() };
        let jobs = vec![JobView {
            clones: 2,
            group_reporting: true,
            priority: [2, 4, 0],
            figures,
            ..job("p", "randrw")
        }];
        shape(name, view(jobs, vec![format]), phases())
    };
    let mut assumed = Line::empty("write", Verb::Write);
    (assumed.operations, assumed.bytes) = (16, 65_536);
    let back = worker(8, 1, vec![line(Verb::Read, 16, 4096, 1_400.0), assumed]);
    let only = vec![JobView { counts_unwritten: true, verifies: true, ..job("v", "write") }];
    vec![
        priorities("priorities", Format::Normal, false),
        priorities("priorities-lat", Format::Normal, true),
        priorities("priorities-json", Format::Json, false),
        shape(
            "verify-only",
            view(only, vec![Format::Normal, Format::Json]),
            vec![phase(0, vec![vec![back]])],
        ),
    ]
}

pub fn all() -> Vec<Shape> {
    let sets = [in_every_format(), clients(), groups(), units(), extremes()];
    let more = [errors(), idle(), courses(), searches(), tallied_apart()];
    sets.into_iter().chain(more).flatten().collect()
}
