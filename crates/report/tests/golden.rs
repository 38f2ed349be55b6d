//! Golden output of the shared reporters: stored events to exact text, JSON and CSV in `golden/report/`.

mod sample;

use iodyno_model::*;
use iodyno_report::paint::Paint;
use iodyno_report::{Output, Reporter, csv::Csv, json::Json, native::Native};
use sample::{DISK, NVME, Trouble};

fn target(name: &str) -> Target {
    Target {
        name: name.into(),
        kind: TargetKind::File { path: format!("/srv/{name}"), size: Extent::Bytes(1 << 30) },
        open: Open { direct: Direct::Yes, ..Open::default() },
        prepare: Prepare::Filled,
        remove: true,
        origin: Origin::Default,
    }
}

fn facts() -> TargetFacts {
    TargetFacts {
        target: "data".into(),
        path: "/srv/data".into(),
        file_system: Some("ext4".into()),
        direct: Some(true),
        ..TargetFacts::default()
    }
}

fn job(name: &str, mix: Mix, depth: u32, seconds: u64) -> Job {
    let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
    pattern.mix = mix;
    let mut job = Job::new(name, "io_uring", vec![0], Workload::Pattern(Box::new(pattern)));
    job.depth.most = depth;
    job.limit.time_ns = Some(seconds * 1_000_000_000);
    job
}

fn plan(phases: Vec<Phase>) -> Plan {
    Plan { name: "sample".into(), seed: 7, targets: vec![target("data")], phases, ..Plan::default() }
}

fn mixed() -> Vec<Event> {
    let mut writer = job("writer", Mix::only(Verb::Write), 1, 10);
    writer.workers = 4;
    let first =
        Phase { name: "mix".into(), jobs: vec![job("mix", Mix::reads(70.0), 32, 10)], ..Phase::default() };
    let second = Phase {
        name: "two jobs write".into(),
        jobs: vec![job("reader", Mix::only(Verb::Read), 8, 10), writer],
        ..Phase::default()
    };
    let again = Phase { repetition: 1, ..first.clone() };
    let watch = Phase { name: "watch".into(), watch_ns: 3_000_000_000, ..Phase::default() };
    let plan = plan(vec![first, again, second, watch]);
    let finding = |code, severity, phase: &str, sentence: &str| Finding {
        code,
        kind: FindingKind::numbered(code),
        severity,
        phase: phase.into(),
        job: None,
        sentence: sentence.into(),
        figures: vec![Figure::new("asked", 4.0 * 1073741824.0, "bytes"), Figure::new("read", 12.5, "%")],
        advice: "read past the page cache: direct = \"yes\"".into(),
        remedy: (code == 1).then_some(Remedy::BypassPageCache),
        explained_by: None,
    };
    let findings = vec![
        finding(6, Severity::Note, "mix", "too few samples for the 99.99th percentile"),
        finding(
            1,
            Severity::Invalid,
            "mix",
            "most of what was read came from the page cache and not from the device",
        ),
        finding(
            1,
            Severity::Invalid,
            "mix",
            "most of what was read came from the page cache and not from the device",
        ),
    ];
    let trouble = Trouble { write_errno: Some(5), ..Trouble::default() };
    sample::events(&plan, &NVME, vec![facts()], findings, trouble)
}

fn sweep(parameters: Vec<Sweep>, device: &sample::Device) -> Vec<Event> {
    sweep_of(Mix::only(Verb::Read), parameters, device, Trouble::default())
}

fn sweep_of(mix: Mix, parameters: Vec<Sweep>, device: &sample::Device, trouble: Trouble) -> Vec<Event> {
    let name = if mix == Mix::only(Verb::Read) { "randread" } else { "read and write" };
    let phase = Phase { name: name.into(), jobs: vec![job(name, mix, 1, 2)], ..Phase::default() };
    let plan = Plan { sweep: parameters, ..plan(vec![phase]) };
    let plan = sweep::expand(&plan).unwrap();
    sample::events(&plan, device, vec![facts()], vec![], trouble)
}

fn numbers(parameter: Parameter, values: &[u64]) -> Sweep {
    let values = values.iter().map(|value| Value::Number(*value)).collect();
    Sweep { parameter, values, origin: Origin::Default }
}

