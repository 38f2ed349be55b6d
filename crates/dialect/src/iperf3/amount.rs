//! iperf3's amounts: `64M` in, `7.71 GBytes` and `33.1 Gbits` out.
//!
//! Rates count in thousands and sizes in 1024s, both ways. It refuses what the original's `strtod` passes over: letters
//! behind the number that mean nothing.

/// A size: `128K`, `1.5G`, in 1024s.
pub fn size(text: &str) -> Option<u64> {
    scaled(text, 1024.0)
}

/// A rate: `100M`, `1.5G`, in thousands.
pub fn rate(text: &str) -> Option<u64> {
    scaled(text, 1000.0)
}

fn scaled(text: &str, base: f64) -> Option<u64> {
    let letter = text.chars().last()?;
    let power = match letter.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => 0,
    };
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
    let amount = number * base.powi(power);
    (amount < 9.2e18).then_some(amount as u64)
}

/// How rates are written (`-f`): a letter of `kmgt` for bits, of `KMGT` for bytes, `a` for what fits.
pub type Format = char;

/// Bytes with the unit that fits: `7.71 GBytes`.
pub fn bytes(amount: f64) -> String {
    unit(amount, 'A')
}

/// Bytes per second, in the chosen unit: `33.1 Gbits`.
pub fn written(bytes_per_second: f64, format: Format) -> String {
    unit(bytes_per_second, format)
}

fn unit(bytes: f64, format: Format) -> String {
    let is_bits = format.is_ascii_lowercase();
    let (mut value, base) = if is_bits { (bytes * 8.0, 1000.0) } else { (bytes, 1024.0) };
    let power = match format.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => fitting(value, base),
    };
    value /= f64::powi(base, power as i32);
    let name = ["", "K", "M", "G", "T"][power];
    let what = if is_bits { "bits" } else { "Bytes" };
    format!("{} {name}{what}", four(value))
}

fn fitting(mut value: f64, base: f64) -> usize {
    let mut power = 0;
    while value >= base && power < 4 {
        value /= base;
        power += 1;
    }
    power
}

/// Four places: `9.99`, `99.9`, ` 999`.
fn four(value: f64) -> String {
    if value < 9.995 {
        format!("{value:4.2}")
    } else if value < 99.95 {
        format!("{value:4.1}")
    } else {
        format!("{value:4.0}")
    }
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
