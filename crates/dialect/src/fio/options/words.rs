//! The words that options take as values, each with what it means.
//!
//! It refuses, by name and with what to use instead, the engines whose hardware, library or kernel is gone or not here.

use crate::option::Word;

const fn w(name: &'static str, help: &'static str) -> Word {
    Word::new(name, help)
}

/// `lockfile=`.
pub const LOCKS: &[Word] = &[
    w("none", "no locks"),
    w("exclusive", "one job at a time"),
    w("readwrite", "many readers, or one writer"),
];

/// `rw=`.
pub const DIRECTIONS: &[Word] = &[
    w("read", "reads in sequence"),
    w("write", "writes in sequence"),
    w("trim", "trims in sequence"),
    w("randread", "reads anywhere"),
    w("randwrite", "writes anywhere"),
    w("randtrim", "trims anywhere"),
    w("rw", "reads and writes in sequence"),
    w("readwrite", "the same as rw"),
    w("randrw", "reads and writes anywhere"),
    w("trimwrite", "trims each block, then writes it, in sequence"),
    w("randtrimwrite", "trims each block, then writes it, anywhere"),
];

/// `rw_sequencer=`.
pub const SEQUENCERS: &[Word] =
    &[w("sequential", "the next offset follows the last"), w("identical", "the same offset again")];

const NO_COMMAND: &str = "this SCSI command is not done yet";
const NO_LIBRARY: &str = "its client library is not part of iodyno";
const NO_HARDWARE: &str = "it drives hardware that iodyno does not know";
const GONE: &str = "the kernel interface it used never came to Linux, or is gone";

/// `ioengine=`.
#[rustfmt::skip]
pub const ENGINES: &[Word] = &[
    w("sync", "lseek, then read and write"),
    w("psync", "pread and pwrite"),
    w("vsync", "readv and writev, neighbours gathered"),
    w("pvsync", "preadv and pwritev"),
    w("pvsync2", "preadv2 and pwritev2 with flags"),
    w("libaio", "the kernel's older asynchronous I/O"),
    w("io_uring", "the kernel's rings"),
    w("posixaio", "POSIX asynchronous I/O: threads of the C library"),
    w("mmap", "copies to and from mapped files"),
    w("splice", "splice and vmsplice through a pipe"),
    w("sg", "SCSI commands through /dev/sg or a disk"),
    w("null", "no I/O at all: what the loop itself costs"),
    w("cpp_null", "the same as null"),
    w("net", "TCP, UDP and UNIX sockets"),
    w("netsplice", "the same with splice"),
    w("cpuio", "burns processor time beside the others"),
    w("exec", "runs a program as a job"),
    w("falloc", "fallocate and punched holes as writes and trims"),
    w("ftruncate", "ftruncate as writes"),
    w("filecreate", "creates files"),
    w("filestat", "stats files"),
    w("filedelete", "deletes files"),
    w("dircreate", "creates directories"),
    w("dirstat", "stats directories"),
    w("dirdelete", "deletes directories"),
    w("io_uring_cmd", "NVMe commands through the rings")
        .refused("passing NVMe commands through is not done", "use ioengine=io_uring on the block device"),
    w("page_fault", "copies to and from memory without a file: the cost of page faults"),
    w("e4defrag", "moves extents of ext4").refused("defragmenting is not done", "use ioengine=falloc"),
    w("rdma", "RDMA verbs").refused(NO_HARDWARE, "use ioengine=net"),
    w("mtd", "raw flash").refused(NO_HARDWARE, "use ioengine=psync on /dev/mtdblock"),
    w("rbd", "Ceph block devices").refused(NO_LIBRARY, "map the image (rbd map) and use io_uring on it"),
    w("rados", "Ceph objects, by librados"),
    w("gfapi", "Gluster volumes").refused(NO_LIBRARY, "mount the volume and use psync"),
    w("gfapi_async", "Gluster volumes").refused(NO_LIBRARY, "mount the volume and use io_uring"),
    w("libhdfs", "Hadoop's file system, by libhdfs"),
    w("nfs", "NFS without the kernel").refused(NO_LIBRARY, "mount the export and use io_uring"),
    w("nbd", "network block devices").refused(NO_LIBRARY, "connect it (nbd-client) and use io_uring on it"),
    w("libiscsi", "iSCSI without the kernel").refused(NO_LIBRARY, "log in with iscsiadm and use io_uring"),
    w("http", "objects of a store that speaks the S3 API"),
    w("dfs", "DAOS").refused(NO_LIBRARY, "mount it with dfuse and use psync"),
    w("ime_psync", "DDN IME").refused(NO_LIBRARY, "use psync on its mount"),
    w("ime_psyncv", "DDN IME").refused(NO_LIBRARY, "use pvsync on its mount"),
    w("ime_aio", "DDN IME").refused(NO_LIBRARY, "use io_uring on its mount"),
    w("pmemblk", "PMDK blocks").refused(NO_LIBRARY, "use ioengine=mmap on a DAX file system"),
    w("dev-dax", "device DAX").refused(NO_LIBRARY, "use ioengine=mmap on a DAX file system"),
    w("libpmem", "PMDK memory").refused(NO_LIBRARY, "use ioengine=mmap on a DAX file system"),
    w("libblkio", "virtio-blk without the kernel").refused(NO_LIBRARY, "use ioengine=io_uring"),
    w("xnvme", "NVMe by many ways").refused(NO_LIBRARY, "use ioengine=io_uring"),
    w("libzbc", "zoned SCSI disks").refused(NO_LIBRARY, "use ioengine=libaio"),
    w("libcufile", "GPU memory").refused(NO_HARDWARE, "use ioengine=io_uring"),
    w("libhipfile", "GPU memory").refused(NO_HARDWARE, "use ioengine=io_uring"),
    w("external", "an engine in a shared object")
        .refused("foreign engines cannot be loaded", "use one of iodyno's engines: iodyno engines"),
    w("syslet-rw", "syslets").refused(GONE, "use ioengine=io_uring"),
    w("guasi", "user-space asynchronous I/O").refused(GONE, "use ioengine=io_uring"),
    w("solarisaio", "Solaris's asynchronous I/O").refused("this is not Solaris", "use ioengine=posixaio"),
    w("windowsaio", "Windows's asynchronous I/O").refused("this is not Windows", "use ioengine=io_uring"),
];

