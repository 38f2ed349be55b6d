//! What a command line asks for, judged as a whole: paths and what they are, sizes, defaults, rules between options.

use iodyno_model::{Diagnostic, Origin};

use super::command::{CommandLine, expanded};
use super::settings::Settings;
use super::store::{self, StoreAccess};
use crate::option::refuse;
use crate::{Loader, PathFacts, PathKind};

/// What the paths are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BenchmarkPaths {
    /// Directories, for many files.
    #[default]
    Directories,
    Files,
    Devices,
    /// Buckets of an object store.
    Buckets,
}

impl BenchmarkPaths {
    /// The word in files of results.
    pub const fn word(self) -> &'static str {
        match self {
            BenchmarkPaths::Directories => "dir",
            BenchmarkPaths::Files => "file",
            BenchmarkPaths::Devices => "blockdev",
            BenchmarkPaths::Buckets => "bucket",
        }
    }

    /// Whether there are many entries, each of a name of its own.
    pub const fn has_entries(self) -> bool {
        matches!(self, BenchmarkPaths::Directories | BenchmarkPaths::Buckets)
    }
}

/// A judged test.
#[derive(Clone, Debug, Default)]
pub struct ElbenchoTest {
    pub settings: Settings,
    pub kind: BenchmarkPaths,
    pub paths: Vec<String>,
    pub threads: u32,
    /// Ranks, each with so many threads.
    pub hosts: u32,
    /// The names of the hosts, rank by rank.
    pub host_names: Vec<String>,
    pub dirs: u64,
    pub files: u64,
    pub bytes: u64,
    pub block: u64,
    /// Bytes of all threads at random places.
    pub amount: u64,
    /// Until the first phase, ns.
    pub pause_ns: u64,
    pub seed: u64,
    pub store: Option<StoreAccess>,
}

impl ElbenchoTest {
    pub fn flag(&self, name: &str) -> bool {
        self.settings.flag(name)
    }

    /// Threads of all hosts.
    pub fn all_threads(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.hosts)
    }

    /// Directories of a thread, the given one counted where there are no others.
    pub fn directories(&self) -> u64 {
        self.dirs.max(1)
    }

    /// Files of a thread.
    pub fn thread_files(&self) -> u64 {
        self.directories().saturating_mul(self.files)
    }

    /// Of all threads of a phase that reads or writes.
    pub fn phase_bytes(&self) -> u64 {
        match self.kind.has_entries() {
            true => self.thread_files().saturating_mul(self.bytes).saturating_mul(self.all_threads()),
            false if self.is_drawn() => self.amount,
            false => self.bytes.saturating_mul(self.paths.len() as u64),
        }
    }

    /// Whether all threads work on all of a file rather than on a range each.
    pub fn is_drawn(&self) -> bool {
        self.flag("rand") || self.flag("strided")
    }

    /// Threads of a phase of writes that read.
    pub fn readers(&self) -> u32 {
        self.settings.count("rwmixthr").min(u64::from(self.threads)) as u32
    }
}

struct CommandJudge<'a> {
    settings: &'a Settings,
    wrong: Vec<Diagnostic>,
}

