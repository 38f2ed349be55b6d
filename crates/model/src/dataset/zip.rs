//! NumPy's archive: a zip file of two arrays that are not compressed, with the fields that NumPy fills in.

use super::{ChecksumForm, FileLayout, Section, array_header};

/// From this length or place on the directory has 64 bits for it.
const LONG_BYTES: u64 = (1 << 31) - 1;
/// Where the checksum lies in the header of a member.
const CHECKSUM_AT: u64 = 14;
/// The version that knows lengths of 64 bits; made by Unix.
const VERSION: u16 = 45;
const UNIX: u16 = 3;
/// The date of a member that has none, 1 January 1980.
const DATE: u16 = 0x21;
/// Readable and writable by the owner, in the upper half.
const PERMISSIONS: u32 = 0o600 << 16;
/// A length that stands elsewhere.
const ELSEWHERE: u32 = u32::MAX;

/// A member of the archive.
struct ArchiveMember {
    name: &'static str,
    bytes: u64,
    offset: u64,
    /// Of its bytes; none: the one that the engine computes.
    sum: Option<u32>,
}

fn labels(layout: &FileLayout) -> Vec<u8> {
    let header = array_header("<i8", &format!("({},)", layout.samples));
    [header, vec![0; layout.samples as usize * 8]].concat()
}

fn members(layout: &FileLayout) -> (ArchiveMember, ArchiveMember, Vec<u8>) {
    let labels = labels(layout);
    let bytes = layout.array_header().len() as u64 + layout.samples * layout.sample_bytes;
    let samples = ArchiveMember { name: "x.npy", bytes, offset: 0, sum: None };
    let offset = samples.header().len() as u64 + bytes;
    let (bytes, sum) = (labels.len() as u64, Some(crc32(&labels)));
    (samples, ArchiveMember { name: "y.npy", bytes, offset, sum }, labels)
}

pub fn head(layout: &FileLayout) -> Vec<Section> {
    let samples = members(layout).0;
    vec![Section::Bytes(samples.header()), Section::Begin, Section::Bytes(layout.array_header())]
}

pub fn tail(layout: &FileLayout) -> Vec<Section> {
    let (first, second, labels) = members(layout);
    let directory = second.offset + second.header().len() as u64 + second.bytes;
    let mut sections = vec![
        Section::ChecksumAt(CHECKSUM_AT, ChecksumForm::LittleEndian),
        Section::Bytes(second.header()),
        Section::Bytes(labels),
    ];
    for member in [&first, &second] {
        let (before, behind) = member.entry();
        sections.push(Section::Bytes(before));
        sections.push(match member.sum {
            None => Section::Checksum(ChecksumForm::LittleEndian),
            Some(sum) => Section::Bytes(sum.to_le_bytes().to_vec()),
        });
        sections.push(Section::Bytes(behind));
    }
    let length: u64 = sections[3..].iter().map(Section::bytes).sum();
    sections.push(Section::Bytes(end(directory, length)));
    sections
}

/// Integers one after the other, little endian.
fn words(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

impl ArchiveMember {
    /// What lies before its bytes; NumPy keeps both lengths in 64 bits, whatever they are.
    fn header(&self) -> Vec<u8> {
        words(&[
            b"PK\x03\x04",
            &VERSION.to_le_bytes(),
            &[0; 6],
            &DATE.to_le_bytes(),
            &self.sum.unwrap_or(0).to_le_bytes(),
            &ELSEWHERE.to_le_bytes(),
            &ELSEWHERE.to_le_bytes(),
            &(self.name.len() as u16).to_le_bytes(),
            &20u16.to_le_bytes(),
            self.name.as_bytes(),
            &1u16.to_le_bytes(),
            &16u16.to_le_bytes(),
            &self.bytes.to_le_bytes(),
            &self.bytes.to_le_bytes(),
        ])
    }

    /// Its entry in the directory, before and behind the checksum.
    fn entry(&self) -> (Vec<u8>, Vec<u8>) {
        let (is_long, is_far) = (self.bytes > LONG_BYTES, self.offset > LONG_BYTES);
        let long =
            if is_long { [self.bytes.to_le_bytes(), self.bytes.to_le_bytes()].concat() } else { vec![] };
        let far = if is_far { self.offset.to_le_bytes().to_vec() } else { vec![] };
        let extra = [long, far].concat();
        let extra = match extra.len() as u16 {
            0 => extra,
            bytes => words(&[&1u16.to_le_bytes(), &bytes.to_le_bytes(), &extra]),
        };
        let bytes = if is_long { ELSEWHERE } else { self.bytes as u32 };
        let offset = if is_far { ELSEWHERE } else { self.offset as u32 };
        let made_by = VERSION | UNIX << 8;
        let before = words(&[
            b"PK\x01\x02",
            &made_by.to_le_bytes(),
            &VERSION.to_le_bytes(),
            &[0; 6],
            &DATE.to_le_bytes(),
        ]);
        let behind = words(&[
            &bytes.to_le_bytes(),
            &bytes.to_le_bytes(),
            &(self.name.len() as u16).to_le_bytes(),
            &(extra.len() as u16).to_le_bytes(),
            &[0; 6],
            &PERMISSIONS.to_le_bytes(),
            &offset.to_le_bytes(),
            self.name.as_bytes(),
            &extra,
        ]);
        (before, behind)
    }
}

/// The end of the archive, with the record of 64 bits before it where the directory lies far behind.
fn end(directory: u64, bytes: u64) -> Vec<u8> {
    let is_far = directory > LONG_BYTES;
    let mut end = Vec::new();
    if is_far {
        end = words(&[
            b"PK\x06\x06",
            &44u64.to_le_bytes(),
            &VERSION.to_le_bytes(),
            &VERSION.to_le_bytes(),
            &[0; 8],
            &2u64.to_le_bytes(),
            &2u64.to_le_bytes(),
            &bytes.to_le_bytes(),
            &directory.to_le_bytes(),
            b"PK\x06\x07",
            &[0; 4],
            &(directory + bytes).to_le_bytes(),
            &1u32.to_le_bytes(),
        ]);
    }
    let offset = if is_far { ELSEWHERE } else { directory as u32 };
    let count = 2u16.to_le_bytes();
    end.extend(words(&[
        b"PK\x05\x06",
        &[0; 4],
        &count,
        &count,
        &(bytes as u32).to_le_bytes(),
        &offset.to_le_bytes(),
        &[0; 2],
    ]));
    end
}

/// CRC-32 of the labels, which are short.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_has_the_value_of_its_catalogue() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
