//! Trees of items: what a run makes is what the formula says, and operations on items hold what they promise.

use std::collections::BTreeSet;
use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    ErrorPolicy, Extent, Item, ItemData, Items, Job, Kind, Open, Operation, Pattern, Phase, Pick, Plan,
    Prepare, Ranks, Record, Script, Size, Target, TargetKind, Verb, Workload,
};

const BRANCH: u64 = 3;
const DEPTH: u32 = 2;
const DIRECTORIES: u64 = 13;
const EACH: u64 = 4;

/// A tree below `base` in the shape that metadata benchmarks share.
fn tree(base: &Path, leaves_only: bool) -> Target {
    let first = if leaves_only { 4 * EACH } else { 0 };
    let items = Items {
        count: EACH * if leaves_only { 9 } else { DIRECTORIES },
        name: format!("file.{{worker}}.{{item+{first}}}"),
        directory: "tree.{item}".into(),
        depth: DEPTH,
        branch: BRANCH as u32,
        leaves_only,
        per_directory: EACH,
        ..Items::default()
    };
    Target {
        name: "tree".into(),
        kind: TargetKind::FileSet { root: format!("{}/run/tree.0", base.display()), items },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    }
}

fn whole(verb: Verb) -> Job {
    let operation = Operation { item: Item::Whole, ..Operation::on(verb, 0) };
    let script = Script { steps: vec![operation.step("tree")], ..Script::default() };
    Job { ranks: Ranks::First(1), ..Job::new("tree", "psync", vec![0], Workload::Script(script)) }
}

fn on_items(verb: Verb, workers: u32, change: impl FnOnce(&mut Pattern)) -> Job {
    let mut pattern = Pattern::of(verb, Pick::Sequential, 4096);
    change(&mut pattern);
    Job { workers, ..Job::new(verb.name(), "psync", vec![0], Workload::Pattern(Box::new(pattern))) }
}

fn done(target: &Target, jobs: Vec<Job>) -> Record {
    let phase = |job: Job| Phase { name: job.name.clone(), jobs: vec![job], ..Phase::default() };
    let phases = jobs.into_iter().map(phase).collect();
    let plan = Plan { seed: 1, targets: vec![target.clone()], phases, ..Plan::default() };
    run(&plan, &Options { witness: false, ..Options::default() }, &mut |_| {}).unwrap()
}

fn operations(record: &Record) -> Vec<u64> {
    record
        .phases
        .iter()
        .map(|phase| phase.jobs[0].tally.lines.iter().map(|line| line.operations).sum())
        .collect()
}

/// All paths below a directory, relative to it.
fn below(root: &Path, at: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        found.insert(path.strip_prefix(root).unwrap().display().to_string());
        if path.is_dir() {
            below(root, &path, found);
        }
    }
}

fn paths(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    below(root, root, &mut found);
    found
}

/// The path of a directory of the tree by its number, by counting upwards from it.
fn directory(mut number: u64) -> String {
    let mut path = String::new();
    while number > 0 {
        path = format!("tree.{number}/{path}");
        number = (number - 1) / BRANCH;
    }
    path
}

#[test]
fn the_tree_that_is_made_is_the_formula() {
    for leaves_only in [false, true] {
        let base = tempfile::tempdir().unwrap();
        let target = tree(base.path(), leaves_only);
        let made = done(&target, vec![whole(Verb::Mkdir), on_items(Verb::Create, 2, |_| ())]);
        assert_eq!(made.errors, []);
        let first = if leaves_only { 4 } else { 0 };
        assert_eq!(operations(&made), [DIRECTORIES, 2 * EACH * (DIRECTORIES - first)]);
        let mut wanted: BTreeSet<String> =
            (1..DIRECTORIES).map(|number| directory(number).trim_end_matches('/').to_string()).collect();
        for (worker, item) in
            (0..2).flat_map(|worker| (first * EACH..DIRECTORIES * EACH).map(move |item| (worker, item)))
        {
            wanted.insert(format!("{}file.{worker}.{item}", directory(item / EACH)));
        }
        assert_eq!(paths(&base.path().join("run/tree.0")), wanted);
        let gone = done(
            &target,
            vec![on_items(Verb::Stat, 2, |_| ()), on_items(Verb::Unlink, 2, |_| ()), whole(Verb::Rmdir)],
        );
        assert_eq!(gone.errors, []);
        assert_eq!(operations(&gone)[2], DIRECTORIES);
        assert_eq!(paths(base.path()), BTreeSet::from(["run".to_string()]));
    }
}

