//! From a test to a plan: a phase for each thing that mdtest times, and what each of them is to the report.
//!
//! The only place where mdtest's words meet ours. A tree is a set of items whose names are the formula
//! `mdtest_tree[.TASK].DIRECTORY` and `file.mdtest.TASK.ITEM`; whose items a task works on is a shift of owners.

use iodyno_model::{
    Content, Direct, ErrorPolicy, FileLock, Finish, Intent, Item, ItemData, Items, Job, Journal, Limit,
    Measure, Open, Operation, Origin, Pattern, Payload, PayloadMarks, Phase, Pick, Place, Plan, Prepare,
    Ranks, Refresh, Script, Setting, Stamp, Stop, Target, TargetKind, Verb, Verify, VerifyWhen, Workload,
};

use super::settings::Settings;
use super::test::{ExtraPhase, MdtestTest, StoreKind, TestStore};
use super::view::{PhaseRole, ResultRow, TestPhase};
use crate::index_of;
use crate::ior::lower::{s3, stores};

/// Where no latencies are asked for, one operation in this time is timed, ns.
const SAMPLE_NS: u64 = 100_000;

/// A test's plan, and what its phases are.
pub fn plan(test: &MdtestTest) -> (Plan, Vec<TestPhase>) {
    let plan = Plan {
        name: "mdtest".into(),
        seed: test.seed.unwrap_or(u64::from(test.signature)),
        ..Plan::default()
    };
    let mut lowering = Lowering { test, plan, parts: Vec::new(), set: 0, tasks: 0, iteration: 0 };
    for (set, tasks) in test.counts.iter().enumerate() {
        (lowering.set, lowering.tasks) = (set, *tasks);
        for iteration in 0..test.iterations {
            lowering.iteration = iteration;
            lowering.iteration();
        }
    }
    (lowering.plan, lowering.parts)
}

struct Lowering<'a> {
    test: &'a MdtestTest,
    plan: Plan,
    parts: Vec<TestPhase>,
    set: usize,
    tasks: u32,
    iteration: u32,
}

/// What kind of items a set has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Files,
    Directories,
    Symlinks,
    Links,
    /// One for each directory.
    Listed,
}

/// What the back end without I/O takes its time for.
pub fn delays(settings: &Settings) -> Vec<Setting> {
    let number = |(name, option): &(String, String)| {
        let delay = settings.count(option);
        (delay > 0).then(|| Setting::new(name, delay))
    };
    let delays = ["create", "close", "sync", "xfer"];
    let names = delays.map(|what| (format!("delay_{what}_us"), format!("dummy.delay-{what}")));
    let mut settings_of: Vec<Setting> = names.iter().filter_map(number).collect();
    if settings.flag("dummy.delay-only-rank0") {
        settings_of.push(Setting::new("only_rank0", "on"));
    }
    settings_of
}

/// What is done to an object where a directory has a verb of its own.
fn in_place_of(verb: Verb) -> Verb {
    match verb {
        Verb::Mkdir => Verb::Create,
        Verb::Rmdir => Verb::Unlink,
        verb => verb,
    }
}

