//! The way between two hosts: how long it takes, how much it carries, what it loses.
//!
//! Each direction carries one thing after another. What is lost is drawn from a seed; of a stream, what is lost is sent
//! again, so that it comes later and uses the way twice.

use std::collections::BTreeMap;

use crate::random::Random;

/// Bytes of a segment of a stream.
pub const SEGMENT_BYTES: u64 = 1448;
/// Which stream of random numbers is the network's.
const STREAM: u64 = 0x4e45_5400_0000_0000;

/// What every link is like.
#[derive(Clone, Debug)]
pub struct Link {
    /// From one end to the other, ns; at least 1 µs.
    pub latency_ns: u64,
    /// What it carries in each direction, bits per second.
    pub bits_per_second: u64,
    /// The share of datagrams, and of a stream's segments, that are lost: 0 to 1.
    pub loss: f64,
    /// By how much a datagram comes later at most, ns, evenly drawn.
    pub jitter_ns: u64,
    /// How much of a stream may be under way or unread, bytes.
    pub window_bytes: u64,
    /// From when to when nothing goes through, ns. What a stream sends then comes afterwards.
    pub cut_ns: Option<(u64, u64)>,
    /// Of what is drawn.
    pub seed: u64,
}

impl Default for Link {
    /// A gigabit and a tenth of a millisecond, without loss.
    fn default() -> Self {
        Link {
            latency_ns: 100_000,
            bits_per_second: 1_000_000_000,
            loss: 0.0,
            jitter_ns: 0,
            window_bytes: 4 << 20,
            cut_ns: None,
            seed: 1,
        }
    }
}

/// What became of something that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When it has left the sender, ns.
    pub left_ns: u64,
    /// When it arrives, ns; none: it never does.
    pub arrives_ns: Option<u64>,
    /// Segments that were sent again.
    pub again: u64,
}

pub struct Wires {
    /// What each is like.
    pub link: Link,
    random: Random,
    /// By direction: when it has carried what it was given, ns.
    free_ns: BTreeMap<(usize, usize), u64>,
}

impl Wires {
    /// Wires of one kind.
    pub fn new(link: &Link) -> Self {
        let mut link = link.clone();
        // Time must move, or an exchange without end would take none.
        link.latency_ns = link.latency_ns.max(1000);
        link.bits_per_second = link.bits_per_second.max(1);
        Wires { random: Random::from_seed(link.seed, STREAM), link, free_ns: BTreeMap::new() }
    }

    /// How long so many bytes take on the way itself, ns.
    fn transfer_ns(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 8_000_000_000 / u128::from(self.link.bits_per_second)) as u64
    }

    fn is_lost(&mut self) -> bool {
        self.link.loss > 0.0 && self.random.unit() < self.link.loss
    }

    /// Whether nothing goes through at a time, and until when.
    fn cut_until(&self, at_ns: u64) -> Option<u64> {
        self.link.cut_ns.filter(|(from, until)| (*from..*until).contains(&at_ns)).map(|(_, until)| until)
    }

    fn occupy(&mut self, way: (usize, usize), bytes: u64, now_ns: u64) -> u64 {
        let transfer_ns = self.transfer_ns(bytes);
        let free_ns = self.free_ns.entry(way).or_default();
        *free_ns = (*free_ns).max(now_ns) + transfer_ns;
        *free_ns
    }

    /// Sends part of a stream.
    pub fn stream(&mut self, way: (usize, usize), bytes: u64, now_ns: u64) -> Passage {
        let segments = if self.link.loss > 0.0 { bytes.div_ceil(SEGMENT_BYTES) } else { 0 };
        let again = (0..segments).filter(|_| self.is_lost()).count() as u64;
        let left_ns = self.occupy(way, bytes + again * SEGMENT_BYTES, now_ns);
        let latency_ns = self.link.latency_ns;
        // What is missing is noticed and sent again: a round trip more.
        let late_ns = if again > 0 { 2 * latency_ns } else { 0 };
        let through = match self.cut_until(left_ns) {
            Some(u64::MAX) => None,
            Some(until) => Some(until),
            None => Some(left_ns),
        };
        Passage { left_ns, arrives_ns: through.map(|at| at + latency_ns + late_ns), again }
    }

    /// Sends a datagram.
    pub fn datagram(&mut self, way: (usize, usize), bytes: u64, now_ns: u64) -> Passage {
        let left_ns = self.occupy(way, bytes, now_ns);
        let lost = self.is_lost() || self.cut_until(left_ns).is_some();
        let jitter_ns = match self.link.jitter_ns {
            0 => 0,
            most => self.random.below(most),
        };
        let arrives_ns = left_ns + self.link.latency_ns + jitter_ns;
        Passage { left_ns, arrives_ns: (!lost).then_some(arrives_ns), again: 0 }
    }

    /// When a sign without content arrives that is sent now; none: it never does.
    pub fn sign(&self, now_ns: u64) -> Option<u64> {
        match self.cut_until(now_ns) {
            Some(u64::MAX) => None,
            Some(until) => Some(until + self.link.latency_ns),
            None => Some(now_ns + self.link.latency_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gbit/s: 125 bytes in a microsecond.
    fn wires(link: Link) -> Wires {
        Wires::new(&link)
    }

    #[test]
    fn one_thing_after_another() {
        let mut wires = wires(Link::default());
        let first = wires.stream((0, 1), 125_000, 0);
        assert_eq!((first.left_ns, first.arrives_ns), (1_000_000, Some(1_100_000)));
        let second = wires.datagram((0, 1), 125, 500_000);
        assert_eq!((second.left_ns, second.arrives_ns), (1_001_000, Some(1_101_000)));
        // The other direction is free.
        assert_eq!(wires.stream((1, 0), 125, 500_000).left_ns, 501_000);
    }

    #[test]
    fn what_is_lost_is_drawn_from_the_seed() {
        let lost = |seed| {
            let mut wires = wires(Link { loss: 0.1, seed, ..Link::default() });
            (0..1000).map(|_| wires.datagram((0, 1), 125, 0).arrives_ns.is_none()).collect::<Vec<_>>()
        };
        assert_eq!(lost(3), lost(3));
        assert_ne!(lost(3), lost(4));
        let count = lost(3).into_iter().filter(|lost| *lost).count();
        assert!((80..=120).contains(&count), "{count}");
    }

    #[test]
    fn a_stream_comes_through_later() {
        let mut wires = wires(Link { cut_ns: Some((0, 5_000_000)), ..Link::default() });
        assert_eq!(wires.stream((0, 1), 125, 0).arrives_ns, Some(5_100_000));
        assert_eq!(wires.datagram((0, 1), 125, 0).arrives_ns, None);
        wires.link.cut_ns = Some((0, u64::MAX));
        assert_eq!((wires.stream((0, 1), 125, 0).arrives_ns, wires.sign(7)), (None, None));
    }
}
