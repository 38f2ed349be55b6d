//! Findings in the words of a configuration file.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code.
const ADVICE: &[Said] = &[
    (31, "", "give each worker a target of its own"),
    (1, "", "a `Disk maximum size` of twice the memory does not fit in the page cache"),
    (2, "", "name a device as target: what is written there goes past the page cache"),
    (3, "", "let the test file be written in full before the test"),
    (16, "", "a `size` that is a multiple of the file system's and the device's block"),
    (19, "", "name a device as target: through the page cache the kernel makes other requests"),
    (22, "`intent", "name a target on the storage you mean"),
    (22, "`prepare", "let the test file be written in full before the test"),
    (6, "", "a longer `Run Time` has more samples in its tail"),
    (13, "", "fewer `# of Outstanding I/Os`, or more workers"),
];

/// A finding whose advice names entries of the file.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
