//! The headers that other tools lay at the start of each interval, and the data behind them.
//!
//! ```text
//!   unversioned: 40 bytes                        versioned: 48 bytes
//!    0  magic 0xacca                              0  the same
//!    2  kind of checksum, 2 bytes                 2  0x80 and the version, 1      3  kind of checksum
//!    4  length of the interval                    4  the same
//!    8  seed of the data                          8  the same
//!   16  byte offset of the interval              16  the same
//!   24  seconds    28  nanoseconds               24  the same, since the start
//!   32  thread     34  number of the write       32  number of the write, 8 bytes
//!   36  CRC-32C of bytes 0 to 35                 40  thread     42  two bytes of the data
//!                                                44  CRC-32C of bytes 0 to 43
//! ```
//! The CRC is not inverted, and the checksum of the data follows; all is little endian. Found by looking at files that fio
//! wrote. Kinds are below 0x80, so each header tells its own layout. The data follow from the seed alone, so a reader
//! needs no copy; and the seed from place and generation, so a reader of the same run knows which write it must be.
//! Refuses to check: see `inspect`.

use iodyno_model::{Checksum, Diagnostic, HeaderStamp, Origin, Stamp, Template, Verify, VerifyLayout};

use super::digest::{crc32c_plain, digest, digest_bytes};
use super::template;
use crate::random::{GOLDEN, mix};

/// What every header begins with.
pub(super) const MAGIC: u16 = 0xacca;
/// The version of a versioned header, with the bit that tells it from a kind of checksum.
pub(super) const VERSION: u8 = 0x81;
/// Set in the version.
const VERSIONED: u8 = 0x80;
/// What words of the data are multiplied with from one to the next but three.
const FACTOR: u64 = 0x61c8_8646_80b5_83eb;

/// Bytes of a header without its checksum of the data.
pub(super) const fn bare_bytes(layout: VerifyLayout) -> usize {
    match layout {
        VerifyLayout::Versioned => 48,
        VerifyLayout::Unversioned => 40,
    }
}

/// A header's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: VerifyLayout,
    pub(super) magic: u16,
    /// With its bit; 0 in an unversioned header.
    pub(super) version: u8,
    pub(super) kind: u8,
    pub(super) bytes: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    pub(super) thread: u16,
    /// In an unversioned header its low 16 bits alone.
    pub(super) number: u64,
    pub(super) crc: u32,
}

/// The first `N` of some bytes; zeros where there are fewer.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

impl Header {
    /// What the first bytes of an interval say in a layout, true or not.
    pub(super) fn read(interval: &[u8], layout: VerifyLayout) -> Self {
        let raw: [u8; 48] = match layout {
            VerifyLayout::Versioned => first(interval),
            // Of one that is shorter, its own bytes alone.
            VerifyLayout::Unversioned => {
                let own: [u8; 40] = first(interval);
                std::array::from_fn(|at| own.get(at).copied().unwrap_or(0))
            }
        };
        let header = Header {
            layout,
            magic: u16::from_le_bytes(first(&raw)),
            bytes: u32::from_le_bytes(first(&raw[4..])),
            seed: u64::from_le_bytes(first(&raw[8..])),
            offset: u64::from_le_bytes(first(&raw[16..])),
            seconds: u32::from_le_bytes(first(&raw[24..])),
            nanoseconds: u32::from_le_bytes(first(&raw[28..])),
            ..Header::default()
        };
        match layout {
            VerifyLayout::Versioned => Header {
                version: raw[2],
                kind: raw[3],
                number: u64::from_le_bytes(first(&raw[32..])),
                thread: u16::from_le_bytes(first(&raw[40..])),
                crc: u32::from_le_bytes(first(&raw[44..])),
                ..header
            },
            VerifyLayout::Unversioned => Header {
                kind: raw[2],
                thread: u16::from_le_bytes(first(&raw[32..])),
                number: u16::from_le_bytes(first(&raw[34..])).into(),
                crc: u32::from_le_bytes(first(&raw[36..])),
                ..header
            },
        }
    }

