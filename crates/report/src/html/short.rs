//! Numbers as a page is told them: four significant digits, no point where none is needed.
//!
//! A chart shows no more than four digits, and a file that people mail around should not carry more. What stands as
//! text on the page is formatted by [`number`](crate::number) and is no business of this file.

use serde::{Serialize, Serializer};

/// A number for a chart; what is not finite is told as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Short(pub f64);

impl Short {
    /// Nothing: a gap in a line.
    pub const NONE: Short = Short(f64::NAN);

    /// A number, or a gap.
    pub fn of(value: Option<f64>) -> Self {
        Short(value.unwrap_or(f64::NAN))
    }
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match rounded(self.0) {
            value if !value.is_finite() => serializer.serialize_none(),
            value if value.fract() == 0.0 && value.abs() < 1e18 => serializer.serialize_i64(value as i64),
            value => serializer.serialize_f64(value),
        }
    }
}

/// The value with four significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    if digits > 0 {
        let factor = 10f64.powi(digits.min(300));
        return (value * factor).round() / factor;
    }
    let factor = 10f64.powi(-digits);
    (value / factor).round() * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_no_more() {
        let numbers = [0.0, 1.0, 0.012_345_6, 12.345_6, 1_234_567.0, -99_999.4, 1e15, f64::NAN];
        let text = serde_json::to_string(&numbers.map(Short)).unwrap();
        assert_eq!(text, "[0,1,0.01235,12.35,1235000,-100000,1000000000000000,null]");
    }
}
