//! Pictures of 8 × 8 grey points, padded to a length: a decoder reads all bytes, and has little to decode.

use super::{ChecksumForm, Section};

/// The beginning of every JPEG file.
pub const JPEG_HEAD: &[u8] = &[0xff, 0xd8];

/// One quantisation table of ones, one component of 8 bits, and tables with one code each: of no difference, and of the end of a
/// block. So the scan is two bits.
pub const JPEG_TAIL: &[u8] = &{
    const TABLE: usize = 69;
    const REST: &[u8] = &[
        0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, // the frame
        0xff, 0xc4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, // first coefficients
        0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // the others
        0xff, 0xda, 0, 8, 1, 1, 0x00, 0, 63, 0, 0x3f, // the scan
        0xff, 0xd9,
    ];
    let mut bytes = [1u8; TABLE + REST.len()];
    (bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]) = (0xff, 0xdb, 0, 67, 0);
    let mut at = 0;
    while at < REST.len() {
        bytes[TABLE + at] = REST[at];
        at += 1;
    }
    bytes
};

/// The longest comment with its marker and length, bytes.
const COMMENT_BYTES: u64 = 65_537;

/// Comments up to a length of the file; a file that would be shorter than its picture is as long as that.
pub fn jpeg_padding(file_bytes: u64) -> Vec<Section> {
    let mut rest = file_bytes.saturating_sub((JPEG_HEAD.len() + JPEG_TAIL.len()) as u64);
    let mut sections = Vec::new();
    while rest >= 4 {
        // What is left is none, or enough for a comment.
        let most = rest.min(COMMENT_BYTES);
        let whole = if (1..4).contains(&(rest - most)) { most - 4 } else { most };
        let length = (whole - 2) as u16;
        sections.push(Section::Bytes([&[0xff, 0xfe][..], &length.to_be_bytes()].concat()));
        sections.push(Section::Random(whole - 4));
        rest -= whole;
    }
    sections
}

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Ancillary, private, safe to copy.
const PADDING: &[u8; 4] = b"paDd";
/// Length, type and checksum of a chunk, bytes; and what it holds at most.
const CHUNK_BYTES: u64 = 12;
const CHUNK_MOST_BYTES: u64 = (1 << 31) - 1;

fn chunk(kind: &[u8; 4], bytes: &[u8]) -> [Section; 4] {
    [
        Section::Bytes((bytes.len() as u32).to_be_bytes().to_vec()),
        Section::Begin,
        Section::Bytes([kind, bytes].concat()),
        Section::Checksum(ChecksumForm::BigEndian),
    ]
}

pub fn png_head() -> Vec<Section> {
    let shape = [&8u32.to_be_bytes()[..], &8u32.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    [vec![Section::Bytes(PNG_SIGNATURE.to_vec())], chunk(b"IHDR", &shape).to_vec()].concat()
}

/// Chunks up to a length of the file; a file that would be shorter than its picture is as long as that.
pub fn png_padding(file_bytes: u64) -> Vec<Section> {
    let picture: u64 = png_head().iter().chain(&png_tail()).map(Section::bytes).sum();
    let mut rest = file_bytes.saturating_sub(picture);
    let mut sections = Vec::new();
    while rest >= CHUNK_BYTES {
        let most = rest.min(CHUNK_MOST_BYTES + CHUNK_BYTES);
        let whole = if (1..CHUNK_BYTES).contains(&(rest - most)) { most - CHUNK_BYTES } else { most };
        let bytes = whole - CHUNK_BYTES;
        sections.extend([
            Section::Bytes((bytes as u32).to_be_bytes().to_vec()),
            Section::Begin,
            Section::Bytes(PADDING.to_vec()),
            Section::Random(bytes),
            Section::Checksum(ChecksumForm::BigEndian),
        ]);
        rest -= whole;
    }
    sections
}

/// Black points in a stream that is stored, not compressed.
pub fn png_tail() -> Vec<Section> {
    const POINTS: u16 = 8 * (1 + 8);
    let stream = [
        &[0x78, 0x01, 0x01][..],
        &POINTS.to_le_bytes(),
        &(!POINTS).to_le_bytes(),
        &[0; POINTS as usize],
        // Adler-32 of so many zeros.
        &(u32::from(POINTS) << 16 | 1).to_be_bytes(),
    ];
    [chunk(b"IDAT", &stream.concat()), chunk(b"IEND", &[])].concat()
}