#[test]
fn a_chain_of_renames_leaves_every_name_in_its_place() {
    let base = tempfile::tempdir().unwrap();
    let target = tree(base.path(), false);
    let before = done(&target, vec![whole(Verb::Mkdir), on_items(Verb::Create, 2, |_| ())]);
    assert_eq!(before.errors, []);
    let (names, root) = (paths(base.path()), base.path().join("run/tree.0"));
    std::fs::write(root.join("file.0.0"), "the first").unwrap();
    let renamed = done(&target, vec![on_items(Verb::Rename, 2, |pattern| pattern.chain = true)]);
    assert_eq!((renamed.errors.len(), operations(&renamed)), (0, vec![2 * (EACH * DIRECTORIES + 1)]));
    assert_eq!(paths(base.path()), names);
    assert_eq!(std::fs::read_to_string(root.join("tree.3/tree.12/file.0.51")).unwrap(), "the first");
    let moved = done(&target, vec![on_items(Verb::Rename, 1, |_| ())]);
    assert_eq!(moved.errors, []);
    assert!(root.join("tree.1/file.0.56").exists() && !root.join("file.0.0").exists());
}

#[test]
fn creating_writes_and_opening_reads_as_one_operation() {
    let base = tempfile::tempdir().unwrap();
    let target = tree(base.path(), false);
    let data = |pattern: &mut Pattern| {
        pattern.item_data = Some(ItemData { sync: true, read_back: true });
        pattern.size.write = Size::Fixed(3901);
        pattern.size.read = Size::Fixed(3901);
    };
    let record = done(
        &target,
        vec![whole(Verb::Mkdir), on_items(Verb::Create, 1, data), on_items(Verb::Open, 1, data)],
    );
    assert_eq!(record.errors, []);
    for phase in &record.phases[1..] {
        let line = &phase.jobs[0].tally.lines[0];
        assert_eq!((line.operations, line.bytes), (EACH * DIRECTORIES, EACH * DIRECTORIES * 3901));
    }
    assert_eq!(std::fs::metadata(base.path().join("run/tree.0/tree.1/file.0.4")).unwrap().len(), 3901);
    // What holds less than is to be read is no success, and neither is creating what exists.
    let more = |pattern: &mut Pattern| {
        data(pattern);
        pattern.size.read = Size::Fixed(4000);
    };
    let mut reads = on_items(Verb::Open, 1, more);
    let mut again = on_items(Verb::Create, 1, |_| ());
    (reads.errors, again.errors) = (ErrorPolicy::Continue, ErrorPolicy::Continue);
    let record = done(&target, vec![reads, again]);
    let failed = |phase: usize| record.phases[phase].jobs[0].tally.failed();
    assert_eq!((operations(&record), failed(0), failed(1)), (vec![0, 0], 52, 52));
}

#[test]
fn a_missing_tree_is_a_failure_where_it_must_be_there() {
    let base = tempfile::tempdir().unwrap();
    let mut target = tree(base.path(), false);
    target.open.directory = true;
    let record = done(&target, vec![on_items(Verb::Stat, 1, |_| ())]);
    assert!(record.errors[0].message.contains("tree.0"), "{:?}", record.errors);
    assert_eq!(paths(base.path()), BTreeSet::new());
}

