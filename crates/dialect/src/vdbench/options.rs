//! Every option of the command line and every parameter of the files, each once, with what is done about it.
//!
//! The same tables make `docs/vdbench.md`, the help text and the hints.

use super::quick;
use crate::option::{Entry, Kind, Spelling, Table, Word, nearest, switch};

/// The parameters of one kind of definition.
#[derive(Debug)]
pub struct ParameterGroup {
    /// What begins such a definition; empty: parameters of all runs.
    pub keyword: &'static str,
    /// Definitions come in this order.
    pub rank: u32,
    pub title: &'static str,
    pub entries: &'static [Entry],
}

impl ParameterGroup {
    /// The parameter that a keyword or the beginning of one names.
    ///
    /// # Errors
    /// There is none or several: a message and a hint.
    pub fn find(&self, keyword: &str) -> Result<&'static Entry, (String, String)> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.answers_to(keyword)) {
            return Ok(entry);
        }
        let names = || self.entries.iter().flat_map(Entry::names);
        let begins = |entry: &&Entry| entry.names().any(|name| name.starts_with(keyword));
        let found: Vec<&'static Entry> = self.entries.iter().filter(begins).collect();
        match found[..] {
            [entry] => Ok(entry),
            [] => {
                let near = nearest(keyword, names()).map(|near| format!("did you mean `{near}`?"));
                let all = || names().collect::<Vec<_>>().join(" ");
                let what = if self.keyword.is_empty() { "general" } else { self.keyword };
                Err((format!("no {what} parameter `{keyword}`"), near.unwrap_or_else(all)))
            }
            _ => {
                let names: Vec<_> = found.iter().map(|entry| entry.name).collect();
                Err((format!("`{keyword}` may be {}", names.join(" or ")), "write the keyword out".into()))
            }
        }
    }
}

/// Whether a parameter's numbers are times.
pub fn is_time(keyword: &str) -> bool {
    ["elapsed", "interval", "warmup", "pause"].contains(&keyword)
}

const JAVA: &str = "there are no Java processes";
const REPORTS: &str = "the files of results are always the same";
const SOLARIS: &str = "it is of Solaris";
const REPLAY: &str = "traces of Swat are in a format of its own";
const REPLAY_HINT: &str = "iodyno replay TRACE plays blktrace, fio and other traces: iodyno replay --help";

const fn any(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::List, value, help)
}

const fn number(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Decimal, "N", help).or(default)
}

const fn whole(name: &'static str, least: i64, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(least, 1_000_000_000), "N", help).or(default)
}

const fn bytes(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "BYTES", help).or(default)
}

const fn time(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Time, "SECONDS", help).or(default)
}

const OPENFLAGS: Entry =
    any("openflags", "FLAGS", "o_direct or directio, o_sync, o_dsync or o_rsync, fsync (at the end)");
const THREADS_HELP: &str = "operations in flight at most, on all hosts together";

