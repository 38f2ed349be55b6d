//! What iperf 2 writes into its data: the test's header, the number of a datagram, and the receiver's report.
//!
//! Layout learned by looking at what 2.1.8 sends: words of 32 bits, most significant byte first. Whatever comes in may
//! be forged: lengths are checked, nothing is believed that could not be true, and a header that is none is data.

use super::bounceback::{self, Bounce};
use super::flow::OneWay;
use crate::conversation::{word, words};

/// Octets of the test's header.
pub const TEST_BYTES: usize = 60;
/// Octets in front of every datagram: number, seconds, microseconds, upper half of the number.
pub const DATAGRAM_BYTES: usize = 16;
/// Octets of the receiver's report, the datagram's own included.
pub const REPORT_BYTES: usize = 128;

/// What stands behind a report of ours: this word, and how many datagrams found the receive buffer full. The original
/// reads a report's own length and no more.
const OVERFLOWED: u32 = u32::from_be_bytes(*b"ovfl");

const VERSION_1: u32 = 0x8000_0000;
const EXTENDED: u32 = 0x4000_0000;
/// Of datagrams: there is more behind the header than the datagram's own length tells.
const UDP_TESTS: u32 = 0x2000_0000;
const NUMBERS_64: u32 = 0x0800_0000;
const SYNCHRONOUS: u32 = 0x0400_0000;
const HAS_LENGTH: u32 = 0x0001_0000;
const RUN_NOW: u32 = 1;
const REVERSE: u32 = 0x0400_0000;
const FULL_DUPLEX: u32 = 0x0800_0000;
/// Nobody reports what came.
const NO_REPORT: u32 = 0x0008_0000;
/// Clocks of both hosts agree; bursts at even times; a load beside round trips.
const TRIP_TIMES: u32 = 0x0010_0000;
const ISOCHRONOUS: u32 = 0x0001_0000;
const QUICK: u32 = 0x8000_0000;
/// Octets of the header of a stream whose bursts have times.
const LONG_BYTES: usize = 80;
/// In datagrams that have times: octets of the header with its burst's behind it, where the burst's begins, and where the
/// time of the test's beginning stands.
const LONG_DATAGRAM_BYTES: usize = 108;
pub const BURST_AT: usize = DATAGRAM_BYTES + TEST_BYTES;
const BEGUN_WORD: usize = 28;
/// What a datagram has at least that carries all of it.
pub const LEAST_LONG: u64 = 120;
/// Version 2.1.8, as it tells it.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];
const ACKNOWLEDGED: u32 = 2;
const ACKNOWLEDGED_BYTES: u32 = 28;
/// The most time that a peer may ask of us, ns: a day.
const MOST_NS: u64 = 86_400_000_000_000;

/// Until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// ns.
    Time(u64),
    Bytes(u64),
}

impl Default for Amount {
    /// As long as iperf sends by default: 10 s.
    fn default() -> Self {
        Amount::Time(10_000_000_000)
    }
}

/// When the peer sends to us too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// At the same time (`-d`).
    Now,
    /// Afterwards (`-r`).
    Later,
}

/// What a client tells the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestHeader {
    pub streams: u32,
    /// The port the client waits at, or the server's.
    pub port: u16,
    /// Bytes of a write; 0: the default.
    pub block_bytes: u32,
    /// Until when.
    pub amount: Amount,
    /// The server is to connect to us and send, too.
    pub back: Option<Back>,
    /// The server sends, on this very connection.
    pub reverse: bool,
    /// bit/s; 0: none.
    pub rate_bits: u32,
    /// Both send, on this very connection.
    pub full_duplex: bool,
    /// Times of both hosts' clocks can be compared.
    pub trip_times: bool,
    /// Bursts at even times, with so many µs between; 0: it is not told, none: as it goes.
    pub period_us: Option<u32>,
    /// It is a load beside round trips.
    pub quick: bool,
    /// Whether the header is the long one, which the server answers: false for clients before 2.1.
    pub extended: bool,
    /// The client's version; none: it does not tell.
    pub version: Option<[u16; 3]>,
}

impl TestHeader {
    /// Whether each burst says when it was due.
    pub fn has_bursts(&self) -> bool {
        (self.trip_times || self.period_us.is_some()) && !self.full_duplex
    }
}

/// What the first bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Too few to tell.
    More,
    /// Data, without a header.
    Data,
    /// A header.
    Test(TestHeader),
    /// The first of the messages that are to be sent back.
    Bounce(Bounce),
}

