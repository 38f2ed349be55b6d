//! Numbers inside texts that carry several of them: `1k-4k`, `4k/50:8k/50`, `60/10:30/20`.
//!
//! The suffixes are fio's, under the job's `kb_base`.

use super::ask::Ask;

/// Bytes, by the job's `kb_base`.
pub fn bytes(text: &str, ask: &Ask<'_>) -> Option<u64> {
    let base = if ask.whole("kb_base") == Some(1000) { 1000 } else { 1024 };
    parse(text.trim(), base)
}

fn parse(text: &str, base: u64) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, suffix) = (&text[..end], text[end..].to_ascii_lowercase());
    let factor = factor(&suffix, base)?;
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let value = number.parse::<f64>().ok()? * factor as f64;
            (value.is_finite() && (0.0..1.8e19).contains(&value)).then_some(value as u64)
        }
    }
}

/// `k` is 1024 with a base of 1024, and then `ki` is 1000: fio swaps them so that old files keep their meaning.
fn factor(suffix: &str, base: u64) -> Option<u64> {
    let power = match suffix.bytes().next() {
        None | Some(b'b') => return matches!(suffix, "" | "b").then_some(1),
        Some(b's') if suffix == "s" => return Some(512),
        Some(letter) => "kmgtp".bytes().position(|known| known == letter)? as u32 + 1,
    };
    let other = if base == 1024 { 1000u64 } else { 1024 };
    match &suffix[1..] {
        "" | "b" => Some(base.pow(power)),
        "i" | "ib" => Some(other.pow(power)),
        _ => None,
    }
}

/// `low-high`, `low:high`, or one number for both; the ends are put in order.
pub fn range(text: &str, ask: &Ask<'_>) -> Option<(u64, u64)> {
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

/// Time in ns with fio's units; a bare number is in the unit given.
pub fn time_ns(text: &str, unit_ns: u64) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let factor = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    match text[..end].parse::<u64>() {
        Ok(number) => number.checked_mul(factor),
        Err(_) => {
            let ns = text[..end].parse::<f64>().ok()? * factor as f64;
            (ns.is_finite() && ns < 1.8e19).then_some(ns as u64)
        }
    }
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
