//! Numbers as text, always with their unit, and what a handful of repeats has to say together.
//!
//! Every reporter formats through here, so one figure looks the same wherever it stands. Refuses to print a figure
//! that has nothing to rest on: that is [`NONE`].

use iodyno_model::{Figure, Histogram, units};

/// What stands in the place of a figure that cannot be told.
pub const NONE: &str = "–";

/// How many samples must lie beyond a percentile before it is shown as a number.
pub const SAMPLES_BEYOND: u64 = 10;

/// A whole number with thousands separated: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A positive number with at least three significant digits and separated thousands: `3,512`, `92.6`, `7.31`.
pub fn significant(number: f64) -> String {
    match number {
        n if !n.is_finite() => NONE.into(),
        n if n >= 99.95 => thousands(n.round() as u64),
        n if n >= 9.995 => format!("{n:.1}"),
        0.0 => "0".into(),
        n => format!("{n:.2}"),
    }
}

/// Operations per second, without the unit.
pub fn iops(per_second: f64) -> String {
    significant(per_second)
}

/// The unit of data rates in text for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateUnit {
    /// MB/s, 10^6 bytes per second.
    #[default]
    MegabytesPerSecond,
    /// MiB/s, 2^20 bytes per second.
    MebibytesPerSecond,
    /// Gbit/s, 10^9 bits per second.
    GigabitsPerSecond,
}

impl RateUnit {
    pub const ALL: [RateUnit; 3] =
        [RateUnit::MegabytesPerSecond, RateUnit::MebibytesPerSecond, RateUnit::GigabitsPerSecond];

    pub const fn name(self) -> &'static str {
        match self {
            RateUnit::MegabytesPerSecond => "MB/s",
            RateUnit::MebibytesPerSecond => "MiB/s",
            RateUnit::GigabitsPerSecond => "Gbit/s",
        }
    }

    /// A rate, given in bytes per second, without the unit.
    pub fn figure(self, bytes_per_second: f64) -> String {
        match self {
            RateUnit::MegabytesPerSecond => mb(bytes_per_second),
            RateUnit::MebibytesPerSecond => mib(bytes_per_second),
            RateUnit::GigabitsPerSecond => significant(bytes_per_second * 8.0 / 1e9),
        }
    }

    /// A rate, given in bytes per second, with the unit.
    pub fn text(self, bytes_per_second: f64) -> String {
        format!("{} {}", self.figure(bytes_per_second), self.name())
    }
}

/// Bytes per second as decimal megabytes per second, without the unit: what the field calls MB/s.
pub fn mb(bytes_per_second: f64) -> String {
    significant(bytes_per_second / 1e6)
}

/// Bytes per second as binary megabytes per second, without the unit: MiB/s.
pub fn mib(bytes_per_second: f64) -> String {
    significant(bytes_per_second / (1024.0 * 1024.0))
}