#[rustfmt::skip]
const GENERAL: &[Entry] = &[
    number("compratio", "1", "ratio by which what is written compresses"),
    whole("compression", 1, "", "the same as a percentage that is left, in old files"),
    any("compressionseed", "N", "seed of the pattern").ignored("what is written follows from the seed of the run"),
    number("dedupratio", "1", "ratio by which what is written deduplicates"),
    bytes("dedupunit", "128k", "length of a block that repeats"),
    any("dedupsets", "N%", "different blocks among those that repeat: a number, or a percentage of all").or("5%"),
    any("deduphotsets", "LIST", "sets of blocks that repeat more often").refused("all blocks repeat equally often", "leave it out"),
    any("dedupflipflop", "on|off", "each write of a block changes to another duplicate")
        .ignored("which duplicate a block gets is drawn for each write"),
    any("dedupacross", "yes|no", "whether duplicates are those of all storage definitions").or("yes"),
    any("pattern", "FILE", "content of what is written")
        .refused("content comes from a generator", "compratio= and dedupratio= say what it is like"),
    any("pattern_buffer", "MB", "length of the pattern").ignored("what is written does not repeat unless dedupratio= says so"),
    any("data_errors", "N|COMMAND", "errors that a run survives, of each thread").also(&["dataerrors"]).or("50"),
    any("validate", "yes|no|OPTIONS", "data validation: yes, read_after_write, no_preread, time, ignore_zero_reads"),
    any("journal", "yes|no|OPTIONS", "validation with a journal: yes, recover, noflush, only, maponly, skip_read_all, ignore_pending"),
    any("startcmd", "COMMAND", "shell command before the first run").also(&["start_cmd"]),
    any("endcmd", "COMMAND", "shell command after the last run").also(&["end_cmd"]),
    any("formatsds", "yes|no", "whether files of storage definitions are written in full before: yes: always, no: never")
        .or("where missing"),
    bytes("formatxfersize", "128k", "transfer size of that"),
    any("create_anchors", "yes|no", "whether anchor directories are made where they are missing").or("no"),
    any("histogram", "(NAME,LIST)", "buckets of the histogram of response times, with u, m and s: (default,20,40,1m,1s)"),
    any("concatenatesds", "yes|no", "storage definitions as one")
        .refused("storage definitions stay apart", "use LVM or md below, or leave it out"),
    whole("loop", 1, "1", "how often all runs are done"),
    any("monitor", "FILE", "a file that says when to end")
        .refused("nothing is read while it runs", "end it with Ctrl-C: what was measured is reported"),
    any("abort_failed_skew", "PERCENT", "how far workloads may be off their skew")
        .ignored("workloads of a skew wait for each other, so that it holds"),
    any("report", "OPTIONS", "which files of results are made").ignored(REPORTS),
    any("report_run_totals", "yes|no", "totals over runs").ignored(REPORTS),
    any("auxreport", "CLASS", "a Java class that reports").refused(JAVA, "the history keeps runs: iodyno runs"),
    any("messagescan", "yes|no", "whether /var/log/messages is looked through").ignored("the system's log is not read"),
    any("misc", "LIST", "settings of Java processes").ignored(JAVA),
    any("port", "N", "port of Java processes").ignored(JAVA),
    any("debug", "N", "debugging of Java processes").ignored(JAVA),
    any("heartbeat_error", "COMMAND", "command after a lost Java process").ignored(JAVA),
    any("showlba", "yes|no", "traces of places")
        .refused("there is no format for it", "--also record=FILE writes a trace of all operations"),
    any("psrset", "LIST", "processor sets").refused(SOLARIS, "leave it out, or start it with taskset"),
    any("unix2windows", "LIST", "paths on Windows").refused("it is of Windows", "leave it out"),
    any("swat", "FILE", "charts of Swat").refused("Swat is a program of its own", "--also html=FILE writes a page with charts"),
];

#[rustfmt::skip]
const HOSTS: &[Entry] = &[
    any("system", "NAME", "host name or address; none: the label of hd="),
    any("user", "NAME", "user there").ignored("your own ssh knows it: say User in ~/.ssh/config"),
    any("shell", "ssh|rsh|vdbench", "how the host is reached: by ssh").or("ssh"),
    any("vdbench", "PATH", "directory of vdbench there").ignored("iodyno is at the same path as here"),
    any("jvms", "N", "Java processes").ignored(JAVA),
    whole("clients", 1, "1", "clients on that host: each is a rank"),
    any("mount", "COMMAND", "mounts before each run").refused("nothing is mounted", "mount it before, or use startcmd="),
];

#[rustfmt::skip]
const STORAGE: &[Entry] = &[
    any("host", "LABELS", "hosts that have it; * for any").also(&["hd"]).or("*"),
    any("lun", "PATH", "a device or a file"),
    Entry::new("count", Kind::Range, "(START,N)", "so many, with numbers from START on behind name and path"),
    bytes("size", "", "how much of it is used; of a file that is missing or shorter: how long it is made"),
    whole("threads", 1, "8", THREADS_HELP),
    bytes("hitarea", "1m", "part at the start that read and write hits go to"),
    bytes("offset", "0", "where it begins"),
    bytes("align", "0", "places are multiples of this rather than of the transfer size"),
    Entry::new("range", Kind::Range, "(FROM,TO)", "part that is used, in percent, above 200 in bytes"),
    OPENFLAGS,
    any("journal", "DIR", "directory of the journal"),
    number("dedupratio", "", "as of all"),
    bytes("dedupunit", "", "as of all"),
    any("dedupsets", "N%", "as of all"),
    any("kstat", "NAME", "kernel statistics").also(&["instance"]).refused(SOLARIS, "leave it out: devices are watched by themselves"),
    any("replay", "LIST", "devices of a trace").refused(REPLAY, REPLAY_HINT),
    any("resetlun", "N", "resets of the device").also(&["resetbus"]).refused("devices are not reset", "leave it out"),
    any("streams", "N", "sequential streams").refused("it is a parameter of wd=", "wd=…,streams=N"),
];

