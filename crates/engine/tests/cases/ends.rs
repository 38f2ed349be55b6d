//! Violent ends: cases that hang and crash, file systems that go, and the program itself killed.

use std::path::Path;

use testbed::Case;

/// Names the directory of a run that is there to be killed.
pub const VICTIM: &str = "IODYNO_TEST_CASES_VICTIM";

pub fn cases() -> Vec<Case> {
    Vec::new()
}

/// Runs cases until somebody kills this process.
pub fn be_killed(_directory: &Path) {}
