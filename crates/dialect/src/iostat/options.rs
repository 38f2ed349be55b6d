//! iostat's options, each exactly once, and what is printed of them.

use crate::option::{Entry, Kind, Spelling, Table, Word, switch};

const FOLDER: &str = "only the kernel's own counters are read";
const FOLDER_HINT: &str = "leave it out, or use sysstat's iostat";

/// The table.
pub const TABLE: Table = Table {
    tool: "iostat",
    spelling: Spelling::Dashed,
    entries: &[
        switch("c", "the processors' time alone, unless devices are asked for too").under("Reports"),
        switch("d", "the devices alone, unless -c is there too").under("Reports"),
        switch("x", "every figure of a device").under("Reports"),
        switch("s", "fewer figures: a line fits in 80 columns").under("Reports"),
        switch("y", "not the first report, which covers the time since the machine was started")
            .under("Reports"),
        switch("z", "not the devices that did nothing").under("Reports"),
        switch("t", "the time above each report; as ISO 8601 with S_TIME_FORMAT=ISO").under("Reports"),
        Entry::new(
            "o",
            Kind::Word(&[Word::new("JSON", "a JSON document")]),
            "JSON",
            "another form than text",
        )
        .under("Reports"),
        switch("k", "kB each second; the default without POSIXLY_CORRECT").under("Figures"),
        switch("m", "MB each second").under("Figures"),
        switch("human", "amounts with the unit that fits: 1.5k, 3.2M").under("Figures"),
        Entry::new("dec", Kind::Whole(0, 2), "N", "digits after the point: 0, 1 or 2")
            .or("2")
            .under("Figures"),
        switch("pretty", "names to the right, and -x in several narrow tables").under("Figures"),
        switch("compact", "with --pretty: -x in one table all the same").under("Figures"),
        switch("h", "--human and --pretty").under("Figures"),
        Entry::new(
            "p",
            Kind::List,
            "DEVICE[,...]|ALL",
            "their partitions too; without a value those of all devices",
        )
        .under("Devices"),
        Entry::new("g", Kind::Text, "NAME", "the devices that follow, then a line of all of them together")
            .under("Devices"),
        switch("H", "with -g: only the line of the group").under("Devices"),
        switch("N", "device-mapper devices by their own names").under("Devices"),
        Entry::new("j", Kind::Text, "ID|LABEL|PATH|UUID|...", "devices by their names in /dev/disk/by-…")
            .under("Devices"),
        Entry::new("f", Kind::Path, "DIRECTORY", "counters of devices in user space")
            .under("Devices")
            .refused(FOLDER, FOLDER_HINT),
        switch("V", "print the version and end"),
    ],
};

/// What is said where the command line is wrong, in our words.
pub fn usage() -> String {
    format!(
        "Usage: iostat [options] [DEVICE...|ALL] [INTERVAL [COUNT]]\n\niostat (iodyno): what the kernel counted of block \
         devices and processors.\n\nOptions:{}",
        TABLE.help()
    )
}

/// The page `docs/iostat.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(usage().contains("--dec=N") && document().contains("**no**"));
    }
}
