//! How operations arrive: distances between them, bursts, and whether bursts look alike at all scales.

use iodyno_model::Histogram;

/// Lengths of the windows in which arrivals are counted, ns.
pub const WINDOWS_NS: [u64; 3] = [1_000_000, 100_000_000, 1_000_000_000];
/// The shortest time over which the Hurst parameter looks, ns.
const FINEST_NS: u64 = 1_000_000;
/// Scales, each twice as long as the one before.
const SCALES: usize = 54;
/// A scale is used where it has so many differences, …
const DIFFERENCES_LEAST: u64 = 8;
/// … and so many arrivals in the mean, below which each scale is like independent arrivals.
const ARRIVALS_LEAST: f64 = 4.0;
/// A line needs so many scales.
const SCALES_LEAST: usize = 4;

/// Arrivals in windows of one length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowCounts {
    pub window_ns: u64,
    /// Whole windows.
    pub windows: u64,
    pub mean: f64,
    pub most: u64,
    /// Variance over mean (index of dispersion of counts): 1 for independent arrivals, 0 for even ones.
    pub dispersion: f64,
}

impl WindowCounts {
    /// The busiest window over the mean.
    pub fn peak(&self) -> f64 {
        if self.mean > 0.0 { self.most as f64 / self.mean } else { 0.0 }
    }
}

/// The Hurst parameter: 0.5 where bursts even out as time goes on, towards 1 where they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hurst {
    pub value: f64,
    /// Half of its 95 % interval, from the scales' numbers of differences.
    pub error: f64,
    /// From the shortest to the longest scale that it rests on, ns.
    pub from_ns: u64,
    pub to_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    window: u64,
    count: u64,
    sum: f64,
    squares: f64,
    most: u64,
}

/// Watches arrivals in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    pub distances_ns: Histogram,
    last_ns: Option<u64>,
    counters: [Counter; WINDOWS_NS.len()],
    scales: HaarScales,
    /// The window of the finest scale that is being counted, and its count.
    finest: (u64, u64),
}

impl Arrivals {
    pub fn add(&mut self, at_ns: u64) {
        if let Some(last) = self.last_ns {
            self.distances_ns.add(at_ns.saturating_sub(last));
        }
        self.last_ns = Some(at_ns);
        for (counter, width) in self.counters.iter_mut().zip(WINDOWS_NS) {
            counter.advance(at_ns / width);
            counter.count += 1;
        }
        let window = at_ns / FINEST_NS;
        if window > self.finest.0 {
            self.scales.push(0, self.finest.1 as f64);
            self.scales.push_empty(0, window - self.finest.0 - 1);
            self.finest = (window, 0);
        }
        self.finest.1 += 1;
    }

    /// The counts of whole windows. The window that the trace ends in is not whole.
    pub fn windows(&self) -> Vec<WindowCounts> {
        let counts = |(counter, window_ns): (&Counter, u64)| {
            let windows = counter.window;
            let mean = counter.sum / windows.max(1) as f64;
            let variance = counter.squares / windows.max(1) as f64 - mean * mean;
            let dispersion = if mean > 0.0 { (variance / mean).max(0.0) } else { 0.0 };
            WindowCounts { window_ns, windows, mean, most: counter.most, dispersion }
        };
        self.counters.iter().zip(WINDOWS_NS).map(counts).collect()
    }

    /// The Hurst parameter by the logscale diagram of Haar wavelets (Abry, Veitch: Wavelet Analysis of Long-Range-Dependent
    /// Traffic, IEEE Trans. Inf. Theory 44, 1998); nothing: the trace is too short for it.
    pub fn hurst(&self) -> Option<Hurst> {
        self.scales.hurst()
    }
}

impl Counter {
    /// Ends the windows before this one.
    fn advance(&mut self, window: u64) {
        if window <= self.window {
            return;
        }
        self.sum += self.count as f64;
        self.squares += (self.count as f64).powi(2);
        self.most = self.most.max(self.count);
        (self.window, self.count) = (window, 0);
    }
}

/// Energies of the differences between neighbouring windows, scale by scale.
#[derive(Clone, Debug)]
struct HaarScales([HaarScale; SCALES]);

