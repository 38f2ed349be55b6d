//! A zip archive that is the same to the byte wherever it is made: times of 1980, no extra fields, members in the given order.
//!
//! `gzip` packs each member: its output is a head, the packed bytes that a zip wants, and their checksum and length. Members of 4 GiB
//! and more are refused.

use std::path::Path;

use super::external::{lines_of, read_bytes, write};

/// A member: its path in the archive, its mode and its content.
pub struct ZipMember {
    pub path: String,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

/// 1980-01-01, the first day that the format knows.
const DATE: u16 = 0b0000_0000_0010_0001;
/// Version 2.0, for packed members.
const VERSION: u16 = 20;
const UNIX: u16 = 3 << 8;
const DEFLATED: u16 = 8;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// What gzip writes before and behind the packed bytes, without a name.
const GZIP_HEAD: usize = 10;
const GZIP_TAIL: usize = 8;

struct DeflatedBytes {
    bytes: Vec<u8>,
    checksum: u32,
    length: u32,
}

/// The archive of some members.
///
/// # Errors
/// gzip failed, or a member is too large.
pub fn archive(members: &[ZipMember], scratch: &Path) -> Result<Vec<u8>, String> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let packed = pack(&member.bytes, scratch)?;
        let at = small(archive.len())?;
        let head = head(member, &packed)?;
        archive.extend(b"PK\x03\x04");
        archive.extend(&head);
        archive.extend(0_u16.to_le_bytes()); // no extra field
        archive.extend(member.path.as_bytes());
        archive.extend(&packed.bytes);
        directory.extend(b"PK\x01\x02");
        directory.extend((UNIX | VERSION).to_le_bytes());
        directory.extend(&head);
        // No extra field, no comment, the first disk, no inner attributes.
        directory.extend([0; 8]);
        directory.extend(((0o100_000 | member.mode) << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(member.path.as_bytes());
    }
    let (at, length) = (small(archive.len())?, small(directory.len())?);
    let count = u16::try_from(members.len()).map_err(|_| "too many files for a zip archive")?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(length.to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0, 0]);
    Ok(archive)
}

/// What both heads of a member share, from the version to the length of its name.
fn head(member: &ZipMember, packed: &DeflatedBytes) -> Result<Vec<u8>, String> {
    let name = u16::try_from(member.path.len()).map_err(|_| format!("{}: too long a name", member.path))?;
    let mut head = Vec::new();
    for word in [VERSION, FLAGS, DEFLATED, 0, DATE] {
        head.extend(word.to_le_bytes());
    }
    for word in [packed.checksum, small(packed.bytes.len())?, packed.length] {
        head.extend(word.to_le_bytes());
    }
    head.extend(name.to_le_bytes());
    Ok(head)
}

fn pack(bytes: &[u8], scratch: &Path) -> Result<DeflatedBytes, String> {
    small(bytes.len())?;
    let (plain, zipped) = (scratch.join("member"), scratch.join("member.gz"));
    write(&plain, bytes)?;
    lines_of("gzip", &["-n", "-9", "-f", "--", &plain.display().to_string()], scratch)?;
    unwrap_gzip(&read_bytes(&zipped)?)
}

fn unwrap_gzip(bytes: &[u8]) -> Result<DeflatedBytes, String> {
    let has_head = bytes.starts_with(&[0x1f, 0x8b, 8, 0]) && bytes.len() >= GZIP_HEAD + GZIP_TAIL;
    if !has_head {
        return Err("gzip wrote a head with a name: is it GNU's?".into());
    }
    let (packed, tail) = bytes[GZIP_HEAD..].split_at(bytes.len() - GZIP_HEAD - GZIP_TAIL);
    let word = |at: usize| u32::from_le_bytes([tail[at], tail[at + 1], tail[at + 2], tail[at + 3]]);
    Ok(DeflatedBytes { bytes: packed.to_vec(), checksum: word(0), length: word(4) })
}

fn small(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "4 GiB and more do not fit into a zip archive".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_gzip_is_taken_out_of_its_wrapping() {
        let mut wrapped = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
        wrapped.extend(b"packed");
        wrapped.extend([1, 0, 0, 0, 9, 0, 0, 0]);
        let packed = unwrap_gzip(&wrapped).expect("it is one");
        assert_eq!((packed.bytes.as_slice(), packed.checksum, packed.length), (&b"packed"[..], 1, 9));
        wrapped[3] = 8;
        assert!(unwrap_gzip(&wrapped).is_err() && unwrap_gzip(b"").is_err());
    }

    #[test]
    fn an_archive_has_its_members_their_modes_and_no_time() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let member =
            |path: &str, mode, bytes: &[u8]| ZipMember { path: path.into(), mode, bytes: bytes.to_vec() };
        let members = [member("a/b.py", 0o644, b"text"), member("bin/p", 0o755, &[0; 5000])];
        let bytes = archive(&members, folder.path()).expect("gzip is here");
        assert_eq!(bytes, archive(&members, folder.path()).expect("again"), "the same to the byte");
        let end = &bytes[bytes.len() - 22..];
        assert_eq!((&end[..4], end[10]), (&b"PK\x05\x06"[..], 2));
        let at = u32::from_le_bytes([end[16], end[17], end[18], end[19]]) as usize;
        let entry = &bytes[at..];
        assert_eq!((&entry[..4], &entry[46..52]), (&b"PK\x01\x02"[..], &b"a/b.py"[..]));
        assert_eq!(u32::from_le_bytes([entry[38], entry[39], entry[40], entry[41]]) >> 16, 0o100_644);
    }
}
