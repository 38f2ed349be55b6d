//! Numbers as fio writes them: a prefix as soon as the digits would not fit, and what is left as a fraction.
//!
//! `43846` in four digits is `43.8k`, `1398101333` bytes are `1333MiB`. It refuses to know what is being counted.

use crate::quantity::{BINARY_PREFIXES, PREFIXES};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountUnit {
    /// A plain count.
    None,
    Bytes,
    BytesPerSecond,
    /// Bytes per second, written as bits.
    BitsPerSecond,
}

impl CountUnit {
    fn name(self) -> &'static str {
        match self {
            CountUnit::None => "",
            CountUnit::Bytes => "B",
            CountUnit::BytesPerSecond => "B/s",
            CountUnit::BitsPerSecond => "bit/s",
        }
    }
}

/// A number in at most so many digits, which already is in the unit's `power`-th prefix.
pub fn scaled(number: u64, digits: u32, power: usize, binary: bool, unit: CountUnit) -> String {
    let digits = digits as usize;
    let (thousand, prefixes) = if binary { (1024, BINARY_PREFIXES) } else { (1000, PREFIXES) };
    let mut number = if unit == CountUnit::BitsPerSecond { number.saturating_mul(8) } else { number };
    let (mut power, mut rest) = (power, None);
    while length(number) > digits && power + 1 < prefixes.len() {
        rest = Some(number % thousand);
        number /= thousand;
        power += 1;
    }
    let (prefix, name) = (prefixes[power], unit.name());
    let Some(rest) = rest else { return format!("{number}{prefix}{name}") };
    // The point takes a digit's place.
    let decimals = digits.saturating_sub(length(number));
    if decimals <= 1 {
        let number = number + u64::from(rest >= thousand / 2);
        return format!("{number}{prefix}{name}");
    }
    let value = number as f64 + rest as f64 / thousand as f64;
    format!("{value:.*}{prefix}{name}", decimals - 1)
}

fn length(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |power| power as usize + 1)
}

pub fn bytes(number: u64, digits: u32, binary: bool) -> String {
    scaled(number, digits, 0, binary, CountUnit::Bytes)
}

/// A plain count: `999`, `43.8k`, `1280k`.
pub fn count(number: u64, digits: u32) -> String {
    scaled(number, digits, 0, false, CountUnit::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_and_the_rest_becomes_a_fraction() {
        let all = [0, 999, 9999, 43846, 1_280_000, 9_999_999_999].map(|number| count(number, 4));
        assert_eq!(all, ["0", "999", "9999", "43.8k", "1280k", "10000M"]);
        let six = [3_447_900, 26_102_700, 5_386_000, 999_999].map(|number| count(number, 6));
        assert_eq!(six, ["3447.9k", "26103k", "5386.0k", "999999"]);
    }

    // As Debian's fio 3.33 shows these block sizes in its first line.
    #[test]
    fn bytes_are_as_fio_shows_them() {
        let shown = |number| (bytes(number, 4, true), bytes(number, 4, false));
        let expected = [
            (11263, "11.0KiB", "11.3kB"),
            (10752, "10.5KiB", "10.8kB"),
            (1023, "1023B", "1023B"),
            (1_048_575, "1024KiB", "1049kB"),
            (999_999, "977KiB", "1000kB"),
            (11_264_000, "10.7MiB", "11.3MB"),
            (9_999_999, "9766KiB", "10000kB"),
            (104_857_599, "100.0MiB", "105MB"),
            (99_999, "97.7KiB", "100.0kB"),
        ];
        for (number, binary, decimal) in expected {
            assert_eq!(shown(number), (binary.to_string(), decimal.to_string()), "{number}");
        }
    }

    #[test]
    fn rates_may_be_bits_and_digits_two() {
        let rate = 499_321_904_761;
        assert_eq!(scaled(rate, 4, 0, true, CountUnit::BitsPerSecond), "3720Gibit/s");
        assert_eq!(scaled(2_147_483_648_000, 2, 0, false, CountUnit::BytesPerSecond), "2TB/s");
        assert_eq!(scaled(4096, 4, 1, true, CountUnit::BytesPerSecond), "4096KiB/s");
        assert_eq!(count(u64::MAX, 4), "18.4E");
    }
}
