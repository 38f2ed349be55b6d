//! From measured rates to rules. Each rule is one that cloud providers print: operations per second, bytes per second, how
//! many bytes count as one operation, a bucket of credit with its refill.
//!
//! Refuses a rule where the figures would look the same without it.

use iodyno_truth::statistics::{Credit, credit, median};

/// A rate at a block size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    pub bytes: u64,
    pub iops: f64,
}

impl SizePoint {
    pub fn rate(&self) -> f64 {
        self.iops * self.bytes as f64
    }
}

/// A rate over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Burst {
    pub row_ns: u64,
    /// Operations per second of each row.
    pub rates: Vec<f64>,
}

/// What was lent above the cap, in the order in which it was spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lent {
    /// Operations per second while it lasted.
    pub fast: f64,
    /// Afterwards.
    pub slow: f64,
    pub lasted_ns: f64,
    /// Operations above the slow rate.
    pub operations: f64,
}

impl Burst {
    /// What was lent and used up; `None`: it never fell.
    pub fn lent(&self) -> Option<Lent> {
        let Credit { rows, fast, slow, credit, .. } = credit(&self.rates)?;
        let seconds = self.row_ns as f64 / 1e9;
        // It may end within a row, of which the rest is as slow as all that follow.
        let within = self.rates.get(rows).map_or(0.0, |rate| (rate - slow).clamp(0.0, fast - slow));
        let part = if fast > slow { within / (fast - slow) } else { 0.0 };
        Some(Lent {
            fast,
            slow,
            lasted_ns: (rows as f64 + part) * self.row_ns as f64,
            operations: credit * slow * seconds + within * seconds,
        })
    }
}

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitFigures {
    pub cold_ns: Option<f64>,
    pub warm_ns: Option<f64>,
    pub first: Option<Burst>,
    pub again: Option<Burst>,
    pub idle_ns: u64,
    /// Mean latency at depth 1.
    pub single_ns: Option<f64>,
    pub sizes: Vec<SizePoint>,
    pub depth: u32,
}

/// The rules that explain the figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Operations per second at most; none: small operations are not slower than the path to the volume.
    pub iops: Option<f64>,
    /// Bytes per second at most; none: the largest operations still bring more.
    pub bandwidth: Option<f64>,
    /// Larger operations count as several of so many bytes; none: each counts as one.
    pub accounted_bytes: Option<u64>,
    pub lent: Option<Lent>,
    /// Operations per second that come back while nothing is done; none: nothing was lent, or nothing came back.
    pub refill: Option<f64>,
    /// How many times as long a first read takes; none: not longer.
    pub cold_times: Option<f64>,
}

/// Rates this close are the same plateau, percent.
const PLATEAU_PERCENT: f64 = 10.0;
/// The last size of the plateau of operations is what they are counted by if both rates there are final ones within this,
/// percent: where a cap on bytes alone cuts in, one of them is not, unless the size happens to be just there.
const STEP_PERCENT: f64 = 3.0;
/// A first read is slow from so many times a second one on.
const COLD_TIMES: f64 = 1.5;

impl LimitFigures {
    /// A volume whose first reads are slow shows at depth 1 what those cost, at places that were not read before: what it takes
    /// without is what the second read took.
    pub fn settled(self) -> Self {
        if self.cold_times().is_some() { LimitFigures { single_ns: self.warm_ns, ..self } } else { self }
    }

    /// How many times as long as a second read a first one takes, where that is slow.
    fn cold_times(&self) -> Option<f64> {
        let times = self.cold_ns.zip(self.warm_ns).map(|(cold, warm)| cold / warm);
        times.filter(|times| *times >= COLD_TIMES)
    }

    pub fn rules(&self) -> Rules {
        let lent = self.first.as_ref().and_then(Burst::lent);
        let (iops, accounted_bytes, bandwidth) = self.caps();
        Rules {
            iops,
            bandwidth,
            accounted_bytes,
            lent,
            refill: self.refill(lent),
            cold_times: self.cold_times(),
        }
    }

