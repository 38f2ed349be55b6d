//! Options that belong to one engine or a few.
//!
//! Those of engines that are not here are refused with their engine.

use super::{JobOption, MOST, NOT_DONE, flag, path, switch, text, triple, whole, word, words};

/// Engines whose requests carry a priority.
pub const ASYNC: &[&str] = &["io_uring", "libaio"];
/// Those that take back no more I/Os at once than `iodepth_batch_complete_max` says.
pub const REAPS_PARTS: &[&str] = &["io_uring", "libaio", "posixaio"];
/// Engines with a ring of requests.
pub const RING: &[&str] = &["io_uring"];
/// Engines that can ask for atomic writes.
pub const ATOMIC: &[&str] = &["io_uring", "libaio", "pvsync2"];
const PV2: &[&str] = &["pvsync2"];
const NET: &[&str] = &["net", "netsplice"];
const EXEC: &[&str] = &["exec"];
const SG: &[&str] = &["sg"];
const RADOS: &[&str] = &["rbd", "rados"];
const HDFS: &[&str] = &["libhdfs"];
const HTTP: &[&str] = &["http"];

/// Options of engines that are here.
#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    switch("hipri", "wait for completions by polling").of(&["io_uring", "pvsync2", "sg"]),
    whole("hipri_percentage", 0, 100, "how many I/Os are polled for").or("100").of(PV2),
    whole("uncached", 0, 1, "buffered, but leave no pages behind").of(&["io_uring", "pvsync2"]),
    flag("nowait", "fail rather than wait").or("").of(ATOMIC),
    triple("cmdprio_percentage", "N[,N]", 0, 100, "how many I/Os have the other priority").of(ASYNC),
    triple("cmdprio_class", "N[,N]", 1, 3, "their class").of(ASYNC).below(1),
    triple("cmdprio", "N[,N]", 0, 7, "their priority").of(ASYNC).below(1),
    triple("cmdprio_hint", "N[,N]", 0, 1023, "their hint").of(ASYNC).below(1),
    text("cmdprio_bssplit", "BYTES/PERCENT[/CLASS/PRIO][:…]", "priorities by size").of(ASYNC).below(1),
    switch("fixedbufs", "register the buffers").of(RING),
    switch("registerfiles", "register the files").of(RING),
    switch("sqthread_poll", "a kernel thread submits").of(RING),
    whole("sqthread_poll_cpu", 0, MOST, "where that thread runs").of(RING).below(1),
    whole("nonvectored", -1, MOST, "plain reads and writes rather than vectors of one").or("-1").of(RING),
    whole("force_async", 0, MOST, "every Nth I/O by a kernel worker").of(RING),
    word("cmd_type", words::COMMANDS, "kind of command that is passed through").or("nvme").of(&["io_uring", "io_uring_cmd"])
        .ignored("only ioengine=io_uring_cmd looks at it"),
    switch("userspace_reap", "read completions from memory without a system call").of(&["libaio"]),
    whole("thp", 0, 1, "transparent huge pages for the mapping").of(&["mmap"]),
    whole("cpuload", 0, 100, "percentage of the processor that is burnt").of(&["cpuio"]),
    whole("cpuchunks", 0, MOST, "length of a burst in us").or("50000").of(&["cpuio"]).below(1),
    word("cpumode", words::BURNERS, "what it computes").or("noop").of(&["cpuio"]),
    flag("exit_on_io_done", "end when the other jobs do").of(&["cpuio"])
        .refused(NOT_DONE, "give the job a runtime, or say exitall in the job that does I/O"),
    text("clustername", "NAME", "the cluster").of(RADOS),
    text("pool", "NAME", "the pool that objects lie in").of(RADOS),
    text("clientname", "NAME", "as whom, without `client.` unless the cluster is named").of(RADOS),
    path("conf", "FILE", "the configuration of Ceph").or("/etc/ceph/ceph.conf").of(RADOS),
    flag("busy_poll", "look for completions without sleeping").of(RADOS),
    flag("touch_objects", "make missing objects, empty, before the start").or("1").of(RADOS),
    text("namenode", "HOST", "the name node").or("localhost").of(HDFS),
    text("hdfsdirectory", "DIR", "where chunks of files lie").or("/").of(HDFS),
    whole("chunk_size", 1, MOST, "bytes of a chunk, which is a file").also(&["chunck_size"]).or("1048576").of(HDFS),
    flag("single_instance", "one connection for all jobs").or("1").of(HDFS),
    flag("hdfs_use_direct", "read by a call of its own").of(HDFS)
        .refused("Hadoop's library reads directly by itself where it can", "leave it out"),
    word("https", words::HTTPS, "encrypted").or("off").of(HTTP),
    text("http_host", "HOST", "the store, HOST:PORT or BUCKET.HOST").or("localhost").of(HTTP),
    text("http_user", "NAME", "as whom").of(HTTP).ignored("requests to S3 are signed with http_s3_key"),
    text("http_pass", "TEXT", "with which password").of(HTTP).ignored("requests to S3 are signed with http_s3_key"),
    word("http_mode", words::HTTP_MODES, "which protocol").or("webdav").of(HTTP),
    text("http_s3_key", "TEXT", "the secret key; read as `***`, and default AWS_SECRET_ACCESS_KEY").of(HTTP),
    text("http_s3_keyid", "TEXT", "the key's name; the same with AWS_ACCESS_KEY_ID").of(HTTP),
    text("http_s3_region", "NAME", "the region").or("us-east-1").of(HTTP),
    text("http_s3_sse_customer_key", "TEXT", "a key of 32 characters that the server encrypts with").of(HTTP),
    word("http_s3_sse_customer_algorithm", words::CUSTOMER_CIPHERS, "how it encrypts").or("AES256").of(HTTP),
    text("http_s3_storage_class", "NAME", "the storage class").or("STANDARD").of(HTTP),
    text("http_s3_security_token", "TEXT", "a session's token").of(HTTP),
    text("http_swift_auth_token", "TEXT", "the token").of(HTTP)
        .refused("Swift is not served", "use http_mode=s3: Swift has an S3 gateway (s3api)"),
    whole("http_verbose", 0, MOST, "verbosity").or("0").of(HTTP)
        .ignored("no request is printed; `iodyno report` counts them, their connections and answers"),
    word("http_object_mode", words::OBJECT_MODES, "objects for blocks or ranges").or("block").of(HTTP),
    text("hostname", "HOST", "whom to connect to").of(&["net", "netsplice", "rdma", "nfs", "libhdfs"]),
    whole("port", 1, 65535, "the port").of(&["net", "netsplice", "rdma", "libhdfs"]),
    word("protocol", words::PROTOCOLS, "which protocol").also(&["proto"]).or("tcp").of(NET),
    flag("nodelay", "TCP_NODELAY").or("").of(NET),
    switch("listen", "wait for connections").of(NET),
    switch("pingpong", "answer each message").of(NET),
    text("interface", "ADDRESS", "the interface for multicast").of(NET),
    whole("ttl", 0, 255, "how far multicast goes").or("1").of(NET),
    whole("window_size", 0, MOST, "socket buffers in bytes").of(NET),
    whole("mss", 0, MOST, "largest TCP segment").of(NET),
    word("stat_type", words::STATS, "which call").or("stat").of(&["filestat", "dirstat"]),
    path("program", "FILE", "what is run").of(EXEC),
    text("arguments", "TEXT", "with which arguments").of(EXEC),
    whole("grace_time", 0, MOST, "seconds before it is killed").or("1").of(EXEC),
    flag("std_redirect", "its output goes to files").or("1").of(EXEC),
    flag("readfua", "reads reach the medium").of(SG),
    flag("writefua", "writes reach the medium").of(SG),
    word("sg_write_mode", words::SCSI_WRITES, "which command writes").or("write").of(SG),
    whole("stream_id", 0, MOST, "stream of WRITE STREAM(16)").or("0").of(SG)
        .refused(NOT_DONE, "leave it out"),
];