/// Judges a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn judge(line: CommandLine, loader: &mut dyn Loader) -> Result<ElbenchoTest, Vec<Diagnostic>> {
    let CommandLine { settings, paths } = line;
    let mut judge = CommandJudge { settings: &settings, wrong: Vec::new() };
    let paths = judge.paths(&paths);
    let found: Vec<Option<PathFacts>> = match settings.is_given("s3endpoints") {
        true => Vec::new(),
        false => paths.iter().map(|path| loader.look(path)).collect(),
    };
    let kind = judge.kind(&paths, &found);
    let store = judge.store(kind, &paths, loader);
    let bytes = judge.bytes(kind, &found);
    let world = loader.world();
    let given = settings.count("block");
    let mut test = ElbenchoTest {
        kind,
        threads: u32::try_from(settings.count("threads")).unwrap_or(u32::MAX),
        hosts: world.ranks().max(1),
        host_names: world.nodes.iter().filter_map(|node| world.hosts.get(*node as usize).cloned()).collect(),
        dirs: settings.count("dirs"),
        files: settings.count("files"),
        bytes,
        block: if bytes > 0 { given.min(bytes) } else { given },
        amount: match settings.is_given("randamount") {
            true => settings.count("randamount"),
            false => bytes.saturating_mul(paths.len() as u64),
        },
        pause_ns: judge.pause(loader),
        seed: loader.now_unix_ns(),
        paths,
        store,
        settings: Settings::default(),
    };
    judge.phases(&test);
    judge.shape(&test);
    judge.access(&test);
    judge.content(&test);
    if !judge.wrong.is_empty() {
        return Err(judge.wrong);
    }
    test.settings = settings;
    Ok(test)
}

