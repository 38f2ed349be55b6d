//! iozone's options, each exactly once.
//!
//! Sizes are in kB unless a letter follows. An option that the original takes and then does nothing with either works
//! here or is refused: none is silently left out.

use crate::option::{Entry, Kind, Spelling, Table, switch};

const fn size(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "KB", help)
}
const fn count(name: &'static str, most: i64, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(0, most), "N", help)
}
const fn path(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Path, "FILE", help)
}

const MODES: &str = "What is run";
const TARGETS: &str = "Files";
const PATHS: &str = "How I/O is done";
const CONTENT: &str = "Content";
const TIMING: &str = "Timing and units";
const MANY: &str = "Throughput and clusters";

const MOST: i64 = 1 << 31;
const OWN_PORTS: &str = "clusters are started by the site's mpirun here, and no port of ours is used";

/// The table.
pub const TABLE: Table = Table {
    tool: "iozone",
    spelling: Spelling::SingleDash,
    entries: &[
        switch("a", "every record size in every file size").under(MODES),
        switch("A", "obsolete: -a -z -i 0 -i 1").under(MODES),
        switch("z", "with -a: small records in large files, too").under(MODES),
        size("n", "least file size of -a").or("64").under(MODES),
        size("g", "largest file size of -a").or("524288").under(MODES),
        size("y", "least record size of -a").or("4").under(MODES),
        size("q", "largest record size of -a").or("16384").under(MODES),
        size("s", "file size; again: one more").or("512").under(MODES),
        size("r", "record size; again: one more").or("4").under(MODES),
        count("+x", MOST, "each size is so many times the one before").or("2").under(MODES),
        count(
            "i",
            12,
            "a test, again for one more: 0 write/rewrite, 1 read/re-read, 2 random, 3 backward read, 4 record rewrite, \
             5 stride read, 6 fwrite, 7 fread, 8 mix, 9 pwrite, 10 pread, 11 pwritev, 12 preadv",
        )
        .under(MODES),
        switch("E", "pwrite and pread, too").under(MODES),
        switch("+n", "no rewrite and no re-read").under(MODES),
        count("+q", 86_400, "seconds between tests").under(MODES),
        switch("h", "print this and end").under(MODES),
        switch("v", "print the version and end").under(MODES),
        path("f", "the file").or("iozone.tmp").under(TARGETS),
        Entry::new("F", Kind::List, "FILE...", "a file for each stream; after -t").under(TARGETS),
        path("+R", "a file with the names for -F, one in each line").under(TARGETS),
        switch("w", "files stay").under(TARGETS),
        Entry::new("U", Kind::Path, "MOUNT", "mount anew before each test").under(TARGETS),
        switch("+E", "read files that iozone did not write").under(TARGETS),
        switch("+N", "the first write does not truncate").under(TARGETS),
        switch("+F", "writers of the mix truncate their files first").under(TARGETS),
        switch("+V", "all streams share one file").under(TARGETS),
        switch("+L", "all streams share one file, and lock records").under(TARGETS),
        switch("+l", "records are locked").under(TARGETS),
        switch("W", "files are locked as a whole while they are written or read").under(TARGETS),
        switch("I", "past the page cache (O_DIRECT)").under(PATHS),
        switch("o", "each write durable (O_SYNC)").under(PATHS),
        switch("+D", "the data of each write durable (O_DSYNC)").under(PATHS),
        switch("+r", "O_RSYNC and O_SYNC").under(PATHS),
        switch("B", "through a mapping").under(PATHS),
        switch("D", "through a mapping, msync(MS_ASYNC) after each write").under(PATHS),
        switch("G", "through a mapping, msync(MS_SYNC) after each write").under(PATHS),
        switch("Z", "mappings and calls in turn, on one file").under(PATHS),
        count("+A", 4, "advice for mappings: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed")
            .under(PATHS),
        count("H", 4096, "POSIX asynchronous I/O, so many in flight").under(PATHS),
        count("k", 4096, "the same without a copy (no engine of ours copies)").under(PATHS),
        switch("p", "empty the processor's caches before each operation, not in the time").under(PATHS),
        switch("m", "many buffers, 16 MiB of them in turn").under(PATHS),
        size("S", "size of the processor's cache, for the heading and -p").or("1024").under(PATHS),
        count("L", MOST, "bytes of a line of that cache, for the heading").or("32").under(PATHS),
        count("j", MOST, "distance of stride reads, in records").or("17").under(PATHS),
        switch("K", "about every 100th read is elsewhere").under(PATHS),
        count("J", MOST, "ms to compute before each operation, not in the time").under(PATHS),
        switch("+J", "the time of -J counts").under(PATHS),
        count("P", 65_535, "stream n runs on processor N + n alone").under(PATHS),
        count("d", MOST, "µs between the starts of streams").under(PATHS),
        path("X", "a list of writes: offset, bytes, ms").under(PATHS),
        path("Y", "a list of reads: offset, bytes, ms").under(PATHS),
        Entry::new("+b", Kind::Text, "KB,MS", "sleep MS after each burst of KB").under(PATHS),
        count("+O", MOST, "operations each second and stream, at most").under(PATHS),
        count("+p", 100, "percent of the mix's streams that read").under(PATHS),
        count("+K", MOST, "streams of the mix that read").under(PATHS),
        switch("+B", "the mix is sequential").under(PATHS),
        count("V", 255, "every byte is N, and checked").under(CONTENT),
        switch("+d", "every byte is checked, and where it is wrong told").under(CONTENT),
        switch("+X", "every byte is 0xBB").under(CONTENT),
        switch("+Z", "every byte is 0xA5").under(CONTENT),
        count("+w", 100, "percent of records that repeat, the same in all files").under(CONTENT),
        count("+y", 100, "percent of records that repeat, within files and across").under(CONTENT),
        count("+C", 100, "percent of records that repeat within their file alone").under(CONTENT),
        count("+a", 100, "percent of each record that is zeros").under(CONTENT),
        count("+Q", MOST, "bytes that repeat together").under(CONTENT),
        count("+S", MOST, "files of one number have the same content").under(CONTENT),
        count("+W", MOST, "what does not repeat is that of the file so many further").under(CONTENT),
        switch("+M", "records that repeat compress, too").ignored("both always go together").under(CONTENT),
        switch("+e", "holes rather than repeats")
            .refused("every record is written, none is left out as a hole", "-+a 100 writes zeros")
            .under(CONTENT),
        switch("c", "closing counts").under(TIMING),
        switch("e", "flushing (fsync) counts").under(TIMING),
        switch("O", "operations each second").under(TIMING),
        switch("N", "µs for each operation").under(TIMING),
        switch("Q", "offset and latency of each operation, in files beside").under(TIMING),
        switch("+z", "histograms of latency, in files beside").under(TIMING),
        switch("+T", "when each stream began and ended, in files beside").under(TIMING),
        switch("+u", "processor time").under(TIMING),
        switch("M", "say which machine it is").under(TIMING),
        switch("R", "tables for spreadsheets at the end").under(TIMING),
        path("b", "the same as a spreadsheet").under(TIMING),
        count("t", 65_536, "so many streams; again: then so many").under(MANY),
        switch("T", "streams are threads").under(MANY),
        count("l", 65_536, "from so many streams").under(MANY),
        count("u", 65_536, "to so many").under(MANY),
        switch("C", "a line for each stream").under(MANY),
        switch("x", "each stream goes on to its end").under(MANY),
        switch("+k", "-s is the size of all files together").under(MANY),
        path("+m", "hosts: a line for each stream, HOST DIRECTORY PROGRAM [FILE]").under(MANY),
        Entry::new("+h", Kind::Text, "HOST", "name of this host for the others").ignored(OWN_PORTS).under(MANY),
        Entry::new("+i", Kind::Text, "PORT", "the port of the others").ignored(OWN_PORTS).under(MANY),
        switch("+s", "the streams' own talk is left out").ignored("streams never talk").under(MANY),
        Entry::new("+c", Kind::Text, "HOST", "be one of the others")
            .refused(OWN_PORTS, "start the whole with -+m")
            .under(MANY),
        switch("+t", "speed of the network between the hosts")
            .refused("it measures the network", "iodyno net mesh does")
            .under(MANY),
        Entry::new("+H", Kind::Text, "HOST", "a host that tells the time")
            .refused("clocks of hosts are compared without", "leave it out")
            .under(MANY),
        Entry::new("+P", Kind::Text, "SERVICE", "the port of that host")
            .refused("clocks of hosts are compared without", "leave it out")
            .under(MANY),
    ],
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
