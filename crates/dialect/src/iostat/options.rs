//! iostat's options, each exactly once, and what is printed of them.

use super::command::{Command, DeviceGroup, EarlyExit, Unit, wrong};
use crate::option::{
    Entry, Kind, Setter, SetterGroup, Spelling, Table, Word, count, entries, grouped, switch,
};

const FOLDER: &str = "only the kernel's own counters are read";
const FOLDER_HINT: &str = "leave it out, or use sysstat's iostat";

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, EarlyExit>] = &grouped::<_, { count(GROUPS) }>(GROUPS);

const GROUPS: &[SetterGroup<Command, EarlyExit>] = &[
    (
        "Reports",
        &[
            switch("c", "the processors' time alone, unless devices are asked for too").on(|c| c.cpu = true),
            switch("d", "the devices alone, unless -c is there too").on(|c| c.disks = true),
            switch("x", "every figure of a device").on(|c| (c.extended, c.asks) = (true, true)),
            switch("s", "fewer figures: a line fits in 80 columns").on(|c| c.short = true),
            switch("y", "not the first report, which covers the time since the machine was started")
                .on(|c| c.without_first = true),
            switch("z", "not the devices that did nothing").on(|c| c.without_idle = true),
            switch("t", "the time above each report; as ISO 8601 with S_TIME_FORMAT=ISO")
                .on(|c| c.timed = true),
            Entry::new("o", FORMS, "JSON", "another form than text").parsed(|c, form| match form {
                "JSON" => {
                    c.json = true;
                    Ok(())
                }
                _ => wrong(format!("`-o {form}`: expected JSON")),
            }),
        ],
    ),
    (
        "Figures",
        &[
            switch("k", "kB each second; the default without POSIXLY_CORRECT")
                .parsed(|c, _| c.unit(Unit::Kilo)),
            switch("m", "MB each second").parsed(|c, _| c.unit(Unit::Mega)),
            switch("human", "amounts with the unit that fits: 1.5k, 3.2M").on(|c| c.human = true),
            Entry::new("dec", Kind::Whole(0, 2), "N", "digits after the point: 0, 1 or 2")
                .or("2")
                .whole("digits", |c, digits| c.decimals = Some(digits as usize)),
            switch("pretty", "names to the right, and -x in several narrow tables").on(|c| c.pretty = true),
            switch("compact", "with --pretty: -x in one table all the same").on(|c| c.compact = true),
            switch("h", "--human and --pretty").on(|c| (c.human, c.pretty) = (true, true)),
        ],
    ),
    (
        "Devices",
        &[
            Entry::new("p", Kind::List, "DEVICE[,...]|ALL", PARTITIONS).text(Command::partitions_of),
            Entry::new(
                "g",
                Kind::Text,
                "NAME",
                "the devices that follow, then a line of all of them together",
            )
            .text(|c, name| c.groups.push(DeviceGroup { name: name.into(), devices: Vec::new() })),
            switch("H", "with -g: only the line of the group").on(|c| c.only_groups = true),
            switch("N", "device-mapper devices by their own names").on(|c| c.mapped = true),
            Entry::new("j", Kind::Text, "ID|LABEL|PATH|UUID|...", "devices by their names in /dev/disk/by-…")
                .text(|c, name| (c.persistent, c.pretty) = (Some(name.into()), true)),
            Entry::new("f", Kind::Path, "DIRECTORY", "counters of devices in user space")
                .refused(FOLDER, FOLDER_HINT)
                .inert(),
        ],
    ),
    (
        "",
        &[
            switch("help", "print this and end").parsed(|_, _| Err(EarlyExit::Help)),
            switch("V", "print the version and end")
                .also(&["version"])
                .parsed(|_, _| Err(EarlyExit::Version)),
        ],
    ),
];

const FORMS: Kind = Kind::Word(&[Word::new("JSON", "a JSON document")]);
const PARTITIONS: &str = "their partitions too; without a value those of all devices";

pub const TABLE: Table =
    Table { tool: "iostat", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

/// The text of `--help`, which follows what is wrong with a command line, too.
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
