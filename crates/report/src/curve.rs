//! Curves in text: where a rate stops growing with load, and small pictures of series.
//!
//! The knee is the smallest load beyond which no measured one brings 10 % more. This rule was chosen over the largest
//! distance from the chord because a noisy flat curve has such a distance too, and because it can be said in one
//! sentence beside the table; on clean saturating curves both name the same point (tested).

/// How much more, in percent, a deeper load must bring for the curve to count as rising.
pub const GAIN_PERCENT: f64 = 10.0;

/// Where a curve stops growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// At that point, by index.
    At(usize),
    /// It does not grow at all: the first point is as good as any.
    Flat,
    /// It still grows at the last point.
    Beyond,
}

/// The knee of rates measured at growing load; `None` with fewer than three points or a rate of 0.
pub fn knee(rates: &[f64]) -> Option<Knee> {
    if rates.len() < 3 || rates.iter().any(|rate| !rate.is_finite() || *rate <= 0.0) {
        return None;
    }
    let enough = |index: usize| {
        let most = rates[index + 1..].iter().copied().fold(0.0, f64::max);
        most < rates[index] * (1.0 + GAIN_PERCENT / 100.0)
    };
    Some(match (0..rates.len()).find(|index| enough(*index)) {
        Some(0) => Knee::Flat,
        Some(index) if index + 1 < rates.len() => Knee::At(index),
        _ => Knee::Beyond,
    })
}

/// Columns for a bar beside six columns of figures and the mark of a knee, on lines of that width.
pub fn bar_columns(line: usize) -> usize {
    line.saturating_sub(66).clamp(8, 30)
}

/// A bar of eighths of a character, at most `width` characters for `most`.
pub fn bar(value: f64, most: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(value > 0.0 && most > 0.0) {
        return String::new();
    }
    let eighths = ((value / most).min(1.0) * width as f64 * 8.0).round() as usize;
    let bar = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    if bar.is_empty() { "▏".into() } else { bar }
}

/// A series as one character each, from 0 to its largest; longer series are averaged down to `width`.
pub fn sparkline(values: &[f64], width: usize) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let values = averaged(values, width);
    let most = values.iter().copied().fold(0.0, f64::max);
    let step = |value: &f64| match most > 0.0 {
        true => STEPS[((value / most * 7.0).round() as usize).min(7)],
        false => STEPS[0],
    };
    values.iter().map(step).collect()
}

fn averaged(values: &[f64], width: usize) -> Vec<f64> {
    let width = width.max(1);
    if values.len() <= width {
        return values.to_vec();
    }
    let edge = |column: usize| column * values.len() / width;
    (0..width)
        .map(|column| &values[edge(column)..edge(column + 1)])
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index of the point farthest above the chord, both axes normalised: the rival rule.
    fn farthest_from_chord(loads: &[f64], rates: &[f64]) -> usize {
        let span = |values: &[f64], value: f64| (value - values[0]) / (values[values.len() - 1] - values[0]);
        let distance = |index: usize| span(rates, rates[index]) - span(loads, loads[index]);
        (0..rates.len()).max_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap()
    }

    const DEPTHS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    #[test]
    fn a_saturating_curve_has_its_knee_where_it_saturates_by_both_rules() {
        for channels in [2.0, 8.0, 32.0] {
            let rates = DEPTHS.map(|depth| depth.min(channels) * 10_000.0 + depth);
            let expected = DEPTHS.iter().position(|depth| *depth == channels).unwrap();
            assert_eq!(knee(&rates), Some(Knee::At(expected)));
            assert_eq!(farthest_from_chord(&DEPTHS, &rates), expected);
        }
        let smooth = [10.0, 19.0, 35.0, 60.0, 90.0, 110.0, 118.0, 120.0];
        assert_eq!(knee(&smooth), Some(Knee::At(5)));
        assert_eq!(farthest_from_chord(&DEPTHS, &smooth), 5);
    }

    #[test]
    fn one_disk_is_flat_even_with_noise() {
        let flat = [332.0, 333.0, 331.0, 335.0, 329.0, 332.0, 332.0, 331.0];
        assert_eq!(knee(&flat), Some(Knee::Flat));
    }

    #[test]
    fn a_curve_that_still_rises_has_no_knee_yet() {
        let rising = DEPTHS.map(|depth| depth * 1000.0);
        assert_eq!(knee(&rising), Some(Knee::Beyond));
    }

    #[test]
    fn a_rate_that_falls_again_has_its_knee_before() {
        assert_eq!(knee(&[100.0, 200.0, 390.0, 300.0, 250.0]), Some(Knee::At(2)));
    }

    #[test]
    fn too_little_to_tell_is_no_knee() {
        assert_eq!(knee(&[100.0, 200.0]), None);
        assert_eq!(knee(&[100.0, 0.0, 200.0]), None);
    }

    #[test]
    fn pictures_scale() {
        assert_eq!(bar(50.0, 100.0, 4), "██");
        assert_eq!(bar(0.001, 100.0, 4), "▏");
        assert_eq!(bar(0.0, 100.0, 4), "");
        assert_eq!(sparkline(&[0.0, 7.0], 10), "▁█");
        assert_eq!(sparkline(&[1.0; 100], 10).chars().count(), 10);
    }
}
