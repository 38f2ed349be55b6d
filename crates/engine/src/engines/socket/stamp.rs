//! Headers of datagrams: a number and the time of sending, in one of the forms that tools of the field use.

use iodyno_model::Job;

use crate::clock;
use crate::engines::setting;

/// How a header is laid out; all fields are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Seconds, microseconds and a number of four bytes.
    Short,
    /// The same with a number of eight bytes.
    Long,
    /// A number, then seconds and microseconds of the wall clock; a negative number is the sender's leave.
    NumberFirst,
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub number: u64,
    /// When it was sent, ns of the sender's clock.
    pub sent_ns: u64,
    /// Whether it is the last.
    pub leaves: bool,
}

impl Stamp {
    /// The one that a job asks for.
    pub fn of(job: &Job) -> Option<Stamp> {
        match setting(job, "stamp") {
            Some("seconds_micros_u32") => Some(Stamp::Short),
            Some("seconds_micros_u64") => Some(Stamp::Long),
            Some("number_seconds_micros") => Some(Stamp::NumberFirst),
            _ => None,
        }
    }

    /// Its length.
    pub const fn bytes(self) -> usize {
        match self {
            Stamp::Short | Stamp::NumberFirst => 12,
            Stamp::Long => 16,
        }
    }

    /// The clock that it carries, ns.
    pub fn now(self) -> u64 {
        match self {
            Stamp::NumberFirst => clock::unix_ns(),
            _ => clock::monotonic(),
        }
    }

    /// Writes a header to the front of a datagram, as much of it as there is room for.
    #[inline(always)]
    pub fn write(self, datagram: &mut [u8], number: u64, now_ns: u64) {
        let Some(head) = datagram.get_mut(..self.bytes()) else { return };
        let seconds = ((now_ns / 1_000_000_000) as u32).to_be_bytes();
        let micros = ((now_ns % 1_000_000_000 / 1000) as u32).to_be_bytes();
        let small = (number as u32).to_be_bytes();
        match self {
            Stamp::Short => {
                head[..4].copy_from_slice(&seconds);
                head[4..8].copy_from_slice(&micros);
                head[8..12].copy_from_slice(&small);
            }
            Stamp::Long => {
                head[..4].copy_from_slice(&seconds);
                head[4..8].copy_from_slice(&micros);
                head[8..16].copy_from_slice(&number.to_be_bytes());
            }
            Stamp::NumberFirst => {
                head[..4].copy_from_slice(&small);
                head[4..8].copy_from_slice(&seconds);
                head[8..12].copy_from_slice(&micros);
            }
        }
    }

    /// What a datagram that takes leave has at least: its negated number has an upper half behind the time.
    pub const LEAVE_BYTES: usize = 16;

    /// Writes the header of the datagram that takes leave; one of other forms has no such number.
    pub fn write_leave(self, datagram: &mut [u8], number: u64, now_ns: u64) {
        let number = (number as i64).wrapping_neg();
        if self == Stamp::NumberFirst
            && let Some(upper) = datagram.get_mut(12..Stamp::LEAVE_BYTES)
        {
            upper.copy_from_slice(&((number >> 32) as u32).to_be_bytes());
            self.write(datagram, number as u64, now_ns);
        }
    }

    /// Reads a header; nothing: the datagram is too short.
    #[inline(always)]
    pub fn read(self, datagram: &[u8]) -> Option<Read> {
        let head = datagram.get(..self.bytes())?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let at = if self == Stamp::NumberFirst { 4 } else { 0 };
        let sent_ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * 1000;
        let (number, leaves) = match self {
            Stamp::Short => (u64::from(word(8)), false),
            Stamp::Long => (u64::from(word(8)) << 32 | u64::from(word(12)), false),
            Stamp::NumberFirst => {
                let number = word(0) as i32;
                (u64::from(number.unsigned_abs()), number < 0)
            }
        };
        Some(Read { number, sent_ns, leaves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for stamp in [Stamp::Short, Stamp::Long, Stamp::NumberFirst] {
            let mut datagram = [0u8; 20];
            stamp.write(&mut datagram, 77, 5_000_001_999);
            let read = stamp.read(&datagram).unwrap();
            assert_eq!(read, Read { number: 77, sent_ns: 5_000_001_000, leaves: false });
            assert_eq!(stamp.read(&datagram[..11]), None);
        }
        let mut datagram = [0u8; 16];
        Stamp::Long.write(&mut datagram, 1 << 40, 0);
        assert_eq!(Stamp::Long.read(&datagram).unwrap().number, 1 << 40);
        datagram[..4].copy_from_slice(&(-9i32).to_be_bytes());
        let leave = Stamp::NumberFirst.read(&datagram).unwrap();
        assert!(leave.leaves && leave.number == 9);
        // As 2.1.8 sends it: the number has an upper half.
        Stamp::NumberFirst.write_leave(&mut datagram, 174, 7_000_009_000);
        assert_eq!(datagram, [255, 255, 255, 0x52, 0, 0, 0, 7, 0, 0, 0, 9, 255, 255, 255, 255]);
    }

    #[test]
    fn the_layout_is_that_of_the_field() {
        let mut datagram = [0u8; 16];
        Stamp::Short.write(&mut datagram, 0x0102_0304, 7_000_009_000);
        assert_eq!(datagram[..12], [0, 0, 0, 7, 0, 0, 0, 9, 1, 2, 3, 4]);
        Stamp::NumberFirst.write(&mut datagram, 0x0102_0304, 7_000_009_000);
        assert_eq!(datagram[..12], [1, 2, 3, 4, 0, 0, 0, 7, 0, 0, 0, 9]);
    }
}