fn written(reporter: &mut dyn Reporter, events: &[Event]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in events {
        reporter
            .event(event, &mut Output { out: &mut out, err: &mut err, files: &mut iodyno_report::NoFiles })
            .unwrap();
    }
    assert!(err.is_empty(), "talk without a message: {}", String::from_utf8_lossy(&err));
    String::from_utf8(out).unwrap()
}

const DEPTHS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128];

#[test]
fn native_text() {
    let cases = [
        ("mixed.txt", mixed()),
        ("depth-nvme.txt", sweep(vec![numbers(Parameter::Depth, DEPTHS)], &NVME)),
        ("depth-disk.txt", sweep(vec![numbers(Parameter::Depth, DEPTHS)], &DISK)),
        (
            "failed-points.txt",
            sweep_of(
                Mix::reads(70.0),
                vec![numbers(Parameter::Depth, &DEPTHS[..6])],
                &NVME,
                Trouble { write_errno: Some(28), ..Trouble::default() },
            ),
        ),
        (
            "surface.txt",
            sweep(
                vec![numbers(Parameter::BlockBytes, &[4096, 65536]), numbers(Parameter::Depth, &[1, 8, 64])],
                &NVME,
            ),
        ),
        (
            "three.txt",
            sweep(
                vec![
                    numbers(Parameter::Workers, &[1, 2]),
                    numbers(Parameter::BlockBytes, &[4096, 65536]),
                    numbers(Parameter::Depth, &[1, 8]),
                ],
                &NVME,
            ),
        ),
    ];
    for (name, events) in cases {
        let text = written(&mut Native::new(Paint::PLAIN), &events);
        assert!(!text.contains('\x1b'), "{name} is coloured though nobody asked");
        sample::golden("report", name, &text);
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{name} is wider than 100 columns");
    }
}

#[test]
fn colour_comes_only_when_asked_for() {
    let text = written(&mut Native::new(Paint { colour: true, ..Paint::PLAIN }), &mixed());
    assert!(text.contains("\x1b[1m") && text.contains("\x1b[1;31m"));
}

#[test]
fn json_is_golden_and_complete() {
    let events = sweep(vec![numbers(Parameter::Depth, &[1, 64])], &NVME);
    let text = written(&mut Json::new(), &events);
    // The plan is the model's own words and grows with it; everything else is this format.
    let (before, plan) = text.split_once("  \"plan\": {").expect("a plan");
    let (_, after) = plan.split_once("\n  },\n").expect("its end");
    sample::golden("report", "depth.json", &format!("{before}  \"plan\": {{}},\n{after}"));
    let value: serde_json::Value = serde_json::from_str(&written(&mut Json::new(), &mixed())).unwrap();
    assert_eq!(value["schema"], "iodyno.record/1");
    assert_eq!(value["phases"][0]["jobs"][0]["comparable"]["io_bytes"], 4096);
    assert_eq!(value["findings"][1]["code"], 1);
    let docs = include_str!("../../../docs/json.md");
    for object in [
        &value,
        &value["phases"][0],
        &value["phases"][0]["jobs"][0],
        &value["phases"][0]["jobs"][0]["lines"][0],
    ] {
        let missing = object.as_object().unwrap().keys().find(|key| !docs.contains(&format!("`{key}")));
        assert_eq!(missing, None, "docs/json.md does not describe a field");
    }
    let latency = &value["phases"][0]["jobs"][0]["lines"][0]["latency"];
    let counted: u64 =
        latency["buckets"].as_array().unwrap().iter().map(|bucket| bucket[2].as_u64().unwrap()).sum();
    assert_eq!(latency["count"], counted);
}

