//! One test: what the options mean together, judged once for everybody who lowers or reports it.
//!
//! Judges options against each other and against the world; refuses to know how anything is carried out.

use iodyno_model::{Diagnostic, FileSystemHints, Marks};

use super::settings::Settings;
use crate::file_system_hints;
use crate::mdtest::test::{node_map, threads};
use crate::option::refuse;
use crate::{Loader, PathKind};

/// Data sets of a task: each is a directory that it keeps open three times.
const SETS_MOST: i64 = 1000;
/// Numbers of objects, as the original's are.
const OBJECTS_MOST: i64 = i32::MAX as i64;
/// How often the working set may be gone through.
const ITERATIONS_MOST: i64 = 10_000;
/// Waiting times that an adaptive run tries beside none: each twice the one before.
pub const ADAPTIVE_FIRST: f64 = 0.0625;
pub const ADAPTIVE_STEPS: u32 = 7;

/// A test, judged.
#[derive(Clone, Debug, Default)]
pub struct WorkbenchTest {
    /// What was said.
    pub settings: Settings,
    /// The directory around the data sets.
    pub directory: String,
    pub tasks: u32,
    /// Tasks of one rank.
    pub threads: u32,
    /// One digit for each task: whether it is on the first one's node.
    pub node_map: String,
    /// Data sets of a task.
    pub sets: u32,
    /// Objects made beforehand in each data set: the working set.
    pub precreated: u64,
    /// Objects of each data set that an iteration goes through.
    pub objects: u64,
    pub iterations: u32,
    /// Bytes of an object.
    pub bytes: u64,
    /// How many tasks further the writer and the reader of a data set are than the one before.
    pub offset: i64,
    /// The first object's number.
    pub start: u64,
    /// Seconds after which an iteration ends; 0: when all is done.
    pub stonewall_s: u64,
    pub does: Does,
    pub signature: u32,
    pub marks: Marks,
    /// What the client of a parallel file system is asked for.
    pub hints: FileSystemHints,
    /// Warnings, without the word.
    pub warnings: Vec<String>,
}

/// Which phases are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Does {
    pub precreate: bool,
    pub benchmark: bool,
    pub cleanup: bool,
}

impl WorkbenchTest {
    pub fn flag(&self, name: &str) -> bool {
        self.settings.flag(name)
    }

    /// The waiting times of an iteration, as parts of the time that an operation took.
    pub fn waiting(&self) -> Vec<f64> {
        if !self.flag("T") {
            return vec![self.settings.decimal("t")];
        }
        let steps = (0..ADAPTIVE_STEPS).map(|step| ADAPTIVE_FIRST * f64::from(1u32 << step));
        std::iter::once(0.0).chain(steps).collect()
    }

    /// Whose data set a task reads and removes from, or writes to, so many tasks further on.
    pub fn further(&self, set: u32, sign: i64) -> u32 {
        let tasks = i64::from(self.tasks.max(1));
        let away = self.offset.saturating_mul(i64::from(set) + 1).saturating_mul(sign);
        away.rem_euclid(tasks) as u32
    }
}

/// Judges a test.
///
/// # Errors
/// Everything about it that cannot be.
pub fn judge(settings: Settings, loader: &mut dyn Loader) -> Result<WorkbenchTest, Vec<Diagnostic>> {
    let flag = |name: &str| settings.flag(name);
    let all = !flag("1") && !flag("2") && !flag("3");
    let test = WorkbenchTest {
        directory: settings.text("o").unwrap_or_default().trim_end_matches('/').to_string(),
        sets: settings.count("D") as u32,
        precreated: settings.count("P"),
        objects: settings.count("I"),
        iterations: settings.count("R") as u32,
        bytes: settings.count("S"),
        offset: settings.number("O"),
        start: settings.count("start-item"),
        stonewall_s: settings.count("w"),
        does: Does { precreate: flag("1") || all, benchmark: flag("2") || all, cleanup: flag("3") || all },
        marks: match settings.text("dataPacketType") {
            _ if flag("incompressible-data") => Marks::DrawnOnce,
            Some("offset") => Marks::Placed,
            Some("incompressible") => Marks::DrawnOnce,
            Some("random") => Marks::Drawn,
            _ => Marks::Counted,
        },
        signature: match settings.number("G") {
            -1 => (loader.now_unix_ns() / 1_000_000_000) as u32,
            signature => signature as u32,
        },
        settings,
        ..WorkbenchTest::default()
    };
    let mut judge = TestChecker { test, wrong: Vec::new() };
    judge.tasks(loader);
    judge.numbers();
    judge.together();
    judge.place(loader);
    judge.hints(loader);
    judge.position(loader);
    if judge.wrong.is_empty() { Ok(judge.test) } else { Err(judge.wrong) }
}

