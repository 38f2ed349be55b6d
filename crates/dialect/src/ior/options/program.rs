//! The options of the program itself, in the order of its help.

use super::{ARGUMENTS as ARGUMENT, DIRECTIVES as DIRECTIVE, FLAGS as FLAG, OLDER as OLD};
use crate::option::{Entry, Kind, Word};

const fn flag(name: &'static str, aliases: &'static [&'static str], help: &'static str) -> Entry {
    Entry::new(name, Kind::Flag, "", help).also(aliases).or("0").under(FLAG)
}

const fn count(
    name: &'static str,
    aliases: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Whole(i64::MIN, i64::MAX), "N", help).also(aliases).or(default).under(ARGUMENT)
}

const fn size(
    name: &'static str,
    aliases: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Bytes, "N", help).also(aliases).or(default).under(ARGUMENT)
}

const fn text(
    name: &'static str,
    aliases: &'static [&'static str],
    value: &'static str,
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Text, value, help).also(aliases).under(ARGUMENT)
}

const fn directive(entry: Entry) -> Entry {
    entry.under(DIRECTIVE)
}

const SOCKET: &str = "tasks are not bound to CPU sockets, so no name can follow from one";
const SOCKET_HINT: &str = "with -F, `-o /a/f@/b/f` deals the tasks to several mounts";
const GPU: &str = "buffers lie in main memory";
const GPU_HINT: &str = "leave it out, or use an IOR built with CUDA";

/// What is there or not, and counts how often.
#[rustfmt::skip]
pub const FLAGS: &[Entry] = &[
    flag("collective", &["-c", "--collective"], "transfers of all tasks together (MPIIO, HDF5, NCMPI)"),
    flag("reorderTasks", &["-C", "reorderTasksConstant"], "read what another task wrote: -Q nodes further; past the client's cache"),
    flag("fsync", &["-e"], "fsync each file after the last transfer, inside the time"),
    flag("useExistingTestFile", &["-E"], "write into the file that is there instead of removing it first"),
    flag("filePerProc", &["-F"], "a file for each task"),
    flag("intraTestBarriers", &["-g"], "all tasks wait for each other between open, transfers and close"),
    flag("keepFile", &["-k"], "keep the files"),
    flag("keepFileWithError", &["-K"], "keep the files when what was read is not what was written"),
    flag("multiFile", &["-m"], "a file of its own for each repetition"),
    flag("readFile", &["-r"], "read"),
    flag("checkRead", &["-R"], "read and compare, in the read's time; of data of an earlier run with its -G"),
    flag("uniqueDir", &["-u"], "with -F: a directory of its own for each task's file"),
    flag("verbose", &["-v"], "say more; again: still more"),
    flag("writeFile", &["-w"], "write"),
    flag("checkWrite", &["-W"], "read back and compare after writing, outside the time; writes if no other phase is named"),
    flag("singleXferAttempt", &["-x"], "a short transfer is not continued"),
    flag("dualMount", &["-y"], "a mount for each CPU socket").refused(SOCKET, SOCKET_HINT),
    flag("fsyncPerWrite", &["-Y"], "fsync after each write"),
    flag("randomOffset", &["-z"], "transfers of a block in random order; twice: anywhere in the file, places may repeat"),
    flag("reorderTasksRandom", &["-Z"], "read what a random task wrote, at least -Q nodes away; twice: each task's data once"),
    flag("warningAsErrors", &["--warningAsErrors"], "a warning is an error"),
    flag("dryRun", &["--dryRun"], "say what would be done and do no I/O"),
    Entry::new("help", Kind::Switch, "", "print this and end").also(&["-h", "--help"]).under(FLAG),
    Entry::new("version", Kind::Switch, "", "print the version and end").also(&["--version"]).under(FLAG),
];

const WORDS_OF_CONTENT: &[Word] = &[
    Word::new("timestamp", "words that name task, signature and index"),
    Word::new("offset", "as timestamp, and each 4 KiB names its place in the file"),
    Word::new("incompressible", "random words, drawn once; each 4 KiB names its place"),
    Word::new("random", "random words, drawn for each transfer"),
];

const WORDS_OF_SUMMARIES: &[Word] = &[
    Word::new("default", "text"),
    Word::new("JSON", "JSON, always valid"),
    Word::new("CSV", "a row for each phase"),
];

