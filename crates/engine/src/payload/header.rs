//! The header of 40 bytes that other tools lay at the start of each interval, and the data behind it.
//!
//! ```text
//!    0  magic 0xacca     2  kind of checksum    4  length of the interval    8  seed of the data
//!   16  byte offset of the interval in the file     24  seconds    28  nanoseconds, both since the start
//!   32  thread          34  number of the write     36  CRC-32C of bytes 0 to 35, not inverted
//!   40  the checksum of what is behind it                                     (all little endian)
//! ```
//! Found by looking at files that fio wrote. The data follow from the seed alone, so a reader needs no copy; and the
//! seed from place and generation, so a reader of the same run knows which write it must be. Refuses to check: see
//! `inspect`.

use iodyno_model::{Checksum, Diagnostic, HeaderStamp, Origin, Stamp, Template, Verify};

use super::digest::{crc32c_plain, digest, digest_bytes};
use super::template;
use crate::random::{GOLDEN, mix};

/// What every header begins with.
pub(super) const MAGIC: u16 = 0xacca;
/// Bytes of a header without its checksum of the data.
pub(super) const HEADER_BYTES: usize = 40;
/// What words of the data are multiplied with from one to the next but three.
const FACTOR: u64 = 0x61c8_8646_80b5_83eb;

/// A header's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) magic: u16,
    pub(super) kind: u16,
    pub(super) bytes: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    pub(super) thread: u16,
    pub(super) number: u16,
    pub(super) crc: u32,
}

/// The first `N` of some bytes; zeros where there are fewer.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

impl Header {
    /// What the first bytes of an interval say, true or not.
    pub(super) fn read(interval: &[u8]) -> Self {
        let raw: [u8; HEADER_BYTES] = first(interval);
        Header {
            magic: u16::from_le_bytes(first(&raw)),
            kind: u16::from_le_bytes(first(&raw[2..])),
            bytes: u32::from_le_bytes(first(&raw[4..])),
            seed: u64::from_le_bytes(first(&raw[8..])),
            offset: u64::from_le_bytes(first(&raw[16..])),
            seconds: u32::from_le_bytes(first(&raw[24..])),
            nanoseconds: u32::from_le_bytes(first(&raw[28..])),
            thread: u16::from_le_bytes(first(&raw[32..])),
            number: u16::from_le_bytes(first(&raw[34..])),
            crc: u32::from_le_bytes(first(&raw[36..])),
        }
    }

    /// Writes the header with its own checksum.
    fn write(&self, interval: &mut [u8]) {
        interval[..2].copy_from_slice(&self.magic.to_le_bytes());
        interval[2..4].copy_from_slice(&self.kind.to_le_bytes());
        interval[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        interval[8..16].copy_from_slice(&self.seed.to_le_bytes());
        interval[16..24].copy_from_slice(&self.offset.to_le_bytes());
        interval[24..28].copy_from_slice(&self.seconds.to_le_bytes());
        interval[28..32].copy_from_slice(&self.nanoseconds.to_le_bytes());
        interval[32..34].copy_from_slice(&self.thread.to_le_bytes());
        interval[34..36].copy_from_slice(&self.number.to_le_bytes());
        let crc = crc32c_plain(&interval[..36]);
        interval[36..40].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The number that stands for a checksum in a header.
const fn kind(checksum: Checksum) -> u16 {
    match checksum {
        Checksum::Meta => 1,
        Checksum::Md5 => 2,
        Checksum::Crc64 => 3,
        Checksum::Crc32 => 4,
        Checksum::Crc32c => 5,
        Checksum::Crc16 => 7,
        Checksum::Crc7 => 8,
        Checksum::Sha256 => 9,
        Checksum::Sha512 => 10,
        Checksum::Sha3x224 => 11,
        Checksum::Sha3x256 => 12,
        Checksum::Sha3x384 => 13,
        Checksum::Sha3x512 => 14,
        Checksum::Xxhash => 15,
        Checksum::Sha1 => 16,
        Checksum::Pattern => 17,
    }
}

/// One write, as far as its stamp is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file, see [`super::Place::file_id`].
    pub file: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// Which write of this place.
    pub generation: u64,
    /// Its number among the worker's writes.
    pub number: u16,
    /// Time since the start, ns.
    pub age_ns: u64,
}

/// What a job's blocks carry, where it is laid out as other tools lay it out.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A header in each interval.
    Header(HeaderStamp),
    /// The pattern alone.
    Pattern(Template),
}

/// Fills whole writes with data and headers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Headers {
    pub(super) form: Form,
    pub(super) interval_bytes: usize,
    pub(super) seed: u64,
    thread: u16,
}

impl Headers {
    /// For `verify`; none where its stamp is not of this kind. Every write is a multiple of `grain_bytes`; `worker` is
    /// the worker's number in its job.
    ///
    /// # Errors
    /// Intervals that cannot hold a header, patterns that say nothing.
    pub fn new(
        verify: &Verify,
        seed: u64,
        grain_bytes: u64,
        worker: u32,
    ) -> Result<Option<Self>, Diagnostic> {
        let form = match &verify.stamp {
            Stamp::Header(header) => Form::Header(header.clone()),
            Stamp::Pattern(template) => Form::Pattern(template.clone()),
            Stamp::Block | Stamp::Content | Stamp::Nothing => return Ok(None),
        };
        // An interval divides every write.
        let interval_bytes = match verify.interval_bytes {
            0 => 0,
            bytes => common(bytes, grain_bytes) as usize,
        };
        let thread = verify.first_worker.wrapping_add(worker).wrapping_add(1) as u16;
        let headers = Headers { form, interval_bytes, seed, thread };
        headers
            .check(if interval_bytes == 0 { grain_bytes as usize } else { interval_bytes })
            .map(|()| Some(headers))
    }

