//! The options that were given, as warp reads their values: sizes and times as Go programs write them.

use super::options::TABLE;
use crate::option::{GivenOptions, ValueRules};

/// The options that were given.
pub type Settings = GivenOptions;

const RULES: ValueRules =
    ValueRules { table: &TABLE, whole, counter, takes_empty: true, hint_names: false, initials: &[] };

/// What a command line begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}

fn whole(text: &str) -> Result<i64, String> {
    match text {
        "" => Ok(0),
        _ => text.parse().map_err(|_| format!("`{text}`: expected a whole number such as 20")),
    }
}

/// `true` and `false` in the ways that Go knows; how often a flag is given is a number here.
fn counter(text: &str) -> Result<i64, String> {
    match text {
        "true" | "t" | "T" | "TRUE" | "True" => Ok(1),
        "false" | "f" | "F" | "FALSE" | "False" | "" => Ok(0),
        _ => text.parse().map_err(|_| format!("`{text}`: expected true or false")),
    }
}

/// A number of bytes: `10MiB` of powers of 1024, `10MB` or `10M` of powers of 1000, in either case.
///
/// # Errors
/// What was expected, as a lower-case fragment.
pub fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}`: expected a size such as 4096, 64KiB or 10MiB");
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| expected())?;
    let unit = text[digits..].trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (power, base) = match unit.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => (letter, 1024_f64),
        Some(_) => return Err(expected()),
        None => (unit, 1000.0),
    };
    let power = match power {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(expected()),
    };
    let bytes = number * base.powi(power);
    if bytes < 9e18 { Ok(bytes as u64) } else { Err(format!("`{text}`: too large")) }
}

/// The units of times, from the longest name on.
const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// A time: `90s`, `1m30s`, `1.5h`. ns.
///
/// # Errors
/// What was expected, as a lower-case fragment.
pub fn time_ns(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}`: expected a time with its unit, such as 30s, 5m or 1h30m");
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(expected());
    }
    let mut ns = 0.0;
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(expected)?;
        let number: f64 = rest[..digits].parse().map_err(|_| expected())?;
        let unit = &rest[digits..];
        let end = unit.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(unit.len());
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == &unit[..end]).ok_or_else(expected)?;
        ns += number * factor;
        rest = &unit[end..];
    }
    if ns < 9e18 { Ok(ns as u64) } else { Err(format!("`{text}`: too long")) }
}

/// A time as Go prints it: `58s`, `1m58s`, `1.5s`, `3ms`.
pub fn go_time(ns: u64) -> String {
    let decimal = |unit: u64, name: &str| {
        let text = format!("{:.9}", ns as f64 / unit as f64);
        format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match ns {
        0 => "0s".into(),
        1..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => decimal(1_000, "µs"),
        1_000_000..1_000_000_000 => decimal(1_000_000, "ms"),
        _ => {
            let (minutes, rest) = (ns / 60_000_000_000, ns % 60_000_000_000);
            let text = format!("{}.{:09}", rest / 1_000_000_000, rest % 1_000_000_000);
            let seconds = text.trim_end_matches('0').trim_end_matches('.');
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_of_1024_where_they_say_so() {
        for (text, bytes) in [
            ("4096", 4096),
            ("10MiB", 10 << 20),
            ("1KB", 1000),
            ("1kib", 1024),
            ("1.5GiB", 3 << 29),
            ("2M", 2_000_000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "x", "10XB", "1iB", "-1", "9999999PiB", "1,2"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_gos() {
        for (text, ns) in [("90s", 90), ("1m30s", 90), ("1.5h", 5400), ("0", 0), ("1h0m0s", 3600)] {
            assert_eq!(time_ns(text), Ok(ns * 1_000_000_000), "{text}");
        }
        assert_eq!(time_ns("250ms"), Ok(250_000_000));
        for text in ["", "5", "s", "1 m", "5d"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
        for (ns, text) in [
            (0, "0s"),
            (58_000_000_000, "58s"),
            (118_000_000_000, "1m58s"),
            (3_600_000_000_000, "1h0m0s"),
            (1_200_000_000, "1.2s"),
            (3_000_000, "3ms"),
        ] {
            assert_eq!(go_time(ns), text);
        }
    }
}