#[test]
fn ten_million_names_cost_no_memory() {
    let base = tempfile::tempdir().unwrap();
    let mut target = tree(base.path(), false);
    let TargetKind::FileSet { items, .. } = &mut target.kind else { unreachable!() };
    (items.count, items.per_directory) = (10_000_000 * DIRECTORIES, 10_000_000);
    let mut job = on_items(Verb::Stat, 1, |pattern| {
        pattern.pick = iodyno_model::PerDirection::same(Pick::Uniform);
    });
    job.limit.operations = Some(1000);
    job.errors = ErrorPolicy::Continue;
    let before = resident();
    let record = done(&target, vec![whole(Verb::Mkdir), job]);
    assert_eq!(record.phases[1].jobs[0].tally.failed(), 1000);
    assert!(resident().saturating_sub(before) < 64 << 20, "{} then {}", before, resident());
    assert_eq!(record.phases[1].jobs[0].tally.operations(Kind::Metadata), 0);
}

/// Resident memory of this process, bytes; 0 where it is unknown.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The mode bits of everything that lies below a directory and is a file.
fn modes(root: &Path) -> BTreeSet<u32> {
    use std::os::unix::fs::PermissionsExt;
    let files = paths(root).into_iter().map(|path| root.join(path)).filter(|path| path.is_file());
    files.map(|path| path.metadata().unwrap().permissions().mode() & 0o7777).collect()
}

#[test]
fn files_are_made_with_the_mode_that_is_said() {
    for engine in ["psync", "io_uring"] {
        let base = tempfile::tempdir().unwrap();
        let mut target = tree(base.path(), false);
        target.open.permissions = Some(0o600);
        let create = Job { engine: engine.into(), ..on_items(Verb::Create, 2, |_| ()) };
        let made = done(&target, vec![whole(Verb::Mkdir), create]);
        if engine == "io_uring" && !made.errors.is_empty() {
            continue; // Not every kernel has it.
        }
        assert_eq!(made.errors, []);
        assert_eq!(modes(base.path()), BTreeSet::from([0o600]), "{engine}");
    }
    let base = tempfile::tempdir().unwrap();
    let set = |prepare, count| {
        let items = Items { count, name: "{item}".into(), size: Size::Fixed(100), ..Items::default() };
        let root = format!("{}/set", base.path().display());
        let open = Open { permissions: Some(0o640), ..Open::default() };
        let kind = TargetKind::FileSet { root, items };
        Target { name: "set".into(), kind, open, prepare, remove: false, origin: Default::default() }
    };
    let laid = done(&set(Prepare::Filled, 5), vec![on_items(Verb::Stat, 1, |_| ())]);
    assert_eq!((laid.errors, modes(base.path())), (vec![], BTreeSet::from([0o640])));
    // One operation says a mode of its own.
    let own = Operation {
        item: Item::Index(7),
        handle: Some(0),
        arguments: vec![("mode".into(), "600".into())],
        ..Operation::on(Verb::Create, 0)
    };
    let script = Script { steps: vec![own.step("create")], ..Script::default() };
    let job = Job::new("own", "psync", vec![0], Workload::Script(script));
    let made = done(&set(Prepare::AsItIs, 8), vec![job]);
    assert_eq!((made.errors, modes(base.path())), (vec![], BTreeSet::from([0o600, 0o640])));
}

#[test]
fn one_file_is_made_with_the_mode_that_is_said() {
    for prepare in [Prepare::Filled, Prepare::Reserved, Prepare::Sparse, Prepare::Empty, Prepare::AsItIs] {
        let base = tempfile::tempdir().unwrap();
        let path = format!("{}/file", base.path().display());
        let open = Open { permissions: Some(0o600), create: true, ..Open::default() };
        let kind = TargetKind::File { path, size: Extent::Bytes(8192) };
        let target =
            Target { name: "file".into(), kind, open, prepare, remove: false, origin: Default::default() };
        let job = on_items(Verb::Write, 1, |_| ());
        let made = done(&target, vec![job]);
        assert_eq!((made.errors, modes(base.path())), (vec![], BTreeSet::from([0o600])), "{prepare:?}");
    }
}
