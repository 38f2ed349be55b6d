//! What cases stand on: views, another file system, a small one; and file systems of several types.

use testbed::Case;

pub fn cases() -> Vec<Case> {
    Vec::new()
}
