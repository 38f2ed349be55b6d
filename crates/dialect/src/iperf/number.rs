//! iperf 2's numbers: amounts with suffixes on the command line, and amounts of three digits in reports.
//!
//! Layout learned from the output of 2.1.8. It refuses to guess: a suffix that is none is an error.

use crate::quantity::{BY_CASE, four_places, unit};

/// A number with a suffix: lower case counts by 1000, upper case by 1024. None: it is none, or is negative.
pub fn amount(text: &str) -> Option<f64> {
    BY_CASE.plain_fraction(text.trim()).filter(|amount| *amount < 9e18)
}

/// An amount as reports write it: three digits, a unit, and `Bytes` or `bits` behind it. `format` is `-f`: `b`, `k`, `m`,
/// `g`, `t` count bits by 1000, upper case counts bytes by 1024; `a` and `A` pick the unit that fits.
pub fn printed(bytes: f64, format: char) -> String {
    unit(bytes, format, digits)
}

/// Three digits in four places; fewer than one thousandth are zeros.
fn digits(number: f64) -> String {
    match number {
        _ if number < 0.9995 => format!("{number:4.3}").replace("0.000", "0.00"),
        _ => four_places(number),
    }
}

/// The size of a buffer, as headings write it: `208 KByte`.
pub fn size(bytes: u64) -> String {
    printed(bytes as f64, 'A').trim_end_matches('s').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_amounts() {
        assert_eq!(amount("10M"), Some(10_485_760.0));
        assert_eq!(amount("2m"), Some(2e6));
        assert_eq!(amount("0.5k"), Some(500.0));
        for wrong in ["", "k", "-1", "1x", "1e9", "inf", "NaN", "9999999999T"] {
            assert_eq!(amount(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn writes_what_the_original_writes() {
        assert_eq!(printed(134.0 * 1024.0, 'A'), " 134 KBytes");
        assert_eq!(printed(1.49 * 1024.0 * 1024.0 * 1024.0, 'A'), "1.49 GBytes");
        assert_eq!(printed(12.8e9 / 8.0, 'a'), "12.8 Gbits");
        assert_eq!(printed(266.0 * 500.0, 'M'), "0.127 MBytes");
        assert_eq!(printed(1.06e6 / 8.0, 'm'), "1.06 Mbits");
        assert_eq!(printed(60.0, 'A'), "60.0 Bytes");
        assert_eq!(printed(0.0, 'A'), "0.00 Bytes");
        assert_eq!(size(212_992), " 208 KByte");
        assert_eq!(size(16_384), "16.0 KByte");
    }
}