struct TestChecker {
    test: WorkbenchTest,
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
        test.node_map = node_map(&world, test.tasks, test.threads);
    }

    /// What goes to the client of a parallel file system.
    fn hints(&mut self, loader: &dyn Loader) {
        let settings = &self.test.settings;
        let api = settings.text("a").unwrap_or_default().to_string();
        let judged = file_system_hints::judge(settings, &api, Some(&self.test.directory), true, loader);
        // The original takes this one and gives it to nobody.
        self.test.hints = FileSystemHints { gpfs_create_sharing: false, ..judged.hints };
        self.test.warnings.extend(judged.warnings);
        judged.refused.into_iter().for_each(|(name, what, hint)| self.refuse(name, what, hint));
    }

    fn numbers(&mut self) {
        let number = |name: &str| self.test.settings.number(name);
        let (sets, precreated, objects) = (number("D"), number("P"), number("I"));
        let (iterations, bytes, start, offset) =
            (number("R"), number("S"), number("start-item"), number("O"));
        let (waiting, stonewall) = (self.test.settings.decimal("t"), number("w"));
        refuse! { self
            "D" if !(1..=SETS_MOST).contains(&sets) => "a task has 1 to 1000 data sets", "e.g. -D 10";
            "P" if !(1..=OBJECTS_MOST).contains(&precreated) => "a data set holds at least one object", "e.g. -P 3000";
            "I" if !(1..=OBJECTS_MOST).contains(&objects) => "an iteration goes through at least one object", "e.g. -I 1000";
            "R" if !(1..=ITERATIONS_MOST).contains(&iterations) => "iterations must be 1 to 10000", "e.g. -R 3";
            "S" if !(1..=1 << 30).contains(&bytes) => "an object holds 1 byte to 1 GiB", "e.g. -S 3901";
            "O" if offset.abs() > OBJECTS_MOST => "the offset is a number of ranks", "e.g. -O 1";
            "start-item" if !(0..=OBJECTS_MOST).contains(&start) => "objects are numbered from 0", "e.g. --start-item 1000";
            "t" if !(0.0..=1e6).contains(&waiting) => "a waiting time is 0 to 1000000 times the operation's", "e.g. -t 1.0";
            "w" if !(0..=1 << 30).contains(&stonewall) => "a stonewall is 0 to 2^30 seconds", "e.g. -w 300";
        }
    }

    fn together(&mut self) {
        let WorkbenchTest { does, start, precreated, stonewall_s, tasks, .. } = self.test;
        let apart = stonewall_s > 0 && !self.test.flag("W") && tasks > 1;
        let is_dummy = self.test.settings.text("a") == Some("DUMMY");
        refuse! { self
            "w" if apart => "each task would end at an object of its own, and miss what its neighbours had not made yet",
                "add -W: all tasks then go on until they did as much as the fastest";
            "start-item" if does.precreate && start >= precreated =>
                "there is nothing to precreate from that object on", "lower --start-item, or run without -1";
            "X" if is_dummy && self.test.flag("X") => "-X: DUMMY stores nothing that could be verified", "use -a POSIX";
        }
        refuse! { self
            "posix.rangelocks" if is_dummy && self.test.flag("posix.rangelocks") => "DUMMY has nothing to lock", "use -a POSIX";
        }
        if self.test.objects > precreated {
            self.test.warnings.push(
                "num > precreate, this may cause the situation that no objects are available to read".into(),
            );
        }
    }

    fn place(&mut self, loader: &dyn Loader) {
        let path = self.test.directory.clone();
        let is_other = loader.look(&path).is_some_and(|facts| facts.kind != PathKind::Directory);
        refuse! { self
            "o" if path.is_empty() => "no directory", "-o DIR";
            "o" if path.contains(['|', '{', '}']) => "a directory's name cannot hold |, { or }", "choose another name";
            "o" if is_other => format!("{path}: not a directory"), "-o names a directory";
        }
    }

    /// Where an earlier run came to.
    fn position(&mut self, loader: &mut dyn Loader) {
        let Does { precreate, benchmark, cleanup } = self.test.does;
        if self.test.start > 0 || precreate || !(benchmark || cleanup) {
            return;
        }
        let path = self.test.settings.text("run-info-file").unwrap_or_default().to_string();
        let text = loader.read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let read = text.as_deref().map(|text| text.trim().strip_prefix("pos:").map(str::trim));
        match read.map(|number| number.and_then(|number| number.parse::<u32>().ok())) {
            Ok(Some(position)) => self.test.start = position.into(),
            Ok(None) => {
                self.refuse("run-info-file", format!("{path}: no `pos: N`"), "a run without -3 writes it")
            }
            Err(_) => self.refuse(
                "run-info-file",
                format!("could not open {path} for restart"),
                "precreate first (-1), or say where to begin: --start-item N",
            ),
        }
    }
}