/// The header of a test over TCP, which begins now.
pub fn tcp(test: &TestHeader, unix_ns: u64) -> Vec<u8> {
    let mut test_words = test_words(test, tcp_flags(test)).to_vec();
    if test.has_bursts() {
        test_words.push(0);
        test_words.extend(seconds_and_micros(unix_ns));
        test_words.resize(LONG_BYTES / 4, 0);
    }
    words(&test_words)
}

fn tcp_flags(test: &TestHeader) -> u32 {
    let bytes = if test.has_bursts() { LONG_BYTES } else { TEST_BYTES };
    let synchronous = if test.reverse || test.full_duplex { SYNCHRONOUS } else { 0 };
    EXTENDED | HAS_LENGTH | (bytes as u32) << 1 | synchronous
}

/// The front of a burst of a stream: its times, its number and its length are put there as it goes.
pub fn burst(test: &TestHeader) -> Vec<u8> {
    let port = u32::from(test.port);
    let wishes = test_words(test, 0)[8];
    let (upper, period) = (VERSION[0], test.period_us.unwrap_or(0));
    words(&[tcp_flags(test), test.streams, port, 0, 0, 0, 0, 0, wishes, upper, period, 0, 0, 0, 0])
}

fn seconds_and_micros(unix_ns: u64) -> [u32; 2] {
    [(unix_ns / 1_000_000_000) as u32, (unix_ns % 1_000_000_000 / 1000) as u32]
}

/// The header of a test over UDP, with the datagram's own in front: number 1 where it stands alone.
pub fn udp(test: &TestHeader, number: i64, unix_ns: u64) -> Vec<u8> {
    datagram(test, number, unix_ns, test.full_duplex)
}

/// The same as a server's datagrams carry it whose times are measured: the client reads in it when the test began.
pub fn udp_back(test: &TestHeader, number: i64, unix_ns: u64) -> Vec<u8> {
    datagram(&TestHeader { reverse: false, ..*test }, number, unix_ns, true)
}

fn datagram(test: &TestHeader, number: i64, unix_ns: u64, unreported: bool) -> Vec<u8> {
    let long = test.trip_times || test.period_us.is_some();
    let length = if long { LONG_DATAGRAM_BYTES } else { DATAGRAM_BYTES + TEST_BYTES } as u32;
    let mut flags = EXTENDED | NUMBERS_64 | HAS_LENGTH | length << 1;
    if long {
        flags |= UDP_TESTS;
    }
    if test.reverse || test.full_duplex {
        flags |= UDP_TESTS | SYNCHRONOUS;
    }
    let mut bytes = numbered(number, unix_ns);
    let mut test_words = test_words(test, flags);
    if unreported {
        test_words[8] |= NO_REPORT;
    }
    bytes.extend(words(&test_words));
    if long {
        let mut more = [0; LEAST_LONG as usize / 4 - BURST_AT / 4];
        more[0] = test.period_us.unwrap_or(0);
        let begun = BEGUN_WORD - BURST_AT / 4;
        more[begun..begun + 2].copy_from_slice(&seconds_and_micros(unix_ns));
        bytes.extend(words(&more));
    }
    bytes
}

/// The beginning of a datagram. The last of a test has its number negated.
pub fn numbered(number: i64, unix_ns: u64) -> Vec<u8> {
    let seconds = (unix_ns / 1_000_000_000) as u32;
    words(&[number as u32, seconds, (unix_ns % 1_000_000_000 / 1000) as u32, (number >> 32) as u32])
}

fn test_words(test: &TestHeader, flags: u32) -> [u32; TEST_BYTES / 4] {
    let back = match test.back {
        Some(Back::Now) => VERSION_1 | RUN_NOW,
        Some(Back::Later) => VERSION_1,
        None => 0,
    };
    let amount = match test.amount {
        Amount::Time(ns) => (-((ns / 10_000_000).min(i32::MAX as u64) as i64)) as u32,
        Amount::Bytes(bytes) => bytes.min(i32::MAX as u64) as u32,
    };
    let wishes = [
        (test.reverse, REVERSE),
        (test.full_duplex, FULL_DUPLEX),
        (test.trip_times, TRIP_TIMES),
        (test.period_us.is_some(), ISOCHRONOUS),
        (test.quick, QUICK),
    ];
    let wishes = wishes.iter().filter(|(is, _)| *is).fold(0, |all, (_, bit)| all | bit);
    let [upper, lower] = VERSION;
    let port = u32::from(test.port);
    let (flags, block, rate) = (flags | back, test.block_bytes, test.rate_bits);
    [flags, test.streams, port, block, 0, amount, 0, 0, wishes, upper, lower, 0, rate, 0, 0]
}

