//! Numbers as fio writes them: decimal or `0x`, in parentheses an expression, behind them a unit.
//!
//! It refuses what fio passes over in silence: an unknown unit (`4q`), a fraction (`1.5k` is 1 there), and what is left
//! behind a number.

use crate::quantity::Suffixes;

/// What is wrong with a value, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// A lower-case fragment.
    pub message: String,
    /// What to write instead; empty: nothing to say.
    pub hint: String,
}

pub fn fault(message: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { message: message.into(), hint: hint.into() }
}

/// How units are read: what `k` is worth. `Ki` with a `B` behind is worth the other of 1000 and 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base(pub u32);

impl Default for Base {
    fn default() -> Self {
        Base(1024)
    }
}

impl Base {
    /// What a unit of bytes is worth. A lone `i` behind the letter changes nothing, as in fio itself.
    fn suffixes(self) -> Suffixes {
        let scales: &[_] = match self.0 {
            1000 => &[("kmgtp", "", 1000), ("kmgtp", "b", 1000), ("kmgtp", "i", 1000), ("kmgtp", "ib", 1024)],
            _ => &[("kmgtp", "", 1024), ("kmgtp", "b", 1024), ("kmgtp", "i", 1024), ("kmgtp", "ib", 1000)],
        };
        Suffixes { any_case: true, units: &[("b", 1)], scales }
    }
}

/// What a unit of time is worth, ns.
const TIMES: Suffixes = Suffixes {
    any_case: true,
    units: &[
        ("us", 1_000),
        ("usec", 1_000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("s", 1_000_000_000),
        ("sec", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    scales: &[],
};

/// What a time is counted in when no unit is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Second,
    Microsecond,
}

const BYTE_UNITS: &str = "units are k, m, g, t and p, alone or with `b` or `ib`";
const TIME_UNITS: &str = "units of time are us, ms, s, m, h and d";

/// A number as it stands, with its unit behind it.
struct NumberText<'a> {
    number: i128,
    unit: &'a str,
    /// Whether it was an expression: times in one are microseconds.
    expression: bool,
}

/// A number with a unit of bytes (or of counts: `iodepth=1k` is 1024).
///
/// # Errors
/// That it is no whole number, that the unit is unknown, or that it is too large.
pub fn bytes(text: &str, base: Base) -> Result<i64, Fault> {
    let written = split(text, base)?;
    let factor = base.suffixes().factor(written.unit).ok_or_else(|| match written.unit {
        "z" | "Z" => fault("zones (`z`) make no sense here", BYTE_UNITS),
        "%" => fault("a percentage makes no sense here", BYTE_UNITS),
        unit => unknown(unit, BYTE_UNITS),
    })?;
    fitting(written.number.checked_mul(factor.into()))
}

/// A number with a unit of time, in ns.
///
/// # Errors
/// That it is no whole number, that the unit is unknown, or that it is negative or too large.
pub fn time_ns(text: &str, unit: TimeUnit) -> Result<u64, Fault> {
    let written = split(text, Base::default())?;
    let factor = match written.unit {
        "" if written.expression || unit == TimeUnit::Microsecond => 1_000,
        "" => 1_000_000_000,
        unit => TIMES.factor(unit).ok_or_else(|| unknown(unit, time_hint(unit)))?,
    };
    if written.number < 0 {
        return Err(fault("a time cannot be negative", TIME_UNITS));
    }
    fitting(written.number.checked_mul(factor.into())).map(i64::unsigned_abs)
}

fn time_hint(unit: &str) -> &'static str {
    match unit {
        "min" | "mins" | "minutes" => "minutes are written `m`",
        "hours" | "hour" | "hr" => "hours are written `h`",
        "ns" | "nsec" => "the smallest unit is us",
        _ if unit.starts_with(|c: char| c.is_ascii_alphabetic())
            && unit.contains(|c: char| c.is_ascii_digit()) =>
        {
            "one number and one unit: 90m rather than 1h30m"
        }
        _ => TIME_UNITS,
    }
}

