//! iozone's options, each exactly once.
//!
//! Sizes are in kB unless a letter follows. An option that the original takes and then does nothing with either works
//! here or is refused: none is silently left out.

use super::settings::{Misuse, Settings, burst, chunk, file_bytes, mount, record_bytes};
use crate::option::{
    Entry, Kind, Setter, SetterGroup, Spelling, Table, count as length, entries, grouped, switch,
};

const fn size(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "KB", help)
}
const fn count(name: &'static str, least: i64, most: i64, help: &'static str) -> Setter<Settings, Misuse> {
    counted(Entry::new(name, Kind::Whole(least, most), "N", help))
}
const fn counted(entry: Entry) -> Setter<Settings, Misuse> {
    entry.whole("", |_, _| {})
}
const fn path(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Path, "FILE", help)
}

const MOST: i64 = 1 << 31;
/// Why none of the ports is used by which the original's streams talk to each other.
pub const OWN_PORTS: &str = "clusters are started by the site's mpirun here, and no port of ours is used";
const CLOCKS: &str = "the clocks of the hosts are compared without such a host";

const TESTS: &str = "a test, again for one more: 0 write/rewrite, 1 read/re-read, 2 random, 3 backward read, 4 record rewrite, \
             5 stride read, 6 fwrite, 7 fread, 8 mix, 9 pwrite, 10 pread, 11 pwritev, 12 preadv";

/// Every option with what it checks and sets; all are kept in their order, too.
pub const SETTERS: &[Setter<Settings, Misuse>] = &grouped::<_, { length(GROUPS) }>(GROUPS);