    /// Operations, accounted bytes and bandwidth.
    ///
    /// With c operations a second of at most a bytes each, and b bytes a second, the rate at a size s is
    /// min(c / ⌈s / a⌉, b / s). Below both a and b / c it is c: a plateau of operations. From some size on the rate in bytes
    /// is the same for all: that is b, or a × c where that is less. Both are told apart where a plateau of bytes has a step:
    /// at ⌈s / a⌉ the rate in operations halves, while b / s falls evenly.
    fn caps(&self) -> (Option<f64>, Option<u64>, Option<f64>) {
        let Some(first) = self.sizes.first() else {
            return (None, None, None);
        };
        let is_close = |a: f64, b: f64| (a - b).abs() <= a.max(b) * PLATEAU_PERCENT / 100.0;
        let flat = self.sizes.iter().take_while(|point| is_close(point.iops, first.iops)).count();
        // One size alone is no plateau: the path to the volume may be what is slow.
        let iops = (flat >= 2)
            .then(|| median(&self.sizes[..flat].iter().map(|point| point.iops).collect::<Vec<_>>()))
            .flatten();
        let bandwidth = plateau(&self.sizes.iter().map(SizePoint::rate).collect::<Vec<_>>());
        let Some((cap, rate)) = iops.zip(bandwidth) else { return (iops, None, bandwidth) };
        // Where the two plateaus meet: below a bandwidth cap sizes just beyond it fall evenly; counted in steps of a, the
        // last size of the plateau is a itself, and the rate in bytes there is already the final one.
        let largest = self.sizes[flat - 1];
        let is_at = |a: f64, b: f64| (a - b).abs() <= a.max(b) * STEP_PERCENT / 100.0;
        let is_step = is_at(largest.iops, cap) && is_at(largest.rate(), rate);
        match is_step {
            true => (iops, Some(largest.bytes), bandwidth),
            false => (iops, None, bandwidth),
        }
    }

    fn refill(&self, lent: Option<Lent>) -> Option<f64> {
        let (_, again) = (lent?, self.again.as_ref()?.lent()?);
        (self.idle_ns > 0).then(|| again.operations / (self.idle_ns as f64 / 1e9))
    }

    /// Whether operations in flight, and no cap, limit the rate of small ones: as fast as latency at depth 1 lets expect.
    pub fn is_limited_by_depth(&self) -> bool {
        let expected = self.single_ns.map(|ns| f64::from(self.depth) * 1e9 / ns);
        let found = self.sizes.first().map(|point| point.iops);
        expected.zip(found).is_some_and(|(expected, found)| found > expected * 0.8)
    }
}

