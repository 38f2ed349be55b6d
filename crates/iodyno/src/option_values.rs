//! Readers of values that several commands' options have.

use iodyno_model::units;

/// A time above 0, ns.
///
/// # Errors
/// What was expected.
pub fn positive_time(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| if ns > 0 { Ok(ns) } else { Err("expected more than 0".into()) })
}

/// A load as percent of the maximum, above it too: 0 < p ≤ 200.
///
/// # Errors
/// What was expected.
pub fn load(text: &str) -> Result<f64, String> {
    percent(text)
        .filter(|percent| *percent > 0.0 && *percent <= 200.0)
        .ok_or_else(|| "expected more than 0, at most 200".into())
}

/// Part of a whole, percent: 0 ≤ p ≤ 100.
///
/// # Errors
/// What was expected.
pub fn share(text: &str) -> Result<f64, String> {
    percent(text).filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| "expected 0 to 100".into())
}

fn percent(text: &str) -> Option<f64> {
    text.trim_end_matches('%').parse().ok()
}
