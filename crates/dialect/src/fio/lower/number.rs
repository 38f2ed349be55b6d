//! Numbers inside texts that carry several of them: `1k-4k`, `4k/50:8k/50`, `60/10:30/20`.
//!
//! Each number alone is read as all of fio's numbers are, under the job's `kb_base`.

use super::super::number::{self, Base, Unit};
use super::option_reader::OptionReader;

/// Bytes, by the job's `kb_base`.
pub fn bytes(text: &str, ask: &OptionReader<'_>) -> Option<u64> {
    let base = if ask.whole("kb_base") == Some(1000) { 1000 } else { 1024 };
    u64::try_from(number::bytes(text, Base(base)).ok()?).ok()
}

/// `low-high`, `low:high`, or one number for both; the ends are put in order.
pub fn range(text: &str, ask: &OptionReader<'_>) -> Option<(u64, u64)> {
    let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (low, high) = (bytes(low, ask)?, bytes(high, ask)?);
    Some((low.min(high), low.max(high)))
}

/// The parts of a text with commas, one for each direction; what is left out at the end follows the last, what is empty
/// is `None`.
pub fn directions(text: &str) -> [Option<&str>; 3] {
    directions_of(text, &[','])
}

/// The same with other letters between the parts.
pub fn directions_of<'a>(text: &'a str, between: &[char]) -> [Option<&'a str>; 3] {
    let mut parts = text.split(between).map(str::trim);
    let mut last = parts.next().filter(|part| !part.is_empty());
    let mut all = [last; 3];
    for place in &mut all[1..] {
        if let Some(part) = parts.next() {
            last = Some(part).filter(|part| !part.is_empty());
        }
        *place = last;
    }
    all
}

/// Time in ns; a bare number is in the unit given.
pub fn time_ns(text: &str, unit: Unit) -> Option<u64> {
    number::time_ns(text, unit).ok()
}

/// `value/percent:value/percent`: where a percentage is left out, what is left of 100 is divided evenly.
///
/// # Errors
/// What is wrong with it.
pub fn shares(text: &str, parse: impl Fn(&str) -> Option<u64>) -> Result<Vec<(u64, f64)>, String> {
    let mut table = Vec::new();
    for part in text.split(':').map(str::trim).filter(|part| !part.is_empty()) {
        let (value, percent) = part.split_once('/').unwrap_or((part, ""));
        let value = parse(value).ok_or_else(|| format!("`{value}` is no size"))?;
        let percent = match percent.trim().trim_end_matches('%') {
            "" => None,
            number => {
                let percent = number.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
                Some(percent.ok_or_else(|| format!("`{number}` is no percentage"))?)
            }
        };
        table.push((value, percent));
    }
    let said: f64 = table.iter().filter_map(|(_, percent)| *percent).sum();
    let open = table.iter().filter(|(_, percent)| percent.is_none()).count();
    if table.is_empty() {
        return Err("nothing is listed".into());
    }
    let rest = (100.0 - said).max(0.0) / open.max(1) as f64;
    Ok(table.into_iter().map(|(value, percent)| (value, percent.unwrap_or(rest))).collect())
}
