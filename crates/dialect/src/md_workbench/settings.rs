//! The options that were given, as the IOR package reads their values.

use super::options::TABLE;
use crate::mdtest;
use crate::option::{GivenOptions, ValueRules};

/// The options that were given.
pub type Settings = GivenOptions;

const RULES: ValueRules = ValueRules { table: &TABLE, ..mdtest::settings::RULES };

/// What a command line begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}
