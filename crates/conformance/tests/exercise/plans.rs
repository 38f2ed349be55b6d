//! Exercises as plans, and what came of them.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Exercise, ExerciseKind, ExerciseRecord, Items, Job, Open, Phase, Plan, Prepare, Target, TargetKind,
    Workload,
};

/// Everything, each with a weight that lets it happen now and then.
pub const WEIGHTS: [(&str, u32); 28] = [
    ("read", 20),
    ("write", 20),
    ("mapped_read", 10),
    ("mapped_write", 10),
    ("direct_read", 5),
    ("direct_write", 5),
    ("append", 5),
    ("truncate", 8),
    ("fallocate", 4),
    ("fallocate_keep_size", 2),
    ("punch_hole", 5),
    ("zero_range", 3),
    ("zero_range_keep_size", 2),
    ("collapse_range", 3),
    ("insert_range", 3),
    ("copy_file_range", 4),
    ("clone_range", 4),
    ("dedupe_range", 2),
    ("sendfile", 2),
    ("splice", 2),
    ("fsync", 1),
    ("fdatasync", 1),
    ("sync_file_range", 1),
    ("reopen", 1),
    ("drop_cache", 1),
    ("readahead", 2),
    ("seek", 3),
    ("check", 1),
];

/// All engines an exercise can use.
pub const ENGINES: [&str; 6] = ["psync", "pvsync", "mmap", "libaio", "io_uring", "posixaio"];

/// So many operations of all kinds through all engines.
pub fn all(operations: u64) -> Exercise {
    Exercise {
        operations,
        file_bytes: 256 << 10,
        operation_bytes: 64 << 10,
        weights: WEIGHTS.iter().map(|(name, weight)| ((*name).into(), *weight)).collect(),
        engines: ENGINES.map(String::from).to_vec(),
        ..Exercise::default()
    }
}

/// So many races of all calls.
pub fn races(count: u64) -> Exercise {
    let weights = [
        ("create", 4),
        ("mkdir", 3),
        ("symlink", 1),
        ("unlink", 3),
        ("rmdir", 3),
        ("rename", 6),
        ("link", 3),
        ("stat", 3),
    ];
    Exercise {
        kind: ExerciseKind::Names,
        operations: count,
        weights: weights.iter().map(|(name, weight)| ((*name).into(), *weight)).collect(),
        ..Exercise::default()
    }
}

/// The plan of an exercise in a directory.
pub fn plan(directory: &Path, exercise: &Exercise, seed: u64) -> Plan {
    let root = directory.display().to_string();
    let target = Target {
        name: "directory".into(),
        kind: TargetKind::FileSet { root, items: Items::default() },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    };
    let job = Job::new("exercise", "exercise", vec![0], Workload::Exercise(Box::new(exercise.clone())));
    let phase = Phase { name: "exercise".into(), jobs: vec![job], ..Phase::default() };
    Plan { name: "exercise".into(), seed, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

/// What came of it; an error of the run is one.
pub fn record(plan: &Plan) -> Result<ExerciseRecord, String> {
    let options = Options { witness: false, ..Options::default() };
    let told = |wrong: &[iodyno_model::Diagnostic]| {
        wrong.iter().map(|wrong| wrong.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let record = run(plan, &options, &mut |_| ()).map_err(|wrong| told(&wrong))?;
    if !record.errors.is_empty() {
        return Err(told(&record.errors));
    }
    record.phases[0].jobs[0].exercise.clone().ok_or_else(|| "no exercise was recorded".into())
}

/// The same, in one go.
pub fn exercise(directory: &Path, exercise: &Exercise, seed: u64) -> Result<ExerciseRecord, String> {
    record(&plan(directory, exercise, seed))
}

/// Fails with what was found, if anything was.
pub fn clean(record: &ExerciseRecord) -> Result<(), String> {
    match &record.failure {
        None => Ok(()),
        Some(found) => Err(format!("{}\n{}", found.text, found.script.join("\n"))),
    }
}

/// Names that are left in a directory.
pub fn left(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "lost+found").collect()
}
