//! Latencies in microseconds, as elbencho tells them: four buckets to each power of two, and numbers with a unit.

use iodyno_model::Histogram;
use iodyno_model::histogram::upper_edge;

/// Buckets to a power of two.
const FRACTION: f64 = 4.0;
/// Longer latencies count in the last bucket, which makes all figures of buckets worthless.
const BUCKETS: usize = 28 * 4;

/// Counts by bucket: each from 2^(n/4) us on.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    counts: Vec<u64>,
    all: u64,
}

impl Buckets {
    pub fn of(latency: &Histogram) -> Buckets {
        let mut counts = vec![0; BUCKETS];
        for (bucket, count) in latency.buckets() {
            // The upper end: a whole microsecond then stays one, where the middle would lie just below it.
            let us = upper_edge(*bucket as usize).clamp(latency.min, latency.max) / 1000;
            let place = if us == 0 { 0 } else { ((us as f64).log2() * FRACTION) as usize };
            counts[place.min(BUCKETS - 1)] += count;
        }
        Buckets { all: counts.iter().sum(), counts }
    }

    fn is_exceeded(&self) -> bool {
        self.counts[BUCKETS - 1] > 0
    }

    /// The upper end of the bucket in which the percentile lies.
    pub fn percentile(&self, percent: f64) -> String {
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 / self.all.max(1) as f64 >= percent / 100.0 {
                return edge(place + 1);
            }
        }
        "0".into()
    }

    /// `4.8: 1, 6.7: 1`.
    pub fn text(&self) -> String {
        if self.is_exceeded() {
            return "Histogram size exceeded".into();
        }
        let all = self.filled().map(|(place, count)| format!("{}: {count}", edge(place + 1)));
        all.collect::<Vec<_>>().join(", ")
    }

    /// Each with its ends: `4.0-4.8us`.
    pub fn ranges(&self) -> Vec<(String, u64)> {
        let range = |(place, count): (usize, u64)| {
            let lower = if place == 0 { "0.0".into() } else { edge(place) };
            (format!("{lower}-{}us", edge(place + 1)), count)
        };
        self.filled().map(range).collect()
    }

    fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

/// The end of a bucket: one decimal below 10.
fn edge(place: usize) -> String {
    let us = (place as f64 / FRACTION).exp2();
    if us < 10.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}

/// Shortest, mean and longest, us.
pub fn extremes(latency: &Histogram) -> [u64; 3] {
    [latency.min / 1000, (latency.mean() / 1000.0) as u64, latency.max / 1000]
}

/// `809us`, `2.88ms`, `35.5ms`, `367ms`, `1.23s`.
pub fn human(us: u64) -> String {
    let (value, unit) = if us < 1_000_000 { (us as f64 / 1e3, "ms") } else { (us as f64 / 1e6, "s") };
    let in_unit = if us < 1_000_000 { us } else { us / 1000 };
    match in_unit {
        _ if us < 1000 => format!("{us}us"),
        ..10_000 => format!("{value:.2}{unit}"),
        10_000..100_000 => format!("{value:.1}{unit}"),
        _ => format!("{value:.0}{unit}"),
    }
}

/// `367ms`, `1.001s`, `2m3.456s`, `3h25m45s`.
pub fn time_text(ms: u64) -> String {
    let (hours, minutes, seconds, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    match (hours, minutes, seconds) {
        (1.., ..) => format!("{hours}h{minutes}m{seconds}s"),
        (_, 1.., _) => format!("{minutes}m{seconds}.{rest:03}s"),
        (_, _, 1..) => format!("{seconds}.{rest:03}s"),
        _ => format!("{rest}ms"),
    }
}

/// The same in whole seconds: `2m3s`.
pub fn seconds_text(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (1.., _) => format!("{hours}h{minutes}m{rest}s"),
        (_, 1..) => format!("{minutes}m{rest}s"),
        _ => format!("{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        for (us, text) in [
            (0, "0us"),
            (999, "999us"),
            (2_880, "2.88ms"),
            (16_060, "16.1ms"),
            (123_456, "123ms"),
            (1_230_000, "1.23s"),
            (12_340_000, "12.3s"),
            (123_400_000, "123s"),
        ] {
            assert_eq!(human(us), text);
        }
        for (ms, text) in
            [(0, "0ms"), (999, "999ms"), (1_001, "1.001s"), (123_456, "2m3.456s"), (12_345_678, "3h25m45s")]
        {
            assert_eq!(time_text(ms), text);
        }
        assert_eq!([59, 61, 3601].map(seconds_text), ["59s", "1m1s", "1h0m1s"]);
    }

    #[test]
    fn buckets_are_quarters_of_powers_of_two() {
        let mut latency = Histogram::default();
        for us in [0, 1, 4, 6, 11, 15, 5000] {
            latency.add(us * 1000);
        }
        let buckets = Buckets::of(&latency);
        assert_eq!(buckets.text(), "1.2: 2, 4.8: 1, 6.7: 1, 11: 1, 16: 1, 5793: 1");
        assert_eq!(buckets.ranges()[0], ("0.0-1.2us".into(), 2));
        assert_eq!(buckets.ranges()[3], ("9.5-11us".into(), 1));
        assert_eq!((buckets.percentile(1.0), buckets.percentile(99.9)), ("1.2".into(), "5793".into()));
        latency.add(400_000_000_000);
        assert_eq!(Buckets::of(&latency).text(), "Histogram size exceeded");
    }
}