#[rustfmt::skip]
const FILE_SYSTEMS: &[Entry] = &[
    any("anchor", "DIR", "directory of the tree"),
    whole("width", 1, "1", "directories in each directory"),
    whole("depth", 1, "1", "levels of directories"),
    whole("files", 1, "10", "files in each directory of the lowest level, or of all"),
    Entry::new("sizes", Kind::Bytes, "LIST", "file size, or sizes with their percentages: (4k,50,1m,50)").or("4k"),
    bytes("totalsize", "", "files are made until they are that long together").also(&["total_size"]),
    bytes("workingsetsize", "", "files are used that are that long together").also(&["wss"]),
    any("distribution", "bottom|all", "whether files are in the lowest directories only").or("bottom"),
    any("shared", "yes|no", "whether hosts use the same tree").or("no"),
    Entry::new("count", Kind::Range, "(START,N)", "so many, with numbers from START on behind name and anchor"),
    OPENFLAGS,
    any("journal", "DIR", "directory of the journal")
        .refused("files of a tree are not validated", "validate a large file: sd=sd1,lun=FILE"),
    any("log", "yes|no", "log of reads and writes")
        .refused("there is no format for it", "--also record=FILE writes a trace of all operations"),
    any("cleanup", "yes|no", "an obsolete parameter").refused("the original has none any more", "format=clean"),
];

#[rustfmt::skip]
const WORKLOADS: &[Entry] = &[
    any("sd", "NAMES", "storage definitions, also with *"),
    any("host", "LABELS", "hosts that work").also(&["hd"]).or("*"),
    number("skew", "", "percentage of all operations that are this workload's; the rest is shared evenly"),
    Entry::new("xfersize", Kind::Bytes, "LIST", "transfer size, sizes with percentages (4k,50,8k,50), or (MIN,MAX,STEP)")
        .also(&["xfersizes"]).or("4k"),
    number("rdpct", "100", "percentage of reads").also(&["readpct"]),
    number("wrpct", "", "percentage of writes").also(&["writepct"]),
    number("rhpct", "0", "percentage of reads that hit the hit area"),
    number("whpct", "0", "percentage of writes that hit the hit area"),
    any("seekpct", "N|WORD",
        "percentage at a random place: random (100), sequential (0), eof (once through), seqnz (from a random place on)")
        .or("100"),
    Entry::new("range", Kind::Range, "(FROM,TO)", "part that is used, in percent, above 200 in bytes"),
    Entry::new("hotband", Kind::Range, "(FROM,TO)", "part that is used, its first blocks far more often"),
    Entry::new("stride", Kind::Bytes, "(MIN,MAX)", "distance of successive places"),
    whole("streams", 2, "", "sequential streams, each in a part of its own"),
    whole("priority", 1, "", "which workload comes first").ignored("each workload has a rate of its own, and threads of its own"),
    number("iorate", "", "operations per second of this workload alone"),
    OPENFLAGS,
    whole("threads", 1, "", "operations in flight").refused("they are of the storage definition", "sd=…,threads=N or rd=…,threads=N"),
    any("user", "CLASS", "a Java class").refused(JAVA, "leave it out"),
];

#[rustfmt::skip]
const FILE_WORKLOADS: &[Entry] = &[
    any("fsd", "NAMES", "file system definitions, also with *"),
    any("host", "LABELS", "hosts that work").also(&["hd"]).or("*"),
    any("operation", "WORD", "mkdir, rmdir, create, delete, open, close, read, write, getattr, setattr, access, move, copy")
        .also(&["operations"]).or("read"),
    number("rdpct", "", "percentage of reads among reads and writes").also(&["readpct"]),
    any("fileio", "WORDS", "sequential, random, (sequential,delete), (random,shared)").or("sequential"),
    any("fileselect", "WORDS", "sequential, random, once, (poisson,N), skewed").or("sequential"),
    Entry::new("xfersizes", Kind::Bytes, "LIST", "transfer size, or sizes with percentages").also(&["xfersize"]).or("4k"),
    number("skew", "", "percentage of all operations that are this workload's"),
    bytes("stopafter", "", "how much is moved in a file before the next: operations, or bytes with a suffix"),
    whole("threads", 1, "1", THREADS_HELP),
    any("target", "NAME", "file system that is copied or moved to").refused("files are moved within their tree", "leave it out"),
    OPENFLAGS,
];

