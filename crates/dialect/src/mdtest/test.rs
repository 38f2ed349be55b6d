//! One test: what the options mean together, judged once for everybody who lowers or reports it.
//!
//! Judges options against each other and against the world; refuses to know how anything is carried out.

use iodyno_model::{Diagnostic, FileSystemHints, Marks, Origin, WorldFacts};

use super::settings::Settings;
use crate::file_system_hints;
use crate::ior::lower::{s3, stores};
use crate::option::refuse;
use crate::{Loader, PathKind};

/// Directory loops that one run may have: each is a tree of its own that every task has open.
const LOOPS_MOST: u64 = 10_000;
/// Tasks for which one may work (`-c`).
const COLLECTIVE_MOST: u32 = 4096;

/// A test, judged.
#[derive(Clone, Debug, Default)]
pub struct MdtestTest {
    /// What was said.
    pub settings: Settings,
    /// The directories it runs in.
    pub directories: Vec<String>,
    pub tasks: u32,
    /// Tasks of one rank.
    pub threads: u32,
    /// The numbers of tasks that it runs with, one after the other.
    pub counts: Vec<u32>,
    /// The tasks' machines.
    pub world: WorldFacts,
    /// Items of one task in one tree.
    pub items: u64,
    /// Items in a directory.
    pub each: u64,
    /// Directories of a tree, with its root.
    pub tree: u64,
    /// Directories of the lowest level.
    pub leaves: u64,
    /// Levels below the root.
    pub depth: u32,
    /// Directories in a directory.
    pub branch: u32,
    /// Trees, one after the other.
    pub loops: u64,
    /// Whether items lie in the leaves only.
    pub leaves_only: bool,
    /// Whether each task has a tree of its own.
    pub unique: bool,
    /// Whether all tasks share each file.
    pub shared: bool,
    /// Whether the first task works for all.
    pub collective: bool,
    /// What is done.
    pub does: Does,
    /// How many tasks further the next phase's data are.
    pub shift: u32,
    /// Bytes written to and read from each file.
    pub bytes: (u64, u64),
    /// The seed of a random order; none: in order.
    pub seed: Option<u64>,
    /// How often.
    pub iterations: u32,
    /// Seconds of creating files; 0: all of them.
    pub stonewall_s: u64,
    /// Items that an earlier run came to.
    pub reached: Option<u64>,
    /// Tells one run's content from another's.
    pub signature: u32,
    /// What content is.
    pub marks: Marks,
    /// Phases that mdtest does not have.
    pub extra_phases: Vec<ExtraPhase>,
    /// Whether times are printed as mdtest prints them, under a heading that names another unit.
    pub bugs: bool,
    /// Whether every operation is timed.
    pub every_latency: bool,
    /// Where files and directories are, if in no file system of this machine.
    pub store: Option<TestStore>,
    /// What the client of a parallel file system is asked for.
    pub hints: FileSystemHints,
    /// Warnings, without the word.
    pub warnings: Vec<String>,
}

/// What is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Does {
    pub directories: bool,
    pub files: bool,
    /// Made.
    pub create: bool,
    /// Looked at.
    pub stat: bool,
    pub read: bool,
    pub rename: bool,
    pub remove: bool,
}

/// A store in place of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestStore {
    pub kind: StoreKind,
    /// What stands before a path: `s3://BUCKET`.
    pub address: String,
}

/// What kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    S3,
    Rados,
    Hdfs,
}

impl StoreKind {
    /// The kind of a back end; none: it works on files.
    fn of(api: &str) -> Option<StoreKind> {
        match api {
            "RADOS" => Some(StoreKind::Rados),
            "HDFS" => Some(StoreKind::Hdfs),
            _ => s3::shape_of(api).map(|_| StoreKind::S3),
        }
    }

    /// Name of the back end and of its engine.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            StoreKind::S3 => ("S3", "s3"),
            StoreKind::Rados => ("RADOS", "rados"),
            StoreKind::Hdfs => ("HDFS", "hdfs"),
        }
    }

    /// Whether it has directories; else an empty object whose name ends in a slash stands for one.
    pub fn has_directories(self) -> bool {
        self == StoreKind::Hdfs
    }
}

/// A phase that mdtest does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraPhase {
    /// Symbolic links.
    Symlink,
    /// Second names.
    Link,
    /// Extended attributes.
    Xattr,
    /// Mode bits.
    Chmod,
    /// Lists of directories.
    Readdir,
    /// Renames from one directory to the next, and back.
    Rename,
}

