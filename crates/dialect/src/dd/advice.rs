//! Findings in dd's own operands; it prints a time and a rate, no percentiles: what spoils those is no matter here.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each worker a file of its own"),
    (7, "", "copy more (a larger count=), and see who else uses the machine"),
    (8, "", "copy more (a larger count=), so that the fast part no longer matters, and tell both rates"),
    (10, "a cheaper engine", "use a larger bs="),
    (12, "`finish", "run sync before"),
    (15, "time batches", ""),
    (23, "", "copy more: a larger count="),
    (26, "", "add status=progress to see when it stalls, and copy more (a larger count=)"),
    (1, "", "add iflag=direct to read past the page cache"),
    (2, "", "add conv=fdatasync, so that the flush is part of the time, or oflag=direct"),
    (
        3,
        "",
        "read a file that holds data: what was reserved or skipped (seek=, conv=sparse) is read as zeros",
    ),
    (4, "", "copy data that does not compress: /dev/zero is all alike"),
    (5, "", "copy more (count=) than any cache before the storage holds"),
    (16, "", "use bs=4k or a multiple of it"),
    (19, "", ""),
    (24, "", ""),
    (6, "", ""),
    (13, "", ""),
    (22, "`intent", "name a file on the storage you mean"),
    (22, "`prepare", "write all of the file before (a first dd without conv=sparse or seek=)"),
    // The last block of a file is short, and pipes give what they have.
    (20, "", ""),
];

/// A finding whose advice names dd's own operands.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
