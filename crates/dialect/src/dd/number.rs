//! GNU dd's numbers: `4k`, `2x512`, `1MiB`, `7B`.

use super::command::Wrong;
use crate::quantity::Suffixes;

/// A number as dd reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number {
    pub value: u64,
    /// Whether a `B` says that bytes are counted rather than blocks.
    pub bytes: bool,
    /// Whether a factor was written `0x`, which looks like hexadecimal and is not.
    pub zero_times: bool,
}

/// Reads a number; `x` multiplies, suffixes scale.
///
/// # Errors
/// What is wrong with it.
pub fn number(text: &str) -> Result<Number, Wrong> {
    let mut number = Number { value: 1, bytes: text.contains('B'), zero_times: false };
    let factors: Vec<&str> = text.split('x').collect();
    let mut overflow = false;
    for (index, factor) in factors.iter().enumerate() {
        let last = index + 1 == factors.len();
        match self::factor(factor) {
            Ok(value) => {
                number.zero_times |= *factor == "0" && !last;
                match number.value.checked_mul(value).filter(|product| *product <= i64::MAX as u64) {
                    Some(product) => number.value = product,
                    None => overflow = true,
                }
            }
            Err(Wrong::TooLarge) => overflow = true,
            Err(wrong) => return Err(wrong),
        }
    }
    // A zero makes the product zero however large the rest is, but a single number that is too large stays so.
    if overflow { Err(Wrong::TooLarge) } else { Ok(number) }
}

fn factor(text: &str) -> Result<u64, Wrong> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    // A suffix alone is one of it; a `B` alone is none.
    let (value, is_suffix) =
        if digits.is_empty() { (Ok(1), !matches!(suffix, "" | "B")) } else { (digits.parse::<u64>(), true) };
    let scale = SUFFIXES.factor(suffix).filter(|_| is_suffix).ok_or(Wrong::Number)?;
    let value = value.ok().and_then(|value| value.checked_mul(scale));
    value.filter(|value| *value <= i64::MAX as u64).ok_or(Wrong::TooLarge)
}

/// GNU's suffixes: `D` is taken wherever `B` is.
const SUFFIXES: Suffixes = Suffixes {
    any_case: false,
    units: &[
        ("B", 1),
        ("c", 1),
        ("cB", 1),
        ("cD", 1),
        ("w", 2),
        ("wB", 2),
        ("wD", 2),
        ("b", 512),
        ("bB", 512),
        ("bD", 512),
    ],
    scales: &[
        ("k", "", 1024),
        ("k", "iB", 1024),
        ("k", "B", 1000),
        ("k", "D", 1000),
        ("KMGTPEZY", "", 1024),
        ("KMGTPEZY", "iB", 1024),
        ("KMGTPEZY", "B", 1000),
        ("KMGTPEZY", "D", 1000),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_products_as_gnu_reads_them() {
        let value = |text: &str| number(text).map(|number| number.value);
        for (text, expected) in [
            ("4", 4),
            ("+4", 4),
            (" 4", 4),
            ("2x512", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1KiB", 1024),
            ("4k", 4096),
            ("k", 1024),
            ("2x3xM", 6 << 20),
            ("4kD", 4000),
            ("4bB", 2048),
            ("3w", 6),
            ("3c", 3),
            ("00x3", 0),
            ("3B", 3),
            ("9223372036854775807", i64::MAX as u64),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for text in [
            "", "4q", "-1", "1x", "x1", "1.5M", "4m", "4Ki", "4KIB", "1KiBB", "4BB", "B", "iB", "1biB", "4Q",
            "0x",
        ] {
            assert_eq!(value(text), Err(Wrong::Number), "{text}");
        }
        for text in ["8E", "4Y", "1Z", "99999999999999999999", "9223372036854775808", "4Ex4"] {
            assert_eq!(value(text), Err(Wrong::TooLarge), "{text}");
        }
    }

    #[test]
    fn bytes_and_hexadecimal_traps_are_noticed() {
        assert!(
            number("1kB").unwrap().bytes && number("1Bx3").unwrap().bytes && !number("1k").unwrap().bytes
        );
        assert!(number("0x10").unwrap().zero_times && !number("00x10").unwrap().zero_times);
    }
}
