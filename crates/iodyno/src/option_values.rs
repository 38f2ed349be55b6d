//! Readers of values that several commands' options have.

use iodyno_model::{Size, units};

/// A time above 0, ns.
///
/// # Errors
/// What was expected.
pub fn positive_time(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| if ns > 0 { Ok(ns) } else { Err("expected more than 0".into()) })
}

/// A number above 0.
///
/// # Errors
/// What was expected.
pub fn positive_number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".into())
}

/// A whole number, with k, M or G behind it for thousands, millions and billions.
///
/// # Errors
/// What was expected.
pub fn count(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.and_then(|number| number.checked_mul(times));
    number.ok_or_else(|| "expected a number such as 500000 or 10M".into())
}

/// A name and a value, with `=` between them.
///
/// # Errors
/// What was expected.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

/// A number of tokens, or evenly between two.
///
/// # Errors
/// What was expected.
pub fn tokens(text: &str) -> Result<Size, String> {
    let expected = || "expected a number, or two such as 100-900".to_string();
    let number = |text: &str| text.parse::<u32>().map(u64::from).map_err(|_| expected());
    let Some((least, most)) = text.split_once('-') else { return number(text).map(Size::Fixed) };
    let (least_bytes, most_bytes) = (number(least)?, number(most)?);
    if least_bytes > most_bytes {
        return Err(expected());
    }
    Ok(Size::Uniform { least_bytes, most_bytes, step_bytes: 1 })
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
