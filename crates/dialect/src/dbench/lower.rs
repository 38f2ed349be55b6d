//! From settings to a plan: one phase, in which each process serves its clients from the load file.

use iodyno_model::{
    Content, ErrorPolicy, Items, Job, Limit, Measure, Open, Origin, Pace, Payload, Phase, Plan, Prepare,
    Rate, Replay, Setting, Stop, Target, TargetKind, Timing, Trace, WorkerKind, Workload,
};

use super::settings::Settings;

const SECOND: u64 = 1_000_000_000;

/// The plan of the settings.
pub fn plan(settings: &Settings) -> Plan {
    let items = Items { count: 0, ..Items::default() };
    let target = Target {
        name: settings.directory.clone(),
        kind: TargetKind::FileSet { root: settings.directory.clone(), items },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::argument(&settings.directory),
    };
    let phase = Phase {
        name: "clients".into(),
        jobs: vec![job(settings)],
        stop: Stop::FirstError,
        ..Phase::default()
    };
    Plan {
        name: format!("dbench {}", settings.load),
        seed: 1,
        targets: vec![target],
        phases: vec![phase],
        ..Plan::default()
    }
}

fn job(settings: &Settings) -> Job {
    let replay = Replay { served: true, facts: settings.load_facts.clone(), ..Replay::default() };
    let trace = Trace {
        path: Some(settings.load.clone()),
        format: "dbench".into(),
        replay: Box::new(replay),
        ..Trace::of(Vec::new(), Timing::AsFast)
    };
    let mut job = Job::new("clients", "file_service", vec![0], Workload::Trace(trace));
    job.workers = settings.processes;
    job.kind = WorkerKind::Processes;
    job.settings = settings.service.iter().map(|(name, value)| Setting::new(name, value)).collect();
    if settings.clients > 1 {
        job.settings.push(Setting::new("clients", settings.clients));
    }
    if let Some(rate) = settings.rate {
        job.pace = Pace { rate_all: Rate::Bytes(rate), open_loop: false, ..Pace::default() };
    }
    job.limit = Limit {
        time_ns: Some(settings.time_s * SECOND),
        ramp_ns: settings.warmup_s * SECOND,
        passes: settings.once.then_some(1),
        ..Limit::default()
    };
    job.payload = Payload { content: Content::Zero, ..Payload::default() };
    job.errors = ErrorPolicy::Stop;
    job.measure = Measure { each: settings.each_client, ..Measure::default() };
    job
}
