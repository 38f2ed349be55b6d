//! How counts are spread: over depths, batch sizes, and coarse steps of completion latency.

use iodyno_model::Tally;
use iodyno_model::histogram::middle;

use super::direction::Direction;

/// The counts of each step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Operations by how many were in flight: 1, 2, 4, … 32, 64 and more.
    pub depths: [u64; 7],
    /// Batches handed over by how many were in them: 0, up to 4, 8, … 64, and more.
    pub submits: [u64; 7],
    /// Batches that completed, likewise.
    pub completes: [u64; 7],
    /// Operations that took less than 2, 4, 10, … 1000 ns.
    pub ns: [u64; 10],
    /// Likewise in µs.
    pub us: [u64; 10],
    /// Likewise in ms; then less than 2000, and more.
    pub ms: [u64; 12],
    /// All operations on data.
    pub issued: u64,
}

/// Where the coarse steps end.
const STEPS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

impl Spectrum {
    /// One worker's part.
    pub fn of(tally: &Tally, directions: &[Direction; 3]) -> Self {
        let mut spectrum = Spectrum {
            issued: directions.iter().map(|direction| direction.issued).sum(),
            ..Spectrum::default()
        };
        spread(&tally.depths, &mut spectrum.depths, |number| number.max(1).ilog2());
        spread(&tally.submits, &mut spectrum.submits, batch);
        spread(&tally.completes, &mut spectrum.completes, batch);
        let latencies = directions.iter().flat_map(|direction| direction.completion.buckets());
        for (bucket, count) in latencies {
            spectrum.count(middle(*bucket as usize), *count);
        }
        spectrum
    }

    /// Depths, submitted batches and completed batches: the names of the steps, and their shares in percent.
    pub fn levels(&self) -> [([&'static str; 7], [f64; 7]); 3] {
        let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
        let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
        let of_all = |counts: [u64; 7]| (batches, shares(counts, counts.iter().sum(), 0.1));
        [(depths, shares(self.depths, self.issued, 0.1)), of_all(self.submits), of_all(self.completes)]
    }

    /// The coarse steps of latency in ns, µs and ms: their names, and their shares in percent.
    pub fn steps(&self) -> [Vec<(String, f64)>; 3] {
        let named = |shares: &[f64]| {
            let names = STEPS.iter().map(u64::to_string).chain([">=2000".into()]);
            names.zip(shares.iter().copied()).collect()
        };
        [
            named(&shares(self.ns, self.issued, 0.01)),
            named(&shares(self.us, self.issued, 0.01)),
            named(&shares(self.ms, self.issued, 0.01)),
        ]
    }

    fn count(&mut self, ns: u64, count: u64) {
        let step = |value: u64| STEPS.iter().position(|end| value < *end).unwrap_or(STEPS.len());
        match ns {
            ..1000 => self.ns[step(ns)] += count,
            1000..1_000_000 => self.us[step(ns / 1000)] += count,
            _ => self.ms[step(ns / 1_000_000)] += count,
        }
    }

    /// Adds another worker's.
    pub fn add(&mut self, other: &Spectrum) {
        fn sum(mine: &mut [u64], theirs: &[u64]) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        sum(&mut self.depths, &other.depths);
        sum(&mut self.submits, &other.submits);
        sum(&mut self.completes, &other.completes);
        sum(&mut self.ns, &other.ns);
        sum(&mut self.us, &other.us);
        sum(&mut self.ms, &other.ms);
        self.issued += other.issued;
    }
}

fn spread(counts: &[u64], steps: &mut [u64; 7], step: fn(u64) -> u32) {
    for (number, count) in counts.iter().enumerate() {
        steps[step(number as u64).min(6) as usize] += count;
    }
}

/// None, up to 4, up to 8, …
fn batch(number: u64) -> u32 {
    match number {
        0 => 0,
        1..=4 => 1,
        number => (number - 1).ilog2(),
    }
}

/// Shares in percent of a total; what is there at all is shown as at least `least`.
pub fn shares<const N: usize>(counts: [u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (count as f64 * 100.0 / total as f64).max(least),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_and_batches_fall_where_fio_puts_them() {
        let mut steps = [0; 7];
        spread(&[0, 1, 1, 1, 1], &mut steps, |number| number.max(1).ilog2());
        assert_eq!(steps, [1, 2, 1, 0, 0, 0, 0]);
        let found = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 4096].map(|number| batch(number).min(6));
        assert_eq!(found, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }

    #[test]
    fn latencies_fall_below_the_step_they_are_named_after() {
        let mut spectrum = Spectrum::default();
        [1, 2, 999, 1000, 1_999_999_999, 2_000_000_000].iter().for_each(|ns| spectrum.count(*ns, 1));
        assert_eq!((spectrum.ns[0], spectrum.ns[1], spectrum.ns[9], spectrum.us[0]), (1, 1, 1, 1));
        assert_eq!((spectrum.ms[10], spectrum.ms[11]), (1, 1));
    }

    #[test]
    fn what_is_there_is_shown() {
        assert_eq!(shares([0, 1, 9999], 10_000, 0.1), [0.0, 0.1, 99.99]);
        assert_eq!(shares([1], 0, 0.1), [0.0]);
    }
}
