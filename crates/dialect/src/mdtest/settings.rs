//! The options that were given, as mdtest reads their values.

use super::options::TABLE;
use crate::option::{GivenOptions, ValueRules};
use crate::quantity::POWERS;

/// The options that were given.
pub type Settings = GivenOptions;

/// Those of the IOR package, by mdtest's table.
pub const RULES: ValueRules = ValueRules {
    table: &TABLE,
    whole,
    counter: whole,
    takes_empty: true,
    hint_names: false,
    initials: &["dataPacketType"],
};

/// What a command line begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}

/// A whole number: decimal digits, perhaps a sign, then k, m, g, t or p (powers of 1024) in either case.
pub fn whole(text: &str) -> Result<i64, String> {
    POWERS.whole(text, "8, 4k or 2m")
}
