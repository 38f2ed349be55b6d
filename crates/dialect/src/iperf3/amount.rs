//! iperf3's amounts: `64M` in, `7.71 GBytes` and `33.1 Gbits` out.
//!
//! Rates count in thousands and sizes in 1024s, both ways. It refuses what the original's `strtod` passes over: letters
//! behind the number that mean nothing.

use crate::quantity::{BINARY, DECIMAL, four_places, unit};

/// A size: `128K`, `1.5G`, in 1024s.
pub fn size(text: &str) -> Option<u64> {
    BINARY.fraction(text).filter(|size| *size < 9.2e18).map(|size| size as u64)
}

/// A rate: `100M`, `1.5G`, in thousands.
pub fn rate(text: &str) -> Option<u64> {
    DECIMAL.fraction(text).filter(|rate| *rate < 9.2e18).map(|rate| rate as u64)
}

/// How rates are written (`-f`): a letter of `kmgt` for bits, of `KMGT` for bytes, `a` for what fits.
pub type Format = char;

/// Bytes with the unit that fits: `7.71 GBytes`.
pub fn bytes(amount: f64) -> String {
    unit(amount, 'A', four_places)
}

/// Bytes per second, in the chosen unit: `33.1 Gbits`.
pub fn written(bytes_per_second: f64, format: Format) -> String {
    unit(bytes_per_second, format, four_places)
}

/// A share in percent as C's `%.2g` writes it: `0`, `7.6`, `16`, `1e+02`.
pub fn percent(value: f64) -> String {
    super::json::general(value, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed() {
        assert_eq!(
            (size("64M"), size("128k"), size("1.5G")),
            (Some(64 << 20), Some(128 << 10), Some(3 << 29))
        );
        assert_eq!((rate("100M"), rate("0"), rate("10")), (Some(100_000_000), Some(0), Some(10)));
        assert_eq!(
            (size("abc"), size(""), size("-4"), size("K"), size("nan"), size("99999999T")),
            Default::default()
        );
    }

    #[test]
    fn what_is_written() {
        assert_eq!(bytes(8_278_497_690.0), "7.71 GBytes");
        assert_eq!(bytes(262_144.0), " 256 KBytes");
        assert_eq!(bytes(1_047_728.0), "1023 KBytes");
        assert_eq!(bytes(0.0), "0.00 Bytes");
        assert_eq!(written(33.1e9 / 8.0, 'a'), "33.1 Gbits");
        assert_eq!(written(105e6 / 8.0, 'a'), " 105 Mbits");
        assert_eq!(written(1e9, 'm'), "8000 Mbits");
        assert_eq!(written(1048576.0, 'M'), "1.00 MBytes");
        assert_eq!(
            (percent(0.0), percent(7.59), percent(15.6), percent(100.0)),
            ("0".into(), "7.6".into(), "16".into(), "1e+02".into())
        );
    }
}
