//! Frames of `--isochronous` and bins of `--histograms`: what their words mean, and how times are printed by bins.
//!
//! Words and layout are those of 2.1.8. The sizes of frames are a table of equally likely ones, so that no frame is longer
//! than the buffers.

use iodyno_model::Histogram;
use iodyno_model::Size;
use iodyno_model::histogram::{bucket_of, middle};
use statrs::function::erf::erf_inv;

use super::header;
use super::number;

/// Sizes in the table of a log-normal distribution.
const SIZES: u32 = 256;
/// The largest frame, bytes.
const FRAME_MOST: f64 = (16 << 20) as f64;

/// How much a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameMean {
    /// bit/s.
    Bits(f64),
    /// Datagrams or blocks of a frame.
    Blocks(f64),
}

/// What `--isochronous` asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    pub per_second: f64,
    pub mean: FrameMean,
    /// bit/s.
    pub deviation_bits: f64,
}

impl Frames {
    /// `[FPS[:MEAN[,STDDEV]]]`.
    pub fn parse(words: &str) -> Result<Frames, ()> {
        let (per_second, load) = words.split_once(':').unwrap_or((words, ""));
        let (mean, deviation) = load.split_once(',').unwrap_or((load, ""));
        let or =
            |word: &str, default: &str| if word.is_empty() { default.to_string() } else { word.to_string() };
        let per_second: f64 = or(per_second, "60").parse().map_err(|_| ())?;
        let mean = match or(mean, "20m").strip_suffix('p') {
            Some(blocks) => FrameMean::Blocks(blocks.parse().map_err(|_| ())?),
            None => FrameMean::Bits(bits(&or(mean, "20m")).ok_or(())?),
        };
        let deviation_bits = bits(&or(deviation, "0")).ok_or(())?;
        let some = matches!(mean, FrameMean::Bits(of) | FrameMean::Blocks(of) if of > 0.0);
        let frames = Frames { per_second, mean, deviation_bits };
        let fits = (0.001..=100_000.0).contains(&per_second) && some;
        if fits && frames.mean_bytes(65_507) <= FRAME_MOST / 4.0 { Ok(frames) } else { Err(()) }
    }

    /// From one to the next, µs.
    pub fn period_us(&self) -> u32 {
        (1e6 / self.per_second).min(f64::from(u32::MAX)) as u32
    }

    /// Frames a second, with that period.
    pub fn rate(&self) -> f64 {
        1e6 / f64::from(self.period_us().max(1))
    }

    /// bit/s, of blocks of so many bytes.
    pub fn mean_bits(&self, block: u64) -> f64 {
        match self.mean {
            FrameMean::Bits(bits) => bits,
            FrameMean::Blocks(blocks) => blocks * block as f64 * 8.0 * self.per_second,
        }
    }

    fn mean_bytes(&self, block: u64) -> f64 {
        self.mean_bits(block) / 8.0 / self.per_second
    }

    /// Bytes of frames, in datagrams of so many bytes or a stream.
    pub fn sizes(&self, block: u64, udp: bool) -> Size {
        let (mean, deviation) = (self.mean_bytes(block), self.deviation_bits / 8.0 / self.per_second);
        let whole = |bytes: f64| frame_bytes(bytes, block, udp);
        if deviation <= 0.0 {
            return Size::Fixed(whole(mean));
        }
        // The distribution whose logarithm is normal, by its own mean and deviation.
        let variance = (1.0 + (deviation / mean).powi(2)).ln();
        let (middle, spread) = (mean.ln() - variance / 2.0, variance.sqrt());
        let share = 100.0 / f64::from(SIZES);
        let size = |index: u32| (middle + spread * normal((f64::from(index) + 0.5) / f64::from(SIZES))).exp();
        Size::Split((0..SIZES).map(|index| (whole(size(index)), share)).collect())
    }
}

/// Bytes of a frame that are sent: the last datagram has room for its header.
fn frame_bytes(bytes: f64, block: u64, udp: bool) -> u64 {
    let bytes = bytes.min(FRAME_MOST) as u64;
    let least = if udp { header::LEAST_LONG } else { 60 };
    match bytes % block.max(1) {
        rest if udp && rest > 0 && rest < least => bytes - rest + least,
        _ => bytes.max(least),
    }
}

/// bit/s: a suffix in upper case counts bytes.
fn bits(word: &str) -> Option<f64> {
    let is_bytes = word.ends_with(|letter: char| letter.is_ascii_uppercase());
    number::amount(word).map(|amount| if is_bytes { amount * 8.0 } else { amount })
}

/// The value below which a share of the standard normal distribution lies.
fn normal(share: f64) -> f64 {
    std::f64::consts::SQRT_2 * erf_inv(2.0 * share - 1.0)
}

/// How `--histograms` counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    pub width_us: u32,
    /// Whether the width is told in ms.
    pub in_ms: bool,
    pub count: u32,
    /// Percentiles.
    pub low: f64,
    pub high: f64,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width_us: 100, in_ms: false, count: 10_000, low: 5.0, high: 95.0 }
    }
}

impl Bins {
    /// `[WIDTH[u|m][,BINS[,LOW,HIGH]]]`.
    pub fn parse(words: &str) -> Result<Bins, ()> {
        if words.is_empty() {
            return Ok(Bins::default());
        }
        let mut each = words.split(',');
        let width = each.next().unwrap_or_default();
        let (digits, in_ms) = match width.strip_suffix('u') {
            Some(digits) => (digits, false),
            None => (width.strip_suffix('m').unwrap_or(width), true),
        };
        let width: u32 = digits.parse().map_err(|_| ())?;
        let width_us = width.checked_mul(if in_ms { 1000 } else { 1 }).filter(|us| *us > 0).ok_or(())?;
        let count = each.next().map_or(Ok(10_000), str::parse).map_err(|_| ())?;
        let mut percent = |or: f64| each.next().map_or(Ok(or), str::parse).map_err(|_| ());
        let (low, high) = (percent(5.0)?, percent(95.0)?);
        let shares = (0.0..=100.0).contains(&low) && (low..=100.0).contains(&high);
        let fits = shares && (1..=10_000_000).contains(&count) && each.next().is_none();
        if fits { Ok(Bins { width_us, in_ms, count, low, high }) } else { Err(()) }
    }

