//! warp's options, each exactly once, with what is done about it. The same table makes `docs/warp.md`.

use super::command::{BENCHMARKS, ON_RESULTS, WarpCommand};
use crate::option::{Entry, Kind, Spelling, Table, Word};

pub const TABLE: Table = Table { tool: "warp", spelling: Spelling::Dashed, entries: ENTRIES };

const STORE: &str = "The store";
const OBJECTS: &str = "Objects";
const KIND: &str = "What is done";
const RUN: &str = "The run";
const ANALYSIS: &str = "Analysis";
const GENERAL: &str = "General";

const NO_ADMIN: &str = "it needs the administrator's interface of MinIO servers";
const NOT_OWN: &str = "only objects of the run itself are read";
const FROM_NATIVE: &str = "a plan (`iodyno run`) reads objects that are there: prepare = \"as it is\"";
const NO_SERVER: &str = "no web server is opened";
const ONE_LAW: &str = "sizes vary by one law: as many objects in each power of two";
const NO_METADATA: &str = "objects are written without metadata and tags";
const NO_PROFILE: &str = "it profiles warp's own program";

/// How a host is chosen for a request.
const SELECTIONS: &[Word] = &[
    Word::new(
        "weighed",
        "the host that is least busy: each connection is to one host, and a faster one answers more",
    ),
    Word::new("roundrobin", "each in turn").refused(
        "a host that is slow would hold up all others",
        "leave it out: connections are dealt to the hosts evenly",
    ),
];

const LOOKUPS: &[Word] = &[
    Word::new("auto", "by the host's name"),
    Word::new("host", "the bucket's name stands in the host's"),
    Word::new("path", "the bucket's name stands in the path"),
];

/// Go's client writes the whole object's checksum so; here it is always of the whole.
const WHOLE_CHECKSUM: &str = "the checksum of an object in parts is one over its parts'";
const NO_CHECKSUM: &str = "the engine reckons CRC32C, CRC64NVME and SHA256";

/// Checksums of what is written.
const CHECKSUMS: &[Word] = &[
    Word::new("CRC32C", "CRC-32C"),
    Word::new("CRC64NVME", "CRC-64/NVME"),
    Word::new("SHA256", "SHA-256"),
    Word::new("CRC32", "CRC-32").refused(NO_CHECKSUM, "say CRC32C"),
    Word::new("CRC32-FO", "CRC-32 of the whole").refused(NO_CHECKSUM, "say CRC64NVME"),
    Word::new("CRC32C-FO", "CRC-32C of the whole").refused(WHOLE_CHECKSUM, "say CRC64NVME"),
    Word::new("SHA1", "SHA-1").refused(NO_CHECKSUM, "say SHA256"),
];

const GENERATORS: &[Word] = &[
    Word::new("random", "bytes that do not compress"),
    Word::new("csv", "lines of a table").refused("objects are bytes that do not compress", "leave it out"),
];

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const fn flag(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Flag, "", help)
}

const fn number(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(0, i64::MAX), "N", help).or(default)
}