/// A latency with its unit and three significant digits: `2.39 ms`.
pub fn latency(ns: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (factor, unit) = UNITS.into_iter().find(|(factor, _)| ns >= factor * 0.9995).unwrap_or((1.0, "ns"));
    let value = ns / factor;
    match value {
        v if factor == 1.0 || v >= 99.95 => format!("{v:.0} {unit}"),
        v if v >= 9.995 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// A share in percent: `3.1 %`.
pub fn percent(share: f64) -> String {
    match share {
        s if !s.is_finite() => NONE.into(),
        s if s >= 99.95 || s == 0.0 => format!("{s:.0} %"),
        s => format!("{s:.1} %"),
    }
}

/// A percentile in ns, if at least [`SAMPLES_BEYOND`] samples lie beyond it.
pub fn percentile(histogram: &Histogram, percent: f64) -> Option<u64> {
    (histogram.beyond(percent) >= SAMPLES_BEYOND).then(|| histogram.percentile(percent))
}

/// A percentile as text, or [`NONE`].
pub fn percentile_text(histogram: &Histogram, percent: f64) -> String {
    percentile(histogram, percent).map_or_else(|| NONE.into(), |ns| latency(ns as f64))
}

/// A time to wait, in words: `48 s`, `2 min 5 s`.
pub fn wait(ns: u64) -> String {
    let seconds = (ns as f64 / 1e9).round() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A finding's figure: its value with its unit.
pub fn figure(figure: &Figure, rates: RateUnit) -> String {
    let value = match figure.unit.as_str() {
        "bytes" if figure.value >= 0.0 => units::binary(figure.value as u64),
        "ns" => latency(figure.value),
        "%" => percent(figure.value),
        "bytes/s" => rates.text(figure.value),
        "1/s" => format!("{} per second", significant(figure.value)),
        "" => plain(figure.value),
        unit => format!("{} {unit}", plain(figure.value)),
    };
    format!("{} {value}", figure.name)
}

fn plain(value: f64) -> String {
    match value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        true => thousands(value as u64),
        false if value < 0.0 && value.is_finite() => format!("-{}", significant(-value)),
        false => significant(value),
    }
}

/// One figure measured several times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeats(Vec<f64>);

impl Repeats {
    /// From the figures, in any order; what is not finite is left out.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Repeats(sorted)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> Option<f64> {
        let count = self.0.len();
        match count {
            0 => None,
            _ if count % 2 == 1 => Some(self.0[count / 2]),
            _ => Some((self.0[count / 2 - 1] + self.0[count / 2]) / 2.0),
        }
    }

    /// The smallest.
    pub fn least(&self) -> Option<f64> {
        self.0.first().copied()
    }

    /// The largest.
    pub fn most(&self) -> Option<f64> {
        self.0.last().copied()
    }

    /// Largest minus smallest as a percentage of the median; needs two figures.
    pub fn range_percent(&self) -> Option<f64> {
        let median = self.median().filter(|median| *median > 0.0 && self.count() > 1)?;
        Some((self.most()? - self.least()?) / median * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_three_digits_and_their_unit() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(12), "12");
        assert_eq!(significant(99.96), "100");
        assert_eq!(significant(76.33), "76.3");
        assert_eq!(significant(3512.4), "3,512");
        assert_eq!(significant(f64::NAN), NONE);
        assert_eq!(latency(999_700.0), "1.00 ms");
        assert_eq!(latency(85_123.0), "85.1 µs");
        assert_eq!(latency(0.0), "0 ns");
        assert_eq!(latency(7.2e9), "7.20 s");
        assert_eq!(wait(125_000_000_000), "2 min 5 s");
        assert_eq!(mb(1e6), "1.00");
        assert_eq!(mib(1048576.0 * 10.0), "10.0");
    }

    #[test]
    fn a_percentile_without_ten_samples_beyond_is_no_number() {
        let mut histogram = Histogram::default();
        (0..1000).for_each(|value| histogram.add(value * 1000));
        assert!(percentile(&histogram, 99.0).is_some());
        assert_eq!(percentile(&histogram, 99.9), None);
        assert_eq!(percentile_text(&histogram, 99.9), NONE);
    }

    #[test]
    fn repeats_tell_median_and_range() {
        let repeats = Repeats::of([100.0, 90.0, f64::NAN, 110.0]);
        assert_eq!(repeats.median(), Some(100.0));
        assert_eq!(repeats.range_percent(), Some(20.0));
        assert_eq!(Repeats::of([5.0]).range_percent(), None);
        assert_eq!(Repeats::of([]).median(), None);
        assert_eq!(Repeats::of([1.0, 3.0]).median(), Some(2.0));
    }

    #[test]
    fn figures_of_findings_are_readable() {
        let rates = RateUnit::MebibytesPerSecond;
        assert_eq!(figure(&Figure::new("fell to", 10_485_760.0, "bytes/s"), rates), "fell to 10.0 MiB/s");
        assert_eq!(figure(&Figure::new("asked", 1_073_741_824.0, "bytes"), rates), "asked 1 GiB");
        assert_eq!(figure(&Figure::new("slope", -3.5, ""), rates), "slope -3.50");
        assert_eq!(figure(&Figure::new("samples", 12.0, ""), rates), "samples 12");
    }
}