#[rustfmt::skip]
const RUNS: &[Entry] = &[
    any("wd", "NAMES", "workloads, also with *"),
    any("sd", "NAMES", "storage definitions in place of the workloads'; `single`: one run for each"),
    any("fwd", "NAMES", "workloads on file systems, also with *"),
    any("fsd", "NAMES", "file system definitions in place of the workloads'"),
    any("iorate", "N|LIST|WORD", "operations per second, several for several runs, max, or curve").also(&["foriorate", "forrate"]),
    Entry::new("curve", Kind::Decimal, "LIST", "points of a curve, percent of its maximum").or("(10,50,70,80,90,100)"),
    number("stopcurve", "", "response time that ends a curve, ms").refused("all points are measured", "leave it out: curve= says which"),
    time("elapsed", "30", "how long it is measured"),
    time("interval", "1", "from one line of the report to the next"),
    time("warmup", "0", "how long it runs before it is measured"),
    time("pause", "0", "how long nothing is done after it"),
    bytes("maxdata", "", "how much is moved at most; below 100: so many times the storage"),
    bytes("maxdataread", "", "how much is read at most"),
    bytes("maxdatawritten", "", "how much is written at most"),
    any("distribution", "WORD", "times between operations: exponential, uniform, deterministic").or("exponential"),
    any("fwdrate", "N|LIST|WORD", "operations per second on file systems, max, or curve").also(&["forfwdrate"]),
    any("operations", "WORDS", "operations in place of the workloads'"),
    any("foroperations", "WORDS", "the same, one run for each"),
    any("format", "WORDS", "yes, no, restart, only, clean, once, directories: whether the tree is made before").or("no"),
    Entry::new("forxfersize", Kind::Bytes, "LIST", "transfer sizes, one run for each").also(&["xfersize"]),
    whole("forthreads", 1, "", "threads, one run for each").also(&["threads"]),
    number("forrdpct", "", "percentages of reads, one run for each").also(&["rdpct"]),
    number("forrhpct", "", "percentages of read hits, one run for each").also(&["rhpct"]),
    number("forwhpct", "", "percentages of write hits, one run for each").also(&["whpct"]),
    any("forseekpct", "LIST", "percentages of seeks, one run for each").also(&["seekpct"]),
    bytes("forhitarea", "", "hit areas, one run for each").also(&["hitarea"]),
    number("forcompratio", "", "ratios of compression, one run for each").also(&["compratio", "forcompression"]),
    whole("fordepth", 1, "", "depths of trees, one run for each").also(&["depth"]),
    whole("forwidth", 1, "", "widths of trees, one run for each").also(&["width"]),
    whole("forfiles", 1, "", "files in each directory, one run for each").also(&["files"]),
    bytes("forsizes", "", "file sizes, one run for each").also(&["sizes"]),
    bytes("fortotalsize", "", "total sizes, one run for each").also(&["totalsize"]),
    bytes("forwss", "", "sizes of working sets, one run for each").also(&["wss", "workingsetsize", "forworkingsetsize"]),
    OPENFLAGS,
    any("startcmd", "COMMAND", "shell command before it").also(&["start_cmd"]),
    any("endcmd", "COMMAND", "shell command after it").also(&["end_cmd"]),
    any("replay", "FILE", "a trace").refused(REPLAY, REPLAY_HINT),
    any("mount", "OPTIONS", "mounts before it").refused("nothing is mounted", "mount it before, or use startcmd="),
];

/// All kinds of definitions, in their order; the first are parameters of all runs.
pub const GROUPS: &[ParameterGroup] = &[
    ParameterGroup { keyword: "", rank: 0, title: "General parameters", entries: GENERAL },
    ParameterGroup { keyword: "hd", rank: 1, title: "Hosts: hd=", entries: HOSTS },
    ParameterGroup { keyword: "sd", rank: 2, title: "Storage: sd=", entries: STORAGE },
    ParameterGroup { keyword: "fsd", rank: 2, title: "File systems: fsd=", entries: FILE_SYSTEMS },
    ParameterGroup { keyword: "wd", rank: 3, title: "Workloads: wd=", entries: WORKLOADS },
    ParameterGroup { keyword: "fwd", rank: 3, title: "File system workloads: fwd=", entries: FILE_WORKLOADS },
    ParameterGroup { keyword: "rd", rank: 4, title: "Runs: rd=", entries: RUNS },
];

const VALIDATION: &[Word] = &[
    Word::new("r", "read each block right after it was written"),
    Word::new("w", "do not read a block before it is written again"),
    Word::new("q", "check place and key only").ignored("the checksum costs little"),
    Word::new("t", "keep the time of each write").ignored("each block carries the number of its write"),
    Word::new("c", "go on with an older map")
        .refused("the original does so no more", "-jr checks what a journal knows"),
];
const JOURNALING: &[Word] = &[
    Word::new("r", "check what the journal of an earlier run knows, then run"),
    Word::new("n", "do not write the journal to disk at once"),
    Word::new("m", "write the journal only at the end"),
    Word::new("o", "only check: end after it"),
    Word::new("i", "do not check writes that were in flight")
        .ignored("what may be there of them is known: the old or the new"),
    Word::new("s", "do not check").refused("there would be nothing to do", "leave r out"),
    Word::new("t", "keep the time of each write").ignored("each block carries the number of its write"),
];
const FORMATS: &[Word] = &[
    Word::new("y", "format=yes for all runs"),
    Word::new("n", "format=no for all runs"),
    Word::new("o", "format=only for all runs"),
];

