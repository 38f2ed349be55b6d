//! diskspd's options, each exactly once, with what is done about it. The same table makes `docs/diskspd.md`.

use super::command::{Command, Given};
use crate::option::{
    Entry, Kind, Setter, SetterGroup, Spelling, Table, Word, count, entries, grouped, switch,
};

pub const TABLE: Table = Table { tool: "diskspd", spelling: Spelling::SingleDash, entries: &ENTRIES };

const ENTRIES: [Entry; SETTERS.len()] = entries(SETTERS);

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, String>] = &grouped::<_, { count(GROUPS) }>(GROUPS);

const WINDOWS: &str = "events and traces of Windows";
const OWN: &str =
    "leave it out; --also record=FILE records every operation, iodyno why tells where latency goes";

const fn size(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "SIZE", help)
}

const fn number(name: &'static str, least: i64, most: i64, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(least, most), "N", help)
}

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const MOST_SECONDS: i64 = 1 << 31;

const CACHE_MODES: &[Word] = &[
    Word::new("b", "through the system's cache (the default)"),
    Word::new("h", "past the cache and written through: uw"),
    Word::new("m", "mapped memory"),
    Word::new("r", "past the local cache of a remote share").refused(
        "clients of network file systems have no such switch",
        "say -Su, which goes past their cache, too",
    ),
    Word::new("u", "past the cache (O_DIRECT); -S alone is the same"),
    Word::new("w", "written through (O_DSYNC)"),
];

const HINTS: &[Word] = &[
    Word::new("r", "accesses will be random"),
    Word::new("s", "accesses will be sequential"),
    Word::new("t", "the file is temporary")
        .ignored("files here are all kept in memory until they are written back"),
];