const fn share(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Decimal, "F", help).or(default).under(KIND)
}

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    text("host", "HOSTS", "the store's hosts with ports: with commas, or as host{1...4}:9000 (WARP_HOST)")
        .or("127.0.0.1:9000").under(STORE),
    text("access-key", "KEY", "the access key (WARP_ACCESS_KEY)").under(STORE),
    text("secret-key", "KEY", "the secret key (WARP_SECRET_KEY)").under(STORE),
    text("session-token", "TOKEN", "the session's token (WARP_SESSION_TOKEN)").under(STORE),
    flag("tls", "speak TLS (WARP_TLS)").under(STORE),
    flag("ktls", "let the kernel do TLS").refused("TLS is done in this program", "say --tls").under(STORE),
    text("region", "REGION", "the region that requests are signed for (WARP_REGION)").under(STORE),
    Entry::new("lookup", Kind::Word(LOOKUPS), "HOW", "where the bucket's name stands").or("auto").under(STORE),
    Entry::new("host-select", Kind::Word(SELECTIONS), "HOW", "how a host is chosen").or("weighed").under(STORE),
    text("bucket", "NAME", "the bucket; it is made where it is missing").or("warp-benchmark-bucket").under(STORE),
    text("signature", "METHOD", "how requests are signed").or("S3V4")
        .refused("requests are signed by version 4", "leave it out").under(STORE),
    text("sts-endpoint", "URL", "where temporary keys are from")
        .refused("temporary keys are not fetched here", "fetch them, and say --session-token").under(STORE),
    text("sts-web-token", "TOKEN", "what temporary keys are given for")
        .refused("temporary keys are not fetched here", "fetch them, and say --session-token").under(STORE),
    text("sts-web-token-file", "FILE", "the file of that token")
        .refused("temporary keys are not fetched here", "fetch them, and say --session-token").under(STORE),
    flag("resolve-host", "use all addresses of a host's name").refused("a name is one host", "name the addresses").under(STORE),
    flag("disable-http-keepalive", "open a connection for each request")
        .refused("connections are kept", "leave it out").under(STORE),
    flag("http2", "speak HTTP/2").refused("stores speak HTTP/1.1", "leave it out").under(STORE),
    number("sndbuf", "32768", "bytes of the buffer that is written from")
        .ignored("an object goes from its buffer to the socket in one call").under(STORE),
    number("rcvbuf", "32768", "bytes of the buffer that is read to")
        .ignored("an object goes from the socket to its buffer in one call").under(STORE),
    flag("insecure", "trust any certificate")
        .refused("certificates are checked", "add the authority's certificate to the system's (update-ca-certificates)").under(STORE),

    text("obj.size", "SIZE", "size of an object (get, put and mixed 10MiB; others 1KiB)").under(OBJECTS),
    flag("obj.randsize", "sizes up to that, as many in each power of two (all but objects of parts)").under(OBJECTS),
    flag("obj.rand-log2", "the same, with obj.size as the mean")
        .refused(ONE_LAW, "say --obj.randsize, and 5.6 times the mean").under(OBJECTS),
    flag("obj.rand-logn", "sizes as a lognormal law has them").refused(ONE_LAW, "say --obj.randsize").under(OBJECTS),
    Entry::new("obj.generator", Kind::Word(GENERATORS), "NAME", "what is in objects").or("random").under(OBJECTS),
    text("prefix", "TEXT", "what the objects' names begin with").under(OBJECTS),
    flag("noprefix", "all objects lie in one prefix, rather than in one of each operation in flight").under(OBJECTS),
    flag("md5", "send the MD5 of what is written")
        .refused("the engine reckons no MD5", "say --checksum=CRC32C").under(OBJECTS),
    Entry::new("checksum", Kind::Word(CHECKSUMS), "NAME", "send a checksum of what is written").under(OBJECTS),
    flag("disable-multipart", "write each object by one request; otherwise in parts of 16 MiB").under(OBJECTS),
    flag("disable-sha256-payload", "leave the SHA-256 of what is written out of the signature").under(OBJECTS),
    flag("encrypt", "encrypt with keys of the client")
        .refused("keys of the client are not sent", "say --sse-s3-encrypt").under(OBJECTS),
    flag("sse-s3-encrypt", "let the server encrypt").under(OBJECTS),
    text("storage-class", "CLASS", "the storage class").under(OBJECTS),

    text("objects", "N", "objects that are laid out (get and mixed 2500, stat and list 10000, delete 25000)").under(KIND),
    number("batch", "100", "objects that one request of delete removes").under(KIND),
    share("get-distrib", "45", "part of mixed operations that are GET"),
    share("stat-distrib", "30", "part that are STAT"),
    share("put-distrib", "15", "part that are PUT"),
    share("delete-distrib", "10", "part that are DELETE; at most as many as PUT"),
    text("obj.name", "NAME", "the name of multipart's one object").or("warp-multipart.bin").under(KIND),
    Entry::new("parts", Kind::Whole(1, 10_000), "N", "parts of an object (multipart 200, multipart-put 100)").under(KIND),
    text("part.size", "SIZE", "size of a part; get and put: 16MiB (multipart and multipart-put 5MiB)").under(KIND),
    number("part.concurrent", "20", "parts of one object of multipart-put in flight").under(KIND),
    Entry::new("versions", Kind::Whole(1, 1000), "N",
        "versions of each object, in a bucket that keeps them (get, stat, list and delete 1, retention 5)").under(KIND),
    flag("range", "get reads a part of each object, at random, as often from each power of two").under(KIND),
    text("range-size", "SIZE", "get reads so much of each object, from a random place").under(KIND),
    flag("extra-head", "a HEAD before each GET")
        .refused("a GET is one request", "warp mixed has GET and STAT by their shares").under(KIND),
    flag("post", "upload by forms")
        .refused("objects are written by PUT", "leave it out").under(KIND),
    text("mtime-age", "DAYS", "write objects that say they are so old")
        .refused("MinIO alone takes the time of an object from who writes it", "leave it out").under(KIND),
    number("ilm-expiry", "0", "let the bucket's objects expire after so many days")
        .refused("no rule of a bucket is changed", "set it there: aws s3api put-bucket-lifecycle-configuration").under(KIND),
    flag("nested", "list a tree").refused("each operation in flight lists a prefix of its own", "leave it out").under(KIND),
    text("branchingFactors", "N/N", "the tree's branches on each level").refused("no tree is listed", "leave it out").under(KIND),
    text("add-metadata", "KEY=VALUE", "metadata of each object").refused(NO_METADATA, "leave it out").under(KIND),
    text("tag", "KEY=VALUE", "a tag of each object").refused(NO_METADATA, "leave it out").under(KIND),
    flag("list-existing", "use objects that are there").refused(NOT_OWN, FROM_NATIVE).under(KIND),
    flag("list-flat", "look for them in one prefix").refused(NOT_OWN, FROM_NATIVE).under(KIND),
    flag("metadata", "list with metadata").refused("MinIO alone lists so", "leave it out").under(KIND),

    number("concurrent", "20", "operations in flight").under(RUN),
    Entry::new("duration", Kind::Time, "TIME", "how long: 30s, 5m, 1h30m").or("5m").under(RUN),
    flag("autoterm", "end when the rate is steady").under(RUN),
    Entry::new("autoterm.dur", Kind::Time, "TIME", "for how long it must have been steady").or("15s").under(RUN),
    Entry::new("autoterm.pct", Kind::Decimal, "PERCENT", "how far seconds may be from the mean").or("7.5").under(RUN),
    Entry::new("rps-limit", Kind::Decimal, "RATE", "requests per second at most; 0: no limit").or("0").under(RUN),
    text("benchdata", "NAME", "the file of results, without its ending").under(RUN),
    flag("full", "write every request down, as NAME.csv.zst; otherwise sums, as NAME.json.zst").under(RUN),
    flag("noclear", "leave the objects where they are").under(RUN),
    flag("keep-data", "the same").under(RUN),
    text("syncstart", "HH:MM", "begin at that time of today").under(RUN),
    text("warp-client", "HOSTS", "let clients on these hosts do it")
        .refused("warp's clients speak to warp alone",
            "iodyno warp … --syncstart=HH:MM on each machine: runs do not touch each other").under(RUN),
    text("serverprof", "KINDS", "profiles of the servers").refused(NO_ADMIN, "profile the servers there: mc admin profile").under(RUN),
    text("influxdb", "URL", "send each request to InfluxDB")
        .refused("results go to files", "iodyno warp … --also metrics=ADDRESS for Prometheus").under(RUN),
    flag("stress", "report nothing").refused("a run is there for its report", "redirect it: > /dev/null").under(RUN),
    flag("stdout", "print each request").refused("each request is written to a file", "say --full, then zstdcat NAME.csv.zst").under(RUN),
    text("serve", "ADDRESS", "serve results while it runs").refused(NO_SERVER, "iodyno warp … --also live-web=ADDRESS").under(RUN),

    text("analyze.op", "NAME", "tell of this operation alone: GET, PUT, …").under(ANALYSIS),
    text("analyze.host", "URL", "tell of this host alone").under(ANALYSIS),
    Entry::new("analyze.skip", Kind::Time, "TIME", "leave out what began so early").or("0s").under(ANALYSIS),
    flag("analyze.v", "tell more").under(ANALYSIS),
    Entry::new("analyze.dur", Kind::Time, "TIME", "length of a segment").or("1s").under(ANALYSIS),
    text("analyze.out", "FILE", "write the segments to this file, as CSV").under(ANALYSIS),
    number("analyze.limit", "0", "requests that are read at most; 0: all").under(ANALYSIS),
    number("analyze.offset", "0", "requests that are left out first").under(ANALYSIS),

    flag("quiet", "print the report alone").also(&["q"]).under(GENERAL),
    flag("json", "print the sums as JSON").under(GENERAL),
    flag("no-color", "without colour").ignored("nothing is coloured").under(GENERAL),
    flag("debug", "tell more").ignored("every answer other than success is counted by its name").under(GENERAL),
    text("pprofdir", "FOLDER", "where profiles of warp go").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("cpu", "profile its processor time").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("mem", "profile its memory").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("block", "profile its waits").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("mutex", "profile its locks").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("threads", "profile its threads").refused(NO_PROFILE, "perf record iodyno warp …").under(GENERAL),
    flag("trace", "trace its program").refused(NO_PROFILE, "perf trace iodyno warp …").under(GENERAL),
    flag("autocompletion", "complete words in the shell")
        .refused("iodyno completes all its tools", "iodyno completions SHELL").under(GENERAL),
    flag("help", "print this").also(&["h"]).under(GENERAL),
    flag("version", "print the version").under(GENERAL),
];

