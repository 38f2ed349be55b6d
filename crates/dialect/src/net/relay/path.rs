//! A bad path: which packets are lost, doubled, held back or overtaken, and when each arrives. By a seed, not by chance.
//!
//! It knows no socket and no clock: a packet's number and the time it came decide alone, so that the same packets meet
//! the same fate each time. A stream of bytes is only delayed and slowed: what is lost of it would come again.

/// What a path does to packets. Shares are in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// Every packet takes so long, ns.
    pub delay_ns: u64,
    /// More or less by at most this, evenly drawn, ns.
    pub jitter_ns: u64,
    /// Packets that do not arrive.
    pub loss_percent: f64,
    /// Packets that arrive twice.
    pub duplicate_percent: f64,
    /// Packets that are not held back, and so overtake.
    pub reorder_percent: f64,
    /// Bytes per second; 0: any.
    pub rate_bps: u64,
    /// What waits for the rate at most, bytes; more is lost.
    pub queue_bytes: u64,
    /// What is drawn follows from it.
    pub seed: u64,
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Packets that came.
    pub came: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Packets that were lost by the draw.
    pub lost: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Packets that were sent twice.
    pub doubled: u64,
    /// Packets that were not held back.
    pub overtook: u64,
}

/// One direction of a path.
#[derive(Clone, Debug)]
pub struct Path {
    impairment: Impairment,
    /// Which direction of which flow: draws of two must not agree.
    salt: u64,
    /// When the last byte is through that waits for the rate, ns.
    free_ns: u64,
    /// What became of its packets.
    pub fates: Fates,
}

/// When one packet arrives: never, once or twice, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Lost.
    Never,
    /// At this time.
    Once(u64),
    /// At these.
    Twice(u64, u64),
}

impl Path {
    /// A path in one direction.
    pub fn new(impairment: Impairment, salt: u64) -> Self {
        Path { impairment, salt, free_ns: 0, fates: Fates::default() }
    }

    /// What becomes of a packet of so many bytes that came at this time.
    pub fn datagram(&mut self, now_ns: u64, bytes: usize) -> Fate {
        let number = self.fates.came;
        self.fates.came += 1;
        self.fates.bytes += bytes as u64;
        let impairment = self.impairment;
        if self.draw(number, 0) < impairment.loss_percent {
            self.fates.lost += 1;
            return Fate::Never;
        }
        let Some(through_ns) = self.through(now_ns, bytes, true) else {
            self.fates.dropped += 1;
            return Fate::Never;
        };
        if self.draw(number, 1) < impairment.reorder_percent {
            self.fates.overtook += 1;
            return Fate::Once(through_ns);
        }
        let first = through_ns + self.delay(number, 2);
        if self.draw(number, 3) < impairment.duplicate_percent {
            self.fates.doubled += 1;
            return Fate::Twice(first, through_ns + self.delay(number, 4));
        }
        Fate::Once(first)
    }

    /// When bytes of a stream that came at this time arrive; never before those that came earlier, which the caller sees
    /// to.
    pub fn bytes(&mut self, now_ns: u64, bytes: usize) -> u64 {
        let number = self.fates.came;
        self.fates.came += 1;
        self.fates.bytes += bytes as u64;
        let through_ns = self.through(now_ns, bytes, false).unwrap_or(now_ns);
        through_ns + self.delay(number, 2)
    }

    /// When the last byte is through, at the path's rate; none: the queue before it is full.
    fn through(&mut self, now_ns: u64, bytes: usize, drops: bool) -> Option<u64> {
        let Impairment { rate_bps, queue_bytes, .. } = self.impairment;
        if rate_bps == 0 {
            return Some(now_ns);
        }
        let time_ns = |bytes: u64| (u128::from(bytes) * 1_000_000_000 / u128::from(rate_bps)) as u64;
        let waits_ns = self.free_ns.saturating_sub(now_ns);
        if drops && waits_ns > time_ns(queue_bytes) {
            return None;
        }
        self.free_ns = now_ns + waits_ns + time_ns(bytes as u64);
        Some(self.free_ns)
    }