const ABSENT_ENGINE: &str = "its engine is not here";
const OTHER: &str = "see what ioengine= says of the engine";

const fn absent(row: JobOption, engines: &'static [&'static str]) -> JobOption {
    row.of(engines).refused(ABSENT_ENGINE, OTHER)
}

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];
const XNVME: &[&str] = &["xnvme"];
const BLKIO: &[&str] = &["libblkio"];

/// Options of engines that are not.
pub const ABSENT: &[JobOption] = &[
    absent(path("donorname", "FILE", "the file that gives blocks"), &["e4defrag"]),
    absent(whole("inplace", 0, 1, "allocate while moving"), &["e4defrag"]),
    absent(text("volume", "NAME", "the volume"), GLUSTER),
    absent(text("brick", "HOST", "a server of it"), GLUSTER),
    absent(flag("single-instance", "one connection for all"), GLUSTER),
    absent(flag("skip_bad", "pass over bad blocks"), &["mtd"]),
    absent(text("uri", "URI", "the export"), &["nbd"]),
    absent(text("bindname", "HOST", "own address"), &["rdma"]),
    absent(word("verb", words::VERBS, "which verb").or("write"), &["rdma"]),
    absent(text("rbdname", "NAME", "the image"), &["rbd"]),
    absent(text("nfs_url", "URL", "the export"), &["nfs"]),
    absent(text("svcl", "NAME", "label of the service"), &["dfs"]),
    absent(text("cont", "NAME", "the container"), &["dfs"]),
    absent(text("object_class", "NAME", "class of objects"), &["dfs"]),
    absent(switch("xnvme_async", "the asynchronous way"), XNVME),
    absent(text("xnvme_sync", "WORD", "the synchronous way"), XNVME),
    absent(text("xnvme_admin", "WORD", "the way of admin commands"), XNVME),
    absent(text("xnvme_be", "WORD", "the back end"), XNVME),
    absent(text("xnvme_mem", "WORD", "whose memory"), XNVME),
    absent(whole("xnvme_dev_nsid", 0, MOST, "the name space"), XNVME),
    absent(text("xnvme_dev_subnqn", "NAME", "the subsystem"), XNVME),
    absent(switch("xnvme_iovec", "vectors"), XNVME),
    absent(text("libblkio_driver", "NAME", "the driver"), BLKIO),
    absent(path("libblkio_path", "PATH", "the device"), BLKIO),
    absent(text("libblkio_pre_connect_props", "LIST", "properties before connecting"), BLKIO),
    absent(whole("libblkio_num_entries", 1, MOST, "entries of a queue"), BLKIO),
    absent(whole("libblkio_queue_size", 1, MOST, "length of a queue"), BLKIO),
    absent(text("libblkio_pre_start_props", "LIST", "properties before starting"), BLKIO),
    absent(switch("libblkio_vectored", "vectors"), BLKIO),
    absent(switch("libblkio_write_zeroes_on_trim", "trims write zeros"), BLKIO),
    absent(text("libblkio_wait_mode", "block|eventfd|loop", "how completions are waited for"), BLKIO),
    absent(switch("libblkio_force_enable_completion_eventfd", "event file anyway"), BLKIO),
    absent(text("cuda_io", "cufile|posix", "which way").or("cufile"), &["libcufile"]),
    absent(text("rocm_io", "hipfile|posix", "which way").or("hipfile"), &["libhipfile"]),
];
