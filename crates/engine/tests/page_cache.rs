//! The page cache as whole plans meet it: emptied before, emptied behind, held on to, and what the record says of it.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::os::fd::AsRawFd;
use std::path::Path;

use iodyno_engine::witness::page_cache;
use iodyno_engine::{Options, run};
use iodyno_model::{
    Buffers, CacheShare, Extent, Job, Kind, Open, Pattern, Phase, Pick, Plan, Prepare, Record, Sighting,
    Target, TargetKind, Verb, Workload,
};

const BYTES: u64 = 8 << 20;

/// A folder beside the build, which is a disk more often than the temporary one.
fn folder() -> tempfile::TempDir {
    let beside = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    tempfile::tempdir_in(beside).unwrap()
}

/// Why nothing can be dropped from the cache here, if so.
fn is_memory(path: &Path) -> bool {
    let facts = iodyno_engine::witness::identity::facts(path.to_str().unwrap());
    let memory = matches!(facts.file_system.as_deref(), Some("tmpfs" | "ramfs"));
    if memory {
        println!("skipped: files lie in memory here");
    }
    memory
}

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

fn resident(path: &Path) -> u64 {
    page_cache::resident(path.to_str().unwrap()).unwrap().1
}

#[test]
fn a_cache_that_was_emptied_says_so() {
    let folder = folder();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize]).unwrap();
    if is_memory(&path) {
        return;
    }
    let record = done(&reads(&path, "psync", 1, |open| open.invalidate = true));
    let phase = &record.phases[0];
    let before = phase.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Residency { span_bytes, before_bytes, .. } => Some((*span_bytes, *before_bytes)),
        _ => None,
    });
    assert_eq!(before, Some((BYTES, 0)));
    assert!(!phase.sightings.iter().any(|sighting| matches!(sighting, Sighting::Undropped { .. })));
    let share = phase.cache.as_ref().unwrap();
    assert_eq!(share.read_bytes, BYTES);
    assert!(share.percent().is_none_or(|percent| percent < 100.0), "{share:?}");
    assert!(!share.because.is_empty());
    // Read again as it is now: all of it from memory, and said so, or not to be told. Others may empty the machine's cache
    // in between, but not each time.
    let shares: Vec<_> = (0..3)
        .map(|_| {
            std::fs::read(&path).unwrap();
            let record = done(&reads(&path, "psync", 1, |_| {}));
            record.phases[0].cache.clone().unwrap()
        })
        .collect();
    let from_memory = |share: &CacheShare| share.percent().is_none_or(|percent| percent > 50.0);
    assert!(shares.iter().any(from_memory), "{shares:?}");
}

#[test]
fn pages_that_are_held_are_in_the_record() {
    let folder = folder();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize]).unwrap();
    if is_memory(&path) {
        return;
    }
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mapping = iodyno_engine::memory::Mapping::of_file(file.as_raw_fd(), 0, 4 << 20).unwrap();
    // SAFETY: the range is mapped; locked pages cannot leave.
    if unsafe { libc::mlock(mapping.start().cast(), mapping.bytes()) } < 0 {
        return println!("skipped: memory cannot be locked here");
    }
    let record = done(&reads(&path, "psync", 1, |open| open.invalidate = true));
    let left = record.phases[0].sightings.iter().find_map(|sighting| match sighting {
        Sighting::Undropped { of, left_bytes, .. } => Some((of.clone(), *left_bytes)),
        _ => None,
    });
    let (of, left) = left.unwrap();
    assert!(of == "read" && left >= 4 << 20, "{of} {left}");
    let told = record.findings.iter().any(|finding| finding.sentence.contains("still in the page cache"));
    assert!(told, "{:?}", record.findings);
}

#[test]
fn pages_are_dropped_behind_reads() {
    let folder = folder();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize]).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    if is_memory(&path) {
        return;
    }
    for (engine, depth) in [("psync", 1), ("io_uring", 8), ("libaio", 4)] {
        let there = iodyno_engine::registry::engine(engine).is_some_and(|entry| (entry.available)().is_ok());
        if !there {
            println!("skipped: {engine} is not here");
            continue;
        }
        std::fs::read(&path).unwrap();
        // The kernel may take a page at any time, as one that reclaims of its own accord does.
        assert!(resident(&path) > BYTES / 2, "{}", resident(&path));
        let record = done(&reads(&path, engine, depth, |open| open.drop_behind = true));
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!(
            (tally.operations(Kind::Read), tally.all_operations()),
            (128, 128),
            "advice is not counted"
        );
        // What was in flight at the end has nobody behind it, and large pages leave as a whole.
        assert!(resident(&path) <= 2 << 20, "{engine}: {}", resident(&path));
    }
}

#[test]
fn what_workers_hold_is_refused_before_the_start() {
    let folder = folder();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![3; BYTES as usize]).unwrap();
    let mut plan = reads(&path, "psync", 1, |_| {});
    let job = &mut plan.phases[0].jobs[0];
    (job.workers, job.buffers) = (4, Buffers { held_bytes: 1 << 50, ..Buffers::default() });
    let record = run(&plan, &Options::default(), &mut |_| {}).unwrap();
    let wrong = &record.errors[0];
    assert!(wrong.message.contains("4 workers of this machine") && wrong.hint.is_some(), "{wrong}");
    plan.phases[0].jobs[0].buffers.held_bytes = 1 << 20;
    assert_eq!(done(&plan).phases[0].jobs[0].tally.operations(Kind::Read), 4 * 128);
}
