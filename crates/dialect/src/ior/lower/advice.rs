//! Findings in IOR's own options.

use iodyno_model::Finding;

use crate::advised;

/// A finding as IOR's user can act on it.
pub fn translate(finding: Finding) -> Option<Finding> {
    advised(finding, ADVICE)
}

/// The list of known lies, by number, and what helps against each here.
const ADVICE: &[(u8, &str)] = &[];
