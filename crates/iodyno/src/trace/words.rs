//! Values that several commands take.

use std::ops::Range;

use iodyno_model::units;

/// `A..B`, `A..` or `..B`: from A up to, but without, B.
pub fn range(text: &str, value: fn(&str) -> Result<u64, String>) -> Result<Range<u64>, String> {
    let (from, to) =
        text.split_once("..").ok_or_else(|| format!("`{text}`: expected a range A..B, A.. or ..B"))?;
    let from = if from.is_empty() { 0 } else { value(from)? };
    let to = if to.is_empty() { u64::MAX } else { value(to)? };
    match from < to {
        true => Ok(from..to),
        false => Err(format!("`{text}`: the range is empty")),
    }
}

pub fn times(text: &str) -> Result<Range<u64>, String> {
    range(text, units::parse_ns)
}

pub fn sizes(text: &str) -> Result<Range<u64>, String> {
    range(text, units::parse_bytes)
}

pub fn numbers(text: &str) -> Result<Range<u64>, String> {
    range(text, |text| text.parse().map_err(|_| format!("`{text}`: expected a whole number")))
}
