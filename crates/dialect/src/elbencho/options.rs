//! elbencho's options, each exactly once, with what is done about it. The same table makes `docs/elbencho.md`.

use std::fmt::Write as _;

use crate::option::{Entry, Kind, Spelling, Table, Word};

pub const TABLE: Table = Table { tool: "elbencho", spelling: Spelling::Dashed, entries: ENTRIES };

const PHASES: &str = "Phases";
const DATA_SET: &str = "Data set";
const ACCESS: &str = "Access";
const MIX: &str = "Mixes and rates";
const CONTENT: &str = "Content";
const RESULTS: &str = "Results";
const LIVE: &str = "Live statistics";
const HOSTS: &str = "Hosts";
const TREES: &str = "Custom trees";
const STORES: &str = "S3 object stores";
const NETWORK: &str = "Network";
const GPUS: &str = "GPUs";
const GENERAL: &str = "General";

const NO_GPU: &str = "data goes to the memory of processors";
const TO_GPU: &str = "leave it out, or read on: docs/accelerators.md";
const NO_SERVICE: &str = "elbencho's services are not spoken to";
const BY_SSH: &str = "--hosts h1,h2 alone: the hosts are reached by ssh, and nothing has to run there before";
const NO_NETBENCH: &str = "connections are measured by other tools here";
const BY_IPERF: &str = "iodyno iperf3, iodyno netperf or iodyno net measure them";
const NO_ACL: &str = "access control lists are neither written nor read";
const NO_TAG: &str = "tags, locks and versions of buckets and objects are neither set nor read";
const CLIENT_S3: &str = "leave it out; aws s3api does it once";
const NO_TREE: &str = "names and sizes of files are computed, and not listed";
const OF_ONE_SIZE: &str = "-n, -N and -s make files of one size; iodyno filebench has trees of many sizes";
const NO_SDK: &str = "there is no client library with a log of its own";

/// Random number algorithms, by which elbencho's streams differ.
const ALGORITHMS: &[Word] = &[
    Word::new("fast", "quick"),
    Word::new("balanced", "balanced"),
    Word::new("balanced_single", "balanced"),
    Word::new("strong", "strong"),
];

const LOCKS: &[Word] = &[
    Word::new("range", "the bytes of each operation"),
    Word::new("full", "the whole file, many reads or one write at a time"),
];

const CHECKSUMS: &[Word] = &[
    Word::new("crc32c", "CRC-32C"),
    Word::new("sha256", "SHA-256"),
    Word::new("crc64nvme", "CRC-64/NVME"),
    Word::new("crc32", "CRC-32").refused("the engine reckons CRC32C, CRC64NVME and SHA256", "say crc32c"),
    Word::new("sha1", "SHA-1").refused("the engine reckons CRC32C, CRC64NVME and SHA256", "say sha256"),
];

const fn flag(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Switch, "", help)
}

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const fn number(name: &'static str, least: i64, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(least, i64::MAX), "N", help).or(default)
}

