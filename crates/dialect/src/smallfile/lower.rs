//! From settings to a plan: one phase, in which each thread does one operation with each of its files.

use iodyno_model::{
    Content, ErrorPolicy, Item, Items, Job, Journal, Measure, Open, Operation, Origin, Pace, Payload, Phase,
    Plan, Prepare, Script, Setting, Step, Stop, Target, TargetKind, Think, Verb, Workload,
};

use super::settings::Settings;

/// The plan of the settings.
pub fn plan(settings: &Settings) -> Plan {
    let stop = if settings.stonewalls && !settings.finishes { Stop::FirstDone } else { Stop::Each };
    Plan {
        name: format!("smallfile {}", settings.operation),
        seed: 1,
        targets: settings.tops.iter().map(|top| target(settings, top)).collect(),
        phases: vec![Phase {
            name: settings.operation.clone(),
            jobs: vec![job(settings)],
            stop,
            ..Phase::default()
        }],
        ..Plan::default()
    }
}

/// A top, whose names and trees are the engine's.
fn target(settings: &Settings, top: &str) -> Target {
    let items = Items { count: settings.files, name: "{worker}.{item}".into(), ..Items::default() };
    Target {
        name: top.into(),
        kind: TargetKind::FileSet { root: top.into(), items },
        open: Open { directory: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::argument(top),
    }
}

fn job(settings: &Settings) -> Job {
    let verb = match settings.operation.as_str() {
        "create" | "mkdir" => Verb::Create,
        "delete" | "delete-renamed" | "rmdir" | "cleanup" => Verb::Unlink,
        "stat" | "ls-l" => Verb::Stat,
        _ => Verb::Open,
    };
    let operation = Operation { item: Item::Each, ..Operation::on(verb, 0) };
    let step = Step { repeat: settings.files, ..operation.step(&settings.operation) };
    let script = Script { steps: vec![step], ..Script::default() };
    let targets = (0..settings.tops.len()).collect();
    let mut job = Job::new(&settings.operation, "small_files", targets, Workload::Script(script));
    job.workers = settings.threads;
    job.settings = engine_settings(settings);
    if settings.pause_us > 0 {
        let think = Think { sleep_ns: settings.pause_us.saturating_mul(1000), every: 1, ..Think::default() };
        job.pace = Pace { think: Some(think), ..Pace::default() };
    }
    job.payload = Payload {
        content: if settings.incompressible { Content::Random } else { Content::Pattern((0..128).collect()) },
        ..Payload::default()
    };
    job.errors = ErrorPolicy::Stop;
    let journal =
        (settings.times || settings.cuts()).then(|| Journal { completions: true, ..Journal::default() });
    job.measure = Measure { journal, ..Measure::default() };
    job
}

fn engine_settings(settings: &Settings) -> Vec<Setting> {
    let mut names = settings.names.clone();
    if settings.permutes {
        names.rotate_left(1);
    }
    let mut all = vec![
        Setting::new("operation", &settings.operation),
        Setting::new("hosts", names.join(",")),
        Setting::new("threads", settings.threads),
    ];
    let numbers = [
        ("kib", settings.kib, 64),
        ("record_kib", settings.record_kib, 0),
        ("per_directory", settings.per_directory, 100),
        ("branch", settings.branch, 10),
        ("xattr_bytes", settings.attribute_bytes, 0),
        ("xattr_count", settings.attributes, 0),
    ];
    let told = numbers.iter().filter(|(_, number, usual)| number != usual);
    all.extend(told.map(|(name, number, _)| Setting::new(name, number)));
    let switches = [
        ("exponential", settings.is_exponential),
        ("hash", settings.hashes),
        ("shared", settings.shares),
        ("fsync", settings.fsync),
        ("verify", settings.verifies && settings.operation == "read"),
        ("incompressible", settings.incompressible),
    ];
    all.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| Setting::new(name, "on")));
    for (name, text) in [("prefix", &settings.prefix), ("suffix", &settings.suffix)] {
        if !text.is_empty() {
            all.push(Setting::new(name, text));
        }
    }
    all
}
