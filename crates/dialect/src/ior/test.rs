//! One test: what its settings mean together, judged once for everybody who lowers or reports it.
//!
//! Judges settings against each other and against the world; refuses to know how anything is carried out.

use iodyno_model::{Diagnostic, FileSystemHints, WorldFacts};

use super::lower::{s3, stores};
use super::settings::Settings;
use crate::file_system_hints;
use crate::option::refuse;
use crate::{Loader, PathKind};

/// A test, judged.
#[derive(Clone, Debug, Default)]
pub struct IorTest {
    /// Its number, from 0.
    pub id: usize,
    /// What was said.
    pub settings: Settings,
    /// The back end's name.
    pub api: String,
    /// The file's name as it was said.
    pub file: String,
    /// Tasks that take part.
    pub tasks: u32,
    pub all_tasks: u32,
    /// Tasks of one rank.
    pub threads: u32,
    /// Whether a launcher made the ranks.
    pub launched: bool,
    /// Machines that the tasks are on.
    pub nodes: u32,
    /// Tasks on the first machine.
    pub on_first_node: u32,
    /// It writes.
    pub write: bool,
    pub read: bool,
    /// It reads back what was written, apart.
    pub check_write: bool,
    /// Its read compares.
    pub check_read: bool,
    /// Bytes that a task has in each segment.
    pub block: u64,
    /// Bytes of a transfer.
    pub transfer: u64,
    pub segments: u64,
    pub repetitions: u32,
    /// Of the data.
    pub signature: u32,
    /// Collective transfers.
    pub collective: bool,
    /// Memory that each task locks, bytes.
    pub hog_bytes: u64,
    /// Transfers that an earlier run wore out to, from its status file.
    pub worn: u64,
    /// Wall-clock time of the run's beginning, ns since 1970.
    pub now_unix_ns: u64,
    /// What the client of a parallel file system is asked for.
    pub hints: FileSystemHints,
    /// Where the objects of S3 lie.
    pub bucket: String,
    /// Warnings, without the word.
    pub warnings: Vec<String>,
}

impl IorTest {
    /// Bytes of all tasks together.
    pub fn aggregate(&self) -> u64 {
        self.task_bytes().saturating_mul(u64::from(self.tasks))
    }

    pub fn task_bytes(&self) -> u64 {
        self.block.saturating_mul(self.segments)
    }

    pub fn task_transfers(&self) -> u64 {
        self.task_bytes() / self.transfer.max(1)
    }

    /// Whether a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.settings.flag(name)
    }

    /// How often or how much.
    pub fn count(&self, name: &str) -> u64 {
        self.settings.count(name)
    }

    /// Whether each task has a file of its own.
    pub fn is_file_per_task(&self) -> bool {
        self.flag("filePerProc")
    }

    /// Places anywhere in the file, rather than each once.
    pub fn is_anywhere(&self) -> bool {
        self.settings.number("randomOffset") > 1
    }

    /// The verbosity, 0 to 5.
    pub fn verbose(&self) -> i64 {
        self.settings.number("verbose")
    }
}

/// More than any machine has threads for.
const MOST_TASKS: u32 = 1 << 20;

/// Judges a test.
///
/// # Errors
/// Everything about it that cannot be.
pub fn judge(id: usize, settings: Settings, loader: &mut dyn Loader) -> Result<IorTest, Vec<Diagnostic>> {
    let mut judge = TestChecker { wrong: Vec::new(), test: IorTest::default() };
    let text = |name: &str| settings.text(name).unwrap_or_default().to_string();
    judge.test = IorTest {
        id,
        api: text("api"),
        file: text("testFile"),
        block: settings.count("blockSize"),
        transfer: settings.count("transferSize"),
        segments: settings.count("segmentCount"),
        repetitions: settings.count("repetitions").min(u64::from(u32::MAX)) as u32,
        now_unix_ns: loader.now_unix_ns(),
        settings,
        ..IorTest::default()
    };
    judge.tasks(loader);
    judge.sizes();
    judge.phases(loader);
    judge.placement();
    judge.stonewall(loader);
    judge.back_end();
    judge.s3(loader);
    judge.hints(loader);
    judge.memory(loader);
    let test = &mut judge.test;
    test.signature = match test.settings.number("setTimeStampSignature") {
        0 => (test.now_unix_ns / 1_000_000_000) as u32,
        signature => signature as u32,
    };
    if judge.test.flag("warningAsErrors") {
        let warnings = std::mem::take(&mut judge.test.warnings);
        warnings
            .iter()
            .for_each(|warning| judge.refuse("warningAsErrors", warning, "--warningAsErrors was asked for"));
    }
    if judge.wrong.is_empty() { Ok(judge.test) } else { Err(judge.wrong) }
}