    fn check(&self, least_bytes: usize) -> Result<(), Diagnostic> {
        let pattern = match &self.form {
            Form::Header(header) => {
                let bytes = self.header_bytes();
                let needed = header.offset_bytes as usize + bytes;
                if needed > least_bytes || (header.offset_bytes > 0 && (header.offset_bytes as usize) < bytes)
                {
                    let message = format!(
                        "verify: a header of {bytes} bytes at byte {} does not fit an interval of {least_bytes} bytes",
                        header.offset_bytes
                    );
                    let hint = "use larger blocks, or a header at byte 0 or behind the first header's room";
                    return Err(refused(message, hint));
                }
                if header.checksum == Checksum::Pattern && header.pattern.is_none() {
                    return Err(refused(
                        "verify: a pattern behind the header, but no pattern",
                        "name the pattern",
                    ));
                }
                header.pattern.as_ref()
            }
            Form::Pattern(template) => Some(template),
        };
        match pattern {
            Some(template) if !template::is_sound(template) => {
                Err(refused("verify: an empty pattern", "name at least one byte"))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of a header with its checksum.
    pub(super) fn header_bytes(&self) -> usize {
        match &self.form {
            Form::Header(header) => HEADER_BYTES + digest_bytes(header.checksum),
            Form::Pattern(_) => 0,
        }
    }

    /// What is repeated, where it is not random data.
    pub(super) fn pattern(&self) -> Option<&Template> {
        match &self.form {
            Form::Header(header) => header.pattern.as_ref(),
            Form::Pattern(template) => Some(template),
        }
    }

    /// The length of the intervals of a write.
    pub(super) fn interval_of(&self, write_bytes: usize) -> usize {
        if self.interval_bytes == 0 || self.interval_bytes > write_bytes {
            write_bytes
        } else {
            self.interval_bytes
        }
    }

    /// The seed of a write: what tells it from every other write of the job.
    pub(super) fn seed_of(&self, file: u64, offset: u64, generation: u64) -> u64 {
        let place = mix(self.seed ^ mix(file)).wrapping_add(offset.wrapping_mul(GOLDEN));
        mix(mix(place).wrapping_add(generation.wrapping_mul(GOLDEN))) | 1
    }

    /// Fills the whole buffer for a write. Allocates nothing.
    pub fn fill(&self, buffer: &mut [u8], write: Write) {
        let seed = self.seed_of(write.file, write.offset, write.generation);
        match self.pattern() {
            Some(template) => template::write(buffer, template, write.offset),
            None => write_random(buffer, seed),
        }
        let Form::Header(stamp) = &self.form else { return };
        let interval = self.interval_of(buffer.len());
        for (index, part) in buffer.chunks_mut(interval).enumerate() {
            let header = Header {
                magic: MAGIC,
                kind: kind(stamp.checksum),
                bytes: interval as u32,
                seed,
                offset: write.offset + (index * interval) as u64,
                seconds: (write.age_ns / 1_000_000_000) as u32,
                nanoseconds: (write.age_ns % 1_000_000_000) as u32,
                thread: self.thread,
                number: write.number,
                crc: 0,
            };
            header.write(part);
            let (head, data) = part.split_at_mut(self.header_bytes());
            digest(stamp.checksum, data, &mut head[HEADER_BYTES..]);
            self.swap(part);
        }
    }

    /// Exchanges the header and the data at its place, or back.
    pub(super) fn swap(&self, interval: &mut [u8]) {
        let Form::Header(stamp) = &self.form else { return };
        let (at, bytes) = (stamp.offset_bytes as usize, self.header_bytes());
        if at > 0 && interval.len() >= at + bytes {
            let (first, second) = interval.split_at_mut(at);
            first[..bytes].swap_with_slice(&mut second[..bytes]);
        }
    }
}

/// The data of a seed: four streams of words side by side, each multiplied on.
pub(super) fn write_random(buffer: &mut [u8], seed: u64) {
    let mut words = [1u64, 2, 3, 5].map(|multiple| seed.wrapping_mul(multiple));
    let (whole, rest) = buffer.as_chunks_mut::<32>();
    let mut next = || {
        let bytes = words;
        words = words.map(|word| word.wrapping_mul(FACTOR));
        bytes
    };
    for chunk in whole {
        for (out, word) in chunk.as_chunks_mut::<8>().0.iter_mut().zip(next()) {
            *out = word.to_le_bytes();
        }
    }
    if !rest.is_empty() {
        let mut last = [0; 32];
        last.as_chunks_mut::<8>().0.iter_mut().zip(next()).for_each(|(out, word)| *out = word.to_le_bytes());
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

fn refused(message: impl Into<String>, hint: &str) -> Diagnostic {
    Diagnostic::error(&Origin::Default, message).hint(hint)
}
