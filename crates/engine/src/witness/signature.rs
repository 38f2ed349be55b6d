//! What a block device carries: a reason not to write to it unless its owner gave it up.
//!
//! Signatures are places and bytes from the formats' own descriptions (superblocks, headers), as listed by the table.
//! An unreadable device has no signature that could be seen; opening it for writing then fails by itself.

use std::io::{Read, Seek, SeekFrom};

/// Offset, bytes, name. A negative offset counts from the end of the device.
const SIGNATURES: &[(i64, &[u8], &str)] = &[
    (0x438, &[0x53, 0xEF], "an ext2/3/4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x10040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, &[0x10, 0x20, 0xF5, 0xF2], "an F2FS file system"),
    (0x400, &[0xE2, 0xE1, 0xF5, 0xE0], "an EROFS file system"),
    (0x10034, b"ReIsErFs", "a ReiserFS file system"),
    (0x10034, b"ReIsEr2Fs", "a ReiserFS file system"),
    (0x8000, b"JFS1", "a JFS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0x36, b"FAT1", "a FAT file system"),
    (0x52, b"FAT32", "a FAT file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (0, b"hsqs", "a SquashFS file system"),
    (0x1018, &[0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA], "a bcache device"),
    (0x1018, &[0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9], "a bcachefs file system"),
    (0xFF6, b"SWAPSPACE2", "swap space"),
    (0x200, b"LABELONE", "an LVM physical volume"),
    (0, b"LABELONE", "an LVM physical volume"),
    (0x400, b"LABELONE", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (0, &[0xFC, 0x4E, 0x2B, 0xA9], "a RAID member (md)"),
    (0x1000, &[0xFC, 0x4E, 0x2B, 0xA9], "a RAID member (md)"),
    (-0x2000, &[0xFC, 0x4E, 0x2B, 0xA9], "a RAID member (md)"),
    (-0x10000, &[0xFC, 0x4E, 0x2B, 0xA9], "a RAID member (md)"),
    (-0x400, b"Intel Raid ISM Cfg Sig. ", "a RAID member (IMSM)"),
    (0x21000, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "a ZFS pool member"),
    (0x20000, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "a ZFS pool member"),
    (0x100000, &[0x0D, 0xD0, 0x01, 0xC0], "a VMFS volume"),
    (0, b"bluestore block device", "a Ceph BlueStore device"),
    (0x200, b"EFI PART", "a GPT partition table"),
    (0x1000, b"EFI PART", "a GPT partition table"),
    (0x1FE, &[0x55, 0xAA], "a partition table or boot sector"),
];

/// What the device carries, if anything is known.
pub fn on(path: &str) -> Option<&'static str> {
    let mut device = std::fs::File::open(path).ok()?;
    SIGNATURES.iter().find(|(offset, bytes, _)| has(&mut device, *offset, bytes)).map(|(.., name)| *name)
}

fn has(device: &mut std::fs::File, offset: i64, bytes: &[u8]) -> bool {
    let place = if offset < 0 { SeekFrom::End(offset) } else { SeekFrom::Start(offset as u64) };
    let mut found = vec![0; bytes.len()];
    device.seek(place).is_ok() && device.read_exact(&mut found).is_ok() && found == bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_signature_is_found_where_it_stands() {
        for (offset, bytes, name) in SIGNATURES {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(2 << 20).unwrap();
            let place = if *offset < 0 { SeekFrom::End(*offset) } else { SeekFrom::Start(*offset as u64) };
            file.seek(place).unwrap();
            file.write_all(bytes).unwrap();
            assert_eq!(on(file.path().to_str().unwrap()), Some(*name));
        }
    }

    #[test]
    fn zeros_and_noise_carry_nothing() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        assert_eq!(on(file.path().to_str().unwrap()), None);
    }
}