/// What a stream begins with.
pub fn first(bytes: &[u8]) -> First {
    let Some(flags) = word(bytes, 0) else { return First::More };
    if flags == bounceback::FLAG {
        return bounceback::first(bytes);
    }
    if flags & (VERSION_1 | EXTENDED) == 0 {
        return First::Data;
    }
    let extended = flags & EXTENDED != 0;
    // Old clients have the six words that all have.
    let needed = if extended { TEST_BYTES } else { 24 };
    if bytes.len() < needed {
        return First::More;
    }
    let at = |index| word(bytes, index).unwrap_or(0);
    let wishes = if extended { at(8) } else { 0 };
    let has_times = wishes & (TRIP_TIMES | ISOCHRONOUS) != 0 && wishes & FULL_DUPLEX == 0;
    // Of datagrams all of it is there.
    let is_stream = flags & NUMBERS_64 == 0;
    if is_stream && has_times && flags & HAS_LENGTH != 0 && bytes.len() < LONG_BYTES {
        return First::More;
    }
    let is_long = !is_stream && flags & UDP_TESTS != 0;
    let period_us = if is_long { at(TEST_BYTES / 4) } else { 0 };
    let amount = match at(5) as i32 {
        time if time < 0 => {
            Amount::Time((u64::from(time.unsigned_abs()).saturating_mul(10_000_000)).min(MOST_NS))
        }
        bytes => Amount::Bytes(bytes as u64),
    };
    let back = match (flags & VERSION_1 != 0, flags & RUN_NOW != 0) {
        (true, true) => Some(Back::Now),
        (true, false) => Some(Back::Later),
        (false, _) => None,
    };
    First::Test(TestHeader {
        streams: at(1),
        port: at(2) as u16,
        block_bytes: at(3),
        amount,
        back,
        reverse: wishes & REVERSE != 0,
        full_duplex: wishes & FULL_DUPLEX != 0,
        trip_times: wishes & TRIP_TIMES != 0,
        period_us: (wishes & ISOCHRONOUS != 0).then_some(period_us),
        quick: wishes & QUICK != 0,
        rate_bits: if extended { at(12) } else { 0 },
        extended,
        version: (extended && at(9) > 0).then(|| [(at(9) >> 16) as u16, at(9) as u16, (at(10) >> 16) as u16]),
    })
}

/// How much more to read of a stream whose first bytes are too few to tell; none: whatever comes.
pub fn most_of_head(bytes: usize) -> Option<usize> {
    [TEST_BYTES, LONG_BYTES].iter().find_map(|whole| whole.checked_sub(bytes).filter(|left| *left > 0))
}

/// The server's answer to a header over TCP.
pub fn acknowledged() -> Vec<u8> {
    let [upper, lower] = VERSION;
    words(&[ACKNOWLEDGED, ACKNOWLEDGED_BYTES, 0, upper, lower, 0, 0])
}

/// The number of a datagram; negative: of the last one.
pub fn number(bytes: &[u8]) -> Option<i64> {
    let (lower, upper) = (word(bytes, 0)?, word(bytes, 3)?);
    // Before 2.1 there was no upper half: content lies there.
    let wide = i64::from(upper as i32) << 32 | i64::from(lower);
    let plausible = (-(1_i64 << 48)..1 << 48).contains(&wide);
    Some(if plausible { wide } else { i64::from(lower as i32) })
}

/// The report that a receiver sends at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes received.
    pub bytes: u64,
    /// For how long, ns.
    pub time_ns: u64,
    /// Datagrams that did not come.
    pub lost: u64,
    /// Datagrams that came late.
    pub late: u64,
    /// Datagrams that were sent.
    pub datagrams: u64,
    pub jitter_ns: u64,
    pub one_way: OneWay,
    /// Of the lost ones those that found the receive buffer full; 0: none, or the peer does not tell.
    pub overflow: u64,
}