    fn delay(&self, number: u64, what: u64) -> u64 {
        let Impairment { delay_ns, jitter_ns, .. } = self.impairment;
        let spread = self.draw(number, what) / 100.0 * 2.0 * jitter_ns as f64;
        (delay_ns + spread as u64).saturating_sub(jitter_ns)
    }

    /// A number from 0 to 100, of a packet and a question about it. Source of the mixing: SplitMix64 (Steele, Lea, Flood
    /// 2014).
    fn draw(&self, number: u64, what: u64) -> f64 {
        let place = self.salt.wrapping_mul(0xd1b5_4a32_d192_ed03) ^ (number << 3 | what);
        let mut mixed = self.impairment.seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as f64 / u64::MAX as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn ten_milliseconds_and_one_percent_come_back_as_that() {
        let impairment =
            Impairment { delay_ns: 10 * MS, loss_percent: 1.0, seed: 1, ..Impairment::default() };
        let mut path = Path::new(impairment, 0);
        for packet in 0..100_000 {
            match path.datagram(packet * 1000, 1470) {
                Fate::Once(at) => assert_eq!(at, packet * 1000 + 10 * MS),
                fate => assert_eq!(fate, Fate::Never),
            }
        }
        // Three deviations of a binomial: 3 × √(100000 × 0.01 × 0.99) = 94.
        assert!(path.fates.lost.abs_diff(1000) < 95, "{:?}", path.fates);
        assert_eq!((path.fates.came, path.fates.doubled, path.fates.dropped), (100_000, 0, 0));
    }

    #[test]
    fn the_same_seed_means_the_same_fate() {
        let fates = |seed, salt| {
            let impairment =
                Impairment { loss_percent: 30.0, jitter_ns: MS, delay_ns: MS, seed, ..Impairment::default() };
            let mut path = Path::new(impairment, salt);
            (0..100).map(|packet| path.datagram(packet, 1)).collect::<Vec<_>>()
        };
        assert_eq!(fates(1, 0), fates(1, 0));
        assert_ne!(fates(1, 0), fates(2, 0));
        assert_ne!(fates(1, 0), fates(1, 1));
    }

    #[test]
    fn doubled_and_overtaking_packets_are_as_many_as_asked_for() {
        let impairment = Impairment {
            delay_ns: 10 * MS,
            jitter_ns: 2 * MS,
            duplicate_percent: 5.0,
            reorder_percent: 10.0,
            seed: 3,
            ..Impairment::default()
        };
        let mut path = Path::new(impairment, 0);
        for packet in 0..10_000 {
            let now_ns = packet * MS;
            let arrives = match path.datagram(now_ns, 100) {
                Fate::Once(at) if at == now_ns => continue,
                Fate::Once(at) | Fate::Twice(at, _) => at - now_ns,
                Fate::Never => panic!("nothing is lost"),
            };
            assert!((8 * MS..=12 * MS).contains(&arrives));
        }
        assert!(path.fates.overtook.abs_diff(1000) < 90, "{:?}", path.fates);
        assert!(path.fates.doubled.abs_diff(450) < 65, "{:?}", path.fates);
    }

    #[test]
    fn a_rate_is_kept_and_its_queue_overflows() {
        let impairment =
            Impairment { rate_bps: 1_000_000, queue_bytes: 10_000, seed: 1, ..Impairment::default() };
        let mut path = Path::new(impairment, 0);
        // A thousand bytes each half millisecond: twice the rate.
        let arrivals: Vec<u64> = (0..1000)
            .filter_map(|packet| match path.datagram(packet * MS / 2, 1000) {
                Fate::Once(at) => Some(at),
                _ => None,
            })
            .collect();
        assert!(arrivals.windows(2).all(|two| two[1] - two[0] >= MS));
        assert!(arrivals.len().abs_diff(500) < 20, "{}", arrivals.len());
        let mut stream = Path::new(impairment, 1);
        let last = (0..100).map(|_| stream.bytes(0, 1000)).last();
        assert_eq!((last, stream.fates.dropped), (Some(100 * MS), 0));
    }
}