const fn bytes(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "BYTES", help).or(default)
}

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    flag("mkdirs", "create directories; those that are there will do").also(&["d"]).under(PHASES),
    flag("write", "write files, which are created where they are missing").also(&["w"]).under(PHASES),
    flag("stat", "read the attributes of files").under(PHASES),
    flag("read", "read files").also(&["r"]).under(PHASES),
    flag("delfiles", "delete files").also(&["F"]).under(PHASES),
    flag("deldirs", "delete directories").also(&["D"]).under(PHASES),
    flag("sync", "write dirty pages to storage before and after each phase").under(PHASES),
    flag("dropcache", "drop the page cache, dentries and inodes before and after each phase; needs root").under(PHASES),
    number("iterations", 1, "1", "repeat all phases").also(&["i"]).under(PHASES),
    number("phasedelay", 0, "0", "seconds between phases").under(PHASES),
    number("timelimit", 0, "0", "seconds that each phase may take; after one that took them no other follows").under(PHASES),
    flag("infloop", "each thread begins its work again when it is done, until the time limit or an interrupt").under(PHASES),
    number("start", 0, "0", "begin at that time, in seconds since 1970").under(PHASES),
    flag("dryrun", "only print how many entries and bytes each phase has").under(PHASES),

    number("threads", 1, "1", "I/O threads (of each host)").also(&["t"]).under(DATA_SET),
    number("dirs", 0, "1", "directories of each thread; 0: all files lie in the given one").also(&["n"]).under(DATA_SET),
    number("files", 0, "1", "files of each thread in each directory").also(&["N"]).under(DATA_SET),
    bytes("size", "0", "size of a file").also(&["s"]).under(DATA_SET),
    bytes("block", "1M", "bytes of a read or write").also(&["b"]).under(DATA_SET),
    flag("dirsharing", "all threads use the directories of the first one").under(DATA_SET),
    flag("nodelerr", "what is not there is no error when it is deleted").under(DATA_SET),
    flag("trunc", "cut files to nothing when they are opened for writing").under(DATA_SET),
    flag("trunctosize", "cut or extend files to --size when they are opened for writing").under(DATA_SET),
    flag("preallocfile", "reserve the space of files when they are opened for writing").under(DATA_SET),
    flag("nopathexp", "do not expand [1-4,7] in paths").under(DATA_SET),
    flag("nofdsharing", "each thread opens a given file or device itself")
        .ignored("each thread has a descriptor of its own").under(DATA_SET),
    number("rankoffset", 0, "0", "number of the first thread, in names and ranges").under(DATA_SET),
    number("datasetthreads", 0, "0", "threads of all instances that share the data set; 0: those of this run")
        .refused("elbencho sets it itself, for its services", BY_SSH).under(DATA_SET),

    flag("direct", "past the page cache (O_DIRECT)").under(ACCESS),
    number("iodepth", 1, "1", "reads or writes in flight of each thread; more than 1: by libaio").under(ACCESS),
    flag("rand", "at random places").under(ACCESS),
    Entry::new("randalgo", Kind::Word(ALGORITHMS), "NAME", "how random places are drawn; writes without it reach each block once")
        .under(ACCESS),
    flag("norandalign", "random places are not multiples of the block").under(ACCESS),
    bytes("randamount", "", "bytes of all threads at random places; without it the size of all files").under(ACCESS),
    flag("backward", "from the end to the beginning").under(ACCESS),
    flag("strided", "threads take turns block by block").under(ACCESS),
    flag("mmap", "through a memory mapping").under(ACCESS),
    text("madv", "LIST", "hints on mappings: seq, rand, willneed, dontneed, hugepage, nohugepage").under(ACCESS),
    text("fadv", "LIST", "hints on files: seq, rand, willneed, dontneed, noreuse").under(ACCESS),
    Entry::new("flock", Kind::Word(LOCKS), "WHAT", "lock around each read and write").under(ACCESS),
    flag("readinline", "read each block again that was written, while the file is open").under(ACCESS),
    flag("statinline", "read the attributes of each file that was opened").under(ACCESS),
    flag("nodiocheck", "do not check the alignment of direct I/O")
        .ignored("the system tells what it does not take").under(ACCESS),
    text("cores", "LIST", "processors that threads are bound to in turn, or all").under(ACCESS),
    text("zones", "LIST", "NUMA nodes that threads are bound to in turn, or all").under(ACCESS),

    Entry::new("rwmixpct", Kind::Whole(0, 100), "PERCENT", "blocks of a write phase that are read").or("0").under(MIX),
    number("rwmixthr", 0, "0", "threads of a write phase that read").under(MIX),
    Entry::new("rwmixthrpct", Kind::Whole(0, 99), "PERCENT", "share of reads that --rwmixthr keeps").or("0").under(MIX),
    bytes("limitread", "0", "bytes per second that a thread reads at most").under(MIX),
    bytes("limitwrite", "0", "bytes per second that a thread writes at most").under(MIX),

    Entry::new("blockvarpct", Kind::Whole(0, 100), "PERCENT", "part of each block that is random anew for each write")
        .or("100").under(CONTENT),
    Entry::new("blockvaralgo", Kind::Word(ALGORITHMS), "NAME", "how it is drawn").or("fast")
        .ignored("one generator fills blocks, which do not compress").under(CONTENT),
    number("verify", 0, "0", "words of files are this salt plus their offset, and reads check it; 0: off").under(CONTENT),
    flag("verifydirect", "check each block right after it was written").under(CONTENT),

    flag("lat", "print the shortest, mean and longest latency").under(RESULTS),
    flag("latpercent", "print percentiles of latencies").under(RESULTS),
    Entry::new("latpercent9s", Kind::Whole(0, 12), "N", "nines behind 99. of percentiles").or("0").under(RESULTS),
    flag("lathisto", "print histograms of latencies").under(RESULTS),
    flag("allelapsed", "print the time of each thread").under(RESULTS),
    flag("svcelapsed", "print the time of each host").under(RESULTS),
    flag("cpu", "print how busy the processors were").under(RESULTS),
    flag("dirstats", "count directories whose files were all written or read").under(RESULTS),
    flag("base10", "print rates in MB/s").under(RESULTS),
    flag("no0usecerr", "do not warn of threads that took less than 1 us").under(RESULTS),
    text("label", "TEXT", "a name for the run in files of results").under(RESULTS),
    Entry::new("resfile", Kind::Path, "FILE", "append the report to this file").under(RESULTS),
    Entry::new("csvfile", Kind::Path, "FILE", "append a line of CSV for each phase to this file").under(RESULTS),
    Entry::new("jsonfile", Kind::Path, "FILE", "append a line of JSON for each phase to this file").under(RESULTS),
    flag("nocsvlabels", "no head line in the CSV").under(RESULTS),
    text("opslog", "FILE", "write each operation down")
        .refused("operations are recorded by another command", "iodyno trace record -- COMMAND, or --also journal").under(RESULTS),
    flag("opsloglock", "lock that file").refused("there is no such file", "leave it out").under(RESULTS),

    flag("nolive", "no live statistics on the terminal").under(LIVE),
    flag("live1", "live statistics in one line").under(LIVE),
    flag("live1n", "a new line of live statistics each time, on standard error").under(LIVE),
    Entry::new("livecsv", Kind::Path, "FILE", "append live statistics to this file, as CSV; stdout: print them").under(LIVE),
    flag("livecsvex", "of each thread, too")
        .refused("live counters are sums of all threads", "leave it out; --allelapsed tells of each thread").under(LIVE),
    Entry::new("liveint", Kind::Whole(1, 3_600_000), "MS", "time between live statistics, ms").or("2000").under(LIVE),
    text("livejson", "FILE", "live statistics as JSON")
        .refused("live statistics are CSV here", "--livecsv FILE").under(LIVE),

    text("hosts", "HOSTS", "run on these hosts, by ssh; names with commas").under(HOSTS),
    Entry::new("hostsfile", Kind::Path, "FILE", "run on the hosts of this file").under(HOSTS),
    number("numhosts", -1, "-1", "use the first hosts only; -1: all").under(HOSTS),
    flag("nosvcshare", "each host has all of the data set for itself")
        .refused("names and ranges tell the hosts apart", "run on each host by itself, begun together: --start").under(HOSTS),
    number("rotatehosts", 0, "0", "each phase works on the data of the host so many further").under(HOSTS),
    flag("service", "wait for orders").refused(NO_SERVICE, BY_SSH).under(HOSTS),
    flag("foreground", "as a service, stay in the foreground").refused(NO_SERVICE, BY_SSH).under(HOSTS),
    flag("nodetach", "the same").refused(NO_SERVICE, BY_SSH).under(HOSTS),
    flag("interrupt", "interrupt services").refused(NO_SERVICE, "interrupt this run (Ctrl-C): all hosts end").under(HOSTS),
    flag("quit", "end services").refused(NO_SERVICE, "there are none to end").under(HOSTS),
    number("port", 0, "1611", "port of services").refused(NO_SERVICE, BY_SSH).under(HOSTS),
    text("svcpwfile", "FILE", "secret that services and master share").refused(NO_SERVICE, BY_SSH).under(HOSTS),
    number("svcupint", 1, "500", "ms between looks at services").ignored("no service is looked at").under(HOSTS),
    number("svcwait", 0, "5", "seconds until services are ready").ignored("no service is waited for").under(HOSTS),
    flag("svcping", "show how soon services answer").ignored("no service is asked").under(HOSTS),
    flag("althttpsvc", "another HTTP server").refused(NO_SERVICE, BY_SSH).under(HOSTS),

    Entry::new("treefile", Kind::Path, "FILE", "directories and files with their sizes").refused(NO_TREE, OF_ONE_SIZE).under(TREES),
    flag("treerand", "files of the tree in random order").refused(NO_TREE, OF_ONE_SIZE).under(TREES),
    flag("treeroundrob", "deal the blocks of large files to threads in turn").refused(NO_TREE, OF_ONE_SIZE).under(TREES),
    bytes("treeroundup", "0", "round sizes of the tree up to multiples of this").refused(NO_TREE, OF_ONE_SIZE).under(TREES),
    bytes("sharesize", "0", "files as large as this are read and written by several threads; 0: 32 blocks")
        .refused(NO_TREE, OF_ONE_SIZE).under(TREES),
    text("treescan", "PATH", "make the tree file from what is there").refused(NO_TREE, OF_ONE_SIZE).under(TREES),

    text("s3endpoints", "URLS", "the store's addresses, with commas; paths are buckets then").under(STORES),
    text("s3key", "KEY", "the access key").under(STORES),
    text("s3secret", "KEY", "the secret key").under(STORES),
    text("s3sessiontoken", "TOKEN", "the session's token").under(STORES),
    text("s3region", "REGION", "the region that requests are signed for").under(STORES),
    text("s3objprefix", "TEXT", "what the names of objects begin with").under(STORES),
    number("s3listobj", 0, "0", "list so many objects of the buckets, one page after the other")
        .refused("lists are of directories", "--s3listobjpar lists the objects of each thread's directories").under(STORES),
    flag("s3listobjpar", "list the objects of each thread's directories").under(STORES),
    flag("s3listverify", "check that lists have all objects")
        .refused("names in lists are counted, and not compared", "leave it out").under(STORES),
    number("s3multidel", 0, "0", "delete so many objects with each request").under(STORES),
    flag("s3multiignore404", "objects that are not there are no error of such a request")
        .ignored("a store answers so anyway").under(STORES),
    flag("s3randobj", "read blocks of objects at random").under(STORES),
    flag("s3fastget", "throw read objects away unseen").ignored("an object goes from the socket to its buffer in one call").under(STORES),
    flag("s3fastput", "send from one buffer").ignored("an object goes from its buffer to the socket in one call").under(STORES),
    flag("s3transman", "read by the library's transfers")
        .ignored("an object is read by one request, or by as many as it has blocks").under(STORES),
    Entry::new("s3sign", Kind::Whole(0, 2), "N", "sign what is sent: 0 by the scheme, 1 always, 2 never").or("0").under(STORES),
    Entry::new("s3chksumalgo", Kind::Word(CHECKSUMS), "NAME", "checksum that is sent with objects").under(STORES),
    flag("s3sse", "let the server encrypt").under(STORES),
    text("s3sseckey", "KEY", "encrypt with this key").refused("keys of the client are not sent", "say --s3sse").under(STORES),
    text("s3ssekmskey", "ID", "encrypt with a key of a key service")
        .refused("keys of key services are not named", "say --s3sse").under(STORES),
    flag("s3virtaddr", "the bucket's name stands in the host's").under(STORES),
    flag("s3nompcheck", "do not check the size of parts").ignored("the store tells").under(STORES),
    flag("s3ignoreerrors", "go on after errors").under(STORES),
    flag("s3statdirs", "ask for the attributes of buckets")
        .refused("buckets have no phase of their own but creation and deletion", "leave it out").under(STORES),
    text("s3credfile", "FILE", "several keys in a file")
        .refused("all requests of a run have one key", "--s3key and --s3secret").under(STORES),
    text("s3credlist", "LIST", "several keys").refused("all requests of a run have one key", "--s3key and --s3secret").under(STORES),
    flag("s3nompucompl", "leave uploads open").refused("an upload is completed by who begins it", "leave it out").under(STORES),
    flag("s3mpucomplphase", "complete uploads in a phase of their own")
        .refused("an upload is completed by who begins it", "leave it out").under(STORES),
    bytes("s3mpusizevar", "0", "sizes of parts vary by this").refused("parts of an object have one size", "leave it out").under(STORES),
    number("s3maxconns", 0, "0", "connections at most").ignored("each operation in flight has one").under(STORES),
    number("s3targetgbps", 0, "0", "rate that the library aims at").ignored("there is no such library").under(STORES),
    flag("s3nocompress", "do not compress requests").ignored("none is compressed").under(STORES),
    Entry::new("s3log", Kind::Whole(0, 6), "N", "log of the library").or("0").ignored(NO_SDK).under(STORES),
    text("s3logprefix", "TEXT", "where its log goes").ignored(NO_SDK).under(STORES),
    flag("s3aclput", "write access control lists of objects").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3aclputinl", "write them with the object").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3aclget", "read them").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3aclverify", "check them").refused(NO_ACL, CLIENT_S3).under(STORES),
    text("s3aclgrantee", "NAME", "who is granted").refused(NO_ACL, CLIENT_S3).under(STORES),
    text("s3aclgtype", "TYPE", "how that one is named").refused(NO_ACL, CLIENT_S3).under(STORES),
    text("s3aclgrants", "LIST", "what is granted").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3baclput", "write access control lists of buckets").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3baclget", "read them").refused(NO_ACL, CLIENT_S3).under(STORES),
    flag("s3btag", "tags of buckets").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3btagverify", "check them").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3bversion", "versions of buckets").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3bversionverify", "check them").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3olockcfg", "locks of objects").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3olockcfgverify", "check them").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3otag", "tags of objects").refused(NO_TAG, CLIENT_S3).under(STORES),
    flag("s3otagverify", "check them").refused(NO_TAG, CLIENT_S3).under(STORES),

    flag("netbench", "requests and answers between hosts").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    text("servers", "HOSTS", "its servers").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    text("serversfile", "FILE", "a file of them").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    text("clients", "HOSTS", "its clients").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    text("clientsfile", "FILE", "a file of them").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    number("numservers", 0, "0", "how many hosts are servers").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    bytes("respsize", "1", "bytes of an answer").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    bytes("sendbuf", "0", "socket buffer of what is sent").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    bytes("recvbuf", "0", "socket buffer of what is received").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),
    text("netdevs", "NAMES", "network devices of clients").refused(NO_NETBENCH, BY_IPERF).under(NETWORK),

    text("gpuids", "LIST", "GPUs whose memory data is copied to").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("gpuperservice", "a GPU for each service").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("cufile", "read to GPUs by cuFile").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("cufiledriveropen", "open its driver").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("gds", "cuFile with direct I/O").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("gdsbufreg", "register buffers of GPUs").refused(NO_GPU, TO_GPU).under(GPUS),
    flag("cuhostbufreg", "pin buffers for GPUs").refused(NO_GPU, TO_GPU).under(GPUS),

    flag("hdfs", "paths are of HDFS")
        .refused("this program of Hadoop's store has one job a file", "iodyno ior -a HDFS, iodyno mdtest -a HDFS").under(GENERAL),
    Entry::new("configfile", Kind::Path, "FILE", "read options from lines NAME=VALUE; the command line goes first")
        .also(&["c"]).under(GENERAL),
    text("path", "PATH", "a path, as an operand is").under(GENERAL),
    number("log", 0, "0", "1: print operations of each phase, too").under(GENERAL),
    flag("help", "print how to begin").also(&["h"]).under(GENERAL),
    flag("help-all", "print all options").under(GENERAL),
    flag("help-large", "print options for large files and devices").also(&["help-bdev"]).under(GENERAL),
    flag("help-multi", "print options for many files").under(GENERAL),
    flag("help-s3", "print options for object stores").under(GENERAL),
    flag("help-dist", "print options for several hosts").under(GENERAL),
    flag("version", "print the version").under(GENERAL),
];

