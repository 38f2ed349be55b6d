//! The options that were given, as elbencho reads their values: amounts by powers of 1024.

use super::options::TABLE;
use crate::option::{GivenOptions, ValueRules};
use crate::quantity::Suffixes;

/// The options that were given.
pub type Settings = GivenOptions;

const RULES: ValueRules =
    ValueRules { table: &TABLE, whole, counter: whole, takes_empty: true, hint_names: false, initials: &[] };

/// `k` to `e` of 1024, in either case.
const AMOUNTS: Suffixes = Suffixes { any_case: true, units: &[], scales: &[("kmgtpe", "", 1024)] };

/// What a command line begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}

fn whole(text: &str) -> Result<i64, String> {
    match text {
        "true" => Ok(1),
        "false" => Ok(0),
        _ => AMOUNTS.whole(text, "8, 4k or 2g"),
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn amounts_are_of_1024() {
        for (text, bytes) in [("4k", 4096), ("1M", 1 << 20), ("2g", 2 << 30), ("1E", 1 << 60), ("0", 0)] {
            assert_eq!(whole(text), Ok(bytes), "{text}");
        }
        for text in ["", "4KiB", "1.5g", "4,096", "x", "4k-8k"] {
            assert!(whole(text).is_err(), "{text}");
        }
    }
}
