//! GNU's short numbers: `67 MB`, `64 MiB`, `1.0 kB`, `211 MB/s`, and seconds as C's `%g` writes them.
//!
//! The rules were found by watching GNU dd: a whole number is rounded half to even, with one decimal below ten units;
//! a rate that is no whole number of bytes per second starts at kilo and keeps one decimal below a hundred.

use crate::quantity::{BINARY_PREFIXES, PREFIXES, scientific};

/// `67108864 bytes (67 MB, 64 MiB)`; small numbers lose the parts that would say nothing.
pub fn bytes_copied(bytes: u64) -> String {
    let (decimal, binary) = (short(bytes.into(), 1000), short(bytes.into(), 1024));
    match bytes {
        1 => "1 byte".into(),
        0..1000 => format!("{bytes} bytes"),
        1000..1024 => format!("{bytes} bytes ({decimal})"),
        _ => format!("{bytes} bytes ({decimal}, {binary})"),
    }
}

/// `1152921504606846976 bytes (1.0 EiB)` as messages on memory have it.
pub fn bytes_binary(bytes: u64) -> String {
    format!("{bytes} bytes ({})", short(bytes.into(), 1024))
}

/// `211 MB/s`, of bytes in a time in ns.
pub fn rate(bytes: u64, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "Infinity B/s".into();
    }
    if 1_000_000_000 % elapsed_ns == 0 {
        let exact = u128::from(bytes) * u128::from(1_000_000_000 / elapsed_ns);
        return format!("{}/s", short(exact, 1000));
    }
    let mut value = bytes as f64 * (1e9 / elapsed_ns as f64) / 1000.0;
    let mut power = 1;
    while value >= 1000.0 && power + 1 < PREFIXES.len() {
        value /= 1000.0;
        power += 1;
    }
    let text = format!("{value:.1}");
    let text = if text.len() > 4 { format!("{value:.0}") } else { text };
    format!("{text} {}B/s", PREFIXES[power])
}

/// A whole number of bytes in units of a power of 1000 or 1024, rounded half to even.
fn short(bytes: u128, base: u128) -> String {
    let (mut unit, mut power) = (1, 0);
    while bytes / unit >= base && power + 1 < PREFIXES.len() {
        unit *= base;
        power += 1;
    }
    if power == 0 {
        return format!("{bytes} B");
    }
    let tenths = rounded(bytes * 10, unit);
    let whole = rounded(bytes, unit);
    let text = match () {
        () if tenths < 100 => format!("{}.{}", tenths / 10, tenths % 10),
        () if whole == base && power + 1 < PREFIXES.len() => {
            power += 1;
            "1.0".into()
        }
        () => whole.to_string(),
    };
    let prefixes = if base == 1024 { BINARY_PREFIXES } else { PREFIXES };
    format!("{text} {}B", prefixes[power])
}

fn rounded(number: u128, unit: u128) -> u128 {
    let (quotient, rest) = (number / unit, number % unit);
    match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Less => quotient,
        std::cmp::Ordering::Equal => quotient + quotient % 2,
        std::cmp::Ordering::Greater => quotient + 1,
    }
}

/// A time in seconds as C's `%g`: six significant digits, no trailing zeros, `e-05` when it is tiny.
pub fn seconds(elapsed_ns: u64) -> String {
    let value = elapsed_ns as f64 / 1e9;
    if value == 0.0 {
        return "0".into();
    }
    let text = scientific(value, 5);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse() {
        Ok(power @ -4..6) => trimmed(&format!("{value:.*}", (5 - power) as usize)).to_string(),
        _ => format!("{}e{exponent}", trimmed(mantissa)),
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_gnu_writes_them() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "1000 bytes (1.0 kB)"),
            (1024, "1024 bytes (1.0 kB, 1.0 KiB)"),
            (3072, "3072 bytes (3.1 kB, 3.0 KiB)"),
            (1_048_576, "1048576 bytes (1.0 MB, 1.0 MiB)"),
            (67_108_864, "67108864 bytes (67 MB, 64 MiB)"),
            (98_963_416, "98963416 bytes (99 MB, 94 MiB)"),
            (79_534_743_552, "79534743552 bytes (80 GB, 74 GiB)"),
        ] {
            assert_eq!(bytes_copied(bytes), text);
        }
    }

    #[test]
    fn rates_and_seconds_as_gnu_writes_them() {
        assert_eq!(rate(67_108_864, 318_508_000), "211 MB/s");
        assert_eq!(rate(0, 24_532), "0.0 kB/s");
        assert_eq!(rate(5, 618_152), "8.1 kB/s");
        assert_eq!(rate(1, 42_657), "23.4 kB/s");
        assert_eq!(rate(7, 101_537_000), "0.1 kB/s");
        assert_eq!(rate(20_037_238_784, 1_000_000_000), "20 GB/s");
        assert_eq!(rate(20_037_238_784, 1_000_000_001), "20.0 GB/s");
        assert_eq!(rate(1, 0), "Infinity B/s");
        assert_eq!(seconds(24_532), "2.4532e-05");
        assert_eq!(seconds(100_000), "0.0001");
        assert_eq!(seconds(318_508_000), "0.318508");
        assert_eq!(seconds(0), "0");
        assert_eq!(seconds(1_000_000_000), "1");
        assert_eq!(seconds(1_234_567_890_000), "1234.57");
        assert_eq!(seconds(1_234_567_890_000_000), "1.23457e+06");
        assert_eq!(seconds(9_999_996_000), "10");
    }
}
