//! Checks writes that carry headers or a pattern: a fast path that says "clean", and a slow one that tells every fact.
//!
//! The order of the checks is fio's, so that both name the same first fault of an interval. What the facts prove is
//! named beside: a header of another place is a misdirected write, one of an older seed a stale one. Refuses to repair.

use iodyno_model::{Checksum, VerifyLayout, Wrong};

use super::digest::{DIGEST_MOST, digest, digest_bytes, telling_bytes};
use super::header::{Form, Header, Headers, MAGIC, VERSION, bare_bytes, write_random};
use super::template;
use super::verdict::{Class, Corruption};

/// More wrong bits than this in an interval are no bit flip.
const FLIPPED_BITS_MOST: u32 = 16;
/// Bits of a write's number that are remembered.
pub const NUMBER_BITS: u32 = 30;
/// In place of a number: only the generation of a write is known.
pub const UNKNOWN_NUMBER: u32 = u32::MAX;
/// Older generations whose seed is tried.
const OLDER_TRIED: u64 = 8;

/// What a read block should be.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedBlock {
    /// The file, see [`super::Place::file_id`].
    pub file: u64,
    /// Where the write began, bytes.
    pub offset: u64,
    /// Its generation and number (the low [`NUMBER_BITS`] of it), where this run wrote it.
    pub written: Option<(u64, u32)>,
}

/// An interval that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where it begins in the file, bytes.
    pub offset: u64,
    /// How long it is, bytes.
    pub bytes: u64,
    pub what: Wrong,
    /// What should be there, as text.
    pub expected: String,
    /// What is there, as text.
    pub found: String,
    /// What that proves.
    pub corruption: Corruption,
}

/// Checks what [`Headers`] of the same arguments wrote, or fio did.
#[derive(Clone, Debug)]
pub struct Inspector {
    headers: Headers,
    scratch: Vec<u8>,
}

impl Inspector {
    /// A checker of what these headers write.
    pub fn new(headers: Headers) -> Self {
        Inspector { headers, scratch: Vec::new() }
    }

