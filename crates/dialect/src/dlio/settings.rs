//! The keys that were given, as Python and YAML read their values.

use super::options::TABLE;
use crate::option::{GivenOptions, ValueRules};

/// The keys that were given, of the workload's file and of overrides.
pub type Settings = GivenOptions;

const RULES: ValueRules =
    ValueRules { table: &TABLE, whole, counter, takes_empty: true, hint_names: false, initials: &[] };

/// What a configuration begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}

/// A whole number, with underscores between its digits, or as a number with a fraction that has none.
fn whole(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}`: expected a whole number such as 20");
    let digits = text.trim().replace('_', "");
    if text.is_empty() {
        return Ok(0);
    }
    // Defaults of flags are words.
    if matches!(text, "True" | "False") {
        return Ok(i64::from(text == "True"));
    }
    digits.parse::<i64>().or_else(|_| match digits.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(number as i64),
        _ => Err(wrong()),
    })
}

/// The words of YAML 1.1 for yes and no.
fn counter(text: &str) -> Result<i64, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "1" => Ok(1),
        "false" | "no" | "off" | "n" | "0" | "" => Ok(0),
        _ => Err(format!("`{text}`: expected True or False")),
    }
}

/// The lengths of a list such as `[1, 2]`.
///
/// # Errors
/// What was expected, as a lower-case fragment.
pub fn lengths(text: &str) -> Result<Vec<u64>, String> {
    let each = text.split(',').map(str::trim).filter(|each| !each.is_empty());
    each.map(|each| {
        let length = whole(each).ok().and_then(|length| u64::try_from(length).ok());
        length.ok_or_else(|| format!("`{each}`: expected lengths such as [1048576, 4096]"))
    })
    .collect()
}
