//! mdtest's options, each exactly once, with what is done about it; and the help text in mdtest's shape.
//!
//! Names are written without dashes: one letter is `-x`, a word is `--word`. The same table makes `docs/mdtest.md`.

use std::fmt::Write as _;

use crate::file_system_hints::help;
use crate::option::{Entry, Kind, Spelling, Status, Table, Word, nearest};
use iodyno_model::{Diagnostic, Origin};

/// What is counted: how often it was said.
pub const FLAGS: &str = "Flags";
/// What has a value.
pub const ARGUMENTS: &str = "Optional arguments";
pub const POSIX: &str = "Module POSIX";
pub const AIO: &str = "Module AIO";
pub const DUMMY: &str = "Module DUMMY";
const HDFS: &str = "Module HDFS";
const RADOS: &str = "Module RADOS";
const LIBS3: &str = "Module S3-libs3";
const AWS4C: &str = "Module S3-4c";
const CURL: &str = "Module S3-curl";
/// Modules that not every program of the package has.
const STORES: [&str; 5] = [HDFS, RADOS, LIBS3, AWS4C, CURL];
const OTHERS: &str = "Other modules";
const KEY: &str = "the access key; read as `***`, and default AWS_ACCESS_KEY_ID";
const SECRET: &str = "its secret key; read as `***`, and default AWS_SECRET_ACCESS_KEY";

const NOT_NAMED: &str = "this back end is not served";
const NO_DIRECTORIES: &str = "the program spreads no directories over metadata servers";
const LFS: &str = "lfs setdirstripe -D -c -1 on the directory before the run";
const FILES: &str = "use -a POSIX";

pub const TABLE: Table = Table { tool: "mdtest", spelling: Spelling::Dashed, entries: ENTRIES };

const fn flag(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Switch, "", help).under(FLAGS)
}

const fn text(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, "STRING", help).under(ARGUMENTS)
}

const fn number(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(i64::MIN, i64::MAX), "N", help).or(default).under(ARGUMENTS)
}

/// The back ends that work on names of files.
const FILE_APIS: [Word; 15] = [
    Word::new("POSIX", "files, by system calls"),
    Word::new("AIO", "as POSIX: an item is one transfer, so there is nothing to queue"),
    Word::new("DUMMY", "no I/O: what the program itself costs"),
    Word::new("MMAP", "").refused("mdtest has no such back end", FILES),
    Word::new("MPIIO", "").refused("mdtest has no such back end", FILES),
    Word::new("HDF5", "").refused("mdtest has no such back end", FILES),
    Word::new("NCMPI", "").refused("mdtest has no such back end", FILES),
    Word::new("LIBNFS", "").refused(NOT_NAMED, "mount the export and use -a POSIX"),
    Word::new("DFS", "").refused(NOT_NAMED, "mount the container with dfuse and use -a POSIX"),
    Word::new("CEPHFS", "").refused(NOT_NAMED, "mount the file system and use -a POSIX"),
    Word::new("CHFS", "").refused(NOT_NAMED, FILES),
    Word::new("FINCHFS", "").refused(NOT_NAMED, FILES),
    Word::new("GFARM", "").refused(NOT_NAMED, FILES),
    Word::new("IME", "").refused(NOT_NAMED, FILES),
    Word::new("PMDK", "").refused(NOT_NAMED, FILES),
];

/// Those that work on stores.
const STORE_APIS: [Word; 9] = [
    Word::new("HDFS", "files and directories of Hadoop's file system"),
    Word::new(
        "RADOS",
        "objects of Ceph: an item is one, and so is a directory; mdtest itself has no such back end",
    ),
    Word::new("S3", "objects of a store that speaks the S3 API: an item is one, and so is a directory"),
    Word::new("S3-libs3", "as S3, in a bucket whose name ends in a number of the access key"),
    Word::new("S3-4c", "as S3"),
    Word::new("S3_4c", "as S3"),
    Word::new("S3_plus", "as S3"),
    Word::new("S3_EMC", "as S3"),
    Word::new("S3-curl", "as S3"),
];

/// The back ends.
pub const APIS: &[Word] = &joined(FILE_APIS, STORE_APIS);

