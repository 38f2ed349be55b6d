//! Messages that the server sends back, `--bounceback`: their layout, and what is printed of their round trips.
//!
//! Layout learned by looking at what 2.1.8 sends: each message has the same header, and waits for its own return.

use iodyno_model::Histogram;
use iodyno_model::histogram::{BUCKETS, lower_edge, upper_edge};

use super::frames::Bins;
use super::header::First;
use crate::conversation::{word, words};

/// Octets of the header: no message is shorter.
pub const HEADER_BYTES: usize = 60;
/// The first word of a message.
pub const FLAG: u32 = 0x0080_0000;
/// The server acknowledges at once.
const QUICK: u32 = 0x8000_0000;
/// Where the server puts when a message came and went: seconds and microseconds of each.
pub const TIMES_AT: usize = 28;
/// The longest message that is sent back, bytes.
pub const BYTES_MOST: u32 = 128 << 10;

/// What a client asks for with each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounce {
    pub bytes: u32,
    /// Between a message and its return, µs.
    pub hold_us: u32,
    /// Whether the server acknowledges at once.
    pub quick: bool,
}

impl Bounce {
    /// A message.
    pub fn message(&self, unix_ns: u64) -> Vec<u8> {
        let (seconds, micros) = ((unix_ns / 1_000_000_000) as u32, (unix_ns % 1_000_000_000 / 1000) as u32);
        let quick = if self.quick { QUICK } else { 0 };
        let none = u32::MAX;
        let mut bytes = words(&[
            FLAG,
            self.bytes,
            1,
            quick,
            0,
            seconds,
            micros,
            none,
            none,
            none,
            none,
            self.hold_us,
            0,
            0,
            0,
        ]);
        bytes.extend((HEADER_BYTES..self.bytes as usize).map(|at| b'0' + (at % 10) as u8));
        bytes
    }
}

/// What a stream begins with whose first word is that of a message.
pub fn first(bytes: &[u8]) -> First {
    if bytes.len() < HEADER_BYTES {
        return First::More;
    }
    let at = |index| word(bytes, index).unwrap_or(0);
    match (HEADER_BYTES as u32..=BYTES_MOST).contains(&at(1)) {
        true => First::Bounce(Bounce { bytes: at(1), hold_us: at(11), quick: at(3) & QUICK != 0 }),
        false => First::Data,
    }
}

/// A message on its way back.
pub fn returned(message: &mut [u8], came_unix_ns: u64, unix_ns: u64) {
    let times = [came_unix_ns, unix_ns]
        .map(|ns| [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000 / 1000) as u32])
        .concat();
    message[TIMES_AT..TIMES_AT + 16].copy_from_slice(&words(&times));
}

/// Round trips since an earlier state, from which only buckets are known: extremes within 0.4 %.
pub fn since(now: &Histogram, earlier: &Histogram) -> Histogram {
    let mut counts = vec![0; BUCKETS];
    now.buckets().iter().for_each(|(bucket, count)| counts[*bucket as usize] += count);
    earlier.buckets().iter().for_each(|(bucket, count)| {
        let cell = &mut counts[*bucket as usize];
        *cell = u64::saturating_sub(*cell, *count);
    });
    let used = || counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, _)| bucket);
    let (first, last) = (used().next(), used().next_back());
    let edge = |bucket: Option<usize>, of: fn(usize) -> u64| bucket.map_or(0, of).clamp(now.min, now.max);
    let (min, max) = (edge(first, lower_edge), edge(last, upper_edge));
    let sum = now.sum.saturating_sub(earlier.sum);
    match first {
        None => Histogram::default(),
        Some(_) => Histogram::from_counts(counts.into_iter(), sum, min, max),
    }
}

/// The columns of a row behind its rate.
pub fn columns(round_trips: &Histogram, retransmits: u64, cwnd_bytes: u64, rtt_us: u32) -> String {
    let ms = |ns: f64| ns / 1e6;
    let mean = round_trips.mean();
    let each = if mean > 0.0 { 1e9 / mean } else { 0.0 };
    let each = if each < 10.0 { format!("{each:.1}") } else { format!("{each:.0}") };
    format!(
        "    {}={:.3}/{:.3}/{:.3}/{:.3} ms {:>4} {:>4}K/{rtt_us} us    {each} rps",
        round_trips.count(),
        ms(mean),
        ms(round_trips.min as f64),
        ms(round_trips.max as f64),
        ms(round_trips.deviation()),
        retransmits,
        cwnd_bytes >> 10,
    )
}

/// Their distribution.
pub fn distribution(round_trips: &Histogram) -> String {
    Bins::default().print("BB8(f)", round_trips)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(text: &str) -> Vec<u8> {
        let word = |word: &str| u32::from_str_radix(word, 16).expect("hexadecimal").to_be_bytes();
        text.split_whitespace().flat_map(word).collect()
    }

    #[test]
    fn messages_are_the_originals() {
        // What `iperf -c HOST --bounceback --bounceback-hold 5` of 2.1.8 was seen to send, and the answer of its server; what
        // it leaves as it was in memory (5a) is 0 here.
        let seen = hexadecimal(
            "00800000 00000064 00000001 80000000 00000000 6b06e25b 0005de01 ffffffff ffffffff ffffffff ffffffff 00001388 \
             00000000 00000000 00000000 30313233 34353637 38393031 32333435 36373839 30313233 34353637 38393031 32333435 \
             36373839",
        );
        let bounce = Bounce { bytes: 100, hold_us: 5000, quick: true };
        let at = |seconds: u64, micros: u64| seconds * 1_000_000_000 + micros * 1000;
        let mut message = bounce.message(at(0x6b06_e25b, 0x5de01));
        assert_eq!(message, seen);
        assert_eq!((first(&seen), first(&seen[..59])), (First::Bounce(bounce), First::More));
        returned(&mut message, at(0x6b06_e25b, 0x5df8a), at(0x6b06_e25b, 0x5f445));
        assert_eq!(message[28..44], hexadecimal("6b06e25b 0005df8a 6b06e25b 0005f445"));
        let mut wrong = seen.clone();
        for bytes in [59_u32, BYTES_MOST + 1] {
            wrong[4..8].copy_from_slice(&bytes.to_be_bytes());
            assert_eq!(first(&wrong), First::Data);
        }
    }

    #[test]
    fn round_trips_are_printed_as_the_original_prints_them() {
        let mut all = Histogram::default();
        assert_eq!(columns(&all, 0, 0, 0), "    0=0.000/0.000/0.000/0.000 ms    0    0K/0 us    0.0 rps");
        [14_000, 14_000, 180_000].iter().for_each(|ns| all.add(*ns));
        let text = columns(&all, 0, 576 << 10, 19);
        assert_eq!(text, "    3=0.069/0.014/0.180/0.078 ms    0  576K/19 us    14423 rps");
        let earlier = all.clone();
        (0..18).for_each(|_| all.add(20_000));
        all.add(1_707_000);
        let later = since(&all, &earlier);
        assert_eq!((later.count(), later.sum), (19, 18 * 20_000 + 1_707_000));
        assert!(later.min.abs_diff(20_000) < 100 && later.max == 1_707_000);
        assert_eq!(since(&all, &all), Histogram::default());
        assert_eq!(
            distribution(&all),
            "BB8(f)-PDF: bin(w=100us):cnt(22)=1:20,2:1,18:1 (5.00/95.00/99.7%=1/2/18,obl/obu=0/0)"
        );
        all.add(1_000_000_000);
        assert!(distribution(&all).ends_with("/10000,obl/obu=0/1)"));
    }
}
