//! How wide the interval of a mean is: Student's t at 95 and 99 %, for the few runs that netperf repeats.

/// Two-sided quantiles for 1 to 30 degrees of freedom. Source: any table of Student's distribution.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const T99: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
    2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
];

/// The whole width of the interval of the mean, in percent of it; fewer than two values have none (-1).
pub(super) fn width_percent(values: &[f64], level: u32) -> f64 {
    let count = values.len();
    if count < 2 {
        return -1.0;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    let table = if level == 95 { &T95 } else { &T99 };
    let t = table[(count - 2).min(table.len() - 1)];
    if mean == 0.0 { 0.0 } else { 200.0 * t * (square / count as f64).sqrt() / mean.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_table() {
        // Mean 10, standard deviation 1, three values: 2 · 4.303 · 1/√3 of 10.
        let width = width_percent(&[9.0, 10.0, 11.0], 95);
        assert!((width - 20.0 * 4.303 / 3f64.sqrt()).abs() < 1e-9, "{width}");
        assert!(width_percent(&[9.0, 10.0, 11.0], 99) > width);
        assert_eq!((width_percent(&[5.0], 95), width_percent(&[5.0, 5.0, 5.0], 99)), (-1.0, 0.0));
    }
}
