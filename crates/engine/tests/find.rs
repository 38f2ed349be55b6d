//! The engine `find`: whatever is below a directory is looked at once, by however many workers.

use std::fs;
use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Items, Job, Open, Pattern, Phase, Pick, Plan, Prepare, Record, Setting, Target, TargetKind, Verb,
    Workload,
};

/// Three levels of directories, files in all of them; answers how many entries there are.
fn grow(root: &Path) -> u64 {
    let mut entries = 0;
    let mut file = |path: &Path, bytes: usize| {
        fs::write(path, vec![1; bytes]).unwrap();
        entries += 1;
    };
    for number in 0..30 {
        file(&root.join(format!("file.{number}")), if number % 3 == 0 { 3901 } else { 17 });
    }
    for rank in 0..7 {
        let deep = root.join(format!("easy/test/tree.{rank}/below"));
        fs::create_dir_all(&deep).unwrap();
        for item in 0..20 {
            file(&deep.parent().unwrap().join(format!("f.{rank}.{item}")), 3901);
            file(&deep.join(format!("g.{item}")), 0);
        }
    }
    std::os::unix::fs::symlink("..", root.join("easy/loop")).unwrap();
    entries + 1 + 2 + 2 * 7
}

fn search(root: &Path, workers: u32, settings: &[(&str, &str)]) -> Record {
    let target = Target {
        name: "tree".into(),
        kind: TargetKind::FileSet {
            root: root.display().to_string(),
            items: Items { count: u64::MAX >> 1, ..Items::default() },
        },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    };
    let pattern = Pattern::of(Verb::Readdir, Pick::Stream, 0);
    let mut job = Job::new("search", "find", vec![0], Workload::Pattern(Box::new(pattern)));
    job.workers = workers;
    job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
    let phase = Phase { name: "find".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { targets: vec![target], phases: vec![phase], ..Plan::default() };
    run(&plan, &Options { witness: false, ..Options::default() }, &mut |_| {}).unwrap()
}

fn matches(record: &Record) -> u64 {
    let facts = record.phases[0].jobs[0].workers.iter().flat_map(|worker| &worker.facts);
    facts.filter(|(name, _)| name == "matches").map(|(_, count)| count).sum()
}

#[test]
fn every_entry_is_looked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let entries = grow(folder.path());
    for workers in [1, 2, 3, 8] {
        let record = search(folder.path(), workers, &[]);
        assert_eq!(record.errors, []);
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!(tally.all_operations(), entries, "{workers} workers");
        assert_eq!(tally.failed(), 0);
        assert_eq!(matches(&record), 30 + 7 * 40, "{workers} workers");
    }
}

#[test]
fn what_is_asked_for_decides() {
    let folder = tempfile::tempdir().unwrap();
    grow(folder.path());
    let count = |settings: &[(&str, &str)]| matches(&search(folder.path(), 3, settings));
    assert_eq!(count(&[("bytes", "3901")]), 10 + 7 * 20);
    assert_eq!(count(&[("bytes", "3901"), ("name", "*1*")]), 4 + 7 * 11 + 9);
    assert_eq!(count(&[("newer_unix_ns", "0")]), 30 + 7 * 40);
    assert_eq!(count(&[("newer_unix_ns", "9000000000000000000")]), 0);
}