/// The back ends of a program of the package that has no stores.
pub const APIS_WITHOUT_STORES: &[Word] = &joined(FILE_APIS, UNSERVED_APIS);
const UNSERVED_APIS: [Word; 9] = {
    let mut words = STORE_APIS;
    let mut at = 0;
    while at < words.len() {
        words[at] = Word::new(words[at].name, "").refused("stores are not served", FILES);
        at += 1;
    }
    words
};

const fn joined(files: [Word; 15], stores: [Word; 9]) -> [Word; 24] {
    let mut all = [files[0]; 24];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < files.len() { files[at] } else { stores[at - files.len()] };
        at += 1;
    }
    all
}

/// What items hold.
pub const PACKETS: &[Word] = &[
    Word::new("timestamp", "the task's number and the seed with a counter"),
    Word::new("offset", "the same, and the item's number in every 4 KiB"),
    Word::new("incompressible", "drawn once, and the item's number in every 4 KiB"),
    Word::new("random", "drawn anew for every item"),
];

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    flag("C", "only create files/dirs"),
    flag("T", "only stat files/dirs"),
    flag("E", "only read files/dir"),
    flag("r", "only remove files or directories left behind by previous runs"),
    flag("U", "enable rename directory phase"),
    flag("D", "perform test on directories only (no files)"),
    flag("F", "perform test on files only (no directories)"),
    flag("k", "use mknod to create file"),
    flag("L", "files only at leaf level of tree"),
    flag("P", "print rate AND time"),
    flag("print-all-procs", "all processes print an excerpt of their results"),
    flag("R", "random access to files (only for stat and read)"),
    flag("S", "shared file access (file only, no directories)"),
    flag("c", "collective creates: task 0 does all creates"),
    flag("t", "time unique working directory overhead"),
    flag("u", "unique working directory for each task"),
    flag("v", "verbosity (each instance of option increments by one)"),
    flag("X", "Verify the data read").also(&["verify-read"]),
    flag("verify-write", "Verify the data after a write by reading it back immediately"),
    flag("y", "sync file after writing"),
    flag("Y", "make the file system durable after each phase (included in the timing)"),
    flag("Z", "print time instead of rate"),
    flag("warningAsErrors", "Any warning should lead to an error."),
    flag("showRankStatistics", "Include statistics per rank"),
    flag("g", "global default directory layout for test subdirectories (Lustre)").refused(NO_DIRECTORIES, LFS),
    flag("gpuDirect", "buffers in the memory of a GPU").refused("there are no GPU buffers", "leave it out"),
    flag("help", "print this help").also(&["h"]),
    flag("version", "print the version"),
    Entry::new("a", Kind::Word(APIS), "STRING", "API for I/O [POSIX|AIO|DUMMY|HDFS|RADOS|S3|S3-libs3|S3-4c|S3-curl]")
        .or("POSIX").under(ARGUMENTS),
    number("b", "1", "branching factor of hierarchical directory structure"),
    text("d", "directory or multiple directories where the test will run [dir|dir1@dir2@dir3...]").or("./out"),
    number("B", "0", "no barriers between phases"),
    number("e", "0", "bytes to read from each file"),
    number("f", "1", "first number of tasks on which the test will run"),
    number("G", "-1", "Offset for the data in the read/write buffer, if not set, a random value is used"),
    number("i", "1", "number of iterations the test will run"),
    number("I", "0", "number of items per directory in tree"),
    number("l", "0", "last number of tasks on which the test will run"),
    number("n", "0", "every process will create/stat/read/remove # directories and files"),
    number("N", "0", "stride # between tasks for file/dir operation (local=0; set to 1 to avoid client cache)"),
    number("p", "0", "pre-iteration delay (in seconds)"),
    number("random-seed", "0", "random seed for -R"),
    number("s", "1", "stride between the number of tasks for each test"),
    number("V", "0", "verbosity value"),
    number("w", "0", "bytes to write to each file after it is created"),
    number("W", "0", "stonewall timer in seconds: create so long, then as much as the fastest task did"),
    text("x", "StoneWallingStatusFile; contains the number of iterations of the creation phase"),
    number("z", "0", "depth of hierarchical directory structure"),
    Entry::new("dataPacketType", Kind::Word(PACKETS), "t", "type of packet that will be created").or("timestamp").under(ARGUMENTS),
    text("run-cmd-before-phase", "call this external command before each phase (excluded from the timing)"),
    text("run-cmd-after-phase", "call this external command after each phase (included in the timing)"),
    text("saveRankPerformanceDetails", "Save the individual rank information into this CSV file."),
    text("savePerOpDataCSV", "Store the performance of each rank into an individual file prefixed with this option."),
    number("allocateBufferOnGPU", "0", "buffers in the memory of a GPU").refused("there are no GPU buffers", "leave it out"),
    number("GPUid", "-1", "the GPU to use").refused("there are no GPU buffers", "leave it out"),
    flag("posix.odirect", "Direct I/O Mode").under(POSIX),
    flag("posix.rangelocks", "Use range locks (read locks for read ops)").under(POSIX),
    number("posix.lustre.stripecount", "0", help::COUNT).under(POSIX),
    number("posix.lustre.stripesize", "0", help::SIZE).under(POSIX),
    number("posix.lustre.startost", "-1", help::START).under(POSIX),
    flag("posix.lustre.ignorelocks", help::LOCKS).under(POSIX),
    text("posix.lustre.pool", help::POOL).under(POSIX),
    flag("posix.gpfs.hintaccess", help::ACCESS).under(POSIX),
    flag("posix.gpfs.releasetoken", help::TOKENS).under(POSIX),
    flag("posix.gpfs.finegrainwritesharing", help::WRITES).under(POSIX),
    flag("posix.gpfs.finegrainreadsharing", help::READS).under(POSIX),
    flag("posix.gpfs.createsharing", help::CREATION).under(POSIX),
    number("posix.beegfs.NumTargets", "-1", help::TARGETS).under(POSIX),
    number("posix.beegfs.ChunkSize", "-1", help::CHUNK).under(POSIX),
    number("aio.max-pending", "128", "Max number of pending ops").ignored("an item is one transfer: nothing is pending").under(AIO),
    number("aio.granularity", "16", "How frequent to submit pending IOs").ignored("an item is one transfer: nothing is pending")
        .under(AIO),
    flag("dummy.delay-only-rank0", "Delay only Rank0").under(DUMMY),
    number("dummy.delay-create", "0", "Delay per create in usec").under(DUMMY),
    number("dummy.delay-close", "0", "Delay per close in usec").under(DUMMY),
    number("dummy.delay-sync", "0", "Delay for sync in usec").under(DUMMY),
    number("dummy.delay-xfer", "0", "Delay per xfer in usec").under(DUMMY),
    text("hdfs.user", "as whom").under(HDFS),
    text("hdfs.name_node", "the name node, HOST:PORT; default: as Hadoop is configured").or("default").under(HDFS),
    number("hdfs.replicas", "0", "copies of each block; 0: as configured").under(HDFS),
    number("hdfs.block_size", "0", "bytes of a block; 0: as configured").under(HDFS),
    flag("hdfs.odirect", "direct I/O").ignored("Hadoop's library does not look at it").under(HDFS),
    text("rados.user", "the client's name, e.g. admin").under(RADOS),
    text("rados.conf", "the configuration file of Ceph").under(RADOS),
    text("rados.pool", "the pool that objects lie in").under(RADOS),
    text("S3-libs3.host", "the store, HOST:PORT").also(&["S3.host"]).under(LIBS3),
    text("S3-libs3.access-key", KEY).also(&["S3.access-key"]).under(LIBS3),
    text("S3-libs3.secret-key", SECRET).also(&["S3.secret-key"]).under(LIBS3),
    text("S3-libs3.region", "the region that requests are signed for").also(&["S3.region"]).under(LIBS3),
    text("S3-libs3.bucket-name-prefix", "what the bucket's name begins with").or("ior").under(LIBS3),
    flag("S3-libs3.dont-suffix-bucket", "the bucket's name ends there, without a number of the access key").under(LIBS3),
    flag("S3-libs3.use-ssl", "by TLS").also(&["S3.use-ssl"]).under(LIBS3),
    flag("S3-libs3.s3-compatible", "the store is not Amazon's").ignored("in IOR it hides what the store complains of").under(LIBS3),
    flag("S3-libs3.bucket-per-file", "a bucket for each file")
        .refused("mdtest makes thousands of files, and stores a few hundred buckets", "leave it out: one bucket has all files")
        .under(LIBS3),
    text("S3-libs3.location", "where the bucket is made")
        .refused("a bucket is made where the endpoint is", "leave it out, or make the bucket before").under(LIBS3),
    text("S3-4c.host", "the store, HOST:PORT").under(AWS4C),
    text("S3-4c.user", "whose line of ~/.awsAuth, USER:ACCESS_KEY:SECRET_KEY, has the keys").also(&["S3.user"]).under(AWS4C),
    text("S3-4c.bucket-name", "the bucket").also(&["S3.bucket-name"]).or("ior").under(AWS4C),
    text("S3-curl.host", "the store, HOST:PORT").under(CURL),
    text("S3-curl.access-key", KEY).under(CURL),
    text("S3-curl.secret-key", SECRET).under(CURL),
    text("S3-curl.region", "the region that requests are signed for").under(CURL),
    text("S3-curl.bucket", "the bucket").or("test-bucket").under(CURL),
    flag("S3-curl.use-ssl", "by TLS").under(CURL),
    number("S3-curl.timeout", "5", "seconds without progress after which a request fails").under(CURL),
    flag("S3-curl.verify-ssl", "check the certificate").ignored("it is always checked").under(CURL),
    text("libnfs.url", "The URL of the server, path and options").refused(NOT_NAMED, "mount the export and use -a POSIX").under(OTHERS),
];