struct TestChecker {
    test: IorTest,
    wrong: Vec<Diagnostic>,
}

impl TestChecker {
    /// Says what cannot be, at the place where the option was said.
    fn refuse(&mut self, name: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(&self.test.settings.origin(name), what).hint(hint));
    }

    fn warn(&mut self, what: impl Into<String>) {
        self.test.warnings.push(what.into());
    }

    fn tasks(&mut self, loader: &dyn Loader) {
        let world = loader.world();
        let test = &mut self.test;
        test.threads =
            loader.also("threads").and_then(|count| count.parse().ok()).unwrap_or(1).clamp(1, 1 << 16);
        test.launched = world.library.is_some() || world.ranks() > 1;
        // 0 meant all of them in old scripts.
        let wanted = u32::try_from(test.settings.number("numTasks")).ok().filter(|wanted| *wanted > 0);
        test.all_tasks = match test.launched {
            true => world.ranks().saturating_mul(test.threads),
            false => wanted.unwrap_or(test.threads),
        };
        test.tasks = wanted.unwrap_or(test.all_tasks).min(test.all_tasks);
        let (all, tasks) = (test.all_tasks, test.tasks);
        if let Some(wanted) = wanted.filter(|wanted| *wanted > all) {
            self.warn(format!(
                "More tasks requested ({wanted}) than available ({all}), running with {all} tasks."
            ));
        }
        if tasks > MOST_TASKS {
            return self.refuse("numTasks", "more than 1048576 tasks", "use fewer");
        }
        let told = |name: &str, variable: &str| {
            let number = self.test.settings.number(name);
            let number =
                if number > 0 { Some(number) } else { loader.variable(variable)?.trim().parse().ok() };
            number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
        };
        let (nodes, first) = nodes(&world, tasks, self.test.threads);
        let nodes = told("numNodes", "IOR_FAKE_NODES").unwrap_or(nodes);
        let first = told("numTasksOnNode0", "IOR_FAKE_TASK_PER_NODES").unwrap_or(first);
        (self.test.nodes, self.test.on_first_node) = (nodes, first);
    }

    fn sizes(&mut self) {
        let IorTest { block, transfer, segments, repetitions, .. } = self.test;
        let (is_whole, all) = (transfer > 0 && transfer.is_multiple_of(8), block.checked_mul(segments));
        let all = all.and_then(|bytes| bytes.checked_mul(u64::from(self.test.tasks)));
        refuse! { self
            "transferSize" if !is_whole => "a transfer must be a multiple of 8 bytes, at least 8", "e.g. -t 256k";
            "blockSize" if is_whole && (block == 0 || !block.is_multiple_of(transfer)) =>
                format!("a block of {block} bytes does not consist of transfers of {transfer} bytes"),
                "the block (-b) must be a multiple of the transfer (-t)";
            "segmentCount" if segments == 0 => "no segments", "-s is at least 1";
            "repetitions" if !(1..=10_000).contains(&repetitions) => "repetitions must be 1 to 10000", "e.g. -i 3";
            "segmentCount" if all.is_none_or(|bytes| bytes > i64::MAX as u64) =>
                "more than 8 EiB in all", "make -b, -s or -N smaller";
        }
    }

    /// Which phases there are. `-W` needs what it checks to be written; an existing file with a known signature is
    /// only checked.
    fn phases(&mut self, loader: &dyn Loader) {
        let on = |name: &str| self.test.flag(name);
        let (write, read) = (on("writeFile"), on("readFile"));
        let (check_write, check_read) = (on("checkWrite"), on("checkRead"));
        let signed = self.test.settings.number("setTimeStampSignature") != 0;
        let named = self.test.settings.text("stoneWallingStatusFile").is_some();
        let there = file(&self.test).and_then(|name| loader.look(&name)).is_some();
        let existing = signed && there;
        let nothing = !write && !read;
        let checks = check_write || check_read;
        // What was not written yet is written and read, whichever check was asked for alone.
        let whole = nothing && (!checks || (check_write && !existing) || !(signed || there));
        let test = &mut self.test;
        (test.check_write, test.check_read) = (check_write, check_read);
        test.write = write || whole || (check_write && !existing);
        test.read = read || check_read || whole;
        let (write, read) = (test.write, test.read);
        refuse! { self
            "checkRead" if check_read && !write && !signed =>
                "what an earlier run wrote cannot be checked without its signature",
                "give the -G of the run that wrote it; or write as well, with -w";
            "stoneWallingStatusFile" if named && write && !read && !self.test.flag("keepFile") =>
                "the file that it is about is not kept", "add -k";
        }
        let test = &self.test;
        let there =
            (test.write && !test.flag("useExistingTestFile")).then(|| loader.look(&file(test)?)).flatten();
        if there.is_some_and(|facts| facts.kind == PathKind::File) {
            let name = first_name(&self.test);
            self.warn(format!("The file \"{name}\" exists already and will be deleted before writing"));
        }
    }

    fn placement(&mut self) {
        let test = &self.test;
        let (constant, random) = (test.flag("reorderTasks"), test.flag("reorderTasksRandom"));
        let names = test.file.split('@').count();
        let (own, unique, anywhere) = (test.is_file_per_task(), test.flag("uniqueDir"), test.is_anywhere());
        let checks = test.check_read || test.check_write;
        let prefill = test.count("randomPrefill");
        let (block, transfer, shuffled) = (test.block, test.transfer, test.flag("randomOffset"));
        let fits = prefill.is_multiple_of(8) && prefill > 0 && block.is_multiple_of(prefill);
        let locks_elsewhere = test.flag("posix.rangelocks") && test.api != "POSIX";
        refuse! { self
            "reorderTasksRandom" if constant && random => "-C and -Z exclude each other", "leave one of them out";
            "posix.rangelocks" if locks_elsewhere =>
                "only the back end POSIX locks ranges", "add -a POSIX, or leave it out";
            "uniqueDir" if unique && !own => "-u needs a file for each task", "add -F";
            "testFile" if names > 1 && (!own || unique) =>
                "several names need a file for each task, and exclude -u", "add -F, leave -u out";
            "randomOffset" if anywhere && (constant || random) && !own =>
                "places anywhere in one file belong to no task", "leave -C and -Z out, or add -F";
            "randomOffset" if anywhere && checks && !own =>
                "whose data lies anywhere in one file is not known", "use -z once, or add -F";
            "randomPrefill" if prefill > 0 && !shuffled => "--randomPrefill is for random transfers", "add -z";
            "randomPrefill" if prefill > 0 && shuffled && !fits =>
                "a block must consist of transfers of --randomPrefill", "e.g. the block itself";
        }
        if shuffled && !anywhere && block == transfer {
            self.warn("a block of one transfer (-b equal to -t) leaves nothing to shuffle with -z");
        }
    }

    fn stonewall(&mut self, loader: &mut dyn Loader) {
        let (deadline, wears) =
            (self.test.count("deadlineForStonewalling"), self.test.flag("stoneWallingWearOut"));
        refuse! { self
            "stoneWallingWearOut" if wears && deadline == 0 => "there is no time that could be up", "add -D SECONDS";
        }
        let Some(path) = self.test.settings.text("stoneWallingStatusFile").map(String::from) else { return };
        refuse! { self
            "stoneWallingStatusFile" if self.test.write && !wears =>
                "only what was worn out to is kept in it", "add -D SECONDS -O stoneWallingWearOut=1";
        }
        if self.test.write {
            return;
        }
        match loader.read(&path).map(|bytes| String::from_utf8_lossy(&bytes).trim().parse::<u64>()) {
            Ok(Ok(worn)) if worn > 0 => self.test.worn = worn,
            found => {
                let why = found.err().unwrap_or_else(|| "no number of transfers in it".into());
                self.refuse("stoneWallingStatusFile", format!("{path}: {why}"), "write it by a run with -w");
            }
        }
    }

    fn back_end(&mut self) {
        let api = self.test.api.clone();
        self.store();
        let by_library = matches!(api.as_str(), "MPIIO" | "HDF5" | "NCMPI");
        self.test.collective = self.test.flag("collective") && by_library;
        if self.test.flag("collective") && !by_library {
            self.warn(format!(
                "collective transfers are not available with {api}: each task transfers alone"
            ));
        }
        let formatted = matches!(api.as_str(), "HDF5" | "NCMPI");
        let pending = self.test.settings.number("aio.max-pending");
        // IOR's back end leaves its buffers alone, so that all of them are called wrong.
        let nothing = "DUMMY stores nothing that could be checked";
        let instead =
            |letter: &str| format!("leave {letter} out, or check a file system's data with -a POSIX");
        refuse! { self
            "randomOffset" if formatted && self.test.flag("randomOffset") =>
                format!("{api} has no random offsets"), "use POSIX or MPIIO";
            "checkWrite" if api == "DUMMY" && self.test.flag("checkWrite") => nothing, instead("-W");
            "checkRead" if api == "DUMMY" && self.test.flag("checkRead") => nothing, instead("-R");
            "filePerProc" if api == "NCMPI" && self.test.is_file_per_task() =>
                "NCMPI has one file for all tasks", "leave -F out";
            "aio.max-pending" if api == "AIO" && !(1..=65_536).contains(&pending) =>
                "at least 1 and at most 65536 operations are in flight", "e.g. 128";
        }
    }

    /// What a store's back end must be told, and what it does not do.
    fn store(&mut self) {
        let test = &self.test;
        let is_rados = test.api == "RADOS";
        let hdfs = test.api == "HDFS";
        let writes = hdfs && (test.write || test.check_write);
        let shared = writes && test.tasks > 1 && !test.is_file_per_task();
        let anywhere = writes && (test.flag("randomOffset") || test.is_anywhere());
        let prefills = hdfs && test.count("randomPrefill") > 0;
        let wide = hdfs && test.transfer > i32::MAX as u64;
        let defects = match test.api.as_str() {
            "RADOS" => stores::rados_defects(&test.settings),
            "HDFS" => stores::hdfs_defects(&test.settings),
            _ => Vec::new(),
        };
        refuse! { self
            "filePerProc" if shared => "a file of HDFS has one writer", "add -F: a file for each task";
            "randomOffset" if anywhere => "a file of HDFS is written from its begin to its end", "leave -z out where you write";
            "randomPrefill" if prefills => "a file of HDFS is written once", "leave --randomPrefill out";
            "transferSize" if wide => "a transfer of HDFS is below 2 GiB", "e.g. -t 1m";
        }
        defects.into_iter().for_each(|(option, what, hint)| self.refuse(option, what, hint));
        for (option, letter) in [("fsync", "-e"), ("fsyncPerWrite", "-Y")] {
            if is_rados && self.test.flag(option) {
                self.warn(format!("RADOS: a write is durable when it is answered: {letter} changes nothing"));
            }
        }
    }

    /// What a store that speaks the S3 API must be told, and what its objects cannot.
    fn s3(&mut self, loader: &dyn Loader) {
        let Some(shape) = s3::shape(&self.test) else { return };
        self.test.bucket = s3::bucket(&self.test.api, &self.test.settings, loader);
        for (what, hint) in s3::defects(&self.test.settings, &self.test.bucket, loader) {
            self.refuse("api", what, hint);
        }
        let test = &self.test;
        let parts = shape == s3::ObjectShape::Parts;
        let own = test.is_file_per_task();
        let writes = test.write || test.check_write;
        let bytes = if own { test.task_bytes() } else { test.aggregate() };
        let count = bytes / test.transfer.max(1);
        let cut_off = parts && !own && writes && test.count("deadlineForStonewalling") > 0;
        let is_random = test.is_anywhere()
            || (own && test.flag("randomOffset") && test.count("deadlineForStonewalling") > 0);
        let prefills = test.count("randomPrefill") > 0;
        let odd_buckets = parts && test.flag("S3-libs3.bucket-per-file");
        refuse! { self
            "transferSize" if parts && count > 10_000 =>
                format!("an object of {count} transfers: an upload has at most 10000 parts"), "a larger -t, -F, or -a S3-libs3";
            "deadlineForStonewalling" if cut_off => "an upload that lacks parts is no object", "add -F, or use -a S3-libs3";
            "randomOffset" if parts && writes && is_random =>
                "the parts of an object are written once each", "leave -z out, or use -a S3-libs3";
            "randomPrefill" if prefills => "an object is written once", "leave --randomPrefill out";
            "S3-libs3.bucket-per-file" if odd_buckets =>
                "only S3-libs3 has a bucket for each file", "leave it out, or -a S3-libs3";
        }
        for (option, letter) in [("fsync", "-e"), ("fsyncPerWrite", "-Y")] {
            if self.test.flag(option) {
                self.warn(format!("S3: a write is durable when it is answered: {letter} changes nothing"));
            }
        }
        if parts && writes && count > 1 && self.test.transfer < SMALLEST_PART {
            self.warn("S3: Amazon's own stores take no parts below 5 MiB but the last: a larger -t");
        }
    }

    /// What goes to the client of a parallel file system.
    fn hints(&mut self, loader: &dyn Loader) {
        let test = &self.test;
        let name = first_name(test);
        let path = (!test.flag("dryRun")).then_some(name.as_str());
        let judged = file_system_hints::judge(&test.settings, &test.api, path, test.api == "POSIX", loader);
        // IOR takes this one and gives it to nobody.
        self.test.hints = FileSystemHints { gpfs_create_sharing: false, ..judged.hints };
        judged.warnings.into_iter().for_each(|warning| self.warn(warning));
        judged.refused.into_iter().for_each(|(name, what, hint)| self.refuse(name, what, hint));
    }

    /// `-M` and memoryPerTask: a size, or a percentage of the machine's memory.
    fn memory(&mut self, loader: &dyn Loader) {
        for (name, share) in [("memoryPerNode", self.test.on_first_node.max(1)), ("memoryPerTask", 1)] {
            let Some(text) = self.test.settings.text(name).map(str::trim) else { continue };
            let whole = || super::value::whole(text).ok().and_then(|bytes| u64::try_from(bytes).ok());
            let percent =
                || text.strip_suffix('%')?.trim().parse::<u64>().ok().filter(|percent| *percent < 100);
            let bytes = match percent() {
                Some(percent) => Some(loader.machine().memory_bytes / 100 * percent),
                None => whole(),
            };
            match bytes {
                Some(bytes) => self.test.hog_bytes = self.test.hog_bytes.max(bytes / u64::from(share)),
                None => {
                    let what = format!("{name}: `{text}`: expected a size or a percentage below 100");
                    self.refuse(name, what, "e.g. 2g, or 75%");
                }
            }
        }
    }
}