impl ExtraPhase {
    /// All of them, in the order they run.
    pub const ALL: [(&'static str, ExtraPhase); 6] = [
        ("symlink", ExtraPhase::Symlink),
        ("link", ExtraPhase::Link),
        ("xattr", ExtraPhase::Xattr),
        ("chmod", ExtraPhase::Chmod),
        ("readdir", ExtraPhase::Readdir),
        ("rename", ExtraPhase::Rename),
    ];
}

impl MdtestTest {
    /// Items of all tasks together, in all trees.
    pub fn all_items(&self, tasks: u32) -> u64 {
        self.items.saturating_mul(self.loops).saturating_mul(u64::from(tasks))
    }

    /// Whether a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.settings.flag(name)
    }

    pub fn verbose(&self) -> i64 {
        self.settings.number("v").max(self.settings.number("V"))
    }
}

/// Judges a test.
///
/// # Errors
/// Everything about it that cannot be.
pub fn judge(settings: Settings, loader: &mut dyn Loader) -> Result<MdtestTest, Vec<Diagnostic>> {
    let text = |name: &str| settings.text(name).unwrap_or_default().to_string();
    let flag = |name: &str| settings.flag(name);
    let test = MdtestTest {
        directories: text("d").split('@').filter(|path| !path.is_empty()).map(String::from).collect(),
        leaves_only: flag("L"),
        unique: flag("u"),
        shared: flag("S"),
        collective: flag("c"),
        does: does(&settings),
        bytes: (settings.count("w"), settings.count("e")),
        iterations: u32::try_from(settings.number("i")).unwrap_or(0),
        stonewall_s: settings.count("W"),
        marks: match text("dataPacketType").as_str() {
            "offset" => Marks::Placed,
            "incompressible" => Marks::DrawnOnce,
            "random" => Marks::Drawn,
            _ => Marks::Counted,
        },
        settings,
        ..MdtestTest::default()
    };
    let mut judge = TestChecker { test, wrong: Vec::new() };
    judge.tasks(loader);
    judge.tree();
    judge.together();
    judge.data();
    judge.stonewall(loader);
    judge.seeds(loader);
    judge.words(loader);
    judge.store(loader);
    judge.places(loader);
    judge.hints(loader);
    if judge.test.flag("warningAsErrors") {
        let warnings = std::mem::take(&mut judge.test.warnings);
        warnings
            .iter()
            .for_each(|warning| judge.refuse("warningAsErrors", warning, "--warningAsErrors was asked for"));
    }
    if judge.wrong.is_empty() { Ok(judge.test) } else { Err(judge.wrong) }
}

/// Which phases: those that were named, or all.
fn does(settings: &Settings) -> Does {
    let flag = |name: &str| settings.flag(name);
    let (all, both) = (!["C", "T", "E", "r", "U"].iter().any(|name| flag(name)), !flag("F") && !flag("D"));
    Does {
        directories: (flag("D") || both) && !flag("S"),
        files: flag("F") || both || (flag("S") && flag("D")),
        create: flag("C") || all,
        stat: flag("T") || all,
        read: flag("E") || all,
        rename: flag("U") || all,
        remove: flag("r") || all,
    }
}

struct TestChecker {
    test: MdtestTest,
    wrong: Vec<Diagnostic>,
}