/// `io_submit_mode=`.
pub const SUBMIT_MODES: &[Word] =
    &[w("inline", "the job submits itself"), w("offload", "a thread beside the job submits")];

/// `random_generator=`.
pub const GENERATORS: &[Word] = &[
    w("tausworthe", "32 bits, with a map of what was visited"),
    w("lfsr", "a shift register that visits each block once"),
    w("tausworthe64", "64 bits"),
];

/// `verify_policy=`.
pub const VERIFY_POLICIES: &[Word] = &[
    w("none", "all"),
    w("fsynced", "those that were done when the last fsync was sent: what a crash must have left"),
];

/// `random_distribution=`.
pub const DISTRIBUTIONS: &[Word] = &[
    w("random", "each block as likely as the others"),
    w("zipf", "zipf:THETA[/CENTRE]"),
    w("pareto", "pareto:POWER[/CENTRE]"),
    w("normal", "normal:DEVIATION[/CENTRE], in percent"),
    w("zoned", "zoned:SHARE/SIZE:…, sizes in percent; without a size: an equal part of the rest"),
    w("zoned_abs", "zoned_abs:SHARE/BYTES:…"),
    w("sequence", "sequence:N,N,…, blocks by their numbers, again and again"),
];

/// `file_service_type=`.
pub const SERVICES: &[Word] = &[
    w("random", "any file"),
    w("zipf", "some files more often than others"),
    w("pareto", "some files more often than others"),
    w("normal", "files around the middle more often"),
    w("gauss", "the same as normal"),
    w("roundrobin", "one after the other, in turns"),
    w("sequential", "each to its end before the next"),
];

/// `fallocate=`.
pub const PREALLOCATIONS: &[Word] = &[
    w("none", "no space beforehand"),
    w("native", "fallocate where it works"),
    w("posix", "posix_fallocate"),
    w("keep", "fallocate without changing the size"),
    w("truncate", "the size only"),
    w("0", "none"),
    w("1", "posix"),
];

/// `fadvise_hint=`.
pub const HINTS: &[Word] = &[
    w("0", "say nothing to the kernel"),
    w("1", "say what rw= is"),
    w("random", "say random"),
    w("sequential", "say sequential"),
    w("noreuse", "say used once"),
];

/// `sync_file_range=`.
pub const SYNC_RANGES: &[Word] = &[
    w("wait_before", "wait for what is under way"),
    w("write", "start writing"),
    w("wait_after", "wait for what was started"),
];

/// `clocksource=`.
pub const CLOCKS: &[Word] =
    &[w("gettimeofday", "the C library's"), w("clock_gettime", "the kernel's"), w("cpu", "the processor's")];

