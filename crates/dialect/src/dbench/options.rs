//! dbench's options, each exactly once, with what is done about it.
//!
//! Those of 4.0, and those of later versions that concern files. The same table makes `docs/dbench.md`.

use crate::option::{Entry, GivenOptions, Kind, Spelling, Table, Word, switch};

pub const TABLE: Table = Table { tool: "dbench", spelling: Spelling::Dashed, entries: ENTRIES };

/// Where Debian's dbench has its load.
pub const LOAD: &str = "/usr/share/dbench/client.txt";

const NETWORK: &str = "it speaks to a server over a network, and this to file systems";
const NETWORK_HINT: &str =
    "mount what the server exports and say -D; iodyno net and netperf measure networks";

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const BACKENDS: &[Word] = &[
    Word::new("fileio", "system calls on files"),
    Word::new("sockio", "messages over TCP (tbench)").refused(NETWORK, NETWORK_HINT),
    Word::new("nfs", "NFS").refused(NETWORK, NETWORK_HINT),
    Word::new("scsi", "a SCSI device")
        .refused(NETWORK, "iodyno fio with the engine sg speaks to SCSI devices"),
    Word::new("iscsi", "iSCSI").refused(NETWORK, NETWORK_HINT),
    Word::new("smb", "SMB").refused(NETWORK, NETWORK_HINT),
];

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    Entry::new("timelimit", Kind::Whole(1, 1 << 31), "SECONDS", "how long it is measured; a fifth of it more comes before, as a warm-up")
        .also(&["t"]).or("600"),
    Entry::new("loadfile", Kind::Path, "FILE", "what a client asks for, line by line").also(&["c"]).or(LOAD),
    Entry::new("directory", Kind::Path, "DIRECTORY", "where the clients' trees are made and removed").also(&["D"]).or("."),
    text("tcp-options", "OPTIONS", "options of TCP sockets").also(&["T"])
        .ignored("they are for back ends that speak over a network, and the original takes them with files too"),
    Entry::new("target-rate", Kind::Decimal, "MB_PER_SECOND", "the rate that each client keeps to, in steps of a millisecond; 0: none")
        .also(&["R"]).or("0"),
    switch("sync", "open files with O_SYNC").also(&["s"]),
    switch("sync-dir", "make a directory durable after each change of names in it").also(&["S"]),
    switch("fsync", "make a file durable after each write").also(&["F"]),
    switch("xattr", "read and set the attribute user.DosAttrib, as a server does that keeps those of DOS").also(&["x"]),
    switch("no-resolve", "do not look for a name in other letters where it is not there"),
    Entry::new("clients-per-process", Kind::Whole(1, 10_000), "N", "clients that each process serves in turn, line by line").or("1"),
    switch("one-byte-write-fix", "leave out writes of one byte that change nothing, or make the file longer instead"),
    switch("stat-check", "find out by stat what would come to nothing, and leave it out"),
    switch("fake-io", "count reads and writes, and leave them out"),
    switch("skip-cleanup", "leave the clients' trees where they are"),
    switch("per-client-results", "a table for each client besides"),
    Entry::new("backend", Kind::Word(BACKENDS), "WORD", "what is spoken to (later versions)").also(&["B"]).or("fileio"),
    text("server", "NAME", "the server of the back end nfs (later versions)").refused(NETWORK, NETWORK_HINT),
    text("export", "PATH", "its export (later versions)").refused(NETWORK, NETWORK_HINT),
    text("protocol", "WORD", "its protocol (later versions)").refused(NETWORK, NETWORK_HINT),
    switch("run-once", "end when every client has come to the end of the load (later versions)"),
    Entry::new("warmup", Kind::Whole(0, 1 << 31), "SECONDS", "how long the warm-up is (later versions)").or("a fifth"),
    Entry::new("trunc-io", Kind::Whole(0, 1 << 31), "BYTES", "cut all reads and writes to this size (later versions)")
        .refused("no version that can be had here has it, so what it does to a load cannot be compared",
            "write a load file with smaller transfers"),
    switch("machine-readable", "lines of fields between `@` (later versions)")
        .refused("no version that can be had here prints them", "--also json=FILE writes a record that programs read"),
    switch("help", "print this").also(&["?"]),
    switch("usage", "print the options in short"),
    switch("version", "print the version (later versions)"),
];

/// The page about dbench, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

/// The help, where it was asked for.
pub fn help(options: &GivenOptions) -> Option<String> {
    const USAGE: &str = "Usage: dbench [OPTIONS] NPROCS\n";
    match (options.flag("help"), options.flag("usage")) {
        (true, _) => Some(format!("{USAGE}\n{}", TABLE.help())),
        (_, true) => Some(USAGE.into()),
        _ if options.flag("version") => Some(format!("dbench version {}\n", super::VERSION)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }
}