/// The options of the command line.
#[rustfmt::skip]
pub const COMMAND_LINE: Table = Table { tool: "vdbench", spelling: Spelling::SingleDash, entries: &[
    Entry::new("f", Kind::Path, "FILE...", "parameter files; - is standard input; behind them NAME=VALUE sets $NAME"),
    Entry::new("o", Kind::Path, "DIR[+]", "folder of the results; with + a new one: DIR.001, DIR.002").or("output"),
    Entry::new("e", Kind::Time, "SECONDS", "elapsed= of all runs"),
    Entry::new("i", Kind::Time, "SECONDS", "interval= of all runs"),
    Entry::new("w", Kind::Time, "SECONDS", "warmup= of all runs"),
    Entry::new("v", Kind::Words(VALIDATION), "", "data validation, with letters for more"),
    Entry::new("j", Kind::Words(JOURNALING), "", "data validation with a journal, with letters for more"),
    Entry::new("s", Kind::Switch, "", "only say which runs would be done"),
    Entry::new("c", Kind::Words(FORMATS), "", "how trees of files are made before; alone: anew"),
    Entry::new("l", Kind::Text, "N", "do all runs so often"),
    Entry::new("r", Kind::Text, "NAMES", "only the runs of these names, also with *"),
    Entry::new("t", Kind::Switch, "", "a quick test of a file"),
    Entry::new("tf", Kind::Switch, "", "a quick test of a tree of files"),
    Entry::new("mb", Kind::Switch, "", "megabytes of 1000 * 1000 bytes"),
    Entry::new("m", Kind::Text, "N", "Java processes").ignored(JAVA),
    Entry::new("p", Kind::Text, "N", "port of Java processes").ignored(JAVA),
    Entry::new("d", Kind::Text, "N", "debugging of Java processes").ignored(JAVA),
    Entry::new("k", Kind::Switch, "", "kernel statistics on the console").ignored(SOLARIS),
    switch("help", "print this and end").also(&["h"]),
    switch("version", "print the version and end"),
] };

/// The text of `--help`.
pub fn help() -> String {
    format!(
        "Usage: iodyno vdbench -f FILE... [-o DIR] [NAME=VALUE...] [+ PARAMETER,...]\n{}\n\
         Behind + stand parameters that are added to each rd= line.\n",
        COMMAND_LINE.help()
    )
}

/// The page about vdbench, with tables of all options and parameters.
pub fn document() -> String {
    let table = |group: &ParameterGroup| {
        let table = Table { tool: "vdbench", spelling: Spelling::Assigned, entries: group.entries };
        table
            .markdown()
            .replacen("## Options", &format!("## {}", group.title), 1)
            .replace("| option |", "| parameter |")
    };
    let tables: Vec<String> = GROUPS.iter().map(table).collect();
    let line = COMMAND_LINE.markdown().replacen("## Options", "## Command line", 1);
    format!("{}\n{line}\n{}", include_str!("introduction.md"), tables.join("\n"))
}

/// What `-t` and `-tf` run.
pub fn quick_test(files: bool) -> &'static str {
    if files { quick::FILES } else { quick::STORAGE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_there_once_and_has_help() {
        assert_eq!(COMMAND_LINE.defects(), Vec::<String>::new());
        for group in GROUPS {
            let table = Table { tool: group.title, spelling: Spelling::Assigned, entries: group.entries };
            assert_eq!(table.defects(), Vec::<String>::new(), "{}", group.title);
        }
    }

    #[test]
    fn keywords_may_be_abbreviated_as_far_as_they_are_unique() {
        let found = |group: usize, word: &str| GROUPS[group].find(word).map(|entry| entry.name);
        assert_eq!(
            (found(2, "thread"), found(3, "size"), found(4, "xfer")),
            (Ok("threads"), Ok("sizes"), Ok("xfersize"))
        );
        assert_eq!(found(6, "threads"), Ok("forthreads"));
        assert_eq!(found(4, "s").unwrap_err().0, "`s` may be sd or skew or seekpct or stride or streams");
        assert_eq!(
            found(4, "rdptc").unwrap_err(),
            ("no wd parameter `rdptc`".into(), "did you mean `rdpct`?".into())
        );
    }
}
