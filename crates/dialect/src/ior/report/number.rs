//! IOR's numbers in tables, and what it computes over repetitions.

use crate::spread::{Deviation, Spread};

/// A cell of a row: ten wide to the left; six decimals below 1, two below 3600, none above; `-` below 0.
pub fn cell(value: f64) -> String {
    if value < 0.0 || !value.is_finite() {
        return "   -      ".into();
    }
    let decimals = match value {
        value if value < 1.0 => 6,
        value if value < 3600.0 => 2,
        _ => 0,
    };
    format!("{value:<10.decimals$}")
}

/// As much each second; 0 where no time passed.
pub fn rate(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// Over repetitions.
pub fn spread(values: &[f64]) -> Spread {
    Spread::of(values, Deviation::Population)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_decimals_by_size() {
        for (value, text) in [
            (0.000092, "0.000092  "),
            (1.0, "1.00      "),
            (2813.2, "2813.20   "),
            (3599.994, "3599.99   "),
            (3600.0, "3600      "),
            (11276.4, "11276     "),
            (-1.0, "   -      "),
            (f64::NAN, "   -      "),
        ] {
            assert_eq!(cell(value), text);
        }
    }
}
