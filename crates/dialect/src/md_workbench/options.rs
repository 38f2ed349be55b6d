//! md-workbench's options, each exactly once, with what is done about it.
//!
//! Names are written without dashes: one letter is `-x`, a word is `--word`. The same table makes `docs/md-workbench.md`.

use crate::file_system_hints::help;
use crate::mdtest::options::{AIO, APIS_WITHOUT_STORES, ARGUMENTS, DUMMY, FLAGS, PACKETS, POSIX, help_of};
use crate::option::{Entry, Kind, Spelling, Table};

pub const TABLE: Table = Table { tool: "md-workbench", spelling: Spelling::Dashed, entries: ENTRIES };

const OFFSET: &str =
    "Offset in ranks between writers and readers, which should be located on different nodes.";
const NOT_PENDING: &str = "an item is one transfer: nothing is pending";
const NO_GPU: &str = "there are no GPU buffers";
const NO_LIMIT: &str = "the program of the IOR package has no such option any more";
const LIMIT_MEMORY: &str =
    "limit the page cache from outside: systemd-run --scope -p MemoryMax=1G iodyno md-workbench …";

const fn flag(name: &'static str, aliases: &'static [&'static str], help: &'static str) -> Entry {
    Entry::new(name, Kind::Switch, "", help).also(aliases).under(FLAGS)
}

const fn text(name: &'static str, aliases: &'static [&'static str], help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, "STRING", help).also(aliases).under(ARGUMENTS)
}

const fn number(
    name: &'static str,
    aliases: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Whole(i64::MIN, i64::MAX), "N", help).or(default).also(aliases).under(ARGUMENTS)
}

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    flag("latency-all", &[], "Keep the latency files from all ranks."),
    flag("q", &["quiet"], "Avoid irrelevant printing."),
    flag("T", &["adaptive-waiting"], "Compute an adaptive waiting time"),
    flag("1", &["run-precreate"], "Run precreate phase"),
    flag("2", &["run-benchmark"], "Run benchmark phase"),
    flag("3", &["run-cleanup"], "Run cleanup phase (only run explicit phases)"),
    flag("W", &["stonewall-wear-out"], "After the stonewall all processes perform the same number of iterations"),
    flag("X", &["verify-read"], "Verify the data on read"),
    flag("print-detailed-stats", &[], "Print detailed machine parsable statistics."),
    flag("read-only", &[], "Run read-only during benchmarking phase (no deletes/writes), probably use with -2"),
    flag("ignore-precreate-errors", &[], "Ignore errors occurring during the pre-creation phase"),
    flag("process-reports", &[], "Independent report per process/rank"),
    flag("v", &["verbose"], "Increase the verbosity level")
        .ignored("single operations are not printed; every failure is summed up on standard error"),
    flag("incompressible-data", &[], "Fill the buffer with random data, as --dataPacketType i"),
    flag("help", &["h"], "print this help"),
    flag("version", &[], "print the version"),
    number("O", &["offset"], "1", OFFSET),
    Entry::new("a", Kind::Word(APIS_WITHOUT_STORES), "STRING", "The API (plugin) to use for the benchmark [POSIX|AIO|DUMMY]")
        .or("POSIX").also(&["api"]).under(ARGUMENTS),
    number("I", &["obj-per-proc"], "1000", "Number of I/O operations per data set."),
    text("L", &["latency"], "Measure the latency for individual operations, prefix the result files with the provided filename."),
    number("P", &["precreate-per-set"], "3000", "Number of object to precreate per data set."),
    number("D", &["data-sets"], "10", "Number of data sets covered per process and iteration."),
    number("G", &[], "-1", "Timestamp/Random seed for access pattern, if not set, a random value is used"),
    text("o", &[], "Output directory").or("./out"),
    number("S", &["object-size"], "3901", "Size for the created objects."),
    number("R", &["iterations"], "3", "Number of times to rerun the main phase"),
    Entry::new("t", Kind::Decimal, "F", "Waiting time relative to runtime (1.0 is 100%%)")
        .or("0.000000").also(&["waiting-time"]).under(ARGUMENTS),
    number("w", &["stonewall-timer"], "0", "Stop each benchmark iteration after the specified seconds"),
    Entry::new("dataPacketType", Kind::Word(PACKETS), "t", "type of packet that will be created")
        .or("timestamp").under(ARGUMENTS),
    number("start-item", &[], "0", "The iteration number of the item to start with, allowing to offset the operations"),
    text("run-info-file", &[], "The log file for resuming a previous run").or("md-workbench.status"),
    number("m", &["lim-free-mem"], "0", "Allocate memory until this limit (in MiB) is reached").refused(NO_LIMIT, LIMIT_MEMORY),
    number("M", &["lim-free-mem-phase"], "0", "The same between the phases").refused(NO_LIMIT, LIMIT_MEMORY),
    number("threads-per-process", &[], "1", "Threads of each process")
        .refused("md-workbench has processes only", "iodyno md-workbench --also threads=4 … gives every rank four tasks"),
    flag("allocateBufferOnGPU", &[], "Allocate the buffer on the GPU.").refused(NO_GPU, "leave it out"),
    flag("posix.odirect", &[], "Direct I/O Mode").under(POSIX),
    flag("posix.rangelocks", &[], "Use range locks (read locks for read ops)").under(POSIX),
    number("posix.lustre.stripecount", &[], "0", help::COUNT).under(POSIX),
    number("posix.lustre.stripesize", &[], "0", help::SIZE).under(POSIX),
    number("posix.lustre.startost", &[], "-1", help::START).under(POSIX),
    flag("posix.lustre.ignorelocks", &[], help::LOCKS).under(POSIX),
    text("posix.lustre.pool", &[], help::POOL).under(POSIX),
    flag("posix.gpfs.hintaccess", &[], help::ACCESS).under(POSIX),
    flag("posix.gpfs.releasetoken", &[], help::TOKENS).under(POSIX),
    flag("posix.gpfs.finegrainwritesharing", &[], help::WRITES).under(POSIX),
    flag("posix.gpfs.finegrainreadsharing", &[], help::READS).under(POSIX),
    flag("posix.gpfs.createsharing", &[], help::CREATION)
        .ignored("md-workbench takes it and gives this hint to nobody; mdtest does").under(POSIX),
    number("posix.beegfs.NumTargets", &[], "-1", help::TARGETS).under(POSIX),
    number("posix.beegfs.ChunkSize", &[], "-1", help::CHUNK).under(POSIX),
    number("aio.max-pending", &[], "128", "Max number of pending ops").ignored(NOT_PENDING).under(AIO),
    number("aio.granularity", &[], "16", "How frequent to submit pending IOs").ignored(NOT_PENDING).under(AIO),
    flag("dummy.delay-only-rank0", &[], "Delay only Rank0").under(DUMMY),
    number("dummy.delay-create", &[], "0", "Delay per create in usec").under(DUMMY),
    number("dummy.delay-close", &[], "0", "Delay per close in usec").under(DUMMY),
    number("dummy.delay-sync", &[], "0", "Delay for sync in usec").under(DUMMY),
    number("dummy.delay-xfer", &[], "0", "Delay per xfer in usec").under(DUMMY),
];

/// The page about md-workbench, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// Help in the IOR package's form.
pub fn help() -> String {
    help_of(&TABLE)
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
            "Synopsis md-workbench",
            "  -1, --run-precreate           Run precreate phase",
            "  -P, --precreate-per-set=3000  Number of object to precreate per data set.",
            "  -o=./out                      Output directory",
            "  --run-info-file=md-workbench.statusThe log file for resuming a previous run",
            "Module DUMMY",
        ] {
            assert!(help.lines().any(|other| other == line), "{line}\n{help}");
        }
    }
}
