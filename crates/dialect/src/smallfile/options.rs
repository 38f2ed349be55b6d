//! smallfile's options, each exactly once, with what is done about it.
//!
//! The same table makes `docs/smallfile.md`.

use crate::option::{Entry, Kind, Spelling, Table, Word, switch};

pub const TABLE: Table = Table { tool: "smallfile", spelling: Spelling::Dashed, entries: ENTRIES };

const SWIFT: &str = "it stands for what OpenStack Swift did with files, in several kinds of calls";
const SWIFT_HINT: &str = "iodyno warp measures object stores";

const OPERATIONS: &[Word] = &[
    Word::new("create", "make a file and write it"),
    Word::new("append", "write at the end of a file"),
    Word::new("overwrite", "write over a file"),
    Word::new("truncate-overwrite", "empty a file and write it"),
    Word::new("read", "read a file"),
    Word::new("readdir", "list directories"),
    Word::new("ls-l", "list directories and look at each file"),
    Word::new("stat", "look at a file"),
    Word::new("chmod", "change a file's mode"),
    Word::new("setxattr", "set a file's extended attributes"),
    Word::new("getxattr", "read a file's extended attributes"),
    Word::new("symlink", "make a symbolic link to a file"),
    Word::new("mkdir", "make a directory"),
    Word::new("rmdir", "remove that directory"),
    Word::new("rename", "move a file to the other tree"),
    Word::new("delete", "remove a file"),
    Word::new("delete-renamed", "remove a file that was moved"),
    Word::new("cleanup", "remove all that operations left, and the directories"),
    Word::new("await-create", "wait for files that another host makes").refused(
        "it waits for a replication that nothing here tells of",
        "create, then stat on the other host",
    ),
    Word::new("swift-put", "as Swift stores an object").refused(SWIFT, SWIFT_HINT),
    Word::new("swift-get", "as Swift reads an object").refused(SWIFT, SWIFT_HINT),
];

const SIZES: &[Word] = &[
    Word::new("fixed", "all of one size"),
    Word::new("exponential", "drawn, the size being the mean, and eight times as large at most"),
];

const YES_OR_NO: &[Word] = &[Word::new("Y", "yes"), Word::new("N", "no")];

const fn flag(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Word(YES_OR_NO), "Y|N", help).or("N")
}

const fn count(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(0, 1 << 40), value, help)
}

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const INTERNAL: &str = "the original passes it to what it starts on other hosts";

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    Entry::new("operation", Kind::Word(OPERATIONS), "WORD", "what is done with each file").or("cleanup"),
    Entry::new("top", Kind::Path, "DIRECTORY[,DIRECTORY]", "where the trees are; of several each file goes to the next")
        .or("/var/tmp/smf"),
    text("host-set", "HOST[,HOST]", "hosts that do it together, each with all threads"),
    count("files", "N", "files of each thread").or("200"),
    count("threads", "N", "threads of each host").or("2"),
    count("file-size", "KIB", "size of a file; 0: nothing is read or written").or("64"),
    Entry::new("file-size-distribution", Kind::Word(SIZES), "WORD", "how large files are").or("fixed"),
    count("record-size", "KIB", "size of a read or write; 0: the file, at most 1 MiB").or("0"),
    count("files-per-dir", "N", "files of a directory at most").or("100"),
    count("dirs-per-dir", "N", "directories of a directory at most").or("10"),
    flag("hash-into-dirs", "deal files to directories by a hash of their number"),
    flag("permute-host-dirs", "each host works on the files of the next"),
    flag("same-dir", "all threads have one tree"),
    Entry::new("network-sync-dir", Kind::Path, "DIRECTORY", "where files of response times are written").or("network_shared below the top"),
    count("xattr-size", "BYTES", "size of an extended attribute").or("0"),
    count("xattr-count", "N", "extended attributes of each file").or("0"),
    text("prefix", "TEXT", "what names of files begin with"),
    text("suffix", "TEXT", "what they end with"),
    flag("incompressible", "write bytes that do not compress"),
    flag("record-ctime-size", "label each file with its time of creation and size")
        .refused("only await-create reads the label, which is not done", "leave it out"),
    flag("fsync", "make what was changed durable before it is closed"),
    flag("finish", "do all files, also when another thread was done and the measurement has ended").or("Y"),
    flag("stonewall", "the measurement ends when the first thread is done").or("Y"),
    flag("verify-read", "compare what is read with what was written").or("Y"),
    flag("response-times", "write each operation's time to a file for each thread"),
    Entry::new("output-json", Kind::Path, "FILE", "write the results as JSON"),
    Entry::new("yaml-input-file", Kind::Path, "FILE", "read options from a file, `name: value`"),
    count("pause", "US", "microseconds before each file").or("0"),
    flag("auto-pause", "find pauses that let slower threads come along")
        .refused("it changes the load by what it measures, and how is not documented", "--pause US says a pause"),
    count("cleanup-delay-usec-per-file", "US", "wait after a cleanup, for storage that deletes later")
        .ignored("nothing is measured after it").or("0"),
    count("min-dirs-per-sec", "N", "how fast directories are made at least, before the original gives up")
        .ignored("nobody is given up: threads begin when all directories are there").or("50"),
    Entry::new("remote-pgm-dir", Kind::Path, "DIRECTORY", "where the program is on other hosts")
        .ignored("it is found there as it was called here"),
    flag("launch-by-daemon", "daemons that run on the hosts start it")
        .refused("hosts are reached by ssh or an MPI launcher", "--host-set alone, or --also launcher="),
    flag("verbose", "say more").ignored("what goes wrong is always said"),
    flag("log-to-stderr", "messages go to standard error").ignored("they always do"),
    flag("slave", "be one of several").refused(INTERNAL, "leave it out"),
    text("as-host", "NAME", "which of the hosts it is").refused(INTERNAL, "leave it out"),
    switch("help", "print this").also(&["h"]),
    switch("version", "print the version whose words these are; the original has no such option"),
];

/// The page about smallfile, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

pub fn help() -> String {
    format!("usage: smallfile --top DIRECTORY --operation WORD [OPTIONS]\n\n{}", TABLE.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }
}