const GROUPS: &[SetterGroup<Settings, Misuse>] = &[
    (
        "What is run",
        &[
            switch("a", "every record size in every file size").inert(),
            switch("A", "obsolete: -a -z -i 0 -i 1").inert(),
            switch("z", "with -a: small records in large files, too").inert(),
            size("n", "least file size of -a").or("64").parsed(|_, text| file_bytes(text).map(drop)),
            size("g", "largest file size of -a").or("524288").parsed(|_, text| file_bytes(text).map(drop)),
            size("y", "least record size of -a").or("4").parsed(|_, text| record_bytes(text).map(drop)),
            size("q", "largest record size of -a").or("16384").parsed(|_, text| record_bytes(text).map(drop)),
            size("s", "file size; again: one more")
                .or("512")
                .parsed(|s, text| file_bytes(text).map(|bytes| s.files.push(bytes))),
            size("r", "record size; again: one more")
                .or("4")
                .parsed(|s, text| record_bytes(text).map(|bytes| s.records.push(bytes))),
            counted(
                Entry::new("+x", Kind::Whole(2, MOST), "N", "each size is so many times the one before")
                    .or("2"),
            ),
            Entry::new("i", Kind::Whole(0, 12), "N", TESTS).whole("test", Settings::select),
            switch("E", "pwrite and pread, too").inert(),
            switch("+n", "no rewrite and no re-read").inert(),
            count("+q", 0, 86_400, "seconds between tests"),
            switch("h", "print this and end").also(&["help"]).inert(),
            switch("v", "print the version and end").also(&["version"]).inert(),
        ],
    ),
    (
        "Files",
        &[
            path("f", "the file").or("iozone.tmp").inert(),
            Entry::new("F", Kind::List, "FILE...", "a file for each stream; after -t").inert(),
            path("+R", "a file with the names for -F, one in each line").inert(),
            switch("w", "files stay").inert(),
            Entry::new("U", Kind::Path, "MOUNT", "mount anew before each test").parsed(|_, text| mount(text)),
            switch("+E", "read files that iozone did not write").inert(),
            switch("+N", "the first write does not truncate").inert(),
            switch("+F", "writers of the mix truncate their files first").inert(),
            switch("+V", "all streams share one file").inert(),
            switch("+L", "all streams share one file, and lock records").inert(),
            switch("+l", "records are locked").inert(),
            switch("W", "files are locked as a whole while they are written or read").inert(),
        ],
    ),
    (
        "How I/O is done",
        &[
            switch("I", "bypass the page cache (O_DIRECT)").inert(),
            switch("o", "each write durable (O_SYNC)").inert(),
            switch("+D", "the data of each write durable (O_DSYNC)").inert(),
            switch("+r", "O_RSYNC and O_SYNC").inert(),
            switch("B", "through a mapping").inert(),
            switch("D", "through a mapping, msync(MS_ASYNC) after each write").inert(),
            switch("G", "through a mapping, msync(MS_SYNC) after each write").inert(),
            switch("Z", "mappings and calls in turn, on one file").inert(),
            count(
                "+A",
                0,
                4,
                "advice for mappings: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed",
            ),
            count("H", 1, 4096, "POSIX asynchronous I/O, so many in flight"),
            count("k", 1, 4096, "the same without a copy (no engine of ours copies)"),
            switch("p", "empty the processor's caches before each operation, not in the time").inert(),
            switch("m", "many buffers, 16 MiB of them in turn").inert(),
            size("S", "size of the processor's cache, for the heading and -p")
                .or("1024")
                .parsed(|_, text| file_bytes(text).map(drop)),
            counted(
                Entry::new("L", Kind::Whole(0, MOST), "N", "bytes of a line of that cache, for the heading")
                    .or("32"),
            ),
            counted(
                Entry::new("j", Kind::Whole(1, MOST), "N", "distance of stride reads, in records").or("17"),
            ),
            switch("K", "about every 100th read is elsewhere").inert(),
            count("J", 0, MOST, "ms to compute before each operation, not in the time"),
            switch("+J", "the time of -J counts").inert(),
            count("P", 0, 65_535, "stream n runs on processor N + n alone"),
            count("d", 0, MOST, "µs between the starts of streams"),
            path("X", "a list of writes: offset, bytes, ms").inert(),
            path("Y", "a list of reads: offset, bytes, ms").inert(),
            Entry::new("+b", Kind::Text, "KB,MS", "sleep MS after each burst of KB").parsed(|_, text| {
                burst(text).map(drop).ok_or(("no burst and pause", "KB,MS: -+b 1024,10".into()))
            }),
            count("+O", 1, MOST, "operations each second and stream, at most"),
            count("+p", 0, 100, "percent of the mix's streams that read"),
            count("+K", 0, MOST, "streams of the mix that read"),
            switch("+B", "the mix is sequential").inert(),
        ],
    ),
    (
        "Content",
        &[
            count("V", 0, 255, "every byte is N, and checked"),
            switch("+d", "every byte is checked, and the offset of a wrong byte is reported").inert(),
            switch("+X", "every byte is 0xBB").inert(),
            switch("+Z", "every byte is 0xA5").inert(),
            count("+w", 0, 100, "percent of records that are the same at their place in all files"),
            count("+y", 0, 100, "percent of these that repeat within files, too; without -+w of all records"),
            count("+C", 0, 100, "percent of these that repeat within their file alone"),
            count("+a", 0, 100, "percent of each record that is zeros"),
            Entry::new("+Q", Kind::Whole(0, MOST), "N", "bytes that repeat together")
                .parsed(|_, text| chunk(text)),
            count("+S", 0, MOST, "files of one number have the same content"),
            count("+W", 0, MOST, "what does not repeat is that of the file so many further"),
            switch("+M", "records that repeat compress, too").ignored("both always go together").inert(),
            switch("+e", "holes rather than repeats")
                .refused("every record is written, none is left out as a hole", "-+a 100 writes zeros")
                .inert(),
        ],
    ),
    (
        "Timing and units",
        &[
            switch("c", "closing counts").inert(),
            switch("e", "flushing (fsync) counts").inert(),
            switch("O", "operations each second").inert(),
            switch("N", "µs for each operation").inert(),
            switch("Q", "offset and latency of each operation, in files beside").inert(),
            switch("+z", "histograms of latency, in files beside").inert(),
            switch("+T", "when each stream began and ended, in files beside").inert(),
            switch("+u", "processor time").inert(),
            switch("M", "say which machine it is").inert(),
            switch("R", "tables for spreadsheets at the end").inert(),
            path("b", "the same as a spreadsheet").inert(),
        ],
    ),
    (
        "Throughput and clusters",
        &[
            Entry::new("t", Kind::Whole(1, 65_536), "N", "so many streams; again: then so many")
                .whole("streams", |s, streams| s.rounds.push(streams as u32)),
            switch("T", "streams are threads").inert(),
            count("l", 1, 65_536, "from so many streams"),
            count("u", 1, 65_536, "to so many"),
            switch("C", "a line for each stream").inert(),
            switch("x", "each stream goes on to its end").inert(),
            switch("+k", "-s is the size of all files together").inert(),
            path("+m", "hosts: a line for each stream, HOST DIRECTORY PROGRAM [FILE]").inert(),
            Entry::new(
                "+h",
                Kind::Text,
                "HOST",
                "with -+t: name of this host for the others; else none is needed",
            )
            .inert(),
            Entry::new("+i", Kind::Text, "PORT", "the port of the others").ignored(OWN_PORTS).inert(),
            switch("+s", "messages of the streams are left out").ignored("streams print no messages").inert(),
            Entry::new("+c", Kind::Text, "HOST", "with -+t: be the client of that master").inert(),
            switch("+t", "speed of the network to each host of -+m and back, records of -r (1), -s in all")
                .inert(),
            Entry::new("+H", Kind::Text, "HOST", "a host whose clock is used")
                .refused(CLOCKS, "leave it out")
                .inert(),
            Entry::new("+P", Kind::Text, "SERVICE", "the port of that host")
                .refused(CLOCKS, "leave it out")
                .inert(),
        ],
    ),
];

pub const TABLE: Table = Table {
    tool: "iozone",
    spelling: Spelling::SingleDash,
    entries: &entries::<_, { SETTERS.len() }>(SETTERS),
};

/// The text of `iozone -h`, in our words.
pub fn help() -> String {
    format!(
        "iozone: help mode\n\n    iozone (iodyno): file I/O over file sizes, record sizes and streams, as iozone does \
         it.\n\n    Usage: iozone [-a] [-i TEST]... [-s SIZE] [-r SIZE] [-f FILE] [-t STREAMS] ...\n{}",
        TABLE.help()
    )
}

/// The page `docs/iozone.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("-+m FILE") && document().contains("**no**"));
    }
}