#[test]
fn records_and_their_parts_follow_the_published_schemas() {
    let published = iodyno_report::json::published();
    let schema = |start: &str| &published.iter().find(|(name, _)| name.starts_with(start)).unwrap().1;
    let deep = sweep(vec![numbers(Parameter::Depth, &[1, 64])], &NVME);
    for events in [mixed(), deep] {
        let value: serde_json::Value = serde_json::from_str(&written(&mut Json::new(), &events)).unwrap();
        for (name, part) in [("record", &value), ("plan", &value["plan"]), ("findings", &value["findings"])] {
            assert_eq!(iodyno_report::json::follows(schema(name), part), Ok(()), "{name}");
        }
        let mut broken = value.clone();
        broken["phases"][0]["jobs"][0]["lines"][0]["operations"] = "many".into();
        let why = iodyno_report::json::follows(schema("record"), &broken).unwrap_err();
        assert!(why.starts_with("/phases/0/jobs/0/lines/0/operations"), "{why}");
    }
}

#[test]
fn the_published_schemas_are_those_of_the_tables() {
    for (name, schema) in iodyno_report::json::published() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        sample::golden("../docs/schema", name, &text);
    }
}

#[test]
fn csv_has_a_row_for_each_phase_job_and_label() {
    let text = written(&mut Csv::new(), &mixed());
    sample::golden("report", "mixed.csv", &text);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 + 2 + 2);
    assert!(rows.iter().all(|row| row.len() == iodyno_report::csv::COLUMNS.split(' ').count()));
    let docs = include_str!("../../../docs/json.md");
    let missing =
        iodyno_report::csv::COLUMNS.split(' ').find(|column| !docs.contains(&format!("`{column}`")));
    assert_eq!(missing, None, "docs/json.md does not describe a column");
}

#[test]
fn a_run_without_events_before_its_end_is_still_reported() {
    let Some(Event::Ended(record)) = mixed().pop() else { panic!("a run ends") };
    let end = [Event::Ended(record)];
    assert!(written(&mut Native::new(Paint::PLAIN), &end).contains("findings"));
    assert!(written(&mut Json::new(), &end).contains("\"plan\": null"));
    assert!(written(&mut Csv::new(), &end).contains("io_uring"));
}

/// Records no run should give: empty, without time, with targets and phases that the plan does not have.
fn odd(noise: &mut sample::Noise) -> Vec<Event> {
    let mut events = mixed();
    let Some(Event::Ended(mut record)) = events.pop() else { panic!("a run ends") };
    for phase in &mut record.phases {
        let mut chance = || noise.next() < 0.5;
        phase.index = if chance() { 99 } else { phase.index };
        phase.elapsed_ns = if chance() { 0 } else { u64::MAX };
        for name in ["depth", "workers", "engine"].into_iter().filter(|_| chance()) {
            let parameter = match name {
                "depth" => Parameter::Depth,
                "workers" => Parameter::Workers,
                _ => Parameter::Engine,
            };
            phase.coordinates.push(Coordinate { parameter, value: Value::Word(name.into()) });
        }
        for job in &mut phase.jobs {
            let tally = &mut job.tally;
            tally.last_done_ns = if noise.next() < 0.5 { 0 } else { u64::MAX };
            tally.errors.push(ErrorCount {
                verb: Verb::Stat,
                errno: i32::MIN,
                count: u64::MAX,
                first_offset: u64::MAX,
                first_target: u32::MAX,
            });
            if noise.next() < 0.5 {
                tally.lines.iter_mut().for_each(|line| line.latency = Histogram::default());
                tally.series.interval_ns = 0;
                job.workers.clear();
            }
        }
        if noise.next() < 0.3 {
            phase.jobs.clear();
        }
    }
    record.findings.iter_mut().for_each(|finding| finding.figures[0].value = f64::NAN);
    record.findings.iter_mut().for_each(|finding| finding.figures[1].value = f64::NEG_INFINITY);
    events.push(Event::Ended(record));
    events
}

#[test]
fn odd_records_are_reported_all_the_same() {
    let mut noise = sample::Noise::new(11);
    for _ in 0..50 {
        let events = odd(&mut noise);
        let text = written(&mut Native::new(Paint::PLAIN), &events);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let json = written(&mut Json::new(), &events);
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        assert!(!written(&mut Csv::new(), &events).contains("NaN"));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut live = iodyno_report::live::LiveLine::new(true, Paint::PLAIN);
        for event in &events {
            live.event(
                event,
                &mut Output { out: &mut out, err: &mut err, files: &mut iodyno_report::NoFiles },
            )
            .unwrap();
        }
    }
}
