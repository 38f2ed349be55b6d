//! A target that is nowhere: what tests on the engines `null` and `sim` work on.

use iodyno_model::{Open, Origin, Prepare, Target, TargetKind};

/// One of so many bytes.
pub fn target(bytes: u64) -> Target {
    Target {
        name: "nothing".into(),
        kind: TargetKind::Nothing { bytes },
        open: Open::default(),
        prepare: Prepare::default(),
        remove: false,
        origin: Origin::Default,
    }
}