    /// Writes the header with its own checksum; what it leaves out stays as it is.
    fn write(&self, interval: &mut [u8]) {
        interval[..2].copy_from_slice(&self.magic.to_le_bytes());
        interval[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        interval[8..16].copy_from_slice(&self.seed.to_le_bytes());
        interval[16..24].copy_from_slice(&self.offset.to_le_bytes());
        interval[24..28].copy_from_slice(&self.seconds.to_le_bytes());
        interval[28..32].copy_from_slice(&self.nanoseconds.to_le_bytes());
        match self.layout {
            VerifyLayout::Versioned => {
                interval[2..4].copy_from_slice(&[self.version, self.kind]);
                interval[32..40].copy_from_slice(&self.number.to_le_bytes());
                interval[40..42].copy_from_slice(&self.thread.to_le_bytes());
            }
            VerifyLayout::Unversioned => {
                interval[2..4].copy_from_slice(&[self.kind, 0]);
                interval[32..34].copy_from_slice(&self.thread.to_le_bytes());
                interval[34..36].copy_from_slice(&(self.number as u16).to_le_bytes());
            }
        }
        let crc = Header::crc_of(interval, self.layout);
        interval[bare_bytes(self.layout) - 4..][..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// What the checksum of a header in this layout must be.
    pub(super) fn crc_of(interval: &[u8], layout: VerifyLayout) -> u32 {
        crc32c_plain(&interval[..bare_bytes(layout) - 4])
    }
}

/// The number that stands for a checksum in a header.
const fn kind(checksum: Checksum) -> u8 {
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
    pub number: u64,
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
    /// After so many bytes of a write the pattern begins anew; 0: it does not.
    pub(super) pattern_bytes: usize,
    pub(super) seed: u64,
    thread: u16,
    /// Of what is written.
    layout: VerifyLayout,
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
        // An interval divides every write; one that does not is as long as what does (fio).
        let interval_bytes = match verify.interval_bytes {
            0 => 0,
            bytes if grain_bytes.is_multiple_of(bytes) => bytes as usize,
            _ => grain_bytes as usize,
        };
        let thread = verify.first_worker.wrapping_add(worker).wrapping_add(1) as u16;
        let pattern_bytes = verify.pattern_interval_bytes as usize;
        let headers = Headers { form, interval_bytes, pattern_bytes, seed, thread, layout: verify.layout };
        headers
            .check(if interval_bytes == 0 { grain_bytes as usize } else { interval_bytes })
            .map(|()| Some(headers))
    }

    fn check(&self, least_bytes: usize) -> Result<(), Diagnostic> {
        let pattern = match &self.form {
            Form::Header(header) => {
                let bytes = self.header_bytes(self.layout);
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
    pub(super) fn header_bytes(&self, layout: VerifyLayout) -> usize {
        match &self.form {
            Form::Header(header) => bare_bytes(layout) + digest_bytes(header.checksum),
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
            Some(template) => template::write(buffer, template, write.offset, self.pattern_bytes),
            None => write_random(buffer, seed),
        }
        let Form::Header(stamp) = &self.form else { return };
        let interval = self.interval_of(buffer.len());
        for (index, part) in buffer.chunks_mut(interval).enumerate() {
            let header = Header {
                layout: self.layout,
                magic: MAGIC,
                version: VERSION,
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
            let (head, data) = part.split_at_mut(self.header_bytes(self.layout));
            digest(stamp.checksum, self.layout, data, &mut head[bare_bytes(self.layout)..]);
            self.swap(part, self.layout);
        }
    }

    /// The layout of the header that lies in an interval as it was read; where none is to be reported, that of our own.
    pub(super) fn layout_of(&self, interval: &[u8]) -> VerifyLayout {
        let Form::Header(stamp) = &self.form else { return self.layout };
        let at = stamp.offset_bytes as usize;
        let [low, high, version] = first(interval.get(at..).unwrap_or_default());
        let layout = match (u16::from_le_bytes([low, high]), version & VERSIONED) {
            (MAGIC, 0) => VerifyLayout::Unversioned,
            (MAGIC, _) => VerifyLayout::Versioned,
            _ => return self.layout,
        };
        let bytes = self.header_bytes(layout);
        let room = interval.len() >= at + bytes && (at == 0 || at >= bytes);
        if room { layout } else { self.layout }
    }

    /// Exchanges the header and the data at its place, or back.
    pub(super) fn swap(&self, interval: &mut [u8], layout: VerifyLayout) {
        let Form::Header(stamp) = &self.form else { return };
        let (at, bytes) = (stamp.offset_bytes as usize, self.header_bytes(layout));
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

fn refused(message: impl Into<String>, hint: &str) -> Diagnostic {
    Diagnostic::error(&Origin::Default, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::inspect::{ExpectedBlock, Inspector};
    use super::*;

    /// What fio 3.33 and fio 3.41 wrote at byte 512, in blocks of 512 bytes: version, checksum, header with checksum.
    const WRITTEN: &str = include_str!("headers.txt");
    const OFFSET: u64 = 512;

    struct Golden {
        layout: VerifyLayout,
        checksum: Checksum,
        block: Vec<u8>,
    }

    fn template() -> Template {
        Template { bytes: b"\xde\xad\xbe\xef".to_vec(), offsets: Vec::new() }
    }

    fn goldens() -> Vec<Golden> {
        let read = |line: &str| {
            let [version, checksum, hex] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let layout = if version == "3.41" { VerifyLayout::Versioned } else { VerifyLayout::Unversioned };
            let checksum = Checksum::named(checksum).expect("a name");
            let digits = hex.as_bytes().as_chunks::<2>().0.iter();
            let digits = digits.map(|two| std::str::from_utf8(two).expect("digits"));
            let head: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).expect("a byte")).collect();
            let mut block = vec![0; 512];
            match checksum {
                Checksum::Pattern => template::write(&mut block, &template(), OFFSET, 0),
                _ => write_random(&mut block, Header::read(&head, layout).seed),
            }
            block[..head.len()].copy_from_slice(&head);
            Golden { layout, checksum, block }
        };
        WRITTEN.lines().map(read).collect()
    }

    fn headers(checksum: Checksum, layout: VerifyLayout, offset_bytes: u64) -> Headers {
        let pattern = (checksum == Checksum::Pattern).then(template);
        let stamp = Stamp::Header(HeaderStamp { pattern, offset_bytes, ..HeaderStamp::new(checksum) });
        let verify = Verify { stamp, layout, ..Verify::default() };
        Headers::new(&verify, 1, 512, 0).expect("they fit").expect("headers")
    }

    fn flaws(headers: &Headers, block: &[u8]) -> Vec<iodyno_model::Wrong> {
        let mut flaws = Vec::new();
        let expected = ExpectedBlock { file: 0, offset: OFFSET, written: None };
        Inspector::new(headers.clone()).check(&mut block.to_vec(), expected, &mut flaws);
        flaws.iter().map(|flaw| flaw.what).collect()
    }

    #[test]
    fn every_checksum_is_read_in_both_layouts_whichever_is_written() {
        let goldens = goldens();
        assert_eq!(goldens.len(), 31, "fio 3.33 does not know pattern_hdr");
        for golden in goldens {
            for own in [VerifyLayout::Versioned, VerifyLayout::Unversioned] {
                let headers = headers(golden.checksum, own, 0);
                assert_eq!(flaws(&headers, &golden.block), [], "{:?} {:?}", golden.checksum, golden.layout);
                for at in 0..headers.header_bytes(golden.layout) {
                    let mut bad = golden.block.clone();
                    bad[at] ^= 0x10;
                    let told = flaws(&headers, &bad);
                    // Behind the digest of SHA-512 lies what says nothing.
                    let idle = golden.checksum == Checksum::Sha512 && at >= bare_bytes(golden.layout) + 64;
                    assert!(told.len() == 1 || idle, "{:?}: byte {at}: {told:?}", golden.checksum);
                }
            }
        }
    }

    #[test]
    fn the_bytes_that_are_written_are_those_of_both_versions() {
        for golden in goldens() {
            let headers = headers(golden.checksum, golden.layout, 0);
            let header = Header::read(&golden.block, golden.layout);
            assert_eq!((header.kind, header.number, header.thread), (kind(golden.checksum), 1, 1));
            let mut block = golden.block.clone();
            let (head, data) = block.split_at_mut(headers.header_bytes(golden.layout));
            head[..40].fill(0);
            digest(golden.checksum, golden.layout, data, &mut head[bare_bytes(golden.layout)..]);
            header.write(head);
            assert_eq!(block, golden.block, "{:?} {:?}", golden.checksum, golden.layout);
        }
    }

    #[test]
    fn what_is_filled_is_clean_and_of_its_layout_wherever_the_header_lies() {
        let write = Write { file: 0, offset: OFFSET, generation: 3, number: 70_000, age_ns: 5_000_000_007 };
        for layout in [VerifyLayout::Versioned, VerifyLayout::Unversioned] {
            for checksum in Checksum::ALL {
                for at in [0, 200] {
                    let headers = headers(checksum, layout, at);
                    let mut block = vec![0; 512];
                    headers.fill(&mut block, write);
                    assert_eq!(headers.layout_of(&block), layout);
                    let header = Header::read(&block[at as usize..], layout);
                    let number = if layout == VerifyLayout::Versioned { 70_000 } else { 70_000 & 0xffff };
                    assert_eq!((header.number, header.seconds, header.nanoseconds), (number, 5, 7));
                    assert_eq!(flaws(&headers, &block), [], "{checksum:?} {layout:?} {at}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_is_told_as_such() {
        let headers = headers(Checksum::Crc32c, VerifyLayout::Versioned, 0);
        let mut block = vec![0; 512];
        headers.fill(&mut block, Write { file: 0, offset: OFFSET, generation: 1, number: 0, age_ns: 0 });
        block[2] = 0x82;
        assert_eq!(flaws(&headers, &block), [iodyno_model::Wrong::Version]);
    }
}