/// The least that Amazon's own stores take as a part, bytes.
const SMALLEST_PART: u64 = 5 << 20;

/// IOR's number of an access key, of which the name of its bucket is made: the sum of its letters, each ten times as much
/// as the one before.
pub fn s3_key_number(key: &str) -> u64 {
    let step = |(sum, times): (u64, u64), byte: u8| {
        (sum.wrapping_add(u64::from(byte).wrapping_mul(times)), times.wrapping_mul(10))
    };
    key.bytes().fold((0, 1), step).0
}

/// How many machines the tasks are on, and how many of them are on the first.
fn nodes(world: &WorldFacts, tasks: u32, threads: u32) -> (u32, u32) {
    let node = |task: u32| world.node(task / threads.max(1));
    // The number of ranks, not of tasks, is what matters; all threads of a rank are on one machine.
    let ranks = (0..tasks).step_by(threads.max(1) as usize);
    let mut seen: Vec<u32> = ranks.map(node).collect();
    seen.sort_unstable();
    seen.dedup();
    let first = match seen.len() {
        0 | 1 => tasks,
        _ => (0..tasks).filter(|task| node(*task) == world.node(0)).count() as u32,
    };
    (seen.len().max(1) as u32, first.max(1))
}

/// The first task's file in the first repetition; none: the test has objects.
fn file(test: &IorTest) -> Option<String> {
    super::lower::is_on_files(test).then(|| first_name(test))
}

/// The name of the first task's file in the first repetition.
fn first_name(test: &IorTest) -> String {
    let name = super::lower::names::template(test).replace("{worker:08}", "00000000");
    let name = match name.split_once("{worker:") {
        Some((before, rest)) => {
            let (list, after) = rest.split_once('}').unwrap_or((rest, ""));
            format!("{before}{}{after}", list.split('|').next().unwrap_or_default())
        }
        None => name,
    };
    name.replace("{worker}", "0").replace("{repetition}", "0")
}
