//! The checksums of header stamps: each over the bytes behind the header, in the layout that lies on the disk.
//!
//! Most are the well-known ones; where fio keeps something else under a well-known name, its files decide what is right
//! here, and the comment says so. Refuses to be used for security.

use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_64_REDIS, Crc, Table};
use iodyno_model::{Checksum, VerifyLayout};
use md5::Digest;

/// The longest checksum, bytes.
pub(super) const DIGEST_MOST: usize = 128;

/// Ethernet's polynomial, most significant bit first, from 0, nothing inverted.
const CRC_32_PLAIN: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};

static CRC7: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&CRC_7_MMC);
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_PLAIN);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// Bytes of a checksum behind the header.
pub(super) const fn digest_bytes(checksum: Checksum) -> usize {
    match checksum {
        Checksum::Meta | Checksum::Pattern => 0,
        Checksum::Crc7 => 1,
        Checksum::Crc16 => 2,
        Checksum::Crc32 | Checksum::Crc32c | Checksum::Xxhash => 4,
        Checksum::Crc64 => 8,
        Checksum::Md5 => 16,
        Checksum::Sha1 => 20,
        Checksum::Sha3x224 => 28,
        Checksum::Sha3x256 => 32,
        Checksum::Sha3x384 => 48,
        Checksum::Sha3x512 | Checksum::Sha256 => 64,
        Checksum::Sha512 => 128,
    }
}

/// CRC-32C from all ones, without the usual inversion at the end: of headers, data and state files.
pub(crate) fn crc32c_plain(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// The checksum of `data` behind a header of that layout into `out`, which holds [`digest_bytes`] bytes; what it
/// leaves is what it does not cover.
pub(super) fn digest(checksum: Checksum, layout: VerifyLayout, data: &[u8], out: &mut [u8]) {
    match checksum {
        Checksum::Meta | Checksum::Pattern => {}
        Checksum::Crc7 => out[0] = CRC7.checksum(data),
        Checksum::Crc16 => out.copy_from_slice(&CRC16.checksum(data).to_le_bytes()),
        Checksum::Crc32 => out.copy_from_slice(&CRC32.checksum(data).to_le_bytes()),
        Checksum::Crc32c => out.copy_from_slice(&crc32c_plain(data).to_le_bytes()),
        Checksum::Xxhash => out.copy_from_slice(&xxhash_rust::xxh32::xxh32(data, 1).to_le_bytes()),
        Checksum::Crc64 => out.copy_from_slice(&CRC64.checksum(data).to_le_bytes()),
        Checksum::Md5 => out.copy_from_slice(&md5::Md5::digest(data)),
        Checksum::Sha1 => sha1_words(data, out),
        Checksum::Sha3x224 => out.copy_from_slice(&sha3::Sha3_224::digest(data)),
        Checksum::Sha3x256 => out.copy_from_slice(&sha3::Sha3_256::digest(data)),
        Checksum::Sha3x384 => out.copy_from_slice(&sha3::Sha3_384::digest(data)),
        Checksum::Sha3x512 => out.copy_from_slice(&sha3::Sha3_512::digest(data)),
        Checksum::Sha256 => sha256_block(data, out),
        Checksum::Sha512 => match layout {
            VerifyLayout::Versioned => sha512_block(data, out),
            VerifyLayout::Unversioned => sha512_ends(data, out),
        },
    }
}

/// SHA-1, its five words little endian.
fn sha1_words(data: &[u8], out: &mut [u8]) {
    out.copy_from_slice(&sha1::Sha1::digest(data));
    out.chunks_exact_mut(4).for_each(<[u8]>::reverse);
}

/// What fio keeps of SHA-256: its last block (length little endian, unlike the standard's), and over its first eight
/// bytes the lowest byte of each word of the state. So 64 bits of the digest protect the data.
fn sha256_block(data: &[u8], out: &mut [u8]) {
    let mut state = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let (blocks, rest) = data.as_chunks::<64>();
    sha2::block_api::compress256(&mut state, blocks);
    let mut last = [0u8; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 56 {
        sha2::block_api::compress256(&mut state, &[last]);
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    sha2::block_api::compress256(&mut state, &[last]);
    out.copy_from_slice(&last);
    out.iter_mut().zip(state).for_each(|(byte, word)| *byte = word as u8);
}

/// What fio keeps of SHA-512 since 3.41: the standard's digest, over the first half of its last block.
fn sha512_block(data: &[u8], out: &mut [u8]) {
    let rest = data.as_chunks::<128>().1;
    out.fill(0);
    if rest.len() < 112 {
        out[..rest.len()].copy_from_slice(rest);
        out[rest.len()] = 0x80;
    }
    out[112..].copy_from_slice(&(data.len() as u128 * 8).to_be_bytes());
    out[..64].copy_from_slice(&sha2::Sha512::digest(data));
}

/// What fio up to 3.40 keeps under the name SHA-512: the first block of 128 bytes, and over it those behind the last whole block,
/// as they are. It protects nothing else; whoever wants more takes another checksum.
fn sha512_ends(data: &[u8], out: &mut [u8]) {
    let (blocks, rest) = data.as_chunks::<128>();
    blocks.iter().take(1).for_each(|first| out.copy_from_slice(first));
    out[..rest.len()].copy_from_slice(rest);
}

/// How many bytes of a stored checksum say something.
pub(super) fn telling_bytes(checksum: Checksum, layout: VerifyLayout, data_bytes: usize) -> usize {
    match (checksum, layout) {
        (Checksum::Sha512, VerifyLayout::Versioned) => 64,
        (Checksum::Sha512, VerifyLayout::Unversioned) => data_bytes.min(128),
        _ => digest_bytes(checksum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_crc_is_the_one_of_its_check_value() {
        assert_eq!(CRC32.checksum(b"123456789"), CRC_32_PLAIN.check);
    }

    #[test]
    fn known_answers() {
        let hex = |checksum| {
            let mut out = [0; DIGEST_MOST];
            let bytes = digest_bytes(checksum);
            digest(checksum, VerifyLayout::Unversioned, b"123456789", &mut out[..bytes]);
            out[..bytes].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(hex(Checksum::Crc16), "3dbb");
        assert_eq!(hex(Checksum::Crc7), "75");
        assert_eq!(hex(Checksum::Crc32c), "7c6df91c"); // 0xe3069283, not inverted, little endian
        assert_eq!(hex(Checksum::Md5), "25f9e794323b453885f5181f1b624d0b");
        assert_eq!(hex(Checksum::Sha512)[..18], *"313233343536373839");
        assert_eq!(hex(Checksum::Sha256)[16..20], *"3980");
    }
}
