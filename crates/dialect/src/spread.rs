//! The largest, the smallest, the mean and the deviation of repetitions, as IOR's and mdtest's tables have them.

/// Of what a deviation is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Of a whole population.
    Population,
    /// Of a sample; 0 of fewer than two values.
    Sample,
}

/// The spread of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Spread {
    /// Zeros where there are no values.
    pub fn of(values: &[f64], deviation: Deviation) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let divisor = if deviation == Deviation::Sample { count - 1.0 } else { count };
        Spread {
            max: values.iter().copied().fold(f64::MIN, f64::max),
            min: values.iter().copied().fold(f64::MAX, f64::min),
            mean,
            deviation: if divisor > 0.0 { (squares / divisor).sqrt() } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_a_populations_or_a_samples() {
        let found = Spread::of(&[2813.2, 3113.45], Deviation::Population);
        assert!((found.deviation - 150.125).abs() < 1e-9 && (found.mean - 2963.325).abs() < 1e-9);
        let spread = Spread::of(&[187_881.071, 98_403.557, 169_497.647], Deviation::Sample);
        assert!((spread.mean - 151_927.425).abs() < 0.001 && (spread.deviation - 47_255.591).abs() < 0.01);
        let one = Spread { max: 5.0, min: 5.0, mean: 5.0, deviation: 0.0 };
        assert_eq!(Spread::of(&[5.0], Deviation::Sample), one);
        assert_eq!(Spread::of(&[], Deviation::Population), Spread::default());
    }
}
