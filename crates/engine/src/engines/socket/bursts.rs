//! Bursts that say when they were due: a header in each datagram of one, or at the front of a block of a stream. The receiver
//! tells how long it was until all of a burst had come, by the clocks of both hosts, and which ones never came.
//!
//! What comes in may be forged: a header that could not be true ends the reading of a stream's, and is passed over in a
//! datagram.

use iodyno_model::Job;

use crate::engines::setting;
use crate::worker_counters::{Count, Counts, TimeSpread};

/// The front of a stream's burst, bytes: when the first burst and this one began (each seconds and µs) stand at bytes 12
/// and 20; flags at 32, its period in µs, its number, its length and what was sent up to its end at 40, 44, 48 and 52.
const FRONT_BYTES: usize = 60;
/// The flag without which a stream's bursts have no period, whatever stands there.
const AT_EVEN_TIMES: u32 = 0x0001_0000;
/// The header of a datagram's: period in µs, when the first burst began (seconds, µs), the number of the burst before and
/// its own, its length and what is left of it with this datagram, four bytes each.
const DATAGRAM_BYTES: usize = 28;

/// Where a job's bursts have their header, bytes into a datagram; none: its blocks say nothing.
pub fn place(job: &Job) -> Option<usize> {
    match setting(job, "bursts") {
        None | Some("off") => None,
        Some("on") => Some(0),
        Some(place) => place.parse().ok(),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(four) = bytes.get_mut(at..at + 4) {
        four.copy_from_slice(&value.to_be_bytes());
    }
}

fn put_time(bytes: &mut [u8], at: usize, unix_ns: u64) {
    put(bytes, at, (unix_ns / 1_000_000_000) as u32);
    put(bytes, at + 4, (unix_ns % 1_000_000_000 / 1000) as u32);
}

fn time(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) * 1_000_000_000 + u64::from(word(bytes, at + 4)) * 1000
}

/// The period of a stream's burst, µs; 0: it has none.
fn front_period(front: &[u8]) -> u32 {
    if word(front, 32) & AT_EVEN_TIMES == 0 { 0 } else { word(front, 40) }
}

/// When the burst of a number was due, by when the first one was.
fn due(began_ns: u64, number: u32, period_us: u32) -> u64 {
    began_ns + u64::from(number.saturating_sub(1)) * u64::from(period_us) * 1000
}

/// Writes the headers of bursts.
#[derive(Debug, Default)]
pub struct BurstWriter {
    place: usize,
    number: u32,
    began_ns: u64,
    moved: u64,
}

impl BurstWriter {
    pub fn new(place: usize) -> BurstWriter {
        BurstWriter { place, ..BurstWriter::default() }
    }

    fn next(&mut self, bytes: usize, unix_ns: u64, period_us: u32) {
        // A first burst that was late is told by the next that is not: none is sent before it is due.
        let since_ns = due(0, self.number.saturating_add(1), period_us);
        let began_ns = unix_ns.saturating_sub(since_ns);
        if self.number == 0 || period_us > 0 && began_ns < self.began_ns {
            self.began_ns = began_ns;
        }
        self.number = self.number.wrapping_add(1);
        self.moved += bytes as u64;
    }

    /// The front of a stream's block; one that is too short for it has none.
    pub fn write_front(&mut self, block: &mut [u8], unix_ns: u64) {
        self.next(block.len(), unix_ns, front_period(block));
        if block.len() < FRONT_BYTES {
            return;
        }
        put_time(block, 12, self.began_ns);
        put_time(block, 20, unix_ns);
        put(block, 44, self.number);
        put(block, 48, block.len() as u32);
        put(block, 52, self.moved as u32);
    }

    /// The headers of a burst's datagrams.
    pub fn write_datagrams(&mut self, block: &mut [u8], each: usize, unix_ns: u64) {
        let bytes = block.len();
        self.next(bytes, unix_ns, word(block, self.place));
        let mut left = bytes;
        for datagram in block.chunks_mut(each) {
            let length = datagram.len();
            if let Some(header) = datagram.get_mut(self.place..self.place + DATAGRAM_BYTES) {
                put_time(header, 4, self.began_ns);
                put(header, 12, self.number.wrapping_sub(1));
                put(header, 16, self.number);
                put(header, 20, bytes as u32);
                put(header, 24, left as u32);
            }
            left -= length;
        }
    }
}

/// Bursts that have come.
#[derive(Debug, Default)]
struct Complete {
    slowest_ns: u64,
}

impl Complete {
    fn tell(&mut self, due_ns: u64, unix_ns: u64, counts: &Counts) {
        let ns = unix_ns.saturating_sub(due_ns);
        counts.spread(TimeSpread::Burst, ns);
        if ns > self.slowest_ns {
            self.slowest_ns = ns;
            counts.set(Count::SlowestUnixUs, unix_ns / 1000);
        }
    }
}

/// Reads the headers of the bursts that come in a stream.
#[derive(Debug, Default)]
pub struct FrontReader {
    head: Vec<u8>,
    /// Bytes of a burst that are still to come.
    left: u64,
    sent_ns: u64,
    /// What comes is no burst.
    lost: bool,
    complete: Complete,
}

