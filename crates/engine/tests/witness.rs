//! Witnesses as whole plans meet them: what they saw of a run in all and over time, what they cost, and that they can be
//! turned off.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::os::unix::fs::FileExt;

use iodyno_engine::{Options, run};
use iodyno_model::histogram::{bucket_of, coarse_of};
use iodyno_model::{
    Event, Extent, Job, Layout, Limit, Open, Pattern, Phase, Pick, Plan, Prepare, Rate, Record, Sample,
    Setting, Sighting, Target, TargetKind, Verb, Watching, Workload,
};

const SECOND: u64 = 1_000_000_000;

fn target(kind: TargetKind) -> Target {
    Target {
        name: "data".into(),
        kind,
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    }
}

fn plan(kind: TargetKind, job: Job) -> Plan {
    let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
    Plan { targets: vec![target(kind)], phases: vec![phase], ..Plan::default() }
}

fn job(engine: &str, limit: Limit) -> Job {
    let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
    Job { limit, ..Job::new("job", engine, vec![0], Workload::Pattern(Box::new(pattern))) }
}

/// Hardly anything, for so long.
fn idle(time_ns: u64) -> Plan {
    let limit = Limit { time_ns: Some(time_ns), ..Limit::default() };
    let mut job = job("null", limit);
    job.pace.rate_all = Rate::Operations(10.0);
    plan(TargetKind::Nothing { bytes: 1 << 40 }, job)
}

/// The record, and what was reported while it ran.
fn watched(plan: &Plan, options: &Options) -> (Record, Vec<Sample>) {
    let mut samples = Vec::new();
    let record = run(plan, options, &mut |event| {
        if let Event::Watched(sample) = event {
            samples.push((**sample).clone());
        }
    });
    let record = record.unwrap();
    assert_eq!(record.errors, []);
    (record, samples)
}

#[test]
fn every_second_is_told_and_kept() {
    let (record, told) = watched(&idle(2_500_000_000), &Options::default());
    let phase = &record.phases[0];
    assert_eq!(phase.samples, told);
    // The last one is what was left.
    assert!((2..=3).contains(&told.len()), "{}", told.len());
    assert!(told[0].at_ns >= SECOND && told[0].cpu.is_some() && told[0].memory.is_some());
    assert!(told.windows(2).all(|pair| pair[0].at_ns + pair[1].interval_ns == pair[1].at_ns), "{told:?}");
    let seen = |is: fn(&Sighting) -> bool| phase.sightings.iter().any(is);
    assert!(seen(
        |sighting| matches!(sighting, Sighting::Processors(seen) if seen.interval_ns >= 2 * SECOND)
    ));
    assert!(seen(|sighting| matches!(sighting, Sighting::Clock(seen) if seen.cost_ns > 0.0)));
    assert!(seen(|sighting| matches!(sighting, Sighting::Pressure(_) | Sighting::CannotTell { .. })));
    assert!(record.machine.facts.iter().any(|(name, _)| name == "user"));
}

#[test]
fn who_only_watches_gets_as_many_samples_as_it_asked_for() {
    let watching = Watching { every_ns: 40_000_000, count: 4, since_boot: true, ..Watching::default() };
    let phase = Phase { name: "watch".into(), watch: Some(watching), ..Phase::default() };
    let plan = Plan { phases: vec![phase], ..Plan::default() };
    for witness in [true, false] {
        let (record, told) = watched(&plan, &Options { witness, ..Options::default() });
        assert_eq!(told.len(), 4, "witnesses {witness}");
        assert_eq!(record.phases[0].samples, told);
        assert!(told[0].interval_ns == 0 && told[0].cpu.is_some(), "{:?}", told[0]);
        assert!(told[1..].iter().all(|sample| sample.interval_ns > 0));
    }
}

#[test]
fn a_single_sample_since_the_machine_was_started_takes_no_time() {
    let watching = Watching { every_ns: 3600 * SECOND, count: 1, since_boot: true, ..Watching::default() };
    let phase = Phase { name: "watch".into(), watch: Some(watching), ..Phase::default() };
    let (_, told) = watched(&Plan { phases: vec![phase], ..Plan::default() }, &Options::default());
    assert_eq!(told.len(), 1);
}

#[test]
fn turned_off_nothing_is_seen() {
    let options = Options { witness: false, ..Options::default() };
    let (record, told) = watched(&idle(1_200_000_000), &options);
    assert!(told.is_empty() && record.phases[0].samples.is_empty() && record.machine.facts.is_empty());
    assert_eq!(record.phases[0].sightings, []);
}

#[test]
fn holes_are_seen_before_they_are_read() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(4 << 20).unwrap();
    file.as_file().write_all_at(&[7; 1 << 20], 0).unwrap();
    let path = file.path().display().to_string();
    let kind = TargetKind::File { path, size: Extent::Bytes(4 << 20) };
    let (record, _) = watched(&plan(kind, job("psync", Limit::default())), &Options::default());
    let layout = record.phases[0].sightings.iter().find_map(|sighting| match sighting {
        Sighting::Layout(layout) => Some(layout.clone()),
        _ => None,
    });
    let Layout { target, file_bytes, data_bytes, hole_bytes, .. } = layout.unwrap();
    assert_eq!((target.as_str(), file_bytes), ("data", 4 << 20));
    assert!((1 << 20..2 << 20).contains(&data_bytes) && hole_bytes > 2 << 20, "{data_bytes} {hole_bytes}");
}

#[test]
fn rows_know_their_latencies_in_virtual_time_too() {
    let limit = Limit { time_ns: Some(10 * SECOND), ..Limit::default() };
    let mut job = job("sim", limit);
    job.settings = vec![Setting::new("service", "100us")];
    let (record, _) = watched(&plan(TargetKind::Nothing { bytes: 1 << 40 }, job), &Options::default());
    let series = &record.phases[0].jobs[0].tally.series;
    assert_eq!(series.rows.len(), series.latencies.len());
    assert!(series.rows.len() >= 10, "{}", series.rows.len());
    let bucket = coarse_of(bucket_of(100_000)) as u16;
    for (row, latencies) in series.rows.iter().zip(&series.latencies).take(10) {
        assert_eq!(latencies, &[(bucket, row.reads as u32)]);
    }
}

/// CPU time of this thread, ns.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

#[test]
fn witnesses_cost_less_than_a_hundredth_of_a_processor() {
    let spent = |witness| {
        let before = thread_ns();
        watched(&idle(2 * SECOND), &Options { witness, ..Options::default() });
        thread_ns() - before
    };
    // The first run finds out what later ones know.
    spent(true);
    let (without, with) = (spent(false), spent(true));
    println!("conductor: {without} ns without witnesses, {with} ns with them, of 2 s");
    assert!(with.saturating_sub(without) < 2 * SECOND / 100, "{without} ns without, {with} ns with");
}