    /// The line of a server's heading.
    pub fn heading(&self) -> String {
        format!(
            "Enabled receive histograms bin-width={:.3} ms, bins={} (clients should use --trip-times)\n",
            f64::from(self.width_us) / 1000.0,
            self.count
        )
    }

    /// Times by bins with their counts, and the bins that hold the percentiles.
    pub fn print(&self, name: &str, times: &Histogram) -> String {
        let count = times.count();
        let mut bins: Vec<(u64, u64)> = Vec::new();
        let mut beyond = 0;
        for (bucket, count) in times.buckets() {
            // The extremes are known better than by their buckets.
            let value = match *bucket as usize {
                bucket if bucket == bucket_of(times.max) => times.max,
                bucket => middle(bucket),
            };
            match (value / (u64::from(self.width_us) * 1000) + 1, bins.last_mut()) {
                (bin, _) if bin > u64::from(self.count) => beyond += count,
                (bin, Some((last, sum))) if *last == bin => *sum += count,
                (bin, _) => bins.push((bin, *count)),
            }
        }
        let at = |share: f64| {
            let mut seen = 0;
            let holds = |(_, in_bin): &&(u64, u64)| {
                seen += in_bin;
                seen as f64 >= share * count as f64
            };
            bins.iter().find(holds).map_or(u64::from(self.count), |(bin, _)| *bin)
        };
        let (low, high, most) = (at(self.low / 100.0), at(self.high / 100.0), at(0.997));
        let words: Vec<String> = bins.iter().map(|(bin, count)| format!("{bin}:{count}")).collect();
        let (width, unit) = if self.in_ms { (self.width_us / 1000, "ms") } else { (self.width_us, "us") };
        format!(
            "{name}-PDF: bin(w={width}{unit}):cnt({count})={} ({:.2}/{:.2}/99.7%={low}/{high}/{most},obl/obu=0/{beyond})",
            words.join(","),
            self.low,
            self.high,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_the_original_reads_them() {
        let frames = |words| Frames::parse(words).unwrap();
        assert_eq!(frames(""), Frames { per_second: 60.0, mean: FrameMean::Bits(2e7), deviation_bits: 0.0 });
        assert_eq!(
            frames("30:4m,100k"),
            Frames { per_second: 30.0, mean: FrameMean::Bits(4e6), deviation_bits: 1e5 }
        );
        assert_eq!(frames("2:25p").mean, FrameMean::Blocks(25.0));
        assert_eq!((frames("2:25p").mean_bits(1470), frames("60").period_us()), (588_000.0, 16_666));
        for wrong in ["0", "-1:5m", "x", "30:0", "30:x", "30:2m,x", "1:100t", "30:p"] {
            assert_eq!(Frames::parse(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn sizes_of_frames_have_their_mean_and_deviation() {
        let frames = Frames::parse("30:4m,0").unwrap();
        assert_eq!(frames.sizes(1470, true), Size::Fixed(16_666));
        // As 2.1.8 sent them over TCP; what is left of a datagram has room for a header.
        assert_eq!(Frames::parse("30:400k,0").unwrap().sizes(1 << 17, false), Size::Fixed(1666));
        assert_eq!((frame_bytes(1500.0, 1470, true), frame_bytes(30.0, 1470, true)), (1590, 120));
        let Size::Split(table) = Frames::parse("30:4m,1m").unwrap().sizes(1 << 17, false) else {
            panic!("a table")
        };
        let (count, sizes) = (table.len() as f64, || table.iter().map(|(bytes, _)| *bytes as f64));
        let mean = sizes().sum::<f64>() / count;
        let deviation = (sizes().map(|size| (size - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - 16_666.0).abs() < 20.0 && (deviation - 4166.0).abs() < 60.0, "{mean} {deviation}");
        assert!((normal(0.975) - 1.959_964).abs() < 1e-5 && normal(0.5).abs() < 1e-9);
    }

    #[test]
    fn bins_are_the_originals() {
        let bins = |words| Bins::parse(words).unwrap();
        assert_eq!(bins(""), Bins::default());
        assert_eq!(bins("1m,100,5,95"), Bins { width_us: 1000, in_ms: true, count: 100, ..Bins::default() });
        assert_eq!(bins("10u").width_us, 10);
        for wrong in ["0", "x", "1m,0", "1m,5,-1", "1m,5,50,20", "1m,5,5,95,3", "1,2,101"] {
            assert_eq!(Bins::parse(wrong), Err(()), "{wrong}");
        }
        assert_eq!(
            bins("1m,100").heading(),
            "Enabled receive histograms bin-width=1.000 ms, bins=100 (clients should use --trip-times)\n"
        );
        let mut times = Histogram::default();
        (0..168).for_each(|_| times.add(500_000));
        (0..4).for_each(|_| times.add(10_500_000));
        times.add(28_612_000);
        assert_eq!(
            bins("1m,20").print("T8(f)", &times),
            "T8(f)-PDF: bin(w=1ms):cnt(173)=1:168,11:4 (5.00/95.00/99.7%=1/1/20,obl/obu=0/1)"
        );
    }
}