impl FrontReader {
    /// Something has come.
    pub fn take(&mut self, mut bytes: &[u8], unix_ns: u64, counts: &Counts) {
        while !bytes.is_empty() && !self.lost {
            if self.left == 0 {
                let wanted = (FRONT_BYTES - self.head.len()).min(bytes.len());
                self.head.extend_from_slice(&bytes[..wanted]);
                bytes = &bytes[wanted..];
                if self.head.len() < FRONT_BYTES {
                    return;
                }
                let length = u64::from(word(&self.head, 48));
                self.lost = length < FRONT_BYTES as u64;
                self.left = length.saturating_sub(FRONT_BYTES as u64);
                self.sent_ns = match front_period(&self.head) {
                    0 => time(&self.head, 20),
                    period_us => due(time(&self.head, 12), word(&self.head, 44), period_us),
                };
                self.head.clear();
                if self.left > 0 || self.lost {
                    continue;
                }
            }
            let came = self.left.min(bytes.len() as u64);
            self.left -= came;
            bytes = &bytes[came as usize..];
            if self.left == 0 {
                counts.add(Count::Bursts, 1);
                self.complete.tell(self.sent_ns, unix_ns, counts);
            }
        }
    }
}

/// Reads the headers of bursts' datagrams.
#[derive(Debug)]
pub struct DatagramReader {
    place: usize,
    last: u32,
    complete: Complete,
}

impl DatagramReader {
    pub fn new(place: usize) -> DatagramReader {
        DatagramReader { place, last: 0, complete: Complete::default() }
    }

    /// One that has come.
    pub fn take(&mut self, datagram: &[u8], unix_ns: u64, counts: &Counts) {
        let Some(header) = datagram.get(self.place..self.place + DATAGRAM_BYTES) else { return };
        let number = word(header, 16);
        if number > self.last {
            counts.add(Count::BurstsLost, u64::from(number - self.last - 1));
            counts.add(Count::Bursts, 1);
            self.last = number;
        }
        // The last of a burst completes it, unless a later one has begun.
        let left = word(header, 24) as usize;
        if number == self.last && number > 0 && left > 0 && left <= datagram.len() {
            let due_ns = due(time(header, 4), number, word(header, 0));
            self.complete.tell(due_ns, unix_ns, counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn told(counts: &Counts) -> (u64, u64, Vec<u64>) {
        let times =
            counts.spreads().into_iter().next().map(|(_, times)| vec![times.min, times.max, times.count()]);
        (counts.get(Count::Bursts), counts.get(Count::BurstsLost), times.unwrap_or_default())
    }

    #[test]
    fn a_streams_bursts_are_found_however_it_is_cut() {
        for cut in [1, 59, 60, 61, 1000] {
            let (mut writer, counts) = (BurstWriter::new(0), Counts::new());
            let mut all = Vec::new();
            // Without the flag, what stands where a period would be is none: 2.1.8 has its version there.
            for (bytes, at) in [(60, SECOND), (500, 3 * SECOND), (200, 4 * SECOND)] {
                let mut block = vec![0; bytes];
                put(&mut block, 40, 0x0008_0003);
                writer.write_front(&mut block, at);
                all.extend(block);
            }
            assert_eq!((word(&all, 12), word(&all, 60 + 20), word(&all, 60 + 52)), (1, 3, 560));
            let mut reader = FrontReader::default();
            all.chunks(cut).for_each(|part| reader.take(part, 5 * SECOND, &counts));
            assert_eq!(told(&counts), (3, 0, vec![SECOND, 4 * SECOND, 3]), "cut in {cut}");
        }
        // What has a period was due by it; what says that it is shorter than its header is none.
        let (counts, mut reader) = (Counts::new(), FrontReader::default());
        let mut block = vec![0; 100];
        let mut writer = BurstWriter::new(0);
        for at in [SECOND, 2 * SECOND] {
            writer.write_front(&mut block, at);
            put(&mut block, 32, AT_EVEN_TIMES);
            put(&mut block, 40, 250_000);
            reader.take(&block, 2 * SECOND, &counts);
        }
        assert_eq!(told(&counts), (2, 0, vec![3 * SECOND / 4, SECOND, 2]));
        reader.take(&[0; 500], 2 * SECOND, &counts);
        reader.take(&block, 2 * SECOND, &counts);
        assert_eq!(counts.get(Count::Bursts), 2);
    }

    #[test]
    fn a_first_burst_that_is_late_does_not_make_the_others_early() {
        let (mut writer, mut block) = (BurstWriter::new(0), vec![0; 100]);
        put(&mut block, 32, AT_EVEN_TIMES);
        put(&mut block, 40, 1_000_000);
        let began = [SECOND + 5000, 2 * SECOND + 1000, 3 * SECOND + 9000].map(|at| {
            writer.write_front(&mut block, at);
            time(&block, 12)
        });
        assert_eq!(began, [SECOND + 5000, SECOND + 1000, SECOND + 1000]);
    }

    #[test]
    fn bursts_of_datagrams_end_with_their_last() {
        let (mut writer, mut reader, counts) = (BurstWriter::new(76), DatagramReader::new(76), Counts::new());
        let mut block = vec![0; 2500];
        for (number, at) in [SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND].into_iter().enumerate() {
            block.chunks_mut(1000).for_each(|datagram| put(datagram, 76, 1_000_000));
            writer.write_datagrams(&mut block, 1000, at);
            assert_eq!(
                (word(&block, 76 + 12), word(&block, 76 + 24), word(&block, 2076 + 24)),
                (number as u32, 2500, 500)
            );
            // All of the second are lost, and the end of the third.
            let come = [3, 0, 2, 3][number];
            block.chunks(1000).take(come).for_each(|datagram| reader.take(datagram, at + 5000, &counts));
        }
        assert_eq!(told(&counts), (3, 1, vec![5000, 5000, 2]));
        reader.take(&[0; 90], 0, &counts);
        reader.take(&[0; 200], 0, &counts);
        assert_eq!(told(&counts), (3, 1, vec![5000, 5000, 2]));
    }
}
