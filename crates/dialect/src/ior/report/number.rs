//! IOR's numbers in tables, and what it reckons over repetitions.

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

/// Over repetitions; the deviation is that of a whole population.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// The spread of some values; zeros where there are none.
pub fn spread(values: &[f64]) -> Spread {
    if values.is_empty() {
        return Spread::default();
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    Spread {
        max: values.iter().copied().fold(f64::MIN, f64::max),
        min: values.iter().copied().fold(f64::MAX, f64::min),
        mean,
        deviation: variance.sqrt(),
    }
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

    #[test]
    fn the_deviation_is_a_populations() {
        let found = spread(&[2813.2, 3113.45]);
        assert!((found.deviation - 150.125).abs() < 1e-9 && (found.mean - 2963.325).abs() < 1e-9);
        assert_eq!(spread(&[]), Spread::default());
    }
}