/// A number followed by `%`, or by `z` for zones, or by a unit of bytes: which of them, and how much.
///
/// # Errors
/// As [`bytes`].
pub fn share(text: &str, base: Base) -> Result<(Option<char>, i64), Fault> {
    let written = split(text, base)?;
    match written.unit {
        "%" => Ok((Some('%'), fitting(Some(written.number))?)),
        "z" | "Z" => Ok((Some('z'), fitting(Some(written.number))?)),
        _ => Ok((None, bytes(text, base)?)),
    }
}

/// A number with a fraction.
///
/// # Errors
/// That it is none.
pub fn decimal(text: &str) -> Result<f64, Fault> {
    let number = text.trim();
    if number.starts_with('(') {
        return Ok(split(number, Base::default())?.number as f64);
    }
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(fault(format!("`{number}` is no number"), "")),
    }
}

fn unknown(unit: &str, hint: &str) -> Fault {
    match unit.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        true => fault("a whole number is needed, not a fraction", "write it in the next smaller unit"),
        false if unit.starts_with(['*', '+', '-', '/', '^']) => {
            fault(format!("`{unit}` follows the number"), "expressions stand in parentheses: (4*1024)")
        }
        false => fault(format!("unknown unit `{unit}`"), hint),
    }
}

fn fitting(number: Option<i128>) -> Result<i64, Fault> {
    number
        .and_then(|number| i64::try_from(number).ok())
        .ok_or_else(|| fault("the number is too large", format!("the most is {}", i64::MAX)))
}

/// The number and what follows it, without the blanks between.
fn split(text: &str, base: Base) -> Result<NumberText<'_>, Fault> {
    let text = text.trim();
    if text.starts_with('(') {
        return expression(text, base);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(rest) => (16, rest),
        None => (10, digits),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 {
        let hint = if text.is_empty() { "a number belongs here" } else { "" };
        return Err(fault(format!("`{text}` is no whole number"), hint));
    }
    // Twenty-five digits are more than fit, and fewer than overflow what they are gathered in.
    let number = if end > 25 { None } else { i128::from_str_radix(&digits[..end], radix).ok() };
    let number =
        number.ok_or_else(|| fault("the number is too large", format!("the most is {}", i64::MAX)))?;
    Ok(NumberText { number: sign * number, unit: digits[end..].trim(), expression: false })
}

fn expression(text: &str, base: Base) -> Result<NumberText<'_>, Fault> {
    let mut reader = ExpressionParser { text, at: 0, base, depth: 0 };
    let value = reader.primary().ok_or_else(|| {
        fault(
            format!("`{text}` is no expression that can be evaluated"),
            "numbers with + - * / % ^ between, in parentheses: (2*64k)",
        )
    })?;
    Ok(NumberText { number: value, unit: text[reader.at..].trim(), expression: true })
}

/// What stands between parentheses, or behind a keyword: `4*1024`, `$ncpus` already replaced.
pub fn evaluate(text: &str) -> Option<i64> {
    let mut reader = ExpressionParser { text, at: 0, base: Base::default(), depth: 0 };
    let value = reader.sum()?;
    reader.blanks();
    if reader.at == text.len() { i64::try_from(value).ok() } else { None }
}

/// Reads an expression from left to right.
struct ExpressionParser<'a> {
    text: &'a str,
    at: usize,
    base: Base,
    depth: u32,
}

