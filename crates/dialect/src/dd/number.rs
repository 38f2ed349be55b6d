//! GNU dd's numbers: `4k`, `2x512`, `1MiB`, `7B`.

/// A number as dd reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number {
    /// Its value.
    pub value: u64,
    /// Whether a `B` says that bytes are counted rather than blocks.
    pub bytes: bool,
    /// Whether a factor was written `0x`, which looks like hexadecimal and is not.
    pub zero_times: bool,
}

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It is not one.
    Invalid,
    /// It does not fit 63 bits.
    Overflow,
}

/// Reads a number; `x` multiplies, suffixes scale.
///
/// # Errors
/// What is wrong with it.
pub fn number(text: &str) -> Result<Number, Bad> {
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
            Err(Bad::Invalid) => return Err(Bad::Invalid),
            Err(Bad::Overflow) => overflow = true,
        }
    }
    // A zero makes the product zero however large the rest is, but a single number that is too large stays so.
    if overflow { Err(Bad::Overflow) } else { Ok(number) }
}

fn factor(text: &str) -> Result<u64, Bad> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let scale = scale(suffix, !digits.is_empty()).ok_or(Bad::Invalid)?;
    // A suffix alone is one of it.
    let value = if digits.is_empty() { Ok(1) } else { digits.parse::<u64>() };
    let value = value.ok().zip(scale).and_then(|(value, scale)| value.checked_mul(scale));
    value.filter(|value| *value <= i64::MAX as u64).ok_or(Bad::Overflow)
}

/// What a suffix multiplies by: `None` if it is none, `Some(None)` if by more than fits.
fn scale(suffix: &str, after_digits: bool) -> Option<Option<u64>> {
    let Some(letter) = suffix.chars().next() else { return after_digits.then_some(Some(1)) };
    if letter == 'B' {
        return (suffix == "B" && after_digits).then_some(Some(1));
    }
    let plain = |factor: u64| matches!(&suffix[1..], "" | "B" | "D").then_some(Some(factor));
    let power = match letter {
        'c' => return plain(1),
        'w' => return plain(2),
        'b' => return plain(512),
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        'Z' => 7,
        'Y' => 8,
        _ => return None,
    };
    match &suffix[1..] {
        "" | "iB" => Some(1024u64.checked_pow(power)),
        "B" | "D" => Some(1000u64.checked_pow(power)),
        _ => None,
    }
}

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
            assert_eq!(value(text), Err(Bad::Invalid), "{text}");
        }
        for text in ["8E", "4Y", "1Z", "99999999999999999999", "9223372036854775808", "4Ex4"] {
            assert_eq!(value(text), Err(Bad::Overflow), "{text}");
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
