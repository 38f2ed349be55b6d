//! Amounts with a suffix, as the tools' users type them, and with a unit, as their reports print them.
//!
//! A tool is a table here; what an amount is for is its dialect's business.

/// The suffixes of a tool and what they multiply by.
#[derive(Clone, Copy, Debug)]
pub struct Suffixes {
    /// Whether `K` is `k`.
    pub any_case: bool,
    /// Suffixes with factors of their own.
    pub units: &'static [(&'static str, u64)],
    /// Letters for the first, second and further powers of a base, and what follows such a letter.
    pub scales: &'static [(&'static str, &'static str, u64)],
}

/// The factor of a suffix that is too large for 64 bits.
pub const TOO_LARGE: u64 = u64::MAX;

/// `k` to `t` of 1024, in either case.
pub const BINARY: Suffixes = Suffixes { any_case: true, units: &[], scales: &[("kmgt", "", 1024)] };

/// `k` to `p` of 1024, in either case.
pub const POWERS: Suffixes = Suffixes { any_case: true, units: &[], scales: &[("kmgtp", "", 1024)] };

/// `k` to `t` of 1000, in either case.
pub const DECIMAL: Suffixes = Suffixes { any_case: true, units: &[], scales: &[("kmgt", "", 1000)] };

/// `k` to `t` of 1000, `K` to `T` of 1024.
pub const BY_CASE: Suffixes =
    Suffixes { any_case: false, units: &[], scales: &[("kmgt", "", 1000), ("KMGT", "", 1024)] };

impl Suffixes {
    /// What a suffix multiplies by; none: it is no suffix of this tool. A factor of 2^64 and more is [`TOO_LARGE`].
    pub fn factor(&self, suffix: &str) -> Option<u64> {
        let is = |a: &str, b: &str| a == b || self.any_case && a.eq_ignore_ascii_case(b);
        let unit = || self.units.iter().find(|(unit, _)| is(unit, suffix)).map(|(_, factor)| *factor);
        let letter = suffix.get(..1);
        let power = |(letters, tail, base): &(&str, &str, u64)| {
            let tail = is(tail, &suffix[1..]);
            let place =
                (0..letters.len()).find(|at| letter.is_some_and(|letter| is(&letters[*at..=*at], letter)));
            place.filter(|_| tail).map(|place| base.checked_pow(place as u32 + 1).unwrap_or(TOO_LARGE))
        };
        match suffix {
            "" => Some(1),
            _ => unit().or_else(|| letter.and_then(|_| self.scales.iter().find_map(power))),
        }
    }

    /// The number before the suffix, and what the suffix multiplies by; none: it is no suffix of this tool.
    fn split<'a>(&self, text: &'a str) -> Option<(&'a str, u64)> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        Some((digits, self.factor(&text[digits.len()..])?))
    }

    /// A number with a fraction, not below 0.
    pub fn fraction(&self, text: &str) -> Option<f64> {
        let (digits, factor) = self.split(text)?;
        let number: f64 = digits.parse().ok()?;
        Some(number * factor as f64).filter(|amount| amount.is_finite() && *amount >= 0.0)
    }

    /// The same, of digits and a point only: neither sign nor exponent.
    pub fn plain_fraction(&self, text: &str) -> Option<f64> {
        let (digits, _) = self.split(text)?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        self.fraction(text).filter(|_| is_plain)
    }

    /// A whole number that may have a sign.
    ///
    /// # Errors
    /// What was expected, with the examples, as a lower-case fragment.
    pub fn whole(&self, text: &str, examples: &str) -> Result<i64, String> {
        let expected = || format!("`{text}`: expected a whole number such as {examples}");
        let text = text.trim();
        let (digits, factor) = self.split(text).ok_or_else(expected)?;
        let number: i64 = digits.parse().map_err(|_| expected())?;
        let amount = i64::try_from(factor).ok().and_then(|factor| number.checked_mul(factor));
        amount.ok_or_else(|| format!("`{text}`: too large"))
    }
}

/// A number of bits or bytes in the unit that fits, or in that of a letter: `7.71 GBytes`, `33.1 Gbits`.
///
/// The letter is of `bkmgt` for bits of 1000, of `BKMGT` for bytes of 1024, `a` or `A` for what fits. The number is
/// written by `digits`.
pub fn unit(bytes: f64, letter: char, digits: fn(f64) -> String) -> String {
    let is_bits = letter.is_ascii_lowercase();
    let (number, base) = if is_bits { (bytes * 8.0, 1000.0) } else { (bytes, 1024.0) };
    let fitting = || (0..4).find(|power| number / f64::powi(base, *power) < base).unwrap_or(4);
    let power = "bkmgt".find(letter.to_ascii_lowercase()).map_or_else(fitting, |power| power as i32);
    let name = ["", "K", "M", "G", "T"][power as usize];
    let what = if is_bits { "bits" } else { "Bytes" };
    format!("{} {name}{what}", digits(number / f64::powi(base, power)))
}

/// A number as C's `%.Ne` prints it: at least two digits of exponent, with its sign.
pub fn scientific(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The prefixes of the powers of 1000.
pub const PREFIXES: [&str; 9] = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];

/// The prefixes of the powers of 1024.
pub const BINARY_PREFIXES: [&str; 9] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];

/// Three digits in four places: `9.99`, `99.9`, ` 999`.
pub fn four_places(number: f64) -> String {
    match number {
        _ if number < 9.995 => format!("{number:4.2}"),
        _ if number < 99.95 => format!("{number:4.1}"),
        _ => format!("{number:4.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_scale() {
        assert_eq!(
            (BINARY.fraction("1.5K"), DECIMAL.fraction("2m"), BY_CASE.fraction("1K")),
            (Some(1536.0), Some(2e6), Some(1024.0))
        );
        assert_eq!((BINARY.fraction("1e3"), BINARY.plain_fraction("1e3")), (Some(1000.0), None));
        for wrong in ["", "k", "-1", "1x", "1kk", "inf", "nan", "é"] {
            assert_eq!(BINARY.fraction(wrong), None, "{wrong}");
        }
        assert_eq!((BINARY.whole(" -4k", "8"), BINARY.whole("+1g", "8")), (Ok(-4096), Ok(1 << 30)));
        assert!(BINARY.whole("1 g", "8").is_err(), "IOR itself reads 1 of it");
        assert_eq!(BINARY.fraction("-0"), Some(0.0));
        assert_eq!(
            BINARY.whole("1.5k", "8 or 4k"),
            Err("`1.5k`: expected a whole number such as 8 or 4k".into())
        );
        assert_eq!(BINARY.whole("99999999t", "8"), Err("`99999999t`: too large".into()));
    }

    #[test]
    fn exponents_are_cs() {
        assert_eq!(scientific(0.09070205688, 10), "9.0702056880e-02");
        assert_eq!(scientific(92_485_311.669, 10), "9.2485311669e+07");
        assert_eq!(scientific(0.000_007_867_813_11, 8), "7.86781311e-06");
        assert_eq!((scientific(0.0, 6), scientific(1e100, 0)), ("0.000000e+00".into(), "1e+100".into()));
    }

    #[test]
    fn units_fit_or_are_chosen() {
        assert_eq!(unit(1_047_728.0, 'A', four_places), "1023 KBytes");
        assert_eq!(unit(105e6 / 8.0, 'a', four_places), " 105 Mbits");
        assert_eq!(
            (unit(1e9, 'm', four_places), unit(1e20, 'A', four_places)),
            ("8000 Mbits".into(), "90949470 TBytes".into())
        );
    }
}