/// The report as a datagram.
pub fn report(report: &Report) -> Vec<u8> {
    let upper = |number: u64| (number >> 32) as u32;
    let mut report_words = vec![0; REPORT_BYTES / 4];
    let told = [
        VERSION_1 | NUMBERS_64,
        upper(report.bytes),
        report.bytes as u32,
        (report.time_ns / 1_000_000_000) as u32,
        (report.time_ns % 1_000_000_000 / 1000) as u32,
        report.lost as u32,
        report.late as u32,
        report.datagrams as u32,
        (report.jitter_ns / 1_000_000_000) as u32,
        (report.jitter_ns % 1_000_000_000 / 1000) as u32,
    ];
    report_words[4..4 + told.len()].copy_from_slice(&told);
    if let Some(mean_ns) = report.one_way.mean_ns() {
        let (least_ns, most_ns) = report.one_way.extremes_ns;
        let squares_us = (report.one_way.deviation_ns() / 1000.0).powi(2) * (report.one_way.count - 1) as f64;
        let parts = |ns: u64| [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000 / 1000) as u32];
        // The last is the sum of the squares of the differences from the mean, in µs.
        let times = [least_ns, most_ns, report.one_way.sum_ns, mean_ns as u64].map(parts).concat();
        report_words[4] |= EXTENDED;
        report_words[14..22].copy_from_slice(&times);
        report_words[22..24].copy_from_slice(&[squares_us as u32, (squares_us.fract() * 1e6) as u32]);
        report_words[26] = report.one_way.count as u32;
        // From these the original reckons datagrams per second.
        report_words[27] = report.datagrams.saturating_sub(1) as u32;
        report_words[28] = (report.time_ns / 1_000_000_000).max(1) as u32;
    }
    let last = [upper(report.lost), upper(report.late), upper(report.datagrams)];
    report_words[29..].copy_from_slice(&last);
    if report.overflow > 0 {
        report_words.extend([OVERFLOWED, upper(report.overflow), report.overflow as u32]);
    }
    words(&report_words)
}

/// A report that came; none: it is no report.
pub fn reported(bytes: &[u8]) -> Option<Report> {
    let flags = word(bytes, 4).filter(|flags| flags & VERSION_1 != 0)?;
    let at = |index: usize| word(bytes, 4 + index).map(u64::from);
    // Upper halves stand at the end of a whole report only.
    let wide = flags & NUMBERS_64 != 0 && bytes.len() >= REPORT_BYTES;
    let behind = REPORT_BYTES / 4 - 4;
    let overflow = at(behind)
        .filter(|mark| *mark == u64::from(OVERFLOWED))
        .and_then(|_| Some(at(behind + 1)? << 32 | at(behind + 2)?));
    let upper = |index: usize| if wide { at(index).unwrap_or(0) << 32 } else { 0 };
    Some(Report {
        bytes: at(1)? << 32 | at(2)?,
        time_ns: at(3)? * 1_000_000_000 + at(4)? * 1000,
        lost: at(5)? | upper(25),
        late: at(6)? | upper(26),
        datagrams: at(7)? | upper(27),
        jitter_ns: at(8)? * 1_000_000_000 + at(9)? * 1000,
        one_way: on_the_way(at, bytes.len()),
        overflow: overflow.unwrap_or(0),
    })
}