/// What is said of an option that a program of the IOR package has not.
pub fn unknown(table: &Table, name: &str, origin: &Origin) -> Diagnostic {
    let plain = name.trim_start_matches('-');
    let wrong = Diagnostic::error(origin, format!("{} has no option `{name}`", table.tool));
    let names = table.entries.iter().flat_map(Entry::names).filter(|name| name.len() > 1);
    match nearest(plain, names) {
        Some(near) => wrong.hint(format!("did you mean `--{near}`?")),
        None => wrong.hint(format!("{} -h lists them", table.tool)),
    }
}

/// The page about mdtest, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// Help as mdtest writes it.
pub fn help() -> String {
    help_of(&TABLE)
}

/// The same of another program of the package.
pub fn help_of(table: &Table) -> String {
    let mut text = format!("Synopsis {}\n", table.tool);
    let mut module = "";
    for (category, kind) in
        [(FLAGS, FLAGS), (ARGUMENTS, ARGUMENTS), (POSIX, FLAGS), (DUMMY, FLAGS), (DUMMY, ARGUMENTS)]
            .into_iter()
            .chain(STORES.into_iter().flat_map(|module| [(module, FLAGS), (module, ARGUMENTS)]))
    {
        let entries = || {
            table.entries.iter().filter(|entry| {
                let heading = if entry.is_flag() { FLAGS } else { ARGUMENTS };
                entry.category == category && heading == kind && entry.status == Status::Done
            })
        };
        // md-workbench has no stores.
        if STORES.contains(&category) && entries().next().is_none() {
            continue;
        }
        if category.starts_with("Module") && module != category {
            let _ = write!(text, "\n\n{category}\n");
            module = category;
        }
        let _ = write!(text, "\n{kind}\n");
        for entry in entries() {
            let _ = writeln!(text, "  {:<30}{}", written(entry), entry.help);
        }
    }
    text
}

fn written(entry: &Entry) -> String {
    let dashed = |name: &str| if name.len() == 1 { format!("-{name}") } else { format!("--{name}") };
    let mut names = vec![dashed(entry.name)];
    names.extend(entry.aliases.iter().map(|alias| dashed(alias)));
    let value = match (entry.kind, entry.default) {
        (Kind::Switch, _) => String::new(),
        (Kind::Whole(..), default) => format!("={default}"),
        (_, "") => format!("={}", entry.value),
        (_, default) => format!("={default}"),
    };
    names.join(", ") + &value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }

    #[test]
    fn help_has_the_originals_shape() {
        let help = help();
        for line in [
            "  -C                            only create files/dirs",
            "  -X, --verify-read             Verify the data read",
            "  --print-all-procs             all processes print an excerpt of their results",
            "  -b=1                          branching factor of hierarchical directory structure",
            "  -d=./out                      directory or multiple directories where the test will run [dir|dir1@dir2@dir3...]",
            "  --saveRankPerformanceDetails=STRINGSave the individual rank information into this CSV file.",
            "Module POSIX",
        ] {
            assert!(help.lines().any(|other| other == line), "{line}\n{help}");
        }
    }
}
