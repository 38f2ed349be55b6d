//! Sections: a head with kind, lengths and checksum, and a body that may be compressed.

use std::io::{self, Read, Write};

use crate::TraceError;

/// What the body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// Where the trace comes from: first, and again after the blocks with all notes.
    Header,
    Block,
    Totals,
    /// The places of blocks.
    Index,
    Files,
    Threads,
    /// Nothing follows but the trailer.
    End,
}

impl SectionKind {
    const ALL: [(SectionKind, u8); 7] = [
        (SectionKind::Header, b'H'),
        (SectionKind::Block, b'B'),
        (SectionKind::Totals, b'S'),
        (SectionKind::Index, b'I'),
        (SectionKind::Files, b'F'),
        (SectionKind::Threads, b'T'),
        (SectionKind::End, b'E'),
    ];

    fn letter(self) -> u8 {
        SectionKind::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, letter)| *letter)
    }
}

/// Bytes of a head: kind, compression, two zeros, stored length, length, checksum.
pub const HEAD_BYTES: usize = 16;

/// What follows the last section: the place of the sections after the blocks, its checksum, and eight bytes.
pub const TRAILER_BYTES: usize = 20;

pub const TRAILER_SIGNATURE: [u8; 8] = *b"IOT-END\n";

/// No body is longer; a head that says so is damaged.
pub const BODY_LIMIT: usize = 32 << 20;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// Writes sections and counts bytes.
pub struct SectionWriter<W> {
    pub write: W,
    pub bytes: u64,
    stored: Vec<u8>,
}

impl<W: Write> SectionWriter<W> {
    pub fn new(write: W) -> SectionWriter<W> {
        SectionWriter { write, bytes: 0, stored: Vec::new() }
    }

    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Where it begins.
    pub fn section(&mut self, kind: SectionKind, body: &[u8]) -> io::Result<u64> {
        let place = self.bytes;
        self.stored.resize(lz4_flex::block::get_maximum_output_size(body.len()), 0);
        let compressed = lz4_flex::block::compress_into(body, &mut self.stored).unwrap_or(usize::MAX);
        let is_smaller = compressed < body.len();
        let stored = if is_smaller { &self.stored[..compressed] } else { body };
        let mut head = [0; HEAD_BYTES];
        head[0] = kind.letter();
        head[1] = if is_smaller { LZ4 } else { PLAIN };
        head[4..8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(body.len() as u32).to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[..12]), stored);
        head[12..].copy_from_slice(&checksum.to_le_bytes());
        self.write.write_all(&head)?;
        self.write.write_all(stored)?;
        self.bytes += (HEAD_BYTES + stored.len()) as u64;
        Ok(place)
    }
}

/// What came of an attempt to read a section.
pub enum SectionRead {
    /// Its body is in the buffer.
    Whole(SectionKind),
    /// The input ends, before it or within it.
    CutOff,
}

/// Reads sections and counts bytes.
pub struct SectionReader<R> {
    pub read: R,
    pub bytes: u64,
    stored: Vec<u8>,
}

impl<R: Read> SectionReader<R> {
    pub fn new(read: R) -> SectionReader<R> {
        SectionReader { read, bytes: 0, stored: Vec::new() }
    }

    /// Fewer bytes than asked for: the input ends.
    pub fn raw(&mut self, bytes: usize) -> Result<&[u8], TraceError> {
        self.stored.clear();
        (&mut self.read).take(bytes as u64).read_to_end(&mut self.stored)?;
        self.bytes += self.stored.len() as u64;
        Ok(&self.stored)
    }

    pub fn section(&mut self, body: &mut Vec<u8>) -> Result<SectionRead, TraceError> {
        let Ok(head) = <[u8; HEAD_BYTES]>::try_from(self.raw(HEAD_BYTES)?) else {
            return Ok(SectionRead::CutOff);
        };
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored, length, checksum) = (number(4) as usize, number(8) as usize, number(12));
        let kind = SectionKind::ALL.iter().find(|(_, letter)| *letter == head[0]).map(|(kind, _)| *kind);
        if stored > BODY_LIMIT || length > BODY_LIMIT {
            let message =
                format!("a section of {} bytes, where {BODY_LIMIT} are the most", stored.max(length));
            return Err(TraceError::new(message));
        }
        if self.raw(stored)?.len() < stored {
            return Ok(SectionRead::CutOff);
        }
        if crc32c::crc32c_append(crc32c::crc32c(&head[..12]), &self.stored) != checksum {
            return Err(TraceError::new("the checksum is wrong"));
        }
        let Some(kind) = kind else {
            let message = format!("a section of the unknown kind {}", head[0]);
            return Err(TraceError::new(message).hint("a newer version wrote it"));
        };
        body.clear();
        match head[1] {
            PLAIN if stored == length => body.extend_from_slice(&self.stored),
            LZ4 => {
                body.resize(length, 0);
                let unpacked = lz4_flex::block::decompress_into(&self.stored, body);
                if unpacked.ok() != Some(length) {
                    return Err(TraceError::new("the compressed bytes are no LZ4 of that length"));
                }
            }
            _ => return Err(TraceError::new(format!("compression {} is unknown", head[1]))),
        }
        Ok(SectionRead::Whole(kind))
    }
}