/// The page about warp, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// What `--help` prints: the commands, or the options.
pub fn help(command: Option<WarpCommand>) -> String {
    let head = match command {
        Some(command) => format!(
            "NAME:\n  warp {} - {}\n\nUSAGE:\n  warp {} {}\n",
            command.name(),
            command.about(),
            command.name(),
            command.usage()
        ),
        None => {
            let line = |command: &WarpCommand| format!("  {:<14} {}\n", command.name(), command.about());
            let all: String = BENCHMARKS.iter().chain(&ON_RESULTS).map(line).collect();
            return format!(
                "NAME:\n  warp - benchmarks of object stores\n\nUSAGE:\n  warp COMMAND [FLAGS]\n\n\
                 COMMANDS:\n{all}\nwarp COMMAND --help tells the options.\n"
            );
        }
    };
    format!("{head}\nFLAGS:{}", TABLE.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }

    #[test]
    fn help_names_every_command_and_option() {
        let (all, get) = (help(None), help(Some(WarpCommand::Get)));
        assert!(
            all.contains("  multipart-put  ") && all.contains("  cmp ") && all.contains("  merge "),
            "{all}"
        );
        assert!(get.starts_with("NAME:\n  warp get - ") && get.contains("  --obj.size=SIZE "), "{get}");
    }
}
