//! Every key of the configuration file, by section: what it does, its default, and what we do about it.

use std::fmt::Write as _;

use crate::option::{Entry, Kind, Status};

/// A section of the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    /// Its keys.
    pub entries: &'static [Entry],
}

const fn flag(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Flag, "BOOL", help)
}

const fn text(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, "TEXT", help)
}

const fn number(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(0, i64::MAX), "N", help)
}

const RUN: Entry = flag("run", "run this phase").or("TRUE");
const API: Entry =
    text("API", "the back end of this phase: POSIX, MMAP, AIO, MPIIO, …; empty: of the section above it");
const VERBOSITY: Entry = number("verbosity", "how much of the tests' own reports is kept")
    .ignored("the tests' reports are in the result directory, whatever it says");
const COLLECTIVE: Entry =
    flag("collective", "collective transfers, for back ends that have them").or("FALSE");
const EXTENDED: &str = "the extended mode is not served; the standard mode has no such phase";

const GLOBAL: &[Entry] = &[
    Entry::new("datadir", Kind::Path, "DIR", "where the files of the tests are").or("./datafiles"),
    flag("timestamp-datadir", "append the time to it, so that runs do not meet").or("TRUE"),
    Entry::new("resultdir", Kind::Path, "DIR", "where the results are written").or("./results"),
    flag("timestamp-resultdir", "append the time to it").or("TRUE"),
    text("api", "the back end of all phases").or("POSIX"),
    flag(
        "drop-caches",
        "drop the clean caches before each phase that reads or writes; needed on a single node",
    )
    .or("FALSE"),
    text("drop-caches-cmd", "the command that does it")
        .or("sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\"")
        .ignored("caches are dropped without a command; where that is not allowed, a message says so"),
    flag("io-buffers-on-gpu", "buffers in the memory of a GPU")
        .or("FALSE")
        .refused("there are no buffers on GPUs", "leave it FALSE"),
    number("verbosity", "how many messages are printed").or("1").ignored("the messages do not depend on it"),
    flag("scc", "the rules of the student cluster competition: phases of 30 s").or("FALSE"),
    text("dataPacketType", "what is written: timestamp, offset, incompressible or random").or("timestamp"),
];

const DEBUG: &[Entry] = &[
    number("stonewall-time", "how long the writing phases last, s; anything but 300 makes a run invalid")
        .or("300"),
    text("pause-dir", "pause between phases while a file of the phase's name is in this directory")
        .refused("pauses between phases are not served", "leave it empty"),
];

const EASY: &[Entry] = &[
    API,
    Entry::new("transferSize", Kind::Bytes, "BYTES", "bytes of a transfer").or("2m"),
    Entry::new("blockSize", Kind::Bytes, "BYTES", "bytes of a process; a multiple of transferSize")
        .or("9920000m"),
    flag("filePerProc", "a file for each process").or("TRUE"),
    flag("uniqueDir", "a directory for each file").or("FALSE"),
    RUN,
    VERBOSITY,
];
const HARD: &[Entry] =
    &[API, number("segmentCount", "blocks of each process").or("10000000"), COLLECTIVE, RUN, VERBOSITY];
const PART: &[Entry] = &[API, RUN];
const COLLECTIVE_PART: &[Entry] = &[API, COLLECTIVE, RUN];
const MDTEST_EASY: &[Entry] = &[API, number("n", "files of each process").or("1000000"), RUN];
const MDTEST_HARD: &[Entry] = &[
    API,
    number("n", "files of each process").or("1000000"),
    number("files-per-dir", "at most so many files in a directory")
        .refused("files are not spread over directories", "leave it empty: the rules do not allow it either"),
    RUN,
];

