//! Sizes, times and rates as text, both ways: binary units with an `i`, decimal ones without.
//!
//! For iodyno's own words. A foreign tool's suffix rules live in its dialect.

/// Binary size: `4 KiB`, `1.5 GiB`, `512 B`.
pub fn binary(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// Decimal size: `4.1 kB`, `1.5 GB`.
pub fn decimal(bytes: f64) -> String {
    scaled(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// A time: `850 ns`, `12.5 µs`, `3.1 ms`, `1.2 s`, `2 min`.
pub fn duration(ns: f64) -> String {
    if ns >= 120e9 {
        return format!("{} min", trimmed(ns / 60e9));
    }
    scaled(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

/// A count with a decimal suffix: `980`, `12.5 k`, `3.1 M`.
pub fn count(number: f64) -> String {
    scaled(number, 1000.0, &["", "k", "M", "G", "T"]).trim_end().to_string()
}

fn scaled(mut value: f64, base: f64, names: &[&str]) -> String {
    let mut name = 0;
    while value >= base * 0.9995 && name + 1 < names.len() {
        value /= base;
        name += 1;
    }
    format!("{} {}", trimmed(value), names[name])
}

/// Three significant digits at least, no trailing zeros.
fn trimmed(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Bytes of a size such as `4k`, `4KiB`, `1.5 GiB`, `64 MB`, `512`. `k`, `M`, `G` alone and `KiB`… are binary, `kB`,
/// `MB`, `GB` decimal.
///
/// # Errors
/// A fragment that says what was expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, suffix) = split(text);
    let expected = || format!("`{text}`: expected a size such as 4096, 4k, 4KiB or 1GiB");
    let factor: f64 = match suffix {
        "" | "B" | "b" => 1.0,
        _ => {
            let power = match suffix.as_bytes()[0].to_ascii_lowercase() {
                b'k' => 1,
                b'm' => 2,
                b'g' => 3,
                b't' => 4,
                b'p' => 5,
                b'e' => 6,
                _ => return Err(expected()),
            };
            match &suffix[1..] {
                "" | "iB" | "ib" | "i" => 1024f64.powi(power),
                "B" | "b" => 1000f64.powi(power),
                _ => return Err(expected()),
            }
        }
    };
    whole_number(number, factor).ok_or_else(expected)
}

/// Bits per second of a rate such as `400Gbit`, `100 Gbit/s`, `12.5GB/s`, `2GiB`; `B` and `iB` are bytes.
///
/// # Errors
/// A fragment that says what was expected.
pub fn parse_bits(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}`: expected a rate such as 400Gbit or 50GB/s");
    let (number, unit) = split(text.trim().strip_suffix("/s").unwrap_or(text));
    let (power, unit) = match unit.as_bytes().first() {
        Some(prefix @ (b'k' | b'K' | b'M' | b'G' | b'T')) => {
            (b"KMGT".iter().position(|known| *known == prefix.to_ascii_uppercase()), &unit[1..])
        }
        _ => (None, unit),
    };
    let power = power.map_or(0, |index| index as i32 + 1);
    let factor = match unit {
        "bit" => 1000f64.powi(power),
        "B" => 8.0 * 1000f64.powi(power),
        "iB" if power > 0 => 8.0 * 1024f64.powi(power),
        _ => return Err(expected()),
    };
    whole_number(number, factor).filter(|bits| *bits > 0).ok_or_else(expected)
}

/// Nanoseconds of a time such as `500ms`, `10s`, `1.5 min`, `100us`; a bare number is seconds.
///
/// # Errors
/// A fragment that says what was expected.
pub fn parse_ns(text: &str) -> Result<u64, String> {
    let (number, suffix) = split(text);
    let expected = || format!("`{text}`: expected a time such as 10s, 500ms or 2min");
    let factor = match suffix {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "" | "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86400e9,
        _ => return Err(expected()),
    };
    whole_number(number, factor).ok_or_else(expected)
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn whole_number(number: &str, factor: f64) -> Option<u64> {
    let number = number.replace('_', "");
    if let (Ok(whole), true) = (number.parse::<u64>(), factor.fract() == 0.0 && factor < 9e15) {
        return whole.checked_mul(factor as u64);
    }
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && value < u64::MAX as f64).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_links_are_read() {
        let read = |text: &str| parse_bits(text).ok();
        assert_eq!(read("400Gbit"), Some(400_000_000_000));
        assert_eq!(read("100 Gbit/s"), Some(100_000_000_000));
        assert_eq!(read("12.5GB/s"), Some(100_000_000_000));
        assert_eq!(read("1KiB/s"), Some(8192));
        for wrong in ["", "400", "400G", "0Gbit", "-1Gbit", "fast", "4Qbit"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_both_ways() {
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(parse_bytes("64MB"), Ok(64_000_000));
        assert_eq!(parse_bytes("18446744073709551615"), Ok(u64::MAX));
        assert!(parse_bytes("4q").is_err() && parse_bytes("").is_err() && parse_bytes("20E").is_err());
        assert_eq!(binary(4096), "4 KiB");
        assert_eq!(binary(1_610_612_736), "1.5 GiB");
        assert_eq!(binary(512), "512 B");
    }

    #[test]
    fn times_both_ways() {
        assert_eq!(parse_ns("10"), Ok(10_000_000_000));
        assert_eq!(parse_ns("1.5ms"), Ok(1_500_000));
        assert!(parse_ns("10x").is_err());
        assert_eq!(duration(100_000.0), "100 µs");
        assert_eq!(duration(999_900.0), "1 ms");
        assert_eq!(duration(850.0), "850 ns");
    }
}