impl Default for HaarScales {
    fn default() -> HaarScales {
        HaarScales([HaarScale::default(); SCALES])
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct HaarScale {
    /// The first of a pair, scaled as the pair's sum is.
    pending: Option<f64>,
    differences: u64,
    energy: f64,
    /// Sum of all values, for the mean.
    sum: f64,
}

impl HaarScales {
    fn push(&mut self, scale: usize, value: f64) {
        let Some(here) = self.0.get_mut(scale) else { return };
        match here.pending.take() {
            None => here.pending = Some(value),
            Some(first) => {
                here.differences += 1;
                here.energy += (first - value).powi(2) / 2.0;
                here.sum += first + value;
                self.push(scale + 1, (first + value) / std::f64::consts::SQRT_2);
            }
        }
    }

    /// So many windows without an arrival, without counting each.
    fn push_empty(&mut self, scale: usize, count: u64) {
        if count == 0 || scale >= SCALES {
            return;
        }
        let mut count = count;
        if self.0[scale].pending.is_some() {
            self.push(scale, 0.0);
            count -= 1;
        }
        self.0[scale].differences += count / 2;
        self.push_empty(scale + 1, count / 2);
        if count % 2 == 1 {
            self.0[scale].pending = Some(0.0);
        }
    }

    fn hurst(&self) -> Option<Hurst> {
        // log2 of the mean energy against the scale's number, weighted by what each rests on; the logarithm of a mean of n
        // squares is too small by 1 / (n ln 2), and its variance is 2 / (n ln² 2).
        let mut points = Vec::new();
        for (index, scale) in self.0.iter().enumerate() {
            let count = scale.differences as f64;
            let arrivals = scale.sum / (2.0 * count) * (index as f64 / 2.0).exp2();
            if scale.differences < DIFFERENCES_LEAST || arrivals < ARRIVALS_LEAST || scale.energy <= 0.0 {
                continue;
            }
            let ln2 = std::f64::consts::LN_2;
            let level = (scale.energy / count).log2() + 1.0 / (count * ln2);
            points.push((index as f64 + 1.0, level, count * ln2 * ln2 / 2.0));
        }
        if points.len() < SCALES_LEAST {
            return None;
        }
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y, w)| w * of(*x, *y)).sum::<f64>();
        let (s, sx, sxx) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|x, _| x * x));
        let (sy, sxy) = (sum(&|_, y| y), sum(&|x, y| x * y));
        let spread = s * sxx - sx * sx;
        let slope = (s * sxy - sx * sy) / spread;
        let length = |x: f64| FINEST_NS.saturating_mul(1 << (x as u32).min(43));
        Some(Hurst {
            value: f64::midpoint(slope, 1.0),
            error: 1.96 * (s / spread).sqrt() / 2.0,
            from_ns: length(points[0].0),
            to_ns: length(points[points.len() - 1].0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct::block_hash;
    use super::*;

    fn uniform(seed: u32, index: u64) -> f64 {
        ((block_hash(seed, index) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Arrivals from counts in windows of the finest scale, spread evenly inside.
    fn of_counts(counts: impl IntoIterator<Item = u64>) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (window, count) in counts.into_iter().enumerate() {
            let step = FINEST_NS / count.max(1);
            (0..count).for_each(|at| arrivals.add(window as u64 * FINEST_NS + at * step));
        }
        arrivals
    }

    /// Fractional Gaussian noise of a known Hurst parameter, exact (Hosking, Water Resources Research 20, 1984).
    fn fractional_noise(seed: u32, hurst: f64, length: usize) -> Vec<f64> {
        let gauss = |index: u64| {
            let (a, b) = (uniform(seed, 2 * index), uniform(seed, 2 * index + 1));
            (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
        };
        let correlation = |lag: f64| {
            let power = |x: f64| x.abs().powf(2.0 * hurst);
            (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0
        };
        let (mut noise, mut weights, mut variance) = (vec![gauss(0)], Vec::<f64>::new(), 1.0);
        for n in 1..length {
            let known: f64 =
                weights.iter().enumerate().map(|(j, w)| w * correlation((n - 1 - j) as f64)).sum();
            let last = (correlation(n as f64) - known) / variance;
            let reversed: Vec<f64> = weights.iter().rev().copied().collect();
            weights.iter_mut().zip(reversed).for_each(|(weight, other)| *weight -= last * other);
            weights.push(last);
            variance *= 1.0 - last * last;
            let mean: f64 = weights.iter().enumerate().map(|(j, w)| w * noise[n - 1 - j]).sum();
            noise.push(mean + variance.sqrt() * gauss(n as u64));
        }
        noise
    }

    #[test]
    fn the_hurst_parameter_of_known_series_is_found() {
        for (hurst, seed) in [(0.5, 1), (0.6, 2), (0.8, 3), (0.9, 4)] {
            let noise = fractional_noise(seed, hurst, 1 << 11);
            let counts = noise.iter().map(|value| (200.0 + 40.0 * value).round().max(0.0) as u64);
            let found = of_counts(counts).hurst().unwrap();
            assert!((found.value - hurst).abs() < 0.08, "{hurst}: {found:?}");
            assert!(found.error > 0.0 && found.error < 0.08);
        }
    }

    #[test]
    fn independent_arrivals_have_a_dispersion_of_one_and_a_half() {
        let (mut arrivals, mut at) = (Arrivals::default(), 0.0);
        for index in 0..200_000 {
            at += -uniform(9, index).ln() * 100_000.0;
            arrivals.add(at as u64);
        }
        let windows = arrivals.windows();
        assert_eq!(
            windows.iter().map(|window| window.windows).collect::<Vec<_>>(),
            [(at / 1e6) as u64, (at / 1e8) as u64, (at / 1e9) as u64]
        );
        assert!((windows[0].dispersion - 1.0).abs() < 0.05, "{windows:?}");
        assert!((windows[1].dispersion - 1.0).abs() < 0.25, "{windows:?}");
        let hurst = arrivals.hurst().unwrap();
        assert!((hurst.value - 0.5).abs() < 0.05, "{hurst:?}");
    }

    #[test]
    fn even_arrivals_do_not_burst_and_short_traces_tell_nothing() {
        let even = of_counts([10; 3000]);
        assert_eq!((even.windows()[0].dispersion, even.windows()[0].peak()), (0.0, 1.0));
        assert_eq!(of_counts([3; 20]).hurst(), None);
        assert_eq!(
            Arrivals::default().windows()[0],
            WindowCounts { window_ns: 1_000_000, ..WindowCounts::default() }
        );
    }

    #[test]
    fn long_silence_costs_nothing_and_counts_as_windows() {
        let mut arrivals = Arrivals::default();
        arrivals.add(0);
        arrivals.add(u64::MAX);
        let windows = arrivals.windows();
        assert_eq!((windows[0].windows, windows[0].most), (u64::MAX / 1_000_000, 1));
    }
}
