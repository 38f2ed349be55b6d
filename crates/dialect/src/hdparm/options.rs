//! hdparm's options, each exactly once: two of them measure, the others touch the drive and are refused.

use super::command::{Command, EarlyExit};
use crate::option::{Entry, Kind, Setter, SetterGroup, Spelling, Table, count, entries, grouped, switch};

const SETTING: &str = "it reads or changes settings of the drive";
const DANGER: &str = "it can destroy data or the drive";
const SHOWS: &str = "it describes the drive";
const HINT: &str = "use hdparm itself";

const fn setting(name: &'static str, help: &'static str) -> Setter<Command, EarlyExit> {
    switch(name, help).refused(SETTING, HINT).inert()
}
const fn danger(name: &'static str, help: &'static str) -> Setter<Command, EarlyExit> {
    switch(name, help).refused(DANGER, HINT).inert()
}
const fn shows(name: &'static str, help: &'static str) -> Setter<Command, EarlyExit> {
    switch(name, help).refused(SHOWS, HINT).inert()
}

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, EarlyExit>] = &grouped::<_, { count(GROUPS) }>(GROUPS);

const GROUPS: &[SetterGroup<Command, EarlyExit>] = &[
    (
        "",
        &[
            switch("t", "time sequential reads of the device, caches emptied before").on(|c| c.device = true),
            switch("T", "time reads of the page cache").on(|c| c.cached = true),
            switch("direct", "time reads past the page cache").on(|c| c.direct = true),
            Entry::new(
                "offset",
                Kind::Whole(0, i64::MAX >> 30),
                "GIB",
                "with -t: begin so far into the device",
            )
            .whole("GiB", |c, gib| c.offset_gib = Some(gib)),
            switch("q", "print less about the next setting").ignored("timings are always shown").inert(),
            switch("h", "print this and end").also(&["help"]).parsed(|_, _| Err(EarlyExit::Print(help()))),
            switch("V", "print the version and end")
                .also(&["version"])
                .parsed(|_, _| Err(EarlyExit::Print(version()))),
            switch("verbose", "print more").ignored("there is nothing more to print").inert(),
        ],
    ),
    (
        "Drive settings",
        &[
            setting("a", "file-system read-ahead"),
            setting("A", "the drive's look-ahead"),
            setting("B", "power management level"),
            setting("b", "bus state"),
            setting("c", "32-bit transfers"),
            setting("d", "DMA"),
            setting("D", "defect management"),
            setting("E", "CD or DVD speed"),
            setting("f", "flush the page cache at the end"),
            setting("F", "flush the drive's write cache"),
            setting("J", "idle timer of certain drives"),
            setting("k", "keep settings over reset"),
            setting("K", "keep features over reset"),
            setting("L", "door lock"),
            setting("m", "sectors per interrupt"),
            setting("M", "acoustic level"),
            setting("n", "ignore write errors"),
            setting("p", "PIO mode"),
            setting("P", "prefetch count"),
            setting("Q", "queue depth"),
            setting("R", "write-read-verify"),
            setting("S", "spin-down time"),
            setting("u", "interrupt unmasking"),
            setting("v", "the usual settings"),
            setting("W", "write cache"),
            setting("y", "standby"),
            setting("Y", "sleep"),
            setting("z", "read the partition table again"),
            setting("Z", "power saving of certain drives"),
            setting("idle-immediate", "idle now"),
            setting("idle-unload", "idle now, heads unloaded"),
            setting("prefer-ata12", "shorter commands"),
        ],
    ),
    (
        "Descriptions",
        &[
            shows("C", "power state"),
            shows("g", "geometry"),
            shows("H", "temperature"),
            shows("i", "identification, from the kernel"),
            shows("I", "identification, from the drive"),
            shows("Iraw", "identification to a file"),
            shows("Istdin", "identification from standard input"),
            shows("Istdout", "identification as hexadecimal"),
            shows("dco-identify", "configuration"),
            shows("fibmap", "extents of a file"),
            shows("read-sector", "one sector"),
            shows("sanitize-status", "progress of sanitizing"),
            shows("security-help", "help for security commands"),
        ],
    ),
    (
        "Dangerous",
        &[
            danger("N", "visible sectors"),
            danger("r", "read-only flag"),
            danger("s", "power-up in standby"),
            danger("U", "unregister an interface"),
            danger("w", "device reset"),
            danger("x", "tri-state"),
            danger("X", "transfer mode"),
            danger("dco-freeze", "lock the configuration"),
            danger("dco-restore", "factory configuration"),
            danger("dco-setmax", "addressable sectors"),
            danger("drq-hsm-error", "provoke an error"),
            danger("fallocate", "allocate a file"),
            danger("fwdownload", "new firmware"),
            danger("fwdownload-mode3", "new firmware, small pieces"),
            danger("fwdownload-mode3-max", "new firmware, large pieces"),
            danger("fwdownload-mode7", "new firmware, one piece"),
            danger("fwdownload-modee", "new firmware, small pieces, mode E"),
            danger("fwdownload-modee-max", "new firmware, large pieces, mode E"),
            danger("make-bad-sector", "damage a sector"),
            switch("repair-sector", "overwrite a sector")
                .also(&["write-sector"])
                .refused(DANGER, HINT)
                .inert(),
            danger("sanitize-antifreeze-lock", "no freezing"),
            danger("sanitize-block-erase", "erase all"),
            danger("sanitize-crypto-scramble", "new encryption keys"),
            danger("sanitize-freeze-lock", "no sanitizing"),
            danger("sanitize-overwrite", "overwrite all"),
            danger("sanitize-overwrite-passes", "how often"),
            danger("set-sector-size", "logical sector size"),
            danger("trim-sector-ranges", "discard sectors"),
            danger("trim-sector-ranges-stdin", "discard sectors, from standard input"),
            danger("security-freeze", "lock security settings"),
            danger("security-unlock", "unlock with a password"),
            danger("security-set-pass", "set a password"),
            danger("security-disable", "remove a password"),
            danger("security-erase", "erase all, by password"),
            danger("security-erase-enhanced", "erase all more thoroughly, by password"),
            danger("security-mode", "security level"),
            danger("user-master", "which password"),
            danger("please-destroy-my-drive", "confirm a danger"),
            danger("yes-i-know-what-i-am-doing", "confirm a danger"),
        ],
    ),
];

pub const TABLE: Table =
    Table { tool: "hdparm", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

fn version() -> String {
    format!("hdparm (iodyno) {}\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `hdparm -h`, in our words.
pub fn help() -> String {
    format!(
        "hdparm (iodyno): times reads of a device, as hdparm -T and -t do.\n\nUsage:  hdparm [-t] [-T] [--direct] \
         [--offset GIB] DEVICE...\n\nOptions:\n{}",
        TABLE.help()
    )
}

/// The page `docs/hdparm.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("-T") && document().contains("**no**"));
    }
}