/// Where a directory is in a store. A path from no root is below the user's home in Hadoop, and objects have no root.
fn key(path: &str, kind: StoreKind) -> String {
    let is_below_home = kind == StoreKind::Hdfs && !path.starts_with('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if is_below_home { format!("./{}", parts.join("/")) } else { parts.join("/") }
}

/// What a store's engine is told. What is written of HDFS goes to its data nodes at once, as IOR has it.
fn client(test: &MdtestTest, kind: StoreKind) -> Vec<Setting> {
    match kind {
        StoreKind::S3 => s3::client(&test.settings),
        StoreKind::Rados => stores::rados_client(&test.settings),
        StoreKind::Hdfs => {
            let mut settings = stores::hdfs_client(&test.settings);
            settings.push(Setting::new("flush", "on"));
            settings
        }
    }
}

/// One operation on each of so many targets as a whole.
fn each_whole(verb: Verb, targets: usize) -> Workload {
    let step = |target| Operation { item: Item::Whole, ..Operation::on(verb, target) }.step("tree");
    Workload::Script(Script { steps: (0..targets).map(step).collect(), ..Script::default() })
}

impl Lowering<'_> {
    fn iteration(&mut self) {
        let (test, does) = (self.test, self.test.does);
        if does.create {
            self.tree(ResultRow::TreeCreation, Verb::Mkdir);
        }
        let some = test.items > 0;
        if does.directories && some {
            self.directories();
        }
        if does.files && some {
            self.files();
        }
        if does.remove {
            self.tree(ResultRow::TreeRemoval, Verb::Rmdir);
            self.clear();
        }
    }

    fn directories(&mut self) {
        let (does, first) = (self.test.does, self.plan.phases.len());
        for (is_done, row, verb, away) in [
            (does.create, ResultRow::DirectoryCreation, Verb::Mkdir, 0),
            (does.stat, ResultRow::DirectoryStat, Verb::Stat, 1),
            (does.rename, ResultRow::DirectoryRename, Verb::Rename, 1),
            (does.remove, ResultRow::DirectoryRemoval, Verb::Rmdir, 3),
        ] {
            if is_done {
                self.items(row, ItemKind::Directories, verb, away);
            }
        }
        self.delay(first);
    }

    fn files(&mut self) {
        let (test, does, first) = (self.test, self.test.does, self.plan.phases.len());
        let create = if test.flag("k") { Verb::Mknod } else { Verb::Create };
        for (is_done, row, verb, away) in [
            (does.create, ResultRow::FileCreation, create, 0),
            (does.stat, ResultRow::FileStat, Verb::Stat, 1),
            (does.read, ResultRow::FileRead, Verb::Open, 2),
        ] {
            if is_done {
                self.items(row, ItemKind::Files, verb, away);
            }
        }
        self.extra_phases();
        if does.remove {
            self.items(ResultRow::FileRemoval, ItemKind::Files, Verb::Unlink, 3);
        }
        self.delay(first);
    }

    /// Phases that mdtest does not have, each with what removes its traces.
    fn extra_phases(&mut self) {
        use {ExtraPhase as X, ItemKind as I, ResultRow as R, Verb as V};
        for extra in self.test.extra_phases.clone() {
            let phases: &[(R, I, V)] = match extra {
                X::Symlink => &[
                    (R::SymlinkCreation, I::Symlinks, V::Symlink),
                    (R::SymlinkRemoval, I::Symlinks, V::Unlink),
                ],
                X::Link => &[(R::LinkCreation, I::Files, V::Link), (R::LinkRemoval, I::Links, V::Unlink)],
                X::Xattr => &[(R::XattrSet, I::Files, V::Setxattr), (R::XattrGet, I::Files, V::Getxattr)],
                X::Chmod => &[(R::FileChmod, I::Files, V::Chmod)],
                X::Readdir => &[(R::DirectoryListing, I::Listed, V::Readdir)],
                X::Rename => &[(R::FileRename, I::Files, V::Rename)],
            };
            phases.iter().for_each(|(row, kind, verb)| self.items(*row, *kind, *verb, 0));
        }
    }

    /// The pause before the first of a group of phases.
    fn delay(&mut self, first: usize) {
        let seconds = self.test.settings.count("p");
        if let Some(phase) = self.plan.phases.get_mut(first) {
            phase.pause_ns = seconds.saturating_mul(1_000_000_000);
        }
    }

    /// Makes or removes the directories of all tasks' trees in a store, or the objects that stand for them: one for each,
    /// whose key ends in a slash, so that keys below it go with it also where a store keeps objects as files.
    fn store_tree(&mut self, row: ResultRow, verb: Verb) {
        let mut targets = Vec::new();
        let end = self.directory_end();
        for owner in self.collective_owners() {
            for number in 0..self.test.loops {
                let name = self.tree_name(owner.as_deref().unwrap_or("{worker}"));
                let above = self.above(number);
                let root = Items { count: 1, name: format!("{name}0{end}"), ..Items::default() };
                targets.push(self.target(above.clone(), root, Open::default(), false));
                if self.test.tree > 1 {
                    // Directory k lies in the one whose children begin at (k - 1) / b, as an item that is k - 1.
                    let below = Items {
                        count: self.test.tree - 1,
                        name: format!("{name}{{item+1}}{end}"),
                        leaves_only: false,
                        per_directory: u64::from(self.test.branch),
                        ..self.tree_items(&name)
                    };
                    targets.push(self.target(format!("{above}/{name}0"), below, Open::default(), false));
                }
            }
        }
        // A directory goes when nothing is in it any more.
        let pick = if verb == Verb::Rmdir { Pick::Backward } else { Pick::Sequential };
        if verb == Verb::Rmdir {
            targets.reverse();
        }
        let workload = Workload::Pattern(Box::new(Pattern::of(verb, pick, 8)));
        let alone = !self.test.unique || self.test.collective;
        let mut job = Job { ranks: self.ranks(alone), ..self.job(row.name(), targets, workload) };
        job.limit.passes = Some(1);
        self.phase(row, job);
    }

    /// Makes or removes the trees of all tasks.
    fn tree(&mut self, row: ResultRow, verb: Verb) {
        if self.store().is_some() {
            return self.store_tree(row, self.verb(verb));
        }
        let all = self.collective_owners();
        let mut targets = Vec::new();
        for owner in &all {
            for number in 0..self.test.loops {
                targets.push(self.tree_target(number, owner.as_deref()));
            }
        }
        let workload = each_whole(verb, targets.len());
        let alone = !self.test.unique || self.test.collective;
        let job = Job { ranks: self.ranks(alone), ..self.job(row.name(), targets, workload) };
        self.phase(row, job);
    }

    /// The tasks for which the first one works; one that stands for whoever works, where everybody does.
    fn collective_owners(&self) -> Vec<Option<String>> {
        match self.test.collective && self.test.unique {
            true => (0..self.tasks).map(|task| Some(task.to_string())).collect(),
            false => vec![None],
        }
    }

    /// The store that has files and directories; none: the file system has them.
    fn store(&self) -> Option<&TestStore> {
        self.test.store.as_ref()
    }

    /// Whether files and directories are objects.
    fn has_objects(&self) -> bool {
        self.store().is_some_and(|store| !store.kind.has_directories())
    }

    /// What a directory's name ends in.
    fn directory_end(&self) -> &'static str {
        if self.has_objects() { "/" } else { "" }
    }

    /// What is done, where a directory may be an object.
    fn verb(&self, verb: Verb) -> Verb {
        if self.has_objects() { in_place_of(verb) } else { verb }
    }

    /// Removes the directories around the trees, in a store that has some.
    fn clear_store(&mut self) {
        if self.has_objects() {
            return;
        }
        let mut targets = Vec::new();
        for directory in self.places() {
            for number in 0..self.test.loops {
                let name = format!("test-dir.{{repetition}}-{number}");
                let items = Items { count: 1, name, ..Items::default() };
                targets.push(self.target(directory.clone(), items, Open::default(), false));
            }
        }
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Rmdir, Pick::Sequential, 8)));
        let mut job =
            Job { ranks: self.ranks(true), ..self.job("test directory removal", targets, workload) };
        job.limit.passes = Some(1);
        self.add("test directory removal", job, PhaseRole::Hidden);
    }

    /// Removes the directories around the trees.
    fn clear(&mut self) {
        if self.store().is_some() {
            return self.clear_store();
        }
        let mut targets = Vec::new();
        for directory in self.test.directories.clone() {
            for number in 0..self.test.loops {
                let root = format!("{directory}/test-dir.{{repetition}}-{number}");
                let items = Items { count: 0, ..Items::default() };
                targets.push(self.target(root, items, Open::default(), false));
            }
        }
        let workload = each_whole(Verb::Rmdir, targets.len());
        let job = Job { ranks: self.ranks(true), ..self.job("test directory removal", targets, workload) };
        self.add("test directory removal", job, PhaseRole::Hidden);
    }

    /// A phase over all items of a kind; `away`: how many strides away the owner of a task's items is.
    fn items(&mut self, row: ResultRow, kind: ItemKind, verb: Verb, away: u32) {
        let alone = (self.test.collective
            && matches!(verb, Verb::Create | Verb::Mknod | Verb::Mkdir | Verb::Unlink | Verb::Rmdir))
            || (self.test.shared && matches!(verb, Verb::Unlink));
        let owners = match alone && self.test.collective {
            true => (0..self.tasks).map(|task| Some(task.to_string())).collect(),
            false => vec![None],
        };
        let verb = self.verb(verb);
        let mut targets = Vec::new();
        for owner in &owners {
            for number in 0..self.test.loops {
                targets.push(self.item_target(kind, number, owner.as_deref()));
            }
        }
        let shift = match alone {
            true => 0,
            false => (u64::from(self.test.shift) * u64::from(away) % u64::from(self.tasks.max(1))) as u32,
        };
        let mut job = self.job(row.name(), targets, Workload::Pattern(Box::new(self.pattern(row, verb))));
        job.ranks = self.ranks(alone);
        job.place = if shift > 0 { Place::ShiftRanks(shift) } else { Place::Own };
        job.payload = self.payload(row, verb);
        job.limit = self.limit(row, verb);
        job.seed = self.test.seed;
        job.start.open = self.test.flag("t") && self.test.unique;
        self.phase(row, job);
    }

    fn pattern(&self, row: ResultRow, verb: Verb) -> Pattern {
        let test = self.test;
        let bytes = if verb == Verb::Open { test.bytes.1 } else { test.bytes.0 };
        let moves = bytes > 0 && row.is_of_files() && matches!(verb, Verb::Create | Verb::Open);
        let size = if moves { bytes } else { 8 };
        let random = test.seed.is_some() && matches!(verb, Verb::Stat | Verb::Open);
        let pick = if random { Pick::Uniform } else { Pick::Sequential };
        let data = ItemData {
            sync: test.flag("y") && verb == Verb::Create && !self.has_objects(),
            read_back: test.flag("verify-write") && verb == Verb::Create,
        };
        Pattern {
            item_data: moves.then_some(data),
            chain: verb == Verb::Rename,
            ..Pattern::of(verb, pick, size)
        }
    }

    fn payload(&self, row: ResultRow, verb: Verb) -> Payload {
        let test = self.test;
        let (checks, writes) = match verb {
            _ if !row.is_of_files() => (false, false),
            Verb::Open => (test.flag("X") && test.bytes.1 > 0, false),
            Verb::Create => (test.flag("verify-write") && test.bytes.0 > 0, test.bytes.0 > 0),
            _ => (false, false),
        };
        if !checks && !writes {
            return Payload::default();
        }
        let verify = Verify { stamp: Stamp::Content, when: VerifyWhen::OnRead, ..Verify::default() };
        Payload {
            content: Content::Marked(PayloadMarks { marks: test.marks, signature: test.signature }),
            refresh: Refresh::EachWrite,
            verify: checks.then_some(verify),
            ..Payload::default()
        }
    }

    /// Each item once; after a stonewall as many as then were made.
    fn limit(&self, row: ResultRow, verb: Verb) -> Limit {
        let test = self.test;
        let mut limit = Limit { passes: Some(1), ..Limit::default() };
        if verb == Verb::Rename && row == ResultRow::FileRename {
            limit.passes = Some(2);
        }
        if !row.is_of_files() {
            return limit;
        }
        if test.stonewall_s > 0 && test.does.create {
            match row {
                ResultRow::FileCreation => {
                    limit.time_ns = Some(test.stonewall_s.saturating_mul(1_000_000_000));
                    limit.wear_out = true;
                }
                _ => limit.as_phase = Some(ResultRow::FileCreation.name().into()),
            }
        }
        if let Some(reached) = test.reached {
            limit.operations = Some(reached);
        }
        limit
    }

    fn ranks(&self, alone: bool) -> Ranks {
        match (alone, self.tasks == self.test.tasks) {
            (true, _) => Ranks::Workers(1),
            (false, true) => Ranks::All,
            (false, false) => Ranks::Workers(self.tasks),
        }
    }

    fn job(&self, name: &str, targets: Vec<usize>, workload: Workload) -> Job {
        let test = self.test;
        let mut job = Job::new(name, "psync", targets, workload);
        job.workers = test.threads;
        job.errors = ErrorPolicy::Continue;
        if test.settings.text("a") == Some("DUMMY") {
            job.engine = "dummy".into();
            job.settings = delays(&self.test.settings);
        }
        if let Some(store) = self.store() {
            job.engine = store.kind.names().1.into();
            job.settings = client(test, store.kind);
        }
        let syncs = test.flag("Y") && self.store().is_none();
        job.finish = Finish { sync: syncs.then_some(Verb::Syncfs), ..Finish::default() };
        let journal = Journal { completions: true, ..Journal::default() };
        let each = test.settings.text("savePerOpDataCSV").is_some();
        // A look at the clock costs as much as an operation; who asks for latencies gets all of them.
        let sample_ns = if each || test.every_latency { 0 } else { SAMPLE_NS };
        job.measure = Measure { sample_ns, journal: each.then_some(journal), ..Measure::default() };
        job
    }

    fn phase(&mut self, row: ResultRow, job: Job) {
        let test = self.test;
        if let Some(command) = test.settings.text("run-cmd-before-phase") {
            self.command(command, row, PhaseRole::Hidden);
        }
        self.add(row.name(), job, PhaseRole::Measured(row));
        if let Some(command) = test.settings.text("run-cmd-after-phase") {
            self.command(command, row, PhaseRole::After(row));
        }
    }

    /// A shell command, run by the first task.
    fn command(&mut self, command: &str, row: ResultRow, role: PhaseRole) {
        let name = format!("command of {}", row.name());
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Stream, 1)));
        let target = Target {
            name: "command".into(),
            kind: TargetKind::Nothing { bytes: 1 },
            open: Open::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Origin::Default,
        };
        let target = index_of(&mut self.plan.targets, target);
        let mut job = Job::new(&name, "exec", vec![target], workload);
        job.limit.operations = Some(1);
        job.ranks = Ranks::Workers(1);
        job.settings = vec![Setting::new("command", command), Setting::new("redirect", "off")];
        self.add(&name, job, role);
    }

    fn add(&mut self, name: &str, job: Job, role: PhaseRole) {
        // A tree of one directory has its row, which is no rate.
        let is_result = match role {
            PhaseRole::Measured(row) => !row.is_of_the_tree() || self.test.tree > 1,
            PhaseRole::After(_) | PhaseRole::Hidden => false,
        };
        self.plan.phases.push(Phase {
            intent: (!is_result).then_some(Intent::Nothing),
            name: name.into(),
            jobs: vec![job],
            stop: Stop::Each,
            repetition: self.iteration,
            ..Phase::default()
        });
        self.parts.push(TestPhase { set: self.set, iteration: self.iteration as usize, role });
    }

    /// The directories of the test, as the store has them.
    fn places(&self) -> Vec<String> {
        match self.store() {
            Some(store) => self.test.directories.iter().map(|path| key(path, store.kind)).collect(),
            None => self.test.directories.clone(),
        }
    }

    /// The directory above a tree.
    fn above(&self, number: u64) -> String {
        let directories = self.places();
        let directory = match directories.as_slice() {
            [one] => one.clone(),
            many => format!("{{worker:{}}}", many.join("|")),
        };
        format!("{directory}/test-dir.{{repetition}}-{number}")
    }

    /// How a tree's directories are called: whose it is, between dots.
    fn tree_name(&self, owner: &str) -> String {
        if self.test.unique { format!("mdtest_tree.{owner}.") } else { "mdtest_tree.".into() }
    }

    fn tree_items(&self, name: &str) -> Items {
        let test = self.test;
        if test.depth == 0 {
            return Items { count: 0, ..Items::default() };
        }
        Items {
            count: 0,
            directory: format!("{name}{{item}}"),
            depth: test.depth,
            branch: test.branch,
            leaves_only: test.leaves_only,
            per_directory: test.each,
            ..Items::default()
        }
    }

    fn tree_target(&mut self, number: u64, owner: Option<&str>) -> usize {
        let name = self.tree_name(owner.unwrap_or("{worker}"));
        let (root, items) = (format!("{}/{name}0", self.above(number)), self.tree_items(&name));
        let remove = self.test.does.remove && self.test.does.create;
        self.target(root, items, Open { create: true, ..Open::default() }, remove)
    }

    /// The items of one owner in one tree; with a stride, an owner's items lie in the next one's tree.
    fn item_target(&mut self, kind: ItemKind, number: u64, owner: Option<&str>) -> usize {
        let test = self.test;
        let next = |task: u32| (u64::from(task) + u64::from(test.shift)) % u64::from(self.tasks.max(1));
        let tree_owner = match (owner.and_then(|owner| owner.parse().ok()), test.shift) {
            (Some(task), _) => next(task).to_string(),
            (None, 0) => "{worker}".into(),
            (None, shift) => format!("{{worker+{shift}}}"),
        };
        let name = self.tree_name(&tree_owner);
        let first = if test.leaves_only { (test.tree - test.leaves) * test.each } else { 0 };
        let mut items = Items { count: test.items, ..self.tree_items(&name) };
        // A word that is dealt to everybody: all work on the same items, each on all of them.
        let whose = match (test.shared, owner) {
            (true, _) => "{worker:shared}",
            (false, Some(owner)) => owner,
            (false, None) => "{worker}",
        };
        let (word, from) = match kind {
            ItemKind::Files => ("file", first),
            ItemKind::Directories => ("dir", first),
            ItemKind::Symlinks => ("symlink", first),
            ItemKind::Links => ("file", first + test.items),
            ItemKind::Listed => ("list", 0),
        };
        let number_of = if from == 0 { "{item}".into() } else { format!("{{item+{from}}}") };
        let end = if kind == ItemKind::Directories { self.directory_end() } else { "" };
        items.name = format!("{word}.mdtest.{whose}.{number_of}{end}");
        items.directories = kind == ItemKind::Directories;
        if kind == ItemKind::Listed {
            (items.count, items.leaves_only) = (test.tree, false);
            items.per_directory = u64::from(test.depth > 0);
        }
        let root = format!("{}/{name}0", self.above(number));
        let direct = if test.flag("posix.odirect") { Direct::Yes } else { Direct::No };
        // What exists counts as created, as mdtest has it.
        let lock = if test.flag("posix.rangelocks") { FileLock::Range } else { FileLock::No };
        let hints = test.hints.clone().boxed();
        let open = Open { directory: true, direct, lock, hints, create: true, ..Open::default() };
        self.target(root, items, open, false)
    }

    /// A set; `remove`: what is made above it is taken away at the end.
    fn target(&mut self, root: String, items: Items, open: Open, remove: bool) -> usize {
        let name = root.rsplit('/').next().unwrap_or("tree").into();
        let objects = self.store().is_some();
        let kind = match self.store() {
            Some(store) => TargetKind::Bucket {
                url: format!("{}/{}", store.address, root.trim_start_matches('/')),
                items: Items { directories: false, ..items },
            },
            None => TargetKind::FileSet { root, items },
        };
        let target = Target {
            name,
            kind,
            open: if objects { Open::default() } else { open },
            prepare: Prepare::AsItIs,
            remove: remove && !objects,
            origin: Origin::Default,
        };
        index_of(&mut self.plan.targets, target)
    }
}
