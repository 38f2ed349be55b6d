//! IOR's numbers, both ways: sizes with one binary suffix on the way in, `4 MiB` and `262144 bytes` on the way out.
//!
//! IOR reads `1.5m` as 1 and `4q` as 4; here both are errors that say what was expected.

use crate::quantity::Suffixes;

/// A whole number: decimal digits, perhaps a sign, then k, m, g, t or p (powers of 1024) in either case.
///
/// # Errors
/// What was expected, as a lower-case fragment.
pub fn whole(text: &str) -> Result<i64, String> {
    BYTES.whole(text, "8, 4k, 2m or 1g")
}

const BYTES: Suffixes = Suffixes {
    any_case: true,
    units: &[("b", 1)],
    scales: &[("kmgtp", "", 1024), ("kmgtp", "b", 1024), ("kmgtp", "ib", 1024)],
};

/// A flag: a counter that may be given a number; words for yes and no are taken too.
///
/// # Errors
/// What was expected.
pub fn counter(text: &str) -> Result<i64, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(1),
        "false" | "no" | "off" => Ok(0),
        text => match whole(text) {
            Ok(number) => Ok(number.max(0)),
            Err(_) => Err(format!("`{text}`: expected 0 or 1")),
        },
    }
}

/// A size as IOR's header writes it: the largest unit, two decimals unless it is whole; below a MiB in bytes.
pub fn readable(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("TiB", 40), ("GiB", 30), ("MiB", 20)];
    for (name, bits) in UNITS {
        let unit = 1u64 << bits;
        if bytes >= unit {
            return match bytes.is_multiple_of(unit) {
                true => format!("{} {name}", bytes / unit),
                false => format!("{:.2} {name}", bytes as f64 / unit as f64),
            };
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_binary_suffix() {
        for (text, number) in [
            ("0", 0),
            ("8", 8),
            ("4k", 4096),
            ("4K", 4096),
            (" 2m ", 2 << 20),
            ("1g", 1 << 30),
            ("1GiB", 1 << 30),
            ("3t", 3 << 40),
            ("-1", -1),
            ("47008", 47008),
            ("512b", 512),
        ] {
            assert_eq!(whole(text), Ok(number), "{text}");
        }
        for text in ["", "k", "1.5m", "4q", "4kk", "9223372036854775807k", "0x10", "- 1", "ib", "4ib"] {
            assert!(whole(text).is_err(), "{text}");
        }
    }

    #[test]
    fn flags_count() {
        assert_eq!(
            (counter("2"), counter("-3"), counter("TRUE"), counter("no")),
            (Ok(2), Ok(0), Ok(1), Ok(0))
        );
        assert!(counter("maybe").is_err());
    }

    #[test]
    fn sizes_are_written_as_in_the_header() {
        for (bytes, text) in [
            (262_144, "262144 bytes"),
            (1 << 20, "1 MiB"),
            (4 << 20, "4 MiB"),
            (16_777_216_000, "15.62 GiB"),
            (3 << 40, "3 TiB"),
            (0, "0 bytes"),
        ] {
            assert_eq!(readable(bytes), text);
        }
    }
}