const GROUPS: &[SetterGroup<Command, String>] = &[
    (
        "",
        &[
            switch("?", "print this and end").on(|c| c.wants_help = true),
            text("X", "FILE", "read an XML profile; only -b -d -W -o -R and -v are taken beside it")
                .text(|c, path| c.file = Some(path.into())),
            text("R", "[p]FORMAT", "results as text or xml; p: print the profile and run nothing")
                .or("text")
                .parsed(Command::result_format),
            switch("v", "verbose")
                .ignored("what it adds is told by --also details")
                .on(|c| c.is_verbose = true),
        ],
    ),
    (
        "Time",
        &[
            number("d", 1, MOST_SECONDS, "seconds that are measured")
                .or("10")
                .whole("seconds", |c, n| c.duration_s = Some(n)),
            number("W", 0, MOST_SECONDS, "seconds before that are not counted")
                .or("5")
                .whole("seconds", |c, n| c.warm_up_s = Some(n)),
            number("C", 0, MOST_SECONDS, "seconds of load after the measured time")
                .or("0")
                .ignored("nothing that is printed changes: the load ends with the measured time")
                .whole("seconds", |c, n| c.span.cool_down_s = n),
            number("D", 1, 1 << 31, "deviation of the rate, over intervals of so many ms")
                .or("1000")
                .parsed(Command::deviation),
            switch("L", "latencies, and their percentiles").on(|c| c.span.shows_latency = true),
        ],
    ),
    (
        "Threads",
        &[
            number("t", 1, 65536, "threads for each target")
                .or("1")
                .whole("threads", |c, n| c.threads = Some(n as u32)),
            number("F", 1, 65536, "threads that all work on all targets, instead of -t")
                .whole("threads", |c, n| c.span.threads = Some(n as u32)),
            number("o", 1, 65536, "operations in flight, of each thread on each target")
                .or("2")
                .whole("operations", |c, n| c.requests = Some(n as u32)),
            number("O", 1, 65536, "operations in flight of each thread on all targets, with -F")
                .whole("operations", |c, n| c.span.requests = Some(n as u32)),
            text("a", "CPU,…", "processors of the threads, in turn [default: all, in turn]")
                .parsed(Command::affinity),
            text("ag", "GROUP,CPU,…", "the same with groups of processors, of which there is one: 0")
                .parsed(Command::group_affinity),
            switch("n", "bind no thread to a processor").on(|c| c.span.is_unbound = true),
            switch("x", "completion routines instead of completion ports")
                .ignored("both are ways of Windows; io_uring is neither")
                .inert(),
            number("I", 1, 3, "priority of I/O: 1 very low, 2 low, 3 normal")
                .or("3")
                .whole("priority", |c, n| c.target.priority = n as u8),
            switch("l", "large pages for the buffers").on(|c| c.target.has_large_pages = true),
        ],
    ),
    (
        "Operations",
        &[
            size("b", "size of an operation").or("64K").parsed(Command::block),
            number("w", 0, 100, "percentage of writes").or("0").parsed(Command::writes),
            Entry::new(
                "r",
                Kind::Bytes,
                "[ALIGN]",
                "random places, at multiples of this [default: of the block]",
            )
            .parsed(Command::random),
            number("rs", 1, 100, "percentage of random operations; the rest go on behind the one before")
                .parsed(Command::random_share),
            text(
                "rd",
                "DISTRIBUTION",
                "where random operations go: pct10/5:60/20 (operations/target), abs10/1G:60/8G",
            )
            .parsed(Command::distribution),
            Entry::new(
                "s",
                Kind::Bytes,
                "[STRIDE]",
                "sequential, so far from each to the next [default: the block]",
            )
            .parsed(|c, v| c.stride(v, false)),
            Entry::new(
                "si",
                Kind::Bytes,
                "[STRIDE]",
                "the same with one position for all threads; here of one thread (-t1)",
            )
            .parsed(|c, v| c.stride(v, true)),
            size("T", "each thread begins so far behind the one before")
                .or("0")
                .parsed(|c, v| Command::amount(v, &mut c.thread_stride)),
            switch("p", "all operations in flight begin at the same place, with -o of 2 and more")
                .refused(
                    "operations in flight have places of their own here",
                    "leave it out; with -o1 it says nothing",
                )
                .inert(),
            text(
                "g",
                "N[i]",
                "at most N bytes in a ms, of each thread on each target; i: operations in a second",
            )
            .parsed(Command::throughput),
            number("i", 1, 1 << 31, "operations in a burst, with -j")
                .whole("operations", |c, n| c.target.burst = n),
            number("j", 1, 1 << 31, "ms between two bursts, with -i")
                .whole("ms", |c, n| c.target.think_ms = n),
            text("z", "[SEED]", "seed of the random places; without a number another one each time")
                .or("0")
                .parsed(Command::seed),
            number("P", 1, 1 << 31, "a dot after so many operations")
                .ignored("dots are not printed; --also live shows a run while it lasts")
                .inert(),
        ],
    ),
    (
        "Targets",
        &[
            size("c", "make files of this size").parsed(|c, v| Command::amount(v, &mut c.create)),
            Entry::new(
                "f",
                Kind::Words(HINTS),
                "SIZE|HINTS",
                "use only so much of each target; or r, s, t: how it will be accessed",
            )
            .parsed(Command::size_or_hint),
            text("B", "BASE[:LENGTH]", "begin so far into each target, and use so much of it")
                .or("0")
                .parsed(Command::bounds),
            Entry::new("S", Kind::Words(CACHE_MODES), "[MODES]", "caches and durability")
                .or("b")
                .parsed(Command::cache),
            switch("h", "the same as -Sh, of older versions").parsed(|c, _| c.cache("h")),
            text("N", "MODE", "how mapped memory is flushed, with -Sm")
                .refused(
                    "mapped memory is written back by the kernel",
                    "say -Smw, which makes each write durable",
                )
                .inert(),
            text(
                "Z",
                "[r|SIZE]",
                "zeros are written; r: random bytes in each write; SIZE: out of a random buffer",
            )
            .parsed(Command::content),
        ],
    ),
    (
        "Windows",
        &[
            text("e", "EVENTS", "events of the kernel's trace").refused(WINDOWS, OWN).inert(),
            text("y", "EVENT", "signals other programs by named events")
                .refused(WINDOWS, "start and end other programs in a shell script around it")
                .inert(),
        ],
    ),
];

/// The help text.
pub fn help() -> String {
    format!("{USAGE}\n\nOptions:\n{}", TABLE.help())
}

const USAGE: &str = "\
Usage: diskspd [options] target1 [target2 ...]
       diskspd -XFILE

Targets are files and block devices. Sizes take K, M, G, T (of 1024) or b (blocks of -b).
Values follow their option without a blank: -b4K -d30 -o32 -t2 -r -w30 -Sh -L";

/// The page of the documents.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md").trim_end(), TABLE.markdown().as_str())
}

/// The option that an argument begins with, and its value: the longest name that fits.
pub fn split(word: &str) -> Option<(&'static Given, &str)> {
    let fitting = SETTERS.iter().filter(|setter| word.starts_with(setter.entry.name));
    let setter = fitting.max_by_key(|setter| setter.entry.name.len())?;
    Some((setter, &word[setter.entry.name.len()..]))
}
