//! Findings in hdparm's own options; it prints a rate: no percentiles and no depth.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// What helps against the page cache.
const CACHED: &str = "add --direct to read past the page cache, or use -t on a device nobody else reads";

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each worker a file of its own"),
    (7, "", "repeat it two or three times on a system without other work, as hdparm's manual says"),
    (8, "", "repeat it two or three times, and read the last rate rather than the first"),
    (12, "`finish", "run sync before"),
    (15, "time batches", ""),
    (26, "", "repeat it two or three times on a system without other work, as hdparm's manual says"),
    (1, "", CACHED),
    (2, "", ""),
    (3, "", "the device answers blocks that were never written by itself: write it first, or read another"),
    (16, "", ""),
    (22, "`intent", "name the device that you mean"),
    (22, "`prepare", "write the device first: blocks that were never written are answered without it"),
    (5, "", "the device's own cache answered: read more of it"),
    (6, "", ""),
    (13, "", ""),
    (19, "", ""),
    (24, "", ""),
];

/// A finding whose advice names hdparm's own options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