impl ExpressionParser<'_> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.blanks();
        let here = self.text[self.at..].starts_with(wanted);
        self.at += if here { wanted.len_utf8() } else { 0 };
        here
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            if self.takes('+') {
                value = value.checked_add(self.product()?)?;
            } else if self.takes('-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.power()?;
        loop {
            if self.takes('*') {
                value = value.checked_mul(self.power()?)?;
            } else if self.takes('/') {
                value = value.checked_div(self.power()?)?;
            } else if self.takes('%') {
                value = value.checked_rem(self.power()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn power(&mut self) -> Option<i128> {
        let value = self.primary()?;
        if self.takes('^') {
            return value.checked_pow(u32::try_from(self.power()?).ok()?);
        }
        Some(value)
    }

    fn primary(&mut self) -> Option<i128> {
        // A pathological depth is no expression a person wrote.
        self.depth += 1;
        let value = if self.depth > 64 {
            None
        } else if self.takes('(') {
            self.sum().filter(|_| self.takes(')'))
        } else if self.takes('-') {
            self.primary().and_then(i128::checked_neg)
        } else {
            self.number()
        };
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<i128> {
        self.blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let written = &rest[..end];
        if !written.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        let time = time_in_us(written);
        bytes(written, self.base).ok().map(i128::from).or(time)
    }
}

/// In expressions times are microseconds: `(2s)`.
fn time_in_us(written: &str) -> Option<i128> {
    time_ns(written, TimeUnit::Microsecond).ok().map(|ns| i128::from(ns / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<i64, String> {
        bytes(text, Base::default()).map_err(|fault| fault.message)
    }

    #[test]
    fn units_are_read_as_fio_reads_them() {
        // What fio 3.33 says with --debug=parse.
        let cases =
            [("4Kib", 4000), ("4mi", 4194304), ("0x10", 16), ("010", 10), ("4096b", 4096), ("1t", 1 << 40)];
        cases.iter().for_each(|(text, value)| assert_eq!(of(text), Ok(*value), "{text}"));
        assert_eq!(bytes("4k", Base(1000)), Ok(4000));
        assert_eq!(bytes("4KiB", Base(1000)), Ok(4096));
        assert_eq!(of(" 4k "), Ok(4096));
        assert_eq!(of("-5"), Ok(-5));
    }

    #[test]
    fn expressions_stand_in_parentheses() {
        assert_eq!(of("(4*1024)"), Ok(4096));
        assert_eq!(of("(1+2)k"), Ok(3072));
        assert_eq!(of("(2^3+10%4)"), Ok(10));
        assert_eq!(of("(64k/2)"), Ok(32768));
        assert!(of("4*1024").unwrap_err().contains("follows the number"));
        assert!(of("(1/0)").is_err() && of("((((").is_err() && of("(2^999)").is_err());
        assert_eq!(time_ns("(5*2)", TimeUnit::Second), Ok(10_000));
        assert_eq!(evaluate("2*4+1"), Some(9));
        assert_eq!(evaluate("2 apples"), None);
    }

    #[test]
    fn what_fio_passes_over_is_refused() {
        for wrong in
            ["4q", "1.5k", "1e3", "4kk", "4k/s", "", "abc", "99999999999999999999", "0x", "10%", "1z"]
        {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10x", "10min", "1h30m", "1.5s", "-1", ""] {
            assert!(time_ns(wrong, TimeUnit::Second).is_err(), "{wrong}");
        }
        assert_eq!(time_ns("10min", TimeUnit::Second).unwrap_err().hint, "minutes are written `m`");
    }

    #[test]
    fn times_have_a_unit_of_their_own() {
        assert_eq!(time_ns("10", TimeUnit::Second), Ok(10_000_000_000));
        assert_eq!(time_ns("10", TimeUnit::Microsecond), Ok(10_000));
        assert_eq!(time_ns("10M", TimeUnit::Second), Ok(600_000_000_000));
        assert_eq!(time_ns("10 msec", TimeUnit::Second), Ok(10_000_000));
        assert_eq!(share("10%", Base::default()), Ok((Some('%'), 10)));
        assert_eq!(share("3z", Base::default()), Ok((Some('z'), 3)));
        assert_eq!(share("4k", Base::default()), Ok((None, 4096)));
    }
}