/// The page about elbencho, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// The helps, and the categories that each shows; none: an overview.
const HELPS: [(&str, &str, &[&str]); 5] = [
    ("help-all", "All options", &[]),
    ("help-large", "Large files and block devices", &[PHASES, DATA_SET, ACCESS, MIX, CONTENT, RESULTS]),
    ("help-multi", "Many files in many directories", &[PHASES, DATA_SET, ACCESS, RESULTS, TREES]),
    ("help-s3", "Object stores", &[PHASES, DATA_SET, STORES]),
    ("help-dist", "Several hosts", &[HOSTS]),
];

/// The help that was asked for, if any was.
pub fn help(is_asked: impl Fn(&str) -> bool) -> Option<String> {
    if let Some((_, title, categories)) = HELPS.iter().find(|(name, ..)| is_asked(name)) {
        let mut text = format!("{title}\n\nUsage: elbencho [OPTIONS] PATH [MORE_PATHS]\n");
        let mut category = "";
        let is_shown = |entry: &&Entry| categories.is_empty() || categories.contains(&entry.category);
        for entry in TABLE.entries.iter().filter(is_shown) {
            if entry.category != category {
                category = entry.category;
                let _ = write!(text, "\n{category}:\n");
            }
            let default = if entry.default.is_empty() {
                String::new()
            } else {
                format!(" (Default: {})", entry.default)
            };
            let _ =
                writeln!(text, "  {:<27} {}{default}{}", written(entry), entry.help, entry.status.remark());
        }
        return Some(text);
    }
    is_asked("help").then(|| {
        let mut text = format!("elbencho {}, as iodyno runs it\n\n", super::VERSION);
        text += "Usage: elbencho [OPTIONS] PATH [MORE_PATHS]\n\n";
        for (name, title, _) in HELPS {
            let _ = writeln!(text, "  --{name:<12} {title}");
        }
        text
    })
}

/// `-b [ --block ] arg`, as elbencho has it.
fn written(entry: &Entry) -> String {
    let letter = entry.aliases.iter().find(|alias| alias.len() == 1);
    let name = match letter {
        Some(letter) => format!("-{letter} [ --{} ]", entry.name),
        None => format!("--{}", entry.name),
    };
    if entry.value.is_empty() { name } else { name + " arg" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }

    #[test]
    fn helps_show_their_categories() {
        let of = |asked: &'static str| help(|name| name == asked).unwrap_or_default();
        assert!(
            of("help-all").contains("--s3endpoints arg") && of("help-all").contains("--netbench"),
            "{}",
            of("help-all")
        );
        assert!(
            of("help-s3").contains("--s3endpoints arg") && !of("help-s3").contains("--netbench"),
            "{}",
            of("help-s3")
        );
        assert!(
            of("help-all").contains("  -b [ --block ] arg          bytes of a read or write (Default: 1M)\n")
                && of("help").contains("--help-multi")
                && of("nothing").is_empty()
        );
    }
}