impl TestChecker {
    /// Says what cannot be, at the place where the option was said.
    fn refuse(&mut self, name: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(&self.test.settings.origin(name), what).hint(hint));
    }

    fn tasks(&mut self, loader: &dyn Loader) {
        let world = loader.world();
        let threads = threads(loader);
        self.wrong.extend(threads.clone().err());
        let test = &mut self.test;
        test.threads = threads.unwrap_or(1);
        test.tasks = world.ranks().saturating_mul(test.threads);
        let by_slot = test.threads > 1 || world.ranks() < 2 || world.node(0) == world.node(1);
        let on_first = world.on_node(0).saturating_mul(test.threads);
        let stride = u32::try_from(test.settings.number("N")).unwrap_or(0);
        // The neighbour is to be on another node, so a stride counts nodes where neighbours share one.
        test.shift = if world.machines() > 1 && by_slot { stride.saturating_mul(on_first) } else { stride };
        test.world = world;
        let (first, last) = (test.settings.number("f"), test.settings.number("l"));
        let step = test.settings.number("s");
        test.counts = counts(first, last, step, test.tasks);
        refuse! { self
            "f" if self.test.counts.is_empty() => "no number of tasks lies between first (-f) and last (-l)", "e.g. -f 1 -l 8 -s 1";
        }
    }

    fn tree(&mut self) {
        let (depth, branch) = (self.test.settings.number("z"), self.test.settings.number("b"));
        refuse! { self
            "z" if !(0..=256).contains(&depth) => "the depth must be 0 to 256", "e.g. -z 2";
            "b" if depth > 0 && branch < 1 => "a tree needs a branching factor of at least 1", "e.g. -b 2";
        }
        let (depth, branch) = (depth.clamp(0, 256) as u32, branch.clamp(1, i64::from(u32::MAX)) as u64);
        let leaves = branch.checked_pow(depth);
        let tree = (0..=depth).try_fold(0u64, |sum, level| sum.checked_add(branch.checked_pow(level)?));
        let (Some(leaves), Some(tree)) = (leaves, tree.filter(|tree| *tree < 1 << 40)) else {
            return self.refuse("z", "more directories than can be", "make -b or -z smaller");
        };
        let test = &mut self.test;
        (test.depth, test.branch, test.leaves, test.tree) = (depth, branch as u32, leaves, tree);
        let (items, each) = (test.settings.count("n"), test.settings.count("I"));
        let holders = if test.leaves_only { leaves } else { tree };
        (test.each, test.loops) = match (each, items) {
            (0, items) => (items / holders, 1),
            (each, 0) => (each, 1),
            (each, items) => (each, (items / each).max(1)),
        };
        test.items = test.each.saturating_mul(holders);
        let (unique, loops) = (test.unique, test.loops);
        let both = each > 0 && items > 0;
        let all = test.items.checked_mul(loops).and_then(|items| items.checked_mul(u64::from(test.tasks)));
        refuse! { self
            "n" if each == 0 && items > 0 && items < holders =>
                format!("{items} items leave none for each of {holders} directories"), "raise -n, or give -I";
            "I" if both && unique => "with -u, give only one of items (-n) and items per directory (-I)", "give -n or -I";
            "n" if both && !unique && items % each.max(1) != 0 =>
                "the items (-n) must be a multiple of the items per directory (-I)", "give -n or -I";
            "I" if loops > LOOPS_MOST => "more than 10000 test directories", "raise -I, or use a tree: -z and -b";
            "n" if all.is_none_or(|all| all > i64::MAX as u64) => "more items than can be", "lower -n or -I";
        }
    }

    fn together(&mut self) {
        let MdtestTest { unique, shared, collective, shift, tasks, iterations, ref directories, .. } =
            self.test;
        let (several, many) = (directories.len() > 1, directories.len());
        let is_bad = directories.iter().any(|path| path.contains(['|', '{', '}']));
        refuse! { self
            "c" if shared && collective => "-c does not go with -S", "leave one of them out";
            "c" if several && collective => "-c does not go with several directories", "name one with -d";
            "u" if unique && shared => "-u does not go with -S", "leave one of them out";
            "N" if several && shift > 0 => "-N does not go with several directories", "name one with -d";
            "d" if several && !unique => "several directories need a tree for each task", "add -u";
            "d" if many > tasks as usize => "more directories than tasks", "name fewer, or run more tasks";
            "d" if many == 0 => "no directory", "-d DIR";
            "c" if collective && tasks > COLLECTIVE_MOST =>
                "one task cannot work for more than 4096", "--also threads=N or a launcher makes more tasks; see -c";
            "B" if self.test.flag("B") => "phases without barriers between them have no rates of their own",
                "leave -B out; --also json=FILE has the time at which each task ended";
            "d" if is_bad => "a directory's name cannot hold |, { or }", "choose another name";
            "i" if !(1..=1_000_000).contains(&iterations) => "iterations must be 1 to 1000000", "e.g. -i 3";
        }
    }

    fn data(&mut self) {
        let (write, read) = self.test.bytes;
        let does = self.test.does;
        let is_odd = |name: &str| !(0..=1 << 30).contains(&self.test.settings.number(name));
        let odd = ["w", "e"].into_iter().find(|name| is_odd(name)).unwrap_or("");
        let (checks, checks_write) = (self.test.flag("X"), self.test.flag("verify-write"));
        let is_dummy = self.test.settings.text("a") == Some("DUMMY");
        let dummy = |option: &str| format!("{option}: DUMMY stores nothing that could be verified");
        let more = does.create && does.read && does.files && read > write;
        refuse! { self
            odd if !odd.is_empty() => "a file's bytes must be 0 to 1 GiB", "e.g. -w 3901 -e 3901";
            "k" if write > 0 && self.test.flag("k") => "-k does not go with -w", "mknod makes empty files";
            "X" if checks && !does.read => "what is not read cannot be verified", "add -E";
            "X" if is_dummy && checks => dummy("-X"), "leave it out, or use -a POSIX";
            "verify-write" if is_dummy && checks_write => dummy("--verify-write"), "leave it out, or use -a POSIX";
            "posix.rangelocks" if is_dummy && self.test.flag("posix.rangelocks") =>
                "DUMMY has nothing to lock", "leave it out, or use -a POSIX";
            "X" if checks && read == 0 => "no bytes are read", "add -e BYTES";
            "verify-write" if checks_write && write == 0 => "no bytes are written", "add -w BYTES";
            "e" if more => "more is read than was written", "-e must not be above -w";
        }
        if does.read && read == 0 {
            self.test
                .warnings
                .push("Read bytes is 0, thus, a read test will actually just open/close".into());
        }
    }

    fn stonewall(&mut self, loader: &mut dyn Loader) {
        let seconds = self.test.settings.number("W");
        refuse! { self
            "W" if !(0..=1 << 30).contains(&seconds) => "a stonewall is 0 to 2^30 seconds", "e.g. -W 300";
        }
        let Some(path) = self.test.settings.text("x").map(String::from) else { return };
        if self.test.does.create {
            return;
        }
        let read = loader.read(&path).map(|bytes| String::from_utf8_lossy(&bytes).trim().parse::<u64>());
        match read {
            Ok(Ok(items)) => self.test.reached = Some(items),
            Ok(Err(_)) => self.refuse("x", format!("{path}: no number"), "it is written by a run with -C"),
            Err(_) => self.test.warnings.push("Could not read stonewall status file".into()),
        }
    }

    fn seeds(&mut self, loader: &dyn Loader) {
        let now = loader.now_unix_ns() / 1_000_000_000;
        let test = &mut self.test;
        test.seed = match (test.settings.number("random-seed"), test.settings.flag("R")) {
            (seed @ 1.., _) => Some(seed as u64),
            (_, true) => Some(now),
            _ => None,
        };
        test.signature = match test.settings.number("G") {
            -1 => now as u32,
            signature => signature as u32,
        };
    }

    /// Our own words: further phases, every latency, the original's faults.
    fn words(&mut self, loader: &dyn Loader) {
        let mut refuse = |what: String, hint: &str| {
            self.wrong.push(Diagnostic::error(&Origin::argument("--also"), what).hint(hint));
        };
        let names = loader.also("phases").unwrap_or_default();
        for name in names.split(':').filter(|name| !name.is_empty()) {
            match ExtraPhase::ALL.iter().find(|(known, _)| *known == name) {
                Some((_, extra)) => self.test.extra_phases.push(*extra),
                None => {
                    refuse(format!("phases: no `{name}`"), "phases=symlink:link:xattr:chmod:readdir:rename")
                }
            }
        }
        self.test.every_latency = loader.also("percentiles").is_some();
        match loader.also("bugs").as_deref() {
            None => {}
            Some("mdtest") => self.test.bugs = true,
            Some(other) => refuse(format!("bugs={other}: no such tool here"), "bugs=mdtest"),
        }
    }

    /// What goes to the client of a parallel file system.
    fn hints(&mut self, loader: &dyn Loader) {
        let settings = &self.test.settings;
        let api = settings.text("a").unwrap_or_default().to_string();
        let path = self.test.directories.first().map(String::as_str);
        let judged = file_system_hints::judge(settings, &api, path, true, loader);
        self.test.hints = judged.hints;
        self.test.warnings.extend(judged.warnings);
        judged.refused.into_iter().for_each(|(name, what, hint)| self.refuse(name, what, hint));
    }

    /// The address of the store, and what is wrong with it or with who asks.
    fn store_address(&mut self, kind: StoreKind, api: &str, loader: &dyn Loader) -> String {
        let settings = &self.test.settings;
        let (address, defects) = match kind {
            StoreKind::S3 => {
                let bucket = s3::bucket(api, settings, loader);
                let defects = s3::defects(settings, &bucket, loader).into_iter();
                (format!("s3://{bucket}"), defects.map(|(what, hint)| ("a", what, hint)).collect())
            }
            StoreKind::Rados => (stores::rados_address(settings), stores::rados_defects(settings)),
            StoreKind::Hdfs => (stores::hdfs_address(settings), stores::hdfs_defects(settings)),
        };
        defects.into_iter().for_each(|(option, what, hint)| self.refuse(option, what, hint));
        address
    }

    /// What a store must be told, and what it cannot.
    fn store(&mut self, loader: &dyn Loader) {
        let api = self.test.settings.text("a").unwrap_or_default().to_string();
        let Some(kind) = StoreKind::of(&api) else { return };
        let address = self.store_address(kind, &api, loader);
        self.test.store = Some(TestStore { kind, address });
        let test = &self.test;
        let (title, _) = kind.names();
        let (write, read) = test.bytes;
        let part = test.does.files && test.does.create && test.does.read && read > 0 && read != write;
        let part = part && kind == StoreKind::S3;
        let is_odd = test.directories.iter().any(|path| path.split('/').any(|part| part == ".."));
        let renames = test.flag("U");
        refuse! { self
            "U" if renames && kind == StoreKind::Hdfs => "the back end HDFS has no rename", "leave -U out";
            "U" if renames && kind != StoreKind::Hdfs => "an object has no other name", "leave -U out";
            "k" if self.test.flag("k") => "an object is no node", "leave -k out";
            "e" if part => "an object is read whole",
                "-e as many bytes as -w, or none: -e 0 asks whether it is there";
            "verify-write" if self.test.flag("verify-write") => "what is written is not read back at once",
                "-X -E reads and verifies all afterwards";
            "posix.odirect" if self.test.flag("posix.odirect") => "no page cache lies before an object", "leave it out";
            "posix.rangelocks" if self.test.flag("posix.rangelocks") => "objects have no locks", "leave it out";
            "d" if is_odd => "keys of objects have no `..`", "name the path itself";
        }
        if !self.test.extra_phases.is_empty() {
            let wrong = Diagnostic::error(&Origin::argument("--also"), "phases: objects have none of them");
            self.wrong.push(wrong.hint("leave phases= out, or use -a POSIX"));
        }
        if std::mem::take(&mut self.test.does.rename) && self.test.does.directories {
            let why = match kind {
                StoreKind::Hdfs => "the back end has no rename",
                StoreKind::S3 | StoreKind::Rados => "an object has no other name",
            };
            self.test.warnings.push(format!("{title}: {why}: no directory is renamed"));
        }
        for (option, letter) in [("y", "-y"), ("Y", "-Y")] {
            let why = match (kind, option) {
                (StoreKind::Hdfs, "y") => continue,
                (StoreKind::Hdfs, _) => "nothing makes all of it durable at once",
                _ => "a write is durable when it is answered",
            };
            if self.test.flag(option) {
                self.test.warnings.push(format!("{title}: {why}: {letter} changes nothing"));
            }
        }
    }

    /// What a directory must be before the run begins.
    fn places(&mut self, loader: &dyn Loader) {
        if self.test.store.is_some() {
            return;
        }
        for path in self.test.directories.clone() {
            let facts = loader.look(&path);
            if facts.is_some_and(|facts| facts.kind != PathKind::Directory) {
                self.refuse("d", format!("{path}: not a directory"), "-d names a directory");
            }
        }
    }
}