/// `mem=`.
pub const MEMORIES: &[Word] = &[
    w("malloc", "from the heap"),
    w("shm", "a System V segment"),
    w("shmhuge", "a System V segment of huge pages"),
    w("mmap", "anonymous pages, or those of mmap:FILE"),
    w("mmapshared", "shared pages, or those of mmapshared:FILE"),
    w("mmaphuge", "huge pages, or those of mmaphuge:FILE"),
    w("cudamalloc", "a GPU's").refused(NO_HARDWARE, "use mem=mmaphuge"),
];

/// `verify=`.
pub const CHECKSUMS: &[Word] = &[
    w("0", "none"),
    w("md5", "MD5"),
    w("crc64", "CRC-64"),
    w("crc32", "CRC-32"),
    w("crc32c-intel", "CRC-32C"),
    w("crc32c", "CRC-32C"),
    w("crc16", "CRC-16"),
    w("crc7", "CRC-7"),
    w("sha1", "SHA-1"),
    w("sha256", "SHA-256"),
    w("sha512", "SHA-512"),
    w("sha3-224", "SHA-3, 224 bits"),
    w("sha3-256", "SHA-3, 256 bits"),
    w("sha3-384", "SHA-3, 384 bits"),
    w("sha3-512", "SHA-3, 512 bits"),
    w("xxhash", "xxHash, 32 bits"),
    w("meta", "the header alone"),
    w("pattern", "the pattern, without headers"),
    w("pattern_hdr", "the pattern behind a header"),
    w("null", "nothing is compared"),
];

/// `zonemode=`.
#[rustfmt::skip]
pub const ZONE_MODES: &[Word] = &[
    w("none", "no zones"),
    w("strided", "so much in each zone, then over a gap to the next"),
    w("zbd", "the zones of a zoned device")
        .refused("zoned devices (host-aware or host-managed) are not driven", "use zonemode=strided on an ordinary device"),
];

/// `thinktime_blocks_type=`.
pub const THINK_SIDES: &[Word] =
    &[w("complete", "blocks that came back"), w("issue", "blocks that were sent")];

/// `rate_process=`.
pub const RATE_PROCESSES: &[Word] = &[w("linear", "at even distances"), w("poisson", "at random ones")];

/// `sync=`.
pub const SYNCS: &[Word] = &[
    w("none", "writes return early"),
    w("0", "none"),
    w("sync", "each write is durable with its metadata (O_SYNC)"),
    w("1", "sync"),
    w("dsync", "each write's data is durable (O_DSYNC)"),
];

/// `write_hint=`.
pub const LIFETIMES: &[Word] = &[
    w("none", "unknown"),
    w("short", "soon overwritten"),
    w("medium", "later"),
    w("long", "much later"),
    w("extreme", "hardly ever"),
];

/// `cpus_allowed_policy=`.
pub const SHARINGS: &[Word] = &[w("shared", "each job may use all"), w("split", "each job gets its own")];

/// `exit_what=`.
pub const ENDS: &[Word] = &[
    w("group", "the jobs of its reporting group"),
    w("stonewall", "what runs now; the next stonewall follows"),
    w("all", "everything"),
];

/// `continue_on_error=`.
pub const ERRORS: &[Word] = &[
    w("none", "an error ends the job"),
    w("read", "after failed reads"),
    w("write", "after failed writes"),
    w("io", "after any failed I/O"),
    w("verify", "after failed checks"),
    w("all", "after all of these"),
    w("0", "none"),
    w("1", "all"),
];

/// `unified_rw_reporting=`.
pub const UNIFICATIONS: &[Word] = &[
    w("none", "each direction on its own"),
    w("mixed", "all as one"),
    w("both", "each, then all as one"),
    w("0", "none"),
    w("1", "mixed"),
    w("2", "both"),
];

/// `profile=`.
pub const PROFILES: &[Word] = &[
    w("tiobench", "four jobs like tiobench's").refused("profiles are not done", "write its four jobs out"),
    w("act", "Aerospike's certification load").refused("profiles are not done", "write its jobs out"),
];

/// `kb_base=`.
pub const KILOS: &[Word] =
    &[w("1024", "k is 1024 when read; KiB in reports"), w("1000", "k is 1000 when read; kB in reports")];

/// `unit_base=`.
pub const UNITS: &[Word] = &[w("0", "as is natural"), w("8", "bytes"), w("1", "bits")];

/// `dedupe_mode=`.
pub const DEDUPES: &[Word] =
    &[w("repeat", "the last block again"), w("working_set", "one of a set of blocks")];

/// `steadystate=`.
pub const STEADINESS: &[Word] = &[
    w("iops", "IOPS stay near their mean"),
    w("iops_slope", "IOPS do not drift"),
    w("bw", "bandwidth stays near its mean"),
    w("bw_slope", "bandwidth does not drift"),
    w("lat", "latency stays near its mean"),
    w("lat_slope", "latency does not drift"),
];

