//! Findings in the options of `iodyno measure`.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// What helps against the page cache.
const CACHED: &str =
    "this file system takes no direct I/O: choose a --size well above memory, or measure the device beneath";

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each worker a file of its own"),
    (8, "", "measure longer (--full, or --time 60s): the rate after the fall is the one that lasts"),
    (10, "", "use an engine that takes less of the processor: --engine io_uring"),
    (12, "`finish", "flush what is in memory before (sync), or wait a while"),
    (23, "", "measure longer: --full, or --time 5s"),
    (
        26,
        "",
        "read the maximum beside the median, and measure longer (--full); look for garbage collection, snapshots, or who \
             else uses the machine at that distance",
    ),
    (1, "", CACHED),
    (2, "", CACHED),
    (5, "", "measure a larger --size than any cache before the storage holds, e.g. --full"),
    (19, "", "past the page cache the device got other requests than were asked: a limit of its queue"),
    (22, "`intent", "name a directory, a file or a device on the storage you mean"),
    (22, "`prepare", "measure with --full, which writes all of the span before"),
    (3, "", "the span was laid out with data: see what else writes or punches these files"),
    (16, "", "the smallest blocks are less than the file system's: read the larger ones"),
    (24, "", "sweep deeper with --full; the last depth is no limit of the device"),
    (6, "", "measure longer: --full, or --time 5s"),
    (7, "", "measure longer (--full), when nobody else uses the machine; a new SSD needs filling first"),
    (
        13,
        "nr_requests",
        "the deepest points of the sweep wait in the host: read it up to what the device takes, or let it take more \
         (/sys/block/*/queue/nr_requests, the queue depth of its driver)",
    ),
    (13, "`direct = true`", CACHED),
    (13, "", "use an engine that keeps a depth: --engine io_uring or libaio"),
];

/// A finding whose advice names the options of `iodyno measure`.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