/// How long datagrams were on their way, as a report of so many bytes has it.
fn on_the_way(at: impl Fn(usize) -> Option<u64>, bytes: usize) -> OneWay {
    let ns = |index: usize| Some(at(index)? * 1_000_000_000 + at(index + 1)? * 1000);
    let read = || {
        let (count, sum_ns) = (at(22)?, ns(14)?);
        let mean_us = sum_ns as f64 / 1000.0 / count.max(1) as f64;
        let differences_us = at(18)? as f64 + at(19)? as f64 / 1e6;
        let squares_us = (differences_us + count as f64 * mean_us * mean_us).round() as u64;
        Some(OneWay { count, sum_ns, extremes_ns: (ns(10)?, ns(12)?), squares_us })
    };
    Some(bytes).filter(|bytes| *bytes >= REPORT_BYTES).and_then(|_| read()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.split_whitespace()
            .flat_map(|word| u32::from_str_radix(word, 16).expect("hexadecimal").to_be_bytes())
            .collect()
    }

    fn test() -> TestHeader {
        TestHeader {
            streams: 1,
            port: 6000,
            block_bytes: 0,
            amount: Amount::Time(1_000_000_000),
            back: None,
            reverse: false,
            rate_bits: 0,
            full_duplex: false,
            trip_times: false,
            period_us: None,
            quick: false,
            extended: true,
            version: Some([2, 1, 8]),
        }
    }

    /// What `iperf -c HOST -t 1 -p 6000` of 2.1.8 was seen to send, and with more options.
    const SEEN: &[(&str, TestHeader)] = &[
        (
            "40010078 00000001 00001770 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001 00080003 00000000 \
             00000000 00000000 00000000",
            TestHeader {
                streams: 1,
                port: 6000,
                block_bytes: 0,
                amount: Amount::Time(1_000_000_000),
                back: None,
                reverse: false,
                rate_bits: 0,
                full_duplex: false,
                trip_times: false,
                period_us: None,
                quick: false,
                extended: true,
                version: Some([2, 1, 8]),
            },
        ),
        (
            "44010078 00000001 00001770 00001000 00000000 06400000 00000000 00000000 04000000 00020001 00080003 00000000 \
             00000000 00000000 00000000",
            TestHeader {
                streams: 1,
                port: 6000,
                block_bytes: 4096,
                amount: Amount::Bytes(100 << 20),
                back: None,
                reverse: true,
                rate_bits: 0,
                full_duplex: false,
                trip_times: false,
                period_us: None,
                quick: false,
                extended: true,
                version: Some([2, 1, 8]),
            },
        ),
        (
            "c0010079 00000001 00001784 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001 00080003 00000000 \
             00000000 00000000 00000000",
            TestHeader {
                streams: 1,
                port: 6020,
                block_bytes: 0,
                amount: Amount::Time(1_000_000_000),
                back: Some(Back::Now),
                reverse: false,
                rate_bits: 0,
                full_duplex: false,
                trip_times: false,
                period_us: None,
                quick: false,
                extended: true,
                version: Some([2, 1, 8]),
            },
        ),
    ];

    #[test]
    fn both_ways_over_one_connection_is_the_originals() {
        let seen = bytes(
            "44010078 00000001 00001dbb 00000000 00000000 ffffff38 00000000 00000000 08000000 00020001 00080003 00000000 \
             00000000 00000000 00000000",
        );
        let both =
            TestHeader { port: 7611, amount: Amount::Time(2_000_000_000), full_duplex: true, ..test() };
        assert_eq!((tcp(&both, 0), first(&seen)), (seen.clone(), First::Test(both)));
        let seen = bytes(
            "00000001 6b073c7a 00003ee7 00000000 6c010098 00000001 000017d5 00000000 00000000 ffffff38 00000000 00000000 \
             08080000 00020001 00080003 00000000 000f4240 00000000 00000000",
        );
        let both = TestHeader { port: 6101, rate_bits: 1_000_000, ..both };
        let at = 0x6b07_3c7a * 1_000_000_000 + 0x3ee7 * 1000;
        assert_eq!((udp(&both, 1, at), first(&seen[DATAGRAM_BYTES..])), (seen.clone(), First::Test(both)));
    }

    #[test]
    fn headers_are_the_originals() {
        for (hex, test) in SEEN {
            assert_eq!(tcp(test, 0), bytes(hex), "{test:?}");
            assert_eq!(first(&bytes(hex)), First::Test(*test));
        }
        let seen = "00000001 6b02fd91 0003ca19 00000000 48010098 00000001 00001770 00000000 00000000 ffffff9c 00000000 \
                    00000000 00000000 00020001 00080003 00000000 00100000 00000000 00000000";
        let at = 0x6b02_fd91 * 1_000_000_000 + 0x0003_ca19 * 1000;
        assert_eq!(udp(&TestHeader { rate_bits: 1 << 20, ..test() }, 1, at), bytes(seen));
        let last = bytes("ffffffa3 6b02fd92 00041b27 ffffffff");
        assert_eq!(number(&last), Some(-93));
        let at = 0x6b02_fd92 * 1_000_000_000 + 0x0004_1b27 * 1000;
        assert_eq!(numbered(-93, at), last);
    }

    #[test]
    fn times_of_bursts_are_the_originals() {
        // What `--trip-times -b 2m` and `-u --isochronous=30:400k,0 --trip-times` of 2.1.8 were seen to send.
        let seen = bytes(
            "400100a0 00000001 00001e6e 00000000 00000000 ffffff9c 00000000 00000000 00100000 00020001 00080003 00000000 \
             001e8480 00000000 00000000 00000000 6b0770b8 0005897e 00000000 00000000",
        );
        let at = |seconds: u64, micros: u64| seconds * 1_000_000_000 + micros * 1000;
        let trip = TestHeader { port: 0x1e6e, trip_times: true, rate_bits: 2_000_000, ..test() };
        let (found, more) = (tcp(&trip, at(0x6b07_70b8, 0x5897e)), first(&seen[..79]));
        assert_eq!((found, first(&seen), more), (seen, First::Test(trip), First::More));
        let front = bytes(
            "400100a0 00000001 00001e7a 00000000 00000000 00000000 00000000 00000000 00110000 00020001 00008235 00000000 \
             00000000 00000000 00000000",
        );
        let frames = TestHeader { port: 0x1e7a, trip_times: true, period_us: Some(33_333), ..test() };
        assert_eq!(burst(&frames), front);
        let seen = bytes(
            "00000001 6b0770b3 000814f3 00000000 680100d8 00000001 00001e6e 00000000 00000000 ffffff9c 00000000 00000000 \
             00110000 00020001 00080003 00000000 00100000 00000000 00000000 00008235 00000000 00000000 00000000 00000000 \
             00000000 00000000 00000000 00000000 6b0770b3 000814f3",
        );
        let frames = TestHeader { port: 0x1e6e, rate_bits: 1 << 20, ..frames };
        let found = udp(&frames, 1, at(0x6b07_70b3, 0x814f3));
        assert_eq!(
            (found.as_slice(), first(&found[DATAGRAM_BYTES..])),
            (seen.as_slice(), First::Test(frames))
        );
        let load = TestHeader { quick: true, ..test() };
        assert_eq!(word(&tcp(&load, 0), 8), Some(0x8000_0000));
    }

    #[test]
    fn a_report_is_read_as_the_original_writes_it() {
        let seen = bytes(
            "00000000 00000000 00000000 00000000 c8000000 00000000 001327d4 00000001 0000074e 00000000 00000000 00000356 \
             00000000 0000001a 00000000 0000000c 00000000 00000168 00000000 0000a839 00000000 00000032 000cce8b 00022e09 \
             00000000 0000007f 00000356 00000354 00000001 00000000 00000000 00000000",
        );
        let found = Report {
            bytes: 1_255_380,
            time_ns: 1_001_870_000,
            lost: 0,
            late: 0,
            datagrams: 854,
            jitter_ns: 26_000,
            one_way: OneWay {
                count: 854,
                sum_ns: 43_065_000,
                extremes_ns: (12_000, 360_000),
                squares_us: 3010963,
            },
            overflow: 0,
        };
        assert_eq!(reported(&seen), Some(found));
        assert!((found.one_way.deviation_ns() - 31_368.0).abs() < 1.0, "{}", found.one_way.deviation_ns());
        // 2.1.8's words, but for three that only it knows.
        let ours = report(&found);
        assert_eq!((&ours[..88], &ours[104..108]), (&seen[..88], &seen[104..108]));
        let large = Report { bytes: 1 << 40, lost: (1 << 33) + 7, late: 3, datagrams: 1 << 35, ..found };
        assert_eq!(report(&large).len(), REPORT_BYTES);
        assert_eq!(reported(&report(&large)), Some(large));
        // What is behind it is ours, and only there where there is something to tell.
        let full = Report { overflow: (1 << 33) + 5, ..large };
        assert_eq!((reported(&report(&full)), report(&full).len()), (Some(full), REPORT_BYTES + 12));
        assert_eq!(report(&full)[..REPORT_BYTES], report(&large)[..]);
    }

    #[test]
    fn what_is_no_header_is_data() {
        assert_eq!(first(b""), First::More);
        assert_eq!(first(b"012"), First::More);
        assert_eq!(first(b"0123456789"), First::Data);
        assert_eq!(first(&tcp(&test(), 0)[..59]), First::More);
        let old = bytes("80000001 00000001 0000138d 00000000 00000000 ffffff9c");
        let First::Test(found) = first(&old) else { panic!("an old header") };
        assert!(!found.extended && found.back == Some(Back::Now) && found.port == 5005);
        assert_eq!(reported(&[0; 60]), None);
        assert_eq!(number(&[0; 15]), None);
    }

    #[test]
    fn mangled_bytes_harm_nobody() {
        let mut state = 1_u64;
        for round in 0..20_000 {
            let mut bytes = if round % 2 == 0 { tcp(&test(), 0) } else { report(&Report::default()) };
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 20) as u8;
            }
            bytes.truncate((state >> 40) as usize % (bytes.len() + 1));
            if let First::Test(TestHeader { amount: Amount::Time(ns), .. }) = first(&bytes) {
                assert!(ns <= MOST_NS);
            }
            let _ = (reported(&bytes), number(&bytes));
        }
    }
}