/// The last values that are alike: their median; one of four may be an outlier. `None`: fewer than two are.
fn plateau(values: &[f64]) -> Option<f64> {
    let is_flat = |from: &usize| {
        let part = &values[*from..];
        let middle = median(part).unwrap_or(0.0);
        let far =
            part.iter().filter(|value| (*value - middle).abs() > middle * PLATEAU_PERCENT / 100.0).count();
        far <= part.len() / 4 && (values[*from] - middle).abs() <= middle * PLATEAU_PERCENT / 100.0
    };
    (0..values.len().saturating_sub(1)).find(is_flat).and_then(|from| median(&values[from..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_may_have_an_outlier() {
        assert_eq!(plateau(&[1.0, 2.0, 4.0, 8.0]), None);
        assert_eq!(plateau(&[1.0, 4.0, 8.0, 16.0, 16.1, 9.5, 16.0]), Some(16.0));
        assert_eq!(plateau(&[1.0, 16.0, 16.0]), Some(16.0));
        assert_eq!(plateau(&[7.0]), None);
    }

    /// A volume whose rules are known.
    struct Volume {
        iops: f64,
        bandwidth: f64,
        accounted: Option<u64>,
    }

    impl Volume {
        fn sizes(&self) -> Vec<SizePoint> {
            let rate = |bytes: u64| {
                let counts = self.accounted.map_or(1, |accounted| bytes.div_ceil(accounted));
                (self.iops / counts as f64).min(self.bandwidth / bytes as f64)
            };
            (12..22).map(|power| 1u64 << power).map(|bytes| SizePoint { bytes, iops: rate(bytes) }).collect()
        }

        fn rules(&self) -> Rules {
            LimitFigures { sizes: self.sizes(), depth: 64, ..LimitFigures::default() }.rules()
        }
    }

    #[test]
    fn caps_of_known_volumes_are_found() {
        // The cloud disk of the published table.
        let found = Volume { iops: 6000.0, bandwidth: 170e6, accounted: None }.rules();
        assert!((found.iops.unwrap() - 6000.0).abs() < 1.0, "{found:?}");
        assert!((found.bandwidth.unwrap() / 170e6 - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.accounted_bytes, None);
        // Where both caps meet close to a size that was measured, none is what operations are counted by.
        let found = Volume { iops: 6000.0, bandwidth: 178.26e6, accounted: None }.rules();
        assert_eq!((found.iops, found.accounted_bytes), (Some(6000.0), None));
        // Operations are counted by 256 KiB, and the bandwidth follows from that.
        let found = Volume { iops: 3000.0, bandwidth: 1e12, accounted: Some(256 << 10) }.rules();
        assert_eq!(found.accounted_bytes, Some(256 << 10), "{found:?}");
        assert!((found.bandwidth.unwrap() / (3000.0 * 262_144.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_rule_that_the_figures_do_not_need_is_not_claimed() {
        // Each size is slower in operations, none is faster in bytes: a link, and no cap on operations.
        let found = Volume { iops: 1e12, bandwidth: 100e6, accounted: None }.rules();
        assert_eq!((found.iops, found.accounted_bytes), (None, None));
        assert!(found.bandwidth.is_some());
        // Never reaches a plateau of bytes.
        let found = Volume { iops: 500.0, bandwidth: 1e12, accounted: None }.rules();
        assert!(found.iops.is_some() && found.bandwidth.is_none(), "{found:?}");
        assert_eq!(LimitFigures::default().rules(), Rules::default());
    }

    /// A bucket of so many operations, spent above a base rate.
    fn bucket(mut credit: f64, fast: f64, base: f64, rows: usize) -> Burst {
        let rate = |_| {
            let above = (fast - base).min(credit);
            credit -= above;
            base + above
        };
        Burst { row_ns: 1_000_000_000, rates: (0..rows).map(rate).collect() }
    }

    #[test]
    fn a_bucket_and_its_refill_are_found() {
        let (fast, base) = (3000.0, 300.0);
        let first = bucket(54_000.0, fast, base, 60);
        // 30 s of rest at a refill of 300 a second.
        let again = bucket(9_000.0, fast, base, 60);
        let figures = LimitFigures {
            first: Some(first),
            again: Some(again),
            idle_ns: 30_000_000_000,
            ..LimitFigures::default()
        };
        let rules = figures.rules();
        let lent = rules.lent.unwrap();
        assert!((lent.operations / 54_000.0 - 1.0).abs() < 0.05, "{lent:?}");
        assert!((lent.slow, lent.fast) == (base, fast), "{lent:?}");
        assert!((rules.refill.unwrap() / 300.0 - 1.0).abs() < 0.2, "{rules:?}");
        // A steady volume lends nothing.
        let steady = Burst { row_ns: 1, rates: vec![1000.0; 60] };
        assert_eq!(steady.lent(), None);
    }

    #[test]
    fn a_bucket_that_ends_within_a_row_is_counted_to_its_end() {
        // 2,700 above 300 for 66.7 s, in rows of 20 s.
        let rates = [3000.0, 3000.0, 3000.0, 1200.0, 300.0, 300.0, 300.0, 300.0, 300.0, 300.0].to_vec();
        let lent = Burst { row_ns: 20_000_000_000, rates }.lent().unwrap();
        assert!((lent.operations - 180_000.0).abs() < 1e-6, "{lent:?}");
        assert!((lent.lasted_ns / 1e9 - 200.0 / 3.0).abs() < 1e-6, "{lent:?}");
    }

    #[test]
    fn a_first_read_is_slow_only_where_it_is() {
        let rules = |cold, warm| {
            LimitFigures { cold_ns: Some(cold), warm_ns: Some(warm), ..LimitFigures::default() }
                .rules()
                .cold_times
        };
        assert_eq!((rules(20e6, 1e6), rules(1.1e6, 1e6)), (Some(20.0), None));
        let single = |cold, warm| {
            let (cold_ns, warm_ns, single_ns) = (Some(cold), Some(warm), Some(19e6));
            LimitFigures { cold_ns, warm_ns, single_ns, ..LimitFigures::default() }.settled().single_ns
        };
        assert_eq!((single(20e6, 1e6), single(1.1e6, 1e6)), (Some(1e6), Some(19e6)));
    }

    #[test]
    fn a_queue_too_short_for_the_cap_is_told() {
        let figures = |iops| LimitFigures {
            single_ns: Some(1e6),
            depth: 8,
            sizes: vec![SizePoint { bytes: 4096, iops }],
            ..LimitFigures::default()
        };
        assert!(figures(7_900.0).is_limited_by_depth());
        assert!(!figures(3_000.0).is_limited_by_depth());
    }
}