/// Tasks of each rank: `--also threads=N`.
///
/// # Errors
/// A number that cannot be.
pub fn threads(loader: &dyn Loader) -> Result<u32, Diagnostic> {
    let told = loader.also("threads");
    let count = told.as_deref().map_or(Some(1), |text| text.parse().ok());
    count.filter(|count| (1..=65536).contains(count)).ok_or_else(|| {
        Diagnostic::error(&Origin::argument("--also"), "threads: expected 1 to 65536")
            .hint("--also threads=4 gives every rank four tasks")
    })
}

/// A digit for each task: 1 where it is on the first one's node. `threads`: tasks of one rank.
pub fn node_map(world: &WorldFacts, tasks: u32, threads: u32) -> String {
    let first = world.node(0);
    (0..tasks).map(|task| if world.node(task / threads.max(1)) == first { '1' } else { '0' }).collect()
}

/// The numbers of tasks that a test runs with.
fn counts(first: i64, last: i64, step: i64, tasks: u32) -> Vec<u32> {
    if last == 0 {
        return vec![tasks];
    }
    let (mut counts, step, mut count) = (Vec::new(), step.max(1), first.max(1));
    while count <= last && count <= i64::from(tasks) {
        counts.push(count as u32);
        // 1, then whole multiples of the stride: 1, 4, 8, 12.
        count = if count == 1 && step > 1 { step } else { count + step };
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn task_counts_go_from_first_to_last_by_the_stride() {
        assert_eq!(counts(1, 0, 1, 8), [8]);
        assert_eq!(counts(2, 6, 2, 8), [2, 4, 6]);
        assert_eq!(counts(1, 9, 4, 8), [1, 4, 8]);
        assert_eq!(counts(9, 12, 1, 8), Vec::<u32>::new());
    }
}