    /// The checksum's name, or `pattern`.
    pub fn check_name(&self) -> &'static str {
        match &self.headers.form {
            Form::Header(stamp) => stamp.checksum.name(),
            Form::Pattern(_) => "pattern",
        }
    }

    /// Looks at all intervals of one whole write, and adds what is wrong to `flaws`. The buffer is as before when it
    /// returns. Allocates only when something is wrong.
    pub fn check(&mut self, buffer: &mut [u8], expected: ExpectedBlock, flaws: &mut Vec<Flaw>) {
        let interval = self.headers.interval_of(buffer.len()).max(1);
        let mut at = 0;
        while at < buffer.len() {
            let end = buffer.len().min(at + interval);
            let part = &mut buffer[at..end];
            let layout = self.headers.layout_of(part);
            self.headers.swap(part, layout);
            if let Some(flaw) = self.examine(part, layout, at, expected) {
                flaws.push(flaw);
            }
            self.headers.swap(part, layout);
            at = end;
        }
    }

    /// What is wrong with an interval that lies `at` bytes into its write, if anything.
    fn examine(
        &mut self,
        part: &[u8],
        layout: VerifyLayout,
        at: usize,
        expected: ExpectedBlock,
    ) -> Option<Flaw> {
        let header = Header::read(part, layout);
        let fault = match &self.headers.form {
            Form::Header(_) => self
                .header_fault(part, &header, at, expected)
                .or_else(|| self.data_fault(part, layout, at, expected)),
            Form::Pattern(_) => self.data_fault(part, layout, at, expected),
        };
        let (what, wanted, found) = fault?;
        let corruption = self.classify(part, &header, at, expected, what);
        Some(Flaw {
            offset: expected.offset + at as u64,
            bytes: part.len() as u64,
            what,
            expected: wanted,
            found,
            corruption,
        })
    }

    fn header_fault(
        &self,
        part: &[u8],
        header: &Header,
        at: usize,
        expected: ExpectedBlock,
    ) -> Option<(Wrong, String, String)> {
        let Form::Header(stamp) = &self.headers.form else { return None };
        let offset = expected.offset + at as u64;
        let decimal = |what, wanted: u64, found: u64| Some((what, wanted.to_string(), found.to_string()));
        let hex = |what, wanted: u32, found: u32| Some((what, format!("{wanted:x}"), format!("{found:x}")));
        if header.magic != MAGIC {
            return hex(Wrong::Magic, MAGIC.into(), header.magic.into());
        }
        if header.layout == VerifyLayout::Versioned && header.version != VERSION {
            return hex(Wrong::Version, VERSION.into(), header.version.into());
        }
        if header.bytes as usize != part.len() {
            return decimal(Wrong::Length, part.len() as u64, header.bytes.into());
        }
        let seed = expected.written.filter(|_| stamp.seed_checked);
        let seed =
            seed.map(|(generation, _)| self.headers.seed_of(expected.file, expected.offset, generation));
        if let Some(seed) = seed.filter(|seed| *seed != header.seed) {
            return decimal(Wrong::Seed, seed, header.seed);
        }
        if header.offset != offset {
            return decimal(Wrong::Offset, offset, header.offset);
        }
        let number = expected.written.filter(|_| stamp.number_checked).map(|(_, number)| number);
        let number = number.filter(|number| *number != UNKNOWN_NUMBER);
        let kept = match header.layout {
            VerifyLayout::Versioned => (1 << NUMBER_BITS) - 1,
            VerifyLayout::Unversioned => u64::from(u16::MAX),
        };
        let number = number.map(|number| u64::from(number) & kept);
        if let Some(number) = number.filter(|number| *number != header.number & kept) {
            return decimal(Wrong::Number, number, header.number);
        }
        let crc = Header::crc_of(part, header.layout);
        if crc != header.crc {
            return hex(Wrong::Header, crc, header.crc);
        }
        None
    }

    /// The checksum, and the pattern byte by byte.
    fn data_fault(
        &mut self,
        part: &[u8],
        layout: VerifyLayout,
        at: usize,
        expected: ExpectedBlock,
    ) -> Option<(Wrong, String, String)> {
        if let Some(fault) = self.checksum_fault(part, layout) {
            return Some(fault);
        }
        let skipped = self.headers.header_bytes(layout);
        let moved = match &self.headers.form {
            Form::Header(stamp)
                if stamp.checksum != Checksum::Pattern && stamp.checksum != Checksum::Meta =>
            {
                None
            }
            _ => self.headers.pattern(),
        };
        let template = moved?;
        let data = &part[skipped..];
        let (offset, interval) = (expected.offset, self.headers.pattern_bytes);
        let (wrong, byte) =
            template::first_difference(data, template, offset, at + skipped, interval, &mut self.scratch)?;
        let place = Wrong::Pattern { at: (skipped + wrong) as u64 };
        Some((place, format!("{byte:02x}"), format!("{:02x}", data[wrong])))
    }

    fn checksum_fault(&self, part: &[u8], layout: VerifyLayout) -> Option<(Wrong, String, String)> {
        let Form::Header(stamp) = &self.headers.form else { return None };
        let (head, data) = part.split_at(self.headers.header_bytes(layout));
        let mut sum = [0; DIGEST_MOST];
        let sum = &mut sum[..digest_bytes(stamp.checksum)];
        digest(stamp.checksum, layout, data, sum);
        let telling = telling_bytes(stamp.checksum, layout, data.len());
        let stored = &head[bare_bytes(layout)..][..telling];
        if stored == &sum[..telling] {
            return None;
        }
        // What was written is what the stamp says; what is found are the data.
        Some((Wrong::Checksum, hexadecimal(stored), hexadecimal(&sum[..telling])))
    }

    /// What the facts prove.
    fn classify(
        &self,
        part: &[u8],
        header: &Header,
        at: usize,
        expected: ExpectedBlock,
        what: Wrong,
    ) -> Corruption {
        let offset = expected.offset + at as u64;
        let owner = super::stamp::owner(self.headers.seed, expected.file);
        let whole = Corruption { class: Class::Mismatch { what }, owner, offset, bytes: part.len() as u64 };
        let written = expected.written.map_or(0, |(generation, _)| generation);
        if let Some(class) = Class::of_blank(part, written) {
            return Corruption { class, ..whole };
        }
        let sound = part.len() >= bare_bytes(header.layout)
            && header.magic == MAGIC
            && header.bytes as usize == part.len()
            && Header::crc_of(part, header.layout) == header.crc;
        match what {
            Wrong::Offset | Wrong::Seed if sound && header.offset != offset => {
                Corruption { class: Class::Misdirected { owner, from: header.offset }, ..whole }
            }
            Wrong::Seed | Wrong::Number if sound => self.otherwise(header, expected, whole),
            Wrong::Checksum => self.flipped(part, header, expected, at, whole),
            _ => whole,
        }
    }

    /// A whole header of this place, but of another write.
    fn otherwise(&self, header: &Header, expected: ExpectedBlock, whole: Corruption) -> Corruption {
        let Some((written, _)) = expected.written else { return whole };
        let older = (written.saturating_sub(OLDER_TRIED)..written)
            .rev()
            .find(|found| self.headers.seed_of(expected.file, expected.offset, *found) == header.seed);
        let class = match older {
            Some(found) => Class::Stale { found, written },
            None => Class::Foreign { from: header.offset, generation: header.number },
        };
        Corruption { class, ..whole }
    }

    /// Compares data that belong to a whole header with what its seed (or the pattern) makes: a few bits, or a range.
    fn flipped(
        &self,
        part: &[u8],
        header: &Header,
        expected: ExpectedBlock,
        at: usize,
        whole: Corruption,
    ) -> Corruption {
        let content = self.content(header.seed, expected.offset, at + part.len());
        let content = &content[at..];
        let skipped = self.headers.header_bytes(header.layout);
        let differs = |index: &usize| part[*index] != content[*index];
        let Some(first) = (skipped..part.len()).find(differs) else { return whole };
        let last = (first..part.len()).rfind(differs).unwrap_or(first);
        let bits: u32 = (first..=last).map(|index| (part[index] ^ content[index]).count_ones()).sum();
        let place =
            Corruption { offset: whole.offset + first as u64, bytes: (last - first + 1) as u64, ..whole };
        let right = part.len() - skipped - (last - first + 1);
        if bits <= FLIPPED_BITS_MOST {
            let bit = (part[first] ^ content[first]).trailing_zeros() as u8;
            return Corruption { class: Class::BitFlip { bit, bits }, ..place };
        }
        match right * 8 >= part.len() {
            true => Corruption { class: Class::Overwritten, ..place },
            false => Corruption { class: Class::Garbage, ..whole },
        }
    }

    /// The first bytes of a write before its headers are laid over.
    fn content(&self, seed: u64, write_offset: u64, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        match self.headers.pattern() {
            Some(pattern) => template::write(&mut content, pattern, write_offset, self.headers.pattern_bytes),
            None => write_random(&mut content, seed),
        }
        content
    }

    /// What an interval should be, as far as it can be made again: its own header, and the data of its seed or pattern.
    pub fn remake(&self, interval: &[u8], at: usize, expected: ExpectedBlock) -> Vec<u8> {
        let mut copy = interval.to_vec();
        let layout = self.headers.layout_of(interval);
        self.headers.swap(&mut copy, layout);
        let seed = match expected.written {
            Some((generation, _)) => self.headers.seed_of(expected.file, expected.offset, generation),
            None => Header::read(&copy, layout).seed,
        };
        let mut content = self.content(seed, expected.offset, at + interval.len()).split_off(at);
        if let Form::Header(stamp) = &self.headers.form {
            let skipped = self.headers.header_bytes(layout);
            content[..skipped].copy_from_slice(&copy[..skipped]);
            let (head, data) = content.split_at_mut(skipped);
            digest(stamp.checksum, layout, data, &mut head[bare_bytes(layout)..]);
        }
        self.headers.swap(&mut content, layout);
        content
    }
}

/// A checksum byte by byte, as it lies on the disk.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