const FIND: &[Entry] = &[
    Entry::new("external-script", Kind::Path, "FILE", "another program to look for the files").refused(
        "no other program is run",
        "leave it empty: the directories are walked by our own processes",
    ),
    text("external-mpi-args", "its launcher's arguments").ignored("no other program is run"),
    text("external-extra-args", "its own arguments").ignored("no other program is run"),
    number("nproc", "how many processes look; empty: all"),
    number("pfind-queue-length", "length of a queue")
        .or("10000")
        .ignored("the walk has no queues between processes"),
    flag("pfind-steal-next", "from whom work is taken")
        .or("FALSE")
        .ignored("directories are dealt out, none is taken over"),
    flag("pfind-parallelize-single-dir-access-using-hashing", "several processes look at one directory")
        .or("FALSE")
        .ignored("always so near the root"),
];
const NOT_RUN: &[Entry] = &[RUN.ignored(EXTENDED)];
const FIND_NOT_RUN: &[Entry] = &[
    text("external-script", "another program").ignored(EXTENDED),
    text("external-mpi-args", "its launcher's arguments").ignored(EXTENDED),
    text("external-extra-args", "its own arguments").ignored(EXTENDED),
    text("nproc", "how many processes look").ignored(EXTENDED),
    RUN.ignored(EXTENDED),
    text("pfind-queue-length", "length of a queue").or("10000").ignored(EXTENDED),
    text("pfind-steal-next", "from whom work is taken").or("FALSE").ignored(EXTENDED),
    text("pfind-parallelize-single-dir-access-using-hashing", "several processes in one directory")
        .or("FALSE")
        .ignored(EXTENDED),
];
const WORKBENCH: &[Entry] = &[
    text("API", "the back end").ignored(EXTENDED),
    text("waitingTime", "waiting relative to run time").or("0.0").ignored(EXTENDED),
    text("precreatePerSet", "files made beforehand").ignored(EXTENDED),
    text("filesPerProc", "files of each process").ignored(EXTENDED),
    RUN.ignored(EXTENDED),
    VERBOSITY,
];

/// Every section, in the order of the file.
pub const SECTIONS: &[Section] = &[
    Section { name: "global", entries: GLOBAL },
    Section { name: "debug", entries: DEBUG },
    Section { name: "ior-easy", entries: EASY },
    Section { name: "ior-easy-write", entries: PART },
    Section { name: "mdtest-easy", entries: MDTEST_EASY },
    Section { name: "mdtest-easy-write", entries: PART },
    Section { name: "mdworkbench", entries: WORKBENCH },
    Section { name: "mdworkbench-create", entries: NOT_RUN },
    Section { name: "timestamp", entries: &[] },
    Section { name: "find-easy", entries: FIND_NOT_RUN },
    Section { name: "ior-hard", entries: HARD },
    Section { name: "ior-hard-write", entries: COLLECTIVE_PART },
    Section { name: "mdtest-hard", entries: MDTEST_HARD },
    Section { name: "mdtest-hard-write", entries: PART },
    Section { name: "find", entries: &with_run() },
    Section { name: "find-hard", entries: FIND_NOT_RUN },
    Section { name: "mdworkbench-bench", entries: NOT_RUN },
    Section { name: "ior-easy-read", entries: PART },
    Section { name: "mdtest-easy-stat", entries: PART },
    Section { name: "ior-hard-read", entries: COLLECTIVE_PART },
    Section { name: "mdtest-hard-stat", entries: PART },
    Section { name: "mdworkbench-delete", entries: NOT_RUN },
    Section { name: "mdtest-easy-delete", entries: PART },
    Section { name: "mdtest-hard-read", entries: PART },
    Section { name: "mdtest-hard-delete", entries: PART },
    Section { name: "ior-rnd4K-easy-read", entries: PART },
];

const fn with_run() -> [Entry; 8] {
    [FIND[0], FIND[1], FIND[2], FIND[3], FIND[4], FIND[5], FIND[6], RUN]
}

pub fn entry(section: &str, key: &str) -> Option<&'static Entry> {
    let section = SECTIONS.iter().find(|known| known.name == section)?;
    section.entries.iter().find(|entry| entry.name == key)
}

/// Yes or no, as the file writes it.
pub fn yes_or_no(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// What a value should have been, where it does not fit its key; an empty value is none.
pub fn misfit(entry: &Entry, value: &str) -> Option<&'static str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = value.is_empty()
        || match entry.kind {
            Kind::Flag => yes_or_no(value).is_some(),
            Kind::Whole(..) => value.parse::<i64>().is_ok_and(|number| number >= 0),
            Kind::Bytes => digits(value.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T'])),
            _ => true,
        };
    match entry.kind {
        _ if fits => None,
        Kind::Flag => Some("TRUE or FALSE"),
        Kind::Whole(..) => Some("a whole number"),
        _ => Some("a number of bytes, as 2m or 47008"),
    }
}

/// The whole file with its defaults and what each key means.
pub fn list(value: impl Fn(&str, &str) -> String) -> String {
    let mut out =
        String::from("# Every key with its value. Keys that say so are accepted and change nothing.\n");
    for section in SECTIONS {
        let _ = writeln!(out, "[{}]", section.name);
        for entry in section.entries {
            let note = match entry.status {
                Status::Done => String::new(),
                Status::Ignored(why) => format!(" (no effect: {why})"),
                Status::Refused(why, _) => format!(" (refused: {why})"),
            };
            let _ = writeln!(out, "# {}{note}", entry.help);
            let _ = writeln!(out, "{} = {}", entry.name, value(section.name, entry.name));
        }
        out.push('\n');
    }
    out
}
