//! Whole plans: what the record says of a cache that was emptied, held or dropped behind.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Buffers, CacheShare, Extent, Job, Kind, Open, Pattern, Phase, Pick, Plan, Prepare, Record, Sighting,
    Target, TargetKind, Verb, Workload,
};
use testbed::{Case, Need, Outcome, Skip};

use crate::ground::{folder, locked, resident, storage};

const BYTES: u64 = 8 << 20;

fn reads(path: &Path, engine: &str, depth: u32, change: impl Fn(&mut Open)) -> Plan {
    let mut target = Target {
        name: "data".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(BYTES) },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    };
    change(&mut target.open);
    let pattern = Pattern::of(Verb::Read, Pick::Sequential, 65_536);
    let mut job = Job::new("read", engine, vec![0], Workload::Pattern(Box::new(pattern)));
    job.depth.most = depth;
    let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
    Plan { targets: vec![target], phases: vec![phase], ..Plan::default() }
}

fn done(plan: &Plan) -> Record {
    let record = run(plan, &Options::default(), &mut |_| {}).unwrap();
    assert_eq!(record.errors, []);
    record
}

pub fn cases() -> Vec<Case> {
    let on_storage = &[Need::That(storage)];
    let mut cases = vec![
        Case::new("a_cache_that_was_emptied_says_so", on_storage, emptied),
        Case::new("what_is_read_from_memory_is_told_so", on_storage, from_memory),
        Case::new("pages_that_are_held_are_in_the_record", on_storage, held),
        Case::new("what_workers_hold_is_refused_before_the_start", &[], refused),
    ];
    for (engine, depth) in [("psync", 1), ("io_uring", 8), ("libaio", 4)] {
        let name = format!("pages_are_dropped_behind_reads::{engine}");
        cases.push(Case::new(name, on_storage, move || dropped_behind(engine, depth)));
    }
    cases
}

fn share(record: &Record) -> Result<CacheShare, String> {
    record.phases[0].cache.clone().ok_or_else(|| "nothing is said of the cache".to_string())
}

fn emptied() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize])?;
    let record = done(&reads(&path, "psync", 1, |open| open.invalidate = true));
    let phase = &record.phases[0];
    let before = phase.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Residency { span_bytes, before_bytes, .. } => Some((*span_bytes, *before_bytes)),
        _ => None,
    });
    assert_eq!(before, Some((BYTES, 0)));
    assert!(!phase.sightings.iter().any(|sighting| matches!(sighting, Sighting::Undropped { .. })));
    let share = share(&record)?;
    assert_eq!(share.read_bytes, BYTES);
    assert!(share.percent().is_none_or(|percent| percent < 100.0), "{share:?}");
    assert!(!share.because.is_empty());
    Ok(())
}

/// Locked pages cannot leave, so all of it comes from memory; where that is unknown, the record says why.
fn from_memory() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize])?;
    let _locked = locked(&path, BYTES)?;
    let share = share(&done(&reads(&path, "psync", 1, |_| {})))?;
    assert_eq!(share.read_bytes, BYTES);
    assert!(share.percent().is_none_or(|percent| percent > 50.0) && !share.because.is_empty(), "{share:?}");
    Ok(())
}

fn held() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize])?;
    let _locked = locked(&path, 4 << 20)?;
    let record = done(&reads(&path, "psync", 1, |open| open.invalidate = true));
    let left = record.phases[0].sightings.iter().find_map(|sighting| match sighting {
        Sighting::Undropped { of, left_bytes, .. } => Some((of.clone(), *left_bytes)),
        _ => None,
    });
    let (of, left) = left.ok_or("nothing is said of what stayed")?;
    assert!(of == "read" && left >= 4 << 20, "{of} {left}");
    let told = record.findings.iter().any(|finding| finding.sentence.contains("still in the page cache"));
    assert!(told, "{:?}", record.findings);
    Ok(())
}

fn dropped_behind(engine: &'static str, depth: u32) -> Outcome {
    let facts = iodyno_engine::engine(engine).ok_or(Skip::new(format!("no {engine} here")))?.facts;
    (facts.available)().map_err(|failure| Skip::new(failure.message))?;
    let folder = folder()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize])?;
    std::fs::File::open(&path)?.sync_all()?;
    std::fs::read(&path)?;
    let before = resident(&path)?;
    if before <= BYTES / 2 {
        let why = format!("the kernel reclaims: of {BYTES} bytes just read, {before} are in the page cache");
        return Err(Skip::new(why).into());
    }
    let record = done(&reads(&path, engine, depth, |open| open.drop_behind = true));
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Read), tally.all_operations()), (128, 128), "advice is not counted");
    // What was in flight at the end has nobody behind it, and large pages leave as a whole.
    let left = resident(&path)?;
    assert!(left <= 2 << 20, "{left}");
    Ok(())
}

fn refused() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize])?;
    let mut plan = reads(&path, "psync", 1, |_| {});
    let job = &mut plan.phases[0].jobs[0];
    (job.workers, job.buffers) = (4, Buffers { held_bytes: 1 << 50, ..Buffers::default() });
    let record = run(&plan, &Options::default(), &mut |_| {}).map_err(|wrong| format!("{wrong:?}"))?;
    let wrong = &record.errors[0];
    assert!(wrong.message.contains("4 workers of this machine") && wrong.hint.is_some(), "{wrong}");
    plan.phases[0].jobs[0].buffers.held_bytes = 1 << 20;
    assert_eq!(done(&plan).phases[0].jobs[0].tally.operations(Kind::Read), 4 * 128);
    Ok(())
}