const LOOKED_AT: &str = "what a file is is found by looking";

/// `filetype=`.
pub const FILE_TYPES: &[Word] = &[
    w("none", "look at each"),
    w("file", "regular files"),
    w("block", "block devices").refused(LOOKED_AT, "leave it out"),
    w("char", "character devices").refused(LOOKED_AT, "leave it out"),
];

/// `log_window_value=`.
pub const WINDOWS: &[Word] = &[
    w("avg", "the average"),
    w("max", "the largest"),
    w("both", "both, in two columns"),
    w("0", "avg"),
    w("1", "max"),
];

/// `dataplacement=`.
pub const PLACEMENTS: &[Word] =
    &[w("none", "no placement"), w("fdp", "flexible data placement"), w("streams", "write streams")];

/// `plid_select=`.
pub const PLACEMENT_CHOICES: &[Word] =
    &[w("random", "any"), w("roundrobin", "in turns"), w("scheme", "as dp_scheme says")];

/// `cpumode=`.
pub const BURNERS: &[Word] = &[w("noop", "empty loops"), w("qsort", "sorting")];

/// `https=`.
pub const HTTPS: &[Word] = &[
    w("off", "plain HTTP"),
    w("on", "by TLS"),
    w("insecure", "by TLS, whoever answers")
        .refused("a store whose certificate is not checked may be anybody", "https=on"),
];

/// `http_mode=`.
pub const HTTP_MODES: &[Word] = &[
    w("webdav", "WebDAV")
        .refused("WebDAV is not served", "http_mode=s3, or mount the share (davfs2) and use psync"),
    w("swift", "OpenStack Swift")
        .refused("Swift is not served", "http_mode=s3: Swift has an S3 gateway (s3api)"),
    w("s3", "the S3 API"),
];

/// `http_object_mode=`.
pub const OBJECT_MODES: &[Word] = &[
    w("block", "each block is an object, FILE_OFFSET_BYTES"),
    w("range", "each file is an object, of which ranges are read"),
];

/// `http_s3_sse_customer_algorithm=`.
pub const CUSTOMER_CIPHERS: &[Word] = &[w("AES256", "AES with a key of 256 bits")];

/// `protocol=`.
pub const PROTOCOLS: &[Word] = &[
    w("tcp", "TCP over IPv4"),
    w("tcpv6", "TCP over IPv6"),
    w("udp", "UDP over IPv4"),
    w("udpv6", "UDP over IPv6"),
    w("unix", "a UNIX socket"),
    w("vsock", "a virtual machine's socket"),
];

/// `stat_type=`.
pub const STATS: &[Word] = &[w("stat", "stat"), w("lstat", "lstat"), w("statx", "statx")];

/// `sg_write_mode=`.
#[rustfmt::skip]
pub const SCSI_WRITES: &[Word] = &[
    w("write", "WRITE"),
    w("write_and_verify", "WRITE AND VERIFY"),
    w("verify", "write_and_verify"),
    w("write_same", "WRITE SAME"),
    w("same", "write_same"),
    w("write_same_ndob", "WRITE SAME(16) without data").refused(NO_COMMAND, "write, write_and_verify, write_same or verify_bytchk_00"),
    w("verify_bytchk_00", "VERIFY with BYTCHK 00"),
    w("verify_bytchk_01", "VERIFY with BYTCHK 01").refused(NO_COMMAND, "write, write_and_verify, write_same or verify_bytchk_00"),
    w("verify_bytchk_11", "VERIFY with BYTCHK 11").refused(NO_COMMAND, "write, write_and_verify, write_same or verify_bytchk_00"),
    w("write_stream", "WRITE STREAM(16)").refused(NO_COMMAND, "write, write_and_verify, write_same or verify_bytchk_00"),
];

/// `cmd_type=`.
pub const COMMANDS: &[Word] = &[w("nvme", "NVMe"), w("scsi", "SCSI")];

/// `verb=`.
pub const VERBS: &[Word] =
    &[w("write", "RDMA write"), w("read", "RDMA read"), w("send", "send"), w("recv", "receive")];

#[cfg(test)]
mod tests {
    use super::ENGINES;
    use crate::option::Status;

    #[test]
    fn a_refused_engine_says_what_to_use_instead() {
        for engine in ENGINES {
            if let Status::Refused(why, hint) = engine.status {
                assert!(!why.is_empty() && !hint.is_empty(), "{}", engine.name);
            }
        }
    }
}
