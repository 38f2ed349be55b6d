//! Findings in iozone's own options; a table of sizes shows no percentiles.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code.
const ADVICE: &[Said] = &[
    (1, "", "-I reads past the page cache, or a file (-s) of twice the memory does not fit in it"),
    (2, "", "-e counts flushing (and -c closing) in the time of writes"),
    (6, "", ""),
    (13, "", ""),
];

/// A finding whose advice names iozone's own options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