/// What has a value.
#[rustfmt::skip]
pub const ARGUMENTS: &[Entry] = &[
    Entry::new("api", Kind::Word(super::back_ends::APIS), "API", "the back end").also(&["-a"]).or("POSIX").under(ARGUMENT),
    count("refNum", &["-A", "testnum"], "0", "a number of yours in the summary"),
    size("blockSize", &["-b"], "1048576", "contiguous bytes of a task in each segment (8, 4k, 2m, 1g)"),
    Entry::new("interTestDelay", Kind::Decimal, "N", "seconds of rest before each write and read, as 2 or 0.5")
        .also(&["-d"])
        .or("0")
        .under(ARGUMENT),
    count("deadlineForStonewalling", &["-D"], "0", "seconds after which a write or read is stopped"),
    count("stoneWallingWearOut", &[], "0", "when that time is up, all tasks do as much as the fastest has done"),
    count("stoneWallingWearOutIterations", &[], "0", "stop after so many transfers of each task"),
    text("stoneWallingStatusFile", &[], "FILE", "keeps the number of transfers that a write wore out to, for a later read"),
    count("minTimeDuration", &[], "0", "seconds that a phase lasts at least: it begins again at the start of the file"),
    Entry::new("scriptFile", Kind::Path, "FILE", "run the tests of a script").also(&["-f"]).under(ARGUMENT),
    count("setTimeStampSignature", &["-G"], "0", "signature and seed of the data; 0: from the clock"),
    count("repetitions", &["-i"], "1", "how often"),
    count("outlierThreshold", &["-j"], "0", "name tasks that are so many seconds away from the mean"),
    Entry::new("dataPacketType", Kind::Word(WORDS_OF_CONTENT), "TYPE", "what is written (o, i, t, r do)")
        .also(&["-l", "--dataPacketType"]).or("timestamp").under(ARGUMENT),
    text("memoryPerNode", &["-M"], "SIZE", "memory that the tasks of a node lock: 2g, 75%"),
    count("numTasks", &["-N"], "-1", "how many tasks: threads here, or the first N under mpirun; -1: all"),
    text("testFile", &["-o"], "FILE", "the file; with -F `A@B` deals the tasks to several").or("testFile"),
    Entry::new("directives", Kind::List, "KEY=VALUE,...", "directives: keys of scripts").also(&["-O"]).under(ARGUMENT),
    count("taskPerNodeOffset", &["-Q"], "1", "of -C and -Z: how many nodes away"),
    count("segmentCount", &["-s"], "1", "segments"),
    size("transferSize", &["-t"], "262144", "bytes of a transfer (8, 4k, 2m, 1g)"),
    count("maxTimeDuration", &["-T"], "0", "minutes after which no phase begins any more"),
    count("reorderTasksRandomSeed", &["-X"], "0", "seed of -Z; below 0: another in each repetition"),
    size("randomPrefill", &["--randomPrefill"], "0", "with -z: write the file in transfers of this size first"),
    count("random-offset-seed", &["--random-offset-seed", "randomSeed"], "-1", "seed of -z; -1: from the clock"),
    text("summaryFile", &[], "FILE", "write the results to this file"),
    Entry::new("summaryFormat", Kind::Word(WORDS_OF_SUMMARIES), "FORMAT", "form of the results: default, JSON, CSV").or("default")
        .under(ARGUMENT),
    text("saveRankPerformanceDetailsCSV", &[], "FILE", "write each task's times and throughput to this file"),
    text("savePerOpDataCSV", &[], "PREFIX", "write each transfer's times, a file for each task and repetition"),
];

/// What only directives and scripts say.
#[rustfmt::skip]
pub const DIRECTIVES: &[Entry] = &[
    directive(text("memoryPerTask", &[], "SIZE", "memory that each task locks")),
    directive(count("interIODelay", &[], "0", "microseconds of rest after each transfer")),
    directive(flag("summaryAlways", &[], "a summary after each test of a script")),
    directive(count("numNodes", &["nodes"], "-1", "how many nodes there are, instead of the number found")),
    directive(count("numTasksOnNode0", &[], "-1", "how many tasks the first node has, instead of the number found")),
    directive(text("debug", &[], "TEXT", "a text for the header")).ignored("the header has no such line any more"),
    directive(text("platform", &[], "NAME", "what the machine is called in the results")),
    directive(flag("allocateBufferOnGPU", &[], "buffers in a GPU's memory")).refused(GPU, GPU_HINT),
    directive(count("GPUid", &[], "0", "which GPU")).refused(GPU, GPU_HINT),
    directive(flag("GPUDirect", &["--gpuDirect", "gpuDirect"], "transfers to a GPU's memory")).refused(GPU, GPU_HINT),
];

/// What earlier versions knew, and scripts still say.
#[rustfmt::skip]
pub const OLDER: &[Entry] = &[
    flag("quitOnError", &["-q"], "the first wrong byte ends the run").under(OLD),
    flag("storeFileOffset", &[], "as dataPacketType=offset").under(OLD),
    flag("useSharedFilePointer", &["-P"], "one file position for all tasks")
        .ignored("no version of IOR did it: every transfer names its place").under(OLD),
    flag("showHelp", &[], "print help first").ignored("`ior -h` prints it").under(OLD),
    flag("fillTheFileSystem", &[], "write until the file system is full")
        .refused("it was never documented", "use a size larger than the file system: the run ends with what fitted").under(OLD),
    flag("corruptFile", &[], "damage the file before it is checked")
        .refused("it was never documented", "damage it yourself between -w -k and -r -R").under(OLD),
    flag("includeDeleteTime", &[], "removing counts as writing").refused("it was never documented", "-v shows how long removing took")
        .under(OLD),
    flag("multiReRead", &[], "read all files of -m once more at the end")
        .refused("it was never documented", "use two tests in a script, the second with readFile=1").under(OLD),
];
