//! fio's program options: what its command line takes beside job options, each once.
//!
//! Refuses the server, and what runs shell commands on behalf of others.

use crate::option::{Entry, Kind, Spelling, Table};

/// Whether a value follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Never.
    No,
    /// Always: behind `=` or as the next argument.
    Yes,
    /// Only behind `=`.
    Maybe,
}

/// The table.
pub const PROGRAM: Table = Table { tool: "fio", spelling: Spelling::Dashed, entries: ENTRIES };

const NO_SERVER: &str =
    "fio's server lets anyone who can connect run jobs, and shell commands in them, without a password";
const NO_CLIENT: &str = "there is no server to connect to";
const START_THERE: &str = "none is needed: --client=h1,h2 goes out over ssh, with mpirun or srun";
const TRIGGER: &str = "triggers run shell commands when something happens on another host";
const TRIGGER_HINT: &str = "run the command from the script that runs fio";

const fn o(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    let kind = if value.is_empty() { Kind::Switch } else { Kind::Text };
    Entry::new(name, kind, value, help)
}

const ENTRIES: &[Entry] = &[
    o("debug", "LIST", "accept categories of debugging; nothing more is printed for them"),
    o("parse-only", "", "read jobs and options, run nothing"),
    o("merge-blktrace-only", "", "merge traces, run nothing")
        .refused("merging traces is not done", "run fio's own, then replay the merged file with read_iolog="),
    o("output", "FILE", "write the report to FILE"),
    o("bandwidth-log", "", "write logs of the bandwidth of all jobs together: agg-read_bw.log, …"),
    o("minimal", "", "the report in terse form"),
    o("output-format", "LIST", "forms of the report: normal, terse, json, json+"),
    o("terse-version", "N", "which terse form: 2, 3, 4 or 5").or("3"),
    o("append-terse", "", "the terse form behind the normal one"),
    o("version", "", "print the version and end"),
    o("help", "", "print this and end"),
    o("cpuclock-test", "", "look at the processor's clock and end"),
    o("crctest", "[LIST]", "time the checksums and end"),
    o("cmdhelp", "[OPTION]", "explain a job option, or `all`, and end"),
    o("enghelp", "[ENGINE[,OPTION]]", "list engines, or explain one's options, and end"),
    o("showcmd", "", "print job files as command lines and end"),
    o("eta", "WHEN", "when the live line is shown: always, never, auto").or("auto"),
    o("eta-newline", "TIME", "a new live line every so often"),
    o("eta-interval", "MS", "how often the live line is renewed").or("1000"),
    o("status-interval", "TIME", "a whole report every so often"),
    o("readonly", "", "refuse jobs that write"),
    o("section", "NAME", "run only this section; may be repeated"),
    o("alloc-size", "KB", "size of fio's memory pool").ignored("there is no pool: memory grows as needed"),
    o("warnings-fatal", "", "warnings end the run"),
    o("max-jobs", "N", "how many workers fio makes room for")
        .ignored("there is room for as many as the machine can start"),
    o("server", "[ARGS]", "be a server").refused(NO_SERVER, START_THERE),
    o("daemonize", "FILE", "a server in the background").refused(NO_SERVER, START_THERE),
    o("client", "HOST[,HOST…]", "run the job files behind it on these hosts, over ssh and mpirun or srun"),
    o("remote-config", "FILE", "a job file on the server")
        .refused(NO_CLIENT, "name it behind --client: it goes along"),
    o("idle-prof", "WORD", "measure idle processor time").refused(
        "idle threads on every processor change what is measured",
        "the report has usr_cpu and sys_cpu; or run mpstat beside it",
    ),
    o("inflate-log", "FILE", "print a compressed log and end").refused("it is not done yet", "use pigz -dz"),
    o("trigger-file", "FILE", "run the trigger when FILE is there").refused(TRIGGER, TRIGGER_HINT),
    o("trigger-timeout", "TIME", "run the trigger then").refused(TRIGGER, TRIGGER_HINT),
    o("trigger", "COMMAND", "the trigger here").refused(TRIGGER, TRIGGER_HINT),
    o("trigger-remote", "COMMAND", "the trigger on servers").refused(TRIGGER, TRIGGER_HINT),
    o("aux-path", "DIR", "where files that fio makes on its own lie"),
    o("latency-log", "FILE", "logs of all jobs' latencies")
        .refused("fio itself no longer has it", "use write_lat_log in the jobs"),
];

/// The letters that stand for some of them, and whether a value follows.
pub const LETTERS: &[(char, &str)] = &[
    ('o', "output"),
    ('l', "latency-log"),
    ('b', "bandwidth-log"),
    ('m', "minimal"),
    ('F', "output-format"),
    ('f', "append-terse"),
    ('v', "version"),
    ('h', "help"),
    ('c', "cmdhelp"),
    ('i', "enghelp"),
    ('s', "showcmd"),
    ('r', "readonly"),
    ('e', "eta"),
    ('E', "eta-newline"),
    ('d', "debug"),
    ('P', "parse-only"),
    ('x', "section"),
    ('a', "alloc-size"),
    ('w', "warnings-fatal"),
    ('j', "max-jobs"),
    ('S', "server"),
    ('D', "daemonize"),
    ('C', "client"),
    ('R', "remote-config"),
    ('T', "cpuclock-test"),
    ('G', "crctest"),
    ('I', "idle-prof"),
    ('L', "status-interval"),
    ('V', "terse-version"),
    ('K', "aux-path"),
];

/// Whether a value follows a program option.
pub fn argument(entry: &Entry) -> Argument {
    match entry.value {
        "" => Argument::No,
        value if value.starts_with('[') => Argument::Maybe,
        _ => Argument::Yes,
    }
}

/// Categories of `--debug`.
pub const CATEGORIES: &[&str] = &[
    "all",
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "sprandom",
];