impl CommandJudge<'_> {
    fn refuse(&mut self, option: &str, what: impl Into<String>, hint: &str) {
        self.wrong.push(Diagnostic::error(&self.settings.origin(option), what.into()).hint(hint));
    }

    fn on(&self, name: &str) -> bool {
        self.settings.flag(name)
    }

    fn paths(&mut self, given: &[String]) -> Vec<String> {
        let mut all = Vec::new();
        for path in given {
            // Paths with an at sign between them are several, as elbencho writes them for its services.
            let words = if self.on("nopathexp") { Ok(vec![path.clone()]) } else { expanded(path) };
            match words {
                Ok(words) => all.extend(words),
                Err(why) => self.wrong.push(
                    Diagnostic::error(&Origin::argument(path), why)
                        .hint("--nopathexp takes brackets as they are"),
                ),
            }
        }
        let origin = |path: &str| Origin::argument(path);
        for path in &all {
            if path.contains(['{', '}', '|']) {
                let wrong = Diagnostic::error(&origin(path), format!("`{path}`: a path with one of {{ }} |"));
                self.wrong.push(wrong.hint("rename it, or name a link to it"));
            }
        }
        if all.is_empty() && self.wrong.is_empty() {
            let wrong = Diagnostic::error(&Origin::Default, "no path is given");
            self.wrong.push(
                wrong.hint("name a directory, files or block devices behind the options; elbencho --help"),
            );
        }
        all
    }

    fn kind(&mut self, paths: &[String], found: &[Option<PathFacts>]) -> BenchmarkPaths {
        if self.settings.is_given("s3endpoints") {
            return BenchmarkPaths::Buckets;
        }
        let mut kinds = Vec::new();
        for (path, facts) in paths.iter().zip(found) {
            let kind = match facts.as_ref().map(|facts| facts.kind) {
                Some(PathKind::Directory) => BenchmarkPaths::Directories,
                Some(PathKind::BlockDevice) => BenchmarkPaths::Devices,
                Some(PathKind::File) | None => BenchmarkPaths::Files,
                Some(_) => {
                    let wrong = Diagnostic::error(
                        &Origin::argument(path),
                        format!("{path}: no directory, file or block device"),
                    );
                    self.wrong.push(wrong.hint("name one of these"));
                    continue;
                }
            };
            let is_missing = facts.is_none() && !self.on("write");
            if is_missing {
                let wrong =
                    Diagnostic::error(&Origin::argument(path), format!("{path}: no such file or directory"));
                self.wrong.push(wrong.hint("-w creates files; directories are made before"));
            }
            if kind == BenchmarkPaths::Directories && (path == "/dev" || path.starts_with("/dev/")) {
                let wrong = Diagnostic::error(
                    &Origin::argument(path),
                    format!("{path}: no directory of devices is written to"),
                );
                self.wrong.push(wrong.hint("mount a file system elsewhere"));
            }
            kinds.push(kind);
        }
        kinds.dedup();
        match kinds.as_slice() {
            [] => BenchmarkPaths::Directories,
            [kind] => *kind,
            _ => {
                let wrong = Diagnostic::error(&Origin::Default, "paths of different kinds are given");
                self.wrong.push(wrong.hint("all directories, all files, or all block devices"));
                kinds[0]
            }
        }
    }

    fn store(&mut self, kind: BenchmarkPaths, paths: &[String], loader: &dyn Loader) -> Option<StoreAccess> {
        if kind != BenchmarkPaths::Buckets {
            let own = |entry: &&crate::option::Entry| {
                entry.name.starts_with("s3") && self.settings.is_given(entry.name)
            };
            if let Some(entry) = super::options::TABLE.entries.iter().find(own) {
                self.refuse(
                    entry.name,
                    format!("`{}` is of object stores", entry.name),
                    "name the store: --s3endpoints http://HOST:PORT",
                );
            }
            return None;
        }
        match store::judge(self.settings, paths, loader) {
            Ok(store) => Some(store),
            Err(wrong) => {
                self.wrong.extend(wrong);
                None
            }
        }
    }

    /// Of a file: as given, or as large as what is there.
    fn bytes(&mut self, kind: BenchmarkPaths, found: &[Option<PathFacts>]) -> u64 {
        let given = self.settings.count("size");
        let sizes = || found.iter().flatten().map(|facts| facts.bytes);
        let has_sizes = matches!(kind, BenchmarkPaths::Files | BenchmarkPaths::Devices);
        let least = sizes().min().unwrap_or(0);
        if !has_sizes || !(self.on("read") || self.on("write")) {
            return given;
        }
        if given == 0 {
            let differ = sizes().any(|bytes| bytes != least);
            let is_missing = found.iter().any(Option::is_none);
            let is_unknown = is_missing && self.on("write") || !is_missing && least == 0;
            refuse! { self
                "size" if is_unknown => "the size of files to be written is missing", "e.g. -s 1g";
                "size" if differ => "files differ in size", "say how much of each is used (-s)";
            }
            return least;
        }
        let reads_alone = self.on("read") && !self.on("write");
        let is_short = sizes().any(|bytes| bytes < given);
        refuse! { self
            "size" if is_short && (reads_alone || kind == BenchmarkPaths::Devices) =>
                "a file or device is smaller than that", "a smaller -s, or write it first (-w)";
        }
        given
    }

    /// Until it begins, ns.
    fn pause(&mut self, loader: &dyn Loader) -> u64 {
        let start = self.settings.count("start");
        let (now, at) = (loader.now_unix_ns(), start.saturating_mul(1_000_000_000));
        if start > 0 && at < now {
            self.refuse(
                "start",
                "that time is past",
                "seconds since 1970 that are to come: date +%s -d '+1 min'",
            );
        }
        at.saturating_sub(now)
    }

    fn phases(&mut self, test: &ElbenchoTest) {
        let of_directories = [("mkdirs", "-d"), ("deldirs", "-D"), ("stat", "--stat")];
        let any = [
            "mkdirs",
            "write",
            "stat",
            "read",
            "delfiles",
            "deldirs",
            "sync",
            "dropcache",
            "s3listobjpar",
            "s3multidel",
        ];
        if !any.iter().any(|name| self.settings.number(name) > 0) {
            let wrong = Diagnostic::error(&Origin::Default, "no phase is selected");
            self.wrong
                .push(wrong.hint("e.g. -w to write, -r to read, -d -w -F -D for files in new directories"));
        }
        for (name, letter) in of_directories {
            if self.on(name) && !test.kind.has_entries() {
                self.refuse(
                    name,
                    format!("{letter} is for directories, and these are {}s", test.kind.word()),
                    "leave it out, or name a directory",
                );
            }
        }
        refuse! { self
            "delfiles" if self.on("delfiles") && test.kind == BenchmarkPaths::Devices => "devices are not deleted", "leave -F out";
            "infloop" if self.on("infloop") && self.settings.count("timelimit") == 0 && self.is_several() =>
                "an endless phase is followed by others", "a time limit (--timelimit SECONDS), or one phase";
            "rotatehosts" if self.settings.count("rotatehosts") > 0 && self.settings.count("rwmixthr") > 0 =>
                "readers and writers are not rotated", "leave one of them out";
        }
    }

    fn is_several(&self) -> bool {
        ["write", "stat", "read", "delfiles", "deldirs"].iter().filter(|name| self.on(name)).count() > 1
    }

    fn shape(&mut self, test: &ElbenchoTest) {
        let moves = self.on("write") || self.on("read");
        let dirs = test.kind == BenchmarkPaths::Directories;
        let (threads, readers) = (self.settings.count("threads"), self.settings.count("rwmixthr"));
        refuse! { self
            "dirs" if test.kind == BenchmarkPaths::Buckets && self.on("s3listobjpar") && test.dirs > 1 << 16 =>
                "that many directories are not listed", "at most 65536";
            "threads" if threads > 1 << 16 => "that many threads are not started", "at most 65536";
            "block" if moves && test.bytes > 0 && test.block == 0 => "a block of no bytes", "e.g. -b 1m";
            "block" if test.block > 1 << 32 => "that large a block is not read or written at once", "at most 4g";
            "files" if test.thread_files() > 1 << 40 => "that many files are not made", "fewer directories (-n) or files (-N)";
            "size" if test.phase_bytes() == u64::MAX => "that much data is not written", "smaller or fewer files";
            "dirsharing" if self.on("dirsharing") && !test.kind.has_entries() =>
                "directories are shared where there are some", "leave it out";
            "rwmixthr" if readers > threads => "more threads are to read than there are", "fewer than -t";
            "rwmixthr" if readers > 0 && test.hosts > 1 =>
                "readers and writers of several hosts are not told apart", "run it on one host";
            "rwmixthr" if readers > 0 && self.settings.count("rwmixpct") > 0 =>
                "blocks and threads are mixed", "leave --rwmixthr or --rwmixpct out";
            "rwmixthrpct" if self.settings.count("rwmixthrpct") > 0 && (readers == 0 || readers >= threads) =>
                "a balance needs threads that read and threads that write", "--rwmixthr N, with N below -t";
            "rwmixthrpct" if self.settings.count("rwmixthrpct") > 0 && !self.on("infloop") =>
                "the slower side would wait for the faster one for ever", "--infloop --timelimit SECONDS";
            "mmap" if self.on("mmap") && test.kind.has_entries() =>
                "many files are not mapped one after the other", "leave it out, or name files";
            "flock" if self.settings.is_given("flock") && test.kind.has_entries() =>
                "a file of one thread needs no lock", "leave it out, or name files";
            "strided" if self.on("strided") && dirs => "threads take turns in files that they share", "name files or devices";
        }
    }

    fn access(&mut self, test: &ElbenchoTest) {
        let (depth, mmap, rand) = (self.settings.count("iodepth"), self.on("mmap"), self.on("rand"));
        let fadv = super::lower::hints(self.settings.text("fadv").unwrap_or_default());
        let known = |word: &&str| !["seq", "rand", "willneed", "dontneed", "noreuse"].contains(word);
        let odd = fadv.iter().find(|word| known(word)).map(ToString::to_string);
        let madv = super::lower::hints(self.settings.text("madv").unwrap_or_default());
        let served = |word: &&str| !["seq", "rand", "willneed"].contains(word);
        let unserved = madv.iter().find(|word| served(word)).map(ToString::to_string);
        let blocks = test.bytes.div_ceil(test.block.max(1));
        let unrolled = test.kind.has_entries()
            && (self.on("backward") || self.on("readinline") || self.on("verifydirect"));
        refuse! { self
            "iodepth" if depth > 65_536 => "that many operations are not in flight", "at most 65536";
            "iodepth" if depth > 1 && mmap => "what is mapped has one operation in flight", "leave --iodepth or --mmap out";
            "iodepth" if depth > 1 && self.settings.is_given("flock") =>
                "a lock is held by one operation", "leave --iodepth or --flock out";
            "iodepth" if depth > 1 && (self.on("readinline") || self.on("verifydirect")) =>
                "a block is read again before the next is written", "leave --iodepth out";
            "backward" if self.on("backward") && (rand || self.on("strided")) => "either backward or otherwise", "leave one of them out";
            "strided" if self.on("strided") && rand => "either strided or at random", "leave one of them out";
            "norandalign" if self.on("norandalign") && self.on("direct") => "direct I/O needs aligned places", "leave one of them out";
            "madv" if self.settings.is_given("madv") && !mmap => "hints on mappings without mappings", "--mmap, or --fadv for files";
            "madv" if madv.len() > 1 => "one hint is given on a mapping", "one of seq, rand, willneed";
            "fadv" if odd.is_some() =>
                format!("`{}`: no hint on files", odd.unwrap_or_default()), "seq, rand, willneed, dontneed, noreuse";
            "madv" if unserved.is_some() =>
                format!("`{}` is not given on mappings", unserved.unwrap_or_default()), "seq, rand or willneed";
            "fadv" if !test.kind.has_entries() && (fadv.contains(&"willneed") || fadv.len() > 1) =>
                "a file that threads share gets one hint, and none to read ahead", "one of seq, rand, dontneed, noreuse";
            "block" if unrolled && blocks > 4096 =>
                "that many blocks of a file are not taken one by one", "a larger -b, or files of at most 4096 blocks";
            "readinline" if self.on("readinline") && !test.kind.has_entries() => "files that threads share are not read inline", "-w -r";
            "trunc" if self.on("trunc") && test.kind == BenchmarkPaths::Devices => "devices are not cut", "leave it out";
        }
    }

    fn content(&mut self, test: &ElbenchoTest) {
        let (blocks, all) = (test.bytes.div_ceil(test.block.max(1)), test.all_threads().max(1));
        let files = test.paths.len() as u64;
        let is_whole = test.bytes.is_multiple_of(test.block.max(1));
        let is_even = (files == 1 && blocks.is_multiple_of(all) || files.is_multiple_of(all)) && is_whole;
        let ranged = !test.kind.has_entries() && !self.on("rand") && !self.on("strided");
        let salt = self.settings.count("verify");
        let mixes = self.settings.count("rwmixpct") > 0;
        let alien = test.kind == BenchmarkPaths::Buckets;
        refuse! { self
            "verify" if salt > u64::from(u32::MAX) => "a salt has 32 bits here", "1 to 4294967295";
            "verify" if salt > 0 && mixes => "blocks that are read in a write phase may not have been written", "-w, then -r";
            "verify" if salt > 0 && alien => "objects are checked by their own checksums", "--s3chksumalgo crc32c";
            "verify" if salt > 0 && self.settings.count("iodepth") > 1 && (test.kind.has_entries() || ranged && !is_even) =>
                "blocks in flight share a buffer in many files, and where ranges go over the ends of files",
                "leave --iodepth out, or one file of a multiple of -b times -t";
            "verifydirect" if self.on("verifydirect") && salt == 0 => "nothing is known of what is read", "--verify SALT";
            "verifydirect" if self.on("verifydirect") && !self.on("write") => "nothing is written", "-w";
            "verifydirect" if self.on("verifydirect") && ranged && !is_even =>
                "blocks that are checked at once are dealt evenly", "a size that is a multiple of -b times -t";
            "threads" if test.hosts > 1 && ranged && !is_even =>
                "the blocks of files are dealt to hosts evenly", "a size that is a multiple of -b times all threads, or as many files";
            "verifydirect" if self.on("verifydirect") && mixes => "blocks that are read are not checked", "leave one of them out";
        }
    }
}
