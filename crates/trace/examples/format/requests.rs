//! Requests of the shape of the MSR Cambridge traces: filetimes in steps of 100 ns, multiples of 512 bytes, response times.

use iodyno_model::Verb;
use iodyno_trace::TraceRecord;

/// Endless requests of a server with two disks.
#[derive(Default)]
pub struct Requests {
    index: u64,
    at_ns: u64,
    /// The end of the last request of each disk.
    ends: [u64; 2],
}

/// Sectors of a disk: 128 GiB.
const SECTORS: u64 = 1 << 28;

/// Eight sizes: half of all requests are of 4 KiB.
const SIZES: [u64; 8] = [4096, 4096, 4096, 4096, 512, 8192, 16_384, 65_536];

impl Iterator for Requests {
    type Item = TraceRecord;

    fn next(&mut self) -> Option<TraceRecord> {
        self.index += 1;
        let (random, place) = (mixed(2 * self.index), mixed(2 * self.index + 1));
        // Gaps of 2 ms on average, exponential; a quarter of the requests goes on where the last one ended.
        let unit = (random & 0xffff) as f64 / 65_536.0 + 1.0 / 131_072.0;
        self.at_ns += (-unit.ln() * 20_000.0) as u64 * 100;
        let disk = (random >> 16 & 1) as usize;
        let bytes = SIZES[(random >> 17 & 7) as usize];
        let offset = if random >> 20 & 3 == 0 { self.ends[disk] } else { place % SECTORS * 512 };
        self.ends[disk] = offset + bytes;
        let verb = if random >> 22 & 3 == 0 { Verb::Read } else { Verb::Write };
        // From 0.1 to 13 ms, mostly short.
        let (first, second) = (random >> 24 & 0xff, random >> 32 & 0xff);
        Some(TraceRecord {
            latency_ns: Some((1000 + first * second * 2) * 100),
            ..TraceRecord::new(self.at_ns, verb, disk as u32, offset, bytes)
        })
    }
}

/// A number that tells nothing of the one it was made from (splitmix64, Steele, Lea and Flood).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
